//! Races grouped by outcome: how often each outcome occurred, in which races, and as many of their logs as
//! there is room for.

use std::collections::BTreeMap;

use super::{Outcome, Race};
use crate::log::Log;

/// The most events of all kept logs together: some 50 MB. A thousand races of ten clients with a few moves
/// each need less.
pub const MOST_EVENTS: usize = 250_000;

/// How many of the first races of an outcome keep their logs when there is no room for all.
const FIRST: usize = 5;

#[derive(Debug, Clone, PartialEq)]
pub struct RaceOutcomes {
    /// The most events of all kept logs together.
    most: usize,
    kinds: BTreeMap<Outcome, Kind>,
    races: u64,
    violated: u64,
    /// The events of all kept logs.
    events: usize,
    forgotten: u64,
}

/// All races with one outcome.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Kind {
    numbers: Vec<u32>,
    logs: BTreeMap<u32, Log>,
}

impl Default for RaceOutcomes {
    fn default() -> Self {
        Self::within(MOST_EVENTS)
    }
}

impl RaceOutcomes {
    /// No races yet, and room for `most` events.
    pub fn within(most: usize) -> Self {
        Self { most, kinds: BTreeMap::new(), races: 0, violated: 0, events: 0, forgotten: 0 }
    }

    /// Counts a race and keeps its log. When there is no room for all logs, drops one of the outcome with the
    /// most logs: the first few and the latest of each outcome stay.
    pub fn add(&mut self, race: Race) {
        let number = u32::try_from(self.races).unwrap_or(u32::MAX);
        self.races += 1;
        self.violated += u64::from(race.outcome.is_violated());
        self.events += race.log.len();
        let kind = self.kinds.entry(race.outcome).or_default();
        kind.numbers.push(number);
        kind.logs.insert(number, race.log);
        while self.events > self.most && self.forget() {}
    }

    /// Drops one log. Returns `false` if there is none.
    fn forget(&mut self) -> bool {
        let Some(fullest) = self.kinds.values_mut().max_by_key(|kind| kind.logs.len()) else { return false };
        let place = FIRST.min(fullest.logs.len() / 2);
        let number = fullest.logs.keys().nth(place).copied();
        let Some(log) = number.and_then(|number| fullest.logs.remove(&number)) else { return false };
        self.events -= log.len();
        self.forgotten += 1;
        true
    }

    pub fn races(&self) -> u64 {
        self.races
    }

    /// The number of races that broke an invariant or a lock.
    pub fn violated(&self) -> u64 {
        self.violated
    }

    pub fn broke(&self, invariant: &str) -> u64 {
        let broke = self.kinds.iter().filter(|(outcome, _)| outcome.broken.contains(invariant));
        broke.map(|(_, kind)| kind.count()).sum()
    }

    /// The number of logs that were dropped for lack of room.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// The outcomes, the most frequent first; equally frequent ones in their natural order.
    pub fn outcomes(&self) -> Vec<(&Outcome, &Kind)> {
        let mut all: Vec<_> = self.kinds.iter().collect();
        all.sort_by_key(|(_, kind)| std::cmp::Reverse(kind.numbers.len()));
        all
    }

    pub fn kind(&self, outcome: &Outcome) -> Option<&Kind> {
        self.kinds.get(outcome)
    }
}

impl Kind {
    /// The numbers of these races, ascending. The first race of all has number 0.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    pub fn first(&self) -> u32 {
        self.numbers.first().copied().unwrap_or(0)
    }

    pub fn count(&self) -> u64 {
        self.numbers.len() as u64
    }

    /// The log of one of these races, or `None` if there was no room for it.
    pub fn log(&self, number: u32) -> Option<&Log> {
        self.logs.get(&number)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::{FIRST, Kind, Race, RaceOutcomes};
    use crate::{
        log::{EventKind, Stop},
        run::race::{LockFate, Outcome},
    };

    fn outcome(sold: i64, fate: LockFate) -> Outcome {
        Outcome {
            counters: [("sold".to_owned(), sold)].into(),
            locks: [("lock".to_owned(), fate)].into(),
            ..Outcome::default()
        }
    }

    fn race(sold: i64, events: usize) -> Race {
        let log = (0..events).map(|item| EventKind::Stop { item, stop: Stop::Move }).collect();
        let fate = if sold > 1 { LockFate::Violated } else { LockFate::Held };
        Race { seed: 0, outcome: outcome(sold, fate), log, lesson: Duration::ZERO }
    }

    fn kept(kind: &Kind) -> Vec<u32> {
        let numbers = kind.numbers().iter().copied();
        numbers.filter(|number| kind.log(*number).is_some()).collect()
    }

    #[test]
    fn everything_is_kept_while_there_is_room() {
        let mut all = RaceOutcomes::within(50);
        for sold in [1, 2, 2, 1, 2] {
            all.add(race(sold, 10));
        }
        let outcomes = all.outcomes();
        assert_eq!(outcomes[0].0, &outcome(2, LockFate::Violated));
        assert_eq!(kept(outcomes[0].1), [1, 2, 4]);
        assert_eq!(kept(outcomes[1].1), [0, 3]);
        assert_eq!((all.races(), all.violated(), all.forgotten()), (5, 3, 0));
    }

    #[test]
    fn beyond_the_limit_the_first_and_the_latest_of_each_outcome_stay() {
        let mut all = RaceOutcomes::within(200);
        for n in 0..1000 {
            all.add(race(if n == 500 { 2 } else { 1 }, 10));
        }
        let rare = all.kind(&outcome(2, LockFate::Violated)).expect("seen");
        assert_eq!(kept(rare), [500], "what is rare is kept longest");
        let often = all.kind(&outcome(1, LockFate::Held)).expect("seen");
        let kept = kept(often);
        assert_eq!(kept[..FIRST], [0, 1, 2, 3, 4]);
        assert_eq!(kept.last(), Some(&999));
        assert_eq!((kept.len(), often.count(), all.forgotten()), (19, 999, 980));
    }

    #[test]
    fn outcomes_are_counted_without_their_logs_the_most_frequent_first() {
        let mut all = RaceOutcomes::within(0);
        for sold in [1, 10, 10, 2, 10] {
            all.add(race(sold, 10));
        }
        // Of two equally frequent outcomes, the one with two holders comes first.
        let counted = all
            .outcomes()
            .into_iter()
            .map(|(outcome, kind)| (outcome.counters["sold"], kind.numbers().to_vec()));
        assert_eq!(counted.collect::<Vec<_>>(), [(10, vec![1, 2, 4]), (2, vec![3]), (1, vec![0])]);
        assert_eq!((all.violated(), all.forgotten()), (4, 5));
    }

    proptest! {
        #[test]
        fn kept_logs_stay_within_the_limit(races in prop::collection::vec((0i64..6, 0usize..30), 0..80), most in 0usize..200) {
            let mut all = RaceOutcomes::within(most);
            for (sold, events) in &races {
                all.add(race(*sold, *events));
                let logs = all.outcomes().into_iter().flat_map(|(_, kind)| kind.numbers().iter().filter_map(|n| kind.log(*n)));
                let (count, events) = logs.fold((0, 0), |(count, events), log| (count + 1, events + log.len()));
                prop_assert!(events <= most && events == all.events);
                prop_assert_eq!(count + all.forgotten(), all.races());
            }
            prop_assert_eq!(all.races(), races.len() as u64);
        }
    }
}
