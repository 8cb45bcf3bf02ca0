//! The lesson screen: it divides the screen into panes and must not know how a pane is drawn.

use std::time::Duration;

use super::{
    FreeView, SingleRun, banner, failure, header::Header, key_hints, lanes, layout::Areas, paragraph,
    prelude::*, program, scrubber::Scrubber, sequence, servers, wire,
};
use crate::{
    clock::ClockKind,
    log::{Event, Stop},
    ui::{
        keys::{KeyScope, Pane},
        state::{
            catalogue::CatalogueEntry,
            classroom::Class,
            comparing,
            predicting::Predictions,
            programs::Programs,
            screen::{DiagramKind, Form, Motion, RunPhase, Scrolls},
        },
    },
    verdict::{Outcome, Verdict},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hit {
    Nothing,
    Pane(Pane),
    Event(Pane, usize),
    /// A position of the playhead, on the scrubber.
    Position(usize),
    /// The index of a choice, of the question or of free play, and the pane in which it is listed.
    Choice(Pane, usize),
}

#[derive(Debug, Clone, Copy)]
pub struct LessonView<'a> {
    pub scene: Scene<'a>,
    pub entry: &'a CatalogueEntry,
    pub variant: usize,
    pub phase: RunPhase<'a>,
    pub motion: Motion,
    pub speed: f64,
    pub focus: Pane,
    pub form: Form,
    /// For how long the lesson has been presented.
    pub presented: Option<Duration>,
    /// The seconds that the current step has taken, if it takes long.
    pub waited: Option<u64>,
    pub scrolls: &'a Scrolls,
    pub diagram: DiagramKind,
    /// The first visible client of the sequence, counted from 0; `None` follows the newest row.
    pub first_client: Option<u16>,
    /// Whether the verdict shows its claims' expressions and evidence.
    pub proof: bool,
    pub predictions: &'a Predictions,
    /// The next lesson, if this variant is the last of its lesson.
    pub next: Option<&'a CatalogueEntry>,
    /// The action to suggest to a newcomer.
    pub tip: Option<&'static str>,
    /// The clients' programs, and where the clients are in them.
    pub programs: &'a Programs,
    /// Whether the programs are shown in place of the wire when there is no room for both.
    pub program: bool,
    /// The number of rows that the learner has added to the timelines; may be negative.
    pub rows: i16,
    /// What this run is, if it is not a run of the story.
    pub single: Option<SingleRun<'a>>,
    pub free: Option<FreeView<'a>>,
    pub class: Option<&'a Class>,
}

