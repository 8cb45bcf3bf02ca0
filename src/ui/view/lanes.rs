//! The timelines: a lane per actor, a band per crowd, a lane per server below them, time to the right. It
//! decides who gets which rows and must not know how a lane is drawn.

use super::{band, in_flight, lane, plot::Plot, prelude::*, truth};
use crate::{log::Observed, world::ServerWorld};

/// The narrowest and the widest that names may be.
pub const NAMES: (usize, usize) = (3, 12);

const MOST_SERVER_ROWS: u16 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
    Actor(ActorId),
    Band(usize),
}

/// Actors and bands in the lesson's order, a few members of each band below it.
fn rows(scene: &Scene<'_>, height: u16) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut seen = vec![false; scene.chart.bands.len()];
    let alone = scene.chart.lanes.iter().filter(|lane| lane.band.is_none()).count();
    for (n, chart_lane) in scene.chart.lanes.iter().enumerate() {
        let Some(band_number) = chart_lane.band else {
            rows.push(Row::Actor(ActorId(u32::try_from(n).unwrap_or(u32::MAX))));
            continue;
        };
        if std::mem::replace(&mut seen[band_number], true) {
            continue;
        }
        rows.push(Row::Band(band_number));
        let band = &scene.chart.bands[band_number];
        if scene.expanded {
            rows.extend(band.members.iter().copied().map(Row::Actor));
            continue;
        }
        let room = usize::from(height.saturating_sub(band::ROWS) / 2).saturating_sub(alone).clamp(1, 5);
        let sample = band::sample(scene, band, room);
        rows.extend(sample.into_iter().map(Row::Actor));
    }
    rows
}

/// How high a lane is, and how many rows a band gets.
type Sizes = (u16, u16);

fn row_height(row: Row, (height, band): Sizes) -> u16 {
    match row {
        Row::Actor(_) => height,
        Row::Band(_) => band,
    }
}

fn total(rows: &[Row], height: Sizes) -> u16 {
    rows.iter().fold(0u16, |sum, row| sum.saturating_add(row_height(*row, height)))
}

/// How many rows stay in sight however far the rest is scrolled: the counts of crowds whose members are shown.
fn pinned(scene: &Scene<'_>, rows: &[Row], height: Sizes, room: u16) -> usize {
    let bands = rows.iter().rposition(|row| matches!(row, Row::Band(_)));
    let pinned = bands.filter(|_| scene.expanded).map_or(0, |last| last + 1);
    // Members must be seen, too.
    if total(&rows[..pinned], height) > room.saturating_sub(2) { 0 } else { pinned }
}

struct Division {
    rows: Vec<Row>,
    /// How many of them are never scrolled away.
    pinned: usize,
    height: Sizes,
    lanes: Rect,
    below: Rect,
    /// How many rows of lanes there is no room for.
    hidden: u16,
}

fn divide(scene: &Scene<'_>, area: Rect) -> Division {
    let below = server_rows(scene, area).min(area.height);
    let room = area.height - below;
    let rows = rows(scene, room);
    // Where its members are shown and there is little room, of the band itself only the counts are.
    let band = if scene.expanded && room < 4 * band::ROWS { 1 } else { band::ROWS };
    let mut heights = (1..=lane::HIGHEST).rev().map(|height| (height, band));
    let height = heights.find(|height| total(&rows, *height) <= room).unwrap_or((1, band));
    // The truth stands right below the beliefs that it is compared with.
    let lanes = Rect { height: room.min(total(&rows, height)), ..area };
    Division {
        pinned: pinned(scene, &rows, height, room),
        hidden: total(&rows, height).saturating_sub(lanes.height),
        rows,
        height,
        lanes,
        below: Rect { y: lanes.bottom(), height: below, ..area },
    }
}

/// Rows of servers: three, or more where the actors leave room for them.
fn server_rows(scene: &Scene<'_>, area: Rect) -> u16 {
    let actors = total(&rows(scene, area.height), (lane::CLEAR, band::ROWS));
    let most = area.height.saturating_sub(actors + 1).clamp(3, MOST_SERVER_ROWS);
    u16::try_from(truth::rows(scene).len()).unwrap_or(u16::MAX).min(most)
}

/// Rows that the lanes can use, with those of the servers and the axis.
pub fn wanted(scene: &Scene<'_>, area: Rect) -> u16 {
    // Not how many rows the servers need now: a pane that grows with every lock is no calm sight.
    let servers = u16::try_from(scene.chart.truths.len()).unwrap_or(u16::MAX).clamp(3, MOST_SERVER_ROWS);
    total(&rows(scene, area.height), (lane::HIGHEST, band::ROWS)).saturating_add(servers + 1)
}

