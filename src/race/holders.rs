//! What became of each lock in a race. Pure; who holds one at which moment is the verdict's rule, and not its own.

use std::collections::BTreeMap;

use super::LockFate;
use crate::{
    lesson::Scenario,
    log::{Belief, EventKind, Log},
    verdict::Holders,
};

/// What became of each lock that anybody believed to hold.
pub(super) fn fates(scenario: &Scenario, log: &Log) -> BTreeMap<String, LockFate> {
    let mut holders = Holders::new(scenario);
    let mut fates = BTreeMap::new();
    for (n, event) in log.events().iter().enumerate() {
        if let EventKind::Believes {
            lock,
            belief: Belief::Holding,
            ..
        } = &event.kind
        {
            fates.entry(lock.clone()).or_insert(LockFate::Held);
        }
        if let Some((lock, _)) = holders.take(n, event) {
            fates.insert(lock, LockFate::Violated);
        }
    }
    fates
}

#[cfg(test)]
mod tests {
    use super::fates;
    use crate::{
        lesson::{Params, Scenario, library::from_text},
        log::{ActorId, Belief, EventKind, Log, OpId, Reply},
        race::LockFate,
    };

    /// Two clients whose program takes the lock and ends with this operation, right before it drops it.
    fn scenario(operation: &str) -> Scenario {
        let text = format!(
            "
format: 1
id: late
track: redis
title: {{ en: Late, zh: 迟 }}
summary: {{ en: Late, zh: 迟 }}
intro: {{ en: Late, zh: 迟 }}
minutes: 1
lab: {}
clients:
  A: {{ runs: p }}
  B: {{ runs: p }}
scripts:
  free: return redis.call('DEL', KEYS[1])
programs:
  p:
    - holds: lock
    - move: {operation}
    - drops: lock
variants:
  only:
    title: {{ en: Only, zh: 唯一 }}
    expect: prevented
    lesson: {{ en: Late, zh: 迟 }}
    claims: [ exclusive: lock ]
story: [ move: A.move ]
",
            if operation.contains("zk") {
                "zookeeper"
            } else {
                "redis"
            }
        );
        let loaded = from_text("late.yaml", &text).expect("it is good");
        Scenario::plan(&loaded, "only", &Params::new()).expect("planned")
    }

    const DEL: &str = "{ redis: DEL lock }";

    fn believes(actor: u32, belief: Belief) -> EventKind {
        EventKind::Believes {
            actor: ActorId(actor),
            lock: "lock".to_owned(),
            belief,
        }
    }

    fn sent(actor: u32, wire: &str) -> EventKind {
        EventKind::Sent {
            op: OpId(actor.into()),
            actor: ActorId(actor),
            label: "move".to_owned(),
            server: "server".to_owned(),
            wire: wire.to_owned(),
        }
    }

    fn replied(actor: u32) -> EventKind {
        EventKind::Replied {
            op: OpId(actor.into()),
            actor: ActorId(actor),
            label: "move".to_owned(),
            reply: Reply::Value("OK".into()),
        }
    }

    fn fate(operation: &str, log: &Log) -> Option<LockFate> {
        fates(&scenario(operation), log).get("lock").copied()
    }

    /// A holds, sends a command, B comes to hold, A gets its reply and drops.
    fn overtaken(operation: &str) -> Option<LockFate> {
        let log = Log::from_iter([
            believes(0, Belief::Holding),
            sent(0, "…"),
            believes(1, Belief::Holding),
            replied(0),
            believes(0, Belief::Nothing),
        ]);
        fate(operation, &log)
    }

    #[test]
    fn a_reply_to_a_release_that_comes_late_is_no_overlap() {
        let script = "{ script: free, keys: [lock], args: [] }";
        for release in [DEL, script, "{ zk: delete /lock }", "{ local: unlock lock }"] {
            assert_eq!(overtaken(release), Some(LockFate::Held), "{release}");
        }
        // It still works on what the lock protects.
        assert_eq!(overtaken("{ redis: DECR stock }"), Some(LockFate::Violated));
    }

    #[test]
    fn a_release_does_not_hide_an_overlap_before_it() {
        let two = [
            believes(0, Belief::Holding),
            believes(1, Belief::Holding),
            sent(0, "DEL lock"),
            replied(0),
            believes(0, Belief::Nothing),
        ];
        assert_eq!(fate(DEL, &Log::from_iter(two)), Some(LockFate::Violated));
    }

    #[test]
    fn one_after_another_and_nobody() {
        let one_by_one = [
            believes(0, Belief::Holding),
            believes(0, Belief::Nothing),
            believes(1, Belief::Holding),
        ];
        assert_eq!(fate(DEL, &Log::from_iter(one_by_one)), Some(LockFate::Held));
        assert_eq!(fate(DEL, &Log::from_iter([believes(0, Belief::Waiting)])), None);
    }
}
