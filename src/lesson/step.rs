//! The steps of a program: operations, each of which is one wire command, and statements that react to the replies.
//! Grammar only.

use std::fmt;

use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::{
    error::{Path, custom},
    story::OneOrMany,
};
use crate::{
    log::{Belief, Product},
    text::{Text, both},
};

#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// `- label: { redis: … }`: an operation, which an actor performs as one move.
    Operation { label: String, operation: Operation },
    /// `- holds: lock`, `waits`, `unsure` or `drops`: from here on the client believes this of the lock. Its name is a
    /// template.
    Believe { lock: String, belief: Belief },
    /// `- count: sold`: increments the counter.
    Count { counter: String },
    /// `- let: { name: expression }`: evaluated when the next operation begins, if that follows directly.
    Let { values: IndexMap<String, String> },
    /// `- if: expression`, `then: […]`, `else: […]`
    If { condition: String, then: Vec<Step>, otherwise: Vec<Step> },
    /// `- repeat: […]`, with `times: 3` or `while: expression`, and `at_most: 100`.
    Repeat {
        steps: Vec<Step>,
        /// The number of rounds: a number or `${…}`.
        times: Option<super::model::Count>,
        /// Repeats while this expression is true. It is evaluated before each round.
        condition: Option<String>,
        /// The bound of a `while`: the program fails when it is reached.
        at_most: u32,
        /// `as: i`: a name whose value is 1 in the first round, 2 in the second, and so on.
        number: Option<String>,
    },
    /// `- use: recipe`, `with: { … }`: the steps of another program, with values for its parameters.
    Use {
        program: String,
        /// The values of the parameters: templates.
        with: IndexMap<String, String>,
    },
    /// `- stop`: the program ends here.
    Stop,
}

impl Step {
    /// All of these steps, those inside `if` and `repeat` included, in the order of the text.
    pub(crate) fn each(steps: &[Self]) -> impl Iterator<Item = &Self> {
        Self::each_at(steps, &Path::root()).map(|(step, _)| step)
    }

    /// The same, each with its path. `at` is that of the list.
    pub(crate) fn each_at<'s>(
        steps: &'s [Self],
        at: &Path,
    ) -> impl Iterator<Item = (&'s Self, Path)> + use<'s> {
        let listed = |steps: &'s [Self], at: Path| {
            steps.iter().enumerate().rev().map(move |(n, step)| (step, at.index(n)))
        };
        let mut open: Vec<_> = listed(steps, at.clone()).collect();
        std::iter::from_fn(move || {
            let (step, at) = open.pop()?;
            match step {
                Self::If { then, otherwise, .. } => {
                    open.extend(listed(otherwise, at.key("else")));
                    open.extend(listed(then, at.key("then")));
                }
                Self::Repeat { steps, .. } => open.extend(listed(steps, at.key("repeat"))),
                _ => {}
            }
            Some((step, at))
        })
    }
}

/// The bound of a `repeat` with `while` that gives no `at_most`.
pub const DEFAULT_AT_MOST: u32 = 1000;

/// An operation: one command, script, call or wait.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(with = "RawOperation")]
pub struct Operation {
    /// What is sent or done.
    pub verb: Verb,
    /// The server that gets the command. Default: the only server of the lab.
    pub on: Option<String>,
    /// Retries the operation until this expression is true.
    pub until: Option<String>,
    /// How long to wait between tries.
    pub every: Option<String>,
    /// Error codes of the server that the program handles; any other error stops the run.
    pub allow: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Verb {
    /// A Redis command in the syntax of `redis-cli`. Each word is a template.
    Redis(String),
    /// A Lua script by its name.
    Script {
        name: String,
        /// `KEYS`: templates.
        keys: Vec<String>,
        /// `ARGV`: templates.
        args: Vec<String>,
    },
    /// A call to another product, in the syntax of its own client. Each word is a template.
    Call(Product, String),
    /// `lock NAME` or `unlock NAME`: a mutex inside the client's own process.
    Local(String),
    /// A file to lock with `flock(2)`, in the syntax of `flock(1)`.
    Flock(String),
    /// Lets time pass: work, or a pause.
    Wait(String),
    /// Takes a notification that has arrived, or waits for one.
    Take(Take),
}

/// `take: /lock`, or `take: { from: /lock, within: 30s }`
#[derive(Debug, Clone, PartialEq)]
pub struct Take {
    /// The subjects to accept: `any`, paths or channels. Templates.
    pub from: Vec<String>,
    /// How long to wait at most. Without it, there is no limit.
    pub within: Option<String>,
}

/// `{ from: /lock, within: 30s }`
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Take")]
struct RawTake {
    /// A path or a channel, or a list of them: `any` for all.
    from: OneOrMany<String>,
    /// How long to wait at most: a duration.
    within: Option<String>,
}

impl<'de> Deserialize<'de> for Take {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> Visitor<'de> for Form {
            type Value = Take;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a path or a channel, or `{ from: CHANNEL, within: 30s }`")
            }
            fn visit_str<E: Error>(self, from: &str) -> Result<Take, E> {
                Ok(Take { from: vec![from.to_owned()], within: None })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Take, A::Error> {
                let RawTake { from, within } = RawTake::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Take { from: from.0, within })
            }
        }
        deserializer.deserialize_any(Form)
    }
}

