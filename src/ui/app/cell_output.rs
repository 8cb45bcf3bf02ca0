//! Writes changed cells to the terminal in fewer bytes than the backend of ratatui does: only the part of a style that
//! differs, no style for what a blank does not show, and a column instead of a row and a column within a row. Over a
//! slow connection the bytes of a picture decide how long it takes.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use crossterm::{
    cursor::{MoveTo, MoveToColumn},
    queue,
    style::{Attribute, Colored, Print, SetAttribute},
};
use ratatui::{
    backend::IntoCrossterm as _,
    buffer::Cell,
    style::{Color, Modifier},
};

/// The codes of SGR (ECMA-48, 8.3.117) that turn a modifier on and off.
const MODIFIERS: [(Modifier, u8, u8); 9] = [
    (Modifier::BOLD, 1, 22),
    (Modifier::DIM, 2, 22),
    (Modifier::ITALIC, 3, 23),
    (Modifier::UNDERLINED, 4, 24),
    (Modifier::SLOW_BLINK, 5, 25),
    (Modifier::RAPID_BLINK, 6, 25),
    (Modifier::REVERSED, 7, 27),
    (Modifier::HIDDEN, 8, 28),
    (Modifier::CROSSED_OUT, 9, 29),
];

/// What can be seen of a modifier on a blank.
const SEEN_ON_BLANKS: Modifier = Modifier::UNDERLINED.union(Modifier::REVERSED).union(Modifier::CROSSED_OUT);

/// The rendition in which the terminal writes the next character (SGR: Select Graphic Rendition).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Rendition {
    foreground: Color,
    background: Color,
    underline: Color,
    modifier: Modifier,
}

impl Rendition {
    const fn of(cell: &Cell) -> Self {
        Self {
            foreground: cell.fg,
            background: cell.bg,
            underline: cell.underline_color,
            modifier: cell.modifier,
        }
    }

    /// The state in which `cell` is written: of a blank, only the background matters.
    fn for_cell(self, cell: &Cell) -> Self {
        let blank = cell.symbol() == " " && !(self.modifier | cell.modifier).intersects(SEEN_ON_BLANKS);
        if blank { Self { background: cell.bg, ..self } } else { Self::of(cell) }
    }

    /// The parameters of SGR that turn this state into the other, without the last semicolon.
    fn codes_to(self, to: Self) -> String {
        let mut codes = String::new();
        let removed = self.modifier - to.modifier;
        // Bold and dim have one code that turns them off, and so have the two ways to blink.
        let mut turned_off: Vec<u8> = MODIFIERS
            .iter()
            .filter(|(modifier, ..)| removed.contains(*modifier))
            .map(|(.., off)| *off)
            .collect();
        turned_off.dedup();
        for off in &turned_off {
            let _ = write!(codes, "{off};");
        }
        for (modifier, on, off) in MODIFIERS {
            let is_new = !self.modifier.contains(modifier) || turned_off.contains(&off);
            if to.modifier.contains(modifier) && is_new {
                let _ = write!(codes, "{on};");
            }
        }
        let colors = [
            (self.foreground, to.foreground, Colored::ForegroundColor as fn(_) -> _),
            (self.background, to.background, Colored::BackgroundColor),
            (self.underline, to.underline, Colored::UnderlineColor),
        ];
        for (from, to, colored) in colors {
            let code = colored(to.into_crossterm()).to_string();
            // There is none where the environment forbids colors (NO_COLOR).
            if from != to && !code.is_empty() {
                let _ = write!(codes, "{code};");
            }
        }
        codes.pop();
        codes
    }
}

