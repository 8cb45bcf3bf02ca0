//! Mistakes of a lesson's author, and their places in the file.

use std::{
    collections::BTreeSet,
    fmt::{self, Write as _},
};

use super::expr::is_filter;
use crate::text::{Lang, Text, both};

/// A path into a lesson's file, as keys and indices: `programs.worker[2].acquire`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Path(Vec<Segment>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    Key(String),
    /// An index into a list, from 0.
    Index(usize),
}

impl Path {
    pub fn root() -> Self {
        Self::default()
    }

    pub fn of_variant(name: &str) -> Self {
        Self::root().key("variants").key(name)
    }

    pub fn key(&self, key: &str) -> Self {
        self.then(Segment::Key(key.to_owned()))
    }

    pub fn index(&self, index: usize) -> Self {
        self.then(Segment::Index(index))
    }

    /// The mistake of what is found here.
    pub(crate) fn mistake(&self, finding: Finding) -> Mistake {
        Mistake::new(self, finding.message).help(finding.help)
    }

    fn then(&self, segment: Segment) -> Self {
        Self([self.0.as_slice(), &[segment]].concat())
    }

    pub fn segments(&self) -> &[Segment] {
        &self.0
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Key(key) if n == 0 => f.write_str(key)?,
                Segment::Key(key) => write!(f, ".{key}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// A mistake whose path has not yet been resolved to a line and column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    pub path: Path,
    pub message: Text,
    /// What would be right.
    pub help: Option<Text>,
    pub span: MistakeSpan,
}

/// The most mistakes of one lesson that are looked for: nobody mends more at once, and each may take a while to find.
const MOST_MISTAKES: usize = 20;

/// Mistakes at different places, the first one found first. Never empty as an error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mistakes(Vec<Mistake>);

impl From<Mistake> for Mistakes {
    fn from(mistake: Mistake) -> Self {
        Self(vec![mistake])
    }
}

impl Mistakes {
    /// The result of a check that may have failed, whose mistakes are kept.
    pub(crate) fn keep<T>(&mut self, result: Result<T, impl Into<Self>>) -> Option<T> {
        result.map_err(|mistakes| self.extend(mistakes)).ok()
    }

    /// The results of all checks, or the mistakes of all that failed.
    pub(crate) fn all<T>(results: impl Iterator<Item = Result<T, impl Into<Self>>>) -> Result<Vec<T>, Self> {
        let (mut found, mut kept) = (Self::default(), Vec::new());
        for result in results {
            kept.extend(found.keep(result));
            if found.is_full() {
                break;
            }
        }
        found.or(kept)
    }

    /// Keeps the mistakes of all that are checked.
    pub(crate) fn each<'t, T, E: Into<Self>>(
        &mut self,
        all: &'t [T],
        check: impl Fn(&'t T) -> Result<(), E>,
    ) {
        for one in all {
            if self.is_full() {
                break;
            }
            self.keep(check(one));
        }
    }

    /// The value, if nothing was wrong.
    pub(crate) fn or<T>(self, value: T) -> Result<T, Self> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }

    pub(crate) fn map(self, change: impl FnMut(Mistake) -> Mistake) -> Self {
        Self(self.0.into_iter().map(change).collect())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Mistake> {
        self.0.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= MOST_MISTAKES
    }

    /// Adds mistakes, except those that are known, as what several variants share, and those about a name of which
    /// something is wrong already: they may come of that.
    pub(crate) fn extend(&mut self, mistakes: impl Into<Self>) {
        for mistake in mistakes.into().0 {
            if self.is_full() {
                break;
            }
            if self.0.iter().all(|known| known.path != mistake.path && !known.is_about_same(&mistake)) {
                self.0.push(mistake);
            }
        }
    }
}

/// Which part of a path's node the mistake is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MistakeSpan {
    /// The value at the path.
    Value,
    /// The last key of the path.
    Key,
    /// A line and column, from 1, within the text at the path.
    Within(usize, usize),
}

impl MistakeSpan {
    /// The place of a byte in the text at the path.
    pub(crate) fn at(text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        Self::Within(before.matches('\n').count() + 1, column)
    }
}

/// What is wrong, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub message: Text,
    pub help: Text,
}

/// A [`Finding`] of four literals: the message in English and in Chinese, then the help in both.
macro_rules! finding {
    ($en:literal, $zh:literal, $help_en:literal, $help_zh:literal $(,)?) => {
        $crate::lesson::error::Finding {
            message: $crate::text::both!($en, $zh),
            help: $crate::text::both!($help_en, $help_zh),
        }
    };
}
pub(crate) use finding;

impl Mistake {
    pub fn new(path: &Path, message: impl Into<Text>) -> Self {
        Self { path: path.clone(), message: spaced(message.into()), help: None, span: MistakeSpan::Value }
    }

    pub fn help(mut self, help: impl Into<Text>) -> Self {
        self.help = Some(spaced(help.into()));
        self
    }

