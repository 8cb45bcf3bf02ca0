//! The timelines: a lane per actor, a band per crowd, a lane per server below them, with time to the right. This module
//! assigns rows and must not know how a lane is drawn.

use super::{band, banner, cells, in_flight, lane, plot::Plot, prelude::*, reason, scene::Alarm, truth};
use crate::{log::Observed, ui::chart::Band, world::ServerWorld};

/// The minimum width of names, and the maximum on a small screen.
pub const NAMES: (usize, usize) = (3, 12);
/// On a larger one, names may have this part of the width, because a cut name would have to be repeated in the lane.
const PART_OF_NAMES: u16 = 6;

/// The servers' rows that are shown however many actors there are, and the maximum.
const SERVER_ROWS: u16 = 3;
const MOST_SERVER_ROWS: u16 = 8;
/// The row of a server that is higher than this has a blank row at its lower edge.
const AIRY: u16 = 3;
/// The rows of a bar of beliefs for each row of the truth below it, at most.
const MOST_OF_TRUTH: u16 = 3;
/// In a pane of at least this height, the rows of servers and crowds grow to use all of it.
const TALL: u16 = 24;
/// The maximum number of holders of one lock that are given room on the smallest screen.
const MOST_HOLDERS: u16 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
    Actor(ActorId),
    Band(usize),
}

/// Actors and bands in the lesson's order, each band followed by a sample of its members.
fn rows(scene: &Scene<'_>, height: u16) -> Vec<Row> {
    rows_with(scene, height, |band, room| band::sample(scene, band, room))
}

/// As many rows as [`rows`], with arbitrary members: sampling a large crowd is expensive.
fn rows_to_count(scene: &Scene<'_>, height: u16) -> Vec<Row> {
    rows_with(scene, height, |band, room| band.members.iter().copied().take(room).collect())
}

fn rows_with(scene: &Scene<'_>, height: u16, sample: impl Fn(&Band, usize) -> Vec<ActorId>) -> Vec<Row> {
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
        rows.extend(sample(band, room).into_iter().map(Row::Actor));
    }
    rows
}

/// The height of a lane, and the rows of a band.
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

/// The number of rows that never scroll away: the counts of crowds whose members are shown.
fn pinned(scene: &Scene<'_>, rows: &[Row], height: Sizes, room: u16) -> usize {
    let bands = rows.iter().rposition(|row| matches!(row, Row::Band(_)));
    let pinned = bands.filter(|_| scene.expanded).map_or(0, |last| last + 1);
    // The members must be visible, too.
    if total(&rows[..pinned], height) > room.saturating_sub(2) { 0 } else { pinned }
}

struct Division {
    rows: Vec<Row>,
    /// How many of the rows are never scrolled away.
    pinned: usize,
    height: Sizes,
    /// The height of a server's row.
    truth: u16,
    /// How many servers' rows are one row higher.
    higher: u16,
    lanes: Rect,
    below: Rect,
    /// The number of rows of lanes that do not fit.
    hidden: u16,
}

fn divide(scene: &Scene<'_>, area: Rect) -> Division {
    divide_with(scene, area, rows)
}

/// The same with arbitrary members of crowds, where only heights are asked for.
fn divide_to_count(scene: &Scene<'_>, area: Rect) -> Division {
    divide_with(scene, area, rows_to_count)
}

