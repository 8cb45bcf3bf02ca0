//! `lockstep doctor`: what this machine has and lacks, and whether time can be stopped on it.

use std::io::{BufRead, IsTerminal, Write};

use super::{
    Failure, Global, INTERRUPTED, OK, SERVER,
    interrupt::{self, interrupted},
    words,
};
use crate::{
    engine::EngineError,
    lab::{chinese, doctor::report, install::InstallPlan},
    lesson::{Lang, Words},
};

/// Reports, and installs what is missing where that is asked for.
pub(super) fn doctor(global: &Global, install: bool, yes: bool) -> Result<u8, Failure> {
    let options = global.lab_options()?;
    let lang = global.lang();
    if install {
        let programs = crate::lab::doctor::programs(&options.search);
        match InstallPlan::new(&programs, &options.search)
            .map_err(|error| Failure::server(EngineError::from(error).text()))?
        {
            None if !global.json => println!("{}", words::NOTHING_MISSING.get(lang)),
            None => {}
            Some(plan) => {
                eprintln!("{}", plan_words(&plan, lang));
                if !yes && !asked(words::INSTALL_THIS, lang)? {
                    return Err(Failure::server(words::NOTHING_INSTALLED.text(&[])));
                }
                plan.run()
                    .map_err(|error| Failure::server(EngineError::from(error).text()))?;
            }
        }
    }
    interrupt::listen(lang);
    let report = super::block_on(async {
        tokio::select! {
            report = report(&options) => Ok(report),
            signal = interrupted() => Err(Failure { message: words::ENDED_BY.text(&[signal]), code: INTERRUPTED }),
        }
    })?;
    if global.json {
        println!("{}", serde_json::to_string(&report).unwrap_or_default());
    } else {
        match lang {
            Lang::En => println!("{report}"),
            Lang::Zh => println!("{}", chinese::report(&report)),
        }
    }
    Ok(if report.healthy() { OK } else { SERVER })
}

/// What would be installed.
pub(super) fn plan_words(plan: &InstallPlan, lang: Lang) -> String {
    match lang {
        Lang::En => plan.to_string(),
        Lang::Zh => chinese::plan(plan),
    }
}

/// Asks the user at the terminal. Without one nobody can answer, and the answer is an error that says so.
pub(super) fn asked(question: Words, lang: Lang) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        let mut message = question.text(&[]);
        message.en.push_str(words::NOBODY_INSTALLS.get(Lang::En));
        message.zh.push_str(words::NOBODY_INSTALLS.get(Lang::Zh));
        return Err(Failure::server(message));
    }
    eprint!("{} [Y/n] ", question.get(lang));
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
