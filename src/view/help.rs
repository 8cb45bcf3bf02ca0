//! The help: every key, and how to read the lanes. It must not know which screen it lies over.

use super::{
    overlay::{Page, Paragraph},
    theme::{Role, Theme, glyphs},
    words,
};
use crate::lesson::Lang;

/// Columns of the keys.
const KEYS: usize = 18;

/// The page.
pub fn page(lang: Lang, theme: Theme) -> Page {
    let heading =
        |words: words::Words| Paragraph::Words(words.get(lang).to_owned(), 0, theme.style(Role::Accent));
    let row = |(key, what): &words::Hint, role: Role| {
        Paragraph::Row(
            ((*key).to_owned(), theme.style(role)),
            KEYS,
            what.get(lang).to_owned(),
        )
    };
    let mut paragraphs = Vec::new();
    for (title, keys) in words::HELP_KEYS {
        paragraphs.push(heading(*title));
        paragraphs.extend(keys.iter().map(|hint| row(hint, Role::Code)));
        paragraphs.push(Paragraph::Gap);
    }
    paragraphs.push(heading(words::LEGEND));
    for hint in words::LEGEND_ROWS {
        let role = if matches!(hint.0, glyphs::CLASH | glyphs::KILLED) {
            Role::Danger
        } else {
            Role::Text
        };
        paragraphs.push(row(hint, role));
    }
    paragraphs.push(Paragraph::Words(
        words::LEGEND_AXIS.get(lang).to_owned(),
        0,
        theme.style(Role::Chrome),
    ));
    Page {
        title: words::HELP.get(lang).to_owned(),
        paragraphs,
        theme,
        lang,
    }
}
