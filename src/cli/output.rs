//! The files that a command will write: checked before the first server starts, and never overwritten without
//! asking.

use std::{
    io::{Read as _, Write as _},
    path::Path,
};

use super::{Failure, Global, print, words};
use crate::{
    files::{self, Kind, Output, Umask, Unwritable},
    text::{Text, Words},
};

/// The number of bytes that are read of a file to determine what made it.
const BEGINNING: u64 = 64 << 10;

/// Checks that a file can be written, and that it overwrites nothing of another origin unless the user
/// agrees. `example` is a file name for the message to a user who gave a directory; `ours` says whether a
/// file was made by the same command.
pub(crate) fn claim(
    global: &Global,
    path: &Path,
    force: bool,
    example: &str,
    ours: impl FnOnce(&Path) -> bool,
) -> Result<Output, Failure> {
    let shown = path.display().to_string();
    let refused = |error: Unwritable| unwritable(path, example, error);
    let output = Output::new(path).map_err(refused)?;
    if let Some(there) = output.replaces()
        && !force
        && !ours(there)
        && print::ask(&words::OVERWRITE.with(global.lang(), &[&shown]), false)? != Some(true)
    {
        return Err(Failure::usage(words::NOT_OVERWRITTEN.text(&[&shown])));
    }
    output.check_writable().map_err(refused)?;
    Ok(output)
}

/// Writes the text of a file that was claimed.
pub(crate) fn write(file: &Output, path: &Path, text: &str) -> Result<(), Failure> {
    let written = file.write(|out| out.write_all(text.as_bytes()));
    written.map_err(|error| Failure::of_file(words::NO_PICTURE, path, &error))
}

/// The beginning of a file as text, or an empty text if it cannot be read.
pub(crate) fn beginning(path: &Path) -> String {
    let mut bytes = Vec::new();
    let read = files::open(path).and_then(|file| file.take(BEGINNING).read_to_end(&mut bytes));
    read.map_or_else(|_| String::new(), |_| String::from_utf8_lossy(&bytes).into_owned())
}

fn unwritable(path: &Path, example: &str, error: Unwritable) -> Failure {
    let shown = path.display().to_string();
    let other = |kind: Words| Text::from_fn(|lang| words::IRREGULAR.with(lang, &[&shown, kind.get(lang)]));
    Failure::usage(match error {
        Unwritable::Irregular(Kind::Directory) => {
            words::IS_DIRECTORY.text(&[&shown, &path.join(example).display().to_string()])
        }
        Unwritable::Irregular(Kind::Fifo) => other(words::NAMED_PIPE),
        Unwritable::Irregular(Kind::Socket) => other(words::SOCKET),
        Unwritable::Irregular(Kind::Device) => other(words::DEVICE),
        Unwritable::Dangling(target) => words::DANGLING.text(&[&shown, &target.display().to_string()]),
        Unwritable::NoDirectory(folder) => {
            let folder = folder.display().to_string();
            words::NO_DIRECTORY.text(&[&shown, &folder, &folder])
        }
        Unwritable::Umask(mask) => return umask(mask),
        Unwritable::System(error) => words::NO_PICTURE.text(&[&shown, &error.to_string()]),
    })
}

/// The error for a umask with which the user could not read what is written.
pub(crate) fn umask(Umask(mask): Umask) -> Failure {
    Failure::usage(words::UMASK.text(&[&format!("{mask:03o}")]))
}
