//! Faults of a story whose description needs more than a name: a link held one way, a server that loses unsynced files,
//! clocks that are wrong. Grammar only.

use std::fmt;

use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{
        Error, MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};

use super::{model::Param, story::OneOrMany};
use crate::log::Direction;

/// Links to hold: `A->redis`, a list of them, or `{ link: A->redis, way: replies }`.
#[derive(Debug, Clone, PartialEq)]
pub struct Hold {
    pub links: Vec<String>,
    /// The direction in which messages are held.
    pub way: Direction,
}

/// `{ link: A->redis, way: replies }`
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneWay {
    /// The link, or a list of links.
    link: OneOrMany<String>,
    /// The direction: `requests`, which go along the arrow, or `replies`, which come back. Default: both.
    #[serde(default)]
    #[schemars(with = "Option<WayName>")]
    way: Direction,
}

/// A server to kill: `redis`, or `{ server: redis, loses: unsynced }`.
#[derive(Debug, Clone, PartialEq)]
pub struct Kill {
    pub server: String,
    /// What is lost in addition to the server's memory.
    pub loses: Option<Loses>,
}

/// What a killed server loses in addition to its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Loses {
    /// Writes to files that are not on the disk yet, as when the machine loses power.
    Unsynced,
}

/// `{ server: redis, loses: unsynced }`
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct KillAndLose {
    /// The server.
    server: String,
    /// `unsynced`: writes to files that are not on the disk yet, as when the machine loses power.
    loses: Loses,
}

impl<'de> Deserialize<'de> for Kill {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KillVisitor;
        impl<'de> Visitor<'de> for KillVisitor {
            type Value = Kill;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a server such as redis, or `{ server: redis, loses: unsynced }`")
            }
            fn visit_str<E: Error>(self, server: &str) -> Result<Kill, E> {
                Ok(Kill { server: server.to_owned(), loses: None })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Kill, A::Error> {
                let KillAndLose { server, loses } =
                    KillAndLose::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Kill { server, loses: Some(loses) })
            }
        }
        deserializer.deserialize_any(KillVisitor)
    }
}

impl JsonSchema for Kill {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Kill".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let and_lose = generator.subschema_for::<KillAndLose>();
        json_schema!({
            "description": "A server to kill, and what is lost with it.",
            "anyOf": [{ "type": "string" }, and_lose]
        })
    }
}

/// `delay: { link: A->redis, by: 2s }`: messages on the links arrive later by this duration.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delay {
    /// The link, or a list of links.
    pub link: OneOrMany<String>,
    /// The delay: a duration or `${…}`.
    pub by: Param,
    /// The direction: `requests`, which go along the arrow, or `replies`, which come back. Default: each of both.
    #[serde(default)]
    #[schemars(with = "Option<WayName>")]
    pub way: Direction,
}

/// The names of directions, for the schema only.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "the schema is all that it is for")]
enum WayName {
    /// Both.
    Both,
    /// Messages along the arrow.
    Requests,
    /// Messages that come back.
    Replies,
}

impl JsonSchema for OneOrMany<String> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Links".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "string" },
            { "type": "array", "items": { "type": "string" }, "minItems": 1 }
        ] })
    }
}

struct HoldVisitor;

impl<'de> Visitor<'de> for HoldVisitor {
    type Value = Hold;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a link such as A->redis, a list of links, or `{ link: A->redis, way: replies }`")
    }

    fn visit_str<E: Error>(self, link: &str) -> Result<Hold, E> {
        Ok(Hold { links: vec![link.to_owned()], way: Direction::Both })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Hold, A::Error> {
        let OneOrMany(links) = OneOrMany::deserialize(SeqAccessDeserializer::new(seq))?;
        Ok(Hold { links, way: Direction::Both })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Hold, A::Error> {
        let OneWay { link, way } = OneWay::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Hold { links: link.0, way })
    }
}

impl<'de> Deserialize<'de> for Hold {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(HoldVisitor)
    }
}

impl JsonSchema for Hold {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Hold".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let links = generator.subschema_for::<OneOrMany<String>>();
        let one_way = generator.subschema_for::<OneWay>();
        json_schema!({
            "description": "Links whose traffic is kept, both ways or one.",
            "anyOf": [links, one_way]
        })
    }
}

/// `skew: { redis2: 30s, A: -5s }`: how far the calendar clock of each server or client is ahead from now on. A
/// negative value sets it behind; `0s` corrects it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Skew(pub IndexMap<String, Param>);
