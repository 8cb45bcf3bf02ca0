//! Checks for states that no run of a story reaches: a count beyond what its programs do, a role that a server does not
//! take, a crash that no fault causes.

use std::collections::BTreeSet;

use super::{
    super::{
        super::{
            Appendonly,
            error::{Finding, Mistake, Path, finding},
            expr::{
                Expr, Mentions,
                mentions::{comparisons, joined, split_comparison},
            },
            has_word,
        },
        Act, ActorPlan, PlannedVerb, Scenario,
        program::{PlannedOperation, Program},
    },
    comparison::{Literal, literal},
    contradiction::required,
    in_programs::unallowed,
    items,
};
use crate::{
    log::{ANY, Fault, Product, stands_for},
    text::{Text, both},
};

/// Checks the claims of a variant, and the conditions that its story waits for.
pub(super) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    if scenario.is_open() {
        return Ok(());
    }
    let mut servers = Servers::default();
    for line in &scenario.story {
        match &line.act {
            Act::Faults(faults) => faults.iter().for_each(|fault| servers.take(fault)),
            Act::Pass(pass) if pass.moving.is_empty() => {}
            Act::Await(until) => {
                let at = line.path.key("await").key("that");
                check_one(scenario, until.that.source(), &servers, &at)?;
                if !until.moving.is_empty() {
                    servers.empty.clear();
                }
            }
            Act::Say(_) | Act::Ask(_) => {}
            _ => servers.empty.clear(),
        }
    }
    scenario.claim_sources().try_for_each(|(source, at)| {
        check_one(scenario, source, &servers, &at)?;
        let least = required(source).into_iter().find_map(|part| of_least(part, scenario));
        Mistake::if_found(&at, least)
    })
}

/// The finding about fewer moves than the story makes.
fn of_least(source: &str, scenario: &Scenario) -> Option<Finding> {
    let (left, operator, right) = split_comparison(source)?;
    let name = left.strip_prefix("moves(")?.strip_suffix(')')?.trim_matches(['\'', '"']);
    let (who, label) = name.rsplit_once('.')?;
    let number = figure(right, scenario)?;
    let moves = scenario.story.iter().flat_map(|line| match &line.act {
        Act::Each(moves) | Act::Together(moves) => moves.as_slice(),
        Act::Send(one) => std::slice::from_ref(one),
        _ => &[],
    });
    let made = moves.filter(|one| one.label == label && scenario.actor(one.actor).actor.name == who).count();
    let made = i64::try_from(made).ok()?;
    let never = match operator {
        "==" | "<=" => number < made,
        "<" => number <= made,
        _ => false,
    };
    never.then(|| {
        finding!(
            "`{left}` is {made} at least: the story makes that move",
            "`{left}` 至少是 {made}：剧情里做了这一步",
            "such as `{left} == {made}`",
            "例如 `{left} == {made}`"
        )
    })
}

/// The moves of an actor, in order, if the story names each of them.
fn listed(who: &str, scenario: &Scenario) -> Option<Vec<(usize, String)>> {
    let (n, plan) = scenario.actors.iter().enumerate().find(|(_, plan)| plan.actor.name == who)?;
    let mut moves = Vec::new();
    for (line, planned) in scenario.story.iter().enumerate() {
        if plan.program.outside || planned.act.moving().iter().any(|actor| actor.0 as usize == n) {
            return None;
        }
        let own = planned.act.moves().iter().filter(|one| one.actor.0 as usize == n);
        moves.extend(own.enumerate().map(|(place, one)| (line * 1000 + place, one.label.clone())));
    }
    Some(moves)
}

/// The finding about more moves than the story makes.
fn of_listed(source: &str, scenario: &Scenario) -> Option<Finding> {
    let (left, operator, right) = split_comparison(source)?;
    let name = left.strip_prefix("moves(")?.strip_suffix(')')?.trim_matches(['\'', '"']);
    let (who, label) = name.rsplit_once('.')?;
    let (plan, number) = (scenario.actor_named(who)?, figure(right, scenario)?);
    let made = listed(who, scenario)?.iter().filter(|(_, own)| own == label).count();
    let made = i64::try_from(made).ok()?;
    let never = match operator {
        "==" | ">=" => number > made,
        ">" => number >= made,
        _ => false,
    };
    (never && !plan.program.only_waits(label)).then(|| {
        finding!(
            "`{left}` is {made}: the story makes that move no oftener",
            "`{left}` 是 {made}：剧情里这一步只做了这么多次",
            "write `- move: {name}` into the story as often as it is to be made, or `{left} == {made}`",
            "要做几次就在剧情里写几次 `- move: {name}`，或者写 `{left} == {made}`"
        )
    })
}

