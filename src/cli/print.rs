//! Everything that the command line writes.
//!
//! **Architecture Invariant:** nothing else in the command line touches standard output or standard error (clippy
//! denies it). What a lesson, a reply, a file name or an argument says acts on no terminal, and a reader who goes away
//! early is no error.

#![expect(clippy::disallowed_methods, reason = "this is the one place that writes")]

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use clap::error::ErrorKind;
use serde_json::{Value, json};

use super::{Failure, OK, USAGE};
use crate::{
    lesson::LessonError,
    printable,
    text::{Lang, Text},
};

/// As a shell reports a program that SIGPIPE ended: whoever reads standard output has gone.
pub(crate) const UNREAD: u8 = 141;

/// A line, or several, on standard output.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    document(&format!("{text}\n"))
}

/// A JSON value as one line of standard output.
pub(crate) fn json(value: &Value) -> Result<(), Failure> {
    document(&format!("{}\n", printable::json(&value.to_string())))
}

/// What is wrong with a file that somebody wrote: a JSON object on standard output, or words on standard error.
pub(crate) fn mistake(error: &LessonError, lang: Lang, as_json: bool) -> Result<(), Failure> {
    if !as_json {
        tell(&error.in_lang(lang));
        return Ok(());
    }
    let (line, column) = error.place.unzip();
    json(&json!({
        "file": error.file, "ok": false, "line": line, "column": column,
        "message": error.message.get(lang), "help": error.help.as_ref().map(|help| help.get(lang)),
    }))
}

/// A whole text, such as a picture, on standard output.
pub(crate) fn document(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = out.write_all(printable::lines(text).as_bytes());
    unless_unread(written.and_then(|()| out.flush()))
}

fn unless_unread(written: io::Result<()>) -> Result<(), Failure> {
    written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure { message: Text::default(), code: UNREAD },
        _ => Failure::usage(format!("standard output cannot be written: {error}")),
    })
}

/// A line, or several, on standard error. It may go nowhere: the terminal may be gone, and there is no other place to
/// say so.
pub(crate) fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable::lines(text));
}

/// Something that the program itself says, on standard error.
pub(crate) fn complain(text: &str) {
    tell(&format!("lockstep: {text}"));
}

/// Whether a terminal is there to draw on and to read keys from.
pub(crate) fn has_screen() -> bool {
    io::stdout().is_terminal() && io::stdin().is_terminal()
}

/// Whether somebody looks at standard error.
pub(crate) fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// A line of standard error that is written over the one before.
pub(crate) fn over(line: &str) {
    // Back to the first column, the line, and nothing behind it.
    let _ = write!(io::stderr(), "\r{}\x1b[K", printable::line(line));
}

/// Asks at the terminal: `Ok(None)` where nobody is there to answer. `usual` is what an empty line means.
pub(crate) fn ask(question: &str, usual: bool) -> io::Result<Option<bool>> {
    if !io::stdin().is_terminal() {
        return Ok(None);
    }
    let hint = if usual { "[Y/n]" } else { "[y/N]" };
    let mut err = io::stderr();
    write!(err, "{} {hint} ", printable::lines(question))?;
    err.flush()?;
    let mut answer = String::new();
    if io::stdin().lock().read_line(&mut answer)? == 0 {
        // The end of the input is no answer, and least of all a yes.
        tell("");
        return Ok(Some(false));
    }
    let answer = answer.trim().to_lowercase();
    let yes = matches!(answer.as_str(), "y" | "yes" | "是") || (usual && answer.is_empty());
    Ok(Some(yes))
}

/// Waits until whoever reads this presses Enter.
pub(crate) fn wait_for_enter(words: &str) -> io::Result<()> {
    let mut err = io::stderr();
    write!(err, "{} ", printable::lines(words))?;
    err.flush()?;
    io::stdin().lock().read_line(&mut String::new()).map(drop)
}

/// Help, the version, or what is wrong with the arguments.
pub(crate) fn usage(said: &clap::Error) -> Result<u8, Failure> {
    // Escape sequences of an argument could not be told from those of clap's colours: then there are no colours.
    let quoted = std::env::args_os().chain(std::env::var_os(super::LESSONS));
    let mut quoted = quoted.map(|word| word.to_string_lossy().into_owned());
    let coloured = quoted.all(|word| word.chars().all(printable::is_harmless));
    let is_help = matches!(said.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if coloured {
        let printed = unless_unread(said.print());
        if is_help {
            printed?;
        }
    } else if is_help {
        document(&said.to_string())?;
    } else {
        tell(said.to_string().trim_end());
    }
    Ok(u8::try_from(said.exit_code()).map_or(USAGE, |code| if is_help { OK } else { code }))
}
