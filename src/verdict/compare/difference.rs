//! Where two runs part first.

use std::collections::HashMap;

use super::moves::{Move, moves};
use crate::log::Log;

/// The first place at which two runs are not the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The move of each run there. `None` where a run makes no such move.
    pub moves: [Option<Move>; 2],
    /// What the actor of each of these moves does next.
    pub next: [Option<Move>; 2],
    pub what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The same move sends another command, or the actor makes another move in its place.
    Command,
    Reply,
    /// Command and reply are the same, and the actor believes or counts something else.
    Outcome,
    /// Only one of the runs makes the move.
    Extra,
}

/// The first difference between two runs, or none.
///
/// **The same move** is the one by the same actor under the same label that was made equally often before:
/// `B.acquire`, the second time. When it was made does not matter, and neither does what others did meanwhile;
/// faults and waits belong to the story and not to the programs that are compared.
///
/// **Different** is a move whose command, reply or outcome is not that of the same move in the other run
/// ([`Move::same_command`], [`Move::same_reply`], [`Move::outcome`]), or for which there is no same move.
///
/// **First** is the difference with the fewest moves before it in its own run, all of which are the same in the
/// other. Counting moves, and not lesson time, makes the answer the same for every pair of runs of two programs.
/// If both runs have come equally far with different moves of one actor, these stand for each other: `A` sends
/// `EVAL` in place of `GET`.
pub fn first_difference(logs: [&Log; 2]) -> Option<Difference> {
    let [before, after] = logs.map(moves);
    let [mine, its] = [by_key(&before), by_key(&after)];
    let i = before.iter().position(|made| differs(made, &its));
    let j = after.iter().position(|made| differs(made, &mine));
    let pair = |one: Option<&Move>, other: Option<&Move>| Difference {
        moves: [one.cloned(), other.cloned()],
        next: [after_it(&before, one), after_it(&after, other)],
        what: match (one, other) {
            (Some(one), Some(other)) => what(one, other).unwrap_or(What::Command),
            _ => What::Extra,
        },
    };
    let one = |n: usize| pair(Some(&before[n]), its.get(&before[n].key()).copied());
    let other = |n: usize| pair(mine.get(&after[n].key()).copied(), Some(&after[n]));
    match (i, j) {
        (None, None) => None,
        (Some(i), None) => Some(one(i)),
        (Some(i), Some(j)) if i == j && before[i].who == after[j].who => {
            Some(pair(Some(&before[i]), Some(&after[j])))
        }
        (Some(i), Some(j)) if i < j || (i == j && before[i].at <= after[j].at) => Some(one(i)),
        (_, Some(j)) => Some(other(j)),
    }
}

fn by_key(moves: &[Move]) -> HashMap<(&str, &str, usize), &Move> {
    moves.iter().map(|made| (made.key(), made)).collect()
}

fn differs(made: &Move, others: &HashMap<(&str, &str, usize), &Move>) -> bool {
    others.get(&made.key()).is_none_or(|other| what(made, other).is_some())
}

/// In what two moves that stand for each other differ.
fn what(one: &Move, other: &Move) -> Option<What> {
    if one.label != other.label || !one.same_command(other) {
        Some(What::Command)
    } else if !one.same_reply(other) {
        Some(What::Reply)
    } else if one.outcome != other.outcome {
        Some(What::Outcome)
    } else {
        None
    }
}

fn after_it(moves: &[Move], made: Option<&Move>) -> Option<Move> {
    let made = made?;
    let mut later = moves.iter().filter(|other| other.event > made.event);
    later.find(|other| other.who == made.who).cloned()
}
