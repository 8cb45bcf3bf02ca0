//! The story: the moves and events of a lesson, in order. Grammar only.

use std::{fmt, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{
        Error, IntoDeserializer as _, MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};

use super::{
    error::custom,
    fault::{Delay, Hold, Kill, Skew},
    question::Ask,
};
use crate::text::{Text, both};

#[derive(Debug, Clone, PartialEq)]
pub struct StoryItem {
    pub action: Action,
    /// The variants in which the item happens; all if the list is empty.
    pub only: Vec<String>,
    /// Notes for a teacher at this step.
    pub notes: Option<Text>,
}

/// What one item of a story does.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// `say: { en: …, zh: … }`
    Say(Text),
    /// `ask: { q: …, choices: […] }`: the learner predicts what will happen.
    Ask(Ask),
    /// `move: A.acquire`, or a list: one move after another, each a step for the learner.
    Move(Vec<MoveRef>),
    /// `each: W.create`: all these actors make the move, one after another, in one step.
    Each(Vec<MoveRef>),
    /// `together: B.read`: all these actors send at the same time, in one step.
    Together(Vec<MoveRef>),
    /// `send: B.lock`, or a list: one move after another, without waiting for a reply that the server delays.
    Send(Vec<MoveRef>),
    /// `finish: A`: these actors move to the end of their programs, one actor after another.
    Finish(Vec<String>),
    /// `pass: 3s`, or `pass: { for: 35s, moving: [A.watchdog] }`: time passes.
    Pass(Pass),
    /// `crash: A`: SIGKILL to a client.
    Crash(String),
    /// `await: { that: "role('node2') == 'master'", within: 30s }`: time passes until the expression is true.
    Await(Await),
    /// `kill: master`: SIGKILL to a server; or `kill: { server: redis, loses: unsynced }`.
    Kill(Kill),
    /// `restart: redis3`: starts a killed server again, with the files it had on its disk.
    Restart(String),
    /// `drop: node2->node1`: discards what the link held, and cuts it.
    Drop(Vec<String>),
    /// `freeze: A`: SIGSTOP to a client or a server, as in a long GC pause.
    Freeze(String),
    /// `thaw: A`: SIGCONT to a client or a server.
    Thaw(String),
    /// `cut: A->redis`, or a list of links: closes their connections and refuses new ones.
    Cut(Vec<String>),
    /// `hold: A->redis`, or `hold: { link: A->redis, way: replies }`: keeps back what is sent.
    Hold(Hold),
    /// `delay: { link: A->redis, by: 2s }`: what is sent arrives later.
    Delay(Delay),
    /// `release: A->redis`: passes on what was held, or mends a cut link.
    Release(Vec<String>),
    /// `skew: { redis2: 30s }`: sets a server's or client's clock wrong by this duration.
    Skew(Skew),
}

/// An actor, and the operation that the author expects it to perform: `A.acquire`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveRef {
    /// An actor (`A`, `P1.3`, `W17`), or a client that stands for all its actors (`P`, `P1`, `W`).
    pub who: String,
    /// The operation's label.
    pub label: String,
}

/// A passing of time.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pass {
    /// How long: a duration or `${…}`.
    #[serde(rename = "for")]
    pub duration: String,
    /// The actors that move by themselves meanwhile, as soon as they can.
    #[serde(default)]
    pub moving: Vec<String>,
}

/// A passing of time until an expression is true.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Await {
    /// The condition: an expression as in claims.
    pub that: String,
    /// The longest time to wait: a duration or `${…}`. If it takes longer, the story is wrong.
    pub within: String,
    /// The actors that move by themselves meanwhile, as soon as they can.
    #[serde(default)]
    pub moving: Vec<String>,
}