/// Writes `cells`, each with its column and row, and leaves the terminal without a style.
pub fn write_cells<'a>(
    terminal: &mut impl Write,
    cells: impl Iterator<Item = (u16, u16, &'a Cell)>,
) -> io::Result<()> {
    let mut rendition = Rendition::default();
    let mut cursor = None;
    for (x, y, cell) in cells {
        let adjacent = cursor == Some((x, y));
        // A cell that a wide character covers is empty, and the cursor is already behind it.
        if cell.symbol().is_empty() && !adjacent {
            continue;
        }
        match cursor {
            _ if adjacent => {}
            Some((_, row)) if row == y => queue!(terminal, MoveToColumn(x))?,
            _ => queue!(terminal, MoveTo(x, y))?,
        }
        cursor = Some((x + 1, y));
        if cell.symbol().is_empty() {
            continue;
        }
        let wanted = rendition.for_cell(cell);
        if wanted != rendition {
            let codes = rendition.codes_to(wanted);
            if !codes.is_empty() {
                write!(terminal, "\x1b[{codes}m")?;
            }
            rendition = wanted;
        }
        queue!(terminal, Print(cell.symbol()))?;
    }
    queue!(terminal, SetAttribute(Attribute::Reset))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::{
        backend::{Backend as _, CrosstermBackend},
        buffer::Buffer,
        layout::Rect,
        style::{Color, Modifier, Style},
    };

    use super::write_cells;
    use crate::ui::view::wide_cells;

    fn color() -> impl Strategy<Value = Color> {
        prop_oneof![
            Just(Color::Reset),
            (0_u8..16).prop_map(Color::Indexed),
            Just(Color::LightRed),
            (0_u8..3).prop_map(|red| Color::Rgb(red, 7, 255)),
        ]
    }

    fn picture() -> impl Strategy<Value = Buffer> {
        let modifier = (0_u16..512).prop_map(Modifier::from_bits_truncate);
        let span = ("[a 锁中│]{0,6}", color(), color(), modifier, 0_u16..14, 0_u16..3);
        proptest::collection::vec(span, 0..8).prop_map(|spans| {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 20, 3));
            for (text, foreground, background, modifier, x, y) in spans {
                let style = Style::new().fg(foreground).bg(background).add_modifier(modifier);
                buffer.set_stringn(x, y, text, usize::from(20 - x), style);
            }
            for cell in &mut buffer.content {
                // The terminal of this test knows either bold or dim.
                if cell.modifier.contains(Modifier::BOLD) {
                    cell.modifier -= Modifier::DIM;
                }
            }
            wide_cells::empty_covered_cells(&mut buffer);
            buffer
        })
    }

    /// What is seen of each cell: a blank has no foreground, unless it is underlined or reversed.
    fn seen(terminal: &vt100::Parser) -> Vec<String> {
        let screen = terminal.screen();
        let cell = |row, column| {
            let cell = screen.cell(row, column).expect("on the screen");
            let blank = matches!(cell.contents(), "" | " ") && !cell.underline() && !cell.inverse();
            let ink = (!blank).then(|| {
                (
                    cell.contents(),
                    cell.fgcolor(),
                    cell.bold(),
                    cell.dim(),
                    cell.italic(),
                    cell.underline(),
                    cell.inverse(),
                )
            });
            format!("{row} {column} {:?} {ink:?}", cell.bgcolor())
        };
        (0..3).flat_map(|row| (0..20).map(move |column| cell(row, column))).collect()
    }

    proptest! {
        #[test]
        fn the_terminal_shows_what_the_backend_of_ratatui_would_show(pictures in proptest::collection::vec(picture(), 1..5)) {
            let (mut theirs, mut ours) = (vt100::Parser::new(3, 20, 0), vt100::Parser::new(3, 20, 0));
            let mut before = Buffer::empty(pictures[0].area);
            for picture in &pictures {
                let changes = before.diff(picture);
                let (mut reference, mut bytes) = (Vec::new(), Vec::new());
                CrosstermBackend::new(&mut reference).draw(changes.iter().copied()).expect("written to memory");
                write_cells(&mut bytes, changes.into_iter()).expect("written to memory");
                theirs.process(&reference);
                ours.process(&bytes);
                prop_assert_eq!(seen(&ours), seen(&theirs));
                prop_assert!(bytes.len() <= reference.len());
                before = picture.clone();
            }
        }
    }

    #[test]
    fn only_the_part_of_a_style_that_differs_is_sent() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 9, 1));
        buffer.set_string(0, 0, "a", Style::new().fg(Color::Indexed(1)).bg(Color::Indexed(2)));
        buffer.set_string(1, 0, "b ", Style::new().fg(Color::Indexed(3)).bg(Color::Indexed(2)));
        buffer.set_string(2, 0, " ", Style::new().fg(Color::Indexed(4)).bg(Color::Indexed(2)));
        buffer.set_string(8, 0, "c", Style::new().bg(Color::Indexed(2)).add_modifier(Modifier::BOLD));
        let mut bytes = Vec::new();
        let changes = Buffer::empty(buffer.area).diff(&buffer);
        write_cells(&mut bytes, changes.into_iter()).expect("written to memory");
        let expected = "\x1b[1;1H\x1b[38;5;1;48;5;2ma\x1b[38;5;3mb \x1b[9G\x1b[1;39mc\x1b[0m";
        assert_eq!(String::from_utf8_lossy(&bytes), expected);
    }
}
