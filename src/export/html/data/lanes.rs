//! Clients' lanes: bars of beliefs, marks of actions; crowds as bands of counts, with a sample of their members.

use serde_json::{Value, json};

use super::{Source, shorten};
use crate::{
    log::{ActorId, Belief, EventKind},
    text::{Lang, Text},
    ui::{
        chart::{Band, BarKind, Lane, Mark},
        words,
    },
};

/// The number of members of a crowd with lanes of their own.
const SAMPLE: usize = 5;

pub(crate) fn lanes(source: &Source<'_>) -> Vec<Value> {
    let lanes = source.chart.lanes.iter().enumerate();
    let single = lanes.filter(|(_, lane)| lane.band.is_none());
    single.map(|(n, lane)| one(source, n, lane)).collect()
}

fn one(source: &Source<'_>, n: usize, lane: &Lane) -> Value {
    let actor = ActorId(u32::try_from(n).unwrap_or(u32::MAX));
    let bars = lane.bars.iter().filter(|bar| !bar.hidden).filter_map(|bar| {
        let kind = match bar.kind {
            BarKind::Belief(Belief::Holding) => "holding",
            BarKind::Belief(Belief::Sharing) => "sharing",
            BarKind::Belief(Belief::Waiting) => "waiting",
            BarKind::Belief(Belief::Unsure) => "unsure",
            BarKind::Belief(Belief::Nothing) => return None,
            BarKind::Read => "saw",
            BarKind::Oversold => "oversold",
            BarKind::Frozen => "frozen",
            BarKind::Dead => "dead",
        };
        let acted = source.chart.oversold.as_ref().filter(|_| bar.kind == BarKind::Oversold);
        let says = acted.map(|(_, counter)| {
            let value = shorten(&bar.value);
            Text::from_fn(|lang| {
                words::IN_BAR_OVERSOLD.with(lang, &[words::named(source.log, counter, lang), &value])
            })
        });
        // Where no server confirms the belief: columns and events.
        let bare = bar.unconfirmed.iter().map(|((a, e), to)| (a, e, to.map(|to| to.0), to.map(|to| to.1)));
        Some(json!({
            "kind": kind, "lock": bar.lock, "a": bar.from.0, "e": bar.from.1, "b": bar.to.map(|to| to.0),
            "end": bar.to.map(|to| to.1), "left": bar.left, "value": shorten(&bar.value),
            "bare": bare.collect::<Vec<_>>(), "says": says,
        }))
    });
    let marks = lane.marks.iter().map(|mark| self::mark(source, mark));
    json!({
        "name": source.name(actor), "client": lane.client,
        "bars": bars.collect::<Vec<_>>(), "marks": marks.collect::<Vec<_>>(),
    })
}

fn mark(source: &Source<'_>, mark: &Mark) -> Value {
    let detail = source.chart.detail;
    let text = |position, lang| {
        mark.text(source.log, (detail, &|log, word| words::named(log, word, lang)), position, usize::MAX)
    };
    // Commands and replies are the same in both languages, so one text saves space.
    let both = |position| {
        let [en, zh] = [Lang::En, Lang::Zh].map(|lang| shorten(&text(position, lang)));
        if en == zh { json!(en) } else { json!(Text::new(en, zh)) }
    };
    let (before, after) = (both(mark.event + 1), both(usize::MAX));
    let kind = match source.log.events().get(mark.event).map(|event| &event.kind) {
        Some(EventKind::Sent { .. }) => mark.reply(source.log, usize::MAX).map_or("value", super::wire::kind),
        Some(EventKind::Notified { .. } | EventKind::Took { .. }) => "nil",
        Some(EventKind::Fault(_)) => "error",
        _ => "note",
    };
    // The result is known with the reply, or with the note that follows it.
    let last = mark.exchanges().filter_map(|(_, reply)| reply).max();
    let known = mark.note.or(last);
    json!({"x": mark.x, "e": mark.event, "r": known, "sent": before, "done": after, "kind": kind})
}

pub(crate) fn bands(source: &Source<'_>) -> Vec<Value> {
    source.chart.bands.iter().map(|band| self::band(source, band)).collect()
}

fn band(source: &Source<'_>, band: &Band) -> Value {
    let runs = band.runs.iter().map(|run| {
        let what = Text::from_fn(|lang| words::named(source.log, &run.what, lang).to_owned());
        json!({"x": run.x, "e": run.first, "what": what, "notified": run.notified, "count": run.count})
    });
    // Only the last level of a column lasts.
    let mut levels: Vec<(u32, usize, usize, usize)> = Vec::new();
    for level in &band.levels {
        let here = (level.x, level.event, level.waiting, level.holding);
        match levels.last_mut() {
            Some(last) if last.0 == here.0 => *last = here,
            _ => levels.push(here),
        }
    }
    let first = band.members.first().copied();
    let mut value = json!({
        "name": band.client, "client": first.map_or(0, |first| source.client(first)), "size": band.members.len(),
        "runs": runs.collect::<Vec<_>>(), "levels": levels, "sample": sample(source, band),
    });
    dots(source, band, &mut value);
    value
}

/// Everybody who competes for the lock, drawn as dots: `outside`, those outside the crowd, each with its client and the
/// event since which it does; then the members. `notified` and `held` have the events in which a dot was notified, or held
/// a lock.
fn dots(source: &Source<'_>, band: &Band, value: &mut Value) {
    let id = |n: usize| ActorId(u32::try_from(n).unwrap_or(u32::MAX));
    let outside = source.chart.lanes.iter().enumerate().filter(|(_, lane)| lane.band.is_none());
    let outside: Vec<(ActorId, usize, usize)> = outside
        .filter_map(|(n, lane)| {
            let wanted = lane.bars.iter().find(|bar| matches!(bar.kind, BarKind::Belief(_)))?;
            Some((id(n), lane.client, wanted.from.1))
        })
        .collect();
    let dot = |actor: ActorId| {
        let member = band.members.binary_search(&actor).ok().map(|member| outside.len() + member);
        member.or_else(|| outside.iter().position(|(known, ..)| *known == actor))
    };
    let notified = source.log.events().iter().enumerate().filter_map(|(n, event)| match event.kind {
        EventKind::Notified { actor, .. } => Some((n, dot(actor)?)),
        _ => None,
    });
    let held = source.chart.lanes.iter().enumerate().flat_map(|(n, lane)| {
        let bars = lane.bars.iter().filter(|bar| bar.kind.holds());
        bars.filter_map(move |bar| Some((bar.from.1, bar.to.map(|to| to.1), dot(id(n))?)))
    });
    value["notified"] = json!(notified.collect::<Vec<_>>());
    value["held"] = json!(held.collect::<Vec<_>>());
    value["outside"] = outside.iter().map(|(_, client, since)| json!([client, since])).collect();
}

/// The sample of members: those that ever held the lock, then the first ones.
fn sample(source: &Source<'_>, band: &Band) -> Vec<Value> {
    let held = |member: &ActorId| {
        let lane = source.chart.lanes.get(member.0 as usize);
        lane.is_some_and(|lane| {
            lane.bars.iter().any(|bar| matches!(bar.kind, BarKind::Belief(belief) if belief.holds()))
        })
    };
    let mut members: Vec<ActorId> = band.members.iter().copied().filter(held).take(SAMPLE).collect();
    let rest = band.members.iter().copied().filter(|member| !held(member));
    members.extend(rest.take(SAMPLE - members.len()));
    members.sort_unstable();
    let lanes = members.iter().filter_map(|member| {
        let n = member.0 as usize;
        Some(one(source, n, source.chart.lanes.get(n)?))
    });
    lanes.collect()
}
