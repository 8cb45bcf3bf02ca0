//! `lockstep explore`: every order of moves tried, and how many of them break what must never be so.

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
    Failure, Global, INTERRUPTED, NOT_SHOWN, OK,
    interrupt::{self, interrupted},
    millis, print, words,
};
use crate::{
    lesson::{Scenario, error::from_custom},
    run::explore::{self, Bounds, ExploreError, Explored, MOST_MOVES, MOVES, MayFail, Progress},
    text::{Lang, Text},
    verdict::why,
};

/// What to explore.
#[derive(Debug, Args)]
pub struct ExploreArgs {
    /// The lesson's name, or the path of a lesson file
    lesson: String,
    /// Cuts an order after so many moves; 24 where nothing else is said
    #[arg(long, value_name = "N", value_parser = moves)]
    moves: Option<usize>,
    /// At most one fault in each order, at any point: `crash`, `freeze`, or of one client only: `freeze:A`; may be
    /// given several times
    #[arg(long, value_name = "FAULT", value_parser = fault)]
    fault: Vec<MayFail>,
    /// What must not be so after any move, beside what the lesson has: `sold > stock`
    #[arg(long, value_name = "EXPRESSION")]
    never: Option<String>,
    /// Leaves no order out, also where it is sure to come to the same as another
    #[arg(long)]
    no_prune: bool,
    /// Exit code 1 if any order violates, or if any was cut and `--moves` does not say where
    #[arg(long)]
    expect_none: bool,
}

/// How long confirming the shortest order may take after Ctrl-C, which ends the command within a second.
const CONFIRMED_WITHIN: Duration = Duration::from_millis(250);

fn moves(word: &str) -> Result<usize, String> {
    let moves = word.parse().map_err(|_| format!("`{word}` is not a number"))?;
    if (1..=MOST_MOVES).contains(&moves) {
        return Ok(moves);
    }
    Err(format!("from 1 to {MOST_MOVES}"))
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
        let mut code = OK;
        for (scenario, bounds) in scenarios.iter().zip(&all) {
            let bar = bar(global.lang());
            let watch = |progress: &Progress| {
                show(&bar, progress, global.lang());
                if stop.load(Ordering::Acquire) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let found = tokio::select! {
                found = Box::pin(explore::explore(scenario, &options, bounds, &watch)) => found,
                // While servers are started or an order is confirmed nobody asks whether to stop.
                signal = unheard() => {
                    return Err(Failure::interrupted(signal));
                }
            };
            bar.finish_and_clear();
            let found = found.map_err(|error| failure(scenario, error))?;
            let unknown = args.moves.is_none() && found.cut > 0 && found.violations == 0;
            if args.expect_none && (found.violations > 0 || unknown) {
                code = NOT_SHOWN;
            }
            if global.json {
                print::json(&json_line(scenario, &found, bounds.moves))?;
            } else {
                print::line(&summary(scenario, &found, global.lang()))?;
            }
            if args.expect_none && unknown && !global.json {
                let counts = [found.cut.to_string(), bounds.moves.to_string()];
                let words = words::CUT_IS_UNKNOWN.with(global.lang(), &[&counts[0], &counts[1]]);
                print::line(&format!("    {words}"))?;
            }
            if !found.complete {
                code = INTERRUPTED;
                break;
            }
        }
        signal.abort();
        Ok(code)
    })
}

/// What is looked for in a variant, and how far.
fn bounds(scenario: &Scenario, args: &ExploreArgs) -> Result<Bounds, Failure> {
    let never = args.never.as_deref().map(|source| scenario.never(source)).transpose();
    let place = || format!("{} · {}", scenario.loaded.lesson.id, scenario.variant);
    let never = never.map_err(|why| {
        Failure::usage(Text::from_fn(|lang| format!("{}: --never: {}", place(), why.get(lang))))
    })?;
    if args.expect_none && never.is_none() && scenario.invariants.is_empty() {
        return Err(Failure::usage(format!(
            "{}: nothing is said never to be so, so no order could violate it; say what with --never",
            place()
        )));
    }
    Ok(Bounds {
        moves: args.moves.unwrap_or(MOVES),
        faults: args.fault.clone(),
        never,
        prune: !args.no_prune,
        confirmed_within: Some(CONFIRMED_WITHIN),
        ..Bounds::default()
    })
}

