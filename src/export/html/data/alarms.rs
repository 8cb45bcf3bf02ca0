//! Broken invariants and overlaps: the banner of each moment, the stretches with a red ground, the sentences.

use serde_json::{Value, json};

use super::Source;
use crate::{
    log::{ActorId, EventKind},
    text::{Lang, Text, Words},
    ui::{
        chart::{Broken, OverlapSpan, sequence::Sequence},
        keys::map::KeyMap,
        theme::{Theme, glyphs, time},
        view::{Context, Scene, banner, scene::Oversold, verdict},
        words,
    },
    verdict::Verdict,
    world::{Holding, Overlap, World},
};

/// The maximum length of the bar of sales, in characters.
const SOLD: usize = 20;
const SINCE: Words = Words::new("since {}", "从 {} 起");

/// Names with the glyphs of their clients, joined by no-break spaces: `● A and ■ B`.
fn names(source: &Source<'_>, actors: &[ActorId], lang: Lang) -> String {
    let sign = |actor: &ActorId| glyphs::client(source.client(*actor));
    let name = |actor: &ActorId| format!("{}\u{a0}{}", sign(actor), source.name(*actor));
    words::listed(actors.iter().map(name), lang)
}

/// The banner from each event that changes it; `None` while nothing is wrong.
pub(crate) fn banners(source: &Source<'_>) -> Vec<(usize, Option<Text>)> {
    let sold = source.chart.oversold.as_ref().map(|(span, _)| span.from.1);
    let broken = &source.chart.broken;
    let turns_broken = |n: usize| {
        broken.iter().any(|broken| broken.event() == n || broken.span.to.is_some_and(|to| to.1 == n))
    };
    let is_broken =
        |broken: &&Broken, n: usize| broken.event() <= n && broken.span.to.is_none_or(|to| to.1 > n);
    let (mut holding, mut world) = (Holding::default(), World::default());
    let mut banners: Vec<(usize, Option<Text>)> = Vec::new();
    for (n, event) in source.log.events().iter().enumerate() {
        let turned = !holding.take(n, event).is_empty();
        let sells = sold.is_some_and(|since| since <= n)
            && matches!(event.kind, EventKind::Counted { .. } | EventKind::State(_));
        if !turned && !sells && !turns_broken(n) {
            continue;
        }
        let mut begun =
            holding.overlaps().iter().rfind(|overlap| overlap.end.is_none()).map(|overlap| overlap.event);
        let mut says = holders(source, &holding);
        if says.is_none() && sold.is_some_and(|since| since <= n) {
            world.seek(source.log, n + 1);
            says = Oversold::of(source.chart, &world).map(|oversold| sold_words(source, &oversold, n + 1));
            begun = sold;
        }
        // The newest breach takes precedence over what was wrong before it.
        let newest = broken.iter().rfind(|broken| is_broken(broken, n)).map(Broken::event);
        let newest = newest.filter(|event| says.is_none() || begun.is_none_or(|begun| begun < *event));
        let says = newest.and_then(|event| broken_words(source, event)).or(says);
        if banners.last().map_or(&None, |(_, before)| before) != &says {
            banners.push((n, says));
        }
    }
    banners
}

fn holders(source: &Source<'_>, holding: &Holding) -> Option<Text> {
    let (excess, worst) = (holding.worst()?, holding.widest()?);
    let actors: Vec<ActorId> = holding.holders(&worst.lock).collect();
    let since = time::moment(worst.from);
    Some(Text::from_fn(|lang| {
        let (loud, who) = (words::overlap_span(lang, excess), names(source, &actors, lang));
        format!("{loud} · {who} · {}", SINCE.with(lang, &[&since]))
    }))
}

fn sold_words(source: &Source<'_>, oversold: &Oversold<'_>, position: usize) -> Text {
    if oversold.grew()
        && let Some((who, bar)) = source.chart.outdated_sale(position)
    {
        return Text::from_fn(|lang| {
            let acted = words::IN_BAR_OVERSOLD
                .with(lang, &[words::named(source.log, oversold.counter, lang), &bar.value]);
            format!("{} {acted}", names(source, &[who], lang))
        });
    }
    Text::from_fn(|lang| banner::sold_words(oversold, source.log, SOLD, lang))
}

fn broken_words(source: &Source<'_>, event: usize) -> Option<Text> {
    let EventKind::Breached { says, .. } = &source.log.events().get(event)?.kind else { return None };
    Some(Text::from_fn(|lang| banner::breach_sentence((source.log, source.chart), says, event, lang)))
}

/// The stretches with a red ground. For overlaps also the texts for when they begin and after they have ended.
pub(crate) fn spans(source: &Source<'_>) -> Vec<Value> {
    let overlaps = source.chart.overlap_spans.iter().zip(source.world.holding.overlaps());
    let overlaps = overlaps.map(|(span, overlap)| {
        let mut value = self::span(span);
        for (name, says) in about(source, overlap) {
            value[name] = json!(says);
        }
        value
    });
    let lasting = source.chart.other_alarms().map(|span| {
        let mut value = self::span(span);
        if let Some(EventKind::Breached { says, .. }) =
            source.log.events().get(span.from.1).map(|event| &event.kind)
        {
            value["news"] = json!(says);
            value["past"] = json!(broken_words(source, span.from.1));
        }
        value
    });
    overlaps.chain(lasting).collect()
}

fn span(span: &OverlapSpan) -> Value {
    json!({
        "lock": span.lock, "a": span.from.0, "e": span.from.1, "b": span.to.map(|to| to.0),
        "end": span.to.map(|to| to.1),
    })
}

/// `news`: who took the lock before others released it. `past`: the banner after the overlap.
fn about(source: &Source<'_>, overlap: &Overlap) -> Vec<(&'static str, Text)> {
    let title = |lang| source.log.lock_in_words(&overlap.lock, lang);
    let mut about = Vec::new();
    if let Some((newest, others)) = overlap.holders.split_last() {
        let news = Text::from_fn(|lang| {
            let (newest, others) = (names(source, &[*newest], lang), names(source, others, lang));
            words::TAKEN_TOO.with(lang, &[&newest, &title(lang), &others])
        });
        about.push(("news", news));
    }
    if let Some(to) = overlap.to {
        let past = Text::from_fn(|lang| {
            let (loud, who) =
                (words::overlap_span(lang, overlap.excess), names(source, &overlap.holders, lang));
            format!("{loud} · {who} · {}", time::span(overlap.from, to))
        });
        about.push(("past", past));
    }
    about
}

/// What went wrong, in the sentences of the screen. A name stays with the glyph of its client.
pub(crate) fn sentences(source: &Source<'_>, verdict: &Verdict) -> Option<Text> {
    let (keys, theme, sequence) = (KeyMap::default(), Theme::default(), Sequence::default());
    let of = |lang, mark| {
        let context = Context { keys: &keys, theme, lang };
        let scene = Scene::still(source.log, source.world, (source.chart, &sequence), context);
        let sentences = verdict::sentences(&scene, verdict).join(mark);
        source
            .chart
            .lanes
            .iter()
            .map(|lane| glyphs::client(lane.client))
            .fold(sentences, |sentences, glyph| {
                sentences.replace(&format!("{glyph} "), &format!("{glyph}\u{a0}"))
            })
    };
    let text = Text { en: of(Lang::En, " "), zh: of(Lang::Zh, "") };
    (!text.en.is_empty()).then_some(text)
}
