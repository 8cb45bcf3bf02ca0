//! `lockstep explore`: every order of moves tried, and how many of them break the lock.

use std::{io::Write, time::Duration};

use clap::Args;
use serde_json::json;

use super::{Failure, Global, NOT_SHOWN, OK, run::interrupted, words};
use crate::{
    explore::{self, Bounds, ExploreError, Explored},
    lesson::{LabKind, Lang, Scenario, expr::Expr},
};

/// What to explore.
#[derive(Debug, Args)]
pub struct ExploreArgs {
    /// The lesson's name, or the path of a lesson file
    lesson: String,
    /// Cuts an order after so many moves
    #[arg(long, value_name = "N", default_value_t = 12)]
    moves: usize,
    /// What must never be so at the end of an order, beside two holders of one lock: `sold > stock`
    #[arg(long, value_name = "EXPRESSION")]
    never: Option<String>,
    /// Exit code 1 if any order violates
    #[arg(long)]
    expect_none: bool,
}

const DAY: Duration = Duration::from_secs(86_400);

/// Tries every order of a lesson's variants.
pub(super) fn explore(global: &Global, args: &ExploreArgs) -> Result<u8, Failure> {
    if global.recorded || global.wall_clock {
        let why = "exploring needs real servers whose clock stands still; leave `--recorded` and `--wall-clock` away";
        return Err(Failure::usage(why));
    }
    let never = args.never.as_deref().map(Expr::parse).transpose();
    let never = never.map_err(|error| Failure::usage(format!("--never: {error}")))?;
    let bounds = Bounds {
        moves: args.moves,
        never,
        longest: DAY,
    };
    let loaded = global.lesson(&args.lesson)?;
    let variants: Vec<&String> = match &global.variant {
        Some(name) => vec![name],
        None => loaded.lesson.variants.keys().collect(),
    };
    let mut scenarios = Vec::new();
    for variant in variants {
        let scenario = Scenario::plan(&loaded, variant, &global.overrides())?;
        if !matches!(scenario.lab(), LabKind::Redis | LabKind::Masters) {
            return Err(Failure::usage(format!(
                "the variant `{variant}` cannot be explored: the clock of its servers cannot jump, and their sessions \
                 and failovers cannot be replayed; choose one on Redis with `--variant`"
            )));
        }
        scenarios.push(scenario);
    }
    let options = global.lab_options()?;
    super::runtime()?.block_on(async {
        let mut code = OK;
        for scenario in &scenarios {
            let found = tokio::select! {
                found = explore::explore(scenario, &options, &bounds) => found.map_err(|error| match error {
                    ExploreError::Engine(error) => error.into(),
                    other => Failure::usage(other.to_string()),
                })?,
                signal = interrupted() => {
                    return Err(Failure { message: words::ENDED_BY.text(&[signal]), code: 130 });
                }
            };
            if args.expect_none && found.violations > 0 {
                code = NOT_SHOWN;
            }
            let text = if global.json {
                json_line(scenario, &found, args.moves)
            } else {
                summary(scenario, &found, global.lang())
            };
            let mut out = std::io::stdout().lock();
            writeln!(out, "{text}").and_then(|()| out.flush())?;
        }
        Ok(code)
    })
}

fn json_line(scenario: &Scenario, found: &Explored, moves: usize) -> String {
    let outcomes: Vec<_> = found
        .tally
        .outcomes()
        .into_iter()
        .map(|(outcome, seen)| json!({ "outcome": outcome.to_string(), "count": seen.count }))
        .collect();
    json!({
        "lesson": scenario.loaded.lesson.id,
        "variant": scenario.variant,
        "moves": moves,
        "tried": found.tried,
        "pruned": 0,
        "cut": found.cut,
        "violations": found.violations,
        "shortest": found.shortest,
        "outcomes": outcomes,
        "wall_ms": u64::try_from(found.wall.as_millis()).unwrap_or(u64::MAX),
    })
    .to_string()
}

fn summary(scenario: &Scenario, found: &Explored, lang: Lang) -> String {
    let count = |number: u64| number.to_string();
    let seconds = format!("{:.2}", found.wall.as_secs_f64());
    let mut lines = vec![words::EXPLORED.with(
        lang,
        &[
            &scenario.loaded.lesson.id,
            &scenario.variant,
            &count(found.tried),
            &seconds,
            &count(found.violations),
            &count(found.cut),
        ],
    )];
    for (outcome, seen) in found.tally.outcomes() {
        lines.push(format!("    {:>8}  {outcome}", seen.count));
    }
    if let Some(order) = &found.shortest {
        lines.push(format!(
            "    {}",
            words::SHORTEST.with(lang, &[&order.join(" → ")])
        ));
    }
    lines.join("\n")
}
