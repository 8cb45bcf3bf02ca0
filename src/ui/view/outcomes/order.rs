//! An order of moves as lanes: a column for each choice, in the colours of the clients. Repeated blocks of moves are
//! drawn once.

use std::ops::Range;

use crate::{log::Log, ui::view::prelude::*};

/// The maximum length of a repeated block.
const LONGEST: usize = 12;
/// The minimum number of columns that folding a block must save.
const WORTH: usize = 3;

/// A block of moves, and how often it is repeated.
#[derive(Debug, PartialEq, Eq)]
struct Block {
    moves: Range<usize>,
    times: usize,
}

/// Finds repeated blocks. The last move is never part of one, because with it the order goes wrong.
fn fold(moves: &[String]) -> Vec<Block> {
    let last = moves.len().saturating_sub(1);
    let (mut blocks, mut at) = (Vec::new(), 0);
    while at < last {
        let times = |length: usize| {
            let block = &moves[at..at + length];
            1 + moves[at + length..last].chunks(length).take_while(|next| *next == block).count()
        };
        let lengths = (1..=LONGEST.min((last - at) / 2)).map(|length| (length, times(length)));
        // Of the blocks that save the most, the shortest.
        let best = lengths.rev().max_by_key(|(length, times)| length * (times - 1));
        let (length, times) = best.filter(|(length, times)| length * (times - 1) >= WORTH).unwrap_or((1, 1));
        blocks.push(Block { moves: at..at + length, times });
        at += length * times;
    }
    blocks.extend((!moves.is_empty()).then_some(Block { moves: last..moves.len(), times: 1 }));
    blocks
}

/// Splits a choice into who makes it and what: `A.check` is a `check` of A, `crash A` a crash of A. Time that passes
/// belongs to nobody.
fn part(words: &str) -> (&str, &str) {
    if words.is_empty() || words.starts_with('+') {
        return ("", words);
    }
    let choice = words.rsplit_once('.').or_else(|| words.rsplit_once(' ').map(|(what, who)| (who, what)));
    choice.unwrap_or(("", words))
}

/// The index of a client in its run, which decides its colour and glyph.
fn place(name: &str, names: &[&str], log: Option<&Log>) -> usize {
    let mut clients: Vec<&str> = Vec::new();
    for actor in log.map_or(&[][..], Log::actors) {
        if !clients.contains(&actor.client.as_str()) {
            clients.push(&actor.client);
        }
        if actor.name == name {
            return clients.iter().position(|client| *client == actor.client).unwrap_or(0);
        }
    }
    names.iter().filter(|name| !name.is_empty()).position(|known| *known == name).unwrap_or(0)
}

/// The lanes, with the names of the moves if they fit in `width` columns, otherwise with the glyphs of the clients;
/// `None` if even these do not fit.
pub(super) fn lanes(
    moves: &[String],
    log: Option<&Log>,
    width: usize,
    theme: Theme,
) -> Option<Vec<Line<'static>>> {
    let blocks = fold(moves);
    drawn(moves, (&blocks, log), width, theme, true)
        .or_else(|| drawn(moves, (&blocks, log), width, theme, false))
}

