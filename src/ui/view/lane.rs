//! One actor's lane: bars for its beliefs, ticks for its actions, and red where too many hold one lock.

use super::{plot::Plot, prelude::*, selection, wire};
use crate::{
    log::{Belief, Capacity},
    ui::{
        chart::{Bar, BarKind, Mark, Span},
        theme::Glyphs,
        words::fault,
    },
    world::Life,
};

/// How many bars before the visible ones are examined: bars of other locks may still be open.
const BEFORE: usize = 32;
/// How many events are searched backwards for the last command of a client that waits.
const LOOK_BACK: usize = 400;

/// The minimum columns in which text is begun.
const SHORTEST_WORDS: usize = 4;
/// The columns that a tick over the bar of a holder has in any case.
const NEWEST_WORDS: u16 = 16;

/// The maximum rows of a lane. With one row, ticks are written over the bar; with two, above it; with three, there is
/// space below it; with more, the bar is thicker, to be visible from the back row of a classroom.
pub const HIGHEST: u16 = 24;
/// The columns after which a bar of at least `THICK` rows repeats its text, which is then near wherever one looks.
pub const REPEATED: u16 = 48;
pub const THICK: u16 = 3;
/// The rows that a lane asks for.
pub const ROOMY: u16 = 6;
/// The minimum rows for ticks above the bar.
pub const CLEAR: u16 = 2;

/// The rows of the bar in a lane of that height.
pub const fn bar_rows(height: u16) -> u16 {
    if height > 3 { height - 2 } else { 1 }
}

/// The visible ticks of a lane of that height: the column of each, and the column before which its text ends.
fn visible<'a>(scene: &Scene<'a>, plot: &Plot, (actor, height): (ActorId, u16)) -> Vec<(&'a Mark, u16, u16)> {
    let Some(lane) = scene.chart.lanes.get(actor.0 as usize) else { return Vec::new() };
    let first = lane.marks.partition_point(|mark| mark.x < plot.left);
    let marks = lane.marks[first..]
        .iter()
        .take_while(|mark| mark.x < plot.right() && mark.event < plot.position && mark.x <= plot.head);
    let mut visible: Vec<(&Mark, u16, u16)> = Vec::new();
    for mark in marks {
        let Some(x) = plot.screen(mark.x) else { continue };
        if let Some(before) = visible.last_mut() {
            before.2 = x;
        }
        visible.push((mark, x, plot.area.right()));
    }
    if height < CLEAR {
        let bars = lane.bars.iter().rev().skip_while(|bar| bar.from.0 >= plot.right()).take(BEFORE);
        for bar in bars.filter(|bar| bar.kind.holds() && !bar.hidden) {
            let Some((from, to)) = plot.stretch(bar.from, bar.to) else { continue };
            let over = |seen: &&mut (&Mark, u16, u16)| (from + 1..=to).contains(&seen.2);
            for seen in visible.iter_mut().filter(over) {
                let whole = u16::try_from(text::width(&words(scene, plot, *seen))).unwrap_or(u16::MAX);
                let owner = name_columns(scene, actor);
                // A short text leaves the owner room; a long one gives way.
                if seen.1.saturating_add(whole).saturating_add(3 + owner) > to {
                    let is_loud = overlap_spans(scene, plot, bar).next().is_some();
                    let kept = if is_loud { (to - from) / 2 } else { owner.min((to - from) / 2) };
                    seen.2 = (to - kept).max(seen.1 + NEWEST_WORDS).min(seen.2);
                }
            }
        }
    }
    visible
}

/// The columns in which a bar tells whose it is and what it means.
fn name_columns(scene: &Scene<'_>, actor: ActorId) -> u16 {
    let words = text::width(scene.name(actor)) + text::width(words::IN_BAR_SHARED.get(scene.lang)) + 5;
    u16::try_from(words).unwrap_or(u16::MAX)
}

fn words(scene: &Scene<'_>, plot: &Plot, (mark, x, limit): (&Mark, u16, u16)) -> String {
    // The text follows the glyph, and a space separates it from what comes next.
    let room = limit.saturating_sub(x + 2 + u16::from(limit < plot.area.right()));
    scene.mark_text(mark, plot.position, room.into())
}

