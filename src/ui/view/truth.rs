//! The servers' lanes: who really held each lock and what each key really held, below what the clients believed.

use super::{plot::Plot, prelude::*};
use crate::{
    log::Fault,
    ui::{
        chart::{About, Span, Truth},
        words::fault,
    },
};

/// How many locks of one server get a row.
const ROWS: usize = 2;

/// So many spans up to the right edge are looked at.
const SPANS: usize = 128;

/// A row: a server, and one of its locks if it has any yet.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    truth: &'a Truth,
    lock: Option<&'a str>,
    /// Whether it is the server's first row, where its faults are marked.
    first: bool,
}

pub fn rows<'a>(scene: &Scene<'a>) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for truth in &scene.chart.truths {
        // A lock that the playhead has not reached yet must not be given away.
        let known = |lock: &&String| {
            let first = truth.spans.iter().find(|span| span.lock == **lock);
            first.is_some_and(|span| span.from.1 < scene.world.position)
        };
        let before = rows.len();
        let locks = truth.locks.iter().filter(known).take(ROWS).enumerate();
        rows.extend(locks.map(|(n, lock)| Row { truth, lock: Some(lock), first: n == 0 }));
        if rows.len() == before {
            rows.push(Row { truth, lock: None, first: true });
        }
    }
    rows
}

impl<'a> Row<'a> {
    pub fn name(&self) -> &'a str {
        &self.truth.server
    }

    pub fn draw(&self, scene: &Scene<'_>, plot: &Plot, y: u16, buf: &mut Buffer) {
        if let Some(lock) = self.lock {
            self.draw_lock(scene, plot, (lock, y), buf);
        }
        if self.first {
            self.draw_faults(scene, plot, y, buf);
        }
    }

    /// What was done to the server, at its moment.
    fn draw_faults(&self, scene: &Scene<'_>, plot: &Plot, y: u16, buf: &mut Buffer) {
        let visible =
            self.truth.faults.iter().filter(|(column, event)| *event < plot.position && *column <= plot.head);
        let visible: Vec<(u16, &Fault)> = visible
            .filter_map(|(column, event)| Some((plot.screen(*column)?, scene.fault(*event)?)))
            .collect();
        for (n, (x, fault)) in visible.iter().enumerate() {
            let limit = visible.get(n + 1).map_or(plot.area.right(), |(next, _)| *next);
            let words = format!("{} {} ", fault::glyph(fault), fault::mark(fault));
            plot.write((*x, y), &words, limit, scene.style(Role::Danger), buf);
        }
    }

    fn draw_lock(&self, scene: &Scene<'_>, plot: &Plot, (lock, y): (&str, u16), buf: &mut Buffer) {
        let end = self.truth.spans.partition_point(|span| span.from.0 < plot.right());
        let start = end.saturating_sub(SPANS);
        let spans = || self.truth.spans[start..end].iter().filter(|span| span.lock == lock);
        // The lock's name stands where nobody has it yet, if there is room.
        let first = spans().find_map(|span| plot.stretch(span.from, span.to));
        let free = first.map_or(plot.area.right(), |(from, _)| from).saturating_sub(plot.area.x);
        let is_lock = spans().next().is_some_and(|span| span.about == About::Lock);
        if is_lock && usize::from(free) > text::width(lock) {
            plot.write((plot.area.x, y), lock, plot.area.right(), scene.style(Role::Chrome), buf);
        }
        let visible = spans().filter(|span| plot.stretch(span.from, span.to).is_some());
        for (n, span) in visible.enumerate() {
            match span.about {
                About::Lock => self.draw_holder(scene, plot, span, y, buf),
                // The key's name stands once, with its first value in sight.
                About::Value => draw_value(scene, plot, span, (y, n == 0), buf),
            }
        }
    }

    fn draw_holder(&self, scene: &Scene<'_>, plot: &Plot, span: &Span, y: u16, buf: &mut Buffer) {
        let Some(columns) = plot.stretch(span.from, span.to) else { return };
        let owner = span.owner.and_then(|owner| scene.owner(owner));
        let style = owner.map_or(scene.style(Role::Chrome), |owner| scene.actor_style(owner));
        for x in columns.0..columns.1 {
            let column = plot.left + u32::from(x - plot.area.x);
            let symbol = self.left(scene, plot, column).map_or(glyphs::HELD, |level| glyphs::LEASE[level]);
            plot.fill((x, x + 1), y, symbol, style, buf);
        }
        let words = match owner {
            Some(owner) => {
                let times =
                    span.token.split_once(" ×").map_or(String::new(), |(_, times)| format!("×{times} "));
                format!("{} {} {times}", scene.glyph(owner), scene.name(owner))
            }
            None => format!("{} ", span.token),
        };
        let room = columns.1.saturating_sub(columns.0);
        if usize::from(room) > text::width(&words) + 1 {
            plot.write((columns.0, y), &words, columns.1, style.add_modifier(Modifier::BOLD), buf);
        }
    }

    /// How much of the lease is left at a column, as an index into [`glyphs::LEASE`], where the key has one.
    fn left(&self, scene: &Scene<'_>, plot: &Plot, column: u32) -> Option<usize> {
        let moment = scene.chart.moment(scene.log, column, plot.position, scene.display);
        let lease = self.truth.lease_at(self.lock?, moment, plot.position)?;
        let share = lease.to.since(moment).as_secs_f64() / lease.to.since(lease.from).as_secs_f64();
        // Rounded up: as long as the key is there, its lease is seen.
        let steps: [f64; 7] = [0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875];
        Some(steps.iter().take_while(|step| share > **step).count())
    }
}

/// What a key held, from the moment it was seen.
fn draw_value(scene: &Scene<'_>, plot: &Plot, span: &Span, (y, named): (u16, bool), buf: &mut Buffer) {
    let Some(columns) = plot.stretch(span.from, span.to) else { return };
    plot.fill(columns, y, "─", scene.style(Role::Chrome), buf);
    let words = if named { format!("{} {} ", span.lock, span.token) } else { format!("{} ", span.token) };
    plot.write((columns.0, y), &words, columns.1.max(columns.0 + 1), scene.style(Role::Code), buf);
}
