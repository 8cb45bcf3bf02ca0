//! A row of the sequence: what it is about and which events it tells.

use crate::{clock::LessonTime, log::Excess, ui::chart::RoleChange};

/// How far a command gets: to its server, or to the link that holds it or was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    Through,
    Held,
    Cut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    Sent(Delivery),
    /// A command that a link had held goes on to its server; by the event that it left the client with.
    Delivered {
        sent: usize,
    },
    /// A reply, or the certainty that none will come.
    Replied {
        lost: bool,
    },
    /// A client was killed before the reply to this command came: nobody is there to hear it.
    Orphaned {
        sent: usize,
    },
    /// A server tells a client, unasked.
    Notified,
}

/// What a row is about. Clients and servers are told by their columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowKind {
    Message {
        client: usize,
        server: usize,
        message: Message,
    },
    /// Something that a client does by itself: it waits, counts, takes a notification, uses a local lock.
    Note {
        column: usize,
    },
    Expired {
        column: usize,
        key: String,
    },
    /// A server says that it is something else now: a master, a replica, one that votes.
    Role {
        column: usize,
        change: RoleChange,
    },
    Fault {
        columns: Vec<usize>,
    },
    /// A fault of links: both ends, where they have a column, and the event, of each link in turn.
    Link {
        ends: Vec<(usize, usize, usize)>,
    },
    /// A lock has too many holders from here on.
    OverlapSpan {
        lock: String,
        excess: Excess,
    },
    /// Something else is so that must never be.
    Breach,
    /// Time passes and nothing is said.
    Gap {
        since: LessonTime,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub kind: RowKind,
    pub event: usize,
    /// What came of it at once: a counter that grew, a wait that began; of a lock of the process, the reply.
    pub note: Option<usize>,
    pub more: Vec<usize>,
    /// What must be the same for a further event to be told here.
    pub(crate) same: Option<(usize, u8, String)>,
}

impl Row {
    pub(crate) fn new(kind: RowKind, event: usize) -> Self {
        Self { kind, event, note: None, more: Vec::new(), same: None }
    }

    /// How many events it tells to somebody who has seen the first `position`.
    pub fn count(&self, position: usize) -> usize {
        1 + self.more.partition_point(|event| *event < position)
    }

    pub fn last(&self, position: usize) -> usize {
        let more = self.count(position) - 1;
        more.checked_sub(1).map_or(self.event, |n| self.more[n])
    }

    /// Whether its event can be chosen: time that passes is not one.
    pub fn is_chosen(&self) -> bool {
        !matches!(self.kind, RowKind::Gap { .. })
    }

    /// The columns that it stands between, the left one first.
    pub fn columns(&self) -> Option<(usize, usize)> {
        match &self.kind {
            RowKind::Message { client, server, .. } => Some((*client, *server)),
            RowKind::Note { column } | RowKind::Expired { column, .. } | RowKind::Role { column, .. } => {
                Some((*column, *column))
            }
            RowKind::Fault { columns } => columns.first().map(|column| (*column, *column)),
            RowKind::Link { ends } => ends.first().map(|(from, to, _)| (*from, *to)),
            RowKind::OverlapSpan { .. } | RowKind::Breach | RowKind::Gap { .. } => None,
        }
    }
}
