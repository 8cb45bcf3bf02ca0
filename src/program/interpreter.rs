//! The interpreter of one actor's program: determines the next operation and applies replies.

use std::sync::Arc;

use minijinja::Value;

use super::{command, live::LiveNames, times::Times};
use crate::{
    client::protocol::Wire,
    clock::LessonTime,
    lesson::{
        Path,
        expr::{Scope, Template, json_value, within_allowance},
        parse_millis,
        plan::{ActorPlan, Instruction, PlannedOperation, PlannedVerb, Program, passed},
    },
    log::{ActorId, Belief, EventKind, Reply},
    text::{Text, both},
};

/// The number of statements that may run in a row without an operation; it stops a loop that contains none.
const MOST_STATEMENTS: usize = 100_000;

/// A program in progress: the current instruction and the variables.
#[derive(Debug, Clone)]
pub(crate) struct Interpreter {
    pub(super) program: Arc<Program>,
    at: usize,
    scope: Scope,
    repeats: Vec<i64>,
    tokens: Tokens,
    /// How far the client's clock is ahead, in milliseconds.
    pub(crate) ahead_ms: i64,
}

/// Owner tokens, a fresh one for each acquisition: a token shared by two acquisitions protects neither (Redis
/// documentation, "Distributed locks", suggests 20 random bytes; these are short to be readable on a screen). A token
/// stays after a drop until the actor wants a lock again, because the release needs it.
#[derive(Debug, Clone)]
struct Tokens {
    name: String,
    seed: u64,
    issued: u64,
    /// Whether the actor has dropped the lock that the current token was issued for.
    used: bool,
}

impl Tokens {
    fn next(&mut self) -> Value {
        // SplitMix64 (Steele, Lea, Flood 2014): a token is a function of the seed, the actor's name and the token's
        // number.
        let mut x = self.name.bytes().fold(self.seed, |hash, byte| hash.rotate_left(7) ^ u64::from(byte));
        x = x.wrapping_add((self.issued + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.issued += 1;
        self.used = false;
        Value::from(format!("{}-{:04x}", self.name, (x >> 31) & 0xffff))
    }
}

/// Where execution stopped after a sequence of statements.
pub(crate) enum Next {
    Operation(Arc<PlannedOperation>),
    /// The program has ended.
    End,
    /// A `repeat … while` has used up its bound, and its condition is still true.
    NoRoundLeft,
}

/// What the actor does after a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// The operation is complete.
    Done,
    /// The operation is retried after this many milliseconds.
    Retry(i64),
}

impl Interpreter {
    /// An actor's program before its first statement.
    pub(crate) fn new(plan: &ActorPlan, seed: u64) -> Self {
        let tokens = Tokens { name: plan.actor.name.clone(), seed, issued: 0, used: false };
        let mut interpreter = Self {
            program: Arc::clone(&plan.program),
            at: 0,
            scope: plan.scope.clone(),
            repeats: Vec::new(),
            tokens,
            ahead_ms: 0,
        };
        let token = interpreter.tokens.next();
        interpreter.scope.set_outermost("token", token);
        interpreter.scope.set_outermost("reply", Value::from(()));
        interpreter.scope.set_outermost("error", Value::from(()));
        interpreter
    }

    /// The current instruction and all values that may still be read, as a text. `now` is left out, because it is set
    /// again before anything reads it. `bounded`: also includes the rounds left of loops that end by a condition.
    pub(super) fn local_state(&self, live: &LiveNames, bounded: bool) -> String {
        let reads = |name: &str| name != "now" && live.is_live(self.at, name);
        let tokens = live.is_live(self.at, "token").then_some(&self.tokens);
        let values = self.scope.described(reads);
        let program = Arc::as_ptr(&self.program);
        let around =
            self.program.instructions[..self.at].iter().filter_map(|instruction| match instruction {
                Instruction::RepeatNext { condition, exit } if *exit > self.at => Some(condition.is_some()),
                _ => None,
            });
        let around: Vec<bool> = around.collect();
        let counts = |n: usize| bounded || around.get(n) != Some(&true);
        let left = self.repeats.iter().enumerate().map(|(n, left)| counts(n).then_some(*left));
        let left: Vec<_> = left.collect();
        format!("{program:p} {} {left:?} {} {tokens:?} {values}", self.at, self.ahead_ms)
    }

    /// Sets the name `now` to the client's time, which may be wrong, until the next call. The length of a wait does not
    /// depend on this clock, just as timers of a real machine do not depend on its wall clock.
    pub(crate) fn set_time(&mut self, now: LessonTime) {
        self.scope.set_outermost("now", now.as_millis().saturating_add(self.ahead_ms).into());
    }

