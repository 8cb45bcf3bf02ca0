//! One actor's place in its program. Pure: it says which operation is next and what a reply makes of the
//! actor's beliefs; it must not know how operations are carried out, and what time it is only as it is told.

use std::sync::Arc;

use minijinja::Value;

use crate::{
    client::protocol::{Wire, ZkCall},
    clock::LessonTime,
    lesson::{
        expr::{Scope, Template, json_value},
        parse_millis,
        plan::{ActorPlan, Instruction, PlannedOperation, PlannedVerb, Program, ZkPlan},
    },
    log::{Belief, Reply},
};

/// How many statements may follow each other without an operation: a loop without one would never end.
const MOST_STATEMENTS: usize = 100_000;

/// An actor's place in its program.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    program: Arc<Program>,
    at: usize,
    scope: Scope,
    repeats: Vec<i64>,
    tokens: Tokens,
}

/// Owner tokens: a fresh one for each acquisition (it stays until the actor wants a lock again after a drop,
/// because the release needs it), because a token shared by two acquisitions protects
/// neither (Redis documentation, "Distributed locks", suggests 20 random bytes; these are short to be read on a screen).
#[derive(Debug, Clone)]
struct Tokens {
    name: String,
    seed: u64,
    issued: u64,
    /// Whether the lock that the last one was for has been dropped.
    used: bool,
}

impl Tokens {
    fn next(&mut self) -> Value {
        // SplitMix64 (Steele, Lea, Flood 2014): a token follows from the seed, the name and its number.
        let mut x = self
            .name
            .bytes()
            .fold(self.seed, |hash, byte| hash.rotate_left(7) ^ u64::from(byte));
        x = x.wrapping_add((self.issued + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.issued += 1;
        self.used = false;
        Value::from(format!("{}-{:04x}", self.name, (x >> 31) & 0xffff))
    }
}

/// What an actor does without a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    /// It believes something else of a lock.
    Believes(String, Belief),
    /// It counts.
    Counted(String),
}

/// What is next.
#[derive(Debug, Clone)]
pub(super) enum Next {
    /// This operation.
    Operation(Arc<PlannedOperation>),
    /// Nothing: the program is over.
    Finished,
}

/// What a reply leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// The operation is done.
    Onward,
    /// It is to be tried again after so many milliseconds.
    Again(i64),
}

impl Machine {
    /// An actor before its first step.
    pub(super) fn new(plan: &ActorPlan, seed: u64) -> Self {
        let tokens = Tokens {
            name: plan.actor.name.clone(),
            seed,
            issued: 0,
            used: false,
        };
        let mut machine = Self {
            program: Arc::clone(&plan.program),
            at: 0,
            scope: plan.scope.clone(),
            repeats: Vec::new(),
            tokens,
        };
        let token = machine.tokens.next();
        machine.scope.set_outermost("token", token);
        machine.scope.set_outermost("reply", Value::from(()));
        machine.scope.set_outermost("error", Value::from(()));
        machine
    }

    /// Tells the actor the time: the name `now`, until it is told another.
    pub(super) fn tell_time(&mut self, now: LessonTime) {
        self.scope.set_outermost("now", now.as_millis().into());
    }

    /// Carries out statements up to the next operation.
    ///
    /// # Errors
    /// An expression failed, or the program runs in a circle without an operation.
    pub(super) fn advance(&mut self, effects: &mut Vec<Effect>) -> Result<Next, String> {
        for _ in 0..MOST_STATEMENTS {
            let Some(instruction) = self.program.instructions.get(self.at) else {
                return Ok(Next::Finished);
            };
            match instruction {
                Instruction::Operate(operation) => return Ok(Next::Operation(Arc::clone(operation))),
                Instruction::Stop => return Ok(Next::Finished),
                Instruction::Believe { lock, belief } => {
                    effects.push(Effect::Believes(lock.clone(), *belief));
                    match belief {
                        Belief::Nothing => self.tokens.used = true,
                        // Whoever begins to want a lock again does so under a new token.
                        Belief::Waiting | Belief::Holding if self.tokens.used => {
                            let token = self.tokens.next();
                            self.scope.set_outermost("token", token);
                        }
                        _ => {}
                    }
                }
                Instruction::Count { counter } => effects.push(Effect::Counted(counter.clone())),
                Instruction::Set { name, value } => {
                    let value = value.eval(self.scope.value())?;
                    self.scope.set(name, value);
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
                    let bound = text
                        .trim()
                        .parse()
                        .map_err(|_| format!("`repeat: {text}` is not a number"))?;
                    self.repeats.push(bound);
                }
                Instruction::RepeatNext { condition, exit } => {
                    let (condition, exit) = (condition.clone(), *exit);
                    let left = self.repeats.last().copied().unwrap_or(0);
                    let again = match &condition {
                        Some(condition) => condition.eval(self.scope.value())?.is_true(),
                        None => left > 0,
                    };
                    if again && left <= 0 {
                        return Err("a `repeat … while` reached its bound (`at_most`)".to_owned());
                    }
                    if again {
                        if let Some(last) = self.repeats.last_mut() {
                            *last -= 1;
                        }
                    } else {
                        self.repeats.pop();
                        self.at = exit;
                        continue;
                    }
                }
                Instruction::Enter { with } => {
                    let names = self.scope.value();
                    let values = with
                        .iter()
                        .map(|(name, template)| {
                            let text = template.render(&names)?;
                            // A figure stays a figure on its way into a recipe.
                            let value = text
                                .parse::<i64>()
                                .map_or_else(|_| Value::from(text), Value::from);
                            Ok((name.clone(), value))
                        })
                        .collect::<Result<_, String>>()?;
                    self.scope.enter(values);
                }
                Instruction::Leave => self.scope.leave(),
            }
            self.at += 1;
        }
        Err("the program runs in a circle without ever reaching an operation".to_owned())
    }

