//! `lockstep trust`: allows a lesson to start programs of its own.

use std::{collections::BTreeMap, path::PathBuf};

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Failure, Global, OK, print, words};
use crate::{
    lesson::library::load_file,
    printable,
    ui::state::user_file::{Content, Kept, Trouble},
};

/// Which lesson.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// The lesson's file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Allows it no longer
    #[arg(long)]
    revoke: bool,
}

/// The lessons that a user has allowed to start programs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trusted {
    /// The digests of lessons with the files that their commands name, by the lessons' paths.
    pub(crate) lessons: BTreeMap<String, String>,
}

impl Content for Trusted {
    const FILE: &str = "trusted.json";
    const FORMAT: u32 = 1;
}

pub(crate) fn trust(global: &Global, args: &TrustArgs) -> Result<u8, Failure> {
    let loaded = load_file(&args.file)?;
    let path = args.file.canonicalize()?.display().to_string();
    let (mut kept, trouble) = Kept::<Trusted>::open();
    let failed = |trouble: Trouble| Failure::usage(words::TRUST_NOT_KEPT.text(&[&format!("{trouble:?}")]));
    if let Some(trouble @ (Trouble::Newer(_) | Trouble::Unkept(_))) = trouble {
        return Err(failed(trouble));
    }
    let lang = global.lang();
    let commands: Vec<String> =
        loaded.commands().iter().map(|words| printable::line(&words.join(" ")).into_owned()).collect();
    if args.revoke || commands.is_empty() {
        kept.change(|trusted| drop(trusted.lessons.remove(&path))).map_err(failed)?;
        let words = if args.revoke { words::REVOKED } else { words::STARTS_NOTHING };
        if global.json {
            print::json(&json!({ "file": path, "commands": commands, "trusted": false }))?;
        } else {
            print::line(&words.with(lang, &[&args.file.display().to_string()]))?;
        }
        return Ok(OK);
    }
    let digest = loaded.digest()?;
    kept.change(|trusted| drop(trusted.lessons.insert(path.clone(), digest.clone()))).map_err(failed)?;
    let files: Vec<String> = std::iter::once(args.file.clone())
        .chain(loaded.files_of_commands())
        .map(|file| file.display().to_string())
        .collect();
    if global.json {
        print::json(&json!({ "file": path, "commands": commands, "files": files, "trusted": true }))?;
    } else {
        let commands = format!("\n  {}", commands.join("\n  "));
        print::line(&words::TRUSTED.with(lang, &[&commands, &files.join(", ")]))?;
    }
    Ok(OK)
}
