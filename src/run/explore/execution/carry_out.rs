//! Carries out a list of choices with client processes on real servers.

use std::time::Duration;

use super::time_command;
use crate::{
    clock::{LessonTime, Rate},
    lab::LabOptions,
    lesson::{LabKind, Path, Scenario},
    log::{ActorId, Choice, EventKind, Fault, Log, Product, Stop},
    program::Actor,
    run::{
        explore::CarriedOut,
        race::racer::{Holder, Racer},
        session::{
            RunError, harness::session_timeout_ms, setup::Connections, supervision::supervised,
            time::LEAPS_IN_TIMEOUT,
        },
    },
};

/// The length of an order after which Lockstep's own sessions are opened anew: half their timeout.
const OWN_SESSIONS_LAST: LessonTime = LessonTime::from_millis(15_000);

/// Carries out one order on a lab of its own.
///
/// # Errors
/// As [`Racer::carry_out`].
pub(crate) async fn carry_out(
    scenario: &Scenario,
    options: &LabOptions,
    choices: Vec<Choice>,
) -> Result<CarriedOut, RunError> {
    let mut racer = Racer::set_up(scenario, options).await?;
    let carried = racer.carry_out(choices).await;
    racer.tear_down().await;
    carried
}

impl Racer {
    pub async fn carry_out(&mut self, choices: Vec<Choice>) -> Result<CarriedOut, RunError> {
        let health = self.director.harness.lab.health();
        let carried = supervised(&health, self.carry_out_choices(choices)).await;
        self.director.harness.explained(carried).await
    }

    async fn carry_out_choices(&mut self, choices: Vec<Choice>) -> Result<CarriedOut, RunError> {
        self.begin_order().await?;
        let mut moves: Vec<String> = Vec::new();
        for (n, choice) in choices.iter().enumerate() {
            let words = self.take_choice(choice).await?;
            // One step may consist of several choices: a server is killed and restarted, a reply is held and
            // dropped.
            let Choice::Inject(fault) = choice else {
                moves.push(words);
                continue;
            };
            let was_lost = || matches!(choices[n - 1], Choice::Inject(Fault::Drop { .. }));
            match (fault, moves.last_mut()) {
                (Fault::Hold { .. } | Fault::KillServer { .. }, _) => {}
                (Fault::Drop { .. }, Some(last)) => last.push_str(" (reply lost)"),
                (Fault::Release { .. }, Some(_)) if was_lost() => {}
                _ => moves.push(words),
            }
        }
        let item = choices.len().saturating_sub(1);
        self.director.recorder.record(EventKind::Stop { item, stop: Stop::End });
        let log = self.finish_order().await?;
        Ok(CarriedOut { choices, moves, log })
    }

    /// Makes one choice and returns a short description of it.
    pub(crate) async fn take_choice(&mut self, choice: &Choice) -> Result<String, RunError> {
        if let Choice::Move { actor } = choice {
            self.end_its_wait(*actor).await?;
        }
        let before = self.director.log().len();
        let label = match choice {
            Choice::Move { actor } => self.label(*actor),
            _ => String::new(),
        };
        self.note_damage(choice);
        if let Err(refused) = self.director.choose(choice).await? {
            return Err(self.director.mistake(&programs(), refused.en));
        }
        if let Choice::Inject(Fault::Release { link }) = choice {
            self.director.await_reconnected(link, &programs()).await?;
        }
        Ok(self.describe(choice, &label, before))
    }

    /// Notes what a choice does to the lab that emptying its servers does not undo.
    fn note_damage(&mut self, choice: &Choice) {
        let scenario = &self.director.scenario;
        match choice {
            Choice::Inject(Fault::Freeze { .. } | Fault::Thaw { .. }) => {}
            // The lease of a client of etcd that is dead, or did not learn of its lease, goes on. External programs are
            // started anew for each order.
            Choice::Inject(Fault::Crash { .. }) if !scenario.lab().has(Product::Etcd) => {
                self.needs_clients |= !scenario.is_attached();
            }
            // Clients connect again.
            Choice::Inject(
                Fault::Hold { .. } | Fault::Drop { .. } | Fault::Cut { .. } | Fault::Release { .. },
            ) if !scenario.lab().has(Product::Etcd) => {}
            Choice::Inject(Fault::SkewClient { .. }) => self.needs_restart |= scenario.is_attached(),
            Choice::Inject(_) => self.needs_restart = true,
            _ => {}
        }
    }

