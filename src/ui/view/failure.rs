//! The message that a run cannot go on, over the lesson.

use super::{key_hints, overlay, paragraph, prelude::*};
use crate::ui::state::screen::Failure;

pub fn draw(scene: &Scene<'_>, failure: &Failure, area: Rect, buf: &mut Buffer) {
    let width = area.width.saturating_sub(8).min(96);
    let body = usize::from(width.saturating_sub(4));
    let title = words::failed(failure.server);
    let message = sentence(failure.message.get(scene.lang));
    let mut lines = paragraph::prose(&message, body, Style::new(), scene.theme);
    // A server's log may be long; its first lines say what happened.
    lines.truncate(usize::from(area.height.saturating_sub(8)));
    lines.push(Line::default());
    lines.extend(paragraph::plain(words::STILL_THERE.get(scene.lang), body, scene.style(Role::Chrome)));
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    let frame = area.centered(width.into(), height.min(area.height).into());
    overlay::clear(frame, buf);
    let danger = scene.style(Role::Danger);
    let keys: [(&[&str], _); 3] = [
        (&["restart"], words::START_AGAIN),
        (&["back", "step"], words::LOOK_BACK),
        (&["leave"], words::TO_CATALOGUE),
    ];
    let hints = key_hints::named(scene.context(), &keys, width.saturating_sub(4));
    let title = Span::styled(format!(" ✗ {} ", title.get(scene.lang)), danger);
    let block = scene.theme.pane(true).border_style(danger).title(title).title_bottom(hints.right_aligned());
    let inner = paragraph::frame(block, frame, buf);
    paragraph::draw(&lines, 0, paragraph::text_area(inner), buf);
}

/// Capitalizes a message, which on the command line follows the program's name.
fn sentence(message: &str) -> String {
    let mut chars = message.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}
