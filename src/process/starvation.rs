//! How long processes wait for a processor although they could run, according to `/proc`.

use std::{
    collections::HashMap,
    fs,
    time::{Duration, Instant},
};

use tokio::time::sleep;

use crate::process::usage::Meters;

/// How long a silent process is watched to see whether it waits for a processor. Real time.
const WATCHED_FOR: Duration = Duration::from_secs(1);

/// A thread that waits this long for a processor is on a machine that is too busy for it.
const STARVED: Duration = Duration::from_millis(100);

/// How long a busy machine excuses silence, in real time: a process that is stuck must be reported on such a machine,
/// too.
const EXCUSED_FOR: Duration = Duration::from_mins(1);

/// Whether the machine is too busy to run a process that has been silent for this long, so that its silence says
/// nothing about it. All its threads are watched: a JVM answers with a chain of them, and the first one only waits for
/// the others.
pub(crate) async fn excuses(pid: u32, silent: Duration) -> bool {
    if silent >= EXCUSED_FOR {
        return false;
    }
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let threads = threads.filter_map(|thread| thread.file_name().to_str()?.parse().ok());
    let threads = Meters(threads.collect());
    let mut starvation = Starvation::default();
    starvation.longest(&threads);
    sleep(WATCHED_FOR).await;
    starvation.longest(&threads) >= STARVED
}

/// Samples how long processes wait. Only the first thread of each is sampled, which is where Redis does its
/// work. If the system does not report it, no process counts as waiting.
#[derive(Debug, Default)]
pub struct Starvation(HashMap<u32, Sample>);

#[derive(Debug, Clone, Copy)]
struct Sample {
    /// The processor time it has had, and how long it has waited for it: the kernel counts a wait when it
    /// ends.
    ran: Duration,
    waited: Duration,
    /// Since when it has been ready to run, or has waited for the disk, without making progress.
    stuck: Option<Instant>,
}

impl Starvation {
    /// The longest wait of any of the processes that ended since the last call or still lasts.
    pub(crate) fn longest(&mut self, processes: &Meters) -> Duration {
        let before = std::mem::take(&mut self.0);
        let mut longest = Duration::ZERO;
        for pid in &processes.0 {
            let Some(mut now) = sample(*pid) else { continue };
            if let Some(before) = before.get(pid) {
                if before.ran == now.ran && now.stuck.is_some() {
                    now.stuck = before.stuck.or(now.stuck);
                }
                let lasts = now.stuck.map(|since| since.elapsed()).unwrap_or_default();
                longest = longest.max(now.waited.saturating_sub(before.waited)).max(lasts);
            }
            self.0.insert(*pid, now);
        }
        longest
    }
}

/// Samples a process. See proc(5): `schedstat` is in nanoseconds; in `stat` the state follows the program's
/// name in parentheses.
fn sample(pid: u32) -> Option<Sample> {
    let times = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    let mut times = times.split(' ').map_while(|time| time.parse().ok().map(Duration::from_nanos));
    let (ran, waited) = times.next().zip(times.next())?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    Some(Sample { ran, waited, stuck: fields.starts_with(['R', 'D']).then(Instant::now) })
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    /// A process that is killed at the end of its test.
    struct Running(Child);

    impl Running {
        /// One that always wants to run, on the first processor that these tests may use.
        fn busy(nice: &str) -> Self {
            let status = fs::read_to_string("/proc/self/status").expect("its own status");
            let allowed =
                status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list");
            let first = allowed.trim().split([',', '-']).next().expect("a number");
            let command = ["taskset", "-c", first, "nice", "-n", nice, "sh", "-c", "while :; do :; done"];
            Self(Command::new(command[0]).args(&command[1..]).spawn().expect("util-linux and coreutils"))
        }
    }

    impl Drop for Running {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_wait_is_reported_while_it_lasts() {
        let (humble, _other) = (Running::busy("19"), Running::busy("0"));
        let pid = humble.0.id();
        let (mut starvation, mut counted) = (Starvation::default(), Duration::ZERO);
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(30) {
            let longest = starvation.longest(&Meters(vec![pid]));
            let waited = sample(pid).expect("it runs").waited;
            if longest >= Duration::from_millis(40) && waited == counted {
                return;
            }
            counted = waited;
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("no wait was told before it was over");
    }

    #[tokio::test]
    async fn silence_is_excused_only_while_a_process_waits_for_a_processor() {
        let (humble, _other) = (Running::busy("19"), Running::busy("0"));
        let idle = Running(Command::new("sleep").arg("600").spawn().expect("coreutils"));
        let began = Instant::now();
        // Both may need a moment until they are what they shall be.
        while !excuses(humble.0.id(), Duration::ZERO).await || excuses(idle.0.id(), Duration::ZERO).await {
            assert!(began.elapsed() < Duration::from_secs(30), "starved or not, it was not told");
        }
        assert!(!excuses(humble.0.id(), EXCUSED_FOR).await, "not for ever");
    }
}
