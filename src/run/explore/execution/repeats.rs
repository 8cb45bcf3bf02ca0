//! External programs need not be deterministic. An order can be continued only where they do the same as
//! before when the same moves are repeated, so after every step each is compared with what it did the first
//! time.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;

use super::trail::without_numbers;
use crate::{
    clock::LessonTime,
    lesson::{Scenario, plan::PlannedVerb},
    log::{ActorId, Belief, Event, EventKind, Product, Reply},
    program::{Actors, State},
    run::explore::{ExploreError, Pick},
    text::{Text, both},
    verdict::compare::RandomValues,
};

/// Waits that end at most this far apart end at the same time: languages round them, and servers count
/// milliseconds.
const SAME_TIME_MS: u64 = 2;

/// What actors did, by the steps that were taken.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    known: HashMap<Vec<Pick>, Vec<StepRecord>>,
    /// The steps of the current order, and their descriptions.
    steps: Vec<Pick>,
    words: Vec<String>,
    /// The random values of the current order.
    drawn: RandomValues,
    /// The number of steps in a row up to now in which only time passed.
    idle: usize,
}

/// What an actor did in a step, and last, what it is about to do.
type StepRecord = (ActorId, Vec<Action>);

/// Commands and replies are texts in which random values are replaced by numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Action {
    Answered(String),
    Believes(String, Belief),
    Asks(String),
    AwaitsReply(String),
    WaitsUntil(LessonTime),
    Waits,
    Finished,
    GaveUp,
}

impl Repeats {
    /// Begins another order.
    pub(super) fn begin(&mut self) {
        self.steps.clear();
        self.words.clear();
        self.drawn = RandomValues::default();
        self.idle = 0;
    }

    /// Notes that a step was taken.
    pub(super) fn step(&mut self, pick: Pick, words: String) {
        self.idle = if pick.is_time() { self.idle + 1 } else { 0 };
        self.steps.push(pick);
        self.words.push(words);
    }

    /// The number of steps in a row up to now in which only time passed.
    pub(super) fn idle(&self) -> usize {
        self.idle
    }

    /// Notes what happened since the last step. Fails if it differs from the first time. `exact`: whether
    /// waits must end at the same times again.
    pub(super) fn compare(
        &mut self,
        scenario: &Scenario,
        actors: &Actors,
        events: &[Event],
        exact: bool,
    ) -> Result<(), ExploreError> {
        let mut now: Vec<StepRecord> = Vec::new();
        // Programs run concurrently, so the order in which their reports arrive is random.
        for actor in actors.ids() {
            let mut actions = Vec::new();
            for event in events.iter().filter(|event| event.kind.actor() == Some(actor)) {
                match &event.kind {
                    EventKind::Replied { label, reply, .. } => {
                        actions.push(Action::Answered(self.answer(label, reply)));
                    }
                    EventKind::Believes { lock, belief, .. } => {
                        actions.push(Action::Believes(lock.clone(), *belief));
                    }
                    _ => {}
                }
            }
            actions.push(match actors[actor].state() {
                State::Ready(operation) => {
                    let command = match &operation.verb {
                        PlannedVerb::Given(command) => command.to_string(),
                        _ => operation.label.clone(),
                    };
                    let command = self.drawn.without_random(&command);
                    Action::Asks(match &operation.on {
                        Some(server) if scenario.lab().servers().len() > 1 => {
                            format!("{command} at {server}")
                        }
                        _ => command,
                    })
                }
                State::InFlight { operation } => Action::AwaitsReply(operation.label.clone()),
                State::Finished => Action::Finished,
                State::Dead => Action::GaveUp,
                _ => match actors[actor].waits_until().filter(|_| exact) {
                    Some(until) => Action::WaitsUntil(until),
                    None => Action::Waits,
                },
            });
            now.push((actor, actions));
        }
        let Some(first) = self.known.get(&self.steps) else {
            self.known.insert(self.steps.clone(), now);
            return Ok(());
        };
        for ((actor, one), (_, other)) in first.iter().zip(&now) {
            // Both end with what the actor is about to do, so if one is longer they differ before that.
            if let Some((one, other)) = one.iter().zip(other).find(|(one, other)| !one.is_same(other)) {
                return Err(self.not_repeated(scenario, *actor, one, other));
            }
        }
        Ok(())
    }

