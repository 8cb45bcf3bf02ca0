//! The order in which actors start in a race, drawn from a seed. Everything else is up to the machine.

use crate::random::SplitMix64;

/// The order in which actors start, and after how many replies to earlier starters each one starts.
///
/// A spread is drawn first, from none (all start at once) to so wide that most are over before the last one
/// starts; then each actor's start within it. Real pauses would only be as exact as the machine is idle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StartOrder {
    /// The number of replies after which an actor starts, and the actor's index; sorted by the former.
    starts: Vec<(usize, usize)>,
}

impl StartOrder {
    pub(crate) fn draw(actors: usize, seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        let spread = random.below(2 * actors + 1);
        let mut order: Vec<usize> = (0..actors).collect();
        random.shuffle(&mut order);
        let mut starts: Vec<(usize, usize)> =
            order.into_iter().map(|actor| (random.below(spread + 1), actor)).collect();
        starts.sort_by_key(|(after, _)| *after);
        Self { starts }
    }

    /// The actors that may move after this many replies, in their order.
    pub(crate) fn started(&self, replies: usize) -> impl Iterator<Item = usize> {
        let begun = self.starts.partition_point(|(after, _)| *after <= replies);
        self.starts[..begun].iter().map(|(_, actor)| *actor)
    }

    /// Lets the next actors start now, because no actor that has started is about to get a reply. Returns
    /// `false` if all have started.
    pub(crate) fn start_next(&mut self, replies: usize) -> bool {
        let next = self.starts.iter().map(|(after, _)| *after).find(|after| *after > replies);
        for (after, _) in self.starts.iter_mut().filter(|(after, _)| Some(*after) == next) {
            *after = replies;
        }
        next.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::StartOrder;

    #[test]
    fn a_seed_gives_one_order_and_seeds_give_many() {
        let draws: std::collections::HashSet<String> = (0..50)
            .map(|seed| {
                let order = StartOrder::draw(6, seed);
                assert_eq!(order, StartOrder::draw(6, seed), "seed {seed}");
                format!("{order:?}")
            })
            .collect();
        assert!(draws.len() > 40, "{}", draws.len());
    }

    #[test]
    fn every_actor_starts_once() {
        for seed in 0..200 {
            let mut order = StartOrder::draw(5, seed);
            let mut all: Vec<usize> = order.started(2 * 5).collect();
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3, 4], "seed {seed}");
            // An actor that waits for replies that never come starts all the same.
            while order.start_next(0) {}
            assert_eq!(order.started(0).count(), 5, "seed {seed}");
        }
    }

    #[test]
    fn some_races_start_at_once_and_some_one_by_one() {
        let at_once = |seed| StartOrder::draw(4, seed).started(0).count();
        let counts: std::collections::BTreeSet<usize> = (0..300).map(at_once).collect();
        assert!(counts.contains(&4) && counts.contains(&1), "{counts:?}");
    }
}
