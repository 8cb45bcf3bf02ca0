//! Cells and words over what stood there. Nothing of that shines through: a style alone only adds to the one before.

use super::prelude::*;

/// How U+1100 begins in UTF-8: no character before it is wide (Unicode Standard Annex 11).
const FIRST_WIDE: u8 = 0xe1;

/// Whether a cell belongs to the wide character before it.
fn is_second_half(buf: &Buffer, (x, y): (u16, u16)) -> bool {
    let left = x.checked_sub(1).and_then(|x| buf.cell((x, y)));
    left.is_some_and(|left| {
        left.symbol().as_bytes().first() >= Some(&FIRST_WIDE) && text::width(left.symbol()) > 1
    })
}

/// A vertical line over those cells that hold one of these symbols.
pub fn line(buf: &mut Buffer, (x, rows): (u16, Rect), over: &[&str], symbol: &str, style: Style) {
    for y in rows.top()..rows.bottom() {
        let free = !is_second_half(buf, (x, y));
        if let Some(cell) = buf.cell_mut((x, y)).filter(|cell| free && over.contains(&cell.symbol())) {
            cell.set_symbol(symbol).set_style(style);
        }
    }
}

pub fn put(buf: &mut Buffer, place: (u16, u16), symbol: &str, style: Style) {
    // Of a wide character whose second half goes, the first half goes as well.
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

/// Writes words from a column on, up to a limit; gives the column after them.
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
