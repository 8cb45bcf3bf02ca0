//! One chosen order of moves with client processes, on real servers: somebody else says who moves next, and time
//! passes only when nobody can move.

use crate::run::{
    race::racer::{self, Racer},
    session::{EngineError, attended::attended, free::Chosen, performer::State, stage::actor_id},
};
use crate::{
    clock::Rate,
    lesson::Path,
    log::{ActorId, Choice, EventKind, Log, Stop},
};

/// An order that was carried out.
#[derive(Debug, Clone)]
pub struct Walk {
    /// What happened.
    pub log: Log,
    /// How many moves there were.
    pub moves: usize,
    /// Whether somebody could still have moved when the bound was reached.
    pub cut: bool,
}

/// Choices that were carried out.
#[derive(Debug, Clone)]
pub struct Carried {
    /// What happened, with a stop after every choice.
    pub log: Log,
    /// Each choice in few words: `A.acquire`, `freeze A`, `+3.001 s`.
    pub told: Vec<String>,
}

impl Racer {
    /// Carries out one order. `choose` is asked before every move with everybody who can make one, in the lesson's
    /// order, and gives the place of whoever does.
    ///
    /// # Errors
    /// A server or a client failed, or a program cannot cope with a reply.
    pub async fn walk(
        &mut self,
        most_moves: usize,
        choose: &mut (impl FnMut(&[ActorId]) -> usize + Send),
    ) -> Result<Walk, EngineError> {
        if self.spoilt {
            self.renew().await?;
        }
        let vitals = self.director.stage.lab.vitals();
        match attended(&vitals, self.in_order(most_moves, choose)).await {
            Ok(walk) => Ok(walk),
            Err(error) => Err(self.director.stage.or_death(error).await),
        }
    }

    async fn in_order(
        &mut self,
        most_moves: usize,
        choose: &mut (impl FnMut(&[ActorId]) -> usize + Send),
    ) -> Result<Walk, EngineError> {
        self.set_out().await?;
        let mut moves = 0;
        let cut = loop {
            let able = self.able();
            if able.is_empty() {
                if self.director.next_timer().is_none() {
                    break false;
                }
                self.let_time_pass().await?;
                continue;
            }
            if moves == most_moves {
                break true;
            }
            moves += 1;
            let actor = able[choose(&able).min(able.len() - 1)];
            self.let_move(actor).await?;
        };
        let log = self.come_home().await?;
        Ok(Walk { log, moves, cut })
    }

    /// Carries out these choices and nothing else.
    ///
    /// # Errors
    /// A server or a client failed, a program cannot cope with a reply, or a choice cannot be made.
    pub async fn carry_out(&mut self, choices: &[Choice]) -> Result<Carried, EngineError> {
        if self.spoilt {
            self.renew().await?;
        }
        let vitals = self.director.stage.lab.vitals();
        match attended(&vitals, self.one_by_one(choices)).await {
            Ok(carried) => Ok(carried),
            Err(error) => Err(self.director.stage.or_death(error).await),
        }
    }

    async fn one_by_one(&mut self, choices: &[Choice]) -> Result<Carried, EngineError> {
        self.set_out().await?;
        let mut told = Vec::new();
        for choice in choices {
            told.push(self.take_choice(choice).await?);
        }
        let item = choices.len().saturating_sub(1);
        let stop = Stop::End;
        self.director.recorder.record(EventKind::Stop { item, stop });
        let log = self.come_home().await?;
        Ok(Carried { log, told })
    }

    /// Makes one choice, and says in few words what it was.
    pub(crate) async fn take_choice(&mut self, choice: &Choice) -> Result<String, EngineError> {
        let before = self.director.log().len();
        let label = match choice {
            Choice::Move { actor } => self.label(*actor),
            _ => String::new(),
        };
        // A dead process does not come back.
        self.spoilt |= matches!(choice, Choice::Cause(fault) if fault.killed_client().is_some());
        match self.director.choose(choice).await? {
            Chosen::Done => Ok(self.in_words(choice, &label, before)),
            Chosen::Refused(why) => Err(self.director.mistake(&programs(), why.en)),
        }
    }

    /// The operation that an actor stands before. Whoever waits for a notification may not get it with its move, so what the
    /// move makes happen does not say it.
    fn label(&self, actor: ActorId) -> String {
        let performer = self.director.performers.get(actor.0 as usize);
        match performer.map(|performer| &performer.state) {
            Some(State::Ready(operation)) => operation.label.clone(),
            _ => String::new(),
        }
    }

