//! What is typed into the command palette, and its lines.

use crate::ui::keys::Action;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Palette {
    pub typed: String,
    /// The chosen line of those that match.
    pub chosen: usize,
    pub faults: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub action: Action,
    pub name: String,
    /// Other names under which it is found: in the other language, in the configuration.
    pub others: Vec<String>,
    pub keys: String,
    /// Whether it is so already: the theme, the language, the speed.
    pub current: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub command: Command,
    pub marks: Vec<usize>,
    /// Another name that matches, and its characters that do.
    pub other: Option<(String, Vec<usize>)>,
}
