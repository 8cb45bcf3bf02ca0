//! One of the two runs: its heading, its lanes, the mark of the first difference.

use super::{CompareView, actor, lanes, text, time, words};
use crate::{
    clock::ClockKind,
    log::Capacity,
    ui::{
        state::screen::ComparePhase,
        view::{banner, prelude::*, scene::Alarm},
    },
    world::{Overlap, World},
};

/// The maximum number of holders that are named.
const NAMED: usize = 3;

pub fn draw(view: &CompareView<'_>, side: usize, (names, area): (usize, Rect), buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    heading(view, side, area, buf);
    let below = CompareView::lanes_area(area);
    let Some(scene) = view.scene(side) else {
        let words = waiting(view, side);
        for (y, row) in (below.top()..below.bottom()).zip(text::wrap(&words, usize::from(below.width - 2))) {
            let width = usize::from(below.width - 2);
            buf.set_stringn(below.x + 2, y, row, width, view.context.theme.style(Role::Warning));
        }
        return;
    };
    let plot = view.plot(lanes::right_of(names, below), scene.world.position);
    let scroll = view.lanes.unwrap_or_else(|| view.follow(below));
    lanes::draw_without_axis(&scene, &plot, Some(scroll), (names, below), buf);
}

fn waiting(view: &CompareView<'_>, side: usize) -> String {
    match view.sides[side].phase {
        ComparePhase::Running { booting: true, .. } => words::BOOTING.get(view.context.lang).to_owned(),
        ComparePhase::Running { step, .. } => {
            let steps = view.entry.variants.get(view.sides[side].variant);
            let steps = steps.map_or(0, |variant| variant.plan.steps).max(step);
            words::RUNNING.with(view.context.lang, &[&step.to_string(), &steps.to_string()])
        }
        _ => words::WAITING.get(view.context.lang).to_owned(),
    }
}

fn heading(view: &CompareView<'_>, side: usize, area: Rect, buf: &mut Buffer) {
    let style = |role| view.context.theme.style(role);
    let width = usize::from(area.width);
    buf.set_stringn(area.x, area.y, "─".repeat(width), width, style(Role::Chrome));
    let (called, role) = view.called(side);
    let title = view.entry.variants.get(view.sides[side].variant);
    let title = title.map_or("", |variant| variant.title.get(view.context.lang));
    // That a run is recorded stands in the header.
    let clock = match (view.sides[side].log, view.sides[side].world.clock) {
        (Some(_), ClockKind::Wall) => format!(" {} ", words::WALL.get(view.context.lang)),
        _ => String::new(),
    };
    // Who and when is also seen in the lanes: the title matters more.
    let ways = [badge(view, side, false), badge(view, side, true)].map(Line::from);
    let room = |badge: &Line<'_>| {
        width.saturating_sub(badge.width().min(width) + text::width(called) + text::width(&clock) + 6)
    };
    let whole = ways.iter().find(|badge| text::width(title) <= room(badge));
    let badge = whole.unwrap_or(&ways[1]);
    let (taken, room) = (badge.width().min(width), room(badge));
    let line = Line::from(vec![
        Span::styled(format!(" {called} "), style(role).add_modifier(Modifier::BOLD | Modifier::REVERSED)),
        Span::styled(format!(" {} ", text::fit(title, room)), style(Role::Text).add_modifier(Modifier::BOLD)),
        Span::styled(clock, style(Role::Warning)),
    ]);
    buf.set_line(area.x, area.y, &line, area.width);
    let x = area.right() - u16::try_from(taken).unwrap_or(area.width);
    buf.set_line(x, area.y, badge, area.right() - x);
}

