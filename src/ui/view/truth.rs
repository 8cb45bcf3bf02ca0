//! The servers' lanes: who really held each lock and what each key really contained, below the clients' beliefs.

use std::{borrow::Cow, ops::Range};

use super::{lane, plot::Plot, prelude::*};
use crate::{
    log::{Fault, Role as GroupRole, SentinelNotice},
    ui::{
        chart::{About, RoleChange, Span, Truth},
        words::fault,
    },
};

/// The maximum rows per server, and the maximum rows of locks if there is only one server.
const ROWS: usize = 2;
const LOCKS_OF_ONE: usize = 3;

/// How many spans up to the right edge are examined.
const SPANS: usize = 128;
const EIGHTHS: u16 = 8;

/// A row: a server, and one of its locks or keys if it has any yet.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    truth: &'a Truth,
    lock: Option<&'a str>,
    /// Whether it is the server's first row, which shows its faults and roles.
    first: bool,
    /// Whether the server has more rows.
    several: bool,
    /// Whether the lab has no other server.
    alone: bool,
    /// Where the lock's name is, if it need not be written in the row.
    named: Option<Naming>,
}

/// Where the name of a row's lock or key is, outside of the row itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// It is the label, instead of the server's name in the first row of the only server.
    Label,
    /// Below the server's name, or nowhere because all servers have the same lock.
    Elsewhere,
}

pub fn rows<'a>(scene: &Scene<'a>) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for truth in &scene.chart.truths {
        // Locks after the playhead must not be revealed.
        let known = |lock: &&String| {
            let first = truth.spans.iter().find(|span| span.lock == **lock);
            first.filter(|span| span.from.1 < scene.world.position).map(|span| span.about)
        };
        let known: Vec<(&String, About)> =
            truth.locks.iter().filter_map(|lock| Some((lock, known(&lock)?))).collect();
        // Locks come first; values follow if there is room.
        let of = |about| known.iter().filter(move |(_, of)| *of == about);
        let locks = of(About::Lock).count();
        let alone = scene.chart.truths.len() == 1;
        let most = if alone { locks.clamp(ROWS, LOCKS_OF_ONE) } else { ROWS };
        let before = rows.len();
        let shown = of(About::Lock).chain(of(About::Value)).take(most).enumerate();
        let several = known.len().min(most) > 1;
        rows.extend(shown.map(|(n, (lock, _))| Row {
            truth,
            lock: Some(lock.as_str()),
            first: n == 0,
            several,
            alone,
            named: None,
        }));
        if rows.len() == before {
            rows.push(Row { truth, lock: None, first: true, several: false, alone, named: None });
        }
    }
    rows
}

/// Leaves out the name of the lock that several servers have each, unless each of their rows has room for it.
pub fn name_all_or_none(rows: &mut [Row<'_>], scene: &Scene<'_>, plot: &Plot) {
    let of_lock = |row: &Row<'_>| {
        let held = row.truth.spans.iter().find(|span| row.lock == Some(span.lock.as_str()));
        row.named.is_none() && !row.several && held.is_some_and(|span| span.about == About::Lock)
    };
    let lacks_room = |row: &Row<'_>| row.name_columns(scene, plot).is_none();
    let alike: Vec<&mut Row<'_>> = rows.iter_mut().filter(|row| of_lock(row)).collect();
    if alike.iter().any(|row| lacks_room(row)) && alike.iter().any(|row| !lacks_room(row)) {
        for row in alike {
            row.named = Some(Naming::Elsewhere);
        }
    }
}

impl<'a> Row<'a> {
    pub fn is_first(&self) -> bool {
        self.first
    }

