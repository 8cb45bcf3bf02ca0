//! Interview questions with their answers.

use super::{
    overlay::{Page, Paragraph},
    prelude::*,
};
use crate::ui::state::catalogue::CatalogueEntry;

pub fn page<'a>(entry: &CatalogueEntry, context: Context<'a>) -> Page<'a> {
    let Context { theme, lang, .. } = context;
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
    let title = format!("{} · {}", words::CARDS.get(lang), entry.title.get(lang));
    Page { title, paragraphs, context }
}
