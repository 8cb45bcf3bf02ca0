//! The first difference between two runs.

use std::collections::HashMap;

use super::moves::{Move, moves};
use crate::log::Log;

/// The first difference between two runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The differing move of each run; `None` if a run makes no such move.
    pub moves: [Option<Move>; 2],
    /// The next move of the actor of each of these moves.
    pub next: [Option<Move>; 2],
    pub what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The same move sends another command, or the actor makes another move instead.
    Command,
    Reply,
    /// Command and reply are the same, but the actor believes or counts something else.
    Outcome,
    /// Only one of the runs makes the move.
    Extra,
}

/// Returns the first difference between two runs, or `None`.
///
/// **The same move** is the one by the same actor under the same label that was made equally often before: `B.acquire`,
/// the second time. Its time does not matter, nor what other actors did meanwhile; faults and waits belong to the story
/// and not to the programs that are compared.
///
/// **Different** is a move whose command, reply or outcome is not that of the same move in the other run
/// ([`Move::same_command`], [`Move::same_reply`], [`Move::outcome`]), or that has no same move there.
///
/// **First** is the difference with the fewest moves before it in its own run, all of which are the same in the other.
/// Counting moves, and not lesson time, makes the answer the same for every pair of runs of two programs. If both runs
/// differ after equally many moves, in different moves of one actor, these two are paired: `A` sends `EVAL` instead of
/// `GET`.
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

/// How two paired moves differ, or `None`.
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
