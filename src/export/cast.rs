//! The run as a terminal recording (asciicast v2): what the playground writes to a terminal while it plays the lesson,
//! each frame as its difference from the one before.
//!
//! Time passes as while the lesson plays: messages travel, waits take a moment, and after each step there is time to
//! read. A recording that would become too long is sped up.

use std::time::Duration;

use crossterm::{
    cursor,
    style::force_color_output,
    terminal::{Clear, ClearType},
};
use ratatui::{
    backend::{Backend, CrosstermBackend},
    buffer::Buffer,
};
use serde_json::json;

use super::{Finished, Look, moment::ResolvedMoment, screen::Renderer};
use crate::{
    clock::LessonTime,
    log::{Event, EventKind, Step, Steps, Stop},
    text::Lang,
    ui::{
        flight::{Flight, Tempo},
        state::{reading, screen::Motion},
        view,
    },
};

/// Part of the first line of every recording. It tells that Lockstep wrote the file, and may overwrite it.
pub const MARK: &str = "\"command\":\"lockstep export\"";
/// The interval between frames of a wait.
const FRAME: Duration = Duration::from_millis(100);
/// Shorter waits are not animated.
const NOTICEABLE: Duration = Duration::from_millis(50);
/// The maximum duration of a wait, and of a step.
const LONGEST: Duration = Duration::from_secs(3);
const TEMPO: Tempo = Tempo { wait: Duration::from_secs(2), longest: LONGEST, messages: true };
/// The maximum duration of the introduction.
const START: Duration = Duration::from_millis(3500);
/// The maximum duration of a recording.
const WHOLE: Duration = Duration::from_secs(45);
const MOVE: Duration = Duration::from_millis(900);
const PASSED: Duration = Duration::from_millis(600);
const VERDICT: Duration = Duration::from_secs(8);

pub fn recording(run: &Finished, moment: ResolvedMoment, look: &Look) -> String {
    // The recording has colours, whatever the current terminal supports.
    force_color_output(true);
    let mut recorder = Recorder::new(run, look);
    let start = run.log.opening();
    recorder.frame(
        ResolvedMoment { position: start, display: run.log.time_at(start), end: false },
        reading::of(run.entry.intro.get(look.lang), look.lang).div_f64(look.speed).min(START),
        None,
    );
    for step in Steps::of(&run.log).all() {
        if step.position > moment.position {
            break;
        }
        if step.stop == Stop::Question && !look.questions {
            continue;
        }
        recorder.event("m", &step.number.to_string());
        recorder.step(step);
    }
    if recorder.position < moment.position || recorder.display < moment.display {
        recorder.glide(moment);
        recorder.frame(moment, MOVE, None);
    }
    if moment.end {
        recorder.frame(moment, VERDICT, None);
    }
    recorder.finish()
}

struct Recorder<'a> {
    run: &'a Finished,
    look: Look,
    renderer: Renderer<'a>,
    before: Option<Buffer>,
    position: usize,
    display: LessonTime,
    clock: Duration,
    /// Time, kind, content.
    events: Vec<(Duration, &'static str, String)>,
}

impl<'a> Recorder<'a> {
    fn new(run: &'a Finished, look: &Look) -> Self {
        Self {
            run,
            look: *look,
            renderer: Renderer::new(run, look),
            before: None,
            position: 0,
            display: LessonTime::ZERO,
            clock: Duration::ZERO,
            events: Vec::new(),
        }
    }

    fn event(&mut self, code: &'static str, data: &str) {
        self.events.push((self.clock, code, data.to_owned()));
    }

    /// Draws a moment and shows it for a while.
    fn frame(&mut self, moment: ResolvedMoment, lasts: Duration, flight: Option<(&Flight, Duration)>) {
        let motion = if moment.end { Motion::Paused } else { Motion::Playing };
        let mut next = self.renderer.draw(moment, motion, flight);
        view::empty_covered_cells(&mut next);
        if let Some(bytes) = difference(self.before.as_ref(), &next) {
            self.event("o", &bytes);
        }
        self.before = Some(next);
        self.position = moment.position;
        self.display = moment.display;
        self.clock += lasts;
    }

