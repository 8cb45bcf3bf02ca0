//! The glyphs of the visual language and what they mean: the legend of the help is made from these lists.

use crate::log::Belief;

/// One glyph per client, in the order in which clients appear; so that no meaning hangs on colour alone.
const CLIENTS: [&str; 8] = ["●", "■", "▲", "◆", "▼", "◐", "◇", "○"];

/// From the ninth client on, its number or a letter, so that no sign stands for two.
const NUMBERED: [&str; 38] = [
    "⑨", "⑩", "⑪", "⑫", "⑬", "⑭", "⑮", "⑯", "⑰", "⑱", "⑲", "⑳", "ⓐ", "ⓑ", "ⓒ", "ⓓ", "ⓔ", "ⓕ", "ⓖ", "ⓗ", "ⓘ",
    "ⓙ", "ⓚ", "ⓛ", "ⓜ", "ⓝ", "ⓞ", "ⓟ", "ⓠ", "ⓡ", "ⓢ", "ⓣ", "ⓤ", "ⓥ", "ⓦ", "ⓧ", "ⓨ", "ⓩ",
];
/// The same in ASCII, one after another.
const NUMBERED_ASCII: &str = "9012345678QZabcdefghijklmnPpqrstuUwWyz";

pub const fn client(n: usize) -> &'static str {
    if n < CLIENTS.len() { CLIENTS[n] } else { NUMBERED[(n - CLIENTS.len()) % NUMBERED.len()] }
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
/// What it holds no longer and still believes that it holds: an outline, by its corners, its sides and its edges.
pub const OUTLINE: [&str; 6] = ["┌", "┐", "└", "┘", "┆", "┄"];
pub const FROZEN: &str = "▒";
pub const DEAD: &str = "╌";
/// A bar of several rows, below its edge.
pub const FULL: &str = "█";
/// More hold a lock than may.
pub const CLASH: &str = "█";
/// The bar of one of them, in its own colour on a red ground.
pub const CLASHING: &str = "▓";
/// The same where there are no colours: a solid block would look like one holder, and be blank in reverse.
pub const CLASH_MONO: &str = "▚";
/// The same on a thin line.
pub const CLASH_LINE: &str = "═";
/// What is dragged along a scrubber.
pub const KNOB: &str = "╋";
pub const PLAYHEAD: &str = "┊";
/// A key that the server holds with no lease.
pub const HELD: &str = "▀";
/// How much of a lease is left, from nearly nothing to all of it.
pub const LEASE: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// A lifeline of somebody who has no lock and asks for none.
pub const LIFELINE: &str = "│";
/// A lifeline while its client holds: thicker.
pub const LIFELINE_HOLDING: &str = "┃";
/// Where two begin to hold one lock, and where they cease to.
pub const CLASH_EDGE: &str = "┃";
/// The line that leads from a chosen event to everything else of its moment.
pub const HAIRLINE: &str = "╎";

/// Whether what stands in a cell is said rather than drawn: letters, figures, and the signs of clients and faults.
pub fn is_word(symbol: &str) -> bool {
    let is_drawn = |c: char| matches!(c, ' ' | '\u{2500}'..='\u{259f}');
    !symbol.starts_with(is_drawn)
}

pub const KILLED: &str = "✝";
/// Stopped, or kept back.
pub const STOPPED: &str = "▮";
pub const RELEASED: &str = "▶";
/// Cut off, failed, or ended by itself.
pub const CUT: &str = "✗";
pub const CLOCK: &str = "◷";
/// Time that passes.
pub const PASSES: &str = "⋯";
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
/// What interviewers like to ask about.
pub const STARRED: &str = "★";
/// A Sentinel says something.
pub const SENTINEL: &str = "⚑";

/// Where two runs part first, and the line up to it.
pub const DIFFERENCE: &str = "≠";
/// The line from there to the time axis.
pub const DIFFERENCE_LINE: &str = "┃";

