//! The timelines: a lane per actor, a band per crowd, a lane per server below them, time to the right. It
//! decides who gets which rows and must not know how a lane is drawn.

use ratatui::{buffer::Buffer, layout::Rect, style::Style};

use super::{
    Scene, band,
    lane::{self, Height},
    plot::Plot,
    text,
    theme::Role,
    truth, words,
};
use crate::log::{ActorId, EventKind};

/// The narrowest and the widest that names may be.
pub const NAMES: (usize, usize) = (3, 12);

/// The most rows that servers get.
const SERVERS: u16 = 8;

/// What a row, or a few rows, are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
    Actor(ActorId),
    Band(usize),
}

/// Actors and bands in the lesson's order, a few members of each band below it.
fn rows(scene: &Scene<'_>, height: u16) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut seen = vec![false; scene.chart.bands.len()];
    let alone = scene
        .chart
        .lanes
        .iter()
        .filter(|lane| lane.band.is_none())
        .count();
    for (n, chart_lane) in scene.chart.lanes.iter().enumerate() {
        let Some(band_number) = chart_lane.band else {
            rows.push(Row::Actor(ActorId(u32::try_from(n).unwrap_or(u32::MAX))));
            continue;
        };
        if std::mem::replace(&mut seen[band_number], true) {
            continue;
        }
        rows.push(Row::Band(band_number));
        let room = usize::from(height.saturating_sub(band::ROWS) / 2)
            .saturating_sub(alone)
            .clamp(1, 5);
        let sample = band::sample(scene, &scene.chart.bands[band_number], room);
        rows.extend(sample.into_iter().map(Row::Actor));
    }
    rows
}

fn row_height(row: Row, height: Height) -> u16 {
    match row {
        Row::Actor(_) => height.rows(),
        Row::Band(_) => band::ROWS,
    }
}

fn total(rows: &[Row], height: Height) -> u16 {
    rows.iter()
        .fold(0u16, |sum, row| sum.saturating_add(row_height(*row, height)))
}

/// How the pane is divided.
struct Division {
    rows: Vec<Row>,
    height: Height,
    /// The lanes of actors.
    lanes: Rect,
    /// The lanes of servers.
    below: Rect,
}

fn divide(scene: &Scene<'_>, area: Rect) -> Division {
    let below = server_rows(scene, area).min(area.height);
    let room = area.height - below;
    let rows = rows(scene, room);
    let height = Height::all()
        .find(|height| total(&rows, *height) <= room)
        .unwrap_or(Height::LOW);
    // The truth stands right below the beliefs that it is compared with.
    let lanes = Rect {
        height: room.min(total(&rows, height)),
        ..area
    };
    Division {
        rows,
        height,
        lanes,
        below: Rect {
            y: lanes.bottom(),
            height: below,
            ..area
        },
    }
}

/// Rows of servers: three, or more where the actors leave room for them.
fn server_rows(scene: &Scene<'_>, area: Rect) -> u16 {
    let actors = total(&rows(scene, area.height), Height::CLEAR);
    let most = area.height.saturating_sub(actors + 1).clamp(3, SERVERS);
    u16::try_from(truth::rows(scene).len())
        .unwrap_or(u16::MAX)
        .min(most)
}

/// Rows that the lanes can use, with those of the servers and the axis.
pub fn wanted(scene: &Scene<'_>, area: Rect) -> u16 {
    // Not how many rows the servers need now: a pane that grows with every lock is no calm sight.
    let servers = u16::try_from(scene.chart.truths.len())
        .unwrap_or(u16::MAX)
        .clamp(3, SERVERS);
    total(&rows(scene, area.height), Height::HIGH).saturating_add(servers + 1)
}

/// The part of the pane that is left above the axis.
fn above_axis(area: Rect) -> Rect {
    Rect {
        height: area.height.saturating_sub(1),
        ..area
    }
}

/// How far the lanes can be scrolled.
pub fn reach(scene: &Scene<'_>, area: Rect) -> u16 {
    reach_without_axis(scene, above_axis(area))
}

/// How far they can be scrolled where there is no axis below them.
pub fn reach_without_axis(scene: &Scene<'_>, area: Rect) -> u16 {
    let division = divide(scene, area);
    total(&division.rows, division.height).saturating_sub(division.lanes.height)
}

/// Which actor did something last.
fn last_actor(scene: &Scene<'_>) -> Option<ActorId> {
    let events = scene.log.events().get(..scene.world.position)?;
    events.iter().rev().take(64).find_map(|event| match event.kind {
        EventKind::Sent { actor, .. }
        | EventKind::Replied { actor, .. }
        | EventKind::Waits { actor, .. }
        | EventKind::Notified { actor, .. }
        | EventKind::Took { actor, .. }
        | EventKind::Believes { actor, .. } => Some(actor),
        _ => None,
    })
}

/// The scroll at which an actor is in sight; the one that moved last, if none is named.
fn follow(scene: &Scene<'_>, actor: Option<ActorId>, division: &Division) -> u16 {
    let hidden = total(&division.rows, division.height).saturating_sub(division.lanes.height);
    let Some(actor) = actor.or_else(|| last_actor(scene)).filter(|_| hidden > 0) else {
        return 0;
    };
    let Some(at) = division.rows.iter().position(|row| *row == Row::Actor(actor)) else {
        return 0;
    };
    let bottom = total(&division.rows[..=at], division.height);
    bottom.saturating_sub(division.lanes.height).min(hidden)
}

