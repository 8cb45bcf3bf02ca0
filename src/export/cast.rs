//! The run as a terminal recording (asciicast v2): what the playground writes to a terminal while it plays the lesson,
//! each frame as its difference from the one before.
//!
//! Time passes as while the lesson plays: messages travel, waits take a moment, and after each step there is time to
//! read. A recording that would become too long is sped up, first where there is nothing to read.

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
const DECIDED: Duration = Duration::from_secs(4);
const PASSED: Duration = Duration::from_millis(600);
const VERDICT: Duration = Duration::from_secs(8);
/// How long a text is shown at least before something moves.
const GLANCE: Duration = Duration::from_millis(800);
/// Where there is nothing new to read, this share of the time is left before texts are shortened.
const LEAST_SHARE: f64 = 0.25;

/// A picture of the recording.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    /// For how long it is shown if there is time.
    lasts: Duration,
    /// The least time for reading the text that is new in it; zero without a new text. The text stays until the next one.
    reading: Duration,
}

impl Part {
    fn silent(lasts: Duration) -> Self {
        Self { lasts, reading: Duration::ZERO }
    }
}

pub fn recording(run: &Finished, moment: ResolvedMoment, look: &Look) -> String {
    let mut recorder = recorded(run, moment, look);
    // Nobody can answer a recording, so the questions are the first texts to go.
    if look.questions && hurried(&recorder.parts, LEAST_SHARE).iter().sum::<Duration>() > WHOLE {
        recorder = recorded(run, moment, &Look { questions: false, ..*look });
    }
    recorder.finish()
}

fn recorded<'a>(run: &'a Finished, moment: ResolvedMoment, look: &Look) -> Recorder<'a> {
    // The recording has colours, whatever the current terminal supports.
    force_color_output(true);
    let mut recorder = Recorder::new(run, look);
    let start = run.log.opening();
    recorder.frame(
        ResolvedMoment { position: start, display: run.log.time_at(start), end: false },
        Part {
            lasts: reading::of(run.entry.intro.get(look.lang), look.lang).div_f64(look.speed).min(START),
            reading: reading::least(run.entry.intro.get(look.lang)).min(START),
        },
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
        recorder.frame(moment, Part::silent(MOVE), None);
    }
    if moment.end {
        recorder.frame(moment, Part { lasts: VERDICT, reading: VERDICT / 2 }, None);
    }
    recorder
}

