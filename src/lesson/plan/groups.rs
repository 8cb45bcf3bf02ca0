//! Consumer groups of Redis streams.

use std::collections::BTreeSet;

use super::{
    super::{
        error::{Mistake, Path, did_you_mean, finding},
        expr::Template,
    },
    PlannedVerb, Scenario,
};
use crate::{
    log::{ANY, stands_for},
    text::both,
};

/// Reports a consumer group that no command creates, or that is created on a missing stream.
pub(crate) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    let setup = scenario.setup_path();
    let lines = scenario.setup.iter().enumerate();
    let lines = lines.map(|(n, line)| (&line.verb, Some(setup.index(n)), true));
    let operations = scenario.operations().map(|operation| {
        let copes = operation.allows("NOGROUP") || operation.allows("ERR");
        (&operation.verb, operation.path.clone().filter(|_| !copes), false)
    });
    let (mut created, mut named, mut streams) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (verb, path, in_setup) in lines.chain(operations) {
        let words: Vec<String> = match verb {
            PlannedVerb::Redis(words) => words.iter().map(Template::pattern).collect(),
            // A script may create groups, too.
            PlannedVerb::Script { source, .. } if source.contains("XGROUP") => return Ok(()),
            _ => continue,
        };
        let command = words[0].to_ascii_uppercase();
        match (command.as_str(), &words[1..]) {
            ("XADD", [stream, ..]) => drop(streams.insert(stream.clone())),
            ("XGROUP", [create, stream, group, _, rest @ ..]) if create.eq_ignore_ascii_case("CREATE") => {
                let makes = rest.iter().any(|word| word.eq_ignore_ascii_case("MKSTREAM"));
                if let (true, false, false, Some(path)) = (in_setup, makes, streams.contains(stream), &path) {
                    return Err(path.key("redis").mistake(finding!(
                        "there is no stream `{stream}` yet: Redis answers ERR",
                        "流 `{stream}` 还不存在，Redis 会回复 ERR",
                        "let the command make it: `XGROUP CREATE {stream} {group} $ MKSTREAM`",
                        "让这条命令顺便创建它：`XGROUP CREATE {stream} {group} $ MKSTREAM`"
                    )));
                }
                created.push((stream.clone(), group.clone(), path));
            }
            ("XACK" | "XPENDING" | "XCLAIM" | "XAUTOCLAIM", [stream, group, ..]) => {
                named.push((Some(stream.clone()), group.clone(), path));
            }
            ("XREADGROUP", [_, group, ..]) => named.push((None, group.clone(), path)),
            _ => {}
        }
    }
    let swapped =
        created.iter().find(|(stream, group, _)| streams.contains(group) && !streams.contains(stream));
    if let Some((stream, group, Some(path))) = swapped {
        let message = both!("`{group}` is a stream here, and no group", "`{group}` 在这里是流，不是消费组");
        return Err(Mistake::new(&path.key("redis"), message).help(both!(
            "the stream comes first: `XGROUP CREATE {group} {stream} $`",
            "先写流，再写组：`XGROUP CREATE {group} {stream} $`"
        )));
    }
    check_readers(scenario)?;
    let actors = || scenario.actors.iter().map(|plan| plan.actor.name.as_str());
    let is_created = |group: &str| created.iter().any(|(_, known, _)| stands_for(known, group));
    for (stream, group, path) in &named {
        let (Some(stream), Some(path)) = (stream, path) else { continue };
        let mut of_group = created.iter().filter(|(_, known, _)| stands_for(known, group));
        let is_of = |(known, ..): &&(String, String, Option<Path>)| {
            stands_for(known, stream) || stands_for(stream, known)
        };
        if let Some((known, ..)) = of_group.clone().next().filter(|_| !of_group.any(|made| is_of(&made))) {
            let message = both!(
                "the group `{group}` is one of the stream `{known}`, and not of `{stream}`",
                "消费组 `{group}` 属于流 `{known}`，不属于 `{stream}`"
            );
            return Err(Mistake::new(&path.key("redis"), message).help(did_you_mean(known)));
        }
    }
    // The name of the client where the group belongs: its pattern is unknown, and no group has a client's name.
    let of_client = |group: &str| {
        group == ANY.to_string()
            && !created.iter().any(|(_, known, _)| known.contains(ANY) || actors().any(|name| name == known))
    };
    for (_, group, path) in &readers_of_clients(scenario) {
        let Some((_, known, _)) = created.first().filter(|_| of_client(group)) else { continue };
        let message =
            both!("the name of the client stands here as the group", "这里把客户端的名字写成了消费组");
        return Err(Mistake::new(&path.key("redis"), message).help(both!(
            "the group comes first, then its consumer: `GROUP {known} ${{self}}`",
            "先写组，再写消费者：`GROUP {known} ${{self}}`"
        )));
    }
    for (_, group, path) in named.iter().filter(|(_, group, _)| !group.contains(ANY) && !is_created(group)) {
        let Some(path) = path.as_ref().filter(|_| !created.is_empty()) else { continue };
        let message = both!("no command creates the group `{group}`", "没有命令创建过消费组 `{group}`");
        let known = created.iter().map(|(_, known, _)| known.as_str()).collect::<Vec<_>>().join("`, `");
        return Err(Mistake::new(&path.key("redis"), message)
            .help(both!("created here: `{known}`", "这里创建的有：`{known}`")));
    }
    Ok(())
}

