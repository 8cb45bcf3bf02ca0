//! A page over a screen: a frame in the middle, a heading, text that scrolls.

use ratatui::widgets::{Clear, Widget};

use super::{paragraph, prelude::*, strip};
use crate::ui::keys::Place;

#[derive(Debug, Clone)]
pub enum Paragraph {
    /// Words that wrap, with a hanging indent of so many columns.
    Words(String, usize, Style),
    /// A row of two columns: the first never wraps.
    Row((String, Style), usize, String),
    /// An empty line.
    Gap,
}

#[derive(Debug, Clone)]
pub struct Page<'a> {
    pub title: String,
    pub paragraphs: Vec<Paragraph>,
    pub context: Context<'a>,
}

fn frame(page: &Page<'_>, area: Rect) -> Rect {
    let width = area.width.saturating_sub(4).min(92);
    let lines = u16::try_from(lines(page, width.saturating_sub(4)).len()).unwrap_or(u16::MAX);
    let height = lines.saturating_add(2).min(area.height.saturating_sub(2));
    area.centered(width.into(), height.into())
}

fn lines(page: &Page<'_>, width: u16) -> Vec<Line<'static>> {
    let width = usize::from(width);
    let mut lines = Vec::new();
    for paragraph in &page.paragraphs {
        match paragraph {
            Paragraph::Gap => lines.push(Line::default()),
            Paragraph::Words(words, indent, style) => {
                let rows = paragraph::prose(words, width.saturating_sub(*indent), *style, page.context.theme);
                lines.extend(paragraph::hang(Span::raw(" ".repeat(*indent)), rows));
            }
            Paragraph::Row((first, style), column, second) => {
                let rows = paragraph::plain(second, width.saturating_sub(*column), Style::new());
                lines.extend(paragraph::hang(Span::styled(text::pad(first, *column), *style), rows));
            }
        }
    }
    lines
}

/// Empties a part of the screen, and with it the wide characters of which it would leave the first half.
pub fn clear(area: Rect, buf: &mut Buffer) {
    Clear.render(area, buf);
    let Some(before) = area.x.checked_sub(1) else {
        return;
    };
    for y in area.top()..area.bottom() {
        if let Some(cell) = buf.cell_mut((before, y))
            && text::width(cell.symbol()) > 1
        {
            cell.set_symbol(" ");
        }
    }
}

pub fn reach(page: &Page<'_>, area: Rect) -> u16 {
    let frame = frame(page, area);
    let lines = lines(page, frame.width.saturating_sub(4)).len();
    u16::try_from(lines).unwrap_or(u16::MAX).saturating_sub(frame.height.saturating_sub(2))
}

pub fn draw(page: &Page<'_>, scroll: u16, area: Rect, buf: &mut Buffer) {
    let frame = frame(page, area);
    clear(frame, buf);
    let hint = strip::hints(page.context, Place::Page, frame.width.saturating_sub(4));
    let block = page
        .context
        .theme
        .pane(true)
        .title(Span::styled(format!(" {} ", page.title), page.context.theme.style(Role::Accent)))
        .title_bottom(hint.right_aligned());
    let inner = paragraph::text_area(paragraph::frame(block, frame, buf));
    paragraph::draw(&lines(page, inner.width), scroll, inner, buf);
}