fn divide_with(scene: &Scene<'_>, area: Rect, rows: fn(&Scene<'_>, u16) -> Vec<Row>) -> Division {
    let below = server_rows(scene, area).min(area.height);
    let room = area.height - below;
    let rows = rows(scene, room);
    // If the members are shown and space is short, the band is reduced to its counts.
    let band = if scene.expanded && room < 4 * band::ROWS { 1 } else { band::ROWS };
    // The servers' rows are as high as the bars of beliefs.
    let of_servers = |(height, _): Sizes| below * lane::bar_rows(height);
    let mut heights = (1..=lane::HIGHEST).rev().map(|height| (height, band));
    let fits = |height: &Sizes| total(&rows, *height).saturating_add(of_servers(*height)) <= area.height;
    let mut height = heights.find(fits).unwrap_or((1, band));
    let mut truth = lane::bar_rows(height.0);
    let mut left = area.height.saturating_sub(total(&rows, height) + below * truth);
    // Rows too few for another row of each server make the beliefs alone higher, though not much higher than the truth.
    // On a small screen, the panes below need them until the end.
    let lanes = u16::try_from(rows.len()).unwrap_or(u16::MAX);
    let grows = scene.whole || area.height >= TALL;
    while grows
        && lanes <= left
        && height.0 < lane::HIGHEST
        && lane::bar_rows(height.0 + 1) <= MOST_OF_TRUTH * truth
    {
        height.0 += 1;
        left -= lanes;
    }
    let bands = u16::try_from(rows.iter().filter(|row| matches!(row, Row::Band(_))).count()).unwrap_or(1);
    let left = if area.height < TALL { 0 } else { left };
    let mut higher = 0;
    match bands {
        // No higher than the lanes that they are compared with.
        0 if below > 0 && truth + left / below < height.0 => {
            truth += left / below;
            // Not where the row would only separate the first servers and not the others.
            higher = if truth == AIRY { 0 } else { left % below };
        }
        0 if below > 0 => truth = truth.max(height.0),
        0 => {}
        bands => height.1 += left / bands,
    }
    // The servers' lanes come right below the beliefs, for comparison.
    let lanes = Rect { height: room.min(total(&rows, height)), ..area };
    Division {
        pinned: pinned(scene, &rows, height, room),
        hidden: total(&rows, height).saturating_sub(lanes.height),
        rows,
        height,
        truth,
        higher,
        lanes,
        below: Rect { y: lanes.bottom(), height: below * truth + higher, ..area },
    }
}

/// The number of servers' rows: three, or more if the actors leave room. The actors' lanes shrink to their minimum so
/// that each server to which something has happened gets a row.
fn server_rows(scene: &Scene<'_>, area: Rect) -> u16 {
    let rows = rows_to_count(scene, area.height);
    let left = |height| area.height.saturating_sub(total(&rows, (height, band::ROWS)));
    let most = left(lane::CLEAR).saturating_sub(1).clamp(SERVER_ROWS, MOST_SERVER_ROWS);
    let truths = truth::rows(scene);
    let used = truths.iter().filter(|row| row.is_first() && !row.is_idle(scene.world.position)).count();
    let used = u16::try_from(used).unwrap_or(u16::MAX).min(MOST_SERVER_ROWS);
    let most = most.max(used.min(left(1)));
    // At least two actors, or all holders of an overlap, must stay visible.
    let actors = rows.len().min(scene.clashing().len().max(2));
    let most = most.min(area.height.saturating_sub(u16::try_from(actors).unwrap_or(u16::MAX)).max(1));
    u16::try_from(truths.len()).unwrap_or(u16::MAX).min(most)
}

/// The servers' rows, first those that `room` rows of the screen show. If not all fit, each server keeps the row of its
/// first lock, and the living one that changed last, those that a fault hit and those to which something has happened
/// fit first.
fn servers<'a>(scene: &Scene<'a>, room: u16) -> Vec<truth::Row<'a>> {
    let mut rows = truth::rows(scene);
    while rows.len() > room.into()
        && let Some(second) = rows.iter().rposition(|row| !row.is_first())
    {
        rows.remove(second);
    }
    let room = usize::from(room);
    let position = scene.world.position;
    let newest = (0..rows.len()).max_by_key(|n| (!rows[*n].is_dead(position), rows[*n].changed_at(position)));
    let mut kept: Vec<usize> = (0..rows.len()).collect();
    kept.sort_by_key(|n| (Some(*n) != newest, !rows[*n].was_hit(position), rows[*n].is_idle(position)));
    let (kept, hidden) = kept.split_at_mut(room.min(rows.len()));
    kept.sort_unstable();
    kept.iter().chain(hidden.iter()).map(|n| rows[*n]).collect()
}

/// The rows that give the lanes ample space, including the servers and the axis.
pub fn preferred_rows(scene: &Scene<'_>, area: Rect) -> u16 {
    rows_of(scene, area, lane::ROOMY)
}

/// The maximum rows that the lanes can use, including the servers and the axis.
pub fn max_rows(scene: &Scene<'_>, area: Rect) -> u16 {
    rows_of(scene, area, lane::HIGHEST)
}

fn rows_of(scene: &Scene<'_>, area: Rect, height: u16) -> u16 {
    // Counts the servers and not their current rows, because the pane would jump with each lock.
    let servers = u16::try_from(scene.chart.truths.len()).unwrap_or(u16::MAX);
    let servers = (servers.saturating_mul(lane::bar_rows(height))).clamp(SERVER_ROWS, MOST_SERVER_ROWS);
    total(&rows_to_count(scene, area.height), (height, band::ROWS)).saturating_add(servers + 1)
}

