//! Several searches at once, each on a lab of its own. The findings do not depend on their speed: the tree is
//! split in a fixed way, and the findings are merged in the order of the subtrees.

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::{
    Bounds, ExploreError, Failing, MOST_MOVES, MOST_STATES, MayFail, Pick, Progress, Unavoidable,
    random_orders,
    search::{self, End, Found, Subtree},
    states,
};
use crate::{
    lab::{LabOptions, ProblemTracker},
    lesson::{Scenario, plan::PlannedVerb},
    run::{
        explore::execution::{InProcess, OnServers, Processes, Rules},
        session::{RunError, supervision::or_death},
    },
    text::both,
};

/// So few orders are never too many: a busy machine that stalled during the estimate must not refuse them.
const FEW: f64 = 200.0;

/// The number of subtrees for each worker: many, so that no worker waits long for another at the end.
const PARTS: usize = 16;
/// A subtree of fewer orders is not worth splitting off.
const WORTH: f64 = 4.0;
/// The number of random descents from which the size of the tree is estimated.
const DESCENTS: u32 = 16;
/// An estimate ends early when it exceeds the limit this many times.
const HOPELESS: f64 = 1_000.0;
/// With client processes, each step of a descent starts from the beginning.
const DESCENTS_WITH_PROCESSES: u32 = 1;
/// How often progress is reported.
const REPORT_EVERY: Duration = Duration::from_millis(100);
/// How long a step may take to finish once the search is to stop: at least this long, and this part of the time of the
/// search so far, a fiftieth of which is for counting.
const GRACE: Duration = Duration::from_millis(300);
const GRACE_PART: u32 = 20;
/// The shortest and longest limits of the time for finding last chances; between them, it is that of the
/// search.
const LAST_CHANCES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(20));
/// The search recurses once for each step.
const STACK: usize = 32 << 20;

/// Stops the workers when the search is dropped.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// The findings, whether they are complete, and how long the search took.
pub(crate) type Searched = (Found, bool, Duration);

pub(crate) async fn run(
    scenario: &Scenario,
    options: &LabOptions,
    bounds: &Bounds,
    watch: &(dyn Fn(&Progress) -> ControlFlow<()> + Sync),
) -> Result<Searched, ExploreError> {
    let options = &LabOptions { controlled_only: true, ..options.clone() };
    let rules = rules(scenario, bounds)?;
    let in_process = bounds.in_process && !scenario.needs_processes();
    let clients = || scenario.clients.iter().map(|client| client.name.as_str());
    let mut faults = bounds.faults.iter().map(|fault| fault.among(clients()));
    if let Some(why) = faults.find_map(|fault| scenario.refused_fault(&fault, in_process)) {
        return Err(ExploreError::Fault(why));
    }
    if !in_process {
        // One lab with client processes is many processes already.
        let bounds = Bounds { workers: 1, ..bounds.clone() };
        let explorer = Processes::open(scenario, options, &rules).await?;
        // Boxed, because the future holds a whole lab.
        return Box::pin(run_on(vec![explorer], &bounds, DESCENTS_WITH_PROCESSES, watch)).await;
    }
    let mut explorers = Vec::new();
    for _ in 0..bounds.workers.max(1) {
        let explorer = InProcess::open(scenario, options, &rules, bounds).await?;
        let alone = by_states(bounds) && explorer.has_states();
        explorers.push(explorer);
        if alone {
            break;
        }
    }
    run_on(explorers, bounds, DESCENTS, watch).await
}

/// Whether orders are counted by states where that is possible.
fn by_states(bounds: &Bounds) -> bool {
    bounds.prune && bounds.share
}

/// Searches everything with these explorers, and shuts their labs down.
async fn run_on<G: OnServers>(
    explorers: Vec<G>,
    bounds: &Bounds,
    descents: u32,
    watch: &(dyn Fn(&Progress) -> ControlFlow<()> + Sync),
) -> Result<Searched, ExploreError> {
    let (mut result, explorers) = run_supervised(explorers, bounds, descents, watch).await;
    for explorer in explorers {
        if let Err(ExploreError::Engine(error)) = result {
            result = Err(or_death(explorer.lab(), error).await.into());
        }
        explorer.close(result.is_ok()).await;
    }
    result
}

