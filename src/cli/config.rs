//! `lockstep config`: prints or checks the configuration file.

use serde_json::json;

use super::{Failure, Global, OK, USAGE, print};
use crate::config::{self, Config};

/// Prints a whole configuration file with the defaults, or reports what is wrong with the user's.
pub(crate) fn config(global: &Global, check: bool) -> Result<u8, Failure> {
    let path = global.config.clone().or_else(Config::path);
    let shown =
        path.as_deref().map_or_else(|| "nowhere: there is no home directory".to_owned(), config::short);
    if !check {
        return print::document(&config::file(&shown)).map(|()| OK);
    }
    let mistakes = &global.settings.mistakes;
    for mistake in mistakes {
        print::mistake(mistake, global.lang(), global.json)?;
    }
    if !mistakes.is_empty() {
        return Ok(USAGE);
    }
    let exists = path.is_some_and(|path| path.exists());
    if global.json {
        print::json(&json!({ "file": shown, "ok": true, "exists": exists }))?;
    } else if exists {
        print::line(&format!("{shown}: good"))?;
    } else {
        print::line(&format!("{shown} does not exist; `lockstep config` prints what could stand there"))?;
    }
    Ok(OK)
}
