//! The glyphs of the visual language. The legend in the help is made from these lists.

use crate::log::Belief;

/// One glyph per client, in order of appearance, so that no meaning depends on colour alone.
const CLIENTS: [&str; 8] = ["●", "■", "▲", "◆", "▼", "◐", "◇", "○"];

/// From the ninth client on, its number or a letter, so that no glyph stands for two clients.
const NUMBERED: [&str; 38] = [
    "⑨", "⑩", "⑪", "⑫", "⑬", "⑭", "⑮", "⑯", "⑰", "⑱", "⑲", "⑳", "ⓐ", "ⓑ", "ⓒ", "ⓓ", "ⓔ", "ⓕ", "ⓖ", "ⓗ", "ⓘ",
    "ⓙ", "ⓚ", "ⓛ", "ⓜ", "ⓝ", "ⓞ", "ⓟ", "ⓠ", "ⓡ", "ⓢ", "ⓣ", "ⓤ", "ⓥ", "ⓦ", "ⓧ", "ⓨ", "ⓩ",
];
/// The same in ASCII, one character per client.
const NUMBERED_ASCII: &str = "9012345678QZabcdefghijklmnPpqrstuUwWyz";

pub const fn client(n: usize) -> &'static str {
    if n < CLIENTS.len() { CLIENTS[n] } else { NUMBERED[(n - CLIENTS.len()) % NUMBERED.len()] }
}

/// The fill of a lane while a client believes something.
pub const fn belief(belief: Belief) -> &'static str {
    match belief {
        Belief::Holding => HOLDING,
        Belief::Sharing => SHARING,
        Belief::Waiting => WAITING,
        Belief::Unsure | Belief::Nothing => UNSURE,
    }
}

pub const HOLDING: &str = "▄";
/// Holds a lock together with others.
pub const SHARING: &str = "▂";
pub const WAITING: &str = "╱";
/// The client has read a value and acts on it.
pub const SAW: &str = "≡";
pub const UNSURE: &str = "░";
/// The outline of a lock that the client no longer holds but believes to hold: corners, sides and edges.
pub const OUTLINE: [&str; 6] = ["┌", "┐", "└", "┘", "┆", "┄"];
pub const FROZEN: &str = "▒";
/// Frozen without a lock, where bars have a single row.
pub const FROZEN_LINE: &str = "╍";
pub const DEAD: &str = "╌";
/// A bar of several rows, below its edge.
pub const FULL: &str = "█";
/// A lock has more holders than allowed.
pub const CLASH: &str = "█";
/// The bar of one such holder, in its own colour on a red ground.
pub const CLASHING: &str = "▓";
/// The same without colours: a solid block would look like a single holder, and be blank in reverse video.
pub const CLASH_MONO: &str = "▚";
/// The same on a thin line.
pub const CLASH_LINE: &str = "═";
/// The handle of the scrubber.
pub const KNOB: &str = "╋";
pub const PLAYHEAD: &str = "┊";
/// A key without a TTL on the server.
pub const HELD: &str = "▀";
/// The rest of a lease, from almost none to all of it.
pub const LEASE: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// The lifeline of a client that neither holds nor requests a lock.
pub const LIFELINE: &str = "│";
/// The thicker lifeline of a client that holds a lock.
pub const LIFELINE_HOLDING: &str = "┃";
/// Where a lock begins and ceases to have two holders.
pub const CLASH_EDGE: &str = "┃";
/// The line through everything at the moment of the selected event.
pub const HAIRLINE: &str = "╎";

/// Whether the content of a cell is text rather than drawing: letters, digits, glyphs of clients and faults.
pub fn is_word(symbol: &str) -> bool {
    let is_drawn = |c: char| matches!(c, ' ' | '≡' | '\u{2500}'..='\u{259f}');
    !symbol.starts_with(is_drawn)
}

pub const KILLED: &str = "✝";
/// Stopped, or held back.
pub const STOPPED: &str = "▮";
pub const RELEASED: &str = "▶";
/// Cut off, failed, or ended by itself.
pub const CUT: &str = "✗";
pub const CLOCK: &str = "◷";
/// Time passes.
pub const PASSES: &str = "⋯";
/// Repeated after a wait.
pub const AGAIN: &str = "↻";
pub const NOTIFIED: &str = "↯";
pub const DONE: &str = "✓";
pub const BAR_DONE: &str = "▰";
pub const BAR_LEFT: &str = "▱";
/// The path that a message has travelled.
pub const PATH: &str = "│";
pub const MASTER: &str = "♛";
pub const WATCH: &str = "◉";
/// A common interview topic.
pub const STARRED: &str = "★";
/// A Sentinel's notice.
pub const SENTINEL: &str = "⚑";

/// The first difference between two runs.
pub const DIFFERENCE: &str = "≠";
/// The line from the first difference to the time axis.
pub const DIFFERENCE_LINE: &str = "┃";

/// The ASCII replacement of a glyph. Fills of lanes and marks of events keep distinct characters.
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
        "╍" => "`",
        "╱" => "/",
        "▓" | "▚" | "═" => "X",
        "→" | "▶" | "▸" | "»" | "›" => ">",
        "←" | "◀" | "◂" => "<",
        "↑" | "▲" => "^",
        "↓" | "▼" => "v",
        "·" | SAW => ".",
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
        // Something is left out. A dot would look like the end of a sentence.
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
        AGAIN, CLASHING, CLIENTS, CLOCK, CUT, DIFFERENCE, DONE, FROZEN, FROZEN_LINE, HELD, HOLDING, KILLED,
        KNOB, MASTER, NOTIFIED, NUMBERED, RELEASED, SAW, SENTINEL, SHARING, STARRED, STOPPED, UNSURE,
        WAITING, WATCH, ascii, client,
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
    fn fills_and_marks_have_distinct_ascii_glyphs() {
        let fills = [HOLDING, SHARING, WAITING, SAW, UNSURE, FROZEN, FROZEN_LINE, CLASHING, HELD];
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
