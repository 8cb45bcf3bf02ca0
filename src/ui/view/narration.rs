//! What the narrator says at the playhead, or the introduction before the first step.

use ratatui::style::Stylize as _;

use super::{paragraph, prelude::*};

pub fn words<'a>(scene: &Scene<'a>, intro: &'a str) -> &'a str {
    match (scene.world.narration.last(), scene.lang) {
        (Some(said), Lang::En) => &said.en,
        (Some(said), Lang::Zh) => &said.zh,
        (None, _) => intro,
    }
}

pub fn lines(words: &str, theme: Theme, width: u16) -> Vec<Line<'static>> {
    paragraph::prose(words, width.into(), theme.style(Role::Text), theme)
}

/// The same lines for the last row of a classroom: bold, and with air between them.
pub fn large(lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
    let mut spread = Vec::with_capacity(lines.len() * 2);
    for line in lines {
        if !spread.is_empty() {
            spread.push(Line::default());
        }
        spread.push(line.add_modifier(Modifier::BOLD));
    }
    spread
}

/// Draws lines from the `scroll`-th on, with a sign where there are more below.
pub fn draw(lines: &[Line<'_>], scroll: u16, (theme, more): (Theme, &str), area: Rect, buf: &mut Buffer) {
    if paragraph::draw(lines, scroll, area, buf) {
        let sign = format!(" ▼ {more} ");
        let columns = u16::try_from(text::width(&sign)).unwrap_or_default().min(area.width);
        let (x, y) = (area.right() - columns, area.bottom());
        // On the frame below the text, where it covers no word.
        if buf.area.contains((x, y).into()) {
            buf.set_stringn(x, y, sign, columns.into(), theme.style(Role::Accent));
        }
    }
}
