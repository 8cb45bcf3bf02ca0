//! The pages of a class, embedded in the binary. They must not know the server: they read what it sends.

use std::borrow::Cow;

use crate::{export::html, text::Lang, ui::theme::ThemeName};

/// A page: the common head with its styles and scripts, and the body from its file.
macro_rules! page {
    ($body:literal, $class:literal, [$($style:literal),*], [$($script:literal),*]) => {
        concat!(
            "<!DOCTYPE html>\n<html lang=\"en\"", $class, ">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>Lockstep</title>\n<link rel=\"icon\" href=\"data:,\">\n",
            $("<link rel=\"stylesheet\" href=\"/assets/", $style, ".css\">\n",)*
            $("<script src=\"/assets/", $script, ".js\" defer></script>\n",)*
            "</head>\n", include_str!($body), "</html>\n"
        )
    };
}

pub(super) const JOIN: &str = page!("join.html", "", ["colours", "class"], ["words", "common", "join"]);
pub(super) const PHONE: &str =
    page!("phone.html", "", ["colours", "votes", "class"], ["words", "votes", "common", "phone"]);
pub(super) const STAGE: &str = page!(
    "stage.html",
    " class=\"stage\"",
    ["colours", "player", "votes", "class"],
    ["words", "votes", "timeline", "crowd", "common", "stage"]
);
pub(super) const TEACHER: &str =
    page!("teacher.html", "", ["colours", "votes", "class"], ["words", "votes", "common", "teacher"]);

/// The page that asks for the code, for a time without checks of codes: it retries by itself.
pub(super) fn later() -> String {
    JOIN.replacen("<body class=\"join", "<body class=\"later join", 1)
}

/// A page that begins in the language of the terminal, and not in the one that its browser prefers.
pub(super) fn beginning_in(lang: Lang, page: &str) -> String {
    page.replacen("<html ", &format!("<html data-lang=\"{lang}\" "), 1)
}

const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

/// An asset under `/assets/`: its type and its text.
pub(super) fn asset(name: &str) -> Option<(&'static str, Cow<'static, str>)> {
    let (kind, text) = match name {
        "colours.css" => return Some((CSS, html::colours::variables(ThemeName::Auto).into())),
        "player.css" => (CSS, html::STYLE),
        "votes.css" => (CSS, include_str!("../../export/html/votes.css")),
        "class.css" => (CSS, include_str!("class.css")),
        "words.js" => (JS, html::WORDS),
        "timeline.js" => (JS, html::TIMELINE),
        "crowd.js" => (JS, html::CROWD),
        "votes.js" => (JS, include_str!("../../export/html/votes.js")),
        "common.js" => (JS, include_str!("common.js")),
        "join.js" => (JS, include_str!("join.js")),
        "phone.js" => (JS, include_str!("phone.js")),
        "stage.js" => (JS, include_str!("stage.js")),
        "teacher.js" => (JS, include_str!("teacher.js")),
        _ => return None,
    };
    Some((kind, text.into()))
}

#[cfg(test)]
mod tests {
    use super::{JOIN, PHONE, STAGE, TEACHER, asset};

    /// The assets that a page names.
    fn named(page: &str) -> Vec<&str> {
        page.split("\"/assets/").skip(1).filter_map(|rest| rest.split('"').next()).collect()
    }

    #[test]
    fn pages_have_nothing_inline_and_name_only_what_is_there() {
        for page in [JOIN, PHONE, STAGE, TEACHER] {
            assert!(named(page).len() > 3);
            for name in named(page) {
                assert!(asset(name).is_some_and(|(_, text)| !text.is_empty()), "{name}");
            }
            // The content security policy forbids these.
            for inline in ["<script>", "<style", " style=", "javascript:", " onclick", " onload", "://"] {
                assert!(!page.contains(inline), "{inline}");
            }
        }
        assert_ne!(super::later(), JOIN);
        assert!(asset("mod.rs").is_none() && asset("../mod.rs").is_none() && asset("").is_none());
    }

    #[test]
    fn phones_of_2018_can_read_their_pages() {
        for name in [JOIN, PHONE, TEACHER].into_iter().flat_map(named) {
            let (_, text) = asset(name).expect("an asset");
            // The stage runs on a computer, whose browser is up to date.
            let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with(".stage ")).collect();
            let text = lines.join("\n").replace("grid-gap:", "");
            let newer = [
                "?.",
                "??",
                "catch {",
                ".at(",
                ".flat",
                "replaceAll",
                "replaceChildren",
                "findLast",
                "matchAll",
                "fromEntries",
                ".finally",
                "async ",
                "{ ...",
                ":has(",
                "dvh",
                " inset:",
                "aspect-ratio",
                "@layer",
                " gap:",
                "||=",
                "&&=",
                "(?<",
                "allSettled",
                "globalThis",
                "structuredClone",
                "hasOwn(",
                "isConnected",
                "checkVisibility",
                "toSorted",
                "import(",
                "static ",
            ];
            for word in newer {
                assert!(!text.contains(word), "{name}: {word}");
            }
        }
    }
}
