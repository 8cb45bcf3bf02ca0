//! Lets lesson time pass: as a jump when nobody watches, at the chosen speed otherwise, and never faster than
//! the servers of the lab can follow.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use super::{
    RunError,
    client::ClientState,
    director::Director,
    harness::session_timeout_ms,
    throttle::{LONGEST, SLICE},
};
use crate::{
    clock::{ClockKind, LessonTime, Rate},
    lab::LinkState,
    lesson::{LabKind, Path, plan::AwaitPlan},
    log::{ActorId, Event, EventKind, Fault, Observed, Product},
    program::Output,
    text::both,
    verdict,
};

/// How lesson time passes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Tempo {
    /// As fast as possible.
    Jump,
    /// At this multiple of real time.
    Watch(f64),
    /// Not at all, until the tempo changes.
    Held,
}

/// How fast a lab's servers can follow the clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limits {
    /// Whether time may jump, and so may also stand still during a move.
    pub(crate) jump: bool,
    /// The highest rate, as a multiple of real time.
    fastest: f64,
}

impl Limits {
    pub(crate) fn of(lab: LabKind, clock: ClockKind) -> Self {
        let topology = lab.topology();
        match clock {
            ClockKind::Wall | ClockKind::Recorded => Self { jump: false, fastest: 1.0 },
            ClockKind::Controlled => Self { jump: topology.jump, fastest: topology.fastest },
        }
    }
}

/// The most real time that one line of a story may take when nobody watches.
pub(crate) const LONGEST_LINE: Duration = Duration::from_mins(10);

/// How many leaps fit into the timeout of a ZooKeeper session.
pub(crate) const LEAPS_IN_TIMEOUT: u32 = 5;

/// How long a leap takes at most, in real time: every client is heard from after it.
const LEAP_TAKES: Duration = Duration::from_millis(50);

/// How much later than its timeout a ZooKeeper session may end.
const SESSION_TICK: Duration = Duration::from_millis(500);

/// For how many of these ticks more a server on a busy machine may be late.
const MOST_TICKS_LATE: usize = 20;

/// How often an `await` is checked, in milliseconds of lesson time.
const AWAIT_STEP_MS: i64 = 200;

/// The longest jump while a message over a delayed link may be on its way.
const AWAIT_STEP: Duration = Duration::from_millis(200);

/// Returns a time that is after `time` for any server. Redis and ZooKeeper count whole milliseconds, and what
/// ends in a millisecond lasts until that millisecond is over. For "3 s later" to be after a lease of 3 s,
/// this is the first whole millisecond after `time`, and one more.
pub(crate) fn surely_after(time: LessonTime) -> LessonTime {
    LessonTime::from_millis(time.as_millis() + 2)
}

/// The first whole millisecond after a time: what lasts until that time is over by then.
pub(crate) fn next_milli(time: LessonTime) -> LessonTime {
    LessonTime::from_millis(time.as_millis() + 1)
}

impl Director {
    /// Lets time pass; the `moving` actors make their moves as these come due.
    pub(crate) async fn pass(
        &mut self,
        millis: i64,
        moving: &[ActorId],
        path: &Path,
    ) -> Result<(), RunError> {
        let target = self.clock.now() + Duration::from_millis(u64::try_from(millis).unwrap_or(0));
        self.pass_until(target, moving, path).await
    }

    /// Lets time pass in small steps until a condition holds. Fails if it does not within the time of the
    /// plan.
    pub(crate) async fn wait_for(&mut self, plan: &AwaitPlan, path: &Path) -> Result<(), RunError> {
        let within = self.millis(&plan.within, &path.key("within"))?;
        let end = self.clock.now() + Duration::from_millis(u64::try_from(within).unwrap_or(0));
        let began = Instant::now();
        loop {
            self.settle_waits(path).await?;
            self.observe().await?;
            let holds = verdict::is_so(&self.scenario, &self.recorder.log, &plan.that);
            if holds.map_err(|error| self.mistake(&path.key("that"), error))? {
                return Ok(());
            }
            if self.clock.now() >= end {
                let source = plan.that.source();
                let why = both!(
                    "`{source}` did not come true within {within} ms",
                    "`{source}` 在 {within} 毫秒内没有成立"
                );
                return Err(self.mistake(path, why));
            }
            if began.elapsed() >= LONGEST_LINE && *self.tempo.borrow() == Tempo::Jump {
                let (source, minutes) = (plan.that.source(), LONGEST_LINE.as_secs() / 60);
                let why = both!(
                    "`{source}` did not come true in {minutes} minutes of real time, long before the {within} ms of lesson \
                     time were over",
                    "实际时间过了 {minutes} 分钟，`{source}` 还没成立，而 {within} 毫秒的课程时间远没过完"
                );
                return Err(self.mistake(path, why));
            }
            self.pass(AWAIT_STEP_MS, &plan.moving, path).await?;
        }
    }

