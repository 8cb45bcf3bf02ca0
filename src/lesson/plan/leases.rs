//! Checks the leases of etcd: each is granted, and by one client at a time.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{duration::parse_millis, error::Mistake},
    Act, PassPlan, PlannedCall, PlannedMove, PlannedVerb, Scenario, StoryLine,
};
use crate::{
    log::{ANY, Fault, Product},
    text::both,
};

pub(crate) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    if !scenario.lab().has(Product::Etcd) {
        return Ok(());
    }
    check_named(scenario)?;
    check_used(scenario)?;
    let mut granted = BTreeMap::new();
    for line in &scenario.story {
        match &line.act {
            Act::Each(_) | Act::Together(_) | Act::Send(_) => {}
            Act::Pass(pass) if pass.moving.is_empty() => {
                pass_time(&mut granted, scenario, pass);
                continue;
            }
            Act::Say(_) | Act::Ask(_) => continue,
            Act::Faults(faults) if faults.iter().all(is_of_client) => continue,
            // From here on a lease may be gone, or a request may not arrive.
            _ => return Ok(()),
        }
        for one in line.act.moves() {
            check_granted(&mut granted, scenario, one, line)?;
        }
    }
    Ok(())
}

fn is_of_client(fault: &Fault) -> bool {
    matches!(fault, Fault::Crash { .. } | Fault::Freeze { .. } | Fault::Thaw { .. })
}

/// For each lease: the actor that has granted it, and how many milliseconds it lasts at least.
type Granted = BTreeMap<String, (u32, i64)>;

fn pass_time(granted: &mut Granted, scenario: &Scenario, pass: &PassPlan) {
    let text = pass.duration.render(&scenario.scope.value()).unwrap_or_default();
    let millis = parse_millis(&text).unwrap_or(i64::MAX);
    granted.retain(|_, (_, left)| {
        *left = left.saturating_sub(millis);
        *left > 0
    });
}

/// Reports a lease that another actor has granted already, which the server refuses.
fn check_granted(
    granted: &mut Granted,
    scenario: &Scenario,
    one: &PlannedMove,
    line: &StoryLine,
) -> Result<(), Mistake> {
    let plan = scenario.actor(one.actor);
    let Some(operation) = scenario.operation_of(one) else {
        // Any of several operations with this label may be meant, and one of them may revoke a lease.
        granted.clear();
        return Ok(());
    };
    let PlannedVerb::Call(call) = &operation.verb else { return Ok(()) };
    let Some(lease) = call.operands("LEASE").next().map(|lease| plan.filled(lease)) else { return Ok(()) };
    match call.name() {
        "revoke" if lease.contains(ANY) => granted.clear(),
        "revoke" => drop(granted.remove(&lease)),
        "grant" if !lease.contains(ANY) => {
            let seconds = call.operands("SECONDS").next().map(|seconds| plan.filled(seconds));
            let millis =
                seconds.and_then(|seconds| seconds.parse::<i64>().ok()).unwrap_or(0).saturating_mul(1000);
            let copes = !operation.allow.is_empty();
            if let Some((other, _)) = granted.get(&lease).filter(|(other, _)| *other != one.actor.0 && !copes)
            {
                let (name, other) = (&plan.actor.name, &scenario.actors[*other as usize].actor.name);
                let message = both!(
                    "{other} has granted the lease {lease} already, so {name} is answered LeaseExists",
                    "租约 {lease} 已由 {other} 申请，{name} 再申请会收到 LeaseExists"
                );
                let path = operation.path.as_ref().map_or_else(|| line.path.clone(), |path| path.key("etcd"));
                return Err(Mistake::new(&path, message).help(both!(
                    "give each client a number of its own: `with: {{ id: 11 }}`; or let the server choose one: \
                     `grant SECONDS`",
                    "给每个客户端不同的编号：`with: {{ id: 11 }}`；或者让服务器来选：`grant 秒数`"
                )));
            }
            granted.insert(lease, (one.actor.0, millis));
        }
        _ => {}
    }
    Ok(())
}