/// The state of the run at the playhead, in words that are legible from the back row; in brief without who and when.
fn badge(view: &CompareView<'_>, side: usize, brief: bool) -> Vec<Span<'static>> {
    let style = |role| view.context.theme.style(role);
    let world = view.sides[side].world;
    let mut spans = Vec::new();
    let mut say = |words: &str, style: Style| spans.push(Span::styled(format!(" {words} "), style));
    let loud = style(Role::Danger).add_modifier(Modifier::REVERSED);
    let other = view.sides[1 - side].world;
    // A counter that differs between the sides is the point of the comparison, so it is coloured.
    let figure = |differs: bool| {
        if differs { style(view.called(side).1) } else { style(Role::Fresh) }
    };
    let scene = view.scene(side);
    let alarm = scene.as_ref().and_then(Scene::alarm);
    let is_in_alarm =
        |name: &str| matches!(alarm, Some(Alarm::Oversold(oversold)) if oversold.counter == name);
    for (name, value) in world.counters.iter().filter(|(name, _)| !is_in_alarm(name)) {
        let differs = !other.counters.is_empty() && other.counters.get(name) != Some(value);
        let lang = view.context.lang;
        let name = view.sides[side].log.map_or(&**name, |log| words::named(log, name, lang));
        say(&format!("{} {value}", text::fit(name, 16)), figure(differs));
    }
    let notified = |world: &World| world.actors.iter().map(|actor| actor.notified).sum::<usize>();
    if notified(world) > 0 {
        let differs = notified(other) > 0 && notified(other) != notified(world);
        let words = words::NOTIFIED.get(view.context.lang);
        say(&format!("{words} {}", notified(world)), figure(differs));
    }
    if matches!(view.sides[side].phase, ComparePhase::Failed(_)) {
        say(&format!("✗ {}", words::RUN_FAILED.get(view.context.lang)), loud);
    } else if let Some(worst) = worst(world) {
        say(&words::overlap_span(view.context.lang, worst.excess), loud);
        if brief {
            return spans;
        }
        let named = &worst.holders[..worst.holders.len().min(NAMED)];
        let who = view.scene(side).map_or_else(String::new, |scene| banner::names(&scene, named));
        let span = match worst.apart {
            Some(to) => format!("{who} · {}", time::span(worst.from, to)),
            None => words::HOLD_SINCE.with(view.context.lang, &[&who, &time::moment(worst.from)]),
        };
        say(&span, style(Role::Danger));
    } else if let Some(words) = scene.as_ref().and_then(banner::alarm_words) {
        say(&words, loud);
    } else if !other.holding.overlaps().is_empty() && world.holding.ever() {
        let mutex = |overlap: &Overlap| overlap.excess.limit == Capacity::default();
        let only_mutexes = other.holding.overlaps().iter().all(mutex);
        let never = if only_mutexes { words::ONE_AT_A_TIME } else { words::NEVER_TOO_MANY };
        say(&format!("✓ {}", never.get(view.context.lang)), style(Role::Good));
    }
    spans
}

fn worst(world: &World) -> Option<&Overlap> {
    let lasts = world.holding.overlaps().iter().find(|overlap| overlap.to.is_none());
    lasts.or(world.holding.overlaps().first())
}

/// Draws the mark of the first difference: a line from the heading to the axis, over empty cells only.
pub fn mark(view: &CompareView<'_>, side: usize, (names, area, axis): (usize, Rect, Rect), buf: &mut Buffer) {
    let made = view.difference.and_then(|difference| difference.moves[side].as_ref());
    let Some(made) = made.filter(|made| made.event < view.sides[side].world.position) else { return };
    let style = view.context.theme.style(Role::Warning).add_modifier(Modifier::BOLD);
    let plot = view.plot(lanes::right_of(names, axis), view.sides[side].world.position);
    let column = view.pair.charts[side].column(made.event);
    let Some(x) = plot.screen(column) else {
        // The difference is left of the window.
        if column < plot.left {
            let words = format!("←{}", glyphs::DIFFERENCE);
            plot.write((axis.x, axis.y), &words, axis.right(), style, buf);
        }
        return;
    };
    let scene = view.scene(side);
    let tick = scene.and_then(|scene| Some(scene.glyph(actor(scene.world, &made.who)?)));
    let bottom = scene.map_or(0, |scene| lanes::bottom_of_actors(&scene, CompareView::lanes_area(area)));
    let rows = if side == 0 { area.y + 1..axis.bottom() } else { axis.y..area.bottom() };
    for y in rows.filter(|y| *y != area.y) {
        let Some(cell) = buf.cell_mut((x, y)) else { continue };
        match cell.symbol() {
            " " | glyphs::PLAYHEAD => {
                cell.set_symbol(glyphs::DIFFERENCE_LINE).set_style(style);
            }
            symbol if tick == Some(symbol) && y < bottom => {
                cell.set_symbol(glyphs::DIFFERENCE).set_style(style.add_modifier(Modifier::REVERSED));
            }
            _ => {}
        }
    }
}