fn above_axis(area: Rect) -> Rect {
    Rect { height: area.height.saturating_sub(1), ..area }
}

pub fn reach(scene: &Scene<'_>, area: Rect) -> u16 {
    reach_without_axis(scene, above_axis(area))
}

/// How far they can be scrolled where there is no axis below them.
pub fn reach_without_axis(scene: &Scene<'_>, area: Rect) -> u16 {
    divide(scene, area).hidden
}

fn last_actor(scene: &Scene<'_>) -> Option<ActorId> {
    // While clients get ready nobody does anything, whatever they are told.
    let events = scene.log.events().get(scene.log.opening()..scene.world.position)?;
    events.iter().rev().take(64).find_map(|event| event.kind.actor())
}

/// The scroll at which an actor is in sight; the one that moved last, if none is named.
fn follow(scene: &Scene<'_>, actor: Option<ActorId>, division: &Division) -> u16 {
    let chosen = || scene.event(scene.selected?)?.actor();
    let actor = actor.or_else(chosen).or_else(|| last_actor(scene));
    let Some(actor) = actor.filter(|_| division.hidden > 0) else { return 0 };
    let Some(at) = division.rows.iter().position(|row| *row == Row::Actor(actor)) else { return 0 };
    let bottom = total(&division.rows[..=at], division.height);
    bottom.saturating_sub(division.lanes.height).min(division.hidden)
}

/// The rows that are on the screen, and where: whole or not at all.
fn placed(scene: &Scene<'_>, scroll: Option<u16>, division: &Division) -> Vec<(Row, u16)> {
    let scroll = scroll.unwrap_or_else(|| follow(scene, None, division)).min(division.hidden);
    let fixed = total(&division.rows[..division.pinned], division.height);
    let mut placed = Vec::new();
    let mut at = 0u16;
    for (n, row) in division.rows.iter().enumerate() {
        let top = at;
        let scroll = if n < division.pinned { 0 } else { scroll };
        at = at.saturating_add(row_height(*row, division.height));
        if n >= division.pinned && top < scroll.saturating_add(fixed) {
            continue;
        }
        let y = division.lanes.y + top - scroll;
        let cut = y + row_height(*row, division.height) > division.lanes.bottom();
        if y >= division.lanes.bottom() || (cut && !matches!(row, Row::Band(_))) {
            break;
        }
        placed.push((*row, y));
    }
    placed
}

/// The event whose tick is at a place of the screen.
pub fn event_at(scene: &Scene<'_>, scroll: Option<u16>, area: Rect, (x, y): (u16, u16)) -> Option<usize> {
    if !area.contains((x, y).into()) {
        return None;
    }
    let above = above_axis(area);
    let plot = Plot::new(scene, right_of(names(scene, above), area));
    let division = divide(scene, above);
    let rows = placed(scene, scroll, &division);
    let (row, _) = rows.into_iter().find(|(row, top)| {
        let height = row_height(*row, division.height);
        (*top..*top + height).contains(&y) && y < division.lanes.bottom()
    })?;
    match row {
        Row::Actor(actor) => lane::event_at(scene, &plot, actor, x),
        Row::Band(n) => band::event_at(&plot, &scene.chart.bands[n], x),
    }
}

/// How many rows show everything, lanes two rows high.
pub fn enough(scene: &Scene<'_>) -> u16 {
    let rows = total(&rows(scene, u16::MAX), (lane::CLEAR, band::ROWS));
    rows.saturating_add(server_rows(scene, Rect::new(0, 0, 0, u16::MAX)))
}

/// How many rows of so many are drawn on.
pub fn used(scene: &Scene<'_>, height: u16) -> u16 {
    let division = divide(scene, Rect { height, ..Rect::default() });
    division.lanes.height + division.below.height
}

pub fn scroll_to(scene: &Scene<'_>, actor: Option<ActorId>, area: Rect) -> u16 {
    follow(scene, actor, &divide(scene, area))
}

pub fn bottom_of_actors(scene: &Scene<'_>, area: Rect) -> u16 {
    divide(scene, area).lanes.bottom()
}

pub fn names(scene: &Scene<'_>, area: Rect) -> usize {
    let rows = divide(scene, area).rows.into_iter().map(|row| match row {
        Row::Actor(actor) => text::width(scene.name(actor)) + 2,
        Row::Band(n) => text::width(&scene.chart.bands[n].client),
    });
    let servers = truth::rows(scene).into_iter().map(|row| text::width(row.name()));
    rows.chain(servers).max().unwrap_or(0).clamp(NAMES.0, NAMES.1)
}

pub fn right_of(names: usize, area: Rect) -> Rect {
    let gutter = u16::try_from(names + 1).unwrap_or(area.width).min(area.width);
    Rect { x: area.x + gutter, width: area.width - gutter, ..area }
}

