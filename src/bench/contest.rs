//! Clients that contend for one lock, and the figures measured from their grants.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures::future::try_join_all;
use serde::Serialize;
use tokio::task::{JoinSet, yield_now};

use super::{Contender, Failed, Lock, Site};
use crate::{
    exact_sleep::sleep_exactly,
    lab::{Meters, Usage},
};

/// How long clients that have been told to stop may still wait for their last turn.
const LAST_TURNS: Duration = Duration::from_secs(10);

/// The interval between progress reports and checks of the deadline.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(50);

/// The work done under each lock.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Work {
    pub clients: usize,
    pub hand_overs: usize,
    /// How long a holder works while it has the lock (`work`), and pauses after the release before it asks again
    /// (`rest`), in milliseconds when serialized.
    #[serde(rename = "work_ms", serialize_with = "millis")]
    pub work: Duration,
    #[serde(rename = "rest_ms", serialize_with = "millis")]
    pub rest: Duration,
}

fn millis<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(ms(*time))
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// The measured figures. A hand-over is the time from the moment a holder begins to release the lock to the moment the
/// next client knows that it holds it.
#[derive(Debug, Clone, Serialize)]
pub struct Figures {
    pub hand_overs: usize,
    pub seconds: f64,
    pub per_second: f64,
    pub median_ms: f64,
    pub p99_ms: f64,
    /// The longest time that a client waited for one turn.
    pub longest_wait_ms: f64,
    /// Requests and notifications per hand-over.
    pub requests: f64,
    pub notifications: f64,
    /// Jain's fairness index of the clients' turns: 1 if all clients had equally many, 1/n if one client had all.
    pub fairness: f64,
    /// The share of turns that went to the client that had the previous one.
    pub retaken: f64,
    /// How often a client entered while another one held the lock.
    pub overlaps: u64,
    /// The servers' processor time per hand-over, and their memory.
    pub cpu_ms: Option<f64>,
    pub memory_mib: Option<f64>,
}

/// A snapshot of time, traffic and usage, at the beginning or the end of the measurement.
struct Snapshot {
    at: Instant,
    traffic: (u64, u64),
    usage: Option<Usage>,
}

/// The grants counted so far.
#[derive(Default)]
struct Grants {
    seen: usize,
    begin: Option<Snapshot>,
    end: Option<Snapshot>,
    released: Option<Instant>,
    last: Option<usize>,
    hand_overs: Vec<Duration>,
    turns: Vec<u32>,
    retaken: u32,
    longest_wait: Duration,
}

struct Contest {
    site: Arc<Site>,
    work: Work,
    /// The number of grants that are not counted: servers and connections are slower at first.
    warm_up: usize,
    over: AtomicBool,
    /// The number of clients inside the critical section. It does not rely on the lock, so it detects overlaps.
    inside: AtomicU64,
    overlaps: AtomicU64,
    grants: Mutex<Grants>,
}

/// Lets clients contend for a lock until it has changed hands as often as `work` says, or until `at_most` is over.
/// `watch` is called with the number of grants seen and of grants wanted.
pub async fn measure(
    lock: &Lock,
    site: &Arc<Site>,
    work: Work,
    at_most: Duration,
    watch: &(dyn Fn(usize, usize) + Sync),
) -> Result<Figures, Failed> {
    site.servers.prepare(&site.name).await?;
    // No client asks for the lock before all are connected.
    let contenders = try_join_all((0..work.clients).map(|_| (lock.join)(Arc::clone(site)))).await?;
    let contest = Arc::new(Contest {
        site: Arc::clone(site),
        work,
        warm_up: work.hand_overs / 4,
        over: AtomicBool::new(false),
        inside: AtomicU64::new(0),
        overlaps: AtomicU64::new(0),
        grants: Mutex::new(Grants { turns: vec![0; work.clients], ..Grants::default() }),
    });
    let began = Instant::now();
    let mut clients = JoinSet::new();
    for (number, contender) in contenders.into_iter().enumerate() {
        clients.spawn(Arc::clone(&contest).take_part(number, contender));
    }
    loop {
        tokio::select! {
            ended = clients.join_next() => match ended {
                Some(ended) => ended??,
                None => break,
            },
            () = tokio::time::sleep(PROGRESS_INTERVAL) => {
                watch(contest.lock().seen, contest.warm_up + work.hand_overs + 1);
                if began.elapsed() > at_most + LAST_TURNS {
                    return Err("the clients do not come to an end".into());
                }
                if began.elapsed() > at_most {
                    contest.finish(&mut contest.lock());
                }
            }
        }
    }
    let grants = std::mem::take(&mut *contest.lock());
    grants.figures(contest.overlaps.load(Ordering::SeqCst))
}

