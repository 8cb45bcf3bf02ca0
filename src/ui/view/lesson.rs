//! The lesson screen: header, story, lanes, servers, wire, hints. It divides the screen and must not know how
//! a pane is drawn.

use crate::ui::keys::Pane;
use crate::ui::state::screen::{Motion, RunPhase, Scrolls};
use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
    widgets::Block,
};

use super::{
    FreeView, Scene, SingleRun, failure, header, lanes, layout::Areas, narration, paragraph,
    scrubber::Scrubber, servers, strip, verdict, wire,
};
use crate::ui::state::{predicting::Predictions, screen::Form};
use crate::ui::view::sequence;
use crate::ui::{
    state::screen::Lens,
    theme::{Role, text},
    words,
};
use crate::{
    clock::ClockKind,
    log::EventKind,
    ui::{keys::Place, state::catalogue::CatalogueEntry},
    verdict::Verdict,
};

/// What is at a place of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hit {
    /// Nothing that can be clicked.
    Nothing,
    Pane(Pane),
    /// An event, told in a pane.
    Event(Pane, usize),
    /// A position of the playhead, on the scrubber.
    Position(usize),
    /// A choice of the question, from 0 on.
    Choice(usize),
}

#[derive(Debug, Clone, Copy)]
pub struct LessonView<'a> {
    /// The log, the world, the time.
    pub scene: Scene<'a>,
    pub entry: &'a CatalogueEntry,
    pub variant: usize,
    /// Where the run stands.
    pub phase: RunPhase<'a>,
    /// Whether it moves by itself.
    pub motion: Motion,
    pub speed: f64,
    pub focus: Pane,
    pub form: Form,
    pub scrolls: &'a Scrolls,
    pub lens: Lens,
    /// How many clients the sequence leaves out at the left; `None` follows who moves.
    pub aside: Option<u16>,
    pub predictions: &'a Predictions,
    /// Where it is one run of many, and not of the story.
    pub single: Option<SingleRun<'a>>,
    /// Free play, once the story has been left.
    pub free: Option<FreeView<'a>>,
}

