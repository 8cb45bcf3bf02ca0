//! Comparisons that have the same result in this lesson: with a client, a counter, a role or a key that it does not
//! have.

use std::collections::BTreeSet;

use super::{
    super::{
        super::{
            LabKind,
            error::{ALIKE, Finding, finding, nearest, suggestion},
            expr::{
                Mentions, Template,
                mentions::{attribute_of, comparisons, joined, split_comparison},
            },
        },
        PlannedVerb, Scenario,
    },
    attributes::EVENTS,
    comparison::{Literal, literal, never_or_always, of_less, of_number, unquoted},
    items::is_word,
    owners::never_owned,
};
use crate::{
    log::{ANY, Product, stands_for},
    text::both,
};

/// The finding about a field of a key's value that does not exist: znodes and etcd keys hold a text.
pub(super) fn of_value(source: &str, lab: LabKind) -> Option<Finding> {
    let of_redis = lab.has(Product::Redis);
    let kinds = ["hash", "list", "set", "sorted_set", "stream", "other"];
    // Rows have columns, and a row's name has a slash.
    let may_be_row = |key: &str| lab.has(Product::Mariadb) && (key.contains('/') || !of_redis);
    let keys = Mentions::of(source).keys_of("value");
    for (key, _) in keys.into_iter().filter(|(key, _)| !may_be_row(key)) {
        let asked = attribute_of(source, &key);
        let Some(field) = asked.filter(|field| !(of_redis && kinds.contains(field))) else { continue };
        let message = both!("`value('{key}')` has no `.{field}`", "`value('{key}')` 没有 `.{field}`");
        let help = if of_redis {
            let meant = (field == "zset").then_some("sorted_set");
            suggestion(meant.or_else(|| nearest(field, kinds, ALIKE)), || {
                both!(
                    "a text is `value('{key}')` itself, a field of a hash `value('{key}').hash.{field}`; others are `.list`, `.set`, `.sorted_set`, `.stream`",
                    "文字就是 `value('{key}')` 本身，哈希的字段是 `value('{key}').hash.{field}`；其他类型用 `.list`、`.set`、`.sorted_set`、`.stream`"
                )
            })
        } else {
            both!("it is a text: `value('{key}') == 'A'`", "它是文字：`value('{key}') == 'A'`")
        };
        return Some(Finding { message, help });
    }
    None
}

/// The finding about a key's value that is compared with a list, whatever its type is.
pub(super) fn of_list(source: &str, lab: LabKind) -> Option<Finding> {
    let (left, ..) = comparisons(source).filter(|_| lab.has(Product::Redis)).find(|(left, _, right)| {
        left.starts_with("value(")
            && left.ends_with(')')
            && left.matches('(').count() == 1
            && right.starts_with('[')
    })?;
    Some(finding!(
        "`{left}` is never a list itself: the items of a list, set or stream stand in a field of it",
        "`{left}` 本身不会是列表：列表、集合、流的内容在它的字段里",
        "write `{left}.list`, `{left}.set` or `{left}.sorted_set`",
        "请写 `{left}.list`、`{left}.set` 或 `{left}.sorted_set`"
    ))
}