impl Contest {
    fn lock(&self) -> MutexGuard<'_, Grants> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn take_part(
        self: Arc<Self>,
        number: usize,
        mut contender: Box<dyn Contender>,
    ) -> Result<(), Failed> {
        while !self.over.load(Ordering::SeqCst) {
            let asked = Instant::now();
            contender.lock().await?;
            let granted = Instant::now();
            if self.inside.fetch_add(1, Ordering::SeqCst) > 0 {
                self.overlaps.fetch_add(1, Ordering::SeqCst);
            }
            self.count(number, asked, granted);
            if !self.over.load(Ordering::SeqCst) {
                work_for(self.work.work).await?;
            }
            self.lock().released = Some(Instant::now());
            self.inside.fetch_sub(1, Ordering::SeqCst);
            contender.unlock().await?;
            work_for(self.work.rest).await?;
        }
        Ok(())
    }

    fn count(&self, number: usize, asked: Instant, granted: Instant) {
        let mut grants = self.lock();
        if grants.end.is_some() {
            return;
        }
        grants.seen += 1;
        if grants.begin.is_some() {
            let before = grants.released.unwrap_or(granted);
            grants.hand_overs.push(granted.saturating_duration_since(before));
            grants.turns[number] += 1;
            grants.retaken += u32::from(grants.last == Some(number));
            grants.longest_wait = grants.longest_wait.max(granted - asked);
            if grants.hand_overs.len() == self.work.hand_overs {
                self.finish(&mut grants);
            }
        } else if grants.seen > self.warm_up {
            grants.begin = Some(self.snapshot());
        }
        grants.last = Some(number);
    }

    fn finish(&self, grants: &mut Grants) {
        if grants.end.is_none() {
            grants.end = Some(self.snapshot());
        }
        self.over.store(true, Ordering::SeqCst);
    }

    fn snapshot(&self) -> Snapshot {
        let usage = self.site.meters.as_ref().and_then(Meters::read);
        Snapshot { at: Instant::now(), traffic: self.site.traffic(), usage }
    }
}

impl Grants {
    #[expect(clippy::cast_precision_loss, reason = "for people to read")]
    fn figures(mut self, overlaps: u64) -> Result<Figures, Failed> {
        let (Some(begin), Some(end), false) = (self.begin, self.end, self.hand_overs.is_empty()) else {
            return Err("the lock was not handed over in time; give more time with --at-most".into());
        };
        self.hand_overs.sort();
        let count = self.hand_overs.len();
        // Nearest-rank percentile: the smallest value that `share` percent of the values do not exceed.
        let percentile = |share: usize| ms(self.hand_overs[(count * share).div_ceil(100).saturating_sub(1)]);
        let seconds = (end.at - begin.at).as_secs_f64();
        let each = |before: u64, after: u64| (after - before) as f64 / count as f64;
        let cpu = begin.usage.zip(end.usage);
        Ok(Figures {
            hand_overs: count,
            seconds,
            per_second: count as f64 / seconds,
            median_ms: percentile(50),
            p99_ms: percentile(99),
            longest_wait_ms: ms(self.longest_wait),
            requests: each(begin.traffic.0, end.traffic.0),
            notifications: each(begin.traffic.1, end.traffic.1),
            fairness: fairness(&self.turns),
            retaken: f64::from(self.retaken) / count as f64,
            overlaps,
            cpu_ms: cpu.map(|(begin, end)| ms(end.cpu.saturating_sub(begin.cpu)) / count as f64),
            memory_mib: end.usage.map(|usage| usage.memory as f64 / f64::from(1 << 20)),
        })
    }
}