/// Reports a lease when no command puts any key on one.
fn check_used(scenario: &Scenario) -> Result<(), Mistake> {
    if scenario.loaded.lesson.kata.is_some() {
        return Ok(());
    }
    let operations = || {
        scenario.operations().filter_map(|operation| {
            let PlannedVerb::Call(call) = &operation.verb else { return None };
            Some((call, operation.path.as_ref())).filter(|_| call.product() == Product::Etcd)
        })
    };
    let writes = |name: &str| matches!(name, "put" | "create");
    let setup = scenario.setup.iter().filter_map(|line| match &line.verb {
        PlannedVerb::Call(call) => Some(call),
        _ => None,
    });
    let is_used = |call: &PlannedCall| writes(call.name()) && call.operands("LEASE").next().is_some();
    if setup.chain(operations().map(|(call, _)| call)).any(is_used) {
        return Ok(());
    }
    let keys_are_written = operations().any(|(call, _)| writes(call.name()));
    let granted = operations().find(|(call, path)| call.name() == "grant" && path.is_some());
    let lease = granted.and_then(|(call, _)| call.operands("LEASE").next()).map(ToString::to_string);
    let as_value = operations().find(|(call, path)| {
        let value = call.operands("VALUE").next().map(ToString::to_string);
        writes(call.name()) && path.is_some() && value.is_some() && value == lease
    });
    if let Some((call, Some(path))) = as_value {
        let (name, lease) = (call.name(), lease.unwrap_or_default());
        let message =
            both!("the lease `{lease}` stands here as the value", "租约 `{lease}` 在这里写在了值的位置上");
        return Err(Mistake::new(&path.key("etcd"), message).help(both!(
            "the value comes before it: `{name} KEY VALUE {lease}`",
            "前面还要写值：`{name} KEY VALUE {lease}`"
        )));
    }
    let Some((_, Some(path))) = granted.filter(|_| keys_are_written) else { return Ok(()) };
    let message = both!("no command puts a key on this lease", "没有命令把键放到这个租约上");
    Err(Mistake::new(&path.key("etcd"), message).help(both!(
        "the lease is the last word: `create KEY VALUE LEASE`, or `put KEY VALUE LEASE`",
        "租约写在最后：`create KEY VALUE LEASE` 或 `put KEY VALUE LEASE`"
    )))
}

/// Reports an etcd lease id that no `grant` creates.
fn check_named(scenario: &Scenario) -> Result<(), Mistake> {
    let (mut granted, mut named) = (BTreeSet::new(), Vec::new());
    for plan in &scenario.actors {
        for operation in plan.program.operations() {
            let PlannedVerb::Call(call) = &operation.verb else { continue };
            let Some(lease) = call.operands("LEASE").next() else {
                // Without an id in the `grant`, the server chooses it.
                if call.product() == Product::Etcd && call.name() == "grant" {
                    return Ok(());
                }
                continue;
            };
            let lease = plan.filled(lease);
            if call.name() == "grant" {
                granted.insert(lease);
            } else if operation.allow.is_empty() {
                named.push((lease, operation.path.as_ref()));
            }
        }
    }
    let is_open =
        granted.iter().any(|lease| lease.contains(ANY)) || !scenario.setup.is_empty() && granted.is_empty();
    let wrong = named.iter().find(|(lease, _)| !lease.contains(ANY) && !granted.contains(lease));
    let Some((lease, Some(path))) = wrong.filter(|_| !is_open) else { return Ok(()) };
    for plan in &scenario.actors {
        for operation in plan.program.operations() {
            let (PlannedVerb::Call(call), Some(at)) = (&operation.verb, &operation.path) else { continue };
            let seconds = call.operands("SECONDS").next().map(|seconds| plan.filled(seconds));
            let own = call.operands("LEASE").next().map(|lease| plan.filled(lease));
            let is_named = named.iter().any(|(lease, _)| own.as_ref() == Some(lease));
            if call.name() == "grant" && seconds.as_ref() == Some(lease) && !is_named {
                let message = both!(
                    "`grant` takes the seconds first, and `{lease}` is the lease of other requests",
                    "`grant` 先写秒数，而 `{lease}` 是其他请求里的租约号"
                );
                return Err(Mistake::new(&at.key("etcd"), message)
                    .help(both!("write `grant SECONDS {lease}`", "请写 `grant 秒数 {lease}`")));
            }
        }
    }
    let message = both!("no request grants the lease `{lease}`", "没有请求申请过租约 `{lease}`");
    let known = granted.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    Err(Mistake::new(&path.key("etcd"), message).help(if known.is_empty() {
        both!("write `grant SECONDS {lease}` before it", "请先写 `grant SECONDS {lease}`")
    } else {
        both!("granted here: {known}", "这里申请的有：{known}")
    }))
}