impl JsonSchema for Take {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TakeForm".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let form = generator.subschema_for::<RawTake>();
        json_schema!({ "anyOf": [{ "type": "string" }, form] })
    }
}

/// An operation before it has been checked to have exactly one verb.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawOperation {
    /// A Redis command in the syntax of `redis-cli`: `SET lock ${token} NX PX ${lease}`.
    redis: Option<String>,
    /// A Lua script, by the name that the lesson or the recipes give it.
    script: Option<String>,
    /// The script's KEYS.
    #[serde(default)]
    keys: Vec<String>,
    /// The script's ARGV.
    #[serde(default)]
    args: Vec<String>,
    /// A ZooKeeper call in the syntax of `zkCli`: `create -e -s /locks/n- ${self}`, `delete /lock`, `exists -w /lock`,
    /// `get -w /lock`, `ls -w /locks`, `set /lock data`.
    zk: Option<String>,
    /// One SQL statement.
    sql: Option<String>,
    /// An etcd request: `grant 5`, `create lock/${self} A ${lease}`, `keepalive ${lease}`, `before lock/ ${revision}`,
    /// `watch KEY REVISION`, `put-if KEY REVISION OTHER VALUE`.
    etcd: Option<String>,
    /// A mutex inside the client's own process: `lock NAME` or `unlock NAME`.
    local: Option<String>,
    /// A file of the lab to lock with `flock(2)`, for clients that are one process each: `FILE` or `MACHINE/FILE` waits
    /// for the lock, `-n FILE` fails with `EWOULDBLOCK` if another client has it, `-u FILE` unlocks the file.
    flock: Option<String>,
    /// Lets time pass: a duration.
    wait: Option<String>,
    /// Takes a notification, or waits for one: `any`, a path or a channel, or `{ from: CHANNEL, within: 30s }`.
    take: Option<Take>,
    /// The server, if the lab has several.
    on: Option<String>,
    /// Retries the operation until this expression is true.
    until: Option<String>,
    /// How long to wait between tries.
    every: Option<String>,
    /// Error codes that the program handles, such as `NodeExists`.
    #[serde(default)]
    allow: Vec<String>,
}

impl<'de> Deserialize<'de> for Operation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawOperation::deserialize(deserializer)?;
        Self::try_from(raw).map_err(|why| custom(&why))
    }
}

impl TryFrom<RawOperation> for Operation {
    type Error = Text;

