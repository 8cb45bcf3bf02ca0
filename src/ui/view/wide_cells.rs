//! Prepares the cells that wide characters cover for terminals that are sent only differences between pictures.

use ratatui::buffer::Buffer;

use crate::ui::theme::text;

/// Empties the cells that wide characters cover. A terminal blanks such a cell without any style when its wide
/// character is overwritten, and ratatui sends a cell only if it differs from the one before: so a covered cell must
/// differ from every visible cell.
pub fn empty_covered_cells(buffer: &mut Buffer) {
    let width = usize::from(buffer.area.width.max(1));
    for row in buffer.content.chunks_mut(width) {
        let mut covered = 0;
        for cell in row {
            if covered > 0 {
                covered -= 1;
                cell.set_symbol("");
            } else if cell.symbol().is_empty() {
                cell.set_symbol(" ");
            } else {
                covered = text::width(cell.symbol()).saturating_sub(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::{
        backend::{Backend as _, CrosstermBackend},
        buffer::Buffer,
        layout::Rect,
        style::{Color, Style},
    };

    /// The terminal's state after it was sent the differences between these pictures.
    fn shown(pictures: &[Buffer]) -> vt100::Parser {
        let area = pictures[0].area;
        let mut terminal = vt100::Parser::new(area.height, area.width, 0);
        let mut before = Buffer::empty(area);
        for picture in pictures {
            let mut bytes = Vec::new();
            let changes = before.diff(picture);
            CrosstermBackend::new(&mut bytes).draw(changes.into_iter()).expect("written to memory");
            terminal.process(&bytes);
            before = picture.clone();
        }
        terminal
    }

    proptest! {
        #[test]
        fn no_cell_is_stale_where_wide_characters_move(
            rows in proptest::collection::vec(("[a 锁中]{0,12}", 0_u8..3, 0_u16..4), 2..6)
        ) {
            let pictures: Vec<Buffer> = rows.iter().map(|(text, ground, shift)| {
                let mut buffer = Buffer::empty(Rect::new(0, 0, 14, 1));
                buffer.set_stringn(*shift, 0, text, usize::from(14 - shift), Style::new());
                if *ground > 0 {
                    buffer.set_style(Rect::new(0, 0, 14, 1), Style::new().bg(Color::Indexed(*ground)));
                }
                super::empty_covered_cells(&mut buffer);
                buffer
            }).collect();
            let (moved, fresh) = (shown(&pictures), shown(&pictures[pictures.len() - 1..]));
            for x in 0..14 {
                let cell = |parser: &vt100::Parser| {
                    let cell = parser.screen().cell(0, x).expect("on the screen");
                    (cell.contents().trim().to_owned(), cell.bgcolor())
                };
                // The second half of a wide character has no background of its own.
                if x == 0 || !fresh.screen().cell(0, x - 1).is_some_and(vt100::Cell::is_wide) {
                    prop_assert_eq!(cell(&moved), cell(&fresh), "{} in {:?}", x, &rows);
                }
            }
        }
    }
}
