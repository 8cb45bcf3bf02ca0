//! The contents of the servers: who really held each lock, leases that drain, and all entries.

use serde_json::{Value, json};

use super::{Source, micros, shorten};
use crate::{
    clock::LessonTime,
    log::{Entry, EventKind, KeyValue, Observed},
    text::{Lang, Text},
    ui::{
        chart::{About, Lease, Span, Truth},
        theme::Role,
        view::truth::role_change_words,
        words::{self, fault},
    },
    world::World,
};

/// The maximum number of locks per server.
const ROWS: usize = 3;
/// The maximum number of listed entries per server.
const LISTED: usize = 30;
/// The resolution of a lease: the largest digit of base 36.
const FULL: u32 = 35;

pub(crate) fn truths(source: &Source<'_>) -> Vec<Value> {
    let mut rows = Vec::new();
    for truth in &source.chart.truths {
        let before = rows.len();
        for lock in truth.locks.iter().take(ROWS) {
            let spans = truth.spans.iter().filter(|span| span.lock == *lock);
            let spans: Vec<Value> = spans.map(|span| self::span(source, truth, span)).collect();
            rows.push(json!({"server": truth.server, "lock": lock, "spans": spans, "marks": []}));
        }
        if rows.len() == before {
            rows.push(json!({"server": truth.server, "lock": null, "spans": [], "marks": []}));
        }
        // What happened to a server is drawn once, in its first row.
        rows[before]["marks"] = marks(source, truth).into();
    }
    rows
}

/// What happened to a server, from left to right: changes of its role, and its faults. Those of links are named where
/// they cross the chart.
fn marks(source: &Source<'_>, truth: &Truth) -> Vec<Value> {
    let faults = truth.faults.iter().filter_map(|(x, event)| {
        let EventKind::Fault(fault) = &source.log.events().get(*event)?.kind else { return None };
        let says = format!("{} {}", fault::glyph(fault), fault::mark(fault));
        fault.link().is_none().then(|| json!({"x": x, "e": event, "says": says, "tone": "error"}))
    });
    let mut marks: Vec<Value> = roles(truth).into_iter().chain(faults).collect();
    marks.sort_by_key(|mark| (mark["x"].as_u64(), mark["e"].as_u64()));
    marks
}

/// The role changes of a server, each with its column, event and text.
pub(super) fn roles(truth: &Truth) -> Vec<Value> {
    let changes = truth.changes.iter();
    let changes = changes.map(|(x, event, change)| {
        let tone = match role_change_words(change, Lang::En).1 {
            Role::Accent => "leads",
            Role::Warning => "nil",
            Role::Danger => "error",
            _ => "value",
        };
        let says = Text::from_fn(|lang| role_change_words(change, lang).0);
        json!({"x": x, "e": event, "says": says, "tone": tone})
    });
    changes.collect()
}

fn span(source: &Source<'_>, truth: &Truth, span: &Span) -> Value {
    // What a restarted server still has is shown from its restart on, where its name has room.
    let restarts = truth.dead.iter().filter_map(|(_, to)| *to).filter(|(_, event)| *event <= span.from.1);
    let from = restarts.map(|(column, _)| column).max().unwrap_or_default().max(span.from.0);
    let span = &Span { from: (from, span.from.1), ..span.clone() };
    let owner = span
        .owner
        .filter(|_| span.others.is_empty())
        .and_then(|owner| source.chart.actor(owner, span.from.1));
    let tokens: Vec<&str> = span.holders().map(|(_, token)| token.holder.as_str()).collect();
    json!({
        "value": span.about == About::Value, "token": shorten(&tokens.join(" ")),
        "owner": owner.map(|owner| source.name(owner)), "client": owner.map(|owner| source.client(owner)),
        "a": span.from.0, "e": span.from.1, "b": span.to.map(|to| to.0), "end": span.to.map(|to| to.1),
        "lease": lease(source, truth, span),
    })
}

