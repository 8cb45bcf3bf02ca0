//! Draws the sequence: names, lifelines, and as many of the newest rows as fit.

mod arrow;
pub(crate) mod layout;
mod marks;
#[cfg(test)]
mod tests;
mod window;

use std::time::Duration;

use arrow::{Arrow, Words};
use layout::{Layout, Placed};
use marks::{draw_fault, draw_gap, draw_link, label_lifeline};
use window::TIME;

use super::{banner, cells, detail, lane, prelude::*, truth, wire};
use crate::ui::chart::{
    OverlapSpan, RoleChange,
    sequence::{ColumnOwner, Look, Row, RowKind},
};

/// A TTL that was over for at least this long when its server was observed is shown with its own time.
const NOTICED: Duration = Duration::from_millis(100);

pub(crate) use layout::{View, event_at};
pub(crate) use window::reach as first_client_reach;

pub(crate) fn draw(scene: &Scene<'_>, view: View, area: Rect, buf: &mut Buffer) {
    if area.is_empty() || area.width <= TIME {
        return;
    }
    let layout = Layout::new(scene, view, area);
    draw_names(scene, &layout, buf);
    draw_lifelines(scene, &layout, buf);
    let mut before = String::new();
    for placed in &layout.rows {
        draw_row(scene, &layout, placed, buf);
        let row = &scene.sequence.rows[placed.row];
        let moment = scene.log.events().get(row.event).map(|event| time::moment(event.at));
        let moment = moment.filter(|_| row.is_selectable()).unwrap_or_default();
        if moment != before {
            let words = format!("{moment:>8}");
            let y = placed.y + placed.height - 1;
            buf.set_stringn(area.x, y, words, 8, scene.style(Role::Chrome));
        }
        if !moment.is_empty() {
            before = moment;
        }
    }
    alarm(scene, &layout, area, buf);
    let chosen = scene.selected.and_then(|event| scene.sequence.row_of(event));
    for placed in layout.rows.iter().filter(|placed| Some(placed.row) == chosen) {
        let line = Rect { y: placed.y, height: placed.height, ..area };
        scene.theme.choose(line, buf);
    }
}

fn draw_names(scene: &Scene<'_>, layout: &Layout, buf: &mut Buffer) {
    let window = &layout.window;
    let lines: Vec<(usize, u16)> = window.lines().collect();
    let mut free = window.plot.x;
    for (n, (column, x)) in lines.iter().enumerate() {
        let next = lines.get(n + 1).map_or(window.plot.right(), |(_, next)| x + (next - x).div_ceil(2));
        let room = usize::from(next.saturating_sub(free));
        let who = &scene.sequence.columns.all[*column];
        let (name, style) = match who {
            ColumnOwner::Actor(actor) => lane::name(scene, *actor, room),
            ColumnOwner::Crowd { first, .. } => {
                (window::name(scene, who), scene.actor_style(*first).add_modifier(Modifier::BOLD))
            }
            ColumnOwner::Server(name) => server_name(scene, name),
        };
        let name = text::fit(&name, room).into_owned();
        let width = u16::try_from(text::width(&name)).unwrap_or_default();
        let start = x.saturating_sub(width / 2).clamp(free, next.saturating_sub(width).max(free));
        buf.set_stringn(start, layout.header, &name, room, style);
        free = (start + width + 1).max(x + 1).min(window.plot.right());
    }
    let (before, after) = window.hidden;
    if before + after > 0 {
        let words = format!("◂{before} {after}▸");
        let (x, room) = (window.plot.x - TIME, usize::from(TIME) - 1);
        buf.set_stringn(x, layout.header, text::fit(&words, room), room, scene.style(Role::Warning));
    }
}

fn server_name(scene: &Scene<'_>, name: &str) -> (String, Style) {
    let style = scene.style(Role::Accent);
    let server = scene.world.servers.iter().find(|server| server.info.name == name);
    match server {
        Some(server) if server.died.is_some() => {
            let sign = scene.server_end_sign(name);
            (format!("{sign} {name}"), style.add_modifier(Modifier::CROSSED_OUT | Modifier::DIM))
        }
        Some(server) if server.frozen => (format!("{} {name}", glyphs::STOPPED), scene.style(Role::Warning)),
        _ => (name.to_owned(), style),
    }
}

fn piece(scene: &Scene<'_>, column: usize, look: Look) -> Option<(&'static str, Style)> {
    let client = match &scene.sequence.columns.all[column] {
        ColumnOwner::Actor(actor) | ColumnOwner::Crowd { first: actor, .. } => scene.actor_style(*actor),
        ColumnOwner::Server(_) => scene.style(Role::Chrome),
    };
    Some(match look {
        Look::Idle => (glyphs::LIFELINE, scene.style(Role::Chrome)),
        Look::Waiting => (glyphs::WAITING, client.add_modifier(Modifier::DIM)),
        Look::Unsure => (glyphs::UNSURE, client.add_modifier(Modifier::DIM)),
        Look::Holding => (glyphs::LIFELINE_HOLDING, client.add_modifier(Modifier::BOLD)),
        Look::Clashing => {
            // Each holder in its own colour; without colours, in a pattern.
            let (symbol, style) = scene.theme.clashing(client.add_modifier(Modifier::BOLD));
            (if symbol == glyphs::CLASHING { glyphs::FULL } else { symbol }, style)
        }
        Look::Frozen => (glyphs::FROZEN, scene.style(Role::Warning)),
        Look::Dead => return None,
    })
}

