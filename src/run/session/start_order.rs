//! Who starts when in a race, drawn from a seed: all else is up to the machine.

use crate::random::SplitMix64;

/// Who starts in which order, and after how many replies to those who started before.
///
/// A spread is drawn first, from none (all start at once) to so wide that most are over before the last one
/// starts; then everybody's start within it. Real pauses would only be as exact as the machine is idle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StartOrder {
    /// After how many replies, and who; the first ones first.
    starts: Vec<(usize, usize)>,
}

impl StartOrder {
    /// Draws a start for each of so many actors.
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

    /// Everybody who may move once so many replies have come, in their order.
    pub(crate) fn started(&self, replies: usize) -> impl Iterator<Item = usize> {
        let begun = self.starts.partition_point(|(after, _)| *after <= replies);
        self.starts[..begun].iter().map(|(_, actor)| *actor)
    }

    /// Nobody who has started is about to get a reply: the next ones start now. False if all have started.
    pub(crate) fn hurry(&mut self, replies: usize) -> bool {
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
    fn everybody_starts_once_and_in_time() {
        for seed in 0..200 {
            let mut order = StartOrder::draw(5, seed);
            let mut all: Vec<usize> = order.started(2 * 5).collect();
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3, 4], "seed {seed}");
            // Whoever waits for replies that do not come starts all the same.
            while order.hurry(0) {}
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
