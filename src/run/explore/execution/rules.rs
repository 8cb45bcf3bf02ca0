//! What may be chosen next while orders are explored. Pure.

use crate::{lesson::Scenario, log::ActorId, run::explore::Pick};

/// Which steps an order may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// An order is cut after so many moves.
    pub moves: usize,
    /// The clients that may be killed, by number.
    pub crash: Vec<usize>,
    /// The clients that may be stopped for a while.
    pub freeze: Vec<usize>,
}

/// How things stand in an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Situation {
    /// Who can make a move now.
    pub(crate) able: Vec<ActorId>,
    /// Whether anybody waits for time to pass.
    pub(crate) timer: bool,
    /// Moves so far.
    pub(crate) moves: usize,
    /// Who is stopped.
    pub(crate) frozen: Option<usize>,
    /// Whether the one fault of the order has happened.
    pub(crate) spent: bool,
    /// The clients that have not come to the end of their programs.
    pub(crate) busy: Vec<usize>,
}

impl Situation {
    /// Whether somebody could still move when the bound is reached.
    pub(crate) fn is_cut(&self, rules: &Rules) -> bool {
        self.moves >= rules.moves && !self.able.is_empty()
    }

    /// What may be chosen: moves first. Time passes only when nobody can move. One client may be killed or stopped,
    /// once, at any time, and whoever is stopped may run again at any time after, and does when nothing else can
    /// happen. After the last move nothing is chosen any more.
    pub(crate) fn picks(&self, rules: &Rules) -> Vec<Pick> {
        if self.is_cut(rules) {
            return Vec::new();
        }
        let over = self.moves >= rules.moves;
        let mut picks: Vec<Pick> = self.able.iter().map(|actor| Pick::Move(*actor)).collect();
        if picks.is_empty() && self.timer {
            picks.push(Pick::Timer);
        }
        if let Some(client) = self.frozen
            && (!over || picks.is_empty())
        {
            picks.push(Pick::Thaw(client));
        }
        if !picks.is_empty() && !self.spent && !over {
            let may = |clients: &Vec<usize>, client: &&usize| clients.contains(client);
            let crash = self.busy.iter().filter(|client| may(&rules.crash, client));
            let freeze = self.busy.iter().filter(|client| may(&rules.freeze, client));
            picks.extend(crash.map(|client| Pick::Crash(*client)));
            picks.extend(freeze.map(|client| Pick::Freeze(*client)));
        }
        picks
    }
}

/// The client that each actor lives in, by number.
pub(crate) fn homes(scenario: &Scenario) -> Vec<usize> {
    let mut homes = vec![0; scenario.actors.len()];
    for (n, client) in scenario.clients.iter().enumerate() {
        homes[client.actors.clone()].fill(n);
    }
    homes
}

#[cfg(test)]
mod tests {
    use super::{Rules, Situation};
    use crate::{log::ActorId, run::explore::Pick};

    const A: ActorId = ActorId(0);

    fn situation() -> Situation {
        Situation { able: vec![A], timer: true, moves: 0, frozen: None, spent: false, busy: vec![0, 1] }
    }

    fn rules() -> Rules {
        Rules { moves: 3, crash: Vec::new(), freeze: vec![1] }
    }

    #[test]
    fn time_passes_only_when_nobody_can_move() {
        assert_eq!(situation().picks(&rules()), [Pick::Move(A), Pick::Freeze(1)]);
        let mut nobody = situation();
        nobody.able.clear();
        assert_eq!(nobody.picks(&rules()), [Pick::Timer, Pick::Freeze(1)]);
    }

    #[test]
    fn there_is_one_fault_and_whoever_is_stopped_runs_again() {
        let mut stopped = situation();
        (stopped.frozen, stopped.spent) = (Some(1), true);
        assert_eq!(stopped.picks(&rules()), [Pick::Move(A), Pick::Thaw(1)]);
        (stopped.able, stopped.timer) = (Vec::new(), false);
        assert_eq!(stopped.picks(&rules()), [Pick::Thaw(1)]);
    }

    #[test]
    fn the_bound_cuts_only_where_somebody_could_move() {
        let mut last = situation();
        last.moves = 3;
        assert!(last.is_cut(&rules()));
        assert!(last.picks(&rules()).is_empty());
        last.able.clear();
        assert!(!last.is_cut(&rules()));
        assert_eq!(last.picks(&rules()), [Pick::Timer]);
        last.timer = false;
        assert!(last.picks(&rules()).is_empty());
    }
}
