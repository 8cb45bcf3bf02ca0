//! Sleeps that are shorter than the runtime's timers can measure: these count whole milliseconds.

use std::{thread, time::Duration};

use tokio::task::{JoinHandle, spawn_blocking};

/// Begins to sleep, on a thread of its own.
pub(crate) fn sleep_exactly(time: Duration) -> JoinHandle<()> {
    spawn_blocking(move || thread::sleep(time))
}
