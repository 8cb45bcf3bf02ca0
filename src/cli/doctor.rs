//! `lockstep doctor`: reports what is installed on this machine and what is missing, and whether time can be
//! stopped on it.

use super::{
    Failure, Global, OK, SERVER,
    interrupt::{self, unless_interrupted},
    print, words,
};
use serde_json::json;

use crate::{
    lab::{
        LabError, LabOptions,
        doctor::{programs, report},
        install::{InstallPlan, prepare},
    },
    lesson::{Language, Libraries, library::carried_libraries},
    run::session::RunError,
    text::{Lang, Words},
};

pub(crate) fn doctor(global: &Global, install: bool, with: &[Language], yes: bool) -> Result<u8, Failure> {
    let options = global.lab_options()?;
    let lang = global.lang();
    let mut libraries = Libraries::new();
    if !with.is_empty() {
        libraries = carried_libraries();
        libraries.retain(|language, _| with.contains(language));
    }
    if install {
        match plan(&options, &libraries).map_err(|error| Failure::server(RunError::from(error).text()))? {
            None if !global.json => print::line(words::NOTHING_MISSING.get(lang))?,
            None => {}
            Some(plan) => {
                print::tell(plan.text().get(lang));
                if !yes && !asked(words::INSTALL_THIS, lang)? {
                    return Err(Failure::server(words::NOTHING_INSTALLED.text(&[])));
                }
                plan.run().map_err(|error| Failure::server(RunError::from(error).text()))?;
            }
        }
    }
    interrupt::listen(lang);
    let report = super::block_on(unless_interrupted(async {
        if install {
            prepare(&options).await;
        }
        Ok(report(&options).await)
    }))?;
    let missing = options.installed.missing(&libraries, &options.search);
    if global.json {
        let mut json = serde_json::to_value(&report).unwrap_or_default();
        if !with.is_empty() {
            json["libraries"] = json!({ "needed": libraries, "missing": missing.0 });
        }
        print::json(&json)?;
    } else {
        let report = report.text();
        print::line(&[report.get(lang), &libraries_words(&options, &libraries, lang)].concat())?;
    }
    Ok(if report.healthy() && missing.is_empty() { OK } else { SERVER })
}

/// The plan to install the servers' programs and these libraries, or `None` if nothing is missing.
fn plan(options: &LabOptions, libraries: &Libraries) -> Result<Option<InstallPlan>, LabError> {
    let servers = InstallPlan::new(&programs(&options.search), &options.search)?;
    let libraries = options.installed.plan(libraries, &options.search)?;
    Ok([servers, libraries].into_iter().flatten().reduce(InstallPlan::and))
}

/// A line for each library that is installed, and one for those that are missing.
fn libraries_words(options: &LabOptions, libraries: &Libraries, lang: Lang) -> String {
    let missing = options.installed.missing(libraries, &options.search);
    let mut lines = String::new();
    for (language, all) in libraries {
        let at = options.installed.directory(*language).unwrap_or_default().display().to_string();
        let is_there = |name: &&String| !missing.0.iter().any(|library| library.name == **name);
        for name in all.keys().filter(is_there) {
            lines += &(words::LIBRARY_FOUND.with(lang, &[name, &all[name], &at]) + "\n");
        }
    }
    if !missing.is_empty() {
        lines += &(words::LIBRARY_MISSING.with(lang, &[missing.text().get(lang)]) + "\n");
    }
    lines
}

/// Asks the user at the terminal. Without a terminal nobody can answer, which is reported as an error.
pub(crate) fn asked(question: Words, lang: Lang) -> Result<bool, Failure> {
    print::ask(question.get(lang), true)?.ok_or_else(|| {
        let mut message = question.text(&[]);
        message.en.push_str(words::NOBODY_INSTALLS.get(Lang::En));
        message.zh.push_str(words::NOBODY_INSTALLS.get(Lang::Zh));
        Failure::server(message)
    })
}
