//! Items of a story that have no effect, such as a thaw of a client that is not frozen, or a move of a crashed client.
//! A run reports some of them only when it reaches them; `check` reports all of them before.

use std::collections::BTreeSet;

use super::{
    super::{
        error::{Mistake, Path},
        expr::mentions::split_comparison,
        has_word,
        model::Claim,
    },
    Act, PlannedMove, PlannedOperation, PlannedVerb, Scenario,
    doubts::{Literal, literal, required},
    order::Positions,
    program::Instruction,
};
use crate::{
    log::{ANY, ActorId, Direction, Fault, LinkId, Product},
    text::{Text, both},
};

#[derive(Default)]
struct State {
    frozen: BTreeSet<String>,
    killed: BTreeSet<String>,
    crashed: BTreeSet<String>,
    /// Links that are cut, or that hold or delay messages.
    disturbed: BTreeSet<LinkId>,
    /// Links that are cut.
    severed: BTreeSet<LinkId>,
    /// What each link holds, per direction.
    held: Vec<(LinkId, Direction)>,
    /// Clients that may have commands in flight.
    sent: BTreeSet<String>,
    /// Moves whose reply a link holds, and whether they handle a lost reply.
    kept: Vec<(LinkId, String, bool)>,
    /// Moves whose last reply was lost.
    lost: BTreeSet<String>,
}

pub(crate) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    let mut state = State::default();
    let mut positions = Positions::new(scenario);
    // What a learner writes is not known.
    let is_open = scenario.loaded.lesson.kata.is_some();
    for line in &scenario.story {
        let turns = match &line.act {
            Act::Each(turns) | Act::Together(turns) => turns.as_slice(),
            Act::Send(one) => std::slice::from_ref(one),
            _ => &[],
        };
        let moved: Vec<ActorId> = match &line.act {
            Act::Finish(actors) => actors.clone(),
            _ => turns.iter().map(|one| one.actor).collect(),
        };
        let client = |actor: &ActorId| &scenario.actors[actor.0 as usize].actor.client;
        let dead = moved.iter().map(client).find(|client| state.crashed.contains(*client));
        let mut wrong = dead.map(|client| {
            (
                both!("`{client}` has crashed by now and makes no move", "`{client}` 已经崩溃，不会再有操作"),
                both!(
                    "move it before its `crash`, or move another client",
                    "请把操作放在 `crash` 之前，或者换一个客户端"
                ),
            )
        });
        let alone = match &line.act {
            Act::Pass(pass) => pass.moving.as_slice(),
            Act::Await(until) => until.moving.as_slice(),
            _ => &[],
        };
        if let Some(client) = alone
            .first()
            .map(client)
            .filter(|_| alone.iter().map(client).all(|client| state.crashed.contains(client)))
        {
            wrong = Some((
                both!("`{client}` has crashed by now and makes no move", "`{client}` 已经崩溃，不会再有操作"),
                both!(
                    "leave it out of `moving`, or name another client",
                    "请从 `moving` 里去掉它，或者换一个客户端"
                ),
            ));
        }
        let starts = !matches!(line.act, Act::Finish(_));
        let frozen = moved.iter().map(client).find(|client| starts && state.frozen.contains(*client));
        wrong = wrong.or_else(|| {
            let client = frozen?;
            Some((
                both!("`{client}` is frozen here and makes no move", "`{client}` 此时被冻结，不会有操作"),
                both!(
                    "write `- thaw: {client}` before it, or move another client",
                    "请先写 `- thaw: {client}`，或者换一个客户端"
                ),
            ))
        });
        let waits = !matches!(line.act, Act::Send(_));
        if let Act::Send(one) = &line.act {
            state.sent.insert(client(&one.actor).clone());
        }
        wrong = wrong.or_else(|| turns.iter().find_map(|one| state.lost(scenario, one, waits)));
        if let Act::Faults(faults) = &line.act {
            wrong = wrong.or_else(|| faults.iter().find_map(|fault| of_replication(fault, scenario)));
            wrong = wrong.or_else(|| {
                faults.iter().find_map(|fault| state.in_vain(fault).or_else(|| state.after(fault)))
            });
        }
        if let Act::Finish(actors) = &line.act {
            wrong = wrong.or_else(|| actors.iter().find_map(|one| state.stops(scenario, &positions, *one)));
        }
        if let Some((message, help)) = wrong {
            return Err(Mistake::new(&line.path, message).help(help));
        }
        if is_open {
            continue;
        }
        positions.take(line)?;
        match &line.act {
            Act::Finish(actors) => {
                for actor in actors.iter().filter(|actor| state.lets_finish(scenario, **actor)) {
                    positions.end(*actor);
                }
                state.move_freely(scenario, actors);
            }
            Act::Await(until) => {
                let at = line.path.key("await").key("that");
                check_lost(&state.lost, until.that.source(), &at)?;
                state.move_freely(scenario, &until.moving);
            }
            Act::Pass(pass) => state.move_freely(scenario, &pass.moving),
            _ => {}
        }
    }
    let at = Path::root().key("variants").key(&scenario.variant).key("claims");
    scenario.variant().claims.iter().enumerate().try_for_each(|(n, claim)| match claim {
        Claim::Bare(source) => check_lost(&state.lost, source, &at.index(n)),
        Claim::That { that, .. } => check_lost(&state.lost, that, &at.index(n).key("that")),
        Claim::Overlap { .. } | Claim::Exclusive { .. } => Ok(()),
    })
}

