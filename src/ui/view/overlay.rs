//! Overlays: framed boxes, and pages of text that scroll in one.

use ratatui::widgets::Clear;

use super::{key_hints, paragraph, prelude::*};
use crate::ui::keys::KeyScope;

/// Scrollable lines, already wrapped to [`columns`].
#[derive(Debug, Clone)]
pub struct Page {
    pub title: String,
    pub lines: Vec<Line<'static>>,
}

fn width(area: Rect) -> u16 {
    area.width.saturating_sub(4).min(92)
}

/// The columns for the text of a page on a screen.
pub fn columns(area: Rect) -> usize {
    width(area).saturating_sub(4).into()
}

fn frame(page: &Page, area: Rect) -> Rect {
    let lines = u16::try_from(page.lines.len()).unwrap_or(u16::MAX);
    let height = lines.saturating_add(2).min(area.height.saturating_sub(2));
    area.centered(width(area).into(), height.into())
}

/// Clears an area, including wide characters that would lose their second halves.
pub fn clear(area: Rect, buf: &mut Buffer) {
    Clear.render(area, buf);
    let Some(before) = area.x.checked_sub(1) else { return };
    for y in area.top()..area.bottom() {
        if let Some(cell) = buf.cell_mut((before, y))
            && text::width(cell.symbol()) > 1
        {
            cell.set_symbol(" ");
        }
    }
}

/// Draws the frame of a box over a screen, with key hints for a scope at its bottom. Returns its inside.
pub fn popup(context: Context<'_>, title: &str, place: KeyScope, frame: Rect, buf: &mut Buffer) -> Rect {
    clear(frame, buf);
    let hints = key_hints::hints(context, place, &[], frame.width.saturating_sub(4));
    let title = Span::styled(format!(" {title} "), context.theme.style(Role::Accent));
    let block = context.theme.pane(true).title(title).title_bottom(hints.right_aligned());
    paragraph::frame(block, frame, buf)
}

pub fn reach(page: &Page, area: Rect) -> u16 {
    let lines = u16::try_from(page.lines.len()).unwrap_or(u16::MAX);
    lines.saturating_sub(frame(page, area).height.saturating_sub(2))
}

pub fn draw(page: &Page, context: Context<'_>, scroll: u16, area: Rect, buf: &mut Buffer) {
    let inner = popup(context, &page.title, KeyScope::Page, frame(page, area), buf);
    paragraph::draw(&page.lines, scroll, paragraph::text_area(inner), buf);
}
