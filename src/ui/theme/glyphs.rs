//! The glyphs of the visual language and what they mean: the legend of the help is made from these lists.

use crate::log::Belief;

/// One glyph per client, in the order in which clients appear; so that no meaning hangs on colour alone.
const CLIENTS: [&str; 8] = ["●", "■", "▲", "◆", "▼", "★", "◇", "○"];

pub const fn client(n: usize) -> &'static str {
    CLIENTS[n % CLIENTS.len()]
}

/// What fills a lane while a client believes something.
pub const fn belief(belief: Belief) -> &'static str {
    match belief {
        Belief::Holding => HOLDING,
        Belief::Sharing => SHARING,
        Belief::Waiting => WAITING,
        Belief::Unsure | Belief::Nothing => UNSURE,
    }
}

pub const HOLDING: &str = "▄";
/// Holds it together with others.
pub const SHARING: &str = "▂";
pub const WAITING: &str = "╱";
pub const UNSURE: &str = "░";
pub const FROZEN: &str = "▒";
pub const DEAD: &str = "╌";
/// More hold a lock than may.
pub const CLASH: &str = "█";
/// The same where there are no colours: a solid block would look like one holder, and be blank in reverse.
pub const CLASH_MONO: &str = "▚";
/// The same on a thin line.
pub const CLASH_LINE: &str = "═";
/// What is dragged along a scrubber.
pub const KNOB: &str = "◆";
pub const PLAYHEAD: &str = "┊";
/// A key that the server holds with no lease.
pub const HELD: &str = "▀";
/// How much of a lease is left, from nearly nothing to all of it.
pub const LEASE: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// A lifeline of somebody who has no lock and asks for none.
pub const LIFELINE: &str = "│";
/// A lifeline while its client holds: thicker.
pub const LIFELINE_HOLDING: &str = "┃";
/// The line that leads from a chosen event to everything else of its moment.
pub const HAIRLINE: &str = "╎";

pub const KILLED: &str = "✝";
/// Stopped, or kept back.
pub const STOPPED: &str = "▮";
pub const RELEASED: &str = "▶";
pub const CUT: &str = "✗";
pub const CLOCK: &str = "◷";
/// The same once more, after a wait.
pub const AGAIN: &str = "↻";
pub const NOTIFIED: &str = "↯";
pub const DONE: &str = "✓";
pub const BAR_DONE: &str = "▰";
pub const BAR_LEFT: &str = "▱";
/// The way that a message has come.
pub const PATH: &str = "│";
pub const MASTER: &str = "♛";
pub const WATCH: &str = "◉";

/// Where two runs part first, and the line up to it.
pub const DIFFERENCE: &str = "≠";
/// The line from there to the time axis.
pub const DIFFERENCE_LINE: &str = "┃";

/// What an ASCII terminal shows for a glyph.
pub fn ascii(symbol: &str) -> &'static str {
    match symbol {
        "│" | "┊" | "╎" | "▮" | "┆" | "▏" | "▌" => "|",
        "─" | "━" | "┄" | "╌" | "┈" | "▱" | "–" | "—" | "═" => "-",
        "╭" | "╮" | "╰" | "╯" | "┴" | "┬" | "├" | "┤" | "┼" | "╂" | "✓" => "+",
        "┃" | "█" | "▇" | "▆" | "▅" | "▰" | "■" => "#",
        "▄" | "▀" => "=",
        "▒" | "▓" => ":",
        "╱" => "/",
        "▚" => "X",
        "→" | "▶" | "▸" | "»" | "›" => ">",
        "←" | "◀" | "◂" => "<",
        "↑" | "▲" => "^",
        "↓" | "▼" => "v",
        "▁" | "▂" | "▃" | "░" | "…" | "·" => ".",
        "●" => "o",
        "○" | "◌" => "O",
        "◉" => "@",
        "◆" => "*",
        "◇" => "%",
        "★" => "&",
        "✗" | "✝" | "×" => "x",
        "↯" | "≠" => "!",
        "◷" | "↻" | "⋯" => "~",
        "♛" => "M",
        _ => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::{CLIENTS, ascii};

    #[test]
    fn clients_stay_apart_in_ascii_too() {
        let mut glyphs: Vec<_> = CLIENTS.iter().map(|glyph| ascii(glyph)).collect();
        glyphs.sort_unstable();
        glyphs.dedup();
        assert_eq!(glyphs.len(), CLIENTS.len());
        assert!(!glyphs.contains(&"?"));
    }
}
