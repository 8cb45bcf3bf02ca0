//! Whether the orders of a variant can be explored, and whether what `explore` asks for can be checked.

use super::{
    super::{
        Expect, Explore, ExploreExpect, Failing, LabKind, MOST_FAULTS, MOST_MOVES, MayFail,
        error::{Mistake, Path, finding},
        has_word,
    },
    ClientPlan, Scenario,
    program::PlannedVerb,
};
use crate::text::{Text, both};

/// Redis commands that may block inside the server.
const WAITING: &str = "
    WAIT WAITAOF BLPOP BRPOP BLMOVE BLMPOP BRPOPLPUSH BZPOPMIN BZPOPMAX BZMPOP XREAD XREADGROUP
";

/// Redis commands that run what the server has stored beside its keys: restoring these does not restore that.
const STORED: &str = "EVALSHA EVALSHA_RO FCALL FCALL_RO";

impl Scenario {
    /// Whether the state of clients or servers cannot be restored, so that each order has to be carried out by processes.
    pub fn needs_processes(&self) -> bool {
        let kept = |verb: &PlannedVerb| {
            matches!(verb, PlannedVerb::Local { .. } | PlannedVerb::Flock { .. } | PlannedVerb::Take(_))
        };
        let listens = self.actors.iter().any(|plan| plan.program.listens);
        // A client that blocks inside the server cannot be restored to that state.
        let waits = || self.sends(|name| has_word(WAITING, name) || has_word(STORED, name));
        self.is_attached()
            || listens
            || !self.lab().can_be_restored()
            || self.operations().any(|operation| kept(&operation.verb))
            || waits()
    }

    /// Why no order can have a fault, or `None` if it can. `in_process`: whether programs run inside Lockstep.
    pub(crate) fn refused_fault(&self, fault: &MayFail, in_process: bool) -> Option<Text> {
        let sends = self.operations().any(|operation| operation.verb.is_sent());
        if matches!(fault.how, Failing::LostReply | Failing::Cut) && !sends && !self.is_attached() {
            return Some(both!(
                "nothing is sent to a server here, so no order has this fault: only `crash`, `freeze` and the `skew` of a client",
                "这里没有发给服务器的请求，顺序里不会有这个故障，只能是 `crash`、`freeze` 和客户端的 `skew`"
            ));
        }
        refused(fault, self.lab(), self.is_attached(), in_process)
    }

    /// Whether a program is shown what the root of ZooKeeper's tree has been through, so that only a new server is like
    /// another.
    pub fn shows_root(&self) -> bool {
        let names = self.scope.value();
        self.operations()
            .any(|operation| matches!(&operation.verb, PlannedVerb::Call(call) if call.shows_root(&names)))
    }

    /// Whether a program may send a Redis command whose name, in capitals, satisfies the predicate.
    pub fn sends(&self, such: impl Fn(&str) -> bool) -> bool {
        self.operations().any(|operation| match &operation.verb {
            PlannedVerb::Redis(words) => {
                // The name of a command is always known before anything runs.
                let name = words.first().and_then(|word| word.render(&minijinja::Value::UNDEFINED).ok());
                name.is_none_or(|name| such(&name.to_ascii_uppercase()))
            }
            _ => false,
        })
    }
}