/// The event of the tick at a column of the screen in a lane.
pub fn event_at(scene: &Scene<'_>, plot: &Plot, lane: (ActorId, u16), x: u16) -> Option<usize> {
    let seen = visible(scene, plot, lane).into_iter().rev().find(|(_, from, _)| *from <= x)?;
    let width = u16::try_from(text::width(&words(scene, plot, seen))).unwrap_or(u16::MAX).saturating_add(2);
    (x < seen.2.min(seen.1.saturating_add(width))).then_some(seen.0.event)
}

pub fn draw(scene: &Scene<'_>, plot: &Plot, actor: ActorId, (y, height): (u16, u16), buf: &mut Buffer) {
    let Some(lane) = scene.chart.lanes.get(actor.0 as usize) else { return };
    let bar_y = y + u16::from(height > 1);
    let bar_height = bar_rows(height);
    // Bars are ordered by their beginning, so bars that begin right of the window end the search.
    let end = lane.bars.partition_point(|bar| bar.from.0 < plot.right());
    let ended = |bar: &Bar| bar.to.is_some_and(|(x, _)| x < plot.left);
    let mut start = end;
    let mut misses = 0;
    while start > 0 && misses < BEFORE {
        start -= 1;
        misses = if ended(&lane.bars[start]) { misses + 1 } else { 0 };
    }
    let bars = &lane.bars[start..end];
    let visible = visible(scene, plot, (actor, height));
    // In a lane of one row, ticks are written over the bars, whose text goes beside them.
    let written = visible.iter().filter(|_| height < CLEAR).map(|seen| {
        let words = u16::try_from(text::width(&words(scene, plot, *seen))).unwrap_or(u16::MAX);
        (seen.1, seen.1.saturating_add(words).saturating_add(3).min(seen.2))
    });
    let written: Vec<(u16, u16)> = written.collect();
    let place = (actor, bar_y, bar_height);
    for bar in bars.iter().filter(|bar| !bar.hidden) {
        draw_bar(scene, plot, (bar, bars), place, buf);
        if bar.kind != BarKind::Frozen {
            name_bar(scene, plot, (bar, bars, &written), place, buf);
        }
    }
    draw_frozen_overlaps(scene, plot, bars, place, buf);
    // A pause may cover the part of a bar that has its name.
    for bar in bars.iter().filter(|bar| bar.kind == BarKind::Frozen) {
        name_bar(scene, plot, (bar, bars, &written), place, buf);
    }
    for seen in &visible {
        draw_mark(scene, plot, *seen, (actor, y), buf);
    }
}

/// The action on an outdated value, by the lesson's own word.
fn acted(scene: &Scene<'_>, bar: &Bar) -> String {
    words::IN_BAR_OVERSOLD.with(scene.lang, &[counted(scene), &bar.value])
}

/// What was done too often: `sold`.
fn counted<'a>(scene: &Scene<'a>) -> &'a str {
    words::named(scene.log, scene.chart.oversold.as_ref().map_or("", |(_, counter)| counter), scene.lang)
}

/// The visible stretches in which the lock of a bar has too many holders.
fn overlap_spans<'a>(
    scene: &Scene<'a>,
    plot: &'a Plot,
    bar: &'a Bar,
) -> impl Iterator<Item = (u16, u16)> + use<'a> {
    let lock = bar.lock.as_str();
    // The bar may go on after the actor ceased to hold the lock according to the rule of holding.
    let own = plot.stretch(bar.from, bar.left.or(bar.to));
    let overlap_spans =
        scene.chart.overlap_spans.iter().filter(move |overlap_span| overlap_span.lock == lock);
    overlap_spans.filter_map(move |overlap_span| {
        let (own, (from, to)) = (own?, plot.stretch(overlap_span.from, overlap_span.to)?);
        Some((from.max(own.0), to.min(own.1))).filter(|(from, to)| from < to)
    })
}

