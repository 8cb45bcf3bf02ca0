//! Every word that the screens say by themselves, in both languages. It must not know where a word is shown;
//! the texts of lessons are the lessons' own.

mod compare;
mod keys;
mod lesson;
mod shelf;

pub use compare::*;
pub use keys::*;
pub use lesson::*;
pub use shelf::*;

use crate::lesson::Lang;

/// The same words in both languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    en: &'static str,
    zh: &'static str,
}

impl Words {
    pub(super) const fn new(en: &'static str, zh: &'static str) -> Self {
        Self { en, zh }
    }

    /// The words in one language.
    #[must_use]
    pub const fn get(self, lang: Lang) -> &'static str {
        match lang {
            Lang::En => self.en,
            Lang::Zh => self.zh,
        }
    }

    /// The words in one language, with each `{}` in turn replaced by a value.
    #[must_use]
    pub fn with(self, lang: Lang, values: &[&str]) -> String {
        let mut parts = self.get(lang).split("{}");
        let mut text = parts.next().unwrap_or_default().to_owned();
        for (n, part) in parts.enumerate() {
            text.push_str(values.get(n).copied().unwrap_or_default());
            text.push_str(part);
        }
        text
    }
}
