//! Texts for the learner, in both languages.

use std::{cell::Cell, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, MapAccess, Visitor},
};

/// A language that Lockstep speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Simplified Chinese, 简体中文.
    Zh,
}

/// Seconds without zeros at the end, as all durations are written: `3`, `2.5`, `0.501`.
pub fn seconds(millis: u128) -> String {
    let decimals = format!("{:03}", millis % 1000);
    let decimals = decimals.trim_end_matches('0');
    let point = if decimals.is_empty() { "" } else { "." };
    format!("{}{point}{decimals}", millis / 1000)
}

impl Lang {
    /// The colon between a word and its explanation.
    pub fn colon(self) -> &'static str {
        match self {
            Self::En => ": ",
            Self::Zh => "：",
        }
    }

    pub fn other(self) -> Self {
        match self {
            Self::En => Self::Zh,
            Self::Zh => Self::En,
        }
    }

    /// The language of the user's environment: Chinese if `LC_ALL`, `LC_MESSAGES` or `LANG` (the first that
    /// is set, in the order of POSIX) starts with `zh`.
    pub fn from_env() -> Self {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"]
            .into_iter()
            .filter_map(|name| std::env::var(name).ok())
            .find(|value| !value.is_empty());
        match locale {
            Some(value) if value.starts_with("zh") => Self::Zh,
            _ => Self::En,
        }
    }
}

impl fmt::Display for Lang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::En => "en",
            Self::Zh => "zh",
        })
    }
}

/// A text in both languages. If an author wrote only one, it serves for both.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize)]
pub struct Text {
    pub en: String,
    pub zh: String,
}

thread_local! {
    /// Whether every text must be given in both languages.
    static STRICT: Cell<bool> = const { Cell::new(false) };
}

/// Calls `read`, during which a text in only one language is an error.
pub(crate) fn strictly<T>(read: impl FnOnce() -> T) -> T {
    let before = STRICT.replace(true);
    let read = read();
    STRICT.set(before);
    read
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or `{ en: …, zh: … }`")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
                if STRICT.get() { Err(E::missing_field("zh")) } else { Ok(text.into()) }
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
                let (mut en, mut zh) = (None, None);
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        // A name without a value is a text that was forgotten, and is read as an empty one.
                        "en" => en = Some(map.next_value::<Option<String>>()?.unwrap_or_default()),
                        "zh" => zh = Some(map.next_value::<Option<String>>()?.unwrap_or_default()),
                        other => return Err(A::Error::unknown_field(other, &["en", "zh"])),
                    }
                }
                match (en, zh) {
                    (Some(en), Some(zh)) => Ok(Text { en, zh }),
                    (Some(_), None) if STRICT.get() => Err(A::Error::missing_field("zh")),
                    (None, Some(_)) if STRICT.get() => Err(A::Error::missing_field("en")),
                    (Some(one), None) | (None, Some(one)) => Ok(one.into()),
                    (None, None) => Err(A::Error::missing_field("en")),
                }
            }
        }
        deserializer.deserialize_any(TextVisitor)
    }
}

impl JsonSchema for Text {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A text in both languages. Where only one is written, it stands for both.",
            "anyOf": [
                { "type": "string" },
                {
                    "type": "object",
                    "minProperties": 1,
                    "properties": {
                        "en": { "type": "string", "description": "English." },
                        "zh": { "type": "string", "description": "Chinese." }
                    },
                    "additionalProperties": false
                }
            ]
        })
    }
}

impl Text {
    pub fn new(en: impl Into<String>, zh: impl Into<String>) -> Self {
        Self { en: en.into(), zh: zh.into() }
    }

    /// Joins texts, with a mark between them. A question has its own.
    pub fn join(texts: &[Self], en_mark: &str, zh_mark: &str) -> Self {
        let join = |lang, mark: &str| {
            texts.iter().map(|text| text.get(lang)).fold(String::new(), |joined, text| {
                match joined.chars().last() {
                    None => text.to_owned(),
                    Some('?') => format!("{joined} {text}"),
                    Some('？') => joined + text,
                    Some(_) => joined + mark + text,
                }
            })
        };
        Self { en: join(Lang::En, en_mark), zh: join(Lang::Zh, zh_mark) }
    }

    pub fn get(&self, lang: Lang) -> &str {
        match lang {
            Lang::En => &self.en,
            Lang::Zh => &self.zh,
        }
    }

    /// The text that `words` returns in each language.
    pub fn from_fn(words: impl Fn(Lang) -> String) -> Self {
        Self { en: words(Lang::En), zh: words(Lang::Zh) }
    }
}

impl From<String> for Text {
    /// A text that is the same in every language: a name, a number, a text of foreign origin.
    fn from(words: String) -> Self {
        Self { en: words.clone(), zh: words }
    }
}

impl From<&str> for Text {
    fn from(words: &str) -> Self {
        words.to_owned().into()
    }
}

/// The English text, for code that knows of one language only.
impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.en
    }
}

/// A [`Text`] from two format strings. The names after them are [`Text`]s, of which each format uses its own
/// language.
macro_rules! both {
    ($en:literal, $zh:literal $(, $text:ident)* $(,)?) => {
        $crate::text::Text {
            en: {
                $(let $text = &$text.en;)*
                std::fmt::format(format_args!($en))
            },
            zh: {
                $(let $text = &$text.zh;)*
                std::fmt::format(format_args!($zh))
            },
        }
    };
}
pub(crate) use both;

/// Displays these types as the English of their `text()`.
macro_rules! displayed_in_english {
    ($($error:ty),*) => {$(
        impl std::fmt::Display for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.text().en)
            }
        }
    )*};
}
pub(crate) use displayed_in_english;

/// A constant text in both languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    en: &'static str,
    zh: &'static str,
}

impl Words {
    pub const fn new(en: &'static str, zh: &'static str) -> Self {
        Self { en, zh }
    }

    pub const fn get(self, lang: Lang) -> &'static str {
        match lang {
            Lang::En => self.en,
            Lang::Zh => self.zh,
        }
    }

    /// The text in one language, with each `{}` in turn replaced by a value.
    pub fn with(self, lang: Lang, values: &[&str]) -> String {
        let mut parts = self.get(lang).split("{}");
        let mut text = parts.next().unwrap_or_default().to_owned();
        for (n, part) in parts.enumerate() {
            text.push_str(values.get(n).copied().unwrap_or_default());
            text.push_str(part);
        }
        text
    }

    /// The text in both languages, with each `{}` in turn replaced by a value.
    pub fn text(self, values: &[&str]) -> Text {
        Text::from_fn(|lang| self.with(lang, values))
    }
}