    /// Whether the other mistake is about a name that the message or the help of this one quotes.
    fn is_about_same(&self, other: &Self) -> bool {
        fn quoted(text: &Text) -> impl Iterator<Item = &str> {
            let names = text.en.split('`').skip(1).step_by(2);
            names.map(|name| name.rsplit('.').next().unwrap_or(name))
        }
        let mut own = quoted(&self.message).chain(self.help.iter().flat_map(quoted));
        own.any(|name| quoted(&other.message).any(|other| other == name))
    }

    /// Fails with a finding, if there is one.
    pub(crate) fn if_found(path: &Path, finding: Option<Finding>) -> Result<(), Self> {
        finding.map_or(Ok(()), |finding| Err(path.mistake(finding)))
    }

    /// Checks that all names are known.
    pub fn unless_known<'a>(
        path: &Path,
        what: impl Into<Text>,
        names: &BTreeSet<String>,
        known: impl Iterator<Item = &'a String> + Clone,
    ) -> Result<(), Self> {
        let Some(name) = names.iter().find(|name| !known.clone().any(|known| known == *name)) else {
            return Ok(());
        };
        let mistake = Self::unknown(path, what, name, known.clone().map(String::as_str));
        let write = |meant: String| both!("write `{meant}`", "请写 `{meant}`");
        if let Some(meant) =
            meant_by(name).filter(|_| matches!(name.as_str(), "len" | "size" | "str" | "int"))
        {
            return Err(mistake.help(write(meant)));
        }
        match nearest(name, known.map(String::as_str), ALIKE) {
            Some(near) if near.contains('-') => {
                return Err(mistake.help(both!(
                    "`{near}` has a `-`, which an expression takes for minus: give it another name",
                    "`{near}` 里有 `-`，表达式会把它当成减号：请换个名字"
                )));
            }
            Some(_) => return Err(mistake),
            None => {}
        }
        if let Some(meant) = meant_by(name) {
            return Err(mistake.help(write(meant)));
        }
        let quotes = both!("a text stands in quotes: '{name}'", "文字要写在引号里：'{name}'");
        let help: Vec<Text> = mistake.help.clone().into_iter().chain([quotes]).collect();
        Err(mistake.help(Text::join(&help, "; ", "；")))
    }

    /// A mistake about an unknown name, with a similar known name as help.
    pub fn unknown<'a>(
        path: &Path,
        what: impl Into<Text>,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut known: Vec<&str> = known.into_iter().collect();
        let mut seen = BTreeSet::new();
        known.retain(|name| seen.insert(*name));
        let what = what.into();
        let mut mistake =
            Self::new(path, both!("unknown {what} `{name}`", "没有名为 `{name}` 的{what}", what));
        if matches!(path.segments().last(), Some(Segment::Key(key)) if key == name) {
            mistake.span = MistakeSpan::Key;
        }
        if let Some((full, ascii)) = FULL_WIDTH.iter().find(|(full, _)| name.contains(*full)) {
            return mistake.help(both!(
                "write ASCII punctuation: `{ascii}` for `{full}`",
                "请用半角标点：`{full}` 改成 `{ascii}`"
            ));
        }
        if name.contains(", ") {
            return mistake.help(both!("several are a list: `[A, B]`", "要写多个请用列表：`[A, B]`"));
        }
        // Among `redis1` to `redis5` no name is more likely than another, so all are listed.
        let stem = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
        if known.len() < MOST && known.iter().filter(|known| stem(known) == stem(name)).count() > 1 {
            let known = shorten(&known);
            return mistake.help(both!("known here: {known}", "这里可用的有：{known}"));
        }
        match (nearest(name, known.iter().copied(), ALIKE), shorten(&known)) {
            (Some(near), _) => mistake.help(did_you_mean(near)),
            (None, _) if known.is_empty() => {
                mistake.help(both!("this lesson has no {what} at all", "这节课里没有任何{what}", what))
            }
            (None, known) => mistake.help(both!("known here: {known}", "这里可用的有：{known}")),
        }
    }
}

/// What to write for a name of another language, or for a filter that is written as a function.
fn meant_by(name: &str) -> Option<String> {
    let meant = match name {
        "null" | "nil" | "None" | "NULL" | "Null" | "undefined" => "none",
        "True" | "TRUE" | "yes" => "true",
        "False" | "FALSE" | "no" => "false",
        "len" | "size" => "x|length",
        "str" | "tostring" => "x|string",
        "tonumber" | "parseInt" => "x|int",
        _ if is_filter(name) => return Some(format!("x|{name}")),
        _ => return None,
    };
    Some(meant.to_owned())
}