/// Reports an expression that expects another value of a reply that was lost.
fn check_lost(lost: &BTreeSet<String>, source: &str, at: &Path) -> Result<(), Mistake> {
    let expects = |part: &str| match part.strip_suffix(" is none") {
        Some(name) => Some(name.trim().to_owned()),
        None => match split_comparison(part)? {
            (_, "!=", _) => None,
            (name, _, "none") => Some(name.to_owned()),
            (name, _, right) => match literal(right)? {
                Literal::Text("Lost") => None,
                _ => Some(name.to_owned()),
            },
        },
    };
    let mut found = required(source).into_iter().filter_map(expects);
    let Some(name) = found.find(|name| lost.contains(name)) else { return Ok(()) };
    let message = both!(
        "the story loses the reply to `{name}`, which is then 'Lost': `{source}` is never so",
        "剧情里 `{name}` 的回复丢了，它的值是 'Lost'：`{source}` 不会成立"
    );
    Err(Mistake::new(at, message).help(both!(
        "write `{name} == 'Lost'`, or mend the link or the server before the move",
        "请写 `{name} == 'Lost'`，或者在这一步之前先恢复链路或服务器"
    )))
}

impl State {
    /// What is wrong with a fault on something dead, or on a link that holds nothing.
    fn in_vain(&self, fault: &Fault) -> Option<(Text, Text)> {
        match fault {
            Fault::Thaw { client: name } | Fault::ThawServer { server: name }
                if self.crashed.contains(name) || self.killed.contains(name) =>
            {
                Some((
                    both!("`{name}` is dead here, and not frozen", "这里 `{name}` 已经死了，不是被冻结"),
                    both!(
                        "a server comes back with `- restart: {name}`, and a client does not",
                        "服务器可以用 `- restart: {name}` 恢复，客户端死了就不会再回来"
                    ),
                ))
            }
            Fault::Cut { link }
            | Fault::Drop { link }
            | Fault::Hold { link, .. }
            | Fault::Delay { link, .. }
                if self.crashed.contains(&link.from) || self.crashed.contains(&link.to) =>
            {
                let dead = if self.crashed.contains(&link.from) { &link.from } else { &link.to };
                Some((
                    both!(
                        "`{dead}` has crashed by now and sends nothing",
                        "`{dead}` 已经崩溃，不会再发送任何内容"
                    ),
                    both!("write it before the `crash`, or leave it out", "请写在 `crash` 之前，或者去掉它"),
                ))
            }
            Fault::Cut { link } if self.severed.contains(link) => Some((
                both!("the link `{link}` is cut already", "链路 `{link}` 已经断开了"),
                both!(
                    "leave it out, or write `- release: {link}` between both",
                    "请去掉它，或者在两者之间写 `- release: {link}`"
                ),
            )),
            Fault::Hold { link, way } if self.held.contains(&(link.clone(), *way)) => Some((
                both!("the link `{link}` is held already", "链路 `{link}` 已经被扣住了"),
                both!(
                    "leave it out, or write `- release: {link}` between both",
                    "请去掉它，或者在两者之间写 `- release: {link}`"
                ),
            )),
            Fault::Drop { link } if !self.disturbed.contains(link) && !self.sent.contains(&link.from) => {
                Some((
                    both!(
                        "the link `{link}` holds nothing here that could be lost",
                        "链路 `{link}` 此时没有扣住任何内容，没有可丢的"
                    ),
                    both!(
                        "write `- hold: {link}` before the move whose message is to be lost",
                        "请在要丢失消息的那一步之前写 `- hold: {link}`"
                    ),
                ))
            }
            _ => None,
        }
    }