    /// Makes the times that variables hold earlier.
    pub(crate) fn make_earlier(&mut self, times: &Times, millis: i64) {
        let degrees = times.degrees();
        self.scope.add_to(degrees.map(|(name, degree)| (name, millis.saturating_mul(-i64::from(degree)))));
    }

    /// Executes statements up to the next operation. Assignments directly before that operation are left to
    /// [`Interpreter::begin`], unless it is a wait, which begins at once.
    pub(crate) fn advance(&mut self, actor: ActorId, events: &mut Vec<EventKind>) -> Result<Next, Text> {
        within_allowance(|| self.advance_within(actor, events))
    }

    fn advance_within(&mut self, actor: ActorId, events: &mut Vec<EventKind>) -> Result<Next, Text> {
        let program = Arc::clone(&self.program);
        for _ in 0..MOST_STATEMENTS {
            if let Some(operation) = self.upcoming_operation() {
                if matches!(operation.verb, PlannedVerb::Wait(_)) {
                    self.begin()?;
                }
                return Ok(Next::Operation(operation));
            }
            let Some(instruction) = program.instructions.get(self.at) else { return Ok(Next::End) };
            match instruction {
                Instruction::Stop => return Ok(Next::End),
                Instruction::Believe { lock, belief } => {
                    let lock = lock.render(&self.scope.value())?;
                    events.push(EventKind::Believes { actor, lock, belief: *belief });
                    match belief {
                        Belief::Nothing => self.tokens.used = true,
                        // An actor that wants a lock again after a drop gets a new token.
                        Belief::Waiting | Belief::Holding | Belief::Sharing if self.tokens.used => {
                            let token = self.tokens.next();
                            self.scope.set_outermost("token", token);
                        }
                        _ => {}
                    }
                }
                Instruction::Count { counter } => {
                    events.push(EventKind::Counted { actor, counter: counter.clone(), by: 1 });
                }
                Instruction::JumpUnless { condition, to } => {
                    if !condition.eval(self.scope.value())?.is_true() {
                        self.at = *to;
                        continue;
                    }
                }
                Instruction::Jump { to } => {
                    self.at = *to;
                    continue;
                }
                Instruction::RepeatBegin { bound } => {
                    let text = bound.render(&self.scope.value())?;
                    let bound = text.trim().parse().map_err(|_| {
                        both!("`repeat: {text}` is not a number", "`repeat: {text}` 不是数字")
                    })?;
                    self.repeats.push(bound);
                }
                Instruction::RepeatNext { condition, exit } => {
                    let left = self.repeats.last().copied().unwrap_or(0);
                    let again = match condition {
                        Some(condition) => condition.eval(self.scope.value())?.is_true(),
                        None => left > 0,
                    };
                    self.repeats.pop();
                    if !again {
                        self.at = *exit;
                        continue;
                    }
                    if left <= 0 {
                        return Ok(Next::NoRoundLeft);
                    }
                    self.repeats.push(left - 1);
                }
                assignment => self.assign(assignment)?,
            }
            self.at += 1;
        }
        Err(both!(
            "the program runs in a circle without ever reaching an operation",
            "程序一直在原地打转，走不到任何操作"
        ))
    }

    /// Where the author wrote the current instruction, if that is known.
    pub(crate) fn place(&self) -> Option<&Path> {
        let Program { believes, conditions, .. } = &*self.program;
        let mut known = believes.iter().chain(conditions);
        known.find(|(at, _)| *at == self.at).map(|(_, path)| path)
    }

    /// The next operation, if only assignments and jumps come before it: nothing that others could observe, and no
    /// condition.
    fn upcoming_operation(&self) -> Option<Arc<PlannedOperation>> {
        let mut at = self.at;
        loop {
            match self.program.instructions.get(at)? {
                Instruction::Operate(operation) => return Some(Arc::clone(operation)),
                Instruction::Set { .. } | Instruction::Enter { .. } | Instruction::Leave => at += 1,
                // An unconditional jump leads past an `else` or back to the condition of a loop.
                Instruction::Jump { to } => at = *to,
                _ => return None,
            }
        }
    }

    /// Begins the operation: executes the assignments directly before it only now, so that `now` is the time at which
    /// the operation is sent, however long that is after the previous reply. Does nothing when the operation is
    /// retried.
    pub(crate) fn begin(&mut self) -> Result<(), Text> {
        let program = Arc::clone(&self.program);
        within_allowance(|| {
            while let Some(instruction) = program.instructions.get(self.at) {
                match instruction {
                    Instruction::Operate(_) => break,
                    Instruction::Jump { to } => self.at = *to,
                    assignment => {
                        self.assign(assignment)?;
                        self.at += 1;
                    }
                }
            }
            Ok(())
        })
    }

