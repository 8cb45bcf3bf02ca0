//! ZooKeeper events that no program of a variant can cause.

use super::{
    super::{
        super::{
            error::{Finding, Mistake, finding},
            expr::{Template, mentions::comparisons},
        },
        PlannedCall, PlannedVerb, Scenario, TakePlan,
        program::Program,
        templates::only_expression,
    },
    comparison::{Literal, literal},
};
use crate::{
    log::{ANY, Product, stands_for},
    text::{Text, both},
};

/// Checks what programs and claims ask of notifications.
pub(crate) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    for plan in &scenario.actors {
        for (source, at) in &plan.program.asked {
            let lint = of_cause(source, scenario, |name| Some((&*plan.program, name.to_owned())));
            Mistake::if_found(at, lint)?;
        }
    }
    scenario.claim_sources().try_for_each(|(source, at)| {
        let taker = |name: &str| scenario.reply(name).map(|(program, label)| (program, label.to_owned()));
        Mistake::if_found(&at, of_cause(source, scenario, taker))
    })
}

/// The finding about the event of a notification, `gone.what == 'NodeDeleted'`, that nothing in this variant causes.
/// `taker` gives the program and the label of a name such as `gone` or `A.gone`.
fn of_cause<'s>(
    source: &str,
    scenario: &'s Scenario,
    taker: impl Fn(&str) -> Option<(&'s Program, String)>,
) -> Option<Finding> {
    let only_zookeeper = scenario.lab().is_only(Product::Zookeeper);
    if !only_zookeeper || scenario.is_open() {
        return None;
    }
    let mut equal = comparisons(source).filter(|(_, operator, _)| *operator == "==");
    equal.find_map(|(left, _, right)| {
        let Literal::Text(event) = literal(right)? else { return None };
        let (program, label) = taker(left.strip_suffix(".what")?)?;
        let mut named = program.operations().filter(|operation| operation.label == label);
        let PlannedVerb::Take(take) = &named.next()?.verb else { return None };
        if named.next().is_some() {
            return None;
        }
        let Finding { message: why, help } = missing(event, take, program, scenario)?;
        Some(Finding {
            message: both!(
                "`{left}` is never {right} here: {why}",
                "这里 `{left}` 不会是 {right}：{why}",
                why
            ),
            help,
        })
    })
}

