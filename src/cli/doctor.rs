//! `lockstep doctor`: what this machine has and lacks, and whether time can be stopped on it.

use std::io::{BufRead, IsTerminal, Write};

use super::{Failure, Global, OK, SERVER};
use crate::lab::{doctor::report, install::InstallPlan};

/// Reports, and installs what is missing where that is asked for.
pub(super) fn doctor(global: &Global, install: bool, yes: bool) -> Result<u8, Failure> {
    let options = global.lab_options()?;
    if install {
        let programs = crate::lab::doctor::programs(&options.search);
        match InstallPlan::new(&programs, &options.search)
            .map_err(|error| Failure::server(error.to_string()))?
        {
            None if !global.json => println!("Nothing is missing."),
            None => {}
            Some(plan) => {
                eprintln!("{plan}");
                if !yes && !asked("Install this?")? {
                    return Err(Failure::server("nothing was installed"));
                }
                plan.run().map_err(|error| Failure::server(error.to_string()))?;
            }
        }
    }
    let report = super::runtime()?.block_on(report(&options));
    if global.json {
        println!("{}", serde_json::to_string(&report).unwrap_or_default());
    } else {
        println!("{report}");
    }
    Ok(if report.healthy() { OK } else { SERVER })
}

/// Asks the user at the terminal. Without one nobody can answer, and the answer is an error that says so.
pub(super) fn asked(question: &str) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::server(format!(
            "{question} Nobody is there to answer; add `--yes` to install unasked"
        )));
    }
    eprint!("{question} [Y/n] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    if std::io::stdin().lock().read_line(&mut answer)? == 0 {
        // The end of the input is no answer, and least of all a yes.
        eprintln!();
        return Ok(false);
    }
    Ok(matches!(
        answer.trim().to_lowercase().as_str(),
        "" | "y" | "yes" | "是"
    ))
}
