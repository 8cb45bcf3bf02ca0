//! Finished runs in files: a recording is a log, with a first line that names the lesson, and a last line that proves
//! that the file is complete. It must not know how a run is made or shown.
//!
//! The format is JSON, one object per line: [`Header`], then every event, then `{"end": N}` with the number of events.
//! A file whose name ends in `.gz` is compressed with gzip; when reading, the first bytes decide.

pub(crate) mod bounds;
pub mod carried;
pub(crate) mod error;
pub(crate) mod format1;

pub use bounds::Bound;
pub use error::RecordingError;

use std::{
    collections::HashSet,
    fs::File,
    io::{self, BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
};

use flate2::{Compression, bufread::GzDecoder, write::GzEncoder};
use serde::{Deserialize, Serialize};

use crate::{
    clock::ClockKind,
    files::{self, Output},
    lesson::{MOST_MASTERS, Params, Scenario, Speaks, plan::NeverPlan},
    log::{ActorId, Capacity, Event, EventKind, Log, Product, is_any},
    printable,
    verdict::with_breaches,
};
use bounds::{LineError, Lines, MOST_BYTES, MOST_LINES, Usage};

/// The version of the format that is written. Earlier versions can be read.
///
/// 1. Commands are text, and operations may share a number.
/// 2. Commands are data (`command`) beside their text, and every operation of a log has a number of its own.
pub const VERSION: u32 = 2;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format. The field's name distinguishes a recording from other files.
    pub lockstep_recording: u32,
    pub lesson: String,
    pub variant: String,
    /// The values set with `--set`.
    #[serde(default)]
    pub params: Params,
    /// The version of Lockstep that recorded it, such as `0.1.0`.
    pub program: String,
    /// [`Scenario::fingerprint`] of the scenario. Older recordings have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The user's programs, for a run of `lockstep attach`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<AttachedPrograms>,
}

/// A user's attached programs: enough to show their run again without them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedPrograms {
    pub server: Speaks,
    /// The number of servers, which are independent of each other.
    #[serde(default = "one")]
    pub servers: u8,
    /// The lock that is checked for too many holders; `None` checks every lock.
    pub lock: Option<String>,
    /// The maximum number of holders.
    #[serde(default = "one")]
    pub holders: usize,
    /// Commands that pass without a move, beside the usual ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<String>,
    /// The command line of each client.
    pub commands: Vec<Vec<String>>,
}

fn one<N: From<u8>>() -> N {
    1.into()
}

pub const MOST_ATTACHED: usize = 16;

impl AttachedPrograms {
    fn of(scenario: &Scenario) -> Option<Self> {
        if !scenario.is_users() {
            return None;
        }
        let mut programs = scenario.clients.iter().filter_map(|client| client.exec.as_ref());
        let commands = programs.clone().map(|exec| exec.words.clone()).collect();
        let usual = scenario.lab().product().traits().housekeeping;
        let passes = programs.next().into_iter().flat_map(|exec| &exec.passes);
        let passes = passes.filter(|command| !usual.contains(&command.as_str())).cloned().collect();
        let lock = scenario.invariants.iter().find_map(|invariant| match &invariant.never {
            NeverPlan::Overlap(lock) => Some(lock).filter(|lock| !is_any(lock)).cloned(),
            NeverPlan::That(_) => None,
        });
        let holders = match scenario.locks.first().map(|known| known.limit) {
            Some(Capacity::Holders(most)) => most,
            Some(Capacity::ReadWrite) | None => one(),
        };
        let server =
            if scenario.lab().product() == Product::Zookeeper { Speaks::Zookeeper } else { Speaks::Redis };
        let servers = u8::try_from(scenario.lab().servers().len()).unwrap_or(1);
        Some(Self { server, servers, lock, holders, passes, commands })
    }
}

