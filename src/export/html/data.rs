//! The data of a page as JSON: positions on the time axis in columns, and for everything the event with which it
//! appeared, so that the page can show any moment.

pub(crate) mod alarms;
pub(crate) mod lanes;
pub(crate) mod servers;
pub(crate) mod wire;

use std::borrow::Cow;

use serde_json::{Value, json};

use super::super::{Finished, Look, crowd::Crowds, moment::ResolvedMoment};
use crate::{
    clock::LessonTime,
    log::{ActorId, EventKind, Log, Steps, Stop},
    text::Text,
    ui::{
        chart::{Chart, Detail},
        state::catalogue::{CatalogueEntry, CatalogueVariant},
        words::{self, fault},
    },
    verdict::{Verdict, evidence},
    world::World,
};

/// The maximum length of a reply or a value, in characters.
const LONGEST: usize = 300;
/// The maximum number of events of evidence per claim.
const EVIDENCE: usize = 3;

pub(crate) struct Source<'a> {
    log: &'a Log,
    chart: &'a Chart,
    world: &'a World,
    crowds: Crowds<'a>,
}

impl Source<'_> {
    fn name(&self, actor: ActorId) -> &str {
        self.log.called(actor)
    }

    /// The index of an actor's client, which decides its colour and glyph.
    fn client(&self, actor: ActorId) -> usize {
        self.chart.lanes.get(actor.0 as usize).map_or(0, |lane| lane.client)
    }
}

/// The run of a page, which may be in progress.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown<'a> {
    pub(crate) entry: &'a CatalogueEntry,
    pub(crate) variant: Option<&'a CatalogueVariant>,
    pub(crate) log: &'a Log,
    /// Shown only at the end.
    pub(crate) verdict: Option<&'a Verdict>,
}

impl<'a> From<&'a Finished> for Shown<'a> {
    fn from(run: &'a Finished) -> Self {
        Self { entry: &run.entry, variant: run.variant(), log: &run.log, verdict: run.verdict.as_ref() }
    }
}

pub(crate) fn of(run: Shown<'_>, moment: ResolvedMoment, look: &Look) -> Value {
    let log = if moment.position < run.log.len() {
        Cow::Owned(run.log.prefix(moment.position))
    } else {
        Cow::Borrowed(run.log)
    };
    let log = log.as_ref();
    let mut chart = Chart::new(Detail::Wires);
    chart.advance(log);
    let world = World::fold(log, log.len());
    let source = Source { log, chart: &chart, world: &world, crowds: Crowds::new(log, log.len()) };
    let variant = run.variant;
    json!({
        "lang": look.lang,
        "speed": look.speed,
        "title": run.entry.lesson.title,
        "variant": variant.map(|variant| &variant.title),
        "intro": run.entry.intro,
        "takeaway": variant.map(|variant| &variant.lesson),
        "clock": world.clock,
        "steps": step_list(&source, moment, look.questions),
        "ticks": ticks(&source),
        "lanes": lanes::lanes(&source),
        "bands": lanes::bands(&source),
        "truths": servers::truths(&source),
        "states": servers::states(&source),
        "clashes": alarms::spans(&source),
        "alarms": alarms::banners(&source),
        "faults": faults(&source),
        "story": story(&source, look.questions),
        "wire": wire::rows(&source),
        "verdict": run.verdict.filter(|_| moment.end).map(|found| {
            verdict(run.log, found, alarms::sentences(&source, found).as_ref())
        }),
    })
}

fn micros(at: LessonTime) -> i64 {
    at.as_nanos() / 1000
}

fn shorten(words: &str) -> String {
    match words.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}

fn step_list(source: &Source<'_>, moment: ResolvedMoment, questions: bool) -> Vec<Value> {
    let column = |position: usize| position.checked_sub(1).map_or(0, |last| source.chart.column(last));
    let start = source.log.opening();
    let mut list =
        vec![json!({"n": 0, "p": start, "x": column(start), "at": micros(source.log.time_at(start))})];
    for step in Steps::of(source.log).all() {
        if step.stop == Stop::Question && !questions {
            continue;
        }
        list.push(json!({
            "n": step.number, "p": step.position, "x": column(step.position), "at": micros(step.at), "kind": step.stop,
        }));
    }
    let reached = list.last().and_then(|last| last["p"].as_u64());
    if reached != u64::try_from(moment.position).ok() || moment.display > source.log.time_at(moment.position)
    {
        let x = source.chart.playhead(source.log, moment.position, moment.display);
        list.push(json!({"n": null, "p": moment.position, "x": x, "at": micros(moment.display)}));
    }
    list
}

/// For each column with an event: the number of events up to it, and the time.
fn ticks(source: &Source<'_>) -> Vec<(u32, usize, i64)> {
    let mut ticks: Vec<(u32, usize, i64)> = Vec::new();
    for (n, event) in source.log.events().iter().enumerate() {
        let here = (source.chart.column(n), n + 1, micros(event.at));
        match ticks.last_mut() {
            Some(last) if last.0 == here.0 => *last = here,
            _ => ticks.push(here),
        }
    }
    ticks
}

fn faults(source: &Source<'_>) -> Vec<Value> {
    let mut faults = Vec::new();
    for (n, event) in source.log.events().iter().enumerate() {
        let mut link = None;
        let (glyph, says) = match &event.kind {
            EventKind::Fault(fault) => {
                link = fault.link().map(|link| format!("{}→{}", link.from, link.to));
                (fault::glyph(fault), Text::from_fn(|lang| fault::words(lang, fault)))
            }
            EventKind::ServerDied { server, why } => {
                let why = shorten(why.lines().next().unwrap_or_default());
                ("✗", Text::from_fn(|lang| format!("{server}: {} {why}", words::SERVER_DIED.get(lang))))
            }
            _ => continue,
        };
        faults.push(json!({
            "e": n, "x": source.chart.column(n), "at": micros(event.at), "glyph": glyph, "says": says, "link": link,
        }));
    }
    faults
}

fn story(source: &Source<'_>, questions: bool) -> Vec<Value> {
    let mut story: Vec<Value> = Vec::new();
    for (n, event) in source.log.events().iter().enumerate() {
        match &event.kind {
            EventKind::Say { en, zh, .. } => story.push(json!({"e": n, "says": {"en": en, "zh": zh}})),
            EventKind::Asked { item, q, choices } if questions => {
                story.push(json!({"e": n, "item": item, "asks": q, "choices": choices}));
            }
            EventKind::Decided { item, right, why } if questions => {
                story.push(json!({"e": n, "item": item, "right": right, "why": why}));
            }
            _ => {}
        }
    }
    story
}

fn verdict(log: &Log, verdict: &Verdict, failure: Option<&Text>) -> Value {
    // Each event separately, because each links to its own position.
    let line = |claim: &str, event| evidence(log, claim, &[event], 1).into_iter().next();
    let claims = verdict.claims.iter().map(|claim| {
        let events = claim.evidence.iter().take(EVIDENCE);
        let events: Vec<_> = events.filter_map(|event| Some((*event, line(&claim.claim, *event)?))).collect();
        json!({
            "claim": claim.claim, "says": claim.says, "expected": claim.expected, "observed": claim.observed,
            "holds": claim.holds, "evidence": events, "more": claim.evidence.len().saturating_sub(EVIDENCE),
        })
    });
    let outcome = verdict.outcome;
    let says = Text::from_fn(|lang| words::outcome(outcome).get(lang).to_owned());
    json!({"outcome": outcome, "says": says, "failure": failure, "claims": claims.collect::<Vec<_>>()})
}
