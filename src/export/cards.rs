//! Exports interview cards: for Anki, and as Markdown for printing.

use std::collections::BTreeSet;

use crate::{
    lesson::Card,
    printable,
    text::{Lang, Text, Words},
    ui::{state::catalogue::CatalogueEntry, words},
};

pub type LessonCard<'a> = (&'a CatalogueEntry, &'a Card);

/// The file headers of Anki's text import.
pub const ANKI: &str = "#separator:tab\n#html:true\n#notetype:Basic\n#deck:Lockstep\n#guid column:1\n\
                        #tags column:4\n#columns:Id\tFront\tBack\tTags\n";
/// The beginning of every Markdown file; it is not displayed.
pub const MARKDOWN: &str = "<!-- Interview cards, written by Lockstep. -->\n";

const TITLE: Words = Words::new("Interview questions", "面试题");

/// Notes for Anki's text import, with both languages on both sides. Importing a note again updates it.
pub fn anki(cards: &[LessonCard<'_>]) -> String {
    let mut out = ANKI.to_owned();
    for (entry, card) in cards {
        let id = format!("lockstep {} {}", entry.lesson.id, card.q.en);
        let back = match &card.follow_up {
            None => sides(&card.a),
            Some(follow_up) => {
                format!("{}<hr>{}<br>{}", sides(&card.a), sides(&follow_up.q), sides(&follow_up.a))
            }
        };
        let fields = [field(&id), sides(&card.q), back, tags(entry, card).join(" ")];
        out.push_str(&fields.join("\t"));
        out.push('\n');
    }
    out
}

/// The tags of a card in Anki: track, lesson, articles, star. Tags must not contain spaces.
fn tags(entry: &CatalogueEntry, card: &Card) -> Vec<String> {
    let track = serde_json::to_value(entry.lesson.track).ok();
    let track = track.as_ref().and_then(|track| track.as_str()).map(|track| format!("lockstep::{track}"));
    let articles = card.from.iter().map(|article| format!("lockstep::{article}"));
    let star = entry.lesson.starred.then(|| "lockstep::starred".to_owned());
    let all = track.into_iter().chain([format!("lockstep::{}", entry.lesson.id)]).chain(articles).chain(star);
    all.map(|tag| field(&tag).split_whitespace().collect::<Vec<_>>().join("-")).collect()
}

fn sides(text: &Text) -> String {
    let side = |lang: Lang| {
        let name = if lang == Lang::Zh { "zh-CN" } else { "en" };
        format!("<div lang={name}>{}</div>", html(text.get(lang)))
    };
    if text.en == text.zh { side(Lang::En) } else { [Lang::En, Lang::Zh].map(side).concat() }
}

/// Removes characters that would end a field or a line.
fn field(words: &str) -> String {
    printable::line(&words.replace(['\n', '\t'], " ")).replace('"', "'")
}

fn html(words: &str) -> String {
    let escaped = printable::html(&printable::lines(words));
    let escaped = escaped.replace('\t', " ").trim().replace('\n', "<br>");
    let parts = escaped.split('`').enumerate();
    parts.map(|(n, part)| if n % 2 == 1 { format!("<code>{part}</code>") } else { part.to_owned() }).collect()
}

/// Escapes what Markdown would take for HTML or a link, outside code.
fn prose(words: &str) -> String {
    let parts = words.split('`').enumerate();
    let escaped =
        parts.map(
            |(n, part)| {
                if n % 2 == 1 { part.to_owned() } else { part.replace('<', "\\<").replace('[', "\\[") }
            },
        );
    escaped.collect::<Vec<_>>().join("`")
}

/// The cards by track and lesson, in one language.
pub fn markdown(cards: &[LessonCard<'_>], lang: Lang) -> String {
    let line = |words: &str| prose(&printable::line(&words.replace('\n', " ")));
    let mut out = format!("{MARKDOWN}# {}\n", TITLE.get(lang));
    let mut write = |words: String| out.push_str(&words);
    let asked: BTreeSet<&str> = cards.iter().flat_map(|(_, card)| &card.from).map(String::as_str).collect();
    for name in asked {
        let title = words::article(name, lang);
        if title != name {
            write(format!("\n- {}{}{title}", line(name), lang.colon()));
        }
    }
    write("\n".to_owned());
    let (mut track, mut lesson) = (None, None);
    for (entry, card) in cards {
        if track != Some(entry.lesson.track) {
            track = Some(entry.lesson.track);
            write(format!("\n## {}\n", words::track(entry.lesson.track).get(lang)));
        }
        if lesson != Some(&entry.lesson.id) {
            lesson = Some(&entry.lesson.id);
            let star = if entry.lesson.starred { " ★" } else { "" };
            write(format!("\n### {}{star}\n", line(entry.lesson.title.get(lang))));
        }
        let from = if card.from.is_empty() { String::new() } else { format!(" ({})", card.from.join(", ")) };
        write(format!("\n**{}**{}\n\n{}\n", line(card.q.get(lang)), line(&from), line(card.a.get(lang))));
        if let Some(follow_up) = &card.follow_up {
            let then = words::FOLLOW_UP.get(lang);
            let (q, a) = (line(follow_up.q.get(lang)), line(follow_up.a.get(lang)));
            write(format!("\n*{then}{q}*\n\n{a}\n"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{ANKI, anki, markdown};
    use crate::{
        lesson::{Card, FollowUp, Lesson},
        text::{Lang, Text},
        ui::state::catalogue::CatalogueEntry,
    };

    #[test]
    fn an_anki_card_is_always_one_line() {
        let lesson = Lesson { id: "oversell".into(), starred: true, ..Lesson::default() };
        let entry = CatalogueEntry::from(&Arc::new(lesson));
        let card = Card {
            q: Text::new("Is `a < b`\tsafe?\n\"No\"", "`a < b` 安全吗？"),
            a: "Never.".into(),
            follow_up: Some(FollowUp { q: "Why?".into(), a: "Races.".into() }),
            from: vec!["S 3".into(), "S4".into()],
            shown: None,
        };
        let file = anki(&[(&entry, &card)]);
        let rows: Vec<&str> = file.strip_prefix(ANKI).expect("headers").lines().collect();
        let fields: Vec<&str> = rows[0].split('\t').collect();
        assert_eq!((rows.len(), fields.len()), (1, 4), "{file}");
        assert_eq!(
            fields[1],
            "<div lang=en>Is <code>a &lt; b</code> safe?<br>&quot;No&quot;</div>\
             <div lang=zh-CN><code>a &lt; b</code> 安全吗？</div>"
        );
        assert!(fields[2].contains("Why?") && fields[2].contains("Races."), "{}", fields[2]);
        assert_eq!(
            fields[3],
            "lockstep::basics lockstep::oversell lockstep::S-3 lockstep::S4 lockstep::starred"
        );
        let page = markdown(&[(&entry, &card)], Lang::Zh);
        assert!(
            page.contains("## 基础\n")
                && page.contains("**`a < b` 安全吗？** (S 3, S4)\n\nNever.\n")
                && page.contains("\n- S4：分布式锁总览（从数据库到 Redlock）\n"),
            "{page}"
        );
    }
}
