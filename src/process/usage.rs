//! What processes cost: processor time and memory, as `/proc` has them.

use std::{fs, time::Duration};

/// What some processes have cost by now.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// The processor time of all their threads that still run.
    pub cpu: Duration,
    /// What they have in memory, in bytes.
    pub memory: u64,
}

/// Processes to be looked at again and again.
#[derive(Debug, Clone)]
pub struct Meters(pub(crate) Vec<u32>);

impl Meters {
    /// `None` where the system does not tell.
    pub fn read(&self) -> Option<Usage> {
        let each = self.0.iter().map(|pid| of_process(*pid));
        each.sum::<Option<Duration>>()
            .zip(self.0.iter().map(|pid| memory(*pid)).sum())
            .map(|(cpu, memory)| Usage { cpu, memory })
    }
}

/// The first field of `schedstat` is the time on a processor in nanoseconds; `stat` would have it in hundredths of a
/// second.
fn of_process(pid: u32) -> Option<Duration> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    // A thread may end between the listing and the look.
    let texts = threads.filter_map(|thread| fs::read_to_string(thread.path().join("schedstat")).ok());
    let times: Vec<u64> = texts.filter_map(|text| text.split(' ').next()?.parse().ok()).collect();
    (!times.is_empty()).then(|| Duration::from_nanos(times.iter().sum()))
}

/// What this process has in memory, in bytes; `None` where the system does not tell.
pub fn own_memory() -> Option<u64> {
    memory(std::process::id())
}

fn memory(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_very_process_has_cost_something() {
        let meters = Meters(vec![std::process::id()]);
        if let Some(usage) = meters.read() {
            assert!(usage.cpu > Duration::ZERO && usage.memory > 1 << 20, "{usage:?}");
        }
        assert!(Meters(vec![0]).read().is_none());
    }
}
