//! Why a recording cannot be read or written, and what to do about it.

use std::{io, path::PathBuf};

use super::{Bound, VERSION};
use crate::files::Unwritable;

#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{} was not written: {source}", path.display())]
    NotWritten { path: PathBuf, source: Unwritable },
    /// The file exceeds the bounds for reading.
    #[error("{}:{line}: the recording is too large: {bound}, and no run makes so much; record the run again", path.display())]
    TooLarge {
        path: PathBuf,
        /// The line that exceeds them, counted from 1.
        line: usize,
        bound: Bound,
    },
    /// The run exceeds the bounds for reading.
    #[error("{} was not written: the run is too long for a recording: {bound}; record it with a smaller crowd", path.display())]
    TooLong { path: PathBuf, bound: Bound },
    #[error("{}:1: this is no recording of Lockstep's; `lockstep run LESSON --variant NAME --record FILE` makes one", path.display())]
    NoRecording { path: PathBuf },
    #[error(
        "{}:1: the recording has format version {found} and this Lockstep reads versions 1 to {VERSION}; record the run \
         again with `lockstep run LESSON --variant NAME --record FILE`", path.display()
    )]
    OtherVersion { path: PathBuf, found: u64 },
    #[error("{}:{line}:{column}: the recording is damaged: {why}; record the run again", path.display())]
    Damaged { path: PathBuf, line: usize, column: usize, why: String },
    #[error(
        "{}:{line}: the recording is cut off: after {have} events its last line is missing; record the run again",
        path.display()
    )]
    CutOff {
        path: PathBuf,
        /// The line at which the file ends too early.
        line: usize,
        have: usize,
    },
    /// The lesson has other actors now.
    #[error(
        "the lesson `{lesson}` has changed since its variant `{variant}` was recorded: others take part in it now. \
         Record it again with `lockstep run {lesson} --variant {variant} --record FILE`"
    )]
    OtherActors { lesson: String, variant: String },
}
