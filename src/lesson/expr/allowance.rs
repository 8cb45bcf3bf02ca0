//! What all the expressions of one task may cost together: planning a lesson, judging a run. One expression is bounded
//! by itself, but a file has room for many.

use std::cell::Cell;

use crate::text::{Text, both};

/// What one task may spend, in the measure of [`super::LARGEST_VALUE`]: about a second without optimization.
const ALLOWANCE: usize = 48 << 20;

thread_local! {
    /// What the task on this thread has left; nothing is counted outside of tasks.
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Carries out a task whose expressions together may cost no more than an allowance; what it does in tasks of their
/// own counts too.
pub fn within_allowance<R>(task: impl FnOnce() -> R) -> R {
    /// Ends the task however it ends.
    struct Task(Option<usize>);
    impl Drop for Task {
        fn drop(&mut self) {
            let left = self.0.and(LEFT.get());
            LEFT.set(left);
        }
    }
    let outer = LEFT.get();
    let _task = Task(outer);
    LEFT.set(Some(outer.unwrap_or(ALLOWANCE)));
    task()
}

pub(crate) fn take(cost: usize) -> Result<(), Text> {
    let Some(left) = LEFT.get() else { return Ok(()) };
    LEFT.set(Some(left.saturating_sub(cost)));
    if cost > left {
        return Err(both!(
            "all expressions together take too much to compute",
            "所有表达式加起来的计算量太大"
        ));
    }
    Ok(())
}