impl<'a> LessonView<'a> {
    /// The verdict, once the playhead is at the end.
    pub(crate) fn verdict(&self) -> Option<&'a Verdict> {
        match self.phase {
            RunPhase::Over(verdict) if self.at_end() => verdict,
            _ => None,
        }
    }

    /// The place whose keys are told of at the bottom.
    pub(crate) fn place(&self) -> Place {
        match (self.single, self.free) {
            (Some(_), _) => Place::Single,
            (None, Some(_)) => Place::Free,
            (None, None) => Place::Lesson,
        }
    }

    /// How many steps there are to be, as far as that is known.
    pub(crate) fn beats(&self) -> usize {
        let planned = || Some(self.entry.variants.get(self.variant)?.beats);
        let raced = self.single.map(|_| self.scene.chart.beats.last().map_or(0, |beat| beat.item + 1));
        raced.or_else(planned).unwrap_or(0)
    }

    pub(crate) fn at_end(&self) -> bool {
        self.scene.world.position == self.scene.log.len()
    }

    /// Whether nothing has happened yet that the lanes could show.
    pub(crate) fn is_fresh(&self) -> bool {
        // It has no words to read before it begins.
        if self.single.is_some() || self.free.is_some() {
            return false;
        }
        let events = self.scene.log.events().get(..self.scene.world.position).unwrap_or_default();
        !events.iter().rev().any(|event| matches!(event.kind, EventKind::Stop { .. }))
    }

    pub(crate) fn on_wall_clock(&self) -> bool {
        !self.scene.log.is_empty() && self.scene.world.clock == ClockKind::Wall
    }

    /// How far a pane can be scrolled on a screen of this size.
    pub fn reach(&self, pane: Pane, area: Rect) -> u16 {
        let areas = self.areas(area);
        let over = |lines: usize, area: Rect| {
            let inner = inside(area);
            u16::try_from(lines).unwrap_or(u16::MAX).saturating_sub(inner.height)
        };
        match pane {
            Pane::Story => over(self.told_lines(areas.story).len(), areas.story),
            Pane::Lanes if self.lens == Lens::Sequence => sequence::layout::reach(&self.scene),
            Pane::Lanes => lanes::reach(&self.scene, inside(areas.lanes)),
            Pane::Servers => {
                let lines = self.server_lines(inside(areas.servers).width).len();
                over(lines, areas.servers)
            }
            Pane::Wire => wire::reach(&self.scene, inside(areas.wire).height),
        }
    }

    pub(crate) fn story_lines(&self, area: Rect) -> Vec<Line<'static>> {
        let width = inside(area).width.saturating_sub(2);
        if let Some(verdict) = self.verdict() {
            return verdict::lines(&self.scene, verdict, self.predictions, (self.entry, self.variant), width);
        }
        if let Some(free) = self.free {
            return self.free_lines(free, width);
        }
        if let Some(shown) = self.predictions.shown(&self.scene) {
            return self.predictions.lines(&self.scene, shown, width);
        }
        if let Some(single) = &self.single {
            return single.lines(&self.scene, width);
        }
        let words = narration::words(&self.scene, self.entry.intro.get(self.scene.lang));
        let mut lines = narration::lines(words, self.scene.theme, width);
        if self.form == Form::Presenting && !self.is_fresh() {
            lines = narration::large(lines);
        }
        if self.is_fresh() {
            lines.push(Line::default());
            lines.extend(self.opening(width));
        }
        lines
    }

    /// The variants with the chosen one, which servers, and what to press.
    fn opening(&self, width: u16) -> Vec<Line<'static>> {
        let scene = &self.scene;
        let mut lines = Vec::new();
        for (n, variant) in self.entry.variants.iter().enumerate() {
            let (tick, role) = if n == self.variant { ("▸", Role::Accent) } else { (" ", Role::Chrome) };
            let words = format!("{tick} {}. {}", n + 1, variant.title.get(scene.lang));
            let words = text::fit(&words, width.into()).into_owned();
            lines.push(Line::styled(words, scene.style(role)));
        }
        lines.push(Line::default());
        for server in &scene.world.servers {
            // A recorded server answers nowhere any more.
            let place = match scene.world.clock {
                ClockKind::Recorded => words::RECORDED.get(scene.lang),
                ClockKind::Controlled | ClockKind::Wall => &server.info.address,
            };
            let words = format!("{} {} · {place}", server.info.product, server.info.version);
            let words = text::fit(&words, width.into()).into_owned();
            lines.push(Line::styled(words, scene.style(Role::Chrome)));
        }
        // One for all servers of a lab. A recording has none.
        let mut servers = scene.world.servers.iter();
        if let Some(password) = servers.find_map(|server| server.info.password.as_ref()) {
            let words = words::PASSWORD.with(scene.lang, &[password]);
            let words = text::fit(&words, width.into()).into_owned();
            lines.push(Line::styled(words, scene.style(Role::Chrome)));
        }
        let (words, role) = match self.phase {
            RunPhase::Booting => (words::BOOTING, Role::Warning),
            RunPhase::Ready => (words::READY, Role::Good),
            RunPhase::Working | RunPhase::Over(_) => (words::WORKING, Role::Chrome),
            RunPhase::Failed(failure) => (words::failed(failure.server), Role::Danger),
        };
        let key = |id: &str| scene.keys.label(id);
        let words = words.with(scene.lang, &[&key("step"), &key("play")]);
        lines.extend(paragraph::plain(&words, width.into(), scene.style(role)));
        lines
    }

    pub(crate) fn draw(&self, area: Rect, buf: &mut Buffer) {
        let areas = self.areas(area);
        let lang = self.scene.lang;
        header::draw(self, areas.header, buf);
        if !areas.warning.is_empty() {
            let words = format!(" {}", words::WALL_WARNING.get(lang));
            let words = text::pad(&words, areas.warning.width.into());
            buf.set_stringn(
                areas.warning.x,
                areas.warning.y,
                words,
                areas.warning.width.into(),
                self.scene.style(Role::Warning),
            );
        }
        if !areas.story.is_empty() {
            self.draw_story(areas.story, buf);
        }
        self.draw_panes(&areas, buf);
        if !areas.scrubber.is_empty() {
            self.scrubber(&areas).draw(&self.scene, buf);
        }
        if !areas.hints.is_empty() {
            let idle = self.free.map_or_else(Vec::new, |free| free.idle());
            let hints = strip::hints_but(self.scene.context(), self.place(), &idle, areas.hints.width);
            buf.set_line(areas.hints.x, areas.hints.y, &hints, areas.hints.width);
        }
        if let RunPhase::Failed(failure) = self.phase
            && self.at_end()
        {
            failure::draw(&self.scene, failure, area, buf);
        }
    }

    fn draw_story(&self, area: Rect, buf: &mut Buffer) {
        let lang = self.scene.lang;
        let shown = self.predictions.shown(&self.scene).filter(|_| self.free.is_none());
        let chosen = self.scene.selected.is_some();
        let title = match (self.verdict().is_some(), shown) {
            _ if chosen => words::CHOSEN,
            (false, None) if let Some(single) = &self.single => single.title(),
            _ if self.free.is_some() => words::FREE,
            (true, _) => words::VERDICT,
            (false, Some(_)) => words::PREDICTION,
            (false, None) if self.scene.world.narration.is_empty() => words::INTRO,
            (false, None) => words::STORY,
        };
        let title = Line::from(format!(" {} ", title.get(lang)));
        let inner = self.frame(Pane::Story, title, area, buf);
        let hint = shown.filter(|_| self.verdict().is_none() && !chosen);
        if chosen {
            let room = area.width.saturating_sub(16);
            let hints = strip::named(
                self.scene.context(),
                &[(&["go-there"], words::GO_THERE), (&["leave"], words::LET_GO)],
                room,
            );
            buf.set_line(area.x + 2, area.bottom().saturating_sub(1), &hints, room);
        }
        if let Some(hint) = hint.and_then(|shown| self.predictions.hint(&self.scene, shown)) {
            let room = area.width.saturating_sub(16);
            buf.set_line(area.x + 2, area.bottom().saturating_sub(1), &hint, room);
        }
        let inner = paragraph::text_area(inner);
        let more = (self.scene.theme, words::MORE.get(lang));
        let scroll = self.scrolls.get(Pane::Story).unwrap_or(0);
        narration::draw(&self.told_lines(area), scroll, more, inner, buf);
    }

    fn draw_panes(&self, areas: &Areas, buf: &mut Buffer) {
        let (scene, lang) = (&self.scene, self.scene.lang);
        if !areas.lanes.is_empty() {
            // Where nobody has believed anything of a lock yet, there is nothing to compare with the truth.
            let mut actors = scene.world.actors.iter();
            let believes = actors.any(|actor| actor.all_spans().next().is_some());
            let title = match self.lens {
                Lens::Sequence => words::SEQUENCE,
                Lens::Timeline if believes => words::LANES,
                Lens::Timeline => words::LANES_FREE,
            };
            let title = Line::from(format!(" {} ", title.get(lang)));
            let inner = self.frame(Pane::Lanes, title, areas.lanes, buf);
            match self.lens {
                Lens::Timeline => lanes::draw(scene, self.scrolls.get(Pane::Lanes), inner, buf),
                Lens::Sequence => {
                    sequence::draw(scene, self.view(), inner, buf);
                    lanes::warn_below(scene, areas.lanes, buf);
                }
            }
            self.draw_counters(areas.lanes, buf);
        }
        if !areas.servers.is_empty() {
            let room = usize::from(areas.servers.width.saturating_sub(2));
            let title = Line::from(text::fit(&servers::title(scene), room).into_owned());
            let inner = self.frame(Pane::Servers, title, areas.servers, buf);
            let lines = self.server_lines(inner.width);
            paragraph::draw(&lines, self.scrolls.get(Pane::Servers).unwrap_or(0), inner, buf);
        }
        if !areas.wire.is_empty() {
            let title = Line::from(format!(" {} ", words::WIRE.get(lang)));
            let inner = self.frame(Pane::Wire, title, areas.wire, buf);
            wire::draw(scene, self.scrolls.get(Pane::Wire), inner, buf);
        }
    }

    /// What the servers hold. In the middle of a race nobody has looked.
    fn server_lines(&self, width: u16) -> Vec<Line<'a>> {
        let seen = self.scene.world.servers.iter().any(|server| server.observed.is_some());
        if self.single.is_some_and(|single| single.is_read_at_its_end()) && !seen {
            let words = words::NOT_READ.get(self.scene.lang);
            return vec![Line::styled(words, self.scene.style(Role::Chrome))];
        }
        servers::lines(&self.scene, width)
    }

    fn scrubber(&self, areas: &Areas) -> Scrubber {
        Scrubber::new(&self.scene, self.beats(), areas.scrubber)
    }

    /// What a click or a turn of the wheel at a place is about.
    pub fn hit(&self, area: Rect, (x, y): (u16, u16)) -> Hit {
        let areas = self.areas(area);
        if areas.scrubber.contains((x, y).into()) {
            return Hit::Position(self.scrubber(&areas).position(&self.scene, x));
        }
        match areas.pane(x, y) {
            Some(Pane::Story) => self.choice(areas.story, (x, y)).map_or(Hit::Pane(Pane::Story), Hit::Choice),
            Some(pane) => match self.event_at(area, (x, y)) {
                Some(event) => Hit::Event(pane, event),
                None => Hit::Pane(pane),
            },
            None => Hit::Nothing,
        }
    }

    /// The choice of a question that is written on a row of the screen.
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
        Predictions::choice(&self.scene, shown, (usize::from(line), width))
    }

    /// The lesson's counters, on the frame of the lanes.
    fn draw_counters(&self, area: Rect, buf: &mut Buffer) {
        let scene = &self.scene;
        let mut spans = Vec::new();
        for (name, value) in &scene.world.counters {
            spans.push(Span::styled(format!(" {} ", text::fit(name, 16)), scene.style(Role::Chrome)));
            spans.push(Span::styled(format!("{value} "), scene.style(Role::Fresh)));
        }
        let line = Line::from(spans);
        let width = u16::try_from(line.width()).unwrap_or(u16::MAX);
        if width > 0 && width + 30 < area.width {
            buf.set_line(area.right() - width - 2, area.y, &line, width);
        }
    }

    /// Draws a pane's frame; gives its inside.
    fn frame(&self, pane: Pane, title: Line<'_>, area: Rect, buf: &mut Buffer) -> Rect {
        let focused = self.focus == pane;
        let role = if focused { Role::Accent } else { Role::Chrome };
        let block = self.scene.theme.pane(focused).title(title.style(self.scene.style(role)));
        paragraph::frame(block, area, buf)
    }
}

pub(crate) fn inside(area: Rect) -> Rect {
    Block::bordered().inner(area)
}
