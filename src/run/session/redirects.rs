//! How the clients of a Redis Cluster find the node of a key: each client remembers which node serves which
//! slot, and follows the nodes' redirections ("Redis cluster specification", MOVED and ASK). Every request on
//! the way is an operation of its own in the log.

use std::{collections::HashMap, sync::Arc, time::Duration};

use super::director::Director;
use crate::{
    client::protocol::{Request, Wire},
    lab::LinkState,
    lesson::plan::PlannedOperation,
    log::{ActorId, Command, LinkId, OpId, Product, Reply, slot},
};

/// The most redirections of one command. Beyond them the client gives up, and its program gets the last
/// reply.
const MOST_REDIRECTIONS: u8 = 5;

#[derive(Debug, Default)]
pub(crate) struct Redirects {
    /// The node that each client was redirected to for a slot. For other slots a client uses the initial
    /// layout of the cluster.
    moved: HashMap<(usize, u16), String>,
    /// The node of each actor's last command. Commands without a key also go there.
    last: HashMap<ActorId, String>,
    /// Commands that were sent and may be redirected.
    in_flight: HashMap<OpId, RedirectedCommand>,
    /// The operation that replaced a redirected one.
    followed: HashMap<OpId, OpId>,
}

#[derive(Debug, Clone)]
struct RedirectedCommand {
    wire: Wire,
    redirections: u8,
    /// Whether the operation is the `ASKING` that precedes the command.
    asking: bool,
}

impl Redirects {
    /// Returns the operation that is in flight in place of a redirected one, or `op` itself.
    pub(crate) fn follow(&mut self, mut op: OpId) -> OpId {
        while let Some(next) = self.followed.remove(&op) {
            op = next;
        }
        op
    }
}

impl Director {
    /// The node that an actor's client sends a command to.
    pub(crate) fn node_of(&self, actor: ActorId, command: &Command) -> String {
        let redirects = &self.redirects;
        let Some(cluster) = self.scenario.lab().cluster() else { return self.harness.server.clone() };
        let client = self.harness.client_of[actor.0 as usize];
        let node = match command.first_key().map(slot) {
            Some(slot) => match redirects.moved.get(&(client, slot)) {
                Some(node) => node.clone(),
                None => cluster.owner(slot).to_owned(),
            },
            None => redirects.last.get(&actor).cloned().unwrap_or_else(|| cluster.servers[0].to_owned()),
        };
        if self.accepts(client, &node) {
            return node;
        }
        // The client cannot connect to that node, so it asks another one, which knows the current owner by
        // now.
        let mut servers = cluster.servers.iter();
        servers.find(|other| self.accepts(client, other)).map_or(node, |other| (*other).to_owned())
    }

    /// Whether a client can connect to a node, even a frozen one.
    fn accepts(&self, client: usize, node: &str) -> bool {
        let lab = &self.harness.lab;
        let link = lab.link_control(&LinkId::new(&self.harness.clients[client].name, node));
        link.is_some_and(|link| link.state() != LinkState::Cut)
            && lab.process(node).is_ok_and(|process| process.ended().is_none())
    }

    /// Notes a command that may be redirected.
    pub(crate) fn note_redirectable(
        &mut self,
        op: OpId,
        actor: ActorId,
        operation: &PlannedOperation,
        wire: &Wire,
    ) {
        if self.scenario.lab().is_cluster() && wire.command.product() == Some(Product::Redis) {
            self.redirects.last.insert(actor, wire.server.clone());
            // A program that handles redirections itself gets them as replies.
            if !operation.allows("MOVED") && !operation.allows("ASK") {
                let in_flight = RedirectedCommand { wire: wire.clone(), redirections: 0, asking: false };
                self.redirects.in_flight.insert(op, in_flight);
            }
        }
    }

    /// Replaces the address in a redirection by the name of the node: its port differs with every run.
    pub(crate) fn name_node(&self, reply: &Reply) -> Reply {
        match reply {
            Reply::Error { code, text } if code == "MOVED" || code == "ASK" => {
                let (slot, address) = text.split_once(' ').unwrap_or((text, ""));
                let node = self.harness.lab.announced(address).unwrap_or(address);
                Reply::Error { code: code.clone(), text: format!("{slot} {node}") }
            }
            other => other.clone(),
        }
    }

    /// Follows a redirection: sends the command to the node that it names. Returns `false` if the reply is no
    /// redirection, or is left to the program.
    pub(crate) fn redirect(
        &mut self,
        op: OpId,
        actor: ActorId,
        operation: &Arc<PlannedOperation>,
        reply: &Reply,
    ) -> bool {
        let Some(mut in_flight) = self.redirects.in_flight.remove(&op) else { return false };
        let asks =
            |text: &str| text.split_once(' ').map(|(slot, node)| (slot.parse::<u16>(), node.to_owned()));
        let command = match reply {
            _ if in_flight.asking => {
                in_flight.asking = false;
                in_flight.wire.command.clone()
            }
            Reply::Error { code, text } if code == "MOVED" || code == "ASK" => {
                let Some((Ok(slot), node)) = asks(text) else { return false };
                if in_flight.redirections == MOST_REDIRECTIONS {
                    return false;
                }
                in_flight.redirections += 1;
                in_flight.wire.server = node;
                in_flight.asking = code == "ASK";
                if in_flight.asking {
                    Command::Redis(vec!["ASKING".to_owned()])
                } else {
                    let client = self.harness.client_of[actor.0 as usize];
                    self.redirects.moved.insert((client, slot), in_flight.wire.server.clone());
                    self.redirects.last.insert(actor, in_flight.wire.server.clone());
                    in_flight.wire.command.clone()
                }
            }
            _ => return false,
        };
        let script = in_flight.wire.script.clone().filter(|_| !in_flight.asking);
        let wire = Wire { server: in_flight.wire.server.clone(), command, script };
        self.pending.next += 1;
        let next = OpId(self.pending.next);
        // The release was already recorded with the first request.
        let again = PlannedOperation { releases: Vec::new(), ..(**operation).clone() };
        self.recorder.record(self.actors[actor].sent(next, &again, &wire));
        self.pending.begin(next, (actor, operation), &wire, self.clock.now(), Duration::ZERO);
        self.redirects.in_flight.insert(next, in_flight);
        self.redirects.followed.insert(op, next);
        self.harness.outbox.push_back((actor, Request::Do { op: next, actor, wire }));
        true
    }
}
