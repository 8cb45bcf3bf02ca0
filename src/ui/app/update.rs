//! What the program is doing, as one state that messages change.
//!
//! **Architecture Invariant:** there is one [`Mode`] at a time, and one overlay over it; no pairs of booleans.

pub(crate) mod compare;
pub(crate) mod free;
pub(crate) mod learn;
pub(crate) mod outcomes;
pub(crate) mod show;

use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyEventKind};
use ratatui::layout::Rect;

use super::AppOptions;
use crate::run::{LessonChoice, Runs};
use crate::ui::{
    keys::{Action, Chord, KeyMap, Place},
    state::{
        branches::Branches,
        browse::{CatalogueFocus, Search},
        catalogue::Catalogue,
        learning::Learning,
        palette::Palette,
        progress::{Record, Store},
    },
};
use compare::ComparisonScreen;
use outcomes::{OutcomesScreen, Single};

use crate::{
    run::{
        batch::{Batch, BatchUpdate},
        session::{Session, Update},
    },
    text::Lang,
    ui::{
        chart::Detail,
        keys::Pane,
        state::screen::{Form, Lens, Overlay, Scrolls},
        theme::{Theme, ThemeName},
        view::{self, Notice, Screen},
    },
};

pub(crate) const SPEEDS: [f64; 6] = [0.25, 0.5, 1.0, 2.0, 4.0, 10.0];
/// Time from one picture to the next while something moves.
const FRAME: Duration = Duration::from_millis(33);
/// Lines of a page, whatever the pane's height: small enough to keep the place.
pub(crate) const PAGE: i32 = 5;

#[derive(Debug)]
pub enum Message {
    Input(Event),
    /// The live run; `None` when it is gone.
    Run(Option<Update>),
    /// Many runs; `None` when they are gone.
    Batch(Option<BatchUpdate>),
    Tick,
}

#[derive(Debug, Default)]
pub struct Listened<'a> {
    pub session: Option<&'a mut Session>,
    pub batch: Option<&'a mut Batch>,
}

#[derive(Debug)]
pub enum Mode {
    Browsing,
    Learning(Box<Lesson>),
    Comparing(Box<ComparisonScreen>),
    /// A variant that is raced many times, or of which every order of moves is tried.
    Outcomes(Box<OutcomesScreen>),
    Ending,
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
    /// How many clients are left out at the left of the sequence, if the learner says so.
    pub(crate) aside: Option<u16>,
    /// Where it is one run of many, and not of the story.
    single: Option<Single>,
    /// The runs of free play, of which `run` is one.
    pub(crate) branches: Branches,
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
            aside: None,
            single: None,
            branches: Branches::default(),
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
    /// How far the chosen lesson's description is scrolled.
    pub(crate) reading: u16,
    pub(crate) size: Rect,
    form: Form,
    questions: bool,
    reduced_motion: bool,
    /// How the log is looked at, in every lesson.
    lens: Lens,
    /// Told at the bottom of the screen until the next key.
    notice: Option<Notice>,
    progress: Store,
}

impl<R: Runs> App<R> {
    pub fn new(catalogue: Catalogue, runs: R, options: &AppOptions) -> Self {
        let mut app = Self {
            catalogue,
            runs,
            lang: options.lang,
            theme: options.theme,
            speed: options.speed.clamp(SPEEDS[0], SPEEDS[SPEEDS.len() - 1]),
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
            lens: Lens::default(),
            notice: match &options.trouble {
                Some(trouble) => Some(Notice::Progress(trouble.clone())),
                None if options.outdated => Some(Notice::Outdated),
                None => options.mistakes.clone().map(Notice::Config),
            },
            progress: options.progress.clone(),
        };
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

    pub fn listened(&mut self) -> Listened<'_> {
        let mut listened = Listened::default();
        match &mut self.mode {
            Mode::Learning(lesson) => {
                listened.session = lesson.run.session.as_mut();
                listened.batch =
                    lesson.single.as_mut().and_then(|single| single.screen.outcomes.batch.as_mut());
            }
            Mode::Comparing(comparison) => listened.session = comparison.comparing.session(),
            Mode::Outcomes(screen) => listened.batch = screen.outcomes.batch.as_mut(),
            Mode::Browsing | Mode::Ending => {}
        }
        listened
    }