/// Puts a space between a Chinese character and what stands in backticks: parts of a sentence do not know what they are
/// put beside.
fn spaced(text: Text) -> Text {
    let is_han = |c: Option<char>| c.is_some_and(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
    let mut zh = String::with_capacity(text.zh.len());
    let (mut inside, mut letters) = (false, text.zh.chars().peekable());
    while let Some(c) = letters.next() {
        if c != '`' {
            zh.push(c);
            continue;
        }
        if !inside && is_han(zh.chars().next_back()) {
            zh.push(' ');
        }
        zh.push(c);
        if inside && is_han(letters.peek().copied()) {
            zh.push(' ');
        }
        inside = !inside;
    }
    Text { zh, ..text }
}

/// The known name that was probably meant: the most similar one whose similarity exceeds `least`, from 0 to 1.
pub(crate) fn nearest<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    least: f64,
) -> Option<&'a str> {
    // In a short name two swapped letters lower the Jaro-Winkler similarity too much.
    let likeness = |known: &str| {
        let slip = name.len() > 2 && strsim::osa_distance(&known.to_lowercase(), &name.to_lowercase()) <= 1;
        strsim::jaro_winkler(known, name).max(if slip { 0.95 } else { 0.0 })
    };
    let alike = known.into_iter().map(|known| (likeness(known), known));
    let near = alike.filter(|(likeness, _)| *likeness > least).max_by(|a, b| a.0.total_cmp(&b.0));
    near.map(|(_, near)| near)
}

pub(crate) fn did_you_mean(near: &str) -> Text {
    both!("did you mean `{near}`?", "是不是 `{near}`？")
}

/// The help for an unknown name: the known one that was probably meant, or else what there is.
pub(crate) fn suggestion(near: Option<&str>, otherwise: impl FnOnce() -> Text) -> Text {
    near.map_or_else(otherwise, did_you_mean)
}

/// The similarity above which an unknown name in a lesson is taken for a misspelling of a known one.
pub(crate) const ALIKE: f64 = 0.8;

/// Chinese punctuation and the ASCII characters that lessons need instead.
const FULL_WIDTH: [(char, char); 8] =
    [('，', ','), ('、', ','), ('：', ':'), ('；', ';'), ('【', '['), ('】', ']'), ('（', '('), ('）', ')')];

/// The largest number of names that a help text lists.
const MOST: usize = 12;

fn shorten(names: &[&str]) -> String {
    let mut text = names.iter().take(MOST).copied().collect::<Vec<_>>().join(", ");
    if names.len() > MOST {
        text.push_str(", …");
    }
    text
}

/// Delimits the English and the Chinese text of a mistake inside a `serde` error, which carries only one text.
const MARK: char = '\u{1}';

/// Creates the `serde` error for a mistake found while a file is parsed.
pub(crate) fn custom<E: serde::de::Error>(text: &Text) -> E {
    E::custom(marked(text))
}

/// Encodes both texts into one string, for a conversion whose error type `serde` reads.
pub(crate) fn marked(text: &Text) -> String {
    format!("{MARK}{}{MARK}{}{MARK}", text.en, text.zh)
}

/// Decodes the texts given to [`custom`]; `None` if the message is from `serde` or the YAML parser.
pub(crate) fn from_custom(message: &str) -> Option<Text> {
    match message.split(MARK).collect::<Vec<_>>()[..] {
        [_, en, zh, _] => Some(Text::new(en, zh)),
        _ => None,
    }
}

/// A mistake in a lesson, with its place in the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct LessonError {
    /// The file's name, as the user knows it.
    pub file: String,
    /// Line and column, from 1, if known.
    pub place: Option<(usize, usize)>,
    /// The text of that line.
    pub excerpt: Option<String>,
    pub message: Text,
    /// What would be right.
    pub help: Option<Text>,
    /// Further mistakes in the same file, which do not come of this one.
    pub more: Vec<Self>,
}

impl LessonError {
    /// A mistake that concerns a file as a whole.
    pub fn of_file(file: impl Into<String>, message: impl Into<Text>, help: Option<Text>) -> Self {
        Self {
            file: file.into(),
            place: None,
            excerpt: None,
            message: message.into(),
            help,
            more: Vec::new(),
        }
    }

    /// The message, the line with the mistake, and the help, as the command line shows them.
    pub fn in_lang(&self, lang: Lang) -> String {
        let mut text = self.file.clone();
        if let Some((line, column)) = self.place {
            let _ = write!(text, ":{line}:{column}");
        }
        let _ = write!(text, ": {}", self.message.get(lang));
        if let (Some((line, column)), Some(excerpt)) = (self.place, &self.excerpt) {
            let number = line.to_string();
            let caret = " ".repeat(excerpt.chars().take(column.saturating_sub(1)).map(width).sum());
            let _ = write!(text, "\n  {number} | {excerpt}\n  {} | {caret}^", " ".repeat(number.len()));
        }
        if let Some(help) = &self.help {
            let _ = write!(text, "\n  {}{}{}", both!("help", "提示").get(lang), lang.colon(), help.get(lang));
        }
        text
    }
}

impl fmt::Display for LessonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_lang(Lang::En))
    }
}

impl From<LessonError> for Text {
    fn from(error: LessonError) -> Self {
        Self::from_fn(|lang| error.in_lang(lang))
    }
}

fn width(c: char) -> usize {
    unicode_width::UnicodeWidthChar::width(c).unwrap_or(0)
}
