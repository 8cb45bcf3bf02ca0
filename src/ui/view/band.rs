//! The band of a crowd: how many members wait, hold and were notified; what they did together; and each member as a
//! dot.

use super::{plot::Plot, prelude::*, selection};
use crate::{
    log::Belief,
    ui::chart::{Band, Bar, BarKind, Run},
    world::Life,
};

/// The rows of a band: counts, runs, and two rows of members as dots.
pub const ROWS: u16 = 4;
/// The bits of a braille cell's dots: by column from the left, each from the top.
const BRAILLE: [u32; 8] = [0x01, 0x02, 0x04, 0x40, 0x08, 0x10, 0x20, 0x80];

/// The members most worth a lane of their own, by state: holding, crashed or frozen, notified, others, finished.
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
    let overlap_spans = holders.any(|actor| band.members.contains(&actor));
    let loud = if overlap_spans { Role::Danger } else { Role::Fresh };
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
        draw_members(scene, plot, band, Rect { y: y + 2, height: bottom - y - 2, ..plot.area }, buf);
    }
}

/// Clients outside the crowd that have wanted or held a lock so far; they are drawn among its members.
fn contenders_outside(scene: &Scene<'_>) -> Vec<ActorId> {
    let wanted = |bar: &Bar| matches!(bar.kind, BarKind::Belief(_)) && bar.from.1 < scene.world.position;
    let lanes = scene.chart.lanes.iter().enumerate();
    let alone = lanes.filter(|(_, lane)| lane.band.is_none() && lane.bars.iter().any(wanted));
    alone.filter_map(|(n, _)| Some(ActorId(u32::try_from(n).ok()?))).collect()
}

/// Draws everybody who competes for the lock, each as one dot or glyph. Bright are those that hold, and those notified
/// in this step (in the whole run if all of it is shown). They are drawn right of the playhead if they fit there.
fn draw_members(scene: &Scene<'_>, plot: &Plot, band: &Band, area: Rect, buf: &mut Buffer) {
    let Some(first) = band.members.first() else { return };
    let position = scene.world.position;
    let outside = contenders_outside(scene);
    let mut lit = vec![false; outside.len() + band.members.len()];
    let since = if scene.whole { 0 } else { scene.chart.last_move_begun(scene.log, position) };
    let step = scene.log.events().get(since..position).unwrap_or_default();
    let recipients = step.iter().filter_map(|event| match event.kind {
        EventKind::Notified { actor, .. } => {
            let member = band.members.binary_search(&actor).ok().map(|member| outside.len() + member);
            member.or_else(|| outside.iter().position(|known| *known == actor))
        }
        _ => None,
    });
    recipients.for_each(|member| lit[member] = true);
    for (member, lit) in outside.iter().chain(&band.members).zip(&mut lit) {
        let actor = scene.world.actor(*member);
        *lit |= actor.is_some_and(|actor| actor.beliefs.values().any(|belief| belief.holds()));
    }
    let now = plot.screen(plot.head).map_or(area.x, |x| (x + 2).min(area.right()));
    let now = Rect { x: now, width: area.right() - now, ..area };
    let cells = |area: Rect| usize::from(area.width) * usize::from(area.height);
    let area = if lit.len() <= cells(now) * BRAILLE.len() { now } else { area };
    // One member per cell if there is room, otherwise eight, as braille dots.
    let each = if lit.len() <= cells(area) { 1 } else { BRAILLE.len() };
    let columns = lit.len().div_ceil(each).div_ceil(usize::from(area.height).max(1)).max(1);
    // Signs are spread over the width; dots form one block.
    let pitch = if each == 1 { (usize::from(area.width) / columns).max(1) } else { 1 };
    let overlap_spans = scene.world.holding.worst().is_some();
    let bright = if overlap_spans { scene.style(Role::Danger) } else { scene.style(Role::Warning) };
    let bright = bright.add_modifier(Modifier::BOLD);
    for (n, members) in lit.chunks(each).take(cells(area)).enumerate() {
        let any = members.contains(&true);
        let other = outside.get(n).filter(|_| each == 1);
        let symbol = match (each, any) {
            (1, _) if let Some(other) = other => scene.glyph(*other).to_owned(),
            (1, true) => scene.glyph(*first).to_owned(),
            (1, false) => "·".to_owned(),
            _ => {
                // If some members of a cell are bright, only these are shown.
                let shown = members.iter().zip(BRAILLE).filter(|(lit, _)| !any || **lit);
                let dots = shown.fold(0x2800, |dots, (_, dot)| dots | dot);
                char::from_u32(dots).map(String::from).unwrap_or_default()
            }
        };
        let faint = scene.actor_style(*other.unwrap_or(first)).add_modifier(Modifier::DIM);
        let (row, column) = (n / columns, n % columns * pitch);
        let place = [(area.x, column), (area.y, row)];
        let [x, y] = place.map(|(from, by)| from + u16::try_from(by).unwrap_or_default());
        plot.fill((x, x + 1), y, &symbol, if any { bright } else { faint }, buf);
    }
}

fn draw_runs(scene: &Scene<'_>, plot: &Plot, band: &Band, y: u16, buf: &mut Buffer) {
    let member = band.members.first().map_or("", |first| scene.glyph(*first));
    let first = band.runs.partition_point(|run| run.x < plot.left);
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
            _ => (member, scene.style(Role::Text)),
        };
        let after = plot.write((x, y), tick, limit, style, buf);
        let words = words(scene, run);
        let limit = limit.saturating_sub(1).max(after);
        let gap = u16::from(usize::from(limit - after) > text::width(&words));
        let after = plot.write((after + gap, y), &words, limit, style, buf);
        if scene.selected.is_some_and(|event| covers(scene, band, run, event)) {
            let tick = Rect { x, y, width: after.saturating_sub(x), height: 1 };
            scene.theme.choose(tick, buf);
        }
    }
}

fn words(scene: &Scene<'_>, run: &Run) -> String {
    let what = words::named(scene.log, &run.what, scene.lang);
    if run.count > 1 { format!("{what} ×{}", run.count) } else { what.to_owned() }
}

/// Whether a run covers an event: one of the same kind, of a member, before the next such run.
fn covers(scene: &Scene<'_>, band: &Band, run: &Run, event: usize) -> bool {
    let (event, _) = selection::exchange(scene, event);
    let same = |from: usize| scene.sequence.row_of(from);
    run.first == event
        || (run.count > 1
            && run.first < event
            && same(run.first) == same(event)
            && band.is_of(scene.log, run, event))
}

/// The event of the run at a column of the screen.
pub fn event_at(scene: &Scene<'_>, plot: &Plot, band: &Band, x: u16) -> Option<usize> {
    let column = plot.column(x);
    let before = band.runs.partition_point(|run| run.x <= column);
    let known = |run: &&Run| run.first < plot.position && run.x <= plot.head;
    let run = band.runs[..before].iter().rev().find(known)?;
    // The tick, a gap and its words.
    let width = u16::try_from(text::width(&words(scene, run))).unwrap_or_default() + 2;
    (x < plot.screen(run.x)? + width).then_some(run.first)
}
