//! The window through which the elastic time axis is seen: columns of the chart to columns of the screen.

use super::{cells, lanes, prelude::*};
use crate::ui::chart::{Detail, OverlapSpan};

/// Columns that the newest tick's words get right of the playhead at least: labels, and commands.
const TAIL: (u16, u16) = (22, 40);
/// So many stretches with too many holders are given room of their own where a whole run is seen at once.
const STRETCHES: usize = 3;
/// Columns between two times on the axis.
pub const TICKS: u32 = 12;
const TICK: u16 = 12;
/// How much of the room what broke has at least, where all of a run, or all of a step, is seen.
const LOUD: (u32, u32) = (11, 20);
/// While something is wrong, what is so now has so many times the columns of one row of the pane, to be seen from afar: of
/// a high pane fewer columns are enough. Of all columns it has at least and at most so much.
const WRONG: u32 = 9;
const WRONG_LEAST: (u32, u32) = (2, 5);
const WRONG_MOST: (u32, u32) = (5, 7);
/// Columns of what came before a stretch that is drawn large.
const BEFORE: u32 = 8;

/// What lies right of the playhead is *now*: whatever lasts is drawn up to the right edge, so that the newest step is
/// never a sliver.
#[derive(Debug, Clone)]
pub struct Plot {
    pub left: u32,
    pub head: u32,
    /// How many events are over.
    pub position: usize,
    /// Whether all of a run is seen: then what ended with its last event reaches the right edge.
    whole: bool,
    pub area: Rect,
    /// Which columns of the chart stand at which of the screen, counted from the left edge: evenly between two of them,
    /// and one to one after the last.
    corners: Vec<(u32, u32)>,
}

impl Plot {
    pub fn new(scene: &Scene<'_>, area: Rect) -> Self {
        let position = scene.world.position;
        let head = scene.chart.playhead(scene.log, position, scene.display);
        let newest = Self::newest(scene, head);
        if scene.whole {
            return Self::whole(scene, head, newest, area);
        }
        let brief = scene.past().and_then(|overlap| scene.chart.overlap_span_of(overlap.event));
        if let Some(overlap_span) = brief.filter(|_| scene.selected.is_none()) {
            return Self::brief(scene, overlap_span, (head, newest), area);
        }
        if let Some(cause) = scene.cause().filter(|_| scene.selected.is_none()) {
            return Self::alarming(scene, scene.chart.request_of(scene.log, cause), (head, newest), area);
        }
        let left = Self::following(head, Self::now(scene, newest, area), area);
        // What is chosen draws the window along, and what came before it stays in sight.
        let chosen = scene.selected.map(|event| scene.chart.column(event));
        let before = u32::from(area.width / 4);
        let left = match chosen {
            Some(chosen) if chosen < left => chosen.saturating_sub(before),
            _ => left,
        };
        Self::from(left, head, position, area)
    }

    /// A window from a column of the chart on.
    pub fn from(left: u32, head: u32, position: usize, area: Rect) -> Self {
        Self { left, head, position, whole: false, area, corners: vec![(left, 0)] }
    }

    /// Something is wrong now: what is so now has much of the room, and all since its cause stays in sight. Where that does
    /// not fit, the longest stretches between two events give way first.
    fn alarming(scene: &Scene<'_>, cause: u32, (head, newest): (u32, u32), area: Rect) -> Self {
        let (position, width) = (scene.world.position, u32::from(area.width));
        let part = |(part, whole): (u32, u32)| width * part / whole;
        let most = part(WRONG_MOST);
        let least = (width * WRONG / u32::from(area.height.max(1))).clamp(part(WRONG_LEAST), most);
        let least = least.max(newest.min(width * 2 / 3));
        let begin = cause.saturating_sub(1).min(head);
        let now = width.saturating_sub(head - begin).clamp(least, most.max(least));
        let room = width - now.min(width);
        if head - begin <= room {
            return Self::from(head.saturating_sub(room), head, position, area);
        }
        let mut gaps = Vec::new();
        let mut from = begin;
        while from < head && gaps.len() <= usize::from(area.width) {
            let next =
                scene.chart.event_at(from + 1, position).map_or(head, |event| scene.chart.column(event));
            gaps.push(next.min(head) - from);
            from = next.min(head);
        }
        let taken = |most: u32| gaps.iter().map(|gap| (*gap).min(most)).sum::<u32>();
        let mut plot = Self::from(begin, head, position, area);
        let fits = |most: &u32| from == head && taken(*most) <= room;
        let Some(most) = (1..=room).rev().find(fits) else {
            plot.corners.push((head, room));
            return plot;
        };
        // What is left over goes to the newest of those that gave way.
        let mut over = room - taken(most);
        let mut places: Vec<u32> = gaps.iter().map(|gap| (*gap).min(most)).collect();
        for (place, gap) in places.iter_mut().zip(&gaps).rev() {
            let more = over.min(1).min(gap - *place);
            *place += more;
            over -= more;
        }
        let mut corner = (begin, 0);
        plot.corners.extend(gaps.iter().zip(places).map(|(gap, place)| {
            corner = (corner.0 + gap, corner.1 + place);
            corner
        }));
        plot
    }

