//! The parts that are specific to races: the progress, and the races with the selected outcome.

use super::{BAR, List, OutcomesView, Summary, histogram};
use crate::{
    log::Log,
    run::race::{Kind, MOST_EVENTS},
    ui::{
        state::outcomes::{Phase, Races},
        view::{paragraph, prelude::*},
    },
    world::Holding,
};

/// The minimum rows of the races below the outcomes, including their frame.
pub(super) const BELOW: u16 = 8;

/// Summarizes the progress, how many races broke a lock, and what a race is.
pub(super) fn summarize(races: &Races, summary: &mut Summary<'_>) {
    let (lang, keys) = (summary.view.context.lang, summary.view.context.keys);
    let (done, violated) = (races.kept.races(), races.kept.violated());
    if let Phase::Failed(failure) = summary.view.outcomes.phase() {
        // A failure before the first race will repeat, so it is a refusal.
        let refused = done == 0 && !failure.server;
        let title = if refused { words::NOT_RACED } else { words::failed(failure.server) };
        summary.say(&format!("✗ {}", title.get(lang)), Role::Danger);
        summary.say(failure.message.get(lang), Role::Text);
        if refused {
            return;
        }
        summary.say(&words::RACE_AGAIN.with(lang, &[&keys.label("restart")]), Role::Chrome);
        if done == 0 {
            return;
        }
    } else {
        progress(summary);
    }
    if violated > 0 {
        let share = histogram::percent(violated.into(), done.into());
        let words = words::BROKE.with(lang, &[&violated.to_string(), &done.to_string(), &share]);
        summary.say(&format!("{} {words}", glyphs::CUT), Role::Danger);
    } else if done > 0 {
        let words = words::BROKE_NONE.with(lang, &[&done.to_string()]);
        summary.say(&format!("{} {words}", glyphs::DONE), Role::Good);
        if summary.view.outcomes.is_over() {
            let keys = [keys.label("explore"), keys.label("next-fault")];
            let words = words::RACES_PROVE_NOTHING.with(lang, &[&keys[0], &keys[1]]);
            summary.say(&words, Role::Chrome);
        }
    } else {
        summary.say(words::NOTHING_YET.get(lang), Role::Chrome);
    }
    let Some(info) = &races.info else { return };
    for invariant in &info.wording.invariants {
        let broke = races.kept.broke(&invariant.name);
        if broke > 0 {
            let words = words::BROKE_THIS.with(lang, &[&broke.to_string(), invariant.says.get(lang)]);
            summary.say(&format!("  {words}"), Role::Text);
        }
    }
    summary.say(&words::ALL_AT_ONCE.with(lang, &[&info.actors.to_string()]), Role::Chrome);
    if info.faults_left_out {
        summary.say(words::FAULTS_LEFT_OUT.get(lang), Role::Warning);
    }
}

fn progress(summary: &mut Summary<'_>) {
    let (lang, outcomes) = (summary.view.context.lang, summary.view.outcomes);
    let pace = outcomes.pace();
    let cells = BAR.min(summary.columns / 3);
    let share = u128::from(pace.done.min(pace.of)) * cells as u128 / u128::from(pace.of.max(1));
    let full = usize::try_from(share).unwrap_or(cells);
    let count = words::RACED_OF.with(lang, &[&pace.done.to_string(), &pace.of.to_string()]);
    let fast = (pace.done > 0).then(|| {
        let rate = time::rate(pace.per_second());
        if outcomes.is_over() {
            words::RATE_AND_TIME.with(lang, &[&rate, &time::said(&time::stretch(pace.spent), lang)])
        } else {
            words::RATE_AND_LEFT.with(lang, &[&rate, &time::left(pace.left())])
        }
    });
    summary.bar((full, cells), &count, fast);
}

pub(super) fn list(view: &OutcomesView<'_>, area: Rect) -> Option<List> {
    let races = view.outcomes.chosen_races()?.numbers().len();
    Some(List::new(view.context.theme, area, view.outcomes.race, races))
}