/// The `XREADGROUP`s of the programs whose group is the name of the client, each with its stream, group and path.
fn readers_of_clients(scenario: &Scenario) -> Vec<(String, String, Path)> {
    let operations = scenario.actors.iter().flat_map(|plan| plan.program.operations());
    let of_client = operations.filter_map(|operation| {
        let PlannedVerb::Redis(words) = &operation.verb else { return None };
        let is_reader = words[0].pattern().eq_ignore_ascii_case("XREADGROUP");
        let group = words.get(2).filter(|_| is_reader)?;
        let is_client = matches!(group.to_string().as_str(), "${self}" | "${client}" | "${token}");
        Some((String::new(), group.pattern(), operation.path.clone()?)).filter(|_| is_client)
    });
    of_client.collect()
}

/// Reports a client that reads its own pending messages, `0`, of a stream of which nobody ever reads new ones, `>`.
fn check_readers(scenario: &Scenario) -> Result<(), Mistake> {
    let operations = || scenario.actors.iter().flat_map(|plan| plan.program.operations());
    let words = |verb: &PlannedVerb| match verb {
        PlannedVerb::Redis(words) => words.iter().map(Template::pattern).collect(),
        _ => Vec::new(),
    };
    let is_open = operations().any(|operation| match &operation.verb {
        PlannedVerb::Redis(words) => {
            ["XCLAIM", "XAUTOCLAIM"].iter().any(|name| words[0].pattern().eq_ignore_ascii_case(name))
                && operation.path.is_none()
        }
        PlannedVerb::Script { source, .. } => source.contains("XREADGROUP"),
        _ => false,
    });
    let reads: Vec<(Vec<String>, Option<Path>)> = operations()
        .map(|operation| (words(&operation.verb), operation.path.clone()))
        .filter(|(words, _)| words.first().is_some_and(|name| name.eq_ignore_ascii_case("XREADGROUP")))
        .collect();
    let is_fresh = |words: &[String]| words.last().is_some_and(|id| id == ">" || id.contains(ANY));
    if is_open || reads.iter().any(|(words, _)| is_fresh(words)) {
        return Ok(());
    }
    let Some(path) = reads.iter().find_map(|(_, path)| path.as_ref()) else { return Ok(()) };
    let message = both!(
        "this reads what the client has taken before, and nobody ever takes a new message",
        "这里读的是客户端已经取过的消息，而没有谁取过新消息"
    );
    Err(Mistake::new(&path.key("redis"), message)
        .help(both!("new messages are `>`: `STREAMS jobs >`", "新消息写 `>`：`STREAMS jobs >`")))
}