    fn try_from(raw: RawOperation) -> Result<Self, Text> {
        let RawOperation {
            redis,
            script,
            keys,
            args,
            zk,
            sql,
            etcd,
            local,
            flock,
            wait,
            take,
            on,
            until,
            every,
            allow,
        } = raw;
        if script.is_none() && !(keys.is_empty() && args.is_empty()) {
            return Err(both!(
                "`keys` and `args` belong to a `script`",
                "`keys` 和 `args` 要和 `script` 一起用"
            ));
        }
        if every.is_some() && until.is_none() {
            return Err(both!(
                "`every` needs an `until` that says when to stop trying",
                "有 `every` 就要有 `until`，说明何时不再重试"
            ));
        }
        if wait.is_some() && until.is_some() {
            return Err(both!(
                "a `wait` gets no reply, so that nothing is tried again `until` something is so: put the `until` and the \
                 `every` on the operation that asks",
                "`wait` 没有回复，谈不上用 `until` 重试：请把 `until` 和 `every` 写到发请求的那个操作上"
            ));
        }
        if on.is_some() && (wait.is_some() || local.is_some() || flock.is_some()) {
            return Err(both!(
                "`on` names a server, and `wait`, `local` and `flock` send nothing to any: leave it out",
                "`on` 指定服务器，而 `wait`、`local`、`flock` 不向任何服务器发送：请去掉它"
            ));
        }
        let verbs = [
            redis.map(Verb::Redis),
            script.map(|name| Verb::Script { name, keys, args }),
            zk.map(|call| Verb::Call(Product::Zookeeper, call)),
            sql.map(|statement| Verb::Call(Product::Mariadb, statement)),
            etcd.map(|call| Verb::Call(Product::Etcd, call)),
            local.map(Verb::Local),
            flock.map(Verb::Flock),
            wait.map(Verb::Wait),
            take.map(Verb::Take),
        ];
        let mut verbs = verbs.into_iter().flatten();
        match (verbs.next(), verbs.next()) {
            (Some(verb), None) => Ok(Self { verb, on, until, every, allow }),
            (None, _) => Err(both!(
                "an operation needs one of: redis, script, zk, sql, etcd, local, flock, wait, take",
                "操作要有以下之一：redis、script、zk、sql、etcd、local、flock、wait、take"
            )),
            (Some(_), Some(_)) => Err(both!(
                "an operation is one wire command: give only one of redis, script, zk, sql, etcd, local, flock, wait, take, and \
                     write the other as a step of its own",
                "一个操作只发一条命令：redis、script、zk、sql、etcd、local、flock、wait、take 只写一个，另一个另写一步"
            )),
        }
    }
}

/// A command that Lockstep sends to a server before the story starts.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// A Redis command, in the syntax of `redis-cli`.
    #[serde(default)]
    pub redis: Option<String>,
    /// A ZooKeeper command, in the syntax of `zkCli`.
    #[serde(default)]
    pub zk: Option<String>,
    /// An SQL statement.
    #[serde(default)]
    pub sql: Option<String>,
    /// An etcd request.
    #[serde(default)]
    pub etcd: Option<String>,
    /// The server that gets the command. Default: the first server of the lab.
    #[serde(default)]
    pub on: Option<String>,
}

impl Setup {
    /// Returns the product and the command, or an error unless exactly one command is given.
    pub(crate) fn command(&self) -> Result<(Product, &str), Text> {
        let given = [
            (Product::Redis, &self.redis),
            (Product::Zookeeper, &self.zk),
            (Product::Mariadb, &self.sql),
            (Product::Etcd, &self.etcd),
        ];
        let mut given = given.iter().filter_map(|(product, text)| Some((*product, text.as_deref()?)));
        match (given.next(), given.next()) {
            (Some(one), None) => Ok(one),
            _ => Err(both!(
                "a setup command is one of `redis: …`, `zk: …`, `sql: …` and `etcd: …`",
                "setup 的每条命令是 `redis: …`、`zk: …`、`sql: …`、`etcd: …` 之一"
            )),
        }
    }
}

/// The fields that belong inside an operation.
pub(crate) const FIELDS: [&str; 14] = [
    "redis", "script", "keys", "args", "zk", "sql", "etcd", "local", "flock", "take", "on", "until", "every",
    "allow",
];

/// The keys of steps that are no operations; they cannot be labels.
pub const KEYWORDS: [&str; 16] = [
    "holds", "waits", "unsure", "drops", "count", "let", "if", "then", "else", "repeat", "times", "while",
    "use", "with", "at_most", "as",
];

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StepVisitor)
    }
}

/// Suggests the step that an author probably meant who wrote a bare command or an assignment.
fn meant_step(text: &str) -> Option<String> {
    if is_command(text) {
        return Some(format!("- got: {{ redis: {text} }}"));
    }
    let (name, value) = text.split_once('=')?;
    let (name, value) = (name.trim_end_matches(':').trim(), value.trim());
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    (is_name && !value.is_empty() && !value.starts_with('=')).then(|| format!("- let: {{ {name}: {value} }}"))
}

/// Whether the text begins like a Redis command, such as `GET lock`.
pub(super) fn is_command(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    first.len() > 1 && first.chars().all(|c| c.is_ascii_uppercase())
}

struct StepVisitor;

