//! The visible window of the elastic time axis: maps columns of the chart to columns of the screen.

use super::{cells, lanes, prelude::*};
use crate::ui::chart::{Detail, OverlapSpan, Pair};

/// The minimum columns right of the playhead for the newest tick's text: with labels, and with commands.
const TAIL: (u16, u16) = (22, 40);
/// The maximum number of overlaps that get space of their own when a whole run is shown.
const STRETCHES: usize = 3;
/// The columns between two times on the axis.
pub const TICK: u16 = 12;
/// The minimum share of the columns for what was broken, when all of a run or of a step is shown.
const LOUD: (u32, u32) = (11, 20);
/// The same for broken invariants without too many holders, and the share for their cause: red without bars needs less
/// room than the bars before it.
const BROKEN: (u32, u32) = (9, 20);
const CAUSE_OF_BROKEN: (u32, u32) = (2, 5);
/// While something is wrong, the present gets at least `WRONG` times the width that corresponds to one row of the pane,
/// so that it is visible from afar: a higher pane needs fewer columns. It also gets at least the share `WRONG_LEAST`.
const WRONG: u32 = 9;
const WRONG_LEAST: (u32, u32) = (2, 5);
/// The share of the columns for the cause of what is wrong, such as who locked when and a lease that ended, however
/// soon it went wrong.
const CAUSE: (u32, u32) = (3, 10);
/// How many texts of a lane, and how much of each, are given room before time without any.
const MOST_TEXTS: usize = 64;
const LONGEST_TEXT: usize = 40;
/// The maximum number of stretches whose beginnings and ends have a time on the axis.
const MOST_ALARMS: usize = 64;
/// The columns before a stretch that is drawn large.
const BEFORE: u32 = 8;

/// The area right of the playhead is *now*: whatever lasts is drawn up to the right edge, so that the newest step is
/// never just a sliver.
#[derive(Debug, Clone)]
pub struct Plot {
    pub left: u32,
    pub head: u32,
    /// The number of events before the playhead.
    pub position: usize,
    /// Whether a whole run is shown; whatever ended with its last event then reaches the right edge.
    whole: bool,
    pub area: Rect,
    /// Pairs of a column of the chart and a column of the screen, counted from the left edge. Columns in between are
    /// interpolated, and after the last pair the scale is one to one.
    corners: Vec<(u32, u32)>,
}

/// What the window shows: a run, or two on one axis.
struct PlotInput<'a> {
    scenes: &'a [Scene<'a>],
    head: u32,
    /// How far the newest tick's text reaches right of the playhead.
    newest: u32,
    /// The first column with an event at or after a given column.
    next: &'a dyn Fn(u32) -> Option<u32>,
    /// The columns that are covered by the texts of ticks, in order and apart from each other.
    texts: &'a dyn Fn() -> Vec<(u32, u32)>,
    position: usize,
    area: Rect,
}

impl Plot {
    pub fn new(scene: &Scene<'_>, area: Rect) -> Self {
        let position = scene.world.position;
        let head = scene.chart.playhead(scene.log, position, scene.display);
        let newest = Self::newest(scene, head);
        let next = |column| scene.chart.event_at(column, position).map(|event| scene.chart.column(event));
        let scenes = std::slice::from_ref(scene);
        let texts = || Self::texts(scene, head);
        let seen = PlotInput { scenes, head, newest, next: &next, texts: &texts, position, area };
        if let Some(plot) = Self::for_alarm(&seen) {
            return plot;
        }
        let left = Self::following(head, Self::now(scene.chart.detail, newest, area), area);
        // The window moves to the selected event and keeps a quarter of its width before it.
        let chosen = scene.selected.map(|event| scene.chart.column(event));
        let before = u32::from(area.width / 4);
        let left = match chosen {
            Some(chosen) if chosen < left => chosen.saturating_sub(before),
            _ => left,
        };
        Self::from(left, head, position, area)
    }