/// The rows needed for the holders of an overlap, one server and the axis.
pub fn min_rows(scene: &Scene<'_>) -> u16 {
    match u16::try_from(scene.clashing().len()).unwrap_or(u16::MAX) {
        0 => 0,
        holders => holders.min(MOST_HOLDERS) + 2,
    }
}

/// The rows for ticks above the bar of each actor, two servers' rows and the axis.
pub fn clear_rows(scene: &Scene<'_>) -> u16 {
    let servers = u16::try_from(truth::rows(scene).len()).unwrap_or(u16::MAX).min(2);
    total(&rows_to_count(scene, 0), (lane::CLEAR, band::ROWS)).saturating_add(servers + 1)
}

/// The rows for every actor, each on one row, for the servers, and the axis.
pub fn compact_rows(scene: &Scene<'_>) -> u16 {
    let rows = truth::rows(scene);
    let first = rows.iter().filter(|row| row.is_first()).count();
    let servers = u16::try_from(first.max(rows.len().min(SERVER_ROWS.into()))).unwrap_or(u16::MAX);
    total(&rows_to_count(scene, 0), (1, band::ROWS)).saturating_add(servers).saturating_add(1)
}

fn above_axis(area: Rect) -> Rect {
    Rect { height: area.height.saturating_sub(1), ..area }
}

pub fn reach(scene: &Scene<'_>, area: Rect) -> u16 {
    reach_without_axis(scene, above_axis(area))
}

/// The maximum scroll position without an axis below the lanes.
pub fn reach_without_axis(scene: &Scene<'_>, area: Rect) -> u16 {
    divide_to_count(scene, area).hidden
}

pub(crate) fn last_actor(scene: &Scene<'_>) -> Option<ActorId> {
    // Before the opening ends, clients only get ready.
    let events = scene.log.events().get(scene.log.opening()..scene.world.position)?;
    events.iter().rev().take(64).find_map(|event| event.kind.actor())
}

/// The scroll position that makes an actor visible; by default the selected event's actor, or the one that moved last.
fn follow(scene: &Scene<'_>, actor: Option<ActorId>, division: &Division) -> u16 {
    let chosen = || scene.event(scene.selected?)?.actor();
    let actor = actor.or_else(chosen).or_else(|| last_actor(scene));
    let Some(actor) = actor.filter(|_| division.hidden > 0) else { return 0 };
    let Some(at) = division.rows.iter().position(|row| *row == Row::Actor(actor)) else { return 0 };
    let bottom = total(&division.rows[..=at], division.height);
    bottom.saturating_sub(division.lanes.height).min(division.hidden)
}

/// The visible rows and their positions; a row is visible as a whole or not at all. Unless the learner has scrolled,
/// the holders of an overlap are among them.
fn placed(scene: &Scene<'_>, scroll: Option<u16>, division: &Division) -> Vec<(Row, u16)> {
    let rows = scrolled(scene, scroll, division);
    if scroll.is_some() || division.hidden == 0 || division.pinned > 0 {
        return rows;
    }
    let clashing = scene.clashing();
    // A crowd that was woken is no holder, and is what it is about.
    let woken = matches!(scene.alarm(), Some(Alarm::Broken(..)));
    let holds = |row: &Row| match row {
        Row::Actor(actor) => clashing.contains(actor),
        Row::Band(_) => woken,
    };
    if division.rows.iter().filter(|row| holds(row)).all(|row| rows.iter().any(|(shown, _)| shown == row)) {
        return rows;
    }
    let (holders, others): (Vec<usize>, Vec<usize>) =
        (0..division.rows.len()).partition(|n| holds(&division.rows[*n]));
    let mut left = division.lanes.height;
    // If not all holders fit, the last ones are shown.
    let mut kept: Vec<usize> = holders.into_iter().rev().chain(others).collect();
    kept.retain(|n| {
        let height = row_height(division.rows[*n], division.height);
        let fits = height <= left;
        left -= if fits { height } else { 0 };
        fits
    });
    kept.sort_unstable();
    let mut y = division.lanes.y;
    let place = |n: usize| {
        let row = division.rows[n];
        let place = (row, y);
        y += row_height(row, division.height);
        place
    };
    kept.into_iter().map(place).collect()
}

/// The visible rows at a scroll position; `None` follows the actor that moves.
fn scrolled(scene: &Scene<'_>, scroll: Option<u16>, division: &Division) -> Vec<(Row, u16)> {
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

/// The event of the tick at a place of the screen.
pub fn event_at(scene: &Scene<'_>, scroll: Option<u16>, area: Rect, (x, y): (u16, u16)) -> Option<usize> {
    let area = below_banner(scene, area);
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
        Row::Actor(actor) => lane::event_at(scene, &plot, (actor, division.height.0), x),
        Row::Band(n) => band::event_at(scene, &plot, &scene.chart.bands[n], x),
    }
}

