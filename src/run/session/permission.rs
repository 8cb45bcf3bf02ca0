//! What is checked before a lesson's own programs are started.

use super::{NotTrusted, RunError};
use crate::{
    lab::LabOptions,
    lesson::{Params, Scenario},
    printable,
};

/// Checks that the user trusts the lesson, in its place and its current state, if it brings programs.
pub(super) fn check_trusted(scenario: &Scenario, options: &LabOptions) -> Result<(), RunError> {
    let loaded = &scenario.loaded;
    if !scenario.brings_programs() || loaded.carried {
        return Ok(());
    }
    let why = match loaded.covered() {
        Ok(covered) => match options.trusted.get(&covered.file) {
            Some(digest) if *digest == covered.digest => return check_commands(scenario, &options.set),
            Some(_) => NotTrusted::Changed,
            None => NotTrusted::NotAllowed,
        },
        Err(why) => NotTrusted::NotCovered(why),
    };
    let commands: Vec<String> = loaded.commands().iter().map(|words| printable::command(words)).collect();
    Err(RunError::NotTrusted { file: loaded.source.file.clone(), commands: commands.join("; "), why })
}

/// Checks that every command is one that the lesson yields with its own parameters or the user's. The
/// parameters of a recording, which may come from a stranger, must not choose any word of a command.
fn check_commands(scenario: &Scenario, set: &Params) -> Result<(), RunError> {
    let Scenario { loaded, variant, overrides, .. } = scenario;
    let mut own = set.clone();
    own.retain(|name, _| overrides.contains_key(name));
    if own == *overrides {
        return Ok(());
    }
    let allowed = Scenario::plan(loaded, variant, &own)?;
    let is_allowed = |words: &Vec<String>| allowed.commands().any(|command| command == words);
    match scenario.commands().find(|words| !is_allowed(words)) {
        Some(words) => Err(RunError::CommandOfRecording { command: printable::command(words) }),
        None => Ok(()),
    }
}

pub(super) fn check_libraries(scenario: &Scenario, options: &LabOptions) -> Result<(), RunError> {
    let missing = options.installed.missing(scenario.libraries(), &options.search);
    if missing.is_empty() {
        return Ok(());
    }
    Err(RunError::MissingLibraries { lesson: scenario.loaded.lesson.id.clone(), missing })
}