    /// The window onto the common axis of two runs, of one of which `position` events are over.
    pub fn paired(scenes: &[Scene<'_>], pair: &Pair, slots: usize, (position, area): (usize, Rect)) -> Self {
        let head = pair.head(slots);
        let tail = Self::tail(pair.charts[0].detail).min(area.width / 2);
        let next = |column| pair.time_at(column, slots).map(|(column, _)| column);
        let texts = Vec::new;
        let seen =
            PlotInput { scenes, head, newest: tail.into(), next: &next, texts: &texts, position, area };
        Self::for_alarm(&seen).unwrap_or_else(|| {
            // Scrolling past the last column would show only blanks.
            let left = Self::following(head, tail, area).min(pair.end().saturating_sub(area.width.into()));
            Self::from(left, head, position, area)
        })
    }

    /// A window that begins at column `left` of the chart.
    pub fn from(left: u32, head: u32, position: usize, area: Rect) -> Self {
        Self { left, head, position, whole: false, area, corners: vec![(left, 0)] }
    }

    /// The window for a whole run, or for a step in which something is or was wrong; `None` otherwise.
    fn for_alarm(seen: &PlotInput<'_>) -> Option<Self> {
        let scenes = seen.scenes.iter();
        if scenes.clone().any(|scene| scene.whole) {
            return Some(Self::of_whole_run(seen));
        }
        if scenes.clone().any(|scene| scene.selected.is_some()) {
            return None;
        }
        let causes = scenes.clone().filter(|scene| scene.recent_overlap().is_none()).filter_map(|scene| {
            let now = scene.chart.alarms().filter(|span| span.is_now(scene.world.position));
            let begun = now.map(|span| span.from.0).min()?;
            Some((scene.cause()?, begun))
        });
        let cause = causes.reduce(|one, other| (one.0.min(other.0), one.1.min(other.1)));
        if let Some((cause, begun)) = cause {
            return Some(Self::during_alarm(seen, cause.min(begun), begun));
        }
        let brief = scenes.filter_map(|scene| {
            let overlap_span = scene.chart.overlap_span_of(scene.recent_overlap()?.event)?;
            Some(within(overlap_span, seen.head))
        });
        brief.min().map(|stretch| Self::after_brief_alarm(seen, stretch))
    }

    /// Something is wrong now: the present gets much of the width, and the cause nearly a third. If the time since the
    /// cause does not fit, the longest gaps between events are shortened first.
    fn during_alarm(seen: &PlotInput<'_>, cause: u32, begun: u32) -> Self {
        let (head, width) = (seen.head, u32::from(seen.area.width));
        let part = |(part, whole): (u32, u32)| width * part / whole;
        let begun = begun.min(head);
        let origin = cause.saturating_sub(1).min(begun);
        let most = width - part(CAUSE);
        let least = width * WRONG / u32::from(seen.area.height.max(1));
        // The time since it went wrong is drawn red, too, and counts towards the minimum.
        let least = least.clamp(part(WRONG_LEAST).min(most), most).saturating_sub(head - begun);
        let least = least.max(part(WRONG_LEAST).min(most)).max(seen.newest.min(most));
        let wanted = (begun - origin).max(part(CAUSE)) + head - begun;
        let room = width - width.saturating_sub(wanted).clamp(least, most);
        let since = (head - begun).min(room - part(CAUSE));
        // The time before the cause gets the rest.
        let left = begun.saturating_sub(room - since).min(origin);
        let before = if begun > left { room - since } else { 0 };
        let mut plot = Self::from(left, head, seen.position, seen.area);
        plot.compress(seen, (left, begun), (0, before));
        plot.compress(seen, (begun, head), (before, if before == 0 { head - begun } else { since }));
        plot
    }

    /// Maps columns of the chart to `room` columns of the screen from `offset` on. If they are too many, time in which
    /// there is nothing to read is shortened first, then the longest texts.
    fn compress(&mut self, seen: &PlotInput<'_>, (begin, end): (u32, u32), (offset, room): (u32, u32)) {
        if begin == end {
            return;
        }
        let texts = if end - begin > room { (seen.texts)() } else { Vec::new() };
        let covered = |from: u32, to: u32| -> u32 {
            let inside = texts.iter().map(|text| text.1.min(to).saturating_sub(text.0.max(from)));
            inside.sum()
        };
        // The gaps between events: the columns of each, and how many of them are covered by texts.
        let mut gaps = Vec::new();
        let mut from = begin;
        while from < end && gaps.len() <= usize::from(self.area.width) {
            let next = (seen.next)(from + 1).unwrap_or(end).min(end);
            gaps.push((next - from, covered(from, next)));
            from = next;
        }
        let place = |(gap, words): (u32, u32), (blank, text): (u32, u32)| {
            ((gap - words).min(blank) + words.min(text)).max(1)
        };
        let taken = |most: (u32, u32)| gaps.iter().map(|gap| place(*gap, most)).sum::<u32>();
        let fits = |most: &(u32, u32)| from == end && taken(*most) <= room;
        let blanks = (1..=room).rev().map(|blank| (blank, u32::MAX));
        let most = blanks.chain((1..=room).rev().map(|text| (1, text))).find(fits);
        let Some(most) = most.filter(|_| end - begin > room) else {
            self.corners.push((end, offset + room));
            return;
        };
        // Spare columns go to the newest of the shortened gaps.
        let mut over = room - taken(most);
        let mut places: Vec<u32> = gaps.iter().map(|gap| place(*gap, most)).collect();
        for (place, (gap, _)) in places.iter_mut().zip(&gaps).rev() {
            let more = over.min(1).min(gap - *place);
            *place += more;
            over -= more;
        }
        let mut corner = (begin, offset);
        self.corners.extend(gaps.iter().zip(places).map(|((gap, _), place)| {
            corner = (corner.0 + gap, corner.1 + place);
            corner
        }));
    }

    /// The columns that labels or commands need right of the playhead.
    pub const fn tail(detail: Detail) -> u16 {
        match detail {
            Detail::Labels => TAIL.0,
            Detail::Wires => TAIL.1,
        }
    }

    /// The columns for the present: a quarter of the width, or more if the newest text needs them.
    fn now(detail: Detail, newest: u32, area: Rect) -> u16 {
        let quarter = Self::tail(detail).max(area.width / 4).min(area.width / 2);
        u16::try_from(newest).unwrap_or(u16::MAX).min(area.width / 3 * 2).max(quarter)
    }

    /// How far the newest tick's text reaches right of the playhead.
    fn newest(scene: &Scene<'_>, head: u32) -> u32 {
        let position = scene.world.position;
        let lane = lanes::last_actor(scene).and_then(|actor| scene.chart.lanes.get(actor.0 as usize));
        let Some(lane) = lane.filter(|lane| lane.band.is_none()) else { return 0 };
        let known = lane.marks.partition_point(|mark| mark.event < position);
        let Some(mark) = known.checked_sub(1).map(|n| &lane.marks[n]) else { return 0 };
        let words = text::width(&scene.mark_text(mark, position, usize::MAX)) + 4;
        (mark.x + u32::try_from(words).unwrap_or(u32::MAX)).saturating_sub(head)
    }

    /// The columns up to the playhead that are covered by the texts of ticks.
    fn texts(scene: &Scene<'_>, head: u32) -> Vec<(u32, u32)> {
        let position = scene.world.position;
        let mut texts = Vec::new();
        for lane in scene.chart.lanes.iter().filter(|lane| lane.band.is_none()) {
            let known = lane.marks.partition_point(|mark| mark.event < position && mark.x < head);
            let first = known.saturating_sub(MOST_TEXTS);
            for (n, mark) in lane.marks[first..known].iter().enumerate() {
                let words = scene.mark_text(mark, position, LONGEST_TEXT);
                let end = mark.x + 3 + u32::try_from(text::width(&words)).unwrap_or(u32::MAX);
                let next = lane.marks.get(first + n + 1).map_or(u32::MAX, |next| next.x);
                texts.push((mark.x, end.min(next)));
            }
        }
        texts.sort_unstable();
        let mut apart: Vec<(u32, u32)> = Vec::new();
        for (from, to) in texts {
            match apart.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => apart.push((from, to)),
            }
        }
        apart
    }

