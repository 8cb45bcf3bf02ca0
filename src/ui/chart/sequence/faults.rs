//! Faults in the sequence: their effects on lifelines and on commands in flight.

use super::{Delivery, Message, Row, RowKind, Sequence};
use crate::log::{ActorId, Belief, Condition, Direction, EventKind, Fault, LinkId, Log, Target};

impl Sequence {
    /// How far a command gets that is sent now.
    pub(crate) fn way(&self, log: &Log, actor: ActorId, server: &str) -> Delivery {
        if self.state.links.is_empty() {
            return Delivery::Through;
        }
        let client = log.actor(actor).map_or("", |actor| actor.client.as_str());
        let way = self.state.links.get(&LinkId::new(client, server));
        way.copied().unwrap_or(Delivery::Through)
    }

    pub(crate) fn fault(&mut self, log: &Log, fault: &Fault, index: usize) {
        match fault.target() {
            Target::Client(client) => self.client_fault(log, fault, client, index),
            Target::Server(server) => self.server_fault(fault, server, index),
            Target::Link(link) => {
                self.link(log, link, index);
                match fault.leaves() {
                    Condition::Cut => drop(self.state.links.insert(link.clone(), Delivery::Cut)),
                    // A link that holds only replies lets commands pass.
                    Condition::Held(Direction::Both | Direction::Requests) => {
                        self.state.links.insert(link.clone(), Delivery::Held);
                    }
                    Condition::Open if self.state.links.remove(link) == Some(Delivery::Held) => {
                        self.deliver(log, link, index);
                    }
                    _ => {}
                }
            }
        }
    }

    fn server_fault(&mut self, fault: &Fault, server: &str, index: usize) {
        let condition = fault.leaves();
        if condition == Condition::Dead {
            self.server_ends(server, index);
        } else if let Some(column) = self.columns.server(server) {
            self.hit(vec![column], index);
            if matches!(condition, Condition::Ahead(_)) {
                return;
            }
            let state = &mut self.lifelines[column].state;
            state.frozen = condition == Condition::Frozen;
            state.dead &= condition != Condition::Restarted;
            self.update(column, index);
        }
    }

    pub(crate) fn server_ends(&mut self, server: &str, index: usize) {
        let Some(column) = self.columns.server(server) else { return };
        // A dead server loses its keys; that is not the end of a TTL.
        if let Some(server) = self.state.servers.get_mut(server) {
            server.leases.clear();
            server.event = None;
        }
        if self.lifelines[column].state.dead {
            return;
        }
        self.hit(vec![column], index);
        self.lifelines[column].state.dead = true;
        self.update(column, index);
    }

    fn hit(&mut self, columns: Vec<usize>, index: usize) {
        self.rows.push(Row::new(RowKind::Fault { columns }, index));
    }

    fn client_fault(&mut self, log: &Log, fault: &Fault, client: &str, index: usize) {
        let actors: Vec<ActorId> = log.actors_of(client).collect();
        let mut columns: Vec<usize> = actors.iter().filter_map(|actor| self.columns.of(*actor)).collect();
        columns.dedup();
        self.hit(columns.clone(), index);
        if matches!(fault.leaves(), Condition::Ahead(_)) {
            return;
        }
        if fault.leaves() == Condition::Dead {
            self.actors_end(log, &actors, &columns, index);
        }
        for column in columns {
            let state = &mut self.lifelines[column].state;
            state.frozen = fault.leaves() == Condition::Frozen && !state.dead;
            self.update(column, index);
        }
    }

    fn actors_end(&mut self, log: &Log, actors: &[ActorId], columns: &[usize], index: usize) {
        self.orphan(log, actors, index);
        let mut held: Vec<(ActorId, String)> = self
            .state
            .beliefs
            .iter()
            .filter(|((actor, _), belief)| actors.contains(actor) && **belief != Belief::Nothing)
            .map(|(known, _)| known.clone())
            .collect();
        held.sort();
        for column in columns {
            self.lifelines[*column].state.dead = true;
        }
        for (actor, lock) in held {
            self.set_belief(actor, &lock, Belief::Nothing);
        }
    }

    pub(crate) fn gave_up(&mut self, log: &Log, actor: ActorId, index: usize) {
        let mut columns: Vec<usize> = self.columns.of(actor).into_iter().collect();
        self.hit(columns.clone(), index);
        // A crowd's lifeline does not end with one member.
        columns.retain(|column| !self.columns.is_crowd(*column));
        self.actors_end(log, &[actor], &columns, index);
        for column in columns {
            self.update(column, index);
        }
    }

    /// The commands of these actors that have no reply yet, oldest first.
    fn on_their_way(&self, log: &Log, actors: &[ActorId]) -> Vec<usize> {
        let mut sent: Vec<usize> = self.state.in_flight.values().copied().collect();
        sent.retain(|sent| match &log.events()[*sent].kind {
            EventKind::Sent { actor, .. } => actors.contains(actor),
            _ => false,
        });
        sent.sort_unstable();
        sent
    }

    /// Marks the commands in flight of dead clients: nobody receives their replies.
    fn orphan(&mut self, log: &Log, actors: &[ActorId], index: usize) {
        for sent in self.on_their_way(log, actors) {
            let EventKind::Sent { op, actor, server, .. } = &log.events()[sent].kind else { continue };
            self.state.in_flight.remove(op);
            if let (Some(client), Some(server)) = (self.columns.of(*actor), self.columns.server(server)) {
                let kind = RowKind::Message { client, server, message: Message::Orphaned { sent } };
                self.row(kind, index, (client, 7, ""));
            }
        }
    }

    fn deliver(&mut self, log: &Log, LinkId { from, to }: &LinkId, index: usize) {
        for sent in self.on_their_way(log, &log.actors_of(from).collect::<Vec<_>>()) {
            let EventKind::Sent { server, .. } = &log.events()[sent].kind else { continue };
            let row = self.row_of(sent).and_then(|row| self.rows.get(row));
            let held = row.and_then(|row| match row.kind {
                RowKind::Message { client, server, message: Message::Sent(Delivery::Held) } => {
                    Some((client, server))
                }
                _ => None,
            });
            if let Some((client, column)) = held.filter(|_| server == to) {
                let kind = RowKind::Message { client, server: column, message: Message::Delivered { sent } };
                self.row(kind, index, (client, 10, to));
            }
        }
    }

    /// Adds a fault of a link. Faults of one kind that are injected together share a row.
    fn link(&mut self, log: &Log, LinkId { from, to }: &LinkId, index: usize) {
        let mut starts: Vec<usize> = log.actors_of(from).filter_map(|actor| self.columns.of(actor)).collect();
        starts.dedup();
        starts.extend(self.columns.server(from));
        let ends = self.columns.server(to);
        let found = starts.into_iter().filter_map(|start| Some((start, ends?, index)));
        let same_kind = |row: &Row| match (&log.events()[row.event].kind, &log.events()[index].kind) {
            (EventKind::Fault(one), EventKind::Fault(other)) => {
                std::mem::discriminant(one) == std::mem::discriminant(other)
            }
            _ => false,
        };
        let open = self.state.step < self.rows.len();
        if let Some(row) = self.rows.last_mut().filter(|_| open)
            && same_kind(row)
            && let RowKind::Link { ends } = &mut row.kind
        {
            ends.extend(found);
            row.more.push(index);
            return;
        }
        let ends = found.collect();
        self.rows.push(Row::new(RowKind::Link { ends }, index));
    }
}