    pub fn name(&self) -> &'a str {
        &self.truth.server
    }

    /// The label at the left: the lock's name, or in a server's first row the server's.
    pub fn label(&self) -> &'a str {
        let is_lock = !self.first || self.named == Some(Naming::Label);
        self.lock.filter(|_| is_lock).unwrap_or(&self.truth.server)
    }

    /// The lock of a server's first row, if it fits below the server's name.
    pub fn lock_below(&self, (names, height): (usize, u16)) -> Option<&'a str> {
        self.lock.filter(|lock| self.first && height > 1 && text::width(lock) <= names)
    }

    /// The row, with `named` set for a label of that many columns and rows.
    pub fn labelled(self, (columns, height): (usize, u16)) -> Self {
        let fits = self.lock.is_some_and(|lock| text::width(lock) <= columns);
        let named = match (self.first, height) {
            _ if !fits => None,
            (true, 1) => self.alone.then_some(Naming::Label),
            (true, _) => Some(Naming::Elsewhere),
            (false, _) => Some(Naming::Label),
        };
        Self { named, ..self }
    }

    pub fn is_dead(&self, position: usize) -> bool {
        let mut dead = self.truth.dead.iter();
        dead.any(|(from, to)| from.1 < position && to.is_none_or(|(_, event)| event >= position))
    }

    /// Whether nothing has happened to the server yet.
    pub fn is_idle(&self, position: usize) -> bool {
        let Truth { spans, faults, changes, .. } = self.truth;
        let first = [
            spans.first().map(|span| span.from.1),
            faults.first().map(|(_, event)| *event),
            changes.first().map(|(_, event, _)| *event),
        ];
        first.iter().flatten().all(|event| *event >= position)
    }

    /// Whether a fault was injected into the server before `position`.
    pub fn was_hit(&self, position: usize) -> bool {
        self.truth.faults.first().is_some_and(|(_, event)| *event < position)
    }

    /// The newest event before `position` that changed what the row shows.
    pub fn changed_at(&self, position: usize) -> Option<usize> {
        let known = self.truth.spans.partition_point(|span| span.from.1 < position);
        let own = self.truth.spans[..known].iter().rev().take(SPANS);
        let own = own.filter(|span| self.lock == Some(span.lock.as_str()));
        own.map(|span| {
            span.to.map_or(span.from.1, |(_, event)| if event < position { event } else { span.from.1 })
        })
        .max()
    }

    /// Draws the row; `rows` is its first row on the screen and its height.
    pub fn draw(&self, scene: &Scene<'_>, plot: &Plot, rows: (u16, u16), buf: &mut Buffer) {
        let middle = rows.0 + rows.1 / 2;
        for frozen in self.truth.frozen.iter().filter_map(|(from, to)| plot.stretch(*from, *to)) {
            plot.fill(frozen, middle, glyphs::FROZEN, scene.style(Role::Warning), buf);
        }
        if let Some(lock) = self.lock {
            self.draw_lock(scene, plot, (lock, rows), buf);
        }
        for dead in self.truth.dead.iter().filter_map(|(from, to)| plot.stretch(*from, *to)) {
            // What was granted may still be on its disk, but a server that is not running confirms nothing.
            for y in rows.0..rows.0 + rows.1 {
                plot.fill(dead, y, " ", Style::new(), buf);
            }
            plot.fill(dead, middle, glyphs::DEAD, scene.style(Role::Chrome), buf);
        }
        self.draw_nobody(scene, plot, (middle, middle == rows.0), buf);
        if self.first {
            self.draw_events(scene, plot, rows.0, buf);
        }
    }

    /// Writes "nobody" where an actor believes to hold a lock that no server confirms.
    fn draw_nobody(&self, scene: &Scene<'_>, plot: &Plot, (y, is_top): (u16, bool), buf: &mut Buffer) {
        let shown = |span: &&Span| self.lock == Some(span.lock.as_str());
        let spans = || self.truth.spans.iter().rev().filter(shown).take(SPANS);
        let about_locks =
            spans().next().map_or(scene.chart.truths.len() == 1, |span| span.about == About::Lock);
        if !about_locks {
            return;
        }
        let lanes = scene.chart.lanes.iter().filter(|lane| lane.band.is_none());
        let held = lanes.filter_map(|lane| lane.bars.iter().rfind(|bar| bar.kind.holds()));
        let bare =
            held.filter_map(|bar| bar.unconfirmed.last()).filter_map(|(from, to)| plot.stretch(*from, *to));
        let words = format!(" {} ", words::NOBODY.get(scene.lang));
        let width = u16::try_from(text::width(&words)).unwrap_or(u16::MAX);
        for (from, to) in bare {
            let mut taken: Vec<(u16, u16)> =
                spans().filter_map(|span| plot.stretch(span.from, span.to)).collect();
            let still = self.truth.dead.iter().chain(&self.truth.frozen);
            taken.extend(still.filter_map(|(from, to)| plot.stretch(*from, *to)));
            if is_top {
                taken.extend(self.name_columns(scene, plot));
                taken.extend(self.marked(scene, plot));
            }
            taken.push((to, to));
            taken.sort_unstable();
            let mut free = from;
            for (start, end) in taken {
                let room = start.min(to).saturating_sub(free);
                if room > width {
                    let style = scene.style(Role::Text);
                    plot.write((free + (room - width) / 2, y), &words, to, style, buf);
                    return;
                }
                free = free.max(end);
            }
        }
    }

    /// The marks of faults and role changes of the server: the column, the text that fits, the style.
    fn marks(&self, scene: &Scene<'_>, plot: &Plot) -> Vec<(u16, String, Role)> {
        let faults = self.truth.faults.iter().filter_map(|(column, event)| {
            let fault: &Fault = scene.fault(*event)?;
            let mark = fault::mark(fault);
            let words = format!("{} {}", fault::glyph(fault), words::label(&mark, scene.lang));
            Some((*column, *event, words, Role::Danger))
        });
        let changes = self.truth.changes.iter().map(|(column, event, change)| {
            let (words, role) = role_change_words(change, scene.lang);
            (*column, *event, words, role)
        });
        let known = |event: usize, column: u32| event < plot.position && column <= plot.head;
        let mut visible: Vec<(u16, String, Role)> = faults
            .chain(changes)
            .filter(|(column, event, ..)| known(*event, *column))
            .filter_map(|(column, _, words, role)| Some((plot.screen(column)?, words, role)))
            .collect();
        visible.sort_by_key(|(x, ..)| *x);
        // A Sentinel's decision must not cover or touch the text of the fault that caused it.
        let mut fault_to = None;
        visible.retain(|(x, words, role)| {
            let is_fault = *role == Role::Danger;
            if is_fault {
                fault_to = Some(usize::from(*x) + text::width(words));
            }
            is_fault || !words.starts_with(glyphs::SENTINEL) || Some(usize::from(*x)) > fault_to
        });
        let mut right = usize::from(plot.area.right()) + 1;
        for (x, words, _) in visible.iter_mut().rev() {
            // A column before the next mark stays blank. Instead of a cut name, only the glyph is shown, or nothing.
            let room = right.saturating_sub(usize::from(*x) + 1);
            let sign = words.split(' ').next().filter(|sign| text::width(sign) == 1).unwrap_or_default();
            let fitting = [words.as_str(), sign].into_iter().find(|words| text::width(words) <= room);
            *words = fitting.unwrap_or_default().to_owned();
            right = if words.is_empty() { right } else { usize::from(*x) };
        }
        visible.retain(|(_, words, _)| !words.is_empty());
        visible
    }

    /// The columns of the upper row that the marks occupy, with a blank one on each side of words.
    fn marked(&self, scene: &Scene<'_>, plot: &Plot) -> Vec<(u16, u16)> {
        let marks = if self.first { self.marks(scene, plot) } else { Vec::new() };
        let width = |words: &str| u16::try_from(text::width(words)).unwrap_or(u16::MAX);
        let from =
            |x: u16, words: &str| if is_sign(words) { x } else { x.saturating_sub(1).max(plot.area.x) };
        marks
            .into_iter()
            .map(|(x, words, _)| (from(x, &words), x.saturating_add(width(&words) + 1)))
            .collect()
    }

    /// The columns for the lock's name if it is not at the left of the row: before the lock is first held and the first
    /// mark, if there is room.
    fn name_columns(&self, scene: &Scene<'_>, plot: &Plot) -> Option<(u16, u16)> {
        let lock = self.lock.filter(|_| self.named.is_none())?;
        let mut spans = self.spans(plot).iter().filter(|span| span.lock == lock).peekable();
        if spans.peek()?.about != About::Lock {
            return None;
        }
        let from = plot.area.x;
        let held = spans.find_map(|span| Some(plot.stretch(span.from, span.to)?.0));
        let marked = self.marked(scene, plot).first().map(|(x, _)| *x);
        let Truth { dead, frozen, .. } = self.truth;
        let still = dead.iter().chain(frozen).filter_map(|(from, to)| Some(plot.stretch(*from, *to)?.0));
        let free = held.into_iter().chain(marked).chain(still).min().unwrap_or(plot.area.right());
        let to = from.saturating_add(u16::try_from(text::width(lock)).unwrap_or(u16::MAX));
        (to < free).then_some((from, to))
    }

    /// The spans to examine.
    fn spans(&self, plot: &Plot) -> &'a [Span] {
        let end = self.truth.spans.partition_point(|span| span.from.0 < plot.right());
        &self.truth.spans[end.saturating_sub(SPANS)..end]
    }

    /// The first part of the given columns that is covered neither by marks nor by the server's death.
    fn uncovered(&self, scene: &Scene<'_>, plot: &Plot, columns: (u16, u16), is_top: bool) -> (u16, u16) {
        let dead = self.truth.dead.iter().filter_map(|(from, to)| plot.stretch(*from, *to));
        let mut covered: Vec<(u16, u16)> = dead.collect();
        if is_top {
            covered.extend(self.marked(scene, plot));
        }
        first_free(columns, covered)
    }

    fn draw_events(&self, scene: &Scene<'_>, plot: &Plot, y: u16, buf: &mut Buffer) {
        for (x, words, role) in self.marks(scene, plot) {
            if !is_sign(&words) && x > plot.area.x {
                plot.fill((x - 1, x), y, " ", scene.style(role), buf);
            }
            let end = plot.write((x, y), &words, plot.area.right(), scene.style(role), buf);
            plot.fill((end, end + 1), y, " ", scene.style(role), buf);
        }
    }

    fn draw_lock(&self, scene: &Scene<'_>, plot: &Plot, (lock, rows): (&str, (u16, u16)), buf: &mut Buffer) {
        let name = self.name_columns(scene, plot);
        if let Some((from, to)) = name {
            plot.write((from, rows.0), lock, to, scene.style(Role::Chrome), buf);
        }
        let own = self.spans(plot).iter().filter(|span| span.lock == lock);
        let visible: Vec<&Span> = own.filter(|span| plot.stretch(span.from, span.to).is_some()).collect();
        // The name of a key must be readable before its values, unless there is no room for it anywhere.
        let has_room = |span: &&Span| {
            let place = self.value_columns(scene, plot, span, rows.1);
            place.is_some_and(|(columns, is_newest)| is_newest || columns.len() > text::width(lock) + 2)
        };
        let mut values = visible.iter().filter(|span| span.about == About::Value);
        let is_lock = |span: &&Span| span.about == About::Lock;
        let name =
            self.named.is_some() || name.is_some() || !(values.any(has_room) || visible.iter().any(is_lock));
        let mut printed = PrintedKey { name, ..PrintedKey::default() };
        for span in visible {
            match span.about {
                About::Lock => self.draw_holder(scene, plot, (span, &mut printed), rows, buf),
                About::Value => self.draw_value(scene, plot, (span, &mut printed), rows, buf),
            }
        }
    }

    fn draw_holder(
        &self,
        scene: &Scene<'_>,
        plot: &Plot,
        (span, printed): (&Span, &mut PrintedKey<'_>),
        (y, rows): (u16, u16),
        buf: &mut Buffer,
    ) {
        let Some(columns) = plot.stretch(span.from, span.to) else { return };
        let actor = |owner| scene.chart.actor(owner, span.from.1);
        let owner = span.owner.filter(|_| span.others.is_empty()).and_then(actor);
        let style = owner.map_or(scene.style(Role::Chrome), |owner| scene.actor_style(owner));
        for x in columns.0..columns.1 {
            // On a compressed axis, a cell may begin before the moment that it shows.
            let column = plot.column(x).max(span.from.0).min(plot.head);
            let left = self.left(scene, plot, span, (column, plot.column(x + 1).max(column)), rows);
            for row in 0..rows {
                // Eighths of the row, counted from the lowest row up.
                let below = (rows - 1 - row) * EIGHTHS;
                let symbol = match left {
                    None if row + 1 == rows => glyphs::HELD,
                    None => glyphs::FULL,
                    Some(left) if left > below => glyphs::LEASE[usize::from((left - below).min(EIGHTHS) - 1)],
                    Some(_) => " ",
                };
                plot.fill((x, x + 1), y + row, symbol, style, buf);
            }
        }
        let named = span.holders().map(|(owner, token)| {
            let times = token.times.as_ref().map_or(String::new(), |times| format!(" ×{times}"));
            match owner.and_then(actor) {
                Some(owner) => {
                    format!("{} {}{times} ", scene.glyph(owner), holder_name(scene, owner, &token.holder))
                }
                None => format!("{} ", token.holder),
            }
        });
        let words: String = named.collect();
        let (from, to) = self.uncovered(scene, plot, columns, rows / 2 == 0);
        let room = usize::from(to - from);
        // The lock's name is written once, in the first bar with room for it.
        let with_lock = format!("{words}· {} ", span.lock);
        let tells = self.several || span.holders().any(|(owner, _)| owner.is_none());
        let is_first = tells && !printed.name && room >= text::width(&with_lock);
        printed.name |= is_first;
        let words = if is_first { with_lock } else { words };
        let owners = span.holders().filter_map(|(owner, _)| actor(owner?));
        let signs: String = owners.map(|owner| scene.glyph(owner)).collect();
        // A short bar keeps one column beside its owner's name, and one on each side of its owner's sign.
        let ways = [(words.as_str(), 1), (words.trim_end(), 0), (signs.as_str(), 1)];
        let fitting = ways.into_iter().find(|(words, beside)| room > text::width(words) + beside);
        if let Some((words, _)) = fitting.filter(|(words, _)| !words.is_empty()) {
            let from = if words == signs { from + 1 } else { from };
            let style = style.add_modifier(Modifier::BOLD);
            let distance = if rows < lane::THICK { u16::MAX } else { lane::REPEATED };
            let last = to.saturating_sub(u16::try_from(text::width(words)).unwrap_or(to));
            for x in (from..last).step_by(distance.into()) {
                plot.write((x, y + rows / 2), words, to, style, buf);
            }
        }
    }

    /// Draws the value of a key from its observation on: the name once, with the first value that fits. Of a table's row
    /// that does not fit, only what has changed.
    fn draw_value<'s>(
        &self,
        scene: &Scene<'_>,
        plot: &Plot,
        (span, printed): (&'s Span, &mut PrintedKey<'s>),
        (top, rows): (u16, u16),
        buf: &mut Buffer,
    ) {
        let Some(columns) = plot.stretch(span.from, span.to) else { return };
        let y = top + rows / 2;
        plot.fill(columns, y, "─", scene.style(Role::Chrome), buf);
        let Some((place, is_newest)) = self.value_columns(scene, plot, span, rows) else { return };
        let (mut from, end, room) = (place.start, place.end, place.len());
        let held = &span.token.holder;
        let value = match printed.value {
            Some(before) if text::width(held) > room => changed(before, held),
            _ => Cow::from(held),
        };
        let column = first_name(&value).and_then(|_| value.split(' ').next()).map(str::to_owned);
        let with_name = format!("{} {value}", span.lock);
        let shorter = |most: usize| {
            let name = if printed.name { String::new() } else { format!("{} ", span.lock) };
            let room = most.checked_sub(text::width(&name))?;
            first_columns(&value, room, &printed.column).map(|cut| name + &cut)
        };
        // A cut value counts as not shown, and is repeated with the next one.
        let (words, whole) = match printed.name {
            false if is_newest || room >= text::width(&with_name) => (Cow::from(with_name), true),
            true if is_newest || room >= text::width(&value) => (value, true),
            _ if let Some(cut) = shorter(room) => (cut.into(), false),
            false if room > text::width(&span.lock) + 2 && first_name(&value).is_none() => {
                (text::fit(&with_name, room), false)
            }
            // Without room, it leaves a dot, so that nobody counts the values that are shown.
            _ => {
                plot.fill((columns.0, columns.0 + 1), y, "·", scene.style(Role::Code), buf);
                return;
            }
        };
        if is_newest {
            // The current value begins earlier rather than being cut, if the row is empty there.
            let missing = u16::try_from(text::width(&words)).unwrap_or(u16::MAX).saturating_sub(end - from);
            let marks = if rows / 2 == 0 { self.marked(scene, plot) } else { Vec::new() };
            let before = marks.into_iter().map(|(_, end)| end).filter(|end| *end <= from).max();
            let free = before.max(printed.end).unwrap_or(plot.area.x);
            from = from.saturating_sub(missing).max(free).min(from);
        }
        if let Some(column) = column {
            printed.column = column;
        }
        let gap = if usize::from(end - from) > text::width(&words) { " " } else { "" };
        let after =
            plot.write((from, y), &format!("{words}{gap}"), end.max(from + 1), scene.style(Role::Code), buf);
        printed.name = true;
        printed.value = if whole { Some(&span.token.holder) } else { printed.value };
        printed.end = Some(after);
    }

    /// The columns for the text of a value, and whether it is the current value.
    fn value_columns(
        &self,
        scene: &Scene<'_>,
        plot: &Plot,
        span: &Span,
        rows: u16,
    ) -> Option<(Range<u16>, bool)> {
        let columns = plot.stretch(span.from, span.to)?;
        let (from, to) = self.uncovered(scene, plot, columns, rows / 2 == 0);
        // Leaves a column before the next value.
        let end = if span.to.is_some() && to < plot.area.right() { to.saturating_sub(1) } else { to };
        Some((from..end.max(from), span.to.is_none() && to == columns.1))
    }

    /// The eighths of `rows` rows that are left at column `to` of the lease that the key has at column `from`, if any.
    /// Between two events it runs out evenly: on the logarithmic axis, the last column before an event may stand for
    /// half of a lease.
    fn left(
        &self,
        scene: &Scene<'_>,
        plot: &Plot,
        span: &Span,
        (from, to): (u32, u32),
        rows: u16,
    ) -> Option<u16> {
        let moment = scene.chart.moment(scene.log, from, plot.position, scene.display);
        // Events of one moment have several columns, in which the next holder's lease is not there yet.
        let known = span.to.map_or(plot.position, |(_, event)| event.min(plot.position));
        let lease = self.truth.lease_at(self.lock?, moment, known)?;
        let head = (plot.head, scene.display);
        let [before, mut after] = scene.chart.around(scene.log, from, plot.position, head);
        if let Some((column, event)) =
            span.to.filter(|(column, event)| *event < plot.position && *column <= after.0)
        {
            after = (column, scene.log.time_at(event + 1));
        }
        let share = lease.share_left([before, after], to);
        // Rounded up, because the lease of an existing key must be visible; but never so high that it touches the row
        // above.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share from 0 to 1 of a screen's rows"
        )]
        let eighths = (share * f64::from(rows * EIGHTHS - 1)).ceil() as u16;
        Some(eighths.max(1))
    }
}