    /// The left edge of a window that follows the playhead, with `now` columns right of it.
    pub fn following(head: u32, now: u16, area: Rect) -> u32 {
        head.saturating_sub(u32::from(area.width - now.min(area.width)))
    }

    /// A whole run at once, however long it is, with most of the space for what was broken.
    fn of_whole_run(seen: &PlotInput<'_>) -> Self {
        let (head, width) = (seen.head, u32::from(seen.area.width));
        let (mut all, mut lasts) = (Vec::new(), false);
        let is_told =
            |scene: &Scene<'_>| !scene.chart.overlap_spans.is_empty() || scene.chart.oversold.is_some();
        let loud = if seen.scenes.iter().any(is_told) { LOUD } else { BROKEN };
        for scene in seen.scenes {
            let position = scene.world.position;
            // If there are overlaps or overselling, other breaches need no space beyond that of their steps.
            let is_told = is_told(scene);
            let broken = scene.chart.broken.len();
            let count = scene.chart.alarms().count() - if is_told { broken } else { 0 };
            let overlap_spans: Vec<_> = scene.chart.alarms().take(count).collect();
            // A stretch that lasts to the end reaches the right edge.
            lasts |= overlap_spans
                .iter()
                .any(|overlap_span| overlap_span.to.is_none_or(|(x, event)| event >= position || x > head));
            all.extend(overlap_spans.into_iter().map(|overlap_span| within(overlap_span, head)));
        }
        all.sort_unstable();
        let wanted = if all.is_empty() { 0 } else { width * loud.0 / loud.1 };
        let mut stretches: Vec<(u32, u32)> = Vec::new();
        for (from, to) in all {
            let full = stretches.len() == STRETCHES;
            match stretches.last_mut() {
                Some(last) if from <= last.1 || full => last.1 = last.1.max(to),
                _ => stretches.push((from, to)),
            }
        }
        stretches.retain(|(from, to)| from < to);
        if wanted == 0 {
            // Nothing went wrong, so the last step needs no more room than its label, and the longest gaps shrink first.
            let tail = u32::from(Self::tail(Detail::Labels)).min(width / 5);
            let mut plot = Self::from(0, head, seen.position, seen.area);
            plot.compress(seen, (0, head), (0, width - tail));
            return Self { whole: true, ..plot };
        }
        let most = width / 4;
        let tail = seen.newest.clamp(u32::from(Self::tail(Detail::Labels)).min(most), most.max(1)).min(width);
        let tail = if lasts && stretches.is_empty() { tail.max(wanted) } else { tail };
        let least = wanted.saturating_sub(if lasts { tail } else { 0 });
        let cause = if loud == LOUD { CAUSE } else { CAUSE_OF_BROKEN };
        let plot = Self::with_stretches(seen, 0, (&stretches, least, cause), width - tail);
        Self { whole: true, ..plot }
    }

