//! Interview questions with their answers.

use super::overlay::{Page, Paragraph};
use crate::ui::{
    theme::{Role, Theme},
    words,
};
use crate::{text::Lang, ui::state::catalogue::CatalogueEntry};

pub fn page(entry: &CatalogueEntry, lang: Lang, theme: Theme) -> Page {
    let mut paragraphs = Vec::new();
    for (n, card) in entry.interview.iter().enumerate() {
        if n > 0 {
            paragraphs.push(Paragraph::Gap);
        }
        let question = format!("{}. {}", n + 1, card.q.get(lang));
        paragraphs.push(Paragraph::Words(question, 0, theme.style(Role::Accent)));
        paragraphs.push(Paragraph::Words(card.a.get(lang).to_owned(), 3, theme.style(Role::Text)));
    }
    if paragraphs.is_empty() {
        let nothing = words::NO_CARDS.get(lang).to_owned();
        paragraphs.push(Paragraph::Words(nothing, 0, theme.style(Role::Chrome)));
    }
    Page {
        title: format!("{} · {}", words::CARDS.get(lang), entry.title.get(lang)), paragraphs, theme, lang
    }
}
