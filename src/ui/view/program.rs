//! What the clients run, as its author wrote it: where each of them is, the line that was just done, the one that
//! comes next, and the text of a script where it is run.

use super::{LessonView, paragraph, prelude::*};
use crate::{
    lesson::plan::listing::{Listing, ListingLine as Statement, Tone, Trace},
    world::Life,
};

/// Columns before a line: where clients are, and what was just done.
const MARGIN: usize = 5;
/// Lines of a script in sight.
const SCRIPT: usize = 24;
/// So many clients' values stand beside a line.
const VALUES: usize = 4;
const LUA: [&str; 21] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil",
    "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// A client in the middle of its program.
#[derive(Debug, Clone, Default)]
struct ProgramPosition {
    /// The operation that was begun last.
    at: Option<usize>,
    /// Whether that is over.
    done: bool,
    /// Whether it waits to try that again.
    again: bool,
    /// What has been seen of it since.
    traces: Vec<Trace>,
}

impl ProgramPosition {
    fn begin(&mut self, listing: &Listing, label: &str) {
        let is_it = |at: &usize| listing.operation(*at).is_some_and(|operation| operation.label == label);
        // It is tried again, or sent on to the server that was named in the reply.
        let same = self.again
            || self.at.filter(is_it).is_some_and(|at| {
                let tries = listing.operation(at).is_some_and(|operation| operation.until.is_some());
                tries || !self.done || !listing.after(self.at, None).iter().any(is_it)
            });
        if !same {
            self.at = listing.find(self.at, label);
        }
        (self.done, self.again) = (false, false);
        self.traces.clear();
    }

    fn end(&mut self) {
        self.done = true;
        self.traces.clear();
    }

    fn take(&mut self, listing: &Listing, event: &EventKind) {
        match event {
            EventKind::Sent { label, .. } => self.begin(listing, label),
            EventKind::Waits { label, .. } => {
                let tried = self.at.and_then(|at| listing.operation(at));
                self.again =
                    self.done && tried.is_some_and(|tried| tried.label == *label && tried.until.is_some());
                if !self.again {
                    self.begin(listing, label);
                }
            }
            EventKind::Took { label, .. } => {
                self.begin(listing, label);
                self.end();
            }
            EventKind::Replied { .. } => self.end(),
            EventKind::Waited { .. } if !self.again => self.end(),
            EventKind::Believes { belief, .. } => self.traces.push(Trace::Believes(*belief)),
            EventKind::Counted { counter, .. } => self.traces.push(Trace::Counts(counter.clone())),
            EventKind::Finished { .. } => self.traces.push(Trace::Ends),
            _ => {}
        }
    }

    /// The operations that come next; the one that it is in the middle of, where it is.
    fn next(&self, listing: &Listing) -> Vec<usize> {
        match self.at {
            Some(at) if !self.done || self.again => vec![at],
            at => listing.after(at, Some(&self.traces)),
        }
    }
}

/// The lines of the pane.
pub(crate) struct Written {
    pub lines: Vec<Line<'static>>,
    /// The line that is to be in sight.
    in_sight: usize,
    /// The lines that stand for a choice in free play, with the choice's number from 0 on.
    pub choices: Vec<(usize, usize)>,
}

