//! Checks that the znodes that calls need are created. The server begins without any of the lesson's.

use std::collections::BTreeMap;

use super::{
    super::{
        error::{ALIKE, Mistake, Path, Segment, finding, nearest, suggestion},
        expr::Template,
    },
    PlannedCall, PlannedVerb, Scenario,
    program::Frame,
};
use crate::{
    log::{ANY, Product, product::zookeeper::parent, stands_for},
    text::both,
};

/// A call, the error codes that it allows, its place in the lesson, and the znode's path if known.
type Made<'s> = (PlannedCall, &'s [String], Path, Option<String>);

pub(crate) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    if scenario.is_attached() {
        return Ok(());
    }
    let (setup, made) = calls(scenario);
    check_setup(&setup)?;
    let created: Vec<String> = setup.iter().chain(&made).flat_map(created_by).collect();
    // A sequential znode always has digits behind its path.
    let is_it = |known: &str, path: &str| stands_for(known, path) && known != format!("{path}{ANY}");
    let is_created =
        |path: &str| path.starts_with("/zookeeper") || created.iter().any(|known| is_it(known, path));
    for (call, allow, at, path) in setup.iter().chain(&made) {
        let Some(path) = path.clone() else { continue };
        let mut as_parent = setup.iter().chain(&made).filter(|(known, .., own)| {
            known.name() == "create" && own.as_ref().is_some_and(|own| own == parent(&path))
        });
        let is_ephemeral = as_parent.next().is_some_and(|(first, ..)| first.has_flag("-e"))
            && as_parent.all(|(other, ..)| other.has_flag("-e"));
        if call.name() == "create"
            && is_ephemeral
            && !allow.iter().any(|code| code == "NoChildrenForEphemerals")
        {
            return Err(child_of_ephemeral(parent(&path), at));
        }
        let needed = match call.name() {
            "create" => parent(&path).to_owned(),
            "get" | "set" | "ls" | "delete" | "check" => path,
            _ => continue,
        };
        if needed.is_empty() || needed == "/" || needed.contains(ANY) || is_created(&needed) {
            continue;
        }
        if allow.iter().any(|code| code == "NoNode") {
            continue;
        }
        let numbered = setup.iter().chain(&made).find(|(call, _, _, path)| {
            call.name() == "create" && call.has_flag("-s") && path.as_deref() == Some(&needed)
        });
        if let Some((.., created_at, _)) = numbered {
            let message = both!(
                "`{needed}` is never there: with `-s` ten digits follow the path that `create` names",
                "不会有 `{needed}`：`create` 带 `-s` 时，路径后面会加上十位序号"
            );
            let without = both!("write `create {needed}` without `-s`", "请去掉 `-s`：`create {needed}`");
            // An operation of the setup has no name by which its reply could be used.
            return Err(Mistake::new(at, message).help(match created_at.segments().iter().rev().nth(1) {
                Some(Segment::Key(label)) if created_at.segments().len() > 2 => both!(
                    "the whole path is the reply: `${{{label}}}`; or write `create {needed}` without `-s`",
                    "完整的路径是它的回复：`${{{label}}}`；或者去掉 `-s`：`create {needed}`"
                ),
                _ => without,
            }));
        }
        let message = both!("nobody creates the znode `{needed}`", "没有任何地方创建 znode `{needed}`");
        let known = created.iter().filter(|known| !known.contains(ANY)).map(String::as_str);
        let help = suggestion(nearest(&needed, known, ALIKE), || {
            both!(
                "create it in the setup: `- zk: create {needed}`",
                "请在 setup 中创建：`- zk: create {needed}`"
            )
        });
        return Err(Mistake::new(at, message).help(help));
    }
    check_children(scenario, &setup, &made)
}

