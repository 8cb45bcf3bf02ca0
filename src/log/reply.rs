//! What a server answered, and how it is written.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A reply as the wire gave it: JSON's types cover every product's.
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
    /// Whether the server answered with a value.
    pub fn is_value(&self) -> bool {
        matches!(self, Self::Value(_))
    }
}

impl fmt::Display for Reply {
    /// As `redis-cli` would print it: `OK`, `(nil)`, `(integer) 1`, `"text"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => show_value(value, f),
            Self::Error { code, text } if text.is_empty() => write!(f, "({code})"),
            Self::Error { code, text } => write!(f, "({code}) {text}"),
            Self::Lost(why) => write!(f, "(lost) {why}"),
        }
    }
}

fn show_value(value: &serde_json::Value, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    use serde_json::Value;
    match value {
        Value::Null => f.write_str("(nil)"),
        Value::Bool(yes) => write!(f, "{yes}"),
        Value::Number(number) => write!(f, "{number}"),
        // Status replies are short words in capitals; a stored value is quoted so that "1" is not 1.
        Value::String(text) if matches!(text.as_str(), "OK" | "QUEUED" | "PONG") => f.write_str(text),
        Value::String(text) => write!(f, "\"{text}\""),
        Value::Array(items) => {
            f.write_str("[")?;
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    f.write_str(", ")?;
                }
                show_value(item, f)?;
            }
            f.write_str("]")
        }
        Value::Object(map) => {
            f.write_str("{")?;
            for (n, (key, item)) in map.iter().enumerate() {
                if n > 0 {
                    f.write_str(", ")?;
                }
                write!(f, "{key}: ")?;
                show_value(item, f)?;
            }
            f.write_str("}")
        }
    }
}