/// The finding about two moves that the story makes in the other order.
fn of_before(source: &str, scenario: &Scenario) -> Option<Finding> {
    let inside = source.trim().strip_prefix("before(")?.strip_suffix(')')?;
    let (first, second) = inside.split_once(',')?;
    let [first, second] = [first, second].map(|name| name.trim().trim_matches(['\'', '"']));
    let delays = scenario.story.iter().any(|line| match &line.act {
        Act::Send(_) | Act::Together(_) => true,
        Act::Faults(faults) => {
            faults.iter().any(|fault| matches!(fault, Fault::Hold { .. } | Fault::Delay { .. }))
        }
        _ => false,
    });
    let last = |name: &str| {
        let (who, label) = name.rsplit_once('.')?;
        listed(who, scenario)?.into_iter().filter(|(_, own)| own == label).map(|(at, _)| at).next_back()
    };
    let (one, other) = (last(first)?, last(second)?);
    (one > other && !delays).then(|| {
        finding!(
            "`{first}` comes after `{second}` in this story",
            "剧情里 `{first}` 在 `{second}` 之后",
            "write `before('{second}', '{first}')`",
            "请写 `before('{second}', '{first}')`"
        )
    })
}

/// Whether any client may ever be notified of something.
fn may_hear(scenario: &Scenario) -> bool {
    let watches = |operation: &PlannedOperation| match &operation.verb {
        PlannedVerb::Call(call) => call.parts().iter().any(|call| call.has_flag("-w")),
        PlannedVerb::Given(_) => true,
        _ => false,
    };
    scenario.is_open()
        || scenario.lab().servers().iter().any(|server| scenario.lab().part_of(server).is_ensemble())
        || scenario.actors.iter().any(|plan| plan.program.listens)
        || scenario.sends(|name| has_word("SUBSCRIBE PSUBSCRIBE SSUBSCRIBE", name))
        || scenario.operations().any(watches)
}

/// The effects of the story's faults on servers so far.
#[derive(Default)]
struct Servers<'s> {
    dead: BTreeSet<&'s str>,
    /// The servers that a fault has hit, directly or through a link.
    hit: BTreeSet<&'s str>,
    /// Servers that restarted empty and have received nothing since.
    empty: BTreeSet<&'s str>,
}

impl<'s> Servers<'s> {
    fn take(&mut self, fault: &'s Fault) {
        match fault {
            Fault::KillServer { server } | Fault::LosePower { server } => {
                self.dead.insert(server);
                self.hit.insert(server);
            }
            Fault::RestartServer { server } => {
                self.dead.remove(server.as_str());
                self.empty.insert(server);
            }
            Fault::FreezeServer { server } | Fault::Skew { server, .. } => {
                self.hit.insert(server);
            }
            Fault::Cut { link }
            | Fault::Hold { link, .. }
            | Fault::Delay { link, .. }
            | Fault::Drop { link } => {
                self.hit.extend([link.from.as_str(), link.to.as_str()]);
            }
            _ => {}
        }
    }
}

fn check_one(scenario: &Scenario, source: &str, servers: &Servers<'_>, at: &Path) -> Result<(), Mistake> {
    let lint = |part: &str| {
        of_most(part, scenario)
            .or_else(|| of_role(part, scenario, servers))
            .or_else(|| of_lost_key(part, scenario, servers))
            .or_else(|| of_crash(part, scenario))
            .or_else(|| of_reply(part, scenario))
            .or_else(|| of_code_among(part, scenario))
            .or_else(|| of_version(part, scenario))
            .or_else(|| of_listed(part, scenario))
            .or_else(|| of_before(part, scenario))
    };
    let parts = joined(source);
    let found: Vec<Option<Finding>> = parts.iter().map(|part| lint(part)).collect();
    // Beside another condition it may say that the move was made.
    let answered = of_answered(source, scenario).filter(|_| parts.len() == 1);
    Mistake::if_found(at, parts.iter().find_map(|part| of_nil(part, scenario)).or(answered))?;
    // Of parts joined by `or`, all have to be reported.
    if source.contains(" or ") && found.iter().any(Option::is_none) {
        return Ok(());
    }
    Mistake::if_found(at, found.into_iter().flatten().next())
}

