//! The state of the program, which messages change.
//!
//! **Architecture Invariant:** there is one [`Mode`] at a time, and one overlay over it; no pairs of booleans.

pub(crate) mod compare;
pub(crate) mod free;
pub(crate) mod interview;
pub(crate) mod learn;
mod opening;
pub(crate) mod outcomes;
mod previews;
mod progress;
mod settings;
pub(crate) mod show;

use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEventKind};
use ratatui::layout::Rect;

use super::{
    AppOptions, Ended,
    classroom::{ClassUpdate, PublishKey},
};
use crate::bench::{Measuring, SeriesUpdate};
use crate::run::{LessonChoice, Runs};
use crate::ui::{
    keys::{Action, Chord, KeyMap, KeyScope},
    state::{
        branches::Branches,
        browse::{CatalogueFocus, Search},
        catalogue::Catalogue,
        classroom::{Class, ClassRun, protocol::Classroom},
        fingerprint::Fingerprints,
        interview::Interview,
        learning::Learning,
        measuring::Measurement,
        palette::Palette,
        playing::Announcer,
        preview::Preview,
        progress::Store,
        reviews::ReviewStore,
    },
};
use compare::ComparisonScreen;
use outcomes::{OutcomesScreen, Single};
use settings::next_speed;

use crate::{
    run::{
        batch::{Batch, BatchUpdate},
        exam::{ExamQuestion, Questions},
        session::{Session, Update},
    },
    text::{Lang, Text},
    ui::{
        chart::Detail,
        keys::Pane,
        state::exam::ExamRound,
        state::screen::{DiagramKind, Form, Overlay, Scrolls},
        theme::Theme,
        view::{self, Notice, Screen},
    },
};

pub(crate) const SPEEDS: [f64; 6] = [0.25, 0.5, 1.0, 2.0, 4.0, 10.0];
/// The interval between pictures while something moves.
const FRAME: Duration = Duration::from_millis(33);
/// Lines per page, whatever the height of the pane: few enough that readers keep their place.
pub(crate) const PAGE: i32 = 5;
/// The step by which the timelines' rows grow or shrink, and their maximum.
pub(crate) const ROWS: i16 = 2;
pub(crate) const MOST_ROWS: i16 = 30;

#[derive(Debug)]
pub enum Message {
    Input(Event),
    /// An update of the live run; `None` when the run is gone.
    Run(Option<Update>),
    /// An update of a batch of runs; `None` when the batch is gone.
    Batch(Option<BatchUpdate>),
    /// An update of the lock measurement; `None` when it is over.
    Measured(Option<SeriesUpdate>),
    /// A question of an exam; `None` when there are no more.
    Exam(Option<Result<Box<ExamQuestion>, Text>>),
    Class(ClassUpdate),
    Tick,
}

#[derive(Debug, Default)]
pub struct Receivers<'a> {
    pub session: Option<&'a mut Session>,
    pub batch: Option<&'a mut Batch>,
    pub measuring: Option<&'a mut Measuring>,
    pub exam: Option<&'a mut Questions>,
    pub room: Option<&'a mut Classroom>,
}

#[derive(Debug)]
pub enum Mode {
    Browsing,
    Learning(Box<Lesson>),
    Comparing(Box<ComparisonScreen>),
    /// The races or the exploration of a variant.
    Outcomes(Box<OutcomesScreen>),
    Ending,
}

impl Mode {
    /// The catalogue entry on the screen, if a lesson is.
    pub(crate) fn entry(&self) -> Option<usize> {
        match self {
            Self::Learning(lesson) => Some(lesson.entry),
            Self::Comparing(comparison) => Some(comparison.entry),
            Self::Outcomes(screen) => Some(screen.entry),
            Self::Browsing | Self::Ending => None,
        }
    }
}