/// Writes into the bar whose it is and what it means, once for each of its looks.
fn name_bar(
    scene: &Scene<'_>,
    plot: &Plot,
    (bar, bars, written): (&Bar, &[Bar], &[(u16, u16)]),
    (actor, y, rows): (ActorId, u16, u16),
    buf: &mut Buffer,
) {
    let Some(columns) = plot.stretch(bar.from, bar.to) else { return };
    let frozen = bar.kind == BarKind::Frozen;
    let holds = bar.kind.holds();
    // The text of a pause describes the bars that it covers.
    let named =
        bars.iter().filter(|other| if frozen { other.kind.holds() } else { std::ptr::eq(*other, bar) });
    let named: Vec<&Bar> = named.collect();
    let outlined: Vec<(u16, u16)> = named
        .iter()
        .flat_map(|bar| &bar.unconfirmed)
        .filter_map(|(from, to)| plot.stretch(*from, *to))
        .collect();
    let pauses: Vec<(u16, u16)> = bars
        .iter()
        .filter(|other| holds && other.kind == BarKind::Frozen)
        .filter_map(|pause| plot.stretch(pause.from, pause.to))
        .collect();
    let mut starts = vec![columns.0];
    let whose = format!("{} {}", scene.glyph(actor), scene.name(actor));
    let say = |what: &str| format!(" {whose} {what} ");
    let in_vain = free_since(scene, plot, bar).filter(|since| {
        let words = say(words::IN_BAR_WAITS_IN_VAIN.get(scene.lang));
        *since > columns.0 && usize::from(columns.1.saturating_sub(*since)) > text::width(&words) + 1
    });
    let waits = bar.kind == BarKind::Belief(Belief::Waiting);
    let whom = if waits { waits_for(scene, plot, (actor, bar)) } else { None };
    let loud: Vec<(u16, u16)> = named.iter().flat_map(|bar| overlap_spans(scene, plot, bar)).collect();
    if frozen || holds {
        starts.extend(loud.iter().map(|(from, _)| *from));
        starts.extend(outlined.iter().chain(&pauses).flat_map(|(from, to)| [*from, *to]));
        starts.retain(|start| (columns.0..columns.1).contains(start));
        starts.sort_unstable();
        starts.dedup();
    } else if in_vain.is_some() {
        starts.extend(in_vain);
    } else if let Some(until) = whom.and_then(|whom| plot.screen(whom.until?)) {
        // Nobody is waited for any more once the holder has let go.
        starts.extend(Some(until).filter(|until| (columns.0 + 1..columns.1).contains(until)));
    } else if !matches!(bar.kind, BarKind::Belief(Belief::Waiting) | BarKind::Read | BarKind::Oversold) {
        return;
    }
    let taken = taken(plot, (bar, bars), written);
    let within =
        |stretches: &[(u16, u16)], at: u16| stretches.iter().any(|(from, to)| (*from..*to).contains(&at));
    let row = y + hatched_rows(bar, bars, rows) / 2;
    for (n, from) in starts.iter().copied().enumerate() {
        if within(&pauses, from) {
            continue;
        }
        let to = starts.get(n + 1).copied().unwrap_or(columns.1);
        let is_bare = within(&outlined, from);
        let was_confirmed =
            named.iter().any(|bar| bar.unconfirmed.first().is_some_and(|(from, _)| *from != bar.from));
        let confirmed = match (is_bare, was_confirmed) {
            (false, _) => Confirmed::Now,
            (true, true) => Confirmed::NoLonger,
            (true, false) => Confirmed::Never,
        };
        let held = named.iter().filter_map(|bar| plot.stretch(bar.from, bar.to));
        let held = frozen && within(&held.collect::<Vec<_>>(), from);
        let is_over = |whom: &WaitedFor| {
            whom.until.and_then(|until| plot.screen(until)).is_some_and(|until| from >= until)
        };
        let whom = whom.filter(|whom| in_vain != Some(from) && !is_over(whom));
        let state = (held, confirmed, in_vain == Some(from));
        let mut labels = labels(scene, plot, (actor, bar, whom), (from, to), state);
        // Beside ticks, its sign alone would look like one more of them.
        if holds && !written.iter().any(|(x, _)| (from..to).contains(x)) {
            labels.push((scene.glyph(actor).to_owned(), from + 1));
        }
        let free = gaps((from, to), &taken);
        let fitting = labels.into_iter().find_map(|(words, start)| {
            let fits = |(from, to): &&(u16, u16)| {
                usize::from(to.saturating_sub(start.max(*from))) > text::width(&words)
            };
            let (from, to) = free.iter().find(fits)?;
            Some((words, start.max(*from), *to))
        });
        if let Some((words, start, to)) = fitting {
            // An overlap covers the outline of what no server confirms.
            let filled = !is_bare || within(&loud, from);
            let solid = matches!(bar.kind, BarKind::Belief(Belief::Holding)) && filled && rows > 1;
            let style = scene.actor_style(actor);
            let style = if solid { style.add_modifier(Modifier::REVERSED) } else { style };
            let width = u16::try_from(text::width(&words)).unwrap_or(to);
            let distance =
                if rows < THICK { u16::MAX } else { REPEATED.max(width.saturating_add(REPEATED / 4)) };
            let end = to.saturating_sub(width);
            for x in (start..end).step_by(distance.into()) {
                plot.write((x, row), &words, to, style.add_modifier(Modifier::BOLD), buf);
            }
        }
    }
}

