//! Limits on what a file may ask of the YAML parser, checked before the file is parsed. The parser's time grows with
//! the square of the nesting depth of `[` and `{`, and an alias (`*name`) repeats everything behind its anchor, so a
//! few lines can expand to gigabytes.

use std::{collections::HashSet, fmt};

use serde::{
    Deserializer,
    de::{DeserializeSeed, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor},
};

use crate::{
    lesson::error::{Finding, finding},
    text::{Text, both},
};

/// Line and column, the message, and the help.
pub(crate) type Refusal = (Option<(usize, usize)>, Text, Text);

/// The largest number of `[` and `{` in a file. Lockstep's own lessons have at most 200.
const BRACKETS: usize = 8_000;

/// The largest number of values in a file, counted as often as aliases repeat them.
const VALUES: usize = 100_000;

/// The largest amount of text in a file, counted in the same way, in bytes.
const TEXT: usize = 4 << 20;

/// Refuses a file that is too large or has a duplicate key, with the line and column.
pub(crate) fn check(text: &str) -> Result<(), Refusal> {
    if let Some((at, _)) = text.match_indices(['[', '{']).nth(BRACKETS) {
        let before = &text[..at];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        let message = both!(
            "has more than {BRACKETS} `[` and `{{`, which is more than a lesson may have",
            "`[` 和 `{{` 超过 {BRACKETS} 个，多于一节课的上限"
        );
        let help = both!("write it in parts, each a lesson of its own", "请拆成几节课来写");
        return Err((Some((line, column)), message, help));
    }
    let mut weight = Weight::default();
    match (&mut weight).deserialize(serde_yaml::Deserializer::from_str(text)) {
        Err(error) => match weight.refused {
            Some(Finding { message, help }) => {
                Err((error.location().map(|place| (place.line(), place.column())), message, help))
            }
            // Invalid YAML is reported when the file is parsed; everything before that place is within bounds.
            None => Ok(()),
        },
        Ok(()) => Ok(()),
    }
}

/// The amount of content counted so far.
#[derive(Debug, Default)]
struct Weight {
    values: usize,
    text: usize,
    /// Why the file is refused, and what would be right.
    refused: Option<Finding>,
}

impl Weight {
    fn add<E: Error>(&mut self, text: usize) -> Result<(), E> {
        self.values += 1;
        self.text += text;
        if self.values > VALUES || self.text > TEXT {
            let most = TEXT >> 20;
            self.refused = Some(finding!(
                "with what its aliases (`*name`) repeat it has more than {VALUES} values or {most} MiB of text",
                "算上别名（`*name`）重复的内容，它有超过 {VALUES} 个值或 {most} MiB 文字",
                "aliases (`*name`) that contain aliases multiply; write the parts out",
                "别名（`*name`）套别名会成倍膨胀；请把各部分直接写出来"
            ));
            return Err(E::custom("too much"));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for &mut Weight {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Weight {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.add(0)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.add(0)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.add(0)
    }

    fn visit_i128<E: Error>(self, _: i128) -> Result<(), E> {
        self.add(0)
    }

    fn visit_u128<E: Error>(self, _: u128) -> Result<(), E> {
        self.add(0)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.add(0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.add(text.len())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.add(0)
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.add(0)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.add(0)?;
        while items.next_element_seed(&mut *self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        self.add(0)?;
        let mut keys = HashSet::new();
        while entries.next_key_seed(Key { keys: &mut keys, weight: &mut *self })?.is_some() {
            entries.next_value_seed(&mut *self)?;
        }
        Ok(())
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<(), A::Error> {
        let (_tag, value) = tagged.variant::<String>()?;
        value.newtype_variant_seed(self)
    }
}

/// A key of a map that must be new: of two equal keys, the first would be lost silently.
struct Key<'k> {
    keys: &'k mut HashSet<String>,
    weight: &'k mut Weight,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<(), E> {
        self.weight.add(name.len())?;
        if self.keys.insert(name.to_owned()) {
            return Ok(());
        }
        let short: String = name.chars().take(60).collect();
        self.weight.refused = Some(Finding {
            message: both!("`{short}` is here twice", "`{short}` 在这里出现了两次"),
            help: both!("give each a name of its own", "请给每个各起一个名字"),
        });
        Err(E::custom("twice"))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::{Text, check};

    #[test]
    fn multiplying_aliases_and_duplicate_keys_are_refused_at_their_place() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..9 {
            let alias = format!("*a{}", n - 1);
            let _ = writeln!(text, "a{n}: &a{n} [{}]", [alias.as_str(); 10].join(", "));
        }
        let (place, Text { en: message, .. }, _) = check(&text).expect_err("too much");
        assert!(place.is_some() && message.contains("aliases"), "{place:?} {message}");
        let (place, Text { en: message, .. }, _) = check("a: 1\nb:\n  c: 1\n  c: 2\n").expect_err("twice");
        assert_eq!((place, message.contains("`c` is here twice")), (Some((4, 3)), true));
        assert_eq!(check("a: &a [x, y]\nb: *a\nc: [*a, *a]\n"), Ok(()));
    }

    #[test]
    fn brackets_are_counted() {
        let (place, Text { en: message, .. }, _) =
            check(&format!("x: 1\ny: {}", "[".repeat(1 << 20))).expect_err("too many");
        assert_eq!(place, Some((2, 8_004)));
        assert!(message.contains("8000"), "{message}");
        assert_eq!(check(&"- [x]\n".repeat(8_000)), Ok(()));
    }
}
