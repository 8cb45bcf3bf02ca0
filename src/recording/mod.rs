//! Finished runs in files: a recording is a log, with a first line that says of which lesson, and a last line
//! that says that it is whole. It must not know how a run is made or shown.
//!
//! The format is JSON, one object per line: [`Header`], then every event, then `{"end": N}` with the number of
//! events. A file whose name ends in `.gz` is that, compressed with gzip; reading tells them apart by what they
//! begin with.

pub mod carried;
mod error;

pub use error::RecordingError;

use std::{
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use flate2::{Compression, bufread::GzDecoder, write::GzEncoder};
use serde::{Deserialize, Serialize};

use crate::{
    clock::ClockKind,
    lesson::{Params, Scenario},
    log::{ActorId, Event, EventKind, Log},
};

/// The version of the format that is written and read.
pub const VERSION: u32 = 1;

/// The first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format. Its name tells a recording from any other file.
    pub lockstep_recording: u32,
    /// The lesson.
    pub lesson: String,
    /// Its variant.
    pub variant: String,
    /// What the user had set with `--set`.
    #[serde(default)]
    pub params: Params,
    /// The program that recorded it, as `0.1.0`.
    pub program: String,
    /// [`Scenario::fingerprint`] of what was run. Recordings made before there was one have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

impl Header {
    /// Whether it was recorded from this very scenario: same lesson, variant, figures, programs and story.
    #[must_use]
    pub fn belongs_to(&self, scenario: &Scenario) -> bool {
        self.lesson == scenario.loaded.lesson.id
            && self.variant == scenario.variant
            && self.fingerprint.as_ref() == Some(&scenario.fingerprint())
    }
}

/// A finished run, read from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// Of which lesson.
    pub header: Header,
    /// What happened. Its clock is [`ClockKind::Recorded`].
    pub log: Log,
}

impl Recording {
    /// Makes it ready to be judged as a run of this scenario, if the same take part. The lesson may have changed since
    /// it was recorded.
    ///
    /// # Errors
    /// [`RecordingError::OtherCast`].
    pub fn fit(&mut self, scenario: &Scenario) -> Result<(), RecordingError> {
        let planned: Vec<_> = scenario.actors.iter().map(|plan| &plan.actor).collect();
        if self.log.actors().iter().eq(planned) {
            self.note_releases(scenario);
            return Ok(());
        }
        Err(RecordingError::OtherCast {
            lesson: self.header.lesson.clone(),
            variant: self.header.variant.clone(),
        })
    }

    /// Recordings made before commands said which locks they release: the programs tell.
    fn note_releases(&mut self, scenario: &Scenario) {
        let says =
            |event: &Event| matches!(&event.kind, EventKind::Sent { releases, .. } if !releases.is_empty());
        if self.log.events().iter().any(says) {
            return;
        }
        let mut events = self.log.events().to_vec();
        for event in &mut events {
            if let EventKind::Sent {
                actor,
                label,
                releases,
                ..
            } = &mut event.kind
                && let Some(plan) = scenario.actors.get(actor.0 as usize)
            {
                *releases = plan.program.released_by(label).to_vec();
            }
        }
        self.log = Log::new();
        self.log.extend(events);
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    end: usize,
}

/// What a gzip file begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Whether a file begins like a recording. A lesson never does.
#[must_use]
pub fn looks_like_one(path: &Path) -> bool {
    let Ok(file) = fs::File::open(path) else {
        return false;
    };
    let Ok(text) = plain(BufReader::new(file)) else {
        return false;
    };
    let mut start = Vec::new();
    // Long enough for the first key, short enough for any file.
    let read = text.take(64).read_to_end(&mut start);
    read.is_ok() && String::from_utf8_lossy(&start).starts_with("{\"lockstep_recording\"")
}

/// The text of a file that may be compressed.
fn plain<'a>(mut file: impl BufRead + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    if file.fill_buf()?.starts_with(&GZIP) {
        return Ok(Box::new(BufReader::new(GzDecoder::new(file))));
    }
    Ok(Box::new(file))
}

