//! A drawn screen as a picture: an SVG of its cells. A pure function; it must not know what the cells mean.

use std::fmt::Write as _;

use ratatui::{
    buffer::{Buffer, Cell},
    style::{Color, Modifier},
};

use super::text;

/// Width and height of a cell, in the picture's units.
const CELL: (f32, f32) = (8.43, 18.0);
/// Where a letter's foot stands in its cell.
const BASELINE: f32 = 13.5;
/// Space around the screen.
const MARGIN: f32 = 12.0;
const PAPER: &str = "#16181d";
const INK: &str = "#d8dae0";
/// The sixteen colours that have names.
const NAMED: [&str; 16] = [
    "#1c1f26", "#e06c75", "#7fb069", "#d8a657", "#6a9fd8", "#b48ead", "#6fb5b5", "#c8cad0", "#5c6370",
    "#ff7b85", "#98c379", "#e5c07b", "#82b4e8", "#c9a3d0", "#8fd0d0", "#ffffff",
];

/// The picture.
#[must_use]
pub fn picture(buffer: &Buffer) -> String {
    let (columns, rows) = (buffer.area.width, buffer.area.height);
    let width = f32::from(columns) * CELL.0 + 2.0 * MARGIN;
    let height = f32::from(rows) * CELL.1 + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{PAPER}\"/>\n\
         <g font-family=\"'DejaVu Sans Mono','Noto Sans Mono CJK SC',monospace\" font-size=\"14\" \
         xml:space=\"preserve\">\n"
    );
    for row in 0..rows {
        let mut column = 0;
        while column < columns {
            let Some(cell) = buffer.cell((buffer.area.x + column, buffer.area.y + row)) else {
                break;
            };
            let wide = u16::try_from(text::width(cell.symbol()).max(1)).unwrap_or(1);
            draw_cell(&mut svg, cell, (column, row, wide));
            column += wide;
        }
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

fn draw_cell(svg: &mut String, cell: &Cell, (column, row, wide): (u16, u16, u16)) {
    let (mut ink, mut paper) = (colour(cell.fg, INK), colour(cell.bg, PAPER));
    if cell.modifier.contains(Modifier::REVERSED) {
        std::mem::swap(&mut ink, &mut paper);
    }
    let (x, y) = (
        f32::from(column) * CELL.0 + MARGIN,
        f32::from(row) * CELL.1 + MARGIN,
    );
    let width = f32::from(wide) * CELL.0;
    // Writing to a String cannot fail.
    if paper != PAPER {
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{paper}\"/>",
            width + 0.3,
            CELL.1 + 0.3
        );
    }
    let symbol = cell.symbol();
    if symbol == " " {
        return;
    }
    let opacity = if cell.modifier.contains(Modifier::DIM) {
        0.6
    } else {
        1.0
    };
    if let Some((top, tall)) = block(symbol) {
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{ink}\" opacity=\"{opacity}\"/>",
            y + top * CELL.1,
            width + 0.2,
            tall * CELL.1
        );
        return;
    }
    let mut style = String::new();
    if cell.modifier.contains(Modifier::BOLD) {
        style.push_str(" font-weight=\"bold\"");
    }
    if cell.modifier.contains(Modifier::UNDERLINED) {
        style.push_str(" text-decoration=\"underline\"");
    } else if cell.modifier.contains(Modifier::CROSSED_OUT) {
        style.push_str(" text-decoration=\"line-through\"");
    }
    let _ = writeln!(
        svg,
        "<text x=\"{x:.2}\" y=\"{:.2}\" fill=\"{ink}\" opacity=\"{opacity}\"{style}>{}</text>",
        y + BASELINE,
        escape(symbol)
    );
}

/// Blocks are drawn as shapes, so that they meet whatever the font: their top and height, as parts of a cell.
fn block(symbol: &str) -> Option<(f32, f32)> {
    Some(match symbol {
        "█" => (0.0, 1.0),
        "▀" => (0.0, 0.5),
        "▁" => (0.875, 0.125),
        "▂" => (0.75, 0.25),
        "▃" => (0.625, 0.375),
        "▄" => (0.5, 0.5),
        "▅" => (0.375, 0.625),
        "▆" => (0.25, 0.75),
        "▇" => (0.125, 0.875),
        _ => return None,
    })
}

fn escape(symbol: &str) -> String {
    symbol
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn colour(colour: Color, default: &str) -> String {
    let named = |n: usize| NAMED[n].to_owned();
    match colour {
        Color::Reset => default.to_owned(),
        Color::Black => named(0),
        Color::Red => named(1),
        Color::Green => named(2),
        Color::Yellow => named(3),
        Color::Blue => named(4),
        Color::Magenta => named(5),
        Color::Cyan => named(6),
        Color::Gray => named(7),
        Color::DarkGray => named(8),
        Color::LightRed => named(9),
        Color::LightGreen => named(10),
        Color::LightYellow => named(11),
        Color::LightBlue => named(12),
        Color::LightMagenta => named(13),
        Color::LightCyan => named(14),
        Color::White => named(15),
        Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
        Color::Indexed(n) => indexed(n),
    }
}

/// The 256 colours: sixteen names, a cube of 6 x 6 x 6, 24 greys.
fn indexed(n: u8) -> String {
    match n {
        0..16 => NAMED[usize::from(n)].to_owned(),
        16..232 => {
            let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
            let cube = n - 16;
            let (r, g, b) = (level(cube / 36), level(cube / 6 % 6), level(cube % 6));
            format!("#{r:02x}{g:02x}{b:02x}")
        }
        232.. => {
            let grey = 8 + 10 * (n - 232);
            format!("#{grey:02x}{grey:02x}{grey:02x}")
        }
    }
}

#[cfg(test)]
mod tests {
    use ratatui::{
        buffer::Buffer,
        layout::Rect,
        style::{Color, Style},
    };

    use super::{indexed, picture};

    #[test]
    fn cells_become_letters_in_their_colours() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 4, 1));
        buffer.set_string(0, 0, "锁<█", Style::new().fg(Color::Indexed(214)));
        let svg = picture(&buffer);
        assert!(
            svg.contains(">锁</text>") && svg.contains(">&lt;</text>"),
            "{svg}"
        );
        assert!(svg.contains("#ffaf00"));
        assert_eq!(svg.matches("<text").count(), 2, "the block is a shape");
    }

    #[test]
    fn the_palette_is_that_of_terminals() {
        assert_eq!(
            (indexed(16), indexed(231), indexed(243)),
            ("#000000".into(), "#ffffff".into(), "#767676".into())
        );
    }
}
