//! The search: depth first through all orders, one of each trace.
//!
//! The method is *sleep sets* (Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems",
//! LNCS 1032, 1996, chapter 5): a step whose orders have been explored "sleeps" below its younger siblings
//! until a step that depends on it is taken. So of every trace (see [`super::trace`]) exactly one order is
//! carried out, the first. That holds for orders that are cut, too: sleeping keeps a step from being taken,
//! but never another step in its place.

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc};

use super::{
    ExploreError, StateGraph,
    explorer::{Ending, Explorer, Pick, StepFootprint, Stuck},
    trace::{self, Taken},
};
use crate::{run::race::Outcome, text::Text};

/// A node from which the search continues, and the steps that lead there.
#[derive(Debug, Clone)]
pub struct Subtree<P> {
    node: P,
    steps: Vec<Taken>,
    /// Steps that need not be taken from here.
    sleep: Vec<Taken>,
    /// The share of the whole search, estimated on the way there: all subtrees add up to 1.
    share: f64,
}

impl<P> Subtree<P> {
    pub fn root(node: P) -> Self {
        Self { node, steps: Vec::new(), sleep: Vec::new(), share: 1.0 }
    }
}

/// The findings of a search, or of a part of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// Orders that were carried out to their end.
    pub tried: u64,
    /// The orders that these stand for, themselves included.
    pub orders: u128,
    /// The orders of these that were cut at the bound.
    pub cut: u128,
    /// The orders of these that broke an invariant.
    pub violations: u128,
    /// The same for each broken invariant, by its index.
    pub by_invariant: BTreeMap<usize, u128>,
    pub outcomes: BTreeMap<Arc<Outcome>, Seen>,
    /// The shortest order that breaks each invariant; of several, the first.
    pub shortest_of: BTreeMap<usize, Vec<Pick>>,
    /// By invariant: from where on its shortest order was bound to break it.
    pub unavoidable: BTreeMap<usize, Unavoidable>,
    /// Orders that ended although a program did not finish: how many, and the first of them.
    pub stuck: BTreeMap<Stuck, (u128, Vec<Pick>)>,
    /// From where on that first order was bound to get stuck.
    pub unavoidable_stuck: BTreeMap<Stuck, Unavoidable>,
    pub space: SearchedSpace,
}

/// The states of a search that counts orders by them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchedSpace {
    /// The number of states, 0 if orders were tried one by one; the number of the steps between them.
    pub states: u64,
    pub transitions: u64,
    /// States that were found and not expanded.
    pub states_left: u64,
    /// The bytes that states and steps took, counting included.
    pub bytes: u64,
    /// Whether the search ended because these reached their limit.
    pub full: bool,
    /// All states, if they were asked for and are few.
    pub graph: Option<StateGraph>,
    /// Why orders could not be counted by states.
    pub one_by_one: Option<Text>,
}

/// From where on an order that goes wrong was bound to go wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unavoidable {
    /// The step after which it was; `None` if every order goes wrong.
    pub step: Option<usize>,
    /// The share of orders that go wrong among those that continue from before this step. `None` if not all
    /// of these were explored: then it may have been too late earlier.
    pub before: Option<f64>,
}

impl Unavoidable {
    /// Every order goes wrong.
    pub const ALWAYS: Self = Self { step: None, before: Some(1.0) };
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub orders: u128,
    /// The first order with this outcome.
    pub first: Vec<Pick>,
    pub violates: bool,
}

impl Found {
    /// Adds what an order breaks that is none of those that were counted.
    pub(crate) fn add_breach(&mut self, other: Self) {
        for (invariant, order) in other.shortest_of {
            self.by_invariant.entry(invariant).or_default();
            self.shortest_of.insert(invariant, order);
        }
    }

    /// Adds an order. `fixed`: how many of its first steps are the same in all orders that are counted.
    pub(crate) fn take(&mut self, steps: &[Taken], fixed: usize, ending: &Ending, prune: bool) {
        let orders = if prune { trace::extensions(&steps[fixed..]) } else { 1 };
        let violates = !ending.broken.is_empty();
        for broken in &ending.broken {
            for way in &broken.ways {
                self.offer_way(broken.invariant, steps, way);
            }
        }
        let first: Vec<Pick> = steps.iter().map(|(pick, _)| *pick).collect();
        let stuck = ending.stuck.map(|stuck| (stuck, (orders, first.clone())));
        self.add(Self {
            tried: 1,
            orders,
            cut: if ending.cut { orders } else { 0 },
            violations: if violates { orders } else { 0 },
            by_invariant: ending.broken.iter().map(|broken| (broken.invariant, orders)).collect(),
            outcomes: [(Arc::clone(&ending.outcome), Seen { orders, first, violates })].into(),
            stuck: stuck.into_iter().collect(),
            ..Self::default()
        });
    }