impl<'de> Deserialize<'de> for MoveRef {
    /// Splits `A.acquire` at the last dot, because `P1.3.read` is an operation of thread 3 of P1.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.rsplit_once('.') {
            Some((who, label)) if !who.is_empty() && !label.is_empty() => {
                Ok(Self { who: who.to_owned(), label: label.to_owned() })
            }
            _ => Err(custom(&both!(
                "`{text}`: write CLIENT.LABEL, such as A.acquire",
                "`{text}`：请写成 客户端.操作名，例如 A.acquire"
            ))),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = OneOrMany<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name or a list of names")
            }
            fn visit_str<E: Error>(self, word: &str) -> Result<Self::Value, E> {
                T::deserialize(word.into_deserializer()).map(|one| OneOrMany(vec![one]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                match Vec::deserialize(SeqAccessDeserializer::new(seq))? {
                    all if all.is_empty() => {
                        Err(custom(&both!("an empty list: name at least one", "空的列表：至少写一个")))
                    }
                    all => Ok(OneOrMany(all)),
                }
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

struct PassOrDuration(Pass);

impl<'de> Deserialize<'de> for PassOrDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = PassOrDuration;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration such as 3s, or `{ for: 35s, moving: [A.watchdog] }`")
            }
            fn visit_str<E>(self, word: &str) -> Result<Self::Value, E> {
                Ok(PassOrDuration(Pass { duration: word.to_owned(), moving: Vec::new() }))
            }
            fn visit_u64<E>(self, millis: u64) -> Result<Self::Value, E> {
                Ok(PassOrDuration(Pass { duration: millis.to_string(), moving: Vec::new() }))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Pass::deserialize(MapAccessDeserializer::new(map)).map(PassOrDuration)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

const VERBS: &[&str] = &[
    "say", "ask", "move", "send", "each", "together", "finish", "pass", "await", "crash", "kill", "restart",
    "freeze", "thaw", "cut", "hold", "delay", "release", "drop", "skew", "only", "notes",
];

impl<'de> Deserialize<'de> for StoryItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ItemVisitor;
        impl<'de> Visitor<'de> for ItemVisitor {
            type Value = StoryItem;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "an item of the story, such as `say: { en: …, zh: … }`, `move: A.acquire` or `pass: 3s`",
                )
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<StoryItem, A::Error> {
                let (mut action, mut only, mut notes) = (None, Vec::new(), None);
                while let Some(key) = map.next_key::<String>()? {
                    let next = match key.as_str() {
                        "say" => Action::Say(map.next_value()?),
                        "ask" => Action::Ask(map.next_value()?),
                        "move" => Action::Move(map.next_value::<OneOrMany<_>>()?.0),
                        "send" => Action::Send(map.next_value::<OneOrMany<_>>()?.0),
                        "each" => Action::Each(map.next_value::<OneOrMany<_>>()?.0),
                        "together" => Action::Together(map.next_value::<OneOrMany<_>>()?.0),
                        "finish" => Action::Finish(map.next_value::<OneOrMany<_>>()?.0),
                        "pass" => Action::Pass(map.next_value::<PassOrDuration>()?.0),
                        "crash" => Action::Crash(map.next_value()?),
                        "await" => Action::Await(map.next_value()?),
                        "kill" => Action::Kill(map.next_value()?),
                        "restart" => Action::Restart(map.next_value()?),
                        "drop" => Action::Drop(map.next_value::<OneOrMany<_>>()?.0),
                        "freeze" => Action::Freeze(map.next_value()?),
                        "thaw" => Action::Thaw(map.next_value()?),
                        "cut" => Action::Cut(map.next_value::<OneOrMany<_>>()?.0),
                        "hold" => Action::Hold(map.next_value()?),
                        "delay" => Action::Delay(map.next_value()?),
                        "skew" => Action::Skew(map.next_value()?),
                        "release" => Action::Release(map.next_value::<OneOrMany<_>>()?.0),
                        "only" => {
                            only = map.next_value::<OneOrMany<String>>()?.0;
                            continue;
                        }
                        "notes" => {
                            notes = Some(map.next_value()?);
                            continue;
                        }
                        other => return Err(A::Error::unknown_field(other, VERBS)),
                    };
                    if action.replace(next).is_some() {
                        return Err(custom(&both!(
                            "`{key}` is a second thing in one item of the story: begin a new one with `- {key}: …`",
                            "剧情的一条只做一件事，`{key}` 是第二件：请另起一条 `- {key}: …`"
                        )));
                    }
                }
                let action = action.ok_or_else(|| {
                    custom(&both!(
                        "an item of the story in which nothing happens: `only` and `notes` stand beside what happens, without \
                         a `-` of their own",
                        "剧情里有一条什么也没做：`only` 和 `notes` 要和发生的事写在同一条里，前面没有 `-`"
                    ))
                })?;
                Ok(StoryItem { action, only, notes })
            }
        }
        deserializer.deserialize_map(ItemVisitor)
    }
}

impl JsonSchema for StoryItem {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "StoryItem".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let text = generator.subschema_for::<Text>();
        let ask = generator.subschema_for::<Ask>();
        let pass = generator.subschema_for::<Pass>();
        let until = generator.subschema_for::<Await>();
        let hold = generator.subschema_for::<Hold>();
        let kill = generator.subschema_for::<Kill>();
        let delay = generator.subschema_for::<Delay>();
        let skew = generator.subschema_for::<Skew>();
        let names = json_schema!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] });
        json_schema!({
            "description": "One item of the story: one of the words below, and perhaps `only` and `notes`.",
            "type": "object",
            "additionalProperties": false,
            "minProperties": 1,
            "maxProperties": 3,
            "properties": {
                "say": text,
                "notes": text,
                "ask": ask,
                "move": names, "send": names, "each": names, "together": names, "finish": names,
                "pass": { "anyOf": [{ "type": ["string", "integer"] }, pass] },
                "await": until,
                "kill": kill, "restart": { "type": "string" },
                "crash": { "type": "string" }, "freeze": { "type": "string" }, "thaw": { "type": "string" },
                "cut": names, "hold": hold, "delay": delay, "release": names, "drop": names,
                "skew": skew,
                "only": names
            }
        })
    }
}
