//! Waiting for operations that are in transit: for replies, for what holds them up, and for all to come as far as they
//! can.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use super::{OperationPlace, PendingOperation, WithheldReply};
use crate::{
    client::protocol::Response,
    lab::{LinkState, Waiting},
    lesson::{Mistake, Path, plan::PlannedOperation},
    log::{ActorId, Fault, OpId, Reply},
    run::session::{
        RunError, client::ClientState, director::Director, faults::LinkSettles, harness::Arrived,
        supervision::ANSWERS_WITHIN, time::LONGEST_LINE,
    },
    text::both,
};

/// How long free play waits for a reply before the next choice, in real time.
const FREE_PLAY_PATIENCE: Duration = Duration::from_secs(3);

/// How long nothing arrives before a server is asked whether it blocks an operation, and how often it is
/// asked. Real time.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(3);

/// How long a server that has not answered may take, in real time, to show whether it answers others.
const LOOKS_WITHIN: Duration = Duration::from_secs(1);

/// How long a server may take, in real time, to end a wait that has timed out.
pub(super) const ENDS_WITHIN: Duration = Duration::from_millis(500);

impl Director {
    /// Waits until an operation has its reply, is known to wait for another actor, or cannot be answered
    /// because a link is cut or held or the client is frozen.
    pub(crate) async fn await_reply(&mut self, mut op: OpId, path: &Path) -> Result<(), RunError> {
        let mut silent = Instant::now();
        op = self.redirects.follow(op);
        self.harness.flush().await?;
        while let Some(pending) = self.pending.by_op.get(&op).cloned()
            && !self.pending.withheld.contains_key(&op)
        {
            let waits_inside = pending.waits_inside();
            let PendingOperation { actor, operation, server, may_wait, waits, place, .. } = pending;
            let is_read = place == OperationPlace::ReplyPassed && self.harness.runs(actor);
            if !is_read && self.harness.is_delayed(actor, &server) {
                return self.await_delayed(path).await;
            }
            if !is_read && !self.harness.reachable(actor, &server) {
                self.await_server(op, (actor, &server), path).await?;
                break;
            }
            let unheard = silent.elapsed();
            if may_wait && (waits_inside || unheard >= LOOK_EVERY) && self.waits_inside(op).await? {
                break;
            }
            let followed = self.left_story && self.recorder.is_followed();
            // While a story waits for a reply, the servers' clock runs at the speed of real time.
            let asked = if waits <= LONGEST_LINE { waits } else { Duration::ZERO };
            let gives_up = self.scenario.lab().topology().gives_up;
            let patience = if followed { FREE_PLAY_PATIENCE } else { ANSWERS_WITHIN + asked + gives_up };
            let next = if may_wait { LOOK_EVERY } else { patience };
            let Ok(arrived) = tokio::time::timeout(next, self.harness.next()).await else {
                if silent.elapsed() < patience {
                    continue;
                }
                if followed {
                    // The learner sees that there is no reply yet, and may act on it.
                    break;
                }
                if self.harness.is_stopped() {
                    silent = Instant::now();
                    continue;
                }
                return Err(self.unanswered((actor, &operation), &server, patience, path).await);
            };
            silent = Instant::now();
            match arrived? {
                Arrived::Response(_, Response::Blocked { op: known }) if known == op => {
                    if let Some(pending) = self.pending.by_op.get_mut(&op) {
                        pending.place = OperationPlace::InClient;
                    }
                    break;
                }
                Arrived::Response(_, Response::Done { op: known, reply }) if known == op && !waits_inside => {
                    // Replies that this operation unblocked come after its own, and what its own program does
                    // after the reply is withheld meanwhile. An error comes before it: this operation was
                    // answered because another one was chosen as the victim of a deadlock.
                    self.pending.withheld.insert(op, WithheldReply { reply, then: Vec::new() });
                    self.gather_replies(path).await?;
                    let own = self.pending.withheld.remove(&op);
                    self.hand_out_withheld(|reply| matches!(reply, Reply::Error { .. }), path)?;
                    if let Some(own) = own {
                        self.hand_out(op, own, path)?;
                    }
                }
                arrived => self.handle(arrived, path)?,
            }
            op = self.redirects.follow(op);
            self.harness.flush().await?;
        }
        // What a program prints right after its reply comes before the replies that its move brought about.
        if self.scenario.is_attached() && !self.pending.withheld.is_empty() {
            Box::pin(self.receive_reports(path)).await?;
        }
        self.hand_out_withheld(|_| true, path)
    }

