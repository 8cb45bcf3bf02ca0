//! The steps that may be chosen next in an order.

use super::servers::at_or_after;
use crate::{
    clock::LessonTime,
    lesson::{
        Scenario,
        plan::{PlannedOperation, PlannedVerb},
    },
    log::ActorId,
    program::{Actors, State, actor_id},
    run::explore::{Pick, Stuck},
};

/// The steps that an order may have. Clients and servers are given by index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// The number of moves after which an order is cut.
    pub moves: usize,
    /// The most faults of an order.
    pub faults: usize,
    /// How often time may pass although an actor could move.
    pub slow: usize,
    pub crash: Vec<usize>,
    /// The clients that may be frozen for a while.
    pub freeze: Vec<usize>,
    /// The clients that may miss the reply to a command that a server has carried out.
    pub lose_reply: Vec<usize>,
    /// The links that may be cut for a while, as client and server.
    pub cut: Vec<(usize, usize)>,
    /// The servers that may be killed and restarted.
    pub restart: Vec<usize>,
    /// The servers whose clocks may be set ahead, and by how many milliseconds.
    pub skew: Vec<(usize, i64)>,
    /// The same for clients.
    pub skew_client: Vec<(usize, i64)>,
}

/// The name of an operation: `A.acquire`.
pub(crate) fn operation_name(scenario: &Scenario, actor: ActorId, label: &str) -> String {
    format!("{}.{label}", scenario.actor(actor).actor.name)
}

/// The index of the server that an operation goes to, the first if it names none. `None` if nothing is sent.
pub(crate) fn server_of(scenario: &Scenario, operation: &PlannedOperation) -> Option<usize> {
    if !operation.verb.is_sent() {
        return None;
    }
    let named = operation.on.as_deref();
    Some(named.and_then(|on| scenario.lab().servers().iter().position(|server| *server == on)).unwrap_or(0))
}

/// The effects of faults on a client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct ClientState {
    pub(crate) frozen: bool,
    pub(crate) crashed: bool,
    /// Whether its clock is wrong.
    pub(crate) skewed: bool,
    /// The servers to which the client's link is cut, one bit each.
    pub(crate) cut: u32,
}

impl ClientState {
    pub(crate) fn is_cut_from(self, server: usize) -> bool {
        self.cut & 1 << server != 0
    }
}

/// What the rules count in an order so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) moves: usize,
    pub(crate) faults: usize,
    pub(crate) slow: usize,
    /// The servers whose clocks are wrong, one bit each.
    pub(crate) skewed: u32,
    pub(crate) clients: Vec<ClientState>,
}

impl Tally {
    /// Before the first step.
    pub(crate) fn new(scenario: &Scenario) -> Self {
        Self { clients: vec![ClientState::default(); scenario.clients.len()], ..Self::default() }
    }

    /// Adds a step. `slow`: whether an actor could have moved.
    pub(crate) fn add(&mut self, pick: Pick, slow: bool) {
        let (time, fault) = match pick {
            Pick::Move(_) | Pick::Thaw(_) | Pick::Mend(..) => (false, false),
            Pick::Timer | Pick::Pass(_) => (true, false),
            _ => (false, true),
        };
        self.moves += usize::from(matches!(pick, Pick::Move(_) | Pick::LoseReply(..)));
        self.faults += usize::from(fault);
        self.slow += usize::from(time && slow);
        match pick {
            Pick::Thaw(client) => self.clients[client].frozen = false,
            Pick::Freeze(client) => self.clients[client].frozen = true,
            Pick::Crash(client) => {
                self.clients[client] = ClientState { crashed: true, ..ClientState::default() };
            }
            Pick::Cut(client, server) => self.clients[client].cut |= 1 << server,
            Pick::Mend(client, server) => self.clients[client].cut &= !(1 << server),
            Pick::Skew(server, _) => self.skewed |= 1 << server,
            Pick::SkewClient(client, _) => self.clients[client].skewed = true,
            _ => {}
        }
    }

    /// The effects of faults on an actor's client.
    pub(crate) fn of(&self, scenario: &Scenario, actor: ActorId) -> ClientState {
        let n = actor.0 as usize;
        let client = scenario.clients.iter().position(|plan| plan.actors.contains(&n));
        client.map_or_else(ClientState::default, |client| self.clients[client])
    }

    /// Where nothing more can happen: why an actor that no fault has crashed did not finish, or `None` if all
    /// did.
    pub(crate) fn stuck(&self, scenario: &Scenario, actors: &Actors) -> Option<Stuck> {
        let left = actors.ids().filter(|actor| !self.of(scenario, *actor).crashed);
        // The effects of the end of a lease of etcd are not known.
        let lasts = grants_leases(scenario);
        let why = left.filter_map(|actor| match actors[actor].state() {
            State::Finished => None,
            State::Dead => Some(Stuck::GaveUp),
            _ if lasts => Some(Stuck::SessionLasts),
            State::Taking { .. } => Some(Stuck::LostWakeup),
            _ => Some(Stuck::Deadlock),
        });
        why.max()
    }

