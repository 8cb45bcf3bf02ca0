//! Draws what travels between the lanes: a glyph on a thin line between a client's lane and a server's, a crowd's
//! stream, held messages, the flash of a fault, a promotion.

use std::time::Duration;

use super::{cells, plot::Plot, prelude::*};
use crate::{
    log::{Direction, LinkId, Target},
    ui::flight::{HALF, Hop, Load, predecessor},
};

/// How far before the middle of the way, as a share of it, a lost message is drawn breaking.
const NEARLY: f32 = 0.15;
/// How long the glyphs of a stream stay in place, in milliseconds.
const STREAM: u128 = 40;

/// The first rows of lanes and names on the screen.
#[derive(Debug, Default)]
pub struct Places<'a> {
    /// Visible actors with lanes of their own.
    pub actors: Vec<(ActorId, u16)>,
    /// Visible bands: the last row of each, from which messages depart.
    pub bands: Vec<(usize, u16)>,
    pub servers: Vec<(&'a str, u16)>,
    /// The first row of all lanes, and the last row of the servers.
    pub rows: (u16, u16),
    /// The first column of the names.
    pub left: u16,
    /// The column of the sign of a master.
    pub role: u16,
}

impl Places<'_> {
    /// The row of a client: its lane's, its band's, or the edge beyond which it is scrolled.
    pub fn client(&self, scene: &Scene<'_>, actor: ActorId) -> u16 {
        if let Ok(n) = self.actors.binary_search_by_key(&actor, |(actor, _)| *actor) {
            return self.actors[n].1;
        }
        let band = scene.chart.lanes.get(actor.0 as usize).and_then(|lane| lane.band);
        let its = self.bands.iter().find(|(known, _)| Some(*known) == band);
        let before = self.actors.iter().any(|(seen, _)| *seen < actor);
        match its {
            Some((_, y)) => *y,
            None if before => self.rows.1.saturating_sub(1),
            None => self.rows.0,
        }
    }

    /// The row of a server, or the last row if it is not visible.
    pub fn server(&self, name: &str) -> u16 {
        let its = self.servers.iter().find(|(server, _)| *server == name);
        its.map_or(self.rows.1, |(_, y)| *y)
    }
}

pub fn draw(scene: &Scene<'_>, plot: &Plot, places: &Places<'_>, buf: &mut Buffer) {
    let Some(in_flight) = scene.flight else { return };
    held(scene, plot, places, buf);
    let mut threads: Vec<Thread> = Vec::new();
    let mut glyphs: Vec<Glyph> = Vec::new();
    for (hop, progress) in in_flight.hops() {
        match hop.load {
            Load::Fault => flash(scene, plot, places, hop.event, buf),
            Load::Promotion => promote(scene, places, hop.event, progress, buf),
            Load::Command | Load::Reply | Load::Notice if hop.swarm => {}
            Load::Command | Load::Reply | Load::Notice => {
                let Some((thread, glyph)) = travel(scene, plot, places, (hop, progress)) else { continue };
                // The messages of a wave share a line; it is drawn once, as far as the first of them has come.
                match threads.iter_mut().find(|known| known.is_that_of(&thread)) {
                    Some(known) => known.passed = known.passed.max(thread.passed),
                    None => threads.push(thread),
                }
                if glyphs.last() != Some(&glyph) {
                    glyphs.push(glyph);
                }
            }
        }
    }
    if let Some((flight, at)) = in_flight.flight {
        let swarm = flight.phase_at(at).iter().filter(|hop| hop.swarm);
        if let Some(newest) = swarm.take_while(|hop| hop.time.0 <= at).last() {
            stream(scene, plot, places, (newest, at), buf);
        }
    }
    // Glyphs are drawn last, so that no line covers them.
    for thread in &threads {
        thread.draw(scene.style(Role::Chrome), buf);
    }
    for (x, y, glyph, style) in glyphs {
        put(x, y, glyph, style.add_modifier(Modifier::BOLD), buf);
    }
}

