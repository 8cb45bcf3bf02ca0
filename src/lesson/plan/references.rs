//! Checks references to moves in expressions over a run: `A.release`, `A.worker.release`, `'P1.2.check'`. A claim about
//! a reply that can never come would prove nothing.

use super::{
    super::{
        error::{Mistake, Path, did_you_mean, finding},
        expr::{Mentions, mentions::Call},
    },
    claims::ACTOR_FUNCTIONS,
    clients::{ActorPlan, ClientPlan},
    program::{Instruction, Program},
    story::unlisted,
};
use crate::{log::Belief, text::both};

/// Checks every reference that begins with the name of a process.
pub(crate) fn check(
    source: &str,
    clients: &[ClientPlan],
    actors: &[ActorPlan],
    path: &Path,
) -> Result<(), Mistake> {
    let mentions = Mentions::of(source);
    mentions.calls.iter().try_for_each(|call| check_order(call, (clients, actors), path))?;
    for client in clients {
        let actors = &actors[client.actors.clone()];
        for known in mentions.paths.iter().filter(|words| words.len() > 1 && words[0] == client.name) {
            let words: Vec<&str> = known[1..].iter().map(String::as_str).collect();
            check_one(&words, false, (client, actors), path)?;
        }
        for text in &mentions.texts {
            if let Some(rest) = text.strip_prefix(&client.name).and_then(|rest| rest.strip_prefix('.')) {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.')));
                let words: Vec<&str> = rest[..end.unwrap_or(rest.len())].split('.').collect();
                check_one(&words, true, (client, actors), path)?;
            }
        }
    }
    Ok(())
}

/// Checks that functions of time and order name moves that an actor can make, and actors that wait for a lock.
fn check_order(
    Call { function, arguments, .. }: &Call,
    (clients, actors): (&[ClientPlan], &[ActorPlan]),
    path: &Path,
) -> Result<(), Mistake> {
    let (example, wanted) = match function.as_str() {
        "at" => ("at('B.acquire')", 1..=1),
        "before" => ("before('A.release', 'B.acquire')", 2..=2),
        "waited" => ("waited('B')", 1..=2),
        _ => return Ok(()),
    };
    if !wanted.contains(&arguments.len()) {
        let given = arguments.len();
        let message =
            both!("`{function}` with {given} in its brackets", "`{function}` 的括号里有 {given} 个参数");
        return Err(
            Mistake::new(path, message).help(both!("write it as in `{example}`", "请写成 `{example}` 这样"))
        );
    }
    let called = |who: &str| -> Vec<&ActorPlan> {
        let clients = clients.iter().filter(|client| client.name == who || client.group == who);
        let members = clients.flat_map(|client| &actors[client.actors.clone()]);
        members.chain(actors.iter().filter(|plan| plan.actor.name == who)).collect()
    };
    let members = |who: &str| {
        let found = called(who);
        let known = clients.iter().map(|client| client.name.as_str());
        if found.is_empty() {
            Err(Mistake::unknown(path, both!("client", "客户端"), who, known))
        } else {
            Ok(found)
        }
    };
    if function == "waited" {
        let Some(who) = &arguments[0] else { return Ok(()) };
        let waits = |instruction: &Instruction| {
            matches!(instruction, Instruction::Believe { belief: Belief::Waiting, .. })
        };
        // An external program may report at run time that it waits.
        let may_wait = |program: &Program| program.outside || program.instructions.iter().any(waits);
        if !members(who)?.iter().any(|plan| may_wait(&plan.program)) {
            return Err(path.mistake(finding!(
                "`{who}` never says that it waits for a lock",
                "`{who}` 的程序从没说过它在等锁",
                "write `- waits: LOCK` in its program, before the operation that asks for the lock",
                "请在它的程序里、申请锁的操作之前写 `- waits: 锁名`"
            )));
        }
        return Ok(());
    }
    for reference in arguments.iter().flatten() {
        let (meant, label) = match reference.rsplit_once('.') {
            Some((who, label)) => (members(who)?, label),
            None => (actors.iter().collect(), reference.as_str()),
        };
        if !meant.iter().any(|plan| plan.program.labels.contains(label)) {
            let known = meant.iter().flat_map(|plan| &plan.program.labels).map(String::as_str);
            return Err(Mistake::unknown(path, both!("move", "操作"), label, known));
        }
    }
    Ok(())
}

fn check_one(
    words: &[&str],
    quoted: bool,
    (client, actors): (&ClientPlan, &[ActorPlan]),
    path: &Path,
) -> Result<(), Mistake> {
    let first = words.first().copied().unwrap_or_default();
    let alone = actors.iter().find(|plan| plan.actor.name == client.name);
    let threads =
        || actors.iter().filter_map(|plan| plan.actor.name.strip_prefix(&client.name)?.strip_prefix('.'));
    match alone {
        Some(plan) => check_label(first, plan, path),
        None if threads().any(|thread| thread == first) => {
            let name = format!("{}.{first}", client.name);
            let plan = actors.iter().find(|plan| plan.actor.name == name);
            match (plan, words.get(1)) {
                (Some(plan), Some(label)) => check_label(label, plan, path),
                _ => Ok(()),
            }
        }
        // A function may name all threads at once: `moves('P1.check')`.
        None if quoted && actors.iter().any(|plan| plan.program.labels.contains(first)) => Ok(()),
        // The members of a crowd have names of their own.
        None if threads().next().is_none() => Ok(()),
        None => {
            let name = &client.name;
            let is_its =
                |plan: &&ActorPlan| plan.actor.client == *name && plan.program.labels.contains(first);
            Err(match actors.iter().find(is_its) {
                Some(plan) => {
                    let message = both!(
                        "`{name}.{first}` does not say which thread",
                        "`{name}.{first}` 没有写是哪个线程"
                    );
                    Mistake::new(path, message).help(did_you_mean(&format!("{}.{first}", plan.actor.name)))
                }
                None => Mistake::unknown(path, both!("thread of {name}", " {name} 的线程"), first, threads()),
            })
        }
    }
}

fn check_label(label: &str, plan: &ActorPlan, path: &Path) -> Result<(), Mistake> {
    if ACTOR_FUNCTIONS.contains(&label) || plan.program.labels.contains(label) {
        return Ok(());
    }
    let (known, name) = (plan.program.labels.iter().map(String::as_str), &plan.actor.name);
    let mistake = Mistake::unknown(path, both!("move of {name}", "操作（{name} 的程序里）"), label, known);
    Err(if plan.program.outside { unlisted(mistake, plan, label) } else { mistake })
}
