//! Races and explorations of a variant: how they are opened, keys and mouse, a single run of them on the lesson screen,
//! and the ways back.

use std::time::Instant;

use super::{App, AppOptions, Lesson, Mode, lines, next_speed};
use crate::{
    log::Log,
    run::{LessonChoice, Runs, exam::ExamQuestion, race::Outcome},
    text::Text,
    ui::{
        keys::Action,
        state::{
            catalogue::Catalogue,
            kata::FailureRow,
            learning::Learning,
            outcomes::{Exploration, ExplorationOptions, Outcomes, RACES, Races, Source},
        },
        view::{Notice, OutcomesHit, SingleRace, SingleRun},
    },
};

#[derive(Debug)]
pub struct OutcomesScreen {
    pub(crate) entry: usize,
    pub(crate) variant: usize,
    pub(crate) outcomes: Outcomes,
    /// The lesson from which they were opened, in the state in which it was left.
    pub(crate) back: Option<Box<Lesson>>,
}

/// A run on the lesson screen that is not a run of the story.
#[derive(Debug)]
pub(crate) enum Single {
    /// One run of a batch, which goes on in the background.
    OfMany {
        screen: Box<OutcomesScreen>,
        /// The race that is open; `None` means the order that goes wrong.
        race: Option<OpenRace>,
    },
    /// The order that broke the answer to an exercise. There is no other screen.
    Answer(FailureRow),
    /// The order that an exam asked about.
    Examined(Box<ExamQuestion>),
}

#[derive(Debug)]
pub(crate) struct OpenRace {
    /// Counted from 0.
    number: u32,
    outcome: Outcome,
    /// Why the race went wrong, if its log says so.
    why: Option<Text>,
}

impl Single {
    /// The batch to which this run belongs.
    pub(crate) fn of_many(&mut self) -> Option<&mut OutcomesScreen> {
        if let Self::OfMany { screen, .. } = self { Some(screen) } else { None }
    }

    pub(crate) fn view(&self) -> Option<SingleRun<'_>> {
        let (screen, race) = match self {
            Self::OfMany { screen, race } => (screen, race),
            Self::Answer(failure) => return Some(SingleRun::Answer(failure)),
            Self::Examined(question) => return Some(SingleRun::Examined(question)),
        };
        match (&screen.outcomes.source, race) {
            (Source::Races(races), Some(OpenRace { number, outcome, why })) => {
                Some(SingleRun::Race(SingleRace {
                    number: *number,
                    races: races.kept.races(),
                    seed: races.seed(*number),
                    outcome,
                    wording: screen.outcomes.wording(),
                    why: why.as_ref(),
                }))
            }
            (Source::Exploration(exploration), _) => Some(SingleRun::Order(exploration)),
            (Source::Races(_), None) => None,
        }
    }
}

impl Lesson {
    /// The lesson that was opened: this one, or the one behind a single run of many.
    pub(crate) fn of_its_own(&self) -> Option<&Self> {
        match &self.single {
            None => Some(self),
            Some(Single::OfMany { screen, .. }) => screen.back.as_deref(),
            Some(Single::Answer(_) | Single::Examined(_)) => None,
        }
    }
}

impl<R: Runs> App<R> {
    pub(crate) fn outcomes(&mut self) -> Option<&mut Outcomes> {
        match &mut self.mode {
            Mode::Outcomes(screen) => Some(&mut screen.outcomes),
            Mode::Learning(lesson) => {
                lesson.single.as_mut().and_then(Single::of_many).map(|screen| &mut screen.outcomes)
            }
            Mode::Browsing | Mode::Comparing(_) | Mode::Ending => None,
        }
    }

    pub(crate) fn race(&mut self, entry: usize, variant: usize) {
        self.open_outcomes(entry, variant, Source::Races(Races::default()));
    }

    pub(crate) fn explore(&mut self, entry: usize, variant: usize, options: ExplorationOptions) {
        let exploration = Exploration { options, ..Exploration::default() };
        self.open_outcomes(entry, variant, Source::Exploration(exploration));
    }

    fn open_outcomes(&mut self, entry: usize, variant: usize, source: Source) {
        let Some(choice) = self.choice(entry, variant) else { return };
        // The earlier runs are shut down first, with their servers.
        let back = self.end_screen();
        let batch = match &source {
            Source::Races(_) => self.runs.race(&choice, RACES),
            Source::Exploration(exploration) => self.runs.explore(&choice, &exploration.options.bounds()),
        };
        self.selected = entry;
        self.leave_catalogue();
        let outcomes = Outcomes::new(choice, source, batch);
        self.mode = Mode::Outcomes(Box::new(OutcomesScreen { entry, variant, outcomes, back }));
    }

