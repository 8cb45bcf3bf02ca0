//! The learner's view of free play: what can happen next, why a choice was refused, and the result of repeating a run.

use crate::{
    log::{
        ActorId, Choice,
        outlook::{Blocked, Outlook},
    },
    text::Text,
    verdict::compare::Difference,
};

/// The durations offered for letting time pass, in milliseconds.
pub const AMOUNTS: [u64; 4] = [100, 1_000, 10_000, 60_000];

/// The number of actors that have a key of their own.
pub const KEYS: usize = 9;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Free {
    /// What can happen next.
    pub outlook: Outlook,
    pub notice: FreeNotice,
    /// The actors that have a key of their own, in the order of the keys.
    pub(crate) keyed: Vec<ActorId>,
    /// Whether the run is being started, so that what can happen next is not known yet.
    pub(crate) starting: bool,
    /// Whether the keys belong to a run that has been replaced.
    keys_outdated: bool,
}

/// The notice about the learner's last request.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum FreeNotice {
    #[default]
    Nothing,
    /// There is no story to continue; the learner has to choose.
    YouChoose,
    /// The choice cannot be made now; with the reason.
    Refused(Text),
    /// That many steps were repeated on a fresh lab, with the same replies.
    Same(usize),
    /// That many steps were repeated; the first reply that differed.
    Differs(usize, Box<Difference>),
    /// That many steps were to be repeated; what prevented it.
    Stuck(usize, Text),
}

impl Free {
    pub(crate) fn begin(starting: bool) -> Self {
        Self { starting, ..Self::default() }
    }

    pub fn choices(&self) -> Vec<Choice> {
        let moves = self.outlook.able().map(|actor| Choice::Move { actor });
        let timer = self.outlook.timer.map(|_| Choice::Timer);
        let amounts = AMOUNTS.into_iter().map(|millis| Choice::Pass { millis });
        let faults = self.outlook.faults.iter().cloned().map(Choice::Inject);
        moves.chain(timer).chain(amounts).chain(faults).collect()
    }

    /// The actors that have a key of their own at an earlier step. Actors that can never move again could move then, so
    /// they are included.
    pub fn keyed_before(&self) -> Vec<ActorId> {
        let all = (0..).map(ActorId).take(self.outlook.actors.len());
        all.take(KEYS).collect()
    }

    /// Prepares for another run: clears the notice, and assigns keys afresh with the next outlook. Until then all
    /// actors keep their keys on the screen.
    pub fn reset_keys(&mut self) {
        self.notice = FreeNotice::Nothing;
        self.keys_outdated = true;
    }

    /// Takes a new outlook. An actor keeps its key as long as it may ever move again. If there are more actors than
    /// keys, the key then goes to one without.
    pub fn set_outlook(&mut self, outlook: Outlook) {
        if std::mem::take(&mut self.starting) {
            self.notice = FreeNotice::Nothing;
        }
        if std::mem::take(&mut self.keys_outdated) {
            self.keyed.clear();
        }
        self.outlook = outlook;
        let over = |actor: ActorId| {
            let prospect = self.outlook.actors.get(actor.0 as usize);
            let blocked = prospect.and_then(|prospect| prospect.blocked);
            matches!(blocked, Some(Blocked::Finished | Blocked::Dead))
        };
        let all = (0..).map(ActorId).take(self.outlook.actors.len());
        let mut waiting = all.filter(|actor| !self.keyed.contains(actor)).collect::<Vec<_>>();
        waiting.reverse();
        while self.keyed.len() < KEYS
            && let Some(next) = waiting.pop()
        {
            self.keyed.push(next);
        }
        waiting.retain(|actor| !over(*actor));
        for slot in 0..self.keyed.len() {
            if over(self.keyed[slot])
                && let Some(next) = waiting.pop()
            {
                self.keyed[slot] = next;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Free;
    use crate::log::{
        ActorId, Choice,
        outlook::{ActorOutlook, Blocked, Outlook},
    };

    fn outlook(blocked: impl IntoIterator<Item = Option<Blocked>>) -> Outlook {
        let prospect = |blocked| ActorOutlook { blocked, ..ActorOutlook::default() };
        Outlook { actors: blocked.into_iter().map(prospect).collect(), ..Outlook::default() }
    }

    #[test]
    fn actors_keep_their_keys() {
        let mut free = Free::default();
        free.set_outlook(outlook([Some(Blocked::Finished), None, Some(Blocked::Dead)]));
        assert_eq!(free.keyed, [0, 1, 2].map(ActorId));
        // Eleven actors share nine keys: the first that can never move again gives up its key.
        let mut free = Free::default();
        free.set_outlook(outlook([None; 11]));
        assert_eq!(free.keyed, [0, 1, 2, 3, 4, 5, 6, 7, 8].map(ActorId));
        let mut blocked = [None; 11];
        blocked[4] = Some(Blocked::Finished);
        blocked[5] = Some(Blocked::Unanswered);
        free.set_outlook(outlook(blocked));
        assert_eq!(free.keyed, [0, 1, 2, 3, 9, 5, 6, 7, 8].map(ActorId));
        blocked[9] = Some(Blocked::Finished);
        blocked[10] = Some(Blocked::Finished);
        free.set_outlook(outlook(blocked));
        assert_eq!(free.keyed, [0, 1, 2, 3, 9, 5, 6, 7, 8].map(ActorId), "nobody wants it");
    }

    #[test]
    fn choices_begin_with_the_moves() {
        let mut free = Free::default();
        free.set_outlook(outlook([None, Some(Blocked::Frozen), None]));
        let choices = free.choices();
        let moves = [0, 2].map(|n| Choice::Move { actor: ActorId(n) });
        assert_eq!(choices[..2], moves);
        assert!(choices[2..].iter().all(|choice| matches!(choice, Choice::Pass { .. })));
    }
}
