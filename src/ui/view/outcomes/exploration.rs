//! The parts that are specific to explorations: the progress, and the shortest order that goes wrong.

use std::time::Duration;

use super::{BAR, OutcomesView, Summary, histogram::grouped, order};
use crate::{
    lesson::Expect,
    run::explore::{Failing, ShortestSoFar},
    ui::{
        state::outcomes::{Exploration, ExplorationOptions, Phase},
        view::{paragraph, prelude::*},
    },
};

/// The minimum rows for the shortest order below the outcomes, including its frame.
const BELOW: u16 = 7;
/// A search that takes longer is worth a suggestion.
const LONG: Duration = Duration::from_mins(10);

/// Summarizes the progress, how many orders go wrong, and the bounds of the search.
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
        say_what_shortens(exploration, summary);
        let violations = explored.map_or(exploration.progress.violations, |found| found.violations);
        let at_least = if explored.is_some_and(|found| !found.complete) { "≥ " } else { "" };
        match explored {
            // Orders are counted only when they end, but the search has already found one that goes wrong.
            Some(explored) if !explored.complete && violations == 1 => {
                summary.say(&format!("{} {}", glyphs::CUT, words::SOME_GO_WRONG.get(lang)), Role::Danger);
            }
            _ if violations > 0 => {
                let words = match violations {
                    1 => words::ONE_GOES_WRONG.get(lang).to_owned(),
                    _ => words::GO_WRONG.with(lang, &[&format!("{at_least}{}", grouped(violations))]),
                };
                summary.say(&format!("{} {words}", glyphs::CUT), Role::Danger);
            }
            Some(explored) if explored.complete && explored.never_ends() => {
                summary.say(&format!("{} {}", glyphs::CUT, words::NOT_ALL_END.get(lang)), Role::Danger);
            }
            Some(explored) if explored.complete => none_goes_wrong(exploration, explored.cut, summary),
            None if !exploration.shortest.is_empty() => {
                summary.say(&format!("{} {}", glyphs::CUT, words::SOME_GO_WRONG.get(lang)), Role::Danger);
            }
            _ => summary.say(words::NONE_SO_FAR.get(lang), Role::Chrome),
        }
        for (name, orders) in explored.map_or(&[][..], |explored| &explored.broken) {
            let known =
                found.and_then(|found| found.wording.invariants.iter().find(|known| known.name == *name));
            let says = known.map_or(name.as_str(), |invariant| invariant.says.get(lang));
            let words = words::ORDERS_BROKE.with(lang, &[&format!("{at_least}{}", grouped(*orders)), says]);
            summary.say(&format!("  {words}"), Role::Text);
        }
    }
    if exploration.options.slow && explored.is_some_and(|explored| explored.violations > 0) {
        summary.say(&words::SLOW_IN_RACES.with(lang, &[&keys.label("race")]), Role::Chrome);
    }
    for kind in explored.map_or(&[][..], |explored| &explored.stuck) {
        summary.say(&format!("  {}", kind.says.get(lang)), Role::Warning);
    }
    let ExplorationOptions { moves, fault, slow, prune } = exploration.options;
    let moves = moves.to_string();
    if let Some(cut) = explored.map(|explored| explored.cut).filter(|cut| *cut > 0) {
        let words = words::CUT_ORDERS.with(lang, &[&grouped(cut), &moves, &keys.label("more-moves")]);
        summary.say(&words, Role::Warning);
    }
    let fault = match fault {
        None if slow => words::ONE_SLOW,
        None => words::NO_FAULT,
        Some(Failing::Crash) => words::ONE_CRASH,
        Some(Failing::Freeze) => words::ONE_FREEZE,
        Some(Failing::LostReply) => words::ONE_LOST_REPLY,
        Some(_) => words::ONE_RESTART,
    };
    let prune = match explored {
        Some(found) if found.space.states > 0 => words::MET,
        _ if prune => words::PRUNED,
        _ => words::NOT_PRUNED,
    };
    let within = words::WITHIN.with(lang, &[&moves, fault.get(lang), prune.get(lang)]);
    summary.say(&within, Role::Chrome);
    let one_by_one = explored.map_or(&exploration.progress.one_by_one, |explored| &explored.space.one_by_one);
    if let Some(why) = one_by_one {
        summary.say(why.get(lang), Role::Chrome);
    }
}

/// A search that would take long: what makes it shorter.
fn say_what_shortens(exploration: &Exploration, summary: &mut Summary<'_>) {
    let is_long = exploration.progress.left().is_some_and(|left| left > LONG);
    if exploration.found.is_some() || exploration.progress.states > 0 || !is_long {
        return;
    }
    let Context { lang, keys, .. } = summary.view.context;
    let ExplorationOptions { fault, slow, prune, .. } = exploration.options;
    let ways = [
        (true, words::FEWER_MOVES, "fewer-moves"),
        (fault.is_some() || slow, words::OTHER_FAULT, "next-fault"),
        (!prune, words::LEAVE_OUT, "prune"),
        (true, words::STOP_HERE, "leave"),
    ];
    let ways = ways.into_iter().filter(|(helps, ..)| *helps);
    let ways: Vec<String> = ways.map(|(_, words, id)| words.with(lang, &[&keys.label(id)])).collect();
    summary.say(&words::SOONER.with(lang, &[&ways.join(words::AND.get(lang))]), Role::Warning);
}