/// Whether a server has the lock of a stretch of a bar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Confirmed {
    Now,
    NoLonger,
    Never,
}

/// The texts for a piece of a bar, the best first, each with its first column.
fn labels(
    scene: &Scene<'_>,
    plot: &Plot,
    (actor, bar, whom): (ActorId, &Bar, Option<WaitedFor>),
    (from, to): (u16, u16),
    (held, confirmed, in_vain): (bool, Confirmed, bool),
) -> Vec<(String, u16)> {
    let whose = format!("{} {}", scene.glyph(actor), scene.name(actor));
    let say = |what: &str| format!(" {whose} {what} ");
    let what = word(scene, bar, (held, confirmed, in_vain));
    let start = from + 1 + u16::from(to.saturating_sub(from) > 40);
    let whom = whom.map(|WaitedFor { whom, since, .. }| {
        let since = plot.screen(since).filter(|since| *since > from);
        let words = if whom == actor {
            words::IN_BAR_WAITS_FOR_ITSELF.get(scene.lang).to_owned()
        } else {
            let whom = format!("{} {}", scene.glyph(whom), scene.name(whom));
            words::IN_BAR_WAITS_FOR.with(scene.lang, &[&whom])
        };
        (say(&words), since.unwrap_or(start))
    });
    let mut labels: Vec<(String, u16)> = whom.into_iter().collect();
    labels.push((say(&what), start));
    let still = confirmed == Confirmed::NoLonger;
    let short = match bar.kind {
        BarKind::Frozen if held && still => Some(words::IN_BAR_STILL_FROZEN_SHORT),
        BarKind::Belief(belief) if belief.holds() && still => Some(words::IN_BAR_STILL_SHORT),
        _ => None,
    };
    labels.extend(short.map(|short| (say(short.get(scene.lang)), start)));
    match bar.kind {
        BarKind::Read => labels.push((format!(" {what} "), start)),
        // Without any word, the bar would look like that of a holder.
        BarKind::Oversold => {
            let counted = counted(scene);
            let outdated = words::ON_AN_OUTDATED_VALUE.with(scene.lang, &[counted]);
            labels.extend([format!(" {what} "), say(&outdated), say(counted)].map(|words| (words, start)));
        }
        _ => labels.push((format!(" {whose} "), start)),
    }
    labels
}

/// The columns of a bar that texts cover, or the bars of later waits and reads, which are drawn over it.
fn taken(plot: &Plot, (bar, bars): (&Bar, &[Bar]), written: &[(u16, u16)]) -> Vec<(u16, u16)> {
    let covers = |other: &&Bar| match other.kind {
        _ if other.from.1 <= bar.from.1 || other.hidden => false,
        BarKind::Belief(Belief::Waiting) => bar.kind.holds(),
        BarKind::Read => bar.kind == BarKind::Oversold,
        _ => false,
    };
    let covered = bars.iter().filter(covers).filter_map(|other| plot.stretch(other.from, other.to));
    let mut taken: Vec<(u16, u16)> = written.iter().copied().chain(covered).collect();
    taken.sort_unstable();
    taken
}