/// The rows needed to show everything, with lanes two rows high.
pub fn rows_for_all(scene: &Scene<'_>) -> u16 {
    let rows = total(&rows_to_count(scene, u16::MAX), (lane::CLEAR, band::ROWS));
    rows.saturating_add(server_rows(scene, Rect::new(0, 0, 0, u16::MAX)))
}

/// How many of `height` rows are used.
pub fn used_rows(scene: &Scene<'_>, height: u16) -> u16 {
    let division = divide_to_count(scene, Rect { height, ..Rect::default() });
    division.lanes.height + division.below.height
}

pub fn scroll_to(scene: &Scene<'_>, actor: Option<ActorId>, area: Rect) -> u16 {
    follow(scene, actor, &divide(scene, area))
}

pub fn bottom_of_actors(scene: &Scene<'_>, area: Rect) -> u16 {
    divide_to_count(scene, area).lanes.bottom()
}

pub fn names(scene: &Scene<'_>, area: Rect) -> usize {
    names_of(scene, &divide(scene, area), area.width)
}

fn names_of(scene: &Scene<'_>, Division { rows, truth, .. }: &Division, width: u16) -> usize {
    let (most, truth) = (NAMES.1.max((width / PART_OF_NAMES).into()), *truth);
    let rows = rows.iter().map(|row| match *row {
        Row::Actor(actor) => text::width(scene.name(actor)) + 2,
        Row::Band(n) => text::width(&scene.chart.bands[n].client),
    });
    let sign = sign_columns(scene);
    let servers = truth::rows(scene);
    let labels = servers.iter().map(|row| text::width(row.labelled((most, truth)).label()) + sign);
    let locks = servers.iter().filter_map(|row| row.lock_below((most, truth))).map(text::width);
    rows.chain(labels).chain(locks).max().unwrap_or(0).clamp(NAMES.0, most)
}

/// The columns for the sign of a leading server, if there are several: between its name and its lane, apart from both.
fn sign_columns(scene: &Scene<'_>) -> usize {
    if scene.chart.truths.len() > 1 { 2 } else { 0 }
}

pub fn right_of(names: usize, area: Rect) -> Rect {
    let gutter = u16::try_from(names + 1).unwrap_or(area.width).min(area.width);
    Rect { x: area.x + gutter, width: area.width - gutter, ..area }
}

/// Draws the inside of the pane; `scroll` is `None` unless the learner has scrolled, and then follows the actor that
/// moves.
pub fn draw(scene: &Scene<'_>, scroll: Option<u16>, area: Rect, buf: &mut Buffer) {
    let below = below_banner(scene, area);
    if below.is_empty() {
        return;
    }
    if below != area {
        banner::draw_large(scene, area, buf);
    }
    let above = above_axis(below);
    let division = divide(scene, above);
    let names = names_of(scene, &division, above.width);
    let plot = Plot::new(scene, right_of(names, below));
    let hidden = draw_divided(scene, &plot, scroll, (names, above, &division), buf);
    let axis = division.below.bottom();
    plot.axis(scene, axis, buf);
    if hidden > 0 {
        buf.set_stringn(area.x, axis, format!("+{hidden}"), names, scene.style(Role::Warning));
    }
}

/// The inside of the pane without the banner in large letters, if there is one.
pub fn below_banner(scene: &Scene<'_>, area: Rect) -> Rect {
    let banner = banner::large_rows(scene, area);
    Rect { y: area.y + banner, height: area.height - banner, ..area }
}

/// Draws the lanes of actors and servers.
pub fn draw_without_axis(
    scene: &Scene<'_>,
    plot: &Plot,
    scroll: Option<u16>,
    (names, area): (usize, Rect),
    buf: &mut Buffer,
) {
    draw_divided(scene, plot, scroll, (names, area, &divide(scene, area)), buf);
}