struct Recorder<'a> {
    run: &'a Finished,
    look: Look,
    renderer: Renderer<'a>,
    before: Option<Buffer>,
    position: usize,
    display: LessonTime,
    parts: Vec<Part>,
    /// The number of parts before it, kind, content.
    events: Vec<(usize, &'static str, String)>,
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
            parts: Vec::new(),
            events: Vec::new(),
        }
    }

    fn event(&mut self, code: &'static str, data: &str) {
        self.events.push((self.parts.len(), code, data.to_owned()));
    }

    /// Draws a moment and shows it for a while.
    fn frame(&mut self, moment: ResolvedMoment, part: Part, flight: Option<(&Flight, Duration)>) {
        let motion = if moment.end { Motion::Paused } else { Motion::Playing };
        let mut next = self.renderer.draw(moment, motion, flight);
        view::empty_covered_cells(&mut next);
        if let Some(bytes) = difference(self.before.as_ref(), &next) {
            self.event("o", &bytes);
        }
        self.before = Some(next);
        self.position = moment.position;
        self.display = moment.display;
        self.parts.push(part);
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
            self.frame(moment, Part::silent(lasts / frames), Some((&flight, shown)));
        }
        let events = &self.run.log.events()[from..step.position];
        let Part { lasts, reading } = dwell(events, &self.look);
        let part = Part { lasts: lasts.div_f64(self.look.speed), reading: reading.div_f64(self.look.speed) };
        self.frame(found, part, None);
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
            self.frame(ResolvedMoment { position, display, end: false }, Part::silent(lasts / frames), None);
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
        let mut starts = vec![Duration::ZERO];
        for lasts in schedule(&self.parts) {
            starts.push(*starts.last().unwrap_or(&Duration::ZERO) + lasts);
        }
        let line = |(part, code, data): &(usize, &str, String)| {
            // Whole milliseconds, so that the recording is the same on every machine.
            let millis = u32::try_from(starts[*part].as_millis()).unwrap_or(u32::MAX);
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

/// How long each part is shown, so that all take no longer than `WHOLE`.
fn schedule(parts: &[Part]) -> Vec<Duration> {
    let sum = |lasts: &[Duration]| lasts.iter().sum::<Duration>();
    let unhurried: Vec<Duration> = parts.iter().map(|part| part.lasts.max(part.reading)).collect();
    if sum(&unhurried) <= WHOLE {
        return unhurried;
    }
    let brief = hurried(parts, 1.0);
    if let Some(spare) = WHOLE.checked_sub(sum(&brief)) {
        let share = spare.as_secs_f64() / sum(&unhurried).saturating_sub(sum(&brief)).as_secs_f64();
        let both = unhurried.iter().zip(&brief);
        return both.map(|(long, short)| *short + long.saturating_sub(*short).mul_f64(share)).collect();
    }
    let share = largest((LEAST_SHARE, 1.0), |share| sum(&hurried(parts, share)) <= WHOLE);
    // What does not fit then is taken from the longest texts.
    let longest = parts.iter().map(|part| part.reading).max().unwrap_or_default();
    let limited = |most: f64| -> Vec<Duration> {
        let most = Duration::from_secs_f64(most);
        let parts: Vec<Part> =
            parts.iter().map(|part| Part { reading: part.reading.min(most), ..*part }).collect();
        hurried(&parts, share)
    };
    let most = largest((GLANCE.as_secs_f64(), longest.as_secs_f64()), |most| sum(&limited(most)) <= WHOLE);
    let lasts = limited(most);
    let share = (WHOLE.as_secs_f64() / sum(&lasts).as_secs_f64()).min(1.0);
    lasts.into_iter().map(|lasts| lasts.mul_f64(share)).collect()
}

/// The largest number of a range that fits, if smaller ones do, too; its beginning if none does.
fn largest((mut from, mut to): (f64, f64), fits: impl Fn(f64) -> bool) -> f64 {
    if fits(to) {
        return to;
    }
    for _ in 0..20 {
        let middle = f64::midpoint(from, to);
        if fits(middle) { from = middle } else { to = middle }
    }
    from
}

/// The parts with texts that last no longer than they have to, given that what follows them takes only a share of its
/// time. A text can still be read while others move.
fn hurried(parts: &[Part], share: f64) -> Vec<Duration> {
    let mut after = Duration::ZERO;
    let mut lasts: Vec<Duration> = parts
        .iter()
        .rev()
        .map(|part| {
            if part.reading.is_zero() {
                let lasts = part.lasts.mul_f64(share);
                after += lasts;
                return lasts;
            }
            part.reading.saturating_sub(std::mem::take(&mut after)).max(GLANCE.min(part.reading))
        })
        .collect();
    lasts.reverse();
    lasts
}

fn dwell(step: &[Event], look: &Look) -> Part {
    let lang = look.lang;
    let read = |text: &str| Part { lasts: reading::of(text, lang), reading: reading::least(text) };
    let said = step.iter().rev().find_map(|event| match &event.kind {
        EventKind::Say { en, zh, .. } => Some(read(if lang == Lang::En { en } else { zh })),
        EventKind::Asked { .. } | EventKind::Decided { .. } if !look.questions => None,
        EventKind::Asked { q, choices, .. } => {
            let mut words = q.get(lang).to_owned();
            for choice in choices {
                words.push(' ');
                words.push_str(choice.says.get(lang));
            }
            Some(read(&words))
        }
        EventKind::Decided { why: Some(why), .. } => Some(read(why.get(lang))),
        EventKind::Decided { .. } => Some(Part { lasts: DECIDED, reading: DECIDED / 2 }),
        _ => None,
    });
    let usual = match step.last().map(|event| &event.kind) {
        Some(EventKind::Stop { stop: Stop::Passed, .. }) => PASSED,
        _ => MOVE,
    };
    said.unwrap_or(Part::silent(usual))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::export::Moment;

    /// How many texts are new in a recording, and how many of them are replaced before they can be read.
    pub(crate) fn texts_too_short(run: &Finished, look: &Look) -> (usize, usize) {
        let end = Moment::End.resolve(&run.log).expect("an end");
        let mut parts = recorded(run, end, look).parts;
        if hurried(&parts, LEAST_SHARE).iter().sum::<Duration>() > WHOLE {
            parts = recorded(run, end, &Look { questions: false, ..*look }).parts;
        }
        short(&parts, &schedule(&parts))
    }

    /// The number of new texts, and of those that are replaced before they can be read.
    fn short(parts: &[Part], lasts: &[Duration]) -> (usize, usize) {
        let texts: Vec<usize> = (0..parts.len()).filter(|n| !parts[*n].reading.is_zero()).collect();
        let is_short = |n: &&usize| {
            let next = texts.iter().find(|next| next > n).copied().unwrap_or(parts.len());
            let shown: Duration = lasts[**n..next].iter().sum();
            shown + Duration::from_millis(50) < parts[**n].reading
        };
        (texts.len(), texts.iter().filter(is_short).count())
    }

    fn parts(of: &[(u64, u64)]) -> Vec<Part> {
        let part = |(lasts, reading): &(u64, u64)| Part {
            lasts: Duration::from_millis(*lasts),
            reading: Duration::from_millis(*reading),
        };
        of.iter().map(part).collect()
    }

    #[test]
    fn a_short_recording_is_not_hurried() {
        let lasts = schedule(&parts(&[(3000, 2000), (900, 0), (4000, 5000)]));
        assert_eq!(lasts, [3000, 900, 5000].map(Duration::from_millis));
    }

    #[test]
    fn a_long_recording_hurries_first_where_there_is_nothing_to_read() {
        let sum = |lasts: &[Duration]| lasts.iter().sum::<Duration>().as_millis();
        // Reading while the rest moves is enough.
        let lasts = schedule(&parts(&[(10_000, 8_000), (20_000, 0), (10_000, 8_000), (10_000, 0)]));
        assert!((44_990..=45_000).contains(&sum(&lasts)), "{lasts:?}");
        assert_eq!(lasts[1], Duration::from_secs(20));
        // The moves are sped up, and the texts keep their time.
        let lasts = schedule(&parts(&[(20_000, 18_000), (20_000, 0), (18_000, 16_000), (40_000, 0)]));
        assert!((44_900..=45_000).contains(&sum(&lasts)), "{lasts:?}");
        assert!(sum(&lasts[..2]) >= 18_000 && sum(&lasts[2..]) >= 16_000, "{lasts:?}");
        // More text than time: the long ones are shortened.
        let lasts = schedule(&parts(&[(40_000, 40_000), (1_000, 0), (40_000, 40_000), (3_000, 3_000)]));
        assert!((44_900..=45_000).contains(&sum(&lasts)), "{lasts:?}");
        assert!(lasts[0].abs_diff(lasts[2]) < Duration::from_secs(1), "{lasts:?}");
        assert_eq!(lasts[3], Duration::from_secs(3));
    }
}