/// What is left of the given columns between texts, which are in order.
fn gaps((from, to): (u16, u16), written: &[(u16, u16)]) -> Vec<(u16, u16)> {
    let mut gaps = Vec::new();
    let mut free = from;
    for (start, end) in written {
        gaps.push((free, to.min(*start)));
        free = free.max(*end);
    }
    gaps.push((free, to));
    gaps.retain(|(from, to)| from < to);
    gaps
}

/// The number of rows of a bar in its lane. A client that waits for one lock and holds another shows two bars, stacked.
fn hatched_rows(bar: &Bar, bars: &[Bar], rows: u16) -> u16 {
    let has_another = bar.kind == BarKind::Belief(Belief::Waiting)
        && bars.iter().any(|held| {
            held.kind.holds()
                && held.lock != bar.lock
                && held.from.1 < bar.from.1
                && held.to.is_none_or(|(_, event)| event > bar.from.1)
        });
    if has_another { (rows - rows / 3).min(rows.saturating_sub(1)).max(1) } else { rows }
}

/// What a bar means: the pause of a holder, a lock that no server confirms any more, a wait for nobody.
fn word(scene: &Scene<'_>, bar: &Bar, (held, confirmed, in_vain): (bool, Confirmed, bool)) -> String {
    let still = confirmed == Confirmed::NoLonger;
    let what = match bar.kind {
        BarKind::Oversold => return acted(scene, bar),
        BarKind::Read => words::IN_BAR_SAW,
        BarKind::Frozen if held && still => words::IN_BAR_STILL_FROZEN,
        BarKind::Frozen if held => words::IN_BAR_FROZEN,
        BarKind::Frozen => words::FROZEN,
        BarKind::Belief(Belief::Waiting) if in_vain => words::IN_BAR_WAITS_IN_VAIN,
        BarKind::Belief(Belief::Waiting) => words::IN_BAR_WAITS,
        _ if still => words::IN_BAR_STILL,
        _ if confirmed == Confirmed::Never => words::IN_BAR_NEVER,
        BarKind::Belief(Belief::Sharing) => words::IN_BAR_SHARED,
        _ => words::IN_BAR,
    };
    what.with(scene.lang, &[&bar.value])
}

/// The column from which on nobody has held the lock that a client waits for, as far as the one server with it knows.
fn free_since(scene: &Scene<'_>, plot: &Plot, bar: &Bar) -> Option<u16> {
    if bar.kind != BarKind::Belief(Belief::Waiting) {
        return None;
    }
    let end = bar.to.map_or(plot.position, |(_, event)| event).min(plot.position);
    let held: Vec<_> =
        scene.chart.truths.iter().filter_map(|truth| truth.last_held(&bar.lock, end)).collect();
    let [span] = held[..] else { return None };
    let (x, _) = span.to.filter(|(_, event)| *event < end)?;
    plot.screen(x.max(bar.from.0))
}

/// The holder of the lock that a client waits for, which may be that client itself.
#[derive(Clone, Copy)]
struct WaitedFor {
    whom: ActorId,
    /// The column from which on it held the lock during the wait.
    since: u32,
    /// The column from which on it held the lock no more.
    until: Option<u32>,
}

