//! The header: lesson, state, speed, clock.

use super::{
    SingleRun,
    lesson::{LessonView, choices, stop},
    prelude::*,
};
use crate::{
    clock::ClockKind,
    ui::state::{
        catalogue::CatalogueEntry,
        screen::{Motion, RunPhase},
    },
};

/// The minimum width that has room for what is also shown elsewhere: the number of participants, and that time is real.
const ROOMY: u16 = 100;

/// The fewest columns of a lesson's title that still identify it.
const SHORTEST_TITLE: usize = 10;

/// The left end of a header: a glyph for the state, the lesson, the variant.
#[derive(Debug, Clone, Copy)]
pub struct Title<'a> {
    pub glyph: (&'a str, Role),
    pub entry: &'a CatalogueEntry,
    pub variant: usize,
    /// The kind of screen, unless the lesson is just played.
    pub what: Option<&'a str>,
    /// Whether the lesson's title stands elsewhere if there is no room for all of it.
    pub elsewhere: bool,
    pub context: Context<'a>,
}

impl<'a> Title<'a> {
    fn variant(&self) -> &'a str {
        let variant = self.entry.variants.get(self.variant);
        variant.map_or("", |variant| variant.title.get(self.context.lang))
    }

    /// The place of the variant among the lesson's, and the kind of screen.
    fn after(&self) -> [String; 2] {
        let count = format!(" {}/{}", self.variant + 1, self.entry.variants.len());
        [count, self.what.map_or_else(String::new, |what| format!(" · {what}"))]
    }

    /// The columns that all but the lesson's title takes.
    fn columns(&self) -> usize {
        5 + text::width(self.variant()) + self.after().iter().map(|words| text::width(words)).sum::<usize>()
    }

    /// Whether everything fits.
    fn fits(&self, room: usize) -> bool {
        self.columns() + 3 + text::width(self.entry.lesson.title.get(self.context.lang)) <= room
    }

    pub fn line(&self, room: usize) -> Line<'a> {
        let Context { theme, lang, .. } = self.context;
        let style = |role| theme.style(role);
        let (glyph, role) = self.glyph;
        let [count, what] = self.after();
        let variant = self.variant();
        // The title is cut first, and left out in the end, because the variant is what the learner compares.
        let title = self.entry.lesson.title.get(lang);
        let left = room.saturating_sub(self.columns() + 3);
        let left_out = left < SHORTEST_TITLE || (self.elsewhere && !self.fits(room));
        let title = if left_out { "".into() } else { text::fit(title, left) };
        let room = room.saturating_sub(self.columns() - text::width(variant));
        let between = if title.is_empty() { "" } else { " · " };
        let variant = text::fit(variant, room.saturating_sub(text::width(&title) + text::width(between)));
        Line::from(vec![
            Span::styled(format!("{glyph} "), style(role)),
            Span::styled(title, style(Role::Accent)),
            Span::styled(between, style(Role::Chrome)),
            Span::styled(variant, style(Role::Text).add_modifier(Modifier::BOLD)),
            Span::styled(count, style(Role::Chrome)),
            Span::styled(what, style(Role::Chrome)),
        ])
    }
}

/// Draws a line whose right end gets the room it needs, and whose left end gets the rest.
pub fn draw_ends<'a>(
    left: impl FnOnce(usize) -> Line<'a>,
    right: Vec<Span<'_>>,
    area: Rect,
    buf: &mut Buffer,
) {
    let right = Line::from(right);
    let taken = u16::try_from(right.width()).unwrap_or(area.width).min(area.width);
    let room = area.width - taken;
    buf.set_line(area.x, area.y, &left(room.into()), room);
    buf.set_line(area.right() - taken, area.y, &right, taken);
}

/// The header of a lesson: its two ends.
pub struct Header<'a> {
    title: Title<'a>,
    right: Vec<Span<'a>>,
    area: Rect,
}

impl<'a> Header<'a> {
    pub fn new(view: &LessonView<'a>, area: Rect) -> Self {
        Self { title: title(view), right: right(view, area.width), area }
    }

    /// Whether there is room for the lesson's title. If not, it is in the frame of the story.
    pub fn names_lesson(&self) -> bool {
        let taken: usize = self.right.iter().map(Span::width).sum();
        self.title.fits(usize::from(self.area.width).saturating_sub(taken))
    }

    pub fn draw(self, has_story: bool, buf: &mut Buffer) {
        let title = Title { elsewhere: has_story, ..self.title };
        draw_ends(|room| title.line(room), self.right, self.area, buf);
    }
}

fn title<'a>(view: &LessonView<'a>) -> Title<'a> {
    let glyph = match view.motion {
        Motion::Playing => (" ▶ ", Role::Good),
        Motion::Paused | Motion::Stepping => (" ▮▮", Role::Chrome),
        Motion::Held => (" ▮▮", Role::Warning),
    };
    let context = view.scene.context();
    Title { glyph, entry: view.entry, variant: view.variant, what: None, elsewhere: false, context }
}