/// The value of an expression over the parameters, if it is a whole number.
pub(super) fn figure(source: &str, scenario: &Scenario) -> Option<i64> {
    if let Some(Literal::Number(number)) = literal(source) {
        return Some(number);
    }
    let expr = Expr::parse(source).ok()?;
    let known = expr.names().iter().all(|name| scenario.scope.get(name).is_some());
    let value = expr.eval(scenario.scope.value()).ok().filter(|value| known && value.is_number())?;
    i64::try_from(value).ok()
}

/// The finding about a count that no run can reach.
pub(super) fn of_most(source: &str, scenario: &Scenario) -> Option<Finding> {
    let (left, operator, right) = split_comparison(source)?;
    let number = figure(right, scenario)?;
    let (most, why) = most(left, scenario)?;
    let never = match operator {
        "==" | ">=" => number > most,
        ">" => number >= most,
        _ => false,
    };
    never.then(|| Finding {
        message: both!("`{left}` is {most} at most: {why}", "`{left}` 最多是 {most}：{why}", why),
        help: both!("such as `{left} == {most}`", "例如 `{left} == {most}`"),
    })
}

/// The finding about more replicas than the lab has, which a program waits to hear of.
pub(super) fn of_replicas(source: &str, program: &Program, scenario: &Scenario) -> Option<Finding> {
    comparisons(source).find_map(|(left, operator, right)| {
        let number: usize = right.parse().ok()?;
        let most = scenario.lab().most_replicas();
        let never = matches!(operator, "==" | ">=") && number > most || operator == ">" && number >= most;
        (never && program.only_sends(left, "WAIT")).then(|| {
            finding!(
                "`{left}` is {most} at most: no server here has more replicas",
                "`{left}` 最多是 {most}：这里没有服务器有更多从节点",
                "such as `{left} >= {most}`",
                "例如 `{left} >= {most}`"
            )
        })
    })
}

/// The largest value of a count, and the reason.
fn most(left: &str, scenario: &Scenario) -> Option<(i64, Text)> {
    if let Some((one, other)) = left.split_once(" + ") {
        let ((one, why), (other, _)) = (most(one, scenario)?, most(other, scenario)?);
        return Some((one + other, why));
    }
    let actors = || both!("so many actors are there", "一共只有这么多参与者");
    let number = |count: usize| i64::try_from(count).ok();
    if scenario.counters.contains(left) {
        let mut counted = scenario.actors.iter().map(|plan| plan.program.counts(left));
        let most = counted.try_fold(0, |sum, count| Some(sum + count?))?;
        let why = both!("its programs count it no oftener", "这些程序最多只计这么多次");
        return Some((number(most)?, why));
    }
    if scenario.reply(left).is_some_and(|(program, label)| program.only_sends(label, "WAIT")) {
        let why = both!("no server here has more replicas", "这里没有服务器有更多从节点");
        return Some((number(scenario.lab().most_replicas())?, why));
    }
    let mentions = Mentions::of(left);
    let [call] = &mentions.calls[..] else { return None };
    let is_alone = left.starts_with(&call.function) && left.ends_with(')') && left.matches('(').count() == 1;
    match call.function.as_str() {
        _ if !is_alone => None,
        "herd" | "notified" | "woken_by" if !may_hear(scenario) => Some((
            0,
            both!("nobody subscribes to anything or leaves a watch", "没有谁订阅过频道或设过 watch"),
        )),
        "herd" => Some((number(scenario.actors.len())?, actors())),
        "holders" => {
            let lock = call.arguments.first()?.as_deref()?;
            let is_it = |name: &String| stands_for(name, lock) || stands_for(lock, name);
            let may_hold = |plan: &&ActorPlan| {
                plan.program.outside || plan.program.locks_files || plan.program.locks.iter().any(is_it)
            };
            let why = both!("no more of them ever take it", "会去拿它的只有这么多");
            Some((number(scenario.actors.iter().filter(may_hold).count())?, why))
        }
        "moves" => {
            let made = items::made(call.arguments.first()?.as_deref()?, scenario)?;
            Some((number(made)?, both!("the programs make that move no oftener", "程序最多只做这么多次")))
        }
        "deleted_by_another" => {
            let key = call.arguments.first()?.as_deref()?;
            let why = both!("no command ever deletes that key", "没有任何命令删除这个键");
            (!may_delete(key, scenario)).then_some((0, why))
        }
        "finished" => {
            let who = call.arguments.first()?.as_deref()?;
            let named = scenario.actors.iter().filter(|plan| plan.actor.name.starts_with(who)).count();
            Some((number(named)?, actors()))
        }
        _ => None,
    }
}

