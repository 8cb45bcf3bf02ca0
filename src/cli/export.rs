//! `lockstep export`: writes pictures of runs to files.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::{Failure, Global, NOT_SHOWN, OK, attach, output, play, print, run, words};
use crate::{
    export::{self, Finished, Format, Look, Moment},
    lesson::Scenario,
    log::Log,
    recording::{self, Recording},
    ui::{state::screen::DiagramKind, view::SMALLEST},
    verdict::{self, Outcome},
};

/// The largest screen that is drawn: columns and rows.
const LARGEST: (u16, u16) = (500, 200);

/// What to export, and how.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstep export oversell --variant lost-update --output oversell.html
  lockstep export unlock-someone-elses-lock --recorded --at 13 --size 100x30 --theme light > unlock.svg
  lockstep run zk-herd --variant herd --record herd.jsonl
  lockstep export herd.jsonl --format cast --lang zh --output herd.cast

Lockstep first runs the variant on real servers, unless you give a recording, or --recorded for the one that Lockstep \
carries. svg shows the end, with the verdict, or the moment of --at; html, cast, mermaid and json contain the whole run, \
or what happened up to that moment. Exit codes are those of `lockstep run`: 1 if a claim does not hold (the picture shows it).")]
pub struct ExportArgs {
    /// The lesson's name, the path of a lesson file, or a recording
    #[arg(value_name = "LESSON")]
    lesson: String,
    /// The format [default: by the ending of --output, or svg]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The moment: a step as the screen counts them (0 is before the first), a lesson time such as 3.2s or 420ms, or end
    #[arg(long, value_name = "N|TIME|end")]
    at: Option<Moment>,
    /// svg and cast: columns and rows of the screen
    #[arg(long, value_name = "COLUMNSxROWS", default_value = "120x40", value_parser = parse_size)]
    size: (u16, u16),
    /// svg and cast: draws the run as a timeline or as a sequence diagram
    #[arg(long, value_name = "timeline|sequence", default_value = "timeline", value_parser = parse_view)]
    view: DiagramKind,
    /// svg and cast: as on a projector, with spaced lines of the story and the timeline only
    #[arg(long)]
    present: bool,
    /// The file to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrites a file that Lockstep did not write in this format without asking
    #[arg(long, requires = "output")]
    force: bool,
}

fn parse_view(text: &str) -> Result<DiagramKind, String> {
    match text {
        "timeline" => Ok(DiagramKind::Timeline),
        "sequence" => Ok(DiagramKind::Sequence),
        _ => Err("write timeline or sequence".to_owned()),
    }
}

fn parse_size(text: &str) -> Result<(u16, u16), String> {
    let (least, most) = (SMALLEST, LARGEST);
    let size = text.split_once(['x', 'X', '×']).and_then(|(width, height)| {
        let size: (u16, u16) = (width.trim().parse().ok()?, height.trim().parse().ok()?);
        let fits = (least.0..=most.0).contains(&size.0) && (least.1..=most.1).contains(&size.1);
        fits.then_some(size)
    });
    size.ok_or_else(|| {
        format!(
            "write columns and rows such as 120x40, from {}x{} to {}x{}",
            least.0, least.1, most.0, most.1
        )
    })
}

pub(crate) fn export(global: &Global, args: &ExportArgs) -> Result<u8, Failure> {
    let format = args.format.map_or_else(|| named(args.output.as_deref()), Ok)?;
    // Every mistake that can be found without a server is reported before the first server starts.
    // Pictures go to standard output by default, and these are other names of it.
    let is_standard_output = |path: &Path| ["-", "/dev/stdout"].map(Path::new).contains(&path);
    let path = args.output.as_deref().filter(|path| !is_standard_output(path));
    let claim = |path| -> Result<_, Failure> {
        let ours = |there: &Path| format.wrote(&output::beginning(there));
        Ok((path, output::claim(global, path, args.force, "picture.svg", ours)?))
    };
    let output = path.map(claim).transpose()?;
    let (scenario, log) = source(global, &args.lesson)?;
    let log = log.map_or_else(|| run::log_of(global, &scenario), Ok)?;
    let finished = finished(&scenario, log);
    let outcome = finished.verdict.as_ref().map(|verdict| verdict.outcome);
    let look = Look {
        size: args.size,
        lang: global.lang(),
        theme: global.theme(),
        speed: global.speed(),
        questions: !global.no_questions,
        presenting: args.present,
        diagram: args.view,
    };
    let text = export::export(&finished, format, args.at, &look).map_err(Failure::usage)?;
    match output {
        Some((path, output)) => {
            output::write(&output, path, &text)?;
            if global.json {
                let done = json!({
                    "lesson": finished.entry.lesson.id, "variant": finished.variant_name(), "format": format,
                    "file": path, "bytes": text.len(), "verdict": outcome,
                });
                print::json(&done)?;
            }
        }
        None => print::document(&text)?,
    }
    if outcome == Some(Outcome::NotShown) {
        print::complain(words::SHOWS_NOT.get(global.lang()));
        return Ok(NOT_SHOWN);
    }
    Ok(OK)
}

/// The format for the extension of a file; a picture if it has none.
fn named(output: Option<&Path>) -> Result<Format, Failure> {
    let Some(ending) = output.and_then(Path::extension) else { return Ok(Format::Svg) };
    let ending = ending.to_string_lossy();
    Format::of_file(&format!(".{ending}")).ok_or_else(|| Failure::usage(words::NO_FORMAT.text(&[&ending])))
}

/// What to export: a scenario, and its log unless it has to be run. Every kind of the user's recordings is
/// handled here; the carried ones are treated as runs.
fn source(global: &Global, lesson: &str) -> Result<(Scenario, Option<Log>), Failure> {
    let path = Path::new(lesson);
    if recording::is_recording(path) {
        return recorded(global, lesson, recording::read(path)?);
    }
    let loaded = global.lesson(lesson)?;
    Ok((Scenario::plan(&loaded, &global.variant_of(&loaded), &global.overrides())?, None))
}

fn recorded(
    global: &Global,
    file: &str,
    mut recording: Recording,
) -> Result<(Scenario, Option<Log>), Failure> {
    let header = &recording.header;
    if let Some(other) = global.variant.as_ref().filter(|name| **name != header.variant) {
        let words = words::OTHER_VARIANT.text(&[file, &header.variant, other, &header.lesson]);
        return Err(Failure::usage(words));
    }
    if !global.set.is_empty() {
        return Err(Failure::usage(words::FIGURES_FIXED.text(&[file, &header.lesson])));
    }
    if let Some(attached) = header.attached.clone() {
        let (scenario, log) = attach::recorded(recording, &attached)?;
        return Ok((scenario, Some(log)));
    }
    if play::has_changed(&mut recording, &global.library()?)? {
        print::complain(&words::OUTDATED.with(global.lang(), &[file]));
    }
    let header = &recording.header;
    let loaded = global.lesson(&header.lesson)?;
    let scenario = Scenario::plan(&loaded, &header.variant, &header.params)?;
    Ok((scenario, Some(recording.log)))
}

fn finished(scenario: &Scenario, log: Log) -> Finished {
    let entry = if scenario.is_users() {
        attach::entry(scenario)
    } else {
        play::entry(&scenario.loaded, &scenario.overrides, true)
    };
    let variant = entry.variants.iter().position(|variant| variant.name == scenario.variant);
    Finished {
        entry,
        variant: variant.unwrap_or_default(),
        params: scenario.overrides.clone(),
        verdict: (!scenario.claims.is_empty()).then(|| verdict::judge(scenario, &log)),
        log,
    }
}
