//! What an author did wrong, and where.

use std::{collections::BTreeSet, fmt};

/// Where in a lesson something is: the keys and indices that lead there, `programs.worker[2].acquire`.
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

    pub fn key(&self, key: &str) -> Self {
        self.then(Segment::Key(key.to_owned()))
    }

    pub fn index(&self, index: usize) -> Self {
        self.then(Segment::Index(index))
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

/// A mistake, before its line and column are looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    pub path: Path,
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
}

impl Mistake {
    pub fn new(path: &Path, message: impl Into<String>) -> Self {
        Self { path: path.clone(), message: message.into(), help: None }
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Names of which each must be known.
    pub fn unless_known<'a>(
        path: &Path,
        what: &str,
        names: &BTreeSet<String>,
        known: impl Iterator<Item = &'a String> + Clone,
    ) -> Result<(), Self> {
        match names.iter().find(|name| !known.clone().any(|known| known == *name)) {
            None => Ok(()),
            Some(name) => Err(Self::unknown(path, what, name, known.map(String::as_str))),
        }
    }

    /// A name that nobody declared, with the nearest that somebody did.
    pub fn unknown<'a>(
        path: &Path,
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        let mistake = Self::new(path, format!("unknown {what} `{name}`"));
        match nearest(name, known.iter().copied(), ALIKE) {
            Some(near) => mistake.help(format!("did you mean `{near}`?")),
            None if known.is_empty() => mistake.help(format!("this lesson has no {what} at all")),
            None => mistake.help(format!("known here: {}", shorten(&known))),
        }
    }
}

/// The known name that may have been meant: the likest of those that are more alike than `least`, from 0 to 1.
pub(crate) fn nearest<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    least: f64,
) -> Option<&'a str> {
    let alike = known.into_iter().map(|known| (strsim::jaro_winkler(known, name), known));
    let near = alike.filter(|(likeness, _)| *likeness > least).max_by(|a, b| a.0.total_cmp(&b.0));
    near.map(|(_, near)| near)
}

/// How much alike a name is to the one that was meant in a lesson.
pub(crate) const ALIKE: f64 = 0.8;

/// A list of names that stays readable.
fn shorten(names: &[&str]) -> String {
    const MOST: usize = 12;
    let mut text = names.iter().take(MOST).copied().collect::<Vec<_>>().join(", ");
    if names.len() > MOST {
        text.push_str(", …");
    }
    text
}

/// A mistake in a lesson, with its place in the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct LessonError {
    /// The file, as the user knows it.
    pub file: String,
    /// Line and column, from 1, where they are known.
    pub place: Option<(usize, usize)>,
    /// The text of that line.
    pub excerpt: Option<String>,
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
}

impl LessonError {
    /// A mistake that concerns a file as a whole.
    pub fn of_file(file: impl Into<String>, message: impl Into<String>, help: Option<String>) -> Self {
        Self { file: file.into(), place: None, excerpt: None, message: message.into(), help }
    }
}

impl fmt::Display for LessonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.message)?;
        if let (Some((line, column)), Some(excerpt)) = (self.place, &self.excerpt) {
            let number = line.to_string();
            let caret = " ".repeat(excerpt.chars().take(column.saturating_sub(1)).map(width).sum());
            write!(f, "\n  {number} | {excerpt}\n  {} | {caret}^", " ".repeat(number.len()))?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

fn width(c: char) -> usize {
    unicode_width::UnicodeWidthChar::width(c).unwrap_or(0)
}