    /// Executes an instruction that only sets variables.
    fn assign(&mut self, instruction: &Instruction) -> Result<(), Text> {
        match instruction {
            Instruction::Set { name, value } => {
                let value = value.eval(self.scope.value())?;
                self.scope.set(name, value);
            }
            Instruction::Enter { with, .. } => {
                let names = self.scope.value();
                let values = with
                    .iter()
                    .map(|(name, template)| {
                        let text = template.render(&names)?;
                        Ok((name.clone(), passed(text)))
                    })
                    .collect::<Result<_, Text>>()?;
                self.scope.enter(values);
            }
            Instruction::Leave => self.scope.leave(),
            _ => {}
        }
        Ok(())
    }

    /// Applies the reply to the current operation.
    pub(crate) fn apply_reply(&mut self, operation: &PlannedOperation, reply: &Reply) -> Result<After, Text> {
        let label = &operation.label;
        let (value, error) = match reply {
            Reply::Value(value) => (json_value(value), Value::from(())),
            Reply::Error { code, .. } if operation.allows(code) => {
                (Value::from(()), Value::from(code.as_str()))
            }
            Reply::Error { code, text } => {
                // No `allow` is suggested: Redis answers every malformed command with `ERR`, and these MariaDB codes
                // mean that a statement is malformed or names something that does not exist.
                let help = match code.as_str() {
                    "ERR" => both!("put the command right", "请改正这条命令"),
                    "1046" | "1049" | "1052" | "1054" | "1064" | "1109" | "1136" | "1146" | "1305"
                    | "1364" => {
                        both!("put the statement right", "请改正这条语句")
                    }
                    code => both!(
                        "where the program can cope with it, write `allow: [{code}]`",
                        "程序能应付时，请写 `allow: [{code}]`"
                    ),
                };
                let said = format!("{code} {text}");
                let said = said.trim_end();
                return Err(helped(
                    &both!("`{label}` was answered with the error {said}", "`{label}` 的回复是错误 {said}"),
                    &help,
                ));
            }
            // A lost reply is not nil: the server may or may not have carried out the command.
            Reply::Lost(_) if operation.allows("Lost") => {
                let lost = Value::from("Lost");
                (if self.program.reads_lost { lost.clone() } else { Value::from(()) }, lost)
            }
            Reply::Lost(_) => {
                return Err(helped(
                    &both!("the reply to `{label}` was lost", "`{label}` 的回复丢失了"),
                    &both!(
                        "where the program can cope with it, write `allow: [Lost]`",
                        "程序能应付时，请写 `allow: [Lost]`"
                    ),
                ));
            }
        };
        self.scope.set_outermost("reply", value.clone());
        self.scope.set_outermost("error", error);
        self.scope.set_outermost(&operation.label, value);
        if let Some(until) = &operation.until
            && !until.eval(self.scope.value())?.is_true()
        {
            let wait = match &operation.every {
                Some(every) => self.millis(every)?,
                None => 0,
            };
            return Ok(After::Retry(wait));
        }
        self.at += 1;
        Ok(After::Done)
    }

    /// Moves past a wait that is over.
    pub(crate) fn finish_wait(&mut self) {
        self.at += 1;
    }

    pub(crate) fn millis(&self, template: &Template) -> Result<i64, Text> {
        parse_millis(&template.render(&self.scope.value())?)
    }

    /// Renders a template with this actor's values.
    pub(crate) fn render(&self, template: &Template) -> Result<String, Text> {
        Ok(template.render(&self.scope.value())?)
    }

    /// Returns the operation's wire command with all values filled in, or `None` for a wait and for taking a
    /// notification, which send nothing.
    pub(crate) fn wire(&self, operation: &PlannedOperation, server: String) -> Result<Option<Wire>, Text> {
        command::fill_in(&operation.verb, server, &self.scope.value())
    }
}

/// A message with a help line, in the format in which the command line shows both.
fn helped(message: &Text, help: &Text) -> Text {
    Text::from_fn(|lang| {
        let word = both!("help", "提示");
        format!("{}\n  {}{}{}", message.get(lang), word.get(lang), lang.colon(), help.get(lang))
    })
}

/// The message without its help line, which is meant for the author of the lesson.
pub(crate) fn without_help(message: &Text) -> Text {
    let first = |text: &str, mark: &str| text.split(mark).next().unwrap_or_default().to_owned();
    Text { en: first(&message.en, "\n  help:"), zh: first(&message.zh, "\n  提示：") }
}
