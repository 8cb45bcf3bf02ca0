//! The results of many runs of one variant, while they are carried out: races, or every order of moves. Holds the
//! progress, the selected outcome and race, and how many runs are wanted.

use std::time::{Duration, Instant};

use super::{browse::moved, screen::Failure, walk::Walk};
use crate::{
    log::Log,
    run::{
        LessonChoice,
        batch::{Batch, BatchUpdate, Control, Finding},
        explore::{Bounds, CarriedOut, Failing, MOST_MOVES, Progress, ShortestSoFar, StateGraph},
        moves::describe,
        race::{Kind, MOST_RACES, Outcome, Pace, RaceInfo, RaceOutcomes, Wording},
    },
    text::Text,
};

/// The initial number of races.
pub const RACES: u64 = 100;
/// The factor by which the number of races grows on request.
const MORE: u64 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExplorationOptions {
    /// The length at which an order is cut, in moves.
    pub moves: usize,
    pub fault: Option<Failing>,
    /// Whether time may pass once although an actor could move, as with a slow client.
    pub slow: bool,
    /// Whether to skip orders that are certain to have the same result as another one.
    pub prune: bool,
}

impl Default for ExplorationOptions {
    fn default() -> Self {
        let bounds = Bounds::default();
        Self { moves: bounds.moves, fault: None, slow: false, prune: bounds.prune }
    }
}

impl ExplorationOptions {
    pub fn bounds(self) -> Bounds {
        let fault = self.fault.map(Failing::anywhere);
        Bounds {
            moves: self.moves,
            faults: fault.into_iter().collect(),
            slow: usize::from(self.slow),
            prune: self.prune,
            graph: true,
            ..Bounds::default()
        }
    }

    pub fn with_moves(self, more: bool) -> Self {
        let moves = if more { (self.moves + 1).min(MOST_MOVES) } else { (self.moves - 1).max(1) };
        Self { moves, ..self }
    }

    /// Cycles through: crash, freeze, lost reply, restart, slow client, none.
    pub fn with_next_fault(self) -> Self {
        let fault = match self.fault {
            None if self.slow => None,
            None => Some(Failing::Crash),
            Some(Failing::Crash) => Some(Failing::Freeze),
            Some(Failing::Freeze) => Some(Failing::LostReply),
            Some(Failing::LostReply) => Some(Failing::Restart),
            Some(_) => return Self { fault: None, slow: true, ..self },
        };
        Self { fault, slow: false, ..self }
    }
}

#[derive(Debug)]
pub enum Source {
    Races(Races),
    Exploration(Exploration),
}

/// Races, one after another, until there are as many as wanted.
#[derive(Debug, Default)]
pub struct Races {
    /// Known once the servers run.
    pub info: Option<RaceInfo>,
    pub kept: RaceOutcomes,
    /// The seed of the first race; race `n` adds `n` to it.
    seed: u64,
    /// The real time spent on races.
    spent: Duration,
    /// Up to when `spent` is counted; `None` while no races run.
    since: Option<Instant>,
}

impl Races {
    pub fn seed(&self, number: u32) -> u64 {
        self.seed.wrapping_add(number.into())
    }
}

#[derive(Debug, Default)]
pub struct Exploration {
    pub options: ExplorationOptions,
    pub progress: Progress,
    /// For each broken invariant the shortest order so far, shortest first.
    pub shortest: Vec<ShortestSoFar>,
    /// Set once the search is over or was stopped.
    pub found: Option<Box<Finding>>,
    /// The index of the broken invariant that is shown; `None` until the learner chooses one.
    pub broken: Option<usize>,
    /// Set while the learner walks through the states.
    pub walk: Option<Walk>,
}

/// An order that breaks an invariant, or in which an actor does not finish.
#[derive(Debug, Clone, Copy)]
pub struct BreakingOrder<'a> {
    pub order: &'a CarriedOut,
    pub why: Option<&'a Text>,
    /// What it breaks, in the lesson's words.
    pub says: Option<&'a Text>,
    /// Whether no shorter order breaks anything.
    pub shortest: bool,
    /// Whether it is shown because an actor does not finish.
    pub stuck: bool,
    /// Its index among the known orders, and their number.
    pub place: (usize, usize),
}

