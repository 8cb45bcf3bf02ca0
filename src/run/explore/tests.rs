//! Tests the search with an explorer without servers: programs over a few keys, for which pruned orders can
//! be counted by carrying them out.

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc};

use proptest::prelude::*;

use super::{
    Broken, Ending, ExploreError, Explorer, Pick, StepFootprint, Unavoidable,
    search::{self, Found, Subtree},
    trace,
};
use crate::{log::ActorId, run::race::Outcome};

/// A move of an actor.
#[derive(Debug, Clone, Copy)]
enum Op {
    Read(usize),
    /// Sets a key to one more than the value that the actor has read.
    Write(usize),
    Add(usize),
    /// Takes the lock if the key is 0, and sets the key. Otherwise continues without the lock.
    Take(usize),
    /// Takes the lock without reading a key.
    Hold,
    /// Releases the lock.
    Drop,
    /// Waits for time to pass.
    Wait,
}

#[derive(Debug, Clone)]
struct Model {
    programs: Vec<Vec<Op>>,
    moves: usize,
    crash: bool,
}

#[derive(Debug, Clone)]
struct Node {
    at: Vec<usize>,
    waits: Vec<bool>,
    dead: Vec<bool>,
    seen: Vec<i64>,
    keys: [i64; 3],
    holders: Vec<(usize, usize)>,
    broken: Vec<Vec<usize>>,
    time: i64,
    moves: usize,
    steps: usize,
}

impl Node {
    /// From the current step on, the actor believes that it holds the lock.
    fn holds(&mut self, actor: usize, touch: &mut StepFootprint) {
        if self.holders.iter().any(|(who, _)| *who == actor) {
            return;
        }
        touch.begins.push("lock".to_owned());
        let step = self.steps - 1;
        let others = self.holders.iter().map(|(_, since)| vec![*since, step]);
        self.broken.extend(others);
        self.holders.push((actor, step));
    }

    fn ends(&mut self, model: &Model, actor: usize) {
        while matches!(model.programs[actor].get(self.at[actor]), Some(Op::Wait)) && !self.waits[actor] {
            self.waits[actor] = true;
        }
    }
}

impl Model {
    fn able(&self, node: &Node) -> Vec<usize> {
        (0..self.programs.len())
            .filter(|n| !node.dead[*n] && !node.waits[*n] && node.at[*n] < self.programs[*n].len())
            .collect()
    }
}

fn key(n: usize) -> Arc<str> {
    format!("server key{n}").into()
}

impl Explorer for Model {
    type Node = Node;

    fn begin(&mut self) -> Result<Node, ExploreError> {
        let actors = self.programs.len();
        let mut node = Node {
            at: vec![0; actors],
            waits: vec![false; actors],
            dead: vec![false; actors],
            seen: vec![0; actors],
            keys: [0; 3],
            holders: Vec::new(),
            broken: Vec::new(),
            time: 0,
            moves: 0,
            steps: 0,
        };
        (0..actors).for_each(|actor| node.ends(self, actor));
        Ok(node)
    }

    fn picks(&self, node: &Node) -> Vec<Pick> {
        let able = self.able(node);
        if node.moves >= self.moves && !able.is_empty() {
            return Vec::new();
        }
        let actor = |n: &usize| Pick::Move(ActorId(u32::try_from(*n).expect("few")));
        let mut picks: Vec<Pick> = able.iter().map(actor).collect();
        let waits = |n: usize| node.waits[n] && !node.dead[n];
        if picks.is_empty() && (0..self.programs.len()).any(waits) {
            picks.push(Pick::Timer);
        }
        if self.crash && !picks.is_empty() && node.moves < self.moves && !node.dead.contains(&true) {
            picks.push(Pick::Crash(0));
        }
        picks
    }

    fn take(&mut self, node: &Node, pick: Pick) -> Result<(Node, StepFootprint), ExploreError> {
        let mut next = node.clone();
        next.steps += 1;
        let Pick::Move(actor) = pick else {
            if pick == Pick::Timer {
                next.time += 1;
                for n in 0..self.programs.len() {
                    if std::mem::take(&mut next.waits[n]) {
                        next.at[n] += 1;
                        next.ends(self, n);
                    }
                }
            } else {
                next.dead[0] = true;
                next.holders.retain(|(who, _)| *who != 0);
            }
            return Ok((next, StepFootprint::everything()));
        };
        let n = actor.0 as usize;
        let mut touch = StepFootprint { actor: Some(actor), ..StepFootprint::default() };
        next.moves += 1;
        match self.programs[n][next.at[n]] {
            Op::Read(k) => {
                touch.reads.push(key(k));
                next.seen[n] = next.keys[k];
            }
            Op::Write(k) => {
                touch.reads.push(key(k));
                if next.keys[k] != next.seen[n] + 1 {
                    next.keys[k] = next.seen[n] + 1;
                    touch.writes.push(key(k));
                }
            }
            Op::Add(k) => {
                touch.writes.push(key(k));
                next.keys[k] += 1;
            }
            Op::Take(k) => {
                touch.reads.push(key(k));
                if next.keys[k] == 0 {
                    next.keys[k] = 1;
                    touch.writes.push(key(k));
                    next.holds(n, &mut touch);
                }
            }
            Op::Hold => next.holds(n, &mut touch),
            Op::Drop => {
                if next.holders.iter().any(|(who, _)| *who == n) {
                    touch.ends.push("lock".to_owned());
                    next.holders.retain(|(who, _)| *who != n);
                }
            }
            Op::Wait => {}
        }
        next.at[n] += 1;
        next.ends(self, n);
        Ok((next, touch))
    }