    /// As [`Director::await_reply`], but also returns once the operation is known to be blocked inside its
    /// server.
    pub(crate) async fn await_reply_or_wait(&mut self, op: OpId, path: &Path) -> Result<(), RunError> {
        if let Some(pending) = self.pending.by_op.get_mut(&op) {
            pending.may_wait = true;
        }
        self.await_reply(op, path).await
    }

    /// Handles a client's report. Returns the number of replies in it: 0 or 1.
    pub(crate) fn handle_arrived(&mut self, arrived: Arrived, path: &Path) -> Result<usize, RunError> {
        let is_reply = matches!(arrived, Arrived::Response(_, Response::Done { .. }));
        if let Arrived::Response(_, Response::Blocked { op }) = &arrived
            && let Some(pending) = self.pending.by_op.get_mut(op)
        {
            pending.place = OperationPlace::InClient;
        }
        self.handle(arrived, path)?;
        self.hand_out_withheld(|_| true, path)?;
        Ok(usize::from(is_reply))
    }

    /// Waits until all servers of a client, or just `server`, have noticed that its connections are closed.
    /// While a command is blocked inside a server, the server does not notice that the connection of the
    /// command is closed.
    pub(crate) async fn await_disconnected(
        &mut self,
        client: &str,
        server: Option<&str>,
        waited: &[(PendingOperation, Option<i64>)],
    ) -> Result<(), RunError> {
        let mut sessions: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        for ((actor, to), session) in &self.sessions {
            let waits =
                |(pending, _): &(PendingOperation, _)| pending.actor == *actor && pending.server == *to;
            let lives_there = self.scenario.actor(*actor).actor.client == client;
            if lives_there && server.is_none_or(|server| server == to) && !waited.iter().any(waits) {
                sessions.entry(to.clone()).or_default().push(*session);
            }
        }
        let servers: BTreeSet<&String> =
            waited.iter().map(|(pending, _)| &pending.server).chain(sessions.keys()).collect();
        let began = Instant::now();
        for server in servers {
            let own = sessions.get(server).map_or(&[][..], Vec::as_slice);
            while began.elapsed() < ENDS_WITHIN && self.harness.answers(server)? {
                let known = self.pending.inside().filter(|(_, pending)| pending.server == *server).count();
                let waiting = self.harness.lab.waiting(server).await?;
                let left = matches!(waiting, Waiting::Number(number) if number > known);
                if !left && self.harness.lab.have_ended(server, own).await? {
                    break;
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
        Ok(())
    }

    /// Waits until every request over a delayed link is answered or in transit: a server answers what has
    /// arrived before time goes on.
    pub(crate) async fn await_delayed(&mut self, path: &Path) -> Result<(), RunError> {
        while let Some(settled) = self.unsettled()? {
            tokio::pin!(settled);
            tokio::select! {
                () = &mut settled => {}
                arrived = self.harness.next_within(2 * ANSWERS_WITHIN) => self.handle(arrived?, path)?,
            }
        }
        Ok(())
    }

    /// For the first delayed link that has less in transit than its client waits for: a future that resolves
    /// when it has as much. `None` if there is no such link.
    fn unsettled(&self) -> Result<Option<impl Future<Output = ()> + use<>>, RunError> {
        for (id, state) in self.harness.lab.link_states() {
            if !matches!(state, LinkState::Delayed(..)) {
                continue;
            }
            let waits = self.pending.by_op.values().filter(|pending| {
                let client = self.harness.client(pending.actor);
                client.name == id.from
                    && client.state == ClientState::Running
                    && pending.server == id.to
                    && pending.waits.is_zero()
                    && !pending.waits_inside()
            });
            let waits = waits.count();
            if let Some(link) = self.harness.lab.link_control(id)
                && link.in_transit() < waits
                && self.harness.answers(&id.to)?
            {
                return Ok(Some(link.carries(waits)));
            }
        }
        Ok(None)
    }

    /// The error for an operation that its server does not answer although it runs and no link holds the
    /// reply.
    async fn unanswered(
        &self,
        (actor, operation): (ActorId, &PlannedOperation),
        server: &str,
        silent: Duration,
        path: &Path,
    ) -> RunError {
        let (name, seconds) = (self.name(actor), silent.as_secs());
        let label = &operation.label;
        let place = operation.path.clone().unwrap_or_else(|| path.clone());
        let mut own = self.pending.by_op.values().filter(|pending| pending.actor == actor);
        let (sent, waits) =
            own.next().map_or((false, Duration::ZERO), |pending| (pending.may_wait, pending.waits));
        let looked = tokio::time::timeout(LOOKS_WITHIN, self.harness.lab.observe()).await;
        let (why, help) = if waits > LONGEST_LINE {
            let (seconds, minutes) = (waits.as_secs(), LONGEST_LINE.as_secs() / 60);
            (
                both!(
                    "is asked to wait for {seconds} s, and no line of a story may take more than {minutes} minutes",
                    "被要求等待 {seconds} 秒，而一条剧情最多 {minutes} 分钟"
                ),
                Some(both!(
                    "write a shorter time, or `- send: {name}.{label}` and `- pass` after it",
                    "请写短一些，或者写 `- send: {name}.{label}`，再用 `- pass` 让时间过去"
                )),
            )
        } else if matches!(looked, Ok(Ok(_))) {
            (
                both!(
                    "answers others meanwhile, so this command waits for something that nobody does",
                    "还在应答别人，说明这条命令在等一件没人做的事"
                ),
                (!sent).then(|| {
                    both!(
                        "a move ends with its reply; `- send: {name}.{label}` lets others go on before",
                        "收到回复一步才算完；`- send: {name}.{label}` 可以让别人先走"
                    )
                }),
            )
        } else {
            let busy = both!(
                "answers nobody meanwhile: this command keeps it busy, such as a script that does not end",
                "谁也不应答：它被这条命令占住了，比如一个不会结束的脚本"
            );
            (busy, None)
        };
        let message = both!(
            "`{name}.{label}` has had no reply for {seconds} s of real time; `{server}` {why}",
            "`{name}.{label}` 在实际时间 {seconds} 秒内没有回复；`{server}` {why}",
            why
        );
        let mistake = Mistake::new(&place, message);
        let mistake = help.into_iter().fold(mistake, Mistake::help);
        self.scenario.loaded.source.place(&mistake).into()
    }

    /// Waits for the replies that may come after a link was released or a process thawed.
    pub(crate) async fn await_replies(&mut self, path: &Path) -> Result<(), RunError> {
        let in_flight =
            self.pending.by_op.iter().filter(|(_, pending)| pending.place != OperationPlace::InClient);
        let in_flight = in_flight.map(|(op, _)| *op).collect();
        self.await_all(in_flight, path).await
    }

    async fn await_all(&mut self, mut ops: Vec<OpId>, path: &Path) -> Result<(), RunError> {
        ops.sort_unstable();
        for op in ops {
            self.await_reply(op, path).await?;
        }
        Ok(())
    }

    /// Waits until the operations whose connections a fault broke are over, their replies lost.
    pub(crate) async fn await_broken(&mut self, fault: &Fault, path: &Path) -> Result<(), RunError> {
        let broken = |(op, pending): (&OpId, &PendingOperation)| {
            let client = self.harness.client_of[pending.actor.0 as usize];
            self.harness.breaks(fault, client, &pending.server).then_some(*op)
        };
        let broken: Vec<OpId> = self.pending.by_op.iter().filter_map(broken).collect();
        for op in &broken {
            // The client learns of the break at once, even if the server goes on waiting.
            if let Some(pending) = self.pending.by_op.get_mut(op).filter(|pending| pending.waits_inside()) {
                (pending.may_wait, pending.place) = (false, OperationPlace::InTransit);
            }
        }
        self.await_all(broken, path).await
    }

    /// Waits until an operation whose reply is not reported now has come as far as it can: its request or its
    /// reply is held, or the reply has passed to a client that is frozen.
    async fn await_server(
        &mut self,
        op: OpId,
        (actor, server): (ActorId, &str),
        path: &Path,
    ) -> Result<(), RunError> {
        // Each operation has a connection of its own, on which its request or its reply is held.
        let sent = self.pending.by_op.iter().filter(|(_, other)| {
            other.server == server
                && !other.waits_inside()
                && self.harness.share_a_process(other.actor, actor)
        });
        let sent: Vec<OpId> = sent.map(|(op, _)| *op).collect();
        let mut held = match self.harness.link_settles(actor, server, sent.len())? {
            None => return Ok(()),
            Some(LinkSettles::Holds(held)) => held,
            Some(LinkSettles::Passes(passed)) => {
                let waits = |pending: &PendingOperation| pending.waits_inside() || !pending.waits.is_zero();
                if !self.pending.by_op.values().any(waits) && passed.await {
                    for op in sent {
                        self.pending
                            .by_op
                            .entry(op)
                            .and_modify(|pending| pending.place = OperationPlace::ReplyPassed);
                    }
                }
                return Ok(());
            }
        };
        let may_wait = self.pending.by_op.get(&op).is_some_and(|pending| pending.may_wait);
        while self.pending.by_op.contains_key(&op) {
            tokio::select! {
                () = &mut held => return Ok(()),
                arrived = self.harness.next() => self.handle(arrived?, path)?,
                () = tokio::time::sleep(LOOK_EVERY), if may_wait => {
                    if self.waits_inside(op).await? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }
}