/// Also returns the explorers whose threads could be unblocked.
async fn run_supervised<G: OnServers>(
    explorers: Vec<G>,
    bounds: &Bounds,
    descents: u32,
    watch: &(dyn Fn(&Progress) -> ControlFlow<()> + Sync),
) -> (Result<Searched, ExploreError>, Vec<G>) {
    let began = Instant::now();
    let stop = StopOnDrop(Arc::default());
    let progress = Arc::new(Mutex::new(Progress::default()));
    let counting = Arc::new(AtomicBool::new(false));
    let mut trackers: Vec<_> =
        explorers.iter().map(|explorer| (explorer.lab().health(), ProblemTracker::default())).collect();
    // A thread that waits for a reply is unblocked only by the end of its server.
    let mut unblockers: Vec<_> = explorers.iter().map(OnServers::unblocker).collect();
    let work = Work {
        stop: Arc::clone(&stop.0),
        progress: Arc::clone(&progress),
        bounds: bounds.clone(),
        descents,
        began,
        counting: Arc::clone(&counting),
    };
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let thread = thread::Builder::new().name("explore".to_owned()).stack_size(STACK);
    let started = thread.spawn(move || drop(sender.send(work.all(explorers))));
    if let Err(error) = started {
        return (Err(thread_failed(&error)), Vec::new());
    }
    // Why the search cannot continue, and since when it is asked to stop.
    let (mut problem, mut asked): (Option<RunError>, Option<Instant>) = (None, None);
    let mut ticks = tokio::time::interval(REPORT_EVERY);
    tokio::pin!(receiver);
    let (result, explorers) = loop {
        tokio::select! {
            done = &mut receiver => match done {
                Ok(done) => break done,
                Err(_) => break (Err(thread_failed(&PANICKED)), Vec::new()),
            },
            _ = ticks.tick() => {
                let mut now = lock(&progress).clone();
                now.wall = began.elapsed();
                if watch(&now).is_break() {
                    asked.get_or_insert_with(Instant::now);
                }
                if problem.is_none() {
                    let mut looks = trackers.iter_mut();
                    problem = looks.find_map(|(health, tracker)| tracker.look(health)).map(RunError::from);
                }
                if problem.is_some() {
                    asked.get_or_insert_with(Instant::now);
                }
                let Some(asked) = asked else { continue };
                let grace = GRACE.max((asked - began) / GRACE_PART);
                stop.0.store(true, Ordering::Release);
                if counting.load(Ordering::Acquire) && problem.is_none() {
                    continue;
                }
                if asked.elapsed() >= grace {
                    unblockers.drain(..).for_each(|unblock| unblock());
                }
                if asked.elapsed() >= 4 * grace {
                    break (Err(RunError::Cancelled.into()), Vec::new());
                }
            }
        }
    };
    if let Some(error) = problem {
        return (Err(error.into()), explorers);
    }
    let result = result.map(|(found, complete)| {
        let mut last = lock(&progress).clone();
        last.wall = began.elapsed();
        // The search is over, so there is nothing left to stop.
        let _ = watch(&last);
        (found, complete, last.wall)
    });
    (result, explorers)
}

struct Work {
    stop: Arc<AtomicBool>,
    progress: Arc<Mutex<Progress>>,
    bounds: Bounds,
    descents: u32,
    began: Instant,
    /// Whether nothing is left but to count what was found: that ends by itself, and a search that was stopped is
    /// reported with it.
    counting: Arc<AtomicBool>,
}

impl Work {
    /// Does everything that blocks. Returns the explorers, so that their servers can be shut down.
    fn all<G: OnServers>(&self, mut explorers: Vec<G>) -> (Result<(Found, bool), ExploreError>, Vec<G>) {
        if self.bounds.first {
            match random_orders::first_breach(&mut explorers[0], random_orders::DRAWN, &|| self.stopped()) {
                Ok(Some(found)) => return (Ok((found, false)), explorers),
                Ok(None) => {}
                Err(_) if self.stopped() => return (Ok((Found::default(), false)), explorers),
                Err(error) => return (Err(error), explorers),
            }
        }
        if by_states(&self.bounds)
            && let Some(result) = self.by_states(&mut explorers[0])
        {
            return (result, explorers);
        }
        let one_by_one = if by_states(&self.bounds) { explorers[0].one_by_one() } else { None };
        lock(&self.progress).one_by_one.clone_from(&one_by_one);
        let (searched, explorers) = self.by_orders(explorers);
        let with_why = |(mut found, complete): (Found, bool)| {
            found.space.one_by_one = one_by_one;
            (found, complete)
        };
        (searched.map(with_why), explorers)
    }

