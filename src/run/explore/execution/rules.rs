//! What may be chosen next in an order.

use crate::{
    lesson::Scenario,
    log::ActorId,
    program::{Actors, actor_id},
    run::explore::Pick,
};

/// Which steps an order may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// An order is cut after so many moves.
    pub moves: usize,
    pub crash: Vec<usize>,
    /// The clients that may be stopped for a while.
    pub freeze: Vec<usize>,
}

/// Whether an actor's client is not the one that is stopped.
pub(crate) fn runs(scenario: &Scenario, actor: ActorId, frozen: Option<usize>) -> bool {
    frozen.is_none_or(|client| !scenario.clients[client].actors.contains(&(actor.0 as usize)))
}

/// `A.acquire`.
pub(crate) fn operation_name(scenario: &Scenario, actor: ActorId, label: &str) -> String {
    format!("{}.{label}", scenario.actors[actor.0 as usize].actor.name)
}

/// What an order has had so far that its rules count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) moves: usize,
    pub(crate) frozen: Option<usize>,
    faulted: bool,
}

impl Tally {
    pub(crate) fn add(&mut self, pick: Pick) {
        match pick {
            Pick::Move(_) => self.moves += 1,
            Pick::Timer => {}
            Pick::Thaw(_) => self.frozen = None,
            Pick::Crash(_) => self.faulted = true,
            Pick::Freeze(client) => (self.frozen, self.faulted) = (Some(client), true),
        }
    }
}

/// Who can do what at a point of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Situation {
    tally: Tally,
    able: Vec<ActorId>,
    /// Whether anybody waits for time to pass.
    timer: bool,
    /// The clients that have not come to the end of their programs.
    busy: Vec<usize>,
}

impl Situation {
    /// `ends`: whether some server ends somebody's wait inside it when its time has come.
    pub(crate) fn new(actors: &Actors, scenario: &Scenario, tally: Tally, ends: bool) -> Self {
        let runs = |actor| runs(scenario, actor, tally.frozen);
        let clients = scenario.clients.iter().enumerate();
        let busy = clients.filter(|(_, plan)| !plan.actors.clone().all(|n| actors[actor_id(n)].is_over()));
        Self {
            tally,
            able: actors.ready(runs).collect(),
            timer: ends || actors.next_timer(runs).is_some(),
            busy: busy.map(|(n, _)| n).collect(),
        }
    }

    /// Whether somebody could still move when the bound is reached.
    pub(crate) fn is_cut(&self, rules: &Rules) -> bool {
        self.tally.moves >= rules.moves && !self.able.is_empty()
    }

    /// What may be chosen: moves first. Time passes only when nobody can move. One client may be killed or stopped,
    /// once, at any time, and whoever is stopped may run again at any time after, and does when nothing else can
    /// happen. After the last move nothing is chosen any more.
    pub(crate) fn picks(&self, rules: &Rules) -> Vec<Pick> {
        if self.is_cut(rules) {
            return Vec::new();
        }
        let over = self.tally.moves >= rules.moves;
        let mut picks: Vec<Pick> = self.able.iter().map(|actor| Pick::Move(*actor)).collect();
        if picks.is_empty() && self.timer {
            picks.push(Pick::Timer);
        }
        if let Some(client) = self.tally.frozen
            && (!over || picks.is_empty())
        {
            picks.push(Pick::Thaw(client));
        }
        if !picks.is_empty() && !self.tally.faulted && !over {
            let may = |clients: &Vec<usize>, client: &&usize| clients.contains(client);
            let crash = self.busy.iter().filter(|client| may(&rules.crash, client));
            let freeze = self.busy.iter().filter(|client| may(&rules.freeze, client));
            picks.extend(crash.map(|client| Pick::Crash(*client)));
            picks.extend(freeze.map(|client| Pick::Freeze(*client)));
        }
        picks
    }
}

#[cfg(test)]
mod tests {
    use super::{Rules, Situation, Tally};
    use crate::{log::ActorId, run::explore::Pick};

    const A: ActorId = ActorId(0);

    fn situation() -> Situation {
        Situation { tally: Tally::default(), able: vec![A], timer: true, busy: vec![0, 1] }
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
        stopped.tally.add(Pick::Freeze(1));
        assert_eq!(stopped.picks(&rules()), [Pick::Move(A), Pick::Thaw(1)]);
        (stopped.able, stopped.timer) = (Vec::new(), false);
        assert_eq!(stopped.picks(&rules()), [Pick::Thaw(1)]);
    }

    #[test]
    fn the_bound_cuts_only_where_somebody_could_move() {
        let mut last = situation();
        last.tally.moves = 3;
        assert!(last.is_cut(&rules()));
        assert!(last.picks(&rules()).is_empty());
        last.able.clear();
        assert!(!last.is_cut(&rules()));
        assert_eq!(last.picks(&rules()), [Pick::Timer]);
        last.timer = false;
        assert!(last.picks(&rules()).is_empty());
    }
}