impl Header {
    /// Whether it was recorded from exactly this scenario: same lesson, variant, values, programs and story.
    pub fn belongs_to(&self, scenario: &Scenario) -> bool {
        self.lesson == scenario.loaded.lesson.id
            && self.variant == scenario.variant
            && self.fingerprint.as_ref() == Some(&scenario.fingerprint())
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    pub header: Header,
    /// The events; their clock is [`ClockKind::Recorded`].
    pub log: Log,
}

impl Recording {
    /// Prepares the recording to be judged as a run of `scenario`. The lesson may have changed since, but must have the
    /// same actors.
    pub fn fit(&mut self, scenario: &Scenario) -> Result<(), RecordingError> {
        let planned: Vec<_> = scenario.actors.iter().map(|plan| &plan.actor).collect();
        if !self.log.actors().iter().eq(planned) {
            let Header { lesson, variant, .. } = self.header.clone();
            return Err(RecordingError::OtherActors { lesson, variant });
        }
        self.note_releases(scenario);
        self.note_locks(scenario);
        if let Some(events) = with_breaches(scenario, &self.log) {
            self.log = Log::new();
            self.log.extend(events);
        }
        Ok(())
    }

    /// The lesson decides how many may hold a lock and what a counter is called, as it decides its claims.
    fn note_locks(&mut self, scenario: &Scenario) {
        let is_news = |event: &Event| match &event.kind {
            EventKind::LabReady { locks, counters, .. } => {
                *locks != scenario.locks || *counters != scenario.counter_titles
            }
            _ => false,
        };
        if !self.log.events().first().is_some_and(is_news) {
            return;
        }
        let mut events = self.log.events().to_vec();
        if let EventKind::LabReady { locks, counters, .. } = &mut events[0].kind {
            locks.clone_from(&scenario.locks);
            counters.clone_from(&scenario.counter_titles);
        }
        self.log = Log::new();
        self.log.extend(events);
    }

