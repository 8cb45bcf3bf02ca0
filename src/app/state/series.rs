//! The part of the program's state in which a variant is raced many times: how the learner gets there, what the keys
//! do there, a single race on the lesson's screen, and the ways back. It must not know how races are run.

use std::time::Instant;

use super::{App, Lesson, Mode, PAGE, next_speed};
use crate::{
    app::{
        LessonChoice, Runs,
        keys::Action,
        learning::Learning,
        trials::{RACES, Trials},
    },
    race::{Outcome, Racing},
    view::{Notice, RaceTold, TrialsHit, TrialsView},
};

/// Many races on the screen.
#[derive(Debug)]
pub struct Series {
    entry: usize,
    variant: usize,
    pub(super) trials: Trials,
    /// The lesson that they were opened from, as it was left.
    back: Option<Box<Lesson>>,
}

/// One of many races, on the lesson's screen.
#[derive(Debug)]
pub(super) struct Single {
    /// Those that it is one of. They go on meanwhile.
    pub(super) series: Box<Series>,
    /// Which it is: 0 was the first.
    pub(super) number: u32,
    pub(super) outcome: Outcome,
}

impl Series {
    /// The lesson's place in the catalogue.
    pub(in crate::app) fn entry(&self) -> usize {
        self.entry
    }
}

impl Single {
    /// What it is one of, for the screen.
    pub(super) fn told(&self) -> RaceTold<'_> {
        let trials = &self.series.trials;
        RaceTold {
            number: self.number,
            races: trials.kept().races(),
            seed: trials.seed(self.number),
            outcome: &self.outcome,
        }
    }
}

impl<R: Runs> App<R> {
    /// The races that are listened to, if there are any.
    pub(in crate::app) fn trials(&mut self) -> Option<&mut Trials> {
        match &mut self.mode {
            Mode::Trials(series) => Some(&mut series.trials),
            Mode::Learning(lesson) => lesson.single.as_mut().map(|single| &mut single.series.trials),
            Mode::Browsing | Mode::Comparing(_) | Mode::Ending => None,
        }
    }

    /// Races a variant of a lesson many times.
    pub(in crate::app) fn race(&mut self, entry: usize, variant: usize) {
        let chosen = self.catalogue.entries.get(entry);
        let Some((lesson, variant_named)) = chosen
            .filter(|lesson| lesson.broken.is_none())
            .and_then(|lesson| Some((lesson, lesson.variants.get(variant)?)))
        else {
            return;
        };
        let choice = LessonChoice {
            id: lesson.id.clone(),
            variant: variant_named.name.clone(),
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
        self.mode = Mode::Trials(Box::new(Series {
            entry,
            variant,
            trials: Trials::new(choice, racing),
            back,
        }));
    }

    /// What a key does here.
    pub(super) fn act_in_series(&mut self, action: Action, now: Instant) {
        let Mode::Trials(series) = &mut self.mode else {
            return;
        };
        let (entry, variant) = (series.entry, series.variant);
        let variants = self
            .catalogue
            .entries
            .get(entry)
            .map_or(1, |entry| entry.variants.len().max(1));
        match action {
            Action::Close if series.trials.enter(false) => {}
            Action::Close => self.leave_series(),
            Action::Restart => self.race(entry, variant),
            Action::Variant(true) => self.race(entry, (variant + 1) % variants),
            Action::Variant(false) => self.race(entry, (variant + variants - 1) % variants),
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
    pub(in crate::app) fn point_in_series(&mut self, hit: TrialsHit) {
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
            self.notice = Some(Notice::RaceForgotten {
                id,
                variant,
                seed: series.trials.seed(number),
            });
            return;
        };
        let outcome = outcome.clone();
        let Mode::Trials(series) = std::mem::replace(&mut self.mode, Mode::Browsing) else {
            return;
        };
        let (entry, variant) = (series.entry, series.variant);
        let mut run = Learning::of_log(series.trials.choice.clone(), &log, self.speed);
        run.playback.set_motion(!self.reduced_motion);
        let single = Single {
            series,
            number,
            outcome,
        };
        self.mode = Mode::Learning(Box::new(Lesson {
            single: Some(single),
            ..Lesson::new(entry, variant, run)
        }));
        self.adapt();
    }

    /// From a race to those that it is one of, or from a lesson to the catalogue.
    pub(super) fn leave_lesson(&mut self) {
        if let Mode::Learning(lesson) = std::mem::replace(&mut self.mode, Mode::Browsing)
            && let Some(single) = lesson.single
        {
            self.mode = Mode::Trials(single.series);
        }
    }

    /// Back to the lesson as it was left, or to the catalogue. The races end.
    fn leave_series(&mut self) {
        if let Mode::Trials(series) = std::mem::replace(&mut self.mode, Mode::Browsing)
            && let Some(mut lesson) = series.back
        {
            lesson.run.set_speed(self.speed, Instant::now());
            lesson.run.set_questions(self.questions);
            self.mode = Mode::Learning(lesson);
            self.adapt();
        }
    }

    /// The picture of them.
    pub(super) fn trials_view<'a>(&'a self, series: &'a Series) -> Option<TrialsView<'a>> {
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