    /// When to wake up although nothing happens: never, while nothing moves.
    pub fn wake(&self, now: Instant) -> Option<Instant> {
        match &self.mode {
            Mode::Learning(lesson) if lesson.run.playback.is_moving() => Some(now + FRAME),
            Mode::Learning(lesson) => lesson.run.due(),
            Mode::Comparing(comparison) => comparison.comparing.next,
            Mode::Browsing | Mode::Outcomes(_) | Mode::Ending => None,
        }
    }

    /// Takes in a message; `true` when the picture may have changed.
    pub fn handle(&mut self, message: Message, now: Instant) -> bool {
        let changed = self.take(message, now);
        self.note_progress();
        changed
    }

    fn note_progress(&mut self) {
        let Mode::Learning(lesson) = &self.mode else { return };
        let (outcome, score) = lesson.run.done();
        let solved = lesson.run.solved();
        if outcome.is_none() && score.asked == 0 && solved == 0 {
            return;
        }
        let LessonChoice { id, variant } = &lesson.run.choice;
        let before = self.progress.progress().of(id, variant).unwrap_or_default();
        // A run without predictions takes none away.
        let (right, asked) = match score.asked {
            0 => (before.right, before.asked),
            asked => (score.right, asked),
        };
        let record = Record {
            finished: before.finished || outcome.is_some(),
            outcome: outcome.or(before.outcome),
            right,
            asked,
            solved: before.solved.max(solved),
        };
        if let Err(trouble) = self.progress.note(id, variant, record) {
            self.notice = Some(Notice::Progress(trouble));
        }
    }

