//! A row of the sequence: its content and the events it stands for.

use crate::{clock::LessonTime, log::Excess, ui::chart::RoleChange};

/// How far a command gets: to its server, or to a link that holds it or is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    Through,
    Held,
    Cut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    Sent(Delivery),
    /// A command that a link had held reaches its server; `sent` is the event with which it left the client.
    Delivered {
        sent: usize,
    },
    /// A reply, or the certainty that there will be none.
    Replied {
        lost: bool,
    },
    /// A client was killed before the reply to this command arrived, so nobody receives the reply.
    Orphaned {
        sent: usize,
    },
    /// A server notifies a client.
    Notified,
}

/// The content of a row. Clients and servers are given by their columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowKind {
    Message {
        client: usize,
        server: usize,
        message: Message,
    },
    /// An action within a client: it waits, counts, handles a notification, uses a local lock.
    Note {
        column: usize,
    },
    Expired {
        column: usize,
        key: String,
        /// When its TTL was over; the server was observed at that moment or later.
        end: LessonTime,
    },
    /// A server reports a new role: master, replica, voting member.
    Role {
        column: usize,
        change: RoleChange,
    },
    Fault {
        columns: Vec<usize>,
    },
    /// A fault of links: for each link the columns of its two ends, if they have any, and the event.
    Link {
        ends: Vec<(usize, usize, usize)>,
    },
    /// A lock has too many holders from here on.
    OverlapSpan {
        lock: String,
        excess: Excess,
    },
    /// Another invariant is broken.
    Breach,
    /// Time passes without an event.
    Gap {
        since: LessonTime,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub kind: RowKind,
    pub event: usize,
    /// The event that followed at once: a counter that grew, a wait that began; for a lock of the process, the reply.
    pub note: Option<usize>,
    pub more: Vec<usize>,
    /// The key that a further event must share to be added to this row.
    pub(crate) same: Option<(usize, u8, String)>,
}

impl Row {
    pub(crate) fn new(kind: RowKind, event: usize) -> Self {
        Self { kind, event, note: None, more: Vec::new(), same: None }
    }

    /// The number of this row's events among the first `position`.
    pub fn count(&self, position: usize) -> usize {
        1 + self.more.partition_point(|event| *event < position)
    }

    pub fn last(&self, position: usize) -> usize {
        let more = self.count(position) - 1;
        more.checked_sub(1).map_or(self.event, |n| self.more[n])
    }

    /// Whether the row can be selected; a gap in time has no event.
    pub fn is_selectable(&self) -> bool {
        !matches!(self.kind, RowKind::Gap { .. })
    }

    /// The leftmost and the rightmost column of the row.
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