/// The one client that holds the lock that another waits for; `None` if there are several, or may be.
fn waits_for(scene: &Scene<'_>, plot: &Plot, (actor, bar): (ActorId, &Bar)) -> Option<WaitedFor> {
    // Of several permits any will do.
    if matches!(scene.world.holding.capacity(&bar.lock), Capacity::Holders(2..)) {
        return None;
    }
    let end = bar.to.map_or(plot.position, |(_, event)| event).min(plot.position);
    // What a server has decides. With several servers, or a lock that is no key, the clients' beliefs do.
    let is_over = bar.to.is_some_and(|(_, event)| event < plot.position);
    let since = if is_over { bar.from.1 } else { end };
    let held = |lock: &str| -> Vec<_> {
        scene.chart.truths.iter().filter_map(|truth| truth.last_held(lock, end)).collect()
    };
    let mut spans: Vec<_> = held(&bar.lock);
    if spans.is_empty() {
        // A lock that consists of several: the last command tells which of them it waits for.
        let asked =
            scene.log.events()[..end].iter().rev().take(LOOK_BACK).find_map(|event| match &event.kind {
                EventKind::Sent { actor: known, command, .. } if *known == actor => Some(command),
                _ => None,
            });
        let is_about = |lock: &str| {
            let below = |word: &str| word.strip_prefix(lock).is_some_and(|rest| rest.starts_with('/'));
            asked.is_some_and(|command| command.names(lock) || command.arguments().any(below))
        };
        let locks = scene.chart.truths.iter().flat_map(|truth| &truth.locks);
        spans = locks.filter(|lock| is_about(lock)).flat_map(|lock| held(lock)).collect();
    }
    if let [span] = spans[..] {
        return waits_for_owner(scene, (actor, bar), span, end, since);
    }
    let mut latest: Option<(usize, Option<WaitedFor>)> = None;
    for (n, lane) in (0..).zip(&scene.chart.lanes).filter(|(n, lane)| *n != actor.0 && lane.band.is_none()) {
        let begun = lane.bars.partition_point(|held| held.from.1 < end);
        let held = lane.bars[..begun]
            .iter()
            .rev()
            .take(BEFORE)
            .find(|held| held.kind.holds() && held.lock == bar.lock);
        let Some(held) = held else { continue };
        let until = held.to.map_or(end, |(_, event)| event).min(end);
        if until <= bar.from.1 {
            continue;
        }
        match latest {
            Some((known, _)) if known > until => {}
            // With two holders at a time, it waits for either of them.
            Some((known, _)) if known == until => latest = Some((known, None)),
            _ => {
                let since = held.from.0.max(bar.from.0);
                let over = held.to.filter(|(_, event)| *event < end).map(|(x, _)| x);
                latest = Some((until, Some(WaitedFor { whom: ActorId(n), since, until: over })));
            }
        }
    }
    latest?.1
}

/// Whom a client waits for, given the lock's last span before the event `end`: its owner, if that held the lock after the
/// event `since`; the owner before, if the lock is the client's own by now; the client itself, if it goes on asking for its
/// own lock.
fn waits_for_owner(
    scene: &Scene<'_>,
    (actor, bar): (ActorId, &Bar),
    span: &Span,
    end: usize,
    since: usize,
) -> Option<WaitedFor> {
    let owner_of = |span: &Span| scene.chart.actor(span.owner?, span.from.1);
    let is_open = |span: &Span| span.to.is_none_or(|(_, event)| event >= end);
    let truths = || scene.chart.truths.iter();
    let mut span = span;
    if owner_of(span) == Some(actor) {
        let is_over = bar.to.is_some_and(|(_, event)| event == end);
        // Whoever has just been granted it waits only for the news.
        let asked_since = || {
            let since = scene.log.events().get(span.from.1 + 1..end).unwrap_or_default();
            let is_own =
                |kind: &EventKind| matches!(kind, EventKind::Sent { actor: known, .. } if *known == actor);
            since.iter().take(LOOK_BACK).any(|event| is_own(&event.kind))
        };
        // Nor does whoever waits for another part of a lock that consists of several.
        let has_all = || {
            let each =
                truths().flat_map(|truth| truth.locks.iter().filter_map(|lock| truth.last_held(lock, end)));
            each.filter(|span| is_open(span)).all(|span| owner_of(span) == Some(actor))
        };
        let in_vain = !is_over && (span.from.1 < bar.from.1 || asked_since()) && has_all();
        if !in_vain {
            // Before that it waited for the last owner.
            let before: Vec<&Span> =
                truths().filter_map(|truth| truth.last_held(&span.lock, span.from.1)).collect();
            let [last] = before[..] else { return None };
            span = last;
            if owner_of(span) == Some(actor) || span.to.is_none_or(|(_, event)| event < bar.from.1) {
                return None;
            }
        }
    } else if span.to.is_some_and(|(_, event)| event < since) {
        return None;
    }
    let whom = owner_of(span).filter(|_| span.others.is_empty())?;
    let until = span.to.filter(|(_, event)| *event < end).map(|(x, _)| x);
    Some(WaitedFor { whom, since: span.from.0.max(bar.from.0), until })
}

