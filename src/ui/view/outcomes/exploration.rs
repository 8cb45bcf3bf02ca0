//! What is particular to the search through every order: how far it is, and the shortest order that goes wrong.

use super::{BAR, OutcomesView, Summary, histogram::grouped};
use crate::{
    run::explore::Failing,
    ui::{
        state::outcomes::{Exploration, ExplorationOptions, Phase},
        view::{paragraph, prelude::*},
    },
};

/// Rows of the shortest order below the outcomes, with its frame.
pub(super) const BELOW: u16 = 7;

/// How far the search is, how many orders go wrong, and what is searched.
pub(super) fn summarize(exploration: &Exploration, summary: &mut Summary<'_>) {
    let (lang, keys) = (summary.view.context.lang, summary.view.context.keys);
    let found = exploration.found.as_deref();
    let explored = found.map(|found| &found.explored);
    if let Phase::Failed(failure) = summary.view.outcomes.phase() {
        let title = if failure.server { words::LAB_FAILED } else { words::NOT_EXPLORED };
        summary.say(&format!("✗ {}", title.get(lang)), Role::Danger);
        summary.say(failure.message.get(lang), Role::Text);
    } else {
        progress(exploration, summary);
        let violations = explored.map_or(exploration.progress.violations, |found| found.violations);
        match explored {
            _ if violations > 0 => {
                let words = words::GO_WRONG.with(lang, &[&grouped(violations)]);
                summary.say(&format!("{} {words}", glyphs::CUT), Role::Danger);
            }
            Some(explored) if explored.complete => {
                // What was not seen to its end is not known to be right.
                let role = if explored.cut == 0 { Role::Good } else { Role::Warning };
                summary.say(&format!("{} {}", glyphs::DONE, words::NONE_GOES_WRONG.get(lang)), role);
            }
            // Orders are counted when all states are known.
            None if !exploration.shortest.is_empty() => {
                summary.say(&format!("{} {}", glyphs::CUT, words::SOME_GO_WRONG.get(lang)), Role::Danger);
            }
            _ => summary.say(words::NONE_SO_FAR.get(lang), Role::Chrome),
        }
        for (name, orders) in explored.map_or(&[][..], |explored| &explored.broken) {
            let known = found.and_then(|found| found.invariants.iter().find(|known| known.name == *name));
            let says = known.map_or(name.as_str(), |invariant| invariant.says.get(lang));
            let words = words::ORDERS_BROKE.with(lang, &[&grouped(*orders), says]);
            summary.say(&format!("  {words}"), Role::Text);
        }
    }
    for kind in explored.map_or(&[][..], |explored| &explored.stuck) {
        summary.say(&format!("  {}", kind.says.get(lang)), Role::Warning);
    }
    let ExplorationOptions { moves, fault, prune } = exploration.options;
    let moves = moves.to_string();
    if let Some(cut) = explored.map(|explored| explored.cut).filter(|cut| *cut > 0) {
        let words = words::CUT_ORDERS.with(lang, &[&grouped(cut), &moves, &keys.label("more-moves")]);
        summary.say(&words, Role::Warning);
    }
    let fault = match fault {
        None => words::NO_FAULT,
        Some(Failing::Crash) => words::ONE_CRASH,
        Some(Failing::Freeze) => words::ONE_FREEZE,
        Some(Failing::LostReply) => words::ONE_LOST_REPLY,
        Some(_) => words::ONE_RESTART,
    };
    let prune = if prune { words::PRUNED } else { words::NOT_PRUNED };
    let within = words::WITHIN.with(lang, &[&moves, fault.get(lang), prune.get(lang)]);
    summary.say(&within, Role::Chrome);
}

/// A bar, how many were tried and left out, how many there are about, how fast, how long still.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share from 0 to 1 of a few columns, and figures for people to read"
)]
fn progress(exploration: &Exploration, summary: &mut Summary<'_>) {
    let lang = summary.view.context.lang;
    let progress = &exploration.progress;
    let explored = exploration.found.as_ref().map(|found| &found.explored);
    let share =
        if explored.is_some_and(|found| found.complete) { 1.0 } else { progress.done.clamp(0.0, 1.0) };
    let cells = BAR.min(summary.columns / 4);
    let full = ((share * cells as f64) as usize).min(cells);
    let (tried, pruned) =
        explored.map_or((progress.tried, progress.pruned), |found| (found.tried, found.pruned));
    let count = match explored {
        Some(found) if found.states > 0 => {
            words::ORDERS_BY_STATES.with(lang, &[&grouped(found.orders()), &grouped(found.states.into())])
        }
        None if progress.states > 0 => words::STATES.with(lang, &[&grouped(progress.states.into())]),
        _ => words::TRIED.with(lang, &[&grouped(tried.into()), &grouped(pruned)]),
    };
    let pace = match explored {
        Some(found) => {
            let spent = found.searching;
            let steps = if found.states > 0 { found.transitions } else { found.tried };
            let rate = time::rate(Some(steps as f64 / spent.as_secs_f64().max(0.001)));
            Some(words::RATE_AND_TIME.with(lang, &[&rate, &time::stretch(spent)]))
        }
        None if tried == 0 || progress.states > 0 => None,
        None => {
            let total = grouped(progress.total() as u128);
            let rate = time::rate(Some(progress.rate()));
            Some(words::OF_ABOUT.with(lang, &[&total, &rate, &time::left(progress.left())]))
        }
    };
    summary.bar((full, cells), &count, pace);
}