    /// Lets time pass until after `target`. Waits that end on the way end in order, and `moving` actors make
    /// their moves as soon as they can: when one of their waits ends, or something that they wait for
    /// arrives.
    pub(crate) async fn pass_until(
        &mut self,
        target: LessonTime,
        moving: &[ActorId],
        path: &Path,
    ) -> Result<(), RunError> {
        loop {
            self.move_ready(moving, path).await?;
            if self.pass_on(target, moving, path).await? {
                break;
            }
        }
        if moving.is_empty() {
            return Ok(());
        }
        // What the servers sent in this period is recorded in it, however late it arrives on a busy machine.
        self.settle(path).await?;
        self.move_ready(moving, path).await
    }

    /// Lets time pass until one of the `moving` actors can move, the next wait has ended, or until after `target`, whichever
    /// comes first. Returns whether it is after `target`.
    pub(crate) async fn pass_on(
        &mut self,
        target: LessonTime,
        moving: &[ActorId],
        path: &Path,
    ) -> Result<bool, RunError> {
        let timer = self.next_timer().filter(|(_, due)| *due <= target);
        let next = timer.map_or(target, |(_, due)| due);
        if let Some(end) = self.next_abandoned_end().filter(|end| *end <= next) {
            if self.run_clock_until(surely_after(end), Some(moving), path).await? {
                self.settle_waits(path).await?;
            }
            return Ok(false);
        }
        if !self.run_clock_until(surely_after(next), Some(moving), path).await? {
            return Ok(false);
        }
        let Some((actor, _)) = timer else { return Ok(true) };
        if self.actors[actor].waits_until().is_some() {
            self.step_actors(path, |actors, output| actors[actor].wake(output))?;
            self.settle_outside(path).await?;
        } else {
            self.settle_waits(path).await?;
        }
        self.recorder.publish();
        Ok(false)
    }

    /// When the servers notice the end of the next session of a killed client of ZooKeeper, which ends by itself. `None` if
    /// it is over.
    pub(crate) fn next_session_end(&self) -> Option<LessonTime> {
        let now = self.clock.now();
        self.session_ends().filter(|end| *end > now).min()
    }

    fn session_timeout(&self) -> Duration {
        Duration::from_millis(session_timeout_ms(&self.scenario.settings()))
    }

    /// The times by which the servers have noticed that a killed client is gone.
    fn session_ends(&self) -> impl Iterator<Item = LessonTime> {
        let is_zookeeper = self.scenario.lab().has(Product::Zookeeper);
        let timeout = self.session_timeout();
        let killed =
            self.log().events().iter().filter(move |event| {
                is_zookeeper && matches!(event.kind, EventKind::Fault(Fault::Crash { .. }))
            });
        killed.map(move |event| event.at + timeout + 2 * SESSION_TICK)
    }

    /// Lets time pass until ZooKeeper has ended the next session of a killed client and deleted its nodes.
    async fn pass_to_session_end(&mut self, path: &Path) -> Result<(), RunError> {
        let Some(end) = self.next_session_end() else { return Ok(()) };
        self.pass_until(end, &[], path).await?;
        // A server on a busy machine may be late.
        for _ in 0..MOST_TICKS_LATE {
            if !self.dead_clients_own_nodes().await? {
                break;
            }
            self.pass_until(self.clock.now() + SESSION_TICK, &[], path).await?;
        }
        Ok(())
    }