/// Writes a finished run, compressed where the file's name ends in `.gz`. The file is whole or not there at all.
///
/// # Errors
/// [`RecordingError::File`].
pub fn write(path: &Path, scenario: &Scenario, log: &Log) -> Result<(), RecordingError> {
    let header = Header {
        lockstep_recording: VERSION,
        lesson: scenario.loaded.lesson.id.clone(),
        variant: scenario.variant.clone(),
        params: scenario.overrides.clone(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        fingerprint: Some(scenario.fingerprint()),
    };
    let write = || -> io::Result<()> {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        // Readable as the user's own new files are: the umask takes away what they are not.
        let everybody = fs::Permissions::from_mode(0o666);
        let mut file = tempfile::Builder::new()
            .permissions(everybody)
            .tempfile_in(folder)?;
        let out = io::BufWriter::new(file.as_file_mut());
        if path.extension().is_some_and(|ending| ending == "gz") {
            let mut out = GzEncoder::new(out, Compression::best());
            lines(&header, log, &mut out)?;
            out.finish()?.flush()?;
        } else {
            let mut out = out;
            lines(&header, log, &mut out)?;
            out.flush()?;
        }
        file.persist(path).map(drop).map_err(|error| error.error)
    };
    write().map_err(|source| RecordingError::File {
        path: path.to_owned(),
        source,
    })
}

fn lines(header: &Header, log: &Log, out: &mut impl Write) -> io::Result<()> {
    let mut line = |value: serde_json::Result<String>| writeln!(out, "{}", value?);
    line(serde_json::to_string(header))?;
    for event in log.events() {
        line(serde_json::to_string(event))?;
    }
    line(serde_json::to_string(&End { end: log.len() }))
}

/// Reads a recording.
///
/// # Errors
/// Whatever [`RecordingError`] names, with file and line.
pub fn read(path: &Path) -> Result<Recording, RecordingError> {
    let file = |source| RecordingError::File {
        path: path.to_owned(),
        source,
    };
    let text = plain(BufReader::new(fs::File::open(path).map_err(file)?)).map_err(file)?;
    parse(text, path)
}

/// Reads the first line.
fn header(first: &str, path: &Path) -> Result<Header, RecordingError> {
    let version = serde_json::from_str::<serde_json::Value>(first).ok();
    let found = version
        .as_ref()
        .and_then(|first| first["lockstep_recording"].as_u64())
        .ok_or_else(|| RecordingError::NoRecording {
            path: path.to_owned(),
        })?;
    if found != u64::from(VERSION) {
        let path = path.to_owned();
        return Err(RecordingError::OtherVersion { path, found });
    }
    serde_json::from_str(first).map_err(|error| damaged(path, 1, &error))
}

fn damaged(path: &Path, line: usize, error: &serde_json::Error) -> RecordingError {
    let why = error.to_string();
    RecordingError::Damaged {
        path: path.to_owned(),
        line,
        column: error.column().max(1),
        why: why.split(" at line ").next().unwrap_or_default().to_owned(),
    }
}

fn parse(text: impl BufRead, path: &Path) -> Result<Recording, RecordingError> {
    let mut lines = text.lines();
    let no_recording = || RecordingError::NoRecording {
        path: path.to_owned(),
    };
    let first = lines.next().and_then(Result::ok).ok_or_else(no_recording)?;
    let header = header(&first, path)?;
    let mut log = Log::new();
    let mut number = 1;
    let file = |source| RecordingError::File {
        path: path.to_owned(),
        source,
    };
    while let Some(line) = lines.next() {
        number += 1;
        let line = match line {
            Ok(line) => line,
            // Compressed text that ends too soon.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(file(error)),
        };
        if let Ok(End { end }) = serde_json::from_str(&line) {
            if end == log.len() {
                // Behind compressed text comes its checksum.
                match lines.next() {
                    Some(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                    Some(Err(error)) => return Err(file(error)),
                    Some(Ok(_)) | None => {}
                }
                let recording = Recording { header, log };
                let cast = recording.log.actors().len();
                return match first_stranger(&recording.log, cast) {
                    None => Ok(recording),
                    // The first event stands in the second line.
                    Some((event, ActorId(actor))) => Err(RecordingError::Damaged {
                        path: path.to_owned(),
                        line: event + 2,
                        column: 1,
                        why: format!("actor {actor} acts, and {cast} take part"),
                    }),
                };
            }
            break;
        }
        match serde_json::from_str::<Event>(&line) {
            Ok(mut event) => {
                if let EventKind::LabReady { clock, .. } = &mut event.kind {
                    *clock = ClockKind::Recorded;
                }
                log.append(event);
            }
            // A file that ends in the middle of a line was cut off there.
            Err(error) if error.is_eof() => break,
            Err(error) => return Err(damaged(path, number, &error)),
        }
    }
    Err(RecordingError::CutOff {
        path: path.to_owned(),
        line: number + 1,
        have: log.len(),
    })
}

/// The first event of somebody who does not take part.
fn first_stranger(log: &Log, cast: usize) -> Option<(usize, ActorId)> {
    let actors = log.events().iter().map(|event| event.kind.actor());
    let mut acting = actors.enumerate().filter_map(|(n, actor)| Some((n, actor?)));
    acting.find(|(_, actor)| actor.0 as usize >= cast)
}

#[cfg(test)]
mod tests;