fn draw_bar(
    scene: &Scene<'_>,
    plot: &Plot,
    (bar, bars): (&Bar, &[Bar]),
    (actor, y, rows): (ActorId, u16, u16),
    buf: &mut Buffer,
) {
    let Some(columns) = plot.stretch(bar.from, bar.to) else { return };
    // A frozen actor that holds nothing is a line, so that it does not look like a holder.
    let holds = |other: &Bar| other.kind.holds() && other.to.is_none_or(|to| to.1 > bar.from.1);
    let is_line = bar.kind == BarKind::Frozen && !bars.iter().any(holds);
    let frozen = if is_line && rows == 1 { glyphs::FROZEN_LINE } else { glyphs::FROZEN };
    let (y, rows) = if is_line { (y + rows / 2, 1) } else { (y, rows) };
    let client = scene.actor_style(actor);
    let (symbol, style) = match bar.kind {
        BarKind::Belief(belief) if belief.holds() => (glyphs::belief(belief), client),
        BarKind::Belief(belief) => (glyphs::belief(belief), client.add_modifier(Modifier::DIM)),
        BarKind::Read => (glyphs::SAW, client),
        BarKind::Oversold => scene.theme.clashing(client),
        BarKind::Frozen => (frozen, scene.style(Role::Warning)),
        BarKind::Dead => (glyphs::DEAD, scene.style(Role::Chrome)),
    };
    let rows = hatched_rows(bar, bars, rows);
    let holding = bar.kind.holds();
    for row in 0..rows {
        // A thick bar is solid below its upper edge, and a line stays a line.
        let symbol = match bar.kind {
            _ if row == 0 => symbol,
            BarKind::Dead => continue,
            BarKind::Belief(Belief::Holding) => glyphs::FULL,
            _ => symbol,
        };
        plot.fill(columns, y + row, symbol, style, buf);
    }
    if bar.kind == BarKind::Read {
        // The value that was read has changed since.
        for (from, to) in bar.unconfirmed.iter().filter_map(|(from, to)| plot.stretch(*from, *to)) {
            for row in 0..rows {
                let place = (from.max(columns.0), to.min(columns.1));
                plot.fill(place, y + row, glyphs::UNSURE, scene.style(Role::Warning), buf);
            }
        }
    }
    if !holding {
        return;
    }
    for (from, to) in bar.unconfirmed.iter().filter_map(|(from, to)| plot.stretch(*from, *to)) {
        outline(plot, (from.max(columns.0), to.min(columns.1)), (y, rows), client, buf);
    }
    // Nothing else on the screen is as red as an overlap.
    for both in overlap_spans(scene, plot, bar) {
        let (symbol, style) = scene.theme.clashing(client);
        for row in 0..rows {
            plot.fill(both, y + row, symbol, style, buf);
        }
    }
}

/// Draws the overlaps of a frozen actor: it still holds its locks, so they are as red as those of the others.
fn draw_frozen_overlaps(
    scene: &Scene<'_>,
    plot: &Plot,
    bars: &[Bar],
    (actor, y, rows): (ActorId, u16, u16),
    buf: &mut Buffer,
) {
    let frozen = bars.iter().filter(|bar| bar.kind == BarKind::Frozen);
    let (sign, style) = scene.theme.clashing(scene.actor_style(actor));
    // In colour the red ground says it. ASCII has no shades, so the sign must.
    let shaded = sign == glyphs::CLASHING && scene.theme.glyphs == Glyphs::Unicode;
    let symbol = if shaded { glyphs::FROZEN } else { sign };
    for still in frozen.filter_map(|bar| plot.stretch(bar.from, bar.to)) {
        let holding = bars.iter().filter(|bar| bar.kind.holds());
        for both in holding.flat_map(|bar| overlap_spans(scene, plot, bar)) {
            for row in 0..rows {
                plot.fill((both.0.max(still.0), both.1.min(still.1)), y + row, symbol, style, buf);
            }
        }
    }
}