    fn step(&mut self, step: &Step) {
        let from = self.position;
        let found = ResolvedMoment { position: step.position, display: step.at, end: false };
        let flight =
            Flight::between(&self.run.log, self.renderer.world(), step.position, self.display, TEMPO);
        let lasts = flight.lasts.min(LONGEST).div_f64(self.look.speed);
        let frames = u32::try_from(lasts.as_millis() / FRAME.as_millis()).unwrap_or(u32::MAX);
        for frame in 0..frames {
            let shown = flight.lasts.mul_f64(f64::from(frame) / f64::from(frames));
            let moment = ResolvedMoment {
                position: flight.position(shown),
                display: flight.display(shown),
                end: false,
            };
            self.frame(moment, lasts / frames, Some((&flight, shown)));
        }
        let events = &self.run.log.events()[from..step.position];
        let lasts = dwell(events, self.look.lang).div_f64(self.look.speed);
        self.frame(found, lasts, None);
    }

    /// Advances the displayed time to a moment.
    fn glide(&mut self, moment: ResolvedMoment) {
        let (from, passes) = (self.display, moment.display.since(self.display));
        if passes < NOTICEABLE {
            return;
        }
        let lasts = passes.div_f64(self.look.speed).min(LONGEST);
        let frames = u32::try_from(lasts.as_millis() / FRAME.as_millis()).unwrap_or(u32::MAX).max(1);
        for frame in 0..frames {
            let share = f64::from(frame) / f64::from(frames);
            let display = from + passes.mul_f64(share);
            let over = self.run.log.events().partition_point(|event| event.at <= display);
            let position = over.clamp(self.position, moment.position);
            self.frame(ResolvedMoment { position, display, end: false }, lasts / frames, None);
        }
    }

    fn finish(mut self) -> String {
        // An empty last event, so that players keep the last picture on the screen for its duration.
        self.event("o", "");
        let header = json!({
            "version": 2,
            "width": self.look.size.0,
            "height": self.look.size.1,
            "title": self.run.title().get(self.look.lang),
            "command": "lockstep export",
            "env": { "TERM": "xterm-256color" },
        });
        let pace = (WHOLE.as_secs_f64() / self.clock.as_secs_f64().max(1e-9)).min(1.0);
        let line = |(at, code, data): &(Duration, &str, String)| {
            // Whole milliseconds, so that the recording is the same on every machine.
            let millis = u32::try_from(at.mul_f64(pace).as_millis()).unwrap_or(u32::MAX);
            json!([f64::from(millis) / 1000.0, code, data]).to_string()
        };
        format!("{header}\n{}\n", self.events.iter().map(line).collect::<Vec<_>>().join("\n"))
    }
}

/// The output that turns one picture into the other; `None` if they are equal.
fn difference(before: Option<&Buffer>, after: &Buffer) -> Option<String> {
    let mut bytes = Vec::new();
    let empty = Buffer::empty(after.area);
    let changes = before.unwrap_or(&empty).diff(after);
    if changes.is_empty() && before.is_some() {
        return None;
    }
    // Writing to memory cannot fail.
    if before.is_none() {
        let _ = crossterm::queue!(bytes, cursor::Hide, Clear(ClearType::All), cursor::MoveTo(0, 0));
    }
    let _ = CrosstermBackend::new(&mut bytes).draw(changes.into_iter());
    String::from_utf8(bytes).ok()
}

fn dwell(step: &[Event], lang: Lang) -> Duration {
    let said = step.iter().rev().find_map(|event| match &event.kind {
        EventKind::Say { en, zh, .. } => Some(reading::of(if lang == Lang::En { en } else { zh }, lang)),
        EventKind::Asked { q, choices, .. } => {
            let mut words = q.get(lang).to_owned();
            for choice in choices {
                words.push_str(choice.says.get(lang));
            }
            Some(reading::of(&words, lang))
        }
        EventKind::Decided { .. } => Some(Duration::from_secs(4)),
        _ => None,
    });
    let usual = match step.last().map(|event| &event.kind) {
        Some(EventKind::Stop { stop: Stop::Passed, .. }) => PASSED,
        _ => MOVE,
    };
    said.unwrap_or(usual)
}
