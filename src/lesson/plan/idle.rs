//! Items of a story that have no effect, such as a thaw of a client that is not frozen, or a move of a crashed client.
//! A run reports some of them only when it reaches them; `check` reports all of them before.

mod replies;

use std::collections::BTreeSet;

use self::replies::{check_lost, needs_reply};
use super::{
    super::error::{Finding, Mistake, finding},
    Act, Scenario,
    order::Positions,
};
use crate::{
    log::{ActorId, Direction, Fault, LinkId, Product},
    text::both,
};

#[derive(Default)]
struct State {
    frozen: BTreeSet<String>,
    killed: BTreeSet<String>,
    crashed: BTreeSet<String>,
    /// External programs that have run to their end.
    ended: BTreeSet<String>,
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
        let turns = line.act.moves();
        let moved: Vec<ActorId> = match &line.act {
            Act::Finish(actors) => actors.clone(),
            _ => turns.iter().map(|one| one.actor).collect(),
        };
        let client = |actor: &ActorId| &scenario.actor(*actor).actor.client;
        let dead = moved.iter().map(client).find(|client| state.crashed.contains(*client));
        let mut wrong = dead.map(|client| {
            finding!(
                "`{client}` has crashed by now and makes no move",
                "`{client}` 已经崩溃，不会再有操作",
                "move it before its `crash`, or move another client",
                "请把操作放在 `crash` 之前，或者换一个客户端"
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
            wrong = Some(finding!(
                "`{client}` has crashed by now and makes no move",
                "`{client}` 已经崩溃，不会再有操作",
                "leave it out of `moving`, or name another client",
                "请从 `moving` 里去掉它，或者换一个客户端"
            ));
        }
        // A program that may be over has nothing left to do.
        let starts = |actor: &ActorId| {
            !matches!(line.act, Act::Finish(_)) || positions.next_of(*actor).all(|next| next.is_some())
        };
        let frozen = moved
            .iter()
            .filter(|actor| starts(actor))
            .map(client)
            .find(|client| state.frozen.contains(*client));
        wrong = wrong.or_else(|| frozen.map(|client| of_frozen(client)));
        let over = turns.iter().map(|one| client(&one.actor)).find(|client| state.ended.contains(*client));
        wrong = wrong.or_else(|| over.map(|client| of_ended(client)));
        if let Act::Finish(actors) = &line.act {
            let is_external = |actor: &&ActorId| scenario.actor(**actor).program.outside;
            state.ended.extend(actors.iter().filter(is_external).map(client).cloned());
        }
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
        Mistake::if_found(&line.path, wrong)?;
        if is_open {
            continue;
        }
        positions.take(line)?;
        match &line.act {
            Act::Finish(actors) => {
                for actor in actors.iter().filter(|actor| state.lets_finish(scenario, **actor)) {
                    positions.end(*actor);
                }
                state.forget_lost_of(scenario, actors);
            }
            Act::Await(until) => {
                let at = line.path.key("await").key("that");
                check_lost(&state.lost, until.that.source(), &at)?;
                state.forget_lost_of(scenario, &until.moving);
            }
            Act::Pass(pass) => state.forget_lost_of(scenario, &pass.moving),
            _ => {}
        }
    }
    scenario.claim_sources().try_for_each(|(source, at)| check_lost(&state.lost, source, &at))
}

fn of_frozen(client: &str) -> Finding {
    finding!(
        "`{client}` is frozen here and makes no move",
        "`{client}` 此时被冻结，不会有操作",
        "write `- thaw: {client}` before it, or move another client",
        "请先写 `- thaw: {client}`，或者换一个客户端"
    )
}

fn of_ended(client: &str) -> Finding {
    finding!(
        "the program of {client} is over here",
        "到这里 {client} 的程序已经结束了",
        "leave the move out, or move it before its `finish`",
        "请去掉这一步，或者放到 `finish` 之前"
    )
}

impl State {
    /// What is wrong with a fault on something dead, or on a link that holds nothing.
    fn in_vain(&self, fault: &Fault) -> Option<Finding> {
        match fault {
            Fault::Thaw { client: name } | Fault::ThawServer { server: name }
                if self.crashed.contains(name) || self.killed.contains(name) =>
            {
                Some(finding!(
                    "`{name}` is dead here, and not frozen",
                    "这里 `{name}` 已经死了，不是被冻结",
                    "a server comes back with `- restart: {name}`, and a client does not",
                    "服务器可以用 `- restart: {name}` 恢复，客户端死了就不会再回来"
                ))
            }
            Fault::Cut { link }
            | Fault::Drop { link }
            | Fault::Hold { link, .. }
            | Fault::Delay { link, .. }
                if self.crashed.contains(&link.from) || self.crashed.contains(&link.to) =>
            {
                let dead = if self.crashed.contains(&link.from) { &link.from } else { &link.to };
                Some(finding!(
                    "`{dead}` has crashed by now and sends nothing",
                    "`{dead}` 已经崩溃，不会再发送任何内容",
                    "write it before the `crash`, or leave it out",
                    "请写在 `crash` 之前，或者去掉它"
                ))
            }
            Fault::Cut { link } if self.severed.contains(link) => Some(finding!(
                "the link `{link}` is cut already",
                "链路 `{link}` 已经断开了",
                "leave it out, or write `- release: {link}` between both",
                "请去掉它，或者在两者之间写 `- release: {link}`"
            )),
            Fault::Hold { link, way } if self.held.contains(&(link.clone(), *way)) => Some(finding!(
                "the link `{link}` is held already",
                "链路 `{link}` 已经被扣住了",
                "leave it out, or write `- release: {link}` between both",
                "请去掉它，或者在两者之间写 `- release: {link}`"
            )),
            Fault::Drop { link } if !self.disturbed.contains(link) && !self.sent.contains(&link.from) => {
                Some(finding!(
                    "the link `{link}` holds nothing here that could be lost",
                    "链路 `{link}` 此时没有扣住任何内容，没有可丢的",
                    "write `- hold: {link}` before the move whose message is to be lost",
                    "请在要丢失消息的那一步之前写 `- hold: {link}`"
                ))
            }
            _ => None,
        }
    }