    fn ending(&mut self, node: &Node) -> Result<Ending, ExploreError> {
        let keys = node.keys.iter().enumerate();
        let values: BTreeMap<String, Option<String>> =
            keys.map(|(n, value)| (n.to_string(), Some(value.to_string()))).collect();
        let seen = node.seen.iter().enumerate();
        let outcome = Outcome {
            values,
            counters: seen.map(|(n, value)| (n.to_string(), *value)).collect(),
            ..Outcome::default()
        };
        let broken = (!node.broken.is_empty()).then(|| Broken { invariant: 0, ways: node.broken.clone() });
        Ok(Ending {
            outcome: Arc::new(outcome),
            cut: node.moves >= self.moves && !self.able(node).is_empty(),
            stuck: None,
            broken: broken.into_iter().collect(),
        })
    }
}

/// The shortest order that breaks an invariant.
fn shortest(found: &Found) -> Option<Vec<Pick>> {
    found.shortest_of.values().min_by(|one, other| search::by_length(one, other)).cloned()
}

fn whole(model: &Model, prune: bool) -> Found {
    let mut model = model.clone();
    let root = model.begin().expect("begins");
    let mut share = 0.0;
    let (found, flow) = search::search(
        &mut model,
        &Subtree::root(root),
        prune,
        &mut |end| {
            share += end.share;
            ControlFlow::Continue(())
        },
        &|| false,
    )
    .expect("searches");
    assert!(flow.is_continue());
    assert!((share - 1.0).abs() < 1e-6, "all parts make one whole: {share}");
    found
}

/// The fewest moves and faults with which the lock can have two holders, by breadth-first search.
fn soonest(model: &Model) -> Option<usize> {
    let mut model = model.clone();
    let mut nodes = vec![model.begin().expect("begins")];
    for length in 0.. {
        let mut next = Vec::new();
        while let Some(node) = nodes.pop() {
            if !node.broken.is_empty() {
                return Some(length);
            }
            for pick in model.picks(&node) {
                let there = model.take(&node, pick).expect("is taken").0;
                let to = if pick == Pick::Timer { &mut nodes } else { &mut next };
                to.push(there);
            }
        }
        if next.is_empty() {
            return None;
        }
        nodes = next;
    }
    None
}

/// The number of orders that continue from a node, and of those that break something, counted by carrying
/// them out.
fn all_after(model: &mut Model, node: &Node) -> (u128, u128) {
    let picks = model.picks(node);
    if picks.is_empty() {
        return (1, u128::from(!node.broken.is_empty()));
    }
    let mut sum = (0, 0);
    for pick in picks {
        let next = model.take(node, pick).expect("is taken").0;
        let (all, broken) = all_after(model, &next);
        sum = (sum.0 + all, sum.1 + broken);
    }
    sum
}

fn programs() -> impl Strategy<Value = Vec<Vec<Op>>> {
    let op = prop_oneof![
        (0..3_usize).prop_map(Op::Read),
        (0..3_usize).prop_map(Op::Write),
        (0..3_usize).prop_map(Op::Add),
        (0..2_usize).prop_map(Op::Take),
        Just(Op::Hold),
        Just(Op::Drop),
        Just(Op::Wait),
    ];
    proptest::collection::vec(proptest::collection::vec(op, 0..5), 1..4)
}