    /// A step in which something was broken and restored: it gets space, however short it was.
    fn after_brief_alarm(seen: &PlotInput<'_>, (from, to): (u32, u32)) -> Self {
        let (head, width) = (seen.head, u32::from(seen.area.width));
        let detail = seen.scenes.first().map_or_else(Detail::default, |scene| scene.chart.detail);
        let tail = u32::from(Self::now(detail, seen.newest.min(width / 4), seen.area));
        let room = width.saturating_sub(tail);
        let least = (width * LOUD.0 / LOUD.1).min(room);
        let stretches = [(from, to)];
        let stretches = if from < to { &stretches[..] } else { &[] };
        let left = head.saturating_sub(to.saturating_sub(from) + room - least);
        let left = left.min(from.saturating_sub(BEFORE));
        Self::with_stretches(seen, left, (stretches, least, CAUSE), room)
    }

    /// Maps the columns from `left` to the playhead to `room` columns of the screen. `stretches` get at least `least`
    /// of them, and the rest is shortened: first what came after them, because the cause before them gets its share of
    /// the window.
    fn with_stretches(
        seen: &PlotInput<'_>,
        left: u32,
        (stretches, least, cause_share): (&[(u32, u32)], u32, (u32, u32)),
        room: u32,
    ) -> Self {
        let head = seen.head;
        let inside: u32 = stretches.iter().map(|(from, to)| to - from).sum();
        let outside = head - left - inside;
        // However long the stretches lasted, their cause stays visible.
        let cause = stretches.first().map_or(0, |(from, _)| from - left);
        let part = u32::from(seen.area.width) * cause_share.0 / cause_share.1;
        let even = (room * inside / (head - left).max(1)).min(room.saturating_sub(cause.min(part)));
        let least = if inside == 0 { 0 } else { least.max(even).min(room) };
        let rest = room - least;
        let quiet = outside.min(rest);
        let share = quiet * cause / outside.max(1);
        let kept = (quiet - share).min(rest / 3);
        let before = if cause == 0 { 0 } else { share.max(part.min(rest - kept)) };
        let after = (quiet - share).min(rest - before);
        let loud = if inside == 0 { 0 } else { room - before - after };
        let first = left + cause;
        let place = |over: u32, column: u32| {
            before + over * loud / inside.max(1) + (column - first - over) * after / (outside - cause).max(1)
        };
        let mut plot = Self::from(left, head, seen.position, seen.area);
        plot.compress(seen, (left, first), (0, before));
        let (mut end, mut over) = (left, 0);
        for (from, to) in stretches {
            if *from > first {
                plot.corners.push((*from, place(over, *from)));
            }
            over += to - from;
            plot.corners.push((*to, place(over, *to)));
            end = *to;
        }
        if head > end {
            plot.corners.push((head, place(over, head)));
        }
        plot
    }

