//! Servers' replies, and how they are written.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A reply as received: JSON's types cover those of every product.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// A value; `null` for nil and for what does not exist.
    Value(serde_json::Value),
    /// The server's own error: its code (`ERR`, `WRONGTYPE`, `NodeExists`) and its words.
    Error {
        code: String,
        /// The words, without the code.
        text: String,
    },
    /// No reply will come: the connection was lost, so the outcome is unknown.
    Lost(String),
}

impl Reply {
    pub fn is_value(&self) -> bool {
        matches!(self, Self::Value(_))
    }

    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost(_))
    }
}

impl fmt::Display for Reply {
    /// As `redis-cli` would print it: `OK`, `(nil)`, `(integer) 1`, `"text"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => f.write_str(&shown(value)),
            Self::Error { code, text } if text.is_empty() => write!(f, "({code})"),
            Self::Error { code, text } => write!(f, "({code}) {text}"),
            Self::Lost(why) => write!(f, "(lost) {why}"),
        }
    }
}

impl Reply {
    /// As it is written, but of a znode's stat only the version, which is all that a line about locks needs.
    pub fn brief(&self) -> String {
        match self {
            Self::Value(serde_json::Value::Object(fields)) if fields.contains_key("czxid") => {
                let version = fields.get("version").map(ToString::to_string).unwrap_or_default();
                format!("dataVersion={version}")
            }
            Self::Value(serde_json::Value::Array(parts)) if is_confirmation(parts) => {
                format!("channels={}", parts.last().map(ToString::to_string).unwrap_or_default())
            }
            other => other.to_string(),
        }
    }
}

/// Whether Redis confirms a subscription, or its end: with the channel and the number of channels that are left.
fn is_confirmation(parts: &[serde_json::Value]) -> bool {
    parts.len() == 3
        && parts[2].is_u64()
        && parts[0].as_str().is_some_and(|kind| ["subscribe", "unsubscribe"].contains(&kind))
}

/// A znode's stat with the field names of `zkCli.sh`, the fields that matter for locks first. Fields that have not
/// changed since its creation are left out.
fn stat(fields: &serde_json::Map<String, serde_json::Value>) -> String {
    const FIELDS: [(&str, &str, bool); 11] = [
        ("owner", "ephemeralOwner", true),
        ("version", "dataVersion", false),
        ("children", "numChildren", false),
        ("czxid", "cZxid", true),
        ("mzxid", "mZxid", true),
        ("pzxid", "pZxid", true),
        ("cversion", "cversion", false),
        ("aversion", "aclVersion", false),
        ("length", "dataLength", false),
        ("ctime", "ctime", false),
        ("mtime", "mtime", false),
    ];
    let created = |field: &str| match field {
        "mzxid" | "pzxid" => fields.get("czxid"),
        "mtime" => fields.get("ctime"),
        _ => None,
    };
    let known = FIELDS.iter().filter_map(|(field, name, hex)| {
        let value = fields.get(*field).filter(|value| created(field) != Some(value))?;
        let number = value.as_i64().filter(|_| *hex).map(|number| format!("{number:#x}"));
        Some(format!("{name}={}", number.unwrap_or_else(|| value.to_string())))
    });
    format!("{{{}}}", known.collect::<Vec<_>>().join(", "))
}

fn shown(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::Null => "(nil)".to_owned(),
        // Status replies are short words in capitals; a stored value is quoted so that "1" differs from 1.
        Value::String(text) if matches!(text.as_str(), "OK" | "QUEUED" | "PONG") => text.clone(),
        Value::String(text) => format!("\"{text}\""),
        Value::Array(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Value::Object(map) if map.contains_key("czxid") => stat(map),
        Value::Object(map) => {
            let fields = map.iter().map(|(key, item)| format!("{key}: {}", shown(item)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}
