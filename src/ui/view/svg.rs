//! Renders a drawn screen as SVG. A pure function of its cells.
//!
//! Every character is placed in its cell, whatever font the reader has: runs of ASCII are stretched to their cells'
//! width, every other character has its own position, and lines and blocks are shapes instead of letters.

pub(crate) mod ink;
pub(crate) mod shapes;

use std::{collections::HashMap, fmt::Write as _};

use ink::{INK, PAPER, colour};
use ratatui::{buffer::Cell, layout::Margin};
use shapes::CELL;

use super::prelude::*;
use crate::printable::html;

/// The baseline of text within a cell.
const BASELINE: f32 = 13.5;
const MARGIN: f32 = 12.0;
/// Monospaced fonts of the usual systems, and fonts with Chinese characters.
pub const FONTS: &str = "'DejaVu Sans Mono','Cascadia Mono',Menlo,Consolas,'Liberation Mono','Noto Sans Mono CJK SC',\
                     'Noto Sans CJK SC','PingFang SC','Microsoft YaHei','WenQuanYi Zen Hei',monospace";
/// At this size a letter of the first font is as wide as a cell.
const FONT_SIZE: f32 = 14.95;
/// A Chinese character is as wide as it is high: at this size it nearly fills its two cells, as in running text.
const WIDE_FONT_SIZE: f32 = 17.0;

/// The picture, with a title, unless it is empty, for readers who cannot see it.
pub fn picture(buffer: &Buffer, title: &str) -> String {
    let (columns, rows) = (buffer.area.width, buffer.area.height);
    let width = f32::from(columns) * CELL.0 + 2.0 * MARGIN;
    let height = f32::from(rows) * CELL.1 + 2.0 * MARGIN;
    let paper = paper(buffer);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n"
    );
    // Writing to a String cannot fail.
    if !title.is_empty() {
        let _ = writeln!(svg, "<title>{}</title>", html(title));
    }
    let _ = write!(
        svg,
        "<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{paper}\"/>\n\
         <g font-family=\"{FONTS}\" font-size=\"{FONT_SIZE}\" xml:space=\"preserve\">\n"
    );
    for row in 0..rows {
        let cells = row_cells(buffer, row, &paper);
        grounds(&mut svg, &cells, row, &paper);
        blocks(&mut svg, &cells, row);
        lines(&mut svg, &cells, row);
        words(&mut svg, &cells, row);
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

struct Drawn<'a> {
    column: u16,
    wide: u16,
    symbol: &'a str,
    ink: String,
    paper: String,
    look: Modifier,
}

impl Drawn<'_> {
    fn x(&self) -> f32 {
        f32::from(self.column) * CELL.0 + MARGIN
    }

    fn width(&self) -> f32 {
        f32::from(self.wide) * CELL.0
    }

    fn opacity(&self) -> f32 {
        if self.look.contains(Modifier::DIM) { 0.6 } else { 1.0 }
    }
}

/// The most frequent background along the edges; the middle may be red because of a failure.
fn paper(buffer: &Buffer) -> String {
    let mut counts: HashMap<_, usize> = HashMap::new();
    let inner = buffer.area.inner(Margin::new(1, 1));
    for place in buffer.area.positions().filter(|place| !inner.contains(*place)) {
        *counts.entry(buffer[place].bg).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(ground, count)| (*count, colour(*ground, PAPER)));
    most.map_or_else(|| PAPER.to_owned(), |(ground, _)| colour(ground, PAPER))
}

fn row_cells<'a>(buffer: &'a Buffer, row: u16, ground: &str) -> Vec<Drawn<'a>> {
    let mut cells = Vec::new();
    let mut column = 0;
    while let Some(cell) =
        buffer.cell((buffer.area.x + column, buffer.area.y + row)).filter(|_| column < buffer.area.width)
    {
        let drawn = drawn(cell, column, ground);
        column += drawn.wide;
        cells.push(drawn);
    }
    cells
}

