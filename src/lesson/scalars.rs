//! Hand-written parsing of the grammar's small alternatives: an untagged enum would lose the line and column of a
//! mistake. Duplicate keys have been refused before.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};

use super::{
    error::custom,
    invariant::Never,
    model::{Claim, Count, Param},
    question::Right,
};
use crate::text::{Text, both};

impl<'de> Deserialize<'de> for Param {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ParamVisitor;
        impl Visitor<'_> for ParamVisitor {
            type Value = Param;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, a word, a duration such as 3s, or true or false")
            }
            fn visit_bool<E>(self, value: bool) -> Result<Param, E> {
                Ok(Param::Flag(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Param, E> {
                Ok(Param::Number(value))
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Param, E> {
                i64::try_from(value)
                    .map(Param::Number)
                    .map_err(|_| custom(&both!("the number is too large", "这个数太大")))
            }
            fn visit_str<E>(self, value: &str) -> Result<Param, E> {
                Ok(Param::Word(value.to_owned()))
            }
        }
        deserializer.deserialize_any(ParamVisitor)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountVisitor;
        impl Visitor<'_> for CountVisitor {
            type Value = Count;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number from 1 on, or ${…}")
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Count, E> {
                u32::try_from(value)
                    .map(Count::Number)
                    .map_err(|_| custom(&both!("the number is too large", "这个数太大")))
            }
            fn visit_str<E>(self, value: &str) -> Result<Count, E> {
                Ok(Count::Template(value.to_owned()))
            }
        }
        deserializer.deserialize_any(CountVisitor)
    }
}

impl<'de> Deserialize<'de> for Claim {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ClaimVisitor;
        impl<'de> Visitor<'de> for ClaimVisitor {
            type Value = Claim;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "an expression such as `sold == 10`, or `that: EXPRESSION`, `overlap: LOCK` or \
                     `exclusive: LOCK`, each with `says: { en: …, zh: … }`",
                )
            }
            fn visit_str<E>(self, value: &str) -> Result<Claim, E> {
                Ok(Claim::Bare(value.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Claim, A::Error> {
                let mut claim: Option<Claim> = None;
                let mut sentence: Option<Text> = None;
                while let Some(key) = map.next_key::<String>()? {
                    let says = None;
                    let next = match key.as_str() {
                        "says" => {
                            sentence = Some(map.next_value()?);
                            continue;
                        }
                        "that" | "overlap" | "exclusive" if claim.is_some() => {
                            return Err(custom(&both!(
                                "one claim at a time: `{key}` is a second one",
                                "一条断言只说一件事：`{key}` 是第二件"
                            )));
                        }
                        "that" => Claim::That { that: map.next_value()?, says },
                        "overlap" => Claim::Overlap { overlap: map.next_value()?, says },
                        "exclusive" => Claim::Exclusive { exclusive: map.next_value()?, says },
                        other => {
                            return Err(A::Error::unknown_field(
                                other,
                                &["that", "overlap", "exclusive", "says"],
                            ));
                        }
                    };
                    claim = Some(next);
                }
                match claim {
                    None if sentence.is_some() => Err(custom(&both!(
                        "a sentence that claims nothing; write `that: EXPRESSION` beside `says`",
                        "只有说明、没有断言；请在 `says` 旁边写 `that: 表达式`"
                    ))),
                    None => Err(custom(&both!(
                        "an empty claim; write `overlap: LOCK`",
                        "空的断言；请写 `overlap: 锁名`"
                    ))),
                    Some(mut claim) => {
                        if let Claim::That { says, .. }
                        | Claim::Overlap { says, .. }
                        | Claim::Exclusive { says, .. } = &mut claim
                        {
                            *says = sentence;
                        }
                        Ok(claim)
                    }
                }
            }
        }
        deserializer.deserialize_any(ClaimVisitor)
    }
}

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
                        "overlap" => never = Some(Never::Overlap { overlap: map.next_value()? }),
                        "exclusive" => {
                            return Err(custom(&both!(
                                "a lock that is held by one at a time breaks nothing; write `{{ overlap: LOCK }}`",
                                "锁同一时刻只有一个持有者，并没有违反什么；请写 `{{ overlap: 锁名 }}`"
                            )));
                        }
                        "that" => {
                            return Err(custom(&both!(
                                "`never` takes the expression itself: `never: sold > stock`",
                                "`never` 后面直接写表达式：`never: sold > stock`"
                            )));
                        }
                        other => return Err(A::Error::unknown_field(other, &["overlap"])),
                    }
                }
                never.ok_or_else(|| {
                    custom(&both!(
                        "nothing that must never be; write `{{ overlap: LOCK }}`",
                        "没有写绝不允许什么；请写 `{{ overlap: 锁名 }}`"
                    ))
                })
            }
        }
        deserializer.deserialize_any(NeverVisitor)
    }
}

impl<'de> Deserialize<'de> for Right {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RightVisitor;
        impl Visitor<'_> for RightVisitor {
            type Value = Right;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an expression over what happens, such as `B.buy == 0`, or `true`")
            }
            fn visit_bool<E: Error>(self, value: bool) -> Result<Right, E> {
                if value {
                    Ok(Right::Always(true))
                } else {
                    Err(custom(&both!(
                        "`right: false` is what leaving `right` out means",
                        "`right: false` 就等于不写 `right`"
                    )))
                }
            }
            fn visit_str<E>(self, value: &str) -> Result<Right, E> {
                Ok(Right::When(value.to_owned()))
            }
        }
        deserializer.deserialize_any(RightVisitor)
    }
}
