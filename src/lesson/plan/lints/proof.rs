//! Values that prove who holds a lock: a key that holds a token never equals the name of a client, nor the other way
//! round.

use super::super::{
    super::{
        error::{Finding, Mistake, Path, finding},
        expr::{Template, mentions::comparisons},
        has_word,
    },
    ActorPlan, Scenario,
    program::{Frame, Instruction, PlannedVerb},
    scripts,
    types::{in_script, resolve, resolve_key},
};

/// What a lock's key may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// The token of one acquisition.
    Token,
    /// The name of a client.
    Name,
}

fn proof(written: &str) -> Option<Proof> {
    match written {
        "${token}" | "token" => Some(Proof::Token),
        "${self}" | "${client}" | "self" | "client" => Some(Proof::Name),
        _ => None,
    }
}

/// What the commands set a key to: the one template that all of them have.
fn held(scenario: &Scenario, wanted: &str) -> Option<String> {
    let mut found: Option<String> = None;
    let setup = scenario.setup.iter().map(|line| (&line.verb, Vec::new()));
    let each = scenario.actors.iter().flat_map(|plan| plan.program.operations_in_frames());
    for (verb, frames) in each.map(|(operation, frames)| (&operation.verb, frames)).chain(setup) {
        for (key, value) in written(verb) {
            if resolve_key(key, &frames).0 != wanted {
                continue;
            }
            let value = resolve(value?, &frames).0.to_string();
            if found.as_ref().is_some_and(|known| proof(known) != proof(&value)) {
                return None;
            }
            found = Some(value);
        }
    }
    found.filter(|value| proof(value).is_some())
}

/// The keys that a command sets, each with its value; `None` for one that is not written out.
fn written(verb: &PlannedVerb) -> Vec<(&Template, Option<&Template>)> {
    match verb {
        PlannedVerb::Redis(words) => {
            let name = words[0].pattern().to_ascii_uppercase();
            let value = match name.as_str() {
                "SET" | "SETNX" | "GETSET" => words.get(2),
                "SETEX" | "PSETEX" => words.get(3),
                _ if has_word("GET DEL UNLINK EXISTS TTL PTTL EXPIRE PEXPIRE PERSIST", &name) => {
                    return Vec::new();
                }
                _ => None,
            };
            match (words.get(1), value) {
                (Some(key), value @ Some(_)) => vec![(key, value)],
                // Another command may set any of its words.
                _ => words[1..].iter().map(|word| (word, None)).collect(),
            }
        }
        PlannedVerb::Script { source, keys, args, .. } => {
            let sets = |n: usize| {
                let mut used = in_script(source, n + 1).into_iter();
                used.any(|(name, _)| {
                    !has_word("GET DEL UNLINK EXISTS TTL PTTL EXPIRE PEXPIRE PERSIST PUBLISH", &name)
                })
            };
            let value = |n: usize| {
                let begin = format!("'SET', KEYS[{}], ARGV[", n + 1);
                let mut set = source.split(begin.as_str()).skip(1);
                let (first, others) = (set.next()?, set.next());
                let index: usize = first.split(']').next()?.parse().ok()?;
                args.get(index.checked_sub(1)?).filter(|_| others.is_none())
            };
            let keys = keys.iter().enumerate().filter(|(n, _)| sets(*n));
            keys.map(|(n, key)| (key, value(n))).collect()
        }
        _ => Vec::new(),
    }
}

/// Reports a script or a condition that compares the value of a key with a proof of the other kind.
pub(super) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    if scenario.is_attached() {
        return Ok(());
    }
    for plan in &scenario.actors {
        for (operation, frames) in plan.program.operations_in_frames() {
            let PlannedVerb::Script { name, source, keys, args } = &operation.verb else { continue };
            let Some((key, _)) = keys.first().map(|key| resolve_key(key, &frames)) else { continue };
            for (n, arg) in args.iter().enumerate() {
                if !scripts::compares_value(source, n + 1) || !source.contains("'GET', KEYS[1]") {
                    continue;
                }
                let (given, at) = resolve(arg, &frames);
                let written = operation.path.as_ref().map(|path| path.key("args").index(n));
                let Some(path) = at.or(written).or_else(|| used_at(&frames)) else { continue };
                let is_refused = format!(".{} == 0", operation.label);
                if scenario
                    .is_meant(|claim| claim.source().is_some_and(|source| source.contains(&is_refused)))
                {
                    continue;
                }
                let found = other(scenario, &key, &given.to_string());
                Mistake::if_found(&path, found.map(|held| by_script(name, &key, &held, &given.to_string())))?;
            }
        }
        check_conditions(scenario, plan)?;
    }
    Ok(())
}

fn used_at(frames: &[Frame<'_>]) -> Option<Path> {
    frames.iter().rev().find_map(|(_, path)| path.cloned())
}

/// What the key holds, if that is never equal to what it is compared with.
fn other(scenario: &Scenario, key: &str, compared: &str) -> Option<String> {
    let kind = proof(compared)?;
    held(scenario, key).filter(|held| proof(held) != Some(kind))
}

fn by_script(script: &str, key: &str, held: &str, given: &str) -> Finding {
    finding!(
        "the script `{script}` compares `{given}` with the value of `{key}`, which is set to `{held}`: they are never the same",
        "脚本 `{script}` 拿 `{given}` 和 `{key}` 的值比较，而写入的是 `{held}`：两者永远不同",
        "give it what the key was set to: `{held}`",
        "请传加锁时写入的值：`{held}`"
    )
}

fn check_conditions(scenario: &Scenario, plan: &ActorPlan) -> Result<(), Mistake> {
    let program = &plan.program;
    for (at, path) in &program.conditions {
        let Some(Instruction::JumpUnless { condition, .. }) = program.instructions.get(*at) else { continue };
        let found = comparisons(condition.source()).find_map(|(left, operator, right)| {
            let operation = program.only_named(left).filter(|_| matches!(operator, "==" | "!="))?;
            let PlannedVerb::Redis(words) = &operation.verb else { return None };
            let key = words.get(1).filter(|_| words[0].pattern().eq_ignore_ascii_case("GET"))?;
            let held = other(scenario, &key.is_literal().then(|| key.to_string())?, right)?;
            let name = held.trim_start_matches("${").trim_end_matches('}');
            Some(finding!(
                "`{left}` is the value of `{key}`, which is set to `{held}`, and never `{right}`",
                "`{left}` 是 `{key}` 的值，写入的是 `{held}`，不会是 `{right}`",
                "write `{left} {operator} {name}`",
                "请写 `{left} {operator} {name}`"
            ))
        });
        Mistake::if_found(path, found)?;
    }
    Ok(())
}
