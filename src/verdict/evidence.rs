//! A claim's evidence in words: which events, at what lesson time. It must not know where the words are shown.

use crate::{
    lesson::Text,
    log::{
        ActorId, Belief, Event, EventKind, KeyState, KeyValue, Keyspace, Log, Observed, OpId, Role, ZnodeTree,
    },
};

/// The longest command that is spelt out; of a longer one its beginning, in characters.
const COMMAND: usize = 40;

/// The events that a claim's result rests on, in words, at most so many lines: where there are more, the first
/// and the last, and how many lie in between.
#[must_use]
pub fn evidence(log: &Log, claim: &str, events: &[usize], most: usize) -> Vec<Text> {
    let tell_all = |events: &[usize]| -> Vec<Text> {
        let told = events.iter().filter_map(|event| tell(log, *event, claim));
        told.collect()
    };
    if events.len() <= most {
        return tell_all(events);
    }
    // A crowd leaves thousands: only those that are shown are put into words.
    let shown = most.saturating_sub(2);
    let between = events.len() - shown - 1;
    let mut lines = tell_all(&events[..shown]);
    lines.push(Text {
        en: format!("… {between} more in between"),
        zh: format!("……中间还有 {between} 条"),
    });
    lines.extend(tell_all(&events[events.len() - 1..]));
    lines
}

/// One event, as somebody would tell it; `None` for one that says nothing by itself.
fn tell(log: &Log, index: usize, claim: &str) -> Option<Text> {
    let event = log.events().get(index)?;
    let (en, zh) = match &event.kind {
        EventKind::Replied {
            op,
            actor,
            reply,
            label,
        } => {
            let (name, wire, reply) = (
                name(log, *actor),
                wire(log, *op, label),
                short(&reply.to_string()),
            );
            (
                format!("{name}'s {wire} answered {reply}"),
                format!("{name} 的 {wire} 返回 {reply}"),
            )
        }
        EventKind::Sent { actor, wire, op, .. } => {
            let (name, wire) = (name(log, *actor), short(wire));
            match reply(log, index, *op) {
                Some(reply) => (
                    format!("{name}'s {wire} answered {reply}"),
                    format!("{name} 的 {wire} 返回 {reply}"),
                ),
                None => (format!("{name} sent {wire}"), format!("{name} 发出 {wire}")),
            }
        }
        EventKind::Took {
            actor, about, what, ..
        } => {
            let name = name(log, *actor);
            (
                format!("{name} took the notification {what} {about}"),
                format!("{name} 取出通知 {what} {about}"),
            )
        }
        EventKind::Notified {
            actor, about, what, ..
        } => {
            let name = name(log, *actor);
            (
                format!("{name} was notified: {what} {about}"),
                format!("{name} 收到通知：{what} {about}"),
            )
        }
        EventKind::Believes { actor, lock, belief } => belief_words(name(log, *actor), lock, *belief),
        EventKind::Counted { actor, counter, .. } => {
            let (name, count) = (name(log, *actor), count(log, index, counter));
            (
                format!("{name} counted {counter} = {count}"),
                format!("{name} 计数，{counter} = {count}"),
            )
        }
        EventKind::Finished { actor } => {
            let name = name(log, *actor);
            (format!("{name} finished"), format!("{name} 执行完毕"))
        }
        EventKind::Metric { server, name, value } => (
            format!("{server} counted {name} = {value}"),
            format!("{server} 的计数 {name} 为 {value}"),
        ),
        EventKind::State(state) => {
            let before = log.events()[..index]
                .iter()
                .rev()
                .find_map(|event| match &event.kind {
                    EventKind::State(before) if before.server == state.server => Some(&before.observed),
                    _ => None,
                });
            let changes = changes(log, (before, &state.observed), event, claim);
            let server = &state.server;
            let all =
                |pick: fn(&Text) -> &str, mark: &str| changes.iter().map(pick).collect::<Vec<_>>().join(mark);
            if changes.is_empty() {
                return None;
            }
            (
                format!("{server}: {}", all(|text| &text.en, ", ")),
                format!("{server}：{}", all(|text| &text.zh, "，")),
            )
        }
        _ => return None,
    };
    let at = event.at;
    Some(Text {
        en: format!("at {at}: {en}"),
        zh: format!("{at}：{zh}"),
    })
}

fn belief_words(name: &str, lock: &str, belief: Belief) -> (String, String) {
    match belief {
        Belief::Holding => (
            format!("{name} believed that it held {lock}"),
            format!("{name} 认为自己持有 {lock}"),
        ),
        Belief::Nothing => (
            format!("{name} relied on {lock} no more"),
            format!("{name} 不再依赖 {lock}"),
        ),
        Belief::Waiting => (format!("{name} waited for {lock}"), format!("{name} 等待 {lock}")),
        Belief::Unsure => (
            format!("{name} could not be sure of {lock}"),
            format!("{name} 无法确定是否持有 {lock}"),
        ),
    }
}

fn name(log: &Log, actor: ActorId) -> &str {
    log.actor(actor).map_or("?", |actor| actor.name.as_str())
}

