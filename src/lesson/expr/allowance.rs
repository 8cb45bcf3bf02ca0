//! A limit for the total cost of all expressions in one task, such as planning a lesson or judging a run. Each
//! expression is bounded by itself, but a file has room for many.

use std::cell::Cell;

use crate::text::{Text, both};

/// The allowance of one task, in the unit of [`super::LARGEST_VALUE`]: about a second without optimization.
const ALLOWANCE: usize = 48 << 20;

thread_local! {
    /// What the task on this thread has left; `None` outside of tasks, where nothing is counted.
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Runs a task whose expressions together may cost no more than the allowance. Nested tasks use up the allowance of the
/// outer one.
pub fn within_allowance<R>(task: impl FnOnce() -> R) -> R {
    /// Restores the outer task's state when the task ends, also on panic.
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
