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
            _ => summary.say(words::NONE_SO_FAR.get(lang), Role::Chrome),
        }
        for (name, orders) in explored.map_or(&[][..], |explored| &explored.broken) {
            let known = found.and_then(|found| found.invariants.iter().find(|known| known.name == *name));
            let says = known.map_or(name.as_str(), |invariant| invariant.says.get(lang));
            let words = words::ORDERS_BROKE.with(lang, &[&grouped(*orders), says]);
            summary.say(&format!("  {words}"), Role::Text);
        }
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
    let progress = exploration.progress;
    let explored = exploration.found.as_ref().map(|found| &found.explored);
    let share =
        if explored.is_some_and(|found| found.complete) { 1.0 } else { progress.done.clamp(0.0, 1.0) };
    let cells = BAR.min(summary.columns / 4);
    let full = ((share * cells as f64) as usize).min(cells);
    let (tried, pruned) =
        explored.map_or((progress.tried, progress.pruned), |found| (found.tried, found.pruned));
    let count = words::TRIED.with(lang, &[&grouped(tried.into()), &grouped(pruned)]);
    let pace = match explored {
        Some(found) => {
            let spent = found.searching;
            let rate = time::rate(Some(found.tried as f64 / spent.as_secs_f64().max(0.001)));
            Some(words::RATE_AND_TIME.with(lang, &[&rate, &time::stretch(spent)]))
        }
        None if tried == 0 => None,
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
    let title = words::SHORTEST.get(view.context.lang);
    let inner = paragraph::text_area(paragraph::pane(view.context, title, false, area, buf));
    let found = exploration.found.as_ref();
    let shortest = found.and_then(|found| found.explored.shortest.as_ref());
    let (words, role) = match (shortest, found) {
        (Some(shortest), _) => (shortest.moves.join(" → "), Role::Danger),
        (None, None) => (nothing(view).get(view.context.lang).to_owned(), Role::Chrome),
        (None, Some(_)) => (words::NO_ORDER.get(view.context.lang).to_owned(), Role::Chrome),
    };
    let mut lines = paragraph::plain(&words, inner.width.into(), view.style(role));
    if let Some(why) = found.and_then(|found| found.why.as_ref()) {
        lines.push(Line::default());
        let why = why.get(view.context.lang);
        lines.extend(paragraph::plain(why, inner.width.into(), view.style(Role::Text)));
    }
    paragraph::draw_with_more(&lines, 0, view.context, inner, buf);
}