#[derive(Debug)]
pub struct Lesson {
    pub(crate) entry: usize,
    pub(crate) variant: usize,
    pub(crate) run: Learning,
    pub(crate) focus: Pane,
    /// Whether crowds are shown member by member.
    expanded: bool,
    pub(crate) scrolls: Scrolls,
    pub(crate) selected: Option<usize>,
    /// The first visible client of the sequence, counted from 0; `None` follows the newest row.
    pub(crate) first_client: Option<u16>,
    /// The number of events of the run that have been saved to a file.
    kept: usize,
    /// Whether the verdict shows its evidence.
    pub(crate) proof: bool,
    /// What this run is, if it is not a run of the story.
    single: Option<Single>,
    /// The branches of free play, of which `run` is one.
    pub(crate) branches: Branches,
    pub(crate) class: ClassRun,
}

impl Lesson {
    fn new(entry: usize, variant: usize, run: Learning) -> Self {
        Self {
            entry,
            variant,
            run,
            focus: Pane::default(),
            expanded: false,
            scrolls: Scrolls::default(),
            selected: None,
            first_client: None,
            kept: 0,
            proof: false,
            single: None,
            branches: Branches::default(),
            class: ClassRun::default(),
        }
    }

    pub(crate) fn is(&self, entry: usize, variant: usize) -> bool {
        (self.entry, self.variant) == (entry, variant)
    }
}

#[derive(Debug)]
pub struct App<R> {
    pub(crate) catalogue: Catalogue,
    runs: R,
    pub(crate) lang: Lang,
    pub(crate) theme: Theme,
    pub(crate) speed: f64,
    pub(crate) keys: KeyMap,
    pub(crate) mode: Mode,
    pub(crate) overlay: Overlay,
    pub(crate) palette: Palette,
    pub(crate) catalogue_focus: CatalogueFocus,
    pub(crate) search: Option<Search>,
    pub(crate) selected: usize,
    /// The scroll position of the selected lesson's description.
    pub(crate) reading: u16,
    pub(crate) size: Rect,
    form: Form,
    questions: bool,
    reduced_motion: bool,
    /// The diagram used in every lesson.
    diagram: DiagramKind,
    /// Whether programs are shown in place of the wire when there is no room for both.
    program: bool,
    /// The number of rows added to the timelines.
    rows: i16,
    /// The preview of the selected lesson's failure, in the catalogue.
    pub(crate) preview: Option<Preview>,
    /// The variant for which a preview was last requested, whether it has one or not.
    previewed: Option<LessonChoice>,
    pub(crate) fingerprints: Fingerprints,
    /// Shown at the bottom of the screen until the next key.
    pub(crate) notice: Option<Notice>,
    pub(crate) progress: Store,
    reviews: ReviewStore,
    announcer: Announcer,
    /// The class, and the state last published to it.
    pub(crate) class: Option<Box<Class>>,
    pub(crate) published: Option<PublishKey>,
    /// When presenting began.
    presenting: Option<Instant>,
    /// Covers everything else, except a lesson that a card has opened.
    pub(crate) interview: Option<Interview>,
    /// What each kind of lock costs on this machine, if that was measured.
    pub(crate) measurement: Option<Measurement>,
    /// The time of the last message: as seconds since 1970, and as an instant for stopwatches.
    pub(crate) moment: (i64, Instant),
    /// Why the loop is to end although the program goes on afterwards.
    pub(crate) leaving: Option<Ended>,
}