    /// Explores orders one by one.
    fn by_orders<G: OnServers>(
        &self,
        mut explorers: Vec<G>,
    ) -> (Result<(Found, bool), ExploreError>, Vec<G>) {
        let size = self.estimate(&mut explorers[0]);
        match size.and_then(|size| self.split(&mut explorers[0], &size)) {
            Ok(subtrees) => self.search(&subtrees, explorers),
            Err(_) if self.stopped() => (Ok((Found::default(), false)), explorers),
            Err(error) => (Err(error), explorers),
        }
    }

    fn by_states<G: OnServers>(&self, explorer: &mut G) -> Option<Result<(Found, bool), ExploreError>> {
        let mut space = explorer.states()?;
        let mut report = |progress: &Progress| {
            lock(&self.progress).clone_from(progress);
            self.stop_at_first(!progress.shortest_of.is_empty());
            if self.stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let found = states::expand(&mut space, &self.bounds, self.began, &mut report).and_then(|expanded| {
            self.counting.store(true, Ordering::Release);
            expanded.count(&mut space)
        });
        drop(space);
        let found = found.and_then(|(mut found, complete)| {
            // What does not fit into memory is searched at random, for the time that is given.
            if found.space.full && found.shortest_of.is_empty() && self.bounds.within.is_some() {
                let drawn = random_orders::first_breach(explorer, u32::MAX, &|| self.stopped())?;
                found.add_breach(drawn.unwrap_or_default());
            }
            if self.bounds.graph && complete && found.space.states <= MOST_STATES as u64 {
                found.space.graph = explorer.graph()?;
            }
            Ok((found, complete))
        });
        Some(if self.stopped() && found.is_err() { Ok((Found::default(), false)) } else { found })
    }

    fn estimate<G: OnServers>(&self, explorer: &mut G) -> Result<search::Size, ExploreError> {
        let prune = self.bounds.prune;
        let began = Instant::now();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let draw = |below: usize| {
            // xorshift64 (Marsaglia 2003) with a fixed seed: the descents are the same each time.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (!self.stopped()).then(|| usize::try_from(state % below as u64).unwrap_or(0))
        };
        // So far over the limit that no other descent could make up for it.
        let hopeless = |size: &search::Size| {
            let longest = self.bounds.longest.as_secs_f64() * HOPELESS;
            size.taken > 0 && size.ends > FEW && seconds(size, began.elapsed(), &self.bounds) > longest
        };
        let size = search::estimate(explorer, prune, self.descents, draw, hopeless)?;
        affordable(&size, began.elapsed(), &self.bounds)?;
        Ok(size)
    }

    /// Splits the search into as many parts as all workers need, none with so few orders that it is not worth
    /// splitting off.
    fn split<G: OnServers>(
        &self,
        explorer: &mut G,
        size: &search::Size,
    ) -> Result<Vec<Subtree<G::Node>>, ExploreError> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates, and is clamped"
        )]
        let worth = (size.ends / WORTH) as usize;
        let workers = self.bounds.workers;
        let enough = if workers > 1 { worth.clamp(workers, workers * PARTS) } else { 1 };
        search::split(explorer, self.bounds.prune, enough)
    }

    fn search<G: OnServers>(
        &self,
        subtrees: &[Subtree<G::Node>],
        mut explorers: Vec<G>,
    ) -> (Result<(Found, bool), ExploreError>, Vec<G>) {
        lock(&self.progress).wall = self.began.elapsed();
        let next = &AtomicUsize::new(0);
        let mut parts: Vec<Option<Found>> = vec![None; subtrees.len()];
        let mut failed = None;
        thread::scope(|scope| {
            let handles: Vec<_> = explorers
                .iter_mut()
                .map(|explorer| {
                    let builder = thread::Builder::new().stack_size(STACK);
                    builder.spawn_scoped(scope, move || self.search_some(explorer, subtrees, next))
                })
                .collect();
            for handle in handles {
                let done = handle.map_err(|error| thread_failed(&error));
                match done.and_then(|handle| handle.join().unwrap_or_else(|_| Err(thread_failed(&PANICKED))))
                {
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
            return (Err(error), explorers);
        }
        let mut whole = Found::default();
        for part in parts.into_iter().flatten() {
            whole.add(part);
        }
        let complete = !self.stopped();
        let known = self.find_last_chances(&mut explorers[0], &mut whole);
        (
            known.or_else(|error| if complete { Err(error) } else { Ok(()) }).map(|()| (whole, complete)),
            explorers,
        )
    }

    /// Finds from where on the orders that are shown were bound to go wrong. May take as long as the search
    /// has, within [`LAST_CHANCES`].
    fn find_last_chances<G: OnServers>(
        &self,
        explorer: &mut G,
        whole: &mut Found,
    ) -> Result<(), ExploreError> {
        if self.stopped() {
            return Ok(());
        }
        let (shortest, longest) = LAST_CHANCES;
        let (began, longest) = (Instant::now(), self.began.elapsed().clamp(shortest, longest));
        let over = || self.stopped() || began.elapsed() > longest;
        let prune = self.bounds.prune;
        let mut last = |order: &[Pick], wrong: &dyn Fn(&Found) -> u128| {
            if wrong(whole) == whole.orders {
                return Ok(Some(Unavoidable::ALWAYS));
            }
            search::unavoidable(explorer, order, prune, wrong, &over)
        };
        let (mut broken, mut stuck) = (BTreeMap::new(), BTreeMap::new());
        for (invariant, order) in &whole.shortest_of {
            let wrong = |found: &Found| found.by_invariant.get(invariant).copied().unwrap_or(0);
            broken.extend(last(order, &wrong)?.map(|last| (*invariant, last)));
        }
        for (kind, (_, order)) in &whole.stuck {
            let wrong = |found: &Found| found.stuck.get(kind).map_or(0, |(orders, _)| *orders);
            stuck.extend(last(order, &wrong)?.map(|last| (*kind, last)));
        }
        (whole.unavoidable, whole.unavoidable_stuck) = (broken, stuck);
        Ok(())
    }

    /// Searches subtree after subtree until none is left, or the search is to stop.
    fn search_some<G: OnServers>(
        &self,
        explorer: &mut G,
        subtrees: &[Subtree<G::Node>],
        next: &AtomicUsize,
    ) -> Result<Vec<(usize, Found)>, ExploreError> {
        let mut done = Vec::new();
        let mut report = |end: End| {
            let mut progress = lock(&self.progress);
            progress.done += end.share;
            for (invariant, order) in end.shorter {
                search::keep_shorter(&mut progress.shortest_of, invariant, order);
            }
            if end.orders > 0 {
                progress.tried += 1;
                progress.pruned = progress.pruned.saturating_add(end.orders - 1);
            }
            if end.violates {
                progress.violations = progress.violations.saturating_add(end.orders);
            }
            self.stop_at_first(end.violates);
            if self.stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        while !self.stopped() {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some(subtree) = subtrees.get(n) else { break };
            match search::search(explorer, subtree, self.bounds.prune, &mut report, &|| self.stopped()) {
                Ok((found, _)) => done.push((n, found)),
                Err(error) => {
                    self.stop.store(true, Ordering::Release);
                    return Err(error);
                }
            }
        }
        Ok(done)
    }

    /// Stops the search if one order that breaks something is enough.
    fn stop_at_first(&self, broken: bool) {
        if broken && self.bounds.first {
            self.stop.store(true, Ordering::Release);
        }
    }

    fn stopped(&self) -> bool {
        let is_late = self.bounds.within.is_some_and(|within| self.began.elapsed() > within);
        is_late || self.stop.load(Ordering::Acquire)
    }
}

/// The approximate number of seconds that a search of that size takes, if the estimate took `took`.
fn seconds(size: &search::Size, took: Duration, bounds: &Bounds) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let step = took.as_secs_f64() / size.taken.max(1) as f64;
    let workers = f64::from(u32::try_from(bounds.workers.max(1)).unwrap_or(u32::MAX));
    size.steps * step / workers
}

/// Fails if a search would take too long.
fn affordable(size: &search::Size, took: Duration, bounds: &Bounds) -> Result<(), ExploreError> {
    let seconds = seconds(size, took, bounds);
    if size.ends <= FEW || bounds.within.is_some() || seconds <= bounds.longest.as_secs_f64() {
        return Ok(());
    }
    Err(ExploreError::TooMany { orders: size.ends, rate: size.ends / seconds, seconds })
}

/// Whether `setup` changes more than keys, or writes them to disk: a restarted server would differ from what
/// is known of its keys.
fn setup_changes_the_server(scenario: &Scenario) -> bool {
    scenario.setup.iter().any(|setup| match &setup.verb {
        PlannedVerb::Redis(words) => {
            let name = words.first().and_then(|word| word.render(&minijinja::Value::UNDEFINED).ok());
            let changes = ["CONFIG", "SCRIPT", "FUNCTION", "SAVE", "BGSAVE"];
            name.is_none_or(|name| changes.contains(&name.to_ascii_uppercase().as_str()))
        }
        _ => false,
    })
}

/// The steps that an order may have.
pub(crate) fn rules(scenario: &Scenario, bounds: &Bounds) -> Result<Rules, ExploreError> {
    let clients: Vec<&str> = scenario.clients.iter().map(|client| client.name.as_str()).collect();
    let servers = scenario.lab().servers();
    let mut rules = Rules {
        moves: bounds.moves.min(MOST_MOVES),
        faults: bounds.most_faults,
        slow: bounds.slow,
        ..Rules::default()
    };
    for fault in &bounds.faults {
        let MayFail { how, client, server } = &fault.among(clients.iter().copied());
        if let Some(name) = client.as_ref().filter(|name| !clients.contains(&name.as_str())) {
            return Err(ExploreError::NoClient { name: name.clone(), known: clients.join(", ") });
        }
        if let Some(name) = server.as_ref().filter(|name| !servers.contains(&name.as_str())) {
            if let Failing::Skew(_) = how {
                let known = servers.iter().chain(&clients).copied().collect::<Vec<_>>().join(", ");
                return Err(ExploreError::Fault(both!(
                    "`skew`: no server or client is called `{name}`; there are {known}",
                    "`skew`：没有叫 `{name}` 的服务器或客户端；这里有 {known}"
                )));
            }
            return Err(ExploreError::NoServer { name: name.clone(), known: servers.join(", ") });
        }
        let meant = |wanted: &Option<String>, name: &str| wanted.as_ref().is_none_or(|wanted| wanted == name);
        let all = (0..clients.len()).filter(|n| meant(client, clients[*n])).collect::<Vec<_>>();
        let of_servers = (0..servers.len()).filter(|n| meant(server, servers[*n]));
        match how {
            Failing::Crash => rules.crash.extend(all),
            Failing::Freeze => rules.freeze.extend(all),
            Failing::LostReply => rules.lose_reply.extend(all),
            Failing::Cut => {
                rules
                    .cut
                    .extend(of_servers.flat_map(|server| all.iter().map(move |client| (*client, server))));
            }
            Failing::Restart => rules.restart.extend(of_servers),
            Failing::Skew(ahead) if client.is_some() => {
                rules.skew_client.extend(all.into_iter().map(|client| (client, *ahead)));
            }
            Failing::Skew(ahead) => rules.skew.extend(of_servers.map(|server| (server, *ahead))),
        }
    }
    // A fault that is given twice counts once.
    for numbers in [&mut rules.crash, &mut rules.freeze, &mut rules.lose_reply, &mut rules.restart] {
        numbers.sort_unstable();
        numbers.dedup();
    }
    rules.cut.sort_unstable();
    rules.cut.dedup();
    for skewed in [&mut rules.skew, &mut rules.skew_client] {
        skewed.sort_unstable();
        skewed.dedup();
    }
    if let Some([(server, one), (_, other)]) =
        rules.skew.array_windows().find(|[one, other]| one.0 == other.0)
    {
        let name = servers[*server];
        return Err(ExploreError::Fault(both!(
            "`skew`: an order can set the clock of `{name}` by one amount, and there are two: {one} ms and {other} ms",
            "`skew`：`{name}` 的时钟只能有一个偏移量，这里给了两个：{one} 毫秒和 {other} 毫秒"
        )));
    }
    if !rules.restart.is_empty() && setup_changes_the_server(scenario) {
        return Err(ExploreError::Fault(both!(
            "`restart`: `setup` changes the server itself, and what it changed would not be there any more",
            "`restart`：`setup` 改动了服务器本身，重启后这些改动就没有了"
        )));
    }
    Ok(rules)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const PANICKED: &str = "a worker panicked";

fn thread_failed(error: &dyn std::fmt::Display) -> ExploreError {
    RunError::ServerLost { server: "explore".to_owned(), why: error.to_string() }.into()
}