/// Jain's fairness index.
#[expect(clippy::cast_precision_loss, reason = "counts of clients")]
fn fairness(turns: &[u32]) -> f64 {
    let turns = turns.iter().map(|turns| f64::from(*turns));
    let (sum, squares) =
        turns.clone().fold((0.0, 0.0), |(sum, squares), turns| (sum + turns, squares + turns * turns));
    if squares > 0.0 { sum * sum / (turns.len() as f64 * squares) } else { 1.0 }
}

async fn work_for(time: Duration) -> Result<(), Failed> {
    if time.is_zero() {
        yield_now().await;
        return Ok(());
    }
    Ok(sleep_exactly(time).await?)
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, future::BoxFuture};

    use super::*;
    use crate::{bench::Servers, lesson::LabKind, text::Words};

    #[test]
    fn fairness_is_one_for_equal_turns_and_one_nth_if_one_client_has_all() {
        let known = [(vec![5, 5, 5, 5], 1.0), (vec![20, 0, 0, 0], 0.25), (vec![10, 10, 0, 0], 0.5)];
        for (turns, index) in known {
            assert!((fairness(&turns) - index).abs() < 1e-9, "{turns:?}");
        }
    }

    /// A lock that excludes nobody.
    struct NoExclusion;

    impl Contender for NoExclusion {
        fn lock(&mut self) -> BoxFuture<'_, Result<(), Failed>> {
            async { Ok(()) }.boxed()
        }

        fn unlock(&mut self) -> BoxFuture<'_, Result<(), Failed>> {
            async { Ok(()) }.boxed()
        }
    }

    #[tokio::test]
    async fn overlapping_holders_are_counted() {
        let join = |_| async { Ok(Box::new(NoExclusion) as Box<dyn Contender>) }.boxed();
        let lock = Lock { id: "open", title: Words::new("", ""), lab: LabKind::Redis, join };
        let site = Arc::new(Site::new(Servers::Redis(Vec::new()), "open".to_owned(), Duration::ZERO, None));
        let pause = Duration::from_millis(1);
        let mut work = Work { clients: 2, hand_overs: 20, work: pause, rest: Duration::ZERO };
        let within = Duration::from_secs(20);
        let seen = measure(&lock, &site, work, within, &|_, _| {}).await.expect("figures");
        assert!(seen.overlaps > 0 && seen.hand_overs == 20, "{seen:?}");
        work.clients = 1;
        let alone = measure(&lock, &site, work, within, &|_, _| {}).await.expect("figures");
        assert!(alone.overlaps == 0 && alone.retaken > 0.99, "{alone:?}");
    }

    #[test]
    fn figures_are_computed_from_the_hand_overs() {
        let at = Instant::now();
        let snapshot = |millis, traffic, cpu| Snapshot {
            at: at + Duration::from_millis(millis),
            traffic,
            usage: Some(Usage { cpu: Duration::from_millis(cpu), memory: 3 << 20 }),
        };
        let grants = Grants {
            begin: Some(snapshot(0, (10, 1), 5)),
            end: Some(snapshot(500, (310, 101), 55)),
            hand_overs: (1..=100).rev().map(Duration::from_millis).collect(),
            turns: vec![75, 25],
            retaken: 20,
            longest_wait: Duration::from_millis(70),
            ..Grants::default()
        };
        let figures = grants.figures(0).expect("figures");
        let seen = [
            figures.per_second,
            figures.median_ms,
            figures.p99_ms,
            figures.requests,
            figures.notifications,
            figures.fairness,
            figures.retaken,
            figures.cpu_ms.unwrap_or_default(),
            figures.memory_mib.unwrap_or_default(),
        ];
        let expected = [200.0, 50.0, 99.0, 3.0, 1.0, 0.8, 0.2, 0.5, 3.0];
        assert!(seen.iter().zip(expected).all(|(seen, expected)| (seen - expected).abs() < 1e-9), "{seen:?}");
        assert!(Grants::default().figures(0).is_err());
    }
}