    /// Applies a fault, and returns what is wrong if it changes nothing.
    fn after(&mut self, fault: &Fault) -> Option<Finding> {
        match fault {
            Fault::Crash { client } => {
                self.frozen.remove(client);
                self.kept.retain(|(link, ..)| link.from != *client);
                (!self.crashed.insert(client.clone())).then(|| Finding {
                    message: both!("`{client}` has crashed already", "`{client}` 已经崩溃了"),
                    help: both!("leave it out, or crash another client", "请去掉它，或者换一个客户端"),
                })
            }
            Fault::Freeze { client: name } | Fault::FreezeServer { server: name } => {
                if self.crashed.contains(name) || self.killed.contains(name) {
                    return Some(finding!(
                        "`{name}` is dead here and cannot be frozen",
                        "这里 `{name}` 已经死了，无法冻结",
                        "freeze it before, or another one",
                        "请放在它死掉之前，或者冻结另一个"
                    ));
                }
                (!self.frozen.insert(name.clone())).then(|| Finding {
                    message: both!("`{name}` is frozen already", "`{name}` 已经被冻结了"),
                    help: both!("write `- thaw: {name}` between both", "请在两者之间写 `- thaw: {name}`"),
                })
            }
            Fault::Thaw { client: name } | Fault::ThawServer { server: name } => (!self.frozen.remove(name))
                .then(|| {
                    finding!(
                        "`{name}` is not frozen here",
                        "这里 `{name}` 并没有被冻结",
                        "write `- freeze: {name}` somewhere before it",
                        "请在它前面写 `- freeze: {name}`"
                    )
                }),
            Fault::KillServer { server } | Fault::LosePower { server } => {
                self.frozen.remove(server);
                (!self.killed.insert(server.clone())).then(|| {
                    finding!(
                        "`{server}` is dead already",
                        "`{server}` 已经被杀死了",
                        "write `- restart: {server}` between both",
                        "请在两者之间写 `- restart: {server}`"
                    )
                })
            }
            Fault::RestartServer { server } => (!self.killed.remove(server)).then(|| {
                finding!(
                    "`{server}` is not dead here",
                    "这里 `{server}` 并没有被杀死",
                    "write `- kill: {server}` somewhere before it",
                    "请在它前面写 `- kill: {server}`"
                )
            }),
            Fault::Cut { link } | Fault::Drop { link } => {
                self.disturbed.insert(link.clone());
                self.severed.insert(link.clone());
                self.held.retain(|(held, _)| held != link);
                let (lost, kept) =
                    std::mem::take(&mut self.kept).into_iter().partition(|(on, ..)| on == link);
                self.kept = kept;
                let lost: Vec<(LinkId, String, bool)> = lost;
                let why =
                    |name: &str| both!("the reply to `{name}` is lost here", "`{name}` 的回复在这里丢失");
                if let Some((_, name, _)) = lost.iter().find(|(.., copes)| !copes) {
                    return Some(needs_reply(name, &why(name)));
                }
                self.lost.extend(lost.into_iter().map(|(_, name, _)| name));
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
                finding!(
                    "nothing is wrong with the link `{link}` here",
                    "这里链路 `{link}` 一切正常",
                    "write `- hold: {link}` or `- cut: {link}` somewhere before it",
                    "请在它前面写 `- hold: {link}` 或 `- cut: {link}`"
                )
            }),
            _ => None,
        }
    }
}

/// Reports a link from a master to its replica: the replica opens the connection, until a failover swaps the roles.
fn of_replication(fault: &Fault, scenario: &Scenario) -> Option<Finding> {
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
        finding!(
            "the link `{link}` carries nothing: `{to}` is the replica, and it calls `{from}`",
            "链路 `{link}` 上没有内容：`{to}` 是从节点，由它去连 `{from}`",
            "write `{to}->{from}`",
            "请写 `{to}->{from}`"
        )
    })
}
