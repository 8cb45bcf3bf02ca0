//! A claim's evidence in words: events with their lesson times.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    clock::LessonTime,
    lesson::expr::Mentions,
    log::{Belief, Entry, Event, EventKind, KeyState, KeyValue, Keyspace, Log, Observed, OpId, Role},
    text::{Lang, Text},
};

/// A reply that took at least this long is described with its own time.
const LATE: Duration = Duration::from_millis(100);
/// The longest command that is quoted in full, in characters; a longer one is truncated.
const COMMAND: usize = 40;

/// Describes the events that a claim's result rests on, in at most `most` lines: of more events, the first ones and the
/// last, and the number of those in between.
pub fn evidence(log: &Log, claim: &str, events: &[usize], most: usize) -> Vec<Text> {
    let claim = &Mentions::of(claim);
    let describe_all = |events: &[usize]| -> Vec<Text> {
        let lines = events.iter().filter_map(|event| describe(log, *event, claim));
        let mut lines: Vec<Text> = lines.collect();
        // A command and its reply have the same sentence.
        lines.dedup();
        lines
    };
    if events.len() <= most {
        return describe_all(events);
    }
    // A crowd causes thousands of events: only those that are shown are put into words.
    let shown = most.saturating_sub(2);
    let between = events.len() - shown - 1;
    let mut lines = describe_all(&events[..shown]);
    lines.push(Text::new(format!("… {between} more in between"), format!("……中间还有 {between} 条")));
    lines.extend(describe_all(&events[events.len() - 1..]));
    lines
}

/// One event in words; `None` if it says nothing by itself.
fn describe(log: &Log, index: usize, claim: &Mentions) -> Option<Text> {
    let event = log.events().get(index)?;
    let mut at = event.at;
    let name = event.kind.actor().map_or("", |actor| log.called(actor));
    let (en, zh) = match &event.kind {
        EventKind::Replied { op, .. } | EventKind::Sent { op, .. } => {
            let (sent, words) = exchange(log, index, *op)?;
            // The time under which the wire's log shows it.
            at = sent;
            words
        }
        EventKind::Took { about, what, .. } => (
            format!("{name} took the notification {what} {about}"),
            format!("{name} 取出通知 {what} {about}"),
        ),
        EventKind::Notified { about, what, .. } => {
            (format!("{name} was notified: {what} {about}"), format!("{name} 收到通知：{what} {about}"))
        }
        EventKind::Believes { lock, belief, .. } => belief_words(log, name, lock, *belief),
        EventKind::Counted { counter, by, .. } => {
            let count = count(log, index, counter);
            let title = log.counter_title(counter);
            let [en, zh] = [Lang::En, Lang::Zh].map(|lang| title.map_or(&**counter, |title| title.get(lang)));
            (format!("{name}: {en} {by:+}, now {count}"), format!("{name}：{zh} {by:+}，现在是 {count}"))
        }
        EventKind::Finished { .. } => (format!("{name} finished"), format!("{name} 执行完毕")),
        EventKind::Metric { server, name, value } => {
            (format!("{server}: {name} is {value}"), format!("{server}：{name} 是 {value}"))
        }
        EventKind::State(state) => {
            let before = log.events()[..index].iter().rev().find_map(|event| match &event.kind {
                EventKind::State(before) if before.server == state.server => Some(&before.observed),
                _ => None,
            });
            let changes = changes(log, (before, &state.observed), event, claim);
            if changes.is_empty() {
                return None;
            }
            let (server, all) = (&state.server, Text::join(&changes, ", ", "，"));
            (format!("{server}: {}", all.en), format!("{server}：{}", all.zh))
        }
        _ => return None,
    };
    let at = at.brief();
    Some(Text::new(format!("at {at}: {en}"), format!("{at}：{zh}")))
}

fn belief_words(log: &Log, name: &str, lock: &str, belief: Belief) -> (String, String) {
    let [lock, zh] = [Lang::En, Lang::Zh].map(|lang| log.lock_in_words(lock, lang));
    match belief {
        Belief::Holding => {
            (format!("{name} believed that it held {lock}"), format!("{name} 认为自己持有{zh}"))
        }
        Belief::Sharing => {
            (format!("{name} believed that it shared {lock}"), format!("{name} 认为自己共享持有{zh}"))
        }
        Belief::Nothing => (format!("{name} relied on {lock} no more"), format!("{name} 不再依赖{zh}")),
        Belief::Waiting => (format!("{name} waited for {lock}"), format!("{name} 等待{zh}")),
        Belief::Unsure => {
            (format!("{name} could not be sure of {lock}"), format!("{name} 无法确定是否持有{zh}"))
        }
    }
}

