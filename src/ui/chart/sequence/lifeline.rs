//! The lifeline of a column: its look from which row on.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Look {
    /// A client that neither holds nor requests a lock; a running server.
    #[default]
    Idle,
    Waiting,
    Unsure,
    Holding,
    /// Holding a lock that another actor believes to hold too.
    Clashing,
    Frozen,
    Dead,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ColumnState {
    /// Whether the column has sent anything. Before that nobody waits, whatever locks its program wants.
    pub asked: bool,
    pub waiting: usize,
    pub unsure: usize,
    pub holding: usize,
    /// Locks that an actor of this column and another actor both hold.
    pub clashing: Vec<String>,
    pub frozen: bool,
    pub dead: bool,
}

impl ColumnState {
    fn look(&self) -> Look {
        match self {
            Self { dead: true, .. } => Look::Dead,
            Self { frozen: true, .. } => Look::Frozen,
            Self { clashing, .. } if !clashing.is_empty() => Look::Clashing,
            Self { holding: 1.., .. } => Look::Holding,
            Self { unsure: 1.., .. } => Look::Unsure,
            Self { waiting: 1.., asked: true, .. } => Look::Waiting,
            _ => Look::Idle,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    row: usize,
    event: usize,
    look: Look,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lifeline {
    pub(crate) state: ColumnState,
    changes: Vec<Change>,
}

impl Lifeline {
    /// Adds the current state to the lifeline, from row `row` on.
    pub(crate) fn update(&mut self, row: usize, event: usize) {
        let look = self.state.look();
        let before = self.changes.last().map(|change| change.look);
        if before.unwrap_or_default() != look {
            self.changes.push(Change { row, event, look });
        }
    }

    pub fn look(&self, row: usize, position: usize) -> Look {
        // The binary search works because rows and events never decrease.
        let known = self.changes.partition_point(|change| change.row <= row && change.event < position);
        known.checked_sub(1).map_or_else(Look::default, |n| self.changes[n].look)
    }
}