    /// The chart's column after the last visible one.
    pub fn right(&self) -> u32 {
        self.column(self.area.right())
    }

    pub fn screen(&self, x: u32) -> Option<u16> {
        let n = self.corners.partition_point(|(from, _)| *from <= x).checked_sub(1)?;
        let ((from, at), along) = (self.corners[n], x - self.corners[n].0);
        let offset = match self.corners.get(n + 1) {
            Some((to, end)) => at + along * (end - at) / (to - from),
            None => at + along,
        };
        let offset = u16::try_from(offset).ok()?;
        (offset < self.area.width).then_some(self.area.x + offset)
    }

    /// The chart's column at a column of the screen.
    pub fn column(&self, screen: u16) -> u32 {
        let offset = u32::from(screen.saturating_sub(self.area.x));
        let n = self.corners.partition_point(|(_, at)| *at <= offset).saturating_sub(1);
        let (from, at) = self.corners[n];
        match self.corners.get(n + 1) {
            Some((to, end)) => from + (offset - at) * (to - from) / (end - at),
            None => from + offset - at,
        }
    }

    /// The first column of a stretch on the screen and the one after its last, at least one wide. A stretch that has
    /// not ended reaches the right edge.
    pub fn stretch(&self, from: (u32, usize), to: Option<(u32, usize)>) -> Option<(u16, u16)> {
        if from.1 >= self.position || from.0 > self.head {
            return None;
        }
        let start = self.screen(from.0.max(self.left))?;
        let end = match to {
            Some((x, event)) if event < self.position && (x <= self.head || !self.whole) => {
                if x.max(from.0 + 1) <= self.left {
                    return None;
                }
                self.screen(x).unwrap_or(self.area.right())
            }
            // Open stretches last until now.
            _ => self.area.right(),
        };
        Some((start, end.max(start + 1)))
    }

    pub fn fill(&self, (from, to): (u16, u16), y: u16, symbol: &str, style: Style, buf: &mut Buffer) {
        for x in from..to.min(self.area.right()) {
            cells::put(buf, (x, y), symbol, style);
        }
    }

    /// Writes text from a column on, up to `limit`. Returns the column after it.
    pub fn write(&self, at: (u16, u16), words: &str, limit: u16, style: Style, buf: &mut Buffer) -> u16 {
        cells::write(at, words, limit.min(self.area.right()), style, buf)
    }

    /// Draws the line of the playhead over empty cells.
    pub fn playhead(&self, scene: &Scene<'_>, rows: Rect, buf: &mut Buffer) {
        let Some(x) = self.screen(self.head) else { return };
        cells::line(buf, (x, rows), &[" "], glyphs::PLAYHEAD, scene.style(Role::Chrome));
    }

    /// Draws the line through everything at the moment of the selected event.
    pub fn hairline(&self, scene: &Scene<'_>, rows: Rect, buf: &mut Buffer) {
        let chosen = scene.selected.map(|event| scene.chart.column(event));
        let Some(x) = chosen.and_then(|column| self.screen(column)) else { return };
        let over = [" ", glyphs::PLAYHEAD, glyphs::CLASH_EDGE];
        cells::line(buf, (x, rows), &over, glyphs::HAIRLINE, scene.style(Role::Accent));
    }

