//! `lockstep explore`: explores every order of moves, and counts those that break an invariant.

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use super::{
    Failure, Global, INTERRUPTED, NOT_SHOWN, OK, USAGE,
    interrupt::{self, interrupted},
    millis, print, words,
};
use crate::{
    lesson::{Scenario, error::from_custom, parse_millis},
    run::explore::{
        self, Bounds, CarriedOut, ExploreError, Explored, MOST_FAULTS, MOST_MOVES, MOVES, MayFail, Progress,
        Stuck, Unavoidable,
    },
    run::{moves::describe, race::Wording},
    text::{Lang, Text, both},
    ui::view::outcomes::histogram::words_of,
    verdict::why,
};

/// What to explore.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct ExploreArgs {
    /// The lesson's name, or the path of a lesson file
    lesson: String,
    /// Cuts an order after N moves, 1 to 250 [default: 24]
    #[arg(long, value_name = "N", value_parser = moves)]
    moves: Option<usize>,
    /// A fault that orders may have, at any point: `crash`, `freeze`, `lost-reply`, also of one client only, such as
    /// `freeze:A`; `cut` or `cut:A->redis`; `restart` or `restart:redis`; `skew:redis=30s` or `skew:A=30s`. May be given several times
    #[arg(long, value_name = "FAULT", value_parser = fault)]
    fault: Vec<MayFail>,
    /// How many faults one order may have, at most 4
    #[arg(long, value_name = "N", value_parser = few, default_value_t = 1)]
    faults: usize,
    /// How often in one order time may pass although somebody could move, at most 4
    #[arg(long, value_name = "N", value_parser = few, default_value_t = 0)]
    slow: usize,
    /// One more invariant, checked after every move: `sold > stock` must never be true
    #[arg(long, value_name = "EXPRESSION")]
    never: Option<String>,
    /// Carries out every order, even if it is sure to have the same result as another
    #[arg(long)]
    no_prune: bool,
    /// Tells all clients apart, even if they behave alike: more states, with the same counts
    #[arg(long)]
    no_symmetry: bool,
    /// Stops the search after this time: `30s`, `5m`. What was found by then is printed as not complete
    #[arg(long, value_name = "DURATION", value_parser = within)]
    within: Option<Duration>,
    /// How many MiB of memory states may take, from 64 on [default: 1024]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(64..=1 << 20))]
    memory: Option<u32>,
    /// Exit code 1 if in some order a client does not reach the end of its program (clients that a fault killed do not
    /// count), or if some order was cut and `--moves` was not given
    #[arg(long)]
    expect_ends: bool,
    /// Exit code 1 if some order breaks an invariant, or if some order was cut or never ends and `--moves` was not given
    #[arg(long)]
    expect_none: bool,
}

/// How long confirming the shortest orders may take after Ctrl-C. A second Ctrl-C ends the command at once.
const CONFIRMED_WITHIN: Duration = Duration::from_secs(5);

fn moves(word: &str) -> Result<usize, String> {
    let moves = word.parse().map_err(|_| format!("`{word}` is not a number"))?;
    if (1..=MOST_MOVES).contains(&moves) {
        return Ok(moves);
    }
    Err(format!("from 1 to {MOST_MOVES}"))
}

fn few(word: &str) -> Result<usize, String> {
    let number = word.parse().map_err(|_| format!("`{word}` is not a number"))?;
    if number <= MOST_FAULTS { Ok(number) } else { Err(format!("at most {MOST_FAULTS}")) }
}