/// What a row has shown of its key so far.
#[derive(Debug, Clone, Default)]
struct PrintedKey<'a> {
    name: bool,
    value: Option<&'a str>,
    /// The first column of the last text with its value, if it was a table's row.
    column: String,
    /// The column after the last text.
    end: Option<u16>,
}

/// The first columns of `from..to` that none of `covered` hides; empty at `to` if all are hidden.
fn first_free((from, to): (u16, u16), mut covered: Vec<(u16, u16)>) -> (u16, u16) {
    covered.sort_unstable();
    let mut free = from;
    for (start, end) in covered {
        if start > free {
            return (free, to.min(start));
        }
        free = free.max(end).min(to);
    }
    (free, to)
}

/// The holder's name: the client's, if the value names the client and not one of its threads.
fn holder_name<'a>(scene: &Scene<'a>, owner: ActorId, value: &str) -> &'a str {
    let client = scene.world.actor(owner).map(|actor| actor.who.client.as_str());
    client.filter(|client| value.rsplit(':').next() == Some(*client)).unwrap_or_else(|| scene.name(owner))
}

/// Whether the text of a mark begins with a sign, which reads well beside a bar.
fn is_sign(words: &str) -> bool {
    !words.starts_with(char::is_alphanumeric)
}

/// The text for a change of a server's role.
pub fn role_change_words(change: &RoleChange, lang: Lang) -> (String, Role) {
    let said = |words: words::Words, role| (words.get(lang).to_owned(), role);
    match change {
        RoleChange::Role(of) if of.leads() => {
            (format!("{} {}", glyphs::MASTER, words::role(of, lang)), Role::Accent)
        }
        RoleChange::Role(of @ GroupRole::Looking) => (words::role(of, lang), Role::Warning),
        RoleChange::Role(of) => (words::role(of, lang), Role::Chrome),
        RoleChange::Epoch(epoch) => (words::ELECTION.with(lang, &[&epoch.to_string()]), Role::Warning),
        RoleChange::Sentinel { sentinel, notice } => {
            let role =
                if matches!(notice, SentinelNotice::Selects { .. }) { Role::Accent } else { Role::Warning };
            (format!("{} {}", glyphs::SENTINEL, words::sentinel_mark(sentinel, notice, lang)), role)
        }
        RoleChange::Serves(true) => said(words::CLUSTER_UP, Role::Good),
        RoleChange::Serves(false) => said(words::CLUSTER_DOWN, Role::Danger),
    }
}