    /// Draws the axis: first when something began or ceased to be wrong, then the times of other events, as close as
    /// their text allows.
    pub fn axis(&self, scene: &Scene<'_>, y: u16, buf: &mut Buffer) {
        let chrome = scene.style(Role::Chrome);
        self.fill((self.area.x, self.area.right()), y, "─", chrome, buf);
        let head = self.screen(self.head).unwrap_or(u16::MAX);
        let now = time::moment(scene.display);
        let alarms = scene.chart.alarms().take(MOST_ALARMS);
        let edges: Vec<(u32, usize)> = alarms.flat_map(|span| [Some(span.from), span.to]).flatten().collect();
        let is_known = |(x, event): &(u32, usize)| *event < self.position && *x <= self.head;
        let bounds = edges.iter().filter(|edge| is_known(edge)).filter_map(|(x, _)| self.screen(*x));
        let bounds: Vec<u16> = bounds.collect();
        let mut column = self.left;
        let others = std::iter::from_fn(|| {
            let event = scene.chart.event_at(column, self.position)?;
            let x = scene.chart.column(event);
            column = self.column(self.screen(x)? + 1).max(x + 1);
            Some((x, event))
        });
        let mut ticks: Vec<(u16, u16, String)> = Vec::new();
        let edges = edges.into_iter().map(|(x, event)| (x, event, true));
        for (x, event, is_edge) in edges.chain(others.map(|(x, event)| (x, event, false))) {
            let known = event < self.position && x <= self.head;
            // What was found at the end of a step may have begun earlier, where another event has the column.
            let event = if is_edge { scene.chart.event_at(x, event + 1).unwrap_or(event) } else { event };
            let (Some(screen), Some(logged)) =
                (self.screen(x), scene.log.events().get(event).filter(|_| known))
            else {
                continue;
            };
            let said = time::moment(logged.at);
            let width = u16::try_from(text::width(&said)).unwrap_or(u16::MAX);
            let columns = if is_edge { width + 2 } else { TICK.max(width + 2) };
            // Where something ends there may be room left of the tick only.
            let left = screen.checked_sub(width).filter(|left| is_edge && *left >= self.area.x);
            let right = (screen, screen + columns, format!("┴{said} "));
            let left = left.map(|left| (left, screen + 1, format!("{said}┴")));
            // Of two close edges, the earlier one leaves the columns right of it to the later one.
            let is_close = is_edge && bounds.iter().any(|edge| (screen + 1..screen + columns).contains(edge));
            let [first, second] = if is_close { [left, Some(right)] } else { [Some(right), left] };
            let bare = is_edge.then(|| (screen, screen + 1, "┴".to_owned()));
            let is_free = |(from, end, _): &(u16, u16, String)| {
                *end <= head && ticks.iter().all(|(start, stop, _)| end <= start || stop <= from)
            };
            // A time that reads like the one before is omitted, and the current time is shown at the playhead.
            let before = ticks.iter().rfind(|(from, ..)| *from <= screen);
            let is_new = said != now && before.is_none_or(|(.., words)| !words.contains(&said));
            let timed = first.into_iter().chain(second).filter(|_| is_new);
            if let Some(tick) = timed.chain(bare).find(is_free) {
                let at = ticks.partition_point(|(from, ..)| *from < tick.0);
                ticks.insert(at, tick);
            }
        }
        for (x, _, words) in ticks {
            self.write((x, y), &words, self.area.right(), chrome, buf);
        }
        if let Some(x) = self.screen(self.head) {
            let words = format!("↑ {now} ");
            self.write((x, y), &words, self.area.right(), scene.style(Role::Accent), buf);
        }
    }
}

/// The columns of an overlap, up to the playhead.
fn within(overlap_span: &OverlapSpan, head: u32) -> (u32, u32) {
    let from = overlap_span.from.0;
    (from, overlap_span.to.map_or(head, |to| to.0).max(from + 1).min(head))
}
