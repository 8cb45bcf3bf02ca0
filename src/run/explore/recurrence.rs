//! Which states come again and again: of orders that were cut, whether they could still come to an end.

use indexmap::IndexSet;

use super::{
    explorer::Stuck,
    states::{Graph, Recurring, State, StateSpace},
};

/// The states without the moves that are left, and which of them lead where.
pub(crate) struct Recurrence {
    /// By state.
    of: Vec<usize>,
    /// From where some order gets everybody to the end, or nobody knows, because it was never gone on from.
    may_end: Vec<bool>,
    /// Where an order can come to again, time having passed on the way.
    comes_again: Vec<bool>,
}

impl Recurrence {
    pub(crate) fn of(graph: &Graph, space: &mut impl StateSpace) -> Self {
        let mut kinds: IndexSet<State> = IndexSet::new();
        let mut flags = Vec::with_capacity(graph.states.len());
        let mut of = Vec::with_capacity(graph.states.len());
        for state in &graph.states {
            let Recurring { state, goes_on, disturbed } = space.recurring(state);
            of.push(kinds.insert_full(state).0);
            flags.push((goes_on, disturbed));
        }
        let mut steps: Vec<Vec<(usize, bool)>> = vec![Vec::new(); kinds.len()];
        // Where not all is known that may follow, anything may.
        let (mut may_end, mut known) = (vec![false; kinds.len()], vec![false; kinds.len()]);
        for (state, kind) in of.iter().enumerate() {
            for edge in graph.edges_of(state) {
                let (goes_on, disturbed) = flags[state];
                known[*kind] |= goes_on;
                steps[*kind].push((of[edge.to as usize], edge.pick.is_time() && !disturbed));
            }
        }
        for end in graph.ends.iter().filter(|end| !end.cut) {
            let kind = of[end.state as usize];
            known[kind] = true;
            may_end[kind] |= end.stuck.is_none();
        }
        for (may_end, known) in may_end.iter_mut().zip(known) {
            *may_end |= !known;
        }
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); kinds.len()];
        for (kind, to) in steps.iter_mut().enumerate() {
            to.sort_unstable();
            to.dedup();
            for (next, _) in to.iter() {
                before[*next].push(kind);
            }
        }
        let mut left: Vec<usize> = (0..kinds.len()).filter(|kind| may_end[*kind]).collect();
        while let Some(kind) = left.pop() {
            for earlier in &before[kind] {
                if !std::mem::replace(&mut may_end[*earlier], true) {
                    left.push(*earlier);
                }
            }
        }
        let components = components(&steps);
        let mut times = vec![false; kinds.len()];
        for (kind, to) in steps.iter().enumerate() {
            for (next, is_time) in to {
                times[components[kind]] |= *is_time && components[kind] == components[*next];
            }
        }
        Self { comes_again: components.iter().map(|component| times[*component]).collect(), of, may_end }
    }

    /// What is known of orders that were cut in a state.
    pub(crate) fn stuck(&self, state: usize) -> Option<Stuck> {
        let kind = self.of[state];
        let livelock = self.comes_again[kind].then_some(Stuck::Livelock);
        if self.may_end[kind] { livelock } else { Some(Stuck::Deadlock) }
    }
}

/// The strongly connected component of each node (Tarjan 1972), without recursion.
fn components(steps: &[Vec<(usize, bool)>]) -> Vec<usize> {
    const NEW: usize = usize::MAX;
    let (mut index, mut low) = (vec![NEW; steps.len()], vec![0; steps.len()]);
    let mut component = vec![NEW; steps.len()];
    let (mut open, mut next) = (Vec::new(), 0);
    for root in 0..steps.len() {
        let mut calls = if index[root] == NEW { vec![(root, 0)] } else { Vec::new() };
        while let Some((node, at)) = calls.last_mut() {
            let node = *node;
            if *at == 0 && index[node] == NEW {
                (index[node], low[node]) = (next, next);
                next += 1;
                open.push(node);
            }
            if let Some((to, _)) = steps[node].get(*at).copied() {
                *at += 1;
                if index[to] == NEW {
                    calls.push((to, 0));
                } else if component[to] == NEW {
                    low[node] = low[node].min(index[to]);
                }
                continue;
            }
            calls.pop();
            if let Some((above, _)) = calls.last() {
                low[*above] = low[*above].min(low[node]);
            }
            if low[node] == index[node] {
                while let Some(member) = open.pop() {
                    component[member] = node;
                    if member == node {
                        break;
                    }
                }
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_comes_again_is_one_component() {
        let to = |steps: &[usize]| steps.iter().map(|to| (*to, false)).collect::<Vec<_>>();
        let found = super::components(&[to(&[1]), to(&[2]), to(&[1, 3]), to(&[]), to(&[0])]);
        assert_eq!(found[1], found[2]);
        let mut apart = vec![found[0], found[1], found[3], found[4]];
        apart.sort_unstable();
        apart.dedup();
        assert_eq!(apart.len(), 4, "{found:?}");
    }
}