/// Refuses to delete a znode whose child, which the setup or the same program has created, nobody ever deletes.
fn check_children(scenario: &Scenario, setup: &[Made<'_>], made: &[Made<'_>]) -> Result<(), Mistake> {
    let begins = |path: &str| path.split(ANY).next().unwrap_or_default().to_owned();
    let all = || setup.iter().chain(made);
    let stays = |child: &str| {
        let goes = |(call, _, _, path): &Made<'_>| {
            let path = path.as_deref().unwrap_or_default();
            match call.name() {
                "delete" => stands_for(path, child) || stands_for(child, path) || begins(path).is_empty(),
                "create" => {
                    let vanishes = ["-e", "-c", "-t"].iter().any(|flag| call.has_flag(flag));
                    vanishes && (stands_for(path, child) || stands_for(child, path))
                }
                _ => false,
            }
        };
        !all().any(goes)
    };
    let child_of = |(call, _, _, path): &Made<'_>, of: &str| {
        let path = path.clone().filter(|path| call.name() == "create" && parent(path) == of)?;
        let child = if call.has_flag("-s") { format!("{path}{ANY}") } else { path };
        stays(&child).then_some(child)
    };
    let of_setup = |of: &str| setup.iter().find_map(|made| child_of(made, of));
    for plan in &scenario.actors {
        let calls = plan.program.instructions.iter().enumerate().filter_map(|(at, instruction)| {
            let operation = instruction.operation()?;
            Some((at, operation, on_zookeeper(&operation.verb)?.parts()))
        });
        let calls: Vec<_> = calls.collect();
        for (at, operation, parts) in &calls {
            let (Some(place), [call]) = (&operation.path, &parts[..]) else { continue };
            let path = call.operands("PATH").next().filter(|path| path.is_literal()).map(Template::pattern);
            let Some(path) = path.filter(|_| call.name() == "delete") else { continue };
            let before = calls.iter().filter(|(before, other, _)| {
                other.allow.iter().all(|code| code == "NodeExists") && plan.program.passes(*before, *at)
            });
            let own = before
                .flat_map(|(.., parts)| parts)
                .find_map(|call| child_of(&(call.clone(), &[], Path::root(), path_of(call, &[])), &path));
            if let Some(child) = own.or_else(|| of_setup(&path))
                && !operation.allows("NotEmpty")
            {
                let child = child.replace(ANY, "…");
                return Err(place.key("zk").mistake(finding!(
                    "`{path}` has the child `{child}` here, and only a znode without children can be deleted",
                    "这时 `{path}` 还有子节点 `{child}`，而有子节点的 znode 不能删除",
                    "delete `{child}` before it, or let the operation `allow: [NotEmpty]`",
                    "请先删除 `{child}`，或者在该操作里写 `allow: [NotEmpty]`"
                )));
            }
        }
    }
    Ok(())
}

fn child_of_ephemeral(parent: &str, at: &Path) -> Mistake {
    let message = both!(
        "`{parent}` is ephemeral, and such a znode has no children",
        "`{parent}` 是临时节点，临时节点不能有子节点"
    );
    Mistake::new(at, message).help(both!("create `{parent}` without `-e`", "创建 `{parent}` 时不要写 `-e`"))
}

fn on_zookeeper(verb: &PlannedVerb) -> Option<&PlannedCall> {
    match verb {
        PlannedVerb::Call(call) if call.product() == Product::Zookeeper => Some(call),
        _ => None,
    }
}

/// The ZooKeeper calls of the setup, and those of the programs.
fn calls(scenario: &Scenario) -> (Vec<Made<'_>>, Vec<Made<'_>>) {
    let at = scenario.setup_path();
    let setup = scenario.setup.iter().enumerate();
    let setup = setup.filter_map(|(n, line)| {
        let call = on_zookeeper(&line.verb)?;
        Some((call, &[][..], at.index(n).key("zk"), Vec::new()))
    });
    let operations = scenario.actors.iter().flat_map(|plan| plan.program.operations_in_frames());
    let made = operations.filter_map(|(operation, frames)| {
        let call = on_zookeeper(&operation.verb)?;
        // A recipe is right; the parameters that it is given may be wrong.
        let used = || frames.iter().rev().find_map(|(_, path)| path.map(|path| path.key("use")));
        let own = operation.path.as_ref().map(|path| path.key("zk"));
        let at = own.or_else(used).unwrap_or_else(Path::root);
        Some((call, operation.allow.as_slice(), at, frames))
    });
    (setup.flat_map(parts).collect(), made.flat_map(parts).collect())
}

