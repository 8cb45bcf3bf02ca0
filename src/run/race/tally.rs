//! Counts outcomes. Pure.

use std::collections::BTreeMap;

use super::Outcome;

/// How often each outcome was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    by_outcome: BTreeMap<Outcome, Seen>,
}

/// How often an outcome was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// In so many races.
    pub count: u64,
    pub first_seed: u64,
}

impl Tally {
    /// Counts one race.
    pub fn add(&mut self, outcome: Outcome, seed: u64) {
        let first = Seen { count: 0, first_seed: seed };
        self.by_outcome.entry(outcome).or_insert(first).count += 1;
    }

    /// The outcomes, the most frequent first; of several that are as frequent, in their own order.
    pub fn outcomes(&self) -> Vec<(&Outcome, Seen)> {
        let mut all: Vec<_> = self.by_outcome.iter().map(|(outcome, seen)| (outcome, *seen)).collect();
        all.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.count));
        all
    }

    /// How many races broke an invariant or a lock.
    pub fn violated(&self) -> u64 {
        let violated = self.by_outcome.iter().filter(|(outcome, _)| outcome.is_violated());
        violated.map(|(_, seen)| seen.count).sum()
    }

    /// How many races broke this invariant.
    pub fn broke(&self, invariant: &str) -> u64 {
        let broke = self.by_outcome.iter().filter(|(outcome, _)| outcome.broken.contains(invariant));
        broke.map(|(_, seen)| seen.count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, Seen, Tally};
    use crate::run::race::LockFate;

    fn sold(count: i64) -> Outcome {
        Outcome { counters: [("sold".to_owned(), count)].into(), ..Outcome::default() }
    }

    #[test]
    fn the_most_frequent_comes_first_with_the_first_seed_that_showed_it() {
        let mut tally = Tally::default();
        for (seed, count) in [(7, 1), (8, 10), (9, 10), (10, 2), (11, 10)] {
            tally.add(sold(count), seed);
        }
        let seen = |count, first_seed| Seen { count, first_seed };
        assert_eq!(
            tally.outcomes(),
            [(&sold(10), seen(3, 8)), (&sold(1), seen(1, 7)), (&sold(2), seen(1, 10))]
        );
        assert_eq!(tally.violated(), 0);
    }

    #[test]
    fn two_holders_are_counted_whatever_else_happened() {
        let overlap =
            |count| Outcome { locks: [("lock".to_owned(), LockFate::Violated)].into(), ..sold(count) };
        let mut tally = Tally::default();
        for (seed, outcome) in [(1, overlap(1)), (2, sold(1)), (3, overlap(2)), (4, overlap(2))] {
            tally.add(outcome, seed);
        }
        assert_eq!(tally.violated(), 3);
        assert_eq!(tally.outcomes().len(), 3);
    }
}