    fn offer_way(&mut self, invariant: usize, steps: &[Taken], way: &[usize]) {
        let needed = trace::needed(steps, way);
        let longer = |known: &Vec<Pick>| {
            let picks = needed.iter().map(|n| &steps[*n].0);
            (moves(picks), needed.len()) > (moves(known), known.len())
        };
        if !self.shortest_of.get(&invariant).is_some_and(longer) {
            keep_shorter(&mut self.shortest_of, invariant, trace::first_order(steps, needed));
        }
    }

    /// Adds the findings of the part that comes next.
    pub fn add(&mut self, later: Self) {
        self.tried += later.tried;
        self.orders = self.orders.saturating_add(later.orders);
        self.cut = self.cut.saturating_add(later.cut);
        self.violations = self.violations.saturating_add(later.violations);
        for (invariant, orders) in later.by_invariant {
            let count = self.by_invariant.entry(invariant).or_default();
            *count = count.saturating_add(orders);
        }
        for (invariant, order) in later.shortest_of {
            keep_shorter(&mut self.shortest_of, invariant, order);
        }
        for (stuck, (orders, first)) in later.stuck {
            let add = |known: &mut (u128, _)| known.0 = known.0.saturating_add(orders);
            self.stuck.entry(stuck).and_modify(add).or_insert((orders, first));
        }
        for (outcome, seen) in later.outcomes {
            let add = |known: &mut Seen| known.orders = known.orders.saturating_add(seen.orders);
            self.outcomes.entry(outcome).and_modify(add).or_insert(seen);
        }
    }
}

/// Keeps an order that breaks an invariant if it is shorter than the known one.
pub fn keep_shorter(known: &mut BTreeMap<usize, Vec<Pick>>, invariant: usize, order: Vec<Pick>) {
    if known.get(&invariant).is_none_or(|known| is_shorter(&order, known)) {
        known.insert(invariant, order);
    }
}

/// Whether an order is shorter than another, or as long and comes before it.
pub fn is_shorter(order: &[Pick], known: &[Pick]) -> bool {
    by_length(order, known).is_lt()
}

/// Compares two orders by length, then step by step.
pub fn by_length(one: &[Pick], other: &[Pick]) -> std::cmp::Ordering {
    (moves(one), one.len(), one).cmp(&(moves(other), other.len(), other))
}

/// The length of an order: steps in which time passes do not count.
fn moves<'p>(order: impl IntoIterator<Item = &'p Pick>) -> usize {
    order.into_iter().filter(|pick| !pick.is_time()).count()
}

/// An end of the search, as reported to the caller.
#[derive(Debug, Clone)]
pub struct End {
    /// The number of orders that the finished one stands for; 0 if only sleeping steps were left.
    pub orders: u128,
    pub violates: bool,
    /// The share of the whole search that ends here.
    pub share: f64,
    /// The shortest order for each invariant, if it is shorter than all before it.
    pub shorter: Vec<(usize, Vec<Pick>)>,
}

/// Whether the search is to continue.
pub type Flow = ControlFlow<()>;

/// Explores everything below a subtree. Once `cancelled` returns true, an error ends the search without
/// failing it, and what was found by then is kept.
pub fn search<G: Explorer>(
    explorer: &mut G,
    subtree: &Subtree<G::Node>,
    prune: bool,
    report: &mut impl FnMut(End) -> Flow,
    cancelled: &impl Fn() -> bool,
) -> Result<(Found, Flow), ExploreError> {
    let (found, steps) = (Found::default(), subtree.steps.clone());
    let mut walk = DepthFirst { explorer, prune, report, found, steps, fixed: 0, reported: BTreeMap::new() };
    let flow = match walk.visit(&subtree.node, subtree.sleep.clone(), subtree.share) {
        Err(_) if cancelled() => Flow::Break(()),
        gone => gone?,
    };
    Ok((walk.found, flow))
}