    /// Where time runs during moves, a wait may end slightly later than it did when the order was found. Lets
    /// the wait of the actor that moves next end first, as it had ended then.
    async fn end_its_wait(&mut self, actor: ActorId) -> Result<(), RunError> {
        let director = &mut self.director;
        let until = director.actors.get(actor).and_then(Actor::waits_until);
        match until.filter(|_| !director.limits.jump) {
            Some(until) => director.pass_until(until, &[], &programs()).await,
            None => Ok(()),
        }
    }

    /// The label of an actor's next operation. It is read before the move: an actor that waits for a
    /// notification may not get it during the move, whose events then do not name the operation.
    fn label(&self, actor: ActorId) -> String {
        let operation = self.director.actors.get(actor).and_then(Actor::next_operation);
        operation.map(|operation| operation.label.clone()).unwrap_or_default()
    }

    fn describe(&self, choice: &Choice, label: &str, before: usize) -> String {
        let events = self.director.log().events();
        match choice {
            Choice::Move { actor } => format!("{}.{label}", self.director.name(*actor)),
            Choice::Timer | Choice::Pass { .. } => {
                let passed = self.director.clock.now().since(events[before].at);
                format!("+{} s", crate::text::seconds((passed.as_micros() + 500) / 1000))
            }
            Choice::Inject(fault) => fault.to_string(),
        }
    }

    /// Resets everything for the next order and stops time.
    pub(crate) async fn begin_order(&mut self) -> Result<(), RunError> {
        if self.needs_restart {
            self.replace_lab().await?;
        } else if self.needs_clients {
            self.replace_clients().await?;
        }
        self.director.leap = leap(&self.scenario);
        // Lockstep's own sessions may have ended, as no requests were made over them.
        if self.director.clock.now() > OWN_SESSIONS_LAST {
            self.connections = Connections::default();
        }
        // The search answers `TIME` as if each order began at a certain moment.
        if time_command::is_asked_for(&self.scenario) && self.scenario.lab().can_be_restored() {
            self.director.clock.set_rate(Rate::PAUSED)?;
            self.director.clock.set_calendar(time_command::BEGINNING)?;
        }
        // Time begins with a whole millisecond, so that the same waits end in the same order each time.
        self.reset(0, Rate::PAUSED, &programs()).await?;
        self.director.forget_states();
        self.director.observe().await
    }

    /// Ends an order. Returns its log, which closes with what the servers hold.
    pub(crate) async fn finish_order(&mut self) -> Result<Log, RunError> {
        match self.leaves_state() {
            Some(Holder::Server) => self.needs_restart = true,
            // External programs are started anew for each order.
            Some(Holder::Client) => self.needs_clients |= !self.scenario.is_attached(),
            None => {}
        }
        for state in self.director.harness.observe().await? {
            self.director.recorder.record(EventKind::State(state));
        }
        self.director.left_story = false;
        let log = self.take_log();
        if self.scenario.is_attached() {
            // The next order begins with fresh processes.
            return Ok(log);
        }
        // The next order begins without frozen clients and cut links.
        let harness = &self.director.harness;
        for mended in harness.thaws().into_iter().chain(harness.releases()) {
            self.director.inject_fault(&mended, &programs()).await?;
        }
        self.watched.extend(watched_paths(&log));
        Ok(log)
    }
}

/// The longest time that an order may jump over on a server whose clock may not jump.
fn leap(scenario: &Scenario) -> Duration {
    let lab = scenario.lab();
    let leaps = |part: &LabKind| *part == LabKind::Zookeeper || part.topology().jump;
    if !lab.has(Product::Zookeeper) || !lab.parts().iter().all(leaps) {
        return Duration::ZERO;
    }
    Duration::from_millis(session_timeout_ms(&scenario.settings())) / LEAPS_IN_TIMEOUT
}

/// The names on which watches may remain.
fn watched_paths(log: &Log) -> Vec<String> {
    let asked = log.events().iter().filter_map(|event| match &event.kind {
        EventKind::Sent { command, .. } => command.watched().map(str::to_owned),
        _ => None,
    });
    asked.collect()
}

fn programs() -> Path {
    Path::root().key("programs")
}