    /// Whether an actor's client is not frozen.
    pub(crate) fn runs(&self, scenario: &Scenario, actor: ActorId) -> bool {
        !self.of(scenario, actor).frozen
    }
}

/// Whether any program gets a lease from etcd.
fn grants_leases(scenario: &Scenario) -> bool {
    let grants = |verb: &PlannedVerb| matches!(verb, PlannedVerb::Call(call) if call.name() == "grant");
    scenario.operations().any(|operation| grants(&operation.verb))
}

/// What can be done at a point of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Situation {
    tally: Tally,
    /// The actors that can move, each with the server that its next operation is sent to, and its client.
    able: Vec<(ActorId, Option<usize>, usize)>,
    /// Whether any actor waits for time to pass.
    timer: bool,
    /// How many milliseconds a `Pass` must last for the next key to expire.
    expiry: Option<u64>,
    /// The clients whose programs have not ended.
    busy: Vec<usize>,
}

impl Situation {
    /// `ends`: whether a server will end an actor's wait inside it when its time has come.
    pub(crate) fn new(actors: &Actors, scenario: &Scenario, tally: &Tally, ends: bool) -> Self {
        let runs = |actor| tally.runs(scenario, actor);
        let clients = scenario.clients.iter().enumerate();
        let busy = clients.filter(|(_, plan)| !plan.actors.clone().all(|n| actors[actor_id(n)].is_over()));
        let asks = |actor: ActorId| {
            let operation = actors[actor].next_operation();
            let client = scenario.clients.iter().position(|plan| plan.actors.contains(&(actor.0 as usize)));
            let server = operation.and_then(|operation| server_of(scenario, operation));
            (actor, server, client.unwrap_or(0))
        };
        Self {
            tally: tally.clone(),
            able: actors.ready(runs).map(asks).collect(),
            timer: ends || actors.next_timer(runs).is_some(),
            expiry: None,
            busy: busy.map(|(n, _)| n).collect(),
        }
    }

    pub(crate) fn with_expiry(self, expiry: Option<u64>) -> Self {
        Self { expiry, ..self }
    }

    /// Whether the bound on moves is reached although an actor could still move.
    pub(crate) fn is_cut(&self, rules: &Rules) -> bool {
        self.tally.moves >= rules.moves && !self.able.is_empty()
    }

    /// Whether an actor could move, so that a step in which time passes counts as slow.
    pub(crate) fn is_slow(&self) -> bool {
        !self.able.is_empty()
    }

    /// The steps that may be chosen, moves first. Time passes when no actor can move, and otherwise as often
    /// as the rules allow: to the end of the next wait, or of the next key. A fault may occur at any time
    /// until there have been as many as allowed. A frozen client may run again at any later time, and does
    /// when nothing else can happen; a cut link may be mended. After the last move nothing is chosen any
    /// more.
    pub(crate) fn picks(&self, rules: &Rules) -> Vec<Pick> {
        if self.is_cut(rules) {
            return Vec::new();
        }
        let Self { tally, able, busy, .. } = self;
        let over = tally.moves >= rules.moves;
        let mut picks: Vec<Pick> = able.iter().map(|(actor, ..)| Pick::Move(*actor)).collect();
        let slow = self.is_slow() && tally.slow < rules.slow;
        if self.timer && (picks.is_empty() || slow) {
            picks.push(Pick::Timer);
        }
        picks.extend(self.expiry.filter(|_| slow).map(Pick::Pass));
        if !over || picks.is_empty() {
            let frozen = tally.clients.iter().enumerate().filter(|(_, client)| client.frozen);
            picks.extend(frozen.map(|(client, _)| Pick::Thaw(client)));
        }
        if picks.is_empty() || over {
            return picks;
        }
        for client in busy {
            let cut = (0..u32::BITS as usize).filter(|server| tally.clients[*client].is_cut_from(*server));
            picks.extend(cut.map(|server| Pick::Mend(*client, server)));
        }
        if tally.faults >= rules.faults {
            return picks;
        }
        let hit = |may: &[usize], client: usize| may.contains(&client) && !tally.clients[client].frozen;
        let crash = busy.iter().filter(|client| hit(&rules.crash, **client));
        picks.extend(crash.map(|client| Pick::Crash(*client)));
        let freeze = busy.iter().filter(|client| hit(&rules.freeze, **client));
        picks.extend(freeze.map(|client| Pick::Freeze(*client)));
        let hears = |client: usize, server: usize| !tally.clients[client].is_cut_from(server);
        let loses = able.iter().filter_map(|(actor, server, client)| {
            let server = server.filter(|server| rules.lose_reply.contains(client) && hears(*client, *server));
            Some(Pick::LoseReply(*actor, server?))
        });
        picks.extend(loses);
        let cut = rules.cut.iter().filter(|(client, server)| {
            busy.contains(client) && !tally.clients[*client].frozen && hears(*client, *server)
        });
        picks.extend(cut.map(|(client, server)| Pick::Cut(*client, *server)));
        picks.extend(rules.restart.iter().map(|server| Pick::Restart(*server)));
        let skew = rules.skew.iter().filter(|(server, _)| tally.skewed & 1 << server == 0);
        picks.extend(skew.map(|(server, ahead)| Pick::Skew(*server, *ahead)));
        let right = |client: &usize| busy.contains(client) && !tally.clients[*client].skewed;
        let skew = rules.skew_client.iter().filter(|(client, _)| right(client));
        picks.extend(skew.map(|(client, ahead)| Pick::SkewClient(*client, *ahead)));
        picks
    }
}

