//! `lockstep run`: runs lessons without a screen.

use std::{
    collections::HashSet,
    num::NonZero,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use clap::Args;
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{
    Failure, Global, NOT_SHOWN, OK, SERVER, USAGE,
    interrupt::{self, unless_interrupted},
    millis, output, print, words,
};
use crate::{
    lab::{
        LabOptions,
        ready::{ReadyLabs, Reuse},
    },
    lesson::{Loaded, Scenario},
    log::Log,
    printable,
    recording::{self, carried},
    run::{
        explore_claim,
        session::{self, RunError, RunReport},
    },
    text::{Lang, both},
    ui::theme::text,
    verdict::{self, Outcome, Verdict, evidence},
};

/// How many runs may have finished before one that is printed first: a slow one does not leave the processors
/// idle.
const FINISHED_AHEAD: usize = 64;

/// What to run.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line, each by itself")]
pub struct RunArgs {
    /// Lessons by name, or lesson files
    #[arg(required_unless_present = "all", value_name = "LESSON")]
    lessons: Vec<String>,
    /// Runs every lesson: the carried ones and those of --lessons
    #[arg(long, conflicts_with = "lessons")]
    all: bool,
    /// Saves the run for `lockstep play FILE`; compressed if FILE ends in `.gz`. With several runs, FILE is a directory, and
    /// each run gets a compressed file there
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// With --record: runs only what has no valid recording there, made of the lesson as it is now
    #[arg(long, requires = "record")]
    stale: bool,
    /// With --record: overwrites a file that is not a recording without asking
    #[arg(long, requires = "record")]
    force: bool,
    /// Runs each variant N times, 1 to 10000, and says in how many of them all claims held
    #[arg(long, value_name = "N", conflicts_with = "record", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: Option<u32>,
    /// Runs N variants at the same time, 1 to 64 [default: three for each processor; with --record, one]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: Option<u8>,
    /// With --json: also prints every event of the run
    #[arg(long, requires = "json")]
    events: bool,
}

pub(crate) fn run(global: &Global, args: &RunArgs) -> Result<u8, Failure> {
    if global.recorded && args.record.is_some() {
        let why = "a recorded run is recorded already; leave one of `--recorded` and `--record` away";
        return Err(Failure::usage(why));
    }
    if global.recorded && args.repeat.is_some() {
        let why = "a recorded run is the same each time; leave one of `--recorded` and `--repeat` away";
        return Err(Failure::usage(why));
    }
    let lessons = lessons(global, args)?;
    // Every mistake that can be found without a server is reported before the first server starts.
    let mut scenarios = Vec::new();
    for loaded in &lessons {
        scenarios.extend(global.scenarios(loaded)?);
    }
    let options = global.lab_options()?;
    if args.all && !global.recorded {
        leave_out_uninstalled(&mut scenarios, &options, global.lang());
    }
    interrupt::listen(global.lang());
    let files: Vec<Option<PathBuf>> = match &args.record {
        None => vec![None; scenarios.len()],
        Some(path) => recording_files(global, path, &scenarios, args.force)?.into_iter().map(Some).collect(),
    };
    let jobs = jobs(args);
    super::block_on(async {
        let lang = global.lang();
        // A proof shows nothing that servers number, so it may use the lab that another one has left.
        let proofs = LabOptions { reuse: Some(Reuse::Any(ReadyLabs::default())), ..options.clone() };
        let (mut ran, mut as_promised) = (0_usize, 0);
        let mut unexpected = Vec::new();
        let times = args.repeat.unwrap_or(1);
        let is_wanted = |file: &Option<PathBuf>, scenario: &Scenario| {
            !args.stale || !file.as_ref().is_some_and(|file| is_fresh(file, scenario))
        };
        let wanted = scenarios.iter().zip(&files).filter(|(scenario, file)| is_wanted(file, scenario));
        let runs = wanted.flat_map(|(scenario, file)| (1..=times).map(move |n| (scenario, file, n)));
        let places = Semaphore::new(jobs);
        let mut reports = stream::iter(runs)
            .map(async |(scenario, file, n)| {
                let _place = places.acquire().await;
                // Exploring every order gives the same result each time, so only the first repetition does
                // it.
                (scenario, file, n, report(global, scenario, &options, (n == 1).then_some(&proofs)).await)
            })
            .buffered(FINISHED_AHEAD + jobs);
        let several = scenarios.len() > 1 || times > 1;
        let (mut held, mut failed, mut serves, mut reported) = (0, None::<u8>, false, HashSet::new());
        while let Some((scenario, file, n, report)) = reports.next().await {
            let report = match report {
                Ok(report) => {
                    serves = true;
                    Some(report)
                }
                // A story that could not continue says nothing about the others, nor does one server that
                // failed among many.
                Err(failure) if several && (failure.code == USAGE || serves && failure.code == SERVER) => {
                    if global.json {
                        print::json(&failed_line(scenario, &failure, args, n))?;
                    }
                    failed = Some(failure.code);
                    // What all variants lack is reported once.
                    if reported.insert(failure.message.clone()) {
                        print::complain(failure.message.get(lang));
                    }
                    None
                }
                Err(failure) => return Err(failure),
            };
            if let Some(report) = report {
                if let Some(file) = file {
                    recording::write(file, scenario, &report.log)?;
                }
                let holds = report.verdict.outcome != Outcome::NotShown;
                held += u32::from(holds);
                warn_of_wall_clock(&report, lang);
                if global.json {
                    print::json(&json_line(scenario, &report, args, n))?;
                } else {
                    let report = summary(scenario, &report, lang);
                    if n == 1 || !holds {
                        print::line(&report)?;
                    }
                    if !holds {
                        unexpected.push(report);
                    }
                }
            }
            if n < times {
                continue;
            }
            ran += 1;
            let held = std::mem::take(&mut held);
            as_promised += usize::from(held == times);
            if args.repeat.is_some() && !global.json {
                let held = words::HELD.with(lang, &[&held.to_string(), &times.to_string()]);
                print::line(&format!("    {held}"))?;
            }
        }
        if !global.json {
            match ran {
                0 if failed.is_none() && args.stale => print::line(words::NONE_STALE.get(lang))?,
                0 | 1 => {}
                _ => print_summary((as_promised, ran), &unexpected, lang)?,
            }
        }
        Ok(failed.unwrap_or(if as_promised == ran { OK } else { NOT_SHOWN }))
    })
}

/// How many variants run at the same time.
fn jobs(args: &RunArgs) -> usize {
    // A run spends more than half of its time waiting for its servers and clients.
    let several = || 3 * std::thread::available_parallelism().map_or(1, NonZero::get);
    args.jobs.map_or_else(|| if args.record.is_some() { 1 } else { several() }, usize::from)
}

/// Prints how many of the variants came out as promised, and the reports of the others.
fn print_summary(
    (as_promised, ran): (usize, usize),
    unexpected: &[String],
    lang: Lang,
) -> Result<(), Failure> {
    let counts = words::AS_PROMISED.with(lang, &[&as_promised.to_string(), &ran.to_string()]);
    print::line(&format!("\n{counts}"))?;
    // Printed again at the end: what came before has scrolled away.
    unexpected.iter().try_for_each(|report| print::line(report))
}

fn warn_of_wall_clock(report: &RunReport, lang: Lang) {
    if let Some(why) = report.wall_clock.as_ref().filter(|why| why.is_news()) {
        print::complain(&words::ON_WALL_CLOCK.with(lang, &[why.text().get(lang)]));
    }
}

/// Leaves out lessons whose libraries are not installed here, with a message: they say nothing about the
/// others.
fn leave_out_uninstalled(scenarios: &mut Vec<Scenario>, options: &LabOptions, lang: Lang) {
    let mut reported = HashSet::new();
    scenarios.retain(|scenario| {
        let missing = options.installed.missing(scenario.libraries(), &options.search);
        let is_here = missing.is_empty();
        let lesson = scenario.loaded.lesson.id.clone();
        if !is_here && reported.insert(lesson.clone()) {
            let why = RunError::MissingLibraries { lesson, missing }.text();
            print::complain(&words::LEFT_OUT.with(lang, &[why.get(lang)]));
        }
        is_here
    });
}

fn lessons(global: &Global, args: &RunArgs) -> Result<Vec<Arc<Loaded>>, Failure> {
    if !args.all {
        return args.lessons.iter().map(|name| global.lesson(name)).collect();
    }
    let library = global.library()?;
    match library.broken.into_iter().next() {
        Some(broken) => Err(broken.into()),
        None => Ok(library.lessons),
    }
}

/// One run: on real servers, or the carried recording if that is asked for. With the options for `proofs`, also explores
/// every order if the variant claims something about all of them.
async fn report(
    global: &Global,
    scenario: &Scenario,
    options: &LabOptions,
    proofs: Option<&LabOptions>,
) -> Result<RunReport, Failure> {
    if global.recorded {
        // The carried recording is judged by the current claims.
        let began = Instant::now();
        return Ok(RunReport::of(scenario, carried::open(scenario)?.log, began));
    }
    let named = |error| in_variant(scenario, error);
    unless_interrupted(Box::pin(async {
        let mut report = session::run_story(scenario, options, global.seed).await.map_err(named)?;
        if let Some(proofs) = proofs {
            explore_claim::prove(scenario, proofs, &mut report).await.map_err(named)?;
        }
        Ok(report)
    }))
    .await
}

/// A mistake of the lesson with the name of the variant: several may share the line that it points at.
fn in_variant(scenario: &Scenario, error: RunError) -> RunError {
    match error {
        RunError::Lesson(mut mistake) if scenario.loaded.lesson.variants.len() > 1 => {
            let (variant, message) = (&scenario.variant, mistake.message);
            mistake.message =
                both!("in the variant `{variant}`, {message}", "变体 `{variant}`：{message}", message);
            RunError::Lesson(mistake)
        }
        other => other,
    }
}

pub(crate) fn log_of(global: &Global, scenario: &Scenario) -> Result<Log, Failure> {
    let options = global.lab_options()?;
    interrupt::listen(global.lang());
    let report = super::block_on(report(global, scenario, &options, None))?;
    Ok(report.log)
}

/// The file of each run's recording. Fails unless all of them can be written and none is of another origin.
fn recording_files(
    global: &Global,
    path: &Path,
    scenarios: &[Scenario],
    force: bool,
) -> Result<Vec<PathBuf>, Failure> {
    let in_directory = scenarios.len() != 1 || path.is_dir();
    if in_directory && !scenarios.is_empty() {
        std::fs::create_dir_all(path).map_err(|error| {
            Failure::usage(format!("{}: {error}; several runs are recorded in a directory", path.display()))
        })?;
    }
    let file = |scenario| {
        let name = carried::file_name(scenario);
        let file = if in_directory { path.join(&name) } else { path.to_owned() };
        output::claim(global, &file, force, &name, recording::is_recording)?;
        Ok(file)
    };
    scenarios.iter().map(file).collect()
}

/// Whether a file is a recording of this very scenario that still proves what the lesson claims.
fn is_fresh(file: &Path, scenario: &Scenario) -> bool {
    recording::read(file).is_ok_and(|mut recording| {
        recording.header.belongs_to(scenario)
            && recording.fit(scenario).is_ok()
            && verdict::judge(scenario, &recording.log).outcome != Outcome::NotShown
    })
}

fn json_line(scenario: &Scenario, report: &RunReport, args: &RunArgs, repetition: u32) -> Value {
    let Verdict { outcome, claims } = &report.verdict;
    let claims = claims.iter().map(|claim| {
        json!({
            "claim": claim.claim, "says": claim.says, "expected": claim.expected.en, "observed": claim.observed.en,
            "holds": claim.holds, "evidence": claim.evidence,
        })
    });
    let mut line = json!({
        "lesson": scenario.loaded.lesson.id,
        "variant": scenario.variant,
        "clock": report.clock,
        "lesson_ms": millis(report.lesson),
        "wall_ms": millis(report.wall),
        "claims": claims.collect::<Vec<_>>(),
        "verdict": outcome,
    });
    if let Some(why) = &report.wall_clock {
        line["clock_why"] = why.to_string().into();
    }
    if args.repeat.is_some() {
        line["repetition"] = repetition.into();
    }
    if args.events {
        line["events"] = serde_json::to_value(report.log.events()).unwrap_or_default();
    }
    line
}

/// What is said in JSON of one of several runs that could not be finished.
fn failed_line(scenario: &Scenario, failure: &Failure, args: &RunArgs, repetition: u32) -> Value {
    let mut line = json!({
        "lesson": scenario.loaded.lesson.id,
        "variant": scenario.variant,
        "error": failure.message.en,
    });
    if args.repeat.is_some() {
        line["repetition"] = repetition.into();
    }
    line
}

/// The most lines of evidence for one claim.
const EVIDENCE: usize = 3;

fn summary(scenario: &Scenario, report: &RunReport, lang: Lang) -> String {
    let outcome = words::outcome(report.verdict.outcome).get(lang);
    let title = scenario.fill(&scenario.variant().title);
    // The title must stay on one line, whatever its author wrote.
    let title = printable::line(title.get(lang));
    let (lesson, wall) = (report.lesson.as_secs_f64(), report.wall.as_secs_f64());
    let (lesson, wall) = (format!("{lesson:.1}"), format!("{wall:.2}"));
    let mut lines = vec![words::RAN.with(
        lang,
        &[&text::pad(outcome, 14), &scenario.loaded.lesson.id, &scenario.variant, &title, &lesson, &wall],
    )];
    for claim in &report.verdict.claims {
        let mark = if claim.holds { "✓" } else { "✗" };
        let observed = words::OBSERVED.with(lang, &[claim.observed.get(lang)]);
        let expected =
            if claim.holds { String::new() } else { words::EXPECTED.with(lang, &[claim.expected.get(lang)]) };
        match &claim.says {
            Some(says) => {
                lines.push(format!("    {mark} {}", says.get(lang)));
                lines.push(format!("        {}{}{observed}{expected}", claim.claim, lang.colon()));
            }
            None => lines.push(format!("    {mark} {}{}{observed}{expected}", claim.claim, lang.colon())),
        }
        let evidence = evidence(&report.log, &claim.claim, &claim.evidence, EVIDENCE);
        lines.extend(evidence.iter().map(|text| format!("        ↳ {}", text.get(lang))));
    }
    let proven = report.verdict.claims.iter().any(|claim| claim.claim.starts_with("explore: "));
    if scenario.variant().explore.is_some() && !proven {
        lines.push(format!("    ? {}", words::NOT_EXPLORED.get(lang)));
    }
    lines.join("\n")
}
