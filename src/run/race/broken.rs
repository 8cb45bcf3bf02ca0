//! Which of a lesson's invariants a race broke.

use std::collections::BTreeSet;

use super::{LockFate, Outcome};
use crate::{
    lesson::{Scenario, plan::NeverPlan},
    log::Log,
    verdict,
};

/// The invariants that a race with this outcome broke, as the lesson has them. In a race nobody looks at the servers
/// before the end, so what must never be true is asked about then; what asks for a reply that
/// never came is not.
pub(crate) fn broken(scenario: &Scenario, outcome: &Outcome, log: &Log) -> Result<BTreeSet<String>, String> {
    let mut broken = BTreeSet::new();
    for invariant in &scenario.invariants {
        let is_so = match &invariant.never {
            NeverPlan::Overlap(lock) => outcome.locks.get(lock) == Some(&LockFate::Violated),
            NeverPlan::That(never) => verdict::is_so(scenario, log, never)?,
        };
        if is_so {
            broken.insert(invariant.never.to_string());
        }
    }
    Ok(broken)
}