/// What is said where nothing is known.
pub(super) fn nothing(view: &OutcomesView<'_>) -> words::Words {
    match view.outcomes.phase() {
        Phase::Running | Phase::Stopping => words::TOLD_AT_THE_END,
        _ => words::NOTHING_YET,
    }
}

pub(super) fn draw(view: &OutcomesView<'_>, exploration: &Exploration, area: Rect, buf: &mut Buffer) {
    if area.height < 2 || area.width < 4 {
        return;
    }
    let so_far = exploration.found.is_none() && !exploration.shortest.is_empty();
    let breaking = exploration.breaking();
    let mut title = match breaking {
        _ if so_far => words::SHORTEST_YET,
        Some(breaking) if breaking.stuck => words::STUCK_ORDER,
        _ => words::SHORTEST,
    }
    .get(view.context.lang)
    .to_owned();
    if let Some((place, count)) = breaking.map(|breaking| breaking.place).filter(|(_, count)| *count > 1) {
        title = format!("{title} {}/{count}", place + 1);
    }
    let inner = paragraph::text_area(paragraph::pane(view.context, &title, false, area, buf));
    if so_far {
        let lanes = lanes(view, &exploration.shortest, inner.width.into());
        let who = exploration.shortest.iter().map(|who| who.trim_end_matches('.'));
        let who: Vec<&str> = who.map(|who| if who.is_empty() { glyphs::CLOCK } else { who }).collect();
        let words = || paragraph::plain(&who.join(" "), inner.width.into(), view.style(Role::Danger));
        paragraph::draw_with_more(&lanes.unwrap_or_else(words), 0, view.context, inner, buf);
        return;
    }
    let shortest = breaking.map(|breaking| breaking.order);
    let (words, role) = match (shortest, &exploration.found) {
        (Some(shortest), _) => (shortest.moves.join(" → "), Role::Danger),
        (None, None) => (nothing(view).get(view.context.lang).to_owned(), Role::Chrome),
        (None, Some(_)) => (words::NO_ORDER.get(view.context.lang).to_owned(), Role::Chrome),
    };
    let says = breaking.and_then(|breaking| breaking.says).map(|says| says.get(view.context.lang));
    let mut lines =
        says.map_or_else(Vec::new, |says| paragraph::plain(says, inner.width.into(), view.style(Role::Text)));
    lines.extend(paragraph::plain(&words, inner.width.into(), view.style(role)));
    // Where they do not fit with their names, they stand there by their clients' signs.
    let signs = |words: &String| match words.rsplit_once('.') {
        _ if words.starts_with('+') => String::new(),
        Some((who, _)) => format!("{who}."),
        None => words.clone(),
    };
    let drawn = shortest.and_then(|shortest| {
        let signs: Vec<String> = shortest.moves.iter().map(signs).collect();
        let width = inner.width.into();
        lanes(view, &shortest.moves, width).or_else(|| lanes(view, &signs, width))
    });
    if let Some(lanes) = drawn {
        lines.push(Line::default());
        lines.extend(lanes);
    }
    if let Some(why) = breaking.and_then(|breaking| breaking.why) {
        lines.push(Line::default());
        let why = why.get(view.context.lang);
        lines.extend(paragraph::plain(why, inner.width.into(), view.style(Role::Text)));
    }
    paragraph::draw_with_more(&lines, 0, view.context, inner, buf);
}

/// An order as lanes, a column for each choice, where they fit: `A.check` is a `check` in the lane of A.
fn lanes(view: &OutcomesView<'_>, moves: &[String], width: usize) -> Option<Vec<Line<'static>>> {
    // A fault is named first and what it hits last; time that passes is nobody's.
    let part = |words: &str| {
        let timed = words.is_empty() || words.starts_with('+');
        let move_of = words.rsplit_once('.').or_else(|| words.rsplit_once(' ').map(|(a, b)| (b, a)));
        match move_of.filter(|_| !timed) {
            Some((who, what)) => (who.to_owned(), what.to_owned()),
            None if words.is_empty() => (String::new(), glyphs::CLOCK.to_owned()),
            None => (String::new(), words.to_owned()),
        }
    };
    let mut parts: Vec<(String, String)> = moves.iter().map(|words| part(words)).collect();
    let mut names: Vec<String> = parts.iter().map(|(who, _)| who.clone()).collect();
    names.sort_unstable();
    names.dedup();
    // While the search goes on it is known who moves, and not yet what for.
    let clients: Vec<&String> = names.iter().filter(|name| !name.is_empty()).collect();
    for (who, what) in parts.iter_mut().filter(|(_, what)| what.is_empty()) {
        let client = clients.iter().position(|name| *name == who).unwrap_or(0);
        glyphs::client(client).clone_into(what);
    }
    let head = names.iter().map(|name| text::width(name)).max()? + 2;
    let columns: Vec<usize> = parts.iter().map(|(_, what)| text::width(what) + 2).collect();
    if head + columns.iter().sum::<usize>() > width {
        return None;
    }
    let lane = |name: &String| {
        let mut line = Line::styled(text::pad(name, head), view.style(Role::Accent));
        for (n, ((who, what), columns)) in parts.iter().zip(&columns).enumerate() {
            let (words, role) = match (who == name, n + 1 == parts.len()) {
                (true, true) => (what.as_str(), Role::Danger),
                (true, false) => (what.as_str(), Role::Text),
                (false, _) => ("·", Role::Chrome),
            };
            line.push_span(Span::styled(text::pad(words, *columns), view.style(role)));
        }
        line
    };
    Some(names.iter().map(lane).collect())
}
