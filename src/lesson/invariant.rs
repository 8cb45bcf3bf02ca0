//! What must never be so in a lesson, as its author wrote it. Grammar only.

use std::fmt;

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};

use crate::text::Text;

/// `{ never: …, says: …, goal: … }`: something that a lock is there to prevent, and that a learner may try to
/// bring about.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Invariant {
    /// What must never be so.
    pub never: Never,
    /// What is broken when it is so.
    pub says: Text,
    /// The challenge to a learner who plays freely: to bring it about.
    pub goal: Text,
}

/// What must never be so.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(untagged, deny_unknown_fields)]
pub enum Never {
    /// An expression over what has happened so far, as in claims: `sold > stock`.
    That(String),
    /// Two clients believe at one time that they hold a lock.
    Overlap {
        /// The lock.
        overlap: String,
    },
}

/// By hand, because an untagged enum would lose the line and the column of a mistake.
impl<'de> Deserialize<'de> for Never {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NeverVisitor;
        impl<'de> Visitor<'de> for NeverVisitor {
            type Value = Never;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an expression such as `sold > stock`, or `{ overlap: LOCK }`")
            }
            fn visit_str<E>(self, value: &str) -> Result<Never, E> {
                Ok(Never::That(value.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Never, A::Error> {
                let mut never = None;
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "overlap" if never.is_some() => return Err(A::Error::duplicate_field("overlap")),
                        "overlap" => {
                            never = Some(Never::Overlap { overlap: map.next_value()? });
                        }
                        "exclusive" => {
                            return Err(A::Error::custom(
                                "a lock that is held by one at a time breaks nothing; write `{ overlap: LOCK }`",
                            ));
                        }
                        "that" => {
                            return Err(A::Error::custom(
                                "`never` takes the expression itself: `never: sold > stock`",
                            ));
                        }
                        other => return Err(A::Error::unknown_field(other, &["overlap"])),
                    }
                }
                never.ok_or_else(|| A::Error::custom("nothing that must never be; write `{ overlap: LOCK }`"))
            }
        }
        deserializer.deserialize_any(NeverVisitor)
    }
}
