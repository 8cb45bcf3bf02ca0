//! Finds the line and column of a place in a YAML text, given the path that leads there.
//!
//! `serde_yaml` reveals positions only through errors. So the text is parsed once more by a deserializer that walks
//! down the path and fails on purpose when it arrives: the position of that error is the answer. This happens only when
//! there is a mistake to report, and saves a second YAML parser.

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::super::error::{Path, Segment};

/// The line and column, from 1, of the value at `path`, or of the nearest enclosing value that exists. If `key` is set,
/// of the last key of the path.
pub(crate) fn locate(yaml: &str, path: &Path, key: bool) -> Option<(usize, usize)> {
    let mut segments = path.segments();
    loop {
        let found = Seeker { segments, key }.deserialize(serde_yaml::Deserializer::from_str(yaml));
        if let Err(error) = found
            && error.to_string().contains(ARRIVED)
        {
            return error.location().map(|location| (location.line(), location.column()));
        }
        segments = segments.split_last()?.1;
    }
}

const ARRIVED: &str = "\u{1}arrived\u{1}";

struct Seeker<'p> {
    segments: &'p [Segment],
    key: bool,
}

/// A key; deserializing it ends the search if it is the wanted one.
struct KeySeeker<'p> {
    wanted: Option<&'p str>,
}

impl<'de> DeserializeSeed<'de> for KeySeeker<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeeker<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<String, E> {
        if self.wanted == Some(name) { Err(E::custom(ARRIVED)) } else { Ok(name.to_owned()) }
    }
}

impl<'de> DeserializeSeed<'de> for Seeker<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seeker<'_> {
    type Value = ();

    /// This text is part of every type error. A scalar always causes one: it contains the mark if the path ends here.
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.segments.is_empty() { ARRIVED } else { "a list or a map" })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Some((first, rest)) = self.segments.split_first() else { return Err(A::Error::custom(ARRIVED)) };
        let Segment::Index(wanted) = first else { return Ok(()) };
        for _ in 0..*wanted {
            if seq.next_element::<IgnoredAny>()?.is_none() {
                return Ok(());
            }
        }
        seq.next_element_seed(Seeker { segments: rest, key: self.key })?;
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((first, rest)) = self.segments.split_first() else { return Err(A::Error::custom(ARRIVED)) };
        let Segment::Key(wanted) = first else { return Ok(()) };
        let ends_here = self.key && rest.is_empty();
        while let Some(key) = map.next_key_seed(KeySeeker { wanted: ends_here.then_some(wanted.as_str()) })? {
            if key == *wanted {
                map.next_value_seed(Seeker { segments: rest, key: self.key })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Path, locate};

    const YAML: &str =
        "id: x\nprograms:\n  worker:\n    - acquire: { redis: GET a }\n    - holds: lock\nstory: []\n";

    #[test]
    fn finds_values_by_key_and_index() {
        let worker = Path::root().key("programs").key("worker");
        assert_eq!(locate(YAML, &worker.index(1).key("holds"), false), Some((5, 14)));
        assert_eq!(locate(YAML, &worker.index(0).key("acquire").key("redis"), false), Some((4, 25)));
        assert_eq!(locate(YAML, &Path::root().key("id"), false), Some((1, 5)));
        assert_eq!(locate(YAML, &worker.index(1).key("holds"), true), Some((5, 7)));
    }

    #[test]
    fn a_place_that_does_not_exist_is_the_nearest_that_does() {
        let missing = Path::root().key("programs").key("nobody").index(3);
        assert_eq!(locate(YAML, &missing, false), Some((3, 3)));
    }
}
