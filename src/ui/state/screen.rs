//! How the screen is arranged: forms, diagrams, scroll positions, overlays, and the phase of a run.

use std::collections::BTreeMap;

pub use crate::run::session::Failure;
use crate::{log::Log, ui::keys::Pane, verdict::Verdict, world::World};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// All panes; the focused one has more room.
    #[default]
    Panes,
    /// The focused pane alone.
    Zoomed,
    /// For the back row of a classroom: the story in large, and the timelines; no hints.
    Presenting,
}

impl Form {
    /// Switches to `other`, or from it back to the panes.
    pub fn toggled(self, other: Self) -> Self {
        if self == other { Self::Panes } else { other }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiagramKind {
    /// Lanes, with time to the right.
    #[default]
    Timeline,
    /// Columns and arrows, with time downwards.
    Sequence,
}

impl DiagramKind {
    pub fn other(self) -> Self {
        match self {
            Self::Timeline => Self::Sequence,
            Self::Sequence => Self::Timeline,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlay {
    #[default]
    Nothing,
    /// The help, with its scroll position in lines.
    Help(u16),
    Branches(usize),
    Palette,
    /// How a class joins.
    Joining,
    /// The lock measurement, with its scroll position in lines.
    Measured(u16),
}

/// The scroll position of each pane; `None` follows the playhead.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scrolls(BTreeMap<Pane, u16>);

impl Scrolls {
    pub fn get(&self, pane: Pane) -> Option<u16> {
        self.0.get(&pane).copied()
    }

    pub fn set(&mut self, pane: Pane, scroll: Option<u16>) {
        match scroll {
            Some(scroll) => self.0.insert(pane, scroll),
            None => self.0.remove(&pane),
        };
    }
}

#[derive(Debug, Clone, Copy)]
pub enum RunPhase<'a> {
    Booting,
    Ready,
    Working,
    /// The story is over; the verdict follows shortly.
    Over(Option<&'a Verdict>),
    Failed(&'a Failure),
}

/// Whether the lesson plays by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Motion {
    #[default]
    Paused,
    /// A single step is being shown.
    Stepping,
    Playing,
    Held,
}

#[derive(Debug, Clone, Copy)]
pub enum ComparePhase<'a> {
    Waiting,
    /// The run is being carried out on real servers.
    Running {
        booting: bool,
        /// The number of completed steps of the story.
        step: usize,
    },
    Judged(&'a Verdict),
    Failed(&'a Failure),
}

#[derive(Debug, Clone, Copy)]
pub struct CompareSide<'a> {
    pub variant: usize,
    /// The log, once the run is over.
    pub log: Option<&'a Log>,
    pub world: &'a World,
    pub phase: ComparePhase<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes {
    /// The first mistake: file, line, column, what is wrong, how to fix it.
    pub first: String,
    pub more: usize,
}