struct DepthFirst<'w, G: Explorer, T> {
    explorer: &'w mut G,
    prune: bool,
    report: &'w mut T,
    found: Found,
    steps: Vec<Taken>,
    /// How many of the first steps are the same in all orders that are counted.
    fixed: usize,
    /// The shortest orders that were reported, by invariant.
    reported: BTreeMap<usize, Vec<Pick>>,
}

impl<G: Explorer, T: FnMut(End) -> Flow> DepthFirst<'_, G, T> {
    fn visit(&mut self, node: &G::Node, mut sleep: Vec<Taken>, share: f64) -> Result<Flow, ExploreError> {
        let picks = self.explorer.picks(node);
        if picks.is_empty() {
            let ending = self.explorer.ending(node)?;
            let before = self.found.orders;
            let violates = !ending.broken.is_empty();
            self.found.take(&self.steps, self.fixed, &ending, self.prune);
            let orders = self.found.orders.saturating_sub(before);
            let broken = ending.broken.iter().map(|broken| broken.invariant);
            let shorter: Vec<_> = broken
                .filter_map(|invariant| Some((invariant, self.found.shortest_of.get(&invariant)?)))
                .filter(|(invariant, order)| self.reported.get(invariant) != Some(*order))
                .map(|(invariant, order)| (invariant, order.clone()))
                .collect();
            self.reported.extend(shorter.iter().cloned());
            return Ok((self.report)(End { orders, violates, share, shorter }));
        }
        let awake = awake(&picks, &sleep);
        if awake.is_empty() {
            return Ok((self.report)(End { orders: 0, violates: false, share, shorter: Vec::new() }));
        }
        let part = share / parts(awake.len());
        for pick in awake {
            let (next, touch) = self.explorer.take(node, pick)?;
            let taken = (pick, Arc::new(touch));
            let below = still_asleep(&sleep, &taken.1);
            self.steps.push(taken.clone());
            let flow = self.visit(&next, below, part)?;
            self.steps.pop();
            if flow.is_break() {
                return Ok(flow);
            }
            if self.prune {
                sleep.push(taken);
            }
        }
        Ok(Flow::Continue(()))
    }
}

/// Finds from where on an order that goes wrong was bound to: explores the alternatives to its steps from its
/// end backwards, until one goes well. `wrong` counts the orders that go wrong, `over` says that time is up.
pub fn unavoidable<G: Explorer>(
    explorer: &mut G,
    order: &[Pick],
    prune: bool,
    wrong: &dyn Fn(&Found) -> u128,
    over: &impl Fn() -> bool,
) -> Result<Option<Unavoidable>, ExploreError> {
    let (mut nodes, mut steps) = (vec![explorer.begin()?], Vec::new());
    for pick in order {
        let (next, touch) = explorer.take(&nodes[steps.len()], *pick)?;
        nodes.push(next);
        steps.push((*pick, Arc::new(touch)));
    }
    let (mut all, mut bad, mut whole) = (0_u128, 0_u128, true);
    // If all that follows node `at` goes wrong, it was too late after the step before that node at the latest.
    let latest = |at: usize| at.checked_sub(1).map(|step| Unavoidable { step: Some(step), before: None });
    let mut known = latest(order.len());
    for (at, node) in nodes.iter().enumerate().rev() {
        let own = order.get(at);
        // Orders that continue with the order's own next step have been counted already.
        let mut found = Found::default();
        let picks = explorer.picks(node);
        if picks.is_empty() {
            found.take(&steps[..at], at, &explorer.ending(node)?, prune);
        }
        for pick in picks.into_iter().filter(|pick| Some(pick) != own) {
            if over() {
                whole = false;
                break;
            }
            let (next, touch) = explorer.take(node, pick)?;
            let mut before = steps[..at].to_vec();
            before.push((pick, Arc::new(touch)));
            let fixed = before.len();
            let report = &mut |_| if over() { Flow::Break(()) } else { Flow::Continue(()) };
            let mut walk = DepthFirst {
                explorer,
                prune,
                report,
                found: Found::default(),
                steps: before,
                fixed,
                reported: BTreeMap::new(),
            };
            whole &= walk.visit(&next, Vec::new(), 1.0)?.is_continue();
            found.add(walk.found);
        }
        (all, bad) = (all.saturating_add(found.orders), bad.saturating_add(wrong(&found)));
        #[expect(clippy::cast_precision_loss, reason = "a share needs no more digits")]
        let before = whole.then(|| bad as f64 / all.max(1) as f64);
        if bad < all {
            return Ok((at < order.len()).then_some(Unavoidable { step: Some(at), before }));
        }
        if !whole {
            return Ok(known);
        }
        known = latest(at);
    }
    Ok(Some(Unavoidable::ALWAYS))
}