impl<R: Runs> App<R> {
    pub fn new(catalogue: Catalogue, runs: R, options: &AppOptions) -> Self {
        let kept = &options.progress.get().screen;
        let mut app = Self {
            catalogue,
            runs,
            lang: options.theme.readable(options.lang),
            theme: options.theme,
            speed: options.speed,
            keys: options.keys.clone(),
            mode: Mode::Browsing,
            overlay: Overlay::Nothing,
            palette: Palette::default(),
            catalogue_focus: CatalogueFocus::default(),
            search: None,
            selected: 0,
            reading: 0,
            size: Rect::default(),
            form: Form::default(),
            questions: options.questions,
            reduced_motion: options.reduced_motion,
            diagram: if kept.sequence { DiagramKind::Sequence } else { DiagramKind::Timeline },
            program: kept.program,
            rows: kept.rows.clamp(-MOST_ROWS, MOST_ROWS),
            fingerprints: Fingerprints::new(Instant::now()),
            preview: None,
            previewed: None,
            notice: match &options.trouble {
                Some(trouble) => Some(Notice::Progress(trouble.clone())),
                None if options.theme.readable(options.lang) != options.lang => Some(Notice::OnlyAscii),
                None if options.outdated => Some(Notice::Outdated),
                None => options.mistakes.clone().map(Notice::Config),
            },
            progress: options.progress.clone(),
            reviews: options.reviews.clone(),
            announcer: Announcer::new(options.playing_file.clone()),
            class: None,
            published: None,
            presenting: None,
            measurement: None,
            interview: None,
            moment: (interview::today(), Instant::now()),
            leaving: None,
        };
        if let Some(beginning) = &options.interview {
            app.begin_interview(beginning, Instant::now());
        }
        if let (Some(choice), Some(names)) = (&options.open, &options.compare)
            && app.compare_named(choice, names)
        {
            return app;
        }
        if let Some(choice) = &options.open
            && let Some((entry, variant)) = app.catalogue.find(&choice.id, Some(&choice.variant))
        {
            app.open(entry, variant);
        }
        app.update_preview(Instant::now());
        app
    }

    pub fn mode(&self) -> &Mode {
        &self.mode
    }

    pub fn resize(&mut self, size: Rect) {
        self.size = size;
        self.adapt();
    }

    fn adapt(&mut self) {
        match &mut self.mode {
            Mode::Learning(lesson) => lesson.run.playback.set_detail(Detail::fitting(self.size.width)),
            Mode::Comparing(comparison) => comparison.comparing.set_room(view::compare_room(self.size)),
            Mode::Browsing | Mode::Outcomes(_) | Mode::Ending => {}
        }
    }

    pub fn run(&mut self) -> Option<&mut Learning> {
        if let Mode::Learning(lesson) = &mut self.mode { Some(&mut lesson.run) } else { None }
    }

