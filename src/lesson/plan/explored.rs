//! The properties of a variant that decide how its orders can be explored.

use super::{
    super::{
        Failing,
        error::{Mistake, Path},
    },
    Scenario,
    program::{Instruction, PlannedVerb},
};
use crate::text::both;

/// Redis commands that may block inside the server.
const WAITING: [&str; 12] = [
    "WAIT",
    "WAITAOF",
    "BLPOP",
    "BRPOP",
    "BLMOVE",
    "BLMPOP",
    "BRPOPLPUSH",
    "BZPOPMIN",
    "BZPOPMAX",
    "BZMPOP",
    "XREAD",
    "XREADGROUP",
];

impl Scenario {
    /// Whether the state of the clients cannot be restored, so that each order has to be carried out by processes.
    pub fn needs_processes(&self) -> bool {
        let instructions = self.actors.iter().flat_map(|plan| &plan.program.instructions);
        let kept = |instruction: &Instruction| match instruction {
            Instruction::Operate(operation) => matches!(
                operation.verb,
                PlannedVerb::Local { .. } | PlannedVerb::Flock { .. } | PlannedVerb::Take(_)
            ),
            _ => false,
        };
        let listens = self.actors.iter().any(|plan| plan.program.listens);
        // A client that blocks inside the server cannot be restored to that state.
        let waits = || self.sends(|name| WAITING.contains(&name));
        self.is_attached()
            || listens
            || !self.lab().can_be_restored()
            || instructions.into_iter().any(kept)
            || waits()
    }

    /// Whether a program may send a Redis command whose name, in capitals, satisfies the predicate.
    pub fn sends(&self, such: impl Fn(&str) -> bool) -> bool {
        let mut instructions = self.actors.iter().flat_map(|plan| &plan.program.instructions);
        instructions.any(|instruction| match instruction {
            Instruction::Operate(operation) => match &operation.verb {
                PlannedVerb::Redis(words) => {
                    // The name of a command is always known before anything runs.
                    let name = words.first().and_then(|word| word.render(&minijinja::Value::UNDEFINED).ok());
                    name.is_none_or(|name| such(&name.to_ascii_uppercase()))
                }
                _ => false,
            },
            _ => false,
        })
    }
}

/// Refuses faults that can only happen to programs that run inside Lockstep.
pub(crate) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    let Some(explore) = scenario.variant().explore.as_ref().filter(|_| scenario.needs_processes()) else {
        return Ok(());
    };
    let needs_in_process = |fault: &Failing| !matches!(fault, Failing::Crash | Failing::Freeze);
    let Some(n) = explore.faults.iter().position(|fault| needs_in_process(&fault.how)) else { return Ok(()) };
    let at = Path::root().key("variants").key(&scenario.variant).key("explore").key("faults").index(n);
    let message = both!(
        "no order may have this fault here: only `crash` and `freeze`",
        "这里的顺序不能有这个故障，只能是 `crash` 和 `freeze`"
    );
    Err(Mistake::new(&at, message).help(both!(
        "the others are for programs of Redis commands that wait neither in their server nor for a notification, a file or a mutex",
        "其他故障只能用于只发 Redis 命令的程序，而且不能在服务器里等待，也不等通知、文件锁或互斥量"
    )))
}