fn awake(picks: &[Pick], sleep: &[Taken]) -> Vec<Pick> {
    let asleep = |pick: &Pick| sleep.iter().any(|(known, _)| known == pick);
    picks.iter().copied().filter(|pick| !asleep(pick)).collect()
}

fn still_asleep(sleep: &[Taken], touch: &StepFootprint) -> Vec<Taken> {
    let sleeps = |known: &&Taken| !known.1.depends_on(touch);
    sleep.iter().filter(sleeps).cloned().collect()
}

fn parts(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Splits the search into subtrees, in search order, until there are `enough` or nothing is left to split.
pub fn split<G: Explorer>(
    explorer: &mut G,
    prune: bool,
    enough: usize,
) -> Result<Vec<Subtree<G::Node>>, ExploreError> {
    let mut subtrees = vec![Subtree::root(explorer.begin()?)];
    while subtrees.len() < enough {
        let mut next = Vec::new();
        let mut parted = false;
        for mut subtree in subtrees {
            let picks = awake(&explorer.picks(&subtree.node), &subtree.sleep);
            if picks.is_empty() {
                next.push(subtree);
                continue;
            }
            parted = true;
            let share = subtree.share / parts(picks.len());
            for pick in picks {
                let (node, touch) = explorer.take(&subtree.node, pick)?;
                let taken = (pick, Arc::new(touch));
                let mut steps = subtree.steps.clone();
                steps.push(taken.clone());
                next.push(Subtree { node, steps, sleep: still_asleep(&subtree.sleep, &taken.1), share });
                if prune {
                    subtree.sleep.push(taken);
                }
            }
        }
        subtrees = next;
        if !parted {
            break;
        }
    }
    Ok(subtrees)
}

/// Estimates the number of steps and ends of the whole search from random descents (Knuth, "Estimating the
/// Efficiency of Backtrack Programs", Mathematics of Computation 29, 1975). `draw` returns a number below
/// another, or `None` to stop; `hopeless` stops the estimate once the known size is far beyond any limit.
pub fn estimate<G: Explorer>(
    explorer: &mut G,
    prune: bool,
    ways: u32,
    mut draw: impl FnMut(usize) -> Option<usize>,
    hopeless: impl Fn(&Size) -> bool,
) -> Result<Size, ExploreError> {
    let root = explorer.begin()?;
    let mut size = Size::default();
    for way in 1..=ways {
        let (mut node, mut sleep, mut weight) = (root.clone(), Vec::new(), 1.0);
        loop {
            let all = explorer.picks(&node);
            let picks = awake(&all, &sleep);
            let Some(last) = picks.len().checked_sub(1) else {
                size.ends += if all.is_empty() { weight } else { 0.0 };
                break;
            };
            weight *= parts(picks.len());
            size.steps += weight;
            if hopeless(&size) {
                size.steps /= f64::from(way);
                size.ends = (size.ends + weight) / f64::from(way);
                return Ok(size);
            }
            let Some(chosen) = draw(last + 1).map(|chosen| chosen.min(last)) else {
                return Ok(Size::default());
            };
            // Which steps sleep is known only after the steps before them have been taken.
            let first = if prune { 0 } else { chosen };
            let mut next = None;
            for pick in &picks[first..=chosen] {
                let (there, touch) = explorer.take(&node, *pick)?;
                size.taken += 1;
                let taken = (*pick, Arc::new(touch));
                next = Some((there, still_asleep(&sleep, &taken.1)));
                if prune {
                    sleep.push(taken);
                }
            }
            let Some((there, below)) = next else { break };
            (node, sleep) = (there, below);
        }
    }
    size.steps /= f64::from(ways.max(1));
    size.ends /= f64::from(ways.max(1));
    Ok(size)
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Size {
    pub steps: f64,
    /// The approximate number of orders that are carried out.
    pub ends: f64,
    /// The steps that were taken for the estimate.
    pub taken: u64,
}
