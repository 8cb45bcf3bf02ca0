//! Checks what a machine offers to Lockstep: programs, the clock, room for the servers. It must not repair anything
//! (`install` does) and must not know the terminal.

use std::path::PathBuf;

use serde::Serialize;

use super::LabOptions;
pub use super::clock_check::ClockProof;
use super::clock_check::proof;
use crate::process::programs::Search;
use crate::process::version::Version;
use crate::process::workspace::{self, Workspace};
use crate::server::{PROGRAMS, program::Executable};
use crate::text::{Text, both};

#[derive(Debug, Clone, Serialize)]
pub struct ProgramReport {
    pub program: &'static Executable,
    #[serde(flatten)]
    pub status: ProgramStatus,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ProgramStatus {
    Found {
        path: PathBuf,
        version: Version,
    },
    /// Installed, but older than the lessons need.
    TooOld {
        path: PathBuf,
        version: Version,
        needed: Version,
    },
    /// Installed, but its version is unknown: it may or may not work.
    Unclear {
        path: PathBuf,
        /// What it printed instead of a version.
        why: String,
    },
    Missing {
        /// What to do about it.
        remedy: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoomReport {
    /// The directory in which private directories are made.
    pub directory: PathBuf,
    pub free_mib: Option<u64>,
    /// Why it cannot be used, or `None` if it can.
    pub problem: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct DoctorReport {
    pub programs: Vec<ProgramReport>,
    pub proof: ClockProof,
    pub room: RoomReport,
}

/// The version of the Redis server that labs would start; without one, the oldest supported version.
pub fn redis_version() -> (u32, u32) {
    let server = &crate::server::redis::programs::SERVER;
    let found = (server.find)(&Search::from_environment()).ok().and_then(|path| (server.version)(&path).ok());
    found.unwrap_or(server.needed).major_and_minor()
}

/// Checks everything. Takes as long as a few program starts.
pub async fn report(options: &LabOptions) -> DoctorReport {
    DoctorReport { programs: programs(&options.search), proof: proof(options).await, room: room() }
}

/// Searches every program, reads its version, and compares that with what the lessons need.
pub fn programs(search: &Search) -> Vec<ProgramReport> {
    let report = |(_, program): &(_, &'static Executable)| {
        let status = match (program.find)(search) {
            Err(error) => ProgramStatus::Missing { remedy: error.to_string() },
            Ok(path) => match (program.version)(&path) {
                Err(why) => ProgramStatus::Unclear { path, why },
                Ok(version) if version < program.needed => {
                    ProgramStatus::TooOld { path, version, needed: program.needed }
                }
                Ok(version) => ProgramStatus::Found { path, version },
            },
        };
        ProgramReport { program, status }
    };
    PROGRAMS.iter().map(report).collect()
}

fn room() -> RoomReport {
    let directory = workspace::root();
    let problem = Workspace::create_in(&directory).err().map(|error| error.to_string());
    RoomReport { free_mib: workspace::free_mib(&directory), directory, problem }
}

impl ProgramReport {
    /// Whether lessons can be tried with it.
    pub fn usable(&self) -> bool {
        matches!(self.status, ProgramStatus::Found { .. } | ProgramStatus::Unclear { .. })
    }
}

impl DoctorReport {
    /// Whether every lesson can be played. On the wall clock they can, with less to see.
    pub fn healthy(&self) -> bool {
        self.programs.iter().all(ProgramReport::usable)
            && !matches!(self.proof, ClockProof::Failed { .. })
            && self.room.problem.is_none()
    }
}

impl ProgramReport {
    fn text(&self) -> Text {
        let name = self.program.name;
        match &self.status {
            ProgramStatus::Missing { remedy } => Text::new(remedy, self.program.missing().text().zh),
            ProgramStatus::Found { path, version } => {
                let path = path.display();
                both!("{name} {version}: {path}", "{name} {version}：{path}")
            }
            ProgramStatus::TooOld { path, version, needed } => {
                let path = path.display();
                both!(
                    "{name} {version} is too old, {needed} or newer is needed: {path}",
                    "{name} {version} 太旧，需要 {needed} 或更新版本：{path}"
                )
            }
            ProgramStatus::Unclear { path, why } => {
                let path = path.display();
                both!("{name} of unknown version: {path} ({why})", "{name} 版本不明：{path}（{why}）")
            }
        }
    }
}

impl RoomReport {
    fn text(&self) -> Text {
        let directory = self.directory.display();
        match (&self.problem, self.free_mib) {
            (Some(problem), _) => both!("{problem}", "临时目录 {directory} 不可用：{problem}"),
            (None, Some(free)) => both!(
                "temporary directory {directory}: {free} MiB free",
                "临时目录 {directory}：剩余 {free} MiB"
            ),
            (None, None) => both!("temporary directory {directory}", "临时目录 {directory}"),
        }
    }
}

impl DoctorReport {
    /// One line for each finding.
    pub fn text(&self) -> Text {
        let programs = self.programs.iter().map(ProgramReport::text);
        let lines: Vec<Text> =
            programs.chain([self.proof.text(), self.room.text(), Text::default()]).collect();
        Text::join(&lines, "\n", "\n")
    }
}