/// Whether any command may delete a key.
fn may_delete(key: &str, scenario: &Scenario) -> bool {
    scenario.operations().any(|operation| match &operation.verb {
        PlannedVerb::Redis(words) => {
            let name = words[0].pattern().to_ascii_uppercase();
            let named = || words[1..].iter().any(|word| stands_for(&word.pattern(), key));
            // Keys that are overwritten, expire or become empty are not deleted by a command.
            let may = has_word("DEL UNLINK GETDEL RENAME RENAMENX MOVE DELEX", &name) && named();
            may || name.contains(ANY) || has_word("EVAL EVALSHA FCALL EXEC FLUSHALL FLUSHDB SWAPDB", &name)
        }
        PlannedVerb::Script { .. } | PlannedVerb::Given(_) => true,
        PlannedVerb::Call(call) => call.parts().iter().any(|call| match call.name() {
            "delete" => call.all_operands().any(|operand| stands_for(&operand.pattern(), key)),
            "revoke" => true,
            _ => call.product() == Product::Mariadb,
        }),
        _ => false,
    })
}

/// The finding about a role: a dead server has none, and a replica whose master works stays a replica.
fn of_role(source: &str, scenario: &Scenario, servers: &Servers<'_>) -> Option<Finding> {
    let (left, operator, right) = split_comparison(source)?;
    let mentions = Mentions::of(left);
    let server = mentions.calls_of("role").next()?.arguments.first()?.as_deref()?;
    let server = scenario.lab().server_named(server)?;
    let is_asked = left.starts_with("role(") && left.ends_with(')') && operator == "==";
    let Literal::Text(role) = literal(right).filter(|_| is_asked)? else { return None };
    if servers.dead.contains(server) {
        return Some(finding!(
            "`{server}` is dead here: `{left}` is `none`, never {right}",
            "`{server}` 此时已死：`{left}` 是 `none`，不会是 {right}",
            "write `- restart: {server}` before it, or `{left} is none`",
            "请先写 `- restart: {server}`，或者写 `{left} is none`"
        ));
    }
    let master = scenario.lab().first_master_of(server).filter(|_| role == "master")?;
    let is_near = |hit: &&str| *hit == server || *hit == master || scenario.lab().has_link(server, hit);
    (!servers.hit.iter().any(is_near)).then(|| {
        finding!(
            "`{server}` is a replica of `{master}`, to which nothing has happened here: it stays one",
            "`{server}` 是 `{master}` 的从节点，而 `{master}` 此时一切正常：它不会变成主节点",
            "ask for a replica of the master that is hit, or write `- kill: {master}` before it",
            "请查出故障的主节点的从节点，或者先写 `- kill: {master}`"
        )
    })
}

/// Reports a key of a server that is dead, or that restarted empty.
fn of_lost_key(source: &str, scenario: &Scenario, servers: &Servers<'_>) -> Option<Finding> {
    let lab = scenario.lab();
    let (asked, is_asked) = match split_comparison(source) {
        Some((left, "==", right)) => (left, literal(right).is_some()),
        Some(_) => return None,
        None => (source.strip_suffix(" is not none").unwrap_or(source), true),
    };
    let function = ["value", "exists"].into_iter().find(|function| {
        asked.strip_prefix(function).is_some_and(|rest| rest.starts_with('(')) && asked.ends_with(')')
    })?;
    let (_, server) = Mentions::of(asked).keys_of(function).into_iter().next().filter(|_| is_asked)?;
    // If several servers hold keys, the expression names the server.
    let server = match server {
        Some(server) => lab.server_named(&server)?,
        None => lab.servers().first().copied().filter(|_| lab.servers().len() == 1)?,
    };
    let part = lab.part_of(server);
    if servers.dead.contains(server) {
        return Some(finding!(
            "`{server}` is dead here, and nothing is known of its keys",
            "`{server}` 此时已死，查不到它的键",
            "write `- restart: {server}` before it",
            "请先写 `- restart: {server}`"
        ));
    }
    let keeps = part.product() != Product::Redis
        || part.is_replicated()
        || scenario.settings().appendonly.is_some_and(|kept| kept != Appendonly::No)
        || scenario.sends(|name| has_word("SAVE CONFIG", name));
    (servers.empty.contains(server) && !keeps).then(|| {
        finding!(
            "`{server}` began again without its keys, and nobody has written any since",
            "`{server}` 重启后键都没了，之后也没有人写过",
            "write `settings: {{ appendonly: always }}`, or ask whether the key is gone: `not exists(…)`",
            "请写 `settings: {{ appendonly: always }}`，或者断言键已不在：`not exists(…)`"
        )
    })
}