    fn take(&mut self, message: Message, now: Instant) -> bool {
        match message {
            Message::Tick => {
                match &mut self.mode {
                    Mode::Learning(lesson) => lesson.run.tick(self.lang, now),
                    Mode::Comparing(comparison) => comparison.comparing.tick(now),
                    Mode::Browsing | Mode::Outcomes(_) | Mode::Ending => {}
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
            Message::Batch(update) => {
                if let Some(outcomes) = self.outcomes() {
                    outcomes.receive(update, now);
                }
                // Behind a single race they go on unseen.
                matches!(self.mode, Mode::Outcomes(_))
            }
            Message::Input(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                let (places, chord) = (self.places(), Chord::pressed(key));
                if let Some(typed) = chord.typed().filter(|_| places.contains(&Place::Field)) {
                    self.notice = None;
                    match self.overlay {
                        Overlay::Palette => {
                            self.palette.typed.push(typed);
                            self.palette.chosen = 0;
                        }
                        _ => self.search(format!("{}{typed}", self.typed())),
                    }
                    return true;
                }
                let Some(action) = self.keys.action(&places, chord) else { return self.finish_animation() };
                self.act(action, now);
                true
            }
            Message::Input(Event::Resize(width, height)) => {
                self.resize(Rect::new(0, 0, width, height));
                true
            }
            Message::Input(Event::Mouse(mouse)) => self.point(mouse, now),
            Message::Input(_) => false,
        }
    }

    /// Any key ends an animation, but for the two that stop it or turn it back.
    fn finish_animation(&mut self) -> bool {
        let Mode::Learning(lesson) = &mut self.mode else { return false };
        lesson.run.complete()
    }

    pub(crate) fn act(&mut self, action: Action, now: Instant) {
        if !matches!(action, Action::Toggle | Action::Back) {
            self.finish_animation();
        }
        self.notice = None;
        match (action, self.overlay) {
            (Action::Quit, _) => self.mode = Mode::Ending,
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
            (Action::Help, Overlay::Help(_)) | (Action::Cards, Overlay::Cards(_)) => {
                self.overlay = Overlay::Nothing;
            }
            (Action::Help, _) => self.overlay = Overlay::Help(0),
            (Action::Cards, _) => self.overlay = Overlay::Cards(0),
            (action, Overlay::Palette) => self.command(action, now),
            (Action::Open, Overlay::Branches(row)) => self.switch_branch(row),
            (Action::Move(_) | Action::Page(_), Overlay::Branches(row)) => {
                self.choose_branch(row, lines(action));
            }
            (Action::Close, Overlay::Help(_) | Overlay::Cards(_) | Overlay::Branches(_))
            | (Action::Branches, Overlay::Branches(_)) => self.overlay = Overlay::Nothing,
            (action, Overlay::Help(_) | Overlay::Cards(_)) => self.scroll_overlay(lines(action)),
            (_, Overlay::Branches(_)) => {}
            (action, Overlay::Nothing) => match self.mode {
                Mode::Browsing => self.browse(action),
                Mode::Learning(_) => self.learn(action, now),
                Mode::Comparing(_) => self.act_in_comparison(action, now),
                Mode::Outcomes(_) => self.act_in_outcomes(action, now),
                Mode::Ending => {}
            },
        }
    }

    fn toggle_questions(&mut self) {
        self.questions = !self.questions;
        if let Mode::Learning(lesson) = &mut self.mode {
            lesson.run.set_questions(self.questions);
        }
        self.notice = Some(Notice::Questions(self.questions));
    }

    fn set_theme(&mut self, name: ThemeName) {
        self.theme = self.theme.named(name);
        self.notice = Some(Notice::Theme(name));
    }

    fn set_lang(&mut self, lang: Lang) {
        self.lang = lang;
        if let Some(search) = &self.search {
            self.search = Some(Search::new(search.typed.clone(), search.before, &self.catalogue, lang));
        }
    }

    fn set_speed(&mut self, speed: f64, now: Instant) {
        self.speed = speed;
        match &mut self.mode {
            Mode::Learning(lesson) => lesson.run.set_speed(speed, now),
            Mode::Comparing(comparison) => comparison.comparing.speed = speed,
            Mode::Browsing | Mode::Outcomes(_) | Mode::Ending => {}
        }
    }

    pub(crate) fn scroll_description(&mut self, by: i32) {
        if let Some(Screen::Catalogue(view)) = self.screen() {
            self.reading = scrolled(self.reading, by, view.reach(self.size));
        }
    }

    pub(crate) fn choice(&self, entry: usize, variant: usize) -> Option<LessonChoice> {
        let lesson = self.catalogue.entries.get(entry)?;
        let variant = lesson.variants.get(variant).filter(|_| lesson.broken.is_none())?;
        Some(LessonChoice { id: lesson.id.clone(), variant: variant.name.clone() })
    }

    pub(crate) fn open(&mut self, entry: usize, variant: usize) {
        let Some(choice) = self.choice(entry, variant) else { return };
        // The lab before goes down first: two labs at once help nobody.
        self.mode = Mode::Browsing;
        let session = self.runs.open(&choice);
        self.selected = entry;
        self.leave_catalogue();
        let mut run = Learning::new(choice, session, self.speed, self.questions);
        run.playback.reduced_motion = self.reduced_motion;
        run.catch_up(self.lang);
        self.mode = Mode::Learning(Box::new(Lesson::new(entry, variant, run)));
        self.adapt();
    }

    pub(crate) fn scroll_overlay(&mut self, by: i32) {
        let reach = self.screen().map_or(0, |screen| screen.overlay_reach(self.overlay, self.size));
        if let Overlay::Help(scroll) | Overlay::Cards(scroll) = &mut self.overlay {
            *scroll = scrolled(*scroll, by, reach);
        }
    }
}

/// By how many lines an action moves, or scrolls; 0 where it does neither.
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

/// The next speed up or down from one that may be none of those on offer.
fn next_speed(speed: f64, faster: bool) -> f64 {
    if faster {
        SPEEDS.into_iter().find(|known| *known > speed).unwrap_or(SPEEDS[SPEEDS.len() - 1])
    } else {
        SPEEDS.into_iter().rev().find(|known| *known < speed).unwrap_or(SPEEDS[0])
    }
}