/// Why an event is never told, and what would be right.
fn missing(event: &str, take: &TakePlan, program: &Program, scenario: &Scenario) -> Option<Finding> {
    let subjects: Vec<String> = take.from.iter().map(Template::pattern).collect();
    let of_session = matches!(event, "Suspended" | "Reconnected" | "Expired");
    let is_any = subjects.iter().any(|about| about == "any");
    if is_any {
        return None;
    }
    let hears_session = subjects.iter().any(|about| about == "session");
    let about = take.from.iter().map(ToString::to_string).collect::<Vec<_>>().join("`, `");
    if of_session {
        return (!hears_session).then(|| {
            finding!(
                "it takes from `{about}`, and that is an event of the session",
                "它从 `{about}` 取通知，而这是会话事件",
                "write `take: {{ from: [{about}, session] }}`",
                "请写 `take: {{ from: [{about}, session] }}`"
            )
        });
    }
    let fits = |path: &str| subjects.iter().any(|about| stands_for(about, path) || stands_for(path, about));
    if !subjects.iter().any(|about| about != "session") {
        return Some(finding!(
            "it takes only from the session",
            "它只取会话事件",
            "take from the path, too: `from: [session, /path]`",
            "请同时写上路径：`from: [session, /path]`"
        ));
    }
    let calls = |verb: &PlannedVerb| match verb {
        PlannedVerb::Call(call) => call.parts(),
        _ => Vec::new(),
    };
    // The calls of a program, with their paths; that of a node that the program itself has created is known.
    let sent = |program: &Program| {
        let all = program.operations().flat_map(|operation| calls(&operation.verb));
        let own = |call: &PlannedCall| created(program, call.operands("PATH").next()?);
        all.map(|call| (own(&call).or_else(|| whole_path(&call)), call)).collect::<Vec<_>>()
    };
    // What leaves a watch decides what it tells.
    let watches = sent(program);
    let mut left = watches
        .iter()
        .filter(|(path, call)| call.has_flag("-w") && path.as_deref().is_some_and(fits))
        .map(|(_, call)| call.name() == "ls")
        .peekable();
    left.peek()?;
    let (by_list, by_node): (Vec<bool>, Vec<bool>) = left.partition(|by_list| *by_list);
    let of_children = event == "NodeChildrenChanged";
    if of_children && by_list.is_empty() {
        return Some(finding!(
            "only the watch of `ls -w` tells of children",
            "只有 `ls -w` 的 watch 会通知子节点的变化",
            "leave the watch with `ls -w`",
            "请用 `ls -w` 设 watch"
        ));
    }
    if by_node.is_empty() && matches!(event, "NodeCreated" | "NodeDataChanged") {
        return Some(finding!(
            "the watch of `ls -w` tells only of children",
            "`ls -w` 的 watch 只通知子节点的变化",
            "leave the watch with `exists -w`",
            "请用 `exists -w` 设 watch"
        ));
    }
    let made: Vec<_> = scenario.actors.iter().flat_map(|plan| sent(&plan.program)).collect();
    let setup =
        scenario.setup.iter().flat_map(|line| calls(&line.verb)).map(|call| (whole_path(&call), call));
    let is_brief = |call: &PlannedCall| ["-e", "-c", "-t"].iter().any(|flag| call.has_flag(flag));
    let below = |path: &Option<String>| {
        path.as_ref().is_none_or(|path| {
            path.rsplit_once('/').is_none_or(|(parent, _)| fits(if parent.is_empty() { "/" } else { parent }))
        })
    };
    let is = |(path, call): &(Option<String>, PlannedCall), name: &str| {
        call.name() == name && path.as_deref().is_none_or(fits)
    };
    let (happens, verb): (bool, Text) = match event {
        "NodeCreated" => (made.iter().any(|call| is(call, "create")), both!("creates", "创建")),
        "NodeDataChanged" => (made.iter().any(|call| is(call, "set")), both!("sets", "修改")),
        "NodeDeleted" => {
            let mut all = made.iter().cloned().chain(setup);
            let ends = all.any(|made| is(&made, "create") && is_brief(&made.1));
            (ends || made.iter().any(|call| is(call, "delete")), both!("deletes", "删除"))
        }
        "NodeChildrenChanged" => {
            let mut all = made.iter().cloned().chain(setup.filter(|(_, call)| is_brief(call)));
            let changes = all.any(|(path, call)| matches!(call.name(), "create" | "delete") && below(&path));
            (changes, both!("changes the children of", "改变子节点："))
        }
        _ => return None,
    };
    let others = [("NodeCreated", "create"), ("NodeDeleted", "delete"), ("NodeDataChanged", "set")];
    let likely = others.into_iter().find(|(_, name)| made.iter().any(|call| is(call, name)));
    let help = likely.map_or_else(
        || both!("let a program do it", "请让某个程序去做"),
        |(event, _)| both!("here it is '{event}'", "这里会是 '{event}'"),
    );
    (!happens).then(|| Finding {
        message: both!("no program {verb} `{about}`", "没有程序{verb} `{about}`", verb),
        help,
    })
}

/// The path of a call; the server appends a number to that of a sequential znode.
fn whole_path(call: &PlannedCall) -> Option<String> {
    let path = call.operands("PATH").next()?.pattern();
    Some(if call.has_flag("-s") { format!("{path}{ANY}") } else { path })
}

/// The path of a znode that is named by the reply to its creation, `${enter}`.
fn created(program: &Program, path: &Template) -> Option<String> {
    let source = path.to_string();
    let label = only_expression(&source)?;
    let mut named = program.operations().filter(|operation| operation.label == label);
    let PlannedVerb::Call(call) = &named.next()?.verb else { return None };
    (call.name() == "create" && named.next().is_none()).then(|| whole_path(call))?
}