/// How many milliseconds a `Pass` must last for the first of these keys to expire, given that it overshoots by 2. A key
/// ends with a millisecond of its server, which need not begin with one of the order.
pub(crate) fn until_expired(ends: impl Iterator<Item = LessonTime>, now: LessonTime) -> Option<u64> {
    let first = ends.map(at_or_after).min()?;
    Some(u64::try_from(first.as_millis() - 1 - now.as_millis()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::{ClientState, Rules, Situation, Tally};
    use crate::{log::ActorId, run::explore::Pick};

    const A: ActorId = ActorId(0);

    fn situation() -> Situation {
        let tally = Tally { clients: vec![ClientState::default(); 2], ..Tally::default() };
        Situation { tally, able: vec![(A, Some(0), 0)], timer: true, expiry: Some(7), busy: vec![0, 1] }
    }

    fn rules() -> Rules {
        Rules { moves: 3, faults: 1, freeze: vec![1], ..Rules::default() }
    }

    #[test]
    fn time_passes_only_when_no_actor_can_move_or_one_may_be_slow() {
        assert_eq!(situation().picks(&rules()), [Pick::Move(A), Pick::Freeze(1)]);
        let mut slow = situation();
        let rules_of_slow = Rules { slow: 1, ..rules() };
        assert_eq!(slow.picks(&rules_of_slow), [Pick::Move(A), Pick::Timer, Pick::Pass(7), Pick::Freeze(1)]);
        slow.tally.add(Pick::Pass(7), true);
        assert_eq!(slow.picks(&rules_of_slow), [Pick::Move(A), Pick::Freeze(1)]);
        let mut nobody = situation();
        nobody.able.clear();
        assert_eq!(nobody.picks(&rules()), [Pick::Timer, Pick::Freeze(1)]);
    }

    #[test]
    fn faults_are_limited_and_a_frozen_client_is_thawed() {
        let mut stopped = situation();
        stopped.tally.add(Pick::Freeze(1), false);
        assert_eq!(stopped.picks(&rules()), [Pick::Move(A), Pick::Thaw(1)]);
        let two = Rules { faults: 2, crash: vec![0, 1], ..rules() };
        assert_eq!(stopped.picks(&two), [Pick::Move(A), Pick::Thaw(1), Pick::Crash(0)]);
        (stopped.able, stopped.timer) = (Vec::new(), false);
        assert_eq!(stopped.picks(&rules()), [Pick::Thaw(1)]);
    }

    #[test]
    fn a_cut_link_carries_nothing_until_it_is_mended() {
        let rules = Rules { freeze: vec![], lose_reply: vec![0], cut: vec![(0, 0)], ..rules() };
        let mut cut = situation();
        assert_eq!(cut.picks(&rules), [Pick::Move(A), Pick::LoseReply(A, 0), Pick::Cut(0, 0)]);
        cut.tally.add(Pick::Cut(0, 0), false);
        let rules = Rules { faults: 2, ..rules };
        assert_eq!(cut.picks(&rules), [Pick::Move(A), Pick::Mend(0, 0)]);
    }

    #[test]
    fn the_clock_of_a_client_is_set_once() {
        let rules = Rules { freeze: vec![], faults: 2, skew_client: vec![(1, 5000)], ..rules() };
        let mut skewed = situation();
        assert_eq!(skewed.picks(&rules), [Pick::Move(A), Pick::SkewClient(1, 5000)]);
        skewed.tally.add(Pick::SkewClient(1, 5000), false);
        assert_eq!(skewed.picks(&rules), [Pick::Move(A)]);
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
