//! Free play of one run, as the learner meets it: what may happen next, why a choice was refused, what came of doing a
//! run again.

use crate::{
    log::{
        ActorId, Choice,
        outlook::{Blocked, Outlook},
    },
    text::Text,
    verdict::compare::Difference,
};

/// Time that can be let pass without typing how much, in milliseconds.
pub const AMOUNTS: [u64; 4] = [100, 1_000, 10_000, 60_000];

/// So many actors have keys of their own.
pub const KEYS: usize = 9;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Free {
    /// What may happen next, after everything that happened.
    pub outlook: Outlook,
    pub notice: FreeNotice,
    /// The actors that have a key of their own, in its order.
    pub(crate) keyed: Vec<ActorId>,
    /// Whether the keys are those of a run that another takes the place of.
    stale: bool,
}

/// The notice about the learner's last request.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum FreeNotice {
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
    pub fn choices(&self) -> Vec<Choice> {
        let moves = self.outlook.able().map(|actor| Choice::Move { actor });
        let timer = self.outlook.timer.map(|_| Choice::Timer);
        let amounts = AMOUNTS.into_iter().map(|millis| Choice::Pass { millis });
        let faults = self.outlook.faults.iter().cloned().map(Choice::Inject);
        moves.chain(timer).chain(amounts).chain(faults).collect()
    }

    /// The actors that have a key of their own for somebody who looks back: whoever can never move again now could then.
    pub fn keyed_before(&self) -> Vec<ActorId> {
        let all = (0..).map(ActorId).take(self.outlook.actors.len());
        all.take(KEYS).collect()
    }

    /// Another run takes the place of this one: nothing is notice of it any more, and what may happen next deals its keys
    /// anew. Until that is known, everybody keeps their place on the screen.
    pub fn deal_anew(&mut self) {
        self.notice = FreeNotice::Nothing;
        self.stale = true;
    }

    /// This may happen next. A key stays its actor's as long as that may ever move again; then, where there are more
    /// actors than keys, one without a key gets it.
    pub fn look_ahead(&mut self, outlook: Outlook) {
        if std::mem::take(&mut self.stale) {
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
        let prospect = |blocked| ActorOutlook { next: None, blocked };
        Outlook { actors: blocked.into_iter().map(prospect).collect(), ..Outlook::default() }
    }

    #[test]
    fn keys_do_not_wander() {
        let mut free = Free::default();
        free.look_ahead(outlook([Some(Blocked::Finished), None, Some(Blocked::Dead)]));
        assert_eq!(free.keyed, [0, 1, 2].map(ActorId));
        // Eleven with nine keys: the first who can never move again gives its key away.
        let mut free = Free::default();
        free.look_ahead(outlook([None; 11]));
        assert_eq!(free.keyed, [0, 1, 2, 3, 4, 5, 6, 7, 8].map(ActorId));
        let mut blocked = [None; 11];
        blocked[4] = Some(Blocked::Finished);
        blocked[5] = Some(Blocked::Unanswered);
        free.look_ahead(outlook(blocked));
        assert_eq!(free.keyed, [0, 1, 2, 3, 9, 5, 6, 7, 8].map(ActorId));
        blocked[9] = Some(Blocked::Finished);
        blocked[10] = Some(Blocked::Finished);
        free.look_ahead(outlook(blocked));
        assert_eq!(free.keyed, [0, 1, 2, 3, 9, 5, 6, 7, 8].map(ActorId), "nobody wants it");
    }

    #[test]
    fn what_can_be_chosen_begins_with_the_moves() {
        let mut free = Free::default();
        free.look_ahead(outlook([None, Some(Blocked::Frozen), None]));
        let choices = free.choices();
        let moves = [0, 2].map(|n| Choice::Move { actor: ActorId(n) });
        assert_eq!(choices[..2], moves);
        assert!(choices[2..].iter().all(|choice| matches!(choice, Choice::Pass { .. })));
    }
}