/// A glyph's column and row, its symbol and its style.
type Glyph = (u16, u16, &'static str, Style);

/// The line on which something travels: bright behind it, faint ahead of it.
struct Thread {
    x: u16,
    /// The rows of departure and arrival.
    rows: (u16, u16),
    /// How many rows have been passed.
    passed: u16,
    style: Style,
}

impl Thread {
    fn is_that_of(&self, other: &Self) -> bool {
        (self.x, self.rows, self.style) == (other.x, other.rows, other.style)
    }

    fn draw(&self, faint: Style, buf: &mut Buffer) {
        let (from, to) = self.rows;
        for n in 0..=from.abs_diff(to) {
            let y = if from < to { from + n } else { from - n };
            let look = if n < self.passed { (glyphs::PATH, self.style) } else { (glyphs::PLAYHEAD, faint) };
            thread(self.x, y, look, buf);
        }
    }
}

/// The column of a hop, and the rows of its client and of its server.
fn line(scene: &Scene<'_>, plot: &Plot, places: &Places<'_>, hop: &Hop) -> Option<(u16, u16, u16)> {
    let (actor, server) = match scene.event(hop.at)? {
        EventKind::Sent { actor, server, .. } | EventKind::Notified { actor, server, .. } => (*actor, server),
        _ => return None,
    };
    // The column of an event that has not happened yet is right of the playhead, and may be invisible.
    let x = plot.screen(scene.chart.column(hop.at)).or(plot.screen(plot.head))?;
    let top = places.client(scene, actor);
    let bottom = places.server(server);
    (top < bottom).then_some((x, top, bottom))
}

/// The row at a share of the way down from one row to another.
fn row(top: u16, bottom: u16, share: f32) -> u16 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a screen's rows is small and not negative"
    )]
    let rows = (f32::from(bottom - top) * share.clamp(0.0, 1.0)).round() as u16;
    top + rows
}

fn travel(
    scene: &Scene<'_>,
    plot: &Plot,
    places: &Places<'_>,
    (hop, progress): (&Hop, f32),
) -> Option<(Thread, Glyph)> {
    let (x, top, bottom) = line(scene, plot, places, hop)?;
    let top = top + 1;
    let down = hop.load == Load::Command;
    let here = row(top, bottom, if down { progress } else { 1.0 - progress });
    let client = scene.actor_style(hop.actor?);
    let (glyph, style) = match hop.load {
        _ if hop.breaks && progress >= HALF - NEARLY => (glyphs::CUT, scene.style(Role::Danger)),
        Load::Notice => (glyphs::NOTIFIED, scene.style(Role::Warning)),
        _ => (scene.glyph(hop.actor?), client),
    };
    let thread = Thread {
        x,
        rows: if down { (top, bottom) } else { (bottom, top) },
        passed: here.abs_diff(if down { top } else { bottom }),
        style: if hop.load == Load::Notice { style } else { client },
    };
    Some((thread, (x, here, glyph, style)))
}

/// Draws a swarm, whose messages are too many to follow: the line itself moves.
fn stream(
    scene: &Scene<'_>,
    plot: &Plot,
    places: &Places<'_>,
    (hop, at): (&Hop, Duration),
    buf: &mut Buffer,
) {
    let (Some((x, top, bottom)), Some(actor)) = (line(scene, plot, places, hop), hop.actor) else { return };
    let style = scene.actor_style(actor);
    for y in top + 1..=bottom {
        if (u128::from(y) + at.as_millis() / STREAM).is_multiple_of(3) {
            put(x, y, scene.glyph(actor), style.add_modifier(Modifier::BOLD), buf);
        } else {
            thread(x, y, (glyphs::PATH, style), buf);
        }
    }
}

/// Draws the commands and replies that links hold, half way.
fn held(scene: &Scene<'_>, plot: &Plot, places: &Places<'_>, buf: &mut Buffer) {
    let links = &scene.world.holding_links;
    if links.is_empty() {
        return;
    }
    let all = scene.world.actors.iter().flat_map(|actor| actor.in_flight.iter().map(move |n| (actor, *n)));
    for (actor, exchange) in all {
        let exchange = &scene.world.exchanges[exchange];
        let sent = &scene.log.events()[exchange.sent].kind;
        let EventKind::Sent { actor: who, server, .. } = sent else { continue };
        let link = LinkId::new(&actor.who.client, server);
        let moving = scene.flight.is_some_and(|in_flight| {
            let mut hops = in_flight.hops();
            hops.any(|(hop, _)| hop.at == exchange.sent && hop.load != Load::Notice)
        });
        let Some(way) = links.get(&link) else { continue };
        let Some(x) = plot.screen(scene.chart.column(exchange.sent)) else { continue };
        let (top, bottom) = (places.client(scene, *who), places.server(server));
        if moving || top >= bottom {
            continue;
        }
        let here = row(top + 1, bottom, HALF);
        let style = scene.actor_style(*who);
        // A held command has come from above, a held reply from below.
        let (passed, stop) = match way {
            Direction::Both | Direction::Requests => (top + 1..here, here + 1),
            Direction::Replies => (here + 1..bottom + 1, here - 1),
        };
        for y in passed {
            thread(x, y, (glyphs::PATH, style), buf);
        }
        put(x, here, scene.glyph(*who), style.add_modifier(Modifier::BOLD), buf);
        if (top + 1..=bottom).contains(&stop) {
            put(x, stop, glyphs::STOPPED, scene.style(Role::Warning), buf);
        }
    }
}

