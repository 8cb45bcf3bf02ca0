//! States that recur: whether orders that were cut could still end.

use super::{
    explorer::Stuck,
    states::{Graph, Recurring, StateSpace, States, id},
};

/// The states without the moves that are left, and which of these lead where.
pub(crate) struct Recurrence {
    /// The index of each state without its moves.
    of: Vec<u32>,
    /// Whether some order from there on lets all programs finish, or this is unknown because it was never
    /// expanded.
    may_end: Vec<bool>,
    /// Whether an order can return there, with time passing on the way.
    recurs: Vec<bool>,
}

/// The successors of each node of a graph.
struct SuccessorLists {
    starts: Vec<u32>,
    /// Each with whether time passes on the way.
    all: Vec<(u32, bool)>,
}

impl SuccessorLists {
    fn of(&self, n: usize) -> &[(u32, bool)] {
        &self.all[self.starts[n] as usize..self.starts[n + 1] as usize]
    }

    /// Builds it from steps that are sorted by their origin.
    fn sorted(count: usize, steps: &[(u32, u32, bool)]) -> Self {
        let starts = (0..=count).map(|n| id(steps.partition_point(|(from, ..)| (*from as usize) < n)));
        Self { starts: starts.collect(), all: steps.iter().map(|(_, to, is_time)| (*to, *is_time)).collect() }
    }
}

impl Recurrence {
    pub(crate) fn of(graph: &Graph, space: &mut impl StateSpace) -> Self {
        let mut kinds: Option<States> = None;
        let mut flags = Vec::with_capacity(graph.states.len());
        let mut of = Vec::with_capacity(graph.states.len());
        for state in 0..graph.states.len() {
            let Recurring { state, has_moves_left, has_fault } = space.recurring(graph.states.get(state));
            let kinds = kinds.get_or_insert_with(|| States::of(&state));
            of.push(id(kinds.insert(&state)));
            flags.push((has_moves_left, has_fault));
        }
        let count = kinds.map_or(0, |kinds| kinds.len());
        // A node whose successors are not all known may lead anywhere.
        let (mut may_end, mut known) = (vec![false; count], vec![false; count]);
        let mut steps = Vec::with_capacity(graph.steps());
        for (state, kind) in of.iter().enumerate() {
            for edge in graph.edges_of(state) {
                let (has_moves_left, has_fault) = flags[state];
                known[*kind as usize] |= has_moves_left;
                steps.push((*kind, of[edge.to as usize], graph.pick(*edge).is_time() && !has_fault));
            }
        }
        for end in graph.ends.iter().filter(|end| !end.cut) {
            let kind = of[end.state as usize] as usize;
            known[kind] = true;
            may_end[kind] |= end.stuck.is_none();
        }
        for (may_end, known) in may_end.iter_mut().zip(known) {
            *may_end |= !known;
        }
        steps.sort_unstable();
        steps.dedup();
        let follows = SuccessorLists::sorted(count, &steps);
        for (from, to, _) in &mut steps {
            std::mem::swap(from, to);
        }
        steps.sort_unstable();
        let before = SuccessorLists::sorted(count, &steps);
        drop(steps);
        let mut left: Vec<usize> = (0..count).filter(|kind| may_end[*kind]).collect();
        while let Some(kind) = left.pop() {
            for (earlier, _) in before.of(kind) {
                if !std::mem::replace(&mut may_end[*earlier as usize], true) {
                    left.push(*earlier as usize);
                }
            }
        }
        let components = components(&follows);
        let mut times = vec![false; count];
        for (kind, component) in components.iter().enumerate() {
            for (next, is_time) in follows.of(kind) {
                times[*component as usize] |= *is_time && *component == components[*next as usize];
            }
        }
        Self { recurs: components.iter().map(|component| times[*component as usize]).collect(), of, may_end }
    }

    /// What is known of orders that were cut in a state: that they cannot end, or that they can go round
    /// forever.
    pub(crate) fn stuck(&self, state: usize) -> Option<Stuck> {
        let kind = self.of[state] as usize;
        let livelock = self.recurs[kind].then_some(Stuck::Livelock);
        if self.may_end[kind] { livelock } else { Some(Stuck::Deadlock) }
    }
}

/// The strongly connected component of each node (Tarjan 1972), without recursion.
fn components(steps: &SuccessorLists) -> Vec<u32> {
    const NEW: u32 = u32::MAX;
    let count = steps.starts.len() - 1;
    let (mut index, mut low) = (vec![NEW; count], vec![0; count]);
    let mut component = vec![NEW; count];
    let (mut open, mut next) = (Vec::new(), 0);
    for root in 0..count {
        let mut calls = if index[root] == NEW { vec![(root, 0)] } else { Vec::new() };
        while let Some((node, at)) = calls.last_mut() {
            let node = *node;
            if *at == 0 && index[node] == NEW {
                (index[node], low[node]) = (next, next);
                next += 1;
                open.push(node);
            }
            if let Some((to, _)) = steps.of(node).get(*at).copied() {
                let to = to as usize;
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
                    component[member] = id(node);
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
    use super::SuccessorLists;

    #[test]
    fn a_cycle_is_one_component() {
        let steps = [(0, 1, false), (1, 2, false), (2, 1, false), (2, 3, false), (4, 0, false)];
        let found = super::components(&SuccessorLists::sorted(5, &steps));
        assert_eq!(found[1], found[2]);
        let mut apart = vec![found[0], found[1], found[3], found[4]];
        apart.sort_unstable();
        apart.dedup();
        assert_eq!(apart.len(), 4, "{found:?}");
    }
}