/// Checks that a variant's `explore` can be carried out.
pub(crate) fn check_wanted(
    explore: &Explore,
    path: &Path,
    (lab, clients): (LabKind, &[ClientPlan]),
    nothing_is_never: bool,
) -> Result<(), Mistake> {
    if let Some(why) = lab.unexplorable() {
        return Err(Mistake::new(path, why));
    }
    if let Some(moves) = explore.moves.filter(|moves| !(1..=MOST_MOVES).contains(moves)) {
        let message = both!("{moves} is out of bounds", "{moves} 超出范围");
        return Err(Mistake::new(&path.key("moves"), message)
            .help(both!("from 1 to {MOST_MOVES}", "应在 1 到 {MOST_MOVES} 之间")));
    }
    for (key, least, given) in [("most_faults", 1, explore.most_faults), ("slow", 0, explore.slow)] {
        if let Some(given) = given.filter(|given| !(least..=MOST_FAULTS).contains(given)) {
            let message = both!("{given} is out of bounds", "{given} 超出范围");
            return Err(Mistake::new(&path.key(key), message)
                .help(both!("from {least} to {MOST_FAULTS}", "应在 {least} 到 {MOST_FAULTS} 之间")));
        }
    }
    if explore.most_faults.is_some() && explore.faults.is_empty() {
        let message = both!("no order has a fault here", "这里的顺序里没有故障");
        return Err(Mistake::new(&path.key("most_faults"), message)
            .help(both!("name the faults: `faults: [crash]`", "请写明故障：`faults: [crash]`")));
    }
    if explore.expect != ExploreExpect::None && !explore.broken_by.is_empty() {
        let message = both!("some order goes wrong anyway", "本来就有顺序会出错");
        return Err(Mistake::new(&path.key("broken_by"), message)
            .help(both!("`broken_by` is for `expect: none`", "`broken_by` 用于 `expect: none`")));
    }
    if !explore.expect.is_about_invariants() && explore.ends.is_some() {
        let (message, expect) = (
            both!("some order never ends, as `expect` says", "`expect` 已经说明有的顺序不会结束"),
            explore.expect.word(),
        );
        return Err(Mistake::new(&path.key("ends"), message).help(both!(
            "leave one of both out: `expect: {expect}` or `ends`",
            "`expect: {expect}` 和 `ends` 只留一个"
        )));
    }
    if let Some(n) = explore.broken_by.iter().position(|fault| explore.faults.contains(fault)) {
        return Err(path.key("broken_by").index(n).mistake(finding!(
            "with this fault no order may break an invariant, as `faults` says, and some order must",
            "按 `faults` 的写法，有这个故障时任何顺序都不能违反不变式，这里却要求有顺序会违反",
            "name it in one of both: in `broken_by` if the fix does not survive it",
            "只写在其中一处：修复扛不住的故障写在 `broken_by`"
        )));
    }
    let named = [("faults", &explore.faults), ("broken_by", &explore.broken_by)];
    let named = named.into_iter().flat_map(|(key, faults)| {
        let among = |fault: &MayFail| fault.among(clients.iter().map(|client| client.name.as_str()));
        faults.iter().enumerate().map(move |(n, fault)| (path.key(key).index(n), among(fault)))
    });
    for (at, fault) in named {
        let known = clients.iter().map(|client| client.name.as_str());
        if let Some(name) = fault.client.as_ref().filter(|name| known.clone().all(|known| known != *name)) {
            return Err(Mistake::unknown(&at, both!("client", "客户端"), name, known));
        }
        let known = lab.servers().iter().copied();
        if let Some(name) = fault.server.as_ref().filter(|name| known.clone().all(|known| known != *name)) {
            let all = known.chain(clients.iter().map(|client| client.name.as_str()));
            return Err(match fault.how {
                Failing::Skew(_) => {
                    Mistake::unknown(&at, both!("server or client", "服务器或客户端"), name, all)
                }
                _ => Mistake::unknown(&at, both!("server", "服务器"), name, lab.servers().iter().copied()),
            });
        }
        let is_external = clients.iter().any(|client| client.exec.is_some());
        if let Some(why) = refused(&fault, lab, is_external, lab.can_be_restored()) {
            return Err(Mistake::new(&at, why));
        }
    }
    if nothing_is_never && explore.expect.is_about_invariants() {
        return Err(path.mistake(finding!(
            "nothing is said never to be so, so no order could violate it",
            "没有写什么是绝不允许的，任何顺序都谈不上违反",
            "say what with `invariants`",
            "请用 `invariants` 写明"
        )));
    }
    Ok(())
}