    fn in_words(&self, choice: &Choice, label: &str, before: usize) -> String {
        let events = self.director.log().events();
        match choice {
            Choice::Move { actor } => format!("{}.{label}", self.director.name(*actor)),
            Choice::Timer | Choice::Pass { .. } => {
                let from = events[before].at;
                format!("+{:.3} s", self.director.clock.now().since(from).as_secs_f64())
            }
            Choice::Cause(fault) => fault.to_string(),
        }
    }

    /// Everybody before the first move, time stopped.
    pub(crate) async fn set_out(&mut self) -> Result<(), EngineError> {
        if self.spoilt {
            self.renew().await?;
        }
        self.fire_watches().await;
        // Time begins with a whole millisecond, so that the same waits end in the same order each time.
        self.reset(0, Rate::PAUSED, &programs()).await?;
        self.director.forget_seen();
        self.director.observe().await
    }

    /// Who can make a move.
    pub(crate) fn able(&self) -> Vec<ActorId> {
        let director = &self.director;
        let able = |n: &usize| {
            matches!(director.performers[*n].state, State::Ready(_))
                && !director.stage.stands_still(actor_id(*n))
        };
        (0..director.performers.len()).filter(able).map(actor_id).collect()
    }

    /// An actor's next move, with all that follows from it at once.
    pub(crate) async fn let_move(&mut self, actor: ActorId) -> Result<(), EngineError> {
        let path = programs();
        let director = &mut self.director;
        if let Some(op) = director.send(actor, &path).await? {
            director.land(op, &path).await?;
        }
        // A mutex that was given back is on its way to the next in line, and a notification to whoever watches.
        if !director.flights.by_op.is_empty() || !director.stage.refuses_at_once {
            director.settle(&path).await?;
        }
        Ok(())
    }

    /// Time passes to the next timer, and everybody whose wait is over goes on.
    pub(crate) async fn let_time_pass(&mut self) -> Result<(), EngineError> {
        let path = programs();
        self.director.go_to_next_timer(&path).await?;
        self.director.clock.set_rate(Rate::PAUSED)?;
        Ok(())
    }

    /// The log of an order that is over, with what the servers hold at its end.
    pub(crate) async fn come_home(&mut self) -> Result<Log, EngineError> {
        let left = racer::keeps_local_locks(self.director.log()) || keeps_transactions(self.director.log());
        self.spoilt |= !self.director.flights.by_op.is_empty() || left;
        for state in self.director.stage.observe().await? {
            self.director.recorder.record(EventKind::State(state));
        }
        self.director.left_story = false;
        let log = self.take_log();
        // Whoever is still stopped runs again, for the next order.
        for thaw in self.director.stage.thaws() {
            self.director.cause(&thaw, &programs()).await?;
        }
        self.watched.extend(watched_paths(&log));
        Ok(log)
    }

    /// A watch that was left on a znode that is not there would tell the next order of what it does. It fires when
    /// the znode is made, before anybody begins.
    async fn fire_watches(&mut self) {
        for path in std::mem::take(&mut self.watched) {
            let mut parents: Vec<&str> = path.match_indices('/').map(|(at, _)| &path[..at]).collect();
            parents.push(&path);
            for path in parents.into_iter().filter(|path| !path.is_empty()) {
                self.make_znode(path).await;
            }
        }
    }
}

/// The znodes that somebody left a watch on.
fn watched_paths(log: &Log) -> Vec<String> {
    let asked = log.events().iter().filter_map(|event| match &event.kind {
        EventKind::Sent { wire, .. } => {
            let mut words = wire.split(' ');
            let verb = words.next()?;
            let watches = matches!(verb, "exists" | "get" | "ls") && words.next() == Some("-w");
            words.next().filter(|_| watches).map(str::to_owned)
        }
        _ => None,
    });
    asked.collect()
}

/// Whether somebody's connection is left in the middle of a transaction.
fn keeps_transactions(log: &Log) -> bool {
    let mut open = std::collections::HashSet::new();
    for event in log.events() {
        if let EventKind::Sent { actor, wire, server, .. } = &event.kind {
            match wire.split(' ').next().unwrap_or_default().to_ascii_uppercase().as_str() {
                "MULTI" => drop(open.insert((*actor, server))),
                "EXEC" | "DISCARD" => drop(open.remove(&(*actor, server))),
                _ => {}
            }
        }
    }
    !open.is_empty()
}

fn programs() -> Path {
    Path::root().key("programs")
}