fn within(word: &str) -> Result<Duration, String> {
    let millis = parse_millis(word).map_err(|why| why.en)?;
    Ok(Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
}

fn fault(word: &str) -> Result<MayFail, String> {
    word.to_owned().try_into().map_err(|why: String| from_custom(&why).map_or(why, String::from))
}

pub(crate) fn explore(global: &Global, args: &ExploreArgs) -> Result<u8, Failure> {
    if global.recorded || global.wall_clock {
        let why = "exploring needs real servers whose clock stands still; leave `--recorded` and `--wall-clock` away";
        return Err(Failure::usage(why));
    }
    let loaded = global.lesson(&args.lesson)?;
    let scenarios = global.scenarios(&loaded)?;
    let all: Vec<Bounds> =
        scenarios.iter().map(|scenario| bounds(scenario, args)).collect::<Result<_, _>>()?;
    let options = global.lab_options()?;
    interrupt::listen(global.lang());
    super::block_on(async {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let signal = tokio::spawn(async move {
            interrupted().await;
            asked.store(true, Ordering::Release);
        });
        let (mut code, mut refused) = (OK, false);
        for (scenario, bounds) in scenarios.iter().zip(&all) {
            let bar = bar(global.lang());
            let watch = |progress: &Progress| {
                show(&bar, progress, global.lang());
                if stop.load(Ordering::Acquire) {
                    interrupt::acknowledge();
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            };
            // While servers are started or an order is confirmed, `watch` is not called: then the signal ends
            // the command.
            let found = Box::pin(explore::explore(scenario, &options, bounds, &watch)).await;
            bar.finish_and_clear();
            let found = match found.map_err(|error| failure(scenario, error)) {
                Ok(found) => found,
                // A variant that cannot be explored says nothing about the others.
                Err(failure) if scenarios.len() > 1 && failure.code == USAGE => {
                    print::complain(failure.message.get(global.lang()));
                    refused = true;
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            let unknown = args.moves.is_none() && found.cut > 0 && found.violations == 0;
            let waits = |stuck| matches!(stuck, Stuck::SessionLasts | Stuck::LostWakeup | Stuck::Deadlock);
            // With --moves, orders that are still going on at that bound are accepted.
            let stuck = args.moves.is_none() && found.stuck.iter().any(|kind| waits(kind.stuck));
            if args.expect_none && (found.violations > 0 || unknown || stuck || !found.complete)
                || args.expect_ends
                    && (!found.stuck.is_empty() || args.moves.is_none() && found.cut > 0 || !found.complete)
            {
                code = NOT_SHOWN;
            }
            if global.json {
                print::json(&json_line(scenario, &found, bounds.moves))?;
            } else {
                let stopped = stop.load(Ordering::Acquire);
                print::line(&summary(scenario, &found, stopped, global.lang()))?;
                if bounds.never.is_none() && scenario.invariants.is_empty() {
                    print::line(&format!("    {}", words::FORBIDS_NOTHING.get(global.lang())))?;
                }
            }
            if args.expect_none && unknown && !global.json {
                let counts = [found.cut.to_string(), bounds.moves.to_string()];
                let words = words::CUT_IS_UNKNOWN.with(global.lang(), &[&counts[0], &counts[1]]);
                print::line(&format!("    {words}"))?;
            }
            if !found.complete && !found.space.full && stop.load(Ordering::Acquire) {
                code = INTERRUPTED;
                break;
            }
        }
        signal.abort();
        Ok(if refused && code != INTERRUPTED { USAGE } else { code })
    })
}

/// The bounds of the search in a variant.
fn bounds(scenario: &Scenario, args: &ExploreArgs) -> Result<Bounds, Failure> {
    let never = args.never.as_deref().map(|source| scenario.never(source)).transpose();
    let place = || format!("{} · {}", scenario.loaded.lesson.id, scenario.variant);
    let never = never.map_err(|why| {
        Failure::usage(Text::from_fn(|lang| format!("{}: --never: {}", place(), why.get(lang))))
    })?;
    if args.expect_none && never.is_none() && scenario.invariants.is_empty() {
        return Err(Failure::usage(words::FORBIDS_NOTHING_TO_EXPECT.text(&[&place()])));
    }
    Ok(Bounds {
        moves: args.moves.unwrap_or(MOVES),
        faults: args.fault.clone(),
        most_faults: args.faults,
        slow: args.slow,
        never,
        prune: !args.no_prune,
        symmetry: !args.no_symmetry,
        confirmed_within: Some(CONFIRMED_WITHIN),
        within: args.within,
        memory: args.memory.map_or(Bounds::default().memory, |mib| (mib as usize) << 20),
        ..Bounds::default()
    })
}

fn failure(scenario: &Scenario, error: ExploreError) -> Failure {
    match error {
        ExploreError::Engine(error) => error.into(),
        ExploreError::Lab(why) | ExploreError::Fault(why) => Failure::usage(why),
        ExploreError::NotRepeated(why) => {
            let (lesson, variant) = (&scenario.loaded.lesson.id, &scenario.variant);
            Failure::usage(both!("{lesson} · {variant}: {why}", "{lesson} · {variant}：{why}", why))
        }
        other => Failure::usage(format!("{} · {}: {other}", scenario.loaded.lesson.id, scenario.variant)),
    }
}

fn bar(lang: Lang) -> ProgressBar {
    if !print::is_watched() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{wide_bar} {percent}% · {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸─"));
    bar.set_message(words::STARTS.get(lang));
    bar
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share from 0 to 1")]
fn show(bar: &ProgressBar, progress: &Progress, lang: Lang) {
    if progress.tried == 0 && progress.states == 0 {
        return;
    }
    bar.set_position((progress.done.clamp(0.0, 1.0) * 1000.0) as u64);
    if progress.states > 0 {
        let figures = [progress.states.to_string(), format!("{:.0}", progress.rate())];
        bar.set_message(words::EXPLORING_STATES.with(lang, &figures.each_ref().map(String::as_str)));
        return;
    }
    let left = match progress.left() {
        Some(left) => humantime::format_duration(Duration::from_secs(left.as_secs())).to_string(),
        None => "?".to_owned(),
    };
    bar.set_message(words::EXPLORING.with(
        lang,
        &[
            &progress.tried.to_string(),
            &progress.pruned.to_string(),
            &format!("{:.0}", progress.rate()),
            &left,
            &progress.violations.to_string(),
        ],
    ));
}

/// A count as a JSON number, as exact as readers of JSON are.
#[expect(clippy::cast_precision_loss, reason = "readers of JSON keep no more digits")]
fn number(count: u128) -> Value {
    u64::try_from(count).map_or_else(|_| json!(count as f64), |count| json!(count))
}

fn json_line(scenario: &Scenario, found: &Explored, moves: usize) -> Value {
    let outcomes = found.outcomes.iter().map(|seen| {
        json!({ "outcome": seen.outcome.to_string(), "count": number(seen.orders), "first": seen.first })
    });
    let broken = found.broken.iter().map(|(invariant, orders)| {
        let known = found.each.iter().find(|known| known.name == *invariant);
        let shortest = known.and_then(|known| known.shortest.as_ref());
        let unavoidable = known.and_then(|known| known.unavoidable).zip(shortest);
        json!({
            "invariant": invariant,
            "count": number(*orders),
            "shortest": shortest.map(|shortest| &shortest.moves),
            "choices": shortest.map(|shortest| &shortest.choices),
            "why": known.and_then(|known| known.why.as_ref()),
            "unavoidable": unavoidable.map(|(known, order)| last_chance(known, order)),
        })
    });
    let stuck = found.stuck.iter().map(|kind| {
        let unavoidable = kind.unavoidable.zip(kind.order.as_ref());
        json!({
            "kind": kind.stuck,
            "count": number(kind.orders),
            "first": kind.first,
            "why": kind.why.as_ref(),
            "unavoidable": unavoidable.map(|(known, order)| last_chance(known, order)),
        })
    });
    json!({
        "lesson": scenario.loaded.lesson.id,
        "variant": scenario.variant,
        "moves": moves,
        "complete": found.complete,
        "orders": number(found.orders()),
        "interleavings": found.tried,
        "pruned": number(found.pruned),
        "states": found.space.states,
        "transitions": found.space.transitions,
        "states_left": found.space.states_left,
        "one_by_one": found.space.one_by_one,
        "bytes": found.space.bytes,
        "cut": number(found.cut),
        "violations": number(found.violations),
        "broken": broken.collect::<Vec<_>>(),
        "stuck": stuck.collect::<Vec<_>>(),
        "shortest": found.shortest.as_ref().map(|shortest| &shortest.moves),
        "why": found.shortest.as_ref().and_then(|shortest| why::first(scenario, &shortest.log)),
        "choices": found.shortest.as_ref().map(|shortest| &shortest.choices),
        "outcomes": outcomes.collect::<Vec<_>>(),
        "searching_ms": millis(found.searching),
        "wall_ms": millis(found.wall),
    })
}

/// The move after which every order goes wrong, null if all do anyway, and the share of those that do before
/// it.
fn last_chance(known: Unavoidable, order: &CarriedOut) -> Value {
    json!({ "after": known.step.and_then(|step| order.moves.get(step)), "before": known.before })
}

#[expect(clippy::cast_precision_loss, reason = "shown with few digits")]
fn summary(scenario: &Scenario, found: &Explored, stopped: bool, lang: Lang) -> String {
    let (space, spent) = (&found.space, found.searching.as_secs_f64());
    let known = space.states + space.states_left;
    let of_known = [space.states.to_string(), known.to_string()];
    let of_known = of_known.each_ref().map(String::as_str);
    let a_second = |count: u64| format!("{:.0}", count as f64 / spent.max(0.001));
    let (lesson, variant) = (&scenario.loaded.lesson.id, &scenario.variant);
    // In a search that was stopped, only the orders whose end is known are counted.
    let counted = |orders: u128| if found.complete { orders.to_string() } else { format!("≥ {orders}") };
    let (orders, seconds) = (counted(found.orders()), format!("{spent:.2}"));
    let (violations, cut) = (counted(found.violations), counted(found.cut));
    let mut lines = vec![if space.states > 0 {
        let (states, steps) = (space.states.to_string(), space.transitions.to_string());
        let rate = a_second(space.transitions);
        let each = (space.bytes / known.max(1)).to_string();
        let values = [lesson, variant, &orders, &states, &steps, &each, &seconds, &rate, &violations, &cut];
        words::EXPLORED_STATES.with(lang, &values.map(String::as_str))
    } else {
        let (tried, pruned) = (found.tried.to_string(), found.pruned.to_string());
        let rate = a_second(found.tried);
        let values = [lesson, variant, &tried, &seconds, &rate, &pruned, &orders, &violations, &cut];
        words::EXPLORED.with(lang, &values.map(String::as_str))
    }];
    lines.extend(space.one_by_one.as_ref().map(|why| format!("    {}", why.get(lang))));
    if space.full {
        lines.push(format!("    {}", words::FULL.with(lang, &of_known)));
    } else if !found.complete {
        lines.push(format!("    {}", if stopped { words::INCOMPLETE } else { words::TIME_IS_UP }.get(lang)));
        // Where orders are tried one by one, no known state is left: the number would read as if all were done.
        if space.states_left > 0 {
            lines.push(format!("    {}", words::CONTINUED.with(lang, &of_known)));
        }
    } else if found.orders() == 1 {
        lines.push(format!("    {}", words::ONE_ORDER.get(lang)));
    }
    let wording = Wording::of(scenario);
    for seen in &found.outcomes {
        lines.push(format!("    {:>8}  {}", seen.orders, words_of(&seen.outcome, &wording, lang)));
    }
    // Each invariant has its own shortest order, indented below it; the order of a single invariant is not
    // indented.
    let indent = if found.broken.len() > 1 { "      " } else { "    " };
    for (invariant, orders) in &found.broken {
        let orders = counted(*orders);
        let says = wording.invariants.iter().find(|known| known.name == *invariant);
        let says = says.map_or("", |known| known.says.get(lang)).trim_end_matches(['.', '。']);
        // Of an invariant without a sentence of its author's, the expression says all.
        lines.push(if says.is_empty() || says.contains(&format!("`{invariant}`")) {
            format!("    {}", words::BROKEN_UNNAMED.with(lang, &[&orders, invariant]))
        } else {
            format!("    {}", words::BROKEN.with(lang, &[&orders, says, invariant]))
        });
        let Some((known, shortest)) = found.confirmed(invariant) else {
            lines.push(format!("{indent}{}", words::NOT_CONFIRMED_YET.get(lang)));
            continue;
        };
        let order = if shortest.moves.is_empty() {
            words::BEFORE_ALL.get(lang).to_owned()
        } else {
            describe(&shortest.moves).get(lang).to_owned()
        };
        lines.push(format!("{indent}{}", words::SHORTEST.with(lang, &[&order])));
        lines.extend(known.why.as_ref().map(|why| format!("{indent}{}", why.get(lang))));
    }
    for kind in &found.stuck {
        lines.push(format!("    {}", kind.says.get(lang)));
        let first = kind.order.as_ref().map(|order| describe(&order.moves));
        lines.extend(first.map(|first| format!("      {}", words::FIRST.with(lang, &[first.get(lang)]))));
        lines.extend(kind.why.as_ref().map(|why| format!("      {}", why.get(lang))));
    }
    lines.join("\n")
}