    async fn dead_clients_own_nodes(&mut self) -> Result<bool, RunError> {
        let over = self.clock.now();
        let killed = |client: &str| {
            let ended = |event: &Event| event.at + self.session_timeout() <= over;
            self.log().events().iter().any(|event| match &event.kind {
                EventKind::Fault(fault) => fault.killed_client() == Some(client) && ended(event),
                _ => false,
            })
        };
        let sessions: Vec<i64> = self
            .log()
            .events()
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::Session { actor, session, .. } => {
                    let client = &self.log().actor(*actor)?.client;
                    killed(client).then_some(*session)
                }
                _ => None,
            })
            .collect();
        let states = self.look(&HashSet::new()).await?;
        Ok(states.iter().any(|state| match &state.observed {
            Observed::Zookeeper(tree) => {
                tree.nodes.values().any(|node| node.owner.is_some_and(|owner| sessions.contains(&owner)))
            }
            _ => false,
        }))
    }

    /// Lets time pass to the end of the next wait, or, if nobody waits for time, of the session of a killed client. A jump of
    /// the clock overshoots that end a little, and the other waits are postponed by as much, so that waits that end together
    /// still do so after a chain of waits.
    pub(crate) async fn pass_to_next_timer(&mut self, path: &Path) -> Result<(), RunError> {
        let (timer, abandoned) = (self.next_timer(), self.next_abandoned_end());
        let Some(due) = timer.map(|(_, due)| due).into_iter().chain(abandoned).min() else {
            return self.pass_to_session_end(path).await;
        };
        if !self.limits.jump {
            return self.pass_until(due, &[], path).await;
        }
        // A server's milliseconds do not begin with those of the lesson.
        let in_server = abandoned == Some(due)
            || timer.is_some_and(|(actor, _)| self.actors[actor].waits_until().is_none());
        let end = if in_server { surely_after(due) } else { next_milli(due) };
        self.run_clock_to(end, path).await?;
        let now = self.clock.now();
        self.actors.put_off(due, now.since(due));
        self.wake_until(due, path)?;
        self.settle_waits(path).await?;
        // Also what external programs do with the replies.
        self.settle_outside(path).await?;
        self.recorder.publish();
        Ok(())
    }

    /// Settles if there are external programs: what they do when a wait ends is known only once they have
    /// done it.
    pub(crate) async fn settle_outside(&mut self, path: &Path) -> Result<(), RunError> {
        if self.scenario.is_attached() { Box::pin(self.settle(path)).await } else { Ok(()) }
    }

    /// Ends the waits that came due while their process was frozen: its timers fire as soon as it runs.
    pub(crate) fn catch_up(&mut self, path: &Path) -> Result<(), RunError> {
        self.wake_until(self.clock.now(), path)
    }

    fn wake_until(&mut self, end: LessonTime, path: &Path) -> Result<(), RunError> {
        let mut output = Output::at(self.clock.now());
        let runs = |actor| !self.harness.is_frozen(actor);
        let woken = self.actors.wake_until(end, runs, &mut output);
        self.record_output(output, woken, path).map(drop)
    }

    /// The wait that ends first, of processes that are not frozen: an actor's own wait, or one inside a
    /// server.
    pub(crate) fn next_timer(&self) -> Option<(ActorId, LessonTime)> {
        let own = self.actors.next_timer(|actor| !self.harness.is_frozen(actor));
        own.into_iter().chain(self.next_end()).min_by_key(|(actor, due)| (*due, *actor))
    }

    /// Fails if time can only run, not jump, and the wait would take too long in real time.
    fn check_real_time(&self, target: LessonTime, path: &Path) -> Result<(), RunError> {
        if self.limits.jump || *self.tempo.borrow() != Tempo::Jump {
            return Ok(());
        }
        let left = target.since(self.clock.now());
        let real = match self.leaps(left) {
            Some(leap) => LEAP_TAKES.mul_f64(left.div_duration_f64(leap)),
            None => left.div_f64(self.limits.fastest),
        };
        if real <= LONGEST_LINE {
            return Ok(());
        }
        let (seconds, minutes) = (left.as_secs(), real.as_secs() / 60);
        let (most, fastest) = (LONGEST_LINE.as_secs() / 60, self.limits.fastest);
        let why = both!(
            "{seconds} s of lesson time would take {minutes} minutes of real time, and no line may take more than {most}: time \
             on these servers runs at most {fastest} times as fast",
            "{seconds} 秒课程时间要花 {minutes} 分钟实际时间，而一条剧情最多 {most} 分钟：这些服务器上的时间最快是 {fastest} 倍"
        );
        Err(self.mistake(path, why))
    }

    /// How much of a wait may be jumped over at once at [`Tempo::Jump`] although the clock may not jump.
    /// ZooKeeper sessions are kept alive by their clients' requests: if all clients run and have been asked
    /// to settle since time last passed, each has just made a request, so no session expires in a jump that
    /// is much shorter than its timeout.
    fn leaps(&self, left: Duration) -> Option<Duration> {
        let now = self.clock.now();
        let none_stands = self.harness.clients.iter().all(|client| client.state != ClientState::Frozen);
        // External programs make requests when their own time comes, and not when they are asked.
        let asked = !self.scenario.is_attached();
        // The server notices the end of a killed client's session, and tells of it, only while time runs.
        let noticed = self.session_ends().filter(|end| now < *end);
        let leap = noticed.map(|end| end.since(now + SESSION_TICK)).fold(left.min(self.leap), Duration::min);
        let may = !leap.is_zero() && none_stands && asked;
        may.then_some(leap)
    }

    /// Whether an actor waits for a notification that may come over a delayed link: when it is in the link, and when the
    /// client has it, is not known.
    fn awaits_delayed_message(&self) -> bool {
        let mut links = self.harness.lab.link_states();
        links.any(|(_, state)| matches!(state, LinkState::Delayed(..)))
            && self.actors.ids().any(|actor| self.is_taking(actor))
    }

    /// Lets the clock run or jump to a time, and handles what arrives meanwhile.
    pub(crate) async fn run_clock_to(&mut self, target: LessonTime, path: &Path) -> Result<(), RunError> {
        self.run_clock_until(target, None, path).await.map(drop)
    }

    /// As [`Director::run_clock_to`], but if `moving` is given, returns `false` as soon as one of these
    /// actors can move, or an arrival has begun a wait that ends sooner.
    async fn run_clock_until(
        &mut self,
        target: LessonTime,
        moving: Option<&[ActorId]>,
        path: &Path,
    ) -> Result<bool, RunError> {
        let arrived = self.run_clock_in_slices(target, moving, path).await?;
        // The work that follows takes real time and may need lesson time to pass, but does not renew a
        // limited rate.
        self.clock.run_on()?;
        Ok(arrived)
    }

    async fn run_clock_in_slices(
        &mut self,
        target: LessonTime,
        moving: Option<&[ActorId]>,
        path: &Path,
    ) -> Result<bool, RunError> {
        self.check_real_time(target, path)?;
        // While Redis syncs to disk it postpones other writes, and time would pass over those.
        self.harness.await_syncs().await?;
        let mut reported = None;
        self.longest_wait();
        loop {
            let has_arrived = self.harness.lab.deliver_due(self.clock.now()).await;
            if has_arrived {
                self.await_delayed(path).await?;
            }
            let is_awaited = self.awaits_delayed_message();
            if is_awaited {
                // Before time goes on, what has arrived is reported, and what was sent is on its way.
                if has_arrived {
                    self.receive_reports(path).await?;
                }
                self.harness.lab.take_in().await;
            }
            self.record_notices();
            let now = self.clock.now();
            if target <= now {
                self.harness.await_syncs().await?;
                return Ok(true);
            }
            // Stop at the next arrival of a delayed message, so that it is handled at its own time.
            let arrival = self.harness.lab.next_arrival();
            let left = arrival.map_or(target, |due| next_milli(due).min(target)).since(now);
            let sooner = || self.next_timer().is_some_and(|(_, due)| surely_after(due) < target);
            if moving.is_some_and(|moving| sooner() || moving.iter().any(|actor| self.can_move(*actor))) {
                return Ok(false);
            }
            let tempo = *self.tempo.borrow_and_update();
            if matches!(tempo, Tempo::Watch(_)) && reported != Some(tempo) {
                self.recorder.publish_time_runs();
            }
            reported = Some(tempo);
            let speed = match tempo {
                Tempo::Jump if let Some(leap) = self.leaps(left).filter(|_| !self.limits.jump) => {
                    self.clock.jump(leap)?;
                    if leap < left {
                        self.receive_reports(path).await?;
                        self.hand_out_withheld(|_| true, path)?;
                    }
                    continue;
                }
                Tempo::Jump if self.limits.jump => {
                    self.clock.jump(if is_awaited { left.min(AWAIT_STEP) } else { left })?;
                    if is_awaited {
                        self.receive_reports(path).await?;
                    }
                    continue;
                }
                Tempo::Jump => self.throttle.speed(f64::INFINITY, self.limits.fastest),
                Tempo::Watch(speed) => self.throttle.speed(speed, self.limits.fastest),
                Tempo::Held => 0.0,
            };
            let rate = Rate::from_factor(speed).unwrap_or(Rate::NORMAL);
            self.clock.set_rate_for(rate, LONGEST)?;
            self.recorder.publish();
            // Rounded up, so that the last iteration does not spin through a fraction of a millisecond.
            let real = left.as_secs_f64() / speed + 0.000_5;
            let slice = Duration::try_from_secs_f64(real).map_or(SLICE, |real| real.min(SLICE));
            let begun = Instant::now();
            tokio::select! {
                () = tokio::time::sleep(slice), if !rate.is_paused() => {
                    let waited = self.longest_wait();
                    self.throttle.adjust(slice, begun.elapsed(), waited, self.limits.fastest);
                }
                changed = self.tempo.changed() => {
                    // The sender of the tempo is gone: the run is about to end.
                    if changed.is_err() {
                        tokio::task::yield_now().await;
                    }
                }
                arrived = self.harness.next() => {
                    self.handle(arrived?, path)?;
                    self.hand_out_withheld(|_| true, path)?;
                }
            }
        }
    }

    /// The longest time that a runnable server has waited for a processor since the last call.
    fn longest_wait(&mut self) -> Duration {
        // On a clock that jumps, no pause is too long for a server.
        if self.limits.jump {
            return Duration::ZERO;
        }
        self.starvation.longest(&self.harness.lab.meters())
    }
}