/// The same text in one style.
fn plain(line: Line<'_>) -> Line<'_> {
    line.spans.into_iter().map(|span| Span::raw(span.content)).collect()
}

impl<'a> LessonView<'a> {
    /// The verdict, once the playhead is at the end.
    pub(crate) fn verdict(&self) -> Option<&'a Verdict> {
        match self.phase {
            RunPhase::Over(verdict) if self.at_end() => verdict,
            _ => None,
        }
    }

    pub(crate) fn place(&self) -> KeyScope {
        match (self.single, self.free) {
            (Some(_), _) => KeyScope::Single,
            (None, Some(_)) => KeyScope::Free,
            (None, None) => KeyScope::Lesson,
        }
    }

    /// The number of steps, as far as it is known.
    pub(crate) fn step_count(&self) -> usize {
        let planned = || Some(self.entry.variants.get(self.variant)?.plan.steps);
        let raced = self.single.map(|single| match single {
            SingleRun::Answer(_) | SingleRun::Order(_) | SingleRun::Examined(_) => {
                choices(self.scene.log.events())
            }
            _ => self.scene.chart.story_marks.last().map_or(0, |mark| mark.item + 1),
        });
        raced.or_else(planned).unwrap_or(0)
    }

    pub(crate) fn at_end(&self) -> bool {
        self.scene.world.position == self.scene.log.len()
    }

    /// Whether the lanes have nothing to show yet.
    pub(crate) fn is_fresh(&self) -> bool {
        // Single runs and free play have no introduction to read.
        if self.single.is_some() || self.free.is_some() {
            return false;
        }
        let events = self.scene.log.events().get(..self.scene.world.position).unwrap_or_default();
        !events.iter().rev().any(|event| matches!(event.kind, EventKind::Stop { .. }))
    }

    pub(crate) fn on_wall_clock(&self) -> bool {
        !self.scene.log.is_empty() && self.scene.world.clock == ClockKind::Wall
    }

    pub fn reach(&self, pane: Pane, area: Rect) -> u16 {
        let areas = self.areas(area);
        let over = |lines: usize, area: Rect| {
            u16::try_from(lines).unwrap_or(u16::MAX).saturating_sub(inside(area).height)
        };
        match pane {
            Pane::Story => over(self.story_pane_lines(areas.story).len(), areas.story),
            Pane::Lanes if self.diagram == DiagramKind::Sequence => sequence::layout::reach(&self.scene),
            Pane::Lanes => lanes::reach(&self.scene, inside(areas.lanes)),
            Pane::Servers => over(self.server_lines(inside(areas.servers)).len(), areas.servers),
            Pane::Wire => wire::reach(&self.scene, inside(areas.wire).height),
            Pane::Program => {
                let inner = inside(areas.program);
                over(program::lines(self, inner.width).lines.len(), areas.program)
            }
        }
    }

    pub(crate) fn draw(&self, area: Rect, buf: &mut Buffer) {
        let areas = self.areas(area);
        let lang = self.scene.lang;
        let header = Header::new(self, areas.header);
        let titled = header.names_lesson();
        header.draw(!areas.story.is_empty(), buf);
        if !areas.warning.is_empty() {
            let words = format!(" {}", words::WALL_WARNING.get(lang));
            let Rect { x, y, width, .. } = areas.warning;
            let words = text::pad(&words, width.into());
            buf.set_stringn(x, y, words, width.into(), self.scene.style(Role::Warning));
        }
        if !areas.story.is_empty() {
            self.draw_story(areas.story, titled, buf);
        }
        self.draw_panes(&areas, buf);
        if !areas.scrubber.is_empty() {
            self.scrubber(&areas).draw(&self.scene, buf);
        }
        if !areas.hints.is_empty() {
            let idle = self.idle(area, &areas);
            match self.tip.and_then(|action| self.tip_for(action)) {
                Some(tip) => {
                    key_hints::tell(self.scene.context(), (self.place(), &idle), &tip, areas.hints, buf);
                }
                None => key_hints::draw(self.scene.context(), self.place(), &idle, areas.hints, buf),
            }
        }
        if let RunPhase::Failed(failure) = self.phase
            && self.at_end()
        {
            failure::draw(&self.scene, failure, area, buf);
        }
    }

    /// The names of the actions that would change nothing on the screen now.
    fn idle(&self, area: Rect, areas: &Areas) -> Vec<&'static str> {
        let mut idle = self.free.map_or_else(Vec::new, |free| free.idle());
        idle.extend(key_hints::idle_in(self.entry));
        if self.class.is_none() {
            idle.extend(["join", "vote"]);
        }
        let fresh = self.is_fresh();
        // Nothing comes after this, not even a verdict.
        let chosen = self.was_chosen() && matches!(self.phase, RunPhase::Over(_));
        let over = self.verdict().is_some() || (self.at_end() && (self.single.is_some() || chosen));
        if over && self.free.is_none() {
            idle.extend(["step", "play"]);
        }
        // The question must be answered first.
        if self.predictions.waits(&self.scene) {
            idle.push("step");
        }
        // Programs and wire are both visible in places of their own, or both hidden.
        let hidden = areas.program.is_empty() && areas.wire.is_empty();
        if fresh || ((hidden || Self::is_wide(area)) && self.verdict().is_none()) {
            idle.push("program");
        }
        if fresh {
            idle.extend(["back", "lens", "focus", "zoom"]);
        }
        if self.entry.variants.len() < 2 {
            idle.push("next-variant");
        }
        if comparing::sides(self.entry, None).is_none() {
            idle.push("compare");
        }
        idle
    }

    fn tip_for(&self, action: &str) -> Option<String> {
        let asked = self.verdict().is_none() && self.predictions.shown(&self.scene).is_some();
        let words = match action {
            _ if self.place() != KeyScope::Lesson || asked => return None,
            "step" if self.scene.world.clock == ClockKind::Recorded => words::TIP_STEP_RECORDED,
            "step" => words::TIP_STEP,
            "compare" if comparing::sides(self.entry, None).is_some() => words::TIP_COMPARE,
            "free" => words::TIP_FREE,
            _ => return None,
        };
        Some(words.with(self.scene.lang, &[&self.scene.keys.label(action)]))
    }

    /// Draws the story. The lesson's title is in its frame unless the header has it.
    fn draw_story(&self, area: Rect, titled: bool, buf: &mut Buffer) {
        let lang = self.scene.lang;
        let shown = self.predictions.shown(&self.scene).filter(|_| self.free.is_none());
        let chosen = self.scene.selected.is_some();
        let title = match (self.verdict().is_some(), shown) {
            _ if chosen => words::CHOSEN,
            (false, None) if let Some(single) = &self.single => single.title(),
            _ if self.free.is_some() => words::FREE,
            (false, None) if self.was_chosen() => words::WAS_CHOSEN,
            (true, _) => words::VERDICT,
            (false, Some(_)) => words::PREDICTION,
            (false, None) if self.scene.world.narration.is_none() => words::INTRO,
            (false, None) => words::STORY,
        };
        let inner = self.frame(Pane::Story, title.get(lang), area, buf);
        if !titled {
            let room = usize::from(area.width).saturating_sub(text::width(title.get(lang)) + 8);
            let title = format!(" {} ", text::fit(self.entry.lesson.title.get(lang), room));
            let width = u16::try_from(text::width(&title)).unwrap_or(area.width);
            let x = area.right().saturating_sub(width + 2).max(area.x);
            buf.set_stringn(x, area.y, title, width.into(), self.scene.style(Role::Accent));
        }
        let failed = match self.verdict() {
            Some(verdict) => verdict.outcome != Outcome::Prevented,
            None => self.scene.alarm().is_some(),
        };
        if failed {
            // The frame turns red, its text does not.
            for place in area.positions().filter(|place| !inner.contains(*place)) {
                if matches!(buf[place].symbol(), "─" | "│" | "╭" | "╮" | "╰" | "╯") {
                    buf[place].set_style(self.scene.style(Role::Danger));
                }
            }
        }
        let room = area.width.saturating_sub(16);
        let hint = if chosen {
            let keys: [(&[&str], _); 2] = [(&["go-there"], words::GO_THERE), (&["leave"], words::LET_GO)];
            Some(key_hints::named(self.scene.context(), &keys, room))
        } else {
            let shown = shown.filter(|_| self.verdict().is_none());
            shown.and_then(|shown| self.predictions.hint(&self.scene, shown))
        };
        if let Some(hint) = hint {
            buf.set_line(area.x + 2, area.bottom().saturating_sub(1), &hint, room);
        }
        let inner = paragraph::text_area(inner);
        let scroll = self.scrolls.get(Pane::Story).unwrap_or(0);
        paragraph::draw_with_more(&self.story_pane_lines(area), scroll, self.scene.context(), inner, buf);
    }

    fn draw_panes(&self, areas: &Areas, buf: &mut Buffer) {
        let (scene, lang) = (&self.scene, self.scene.lang);
        if !areas.lanes.is_empty() {
            // If no actor ever believes anything about a lock, there is nothing to compare with the servers.
            let scenario =
                self.entry.variants.get(self.variant).and_then(|variant| variant.plan.scenario.as_ref());
            let believes = scene.world.actors.iter().any(|actor| actor.ever_believed)
                || scenario.is_some_and(|scenario| scenario.has_beliefs());
            let title = match self.diagram {
                DiagramKind::Sequence => words::SEQUENCE,
                DiagramKind::Timeline if believes => words::LANES,
                DiagramKind::Timeline => words::LANES_FREE,
            };
            let inner = self.frame(Pane::Lanes, title.get(lang), areas.lanes, buf);
            match self.diagram {
                DiagramKind::Timeline => lanes::draw(scene, self.scrolls.get(Pane::Lanes), inner, buf),
                DiagramKind::Sequence => {
                    sequence::draw(scene, self.view(), inner, buf);
                }
            }
            let counters = self.counters(areas.lanes);
            let width = u16::try_from(counters.width()).unwrap_or(u16::MAX);
            let below = self.diagram == DiagramKind::Timeline && banner::is_captioned(scene, inner);
            let title = (title.get(lang), below);
            let is_loud = banner::draw_on_frame(scene, title, (areas.lanes, width), buf);
            let counters = if is_loud { plain(counters).style(scene.theme.alarming()) } else { counters };
            buf.set_line(areas.lanes.right() - width - 2, areas.lanes.y, &counters, width);
        }
        if !areas.servers.is_empty() {
            let title = servers::title(scene, areas.servers.width);
            let inner = self.frame(Pane::Servers, &title, areas.servers, buf);
            let lines = self.server_lines(inner);
            let scroll = self.scrolls.get(Pane::Servers);
            let scroll = scroll.unwrap_or_else(|| servers::newest(&lines, inner.height));
            paragraph::draw_with_more(&lines, scroll, scene.context(), inner, buf);
            if scroll > 0 {
                paragraph::draw_more_above(scene.context(), inner, buf);
            }
        }
        if !areas.wire.is_empty() {
            let inner = self.frame(Pane::Wire, words::WIRE.get(lang), areas.wire, buf);
            wire::draw(scene, self.scrolls.get(Pane::Wire), inner, buf);
        }
        if !areas.program.is_empty() {
            let inner = self.frame(Pane::Program, words::PROGRAM.get(lang), areas.program, buf);
            program::draw(self, self.scrolls.get(Pane::Program), inner, buf);
        }
    }

    /// The contents of the servers. During a race they are not read.
    pub(crate) fn server_lines(&self, inner: Rect) -> Vec<Line<'a>> {
        let seen = self.scene.world.servers.iter().any(|server| server.observed.is_some());
        if !seen && matches!(self.single, Some(SingleRun::Race(_))) {
            let words = words::NOT_READ.get(self.scene.lang);
            return vec![Line::styled(words, self.scene.style(Role::Chrome))];
        }
        servers::lines(&self.scene, inner)
    }

    fn scrubber(&self, areas: &Areas) -> Scrubber {
        Scrubber::new(&self.scene, self.step_count(), areas.scrubber)
    }

    pub fn hit(&self, area: Rect, (x, y): (u16, u16)) -> Hit {
        let areas = self.areas(area);
        if areas.scrubber.contains((x, y).into()) {
            return Hit::Position(self.scrubber(&areas).position(&self.scene, x));
        }
        match areas.pane(x, y) {
            Some(pane @ (Pane::Story | Pane::Program)) => {
                let choice = if pane == Pane::Story {
                    self.choice(areas.story, (x, y))
                } else {
                    program::choice(self, self.scrolls.get(pane), inside(areas.program), y)
                };
                choice.map_or(Hit::Pane(pane), |choice| Hit::Choice(pane, choice))
            }
            Some(pane) => match self.event_at(area, (x, y)) {
                Some(event) => Hit::Event(pane, event),
                None => Hit::Pane(pane),
            },
            None => Hit::Nothing,
        }
    }

    fn choice(&self, story: Rect, (x, y): (u16, u16)) -> Option<usize> {
        if self.verdict().is_some() || self.scene.selected.is_some() {
            return None;
        }
        let width = inside(story).width.saturating_sub(2);
        let line = y.checked_sub(inside(story).y)? + self.scrolls.get(Pane::Story).unwrap_or(0);
        if let Some(free) = self.free {
            let column = x.checked_sub(inside(story).x + 1)?;
            return self.free_choice(free, (column, line.into()), width);
        }
        let shown = self.predictions.shown(&self.scene)?;
        let count = self.predictions.lines(&self.scene, shown, width).len();
        let line = if self.is_spaced(false, count, story) { line / 2 } else { line };
        Predictions::choice(&self.scene, shown, (usize::from(line), width))
    }

    /// The counters, for the right end of the pane's frame; empty if there is no room.
    fn counters(&self, area: Rect) -> Line<'a> {
        let scene = &self.scene;
        let mut spans = Vec::new();
        for (name, value) in &scene.world.counters {
            spans.push(Span::styled(
                format!(" {} ", text::fit(words::named(scene.log, name, scene.lang), 16)),
                scene.style(Role::Chrome),
            ));
            spans.push(Span::styled(format!("{value} "), scene.style(Role::Fresh)));
        }
        let line = Line::from(spans);
        if line.width() + 30 < usize::from(area.width) { line } else { Line::default() }
    }

    fn frame(&self, pane: Pane, title: &str, area: Rect, buf: &mut Buffer) -> Rect {
        paragraph::pane(self.scene.context(), title, self.focus == pane, area, buf)
    }
}

/// The number of the step that an event ends, counted from 1.
pub(crate) fn stop(event: &Event) -> Option<usize> {
    if let EventKind::Stop { item, .. } = event.kind { Some(item + 1) } else { None }
}

/// The number of choices made; each is a step, whatever item of the story was next. The last stop only observes the
/// servers and is not counted.
pub(crate) fn choices(events: &[Event]) -> usize {
    let made = events.iter();
    made.filter(|event| matches!(event.kind, EventKind::Stop { stop, .. } if stop != Stop::End)).count()
}

pub(crate) fn inside(area: Rect) -> Rect {
    Block::bordered().inner(area)
}
