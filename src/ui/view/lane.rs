//! One actor's lane: bars for what it believes, ticks for what it does, and red where too many hold one lock.

use super::{plot::Plot, prelude::*, selection, wire};
use crate::{
    log::Belief,
    ui::chart::{Bar, BarKind, Mark},
    world::Life,
};

/// How far left of the window a tick may stand whose words reach into it.
const LONGEST: u32 = 64;
/// How many bars before the visible ones are looked at: those of other locks, which may still last.
const BEFORE: usize = 32;

/// How many rows a lane may have: one, with ticks written over the bar; two, with ticks above it; three, with air below
/// it; more, with a thicker bar, to be seen from the last row of a classroom.
pub const HIGHEST: u16 = 6;
/// The lowest with ticks above the bar.
pub const CLEAR: u16 = 2;

/// The event of the tick that covers a column of the screen in a lane.
pub fn event_at(scene: &Scene<'_>, plot: &Plot, actor: ActorId, x: u16) -> Option<usize> {
    let column = plot.left + u32::from(x.checked_sub(plot.area.x)?);
    let marks = &scene.chart.lanes.get(actor.0 as usize)?.marks;
    let known = |mark: &&Mark| mark.event < plot.position && mark.x <= plot.head;
    let before = marks.partition_point(|mark| mark.x <= column);
    let mark = marks[..before].iter().rev().find(known)?;
    let words = mark.text(scene.log, scene.chart.detail, plot.position);
    let width = u32::try_from(text::width(&words)).unwrap_or_default() + 2;
    (column < mark.x + width && mark.x >= plot.left).then_some(mark.event)
}

pub fn draw(scene: &Scene<'_>, plot: &Plot, actor: ActorId, (y, height): (u16, u16), buf: &mut Buffer) {
    let Some(lane) = scene.chart.lanes.get(actor.0 as usize) else { return };
    let bar_y = y + u16::from(height > 1);
    let bar_height = if height > 3 { height - 2 } else { 1 };
    // Bars begin in order, so those that begin right of the window end the search.
    let end = lane.bars.partition_point(|bar| bar.from.0 < plot.right());
    let ended = |bar: &Bar| bar.to.is_some_and(|(x, _)| x < plot.left);
    let mut start = end;
    let mut misses = 0;
    while start > 0 && misses < BEFORE {
        start -= 1;
        misses = if ended(&lane.bars[start]) { misses + 1 } else { 0 };
    }
    for bar in &lane.bars[start..end] {
        draw_bar(scene, plot, bar, (actor, bar_y, bar_height), buf);
    }
    let first = lane.marks.partition_point(|mark| mark.x + LONGEST < plot.left);
    let visible: Vec<&Mark> = lane.marks[first..]
        .iter()
        .take_while(|mark| mark.x < plot.right() && mark.event < plot.position)
        .filter(|mark| mark.x <= plot.head)
        .collect();
    for (n, mark) in visible.iter().enumerate() {
        let next = visible.get(n + 1).and_then(|next| plot.screen(next.x));
        draw_mark(scene, plot, mark, (actor, y, next.unwrap_or(plot.area.right())), buf);
    }
}

fn draw_bar(
    scene: &Scene<'_>,
    plot: &Plot,
    bar: &Bar,
    (actor, y, rows): (ActorId, u16, u16),
    buf: &mut Buffer,
) {
    let Some(columns) = plot.stretch(bar.from, bar.to) else { return };
    let client = scene.actor_style(actor);
    let (symbol, style) = match bar.kind {
        BarKind::Belief(belief) if belief.holds() => (glyphs::belief(belief), client),
        BarKind::Belief(belief) => (glyphs::belief(belief), client.add_modifier(Modifier::DIM)),
        BarKind::Frozen => (glyphs::FROZEN, scene.style(Role::Warning)),
        BarKind::Dead => (glyphs::DEAD, scene.style(Role::Chrome)),
    };
    let holding = matches!(bar.kind, BarKind::Belief(belief) if belief.holds());
    for row in 0..rows {
        // A thick bar is solid below its edge, and one line stays one line.
        let symbol = match bar.kind {
            _ if row == 0 => symbol,
            BarKind::Dead => continue,
            BarKind::Belief(Belief::Holding) => glyphs::CLASH,
            _ => symbol,
        };
        plot.fill(columns, y + row, symbol, style, buf);
    }
    if !holding {
        return;
    }
    // The failure itself: nothing on the screen is as red as this.
    let Some(columns) = plot.stretch(bar.from, bar.left.or(bar.to)) else { return };
    for clash in scene.chart.clashes.iter().filter(|clash| clash.lock == bar.lock) {
        let Some((from, to)) = plot.stretch(clash.from, clash.to) else { continue };
        let both = (from.max(columns.0), to.min(columns.1));
        if both.0 < both.1 {
            let (symbol, style) = scene.theme.clash();
            for row in 0..rows {
                plot.fill(both, y + row, symbol, style, buf);
            }
        }
    }
}

fn draw_mark(
    scene: &Scene<'_>,
    plot: &Plot,
    mark: &Mark,
    (actor, y, limit): (ActorId, u16, u16),
    buf: &mut Buffer,
) {
    let Some(event) = scene.log.events().get(mark.event) else { return };
    // A tick that has left the window takes its words with it.
    let Some(x) = plot.screen(mark.x) else { return };
    let client = scene.actor_style(actor);
    let text_style = match &event.kind {
        EventKind::Sent { .. } => match mark.reply(scene.log, plot.position) {
            Some(reply) => wire::style(scene, reply).remove_modifier(Modifier::BOLD),
            None => scene.style(Role::Chrome),
        },
        EventKind::Notified { .. } | EventKind::Took { .. } => scene.style(Role::Warning),
        EventKind::Counted { .. } => scene.style(Role::Good),
        EventKind::Fault(_) => scene.style(Role::Danger),
        _ => scene.style(Role::Chrome),
    };
    let chosen = scene.selected.is_some_and(|event| {
        let (sent, _) = selection::exchange(scene, event);
        mark.event == sent || mark.note == Some(event)
    });
    let words = mark.text(scene.log, scene.chart.detail, plot.position);
    let tick = format!("{} ", scene.glyph(actor));
    let after = plot.write((x, y), &tick, limit, client.add_modifier(Modifier::BOLD), buf);
    let after = plot.write((after, y), &words, limit.saturating_sub(1).max(after), text_style, buf);
    if after < limit {
        plot.write((after, y), " ", limit, Style::new(), buf);
    }
    if chosen {
        let tick = Rect { x, y, width: after.saturating_sub(x), height: 1 };
        scene.theme.choose(tick, buf);
    }
}

/// The name at the lane's left, dim where the actor cannot or need not act any more.
pub fn name(scene: &Scene<'_>, actor: ActorId, width: usize) -> (String, Style) {
    let style = scene.actor_style(actor);
    let life = scene.world.actor(actor).map_or(Life::Running, |actor| actor.life);
    let (prefix, style) = match life {
        Life::Running => (scene.glyph(actor), style.add_modifier(Modifier::BOLD)),
        Life::Frozen => (glyphs::STOPPED, scene.style(Role::Warning)),
        Life::Crashed => (glyphs::KILLED, style.add_modifier(Modifier::CROSSED_OUT | Modifier::DIM)),
        Life::Finished => (glyphs::DONE, style.add_modifier(Modifier::DIM)),
    };
    let words = format!("{prefix} {}", scene.name(actor));
    (text::fit(&words, width).into_owned(), style)
}