/// The finding about an owner that no client is.
pub(super) fn of_owner(source: &str, scenario: &Scenario) -> Option<Finding> {
    let (left, operator, right) = split_comparison(source)?;
    let asks = left.starts_with("owner(") && left.ends_with(')') && left.matches('(').count() == 1;
    let is_actor = |name: &str| scenario.actor_named(name).is_some();
    if asks && is_actor(right) {
        return Some(finding!(
            "`{right}` without quotes is all that is known of it",
            "没有引号的 `{right}` 不是名字",
            "write `{left} {operator} '{right}'`",
            "请写 `{left} {operator} '{right}'`"
        ));
    }
    if asks && matches!(literal(right), Some(Literal::Flag | Literal::Number(_))) {
        return Some(finding!(
            "`{left}` is a name or `none`, never {right}",
            "`{left}` 是名字或 `none`，不会是 {right}",
            "write `{left} is not none`, or `{left} == 'A'`",
            "请写 `{left} is not none`，或者 `{left} == 'A'`"
        ));
    }
    let Literal::Text(name) = literal(right)? else { return None };
    if asks && name == "none" {
        return Some(nobody(left));
    }
    if asks
        && operator == "=="
        && is_actor(name)
        && let Some(lint) = never_owned(left, name, scenario)
    {
        return Some(lint);
    }
    (asks && !scenario.is_attached() && !is_actor(name)).then(|| {
        let known: Vec<&str> = scenario.actors.iter().map(|plan| plan.actor.name.as_str()).take(12).collect();
        let known = known.join(", ");
        Finding {
            message: both!("nobody is called {right}", "没有名为 {right} 的客户端"),
            help: both!("known here: {known}", "这里有：{known}"),
        }
    })
}

/// The finding about `none` in quotes.
fn nobody(left: &str) -> Finding {
    Finding {
        message: both!("`{left}` is never the text 'none'", "`{left}` 不会是文字 'none'"),
        help: both!("without quotes: `{left} is none`", "不加引号：`{left} is none`"),
    }
}

/// The finding about a role that servers of this product never have.
pub(super) fn of_role(source: &str, lab: LabKind) -> Option<Finding> {
    let (left, _, right) = split_comparison(source)?;
    let mentions = Mentions::of(left);
    let server = mentions.calls_of("role").next()?.arguments.first()?.as_deref()?;
    let Some(Literal::Text(word)) = literal(right) else { return None };
    let part = lab.part_of(lab.server_named(server)?);
    if !part.is_replicated() {
        return Some(finding!(
            "`{server}` is on its own and has no role",
            "`{server}` 是独立的服务器，没有角色",
            "leave it out; roles are those of `sentinel`, `cluster`, `ensemble` and `etcd-cluster`",
            "请去掉它；只有 `sentinel`、`cluster`、`ensemble` 和 `etcd-cluster` 里的服务器有角色"
        ));
    }
    let known: &[&str] = match lab.part_of(lab.server_named(server)?).product() {
        Product::Redis => &["master", "replica"],
        _ => &["leader", "follower", "looking"],
    };
    let is_plain = left.starts_with("role") && left.ends_with(')');
    if is_plain && word == "none" {
        return Some(nobody(left));
    }
    (is_plain && !known.contains(&word)).then(|| {
        let known = known.iter().map(|known| format!("'{known}'")).collect::<Vec<_>>().join(", ");
        Finding {
            message: both!("`{left}` is never {right}", "`{left}` 不会是 {right}"),
            help: both!("it is one of {known}", "取值只有 {known}"),
        }
    })
}

/// The finding about a counter, which begins at 0 and only grows, that is compared with an impossible value.
pub(super) fn of_counter(source: &str, scenario: &Scenario) -> Option<Finding> {
    let (left, operator, right) = split_comparison(source)?;
    if !scenario.counters.contains(left) {
        return None;
    }
    match literal(right) {
        Some(Literal::Text(text)) if text.parse::<i64>().is_ok() => {
            Some(unquoted(left, operator, text, right))
        }
        Some(Literal::Text(_)) => Some(of_number(left, "==", &Literal::Flag, right)),
        Some(Literal::Number(number)) if never_or_always(operator, number) => Some(of_less(left)),
        None if matches!(operator, "==" | "!=") && right.contains('.') && right.parse::<f64>().is_ok() => {
            Some(finding!(
                "`{left}` is a whole number, and never {right}",
                "`{left}` 是整数，不会是 {right}",
                "such as `{left} == 1`",
                "例如 `{left} == 1`"
            ))
        }
        _ => None,
    }
}