    /// The columns that labels or commands need right of the playhead.
    pub const fn tail(detail: Detail) -> u16 {
        match detail {
            Detail::Labels => TAIL.0,
            Detail::Wires => TAIL.1,
        }
    }

    /// Columns for what is so now: a quarter of them all, and more where the newest words need them.
    fn now(scene: &Scene<'_>, newest: u32, area: Rect) -> u16 {
        let quarter = Self::tail(scene.chart.detail).max(area.width / 4).min(area.width / 2);
        u16::try_from(newest).unwrap_or(u16::MAX).min(area.width / 3 * 2).max(quarter)
    }

    /// How far right of the playhead the words of the newest tick reach.
    fn newest(scene: &Scene<'_>, head: u32) -> u32 {
        let position = scene.world.position;
        let lane = lanes::last_actor(scene).and_then(|actor| scene.chart.lanes.get(actor.0 as usize));
        let Some(lane) = lane.filter(|lane| lane.band.is_none()) else { return 0 };
        let known = lane.marks.partition_point(|mark| mark.event < position);
        let Some(mark) = known.checked_sub(1).map(|n| &lane.marks[n]) else { return 0 };
        let words = text::width(&mark.text(
            scene.log,
            (scene.chart.detail, &|word| words::label(word, scene.lang)),
            position,
            usize::MAX,
        )) + 4;
        (mark.x + u32::try_from(words).unwrap_or(u32::MAX)).saturating_sub(head)
    }

    /// The left edge of a window that follows the playhead, with so many columns right of it.
    pub fn following(head: u32, now: u16, area: Rect) -> u32 {
        head.saturating_sub(u32::from(area.width - now.min(area.width)))
    }

    /// All of a run at once, however long it is: most of the room is for what broke.
    fn whole(scene: &Scene<'_>, head: u32, newest: u32, area: Rect) -> Self {
        let position = scene.world.position;
        let width = u32::from(area.width);
        let mut stretches: Vec<(u32, u32)> = Vec::new();
        let mut overlap_spans: Vec<_> = scene.chart.alarms().collect();
        // Beside too many holders, or too much sold, what else was broken is a detail.
        let detail = scene.chart.broken.as_ref().map(|(overlap_span, _)| overlap_span.from);
        if overlap_spans.len() > 1 {
            overlap_spans.retain(|overlap_span| Some(overlap_span.from) != detail);
        }
        overlap_spans.sort_by_key(|overlap_span| overlap_span.from);
        // What lasts to the end reaches the right edge, too.
        let lasts = overlap_spans
            .iter()
            .any(|overlap_span| overlap_span.to.is_none_or(|(x, event)| event >= position || x > head));
        let wanted = if overlap_spans.is_empty() { 0 } else { width * LOUD.0 / LOUD.1 };
        for overlap_span in overlap_spans {
            let (from, to) = (
                overlap_span.from.0,
                overlap_span.to.map_or(head, |to| to.0).max(overlap_span.from.0 + 1).min(head),
            );
            let full = stretches.len() == STRETCHES;
            match stretches.last_mut() {
                Some(last) if from <= last.1 || full => last.1 = last.1.max(to),
                _ => stretches.push((from, to)),
            }
        }
        stretches.retain(|(from, to)| from < to);
        let most = if wanted == 0 { width / 2 } else { width / 4 };
        let tail = newest.clamp(u32::from(Self::tail(Detail::Labels)).min(most), most.max(1)).min(width);
        let tail = if lasts && stretches.is_empty() { tail.max(wanted) } else { tail };
        let least = wanted.saturating_sub(if lasts { tail } else { 0 });
        let plot = Self::stretched((0, head), (&stretches, least), width - tail, (position, area));
        Self { whole: true, ..plot }
    }

    /// The step that was just taken, in which something broke and was over again: that has room, however short it was.
    fn brief(scene: &Scene<'_>, overlap_span: &OverlapSpan, (head, newest): (u32, u32), area: Rect) -> Self {
        let width = u32::from(area.width);
        let tail = u32::from(Self::now(scene, newest.min(width / 4), area));
        let room = width.saturating_sub(tail);
        let least = (width * LOUD.0 / LOUD.1).min(room);
        let (from, to) = (
            overlap_span.from.0,
            overlap_span.to.map_or(head, |to| to.0).max(overlap_span.from.0 + 1).min(head),
        );
        let stretches = [(from, to)];
        let stretches = if from < to { &stretches[..] } else { &[] };
        let left = head.saturating_sub(to.saturating_sub(from) + room - least);
        let left = left.min(from.saturating_sub(BEFORE));
        Self::stretched((left, head), (stretches, least), room, (scene.world.position, area))
    }

