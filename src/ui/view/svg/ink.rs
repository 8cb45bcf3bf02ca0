//! The colours of cells as SVG colours: those that xterm shows.

use ratatui::style::Color;

/// The default background.
pub(crate) const PAPER: &str = "#16181d";
/// The default text colour.
pub(crate) const INK: &str = "#d8dae0";
const NAMED: [&str; 16] = [
    "#1c1f26", "#e06c75", "#7fb069", "#d8a657", "#6a9fd8", "#b48ead", "#6fb5b5", "#c8cad0", "#5c6370",
    "#ff7b85", "#98c379", "#e5c07b", "#82b4e8", "#c9a3d0", "#8fd0d0", "#ffffff",
];

/// A colour, or `default` if the cell has none.
pub(crate) fn colour(colour: Color, default: &str) -> String {
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

/// The 256 colours: sixteen named ones, a cube of 6 x 6 x 6, 24 greys.
pub(crate) fn indexed(n: u8) -> String {
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
    use super::indexed;

    #[test]
    fn the_palette_is_that_of_terminals() {
        assert_eq!([16, 231, 243].map(indexed), ["#000000", "#ffffff", "#767676"]);
    }
}