proptest! {
    /// The main property: what is pruned is counted exactly, and nothing is missed.
    #[test]
    fn pruning_changes_no_count(programs in programs(), moves in 1..12_usize, crash in any::<bool>()) {
        let model = Model { programs, moves, crash };
        let (all, pruned) = (whole(&model, false), whole(&model, true));
        prop_assert_eq!(u128::from(all.tried), all.orders);
        prop_assert_eq!(all.orders, pruned.orders);
        prop_assert!(pruned.tried <= all.tried);
        prop_assert_eq!(all.cut, pruned.cut);
        prop_assert_eq!(all.violations, pruned.violations);
        prop_assert_eq!(&all.by_invariant, &pruned.by_invariant);
        prop_assert_eq!(&all.outcomes, &pruned.outcomes);
        prop_assert_eq!(shortest(&all), shortest(&pruned));
        let length = shortest(&all).map(|order| order.iter().filter(|pick| **pick != Pick::Timer).count());
        prop_assert_eq!(length, soonest(&model));
    }

    /// The last node of the shortest order from which not every continuation goes wrong, and the share that
    /// does.
    #[test]
    fn the_last_chance_is_where_not_all_goes_wrong(programs in programs(), moves in 1..9_usize, crash in any::<bool>()) {
        let mut model = Model { programs, moves, crash };
        let Some(order) = shortest(&whole(&model, true)) else { return Ok(()) };
        let wrong = |found: &Found| found.violations;
        let last = search::unavoidable(&mut model, &order, true, &wrong, &|| false).expect("searches");
        let mut node = model.begin().expect("begins");
        let mut expected = Unavoidable::ALWAYS;
        for (step, pick) in order.iter().enumerate() {
            let (all, broken) = all_after(&mut model, &node);
            if broken < all {
                #[expect(clippy::cast_precision_loss, reason = "few")]
                let share = broken as f64 / all as f64;
                expected = Unavoidable { step: Some(step), before: Some(share) };
            }
            node = model.take(&node, *pick).expect("is taken").0;
        }
        prop_assert_eq!(last, Some(expected));
        // Without time, only an upper bound is given: that it is too late at a step which is not before the
        // true one.
        let hurried = search::unavoidable(&mut model, &order, true, &wrong, &|| true).expect("searches");
        let is_sure = |known: &Unavoidable| known.before.is_none() && known.step >= expected.step;
        prop_assert!(hurried == last || hurried.as_ref().is_none_or(is_sure), "{hurried:?} {last:?}");
    }

    /// However the search is split, the parts together find what the whole does.
    #[test]
    fn parts_find_what_the_whole_does(programs in programs(), parts in 1..40_usize) {
        let mut model = Model { programs, moves: 12, crash: false };
        let subtrees = search::split(&mut model, true, parts).expect("parts");
        let mut found = Found::default();
        for subtree in &subtrees {
            found.add(search::search(&mut model, subtree, true, &mut |_| ControlFlow::Continue(()), &|| false).expect("searches").0);
        }
        prop_assert_eq!(found, whole(&model, true));
    }
}

#[test]
fn counts_are_those_of_the_formula() {
    let factorial = |n: usize| (1..=n).map(|n| n as u128).product::<u128>();
    for clients in 1..=4 {
        for k in 1..=3 {
            let formula = factorial(clients * k) / factorial(k).pow(u32::try_from(clients).expect("few"));
            // If all clients use one key, no two orders are equivalent. If they only read, all are.
            let shared = Model { programs: vec![vec![Op::Add(0); k]; clients], moves: 99, crash: false };
            let alone = Model { programs: vec![vec![Op::Read(0); k]; clients], moves: 99, crash: false };
            if formula < 20_000 {
                assert_eq!(whole(&shared, true).orders, formula);
                assert_eq!(u128::from(whole(&shared, true).tried), formula);
            }
            let alone = whole(&alone, true);
            assert_eq!((alone.tried, alone.orders), (1, formula));
        }
    }
}

/// The number of orders of the moves of clients that make the given numbers of moves, cut after `most` moves.
fn count(moves: &[usize], most: usize) -> f64 {
    let length = moves.iter().sum::<usize>().min(most);
    // ways[m]: the number of orders of m moves of the clients so far.
    let mut ways = vec![0.0; length + 1];
    ways[0] = 1.0;
    for own in moves {
        ways = (0..=length).map(|m| (0..=m.min(*own)).map(|j| choose(m, j) * ways[m - j]).sum()).collect();
    }
    ways[length]
}

#[expect(clippy::cast_precision_loss, reason = "a count of moves is small")]
fn choose(n: usize, k: usize) -> f64 {
    (0..k).fold(1.0, |product: f64, i| product * (n - i) as f64 / (i + 1) as f64).round()
}

#[test]
fn a_bound_cuts_as_it_is_counted() {
    for (moves, most) in [(vec![3, 3], 4), (vec![1, 2, 3], 3), (vec![5], 2)] {
        let model = Model {
            programs: moves.iter().map(|own| vec![Op::Add(0); *own]).collect(),
            moves: most,
            crash: false,
        };
        let found = whole(&model, false);
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let tried = found.tried as f64;
        assert!((tried - count(&moves, most)).abs() < 0.5, "{moves:?} {most}");
        assert_eq!(found.cut, found.orders);
    }
}

#[test]
fn the_size_of_a_whole_is_estimated() {
    let mut model = Model { programs: vec![vec![Op::Add(0); 3]; 2], moves: 99, crash: false };
    // Each descent of a tree gives the same estimate if all nodes at one depth have equally many children.
    // Here they do not, so the mean of many is taken.
    let mut state = 1_u64;
    let size = search::estimate(
        &mut model,
        true,
        2_000,
        |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Some(usize::try_from(state >> 33).expect("fits") % below)
        },
        |_| false,
    )
    .expect("estimates");
    assert!((size.ends - 20.0).abs() < 1.0, "{size:?}");
}

#[test]
fn a_number_of_orders_that_overflows_saturates() {
    let touch =
        |actor: u32| Arc::new(StepFootprint { actor: Some(ActorId(actor)), ..StepFootprint::default() });
    let steps: Vec<_> = (0..100).map(|n| (Pick::Move(ActorId(n)), touch(n))).collect();
    assert_eq!(trace::extensions(&steps), u128::MAX);
    assert_eq!(trace::extensions(&steps[..30]), (1..=30).product::<u128>());
}
