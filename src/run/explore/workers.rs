//! Several searches at once, each on a lab of its own, and how far they are. What they find does not depend on which
//! of them is the faster: the whole is parted in a fixed way, and what is found is put together in the order of the
//! parts.

use std::{
    ops::ControlFlow,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::{
    Bounds, ExploreError, Failing, MOST_MOVES, Progress,
    ground::Ground,
    search::{self, End, Found, Seed},
};
use crate::{
    lab::{Chart, LabOptions, Vitals},
    lesson::{
        Scenario,
        plan::{Instruction, PlannedVerb},
    },
    run::{
        explore::execution::{GroundError, Means, hosted::Hosted, processes::Processes, rules::Rules},
        session::EngineError,
    },
};

/// Parts for each worker: the last ones are small, so that nobody waits long for somebody else.
const PARTS: usize = 16;
/// Orders that make a part worth it.
const WORTH: f64 = 4.0;
/// Random ways down from which the size of the whole is estimated.
const WAYS: u32 = 16;
/// An estimate that is so many times what may be is believed before it is complete.
const HOPELESS: f64 = 1_000.0;
/// With client processes each step of one is a way from the beginning.
const WAYS_WITH_PROCESSES: u32 = 1;
/// How often somebody who watches is told.
const TOLD_EVERY: Duration = Duration::from_millis(100);
/// How long a step may take to end by itself when the search is to stop.
const GRACE: Duration = Duration::from_millis(300);
/// Steps may be many where time passes: room for as many calls.
const STACK: usize = 32 << 20;

/// What the workers share.
struct Shared<P> {
    seeds: Vec<Seed<P>>,
    next: AtomicUsize,
    stop: Arc<AtomicBool>,
    progress: Arc<Mutex<Progress>>,
    prune: bool,
}

/// A search that was asked to stop, or came to its end.
pub(crate) struct Outcome {
    pub(crate) found: Found,
    pub(crate) complete: bool,
    pub(crate) wall: Duration,
}

/// Ends the workers when nobody waits for them any more.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Searches everything.
pub(crate) async fn run(
    scenario: &Scenario,
    options: &LabOptions,
    bounds: &Bounds,
    watch: &(dyn Fn(&Progress) -> ControlFlow<()> + Sync),
) -> Result<Outcome, ExploreError> {
    let rules = rules(scenario, bounds)?;
    let options = &LabOptions { controlled_only: true, ..options.clone() };
    if needs_processes(scenario) || !bounds.hosted {
        // One lab: its servers and clients are many processes as it is.
        let mut bounds = bounds.clone();
        bounds.workers = 1;
        let ground = Processes::open(scenario, options, &rules).await?;
        let (off, vitals) = (ground.off(), ground.vitals());
        let all = vitals.clone();
        let tether = Tether {
            vitals: vec![vitals],
            loose: Box::new(move || {
                off.send_replace(true);
                all.put_down();
            }),
        };
        let (mut result, grounds) = run_on(vec![ground], tether, &bounds, WAYS_WITH_PROCESSES, watch).await;
        for ground in grounds {
            if let Err(ExploreError::Ground(GroundError::Engine(error))) = result {
                result = Err(ground.explain(error).await.into());
            }
            ground.close().await;
        }
        return result;
    }
    let means = Means { share: bounds.share, prune: bounds.prune };
    let mut grounds = Vec::new();
    for _ in 0..bounds.workers.max(1) {
        grounds.push(Hosted::open(scenario, options, &rules, means).await?);
    }
    let vitals: Vec<Vitals> = grounds.iter().map(Hosted::vitals).collect();
    let all = vitals.clone();
    let tether = Tether {
        vitals,
        // A thread that waits for an answer can be reached only through the server that owes it.
        loose: Box::new(move || all.iter().for_each(Vitals::put_down)),
    };
    let (mut result, grounds) = run_on(grounds, tether, bounds, WAYS, watch).await;
    for ground in grounds {
        if let Err(ExploreError::Ground(GroundError::Engine(error))) = result {
            result = Err(ground.explain(error).await.into());
        }
        ground.close().await;
    }
    result
}

/// Searches the same again and again on the same labs, for benchmarks: how many orders were carried out, and the time
/// that took without starting anything.
///
/// # Errors
/// See [`ExploreError`].
pub async fn repeat(
    scenario: &Scenario,
    options: &LabOptions,
    bounds: &Bounds,
    rounds: u32,
) -> Result<(u64, Duration), ExploreError> {
    let rules = rules(scenario, bounds)?;
    let means = Means { share: bounds.share, prune: bounds.prune };
    let mut grounds = Vec::new();
    for _ in 0..bounds.workers.max(1) {
        grounds.push(Hosted::open(scenario, options, &rules, means).await?);
    }
    let work = Work {
        stop: Arc::default(),
        progress: Arc::default(),
        bounds: bounds.clone(),
        ways: WAYS,
        began: Instant::now(),
    };
    let (sender, receiver) = tokio::sync::oneshot::channel();
    thread::spawn(move || {
        let (mut orders, mut result) = (0, Ok(()));
        let size = work.sized(&mut grounds[0]).unwrap_or_default();
        let began = Instant::now();
        for _ in 0..rounds {
            let seeds = match work.parted(&mut grounds[0], &size) {
                Ok(seeds) => seeds,
                Err(error) => {
                    result = Err(error);
                    break;
                }
            };
            let (found, back) = work.search(seeds, std::mem::take(&mut grounds));
            grounds = back;
            match found {
                Ok((found, _)) => orders += found.tried,
                Err(error) => result = Err(error),
            }
        }
        drop(sender.send((result.map(|()| (orders, began.elapsed())), grounds)));
    });
    let (result, grounds) =
        receiver.await.map_err(|_| thread_failed(&std::io::Error::other("a worker panicked")))?;
    for ground in grounds {
        ground.close().await;
    }
    result
}

/// Whether what the clients do cannot be put back, but only be gone through again.
fn needs_processes(scenario: &Scenario) -> bool {
    let instructions = scenario.actors.iter().flat_map(|plan| &plan.program.instructions);
    let kept = |instruction: &Instruction| match instruction {
        Instruction::Operate(operation) => {
            matches!(operation.verb, PlannedVerb::Local { .. } | PlannedVerb::Take(_))
        }
        _ => false,
    };
    !scenario.lab().can_be_restored() || instructions.into_iter().any(kept)
}

/// What connects a search to those who wait for it, while its threads may be blocked on servers.
struct Tether {
    /// How the labs are.
    vitals: Vec<Vitals>,
    /// Frees every thread that waits for a server. The labs are of no use afterwards.
    loose: Box<dyn Fn() + Send + Sync>,
}

/// Searches everything on these grounds, and gives them back, as far as their threads could be freed.
async fn run_on<G>(
    grounds: Vec<G>,
    tether: Tether,
    bounds: &Bounds,
    ways: u32,
    watch: &(dyn Fn(&Progress) -> ControlFlow<()> + Sync),
) -> (Result<Outcome, ExploreError>, Vec<G>)
where
    G: Ground<Error = GroundError> + Send + 'static,
    G::Place: Sync,
{
    let began = Instant::now();
    let stop = StopOnDrop(Arc::default());
    let progress = Arc::new(Mutex::new(Progress::default()));
    let mut work = Work {
        stop: Arc::clone(&stop.0),
        progress: Arc::clone(&progress),
        bounds: bounds.clone(),
        ways,
        began,
    };
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let thread = thread::Builder::new().name("explore".to_owned()).stack_size(STACK);
    let started = thread.spawn(move || drop(sender.send(work.all(grounds))));
    if let Err(error) = started {
        return (Err(thread_failed(&error)), Vec::new());
    }
    let mut charts: Vec<Chart> = tether.vitals.iter().map(|_| Chart::default()).collect();
    // Why it cannot go on, and since when it is to end.
    let (mut ailing, mut asked): (Option<EngineError>, Option<Instant>) = (None, None);
    let mut loosed = false;
    let mut ticks = tokio::time::interval(TOLD_EVERY);
    tokio::pin!(receiver);
    let (result, grounds) = loop {
        tokio::select! {
            done = &mut receiver => match done {
                Ok(done) => break done,
                Err(_) => break (Err(thread_failed(&std::io::Error::other("a worker panicked"))), Vec::new()),
            },
            _ = ticks.tick() => {
                let mut now = *lock(&progress);
                now.wall = began.elapsed();
                if watch(&now).is_break() {
                    asked.get_or_insert_with(Instant::now);
                }
                if ailing.is_none() {
                    let mut looks = tether.vitals.iter().zip(&mut charts);
                    ailing = looks.find_map(|(vitals, chart)| chart.look(vitals)).map(EngineError::from);
                }
                if ailing.is_some() {
                    asked.get_or_insert_with(Instant::now);
                }
                let Some(asked) = asked else { continue };
                stop.0.store(true, Ordering::Release);
                if asked.elapsed() >= GRACE && !loosed {
                    (tether.loose)();
                    loosed = true;
                }
                if asked.elapsed() >= 4 * GRACE {
                    break (Err(EngineError::CalledOff.into()), Vec::new());
                }
            }
        }
    };
    if let Some(error) = ailing {
        return (Err(error.into()), grounds);
    }
    let result = result.map(|(found, complete)| {
        let mut last = *lock(&progress);
        last.wall = began.elapsed();
        // It has ended: there is nothing left to stop.
        let _ = watch(&last);
        Outcome { found, complete, wall: last.wall }
    });
    (result, grounds)
}

struct Work {
    stop: Arc<AtomicBool>,
    progress: Arc<Mutex<Progress>>,
    bounds: Bounds,
    ways: u32,
    began: Instant,
}

impl Work {
    /// Everything that blocks. The grounds come back, so that their servers can be ended.
    fn all<G>(&mut self, mut grounds: Vec<G>) -> (Result<(Found, bool), ExploreError>, Vec<G>)
    where
        G: Ground<Error = GroundError> + Send,
        G::Place: Sync,
    {
        let size = self.sized(&mut grounds[0]);
        match size.and_then(|size| self.parted(&mut grounds[0], &size)) {
            Ok(seeds) => self.search(seeds, grounds),
            Err(_) if self.stop.load(Ordering::Acquire) => (Ok((Found::default(), false)), grounds),
            Err(error) => (Err(error), grounds),
        }
    }

    fn sized<G: Ground<Error = GroundError>>(&self, ground: &mut G) -> Result<search::Size, ExploreError> {
        let prune = self.bounds.prune;
        let began = Instant::now();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let draw = |below: usize| {
            // xorshift64 (Marsaglia 2003): the same ways each time.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let stopped = self.stop.load(Ordering::Acquire);
            (!stopped).then(|| usize::try_from(state % below as u64).unwrap_or(0))
        };
        // So many times too much that no other way down could make up for it.
        let hopeless = |size: &search::Size| {
            let longest = self.bounds.longest.as_secs_f64() * HOPELESS;
            size.taken > 0 && seconds(size, began.elapsed(), &self.bounds) > longest
        };
        let size = search::estimate(ground, prune, self.ways, draw, hopeless)?;
        affordable(&size, began.elapsed(), &self.bounds)?;
        Ok(size)
    }

    /// The whole in parts: as many as all workers need, and none of so few orders that it is not worth the asking.
    fn parted<G: Ground<Error = GroundError>>(
        &self,
        ground: &mut G,
        size: &search::Size,
    ) -> Result<Vec<Seed<G::Place>>, ExploreError> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates, and is clamped"
        )]
        let worth = (size.ends / WORTH) as usize;
        let workers = self.bounds.workers;
        let enough = if workers > 1 { worth.clamp(workers, workers * PARTS) } else { 1 };
        Ok(search::part(ground, self.bounds.prune, enough)?)
    }

    fn search<G>(
        &self,
        seeds: Vec<Seed<G::Place>>,
        mut grounds: Vec<G>,
    ) -> (Result<(Found, bool), ExploreError>, Vec<G>)
    where
        G: Ground<Error = GroundError> + Send,
        G::Place: Sync,
    {
        *lock(&self.progress) = Progress { wall: self.began.elapsed(), ..Progress::default() };
        let shared = Shared {
            seeds,
            next: AtomicUsize::new(0),
            stop: Arc::clone(&self.stop),
            progress: Arc::clone(&self.progress),
            prune: self.bounds.prune,
        };
        let mut parts: Vec<Option<Found>> = vec![None; shared.seeds.len()];
        let mut failed = None;
        thread::scope(|scope| {
            let handles: Vec<_> = grounds
                .iter_mut()
                .map(|ground| {
                    let shared = &shared;
                    let builder = thread::Builder::new().stack_size(STACK);
                    builder.spawn_scoped(scope, move || work(ground, shared))
                })
                .collect();
            for handle in handles {
                let done = match handle {
                    Ok(handle) => handle
                        .join()
                        .unwrap_or_else(|_| Err(thread_failed(&std::io::Error::other("a worker panicked")))),
                    Err(error) => Err(thread_failed(&error)),
                };
                match done {
                    Ok(done) => {
                        for (n, found) in done {
                            parts[n] = Some(found);
                        }
                    }
                    Err(error) => failed = Some(error),
                }
            }
        });
        if let Some(error) = failed {
            return (Err(error), grounds);
        }
        let mut whole = Found::default();
        for part in parts.into_iter().flatten() {
            whole.add(part);
        }
        let complete = !self.stop.load(Ordering::Acquire);
        (Ok((whole, complete)), grounds)
    }
}

