//! Many races of one variant as the learner follows them: what has come of them so far, which outcome and which race
//! are chosen, how many there are to be.

use std::time::{Duration, Instant};

use super::{learning::ENDED, shelf::moved};
use crate::run::LessonChoice;
use crate::{
    log::Log,
    run::race::{Field, Kept, Kind, MOST_RACES, Orders, Outcome, Pace, Racing, Told},
    text::Text,
};

/// How many races there are at first.
pub const RACES: u64 = 100;
/// How many times more, when more are wanted.
const MORE: u64 = 10;

/// Where the races stand.
#[derive(Debug, Clone, PartialEq)]
pub enum Course {
    /// The servers are being started.
    Booting,
    /// They are being run, or stopped in between, or there are as many as were wanted.
    Ready,
    /// There can be no more of them.
    Failed {
        /// What happened, why, and what to do.
        message: Text,
        /// Whether it was a server.
        server: bool,
    },
}

/// Many races of one variant.
#[derive(Debug)]
pub struct Trials {
    /// What is raced.
    pub choice: LessonChoice,
    racing: Option<Racing>,
    course: Course,
    orders: Orders,
    field: Option<Field>,
    /// The first race's seed: race `n` has this one and `n`.
    seed: u64,
    kept: Kept,
    /// Real time that was spent on them.
    spent: Duration,
    /// While they go on: up to when that is counted.
    since: Option<Instant>,
    /// The outcome that the learner looks at; until there is a choice, the most frequent one.
    chosen: Option<Outcome>,
    /// Which of its races, by place, once the learner goes through them.
    race: Option<usize>,
}

impl Trials {
    /// Races that have just been asked for.
    pub fn new(choice: LessonChoice, racing: Racing) -> Self {
        let orders = *racing.orders.borrow();
        Self {
            choice,
            racing: Some(racing),
            course: Course::Booting,
            orders,
            field: None,
            seed: 0,
            kept: Kept::default(),
            spent: Duration::ZERO,
            since: None,
            chosen: None,
            race: None,
        }
    }

    /// The races under way, while there can be more.
    pub fn racing(&mut self) -> Option<&mut Racing> {
        self.racing.as_mut()
    }

    /// The races have told something; `None` when they ended without a word.
    pub fn hear(&mut self, told: Option<Told>, now: Instant) {
        self.spend(now);
        match told {
            Some(Told::Ready(field)) => {
                self.course = Course::Ready;
                self.field = Some(field);
                self.set_going(now);
            }
            Some(Told::Raced(race)) => {
                if self.kept.races() == 0 {
                    self.seed = race.seed;
                }
                self.kept.add(race);
                if self.is_over() {
                    self.since = None;
                }
            }
            Some(Told::Failed { message, server }) => self.fail(message, server),
            None => self.fail(ENDED.text(&[]), false),
        }
    }

    fn fail(&mut self, message: Text, server: bool) {
        self.since = None;
        self.racing = None;
        self.course = Course::Failed { message, server };
    }

    fn set_going(&mut self, now: Instant) {
        if self.since.is_none() && self.course == Course::Ready && !self.orders.paused && !self.is_over() {
            self.since = Some(now);
        }
    }

    /// Counts the time up to now, if they go on.
    fn spend(&mut self, now: Instant) {
        if let Some(since) = &mut self.since {
            self.spent += now.saturating_duration_since(*since);
            *since = now;
        }
    }

    fn order(&mut self, orders: Orders, now: Instant) {
        self.spend(now);
        self.orders = orders;
        if let Some(racing) = &self.racing {
            // Races that have ended say so by themselves.
            let _ = racing.orders.send(orders);
        }
        if orders.paused {
            self.since = None;
        } else {
            self.set_going(now);
        }
    }

    /// Stops after the race that is being run, or goes on.
    pub fn toggle(&mut self, now: Instant) {
        if !self.is_over() {
            let paused = !self.orders.paused;
            self.order(Orders { paused, ..self.orders }, now);
        }
    }

    /// Ten times as many; false where there are as many as there can be.
    pub fn more(&mut self, now: Instant) -> bool {
        let runs = (self.orders.runs * MORE).min(MOST_RACES);
        if runs == self.orders.runs || self.racing.is_none() {
            return false;
        }
        let orders = Orders { runs, paused: false };
        self.order(orders, now);
        true
    }

    /// Where they stand, for the screen.
    pub fn course(&self) -> &Course {
        &self.course
    }

    /// What is raced, for the screen, once the servers are up.
    pub fn field(&self) -> Option<&Field> {
        self.field.as_ref()
    }

    /// Everything that came of them so far, for the screen.
    pub fn kept(&self) -> &Kept {
        &self.kept
    }

    /// Whether the learner has stopped them.
    pub fn is_paused(&self) -> bool {
        self.orders.paused && !self.is_over()
    }

    /// Whether there are as many as were wanted.
    pub fn is_over(&self) -> bool {
        self.kept.races() >= self.orders.runs
    }

    /// How far they have come, and how fast.
    pub fn pace(&self) -> Pace {
        Pace { done: self.kept.races(), of: self.orders.runs, spent: self.spent }
    }

    /// The seed of a race.
    pub fn seed(&self, number: u32) -> u64 {
        self.seed.wrapping_add(number.into())
    }

    /// The outcome that the learner looks at, and the races that had it.
    pub fn chosen(&self) -> Option<(&Outcome, &Kind)> {
        let chosen = self.chosen.as_ref();
        let chosen = chosen.and_then(|outcome| Some((outcome, self.kept.kind(outcome)?)));
        chosen.or_else(|| self.kept.outcomes().into_iter().next())
    }

    /// Which of its races is chosen, by place, where the learner goes through them.
    pub fn chosen_race(&self) -> Option<usize> {
        self.race
    }

    /// Another outcome, or another race of the chosen one: so many places on.
    pub fn choose(&mut self, by: i32) {
        if let Some(race) = self.race {
            let count = self.chosen().map_or(0, |(_, kind)| kind.numbers().len());
            self.race = Some(moved(race, by, count));
            return;
        }
        let outcomes = self.kept.outcomes();
        let chosen = self.chosen().map(|(outcome, _)| outcome);
        let place = outcomes.iter().position(|(outcome, _)| Some(*outcome) == chosen);
        let place = moved(place.unwrap_or(0), by, outcomes.len());
        self.chosen = outcomes.get(place).map(|(outcome, _)| (*outcome).clone());
    }

    /// This outcome, or this race of the chosen one, by place.
    pub fn point_at(&mut self, outcome: Option<usize>, race: Option<usize>) {
        if let Some(place) = outcome {
            let outcomes = self.kept.outcomes();
            self.chosen = outcomes.get(place).map(|(outcome, _)| (*outcome).clone());
        }
        self.race = race;
    }

    /// Into the races of the chosen outcome, or back to the outcomes. False where that changes nothing.
    pub fn enter(&mut self, races: bool) -> bool {
        if races == self.race.is_some() || self.kept.races() == 0 {
            return false;
        }
        // While somebody goes through its races, an outcome stays chosen whatever becomes more frequent.
        self.chosen = self.chosen().map(|(outcome, _)| outcome.clone());
        self.race = races.then_some(0);
        true
    }

    /// The race to open: the chosen one, or the first of the chosen outcome. Its number, its outcome, and its log, if
    /// that is still kept.
    pub fn to_open(&self) -> Option<(u32, &Outcome, Option<&Log>)> {
        let (outcome, kind) = self.chosen()?;
        let number = *kind.numbers().get(self.race.unwrap_or(0))?;
        Some((number, outcome, kind.log(number)))
    }
}
