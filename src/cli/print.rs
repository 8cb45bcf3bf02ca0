//! All output of the command line.
//!
//! **Architecture Invariant:** nothing else in the command line touches standard output or standard error
//! (clippy denies it). No text of a lesson, a reply, a file name or an argument can control a terminal, and a
//! reader that closes standard output early is no error.

#![expect(clippy::disallowed_methods, reason = "the only place that writes to the terminal")]

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use clap::error::ErrorKind;
use serde_json::{Value, json};

use super::{Failure, OK, USAGE};
use crate::{
    lesson::LessonError,
    printable,
    text::{Lang, Text},
};

/// The exit code when the reader of standard output has closed it, as a shell reports a program that SIGPIPE
/// ended.
pub(crate) const UNREAD: u8 = 141;

/// Prints one or more lines on standard output.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    document(&format!("{text}\n"))
}

/// Prints a JSON value as one line on standard output.
pub(crate) fn json(value: &Value) -> Result<(), Failure> {
    document(&format!("{}\n", printable::json(&value.to_string())))
}

/// Prints a mistake in a file that the user wrote: a JSON object on standard output, or a text on standard
/// error.
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

/// Prints a whole text, such as a picture, on standard output.
pub(crate) fn document(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = out.write_all(printable::lines(text).as_bytes());
    unless_closed(written.and_then(|()| out.flush()))
}

fn unless_closed(written: io::Result<()>) -> Result<(), Failure> {
    written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure { message: Text::default(), code: UNREAD },
        _ => Failure::usage(format!("standard output cannot be written: {error}")),
    })
}

/// Prints one or more lines on standard error. Errors are ignored: the terminal may be gone, and there is no
/// other place to report that.
pub(crate) fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable::lines(text));
}

/// Prints a message of the program itself on standard error.
pub(crate) fn complain(text: &str) {
    tell(&format!("lockstep: {text}"));
}

/// Whether there is a terminal to draw on and to read keys from.
pub(crate) fn has_screen() -> bool {
    io::stdout().is_terminal() && io::stdin().is_terminal()
}

/// Whether standard error is a terminal.
pub(crate) fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// Overwrites the last line on standard error.
pub(crate) fn overwrite(line: &str) {
    // Returns to the first column, prints the line, and erases what is behind it.
    let _ = write!(io::stderr(), "\r{}\x1b[K", printable::line(line));
}

/// Asks a question at the terminal. Returns `None` if there is no terminal to answer at. `usual` is the
/// meaning of an empty line.
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
        // The end of the input is no answer, least of all a yes.
        tell("");
        return Ok(Some(false));
    }
    let answer = answer.trim().to_lowercase();
    let yes = matches!(answer.as_str(), "y" | "yes" | "是") || (usual && answer.is_empty());
    Ok(Some(yes))
}

/// Waits until the user presses Enter.
pub(crate) fn wait_for_enter(words: &str) -> io::Result<()> {
    let mut err = io::stderr();
    write!(err, "{} ", printable::lines(words))?;
    err.flush()?;
    io::stdin().lock().read_line(&mut String::new()).map(drop)
}

/// Prints help, the version, or what is wrong with the arguments. Returns the exit code.
pub(crate) fn usage(said: &clap::Error, lang: Lang) -> Result<u8, Failure> {
    // Escape sequences in an argument could not be told from those of clap's colours, so there are no colours
    // then.
    let quoted = std::env::args_os().chain(std::env::var_os(super::LESSONS));
    let mut quoted = quoted.map(|word| word.to_string_lossy().into_owned());
    let coloured = quoted.all(|word| word.chars().all(printable::is_harmless));
    let is_help = matches!(said.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let chinese = match (lang, said.kind()) {
        (Lang::Zh, ErrorKind::DisplayHelp) => super::help::in_chinese(std::env::args_os()),
        (Lang::Zh, _) => super::usage::in_chinese(said),
        _ => None,
    };
    if let Some(words) = chinese {
        if is_help {
            document(&words)?;
        } else {
            tell(&words);
        }
    } else if coloured {
        let printed = unless_closed(said.print());
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