/// What an ASCII terminal shows for a glyph. What fills lanes, and what marks an event, has a sign of its own.
pub fn ascii(symbol: &str) -> &'static str {
    match symbol {
        "│" | "┊" | "╎" | "┆" | "▏" | "▌" => "|",
        "┄" => "'",
        "─" | "━" | "╌" | "┈" | "▱" | "–" | "—" => "-",
        "╭" | "╮" | "╰" | "╯" | "┌" | "┐" | "└" | "┘" | "┴" | "┬" | "├" | "┤" | "┼" | "╂" => {
            "+"
        }
        "┃" => "]",
        "█" | "▇" | "▆" | "▅" | "▰" => "#",
        "▄" => "=",
        "▀" => "\"",
        "▁" | "▂" | "▃" => "_",
        "░" => ",",
        "▒" => ":",
        "╱" => "/",
        "▓" | "▚" | "═" => "X",
        "→" | "▶" | "▸" | "»" | "›" => ">",
        "←" | "◀" | "◂" => "<",
        "↑" | "▲" => "^",
        "↓" | "▼" => "v",
        "·" => ".",
        "●" => "o",
        "■" => "$",
        "○" | "◌" => "O",
        "◉" => "@",
        "◆" => "*",
        "◇" => "%",
        "◐" => "&",
        STARRED => "S",
        "✓" => "Y",
        "✗" | "×" => "x",
        "✝" => "T",
        "▮" => "H",
        "↯" => "!",
        "≠" => "\\",
        // Something is left out. A dot would be the end of a sentence.
        "…" | "⋯" => "~",
        "◷" => "K",
        "↻" => "R",
        "♛" => "M",
        SENTINEL => "F",
        KNOB => "I",
        _ if symbol.starts_with(|c| ('\u{2800}'..='\u{28ff}').contains(&c)) => ";",
        _ => NUMBERED.iter().position(|known| *known == symbol).map_or("?", |n| &NUMBERED_ASCII[n..=n]),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        AGAIN, CLASHING, CLIENTS, CLOCK, CUT, DIFFERENCE, DONE, FROZEN, HELD, HOLDING, KILLED, KNOB, MASTER,
        NOTIFIED, NUMBERED, RELEASED, SENTINEL, SHARING, STARRED, STOPPED, UNSURE, WAITING, WATCH, ascii,
        client,
    };

    #[test]
    fn clients_stay_apart_in_ascii_too() {
        let mut glyphs: Vec<_> = CLIENTS.iter().map(|glyph| ascii(glyph)).collect();
        glyphs.sort_unstable();
        glyphs.dedup();
        assert_eq!(glyphs.len(), CLIENTS.len());
        assert!(!glyphs.contains(&"?"));
        let mut more: Vec<_> = (CLIENTS.len()..CLIENTS.len() + NUMBERED.len()).map(client).collect();
        assert!(more.iter().all(|sign| ascii(sign) != "?" && !CLIENTS.contains(sign)));
        more.dedup();
        assert_eq!(more.len(), NUMBERED.len(), "no sign stands for two");
    }

    #[test]
    fn what_fills_a_lane_or_marks_an_event_is_no_other_sign_in_ascii() {
        let fills = [HOLDING, SHARING, WAITING, UNSURE, FROZEN, CLASHING, HELD];
        let marks = [
            KILLED, STOPPED, RELEASED, CUT, CLOCK, AGAIN, NOTIFIED, DONE, MASTER, WATCH, DIFFERENCE, KNOB,
            SENTINEL, STARRED,
        ];
        let clients: Vec<&str> = (0..CLIENTS.len() + NUMBERED.len()).map(client).collect();
        let mut signs: Vec<&str> = [&fills[..], &marks, &clients].concat();
        let all = signs.len();
        signs.sort_unstable();
        signs.dedup();
        assert_eq!(signs.len(), all, "not with all signs, either");
        let mut signs: Vec<&str> = signs.into_iter().map(ascii).collect();
        signs.sort_unstable();
        let twice: Vec<&[&str]> = signs.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty() && !signs.contains(&"?"), "{twice:?}");
    }
}