/// Why no order can have a fault, or `None` if it can. `is_external`: whether any client is a program of its own.
/// `restores`: whether the contents of servers are put back between orders.
pub(crate) fn refused(fault: &MayFail, lab: LabKind, is_external: bool, restores: bool) -> Option<Text> {
    let keeps_trying = |server: &&str| !lab.part_of(server).product().traits().refuses_at_once;
    let hit = |server: &&str| fault.server.as_ref().is_none_or(|named| named == server);
    match fault.how {
        Failing::Crash | Failing::Freeze => None,
        _ if is_external => Some(both!(
            "no order of a client with `exec` may have this fault: only `crash` and `freeze`",
            "有客户端写了 `exec`，这样的顺序不能有这个故障，只能是 `crash` 和 `freeze`"
        )),
        Failing::Skew(_) if fault.client.is_some() => None,
        Failing::LostReply | Failing::Cut if lab.is_replicated() => Some(both!(
            "no order on replicated servers may have this fault: only `crash`, `freeze` and the `skew` of a client",
            "有副本的服务器上，顺序不能有这个故障，只能是 `crash`、`freeze` 和客户端的 `skew`"
        )),
        Failing::Cut => lab.servers().iter().filter(|server| hit(server)).find(|server| keeps_trying(server)).map(|server| {
            both!(
                "a client of `{server}` goes on trying over a cut link, in real time, until it is connected or its session is over: \
                 when that is differs each time, so no order has this fault. Use `lost-reply`, or `crash` and `freeze` for a session \
                 that ends",
                "链路切断后，`{server}` 的客户端会按真实时间不断重连，直到连上或会话过期；是什么时候，每次都不一样，所以顺序不能有这个故障。可以用 `lost-reply`；\
                 要让会话结束，可以用 `crash` 和 `freeze`"
            )
        }),
        Failing::LostReply => None,
        Failing::Restart | Failing::Skew(_) if restores => None,
        Failing::Restart | Failing::Skew(_) => Some(both!(
            "what this fault does to a server cannot be undone here for the next order: it needs Redis alone (one server or several \
             masters) and programs of commands that wait neither in their server nor for a notification, a file or a mutex, without \
             `EVALSHA` and `FCALL`. Here an order may have `crash`, `freeze`, `lost-reply`, `cut` and the `skew` of a client",
            "这个故障在服务器上留下的影响，下一个顺序之前无法复原：它要求课程只用 Redis（一台，或几台独立的主节点），命令既不在服务器里等待，也不等通知、\
             文件锁或互斥量，而且不用 `EVALSHA` 和 `FCALL`。这里可以有的故障是 `crash`、`freeze`、`lost-reply`、`cut` 和客户端的 `skew`"
        )),
    }
}

/// Refuses faults that the programs of a variant do not allow.
pub(crate) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    let Some(explore) = &scenario.variant().explore else { return Ok(()) };
    let clients = || scenario.clients.iter().map(|client| client.name.as_str());
    for (n, fault) in explore.faults.iter().enumerate() {
        if let Some(why) = scenario.refused_fault(&fault.among(clients()), !scenario.needs_processes()) {
            return Err(Mistake::new(&scenario.path().key("explore").key("faults").index(n), why));
        }
    }
    if (explore.expect, scenario.variant().expects()) == (ExploreExpect::Violated, Expect::Prevented) {
        let path = scenario.path().key("explore").key("expect");
        return Err(path.mistake(finding!(
            "some order breaks an invariant, and this variant should prevent that",
            "这里要求有顺序会违反不变式，而这个方案应当防住它",
            "a fix has `explore: {{ expect: none }}`; a variant that shows the failure has `expect: shown`",
            "修复请写 `explore: {{ expect: none }}`；展示故障的方案请写 `expect: shown`"
        )));
    }
    Ok(())
}