/// Takes part after part until there is none left. Each is found out as a whole, or as far as it was when somebody
/// asked to stop.
fn work<G: Ground<Error = GroundError>>(
    ground: &mut G,
    shared: &Shared<G::Place>,
) -> Result<Vec<(usize, Found)>, ExploreError> {
    let mut done = Vec::new();
    loop {
        let n = shared.next.fetch_add(1, Ordering::Relaxed);
        let Some(seed) = shared.seeds.get(n) else {
            return Ok(done);
        };
        if shared.stop.load(Ordering::Acquire) {
            return Ok(done);
        }
        let mut tell = |end: End| {
            let mut progress = lock(&shared.progress);
            progress.done += end.share;
            if end.orders > 0 {
                progress.tried += 1;
                progress.pruned = progress.pruned.saturating_add(end.orders - 1);
            }
            if end.violates {
                progress.violations = progress.violations.saturating_add(end.orders);
            }
            if shared.stop.load(Ordering::Acquire) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let called_off = || shared.stop.load(Ordering::Acquire);
        match search::search(ground, seed, shared.prune, &mut tell, &called_off) {
            Ok((found, _)) => done.push((n, found)),
            Err(error) => {
                shared.stop.store(true, Ordering::Release);
                return Err(error.into());
            }
        }
    }
}

/// How long a search of that size takes, about, where finding that out took so long.
fn seconds(size: &search::Size, took: Duration, bounds: &Bounds) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let step = took.as_secs_f64() / size.taken.max(1) as f64;
    let workers = f64::from(u32::try_from(bounds.workers.max(1)).unwrap_or(u32::MAX));
    size.steps * step / workers
}

