//! Interview questions with their answers.

use super::paragraph::{hang, plain, prose};
use super::{overlay::Page, prelude::*};
use crate::ui::state::catalogue::CatalogueEntry;

const INDENT: usize = 3;

pub fn page(entry: &CatalogueEntry, Context { theme, lang, .. }: Context<'_>, width: usize) -> Page {
    let mut lines = Vec::new();
    for (n, card) in entry.interview.iter().enumerate() {
        if n > 0 {
            lines.push(Line::default());
        }
        let question = format!("{}. {}", n + 1, card.q.get(lang));
        lines.extend(prose(&question, width, theme.style(Role::Accent), theme));
        let answer = prose(card.a.get(lang), width.saturating_sub(INDENT), theme.style(Role::Text), theme);
        lines.extend(hang(Span::raw(" ".repeat(INDENT)), answer));
    }
    if lines.is_empty() {
        lines = plain(words::NO_CARDS.get(lang), width, theme.style(Role::Chrome));
    }
    Page { title: format!("{} · {}", words::CARDS.get(lang), entry.title.get(lang)), lines }
}
