//! `lockstep config`: the configuration file, written out or checked.

use serde_json::json;

use super::{Global, OK, USAGE};
use crate::config::{self, Config};

/// Prints the whole file as it is without one, or says what is wrong with the user's.
pub(super) fn config(global: &Global, check: bool) -> u8 {
    let path = global.config.clone().or_else(Config::path);
    let shown = path
        .as_deref()
        .map_or_else(|| "nowhere: there is no home directory".to_owned(), config::short);
    if !check {
        print!("{}", config::file(&shown));
        return OK;
    }
    let mistakes = &global.chosen.mistakes;
    for mistake in mistakes {
        if global.json {
            let (line, column) = mistake.place.unzip();
            println!(
                "{}",
                json!({
                    "file": mistake.file, "ok": false, "line": line, "column": column,
                    "message": mistake.message, "help": mistake.help,
                })
            );
        } else {
            eprintln!("{mistake}");
        }
    }
    if !mistakes.is_empty() {
        return USAGE;
    }
    let exists = path.is_some_and(|path| path.exists());
    if global.json {
        println!("{}", json!({ "file": shown, "ok": true, "exists": exists }));
    } else if exists {
        println!("{shown}: good");
    } else {
        println!("{shown} does not exist; `lockstep config` prints what could stand there");
    }
    OK
}