/// The calls of a `multi`, or the call itself. A `multi` that creates a znode and deletes it leaves none.
fn parts<'s>((call, allow, at, frames): (&PlannedCall, &'s [String], Path, Vec<Frame<'_>>)) -> Vec<Made<'s>> {
    let calls = call.parts().into_iter().map(|call| {
        let path = path_of(&call, &frames);
        (call, path)
    });
    let calls: Vec<(PlannedCall, Option<String>)> = calls.collect();
    let stays = |n: usize| {
        let (call, path) = &calls[n];
        let deleted = |(other, of): &(PlannedCall, Option<String>)| other.name() == "delete" && of == path;
        call.name() != "create" || call.has_flag("-s") || !calls[n + 1..].iter().any(deleted)
    };
    let deleted: Vec<&Option<String>> =
        (0..calls.len()).filter(|n| !stays(*n)).map(|n| &calls[n].1).collect();
    let kept = calls.iter().filter(|(_, path)| !deleted.contains(&path));
    kept.map(|(call, path)| (call.clone(), allow, at.clone(), path.clone())).collect()
}

/// Checks the setup, whose calls are made one after another on an empty server.
fn check_setup(setup: &[Made<'_>]) -> Result<(), Mistake> {
    // The existing znodes, and whether each is ephemeral.
    let mut there: BTreeMap<String, bool> = BTreeMap::new();
    for (call, _, at, path) in setup {
        let Some(path) = path.clone().filter(|path| !path.contains(ANY)) else { return Ok(()) };
        match call.name() {
            "create" => {
                let parent = parent(&path).to_owned();
                let known = there.get(&parent).copied();
                if !parent.is_empty() && known.is_none() {
                    return Err(at.mistake(finding!(
                        "the znode `{parent}` is not there yet, in which `{path}` is to be",
                        "`{path}` 的父节点 `{parent}` 还不存在",
                        "write `- zk: create {parent}` before it",
                        "请在前面写 `- zk: create {parent}`"
                    )));
                }
                if known == Some(true) {
                    return Err(child_of_ephemeral(&parent, at));
                }
                if call.has_flag("-s") {
                    continue;
                }
                if there.insert(path.clone(), call.has_flag("-e")).is_some() {
                    let message = both!("the znode `{path}` is there already", "znode `{path}` 已经存在");
                    return Err(
                        Mistake::new(at, message).help(both!("leave one of both out", "两者去掉一个"))
                    );
                }
            }
            "delete" => drop(there.remove(&path)),
            _ => {}
        }
    }
    Ok(())
}

/// The path that a call names, with [`ANY`] in place of each value that is known only at run time.
fn path_of(call: &PlannedCall, frames: &[Frame<'_>]) -> Option<String> {
    call.operands("PATH").next().map(|path| given(path, frames))
}

/// A template with the parameters of its recipe filled in.
fn given(template: &Template, frames: &[Frame<'_>]) -> String {
    let Some(((with, _), outer)) = frames.split_last() else { return template.pattern() };
    template.filled(|expr| {
        let value = with.iter().find(|(name, _)| name == expr.source().trim());
        Some(value.map_or_else(|| ANY.to_string(), |(_, value)| given(value, outer)))
    })
}

/// The paths that a call may create. The server appends a number to the path of a sequential node.
fn created_by((call, _, _, path): &Made<'_>) -> Vec<String> {
    match call.name() {
        "create" => {
            let path = path.clone().unwrap_or_default();
            vec![if call.has_flag("-s") { format!("{path}{ANY}") } else { path }]
        }
        _ => Vec::new(),
    }
}
