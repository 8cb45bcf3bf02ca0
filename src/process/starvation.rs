//! How long processes wait for a processor although they could run, as `/proc` has it.

use std::{
    collections::HashMap,
    fs,
    time::{Duration, Instant},
};

use crate::process::usage::Meters;

/// Looks again and again at how long processes wait. Only the first thread of each is looked at, which is where Redis does its
/// work. Where the system does not tell, nobody waits.
#[derive(Debug, Default)]
pub struct Starvation(HashMap<u32, Look>);

#[derive(Debug, Clone, Copy)]
struct Look {
    /// The processor time it has had, and how long it has waited for it: the kernel counts a wait when it is over.
    ran: Duration,
    waited: Duration,
    /// Since when it has been ready to run, or has waited for the disk, without getting on.
    stuck: Option<Instant>,
}

impl Starvation {
    /// The longest that one of them has waited since the last call, or waits by now.
    pub(crate) fn longest(&mut self, processes: &Meters) -> Duration {
        let before = std::mem::take(&mut self.0);
        let mut longest = Duration::ZERO;
        for pid in &processes.0 {
            let Some(mut look) = look(*pid) else { continue };
            if let Some(before) = before.get(pid) {
                if before.ran == look.ran && look.stuck.is_some() {
                    look.stuck = before.stuck.or(look.stuck);
                }
                let lasts = look.stuck.map(|since| since.elapsed()).unwrap_or_default();
                longest = longest.max(look.waited.saturating_sub(before.waited)).max(lasts);
            }
            self.0.insert(*pid, look);
        }
        longest
    }
}

/// See proc(5): `schedstat` has nanoseconds, `stat` the state behind the program's name in brackets.
fn look(pid: u32) -> Option<Look> {
    let times = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    let mut times = times.split(' ').map_while(|time| time.parse().ok().map(Duration::from_nanos));
    let (ran, waited) = times.next().zip(times.next())?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    Some(Look { ran, waited, stuck: fields.starts_with(['R', 'D']).then(Instant::now) })
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    /// Runs for ever on the first processor.
    struct Busy(Child);

    impl Busy {
        fn start(nice: &str) -> Self {
            let command = ["taskset", "-c", "0", "nice", "-n", nice, "sh", "-c", "while :; do :; done"];
            Self(Command::new(command[0]).args(&command[1..]).spawn().expect("util-linux and coreutils"))
        }
    }

    impl Drop for Busy {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_wait_is_told_while_it_lasts() {
        let (humble, _other) = (Busy::start("19"), Busy::start("0"));
        let pid = humble.0.id();
        let (mut starvation, mut counted) = (Starvation::default(), Duration::ZERO);
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(30) {
            let longest = starvation.longest(&Meters(vec![pid]));
            let waited = look(pid).expect("it runs").waited;
            if longest >= Duration::from_millis(40) && waited == counted {
                return;
            }
            counted = waited;
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("no wait was told before it was over");
    }
}