/// The finding about a client's name without quotes, which is an object with everything known of the client, and no text.
pub(super) fn of_actor(source: &str, scenario: &Scenario) -> Option<Finding> {
    let is_actor = |name: &str| scenario.actor_named(name).is_some();
    if let Some((left, operator, right)) = split_comparison(source)
        && is_actor(right)
    {
        return Some(finding!(
            "`{right}` without quotes is all that is known of it",
            "没有引号的 `{right}` 不是名字",
            "write `{left} {operator} '{right}'`",
            "请写 `{left} {operator} '{right}'`"
        ));
    }
    let (name, rest) = source.split_once(' ')?;
    let compares = ["is", "==", "!=", "<", ">", "in"].iter().any(|word| rest.starts_with(word));
    (is_actor(name) && compares).then(|| Finding {
        message: both!("`{name}` is a client, and no reply", "`{name}` 是客户端，不是回复"),
        help: both!("name one of its moves: `{name}.acquire`", "请写它的某个操作：`{name}.acquire`"),
    })
}

/// The finding about a message that no command publishes, in a lab whose servers are all Redis. `is_take` tells whether a
/// name is that of a `take`.
pub(super) fn of_message(
    source: &str,
    scenario: &Scenario,
    is_take: impl Fn(&str) -> bool,
) -> Option<Finding> {
    let (left, right, text) = joined(source).into_iter().find_map(|part| {
        let (left, "==", right) = split_comparison(part)? else { return None };
        let Literal::Text(text) = literal(right)? else { return None };
        is_take(left.strip_suffix(".what")?).then_some((left, right, text))
    })?;
    let published = published(scenario)?;
    if published.is_empty() || published.iter().any(|message| stands_for(message, text)) {
        return None;
    }
    let known = published.iter().map(|message| message.replace(ANY, "…")).collect::<Vec<_>>().join("', '");
    Some(finding!(
        "`{left}` is never {right}: no command publishes that",
        "`{left}` 不会是 {right}：没有命令发布过它",
        "published here: '{known}'",
        "这里发布的有：'{known}'"
    ))
}

/// The messages that programs publish; `None` if others may come.
fn published(scenario: &Scenario) -> Option<BTreeSet<String>> {
    let only_redis = scenario.lab().is_only(Product::Redis);
    // With `CONFIG SET` the server may publish what happens to keys.
    let configures = scenario.sends(|name| name == "CONFIG")
        || scenario
            .setup
            .iter()
            .any(|line| matches!(&line.verb, PlannedVerb::Redis(words) if is_word(&words[0], "CONFIG")));
    if !only_redis || scenario.is_attached() || configures {
        return None;
    }
    let mut published = BTreeSet::new();
    for operation in scenario.operations() {
        match &operation.verb {
            PlannedVerb::Redis(words) if is_word(&words[0], "PUBLISH") => {
                published.extend(words.get(2).map(Template::pattern));
            }
            PlannedVerb::Redis(words) if is_word(&words[0], "EVAL") => return None,
            PlannedVerb::Script { source, .. } if source.to_ascii_uppercase().contains("PUBLISH") => {
                return None;
            }
            _ => {}
        }
    }
    Some(published)
}

/// The finding about an event that ZooKeeper never sends, in a lab whose servers are all ZooKeeper.
pub(super) fn of_event(source: &str, lab: LabKind) -> Option<Finding> {
    let (left, _, right) = split_comparison(source)?;
    let only_zookeeper = lab.is_only(Product::Zookeeper);
    let Literal::Text(word) = literal(right)? else { return None };
    let asks =
        left.rsplit_once('.').is_some_and(|(_, field)| field == "what") && !left.contains([' ', '|', '(']);
    (asks && only_zookeeper && !EVENTS.contains(&word)).then(|| {
        let known = EVENTS.join(", ");
        Finding {
            message: both!("`{left}` is never {right}", "`{left}` 不会是 {right}"),
            help: both!("ZooKeeper tells {known}", "ZooKeeper 的通知有 {known}"),
        }
    })
}
