//! All orders, one after another: which choice is to be made next, and how many orders there are. Pure; it must
//! not know what is chosen.

/// A walk through the tree of all choices, depth first. Every leaf is visited once.
#[derive(Debug, Clone, Default)]
pub struct Orders {
    /// The choices of this order: which one, of how many.
    taken: Vec<(usize, usize)>,
    depth: usize,
}

impl Orders {
    /// The choice to make now, of so many.
    pub fn choose(&mut self, of: usize) -> usize {
        if self.depth == self.taken.len() {
            self.taken.push((0, of));
        }
        let (choice, _) = self.taken[self.depth];
        self.depth += 1;
        choice
    }

    /// Goes on to the next order; false where this was the last.
    pub fn next_order(&mut self) -> bool {
        self.taken.truncate(self.depth);
        self.depth = 0;
        while let Some((choice, of)) = self.taken.pop() {
            if choice + 1 < of {
                self.taken.push((choice + 1, of));
                return true;
            }
        }
        false
    }
}

/// How many orders there are of the moves of clients that make so many each, cut after `most` moves: for `N`
/// clients of `k` moves and no cut, `(Nk)!/(k!)^N`.
#[must_use]
pub fn count(moves: &[usize], most: usize) -> f64 {
    let length = moves.iter().sum::<usize>().min(most);
    // ways[m]: orders of m moves of the clients so far.
    let mut ways = vec![0.0; length + 1];
    ways[0] = 1.0;
    for own in moves {
        ways = (0..=length)
            .map(|m| (0..=m.min(*own)).map(|j| choose(m, j) * ways[m - j]).sum())
            .collect();
    }
    ways[length]
}

#[expect(clippy::cast_precision_loss, reason = "a count of moves is small")]
fn choose(n: usize, k: usize) -> f64 {
    (0..k)
        .fold(1.0, |product: f64, i| product * (n - i) as f64 / (i + 1) as f64)
        .round()
}

#[cfg(test)]
mod tests {
    use super::{Orders, count};

    /// How many orders the walk visits of clients that make so many moves each.
    fn visited(moves: &[usize], most: usize) -> f64 {
        let mut orders = Orders::default();
        let mut seen = std::collections::BTreeSet::new();
        loop {
            let mut left = moves.to_vec();
            let mut order = Vec::new();
            while order.len() < most {
                let able: Vec<usize> = (0..left.len()).filter(|n| left[*n] > 0).collect();
                if able.is_empty() {
                    break;
                }
                let actor = able[orders.choose(able.len())];
                left[actor] -= 1;
                order.push(actor);
            }
            assert!(seen.insert(order), "no order comes twice");
            if !orders.next_order() {
                return f64::from(u32::try_from(seen.len()).expect("few"));
            }
        }
    }

    fn factorial(n: usize) -> f64 {
        (1..=n)
            .map(|n| f64::from(u32::try_from(n).expect("small")))
            .product()
    }

    fn same(one: f64, other: f64) -> bool {
        (one - other).abs() < 0.5
    }

    #[test]
    fn the_count_is_exact_and_the_walk_visits_all() {
        assert!(same(count(&[3, 3], 99), 20.0));
        for clients in 1..=3 {
            for k in 1..=3 {
                let moves = vec![k; clients];
                let formula =
                    factorial(clients * k) / factorial(k).powi(i32::try_from(clients).expect("small"));
                assert!(same(count(&moves, 99), formula), "{moves:?}");
                assert!(same(visited(&moves, 99), formula), "{moves:?}");
            }
        }
    }

    #[test]
    fn cut_orders_are_counted_as_they_are_visited() {
        for (moves, most) in [(vec![3, 3], 4), (vec![1, 2, 3], 3), (vec![5], 2), (vec![2, 2], 0)] {
            assert!(
                same(count(&moves, most), visited(&moves, most)),
                "{moves:?} {most}"
            );
        }
    }
}