    /// Applies a fault, and returns what is wrong if it changes nothing.
    fn after(&mut self, fault: &Fault) -> Option<(Text, Text)> {
        match fault {
            Fault::Crash { client } => {
                self.frozen.remove(client);
                self.kept.retain(|(link, ..)| link.from != *client);
                (!self.crashed.insert(client.clone())).then(|| {
                    (
                        both!("`{client}` has crashed already", "`{client}` 已经崩溃了"),
                        both!("leave it out, or crash another client", "请去掉它，或者换一个客户端"),
                    )
                })
            }
            Fault::Freeze { client: name } | Fault::FreezeServer { server: name } => {
                if self.crashed.contains(name) || self.killed.contains(name) {
                    return Some((
                        both!(
                            "`{name}` is dead here and cannot be frozen",
                            "这里 `{name}` 已经死了，无法冻结"
                        ),
                        both!("freeze it before, or another one", "请放在它死掉之前，或者冻结另一个"),
                    ));
                }
                (!self.frozen.insert(name.clone())).then(|| {
                    (
                        both!("`{name}` is frozen already", "`{name}` 已经被冻结了"),
                        both!("write `- thaw: {name}` between both", "请在两者之间写 `- thaw: {name}`"),
                    )
                })
            }
            Fault::Thaw { client: name } | Fault::ThawServer { server: name } => (!self.frozen.remove(name))
                .then(|| {
                    (
                        both!("`{name}` is not frozen here", "这里 `{name}` 并没有被冻结"),
                        both!(
                            "write `- freeze: {name}` somewhere before it",
                            "请在它前面写 `- freeze: {name}`"
                        ),
                    )
                }),
            Fault::KillServer { server } | Fault::LosePower { server } => {
                self.frozen.remove(server);
                (!self.killed.insert(server.clone())).then(|| {
                    (
                        both!("`{server}` is dead already", "`{server}` 已经被杀死了"),
                        both!(
                            "write `- restart: {server}` between both",
                            "请在两者之间写 `- restart: {server}`"
                        ),
                    )
                })
            }
            Fault::RestartServer { server } => (!self.killed.remove(server)).then(|| {
                (
                    both!("`{server}` is not dead here", "这里 `{server}` 并没有被杀死"),
                    both!("write `- kill: {server}` somewhere before it", "请在它前面写 `- kill: {server}`"),
                )
            }),
            Fault::Cut { link } | Fault::Drop { link } => {
                self.disturbed.insert(link.clone());
                self.severed.insert(link.clone());
                self.held.retain(|(held, _)| held != link);
                let (gone, kept) =
                    std::mem::take(&mut self.kept).into_iter().partition(|(on, ..)| on == link);
                self.kept = kept;
                let gone: Vec<(LinkId, String, bool)> = gone;
                let why =
                    |name: &str| both!("the reply to `{name}` is lost here", "`{name}` 的回复在这里丢失");
                if let Some((_, name, _)) = gone.iter().find(|(.., copes)| !copes) {
                    return Some(needs_reply(name, &why(name)));
                }
                self.lost.extend(gone.into_iter().map(|(_, name, _)| name));
                None
            }
            Fault::Hold { link, .. } | Fault::Delay { link, .. } => {
                self.disturbed.insert(link.clone());
                if let Fault::Hold { way, .. } = fault {
                    self.held.push((link.clone(), *way));
                }
                None
            }
            Fault::Release { link } if self.disturbed.remove(link) => {
                self.severed.remove(link);
                self.held.retain(|(held, _)| held != link);
                self.kept.retain(|(kept, ..)| kept != link);
                None
            }
            Fault::Release { link } => Some({
                (
                    both!("nothing is wrong with the link `{link}` here", "这里链路 `{link}` 一切正常"),
                    both!(
                        "write `- hold: {link}` or `- cut: {link}` somewhere before it",
                        "请在它前面写 `- hold: {link}` 或 `- cut: {link}`"
                    ),
                )
            }),
            _ => None,
        }
    }