pub(super) fn draw(view: &OutcomesView<'_>, races: &Races, area: Rect, buf: &mut Buffer) {
    let chosen = view.outcomes.race;
    let role = if chosen.is_some() { Role::Accent } else { Role::Chrome };
    let room = usize::from(area.width.saturating_sub(4));
    let mut title = words::THOSE_RACES.get(view.context.lang).to_owned();
    if let Some(outcome) = view.outcomes.chosen() {
        let lang = view.context.lang;
        let outcome = histogram::words_of(outcome, view.outcomes.wording(), lang);
        title = words::ABOUT.with(lang, &[&title, &outcome]);
    }
    let title = format!(" {} ", text::fit(&title, room.saturating_sub(2)));
    let mut block = view.context.theme.pane(chosen.is_some()).title(Span::styled(title, view.style(role)));
    let forgotten = races.kept.forgotten();
    if forgotten > 0 {
        let words =
            words::FORGOTTEN.with(view.context.lang, &[&forgotten.to_string(), &MOST_EVENTS.to_string()]);
        let words = format!(" {} ", text::fit(&words, room.saturating_sub(2)));
        block = block.title_bottom(Line::styled(words, view.style(Role::Warning)).right_aligned());
    }
    let inner = paragraph::frame(block, area, buf);
    let (Some(kind), Some(List { from, .. })) = (view.outcomes.chosen_races(), list(view, area)) else {
        return;
    };
    let digits = kind.numbers().last().map_or(1, |last| (u64::from(*last) + 1).to_string().len());
    let visible = kind.numbers().iter().skip(from).take(inner.height.into());
    let moves = visible.filter_map(|number| kind.log(*number)).map(moves);
    let bars = moves.max().unwrap_or(0).min(usize::from(inner.width) / 2);
    for (y, place) in (inner.top()..inner.bottom()).zip(from..kind.numbers().len()) {
        let number = kind.numbers()[place];
        let line = line(view, races, (kind, number), (chosen == Some(place), digits), bars);
        buf.set_line(inner.x, y, &line, inner.width);
        if chosen == Some(place) {
            let whole = Rect { y, height: 1, ..inner };
            view.context.theme.choose(whole, buf);
        }
    }
}

fn line(
    view: &OutcomesView<'_>,
    races: &Races,
    (kind, number): (&Kind, u32),
    (chosen, digits): (bool, usize),
    room: usize,
) -> Line<'static> {
    let mark = if chosen { "▸" } else { " " };
    let which = format!("{:>digits$}", u64::from(number) + 1);
    let seed = format!("{:<digits$}", races.seed(number));
    let mut line = Line::from(vec![
        Span::styled(format!("{mark} "), view.style(Role::Accent)),
        Span::styled(words::RACE_ROW.with(view.context.lang, &[&which]), view.style(Role::Text)),
    ]);
    let seed = Span::styled(
        format!("  {}", words::SEED.with(view.context.lang, &[&seed])),
        view.style(Role::Chrome),
    );
    let details = match kind.log(number) {
        Some(log) => {
            let steps = words::STEPS.with(view.context.lang, &[&steps(log).to_string()]);
            (format!("  {steps}  {}", time::moment(log.time_at(log.len()))), Role::Chrome)
        }
        None => (format!("  {}", words::NOT_KEPT.get(view.context.lang)), Role::Warning),
    };
    let details = Span::styled(details.0, view.style(details.1));
    if let Some(log) = kind.log(number) {
        let mut bars = bars(view, log, room);
        let left = room - bars.iter().map(Span::width).sum::<usize>().min(room);
        bars.push(Span::raw(" ".repeat(left)));
        line.spans.push(Span::raw("  "));
        line.spans.extend(bars);
    }
    line.spans.extend([seed, details]);
    line
}

/// The order in which clients sent commands: a mark for each, red while a lock has too many holders.
fn bars(view: &OutcomesView<'_>, log: &Log, room: usize) -> Vec<Span<'static>> {
    let mut clients: Vec<&str> = log.actors().iter().map(|actor| actor.client.as_str()).collect();
    clients.dedup();
    let (mut bars, mut holding) = (Vec::new(), Holding::default());
    for (n, event) in log.events().iter().enumerate() {
        holding.take(n, event);
        let EventKind::Sent { actor, .. } = &event.kind else { continue };
        if bars.len() == room {
            bars.pop();
            bars.push(Span::styled("…", view.style(Role::Chrome)));
            break;
        }
        let client = log.actor(*actor).and_then(|who| clients.iter().position(|name| *name == who.client));
        let client = client.unwrap_or(0);
        let style = view.context.theme.client(client);
        let style = if holding.worst().is_some() { view.context.theme.clashing(style).1 } else { style };
        bars.push(Span::styled(glyphs::client(client), style));
    }
    bars
}

fn moves(log: &Log) -> usize {
    log.events().iter().filter(|event| matches!(event.kind, EventKind::Sent { .. })).count()
}

fn steps(log: &Log) -> usize {
    let stops = log.events().iter();
    stops.filter(|event| matches!(event.kind, EventKind::Stop { .. })).count()
}
