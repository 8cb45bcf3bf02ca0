//! Owners that a key or a znode never has: without a lease or a session it belongs to nobody.

use super::super::{
    PlannedCall, PlannedVerb, Scenario,
    types::{resolve_key, sent},
};
use crate::{
    lesson::{
        error::{Finding, finding},
        expr::Mentions,
    },
    log::{Product, stands_for},
};

/// The finding about the owner of something that belongs to nobody, or never to the client of this name.
pub(super) fn never_owned(left: &str, name: &str, scenario: &Scenario) -> Option<Finding> {
    if scenario.is_open() {
        return None;
    }
    if scenario.lab().is_only(Product::Etcd) {
        unleased(left, scenario)
    } else if scenario.lab().is_only(Product::Zookeeper) {
        persistent(left, name, scenario)
    } else {
        None
    }
}

/// The finding about the owner of a znode that no program creates as an ephemeral one.
fn persistent(left: &str, name: &str, scenario: &Scenario) -> Option<Finding> {
    let (path, _) = Mentions::of(left).keys_of("owner").into_iter().next()?;
    let mut creators = Vec::new();
    for plan in &scenario.actors {
        for (operation, frames) in plan.program.operations_in_frames() {
            // A file that a process locks has an owner, too.
            if matches!(operation.verb, PlannedVerb::Flock { .. }) {
                return None;
            }
            let PlannedVerb::Call(call) = &operation.verb else { continue };
            let makes = |call: &PlannedCall| {
                call.name() == "create"
                    && call.has_flag("-e")
                    && call.operands("PATH").any(|operand| {
                        let (known, _) = resolve_key(operand, &frames);
                        let name = path.trim_end_matches(|c: char| c.is_ascii_digit());
                        let is_numbered = call.has_flag("-s") && path.len() - name.len() >= 10;
                        let path = if is_numbered { &path[..path.len() - 10] } else { path.as_str() };
                        stands_for(&known, path)
                    })
            };
            if call.parts().iter().any(makes) {
                creators.push(plan.actor.name.as_str());
            }
        }
    }
    if creators.is_empty() {
        return Some(finding!(
            "`{left}` is whose session a znode belongs to, and no program creates `{path}` as an ephemeral one",
            "`{left}` 是节点所属会话的客户端，而没有程序把 `{path}` 创建成临时节点",
            "write `create -e {path}`, or ask for its data: `value('{path}')`",
            "请写 `create -e {path}`，或者问它的数据：`value('{path}')`"
        ));
    }
    (!creators.contains(&name)).then(|| {
        let known = creators.join(", ");
        finding!(
            "`{left}` is never '{name}': {name} does not create `{path}`",
            "`{left}` 不会是 '{name}'：{name} 不会创建 `{path}`",
            "created by: {known}",
            "会创建它的有：{known}"
        )
    })
}

/// The finding about the owner of an etcd key that no command puts on a lease.
fn unleased(left: &str, scenario: &Scenario) -> Option<Finding> {
    let (key, _) = Mentions::of(left).keys_of("owner").into_iter().next()?;
    let is_leased = sent(scenario).any(|(verb, _)| match verb {
        PlannedVerb::Call(call) => {
            call.operands("LEASE").next().is_some()
                && call.operands("KEY").any(|known| stands_for(&known.pattern(), &key))
        }
        PlannedVerb::Flock { .. } => true,
        _ => false,
    });
    (!is_leased).then(|| {
        finding!(
            "`{left}` is whose lease the key is on, and no command puts `{key}` on a lease",
            "`{left}` 是这个键所在租约的持有者，而没有命令给 `{key}` 带上租约",
            "give `put` or `create` the lease: `create {key} VALUE LEASE`",
            "请给 `put` 或 `create` 带上租约：`create {key} VALUE LEASE`"
        )
    })
}
