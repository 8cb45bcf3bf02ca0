//! Determines which operation releases which lock.
//!
//! It is the last command before the lock's `drops`, if that command deletes or unlocks something. Any other command
//! there is still work under the lock. For a lock with a limit of `holders`, however, a command that increments a
//! counter or changes a collection gives a permit back.

use std::sync::Arc;

use minijinja::Value;

use super::{
    super::{expr::Template, script::script_calls},
    program::{Instruction, PlannedVerb},
};
use crate::log::{Belief, Flock, stands_for};

/// Records in each operation the locks that it releases.
pub(crate) fn mark(instructions: &mut [Instruction], counted: &[String]) {
    for n in 0..instructions.len() {
        let Instruction::Operate(operation) = &instructions[n] else { continue };
        let (deletes, gives_back) = (does(&operation.verb, DELETES), does(&operation.verb, GIVES_BACK));
        if !deletes && !gives_back {
            continue;
        }
        let mut locks = dropped_from(instructions, n + 1);
        locks.retain(|lock| deletes || counted.iter().any(|name| stands_for(name, &lock.pattern())));
        if let Instruction::Operate(operation) = &mut instructions[n] {
            Arc::make_mut(operation).releases = locks;
        }
    }
}

/// The locks that are dropped from this instruction on, before anything is sent or decided.
fn dropped_from(instructions: &[Instruction], mut at: usize) -> Vec<Template> {
    let mut locks = Vec::new();
    // A name that is set in between has no value yet when the command is sent.
    let mut all_set = true;
    // Jumps may form a loop.
    for _ in 0..instructions.len() {
        match instructions.get(at) {
            Some(Instruction::Believe { lock, belief: Belief::Nothing }) => {
                if all_set || lock.is_literal() {
                    locks.push(lock.clone());
                }
            }
            Some(Instruction::Count { .. }) => {}
            Some(Instruction::Set { .. } | Instruction::Enter { .. } | Instruction::Leave) => all_set = false,
            Some(Instruction::Jump { to }) => {
                at = *to;
                continue;
            }
            _ => break,
        }
        at += 1;
    }
    locks
}

/// Commands that delete a key.
const DELETES: &[&str] = &["DEL", "UNLINK", "GETDEL"];
/// Commands that give back one of several permits.
const GIVES_BACK: &[&str] = &["INCR", "INCRBY", "HINCRBY", "HDEL", "ZREM", "SREM", "LPUSH", "RPUSH", "SADD"];

/// Whether the operation deletes or unlocks something.
pub(crate) fn deletes(verb: &PlannedVerb) -> bool {
    does(verb, DELETES)
}

fn does(verb: &PlannedVerb, commands: &[&str]) -> bool {
    let is_one = |name: &str| commands.contains(&name.to_ascii_uppercase().as_str());
    match verb {
        PlannedVerb::Redis(words) => {
            let name = words.first().map(|word| word.render(&Value::UNDEFINED));
            name.is_some_and(|name| name.is_ok_and(|name| is_one(&name)))
        }
        PlannedVerb::Script { source, .. } => script_calls(source).iter().any(|(name, _)| is_one(name)),
        PlannedVerb::Call(call) => call.releases,
        PlannedVerb::Local { lock: false, .. } | PlannedVerb::Flock { call: Flock::Unlock, .. } => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::lesson::{Params, Scenario, library::from_text};

    /// The locks that the operation `move` releases in a program with these steps.
    fn released(steps: &str) -> Vec<String> {
        let lab = if steps.contains("zk:") { "zookeeper" } else { "redis" };
        let text = format!(
            "
format: 1
id: tried
track: redis
title: {{ en: Tried, zh: 试 }}
summary: {{ en: Tried, zh: 试 }}
intro: {{ en: Tried, zh: 试 }}
minutes: 1
lab: {lab}
clients:
  A: {{ runs: p }}
scripts:
  free: return redis.call('DEL', KEYS[1])
  look: return redis.call('GET', KEYS[1])
programs:
  p:
    - holds: lock
{steps}
variants:
  only:
    title: {{ en: Only, zh: 唯一 }}
    expect: prevented
    lesson: {{ en: Tried, zh: 试 }}
    claims: [ exclusive: lock ]
story: [ move: A.move ]
"
        );
        let loaded = from_text("tried.yaml", &text).unwrap_or_else(|error| panic!("{error}"));
        let scenario = Scenario::plan(&loaded, "only", &Params::new()).expect("planned");
        scenario.actors[0].program.released_by("move")
    }

    #[test]
    fn the_last_command_before_a_drop_releases_where_it_deletes_or_unlocks() {
        for verb in [
            "redis: DEL lock",
            "redis: unlink lock",
            "script: free, keys: [lock]",
            "zk: delete /lock",
            "local: unlock lock",
        ] {
            let steps = format!("    - move: {{ {verb} }}\n    - drops: lock");
            assert_eq!(released(&steps), ["lock"], "{verb}");
        }
        // These commands still work on what the lock protects, or only read.
        for verb in ["redis: DECR stock", "script: look, keys: [lock]", "zk: get /lock"] {
            let steps = format!("    - move: {{ {verb} }}\n    - drops: lock");
            assert!(released(&steps).is_empty(), "{verb}");
        }
    }

    #[test]
    fn returning_a_permit_releases_a_lock_with_several_holders() {
        let steps = "    - move: { redis: INCR permits }\n    - drops: lock";
        assert!(released(steps).is_empty());
        let declared = format!("{steps}\nlocks: {{ lock: {{ holders: 2 }} }}");
        assert_eq!(released(&declared), ["lock"]);
    }

    #[test]
    fn statements_may_come_before_the_drop_but_branches_may_not() {
        let del = "    - move: { redis: DEL lock }\n";
        let counted = format!("{del}    - count: done\n    - let: {{ ok: reply == 1 }}\n    - drops: lock");
        assert_eq!(released(&counted), ["lock"]);
        let inside = "    - if: 1 == 1\n      then:\n        - move: { redis: DEL lock }\n      else:\n        - look: { \
                      redis: GET lock }\n    - drops: lock";
        assert_eq!(released(inside), ["lock"]);
        let chosen = format!("{del}    - if: reply == 1\n      then:\n        - drops: lock");
        assert!(released(&chosen).is_empty(), "it may go on believing");
        let later = format!("{del}    - look: {{ redis: GET lock }}\n    - drops: lock");
        assert!(released(&later).is_empty());
        assert!(released("    - drops: lock\n    - move: { redis: DEL lock }").is_empty());
    }
}