    /// Records a move whose reply is lost or held by a link, and returns what is wrong if no reply can come and the
    /// program does not handle that.
    fn lost(&mut self, scenario: &Scenario, one: &PlannedMove, waits: bool) -> Option<(Text, Text)> {
        let actor = &scenario.actors[one.actor.0 as usize];
        let name = format!("{}.{}", actor.actor.name, one.label);
        self.lost.remove(&name);
        let mut operations = actor.program.instructions.iter().filter_map(|instruction| match instruction {
            Instruction::Operate(operation) if operation.label == one.label => Some(&**operation),
            _ => None,
        });
        let operation = operations.next()?;
        let link = link_of(scenario, one.actor, operation).filter(|_| operations.next().is_none())?;
        let copes = operation.allow.iter().any(|code| code == "Lost");
        // An operation that is tried again may have another reply by the end.
        if copes && operation.until.is_some() {
            return None;
        }
        match self.silence(&link) {
            Some(Silence::Lost(_)) if copes => drop(self.lost.insert(name)),
            Some(Silence::Lost(why)) => return Some(needs_reply(&name, &why)),
            Some(Silence::Frozen) if waits && !copes => return Some(frozen(&link.to, &name)),
            Some(Silence::Frozen) => {}
            None if self.held.iter().any(|(held, _)| *held == link) => self.kept.push((link, name, copes)),
            None => {}
        }
        None
    }

    /// Why no reply comes to a command over this link, if none does.
    fn silence(&self, link: &LinkId) -> Option<Silence> {
        let server = &link.to;
        match () {
            () if self.killed.contains(server) => Some(Silence::Lost(both!(
                "`{server}` is dead here and does not reply",
                "`{server}` 此时已死，不会回复"
            ))),
            () if self.frozen.contains(server) => Some(Silence::Frozen),
            () if self.severed.contains(link) => {
                Some(Silence::Lost(both!("the link `{link}` is cut here", "链路 `{link}` 此时是断开的")))
            }
            () => None,
        }
    }

    /// What is wrong with letting an actor finish: whatever its next operation is, it gets no reply and does not handle
    /// that.
    fn stops(&self, scenario: &Scenario, positions: &Positions<'_>, actor: ActorId) -> Option<(Text, Text)> {
        let mut first = None;
        for operation in positions.next_of(actor) {
            if operation.allow.iter().any(|code| code == "Lost") {
                return None;
            }
            let name = format!("{}.{}", scenario.actors[actor.0 as usize].actor.name, operation.label);
            let link = link_of(scenario, actor, operation)?;
            let found = match self.silence(&link)? {
                Silence::Lost(why) => needs_reply(&name, &why),
                Silence::Frozen => frozen(&link.to, &name),
            };
            first.get_or_insert(found);
        }
        first
    }

    /// Whether `finish` surely leads an actor to the end of its program: no operation of it waits for somebody else, and
    /// nothing disturbs its servers and links.
    fn lets_finish(&self, scenario: &Scenario, actor: ActorId) -> bool {
        const WAIT: &str = "
            BLPOP BRPOP BLMOVE BRPOPLPUSH BLMPOP BZPOPMIN BZPOPMAX BZMPOP XREAD XREADGROUP WAIT WAITAOF CLIENT
        ";
        let plan = &scenario.actors[actor.0 as usize];
        let answers = |operation: &PlannedOperation| match &operation.verb {
            PlannedVerb::Redis(words) => {
                let name = words[0].pattern().to_ascii_uppercase();
                !has_word(WAIT, &name) && !name.contains(ANY)
            }
            PlannedVerb::Script { .. } | PlannedVerb::Wait(_) => true,
            PlannedVerb::Call(call) => call.product() == Product::Zookeeper,
            _ => false,
        };
        let lab = scenario.lab();
        let is_calm = self.killed.is_empty()
            && self.frozen.is_empty()
            && !self.disturbed.iter().any(|link| link.from == plan.actor.client)
            && lab.parts().iter().all(|part| !part.is_replicated());
        let mut operations = plan.program.instructions.iter().filter_map(|instruction| match instruction {
            Instruction::Operate(operation) => Some(&**operation),
            _ => None,
        });
        is_calm && !plan.program.outside && operations.all(answers)
    }