/// The command of the event at `index` and its reply, in words, and when it was sent or, if that is not known,
/// answered.
fn exchange(log: &Log, index: usize, wanted: OpId) -> Option<(LessonTime, (String, String))> {
    let is_command = |event: &Event| matches!(event.kind, EventKind::Sent { op, .. } if op == wanted);
    let sent = log.events()[..=index].iter().rposition(is_command);
    let replied = log.events()[sent.unwrap_or(index)..].iter().find_map(|event| match &event.kind {
        EventKind::Replied { op, actor, label, reply } if *op == wanted => {
            Some((event.at, *actor, label, short(&reply.to_string())))
        }
        _ => None,
    });
    let (at, actor, wire) = match (sent.map(|sent| &log.events()[sent]), &replied) {
        (Some(Event { at, kind: EventKind::Sent { actor, command, .. } }), _) => {
            (*at, *actor, short(&command.to_string()))
        }
        // The label stands for a command that is not known.
        (_, Some((at, actor, label, _))) => (*at, *actor, (*label).clone()),
        _ => return None,
    };
    let name = log.called(actor);
    let words = match replied {
        None => (format!("{name} sent {wire}"), format!("{name} 发出 {wire}")),
        Some((when, _, _, reply)) if when.since(at) >= LATE => {
            let when = when.brief();
            (
                format!("{name} sent {wire}; answered {reply} at {when}"),
                format!("{name} 发出 {wire}；{when} 返回 {reply}"),
            )
        }
        Some((.., reply)) => {
            (format!("{name}'s {wire} answered {reply}"), format!("{name} 的 {wire} 返回 {reply}"))
        }
    };
    Some((at, words))
}

fn short(wire: &str) -> String {
    if wire.chars().count() <= COMMAND {
        return wire.to_owned();
    }
    let begin: String = wire.chars().take(COMMAND - 1).collect();
    format!("{}…", begin.trim_end())
}

/// The value of a counter after an event.
fn count(log: &Log, index: usize, wanted: &str) -> i64 {
    let counted = log.events()[..=index].iter().filter_map(|event| match &event.kind {
        EventKind::Counted { counter, by, .. } if counter == wanted => Some(*by),
        _ => None,
    });
    counted.sum()
}

/// How a server's observed contents changed, as far as the claim mentions them.
fn changes(
    log: &Log,
    (before, now): (Option<&Observed>, &Observed),
    event: &Event,
    claim: &Mentions,
) -> Vec<Text> {
    let Observed::Redis(now) = now else {
        return entry_changes(log, &before.map(Observed::entries).unwrap_or_default(), &now.entries());
    };
    let empty = Keyspace::default();
    let before = match before {
        Some(Observed::Redis(before)) => before,
        _ => &empty,
    };
    redis_changes((before, now), event, claim)
}

type Entries<'a> = BTreeMap<&'a str, Entry<'a>>;

fn redis_changes((before, now): (&Keyspace, &Keyspace), event: &Event, claim: &Mentions) -> Vec<Text> {
    let mut changes = Vec::new();
    if before.role != now.role && claim.calls_of("role").next().is_some() {
        match &now.role {
            Some(Role::Master) => changes.push(Text::new("it is a master", "成为主节点")),
            Some(Role::Replica { of }) => {
                changes.push(Text::new(format!("it is a replica of {of}"), format!("成为 {of} 的从节点")));
            }
            // Redis servers have no other roles.
            _ => {}
        }
    }
    let named = |key: &&String| claim.quotes(key);
    for key in now.keys.keys().filter(named) {
        if before.keys.get(key) != now.keys.get(key) {
            changes.push(key_words(key, &now.keys[key], event));
        }
    }
    for key in before.keys.keys().filter(named) {
        if !now.keys.contains_key(key) {
            changes.push(Text::new(format!("{key} is gone"), format!("{key} 已不存在")));
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
        None => Text::new(format!("{key} = {value}, no expiry"), format!("{key} = {value}，没有过期时间")),
        Some(end) => {
            let left = (end.as_millis() - event.at.as_millis()).max(0);
            Text::new(format!("{key} = {value}, {left} ms to live"), format!("{key} = {value}，剩 {left} ms"))
        }
    }
}

fn entry_changes(log: &Log, before: &Entries<'_>, now: &Entries<'_>) -> Vec<Text> {
    /// The most entries that fit into one line.
    const MOST: usize = 2;
    let created: Vec<_> = now
        .iter()
        .filter(|(path, entry)| before.get(*path).is_none_or(|known| known.owner() != entry.owner()))
        .collect();
    let deleted: Vec<_> = before.keys().filter(|path| !now.contains_key(*path)).collect();
    let mut changes = Vec::new();
    for (path, entry) in created.iter().take(MOST) {
        let owner = entry.owner().and_then(|session| session_owner(log, session));
        changes.push(match owner {
            Some(owner) => Text::new(format!("{path} is {owner}'s"), format!("{path} 归 {owner}")),
            None => Text::new(format!("{path} exists"), format!("{path} 已存在")),
        });
    }
    for path in deleted.iter().take(MOST) {
        changes.push(Text::new(format!("{path} is gone"), format!("{path} 已不存在")));
    }
    let more = created.len().saturating_sub(MOST) + deleted.len().saturating_sub(MOST);
    if more > 0 {
        changes.push(Text::new(format!("{more} more"), format!("另有 {more} 个节点变化")));
    }
    changes
}

fn session_owner(log: &Log, wanted: i64) -> Option<&str> {
    log.events().iter().find_map(|event| match &event.kind {
        EventKind::Session { actor, session, .. } if *session == wanted => Some(log.called(*actor)),
        _ => None,
    })
}