/// What would take longer than it may is refused before it begins.
fn affordable(size: &search::Size, took: Duration, bounds: &Bounds) -> Result<(), ExploreError> {
    let seconds = seconds(size, took, bounds);
    if seconds <= bounds.longest.as_secs_f64() {
        return Ok(());
    }
    Err(ExploreError::TooMany { orders: size.ends, rate: size.ends / seconds, days: seconds / 86_400.0 })
}

/// Which steps an order may have.
pub(crate) fn rules(scenario: &Scenario, bounds: &Bounds) -> Result<Rules, ExploreError> {
    let names = || scenario.clients.iter().map(|client| client.name.as_str());
    for fault in &bounds.faults {
        if let Some(name) = &fault.client
            && !names().any(|known| known == name)
        {
            return Err(ExploreError::NoClient {
                name: name.clone(),
                known: names().collect::<Vec<_>>().join(", "),
            });
        }
    }
    let may = |how: Failing| {
        let mut faults = bounds.faults.iter().filter(move |fault| fault.how == how);
        let faults: Vec<_> = faults.by_ref().collect();
        names()
            .enumerate()
            .filter(|(_, name)| {
                faults.iter().any(|fault| fault.client.as_ref().is_none_or(|client| client == name))
            })
            .map(|(n, _)| n)
            .collect()
    };
    Ok(Rules {
        moves: bounds.moves.min(MOST_MOVES),
        crash: may(Failing::Crash),
        freeze: may(Failing::Freeze),
    })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn thread_failed(error: &std::io::Error) -> ExploreError {
    EngineError::ServerLost { server: "explore".to_owned(), why: error.to_string() }.into()
}