/// The command of an operation, or its label where it was none.
fn wire(log: &Log, wanted: OpId, label: &str) -> String {
    let sent = log.events().iter().find_map(|event| match &event.kind {
        EventKind::Sent { op, wire, .. } if *op == wanted => Some(wire),
        _ => None,
    });
    sent.map_or_else(|| label.to_owned(), |wire| short(wire))
}

fn short(wire: &str) -> String {
    if wire.chars().count() <= COMMAND {
        return wire.to_owned();
    }
    let begin: String = wire.chars().take(COMMAND - 1).collect();
    format!("{}…", begin.trim_end())
}

fn reply(log: &Log, sent: usize, wanted: OpId) -> Option<String> {
    log.events()[sent..].iter().find_map(|event| match &event.kind {
        EventKind::Replied { op, reply, .. } if *op == wanted => Some(short(&reply.to_string())),
        _ => None,
    })
}

/// What a counter stood at after an event.
fn count(log: &Log, index: usize, wanted: &str) -> i64 {
    let counted = log.events()[..=index]
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Counted { counter, by, .. } if counter == wanted => Some(*by),
            _ => None,
        });
    counted.sum()
}

/// What a server was seen to hold that it did not hold before, as far as the claim names it.
fn changes(
    log: &Log,
    (before, now): (Option<&Observed>, &Observed),
    event: &Event,
    claim: &str,
) -> Vec<Text> {
    match now {
        Observed::Redis(now) => {
            let empty = Keyspace::default();
            let before = match before {
                Some(Observed::Redis(before)) => before,
                _ => &empty,
            };
            redis_changes((before, now), event, claim)
        }
        Observed::Zookeeper(now) => {
            let empty = ZnodeTree::default();
            let before = match before {
                Some(Observed::Zookeeper(before)) => before,
                _ => &empty,
            };
            znode_changes(log, (before, now))
        }
    }
}

fn redis_changes((before, now): (&Keyspace, &Keyspace), event: &Event, claim: &str) -> Vec<Text> {
    let mut changes = Vec::new();
    if before.role != now.role && claim.contains("role(") {
        match &now.role {
            Some(Role::Master) => changes.push(text("it is a master", "成为主节点")),
            Some(Role::Replica { of }) => changes.push(text(
                format!("it is a replica of {of}"),
                format!("成为 {of} 的从节点"),
            )),
            None => {}
        }
    }
    let named = |key: &&String| claim.contains(&format!("'{key}'"));
    for key in now.keys.keys().filter(named) {
        if before.keys.get(key) != now.keys.get(key) {
            changes.push(key_words(key, &now.keys[key], event));
        }
    }
    for key in before.keys.keys().filter(named) {
        if !now.keys.contains_key(key) {
            changes.push(text(format!("{key} is gone"), format!("{key} 已不存在")));
        }
    }
    changes
}

fn key_words(key: &str, state: &KeyState, event: &Event) -> Text {
    let value = match &state.value {
        KeyValue::String(value) => short(value),
        other => serde_json::to_string(other).map_or_else(|_| String::new(), |value| short(&value)),
    };
    match state.expires_at {
        None => text(
            format!("{key} = {value}, no expiry"),
            format!("{key} = {value}，没有过期时间"),
        ),
        Some(end) => {
            let left = (end.as_millis() - event.at.as_millis()).max(0);
            text(
                format!("{key} = {value}, {left} ms to live"),
                format!("{key} = {value}，剩 {left} ms"),
            )
        }
    }
}

fn znode_changes(log: &Log, (before, now): (&ZnodeTree, &ZnodeTree)) -> Vec<Text> {
    /// More than one line holds.
    const MOST: usize = 2;
    let created: Vec<_> = now
        .nodes
        .iter()
        .filter(|(path, node)| {
            before
                .nodes
                .get(*path)
                .is_none_or(|known| known.owner != node.owner)
        })
        .collect();
    let deleted: Vec<&String> = before
        .nodes
        .keys()
        .filter(|path| !now.nodes.contains_key(*path))
        .collect();
    let mut changes = Vec::new();
    for (path, node) in created.iter().take(MOST) {
        let owner = node.owner.and_then(|session| session_owner(log, session));
        changes.push(match owner {
            Some(owner) => text(format!("{path} is {owner}'s"), format!("{path} 归 {owner}")),
            None => text(format!("{path} exists"), format!("{path} 已存在")),
        });
    }
    for path in deleted.iter().take(MOST) {
        changes.push(text(format!("{path} is gone"), format!("{path} 已不存在")));
    }
    let more = created.len().saturating_sub(MOST) + deleted.len().saturating_sub(MOST);
    if more > 0 {
        changes.push(text(format!("{more} more"), format!("另有 {more} 个节点变化")));
    }
    changes
}

fn session_owner(log: &Log, wanted: i64) -> Option<&str> {
    log.events().iter().find_map(|event| match &event.kind {
        EventKind::Session { actor, session, .. } if *session == wanted => Some(name(log, *actor)),
        _ => None,
    })
}

fn text(en: impl Into<String>, zh: impl Into<String>) -> Text {
    Text {
        en: en.into(),
        zh: zh.into(),
    }
}