    /// In recordings made before commands named the locks that they release, this is taken from the programs.
    fn note_releases(&mut self, scenario: &Scenario) {
        let says =
            |event: &Event| matches!(&event.kind, EventKind::Sent { releases, .. } if !releases.is_empty());
        if self.log.events().iter().any(says) {
            return;
        }
        let mut events = self.log.events().to_vec();
        for event in &mut events {
            if let EventKind::Sent { actor, label, releases, .. } = &mut event.kind
                && let Some(plan) = scenario.actors.get(actor.0 as usize)
            {
                *releases = plan.program.released_by(label);
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

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Whether a file begins like a recording; a lesson never does.
pub fn is_recording(path: &Path) -> bool {
    let mut start = Vec::new();
    let text = files::open(path).and_then(|file| plain(BufReader::new(file)));
    // Long enough for the first key, short enough for any file.
    let read = text.and_then(|text| text.take(64).read_to_end(&mut start));
    read.is_ok() && start.starts_with(b"{\"lockstep_recording\"")
}

/// The text of a file that may be compressed.
fn plain<'a>(mut file: impl BufRead + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    if file.fill_buf()?.starts_with(&GZIP) {
        return Ok(Box::new(BufReader::new(GzDecoder::new(file))));
    }
    Ok(Box::new(file))
}

impl Header {
    fn of(scenario: &Scenario) -> Self {
        Self {
            lockstep_recording: VERSION,
            lesson: scenario.loaded.lesson.id.clone(),
            variant: scenario.variant.clone(),
            params: scenario.overrides.clone(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            fingerprint: Some(scenario.fingerprint()),
            attached: AttachedPrograms::of(scenario),
        }
    }
}

/// Writes a finished run, compressed if the file name ends in `.gz`. The file is written completely or not at all.
pub fn write(path: &Path, scenario: &Scenario, log: &Log) -> Result<(), RecordingError> {
    let header = Header::of(scenario);
    let text = lines(&header, log);
    let text = text.map_err(|bound| RecordingError::TooLong { path: path.to_owned(), bound })?;
    let packed = path.extension().is_some_and(|ending| ending == "gz");
    let written = Output::new(path).and_then(|output| {
        output.write(|out| {
            if !packed {
                return text.iter().try_for_each(|line| writeln!(out, "{line}"));
            }
            let mut out = GzEncoder::new(out, Compression::best());
            text.iter().try_for_each(|line| writeln!(out, "{line}"))?;
            out.finish().map(drop)
        })
    });
    written.map_err(|source| RecordingError::NotWritten { path: path.to_owned(), source })
}

/// The name of a file that does not exist yet, in the current directory.
pub fn free_file_name(scenario: &Scenario) -> String {
    let name =
        |ending: String| format!("{}.{}{ending}.jsonl.gz", scenario.loaded.lesson.id, scenario.variant);
    let first = std::iter::once(name(String::new()));
    let mut names = first.chain((2_u64..).map(|n| name(format!("-{n}"))));
    names.find(|name| !Path::new(name).exists()).unwrap_or_default()
}

/// A file that does not exist yet, for another run beside that of `file`: `run-2.jsonl.gz` beside `run.jsonl.gz`.
pub fn numbered_file_name(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let ending =
        [".jsonl.gz", ".jsonl", ".gz"].into_iter().find(|ending| name.ends_with(ending)).unwrap_or("");
    let stem = name.strip_suffix(ending).unwrap_or(&name);
    let mut files = (2_u64..).map(|n| file.with_file_name(format!("{stem}-{n}{ending}")));
    files.find(|file| !file.exists()).unwrap_or_default()
}

/// The lines of a recording; an error if it would be too large to be read again.
fn lines(header: &Header, log: &Log) -> Result<Vec<String>, Bound> {
    let mut spent = Usage::default();
    let mut line = |value: serde_json::Result<String>| {
        // Serializing plain data cannot fail.
        let line = value.unwrap_or_default();
        let line = printable::json(&line).into_owned();
        spent.line(line.as_bytes()).map(|()| line)
    };
    let mut lines = vec![line(serde_json::to_string(header))?];
    for event in log.events() {
        lines.push(line(serde_json::to_string(event))?);
    }
    lines.push(line(serde_json::to_string(&End { end: log.len() }))?);
    Ok(lines)
}

pub fn read(path: &Path) -> Result<Recording, RecordingError> {
    let file = |source| RecordingError::File { path: path.to_owned(), source };
    let packed = files::open(path).map_err(file)?;
    if packed.metadata().map_err(file)?.len() > MOST_BYTES {
        return Err(RecordingError::TooLarge { path: path.to_owned(), line: 1, bound: Bound::Bytes });
    }
    let text = plain(BufReader::<io::Take<File>>::new(packed.take(MOST_BYTES))).map_err(file)?;
    parse(text, path)
}

fn header(first: &str, path: &Path) -> Result<Header, RecordingError> {
    let object = serde_json::from_str::<serde_json::Value>(first).ok();
    let path = || path.to_owned();
    match object.and_then(|object| object["lockstep_recording"].as_u64()) {
        None => Err(RecordingError::NoRecording { path: path() }),
        Some(found) if !(1..=u64::from(VERSION)).contains(&found) => {
            Err(RecordingError::OtherVersion { path: path(), found })
        }
        Some(_) => {
            let header: Header = serde_json::from_str(first).map_err(|error| damaged(&path(), 1, &error))?;
            let Some(attached) = &header.attached else { return Ok(header) };
            let (programs, servers) = (attached.commands.len(), usize::from(attached.servers));
            let why = if !(1..=MOST_ATTACHED).contains(&programs) {
                format!("{programs} programs are attached, and 1 to {MOST_ATTACHED} can be")
            } else if !(1..=MOST_MASTERS).contains(&servers) {
                format!("they have {servers} servers, and 1 to {MOST_MASTERS} can be")
            } else {
                return Ok(header);
            };
            Err(RecordingError::Damaged { path: path(), line: 1, column: 1, why })
        }
    }
}

fn damaged(path: &Path, line: usize, error: &serde_json::Error) -> RecordingError {
    let why = error.to_string();
    let why = why.split(" at line ").next().unwrap_or_default().to_owned();
    RecordingError::Damaged { path: path.to_owned(), line, column: error.column().max(1), why }
}

fn parse(text: impl BufRead, path: &Path) -> Result<Recording, RecordingError> {
    let mut lines = Lines::new(text);
    let own_path = || path.to_owned();
    let wrong = |line, column, why| RecordingError::Damaged { path: own_path(), line, column, why };
    let stopped = |line: usize, stopped: LineError| match stopped {
        LineError::At(bound) => RecordingError::TooLarge { path: own_path(), line, bound },
        LineError::NotUtf8(at) => wrong(line, at + 1, "this is not UTF-8".to_owned()),
        LineError::Io(source) => RecordingError::File { path: own_path(), source },
    };
    let first = match lines.next() {
        Ok(Some(first)) => first,
        Err(bound @ LineError::At(_)) => return Err(stopped(1, bound)),
        Ok(None) | Err(_) => return Err(RecordingError::NoRecording { path: own_path() }),
    };
    let header = header(&first, path)?;
    let mut format1 = (header.lockstep_recording == 1).then(format1::Reader::default);
    let mut log = Log::new();
    loop {
        let line = match lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            // Compressed data that ends too early.
            Err(LineError::Io(error)) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(why) => return Err(stopped(lines.number().max(1), why)),
        };
        if let Ok(End { end }) = serde_json::from_str(&line) {
            if end != log.len() {
                break;
            }
            // Reading on verifies the checksum at the end of compressed data.
            match lines.next() {
                Err(LineError::Io(error)) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(why) => return Err(stopped(lines.number(), why)),
                Ok(_) => {}
            }
            let recording = Recording { header, log };
            return match contradiction(&recording.log) {
                None => Ok(recording),
                // The first event is in the second line.
                Some((event, why)) => Err(wrong(event + 2, 1, why)),
            };
        }
        let event = match &mut format1 {
            Some(reader) => reader.event(&line),
            None => serde_json::from_str(&line),
        };
        match event {
            Ok(mut event) => {
                if let EventKind::LabReady { clock, .. } = &mut event.kind {
                    *clock = ClockKind::Recorded;
                }
                log.append(event);
            }
            // A file that ends within a line was cut off there.
            Err(error) if error.is_eof() => break,
            Err(error) => return Err(damaged(path, lines.number(), &error)),
        }
    }
    Err(RecordingError::CutOff { path: own_path(), line: lines.number() + 1, have: log.len() })
}

/// The maximum number of servers in a lab, with a margin.
const MOST_SERVERS: usize = 64;

/// The first event that no run can contain, and why.
fn contradiction(log: &Log) -> Option<(usize, String)> {
    let count = log.actors().len();
    let mut sent = HashSet::new();
    log.events().iter().enumerate().find_map(|(n, event)| {
        let why = match &event.kind {
            EventKind::LabReady { .. } if n > 0 => "the lab is made ready a second time".to_owned(),
            EventKind::LabReady { servers, .. } if servers.len() > MOST_SERVERS => {
                format!("{} servers, and a lab has at most {MOST_SERVERS}", servers.len())
            }
            EventKind::Sent { op, .. } if !sent.insert(*op) => format!("operation {} is sent twice", op.0),
            EventKind::Say { item, .. }
            | EventKind::Asked { item, .. }
            | EventKind::Decided { item, .. }
            | EventKind::Stop { item, .. }
                if *item > MOST_LINES =>
            {
                format!("line {item} of a story, and no story is so long")
            }
            kind => match kind.actor() {
                Some(ActorId(actor)) if actor as usize >= count => {
                    format!("actor {actor} acts, and {count} take part")
                }
                _ => return None,
            },
        };
        Some((n, why))
    })
}

#[cfg(test)]
mod tests;
