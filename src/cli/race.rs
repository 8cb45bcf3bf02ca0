//! `lockstep race`: everybody at once, many times, and how it came out.

use std::io::Write;

use clap::Args;
use serde_json::json;

use super::{Failure, Global, OK, run::interrupted, words};
use crate::{
    lesson::{Lang, Scenario},
    race::{self, RaceReport},
    view,
};

/// What to race.
#[derive(Debug, Args)]
pub struct RaceArgs {
    /// The lesson's name, or the path of a lesson file
    lesson: String,
    /// How many times
    #[arg(short = 'n', long = "runs", value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    runs: u64,
}

/// Races a lesson's variants.
pub(super) fn race(global: &Global, args: &RaceArgs) -> Result<u8, Failure> {
    if global.recorded {
        let why = "a race needs real servers, and `--recorded` asks for none; leave it away";
        return Err(Failure::usage(why));
    }
    let loaded = global.lesson(&args.lesson)?;
    let variants: Vec<&String> = match &global.variant {
        Some(name) => vec![name],
        None => loaded.lesson.variants.keys().collect(),
    };
    let scenarios = variants
        .into_iter()
        .map(|variant| Scenario::plan(&loaded, variant, &global.overrides()))
        .collect::<Result<Vec<_>, _>>()?;
    let options = global.lab_options()?;
    super::runtime()?.block_on(async {
        for scenario in &scenarios {
            let report = tokio::select! {
                report = race::race(scenario, &options, global.seed, args.runs) => report?,
                signal = interrupted() => {
                    return Err(Failure { message: words::ENDED_BY.text(&[signal]), code: 130 });
                }
            };
            let text = if global.json {
                json_line(scenario, &report, global.seed)
            } else {
                histogram(scenario, &report, global.lang())
            };
            let mut out = std::io::stdout().lock();
            writeln!(out, "{text}").and_then(|()| out.flush())?;
        }
        Ok(OK)
    })
}

fn json_line(scenario: &Scenario, report: &RaceReport, seed: u64) -> String {
    let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let outcomes: Vec<_> = report
        .tally
        .outcomes()
        .into_iter()
        .map(|(outcome, seen)| {
            json!({
                "outcome": outcome.to_string(), "count": seen.count, "first_seed": seen.first_seed,
                "locks": outcome.locks, "counters": outcome.counters, "values": outcome.values,
                "unfinished": outcome.unfinished,
            })
        })
        .collect();
    json!({
        "lesson": scenario.loaded.lesson.id,
        "variant": scenario.variant,
        "clock": report.clock,
        "raced": "programs",
        "faults_left_out": race::leaves_out_faults(scenario),
        "clients": report.actors,
        "runs": report.runs,
        "seed": seed,
        "violated": report.tally.violated(),
        "outcomes": outcomes,
        "lesson_ms": millis(report.lesson),
        "wall_ms": millis(report.wall),
    })
    .to_string()
}

/// The longest bar, in cells.
const BAR: u64 = 24;
/// More outcomes than anybody reads; `--json` has them all.
const MOST: usize = 15;

fn histogram(scenario: &Scenario, report: &RaceReport, lang: Lang) -> String {
    let wall = report.wall.as_secs_f64();
    let (seconds, actors, runs) = (
        format!("{wall:.2}"),
        report.actors.to_string(),
        report.runs.to_string(),
    );
    let id = &scenario.loaded.lesson.id;
    let mut lines = vec![words::RACED.with(lang, &[id, &scenario.variant, &runs, &actors, &seconds])];
    if race::leaves_out_faults(scenario) {
        lines.push(format!("    {}", words::NO_FAULTS_RACED.get(lang)));
    }
    let outcomes = report.tally.outcomes();
    let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let names: Vec<String> = outcomes.iter().map(|(outcome, _)| outcome.to_string()).collect();
    let wide = widest(&mut names.iter().take(MOST).map(|name| name.chars().count()));
    let digits = outcomes
        .first()
        .map_or(1, |(_, seen)| seen.count.to_string().len());
    for (name, (_, seen)) in names.iter().zip(&outcomes).take(MOST) {
        let cells = (seen.count * BAR).div_ceil(report.runs.max(1));
        let bar = "█".repeat(usize::try_from(cells).unwrap_or(0));
        let bar = view::pad(&bar, usize::try_from(BAR).unwrap_or(0));
        let first = words::FIRST_SEED.with(lang, &[&seen.first_seed.to_string()]);
        lines.push(format!(
            "    {} {bar} {:>digits$}  {first}",
            view::pad(name, wide),
            seen.count
        ));
    }
    if outcomes.len() > MOST {
        let more = (outcomes.len() - MOST).to_string();
        lines.push(format!("    {}", words::MORE_OUTCOMES.with(lang, &[&more])));
    }
    lines.join("\n")
}