fn draw_lifelines(scene: &Scene<'_>, layout: &Layout, buf: &mut Buffer) {
    let position = scene.world.position;
    let columns: Vec<(usize, u16)> = layout.window.lines().collect();
    let mut line = |y: u16, row: usize| {
        for (column, x) in &columns {
            let look = scene.sequence.lifelines[*column].look(row, position);
            if let Some((symbol, style)) = piece(scene, *column, look) {
                cells::put(buf, (*x, y), symbol, style);
            }
        }
    };
    let top = layout.rows.first().map_or(layout.body.y, |placed| placed.y);
    let first = layout.rows.first().map_or(0, |placed| placed.row);
    for y in layout.body.y..top {
        line(y, first.saturating_sub(1));
    }
    for placed in &layout.rows {
        // The text above an arrow precedes the arrival of the message.
        if placed.height > 1 {
            line(placed.y, placed.row.saturating_sub(1));
        }
        line(placed.y + placed.height - 1, placed.row);
    }
    let end = layout.rows.last().map_or(layout.body.y, |placed| placed.y + placed.height);
    // The lifelines after the newest row.
    let last = layout.rows.last().map_or(0, |placed| placed.row + 1);
    for y in end..layout.body.bottom() {
        line(y, last);
    }
}

pub(crate) fn write(words: &Words, (mut x, y): (u16, u16), limit: u16, buf: &mut Buffer) {
    for (part, style) in words {
        x = cells::write((x, y), part, limit, *style, buf);
    }
}

fn draw_row(scene: &Scene<'_>, layout: &Layout, placed: &Placed, buf: &mut Buffer) {
    let row = &scene.sequence.rows[placed.row];
    if let Some(arrow) = &placed.arrow {
        draw_arrow(scene, layout, (placed, arrow), buf);
        return;
    }
    let warning = |words: String| vec![(words, scene.style(Role::Warning))];
    match &row.kind {
        RowKind::Note { column } => label_lifeline(layout, (*column, placed.y), &own_words(scene, row), buf),
        RowKind::Expired { column, key, end } => {
            let seen = scene.log.events().get(row.event).map_or(*end, |event| event.at);
            let words = if seen.since(*end) < NOTICED {
                words::EXPIRED.with(scene.lang, &[key])
            } else {
                words::EXPIRED_AT.with(scene.lang, &[key, &time::moment(*end)])
            };
            label_lifeline(layout, (*column, placed.y), &warning(words), buf);
        }
        RowKind::Role { column, change: RoleChange::Sentinel { .. } } => {
            let words = detail::own_words(scene, row.event);
            label_lifeline(layout, (*column, placed.y), &vec![words], buf);
        }
        RowKind::Role { column, change } => {
            let (words, role) = truth::role_change_words(change, scene.lang);
            label_lifeline(layout, (*column, placed.y), &vec![(words, scene.style(role))], buf);
        }
        RowKind::Fault { columns } => draw_fault(scene, layout, (row, columns, placed.y), buf),
        RowKind::Link { ends } => draw_link(scene, layout, (row, ends, placed.y), buf),
        RowKind::OverlapSpan { lock, excess } => {
            // The names of the holders say more than the lesson's name for the lock.
            let overlaps = scene.world.holding.overlaps().iter();
            let begun = overlaps.rev().find(|overlap| overlap.event == row.event && overlap.lock == *lock);
            let about = match begun {
                Some(overlap) => banner::names(scene, &overlap.holders),
                None => scene.log.lock_title(lock, scene.lang).to_owned(),
            };
            let words = format!("{} · {about}", words::overlap_span(scene.lang, *excess));
            draw_alarm(scene, layout, (&words, placed.y), buf);
        }
        RowKind::Breach => {
            if let Some(EventKind::Breached { says, .. }) = scene.event(row.event) {
                let run = (scene.log, scene.chart);
                let room = usize::from(layout.window.plot.width).saturating_sub(1);
                let words = banner::breach_within(run, (says, row.event), scene.lang, room);
                draw_alarm(scene, layout, (&words, placed.y), buf);
            }
        }
        RowKind::Gap { since } => {
            let until = scene.log.events().get(row.last(scene.world.position));
            let passed = until.map_or_else(Default::default, |event| event.at.since(*since));
            let words = words::PASSES.with(scene.lang, &[&time::said(&time::stretch(passed), scene.lang)]);
            draw_gap(scene, layout, (&format!(" ⋯ {words} "), placed.y), buf);
        }
        RowKind::Message { .. } => {}
    }
}

