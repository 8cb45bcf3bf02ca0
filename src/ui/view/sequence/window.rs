//! The visible columns and their positions: all if there is room, otherwise the servers and a page of clients.

use crate::ui::{
    chart::sequence::{ColumnOwner, Row},
    view::{lanes, prelude::*},
};

/// Columns of the time, and a space.
pub const TIME: u16 = 9;
/// The minimum distance of two lifelines.
const APART: u16 = 6;

#[derive(Debug, Clone)]
pub struct Window {
    /// The area of the columns, right of the time.
    pub plot: Rect,
    /// For every column the position of its lifeline, if it is visible.
    lines: Vec<Option<u16>>,
    /// The number of hidden clients left and right of the visible ones.
    pub hidden: (usize, usize),
    clients: usize,
}

/// The maximum number of clients that can be scrolled out at the left.
pub fn reach(scene: &Scene<'_>, area: Rect) -> u16 {
    let (clients, _) = shown(scene, lanes::right_of(usize::from(TIME) - 1, area));
    let hidden = scene.sequence.columns.clients.saturating_sub(clients);
    u16::try_from(hidden).unwrap_or(u16::MAX)
}

/// The number of clients and of servers that fit.
fn shown(scene: &Scene<'_>, plot: Rect) -> (usize, usize) {
    let columns = &scene.sequence.columns;
    let servers = columns.all.len() - columns.clients;
    let room = usize::from(plot.width / APART).max(2);
    if columns.all.len() <= room {
        return (columns.clients, servers);
    }
    let servers = servers.min((room / 2).max(room.saturating_sub(columns.clients)));
    (columns.clients.min(room - servers), servers)
}

impl Window {
    /// The window whose first visible client is `first_client`; with `None`, the one that shows the row `follow`.
    pub fn new(scene: &Scene<'_>, first_client: Option<u16>, follow: Option<&Row>, area: Rect) -> Self {
        let plot = lanes::right_of(usize::from(TIME) - 1, area);
        let columns = &scene.sequence.columns;
        let (clients, servers) = shown(scene, plot);
        let most = columns.clients - clients;
        let wanted = follow
            .and_then(Row::columns)
            .map(|(client, _)| client)
            .filter(|client| *client < columns.clients);
        // Moves page by page, so that the window stays in place while neighbours communicate.
        let page = wanted.map_or(0, |client| client / clients.max(1) * clients);
        let first = first_client.map_or(page, usize::from).min(most);
        let on_screen = (first..first + clients).chain(columns.clients..columns.clients + servers);
        let on_screen: Vec<usize> = on_screen.collect();
        let mut lines = vec![None; columns.all.len()];
        let slot = usize::from(plot.width) / on_screen.len().max(1);
        let half = |column: Option<&usize>| {
            let width = column.map_or(0, |column| text::width(&name(scene, &columns.all[*column])));
            (width / 2 + 1).min(slot / 2)
        };
        let before = half(on_screen.first());
        let between = usize::from(plot.width).saturating_sub(before + half(on_screen.last()) + 1);
        for (n, column) in on_screen.iter().enumerate() {
            let offset = match on_screen.len() - 1 {
                0 => usize::from(plot.width) / 2,
                last => before + between * n / last,
            };
            lines[*column] = u16::try_from(offset).ok().map(|offset| plot.x + offset);
        }
        Self { plot, lines, hidden: (first, most - first), clients: columns.clients }
    }

    pub fn line(&self, column: usize) -> Option<u16> {
        self.lines.get(column).copied().flatten()
    }

    /// The visible columns and their lifelines, from left to right.
    pub fn lines(&self) -> impl Iterator<Item = (usize, u16)> + '_ {
        let lines = self.lines.iter().enumerate();
        lines.filter_map(|(column, x)| Some((column, (*x)?)))
    }

    /// The middle between two lifelines, where no other lifeline is: what happens there is no other client's.
    pub fn middle(&self, one: usize, other: usize) -> u16 {
        let (left, right) = self.between(one, other);
        let middle = left + right.saturating_sub(left) / 2;
        let lines = || self.lines().map(|(_, x)| x).filter(|x| (left..right).contains(x));
        let Some(near) = lines().find(|x| x.abs_diff(middle) < 2) else { return middle };
        let next = lines().filter(|x| *x > near).min().unwrap_or(right);
        near + (next - near) / 2
    }

    /// The columns of the screen strictly between two lifelines: the first, and the one after the last. A lifeline that
    /// is not visible is beyond the edge: clients at the left, servers at the right.
    pub fn between(&self, one: usize, other: usize) -> (u16, u16) {
        let (one, other) = (one.min(other), one.max(other));
        let at = |column: usize| {
            let edge = if column < self.clients { self.plot.x.saturating_sub(1) } else { self.plot.right() };
            self.line(column).unwrap_or(edge)
        };
        let (left, right) = (at(one), at(other));
        (left.min(right) + 1, left.max(right))
    }
}

pub fn name(scene: &Scene<'_>, who: &ColumnOwner) -> String {
    match who {
        ColumnOwner::Actor(actor) => format!("{} {}", scene.glyph(*actor), scene.name(*actor)),
        ColumnOwner::Crowd { client, first, members } => {
            format!("{} {client} ×{members}", scene.glyph(*first))
        }
        ColumnOwner::Server(server) => server.clone(),
    }
}
