//! How the screen is looked at: forms, lenses, scrolls, what lies over it, where a run stands.

use std::collections::BTreeMap;

use crate::{
    log::Log,
    text::{Text, Words},
    ui::keys::Pane,
    verdict::Verdict,
    world::World,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// All of them; the one with the focus has more room.
    #[default]
    Panes,
    /// The one with the focus, alone.
    Zoomed,
    /// For the last row of a classroom: the story, large, and the timelines; no hints.
    Presenting,
}

impl Form {
    /// The other form, or back to the panes.
    pub fn toggled(self, other: Self) -> Self {
        if self == other { Self::Panes } else { other }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiagramKind {
    /// Lanes, time to the right.
    #[default]
    Timeline,
    /// Columns and arrows, time downwards.
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
    /// The help, scrolled by so many lines.
    Help(u16),
    Branches(usize),
    Palette,
    /// How a class joins.
    Joining,
    /// Locks measured against each other, scrolled by so many lines.
    Measured(u16),
}

/// How far each pane is scrolled; `None` follows the playhead.
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

/// A run must say why it ends.
const ENDED: Words = Words::new("The run ended without saying why.", "运行中断了，原因不明。");

/// Why runs cannot go on.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// What happened, why, and what to do.
    pub message: Text,
    pub server: bool,
}

impl Failure {
    pub fn silent() -> Self {
        Self { message: ENDED.text(&[]), server: false }
    }
}

#[derive(Debug, Clone, Copy)]
pub enum RunPhase<'a> {
    Booting,
    Ready,
    Working,
    /// The story is over; the verdict comes a moment later.
    Over(Option<&'a Verdict>),
    Failed(&'a Failure),
}

/// Whether the lesson moves by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Motion {
    #[default]
    Paused,
    Playing,
    Held,
}

#[derive(Debug, Clone, Copy)]
pub enum ComparePhase<'a> {
    Waiting,
    /// It is being made on real servers.
    Running {
        booting: bool,
        /// How many steps of the story are over.
        step: usize,
    },
    Judged(&'a Verdict),
    Failed(&'a Failure),
}

#[derive(Debug, Clone, Copy)]
pub struct CompareSide<'a> {
    pub variant: usize,
    /// What happened, once the run is over.
    pub log: Option<&'a Log>,
    pub world: &'a World,
    pub phase: ComparePhase<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes {
    /// The first: file, line, column, what is wrong, what would be right.
    pub first: String,
    pub more: usize,
}
