//! The state of the command palette: typed text and lines.

use crate::ui::keys::Action;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Palette {
    pub typed: String,
    /// The index of the selected line among those that match.
    pub chosen: usize,
    pub faults: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaletteCommand {
    pub action: Action,
    pub name: String,
    /// Other names that match: in the other language, in the configuration.
    pub others: Vec<String>,
    pub keys: String,
    /// Whether it is the current setting: theme, language, speed.
    pub current: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub command: PaletteCommand,
    pub marks: Vec<usize>,
    /// Another matching name, with the indices of its matching characters.
    pub other: Option<(String, Vec<usize>)>,
}