impl<'de> Visitor<'de> for StepVisitor {
    type Value = Step;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a step such as `acquire: { redis: … }`, `holds: LOCK`, `if: …`, `use: …` or `stop`")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Step, E> {
        match word {
            "stop" => Ok(Step::Stop),
            other if let Some(meant) = meant_step(other) => Err(custom(&both!(
                "`{other}` alone is no step: write `{meant}`",
                "单独一个 `{other}` 不是步骤：请写 `{meant}`"
            ))),
            other => Err(custom(&both!(
                "`{other}` alone is no step; the only such word is `stop`",
                "单独一个 `{other}` 不是步骤；只有 `stop` 可以单独写"
            ))),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Step, A::Error> {
        let Some(key) = map.next_key::<String>()? else {
            return Err(custom(&both!("an empty step", "空的步骤")));
        };
        let mut believe =
            |belief| -> Result<Step, A::Error> { Ok(Step::Believe { lock: map.next_value()?, belief }) };
        let step = match key.as_str() {
            "holds" => map.next_value::<Held>()?.0,
            "waits" => believe(Belief::Waiting)?,
            "unsure" => believe(Belief::Unsure)?,
            "drops" => believe(Belief::Nothing)?,
            "count" => Step::Count { counter: map.next_value()? },
            "let" => Step::Let { values: map.next_value()? },
            "work" | "wait" => {
                let verb = Verb::Wait(map.next_value()?);
                let operation = Operation { verb, on: None, until: None, every: None, allow: vec![] };
                Step::Operation { label: key.clone(), operation }
            }
            "if" | "repeat" | "use" => return compound(&key, map),
            "then" | "else" | "times" | "while" | "with" | "at_most" | "as" => {
                return Err(custom(&both!(
                    "`{key}` comes after `if`, `repeat` or `use`, in the same step and without a `-` of its own",
                    "`{key}` 要写在 `if`、`repeat` 或 `use` 之后，属于同一步，前面没有 `-`"
                )));
            }
            _ => match map.next_value::<Option<Operation>>()? {
                Some(operation) => Step::Operation { operation, label: key.clone() },
                None if key == "stop" => {
                    return Err(custom(&both!(
                        "`stop` has nothing behind it: write `stop`, without the colon",
                        "`stop` 后面没有内容：请写 `stop`，不带冒号"
                    )));
                }
                None => {
                    return Err(custom(&both!(
                        "the step `{key}` is empty: what belongs to it is indented below it, or stands behind it: \
                         `{key}: {{ redis: … }}`",
                        "步骤 `{key}` 是空的：属于它的内容要缩进写在它下面，或者写在它后面：`{key}: {{ redis: … }}`"
                    )));
                }
            },
        };
        match map.next_key::<String>()? {
            None => Ok(step),
            Some(second) if FIELDS.contains(&second.as_str()) => Err(custom(&both!(
                "`{second}` belongs to the operation: write it inside, `{key}: {{ …, {second}: … }}`",
                "`{second}` 是操作的字段：请写到里面，`{key}: {{ …, {second}: … }}`"
            ))),
            Some(second) => Err(custom(&both!(
                "`{second}` is a second thing in one step: after `{key}`, begin a new step with `- {second}: …`",
                "一步只做一件事，`{second}` 是第二件：`{key}` 之后请另起一步 `- {second}: …`"
            ))),
        }
    }
}

/// Parses the steps that have several keys.
fn compound<'de, A: MapAccess<'de>>(first: &str, mut map: A) -> Result<Step, A::Error> {
    let unknown = |key: &str, known: &[&str]| {
        let known = known.join(", ");
        custom::<A::Error>(&both!(
            "unknown field `{key}`: beside `{first}` there may be {known}",
            "没有名为 `{key}` 的字段：`{first}` 旁边可以写 {known}"
        ))
    };
    match first {
        "if" => {
            let condition = map.next_value()?;
            let (mut then, mut otherwise) = (None, None);
            while let Some(key) = map.next_key::<String>()? {
                match key.as_str() {
                    "then" => then = Some(map.next_value()?),
                    "else" => otherwise = Some(map.next_value()?),
                    other => return Err(unknown(other, &["then", "else"])),
                }
            }
            let then =
                then.ok_or_else(|| custom(&both!("`if` needs a `then: [ … ]`", "`if` 要有 `then: [ … ]`")))?;
            Ok(Step::If { condition, then, otherwise: otherwise.unwrap_or_default() })
        }
        "repeat" => {
            let steps = map.next_value()?;
            let (mut times, mut condition, mut at_most, mut number) = (None, None, DEFAULT_AT_MOST, None);
            while let Some(key) = map.next_key::<String>()? {
                match key.as_str() {
                    "times" => times = Some(map.next_value()?),
                    "while" => condition = Some(map.next_value()?),
                    "at_most" => at_most = map.next_value()?,
                    "as" => number = Some(map.next_value()?),
                    other => return Err(unknown(other, &["times", "while", "at_most", "as"])),
                }
            }
            if times.is_some() == condition.is_some() {
                return Err(custom(&both!(
                    "`repeat` needs either `times` or `while`",
                    "`repeat` 要么写 `times`，要么写 `while`"
                )));
            }
            Ok(Step::Repeat { steps, times, condition, at_most, number })
        }
        _ => {
            let program = map.next_value()?;
            let mut with = IndexMap::new();
            while let Some(key) = map.next_key::<String>()? {
                match key.as_str() {
                    "with" => with = map.next_value::<IndexMap<String, Scalar>>()?,
                    other => return Err(unknown(other, &["with"])),
                }
            }
            Ok(Step::Use { program, with: with.into_iter().map(|(name, value)| (name, value.0)).collect() })
        }
    }
}

/// `holds: lock`, or `holds: { lock: book, mode: shared }`.
struct Held(Step);

impl<'de> Deserialize<'de> for Held {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HeldVisitor;
        impl<'de> Visitor<'de> for HeldVisitor {
            type Value = Held;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a lock, or `{ lock: NAME, mode: shared }`")
            }