/// Returns the number of lanes without room.
fn draw_divided(
    scene: &Scene<'_>,
    plot: &Plot,
    scroll: Option<u16>,
    (names, area, division): (usize, Rect, &Division),
    buf: &mut Buffer,
) -> usize {
    let room = (division.below.height - division.higher) / division.truth;
    let mut servers = servers(scene, room);
    let height_of = |n: u16| division.truth + u16::from(n < division.higher);
    for (n, row) in (0..).zip(&mut servers) {
        *row = row.labelled((names, height_of(n)));
    }
    truth::name_all_or_none(&mut servers, scene, plot);
    let above = Rect { height: division.below.bottom() - area.y, ..plot.area };
    // Drawn first, so that everything else covers it.
    plot.playhead(scene, above, buf);
    let mut places = in_flight::Places {
        left: area.x,
        role: plot.area.x.saturating_sub(2),
        rows: (area.y, division.below.bottom().saturating_sub(1)),
        ..in_flight::Places::default()
    };
    let visible = placed(scene, scroll, division);
    let hidden = division.rows.len() - visible.len() + servers.len().saturating_sub(room.into());
    for (row, y) in visible {
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
                // Messages depart from the band's second row, if it has one.
                places.bands.push((n, bottom.min(y + 2) - 1));
                let style = band.members.first().map(|first| scene.actor_style(*first));
                (text::fit(&band.client, names).into_owned(), style.unwrap_or_default())
            }
        };
        buf.set_stringn(area.x, y, name, names, style);
    }
    places.actors.sort_unstable();
    let mut below = division.below.y;
    for (n, row) in (0..).zip(&servers) {
        let (y, height) = (below, height_of(n));
        below += height;
        if below > division.below.bottom() {
            break;
        }
        let (accent, chrome) = (scene.style(Role::Accent), scene.style(Role::Chrome));
        let style = match row.is_first() {
            true if row.is_dead(plot.position) => accent.add_modifier(Modifier::CROSSED_OUT | Modifier::DIM),
            true => accent,
            false => chrome,
        };
        let label_area = (names, height);
        // Bars of several rows are separated by a blank row.
        let height = height - u16::from(height > AIRY);
        // A lock's or key's name is level with its line.
        let middle = y + height / 2;
        if let Some(lock) = row.lock_below(label_area) {
            buf.set_stringn(area.x, middle, lock, names, chrome);
        }
        let room = if row.is_first() { names.saturating_sub(sign_columns(scene)) } else { names };
        let top = if row.is_first() { y } else { middle };
        buf.set_stringn(area.x, top, text::fit(row.label(), room), room, style);
        row.draw(scene, plot, (y, height), buf);
        if places.servers.last().is_none_or(|(name, _)| *name != row.name()) {
            places.servers.push((row.name(), y));
            if is_master(scene, row.name()) {
                buf.set_string(places.role, y, glyphs::MASTER, accent);
            }
        }
    }
    reason::draw(scene, plot, Rect { height: division.lanes.height, ..above }, buf);
    for overlap_span in scene.chart.alarms() {
        if let Some((from, to)) = plot.stretch(overlap_span.from, overlap_span.to) {
            let columns = Rect { x: from, width: to - from, ..above };
            scene.theme.alarm(columns, buf);
            edge(scene, plot, overlap_span.from, above, buf);
            // A stretch that reaches the right edge has no closing edge.
            let ended = |to: &(u32, usize)| to.1 < plot.position && columns.right() < above.right();
            if let Some(to) = overlap_span.to.filter(ended) {
                edge(scene, plot, to, above, buf);
            }
        }
    }
    in_flight::draw(scene, plot, &places, buf);
    plot.hairline(scene, above, buf);
    hidden
}

fn is_master(scene: &Scene<'_>, name: &str) -> bool {
    let role = |server: &ServerWorld| server.observed.as_ref().and_then(Observed::role).cloned();
    let servers = &scene.world.servers;
    let mut masters = servers.iter().filter(|server| role(server).is_some_and(|role| role.leads()));
    servers.iter().any(|server| role(server).is_some_and(|role| !role.leads()))
        && masters.any(|server| server.info.name == name)
}

/// Draws the edge of an overlap over the empty cells of its column.
fn edge(scene: &Scene<'_>, plot: &Plot, (column, _): (u32, usize), rows: Rect, buf: &mut Buffer) {
    let Some(x) = plot.screen(column) else { return };
    let style = scene.style(Role::Danger);
    for y in rows.top()..rows.bottom() {
        // Not between two words.
        let neighbours = [x.checked_sub(1), x.checked_add(1)].map(|x| buf.cell((x?, y)));
        if neighbours.iter().flatten().any(|cell| !glyphs::is_word(cell.symbol())) {
            let row = Rect { y, height: 1, ..rows };
            cells::line(buf, (x, row), &[" ", glyphs::PLAYHEAD], glyphs::CLASH_EDGE, style);
        }
    }
}