    /// Takes in a reply to the operation that was next.
    ///
    /// # Errors
    /// The reply is an error that the program does not allow, or an expression failed.
    pub(super) fn replied(&mut self, operation: &PlannedOperation, reply: &Reply) -> Result<After, String> {
        let (value, error) = match reply {
            Reply::Value(value) => (json_value(value), Value::from(())),
            Reply::Error { code, text } => {
                if !operation.allow.iter().any(|allowed| allowed == code) {
                    let label = &operation.label;
                    return Err(format!(
                        "`{label}` was answered with the error {code} {text}\n  help: where the program can cope \
                         with it, write `allow: [{code}]`"
                    ));
                }
                (Value::from(()), Value::from(code.as_str()))
            }
            Reply::Lost(_) => {
                if !operation.allow.iter().any(|allowed| allowed == "Lost") {
                    return Err(format!(
                        "the reply to `{}` was lost\n  help: where the program can cope with it, write `allow: \
                         [Lost]`",
                        operation.label
                    ));
                }
                (Value::from(()), Value::from("Lost"))
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
            return Ok(After::Again(wait));
        }
        self.at += 1;
        Ok(After::Onward)
    }

    /// A wait is over.
    pub(super) fn waited(&mut self) {
        self.at += 1;
    }

    /// A duration in milliseconds.
    pub(super) fn millis(&self, template: &Template) -> Result<i64, String> {
        parse_millis(&template.render(&self.scope.value())?)
    }

    /// A text with this actor's values filled in.
    pub(super) fn render(&self, template: &Template) -> Result<String, String> {
        template.render(&self.scope.value())
    }

    /// The operation's wire command with all values filled in; `None` for a wait and for taking a
    /// notification, which send nothing.
    pub(super) fn wire(&self, operation: &PlannedOperation, server: String) -> Result<Option<Wire>, String> {
        wire(&operation.verb, server, &self.scope.value())
    }
}

/// A verb with all values filled in.
pub(super) fn wire(verb: &PlannedVerb, server: String, names: &Value) -> Result<Option<Wire>, String> {
    let all = |templates: &[Template]| {
        templates
            .iter()
            .map(|t| t.render(names))
            .collect::<Result<Vec<_>, _>>()
    };
    Ok(Some(match verb {
        PlannedVerb::Redis(words) => Wire::Redis {
            server,
            words: all(words)?,
        },
        PlannedVerb::Script {
            name,
            source,
            keys,
            args,
        } => Wire::Script {
            server,
            name: name.clone(),
            source: source.to_string(),
            keys: all(keys)?,
            args: all(args)?,
        },
        PlannedVerb::Zk(plan) => Wire::Zookeeper {
            server,
            call: zk_call(plan, names)?,
        },
        PlannedVerb::Local { lock, name } => Wire::Local {
            lock: *lock,
            name: name.render(names)?,
        },
        PlannedVerb::Wait(_) | PlannedVerb::Take(_) => return Ok(None),
    }))
}

fn zk_call(plan: &ZkPlan, names: &Value) -> Result<ZkCall, String> {
    Ok(match plan {
        ZkPlan::Create {
            ephemeral,
            sequential,
            path,
            data,
        } => ZkCall::Create {
            ephemeral: *ephemeral,
            sequential: *sequential,
            path: path.render(names)?,
            data: data
                .as_ref()
                .map(|data| data.render(names))
                .transpose()?
                .unwrap_or_default(),
        },
        ZkPlan::Delete { path } => ZkCall::Delete {
            path: path.render(names)?,
        },
        ZkPlan::Exists { watch, path } => ZkCall::Exists {
            watch: *watch,
            path: path.render(names)?,
        },
        ZkPlan::Get { watch, path } => ZkCall::Get {
            watch: *watch,
            path: path.render(names)?,
        },
        ZkPlan::Ls { watch, path } => ZkCall::Ls {
            watch: *watch,
            path: path.render(names)?,
        },
        ZkPlan::Set { path, data, version } => {
            let version = version
                .as_ref()
                .map(|version| version.render(names))
                .transpose()?;
            let number = |text: String| {
                text.parse()
                    .map_err(|_| format!("`{text}` is not a version: it must be a number"))
            };
            ZkCall::Set {
                path: path.render(names)?,
                data: data.render(names)?,
                version: version.map(number).transpose()?,
            }
        }
    })
}
