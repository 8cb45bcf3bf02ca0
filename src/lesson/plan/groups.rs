//! Consumer groups of Redis streams.

use std::collections::BTreeSet;

use super::{
    super::{
        error::{Mistake, Path, did_you_mean},
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
                    let message = both!(
                        "there is no stream `{stream}` yet: Redis answers ERR",
                        "流 `{stream}` 还不存在，Redis 会回复 ERR"
                    );
                    return Err(Mistake::new(&path.key("redis"), message).help(both!(
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
    for (_, group, path) in named.iter().filter(|(_, group, _)| !group.contains(ANY) && !is_created(group)) {
        let Some(path) = path.as_ref().filter(|_| !created.is_empty()) else { continue };
        let message = both!("no command creates the group `{group}`", "没有命令创建过消费组 `{group}`");
        let known = created.iter().map(|(_, known, _)| known.as_str()).collect::<Vec<_>>().join("`, `");
        return Err(Mistake::new(&path.key("redis"), message)
            .help(both!("created here: `{known}`", "这里创建的有：`{known}`")));
    }
    Ok(())
}
