//! One chosen order of moves with client processes, on real servers: somebody else says who moves next, and time
//! passes only when nobody can move. It must not know which orders there are, nor what is looked for in them.

use super::super::{EngineError, Racer, performer::State, race, stage::actor_id, time::after_grain};
use crate::{
    clock::Rate,
    lesson::Path,
    log::{ActorId, Choice, EventKind, Fault, Log, Stop},
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
    /// Each choice in few words: `A.acquire`, `freeze A`, `+3.002 s`.
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
        match self.in_order(most_moves, choose).await {
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
        match self.one_by_one(choices).await {
            Ok(carried) => Ok(carried),
            Err(error) => Err(self.director.stage.or_death(error).await),
        }
    }

    async fn one_by_one(&mut self, choices: &[Choice]) -> Result<Carried, EngineError> {
        self.set_out().await?;
        self.director.observe().await?;
        let mut told = Vec::new();
        for (item, choice) in choices.iter().enumerate() {
            let before = self.director.log().len();
            self.director.recorder.record(EventKind::Chose(choice.clone()));
            let stop = self.choose(choice).await?;
            self.director.settle(&programs()).await?;
            self.director.observe().await?;
            told.push(self.in_words(choice, before));
            self.director.recorder.record(EventKind::Stop { item, stop });
        }
        if let Some(item) = choices.len().checked_sub(1) {
            let stop = Stop::End;
            self.director.recorder.record(EventKind::Stop { item, stop });
        }
        let log = self.come_home().await?;
        Ok(Carried { log, told })
    }

    /// Makes one choice.
    pub(super) async fn choose(&mut self, choice: &Choice) -> Result<Stop, EngineError> {
        match choice {
            Choice::Move { actor } => {
                if !self.able().contains(actor) {
                    let name = self.director.name(*actor).to_owned();
                    let why =
                        format!("{name} can make no move here, although it could when this order was found");
                    return Err(self.director.mistake(&programs(), why));
                }
                self.let_move(*actor).await?;
                Ok(Stop::Move)
            }
            Choice::Timer => {
                self.let_time_pass().await?;
                Ok(Stop::Passed)
            }
            Choice::Pass { millis } => {
                let path = programs();
                let millis = i64::try_from(*millis).unwrap_or(i64::MAX);
                self.director.pass(millis, &[], &path).await?;
                self.director.clock.set_rate(Rate::PAUSED)?;
                Ok(Stop::Passed)
            }
            Choice::Cause(fault) => {
                self.director.cause(fault, &programs()).await?;
                // A dead process does not come back, and one that is stopped makes no move in the next order.
                self.spoilt |= matches!(fault, Fault::Crash { .. } | Fault::Freeze { .. });
                Ok(Stop::Fault)
            }
        }
    }

    fn in_words(&self, choice: &Choice, before: usize) -> String {
        let events = self.director.log().events();
        match choice {
            Choice::Move { actor } => {
                let label = events[before..].iter().find_map(|event| match &event.kind {
                    EventKind::Sent {
                        actor: who, label, ..
                    }
                    | EventKind::Took {
                        actor: who, label, ..
                    } if who == actor => Some(label.as_str()),
                    _ => None,
                });
                format!("{}.{}", self.director.name(*actor), label.unwrap_or("take"))
            }
            Choice::Timer | Choice::Pass { .. } => {
                let from = events[before].at;
                format!("+{:.3} s", self.director.clock.now().since(from).as_secs_f64())
            }
            Choice::Cause(Fault::Crash { client }) => format!("crash {client}"),
            Choice::Cause(Fault::Freeze { client }) => format!("freeze {client}"),
            Choice::Cause(Fault::Thaw { client }) => format!("thaw {client}"),
            Choice::Cause(other) => format!("{other:?}"),
        }
    }

    /// Everybody before the first move, time stopped.
    pub(super) async fn set_out(&mut self) -> Result<(), EngineError> {
        if self.spoilt {
            self.renew().await?;
        }
        self.reset(0, &programs()).await?;
        self.director.clock.set_rate(Rate::PAUSED)?;
        Ok(())
    }

    /// Who can make a move.
    pub(super) fn able(&self) -> Vec<ActorId> {
        let director = &self.director;
        let able = |n: &usize| {
            matches!(director.performers[*n].state, State::Ready(_))
                && !director.stage.stands_still(actor_id(*n))
        };
        (0..director.performers.len())
            .filter(able)
            .map(actor_id)
            .collect()
    }

    /// An actor's next move, with all that follows from it at once.
    pub(super) async fn let_move(&mut self, actor: ActorId) -> Result<(), EngineError> {
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
    pub(super) async fn let_time_pass(&mut self) -> Result<(), EngineError> {
        let path = programs();
        let director = &mut self.director;
        if let Some((_, due)) = director.next_timer() {
            director.flow_to(after_grain(due), &path).await?;
            director.clock.set_rate(Rate::PAUSED)?;
            director.catch_up(&path)?;
        }
        Ok(())
    }

    /// The log of an order that is over, with what the servers hold at its end.
    pub(super) async fn come_home(&mut self) -> Result<Log, EngineError> {
        let left = race::keeps_local_locks(self.director.log()) || keeps_transactions(self.director.log());
        self.spoilt |= !self.director.flights.by_op.is_empty() || left;
        for state in self.director.stage.observe().await? {
            self.director.recorder.record(EventKind::State(state));
        }
        Ok(self.take_log())
    }
}

/// Whether somebody's connection is left in the middle of a transaction.
fn keeps_transactions(log: &Log) -> bool {
    let mut open = std::collections::HashSet::new();
    for event in log.events() {
        if let EventKind::Sent {
            actor, wire, server, ..
        } = &event.kind
        {
            match wire
                .split(' ')
                .next()
                .unwrap_or_default()
                .to_ascii_uppercase()
                .as_str()
            {
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