    /// A window from one column of the chart to another in so many columns of the screen, of which stretches have at
    /// least some, and the rest gives way.
    fn stretched(
        (left, head): (u32, u32),
        (stretches, least): (&[(u32, u32)], u32),
        room: u32,
        (position, area): (usize, Rect),
    ) -> Self {
        let inside: u32 = stretches.iter().map(|(from, to)| to - from).sum();
        let outside = head - left - inside;
        let least = if inside == 0 { 0 } else { least.max(room * inside / (head - left).max(1)).min(room) };
        let quiet = outside.min(room - least);
        let loud = if inside == 0 { 0 } else { room - quiet };
        let mut plot = Self::from(left, head, position, area);
        let (mut before, mut over) = (left, 0);
        let place = |over: u32, column: u32| {
            over * loud / inside.max(1) + (column - left - over) * quiet / outside.max(1)
        };
        let mut corners = vec![(left, 0)];
        for (from, to) in stretches {
            corners.push((*from, place(over, *from)));
            over += to - from;
            corners.push((*to, place(over, *to)));
            before = *to;
        }
        if head > before {
            corners.push((head, place(over, head)));
        }
        plot.corners = corners;
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

    /// The chart's column that a column of the screen stands for.
    pub fn column(&self, screen: u16) -> u32 {
        let offset = u32::from(screen.saturating_sub(self.area.x));
        let n = self.corners.partition_point(|(_, at)| *at <= offset).saturating_sub(1);
        let (from, at) = self.corners[n];
        match self.corners.get(n + 1) {
            Some((to, end)) => from + (offset - at) * (to - from) / (end - at),
            None => from + offset - at,
        }
    }

    /// The columns of the screen, first and after the last, of a stretch, at least one wide: up to the right edge where
    /// it has not ended.
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
            // What lasts, lasts now.
            _ => self.area.right(),
        };
        Some((start, end.max(start + 1)))
    }

    pub fn fill(&self, (from, to): (u16, u16), y: u16, symbol: &str, style: Style, buf: &mut Buffer) {
        for x in from..to.min(self.area.right()) {
            cells::put(buf, (x, y), symbol, style);
        }
    }

    /// Writes words from a column on, up to a limit; gives the column after them.
    pub fn write(&self, at: (u16, u16), words: &str, limit: u16, style: Style, buf: &mut Buffer) -> u16 {
        cells::write(at, words, limit.min(self.area.right()), style, buf)
    }

    /// The line that marks the playhead, where nothing else stands.
    pub fn playhead(&self, scene: &Scene<'_>, rows: Rect, buf: &mut Buffer) {
        let Some(x) = self.screen(self.head) else { return };
        cells::line(buf, (x, rows), &[" "], glyphs::PLAYHEAD, scene.style(Role::Chrome));
    }

    /// The line through everything that happened at the moment of the chosen event.
    pub fn hairline(&self, scene: &Scene<'_>, rows: Rect, buf: &mut Buffer) {
        let chosen = scene.selected.map(|event| scene.chart.column(event));
        let Some(x) = chosen.and_then(|column| self.screen(column)) else { return };
        let over = [" ", glyphs::PLAYHEAD, glyphs::CLASH_EDGE];
        cells::line(buf, (x, rows), &over, glyphs::HAIRLINE, scene.style(Role::Accent));
    }

    /// The axis: times of events, as far apart as their words need.
    pub fn axis(&self, scene: &Scene<'_>, y: u16, buf: &mut Buffer) {
        let chrome = scene.style(Role::Chrome);
        self.fill((self.area.x, self.area.right()), y, "─", chrome, buf);
        let mut column = self.left;
        let now = time::moment(scene.display);
        let mut last = String::new();
        while let Some(event) = scene.chart.event_at(column, self.position) {
            let x = scene.chart.column(event);
            let (Some(screen), Some(logged)) = (self.screen(x), scene.log.events().get(event)) else { break };
            let next = self.column(screen + TICK).max(x + 1);
            if self.screen(self.head).is_some_and(|head| screen + TICK > head) {
                break;
            }
            let words = format!("┴{} ", time::moment(logged.at));
            // A later moment that reads the same says nothing new, and now is said at the playhead.
            if words != last && time::moment(logged.at) != now {
                self.write((screen, y), &words, self.area.right(), chrome, buf);
            }
            last = words;
            column = next;
        }
        if let Some(x) = self.screen(self.head) {
            let words = format!("↑ {now} ");
            self.write((x, y), &words, self.area.right(), scene.style(Role::Accent), buf);
        }
    }
}