/// Resolves when a signal came and a search under way would have ended by now.
async fn unheard() -> &'static str {
    let signal = interrupted().await;
    tokio::time::sleep(Duration::from_millis(750)).await;
    signal
}

fn failure(scenario: &Scenario, error: ExploreError) -> Failure {
    match error {
        ExploreError::Engine(error) => error.into(),
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
    if progress.tried == 0 {
        return;
    }
    bar.set_position((progress.done.clamp(0.0, 1.0) * 1000.0) as u64);
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

/// A count as a JSON number: exact as far as JSON's readers are.
#[expect(clippy::cast_precision_loss, reason = "no reader keeps more of it")]
fn number(count: u128) -> Value {
    u64::try_from(count).map_or_else(|_| json!(count as f64), |count| json!(count))
}

fn json_line(scenario: &Scenario, found: &Explored, moves: usize) -> Value {
    let outcomes = found.outcomes.iter().map(|seen| {
        json!({ "outcome": seen.outcome.to_string(), "count": number(seen.orders), "first": seen.first })
    });
    let broken = found.broken.iter();
    let broken =
        broken.map(|(invariant, orders)| json!({ "invariant": invariant, "count": number(*orders) }));
    json!({
        "lesson": scenario.loaded.lesson.id,
        "variant": scenario.variant,
        "moves": moves,
        "complete": found.complete,
        "orders": number(found.orders()),
        "interleavings": found.tried,
        "pruned": number(found.pruned),
        "cut": number(found.cut),
        "violations": number(found.violations),
        "broken": broken.collect::<Vec<_>>(),
        "shortest": found.shortest.as_ref().map(|shortest| &shortest.moves),
        "why": found.shortest.as_ref().and_then(|shortest| why::first(scenario, &shortest.log)),
        "choices": found.shortest.as_ref().map(|shortest| &shortest.choices),
        "outcomes": outcomes.collect::<Vec<_>>(),
        "searching_ms": millis(found.searching),
        "wall_ms": millis(found.wall),
    })
}

#[expect(clippy::cast_precision_loss, reason = "for people to read")]
fn summary(scenario: &Scenario, found: &Explored, lang: Lang) -> String {
    let seconds = found.searching.as_secs_f64();
    let mut lines = vec![words::EXPLORED.with(
        lang,
        &[
            &scenario.loaded.lesson.id,
            &scenario.variant,
            &found.tried.to_string(),
            &format!("{seconds:.2}"),
            &format!("{:.0}", found.tried as f64 / seconds.max(0.001)),
            &found.pruned.to_string(),
            &found.orders().to_string(),
            &found.violations.to_string(),
            &found.cut.to_string(),
        ],
    )];
    if !found.complete {
        lines.push(format!("    {}", words::INCOMPLETE.get(lang)));
    } else if found.orders() == 1 {
        lines.push(format!("    {}", words::ONE_ORDER.get(lang)));
    }
    for seen in &found.outcomes {
        lines.push(format!("    {:>8}  {}", seen.orders, seen.outcome));
    }
    for (invariant, orders) in &found.broken {
        lines.push(format!("    {}", words::BROKEN.with(lang, &[&orders.to_string(), invariant])));
    }
    if let Some(shortest) = &found.shortest {
        let order = if shortest.moves.is_empty() {
            words::BEFORE_ALL.get(lang).to_owned()
        } else {
            shortest.moves.join(" → ")
        };
        lines.push(format!("    {}", words::SHORTEST.with(lang, &[&order])));
        if let Some(why) = why::first(scenario, &shortest.log) {
            lines.push(format!("    {}", why.text.get(lang)));
        }
    }
    lines.join("\n")
}