    fn not_repeated(
        &self,
        scenario: &Scenario,
        actor: ActorId,
        first: &Action,
        again: &Action,
    ) -> ExploreError {
        let name = &scenario.actor(actor).actor.name;
        let (first, again) = (first.text(), again.text());
        let order = self.order();
        let after = if order.is_empty() {
            both!("At the beginning", "在一开始")
        } else {
            both!("After {order}", "在 {order} 之后")
        };
        let runs = if scenario.lab().product() == Product::Zookeeper {
            both!(
                ". On ZooKeeper time runs while programs are at work, so what waits for time may come sooner or later: programs \
                 with timers can be raced, or stepped through",
                "。在 ZooKeeper 上，程序执行时时间照常流逝，等时间的操作会时早时晚：带定时器的程序可以并发竞争，也可以单步执行"
            )
        } else {
            Text::default()
        };
        ExploreError::NotRepeated(both!(
            "these programs cannot be explored: exploring makes the same moves again and again, and {name} does not do the \
             same each time. {after}, {name} {first}, and when the same moves were made again it {again}. The likely reason is a \
             process number, a short random token, a random delay, several threads, or something that it reads from \
             elsewhere, such as the date. Take a UUID for each attempt as token, which is recognised (16 or more \
             hexadecimal digits are); for the rest a fixed delay, a fixed seed, one thread. Or race the programs: with `R` on the screen of the \
             run, or those of a lesson with `lockstep race`{runs}",
            "这些程序无法穷举：穷举要把同样的操作一遍遍重做，而 {name} 每次做的不一样。{after}，{name} 第一次{first}，同样的操作重做\
             时却{again}。多半是因为用了进程号、太短的随机令牌、随机的延迟或多个线程；也可能是它从别处读到了不同的东西，比如日期。令牌请每次\
             用一个 UUID，这能被认出来（16 位以上的十六进制数都可以）；其余的请用固定延迟、固定随机种子、单线程。或者改用并发竞争：在运行的界面按 `R`，课程里的程序也可以用 `lockstep race`{runs}",
            after,
            first,
            again,
            runs
        ))
    }

    /// The steps that were taken. A series of steps in which only time passes is abbreviated and counted.
    fn order(&self) -> String {
        let mut actions: Vec<String> = Vec::new();
        let taken: Vec<(&Pick, &String)> = self.steps.iter().zip(&self.words).collect();
        for steps in taken.chunk_by(|(one, _), (other, _)| one.is_time() && other.is_time()) {
            match steps {
                [(_, first), _, .., (_, last)] => {
                    actions.push(format!("{first} … {last} (×{})", steps.len()));
                }
                few => actions.extend(few.iter().map(|(_, words)| (*words).clone())),
            }
        }
        actions.join(" → ")
    }

    /// A reply as a text without random values.
    fn answer(&mut self, label: &str, reply: &Arc<Reply>) -> String {
        match &*without_numbers(reply) {
            Reply::Value(Value::Array(children)) if label == "ls" => self.drawn.children(children),
            reply => self.drawn.without_random(&reply.to_string()),
        }
    }
}

impl Action {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::WaitsUntil(until), Self::WaitsUntil(again)) => {
                until.as_millis().abs_diff(again.as_millis()) <= SAME_TIME_MS
            }
            _ => self == other,
        }
    }

    fn text(&self) -> Text {
        match self {
            Self::Answered(reply) => both!("was answered with {reply}", "得到的回复是 {reply}"),
            Self::Believes(lock, belief) => {
                let word = match belief {
                    Belief::Holding => "HOLDS",
                    Belief::Sharing => "SHARES",
                    Belief::Waiting => "WAITS",
                    _ => "DROPS",
                };
                both!("printed `{word} {lock}`", "打印了 `{word} {lock}`")
            }
            Self::Asks(command) => both!("was about to send `{command}`", "要发送 `{command}`"),
            Self::AwaitsReply(label) => {
                both!("waited for the reply to `{label}`", "在等 `{label}` 的回复")
            }
            Self::WaitsUntil(until) => both!("waited until {until}", "要等到 {until}"),
            Self::Waits => both!("waited", "在等待"),
            Self::Finished => both!("had ended", "已经结束"),
            Self::GaveUp => both!("had ended with an error", "已经出错退出"),
        }
    }
}