            fn visit_str<E>(self, lock: &str) -> Result<Held, E> {
                Ok(Held(Step::Believe { lock: lock.to_owned(), belief: Belief::Holding }))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Held, A::Error> {
                let HeldLock { lock, mode } = HeldLock::deserialize(MapAccessDeserializer::new(map))?;
                let belief = match mode {
                    Mode::Exclusive => Belief::Holding,
                    Mode::Shared => Belief::Sharing,
                };
                Ok(Held(Step::Believe { lock, belief }))
            }
        }
        deserializer.deserialize_any(HeldVisitor)
    }
}

/// A lock, and how it is held.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HeldLock {
    /// The lock.
    lock: String,
    /// How the lock is held. Default: `exclusive`.
    #[serde(default)]
    mode: Mode,
}

/// How a lock is held.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// By one client alone, as by a writer.
    #[default]
    Exclusive,
    /// Shared with other clients, as by readers.
    Shared,
}

/// A template that may also be written as a bare number.
struct Scalar(String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match super::model::Param::deserialize(deserializer)? {
            super::model::Param::Flag(flag) => flag.to_string(),
            super::model::Param::Number(number) => number.to_string(),
            super::model::Param::Word(word) => word,
        }))
    }
}

impl JsonSchema for Step {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Step".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let operation = generator.subschema_for::<RawOperation>();
        let steps = generator.subschema_for::<Vec<Step>>();
        let count = generator.subschema_for::<super::model::Count>();
        let held = generator.subschema_for::<HeldLock>();
        json_schema!({
            "description": "One step of a program: an operation under its label, or one of the words below.",
            "anyOf": [
                { "const": "stop", "description": "The program ends here." },
                {
                    "type": "object",
                    "minProperties": 1,
                    "properties": {
                        "holds": {
                            "anyOf": [{ "type": "string" }, held],
                            "description": "From here on the client believes that it holds this lock."
                        },
                        "waits": { "type": "string", "description": "… that it waits for this lock." },
                        "unsure": { "type": "string", "description": "… that it cannot be sure of this lock." },
                        "drops": { "type": "string", "description": "… that it no longer holds this lock." },
                        "count": { "type": "string", "description": "A counter of the lesson grows by one." },
                        "let": {
                            "type": "object", "additionalProperties": { "type": ["string", "number", "boolean"] },
                            "description": "Names and the expressions that give their values. Right before an operation: evaluated when it is sent."
                        },
                        "work": { "type": "string", "description": "Time passes while the client works." },
                        "wait": { "type": "string", "description": "Time passes." },
                        "if": { "type": "string", "description": "An expression." },
                        "then": steps, "else": steps,
                        "repeat": steps, "times": count, "while": { "type": "string" },
                        "at_most": { "type": "integer", "minimum": 1 },
                        "as": { "type": "string", "description": "The name that is 1 in the first round, 2 in the second, and so on." },
                        "use": { "type": "string", "description": "Another program or a recipe." },
                        "with": { "type": "object", "additionalProperties": { "type": ["string", "number", "boolean"] } }
                    },
                    "additionalProperties": operation
                }
            ]
        })
    }
}
