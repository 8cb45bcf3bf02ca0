//! How the clients of a Redis Cluster find the node of a key: each remembers which node serves which slot, and follows
//! the nodes' redirections ("Redis cluster specification", MOVED and ASK). Every request on the way is an operation of
//! its own in the log.

use std::{collections::HashMap, sync::Arc, time::Duration};

use super::director::Director;
use crate::{
    client::protocol::{Request, Wire},
    lab::LinkState,
    lesson::plan::PlannedOperation,
    log::{ActorId, Command, LinkId, OpId, Product, Reply, slot},
};

/// A client that is sent about more often than that gives up, and its program gets the last answer.
const MOST_REDIRECTIONS: u8 = 5;

#[derive(Debug, Default)]
pub(crate) struct Redirects {
    /// By client and slot: the node that it was redirected to. It looks for all other slots where the cluster began.
    moved: HashMap<(usize, u16), String>,
    /// The node of each actor's last command: those without a key go there, too.
    last: HashMap<ActorId, String>,
    /// What was sent and may be redirected.
    flying: HashMap<OpId, RedirectedCommand>,
    /// The operation that took another one's place.
    followed: HashMap<OpId, OpId>,
}

#[derive(Debug, Clone)]
struct RedirectedCommand {
    wire: Wire,
    redirections: u8,
    /// Whether this is the `ASKING` before it.
    asking: bool,
}

impl Redirects {
    /// The operation that is under way in place of one that was redirected.
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
        let client = self.harness.homes[actor.0 as usize];
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
        // No connection to it can be made, so another node is asked, which knows better by now.
        let mut servers = cluster.servers.iter();
        servers.find(|other| self.accepts(client, other)).map_or(node, |other| (*other).to_owned())
    }

    /// Whether a client gets a connection to a node, be it one that is frozen.
    fn accepts(&self, client: usize, node: &str) -> bool {
        let lab = &self.harness.lab;
        let link = lab.link_control(&LinkId::new(&self.harness.clients[client].name, node));
        link.is_some_and(|link| link.state() != LinkState::Cut)
            && lab.process(node).is_ok_and(|process| process.ended().is_none())
    }

    /// Notes a command that may be redirected.
    pub(crate) fn may_be_redirected(
        &mut self,
        op: OpId,
        actor: ActorId,
        operation: &PlannedOperation,
        wire: &Wire,
    ) {
        if self.scenario.lab().is_cluster() && wire.command.product() == Some(Product::Redis) {
            self.redirects.last.insert(actor, wire.server.clone());
            // Whose program handles redirections gets them.
            if !operation.allow.iter().any(|code| code == "MOVED" || code == "ASK") {
                let flying = RedirectedCommand { wire: wire.clone(), redirections: 0, asking: false };
                self.redirects.flying.insert(op, flying);
            }
        }
    }

    /// Names the node in a redirection by its name in the lab, in place of a port that differs with every run.
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

    /// Follows a redirection: sends the command to the node that it names. Says whether it did; if not, the reply is the
    /// program's.
    pub(crate) fn redirect(
        &mut self,
        op: OpId,
        actor: ActorId,
        operation: &Arc<PlannedOperation>,
        reply: &Reply,
    ) -> bool {
        let Some(mut flying) = self.redirects.flying.remove(&op) else { return false };
        let asks =
            |text: &str| text.split_once(' ').map(|(slot, node)| (slot.parse::<u16>(), node.to_owned()));
        let command = match reply {
            _ if flying.asking => {
                flying.asking = false;
                flying.wire.command.clone()
            }
            Reply::Error { code, text } if code == "MOVED" || code == "ASK" => {
                let Some((Ok(slot), node)) = asks(text) else { return false };
                if flying.redirections == MOST_REDIRECTIONS {
                    return false;
                }
                flying.redirections += 1;
                flying.wire.server = node;
                flying.asking = code == "ASK";
                if flying.asking {
                    Command::Redis(vec!["ASKING".to_owned()])
                } else {
                    let client = self.harness.homes[actor.0 as usize];
                    self.redirects.moved.insert((client, slot), flying.wire.server.clone());
                    self.redirects.last.insert(actor, flying.wire.server.clone());
                    flying.wire.command.clone()
                }
            }
            _ => return false,
        };
        let script = flying.wire.script.clone().filter(|_| !flying.asking);
        let wire = Wire { server: flying.wire.server.clone(), command, script };
        self.pending.next += 1;
        let next = OpId(self.pending.next);
        // Its release was asked for with the first request.
        let again = PlannedOperation { releases: Vec::new(), ..(**operation).clone() };
        self.recorder.record(self.actors[actor].sent(next, &again, &wire));
        self.pending.begin(next, (actor, operation), &wire, self.clock.now(), Duration::ZERO);
        self.redirects.flying.insert(next, flying);
        self.redirects.followed.insert(op, next);
        self.harness.outbox.push_back((actor, Request::Do { op: next, actor, wire }));
        true
    }
}
