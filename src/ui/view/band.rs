//! A crowd's band: how many wait, hold, were notified; what they did together; the level of waiters over time.

use super::{plot::Plot, prelude::*, selection};
use crate::{
    log::Belief,
    ui::{
        chart::{Band, Clash, Run},
        flight::{Hop, Load},
    },
    world::Life,
};

/// Rows of a band: counts, runs, level.
pub const ROWS: u16 = 3;
const LONGEST_RUN: u32 = 44;
const LEVELS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// The crest of a wave, from its front backward.
const CREST: [&str; 6] = ["█", "▇", "▆", "▅", "▄", "▃"];
const WIDEST_WAVE: u16 = 60;

/// The members worth a lane of their own: who holds, who has been told, then the first of the rest.
pub fn sample(scene: &Scene<'_>, band: &Band, room: usize) -> Vec<ActorId> {
    let rank = |member: &ActorId| {
        let Some(actor) = scene.world.actor(*member) else { return 4 };
        let holds = actor.beliefs.values().any(|belief| belief.holds());
        match (holds, actor.life) {
            (true, _) => 0,
            (_, Life::Crashed | Life::Frozen) => 1,
            _ if !actor.queue.is_empty() => 2,
            (_, Life::Finished) => 4,
            _ => 3,
        }
    };
    let mut members: Vec<(u8, ActorId)> = band.members.iter().map(|member| (rank(member), *member)).collect();
    let room = room.min(members.len());
    if room > 0 && room < members.len() {
        members.select_nth_unstable(room - 1);
    }
    members.truncate(room);
    let mut sample: Vec<ActorId> = members.into_iter().map(|(_, member)| member).collect();
    sample.sort_unstable();
    sample
}

pub fn draw(scene: &Scene<'_>, plot: &Plot, band: &Band, (y, bottom): (u16, u16), buf: &mut Buffer) {
    let Some(first) = band.members.first() else { return };
    let style = scene.actor_style(*first);
    let members = || band.members.iter().filter_map(|member| scene.world.actor(*member));
    let count = |counts: fn(&Belief) -> bool| {
        let beliefs = members().flat_map(|actor| actor.beliefs.values());
        beliefs.filter(|own| counts(own)).count()
    };
    let notified: usize = members().map(|actor| actor.notified).sum();
    let word = |words: words::Words| words.get(scene.lang);
    let holding = &scene.world.holding;
    let overlaps = holding.overlaps().iter().filter(|overlap| overlap.end.is_none());
    let mut holders = overlaps.flat_map(|overlap| holding.holders(&overlap.lock));
    let clashes = holders.any(|actor| band.members.contains(&actor));
    let loud = if clashes { Role::Danger } else { Role::Fresh };
    let line = Line::from(vec![
        Span::styled(format!("×{}  ", band.members.len()), style.add_modifier(Modifier::BOLD)),
        Span::styled(format!("{} ", word(words::belief(Belief::Waiting))), scene.style(Role::Chrome)),
        Span::styled(format!("{}  ", count(|belief| *belief == Belief::Waiting)), scene.style(Role::Fresh)),
        Span::styled(format!("{} ", word(words::belief(Belief::Holding))), scene.style(Role::Chrome)),
        Span::styled(format!("{}  ", count(|belief| belief.holds())), scene.style(loud)),
        Span::styled(format!("{} ", word(words::NOTIFIED)), scene.style(Role::Chrome)),
        Span::styled(notified.to_string(), scene.style(Role::Warning)),
    ]);
    buf.set_line(plot.area.x, y, &line, plot.area.width);
    if y + 1 < bottom {
        draw_runs(scene, plot, band, y + 1, buf);
    }
    if y + 2 < bottom {
        draw_level(scene, plot, band, y + 2, buf);
        draw_wave(scene, plot, band, y + 2, buf);
    }
}

