//! `lockstep race`: races all clients many times, and counts the outcomes.

use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use super::{
    Failure, Global, INTERRUPTED, OK,
    interrupt::{self, interrupted},
    meter::Meter,
    millis, print, words,
};
use crate::{
    lab::LabOptions,
    lesson::Scenario,
    run::{
        batch::{self, BatchUpdate},
        race::{MOST_RACES, Pace, RaceReport},
    },
    text::Lang,
    ui::{
        theme::{text, time},
        view::outcomes::histogram::words_of,
    },
};

/// What to race.
#[derive(Debug, Args)]
pub struct RaceArgs {
    /// The lesson's name, or the path of a lesson file
    lesson: String,
    /// How many races, 1 to 1,000,000
    #[arg(short = 'n', long = "runs", value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u64).range(1..=MOST_RACES))]
    runs: u64,
}

pub(crate) fn race(global: &Global, args: &RaceArgs) -> Result<u8, Failure> {
    if global.recorded {
        let why = "a race needs real servers, and `--recorded` asks for none; leave it away";
        return Err(Failure::usage(why));
    }
    let loaded = global.lesson(&args.lesson)?;
    let scenarios = global.scenarios(&loaded)?;
    let options = global.lab_options()?;
    interrupt::listen(global.lang());
    super::block_on(async {
        for scenario in &scenarios {
            let (report, cut) = run(global, scenario, &options, args.runs).await?;
            if global.json {
                print::json(&json_line(scenario, &report, global.seed))?;
            } else {
                print::line(&histogram(scenario, &report, global.seed, global.lang()))?;
                if let Some(signal) = cut {
                    let counts = [report.kept.races().to_string(), report.asked.to_string()];
                    let words = words::RACES_CUT.with(global.lang(), &[signal, &counts[0], &counts[1]]);
                    print::line(&format!("    {words}"))?;
                }
            }
            if cut.is_some() {
                return Ok(INTERRUPTED);
            }
        }
        Ok(OK)
    })
}

/// Races one variant and shows the progress. If a signal ends it, returns the signal's name with the results
/// so far.
async fn run(
    global: &Global,
    scenario: &Scenario,
    options: &LabOptions,
    runs: u64,
) -> Result<(RaceReport, Option<&'static str>), Failure> {
    let began = Instant::now();
    let mut signal = std::pin::pin!(interrupted());
    let mut batch = batch::races(scenario.clone(), options.clone(), global.seed, runs);
    let mut meter = Meter::new();
    let mut report: Option<RaceReport> = None;
    let cut = loop {
        if report.as_ref().is_some_and(RaceReport::is_complete) {
            break None;
        }
        let update = tokio::select! {
            update = batch.updates.recv() => update,
            signal = &mut signal => {
                interrupt::acknowledge();
                break Some(signal);
            }
        };
        match (update, &mut report) {
            (Some(BatchUpdate::Ready(info)), _) => report = Some(RaceReport::new(info, runs)),
            (Some(BatchUpdate::Raced(race)), Some(report)) => {
                report.add(race);
                meter.show(|spent| progress(scenario, report, spent, global.lang()));
            }
            (Some(BatchUpdate::Failed(why)), _) => {
                batch.end().await;
                return Err(if why.server {
                    Failure::server(why.message)
                } else {
                    Failure::usage(why.message)
                });
            }
            (Some(_), _) => {}
            // A batch ends only when it is told to, or after it has reported a failure.
            (None, _) => break None,
        }
    };
    drop(meter);
    batch.end().await;
    let Some(mut report) = report else { return Err(Failure::interrupted(cut.unwrap_or_default())) };
    report.wall = began.elapsed();
    Ok((report, cut))
}

fn progress(scenario: &Scenario, report: &RaceReport, spent: Duration, lang: Lang) -> String {
    let pace = Pace { done: report.kept.races(), of: report.asked, spent };
    words::RACING.with(
        lang,
        &[
            &scenario.loaded.lesson.id,
            &scenario.variant,
            &pace.done.to_string(),
            &pace.of.to_string(),
            &time::rate(pace.per_second()),
            &time::left(pace.left()),
        ],
    )
}