    /// Ends the current screen. Returns the lesson to which the next screen leads back.
    pub(crate) fn end_screen(&mut self) -> Option<Box<Lesson>> {
        match std::mem::replace(&mut self.mode, Mode::Browsing) {
            Mode::Learning(mut lesson) => {
                lesson.run.pause();
                Some(lesson)
            }
            Mode::Outcomes(screen) => screen.back,
            Mode::Comparing(comparison) => comparison.back,
            Mode::Browsing | Mode::Ending => None,
        }
    }

    pub(crate) fn act_in_outcomes(&mut self, action: Action, now: Instant) {
        let Mode::Outcomes(screen) = &mut self.mode else { return };
        let (entry, variant) = (screen.entry, screen.variant);
        let outcomes = &mut screen.outcomes;
        if let Source::Exploration(exploration) = &mut outcomes.source
            && let Some((graph, walk)) = exploration.walking()
        {
            match action {
                Action::Move(by) => walk.choose(graph, by),
                Action::Walk(true) => walk.forward(graph),
                Action::Walk(false) => walk.back(),
                Action::Close => exploration.walk = None,
                Action::Open => {
                    let past = graph.log(walk.way());
                    self.play_on(past);
                }
                _ => {}
            }
            return;
        }
        let options = outcomes.exploration().map(|exploration| exploration.options);
        match (action, options) {
            (Action::Close, _) if outcomes.stop_search(now) || outcomes.enter(false) => {}
            (Action::Close, _) => self.go_back(),
            (Action::Restart, options) => self.run_again(entry, variant, options),
            (Action::Variant(next), options) => {
                let other = self.catalogue.neighbour(entry, variant, next);
                self.run_again(entry, other, options);
            }
            (Action::Prune, Some(options)) => {
                self.explore(entry, variant, ExplorationOptions { prune: !options.prune, ..options });
            }
            (Action::NextFault, Some(options)) => self.explore(entry, variant, options.with_next_fault()),
            (Action::Moves(more), Some(options)) if options.with_moves(more) != options => {
                self.explore(entry, variant, options.with_moves(more));
            }
            (Action::Toggle, _) => outcomes.toggle(now),
            (Action::More, None) if !outcomes.more(now) => self.notice = Some(Notice::NoMoreRaces),
            (Action::Broken(next), _) => {
                if let Source::Exploration(exploration) = &mut outcomes.source {
                    exploration.look_at_next(next);
                }
            }
            (Action::States, Some(_)) => {
                if let Source::Exploration(exploration) = &mut outcomes.source
                    && !exploration.enter_states()
                {
                    let found = exploration.found.as_ref();
                    let counted = found.map_or(0, |found| found.explored.space.states);
                    self.notice = Some(Notice::NoStates(counted));
                }
            }
            (Action::Races(into), _) => {
                outcomes.enter(into);
            }
            (Action::Move(_) | Action::Page(_) | Action::End(_), _) => outcomes.choose(lines(action)),
            (Action::Open, _) => self.open_single(),
            (Action::Faster(faster), _) => self.set_speed(next_speed(self.speed, faster), now),
            // All other actions are handled elsewhere.
            _ => {}
        }
    }

    fn run_again(&mut self, entry: usize, variant: usize, options: Option<ExplorationOptions>) {
        match options {
            Some(options) => self.explore(entry, variant, options),
            None => self.race(entry, variant),
        }
    }

    pub(crate) fn point_in_outcomes(&mut self, hit: OutcomesHit) {
        let Mode::Outcomes(screen) = &mut self.mode else { return };
        match hit {
            OutcomesHit::Nothing => {}
            OutcomesHit::Outcome(place) => screen.outcomes.point_at_outcome(place),
            OutcomesHit::Race(place) if screen.outcomes.race == Some(place) => self.open_single(),
            OutcomesHit::Race(place) => screen.outcomes.race = Some(place),
        }
    }