/// Many members are reached one after another: a wave that goes through the crowd, right of the playhead.
fn draw_wave(scene: &Scene<'_>, plot: &Plot, band: &Band, y: u16, buf: &mut Buffer) {
    let Some((flight, at)) = scene.flight.and_then(|in_flight| in_flight.flight) else { return };
    let is_member = |hop: &&Hop| hop.actor.is_some_and(|actor| band.members.binary_search(&actor).is_ok());
    let hops: Vec<&Hop> = flight.beat(at).iter().filter(is_member).collect();
    let (Some(first), Some(x)) = (hops.first(), plot.screen(plot.head)) else { return };
    let room = (plot.area.right() - x).saturating_sub(2).min(WIDEST_WAVE);
    if hops.len() < CREST.len() || usize::from(room) < CREST.len() {
        return;
    }
    let style = match (first.load, band.members.first()) {
        (Load::Notice, _) => scene.style(Role::Warning),
        (_, Some(member)) => scene.actor_style(*member),
        (_, None) => return,
    };
    let reached = hops.iter().filter(|hop| hop.time.1 <= at).count();
    let front = usize::from(room) * reached / hops.len();
    for column in 0..usize::from(room) {
        let (symbol, style) = match (front.checked_sub(column), column.checked_sub(front)) {
            (Some(behind), _) if behind < CREST.len() => (CREST[behind], style.add_modifier(Modifier::BOLD)),
            (Some(_), _) => (LEVELS[1], style),
            (None, Some(ahead)) if ahead <= 2 => (LEVELS[5 - 2 * ahead], style.add_modifier(Modifier::BOLD)),
            (None, _) => ("·", scene.style(Role::Chrome)),
        };
        let screen = x + 1 + u16::try_from(column).unwrap_or(room);
        plot.fill((screen, screen + 1), y, symbol, style, buf);
    }
}

fn draw_runs(scene: &Scene<'_>, plot: &Plot, band: &Band, y: u16, buf: &mut Buffer) {
    let first = band.runs.partition_point(|run| run.x + LONGEST_RUN < plot.left);
    let visible: Vec<_> = band.runs[first..]
        .iter()
        .take_while(|run| run.x < plot.right() && run.first < plot.position && run.x <= plot.head)
        .collect();
    for (n, run) in visible.iter().enumerate() {
        let Some(x) = plot.screen(run.x) else { continue };
        let next = visible.get(n + 1).and_then(|next| plot.screen(next.x));
        let limit = next.unwrap_or(plot.area.right());
        let herd = run.notified && run.count > 1;
        let (tick, style) = match (run.notified, herd) {
            (_, true) => ("↯", scene.style(Role::Danger)),
            (true, false) => ("↯", scene.style(Role::Warning)),
            _ => ("●", scene.style(Role::Text)),
        };
        let after = plot.write((x, y), tick, limit, style, buf);
        let words = if run.count > 1 { format!("{} ×{}", run.what, run.count) } else { run.what.clone() };
        let after = plot.write((after, y), &words, limit.saturating_sub(1).max(after), style, buf);
        if scene.selected.is_some_and(|event| covers(scene, band, run, event)) {
            let tick = Rect { x, y, width: after.saturating_sub(x), height: 1 };
            scene.theme.choose(tick, buf);
        }
    }
}

/// Whether a run tells an event: one of the same kind, of a member, before the next such run.
fn covers(scene: &Scene<'_>, band: &Band, run: &Run, event: usize) -> bool {
    let (event, _) = selection::exchange(scene, event);
    let same = |from: usize| scene.sequence.row_of(from);
    run.first == event
        || (run.count > 1
            && run.first < event
            && same(run.first) == same(event)
            && band.is_of(scene.log, run, event))
}

/// The event of the run that covers a column of the screen.
pub fn event_at(plot: &Plot, band: &Band, x: u16) -> Option<usize> {
    let column = plot.left + u32::from(x.checked_sub(plot.area.x)?);
    let before = band.runs.partition_point(|run| run.x <= column);
    let known = |run: &&Run| run.first < plot.position && run.x <= plot.head;
    let run = band.runs[..before].iter().rev().find(known)?;
    let count = if run.count > 1 { format!(" ×{}", run.count) } else { String::new() };
    let width = u32::try_from(text::width(&run.what) + text::width(&count)).unwrap_or_default() + 1;
    (column < run.x + width && run.x >= plot.left).then_some(run.first)
}

fn draw_level(scene: &Scene<'_>, plot: &Plot, band: &Band, y: u16, buf: &mut Buffer) {
    let Some(first) = band.members.first() else { return };
    let style = scene.actor_style(*first).add_modifier(Modifier::DIM);
    for x in plot.left..=plot.head.min(plot.right().saturating_sub(1)) {
        let level = band.level(x, plot.position);
        let Some(screen) = plot.screen(x) else { continue };
        if level.waiting > 0 {
            let step = (level.waiting * LEVELS.len()).div_ceil(band.members.len()).clamp(1, LEVELS.len());
            plot.fill((screen, screen + 1), y, LEVELS[step - 1], style, buf);
        }
        let clashes = |clash: &Clash| clash.from.0 <= x && clash.to.is_none_or(|(to, _)| x < to);
        if level.holding > 1 && scene.chart.clashes.iter().any(clashes) {
            let (symbol, style) = scene.theme.clash();
            plot.fill((screen, screen + 1), y, symbol, style, buf);
        }
    }
}
