//! The clients' programs as written by their author: where each client is, the last line executed, the next one, and
//! the text of a script where it is run.

use std::collections::BTreeMap;

use super::{LessonView, paragraph, prelude::*};
use crate::{
    lesson::{
        lua,
        plan::listing::{Listing, ListingLine as Statement, Tone},
    },
    ui::state::programs::Place,
    world::Life,
};

/// Columns before a line: the mark of the last execution, the clients at the line, and a sign that points from them to
/// the line, so that nobody takes them for those who have executed it.
const MARGIN: usize = 5;
/// The maximum number of visible lines of a script.
const SCRIPT: usize = 24;
/// The maximum number of clients whose values are shown beside a line.
const VALUES: usize = 4;

/// The contents of the pane.
pub(crate) struct ProgramLines {
    pub lines: Vec<Line<'static>>,
    /// The index of the line that should be visible.
    in_sight: usize,
    /// Lines that stand for a choice in free play, with the index of the choice.
    pub choices: Vec<(usize, usize)>,
    /// The indices of the lines that say whose program follows.
    headings: Vec<usize>,
}

pub(crate) fn lines(view: &LessonView<'_>, width: u16) -> ProgramLines {
    let (scene, programs) = (&view.scene, view.programs);
    let position = scene.world.position;
    let place = |actor: usize| programs.place(actor, position);
    let mut clients = vec![Vec::new(); programs.listings().len()];
    for actor in 0..scene.world.actors.len() {
        if let Some((runs, place)) = place(actor) {
            clients[runs].push((actor, place));
        }
    }
    let newest = programs.newest(position).and_then(place);
    let (mut lines, mut in_sight, mut choices, mut headings) = (Vec::new(), 0, Vec::new(), Vec::new());
    for (n, (listing, here)) in programs.listings().iter().zip(clients).enumerate() {
        if here.is_empty() {
            continue;
        }
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        headings.push(lines.len());
        lines.push(heading(scene, &here, width));
        let newest = newest.filter(|(runs, _)| *runs == n).map(|(_, place)| place);
        let done = newest.filter(|place| place.done).and_then(|place| place.at);
        let coming = newest.and_then(|place| place.stands);
        // The clients at each operation.
        let mut stand: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (actor, place) in &here {
            if matches!(scene.world.actors[*actor].life, Life::Running | Life::Frozen)
                && let Some(at) = stands(view, listing, *actor, place)
            {
                stand.entry(at).or_default().push(*actor);
            }
        }
        for line in &listing.lines {
            let waiting = line.operation.and_then(|at| stand.remove(&at)).unwrap_or_default();
            let just_done = line.operation.is_some() && line.operation == done;
            let comes_next = line.operation.is_some() && line.operation == coming;
            if just_done || (comes_next && done.is_none()) {
                in_sight = lines.len();
            }
            let values = values(scene, line, &here);
            lines.extend(operation(scene, line, (&waiting, values), just_done, width));
            let indent = MARGIN - 1 + 2 * line.depth;
            for place in waiting {
                let room = usize::from(width).saturating_sub(indent);
                let Some((choice, words)) = view.choice_in_program(actor(place), room) else { continue };
                choices.extend((lines.len()..lines.len() + words.len()).map(|line| (line, choice)));
                lines.extend(words.into_iter().map(|mut words| {
                    words.spans.insert(0, Span::raw(" ".repeat(indent)));
                    words
                }));
            }
            match &line.script {
                Some(source) if line.operation.is_none() => {
                    let written = source_lines(scene, source, width);
                    // Of a program of its own, where it has taken the lock matters more than what it imports.
                    let holds = written.iter().position(|line| line.to_string().contains("HOLDS"));
                    if in_sight == 0 {
                        in_sight = holds.map_or(0, |at| lines.len() + at);
                    }
                    lines.extend(written);
                }
                Some(script) if just_done || comes_next => {
                    lines.extend(script_lines(scene, script, line.depth, width));
                }
                _ => {}
            }
        }
    }
    if lines.is_empty() {
        let words = words::NO_PROGRAM.get(scene.lang);
        lines = paragraph::plain(words, width.into(), scene.style(Role::Chrome));
    }
    ProgramLines { lines, in_sight, choices, headings }
}

/// The operation at which a client is marked. In free play, its next operation is known.
fn stands(view: &LessonView<'_>, listing: &Listing, client: usize, place: &Place) -> Option<usize> {
    let outlook = view.free.and_then(|free| free.outlook(actor(client)));
    let foreseen = outlook.and_then(|outlook| outlook.next.as_ref()).and_then(|foreseen| {
        let is_it = |at: &&usize| listing.operation(**at).is_some_and(|known| known.label == foreseen.label);
        place.next.iter().find(is_it).copied()
    });
    foreseen.or(place.stands)
}

