//! `lockstep doctor`: what this machine has and lacks, and whether time can be stopped on it.

use super::{
    Failure, Global, OK, SERVER,
    interrupt::{self, interrupted},
    print, words,
};
use crate::{
    lab::{doctor::report, install::InstallPlan, report_zh},
    run::session::RunError,
    text::{Lang, Words},
};

pub(crate) fn doctor(global: &Global, install: bool, yes: bool) -> Result<u8, Failure> {
    let options = global.lab_options()?;
    let lang = global.lang();
    if install {
        let programs = crate::lab::doctor::programs(&options.search);
        match InstallPlan::new(&programs, &options.search)
            .map_err(|error| Failure::server(RunError::from(error).text()))?
        {
            None if !global.json => print::line(words::NOTHING_MISSING.get(lang))?,
            None => {}
            Some(plan) => {
                print::tell(&plan_words(&plan, lang));
                if !yes && !asked(words::INSTALL_THIS, lang)? {
                    return Err(Failure::server(words::NOTHING_INSTALLED.text(&[])));
                }
                plan.run().map_err(|error| Failure::server(RunError::from(error).text()))?;
            }
        }
    }
    interrupt::listen(lang);
    let report = super::block_on(async {
        tokio::select! {
            report = report(&options) => Ok(report),
            signal = interrupted() => Err(Failure::interrupted(signal)),
        }
    })?;
    if global.json {
        print::json(&serde_json::to_value(&report).unwrap_or_default())?;
    } else {
        match lang {
            Lang::En => print::line(&report.to_string())?,
            Lang::Zh => print::line(&report_zh::report(&report))?,
        }
    }
    Ok(if report.healthy() { OK } else { SERVER })
}

pub(crate) fn plan_words(plan: &InstallPlan, lang: Lang) -> String {
    match lang {
        Lang::En => plan.to_string(),
        Lang::Zh => report_zh::plan(plan),
    }
}

/// Asks the user at the terminal. Without one nobody can answer, and the answer is an error that says so.
pub(crate) fn asked(question: Words, lang: Lang) -> Result<bool, Failure> {
    print::ask(question.get(lang), true)?.ok_or_else(|| {
        let mut message = question.text(&[]);
        message.en.push_str(words::NOBODY_INSTALLS.get(Lang::En));
        message.zh.push_str(words::NOBODY_INSTALLS.get(Lang::Zh));
        Failure::server(message)
    })
}
