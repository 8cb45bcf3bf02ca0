//! `lockstep new`: writes a lesson to start from. It runs as it is, so that an author changes something that
//! works.

use std::path::PathBuf;

use super::{Failure, Global, OK, output, print, words};
use crate::{files, lesson::plan::is_well_formed};

const TEMPLATE: &str = include_str!("../../assets/new-lesson.yaml");

/// Writes `NAME.yaml` into the lessons directory, or into the current one.
pub(crate) fn new(global: &Global, name: &str) -> Result<u8, Failure> {
    if !is_well_formed(name) {
        return Err(Failure::usage(words::BAD_NAME.text(&[name])));
    }
    files::check_umask().map_err(output::umask)?;
    let directory = global.lessons.clone().unwrap_or_else(|| PathBuf::from("."));
    let path = directory.join(format!("{name}.yaml"));
    let text = TEMPLATE.replace("id: my-lock", &format!("id: {name}"));
    let shown = path.display().to_string();
    let written = std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
    written.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes())).map_err(|error| {
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            return Failure::usage(words::EXISTS_ALREADY.text(&[&shown]));
        }
        Failure::of_file(words::NOT_WRITTEN, &path, &error)
    })?;
    let path = shown;
    print::line(&words::WRITTEN.with(global.lang(), &[&path]))?;
    print::line(&format!("    lockstep check {path}\n    lockstep run {path}\n    lockstep play {path}"))?;
    Ok(OK)
}