fn right<'a>(view: &LessonView<'a>, width: u16) -> Vec<Span<'a>> {
    let scene = &view.scene;
    let chrome = scene.style(Role::Chrome);
    let mut spans = Vec::new();
    let (words, role) = doing(view);
    // On a small screen the sign at the left end says it.
    let is_said = width < ROOMY && words == words::PAUSED.get(scene.lang);
    let words = if is_said { " ".to_owned() } else { format!(" {words}  ") };
    spans.push(Span::styled(words, scene.style(role).remove_modifier(Modifier::BOLD)));
    let steps = view.step_count();
    // Free play takes no steps of the story, and at its end the number of its steps is no news.
    let counts = view.free.is_none() && !view.was_chosen() && (width >= ROOMY || view.verdict().is_none());
    if let Some(step) = step(view).filter(|step| *step <= steps && counts) {
        let words = words::STEP.with(scene.lang, &[&step.to_string(), &steps.to_string()]);
        // The titles of some variants need each column.
        let apart = if width < ROOMY { " " } else { "  " };
        spans.push(Span::styled(format!("{words}{apart}"), chrome));
    }
    spans.push(Span::styled(time::moment(scene.display), scene.style(Role::Fresh)));
    let usual = (view.speed - 1.0).abs() < f64::EPSILON;
    let speed = if usual && width < ROOMY { String::new() } else { format!("  {}x ", view.speed) };
    spans.push(Span::styled(speed, chrome));
    if let Some(class) = view.class.filter(|_| width >= ROOMY) {
        let words = words::HERE.with(scene.lang, &[&class.tally.joined.to_string()]);
        spans.push(Span::styled(format!(" {words} "), scene.style(Role::Accent)));
    }
    if let Some(presented) = view.presented {
        let watch = words::stopwatch(presented);
        let words = if width < ROOMY {
            watch
        } else {
            words::PRESENTING.with(scene.lang, &[&watch, &scene.keys.label("present")])
        };
        spans.push(Span::styled(format!(" {words} "), scene.style(Role::Accent)));
    }
    let mut says_clock = false;
    if !scene.log.is_empty() {
        let (words, role) = match scene.world.clock {
            ClockKind::Controlled => (words::CONTROLLED, Role::Good),
            ClockKind::Wall => (words::WALL, Role::Warning),
            ClockKind::Recorded => (words::RECORDED, Role::Warning),
        };
        let style = scene.style(role).remove_modifier(Modifier::BOLD);
        let clock = Span::styled(format!(" {} ", words.get(scene.lang)), style);
        // That the clock is controlled goes without saying where the variant's title would be cut.
        let taken = spans.iter().map(Span::width).sum::<usize>() + clock.width() + title(view).columns();
        says_clock = scene.world.clock != ClockKind::Controlled || taken <= width.into();
        spans.extend(says_clock.then_some(clock));
    }
    spans.extend((!says_clock).then(|| Span::raw(" ")));
    spans
}

/// The state of the run, beyond the glyph.
fn doing(view: &LessonView<'_>) -> (String, Role) {
    let arrives = view.scene.flight.is_some_and(|in_flight| in_flight.leads_to(view.scene.log.len()));
    let behind = view.scene.world.position < view.scene.log.len() && !arrives;
    let (words, role) = match (view.phase, view.motion) {
        // A single run is known from the beginning, so its playhead is not "behind".
        (_, Motion::Paused) if view.single.is_some() && view.at_end() => (words::JUDGED, Role::Good),
        (_, Motion::Paused) if view.single.is_some() => (words::PAUSED, Role::Chrome),
        (_, Motion::Stepping) => (words::WORKING, Role::Chrome),
        _ if behind && view.motion != Motion::Playing => (words::BEHIND, Role::Warning),
        _ if view.free.is_some_and(|free| free.branching) => (words::BRANCHING, Role::Warning),
        (RunPhase::Booting, _) => (words::BOOTING, Role::Warning),
        (_, Motion::Playing) => (words::PLAYING, Role::Good),
        (_, Motion::Held) => (words::HELD, Role::Warning),
        (RunPhase::Working, _) if let Some(seconds) = view.waited => {
            let words = if view.time_stands() { words::WORKING_STILL } else { words::WORKING_FOR };
            return (words.with(view.scene.lang, &[&seconds.to_string()]), Role::Warning);
        }
        (RunPhase::Working, _) => (words::WORKING, Role::Chrome),
        (RunPhase::Ready, _) if view.free.is_some() => (words::FREE_MODE, Role::Good),
        // Free play has no verdict.
        (RunPhase::Over(None), _) if view.was_chosen() => (words::JUDGED, Role::Good),
        (RunPhase::Over(None), _) => (words::OVER, Role::Good),
        (RunPhase::Over(Some(_)), _) => (words::JUDGED, Role::Good),
        _ => (words::PAUSED, Role::Chrome),
    };
    // Only one of the texts names a key.
    let step = view.scene.keys.label("step");
    (words.with(view.scene.lang, &[&step]), role)
}

/// The number of the story's step before the playhead, counted from 1.
fn step(view: &LessonView<'_>) -> Option<usize> {
    let events = view.scene.log.events().get(..view.scene.world.position)?;
    if let Some(SingleRun::Answer(_) | SingleRun::Order(_) | SingleRun::Examined(_)) = view.single {
        return Some(choices(events)).filter(|made| *made > 0);
    }
    events.iter().rev().find_map(stop)
}