/// Draws the pane's inside; `scroll` is the learner's, `None` follows who moves.
pub fn draw(scene: &Scene<'_>, scroll: Option<u16>, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let above = above_axis(area);
    let names = names(scene, above);
    let plot = Plot::new(scene, right_of(names, area));
    let axis = draw_without_axis(scene, &plot, scroll, (names, above), buf);
    plot.axis(scene, axis, buf);
    warn(scene, &plot, axis, buf);
}

/// Draws the lanes and those of the servers; gives the row below them.
pub fn draw_without_axis(
    scene: &Scene<'_>,
    plot: &Plot,
    scroll: Option<u16>,
    (names, area): (usize, Rect),
    buf: &mut Buffer,
) -> u16 {
    let servers = truth::rows(scene);
    let division = divide(scene, area);
    let above = Rect { height: division.below.bottom() - area.y, ..plot.area };
    // First, so that everything else stands in front of it.
    plot.playhead(scene, above, buf);
    let mut places = in_flight::Places {
        left: area.x,
        role: plot.area.x.saturating_sub(1),
        rows: (area.y, division.below.bottom().saturating_sub(1)),
        ..in_flight::Places::default()
    };
    for (row, y) in placed(scene, scroll, &division) {
        let (name, style) = match row {
            Row::Actor(actor) => {
                lane::draw(scene, plot, actor, (y, division.height.0), buf);
                places.actors.push((actor, y));
                lane::name(scene, actor, names)
            }
            Row::Band(n) => {
                let band = &scene.chart.bands[n];
                let bottom = (y + division.height.1).min(division.lanes.bottom());
                band::draw(scene, plot, band, (y, bottom), buf);
                // From its second row things go down, where it has one.
                places.bands.push((n, bottom.min(y + 2) - 1));
                let style = band.members.first().map(|first| scene.actor_style(*first));
                (text::fit(&band.client, names).into_owned(), style.unwrap_or_default())
            }
        };
        buf.set_stringn(area.x, y, name, names, style);
    }
    places.actors.sort_unstable();
    for (y, row) in (division.below.top()..division.below.bottom()).zip(&servers) {
        let style = scene.style(Role::Accent);
        buf.set_stringn(area.x, y, text::fit(row.name(), names), names, style);
        row.draw(scene, plot, y, buf);
        if places.servers.last().is_none_or(|(name, _)| *name != row.name()) {
            places.servers.push((row.name(), y));
            if is_master(scene, row.name()) {
                buf.set_string(places.role, y, glyphs::MASTER, style);
            }
        }
    }
    for clash in &scene.chart.clashes {
        if let Some((from, to)) = plot.stretch(clash.from, clash.to) {
            let columns = Rect { x: from, width: to - from, ..above };
            scene.theme.alarm(columns, buf);
        }
    }
    in_flight::draw(scene, plot, &places, buf);
    plot.hairline(scene, above, buf);
    division.below.bottom()
}

fn is_master(scene: &Scene<'_>, name: &str) -> bool {
    let role = |server: &ServerWorld| server.observed.as_ref().and_then(Observed::role).cloned();
    let servers = &scene.world.servers;
    let mut masters = servers.iter().filter(|server| role(server).is_some_and(|role| role.leads()));
    servers.iter().any(|server| role(server).is_some_and(|role| !role.leads()))
        && masters.any(|server| server.info.name == name)
}

/// Too many holders at this very moment: said in words too, for those who do not see red.
fn warning(scene: &Scene<'_>) -> Option<String> {
    let worst = scene.world.holding.worst()?;
    Some(format!(" {} ", words::clash(scene.lang, worst)))
}

fn warn(scene: &Scene<'_>, plot: &Plot, y: u16, buf: &mut Buffer) {
    if let Some(words) = warning(scene) {
        let width = u16::try_from(text::width(&words)).unwrap_or(plot.area.width);
        let x = plot.area.right().saturating_sub(width).max(plot.area.x);
        plot.write((x, y), &words, plot.area.right(), loud(scene), buf);
    }
}

/// The same on the frame below a pane that has no axis.
pub fn warn_below(scene: &Scene<'_>, frame: Rect, buf: &mut Buffer) {
    if let Some(words) = warning(scene) {
        let room = frame.width.saturating_sub(4);
        let width = u16::try_from(text::width(&words)).unwrap_or(room).min(room);
        let place = (frame.right().saturating_sub(width + 2), frame.bottom().saturating_sub(1));
        buf.set_stringn(place.0, place.1, words, width.into(), loud(scene));
    }
}

fn loud(scene: &Scene<'_>) -> Style {
    scene.style(Role::Danger).add_modifier(Modifier::REVERSED)
}
