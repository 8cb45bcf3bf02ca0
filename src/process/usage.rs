//! The cost of processes: processor time and memory, according to `/proc`.

use std::{fs, time::Duration};

/// The cost of some processes so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// The processor time of all their threads that still run.
    pub cpu: Duration,
    /// Their resident memory, in bytes.
    pub memory: u64,
}

/// Processes whose cost is measured repeatedly.
#[derive(Debug, Clone)]
pub struct Meters(pub(crate) Vec<u32>);

impl Meters {
    /// Returns `None` if the system does not report it.
    pub fn read(&self) -> Option<Usage> {
        let each = self.0.iter().map(|pid| of_process(*pid));
        each.sum::<Option<Duration>>()
            .zip(self.0.iter().map(|pid| memory(*pid)).sum())
            .map(|(cpu, memory)| Usage { cpu, memory })
    }
}

/// The processor time of a process. The first field of `schedstat` is the time on a processor in nanoseconds;
/// `stat` would have it in hundredths of a second.
fn of_process(pid: u32) -> Option<Duration> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    // A thread may end between the listing and the read.
    let texts = threads.filter_map(|thread| fs::read_to_string(thread.path().join("schedstat")).ok());
    let times: Vec<u64> = texts.filter_map(|text| text.split(' ').next()?.parse().ok()).collect();
    (!times.is_empty()).then(|| Duration::from_nanos(times.iter().sum()))
}

/// The resident memory of this process in bytes, or `None` if the system does not report it.
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
