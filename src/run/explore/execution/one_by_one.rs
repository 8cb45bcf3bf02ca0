//! Why orders cannot be counted by states, and are explored one by one.

use super::watched::Reads;
use crate::{
    lesson::{Scenario, plan::NeverPlan},
    run::explore::states::MOST_INVARIANTS,
    text::{Text, both},
};

/// For programs inside Lockstep: an invariant depends on the whole order and not only on the state that it
/// leads to, or there are too many invariants.
pub(super) fn because_of_invariants(scenario: &Scenario) -> Option<Text> {
    let asks = scenario.invariants.iter().find_map(|plan| match &plan.never {
        NeverPlan::Overlap(_) => None,
        NeverPlan::That(never) => Some((never, Reads::of(scenario, never).err()?)),
    });
    if let Some((never, name)) = asks {
        let never = never.source();
        return Some(both!(
            "Gone through one by one, not counted by states: `{never}` asks for `{name}`, which depends on the whole way and not \
             on what it has led to.",
            "逐个顺序地试，没有按状态计数：`{never}` 用到了 `{name}`，它取决于整个过程，而不只是走到的状态。"
        ));
    }
    (scenario.invariants.len() > MOST_INVARIANTS).then(|| {
        both!(
            "Gone through one by one, not counted by states: there are more than {MOST_INVARIANTS} invariants.",
            "逐个顺序地试，没有按状态计数：不变式超过 {MOST_INVARIANTS} 个。"
        )
    })
}

/// For programs that run in processes of their own.
pub(super) fn because_of_processes(scenario: &Scenario) -> Text {
    if scenario.is_attached() {
        return both!(
            "Gone through one by one, each from its beginning: the clients are programs of their own, of which nothing \
             can be put back.",
            "逐个顺序地试，每次都从头开始：客户端是外部程序，无法恢复到中途的状态。"
        );
    }
    if !scenario.lab().can_be_restored() {
        return both!(
            "Gone through one by one, each from its beginning: what these servers hold cannot be put back.",
            "逐个顺序地试，每次都从头开始：这些服务器的内容无法恢复到中途的状态。"
        );
    }
    both!(
        "Gone through one by one, each from its beginning: a lock in memory or of a file, a notification, a wait inside a server, or \
         its stored scripts cannot be put back.",
        "逐个顺序地试，每次都从头开始：内存锁、文件锁、通知、在服务器内部的等待，以及服务器缓存的脚本，都无法恢复到中途的状态。"
    )
}
