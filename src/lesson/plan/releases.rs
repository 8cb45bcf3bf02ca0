//! Which operation asks for the release of which lock.
//!
//! It is the last command before the lock's `drops`, where that command deletes or unlocks something. Any other command
//! there is still work under the lock.

use std::sync::Arc;

use minijinja::Value;

use super::{
    super::script::script_calls,
    program::{Instruction, PlannedOperation, PlannedVerb},
};
use crate::log::Belief;

/// Notes in each operation of a program the locks that it releases.
pub(crate) fn mark(instructions: &mut [Instruction]) {
    for n in 0..instructions.len() {
        let asks = |operation: &PlannedOperation| releases(&operation.verb);
        if !matches!(&instructions[n], Instruction::Operate(operation) if asks(operation)) {
            continue;
        }
        let locks = dropped_from(instructions, n + 1);
        if let Instruction::Operate(operation) = &mut instructions[n] {
            Arc::make_mut(operation).releases = locks;
        }
    }
}

/// The locks that are dropped from here on, before anything is sent or decided.
fn dropped_from(instructions: &[Instruction], mut at: usize) -> Vec<String> {
    let mut locks = Vec::new();
    // Jumps may lead in a circle.
    for _ in 0..instructions.len() {
        match instructions.get(at) {
            Some(Instruction::Believe { lock, belief: Belief::Nothing }) => locks.push(lock.clone()),
            Some(
                Instruction::Count { .. }
                | Instruction::Set { .. }
                | Instruction::Enter { .. }
                | Instruction::Leave,
            ) => {}
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

fn releases(verb: &PlannedVerb) -> bool {
    let deletes = |name: &str| matches!(name.to_ascii_uppercase().as_str(), "DEL" | "UNLINK" | "GETDEL");
    match verb {
        PlannedVerb::Redis(words) => {
            let name = words.first().map(|word| word.render(&Value::UNDEFINED));
            name.is_some_and(|name| name.is_ok_and(|name| deletes(&name)))
        }
        PlannedVerb::Script { source, .. } => script_calls(source).iter().any(|(name, _)| deletes(name)),
        PlannedVerb::Call(call) => call.releases,
        PlannedVerb::Local { lock: false, .. } => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::lesson::{Params, Scenario, library::from_text};

    /// What the operation `move` of a program with these steps releases.
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
        scenario.actors[0].program.released_by("move").to_vec()
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
        // It still works on what the lock protects, or only looks.
        for verb in ["redis: DECR stock", "script: look, keys: [lock]", "zk: get /lock"] {
            let steps = format!("    - move: {{ {verb} }}\n    - drops: lock");
            assert!(released(&steps).is_empty(), "{verb}");
        }
    }

    #[test]
    fn what_is_no_command_may_stand_between_and_a_choice_may_not() {
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
