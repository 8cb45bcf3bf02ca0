//! The bottom line: which keys do what. It must not know what the keys really do.

use ratatui::text::{Line, Span};

use super::{
    text,
    theme::{Role, Theme},
    words::Hint,
};
use crate::lesson::Lang;

/// As many hints as fit, the most needed first.
pub fn hints(hints: &[Hint], lang: Lang, theme: Theme, width: u16) -> Line<'static> {
    let mut left = usize::from(width);
    let mut spans = Vec::new();
    for (key, what) in hints {
        let what = what.get(lang);
        let needs = text::width(key) + text::width(what) + 3;
        if needs > left {
            break;
        }
        left -= needs;
        spans.push(Span::styled(format!(" {key}"), theme.style(Role::Code)));
        spans.push(Span::styled(format!(" {what} "), theme.style(Role::Chrome)));
    }
    Line::from(spans)
}