pub(crate) fn lines(view: &LessonView<'_>, width: u16) -> Written {
    let (scene, listings) = (&view.scene, view.listings);
    let actors = &scene.world.actors;
    let runs: Vec<Option<usize>> = actors
        .iter()
        .map(|actor| listings.iter().position(|listing| listing.actors.contains(&actor.who.name)))
        .collect();
    let mut places = vec![ProgramPosition::default(); actors.len()];
    let mut waits: Vec<Option<(usize, String)>> = vec![None; actors.len()];
    let mut newest = None;
    for event in scene.log.events().get(..scene.world.position).unwrap_or_default() {
        let Some(actor) = event.kind.actor().map(|actor| actor.0 as usize) else { continue };
        if let Some(listing) = runs.get(actor).copied().flatten() {
            places[actor].take(&listings[listing], &event.kind);
            if let EventKind::Waits { until, .. } = &event.kind {
                let at = places[actor].at.filter(|_| !places[actor].again);
                waits[actor] = at.map(|at| (at, time::wait(until.since(event.at))));
            }
            if matches!(
                event.kind,
                EventKind::Sent { .. }
                    | EventKind::Replied { .. }
                    | EventKind::Waits { .. }
                    | EventKind::Waited { .. }
                    | EventKind::Took { .. }
            ) {
                newest = Some(actor);
            }
        }
    }
    let (mut lines, mut in_sight, mut choices) = (Vec::new(), 0, Vec::new());
    for (n, listing) in listings.iter().enumerate() {
        let here: Vec<usize> = (0..actors.len()).filter(|actor| runs[*actor] == Some(n)).collect();
        if here.is_empty() {
            continue;
        }
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(heading(scene, &here, width));
        let newest = newest.filter(|actor| runs[*actor] == Some(n)).map(|actor| &places[actor]);
        let done = newest.filter(|place| place.done).and_then(|place| place.at);
        let coming = newest.map_or_else(Vec::new, |place| place.next(listing));
        let comes: Vec<(usize, Vec<usize>)> = here
            .iter()
            .filter(|actor| matches!(actors[**actor].life, Life::Running | Life::Frozen))
            .map(|actor| (*actor, places[*actor].next(listing)))
            .collect();
        for line in &listing.lines {
            let waiting =
                comes.iter().filter(|(_, next)| line.operation.is_some_and(|at| next.contains(&at)));
            let waiting: Vec<usize> = waiting.map(|(actor, _)| *actor).collect();
            let just_done = line.operation.is_some() && line.operation == done;
            let comes_next = line.operation.is_some_and(|at| coming.contains(&at));
            if just_done || (comes_next && done.is_none()) {
                in_sight = lines.len();
            }
            // What an expression has come to, as far as a client has been there.
            let computed = line.words.iter().any(|(_, word)| word.contains("${"));
            let known = here.iter().filter_map(|place| Some((*place, waits[*place].as_ref()?)));
            let known = known.filter(|(_, (at, _))| computed && line.operation == Some(*at)).take(VALUES);
            let values: Vec<Span<'static>> = known
                .map(|(place, (_, value))| {
                    let words = format!("{}\u{a0}{value}", scene.glyph(actor(place)));
                    Span::styled(words, scene.actor_style(actor(place)))
                })
                .collect();
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
            if let Some(script) = line.script.as_ref().filter(|_| just_done || comes_next) {
                lines.extend(script_lines(scene, script, line.depth));
            }
        }
    }
    if lines.is_empty() {
        let words = words::NO_PROGRAM.get(scene.lang);
        lines = paragraph::plain(words, width.into(), scene.style(Role::Chrome));
    }
    Written { lines, in_sight, choices }
}

/// The line at the top of the pane: what the learner has scrolled to, or else one above the line to be in sight.
fn top(written: &Written, scroll: Option<u16>, area: Rect) -> u16 {
    let follow = written.in_sight.saturating_sub(usize::from(area.height) * 2 / 5);
    scroll.unwrap_or_else(|| u16::try_from(follow).unwrap_or(u16::MAX))
}

pub(crate) fn draw(view: &LessonView<'_>, scroll: Option<u16>, area: Rect, buf: &mut Buffer) {
    let written = lines(view, area.width);
    let top = top(&written, scroll, area);
    paragraph::draw_with_more(&written.lines, top, view.scene.context(), area, buf);
}

/// The choice that stands at a row of the screen, by its number from 0 on.
pub(crate) fn choice(view: &LessonView<'_>, scroll: Option<u16>, area: Rect, y: u16) -> Option<usize> {
    let written = lines(view, area.width);
    let reach = u16::try_from(written.lines.len()).unwrap_or(u16::MAX).saturating_sub(area.height);
    let line = usize::from(y.checked_sub(area.y)? + top(&written, scroll, area).min(reach));
    written.choices.iter().find(|(at, _)| *at == line).map(|(_, choice)| *choice)
}

fn actor(place: usize) -> ActorId {
    ActorId(u32::try_from(place).unwrap_or(u32::MAX))
}