fn json_line(scenario: &Scenario, report: &RaceReport, seed: u64) -> Value {
    let outcomes = report.kept.outcomes().into_iter().map(|(outcome, kind)| {
        json!({
            "outcome": outcome.to_string(), "count": kind.count(),
            "first_seed": seed.wrapping_add(kind.first().into()),
            "locks": outcome.locks, "counters": outcome.counters, "values": outcome.values,
            "unfinished": outcome.unfinished, "broken": outcome.broken,
            "says": report.info.wording.broken(outcome).collect::<Vec<_>>(),
        })
    });
    json!({
        "lesson": scenario.loaded.lesson.id,
        "variant": scenario.variant,
        "clock": report.info.clock,
        "raced": "programs",
        "faults_left_out": report.info.faults_left_out,
        "clients": report.info.actors,
        "runs": report.kept.races(),
        "complete": report.is_complete(),
        "seed": seed,
        "violated": report.kept.violated(),
        "gave_up": report.gave_up,
        "outcomes": outcomes.collect::<Vec<_>>(),
        "lesson_ms": millis(report.lesson),
        "wall_ms": millis(report.wall),
    })
}

/// The longest bar, in cells.
const BAR: u64 = 24;
/// The most outcomes that are printed; `--json` has them all.
const MOST: usize = 15;

fn histogram(scenario: &Scenario, report: &RaceReport, seed: u64, lang: Lang) -> String {
    let wall = report.wall.as_secs_f64();
    let (seconds, actors, runs) =
        (format!("{wall:.2}"), report.info.actors.to_string(), report.kept.races().to_string());
    let id = &scenario.loaded.lesson.id;
    let title = match report.kept.races() {
        1 => words::RACED_ONCE.with(lang, &[id, &scenario.variant, &actors, &seconds]),
        _ => words::RACED.with(lang, &[id, &scenario.variant, &runs, &actors, &seconds]),
    };
    let mut lines = vec![title];
    if report.info.faults_left_out {
        lines.push(format!("    {}", words::NO_FAULTS_RACED.get(lang)));
    }
    let outcomes = report.kept.outcomes();
    let names: Vec<String> =
        outcomes.iter().map(|(outcome, _)| words_of(outcome, &report.info.wording, lang)).collect();
    let wide = names.iter().take(MOST).map(|name| text::width(name)).max().unwrap_or(0);
    let digits = outcomes.first().map_or(1, |(_, kind)| kind.count().to_string().len());
    for (name, (outcome, kind)) in names.iter().zip(&outcomes).take(MOST) {
        let cells = (kind.count() * BAR).div_ceil(report.kept.races().max(1));
        let bar = "█".repeat(usize::try_from(cells).unwrap_or(0));
        let bar = text::pad(&bar, usize::try_from(BAR).unwrap_or(0));
        let first = words::FIRST_SEED.with(lang, &[&seed.wrapping_add(kind.first().into()).to_string()]);
        let mark = if outcome.is_violated() { "✗" } else { " " };
        lines.push(format!("  {mark} {} {bar} {:>digits$}  {first}", text::pad(name, wide), kind.count()));
    }
    if outcomes.len() > MOST {
        let more = (outcomes.len() - MOST).to_string();
        lines.push(format!("    {}", words::MORE_OUTCOMES.with(lang, &[&more])));
    }
    for invariant in &report.info.wording.invariants {
        let broke = report.kept.broke(&invariant.name);
        if broke > 0 {
            let (broke, says) = (broke.to_string(), invariant.says.get(lang));
            lines.push(format!("  ✗ {}", words::RACES_BROKE.with(lang, &[&broke, &runs, says])));
        }
    }
    if let Some((who, why)) = &report.first_error {
        let gave_up = report.gave_up.to_string();
        lines
            .push(format!("    {}", words::RACES_GAVE_UP.with(lang, &[&gave_up, &runs, who, why.get(lang)])));
    }
    lines.join("\n")
}