/// For a row of a table, the columns that have changed; otherwise the whole value.
fn changed<'a>(before: &str, now: &'a str) -> Cow<'a, str> {
    let columns = now.split(' ').filter(|column| !before.split(' ').any(|before| before == *column));
    let columns: Vec<&str> = columns.collect();
    let is_row = !columns.is_empty() && now.split(' ').all(|column| column.contains('='));
    if is_row { columns.join(" ").into() } else { now.into() }
}

/// As many of the first columns of a table's row as fit: of a row that is too long, its first figures still count. A
/// column that was the last one shown, with another value, may be its value alone.
fn first_columns(value: &str, room: usize, shown: &str) -> Option<String> {
    let name = first_name(value)?;
    let first = value.split(' ').next().unwrap_or(value);
    let bare = first.get(name.len() + 1..).filter(|_| first != shown && first_name(shown) == Some(name));
    let ends = value.match_indices(' ').map(|(end, _)| format!("{} …", &value[..end]));
    let alone = [Some(first), bare].into_iter().flatten().map(str::to_owned);
    let ways: Vec<String> = alone.rev().chain(ends).collect();
    ways.into_iter().rfind(|shown| text::width(shown) <= room)
}

/// The name of the first column of a table's row.
fn first_name(value: &str) -> Option<&str> {
    let (name, _) = value.trim_start().split(' ').next()?.split_once('=')?;
    Some(name).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_cut_between_its_columns() {
        let row = "points=5 coupon=unused version=0";
        assert_eq!(first_columns(row, 10, "").as_deref(), Some("points=5 …"));
        assert_eq!(first_columns(row, 31, "").as_deref(), Some("points=5 coupon=unused …"));
        assert_eq!(first_columns(row, 9, "").as_deref(), Some("points=5"));
        assert_eq!(first_columns(row, 7, ""), None);
        assert_eq!(first_columns(row, 7, "points=4").as_deref(), Some("5"));
        assert_eq!(first_columns(row, 7, "points=5"), None);
        assert_eq!(first_columns("two words", 40, "points"), None);
    }

    #[test]
    fn what_is_covered_may_reach_beyond_the_columns() {
        assert_eq!(first_free((5, 20), vec![(12, 14), (2, 9)]), (9, 12));
        assert_eq!(first_free((5, 20), vec![(2, 30), (35, 45)]), (20, 20));
        assert_eq!(first_free((5, 20), vec![(25, 30)]), (5, 20));
        assert_eq!(first_free((5, 20), vec![]), (5, 20));
    }
}