/// Flashes a fault's mark on its client's lanes, and the names of its servers.
fn flash(scene: &Scene<'_>, plot: &Plot, places: &Places<'_>, event: usize, buf: &mut Buffer) {
    let Some(fault) = scene.fault(event) else { return };
    let (client, servers) = match fault.target() {
        Target::Client(client) => (client, ["", ""]),
        Target::Server(server) => ("", [server, ""]),
        Target::Link(LinkId { from, to }) => (from.as_str(), [from.as_str(), to]),
    };
    for (name, y) in &places.servers {
        if servers.contains(name) {
            flash_name(places, *y, buf);
        }
    }
    let x = plot.screen(scene.chart.column(event));
    for (actor, y) in &places.actors {
        let its = scene.world.actor(*actor).is_some_and(|actor| actor.who.client == client);
        let lane = scene.chart.lanes.get(actor.0 as usize).filter(|_| its);
        let mark = lane.and_then(|lane| lane.marks.iter().rev().find(|mark| mark.event == event));
        if let (Some(mark), Some(x)) = (mark, x) {
            let words = scene.mark_text(mark, plot.position, 0);
            let width = u16::try_from(text::width(&words) + 2).unwrap_or(u16::MAX);
            for x in x..x.saturating_add(width).min(plot.area.right()) {
                reverse(x, *y, buf);
            }
        }
    }
}

/// Moves the sign of a master from one server's row to another's.
fn promote(scene: &Scene<'_>, places: &Places<'_>, event: usize, progress: f32, buf: &mut Buffer) {
    let Some(EventKind::State(state)) = scene.event(event) else { return };
    let Some(before) = predecessor(scene.log, event, &state.server) else { return };
    let of = |server: &str| places.servers.iter().find(|(name, _)| *name == server);
    let (Some((_, from)), Some((_, to))) = (of(before), of(&state.server)) else { return };
    let here = if from <= to { row(*from, *to, progress) } else { row(*to, *from, 1.0 - progress) };
    // A server may have several rows; the sign is drawn in the first.
    let rows = places.servers.iter().map(|(_, y)| *y);
    let here = rows.filter(|y| *y <= here).max().unwrap_or(here);
    flash_name(places, here, buf);
    put(places.role, here, glyphs::MASTER, scene.style(Role::Accent), buf);
}

fn flash_name(places: &Places<'_>, y: u16, buf: &mut Buffer) {
    for x in places.left..places.role {
        reverse(x, y, buf);
    }
}

fn reverse(x: u16, y: u16, buf: &mut Buffer) {
    if let Some(cell) = buf.cell_mut((x, y)) {
        cell.modifier.toggle(Modifier::REVERSED);
    }
}

/// Draws a piece of a line, unless a word or a tick is there.
fn thread(x: u16, y: u16, (symbol, style): (&str, Style), buf: &mut Buffer) {
    let is_free = |symbol: &str| {
        let bars =
            [glyphs::HOLDING, glyphs::WAITING, glyphs::SAW, glyphs::UNSURE, glyphs::FROZEN, glyphs::DEAD];
        let lines = [" ", "─", "·", glyphs::PLAYHEAD, glyphs::PATH, glyphs::HELD];
        bars.contains(&symbol) || lines.contains(&symbol) || glyphs::LEASE.contains(&symbol)
    };
    if let Some(cell) = buf.cell((x, y))
        && is_free(cell.symbol())
        && !cells::is_second_half(buf, (x, y))
    {
        put(x, y, symbol, style, buf);
    }
}

/// Draws a glyph on the ground that is there.
fn put(x: u16, y: u16, symbol: &str, style: Style, buf: &mut Buffer) {
    if let Some(ground) = buf.cell((x, y)).map(|cell| cell.bg) {
        cells::put(buf, (x, y), symbol, style.bg(ground));
    }
}