fn drawn(
    moves: &[String],
    (blocks, log): (&[Block], Option<&Log>),
    width: usize,
    theme: Theme,
    in_words: bool,
) -> Option<Vec<Line<'static>>> {
    let parts: Vec<(&str, &str)> = moves.iter().map(|words| part(words)).collect();
    let mut names: Vec<&str> = parts.iter().map(|(who, _)| *who).collect();
    names.sort_unstable();
    names.dedup();
    let client = |who: &str| place(who, &names, log);
    // A fault is always shown in words. During the search it is known who moves, but not yet with what.
    let words = |n: usize| -> String {
        let ((who, what), fault) = (parts[n], !moves[n].contains('.') && !moves[n].starts_with('+'));
        match (who, what) {
            ("", "") => glyphs::PASSES.to_owned(),
            ("", what) if what.starts_with('+') && !in_words => glyphs::PASSES.to_owned(),
            (_, what) if !what.is_empty() && (in_words || fault) => what.to_owned(),
            (who, _) => glyphs::client(client(who)).to_owned(),
        }
    };
    let shown: Vec<usize> = blocks.iter().flat_map(|block| block.moves.clone()).collect();
    let columns: Vec<(usize, String)> = shown.iter().map(|n| (*n, words(*n))).collect();
    let wide = |words: &str| text::width(words) + 2;
    let head = names.iter().map(|name| text::width(name)).max()? + 2;
    if head + columns.iter().map(|(_, words)| wide(words)).sum::<usize>() > width {
        return None;
    }
    let chrome = theme.style(Role::Chrome);
    let mut lines = Vec::new();
    if blocks.iter().any(|block| block.times > 1) {
        let mut line = Line::raw(" ".repeat(head));
        for block in blocks {
            let of = block.moves.clone();
            let room: usize =
                columns.iter().filter(|(n, _)| of.contains(n)).map(|(_, words)| wide(words)).sum();
            let bracket = if block.times > 1 { bracket(block.times, room) } else { String::new() };
            line.push_span(Span::styled(text::pad(&bracket, room), theme.style(Role::Accent)));
        }
        lines.push(line);
    }
    for name in &names {
        let own = if name.is_empty() { chrome } else { theme.client(client(name)) };
        let mut line = Line::styled(text::pad(name, head), own);
        for (n, words) in &columns {
            let (words, style) = match (parts[*n].0 == *name, *n + 1 == moves.len()) {
                (true, true) => (text::pad(words, wide(words)), theme.style(Role::Danger)),
                (true, false) => (text::pad(words, wide(words)), own),
                (false, _) => (text::pad("·", wide(words)), chrome),
            };
            line.push_span(Span::styled(words, style));
        }
        lines.push(line);
    }
    Some(lines)
}

/// The bracket over repeated moves: `┌ ×3 ──┐`.
fn bracket(times: usize, room: usize) -> String {
    let words = format!("┌ ×{times} ");
    match room.checked_sub(text::width(&words) + 2) {
        Some(left) => format!("{words}{}┐", "─".repeat(left)),
        None => format!("×{times}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, bracket, fold, lanes};
    use crate::ui::theme::{Environment, Theme, ThemeName};

    fn moves(words: &str) -> Vec<String> {
        words.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn repeated_blocks_are_drawn_once() {
        let order = moves("A.get B.get C.get +1s B.get C.get +1s B.get C.get +1s A.del B.get");
        let blocks = fold(&order);
        let block = |moves, times| Block { moves, times };
        assert_eq!(blocks, [block(0..1, 1), block(1..4, 3), block(10..11, 1), block(11..12, 1)]);
        // Folding two equal moves saves nothing, and the last move is never folded.
        let few = moves("A.get A.get B.get B.get");
        assert!(fold(&few).iter().all(|block| block.times == 1));
        assert!(fold(&[]).is_empty());
        assert_eq!(bracket(3, 9), "┌ ×3 ──┐");
        assert_eq!(bracket(12, 6), "×12");
    }

    #[test]
    fn lanes_have_names_if_they_fit_and_the_colours_of_clients() {
        let theme = Theme::new(ThemeName::Dark, Environment::default());
        let order = moves("A.get B.get +1s B.get +1s B.get +1s B.get A.del");
        let wide = lanes(&order, None, 80, theme).expect("room");
        let words: Vec<String> = wide.iter().map(ToString::to_string).collect();
        assert!(words[0].contains("┌ ×3 "), "{words:?}");
        assert!(words[2].starts_with("A  get  "), "{words:?}");
        let own = wide[2].spans[0].style.fg.or(wide[2].style.fg);
        assert_ne!(own, wide[3].spans[0].style.fg.or(wide[3].style.fg), "each has its own");
        let narrow = lanes(&order, None, 20, theme).expect("room for signs");
        assert!(narrow[2].to_string().starts_with("A  ●  "), "{narrow:?}");
        assert_eq!(lanes(&order, None, 6, theme), None);
    }
}