    /// Forgets the lost replies of actors that make moves which the story does not name.
    fn move_freely(&mut self, scenario: &Scenario, actors: &[ActorId]) {
        for actor in actors {
            let own = format!("{}.", scenario.actors[actor.0 as usize].actor.name);
            self.lost.retain(|name| !name.starts_with(&own));
        }
    }
}

/// Why a command gets no reply.
enum Silence {
    Lost(Text),
    Frozen,
}

/// The link over which an operation is sent, for a Redis command that goes to a known server.
fn link_of(scenario: &Scenario, actor: ActorId, operation: &PlannedOperation) -> Option<LinkId> {
    let plan = &scenario.actors[actor.0 as usize];
    if !matches!(operation.verb, PlannedVerb::Redis(_) | PlannedVerb::Script { .. }) || plan.program.outside {
        return None;
    }
    let lab = scenario.lab();
    let server = match &operation.on {
        Some(on) => lab.server_named(on)?,
        // In a cluster the operation may go to another node.
        None => lab.first_of(Product::Redis).filter(|_| !lab.is_cluster())?,
    };
    Some(LinkId::new(&plan.actor.client, server))
}

fn frozen(server: &str, name: &str) -> (Text, Text) {
    (
        both!(
            "`{server}` is frozen here, and `{name}` waits for its reply",
            "`{server}` 此时被冻结，`{name}` 会一直等它回复"
        ),
        both!(
            "write `- send: {name}`, or `- thaw: {server}` before it",
            "请写 `- send: {name}`，或者先写 `- thaw: {server}`"
        ),
    )
}

/// Reports a link from a master to its replica: the replica opens the connection, until a failover swaps the roles.
fn of_replication(fault: &Fault, scenario: &Scenario) -> Option<(Text, Text)> {
    let (Fault::Cut { link } | Fault::Hold { link, .. } | Fault::Delay { link, .. }) = fault else {
        return None;
    };
    let (from, to) = (&link.from, &link.to);
    let is_replica = scenario.lab().part_of(to).product() == Product::Redis
        && scenario.lab().first_master_of(to) == Some(from.as_str());
    // A master that restarts becomes the replica of another.
    let comes_back = scenario.story.iter().any(|line| match &line.act {
        Act::Faults(faults) => faults.iter().any(|fault| match fault {
            Fault::RestartServer { server } | Fault::ThawServer { server } => server == from,
            Fault::Release { link } => link.from == *from || link.to == *from,
            _ => false,
        }),
        _ => false,
    });
    (is_replica
        && !comes_back
        && !scenario.sends(|name| matches!(name, "REPLICAOF" | "SLAVEOF" | "FAILOVER")))
    .then(|| {
        (
            both!(
                "the link `{link}` carries nothing: `{to}` is the replica, and it calls `{from}`",
                "链路 `{link}` 上没有内容：`{to}` 是从节点，由它去连 `{from}`"
            ),
            both!("write `{to}->{from}`", "请写 `{to}->{from}`"),
        )
    })
}

/// The mistake of an operation that does not handle a lost reply, which would end the run.
fn needs_reply(name: &str, why: &Text) -> (Text, Text) {
    (
        both!(
            "{why}, and `{name}` does not cope with a lost reply",
            "{why}，而 `{name}` 没有处理回复丢失的情况",
            why
        ),
        both!(
            "let the operation `allow: [Lost]`, or mend the link or the server before it",
            "请在该操作里写 `allow: [Lost]`，或者先恢复链路或服务器"
        ),
    )
}
