//! Characters that are drawn as shapes, so that they join exactly whatever the font: boxes, blocks, shades.

use std::fmt::Write as _;

/// The width and height of a cell: whole numbers here, and halves for lines, so that edges fall on pixels.
pub(crate) const CELL: (f32, f32) = (9.0, 18.0);
/// Where lines cross in a cell.
const CENTRE: (f32, f32) = (4.5, 8.5);
/// The radius of a round corner.
const ROUND: f32 = 4.0;

/// A filled part of a cell: left, top, width and height as fractions of the cell, and its opacity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Block {
    pub left: f32,
    pub top: f32,
    pub wide: f32,
    pub tall: f32,
    pub dense: f32,
}

pub(crate) fn block(symbol: &str) -> Option<Block> {
    let part = |left, top, wide, tall| Block { left, top, wide, tall, dense: 1.0 };
    let low = |tall: f32| part(0.0, 1.0 - tall, 1.0, tall);
    Some(match symbol {
        "█" => low(1.0),
        "▇" => low(0.875),
        "▆" => low(0.75),
        "▅" => low(0.625),
        "▄" => low(0.5),
        "▃" => low(0.375),
        "▂" => low(0.25),
        "▁" => low(0.125),
        "▀" => part(0.0, 0.0, 1.0, 0.5),
        "▌" => part(0.0, 0.0, 0.5, 1.0),
        "▐" => part(0.5, 0.0, 0.5, 1.0),
        "▏" => part(0.0, 0.0, 0.125, 1.0),
        "░" => Block { dense: 0.25, ..low(1.0) },
        "▒" => Block { dense: 0.5, ..low(1.0) },
        "▓" => Block { dense: 0.75, ..low(1.0) },
        _ => return None,
    })
}

/// A line character: its path in the cell at `x`, `y`, its thickness, and its dash pattern.
pub(crate) fn lines(symbol: &str, (x, y): (f32, f32)) -> Option<(String, f32, Option<&'static str>)> {
    let (cx, cy) = (x + CENTRE.0, y + CENTRE.1);
    let (right, bottom) = (x + CELL.0, y + CELL.1);
    let mut path = String::new();
    // Writing to a String cannot fail.
    let mut line = |from: (f32, f32), to: (f32, f32)| {
        let _ = write!(path, "M{} {}L{} {}", from.0, from.1, to.0, to.1);
    };
    let (west, east, north, south) = ((x, cy), (right, cy), (cx, y), (cx, bottom));
    let arms: &[(f32, f32)] = match symbol {
        "─" | "━" | "┄" | "╌" | "┈" => &[west, east],
        "│" | "┃" | "┆" | "┊" => &[north, south],
        "┌" => &[east, south],
        "┐" => &[west, south],
        "└" => &[east, north],
        "┘" => &[west, north],
        "├" => &[north, south, east],
        "┤" => &[north, south, west],
        "┬" => &[west, east, south],
        "┴" => &[west, east, north],
        "┼" => &[west, east, north, south],
        "╱" => {
            line((x, bottom), (right, y));
            return Some((path, 1.0, None));
        }
        "≡" => {
            for row in [4.5, 8.5, 12.5] {
                line((x, y + row), (right, y + row));
            }
            return Some((path, 1.0, None));
        }
        "╭" | "╮" | "╰" | "╯" => {
            let (side, toward) = if matches!(symbol, "╭" | "╰") { (east.0, 1.0) } else { (west.0, -1.0) };
            let (end, down) = if matches!(symbol, "╭" | "╮") { (south.1, 1.0) } else { (north.1, -1.0) };
            let _ = write!(
                path,
                "M{side} {cy}L{} {cy}Q{cx} {cy} {cx} {}L{cx} {end}",
                cx + toward * ROUND,
                cy + down * ROUND
            );
            return Some((path, 1.0, None));
        }
        _ => return None,
    };
    match arms {
        // A straight line is one stroke, so that its dashes are even.
        [from, to] if from.0.total_cmp(&to.0).is_eq() || from.1.total_cmp(&to.1).is_eq() => line(*from, *to),
        arms => {
            for arm in arms {
                line((cx, cy), *arm);
            }
        }
    }
    let dashes = match symbol {
        "┄" | "┆" => Some("3 3"),
        "╌" => Some("4 5"),
        "┈" | "┊" => Some("2 2.5"),
        _ => None,
    };
    let thick = if matches!(symbol, "━" | "┃") { 3.0 } else { 1.0 };
    Some((path, thick, dashes))
}

#[cfg(test)]
mod tests {
    use super::{CELL, block, lines};

    #[test]
    fn boxes_meet_at_the_edges_of_cells() {
        let corner = lines("╭", (0.0, 0.0)).expect("a shape").0;
        let side = lines("─", (CELL.0, 0.0)).expect("a shape").0;
        assert!(corner.starts_with("M9 8.5"), "{corner}");
        assert!(side.starts_with("M9 8.5"), "{side}");
        assert!(corner.ends_with("L4.5 18"), "{corner}");
        assert_eq!(lines("│", (0.0, 18.0)).expect("a shape").0, "M4.5 18L4.5 36");
        assert_eq!(lines("a", (0.0, 0.0)), None);
    }

    #[test]
    fn blocks_fill_their_part() {
        let lower = block("▄").expect("a block");
        assert_eq!((lower.top, lower.tall, lower.wide), (0.5, 0.5, 1.0));
        assert_eq!(block("x"), None);
    }
}
