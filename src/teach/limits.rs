//! Limits for requests, phones and addresses.

use std::{
    collections::HashMap,
    net::IpAddr,
    time::{Duration, Instant},
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The maximum number of connections. A phone has two: one for the stream of states and one for its votes.
const CONNECTIONS: usize = 2000;
/// The maximum number of connections per address, so that no one can take all of them. A whole room may share one
/// address, though.
const PER_ADDRESS: usize = 1500;
/// Open files reserved for the lesson: its servers, clients and links.
const OTHER_FILES: u64 = 2048;
/// The maximum number of addresses that are remembered without a connection.
const REMEMBERED: usize = 4096;

/// The rate per second and the burst of a token bucket.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    pub(crate) per_second: f64,
    pub(crate) burst: f64,
}

/// Requests per connection: a page loads all its parts at once.
pub(crate) const REQUESTS: Rate = Rate { per_second: 10.0, burst: 40.0 };
pub(crate) const VOTES: Rate = Rate { per_second: 10.0, burst: 10.0 };
/// Wrong codes from all addresses together. Beyond this rate every code is refused, even the right one, so that
/// guessing cannot continue. At 200 a second, an hour of guessing finds one of 887 million codes with a chance of 1 in
/// 1,200.
const WRONG_CODES: Rate = Rate { per_second: 200.0, burst: 200.0 };
/// Wrong codes per address, so that a single address cannot prevent all others from joining. A whole room may share one
/// address, where a few mistyped codes must not prevent the others from joining.
const WRONG_CODES_OF_ONE: Rate = Rate { per_second: 50.0, burst: 50.0 };

/// A token bucket.
#[derive(Debug)]
pub(crate) struct Bucket {
    rate: Rate,
    tokens: f64,
    at: Instant,
}

impl Bucket {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, tokens: rate.burst, at: Instant::now() }
    }

    pub(crate) fn is_empty(&mut self) -> bool {
        let now = Instant::now();
        let gained = (now - self.at).as_secs_f64() * self.rate.per_second;
        (self.tokens, self.at) = ((self.tokens + gained).min(self.rate.burst), now);
        self.tokens < 1.0
    }

    /// Takes a token. Returns `false` if there is none.
    pub(crate) fn take(&mut self) -> bool {
        let is_there = !self.is_empty();
        if is_there {
            self.tokens -= 1.0;
        }
        is_there
    }

    fn is_full(&mut self) -> bool {
        !self.is_empty() && self.tokens >= self.rate.burst
    }
}

#[derive(Debug)]
struct Address {
    connections: usize,
    wrong: Bucket,
}

/// Connections and wrong guesses by address.
#[derive(Debug)]
pub(crate) struct Addresses {
    most: usize,
    connections: usize,
    by_address: HashMap<IpAddr, Address>,
    pub(crate) wrong: Bucket,
}

impl Addresses {
    pub(crate) fn new() -> Self {
        Self {
            most: connections_that_fit(),
            connections: 0,
            by_address: HashMap::new(),
            wrong: Bucket::new(WRONG_CODES),
        }
    }

    fn of(&mut self, ip: IpAddr) -> &mut Address {
        if self.by_address.len() > REMEMBERED {
            self.by_address.retain(|_, address| address.connections > 0 || !address.wrong.is_full());
        }
        let new = || Address { connections: 0, wrong: Bucket::new(WRONG_CODES_OF_ONE) };
        self.by_address.entry(network(ip)).or_insert_with(new)
    }

    /// Registers a connection. Returns `false` if it exceeds a limit.
    pub(crate) fn enter(&mut self, ip: IpAddr) -> bool {
        let fits = self.connections < self.most;
        let address = self.of(ip);
        let fits = fits && address.connections < PER_ADDRESS;
        if fits {
            address.connections += 1;
            self.connections += 1;
        }
        fits
    }

    pub(crate) fn leave(&mut self, ip: IpAddr) {
        self.connections -= 1;
        self.of(ip).connections -= 1;
    }

    /// Whether there were too many wrong guesses to tell whether this one is right.
    pub(crate) fn guesses_too_often(&mut self, ip: IpAddr) -> bool {
        self.wrong.is_empty() || self.of(ip).wrong.is_empty()
    }

    pub(crate) fn guessed_wrong(&mut self, ip: IpAddr) {
        self.wrong.take();
        self.of(ip).wrong.take();
    }
}

/// Maps an IPv6 address to its /64 network, whose hosts can choose their addresses freely.
fn network(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6((ip.to_bits() >> 64 << 64).into()),
        ip => ip,
    }
}

/// Raises the limit of open files as far as possible. Returns how many connections fit, leaving enough files for the
/// lesson.
fn connections_that_fit() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let wanted = OTHER_FILES + CONNECTIONS as u64;
    let wanted = limit.maximum.map_or(wanted, |most| most.min(wanted));
    if limit.current.is_some_and(|current| current < wanted) {
        // If this fails, fewer connections fit.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum });
    }
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let fit = files.saturating_sub(OTHER_FILES).max(files / 2);
    usize::try_from(fit).unwrap_or(usize::MAX).min(CONNECTIONS)
}

/// The delay of the answer to a request beyond the limit. A connection gets its answers one after another, so this
/// slows it down.
pub(crate) const LIMIT_DELAY: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_refills_up_to_its_burst() {
        let mut bucket = Bucket::new(Rate { per_second: 10.0, burst: 3.0 });
        for _ in 0..2 {
            assert_eq!([(); 4].map(|()| bucket.take()), [true, true, true, false]);
            bucket.at -= Duration::from_secs(5);
        }
        assert!(bucket.is_full());
    }

    #[test]
    fn connections_are_limited_per_address_and_in_total() {
        let mut addresses = Addresses::new();
        addresses.most = CONNECTIONS;
        let [one, two] = ["10.0.0.1", "fe80::1"].map(|ip| ip.parse::<IpAddr>().expect("an address"));
        assert_eq!((0..CONNECTIONS).filter(|_| addresses.enter(one)).count(), PER_ADDRESS);
        assert_eq!((0..CONNECTIONS).filter(|_| addresses.enter(two)).count(), CONNECTIONS - PER_ADDRESS);
        addresses.leave(one);
        assert!(addresses.enter("fe80::2".parse().expect("an address")));
    }

    #[test]
    fn guesses_from_one_address_do_not_keep_others_from_joining() {
        let mut addresses = Addresses::new();
        let [guest, other] = ["10.0.0.1", "10.0.0.2"].map(|ip| ip.parse::<IpAddr>().expect("an address"));
        let mut guesses = 0;
        while !addresses.guesses_too_often(guest) {
            addresses.guessed_wrong(guest);
            guesses += 1;
        }
        assert!(guesses >= 50, "a class that mistypes keeps nobody from joining: {guesses}");
        assert!(!addresses.guesses_too_often(other));
    }
}