/// The values of an expression for the clients that have evaluated it.
fn values(scene: &Scene<'_>, line: &Statement, here: &[(usize, &Place)]) -> Vec<Span<'static>> {
    if !line.words.iter().any(|(_, word)| word.contains("${")) {
        return Vec::new();
    }
    let known = here.iter().filter_map(|(client, place)| {
        place.waits.filter(|(at, _)| line.operation == Some(*at)).map(|(_, wait)| (actor(*client), wait))
    });
    let values = known.take(VALUES).map(|(client, wait)| {
        let words = format!("{}\u{a0}{}", scene.glyph(client), time::stretch(wait));
        Span::styled(words, scene.actor_style(client))
    });
    values.collect()
}

/// The first visible line: the learner's scroll position, or one that makes the line `in_sight` visible.
fn top(written: &ProgramLines, scroll: Option<u16>, area: Rect) -> u16 {
    let follow = written.in_sight.saturating_sub(usize::from(area.height) * 2 / 5);
    scroll.unwrap_or_else(|| u16::try_from(follow).unwrap_or(u16::MAX))
}

pub(crate) fn draw(view: &LessonView<'_>, scroll: Option<u16>, area: Rect, buf: &mut Buffer) {
    let written = lines(view, area.width);
    let top = top(&written, scroll, area);
    paragraph::draw_with_more(&written.lines, top, view.scene.context(), area, buf);
    // Whose program it is stays in sight.
    let top = usize::from(top).min(written.lines.len().saturating_sub(area.height.into()));
    if top > 0 {
        paragraph::draw_more_above(view.scene.context(), area, buf);
    }
    let heading = written.headings.iter().rfind(|heading| **heading < top);
    if let Some(heading) = heading.and_then(|heading| written.lines.get(*heading)) {
        let row = Rect { height: 1, ..area };
        ratatui::widgets::Clear.render(row, buf);
        heading.render(row, buf);
    }
}

/// The index of the choice at a row of the screen.
pub(crate) fn choice(view: &LessonView<'_>, scroll: Option<u16>, area: Rect, y: u16) -> Option<usize> {
    let written = lines(view, area.width);
    let reach = u16::try_from(written.lines.len()).unwrap_or(u16::MAX).saturating_sub(area.height);
    let line = usize::from(y.checked_sub(area.y)? + top(&written, scroll, area).min(reach));
    written.choices.iter().find(|(at, _)| *at == line).map(|(_, choice)| *choice)
}

fn actor(place: usize) -> ActorId {
    ActorId(u32::try_from(place).unwrap_or(u32::MAX))
}

/// The clients that run the following program.
fn heading(scene: &Scene<'_>, actors: &[(usize, &Place)], width: u16) -> Line<'static> {
    let mut line = Line::default();
    for (n, (client, _)) in actors.iter().enumerate() {
        let id = actor(*client);
        let words = format!(" {} {} ", scene.glyph(id), scene.name(id));
        if line.width() + text::width(&words) + 6 > usize::from(width) {
            line.push_span(Span::styled(format!(" +{}", actors.len() - n), scene.style(Role::Chrome)));
            break;
        }
        line.push_span(Span::styled(words, scene.actor_style(id)));
    }
    line
}

/// The clients at a line: their glyphs, or their number (`9▸`).
fn margin(scene: &Scene<'_>, waiting: &[usize]) -> Vec<Span<'static>> {
    let sign =
        |place: &usize| Span::styled(scene.glyph(actor(*place)).to_owned(), scene.actor_style(actor(*place)));
    let room = MARGIN - 2;
    let signs: Vec<Span<'static>> = match waiting {
        few if few.len() <= room => few.iter().map(sign).collect(),
        [first, ..] => {
            vec![Span::styled(
                text::fit(&waiting.len().to_string(), room).into_owned(),
                scene.actor_style(actor(*first)),
            )]
        }
        [] => Vec::new(),
    };
    let taken: usize = signs.iter().map(Span::width).sum();
    let mut spans = vec![Span::raw(" ".repeat(room.saturating_sub(taken)))];
    spans.extend(signs);
    spans.push(Span::raw(if waiting.is_empty() { " " } else { "▸" }));
    spans
}

fn operation(
    scene: &Scene<'_>,
    line: &Statement,
    (waiting, values): (&[usize], Vec<Span<'static>>),
    just_done: bool,
    width: u16,
) -> Vec<Line<'static>> {
    let sign = if just_done { glyphs::DONE } else { " " };
    let mut mark = vec![Span::styled(sign, scene.style(Role::Good))];
    mark.extend(margin(scene, waiting));
    let mut spans = Vec::new();
    for (tone, word) in &line.words {
        let role = match tone {
            Tone::Keyword => Role::Chrome,
            Tone::Label if just_done => Role::Fresh,
            Tone::Label => Role::Accent,
            Tone::Command => Role::Code,
            Tone::Plain => Role::Text,
        };
        let mut style = scene.style(role);
        if !waiting.is_empty() && *tone == Tone::Label {
            style = style.add_modifier(Modifier::UNDERLINED);
        }
        // Words are separated by spaces, and a long command is broken at its own spaces.
        for word in text::clean(word).split(' ').filter(|word| !word.is_empty()) {
            spans.push(Span::styled(word.to_owned(), style));
        }
    }
    spans.extend(values);
    broken(mark, spans, MARGIN + 2 * line.depth, usize::from(width))
}

/// Wraps words over as many lines as needed, indenting continuation lines.
fn broken(
    mark: Vec<Span<'static>>,
    words: Vec<Span<'static>>,
    indent: usize,
    width: usize,
) -> Vec<Line<'static>> {
    let mut line = Line::from(mark);
    let from = line.width();
    line.push_span(Span::raw(" ".repeat(indent.saturating_sub(from))));
    let mut lines = Vec::new();
    let mut first = true;
    for word in words {
        if !first && line.width() + 1 + word.width() > width {
            lines.push(std::mem::replace(&mut line, Line::raw(" ".repeat(indent + 4))));
            first = true;
        }
        if !first {
            line.push_span(Span::raw(" "));
        }
        line.push_span(word);
        first = false;
    }
    lines.push(line);
    lines
}

/// The text of a script, with continuation lines indented.
fn script_lines(scene: &Scene<'_>, script: &str, depth: usize, width: u16) -> Vec<Line<'static>> {
    let bar = &*format!("{}│ ", " ".repeat(MARGIN + 2 * depth));
    let room = usize::from(width).saturating_sub(text::width(bar));
    let rows = script.lines().filter(|row| !row.trim().is_empty());
    let mut lines: Vec<Line<'static>> = rows
        .clone()
        .take(SCRIPT)
        .flat_map(|row| {
            let row = text::clean(row);
            let begins = " ".repeat(row.len() - row.trim_start().len());
            let fits = text::width(&row) <= room;
            let columns = room.saturating_sub(begins.len() + if fits { 0 } else { 4 });
            let parts = text::wrap(row.trim_start(), columns);
            parts.into_iter().enumerate().map(move |(n, part)| {
                let further = if n > 0 { "    " } else { "" };
                let before = format!("{bar}{begins}{further}");
                let mut line = Line::from(Span::styled(before, scene.style(Role::Chrome)));
                line.spans.extend(lua(scene, &part));
                line
            })
        })
        .collect();
    if rows.count() > SCRIPT {
        lines.push(Line::styled(format!("{bar}…"), scene.style(Role::Chrome)));
    }
    lines
}

/// The source of a user's own program, whose language is unknown.
fn source_lines(scene: &Scene<'_>, source: &str, width: u16) -> Vec<Line<'static>> {
    let indent = " ".repeat(MARGIN);
    let room = usize::from(width).saturating_sub(MARGIN);
    let style = scene.style(Role::Text);
    let rows = source.trim_end().lines().flat_map(|row| {
        let row = text::clean(row);
        let begins = row.len() - row.trim_start().len();
        let parts = text::wrap(row.trim_start(), room.saturating_sub(begins));
        let begins = format!("{indent}{}", " ".repeat(begins));
        parts.into_iter().map(move |part| Line::styled(format!("{begins}{part}"), style)).collect::<Vec<_>>()
    });
    rows.collect()
}

/// A line of Lua with syntax colours.
fn lua(scene: &Scene<'_>, row: &str) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    let mut rest = row;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let (length, role) = match first {
            '-' if rest.starts_with("--") => (rest.len(), Role::Chrome),
            quote @ ('\'' | '"') => {
                let end = rest[1..].find(quote).map_or(rest.len(), |end| end + 2);
                (end, Role::Good)
            }
            c if is_word(c) => {
                let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                let word = &rest[..end];
                let role = match word {
                    word if lua::KEYWORDS.contains(&word) => Role::Accent,
                    word if word.starts_with("redis.") => Role::Code,
                    "KEYS" | "ARGV" => Role::Fresh,
                    _ => Role::Text,
                };
                (end, role)
            }
            c => (c.len_utf8(), Role::Text),
        };
        let (word, after) = rest.split_at(length);
        spans.push(Span::styled(word.to_owned(), scene.style(role)));
        rest = after;
    }
    spans
}