/// Draws a lock that the actor believes to hold but no server confirms: the outline of a bar.
fn outline(plot: &Plot, (from, to): (u16, u16), (y, rows): (u16, u16), style: Style, buf: &mut Buffer) {
    let [top_left, top_right, bottom_left, bottom_right, side, edge] = glyphs::OUTLINE;
    for row in 0..rows {
        let (left, body, right) = match row {
            _ if rows == 1 => (edge, edge, edge),
            0 => (top_left, edge, top_right),
            row if row + 1 == rows => (bottom_left, edge, bottom_right),
            _ => (side, " ", side),
        };
        plot.fill((from, to), y + row, body, style, buf);
        plot.fill((from, (from + 1).min(to)), y + row, left, style, buf);
        plot.fill((to.saturating_sub(1).max(from), to), y + row, right, style, buf);
    }
}

fn draw_mark(
    scene: &Scene<'_>,
    plot: &Plot,
    seen: (&Mark, u16, u16),
    (actor, y): (ActorId, u16),
    buf: &mut Buffer,
) {
    let (mark, x, limit) = seen;
    let Some(event) = scene.log.events().get(mark.event) else { return };
    let client = scene.actor_style(actor);
    let text_style = match &event.kind {
        EventKind::Sent { .. } | EventKind::Replied { .. } => match mark.reply(scene.log, plot.position) {
            Some(reply) => wire::style(scene, selection::exchange(scene, mark.event).0, reply)
                .remove_modifier(Modifier::BOLD),
            None => scene.style(Role::Chrome),
        },
        EventKind::Notified { .. } | EventKind::Took { .. } => scene.style(Role::Warning),
        EventKind::Counted { .. } => scene.style(Role::Good),
        EventKind::Fault(_) => scene.style(Role::Danger),
        _ => scene.style(Role::Chrome),
    };
    let chosen = scene.selected.is_some_and(|event| {
        let (sent, _) = selection::exchange(scene, event);
        mark.exchanges().any(|(known, _)| selection::exchange(scene, known).0 == sent)
            || mark.note == Some(event)
    });
    let words = words(scene, plot, seen);
    let end = if limit < plot.area.right() { limit.saturating_sub(1).max(x) } else { limit };
    // A text reduced to an ellipsis would say nothing.
    let room = usize::from(end.saturating_sub(x.saturating_add(2)));
    let words = if room < SHORTEST_WORDS && text::width(&words) > room { "" } else { &words };
    // Without its text, the sign of a fault says more than that of the client whose lane it is.
    let (sign, sign_style) = match &event.kind {
        EventKind::Fault(kind) if words.is_empty() => (fault::glyph(kind), text_style),
        _ => (scene.glyph(actor), client),
    };
    let tick = if limit.saturating_sub(x) > 1 { format!("{sign} ") } else { sign.to_owned() };
    let after = plot.write((x, y), &tick, limit, sign_style.add_modifier(Modifier::BOLD), buf);
    let after = plot.write((after, y), words, end.max(after), text_style, buf);
    if after < limit {
        plot.write((after, y), " ", limit, Style::new(), buf);
    }
    if chosen {
        let tick = Rect { x, y, width: after.saturating_sub(x), height: 1 };
        scene.theme.choose(tick, buf);
    }
}

/// The name at the left of the lane, dim if the actor has ended.
pub fn name(scene: &Scene<'_>, actor: ActorId, width: usize) -> (String, Style) {
    let style = scene.actor_style(actor);
    let life = scene.world.actor(actor).map_or(Life::Running, |actor| actor.life);
    let (prefix, style) = match life {
        Life::Running => (scene.glyph(actor), style.add_modifier(Modifier::BOLD)),
        Life::Frozen => (glyphs::STOPPED, scene.style(Role::Warning)),
        Life::Crashed => (scene.end_sign(actor), style.add_modifier(Modifier::CROSSED_OUT | Modifier::DIM)),
        Life::Finished => (glyphs::DONE, style.add_modifier(Modifier::DIM)),
    };
    let words = format!("{prefix} {}", scene.name(actor));
    (text::fit(&words, width).into_owned(), style)
}

#[cfg(test)]
mod tests {
    use super::gaps;

    #[test]
    fn what_is_free_lies_between_texts() {
        assert_eq!(gaps((5, 20), &[(0, 7), (9, 12), (18, 25)]), [(7, 9), (12, 18)]);
        assert_eq!(gaps((5, 20), &[(0, 30)]), []);
        assert_eq!(gaps((5, 20), &[]), [(5, 20)]);
    }
}