    pub fn receivers(&mut self) -> Receivers<'_> {
        let room = self.class.as_mut().and_then(|class| class.room.as_mut());
        let measuring = self.measurement.as_mut().and_then(|measurement| measurement.running.as_mut());
        let exam = self.interview.as_mut().and_then(|interview| interview.exam.as_mut());
        let exam = exam.and_then(ExamRound::awaited);
        let mut receivers = Receivers { measuring, exam, room, ..Receivers::default() };
        match &mut self.mode {
            Mode::Learning(lesson) => {
                receivers.session = lesson.run.session.as_mut();
                let screen = lesson.single.as_mut().and_then(Single::of_many);
                receivers.batch = screen.and_then(|screen| screen.outcomes.batch.as_mut());
            }
            Mode::Comparing(comparison) => receivers.session = comparison.comparing.session(),
            Mode::Outcomes(screen) => receivers.batch = screen.outcomes.batch.as_mut(),
            Mode::Browsing | Mode::Ending => {}
        }
        receivers
    }

    /// When to wake up without a message; `None` while nothing moves.
    pub fn wake(&self, now: Instant) -> Option<Instant> {
        let class = self.class.as_ref().and_then(|class| class.wake(now));
        class.into_iter().chain(self.wake_for_mode(now)).min()
    }

    fn wake_for_mode(&self, now: Instant) -> Option<Instant> {
        let round = self.interviewing().and_then(|interview| interview.round.as_ref());
        if let Some(round) = round.filter(|round| round.mock && round.card().is_some()) {
            return Some(next_second(round.clock(now).0, now));
        }
        match &self.mode {
            Mode::Learning(lesson) if lesson.run.playback.is_moving() => Some(now + FRAME),
            Mode::Learning(lesson) => {
                let clock = self.presented().map(|presented| next_second(presented, now));
                [lesson.run.due(now), clock].into_iter().flatten().min()
            }
            Mode::Comparing(comparison) => comparison.comparing.next,
            Mode::Browsing => {
                let preview = self.preview.as_ref().and_then(Preview::due);
                preview.into_iter().chain(self.fingerprint_due()).min()
            }
            Mode::Outcomes(_) | Mode::Ending => None,
        }
    }

    /// For how long the lesson has been presented; `None` outside presentation mode.
    pub(crate) fn presented(&self) -> Option<Duration> {
        let since = self.presenting.filter(|_| self.form == Form::Presenting)?;
        Some(self.moment.1.saturating_duration_since(since))
    }

    /// Handles a message. Returns `true` when the picture may have changed.
    pub fn handle(&mut self, message: Message, now: Instant) -> bool {
        self.moment = (interview::today(), now);
        let changed = self.take(message, now);
        self.run_ballot(now);
        self.note_progress();
        self.note_place();
        self.update_preview(now);
        self.publish_step();
        self.publish_to_class(now);
        changed
    }

    fn take(&mut self, message: Message, now: Instant) -> bool {
        match message {
            Message::Tick => {
                match &mut self.mode {
                    Mode::Learning(lesson) => lesson.run.tick(self.lang, now),
                    Mode::Comparing(comparison) => comparison.comparing.tick(now),
                    Mode::Browsing => {
                        if let Some(preview) = &mut self.preview {
                            preview.tick(now);
                        }
                    }
                    Mode::Outcomes(_) | Mode::Ending => {}
                }
                true
            }
            Message::Run(update) => {
                match &mut self.mode {
                    Mode::Learning(lesson) => lesson.run.receive(update, self.lang, now),
                    Mode::Comparing(comparison) => comparison.comparing.receive(update, &self.runs),
                    Mode::Browsing | Mode::Outcomes(_) | Mode::Ending => {}
                }
                true
            }
            Message::Class(heard) => {
                self.hear(heard, now);
                true
            }
            Message::Batch(update) => {
                if let Some(outcomes) = self.outcomes() {
                    outcomes.receive(update, now);
                }
                // While a single race is open, the others go on in the background.
                matches!(self.mode, Mode::Outcomes(_))
            }
            Message::Measured(update) => {
                if let Some(measurement) = &mut self.measurement {
                    measurement.receive(update);
                }
                matches!(self.overlay, Overlay::Measured(_))
            }
            Message::Exam(question) => {
                let exam = self.interview.as_mut().and_then(|interview| interview.exam.as_mut());
                if let Some(exam) = exam {
                    exam.receive(question.map(|question| question.map(|question| *question)));
                }
                true
            }
            Message::Input(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                if key.code == KeyCode::Esc
                    && matches!(self.notice, Some(Notice::RunIsLost(_) | Notice::BranchIsLost(_)))
                {
                    // As usual elsewhere, Esc dismisses a question.
                    self.notice = None;
                    return true;
                }
                let (scopes, chord) = (self.key_scopes(), Chord::pressed(key));
                if view::is_too_small(self.size)
                    && !matches!(
                        self.keys.action(&scopes, chord),
                        Some(Action::Quit | Action::Suspend | Action::Language)
                    )
                {
                    return false;
                }
                if let Some(typed) = chord.typed().filter(|_| scopes.contains(&KeyScope::Field)) {
                    self.type_in(typed.encode_utf8(&mut [0; 4]));
                    return true;
                }
                let Some(action) = self.keys.action(&scopes, chord) else {
                    if self.finish_animation() {
                        return true;
                    }
                    let Some((place, row)) = self.keys.elsewhere(&scopes, chord) else { return false };
                    self.notice = Some(match place {
                        KeyScope::Free if scopes.contains(&KeyScope::Lesson) => Notice::OnlyInFreePlay,
                        _ => Notice::Elsewhere(chord, place, row),
                    });
                    return true;
                };
                self.act(action, now);
                true
            }
            Message::Input(Event::Resize(width, height)) => {
                self.resize(Rect::new(0, 0, width, height));
                true
            }
            Message::Input(Event::Mouse(_) | Event::Paste(_)) if view::is_too_small(self.size) => false,
            Message::Input(Event::Mouse(mouse)) => self.handle_mouse(mouse, now),
            // Elsewhere, each pasted letter would be a key.
            Message::Input(Event::Paste(words)) if self.key_scopes().contains(&KeyScope::Field) => {
                self.type_in(&words.replace(char::is_control, ""));
                true
            }
            Message::Input(_) => false,
        }
    }

    fn type_in(&mut self, words: &str) {
        self.notice = None;
        match self.overlay {
            Overlay::Palette => {
                self.palette.typed.push_str(words);
                self.palette.chosen = 0;
            }
            _ => self.search(format!("{}{words}", self.typed())),
        }
    }

    /// Completes the animation in progress. Every key does this, except the two that pause it or step back.
    fn finish_animation(&mut self) -> bool {
        let Mode::Learning(lesson) = &mut self.mode else { return false };
        lesson.run.complete()
    }

    fn shows_answer(&self) -> bool {
        let Mode::Learning(lesson) = &self.mode else { return false };
        let question = lesson.run.predictions.question(lesson.run.playback.world());
        question.is_some_and(|question| question.right.is_some())
    }

    pub(crate) fn act(&mut self, action: Action, now: Instant) {
        if !matches!(action, Action::Toggle | Action::Back) {
            let ended = self.finish_animation();
            // The learner must be able to read the answer to a question before the story goes on.
            if ended && action == Action::Forward && self.shows_answer() {
                return;
            }
        }
        let before = self.notice.take();
        match (action, self.overlay) {
            (Action::Close | Action::Restart, Overlay::Nothing)
                if let Some(question) =
                    self.would_lose(action).filter(|asks| before.as_ref() != Some(asks)) =>
            {
                self.notice = Some(question);
            }
            (Action::Quit, _) => {
                self.keep_current_run();
                self.mode = Mode::Ending;
            }
            (Action::Suspend, _) => {
                self.notice = before;
                self.suspend();
            }
            (Action::Language, _) => self.set_lang(self.lang.other()),
            (Action::SetLang(lang), _) => self.set_lang(lang),
            (Action::Questions, _) => self.toggle_questions(),
            (Action::Theme, _) => self.set_theme(self.theme.name.next()),
            (Action::SetTheme(name), _) => self.set_theme(name),
            (Action::SetSpeed(n), _) => self.set_speed(SPEEDS[n], now),
            (Action::OpenAt(entry, variant), _) => self.open(entry, variant),
            (Action::Palette, before) => {
                self.palette = Palette::default();
                self.overlay = if before == Overlay::Palette { Overlay::Nothing } else { Overlay::Palette };
            }
            (Action::Measure, Overlay::Measured(_)) => self.measure(),
            (Action::Help | Action::Close, Overlay::Help(_))
            | (Action::Close | Action::Join, Overlay::Joining)
            | (Action::Close, Overlay::Measured(_))
            | (Action::Close | Action::Branches, Overlay::Branches(_)) => self.overlay = Overlay::Nothing,
            (Action::Join, _) if self.class.is_some() => self.overlay = Overlay::Joining,
            (Action::Help, _) => self.overlay = Overlay::Help(0),
            (Action::Cards, _) => {
                self.overlay = Overlay::Nothing;
                self.interview(now);
            }
            (action, Overlay::Palette) => self.command(action, now),
            (Action::Open, Overlay::Branches(row)) => self.switch_branch(row),
            (Action::Move(_) | Action::Page(_) | Action::End(_), Overlay::Branches(row)) => {
                self.choose_branch(row, lines(action));
            }
            (Action::Page(by), Overlay::Help(_) | Overlay::Measured(_)) => {
                self.scroll_overlay(by * i32::from(self.size.height / 2));
            }
            (action, Overlay::Help(_) | Overlay::Measured(_)) => self.scroll_overlay(lines(action)),
            (_, Overlay::Branches(_) | Overlay::Joining) => {}
            (Action::Vote, Overlay::Nothing) => self.vote(now),
            (action, Overlay::Nothing) if self.interviewing().is_some() => self.act_in_interview(action, now),
            (action, Overlay::Nothing) => match self.mode {
                Mode::Browsing => self.browse(action),
                Mode::Learning(_) => {
                    if !self.toggle_proof(action) {
                        self.learn(action, now);
                    }
                }
                Mode::Comparing(_) => self.act_in_comparison(action, now),
                Mode::Outcomes(_) => self.act_in_outcomes(action, now),
                Mode::Ending => {}
            },
        }
        // A hidden measurement is stopped, because two labs at once disturb each other.
        if !matches!(self.overlay, Overlay::Measured(_)) {
            self.measurement.take_if(|measurement| measurement.running.is_some());
        }
    }

    /// Pauses what plays by itself and gives the terminal back. The servers are held meanwhile.
    fn suspend(&mut self) {
        match &mut self.mode {
            Mode::Learning(lesson) => lesson.run.pause(),
            Mode::Comparing(comparison) => comparison.comparing.next = None,
            Mode::Browsing | Mode::Outcomes(_) | Mode::Ending => {}
        }
        self.leaving = Some(Ended::Suspended);
    }

    pub(crate) fn scroll_description(&mut self, by: i32) {
        if let Some(Screen::Catalogue(view)) = self.screen() {
            self.reading = scrolled(self.reading, by, view.reach(self.size));
        }
    }

    pub(crate) fn scroll_overlay(&mut self, by: i32) {
        let reach = match &self.measurement {
            Some(measurement) if matches!(self.overlay, Overlay::Measured(_)) => {
                view::measured_reach(measurement, self.context(), self.size)
            }
            _ => self.screen().map_or(0, |screen| screen.overlay_reach(self.overlay, self.size)),
        };
        if let Overlay::Help(scroll) | Overlay::Measured(scroll) = &mut self.overlay {
            *scroll = scrolled(*scroll, by, reach);
        }
    }

    /// Shows the measurement, and starts one if there is none or the last one failed.
    pub(crate) fn show_measured(&mut self) {
        self.overlay = Overlay::Measured(0);
        if self.measurement.as_ref().is_none_or(|measurement| measurement.failed.is_some()) {
            self.measure();
        }
    }

    fn measure(&mut self) {
        // A measurement in progress is stopped first, with its servers.
        self.measurement = None;
        self.measurement = Some(Measurement::new(self.runs.measure()));
    }
}

/// When a clock showing whole seconds changes next.
fn next_second(shown: Duration, now: Instant) -> Instant {
    now + Duration::from_secs(1).saturating_sub(Duration::from_nanos(shown.subsec_nanos().into()))
}

/// The number of lines by which an action moves or scrolls; 0 if it does neither.
pub(crate) fn lines(action: Action) -> i32 {
    match action {
        Action::Move(by) => by,
        Action::Page(by) => by * PAGE,
        Action::End(false) => i32::MIN,
        Action::End(true) => i32::MAX,
        _ => 0,
    }
}

pub(crate) fn scrolled(from: u16, by: i32, reach: u16) -> u16 {
    let by = i16::try_from(by).unwrap_or(if by < 0 { i16::MIN } else { i16::MAX });
    from.min(reach).saturating_add_signed(by).min(reach)
}