    /// Opens the chosen race, or the order that goes wrong and is shown, on the lesson screen.
    fn open_single(&mut self) {
        let Mode::Outcomes(screen) = &self.mode else { return };
        let outcomes = &screen.outcomes;
        let choice = outcomes.choice.clone();
        let (race, log) = match &outcomes.source {
            Source::Races(races) => {
                let Some((number, outcome, log)) = outcomes.race_to_open() else { return };
                let Some(log) = log else {
                    let LessonChoice { id, variant } = choice;
                    self.notice = Some(Notice::RaceForgotten { id, variant, seed: races.seed(number) });
                    return;
                };
                let why = outcome.is_violated().then(|| self.runs.why(&choice, log)).flatten();
                (Some(OpenRace { number, outcome: outcome.clone(), why }), log)
            }
            Source::Exploration(exploration) => {
                let Some(breaking) = exploration.breaking() else {
                    self.notice = Some(Notice::NoOrder);
                    return;
                };
                (None, &breaking.order.log)
            }
        };
        let run = self.run_of_log(choice, log, (screen.entry, screen.variant));
        if let Mode::Outcomes(screen) = std::mem::replace(&mut self.mode, Mode::Browsing) {
            let mut lesson = Lesson::new(screen.entry, screen.variant, run);
            lesson.single = Some(Single::OfMany { screen, race });
            self.mode = Mode::Learning(Box::new(lesson));
            self.adapt();
        }
    }

    /// A finished run at its beginning; `place` is the entry and the variant in the catalogue.
    pub(crate) fn run_of_log(&self, choice: LessonChoice, log: &Log, place: (usize, usize)) -> Learning {
        let mut run = Learning::of_log(choice, log, self.speed);
        run.playback.reduced_motion = self.reduced_motion;
        run.playback.follow_programs(self.listings(place.0, place.1));
        run
    }

    /// Starts free play on a fresh lab, in the state that the walk through the states has reached.
    fn play_on(&mut self, past: Log) {
        self.record_run();
        let Mode::Outcomes(screen) = std::mem::replace(&mut self.mode, Mode::Browsing) else { return };
        let run = self.run_of_log(screen.outcomes.choice.clone(), &past, (screen.entry, screen.variant));
        let lesson = Lesson::new(screen.entry, screen.variant, run);
        self.mode = Mode::Learning(Box::new(lesson));
        self.begin_branch(past, None);
        self.adapt();
    }

    /// The screen of the order that broke an answer to an exercise. Leaving it ends the program.
    pub fn of_broken_answer(
        catalogue: Catalogue,
        runs: R,
        options: &AppOptions,
        choice: LessonChoice,
        (failure, log): (FailureRow, &Log),
    ) -> Self {
        let mut app = Self::new(catalogue, runs, options);
        let variant = app.catalogue.find(&choice.id, Some(&choice.variant)).map_or(0, |(_, variant)| variant);
        let run = app.run_of_log(choice, log, (0, variant));
        let mut lesson = Lesson::new(0, variant, run);
        lesson.single = Some(Single::Answer(failure));
        app.mode = Mode::Learning(Box::new(lesson));
        app
    }

    /// Returns from a single run to its batch, or from a lesson to the catalogue or the card that opened it.
    pub(crate) fn leave_lesson(&mut self) {
        // The lesson behind a single run of many is not left yet.
        if !matches!(&self.mode, Mode::Learning(lesson) if lesson.single.is_some()) {
            self.keep_current_run();
        }
        self.give_up_ballot();
        if let Some(interview) = &mut self.interview {
            interview.in_lesson = false;
            if interview.over_lesson {
                return;
            }
        }
        if let Mode::Learning(lesson) = std::mem::replace(&mut self.mode, Mode::Browsing)
            && let Some(single) = lesson.single
        {
            self.mode = match single {
                Single::OfMany { screen, .. } => Mode::Outcomes(screen),
                Single::Answer(_) => Mode::Ending,
                Single::Examined(_) => Mode::Browsing,
            };
        }
        if self.catalogue.entries.len() == 1 && matches!(self.mode, Mode::Browsing) {
            // With `attach` there is nothing else to choose.
            self.mode = Mode::Ending;
        }
    }

    /// Returns to the lesson as it was left, or to the catalogue. The runs end.
    pub(crate) fn go_back(&mut self) {
        if let Some(mut lesson) = self.end_screen() {
            lesson.run.set_speed(self.speed, Instant::now());
            lesson.run.set_questions(self.questions);
            self.mode = Mode::Learning(lesson);
            self.adapt();
        }
    }
}
