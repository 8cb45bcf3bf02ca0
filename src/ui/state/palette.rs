//! What is typed into the command palette, and its lines.

use crate::ui::keys::Action;

/// What is typed into the palette, and which line is chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Palette {
    pub typed: String,
    /// The chosen line of those that match.
    pub chosen: usize,
    /// Whether only faults are listed.
    pub faults: bool,
}

impl Palette {
    /// A palette of the faults that can be caused.
    pub fn of_faults() -> Self {
        Self { faults: true, ..Self::default() }
    }
}

/// A line of the palette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub action: Action,
    /// Its name in the language of the screen.
    pub name: String,
    /// Other names under which it is found: in the other language, in the configuration.
    pub others: Vec<String>,
    /// Its keys, as they are shown.
    pub keys: String,
    /// Whether it is so already: the theme, the language, the speed.
    pub current: bool,
}

/// A line that matches what was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The line.
    pub command: Command,
    /// The characters of its name that match.
    pub marks: Vec<usize>,
    /// Another name that matches, and its characters that do.
    pub beside: Option<(String, Vec<usize>)>,
}
