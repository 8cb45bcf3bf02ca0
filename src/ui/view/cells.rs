//! Writing over cells. The earlier content is removed entirely, because setting a style only adds to the one before.

use super::prelude::*;

/// The first byte of U+1100 in UTF-8: no earlier character is wide (Unicode Standard Annex 11).
const FIRST_WIDE: u8 = 0xe1;

/// Whether a cell is covered by the wide character to its left.
pub fn is_second_half(buf: &Buffer, (x, y): (u16, u16)) -> bool {
    let left = x.checked_sub(1).and_then(|x| buf.cell((x, y)));
    left.is_some_and(|left| {
        left.symbol().as_bytes().first() >= Some(&FIRST_WIDE) && text::width(left.symbol()) > 1
    })
}

/// Draws a vertical line over those cells that contain one of the symbols in `over`.
pub fn line(buf: &mut Buffer, (x, rows): (u16, Rect), over: &[&str], symbol: &str, style: Style) {
    for y in rows.top()..rows.bottom() {
        let free = !is_second_half(buf, (x, y));
        if let Some(cell) = buf.cell_mut((x, y)).filter(|cell| free && over.contains(&cell.symbol())) {
            cell.set_symbol(symbol).set_style(style);
        }
    }
}

pub fn put(buf: &mut Buffer, place: (u16, u16), symbol: &str, style: Style) {
    // Overwriting the second half of a wide character removes its first half as well.
    if is_second_half(buf, place)
        && let Some(left) = buf.cell_mut((place.0 - 1, place.1))
    {
        left.set_symbol(" ");
    }
    if let Some(cell) = buf.cell_mut(place) {
        cell.reset();
        cell.set_symbol(symbol).set_style(style);
    }
}

/// Writes text from a column on, up to `limit`. Returns the column after it.
pub fn write((x, y): (u16, u16), words: &str, limit: u16, style: Style, buf: &mut Buffer) -> u16 {
    let room = usize::from(limit.saturating_sub(x));
    if room == 0 || !buf.area.contains((x, y).into()) {
        return x;
    }
    let words = text::fit(words, room);
    let after = x + u16::try_from(text::width(&words)).unwrap_or_default();
    for column in x..after {
        put(buf, (column, y), " ", Style::new());
    }
    buf.set_stringn(x, y, &words, room, style);
    after
}