/// The finding about a claim that a reply is not nil, of a command that always answers.
fn of_answered(source: &str, scenario: &Scenario) -> Option<Finding> {
    let name = source.strip_suffix(" is not none").or_else(|| source.strip_suffix(" != none"))?;
    let (program, label) = scenario.reply(name.trim())?;
    let help = both!(
        "claim what it answers, or only that it was sent: `moves('{name}') == 1`",
        "请断言它回复了什么；只想断言它发送过，请写 `moves('{name}') == 1`"
    );
    Some(Finding { help, ..program.nil_lint(label, name)? })
}

/// The finding about a reply that is nil, of a command that always answers.
fn of_nil(source: &str, scenario: &Scenario) -> Option<Finding> {
    let name = source.strip_suffix(" is none").or_else(|| source.strip_suffix(" == none"))?;
    let (program, label) = scenario.reply(name.trim())?;
    program.nil_lint(label, name)
}

/// The finding about the version that a `set` answers: the data had version 0 before.
fn of_version(source: &str, scenario: &Scenario) -> Option<Finding> {
    let (left, operator, right) = split_comparison(source)?;
    let (program, label) = scenario.reply(left.strip_suffix(".version")?)?;
    let never = match (operator, figure(right, scenario)?) {
        ("==", number) => number < 1,
        ("<", number) => number < 2,
        _ => false,
    };
    let mut named = program.operations().filter(|operation| operation.label == label).peekable();
    named.peek()?;
    let sets = |verb: &PlannedVerb| matches!(verb, PlannedVerb::Call(call) if call.name() == "set");
    (never && named.all(|operation| sets(&operation.verb))).then(|| {
        finding!(
            "`{left}` is the version after the change, 1 or more: a new znode has 0",
            "`{left}` 是修改之后的版本，至少是 1：刚创建的 znode 才是 0",
            "such as `{left} == 1`",
            "例如 `{left} == 1`"
        )
    })
}

/// The finding about an error that would end the run.
fn of_reply(source: &str, scenario: &Scenario) -> Option<Finding> {
    let (left, "==", right) = split_comparison(source)? else { return None };
    let Literal::Text(code) = literal(right)? else { return None };
    let (program, label) = scenario.reply(left)?;
    unallowed(program, label, code)
}

/// The finding about an error that none of the replies in a list can be: `'1213' in [A.take, B.take]`.
fn of_code_among(source: &str, scenario: &Scenario) -> Option<Finding> {
    let (code, listed) = source.split_once(" in ")?;
    let Literal::Text(code) = literal(code.trim())? else { return None };
    let listed = listed.trim();
    let inside = |begin: &str, end: char| listed.strip_prefix(begin)?.strip_suffix(end);
    let names: Vec<String> = match (inside("[", ']'), inside("replies(", ')')) {
        (Some(names), _) => names.split(',').map(|name| name.trim().to_owned()).collect(),
        (_, Some(moves)) => {
            let moves = moves.trim().trim_matches(['\'', '"']);
            let (who, label) = moves.rsplit_once('.').unwrap_or(("", moves));
            let actors = scenario.actors.iter().map(|plan| plan.actor.name.as_str());
            let meant = actors.filter(|name| name.starts_with(who));
            meant.map(|name| format!("{name}.{label}")).collect()
        }
        _ => return None,
    };
    let of = |name: &String| {
        let (program, label) = scenario.reply(name)?;
        unallowed(program, label, code)
    };
    let known =
        names.iter().filter(|name| scenario.reply(name).is_some_and(|(of, label)| of.labels.contains(label)));
    let found: Option<Vec<Finding>> = known.map(of).collect();
    found?.pop()
}

/// The finding about a crash: a client that no fault kills is alive, and a program that gives up ends the story.
fn of_crash(source: &str, scenario: &Scenario) -> Option<Finding> {
    let name = source.strip_suffix(".crashed")?;
    let plan = scenario.actor_named(name)?;
    let client = &plan.actor.client;
    let crashes = scenario.story.iter().any(|line| match &line.act {
        Act::Faults(faults) => {
            faults.iter().any(|fault| matches!(fault, Fault::Crash { client: of } if of == client))
        }
        _ => false,
    });
    (!crashes).then(|| Finding {
        message: both!("nothing in this story crashes {client}", "剧情里 {client} 从没有崩溃"),
        help: both!("write `- crash: {client}` into the story", "请在剧情里写 `- crash: {client}`"),
    })
}
