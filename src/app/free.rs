//! Free play of one run, as the learner meets it: what may happen next, why a choice was refused, what came of doing a
//! run again. It must not know keys or screens, nor how a choice is carried out.

use crate::{
    compare::Difference,
    lesson::Text,
    log::{ActorId, Choice},
    outlook::{Hindered, Outlook},
};

/// Time that can be let pass without typing how much, in milliseconds.
pub const AMOUNTS: [u64; 4] = [100, 1_000, 10_000, 60_000];

/// Free play of one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Free {
    /// What may happen next, after everything that happened.
    pub outlook: Outlook,
    /// What the learner should know of what was asked last.
    pub said: Said,
}

/// What the learner should know of what was asked last.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Said {
    /// Nothing.
    #[default]
    Nothing,
    /// There is no story to go on with: whoever plays chooses.
    YouChoose,
    /// A choice cannot be made now, and this is why.
    Refused(Text),
    /// So much was done again on a fresh lab, and everything was answered as before.
    Same(usize),
    /// So much was done again, and this was answered differently first.
    Differs(usize, Box<Difference>),
    /// So much was to be done again, and this stood in the way.
    Stuck(usize, Text),
}

impl Free {
    /// Everything that can be chosen now: moves, then time, then faults.
    #[must_use]
    pub fn choices(&self) -> Vec<Choice> {
        let moves = self.outlook.able().map(|actor| Choice::Move { actor });
        let timer = self.outlook.timer.map(|_| Choice::Timer);
        let amounts = AMOUNTS.into_iter().map(|millis| Choice::Pass { millis });
        let faults = self.outlook.faults.iter().cloned().map(Choice::Cause);
        moves.chain(timer).chain(amounts).chain(faults).collect()
    }

    /// The actors that have a key of their own, in its order: at most so many. Whoever can move comes before whoever
    /// cannot only where there are more than keys.
    #[must_use]
    pub fn keyed(&self, most: usize) -> Vec<ActorId> {
        let all = || (0..).map(ActorId).zip(&self.outlook.actors);
        if self.outlook.actors.len() <= most {
            return all().map(|(actor, _)| actor).collect();
        }
        let rank = |hindered: Option<Hindered>| match hindered {
            None => 0,
            Some(Hindered::Finished | Hindered::Dead) => 2,
            Some(_) => 1,
        };
        let mut ranked: Vec<(u8, ActorId)> = all().map(|(actor, p)| (rank(p.hindered), actor)).collect();
        ranked.sort_unstable();
        let mut keyed: Vec<ActorId> = ranked.into_iter().take(most).map(|(_, actor)| actor).collect();
        keyed.sort_unstable();
        keyed
    }
}

#[cfg(test)]
mod tests {
    use super::Free;
    use crate::{
        log::{ActorId, Choice},
        outlook::{Hindered, Outlook, Prospect},
    };

    fn free(hindered: impl IntoIterator<Item = Option<Hindered>>) -> Free {
        let prospect = |hindered| Prospect { next: None, hindered };
        Free {
            outlook: Outlook {
                actors: hindered.into_iter().map(prospect).collect(),
                ..Outlook::default()
            },
            ..Free::default()
        }
    }

    #[test]
    fn with_more_actors_than_keys_those_that_can_move_have_them() {
        let few = free([Some(Hindered::Finished), None, Some(Hindered::Dead)]);
        assert_eq!(few.keyed(9), [0, 1, 2].map(ActorId), "keys do not wander");
        let many = (0..20).map(|n| match n {
            0..10 => Some(Hindered::Finished),
            10..15 => Some(Hindered::Unanswered),
            _ => None,
        });
        assert_eq!(free(many).keyed(6), [10, 15, 16, 17, 18, 19].map(ActorId));
    }

    #[test]
    fn what_can_be_chosen_begins_with_the_moves() {
        let choices = free([None, Some(Hindered::Frozen), None]).choices();
        let moves = [0, 2].map(|n| Choice::Move { actor: ActorId(n) });
        assert_eq!(choices[..2], moves);
        assert!(choices[2..].iter().all(|choice| matches!(choice, Choice::Pass { .. })));
    }
}
