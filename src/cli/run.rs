//! `lockstep run`: lessons without a screen.

use std::{
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use serde_json::json;

use super::{Failure, Global, NOT_SHOWN, OK};
use crate::{
    engine::{self, RunReport},
    lesson::{Loaded, Scenario},
    recording,
    verdict::{Outcome, Verdict},
};

/// What to run.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Lessons by name, or lesson files
    #[arg(required_unless_present = "all", value_name = "LESSON")]
    lessons: Vec<String>,
    /// Every lesson that Lockstep knows
    #[arg(long, conflicts_with = "lessons")]
    all: bool,
    /// Saves the run, to be opened with `lockstep play FILE`; of several runs, each in a file of its own in the
    /// directory FILE
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// With --json: every event of the run
    #[arg(long, requires = "json")]
    events: bool,
}

/// Runs lessons and proves their claims.
pub(super) fn run(global: &Global, args: &RunArgs) -> Result<u8, Failure> {
    let lessons: Vec<Arc<Loaded>> = if args.all {
        let library = global.library()?;
        if let Some(broken) = library.broken.into_iter().next() {
            return Err(broken.into());
        }
        library.lessons
    } else {
        args.lessons
            .iter()
            .map(|name| global.lesson(name))
            .collect::<Result<_, _>>()?
    };
    // Every mistake that can be found without a server is found before the first server starts.
    let mut scenarios = Vec::new();
    for loaded in &lessons {
        let variants: Vec<&String> = match &global.variant {
            Some(name) => vec![name],
            None => loaded.lesson.variants.keys().collect(),
        };
        for variant in variants {
            scenarios.push(Scenario::plan(loaded, variant, &global.overrides())?);
        }
    }
    let options = global.lab_options()?;
    super::runtime()?.block_on(async {
        let mut code = OK;
        for scenario in &scenarios {
            let report = tokio::select! {
                report = engine::run_story(scenario, &options, global.seed) => report?,
                signal = interrupted() => return Err(Failure { message: format!("ended by {signal}"), code: 130 }),
            };
            if let Some(path) = &args.record {
                let file = recording_file(path, scenario, scenarios.len())?;
                recording::write(&file, scenario, &report.log).map_err(|error| Failure::usage(error.to_string()))?;
            }
            if report.verdict.outcome == Outcome::NotShown {
                code = NOT_SHOWN;
            }
            let text =
                if global.json { json_line(scenario, &report, args.events) } else { summary(scenario, &report, global) };
            let mut out = std::io::stdout().lock();
            writeln!(out, "{text}").and_then(|()| out.flush())?;
        }
        Ok(code)
    })
}

/// One run on real servers.
pub(super) fn live(global: &Global, scenario: &Scenario) -> Result<RunReport, Failure> {
    let options = global.lab_options()?;
    super::runtime()?.block_on(async {
        tokio::select! {
            report = engine::run_story(scenario, &options, global.seed) => Ok(report?),
            signal = interrupted() => Err(Failure { message: format!("ended by {signal}"), code: 130 }),
        }
    })
}

/// The file of one run's recording.
fn recording_file(path: &Path, scenario: &Scenario, runs: usize) -> Result<PathBuf, Failure> {
    if runs == 1 && !path.is_dir() {
        return Ok(path.to_owned());
    }
    std::fs::create_dir_all(path).map_err(|error| {
        Failure::usage(format!(
            "{}: {error}; several runs are recorded in a directory",
            path.display()
        ))
    })?;
    Ok(path.join(format!(
        "{}.{}.jsonl",
        scenario.loaded.lesson.id, scenario.variant
    )))
}

/// Resolves when the user or the system asks this program to end. The run is then dropped, and with it its
/// servers and clients.
async fn interrupted() -> &'static str {
    use tokio::signal::unix::{SignalKind, signal};
    let wait = |kind: SignalKind, name: &'static str| async move {
        match signal(kind) {
            Ok(mut signals) => signals.recv().await,
            Err(_) => std::future::pending().await,
        };
        name
    };
    tokio::select! {
        name = wait(SignalKind::interrupt(), "SIGINT") => name,
        name = wait(SignalKind::terminate(), "SIGTERM") => name,
        name = wait(SignalKind::hangup(), "SIGHUP") => name,
    }
}

fn json_line(scenario: &Scenario, report: &RunReport, events: bool) -> String {
    let Verdict { outcome, claims } = &report.verdict;
    let claims: Vec<_> = claims
        .iter()
        .map(|claim| {
            json!({
                "claim": claim.claim, "expected": claim.expected.en, "observed": claim.observed.en,
                "holds": claim.holds, "evidence": claim.evidence,
            })
        })
        .collect();
    let mut line = json!({
        "lesson": scenario.loaded.lesson.id,
        "variant": scenario.variant,
        "clock": report.clock,
        "lesson_ms": u64::try_from(report.lesson.as_millis()).unwrap_or(u64::MAX),
        "wall_ms": u64::try_from(report.wall.as_millis()).unwrap_or(u64::MAX),
        "claims": claims,
        "verdict": outcome,
    });
    if events {
        line["events"] = serde_json::to_value(report.log.events()).unwrap_or_default();
    }
    line.to_string()
}

fn summary(scenario: &Scenario, report: &RunReport, global: &Global) -> String {
    use std::fmt::Write;
    let outcome = match report.verdict.outcome {
        Outcome::Shown => "failure shown",
        Outcome::Prevented => "prevented",
        Outcome::NotShown => "NOT SHOWN",
    };
    let title = scenario.variant().title.get(global.lang());
    let mut text = format!(
        "{outcome:<14}{} · {}  ({title}; {:.1} s of lesson time in {:.2} s)",
        scenario.loaded.lesson.id,
        scenario.variant,
        report.lesson.as_secs_f64(),
        report.wall.as_secs_f64(),
    );
    for claim in &report.verdict.claims {
        let mark = if claim.holds { "✓" } else { "✗" };
        let _ = write!(
            text,
            "\n    {mark} {}: observed {}",
            claim.claim,
            claim.observed.get(global.lang())
        );
        if !claim.holds {
            let _ = write!(text, ", expected {}", claim.expected.get(global.lang()));
        }
    }
    text
}
