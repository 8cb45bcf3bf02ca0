//! Cells and words over what stood there. Nothing of that shines through: a style alone only adds to the one before.

use super::prelude::*;

pub fn put(buf: &mut Buffer, place: (u16, u16), symbol: &str, style: Style) {
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