/// Draws what was broken across all columns.
fn draw_alarm(scene: &Scene<'_>, layout: &Layout, (words, y): (&str, u16), buf: &mut Buffer) {
    let plot = layout.window.plot;
    let words = text::pad(&text::fit(&format!(" {words}"), plot.width.into()), plot.width.into());
    let style = scene.style(Role::Danger).add_modifier(Modifier::REVERSED);
    write(&vec![(words, style)], (plot.x, y), plot.right(), buf);
}

fn draw_arrow(scene: &Scene<'_>, layout: &Layout, (placed, arrow): (&Placed, &Arrow), buf: &mut Buffer) {
    let (left, right) = arrow.span;
    let y = placed.y + placed.height - 1;
    let position = scene.world.position;
    for x in left..right {
        cells::put(buf, (x, y), arrow.dash, arrow.style);
    }
    for (column, x) in layout.window.lines().filter(|(_, x)| (left..right).contains(x)) {
        // Lifelines that the arrow crosses; those of holding or frozen actors stay in front.
        let look = scene.sequence.lifelines[column].look(placed.row, position);
        let Some((symbol, style)) = piece(scene, column, look) else { continue };
        let (symbol, style) = match look {
            Look::Holding => ("╂", style),
            Look::Clashing | Look::Frozen => (symbol, style),
            _ => ("┼", arrow.style),
        };
        cells::put(buf, (x, y), symbol, style);
    }
    if left < right {
        cells::put(buf, (right - 1, y), arrow.right, arrow.style);
        cells::put(buf, (left, y), arrow.left, arrow.style);
        if right - left == 1 {
            // Too short for both ends: only the one with a head.
            let head = if arrow.left == arrow.dash { arrow.right } else { arrow.left };
            cells::put(buf, (left, y), head, arrow.style);
        }
    }
    if arrow.is_short() {
        let plot = layout.window.plot;
        let words = arrow::fitted(&arrow.words, plot.width.into());
        let width = u16::try_from(arrow::width(&words)).unwrap_or(plot.width);
        let x = (left + 1).min(plot.right().saturating_sub(width)).max(plot.x);
        write(&words, (x, placed.y), plot.right(), buf);
        return;
    }
    let mut words = arrow.written();
    if words.is_empty() {
        return;
    }
    words.insert(0, (" ".to_owned(), Style::new()));
    words.push((" ".to_owned(), Style::new()));
    write(&words, (left + 2, y), right, buf);
}

/// The text of an action within a client, with the number of a crowd's members.
fn own_words(scene: &Scene<'_>, row: &Row) -> Words {
    let position = scene.world.position;
    let mut words = arrow::note_words(scene, row.event);
    if let Some(EventKind::Sent { .. }) = scene.event(row.event) {
        let (words_of, style) = match row.note.and_then(|note| scene.reply(note)) {
            Some(reply) => (reply.brief(), wire::style(scene, row.event, reply)),
            None => ("…".to_owned(), scene.style(Role::Chrome)),
        };
        words.push((" → ".to_owned(), scene.style(Role::Chrome)));
        words.push((words_of, style.remove_modifier(Modifier::BOLD)));
    }
    let count = row.count(position);
    if count > 1 {
        words.push((format!(" ×{count}"), scene.style(Role::Fresh)));
    }
    words
}

/// Turns the background red for rows in which a lock has too many holders, or from which another invariant is broken.
fn alarm(scene: &Scene<'_>, layout: &Layout, area: Rect, buf: &mut Buffer) {
    let position = scene.world.position;
    let besides = scene.chart.other_alarms().filter_map(|overlap_span| {
        let row = scene.sequence.row_of(overlap_span.from.1)?;
        let end = |event: usize| scene.sequence.row_of(event).map_or(row, |end| end + 1).max(row + 1);
        let to = overlap_span.to.map(|(_, event)| (end(event.saturating_sub(1)), event));
        Some(OverlapSpan { lock: overlap_span.lock.clone(), from: (row, overlap_span.from.1), to })
    });
    let besides: Vec<OverlapSpan<usize>> = besides.collect();
    let overlaps = scene.sequence.overlaps.iter().chain(&besides);
    // They are ordered by their beginning, and few last long.
    let top = layout.rows.first().map_or(0, |placed| placed.row);
    for overlap in overlaps.filter(|overlap| overlap.from.1 < position) {
        let end = overlap.to.filter(|(_, event)| *event < position);
        if end.is_some_and(|(end, _)| end <= top) {
            continue;
        }
        let lasts = |row: usize| row >= overlap.from.0 && end.is_none_or(|(end, _)| row < end);
        for placed in layout.rows.iter().filter(|placed| lasts(placed.row)) {
            let rows = Rect { y: placed.y, height: placed.height, ..area };
            scene.theme.alarm(rows, buf);
        }
        if end.is_none()
            && let Some(last) = layout.rows.last().filter(|placed| lasts(placed.row))
        {
            let y = last.y + last.height;
            let rows = Rect { y, height: layout.body.bottom().saturating_sub(y), ..area };
            scene.theme.alarm(rows, buf);
        }
    }
}
