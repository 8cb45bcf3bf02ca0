//! The run as a page that plays in a browser: one file, no network. A script draws the page from data that is made
//! here. It must not know the terminal's screens, only what happened and where it is on the time axis.
//!
//! Whatever a lesson or a server says is data: it is embedded in a JSON block in which no `<` is left, and the script
//! writes it as text, never as markup.

pub(crate) mod class;
pub(crate) mod colours;
pub(crate) mod data;
pub(crate) mod document;
pub(crate) mod preview;

use serde_json::Value;

use super::{Finished, Look, moment::ResolvedMoment};
use crate::printable;

/// Part of every page. It tells that Lockstep wrote the file, and may overwrite it.
pub const MARK: &str = "<meta name=\"generator\" content=\"Lockstep\">";

const PAGE: &str = include_str!("page.html");
// Shared with the pages of a class.
pub(crate) const STYLE: &str = include_str!("player.css");
pub(crate) const WORDS: &str = include_str!("words.js");
pub(crate) const TIMELINE: &str = include_str!("timeline.js");
pub(crate) const CROWD: &str = include_str!("crowd.js");
/// The parts of one script, in order: each uses the ones before it.
const SCRIPT: [&str; 6] =
    [WORDS, TIMELINE, CROWD, include_str!("votes.js"), include_str!("story.js"), include_str!("player.js")];

pub fn page(run: &Finished, moment: ResolvedMoment, look: &Look) -> String {
    page_of(run, data::of(run.into(), moment, look), look)
}

fn page_of(run: &Finished, mut data: Value, look: &Look) -> String {
    printable::value(&mut data);
    let preview = preview::tags(run, &data, look.lang);
    let data = data.to_string().replace('<', "\\u003c");
    let title = run.title();
    let style = format!("{}\n{STYLE}{}", colours::variables(look.theme), include_str!("votes.css"));
    let parts = [
        ("{lang}", look.lang.to_string()),
        ("{title}", escape(title.get(look.lang))),
        ("{preview}", preview),
        ("{style}", style),
        ("{script}", format!("(() => {{\n\"use strict\";\n{}}})();", SCRIPT.concat())),
        // The data come last, so that nothing in them is replaced.
        ("{data}", data),
    ];
    let mut page = PAGE.to_owned();
    for (name, part) in parts {
        page = page.replacen(name, &part, 1);
    }
    page
}

pub(super) fn escape(words: &str) -> String {
    printable::html(words).replace('{', "&#123;")
}