/// How many rows show everything, lanes two rows high.
pub fn enough(scene: &Scene<'_>) -> u16 {
    let rows = total(&rows(scene, u16::MAX), Height::CLEAR);
    rows.saturating_add(server_rows(scene, Rect::new(0, 0, 0, u16::MAX)))
}

/// How many rows of so many are drawn on.
pub fn used(scene: &Scene<'_>, height: u16) -> u16 {
    let division = divide(
        scene,
        Rect {
            height,
            ..Rect::default()
        },
    );
    division.lanes.height + division.below.height
}

/// The scroll at which an actor is in sight; the one that moved last, if none is named.
pub fn scroll_to(scene: &Scene<'_>, actor: Option<ActorId>, area: Rect) -> u16 {
    follow(scene, actor, &divide(scene, area))
}

/// The row below the last lane of an actor.
pub fn bottom_of_actors(scene: &Scene<'_>, area: Rect) -> u16 {
    divide(scene, area).lanes.bottom()
}

/// Columns that the names need.
pub fn names(scene: &Scene<'_>, area: Rect) -> usize {
    gutter(scene, &divide(scene, area).rows, &truth::rows(scene))
}

/// The part of an area that is right of the names.
pub fn right_of(names: usize, area: Rect) -> Rect {
    let gutter = u16::try_from(names + 1).unwrap_or(area.width).min(area.width);
    Rect {
        x: area.x + gutter,
        width: area.width - gutter,
        ..area
    }
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
    let hidden = total(&division.rows, division.height).saturating_sub(division.lanes.height);
    let scroll = scroll
        .unwrap_or_else(|| follow(scene, None, &division))
        .min(hidden);
    let above = Rect {
        height: division.below.bottom() - area.y,
        ..plot.area
    };
    // First, so that everything else stands in front of it.
    plot.playhead(scene, above, buf);
    let mut at = 0;
    for row in &division.rows {
        let top = at;
        at += row_height(*row, division.height);
        // Rows are shown whole or not at all.
        if top < scroll {
            continue;
        }
        let y = division.lanes.y + top - scroll;
        if y + row_height(*row, division.height) > division.lanes.bottom() && !matches!(row, Row::Band(_)) {
            break;
        }
        if y >= division.lanes.bottom() {
            break;
        }
        draw_row(scene, plot, *row, (y, &division, names), buf);
    }
    for (y, row) in (division.below.top()..division.below.bottom()).zip(&servers) {
        let style = scene.style(Role::Accent);
        buf.set_stringn(area.x, y, text::fit(row.name(), names), names, style);
        row.draw(scene, plot, y, buf);
    }
    let grounds = Rect {
        height: division.below.bottom() - area.y,
        ..plot.area
    };
    for clash in &scene.chart.clashes {
        if let Some((from, to)) = plot.stretch(clash.from, clash.to) {
            let columns = Rect {
                x: from,
                width: to - from,
                ..grounds
            };
            scene.theme.alarm(columns, buf);
        }
    }
    division.below.bottom()
}

fn draw_row(
    scene: &Scene<'_>,
    plot: &Plot,
    row: Row,
    (y, division, names): (u16, &Division, usize),
    buf: &mut Buffer,
) {
    let x = division.lanes.x;
    let mut label = |words: &str, style: Style| {
        buf.set_stringn(x, y, words, names, style);
    };
    match row {
        Row::Actor(actor) => {
            let (words, style) = lane::name(scene, actor, names);
            label(&words, style);
            lane::draw(scene, plot, actor, (y, division.height), buf);
        }
        Row::Band(n) => {
            let band = &scene.chart.bands[n];
            if let Some(first) = band.members.first() {
                label(&text::fit(&band.client, names), scene.actor_style(*first));
            }
            band::draw(scene, plot, band, (y, division.lanes.bottom()), buf);
        }
    }
}

/// Columns of the names.
fn gutter(scene: &Scene<'_>, rows: &[Row], servers: &[truth::Row<'_>]) -> usize {
    let lanes = rows.iter().map(|row| match row {
        Row::Actor(actor) => text::width(scene.name(*actor)) + 2,
        Row::Band(n) => text::width(&scene.chart.bands[*n].client),
    });
    let servers = servers.iter().map(|row| text::width(row.name()));
    lanes.chain(servers).max().unwrap_or(0).clamp(NAMES.0, NAMES.1)
}

/// Of all locks that two hold at this moment, the greatest number of holders.
fn most_holders(scene: &Scene<'_>) -> usize {
    let lasting = scene.world.overlaps.iter().filter(|overlap| overlap.to.is_none());
    lasting
        .map(|overlap| scene.world.holders(&overlap.lock).count())
        .max()
        .unwrap_or(0)
}

/// Two holders at this very moment: said in words too, for those who do not see red.
fn warn(scene: &Scene<'_>, plot: &Plot, y: u16, buf: &mut Buffer) {
    let most = most_holders(scene);
    if most < 2 {
        return;
    }
    let words = format!(" {} ", words::CLASH.with(scene.lang, &[&most.to_string()]));
    let width = u16::try_from(text::width(&words)).unwrap_or(plot.area.width);
    let x = plot.area.right().saturating_sub(width).max(plot.area.x);
    let style = scene
        .style(Role::Danger)
        .add_modifier(ratatui::style::Modifier::REVERSED);
    plot.write((x, y), &words, plot.area.right(), style, buf);
}
