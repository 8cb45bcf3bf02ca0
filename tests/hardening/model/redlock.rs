//! Redlock on five servers: clients ask one server after the other, hold the lock and work if enough have answered OK,
//! and release what they were granted; and with clients that read the time and try again. Counted by models that share
//! no code with Lockstep, and model nothing else.

use std::{collections::HashMap, fmt::Write};

use lockstep::run::explore::Bounds;

use super::explored;
use crate::texts::HEAD;

const SERVERS: usize = 5;
/// The positions in a client's program after its five locks: its work, its unlocks, its end.
const WORK: usize = SERVERS;
const UNLOCKS: usize = WORK + 1;
const END: usize = UNLOCKS + SERVERS;

fn lesson(clients: usize, majority: usize) -> String {
    let mut text = format!("{HEAD}lab: masters\nclients:\n");
    for name in ["A", "B", "C"].iter().take(clients) {
        let _ = writeln!(text, "  {name}: {{ runs: asker }}");
    }
    text.push_str("programs:\n  asker:\n");
    for server in 1..=SERVERS {
        let set = "SET lock ${self} NX PX 30000";
        let _ = writeln!(text, "    - lock{server}: {{ redis: \"{set}\", on: redis{server} }}");
    }
    let all = "[lock1, lock2, lock3, lock4, lock5]|select('equalto', 'OK')|list|length";
    let _ = writeln!(
        text,
        "    - if: \"{all} >= {majority}\"\n      then: [ holds: lock, look: {{ redis: GET report, on: redis1 }}, drops: lock ]"
    );
    for server in 1..=SERVERS {
        let delete = format!("unlock{server}: {{ redis: DEL lock, on: redis{server} }}");
        let _ = writeln!(text, "    - if: lock{server} == 'OK'\n      then: [ {delete} ]");
    }
    text.push_str(crate::texts::ONLY);
    text.push_str("    invariants: [ never: { overlap: lock } ]\n");
    text.push_str("    claims:\n      - exclusive: lock\nstory:\n  - finish: A\n");
    text
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Asker {
    at: usize,
    /// The servers that it still has to release.
    granted: [bool; SERVERS],
    holds: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    /// The owner of each server's key.
    owners: [Option<usize>; SERVERS],
    askers: Vec<Asker>,
    /// With a bound on the moves of an order, the moves made so far are part of the state.
    moves: usize,
    ever_held: bool,
    violated: bool,
}

#[derive(Debug)]
struct Model {
    majority: usize,
    transitions: u64,
    /// For each state, the number of orders from it, and how many of them are violated.
    known: HashMap<State, (u128, u128)>,
}

impl Model {
    fn of(clients: usize, majority: usize) -> (Self, (u128, u128)) {
        let mut model = Self { majority, transitions: 0, known: HashMap::new() };
        let orders = model.count(State {
            owners: [None; SERVERS],
            askers: vec![Asker::default(); clients],
            moves: 0,
            ever_held: false,
            violated: false,
        });
        (model, orders)
    }

    fn count(&mut self, state: State) -> (u128, u128) {
        if let Some(known) = self.known.get(&state) {
            return *known;
        }
        let mut sum = (0, 0);
        for client in 0..state.askers.len() {
            if state.askers[client].at < END {
                self.transitions += 1;
                let (orders, violated) = self.count(self.moved(state.clone(), client));
                sum = (sum.0 + orders, sum.1 + violated);
            }
        }
        if state.askers.iter().all(|asker| asker.at == END) {
            sum = (1, u128::from(state.violated));
        }
        self.known.insert(state, sum);
        sum
    }

    fn moved(&self, mut state: State, client: usize) -> State {
        let asker = &mut state.askers[client];
        match asker.at {
            server @ 0..WORK => {
                asker.granted[server] = state.owners[server].is_none();
                state.owners[server].get_or_insert(client);
            }
            WORK => asker.holds = false,
            unlock => {
                asker.granted[unlock - UNLOCKS] = false;
                state.owners[unlock - UNLOCKS] = None;
            }
        }
        asker.at += 1;
        if asker.at == WORK {
            let granted = asker.granted.iter().filter(|granted| **granted).count();
            asker.holds = granted >= self.majority;
        }
        // Work without the lock and the release of what was not granted are skipped.
        while asker.at == WORK && !asker.holds
            || (UNLOCKS..END).contains(&asker.at) && !asker.granted[asker.at - UNLOCKS]
        {
            asker.at += 1;
        }
        state.moves += 1;
        let holders = state.askers.iter().filter(|asker| asker.holds).count();
        state.ever_held |= holders > 0;
        state.violated |= holders > 1;
        state
    }
}

#[tokio::test]
async fn redlock_comes_to_what_a_model_of_five_servers_says() {
    for (clients, majority) in [(2, 3), (2, 2), (3, 3)] {
        let (model, (orders, violations)) = Model::of(clients, majority);
        let bounds = Bounds { moves: END * clients, ..Bounds::default() };
        let text = lesson(clients, majority);
        let found = explored(&text, bounds).await.unwrap_or_else(|error| panic!("{error}\n{text}"));
        let which = format!("{clients} clients, {majority} of {SERVERS}");
        assert!(found.complete && found.cut == 0, "{which}");
        assert_eq!((found.orders(), found.violations), (orders, violations), "{which}");
        assert_eq!(violations > 0, majority < 3, "{which}");
        println!(
            "{which}: {orders} orders, {} and {} transitions",
            found.space.transitions, model.transitions
        );
        assert!(
            found.space.transitions * 10 <= model.transitions * 12,
            "{which}: {}",
            found.space.transitions
        );
    }
}

/// Three clients that read the time before and after they ask, and try again where they were not granted enough.
fn polling() -> String {
    let mut text = format!("{HEAD}lab: masters\nclients:\n");
    for name in ["A", "B", "C"] {
        let _ = writeln!(text, "  {name}: {{ runs: asker }}");
    }
    text.push_str(
        "params: { lease: 30s, drift: 302 }\nprograms:\n  asker:\n    - let: { granted: 'false' }\n",
    );
    text.push_str("    - repeat:\n        - let: { began: now }\n");
    for server in 1..=SERVERS {
        let set = "SET lock ${token} NX PX ${lease}";
        let _ = writeln!(text, "        - lock{server}: {{ redis: \"{set}\", on: redis{server} }}");
    }
    text.push_str(
        "        - let: { votes: \"[lock1, lock2, lock3, lock4, lock5]|select('equalto', 'OK')|list|length\" }
        - let: { validity: lease - (now - began) - drift }
        - if: votes >= 3 and validity > 0
          then: [ holds: lock, let: { granted: 'true' } ]
          else:\n",
    );
    for server in 1..=SERVERS {
        let release = "script: release_if_owner, keys: [lock], args: ['${token}']";
        let _ = writeln!(text, "            - unlock{server}: {{ {release}, on: redis{server} }}");
    }
    text.push_str("            - wait: 300ms\n      while: not granted\n    - wait: 5s\n    - drops: lock\n");
    text.push_str(crate::texts::ONLY);
    text.push_str("    invariants: [ never: { overlap: lock } ]\n");
    text.push_str("    claims:\n      - exclusive: lock\nstory:\n  - finish: A\n");
    text
}

/// The moves left, each server's owner, each client's place, and whether anybody ever held the lock.
type PollingState = (usize, [Option<usize>; SERVERS], [usize; 3], bool);

/// All their orders of fewer moves than make all of them wait, so that no time passes.
#[derive(Debug, Default)]
struct Polling {
    transitions: u64,
    known: HashMap<PollingState, u128>,
}

impl Polling {
    const WAITS: usize = 2 * SERVERS;

    fn count(
        &mut self,
        left: usize,
        owners: [Option<usize>; SERVERS],
        at: [usize; 3],
        ever_held: bool,
    ) -> u128 {
        if left == 0 {
            return 1;
        }
        if let Some(known) = self.known.get(&(left, owners, at, ever_held)) {
            return *known;
        }
        let mut orders = 0;
        for client in (0..3).filter(|client| at[*client] < Self::WAITS) {
            self.transitions += 1;
            let (mut owners, mut at, mut ever_held) = (owners, at, ever_held);
            let owner = &mut owners[at[client] % SERVERS];
            if at[client] < SERVERS {
                owner.get_or_insert(client);
            } else if *owner == Some(client) {
                *owner = None;
            }
            at[client] += 1;
            if at[client] == SERVERS && owners.iter().filter(|owner| **owner == Some(client)).count() >= 3 {
                (at[client], ever_held) = (Self::WAITS, true);
            }
            orders += self.count(left - 1, owners, at, ever_held);
        }
        self.known.insert((left, owners, at, ever_held), orders);
        orders
    }
}

#[tokio::test]
async fn what_a_program_has_read_and_will_not_read_again_makes_no_more_states() {
    const MOVES: usize = 24;
    let mut model = Polling::default();
    let orders = model.count(MOVES, [None; SERVERS], [0; 3], false);
    let text = polling();
    let found = explored(&text, Bounds { moves: MOVES, ..Bounds::default() }).await;
    let found = found.unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(found.complete);
    assert_eq!((found.orders(), found.cut, found.violations), (orders, orders, 0));
    println!("{orders} orders, {} and {} transitions", found.space.transitions, model.transitions);
    assert!(found.space.transitions * 10 <= model.transitions * 12, "{}", found.space.transitions);
}