impl BreakingOrder<'_> {
    pub fn moves_text(&self) -> Text {
        describe(&self.order.moves)
    }
}

impl Exploration {
    /// The graph of all states, if there are few.
    pub fn graph(&self) -> Option<&StateGraph> {
        self.found.as_ref()?.explored.space.graph.as_ref()
    }

    /// Begins a walk through the states. Returns `false` if they are not known.
    pub fn enter_states(&mut self) -> bool {
        let known = self.graph().is_some();
        if known {
            self.walk.get_or_insert_default();
        }
        known
    }

    pub fn walking(&mut self) -> Option<(&StateGraph, &mut Walk)> {
        let graph = self.found.as_ref()?.explored.space.graph.as_ref()?;
        Some((graph, self.walk.as_mut()?))
    }

    /// The order that is shown: for each broken invariant its shortest order, then the orders in which an actor does
    /// not finish. By default the shortest order of all.
    pub fn breaking(&self) -> Option<BreakingOrder<'_>> {
        let Finding { explored, wording } = self.found.as_deref()?;
        let choices = explored.shortest.as_ref().map(|shortest| &shortest.choices);
        let known = |order| BreakingOrder {
            order,
            why: None,
            says: None,
            shortest: Some(&order.choices) == choices,
            stuck: false,
            place: (0, 1),
        };
        let mut orders: Vec<BreakingOrder<'_>> = Vec::new();
        for broken in &explored.each {
            let Some(order) = &broken.shortest else { continue };
            let says =
                wording.invariants.iter().find(|known| known.name == broken.name).map(|known| &known.says);
            orders.push(BreakingOrder { why: broken.why.as_ref(), says, ..known(order) });
        }
        let first = orders.iter().position(|known| known.shortest).unwrap_or(0);
        for stuck in &explored.stuck {
            let order = stuck.order.iter();
            orders.extend(order.map(|order| BreakingOrder {
                says: Some(&stuck.says),
                why: stuck.why.as_ref(),
                shortest: false,
                stuck: true,
                ..known(order)
            }));
        }
        let (place, count) = (self.broken.unwrap_or(first), orders.len());
        Some(BreakingOrder { place: (place, count), ..*orders.get(place)? })
    }

    /// During the search, the shortest order so far that is shown, its index and their number.
    pub fn so_far(&self) -> Option<(&ShortestSoFar, (usize, usize))> {
        let place = self.broken.unwrap_or(0).min(self.shortest.len().checked_sub(1)?);
        let shortest = self.shortest.get(place).filter(|_| self.found.is_none())?;
        Some((shortest, (place, self.shortest.len())))
    }

    /// Selects the next or previous broken invariant.
    pub fn look_at_next(&mut self, next: bool) {
        let so_far = self.so_far().map(|(_, place)| place);
        if let Some((place, count)) = so_far.or_else(|| Some(self.breaking()?.place)) {
            self.broken = Some((place + if next { 1 } else { count - 1 }) % count);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Phase<'a> {
    /// The servers are being started, or the number of orders is being estimated.
    Booting,
    Running,
    /// No race begins until the learner continues.
    Paused,
    /// A search was asked to stop.
    Stopping,
    /// A search was stopped before its end.
    Stopped,
    Complete,
    Failed(&'a Failure),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutcomeCount<'a> {
    pub outcome: &'a Outcome,
    pub runs: u128,
    pub violates: bool,
    /// The seed of the first race with this outcome.
    pub seed: Option<u64>,
}

#[derive(Debug)]
pub struct Outcomes {
    pub choice: LessonChoice,
    pub(crate) source: Source,
    /// The batch in progress; `None` once it can send no more updates.
    pub(crate) batch: Option<Batch>,
    control: Control,
    booting: bool,
    failure: Option<Failure>,
    /// The selected outcome; `None` stands for the most frequent one.
    chosen: Option<Outcome>,
    /// The index of the selected race of that outcome; `None` while outcomes are selected.
    pub(crate) race: Option<usize>,
}

impl Outcomes {
    pub fn new(choice: LessonChoice, source: Source, batch: Batch) -> Self {
        let control = *batch.control.borrow();
        Self {
            choice,
            source,
            batch: Some(batch),
            control,
            booting: true,
            failure: None,
            chosen: None,
            race: None,
        }
    }

    pub fn races(&self) -> Option<&Races> {
        if let Source::Races(races) = &self.source { Some(races) } else { None }
    }

    pub fn exploration(&self) -> Option<&Exploration> {
        if let Source::Exploration(exploration) = &self.source { Some(exploration) } else { None }
    }

    /// Handles an update; `None` means that the batch ended without a report.
    pub fn receive(&mut self, update: Option<BatchUpdate>, now: Instant) {
        match (update, &mut self.source) {
            (Some(BatchUpdate::Ready(info)), Source::Races(races)) => {
                self.booting = false;
                races.info = Some(info);
            }
            (Some(BatchUpdate::Raced(race)), Source::Races(races)) => {
                if races.kept.races() == 0 {
                    races.seed = race.seed;
                }
                races.kept.add(race);
            }
            (Some(BatchUpdate::Progress(progress, shortest)), Source::Exploration(exploration)) => {
                self.booting &= progress.tried == 0 && progress.states == 0;
                (exploration.progress, exploration.shortest) = (progress, shortest);
            }
            (Some(BatchUpdate::Found(found)), Source::Exploration(exploration)) => {
                self.batch = None;
                (exploration.found, exploration.broken) = (Some(found), None);
            }
            (Some(BatchUpdate::Failed(failure)), _) => self.fail(failure),
            (None, _) => self.fail(Failure::silent()),
            // A source never sends updates of the other kind.
            (Some(_), _) => {}
        }
        self.count_time(now);
    }

    fn fail(&mut self, failure: Failure) {
        self.batch = None;
        self.failure = Some(failure);
    }

    /// Adds the time since the last call, if races were running.
    fn count_time(&mut self, now: Instant) {
        let running = self.phase() == Phase::Running;
        if let Source::Races(races) = &mut self.source {
            if let Some(since) = races.since {
                races.spent += now.saturating_duration_since(since);
            }
            races.since = running.then_some(now);
        }
    }

    fn set_control(&mut self, control: Control, now: Instant) {
        self.control = control;
        if let Some(batch) = &self.batch {
            // A batch that has ended reports it itself.
            let _ = batch.control.send(control);
        }
        self.count_time(now);
    }

    /// Pauses after the current race, or continues.
    pub fn toggle(&mut self, now: Instant) {
        if self.races().is_some() && !self.is_over() {
            self.set_control(Control { stopped: !self.control.stopped, ..self.control }, now);
        }
    }

    /// Multiplies the number of races by ten. Returns `false` at the maximum.
    pub fn more(&mut self, now: Instant) -> bool {
        let races = (self.control.races * MORE).min(MOST_RACES);
        if races == self.control.races || self.batch.is_none() {
            return false;
        }
        self.set_control(Control { races, stopped: false }, now);
        true
    }

    /// Asks a search to stop and report its results. Returns `false` if none is running or it was asked already.
    pub fn stop_search(&mut self, now: Instant) -> bool {
        let stops = self.exploration().is_some() && self.phase() == Phase::Running;
        if stops {
            self.set_control(Control { stopped: true, ..self.control }, now);
        }
        stops
    }

    pub fn phase(&self) -> Phase<'_> {
        if let Some(failure) = &self.failure {
            return Phase::Failed(failure);
        }
        match &self.source {
            Source::Exploration(Exploration { found: Some(found), .. }) if found.explored.complete => {
                Phase::Complete
            }
            Source::Exploration(Exploration { found: Some(_), .. }) => Phase::Stopped,
            _ if self.booting => Phase::Booting,
            Source::Exploration(_) if self.control.stopped => Phase::Stopping,
            Source::Races(_) if self.is_over() => Phase::Complete,
            Source::Races(_) if self.control.stopped => Phase::Paused,
            _ => Phase::Running,
        }
    }

    /// Whether there are as many races as wanted.
    pub fn is_over(&self) -> bool {
        self.races().is_some_and(|races| races.kept.races() >= self.control.races)
    }

    pub fn pace(&self) -> Pace {
        let (done, spent) =
            self.races().map_or((0, Duration::ZERO), |races| (races.kept.races(), races.spent));
        Pace { done, of: self.control.races, spent }
    }

    /// The outcomes ordered by their counters; with equal counters, most frequent first.
    pub fn seen(&self) -> Vec<OutcomeCount<'_>> {
        let mut seen = self.by_frequency();
        seen.sort_by(|a, b| a.outcome.counters.values().cmp(b.outcome.counters.values()));
        seen
    }

    fn by_frequency(&self) -> Vec<OutcomeCount<'_>> {
        match &self.source {
            Source::Races(races) => {
                let outcomes = races.kept.outcomes().into_iter();
                let seen = outcomes.map(|(outcome, kind)| OutcomeCount {
                    outcome,
                    runs: kind.count().into(),
                    violates: outcome.is_violated(),
                    seed: kind.numbers().first().map(|number| races.seed(*number)),
                });
                seen.collect()
            }
            Source::Exploration(exploration) => {
                let outcomes = exploration.found.iter().flat_map(|found| &found.explored.outcomes);
                let seen = outcomes.map(|seen| OutcomeCount {
                    outcome: &seen.outcome,
                    runs: seen.orders,
                    violates: seen.violates,
                    seed: None,
                });
                seen.collect()
            }
        }
    }

    /// Whether anything was broken, or an actor did not finish its program.
    pub fn went_wrong(&self) -> bool {
        let found = match &self.source {
            Source::Races(_) => None,
            Source::Exploration(exploration) => exploration.found.as_ref(),
        };
        found.is_some_and(|found| found.explored.never_ends()) || self.seen().iter().any(|seen| seen.violates)
    }

    pub fn chosen(&self) -> Option<&Outcome> {
        self.chosen.as_ref().or_else(|| self.by_frequency().first().map(|seen| seen.outcome))
    }

    /// What the lesson calls the parts of outcomes.
    pub fn wording(&self) -> &Wording {
        static NONE: Wording = Wording::none();
        let wording = match &self.source {
            Source::Races(races) => races.info.as_ref().map(|info| &info.wording),
            Source::Exploration(exploration) => exploration.found.as_ref().map(|found| &found.wording),
        };
        wording.unwrap_or(&NONE)
    }

    pub fn chosen_races(&self) -> Option<&Kind> {
        self.races()?.kept.kind(self.chosen()?)
    }

    /// Moves the selection by `by` outcomes, or by `by` races of the selected outcome.
    pub fn choose(&mut self, by: i32) {
        if let Some(race) = self.race {
            let count = self.chosen_races().map_or(0, |kind| kind.numbers().len());
            self.race = Some(moved(race, by, count));
            return;
        }
        let seen = self.seen();
        let place = seen.iter().position(|seen| Some(seen.outcome) == self.chosen());
        let place = moved(place.unwrap_or(0), by, seen.len());
        self.point_at_outcome(place);
    }

    pub fn point_at_outcome(&mut self, place: usize) {
        self.chosen = self.seen().get(place).map(|seen| seen.outcome.clone());
        self.race = None;
    }

    /// Enters the races of the selected outcome, or returns to the outcomes. Returns `false` if nothing changes.
    pub fn enter(&mut self, races: bool) -> bool {
        if races == self.race.is_some() || self.chosen_races().is_none() {
            return false;
        }
        // While its races are listed, an outcome stays selected even if another becomes more frequent.
        self.chosen = self.chosen().cloned();
        self.race = races.then_some(0);
        true
    }

    /// The race to open: the selected one, or the first of the selected outcome. Returns its number, its outcome and
    /// its log, if that is still kept.
    pub fn race_to_open(&self) -> Option<(u32, &Outcome, Option<&Log>)> {
        let kind = self.chosen_races()?;
        let number = *kind.numbers().get(self.race.unwrap_or(0))?;
        Some((number, self.chosen()?, kind.log(number)))
    }
}