/// Explains why "no order goes wrong" may prove nothing: orders were cut, the search had no fault, or the variant's
/// known failure was not found.
fn none_goes_wrong(exploration: &Exploration, cut: u128, summary: &mut Summary<'_>) {
    let Context { lang, keys, .. } = summary.view.context;
    let variant = summary.view.entry.variants.get(summary.view.variant);
    let fails = variant.is_some_and(|variant| variant.expect == Expect::Shown);
    let key = keys.label("next-fault");
    if exploration.options.fault.is_none() && !exploration.options.slow {
        summary.say(&words::NONE_WITHOUT_FAULT.with(lang, &[&key]), Role::Warning);
    } else if fails {
        summary.say(&words::NONE_WITH_FAULT.with(lang, &[&key]), Role::Warning);
    } else {
        let role = if cut == 0 { Role::Good } else { Role::Warning };
        summary.say(&format!("{} {}", glyphs::DONE, words::NONE_GOES_WRONG.get(lang)), role);
    }
}

/// A bar, the numbers of orders tried and skipped, the estimated total, the rate, the remaining time.
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
        Some(found) if found.space.states > 0 => words::ORDERS_BY_STATES
            .with(lang, &[&grouped(found.orders()), &grouped(found.space.states.into())]),
        None if progress.orders > 0 => {
            words::ORDERS_SO_FAR.with(lang, &[&grouped(progress.orders), &grouped(progress.states.into())])
        }
        None if progress.states > 0 => words::STATES.with(lang, &[&grouped(progress.states.into())]),
        _ => words::TRIED.with(lang, &[&grouped(tried.into()), &grouped(pruned)]),
    };
    let pace = match explored {
        Some(found) => {
            let spent = found.searching;
            let steps = if found.space.states > 0 { found.space.transitions } else { found.tried };
            let rate = time::rate(Some(steps as f64 / spent.as_secs_f64().max(0.001)));
            Some(words::RATE_AND_TIME.with(lang, &[&rate, &time::said(&time::stretch(spent), lang)]))
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

/// The text shown while nothing is known.
pub(super) fn nothing(view: &OutcomesView<'_>) -> words::Words {
    match view.outcomes.phase() {
        Phase::Running | Phase::Stopping => words::TOLD_AT_THE_END,
        _ => words::NOTHING_YET,
    }
}

/// The title and the lines of the part below or beside the outcomes.
fn summary(view: &OutcomesView<'_>, exploration: &Exploration, width: usize) -> (String, Vec<Line<'static>>) {
    let lang = view.context.lang;
    let so_far = exploration.so_far();
    let breaking = exploration.breaking();
    let mut title = match breaking {
        _ if so_far.is_some() => words::SHORTEST_YET,
        Some(breaking) if breaking.stuck => words::STUCK_ORDER,
        _ => words::SHORTEST,
    }
    .get(lang)
    .to_owned();
    let place = so_far.map(|(_, place)| place).or(breaking.map(|breaking| breaking.place));
    if let Some((place, count)) = place.filter(|(_, count)| *count > 1) {
        title = format!("{title} {}/{count}", place + 1);
    }
    let plain = |words: &str, role| paragraph::plain(words, width, view.style(role));
    if let Some((ShortestSoFar { says, moves }, (_, count))) = so_far {
        let says = Some(says).filter(|_| count > 1);
        let mut lines = says.map_or_else(Vec::new, |says| plain(says.get(lang), Role::Text));
        let drawn = order::lanes(moves, None, width, view.context.theme);
        let who = moves.iter().map(|who| who.trim_end_matches('.'));
        let who: Vec<&str> = who.map(|who| if who.is_empty() { glyphs::PASSES } else { who }).collect();
        lines.extend(drawn.unwrap_or_else(|| plain(&who.join(" "), Role::Danger)));
        return (title, lines);
    }
    let Some(breaking) = breaking else {
        let nothing = if exploration.found.is_some() { words::NO_ORDER } else { nothing(view) };
        return (title, plain(nothing.get(lang), Role::Chrome));
    };
    // If only one invariant is broken, it is named above already.
    let says = breaking.says.filter(|_| breaking.place.1 > 1);
    let mut lines = says.map_or_else(Vec::new, |says| plain(says.get(lang), Role::Text));
    let moves = &breaking.order.moves;
    let drawn = order::lanes(moves, Some(&breaking.order.log), width, view.context.theme);
    lines.extend(drawn.unwrap_or_else(|| plain(breaking.moves_text().get(lang), Role::Danger)));
    if let Some(why) = breaking.why {
        lines.extend(plain(why.get(lang), Role::Text));
    }
    (title, lines)
}

/// The rows of that part, including its frame.
pub(super) fn rows(view: &OutcomesView<'_>, exploration: &Exploration, area: Rect) -> u16 {
    let (_, lines) = summary(view, exploration, usize::from(area.width.saturating_sub(4)));
    u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).max(BELOW)
}

pub(super) fn draw(view: &OutcomesView<'_>, exploration: &Exploration, area: Rect, buf: &mut Buffer) {
    if area.height < 2 || area.width < 4 {
        return;
    }
    let (title, lines) = summary(view, exploration, usize::from(area.width.saturating_sub(4)));
    let inner = paragraph::text_area(paragraph::pane(view.context, &title, false, area, buf));
    paragraph::draw_with_more(&lines, 0, view.context, inner, buf);
}
