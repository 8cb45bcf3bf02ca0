//! Text in lines, wrapped to a width; and lines within a frame.

use ratatui::symbols;

use super::prelude::*;

pub fn plain(words: &str, width: usize, style: Style) -> Vec<Line<'static>> {
    text::wrap(words, width).into_iter().map(|row| Line::styled(row, style)).collect()
}

pub fn code(words: &str, width: usize, style: Style) -> Vec<Line<'static>> {
    text::wrap_code(words, width).into_iter().map(|row| Line::styled(row, style)).collect()
}

/// Text with `code` between backticks.
pub fn prose(words: &str, width: usize, style: Style, theme: Theme) -> Vec<Line<'static>> {
    prose_in(&text::wrap(words, width), style, theme)
}

/// Wrapped text with `code` between backticks.
pub fn prose_in(rows: &[String], style: Style, theme: Theme) -> Vec<Line<'static>> {
    let mut code = false;
    rows.iter().map(|row| Line::from(spans(row, &mut code, theme, style))).collect()
}

/// A row with `code` between backticks. `code` carries over from row to row.
fn spans(row: &str, code: &mut bool, theme: Theme, style: Style) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    for (n, part) in row.split('`').enumerate() {
        if n > 0 {
            *code = !*code;
        }
        if !part.is_empty() {
            let style = if *code { theme.style(Role::Code) } else { style };
            spans.push(Span::styled(text::clean(part).into_owned(), style));
        }
    }
    spans
}

/// Puts a mark before the first line, and indents the others by its width.
pub fn hang(mark: Span<'static>, lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
    let space = Span::raw(" ".repeat(mark.width()));
    let marks = std::iter::once(mark).chain(std::iter::repeat(space));
    let hung = marks.zip(lines).map(|(mark, mut line)| {
        line.spans.insert(0, mark);
        // The style of the line applies to its text and not to the mark.
        let style = std::mem::take(&mut line.style);
        for span in &mut line.spans[1..] {
            span.style = style.patch(span.style);
        }
        line
    });
    hung.collect()
}

pub fn frame(block: Block<'_>, area: Rect, buf: &mut Buffer) -> Rect {
    let inner = block.inner(area);
    block.render(area, buf);
    inner
}

/// Draws the frame of a pane, coloured if it is focused. Returns its inside. A `Block` would also set the style of each
/// cell inside, which takes a tenth of the time of a frame of the lesson screen.
pub fn pane(context: Context<'_>, title: &str, focused: bool, area: Rect, buf: &mut Buffer) -> Rect {
    let role = if focused { Role::Accent } else { Role::Chrome };
    let style = context.theme.style(role);
    let border = style.remove_modifier(Modifier::BOLD);
    let set = symbols::border::ROUNDED;
    let area = area.intersection(buf.area);
    let inner = super::lesson::inside(area);
    if area.is_empty() {
        return inner;
    }
    let (left, top, right, bottom) = (area.left(), area.top(), area.right() - 1, area.bottom() - 1);
    let mut draw = |x, y, symbol| {
        buf[(x, y)].set_symbol(symbol).set_style(border);
    };
    for x in left..=right {
        draw(x, top, set.horizontal_top);
        draw(x, bottom, set.horizontal_bottom);
    }
    for y in top..=bottom {
        draw(left, y, set.vertical_left);
        draw(right, y, set.vertical_right);
    }
    draw(right, bottom, set.bottom_right);
    draw(right, top, set.top_right);
    draw(left, bottom, set.bottom_left);
    draw(left, top, set.top_left);
    let title = format!(" {title} ");
    let room = usize::from(area.width.saturating_sub(2));
    buf.set_stringn(left + 1, top, text::fit(&title, room), room, style);
    inner
}

/// The inside of a frame, with a margin of one column on each side.
pub fn text_area(inner: Rect) -> Rect {
    Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner }
}

/// Draws a line in the middle of a row.
pub fn draw_centred(line: &Line<'_>, row: Rect, buf: &mut Buffer) {
    let columns = u16::try_from(line.width()).unwrap_or(u16::MAX).min(row.width);
    let row = row.centered_horizontally(columns.into());
    buf.set_line(row.x, row.y, line, row.width);
}

/// The first visible line of a list, so that the selected line and the next `after` lines are visible.
pub fn start((chosen, after): (usize, usize), count: usize, height: u16) -> usize {
    let height = usize::from(height);
    (chosen + after + 1).saturating_sub(height).min(count.saturating_sub(height))
}

/// Draws lines from the `scroll`-th on, with `…` where one is cut. Returns `true` if there are more lines below.
pub fn draw(lines: &[Line<'_>], scroll: u16, area: Rect, buf: &mut Buffer) -> bool {
    let hidden = lines.len().saturating_sub(area.height.into());
    let scroll = usize::from(scroll).min(hidden);
    for (y, line) in (area.top()..area.bottom()).zip(lines.iter().skip(scroll)) {
        buf.set_line(area.x, y, line, area.width);
        let said: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
        if text::width(said.trim_end()) > usize::from(area.width) {
            mark_cut(area, y, buf);
        }
    }
    scroll < hidden
}

/// Marks a row as cut at its end.
fn mark_cut(area: Rect, y: u16, buf: &mut Buffer) {
    // A wide character occupies the last two columns entirely, or is not there.
    let Some(last) = area.right().checked_sub(1).filter(|last| *last >= area.x) else { return };
    let before = last.saturating_sub(1).max(area.x);
    let x = if text::width(buf[(before, y)].symbol()) > 1 { before } else { last };
    buf[(x, y)].set_symbol("…");
}

/// Draws lines from the `scroll`-th on, with a sign if there are more below.
pub fn draw_with_more(lines: &[Line<'_>], scroll: u16, context: Context<'_>, area: Rect, buf: &mut Buffer) {
    if draw(lines, scroll, area, buf) {
        // On the frame below the text, where it covers no text.
        draw_more("↓", context, (area, area.bottom()), buf);
    }
}

/// Draws a sign on the frame above a text that there is more of it.
pub fn draw_more_above(context: Context<'_>, area: Rect, buf: &mut Buffer) {
    draw_more("↑", context, (area, area.y.saturating_sub(1)), buf);
}

fn draw_more(arrow: &str, context: Context<'_>, (area, y): (Rect, u16), buf: &mut Buffer) {
    let sign = format!(" {arrow} {} ", words::MORE.get(context.lang));
    let columns = u16::try_from(text::width(&sign)).unwrap_or_default().min(area.width);
    let x = area.right() - columns;
    if buf.area.contains((x, y).into()) {
        buf.set_stringn(x, y, sign, columns.into(), context.theme.style(Role::Accent));
    }
}