/// Who runs what follows.
fn heading(scene: &Scene<'_>, actors: &[usize], width: u16) -> Line<'static> {
    let mut line = Line::default();
    for (n, place) in actors.iter().enumerate() {
        let id = actor(*place);
        let words = format!(" {} {} ", scene.glyph(id), scene.name(id));
        if line.width() + text::width(&words) + 6 > usize::from(width) {
            line.push_span(Span::styled(format!(" +{}", actors.len() - n), scene.style(Role::Chrome)));
            break;
        }
        line.push_span(Span::styled(words, scene.actor_style(id)));
    }
    line
}

/// The clients that are at a line: their signs, or how many of them (`×9`).
fn margin(scene: &Scene<'_>, waiting: &[usize]) -> Vec<Span<'static>> {
    let sign =
        |place: &usize| Span::styled(scene.glyph(actor(*place)).to_owned(), scene.actor_style(actor(*place)));
    let room = MARGIN - 2;
    let signs: Vec<Span<'static>> = match waiting {
        few if few.len() <= room => few.iter().map(sign).collect(),
        [first, ..] => {
            let many = waiting.len();
            let words = if many < 100 { format!("×{many}") } else { many.to_string() };
            vec![Span::styled(text::fit(&words, room).into_owned(), scene.actor_style(actor(*first)))]
        }
        [] => Vec::new(),
    };
    let taken: usize = signs.iter().map(Span::width).sum();
    let mut spans = vec![Span::raw(" ".repeat(room.saturating_sub(taken)))];
    spans.extend(signs);
    spans
}

fn operation(
    scene: &Scene<'_>,
    line: &Statement,
    (waiting, values): (&[usize], Vec<Span<'static>>),
    just_done: bool,
    width: u16,
) -> Vec<Line<'static>> {
    let mut mark = margin(scene, waiting);
    let sign = if just_done { Span::styled("✓ ", scene.style(Role::Good)) } else { Span::raw("  ") };
    mark.push(sign);
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
        // Words are parted by spaces, and a long command breaks at its own.
        for word in text::clean(word).split(' ').filter(|word| !word.is_empty()) {
            spans.push(Span::styled(word.to_owned(), style));
        }
    }
    spans.extend(values);
    broken(mark, spans, MARGIN + 2 * line.depth, usize::from(width))
}

/// Words over as many lines as they need; what goes on below stands further right.
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

fn script_lines(scene: &Scene<'_>, script: &str, depth: usize) -> Vec<Line<'static>> {
    let indent = " ".repeat(MARGIN + 2 * depth);
    let rows = script.lines().filter(|row| !row.trim().is_empty());
    let mut lines: Vec<Line<'static>> = rows
        .clone()
        .take(SCRIPT)
        .map(|row| {
            let mut line = Line::from(Span::styled(format!("{indent}│ "), scene.style(Role::Chrome)));
            line.spans.extend(lua(scene, &text::clean(row)));
            line
        })
        .collect();
    if rows.count() > SCRIPT {
        lines.push(Line::styled(format!("{indent}│ …"), scene.style(Role::Chrome)));
    }
    lines
}

/// A line of Lua in colours.
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
                    word if LUA.contains(&word) => Role::Accent,
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

#[cfg(test)]
mod tests {
    use super::{EventKind, ProgramPosition};
    use crate::{
        lesson::{Library, Params, Scenario, plan::listing::listings},
        recording::carried,
    };

    #[test]
    fn what_comes_next_in_every_carried_run_was_marked_before() {
        let mut begun = 0;
        for loaded in &Library::carried().lessons {
            for variant in loaded.lesson.variants.keys() {
                let scenario = Scenario::plan(loaded, variant, &Params::new()).expect("it is good");
                let Ok(recording) = carried::open(&scenario) else { continue };
                let listings = listings(&scenario);
                let mut places = vec![ProgramPosition::default(); scenario.actors.len()];
                for event in recording.log.events() {
                    let Some(actor) = event.kind.actor().map(|actor| actor.0 as usize) else { continue };
                    let name = &scenario.actors[actor].actor.name;
                    let listing = listings.iter().find(|listing| listing.actors.contains(name));
                    let (listing, place) = (listing.expect("a program"), &mut places[actor]);
                    // What a program of somebody's own does next, nobody knows.
                    if listing.lines.iter().all(|line| line.operation.is_none()) {
                        continue;
                    }
                    let next = place.next(listing);
                    let before = place.at;
                    place.take(listing, &event.kind);
                    if let EventKind::Sent { label, .. } = &event.kind {
                        let at = place.at.expect("it has begun");
                        assert!(
                            next.contains(&at) || before == Some(at),
                            "{}/{variant}: {name}.{label}: {next:?}",
                            loaded.lesson.id
                        );
                        // How often something is repeated is known only to who counts.
                        assert!(next.len() <= 5, "{}/{variant}: {name}.{label}: {next:?}", loaded.lesson.id);
                        begun += 1;
                    }
                }
            }
        }
        assert!(begun > 0, "no recording is of a lesson as it is now");
    }
}
