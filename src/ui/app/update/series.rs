//! The part of the program's state in which a variant is raced many times: how the learner gets there, what the keys
//! do there, a single race on the lesson's screen, and the ways back.

use std::time::Instant;

use super::{App, Lesson, Mode, PAGE, next_speed, orders::Orders};
use crate::{
    run::{
        LessonChoice, Runs,
        race::{Outcome, Racing},
    },
    text::Text,
    ui::{
        keys::Action,
        state::{
            learning::Learning,
            trials::{RACES, Trials},
        },
        view::{Notice, RaceTold, SingleTold, TrialsHit, TrialsView},
    },
};

/// Many races on the screen.
#[derive(Debug)]
pub struct Series {
    entry: usize,
    variant: usize,
    pub(crate) trials: Trials,
    /// The lesson that they were opened from, as it was left.
    back: Option<Box<Lesson>>,
}

/// One run of many, on the lesson's screen.
#[derive(Debug)]
pub(crate) enum Single {
    Race {
        /// Those that it is one of. They go on meanwhile.
        series: Box<Series>,
        /// Which it is: 0 was the first.
        number: u32,
        /// What came of it.
        outcome: Outcome,
        /// Why it went wrong, where its log says so.
        why: Option<Text>,
    },
    /// The shortest order that goes wrong.
    Order(Box<Orders>),
}

impl Series {
    /// The lesson's place in the catalogue.
    pub(crate) fn entry(&self) -> usize {
        self.entry
    }
}

impl Single {
    /// What it is one of, for the screen.
    pub(crate) fn told(&self) -> SingleTold<'_> {
        match self {
            Self::Race { series, number, outcome, why } => {
                let trials = &series.trials;
                SingleTold::Race(RaceTold {
                    number: *number,
                    races: trials.kept().races(),
                    seed: trials.seed(*number),
                    outcome,
                    invariants: trials.field().map_or(&[], |field| &field.invariants),
                    why: why.as_ref(),
                })
            }
            Self::Order(orders) => SingleTold::Order(orders.exploration.found()),
        }
    }

    /// The races that go on behind it.
    pub(crate) fn racing(&mut self) -> Option<&mut Racing> {
        match self {
            Self::Race { series, .. } => series.trials.racing(),
            Self::Order(_) => None,
        }
    }
}

impl<R: Runs> App<R> {
    /// The races that are listened to, if there are any.
    pub(crate) fn trials(&mut self) -> Option<&mut Trials> {
        match &mut self.mode {
            Mode::Trials(series) => Some(&mut series.trials),
            Mode::Learning(lesson) => match &mut lesson.single {
                Some(Single::Race { series, .. }) => Some(&mut series.trials),
                Some(Single::Order(_)) | None => None,
            },
            Mode::Browsing | Mode::Comparing(_) | Mode::Exploring(_) | Mode::Ending => None,
        }
    }

    /// Races a variant of a lesson many times.
    pub(crate) fn race(&mut self, entry: usize, variant: usize) {
        let Some(choice) = self.chosen(entry, variant) else {
            return;
        };
        // The races before go down first, with their servers.
        let back = match std::mem::replace(&mut self.mode, Mode::Browsing) {
            Mode::Learning(mut lesson) => {
                lesson.run.pause();
                Some(lesson)
            }
            Mode::Trials(series) => series.back,
            _ => None,
        };
        let racing: Racing = self.runs.race(&choice, RACES);
        self.selected = entry;
        self.leave_shelf();
        self.mode =
            Mode::Trials(Box::new(Series { entry, variant, trials: Trials::new(choice, racing), back }));
    }

    /// What a key does here.
    pub(crate) fn act_in_series(&mut self, action: Action, now: Instant) {
        let Mode::Trials(series) = &mut self.mode else {
            return;
        };
        let (entry, variant) = (series.entry, series.variant);
        match action {
            Action::Close if series.trials.enter(false) => {}
            Action::Close => self.leave_series(),
            Action::Restart => self.race(entry, variant),
            Action::Variant(next) => {
                let other = self.catalogue.neighbour(entry, variant, next);
                self.race(entry, other);
            }
            Action::Toggle => series.trials.toggle(now),
            Action::More if series.trials.more(now) => {}
            Action::More => self.notice = Some(Notice::NoMoreRaces),
            Action::Races(into) => {
                series.trials.enter(into);
            }
            Action::Move(by) => series.trials.choose(by),
            Action::Page(by) => series.trials.choose(by * PAGE),
            Action::End(end) => series.trials.choose(if end { i32::MAX } else { i32::MIN }),
            Action::Open => self.open_race(),
            Action::Faster(faster) => self.set_speed(next_speed(self.speed, faster), now),
            // At home elsewhere, or done already.
            _ => {}
        }
    }

    /// What the mouse points at.
    pub(crate) fn point_in_series(&mut self, hit: TrialsHit) {
        let Mode::Trials(series) = &mut self.mode else {
            return;
        };
        match hit {
            TrialsHit::Nothing => {}
            TrialsHit::Outcome(place) => series.trials.point_at(Some(place), None),
            TrialsHit::Race(place) if series.trials.chosen_race() == Some(place) => self.open_race(),
            TrialsHit::Race(place) => series.trials.point_at(None, Some(place)),
        }
    }

    /// Opens the chosen race on the lesson's screen.
    fn open_race(&mut self) {
        let Mode::Trials(series) = &self.mode else {
            return;
        };
        let Some((number, outcome, log)) = series.trials.to_open() else {
            return;
        };
        let Some(log) = log.cloned() else {
            let LessonChoice { id, variant } = series.trials.choice.clone();
            self.notice = Some(Notice::RaceForgotten { id, variant, seed: series.trials.seed(number) });
            return;
        };
        let outcome = outcome.clone();
        let choice = &series.trials.choice;
        let why = outcome.is_violated().then(|| self.runs.why(choice, &log)).flatten();
        let Mode::Trials(series) = std::mem::replace(&mut self.mode, Mode::Browsing) else {
            return;
        };
        let (entry, variant) = (series.entry, series.variant);
        let mut run = Learning::of_log(series.trials.choice.clone(), &log, self.speed);
        run.playback.set_motion(!self.reduced_motion);
        let single = Single::Race { series, number, outcome, why };
        self.mode =
            Mode::Learning(Box::new(Lesson { single: Some(single), ..Lesson::new(entry, variant, run) }));
        self.adapt();
    }

    /// From one run to those that it is one of, or from a lesson to the catalogue.
    pub(crate) fn leave_lesson(&mut self) {
        if let Mode::Learning(lesson) = std::mem::replace(&mut self.mode, Mode::Browsing) {
            self.mode = match lesson.single {
                Some(Single::Race { series, .. }) => Mode::Trials(series),
                Some(Single::Order(orders)) => Mode::Exploring(orders),
                None => Mode::Browsing,
            };
        }
    }

    /// Back to the lesson as it was left, or to the catalogue. The races end.
    fn leave_series(&mut self) {
        if let Mode::Trials(series) = std::mem::replace(&mut self.mode, Mode::Browsing) {
            self.return_to(series.back);
        }
    }

    /// The picture of them.
    pub(crate) fn trials_view<'a>(&'a self, series: &'a Series) -> Option<TrialsView<'a>> {
        Some(TrialsView {
            entry: self.catalogue.entries.get(series.entry)?,
            variant: series.variant,
            trials: &series.trials,
            keys: &self.keys,
            theme: self.theme,
            lang: self.lang,
        })
    }
}
