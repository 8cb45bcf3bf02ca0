//! What may happen next in a run, and why a choice cannot be made.

use super::director::Director;
use crate::{
    log::{
        ActorId, Choice,
        outlook::{ActorOutlook, Blocked, Next, Outlook, Timer},
    },
    program::{Request, State},
    text::{Text, Words},
};

const FROZEN: Words = Words::new(
    "{} cannot move: its process is frozen. Thaw it first.",
    "{} 动不了：进程被冻结了，先让它恢复。",
);
const DEAD: Words = Words::new(
    "{} cannot move: it is dead. Start again, or go back and branch.",
    "{} 动不了：它已经死了。可以重来，或者回退后另开分支。",
);
const FINISHED: Words = Words::new("{} cannot move: its program is over.", "{} 动不了：它的程序已经执行完。");
/// What it waits for stands in the list of clients.
const WAITS: Words = Words::new(
    "{} cannot move: it waits until {}. Let time pass.",
    "{} 动不了：它在等待，到 {} 为止。先让时间前进。",
);
const UNANSWERED: Words =
    Words::new("{} cannot move: `{}` has not been answered yet.", "{} 动不了：`{}` 还没有收到回复。");
const UNNOTIFIED: Words =
    Words::new("{} cannot move: it waits for a notification about {}.", "{} 动不了：它在等关于 {} 的通知。");
const BUSY: Words = Words::new(
    "{} cannot move: its program sends nothing now. It waits for something that is not time.",
    "{} 动不了：它的程序现在没有发送请求，在等待与时间无关的事情。",
);
const IN_OWN_TIME: Words = Words::new(
    "{} cannot move: its program sends nothing now. Its waits are not known, and pass in real time: it may go on at any \
     moment.",
    "{} 动不了：它的程序现在没有发送请求。它在等什么无从得知，而且按真实时间进行，随时可能继续。",
);
const COMPUTES: Words = Words::new(
    "{} cannot move: its program does not come to rest. It computes, or reads the clock until time has passed. Let \
     time pass.",
    "{} 动不了：它的程序一直停不下来，可能在计算，或者在反复读时钟、等时间过去。先让时间前进。",
);
const NO_CLIENT: Words = Words::new("There is no such client.", "没有这个客户端。");
const NO_TIMER: Words = Words::new(
    "Nobody waits for time to pass. Let an amount of time pass instead.",
    "没有人在等待计时。可以直接让时间前进一段。",
);

impl Director {
    pub(crate) fn outlook(&self) -> Outlook {
        let actors = self.actors.ids().map(|actor| self.actor_outlook(actor)).collect();
        let inside = self.next_end();
        let timer = self.next_timer();
        let timer = timer.map(|(actor, at)| Timer { actor, at, in_server: inside == Some((actor, at)) });
        Outlook { actors, timer, faults: self.harness.possible_faults() }
    }

    fn actor_outlook(&self, actor: ActorId) -> ActorOutlook {
        let frozen = self.harness.is_frozen(actor);
        let home = actor;
        let actor = &self.actors[actor];
        let next = match actor.state() {
            State::Ready(operation) | State::InFlight { operation } | State::Taking { operation, .. } => {
                let server = self.harness.server_of(home, operation.on.as_deref());
                let (server, wire) = match actor.foresee(self.clock.now(), server) {
                    Some(Ok(Request::Command(wire)))
                        if operation.on.is_none() && self.scenario.lab().is_cluster() =>
                    {
                        (self.node_of(home, &wire.command), wire.command.to_string())
                    }
                    Some(Ok(Request::Command(wire))) => (wire.server, wire.command.to_string()),
                    Some(Ok(Request::Notification(from, _))) => (String::new(), from.join(", ")),
                    Some(Err(why)) => (String::new(), why.en),
                    None => Default::default(),
                };
                Some(Next { label: operation.label.clone(), server, wire })
            }
            State::Waiting { label, .. } => Some(Next { label: label.clone(), ..Next::default() }),
            State::Outside { .. } => Some(Next::default()),
            State::Finished | State::Dead => None,
        };
        let blocked = match actor.state() {
            State::Dead => Some(Blocked::Dead),
            State::Finished => Some(Blocked::Finished),
            _ if frozen => Some(Blocked::Frozen),
            State::Ready(_) => None,
            State::InFlight { .. } => Some(Blocked::Unanswered),
            State::Taking { .. } => Some(Blocked::Unnotified),
            State::Waiting { until, .. } => Some(Blocked::Waits { until: *until }),
            State::Outside { .. } => Some(match actor.waits_until() {
                Some(until) => Blocked::Waits { until },
                None if actor.activity().is_some_and(|activity| activity.busy) => Blocked::Computes,
                None if actor.activity().is_some_and(|activity| activity.own_time) => Blocked::InOwnTime,
                None => Blocked::Busy,
            }),
        };
        let unconnected = actor.activity().is_some_and(|activity| !activity.connected);
        ActorOutlook { next, blocked, unconnected }
    }

    /// Why a choice cannot be made now, or `None` if it can as far as is known. A fault may still be refused
    /// when it is injected.
    pub(crate) fn refusal(&self, choice: &Choice) -> Option<Text> {
        let actor = match choice {
            Choice::Move { actor } => *actor,
            Choice::Timer => {
                let ends = self.next_timer().is_some()
                    || self.next_session_end().is_some()
                    || self.next_abandoned_end().is_some();
                return (!ends).then(|| NO_TIMER.text(&[]));
            }
            Choice::Pass { .. } | Choice::Inject(_) => return None,
        };
        if self.actors.get(actor).is_none() {
            return Some(NO_CLIENT.text(&[]));
        }
        let ActorOutlook { next, blocked, .. } = self.actor_outlook(actor);
        let name = self.name(actor);
        let next = next.unwrap_or_default();
        Some(match blocked? {
            Blocked::Frozen => FROZEN.text(&[name]),
            Blocked::Dead => DEAD.text(&[name]),
            Blocked::Finished => FINISHED.text(&[name]),
            Blocked::Waits { until } => WAITS.text(&[name, &until.brief()]),
            Blocked::Unanswered => UNANSWERED.text(&[name, &next.wire]),
            Blocked::Busy => BUSY.text(&[name]),
            Blocked::InOwnTime => IN_OWN_TIME.text(&[name]),
            Blocked::Computes => COMPUTES.text(&[name]),
            Blocked::Unnotified => UNNOTIFIED.text(&[name, &next.wire]),
        })
    }
}