/// The rest of the lease at the beginning of each column and at the end of the last one, as digits from 0 to z; `None`
/// without a lease.
fn lease(source: &Source<'_>, truth: &Truth, span: &Span) -> Option<String> {
    let last = source.chart.column(source.log.len().saturating_sub(1));
    let end = span.to.map_or(last + 1, |to| to.0.max(span.from.0 + 1));
    let now = LessonTime::from_nanos(i64::MAX);
    truth.lease_at(&span.lock, now, source.log.len())?;
    let at = |event: usize| source.log.time_at(event + 1);
    let digit = |lease: Lease, points, column| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 35")]
        let digit = (lease.share_left(points, column) * f64::from(FULL)).round() as u32;
        char::from_digit(digit, 36)
    };
    let columns = (span.from.0..end).map(|column| {
        let moment = source.chart.moment(source.log, column, source.log.len(), now);
        // Events of one moment have several columns, in which the next holder's lease is not there yet.
        let known = span.to.map_or(source.log.len(), |(_, event)| event);
        let lease = truth.lease_at(&span.lock, moment.max(at(span.from.1)), known)?;
        let head = (last, source.log.time_at(source.log.len()));
        let [before, mut after] = source.chart.around(source.log, column, source.log.len(), head);
        if let Some((column, event)) = span.to.filter(|(column, _)| *column <= after.0) {
            after = (column, at(event));
        }
        digit(lease, [before, after], column)
    });
    // The lease that was in force until then, not the one that the next holder gets at the same moment.
    let over = span.to.map(|(column, event)| {
        let lease = truth.lease_at(&span.lock, at(event), event)?;
        digit(lease, [(column, at(event)); 2], column)
    });
    Some(columns.chain(over).map(|digit| digit.unwrap_or('z')).collect())
}

/// The contents of each server, at each change.
pub(crate) fn states(source: &Source<'_>) -> Vec<Value> {
    let mut world = World::default();
    let mut seen = Vec::new();
    for (n, event) in source.log.events().iter().enumerate() {
        let server = match &event.kind {
            EventKind::State(state) => state.server.as_str(),
            EventKind::ServerDied { server, .. } => server,
            EventKind::Fault(fault) if fault.ahead_ms().is_none() => {
                let Some(server) = fault.server() else { continue };
                server
            }
            _ => continue,
        };
        world.seek(source.log, n + 1);
        let Some(known) = world.servers.iter().find(|known| known.info.name == *server) else { continue };
        let died = known.died.is_some();
        let (role, rows) = match (&known.observed, died) {
            (Some(observed), false) => listed(source, &world, observed),
            _ => (None, Vec::new()),
        };
        let more = rows.len().saturating_sub(LISTED);
        let rows: Vec<&Value> = rows.iter().take(LISTED).collect();
        seen.push(json!({
            "e": n, "x": source.chart.column(n), "server": server, "product": known.info.product, "version": known.info.version,
            "role": role, "died": died, "frozen": known.frozen, "rows": rows, "more": more,
        }));
    }
    seen
}

fn listed(source: &Source<'_>, world: &World, observed: &Observed) -> (Option<Value>, Vec<Value>) {
    let role = observed
        .role()
        .map(|role| json!({"says": Text::from_fn(|lang| words::role(role, lang)), "leads": role.leads()}));
    let rows = observed.entries().into_iter().map(|(name, entry)| {
        if let Entry::Key(key) = entry {
            return json!({"name": name, "value": shorten(&value(&key.value)), "ends": key.expires_at.map(micros)});
        }
        let owner = entry.owner().and_then(|session| world.session_owner(session));
        let owner = owner.map(|owner| source.name(owner));
        json!({"name": name, "value": shorten(&entry.text()), "owner": owner, "watchers": entry.watchers().len()})
    });
    (role, rows.collect())
}

fn value(value: &KeyValue) -> String {
    match value {
        KeyValue::String(text) => format!("{text:?}"),
        KeyValue::Hash(fields) => {
            let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            format!("{{{}}}", fields.join(", "))
        }
        KeyValue::List(items) | KeyValue::Set(items) => format!("[{}]", items.join(", ")),
        KeyValue::SortedSet(items) => {
            let items: Vec<String> =
                items.iter().map(|(member, score)| format!("{member}: {score}")).collect();
            format!("[{}]", items.join(", "))
        }
        KeyValue::Stream(entries) => {
            let items: Vec<String> = entries.iter().map(|(id, fields)| format!("{id} {fields:?}")).collect();
            format!("[{}]", items.join(", "))
        }
        KeyValue::Other(kind) => format!("({kind})"),
    }
}
