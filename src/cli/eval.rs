//! `lockstep eval`: evaluates an expression on a finished run.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{Failure, Global, OK, print, run};
use crate::{
    lesson::Scenario,
    recording::{self, Recording},
    verdict,
};

/// What to evaluate.
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// The lesson's name, the path of a lesson file, or a recording
    lesson: String,
    /// The expression, as in claims: `value('lock')`, `at('B.acquire') - at('A.release')`
    expression: String,
}

/// The most lines of evidence.
const EVIDENCE: usize = 5;

pub(crate) fn eval(global: &Global, args: &EvalArgs) -> Result<u8, Failure> {
    let path = PathBuf::from(&args.lesson);
    let recorded = if recording::is_recording(&path) { Some(recording::read(&path)?) } else { None };
    let scenario = if let Some(Recording { header, .. }) = &recorded {
        if let Some(attached) = &header.attached {
            crate::run::attach::scenario(attached)?
        } else {
            Scenario::plan(&global.lesson(&header.lesson)?, &header.variant, &header.params)?
        }
    } else {
        let loaded = global.lesson(&args.lesson)?;
        Scenario::plan(&loaded, &global.variant_of(&loaded), &global.overrides())?
    };
    // A mistake in the expression is reported before anything is started.
    let expr = scenario.expression(&args.expression)?;
    let log = match recorded {
        Some(mut recording) => {
            recording.fit(&scenario)?;
            recording.log
        }
        None => run::log_of(global, &scenario)?,
    };
    let found = verdict::value(&scenario, &log, &expr)
        .map_err(|message| scenario.wrong_expression(&args.expression, message, None))?;
    if global.json {
        print::json(&json!({
            "lesson": scenario.loaded.lesson.id,
            "variant": scenario.variant,
            "expression": args.expression,
            "value": found.json,
            "evidence": found.evidence,
        }))?;
        return Ok(OK);
    }
    print::line(found.text.get(global.lang()))?;
    for line in verdict::evidence(&log, &args.expression, &found.evidence, EVIDENCE) {
        print::line(&format!("    ↳ {}", line.get(global.lang())))?;
    }
    Ok(OK)
}
