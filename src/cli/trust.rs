//! `lockstep trust`: allows a lesson to start programs of its own.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Failure, Global, OK, print, read_lesson, words};
use crate::{
    lesson::Covered,
    printable,
    text::{Lang, Text},
    ui::state::user_file::{self, Content, Trouble, UserFile},
};

/// The most commands and files that are listed.
const MOST_LISTED: usize = 20;

/// Which lesson.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// The lesson's file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Takes the permission back
    #[arg(long)]
    revoke: bool,
}

/// The lessons that a user has allowed to start programs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trusted {
    /// The digests of what was allowed, by the canonical path of each lesson's file.
    pub(crate) lessons: BTreeMap<String, String>,
}

impl Content for Trusted {
    const FILE: &str = "trusted.json";
    const FORMAT: u32 = 1;
}

pub(crate) fn trust(global: &Global, args: &TrustArgs) -> Result<u8, Failure> {
    let (mut kept, trouble) = UserFile::<Trusted>::open();
    let failed = |trouble: Trouble| Failure::usage(words::TRUST_NOT_KEPT.text(&[&format!("{trouble:?}")]));
    if let Some(trouble @ (Trouble::Newer(_) | Trouble::Unkept(_))) = trouble {
        return Err(failed(trouble));
    }
    let lang = global.lang();
    let named = args.file.display().to_string();
    // Revoking also works for a lesson that is gone or can no longer be read.
    let loaded = read_lesson(&args.file);
    let commands = loaded.iter().flat_map(|loaded| loaded.commands());
    let commands: Vec<String> = commands.map(printable::command).collect();
    if args.revoke || (loaded.is_ok() && commands.is_empty()) {
        let path = canonical_path(&args.file)?;
        kept.change(|trusted| drop(trusted.lessons.remove(&path))).map_err(failed)?;
        let words = if args.revoke { words::REVOKED } else { words::STARTS_NOTHING };
        if global.json {
            print::json(&json!({ "file": path, "commands": commands, "trusted": false }))?;
        } else {
            print::line(&words.with(lang, &[&named]))?;
        }
        return Ok(OK);
    }
    let refused = |why: Text| {
        Failure::usage(Text::from_fn(|lang| words::CANNOT_BE_ALLOWED.with(lang, &[&named, why.get(lang)])))
    };
    let covered = loaded?.covered().map_err(refused)?;
    if user_file::path(Trusted::FILE).is_some_and(|own| own.starts_with(&covered.directory)) {
        return Err(refused(words::OWN_FILES_BESIDE.text(&[])));
    }
    let Covered { file, directory, files, elsewhere, digest } = covered;
    kept.change(|trusted| drop(trusted.lessons.insert(file.clone(), digest.clone()))).map_err(failed)?;
    let files: Vec<String> = files
        .iter()
        .map(|file| directory.join(file))
        .chain(elsewhere)
        .map(|file| file.display().to_string())
        .collect();
    if global.json {
        print::json(&json!({ "file": file, "commands": commands, "files": files, "trusted": true }))?;
    } else {
        print::line(
            &words::TRUSTED
                .with(lang, &[&list(&commands, lang), &directory.display().to_string(), &list(&files, lang)]),
        )?;
    }
    Ok(OK)
}

/// Lists some items on lines of their own, and counts the others.
pub(super) fn list(all: &[String], lang: Lang) -> String {
    let more = all.len().saturating_sub(MOST_LISTED);
    let more = (more > 0).then(|| words::AND_MORE.with(lang, &[&more.to_string()]));
    let listed = all.iter().take(MOST_LISTED).map(|one| printable::line(one).into_owned());
    listed.chain(more).flat_map(|line| ["\n  ".to_owned(), line]).collect()
}

/// The canonical path of a file, which may be gone.
fn canonical_path(file: &Path) -> io::Result<String> {
    let file = file.canonicalize().or_else(|_| std::path::absolute(file))?;
    Ok(file.display().to_string())
}