fn drawn<'a>(cell: &'a Cell, column: u16, ground: &str) -> Drawn<'a> {
    let (mut ink, mut paper) = (colour(cell.fg, INK), colour(cell.bg, ground));
    if cell.modifier.contains(Modifier::REVERSED) {
        std::mem::swap(&mut ink, &mut paper);
    }
    Drawn {
        column,
        wide: u16::try_from(text::width(cell.symbol()).max(1)).unwrap_or(1),
        symbol: cell.symbol(),
        ink,
        paper,
        look: cell.modifier & (Modifier::BOLD | Modifier::DIM | Modifier::UNDERLINED | Modifier::CROSSED_OUT),
    }
}

fn top(row: u16) -> f32 {
    f32::from(row) * CELL.1 + MARGIN
}

fn rect(svg: &mut String, (x, y, width, height): (f32, f32, f32, f32), ink: &str, dense: f32) {
    let _ = write!(svg, "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" ");
    let _ = writeln!(svg, "fill=\"{ink}\"{}/>", opacity(dense));
}

fn grounds(svg: &mut String, cells: &[Drawn<'_>], row: u16, paper: &str) {
    for run in cells.chunk_by(|one, next| one.paper == next.paper) {
        let (first, last) = (&run[0], &run[run.len() - 1]);
        if first.paper == paper {
            continue;
        }
        let width = last.x() + last.width() - first.x();
        rect(svg, (first.x(), top(row), width, CELL.1), &first.paper, 1.0);
    }
}

fn blocks(svg: &mut String, cells: &[Drawn<'_>], row: u16) {
    let same = |one: &Drawn<'_>, next: &Drawn<'_>| {
        one.symbol == next.symbol && one.ink == next.ink && one.look == next.look
    };
    for run in cells.chunk_by(same) {
        let first = &run[0];
        let Some(block) = shapes::block(first.symbol) else { continue };
        // Characters that fill the width of their cells are merged into one shape.
        let whole = block.wide >= 1.0;
        let parts: Vec<(f32, f32)> = if whole {
            let last = &run[run.len() - 1];
            vec![(first.x(), last.x() + last.width() - first.x())]
        } else {
            run.iter().map(|cell| (cell.x() + block.left * CELL.0, block.wide * CELL.0)).collect()
        };
        for (x, width) in parts {
            let place = (x, top(row) + block.top * CELL.1, width, block.tall * CELL.1);
            rect(svg, place, &first.ink, block.dense * first.opacity());
        }
    }
}

fn lines(svg: &mut String, cells: &[Drawn<'_>], row: u16) {
    let same = |one: &Drawn<'_>, next: &Drawn<'_>| {
        let pattern = |cell: &Drawn<'_>| {
            shapes::lines(cell.symbol, (0.0, 0.0)).map(|(_, thick, dashes)| (thick.to_bits(), dashes))
        };
        pattern(one) == pattern(next) && one.ink == next.ink && one.look == next.look
    };
    for run in cells.chunk_by(same) {
        let shapes = run.iter().filter_map(|cell| shapes::lines(cell.symbol, (cell.x(), top(row))));
        let (mut path, mut pattern) = (String::new(), (1.0, None));
        for (shape, thick, dashes) in shapes {
            path.push_str(&shape);
            pattern = (thick, dashes);
        }
        if path.is_empty() {
            continue;
        }
        let dashes = pattern.1.map_or_else(String::new, |dashes| format!(" stroke-dasharray=\"{dashes}\""));
        let (ink, opacity) = (&run[0].ink, opacity(run[0].opacity()));
        let _ = writeln!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{ink}\" stroke-width=\"{}\"{dashes}{opacity}/>",
            pattern.0
        );
    }
}

fn words(svg: &mut String, cells: &[Drawn<'_>], row: u16) {
    let same = |one: &Drawn<'_>, next: &Drawn<'_>| {
        one.symbol.is_ascii() && next.symbol.is_ascii() && one.ink == next.ink && one.look == next.look
    };
    let y = top(row) + BASELINE;
    for run in cells.chunk_by(same) {
        let first = &run[0];
        if !first.symbol.is_ascii() {
            if shapes::block(first.symbol).is_none() && shapes::lines(first.symbol, (0.0, 0.0)).is_none() {
                // Centred in its cells, whatever its width in the font.
                let middle = first.x() + first.width() / 2.0;
                let _ = write!(svg, "<text x=\"{middle}\" y=\"{y}\" text-anchor=\"middle\"");
                if first.wide > 1 {
                    let _ = write!(svg, " font-size=\"{WIDE_FONT_SIZE}\"");
                }
                letters(svg, first, first.symbol);
            }
            continue;
        }
        let underlined = first.look.intersects(Modifier::UNDERLINED | Modifier::CROSSED_OUT);
        let blank = |cell: &&Drawn<'_>| !underlined && cell.symbol.trim().is_empty();
        // Wide gaps would depend on the font's space, so words far apart are placed separately.
        let mut rest = run;
        while let Some(start) = rest.iter().position(|cell| !blank(&cell)) {
            rest = &rest[start..];
            let gap = rest.windows(2).position(|pair| pair.iter().all(|cell| blank(&cell)));
            let end = gap.unwrap_or(rest.len());
            let word = &rest[..end];
            let last = word.iter().rposition(|cell| !blank(&cell)).unwrap_or(0);
            let word = &word[..=last];
            let said: String = word.iter().map(|cell| cell.symbol).collect();
            let width = word[last].x() + word[last].width() - word[0].x();
            let _ = write!(svg, "<text x=\"{}\" y=\"{y}\"", word[0].x());
            if word.len() > 1 {
                let _ = write!(svg, " textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\"");
            }
            letters(svg, first, &said);
            rest = &rest[end..];
        }
    }
}

/// Writes the rest of a text element whose position is written.
fn letters(svg: &mut String, cell: &Drawn<'_>, said: &str) {
    let weight = if cell.look.contains(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
    let line = if cell.look.contains(Modifier::UNDERLINED) {
        " text-decoration=\"underline\""
    } else if cell.look.contains(Modifier::CROSSED_OUT) {
        " text-decoration=\"line-through\""
    } else {
        ""
    };
    let opacity = opacity(cell.opacity());
    let _ = writeln!(svg, " fill=\"{}\"{opacity}{weight}{line}>{}</text>", cell.ink, html(said));
}

fn opacity(opacity: f32) -> String {
    if opacity < 1.0 { format!(" opacity=\"{opacity}\"") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use ratatui::{
        buffer::Buffer,
        layout::Rect,
        style::{Color, Style},
    };

    use super::picture;

    #[test]
    fn cells_become_letters_in_their_colours() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 4, 1));
        buffer.set_string(0, 0, "锁<█", Style::new().fg(Color::Indexed(214)));
        let svg = picture(&buffer, "");
        assert!(svg.contains(">锁</text>") && svg.contains(">&lt;</text>"), "{svg}");
        assert!(svg.contains("#ffaf00"));
        assert_eq!(svg.matches("<text").count(), 2, "the block is a shape");
    }

    #[test]
    fn letters_stay_on_the_grid() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 30, 1));
        buffer.set_string(0, 0, "SET lock 锁 a     b", Style::new());
        let svg = picture(&buffer, "a <title>");
        assert!(svg.contains("<title>a &lt;title&gt;</title>"), "{svg}");
        // Eight cells wide, from the margin on.
        assert!(svg.contains("<text x=\"12\" y=\"25.5\" textLength=\"72\""), "{svg}");
        // In the middle of columns 9 and 10, and filling them.
        let wide = "<text x=\"102\" y=\"25.5\" text-anchor=\"middle\" font-size=\"17\"";
        assert!(svg.contains(wide), "{svg}");
        assert!(svg.contains(&format!("<text x=\"{}\" y=\"25.5\" fill", 12 + 18 * 9)), "{svg}");
    }

    #[test]
    fn a_row_of_blocks_is_one_shape_on_the_most_frequent_ground() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 10, 2));
        buffer.set_style(buffer.area, Style::new().bg(Color::Indexed(255)));
        buffer.set_string(2, 0, "▄▄▄", Style::new().fg(Color::Indexed(16)).bg(Color::Indexed(231)));
        let svg = picture(&buffer, "");
        assert!(svg.contains("rx=\"8\" fill=\"#eeeeee\""), "{svg}");
        let blocks = "<rect x=\"30\" y=\"21\" width=\"27\" height=\"9\" fill=\"#000000\"/>";
        assert!(svg.contains(blocks), "{svg}");
        assert_eq!(svg.matches("<rect").count(), 3, "paper, ground, blocks: {svg}");
    }
}
