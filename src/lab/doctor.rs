//! What a machine can do for Lockstep: programs, the clock, room for the servers. It must not mend anything
//! (`install` does) and must not know the terminal.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;

use super::LabOptions;
pub use super::proof::ClockProof;
use super::proof::proof;
use crate::process::error::LabError;
use crate::process::programs::Search;
use crate::process::version::Version;
use crate::process::workspace::{self, Workspace};

/// A program that some lesson needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    RedisServer,
    RedisSentinel,
    Java,
    /// ZooKeeper's jars.
    Zookeeper,
}

/// What was found of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProgramReport {
    /// The program.
    #[serde(rename = "program")]
    pub need: Need,
    /// What is the case.
    #[serde(flatten)]
    pub status: ProgramStatus,
}

/// Whether a program can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ProgramStatus {
    /// It can.
    Found {
        /// Where it is.
        path: PathBuf,
        version: Version,
    },
    /// It is there and older than the lessons can use.
    TooOld {
        /// Where it is.
        path: PathBuf,
        version: Version,
        /// The oldest that will do.
        needed: Version,
    },
    /// It is there and does not tell its version: it may or may not work.
    Unclear {
        /// Where it is.
        path: PathBuf,
        /// What it said instead.
        why: String,
    },
    /// It is not there.
    Missing {
        /// What to do about it.
        remedy: String,
    },
}

/// Whether there is room for the servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoomReport {
    /// The directory in which private directories are made.
    pub directory: PathBuf,
    /// Free space there, in MiB.
    pub free_mib: Option<u64>,
    /// Why it cannot be used, `None` where it can.
    pub problem: Option<String>,
}

/// What a machine can do for Lockstep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DoctorReport {
    pub programs: Vec<ProgramReport>,
    pub proof: ClockProof,
    pub room: RoomReport,
}

/// Looks at everything. Takes the time of a few program starts.
pub async fn report(options: &LabOptions) -> DoctorReport {
    DoctorReport { programs: programs(&options.search), proof: proof(options).await, room: room() }
}

/// Looks for every program, runs it for its version, and compares that with what the lessons need.
pub fn programs(search: &Search) -> Vec<ProgramReport> {
    let redis = |path: &Path| version_of(path, &["--version"], "v=");
    let java = |path: &Path| version_of(path, &["-version"], "\"");
    let jars = match search.zookeeper() {
        Ok(jars) => match jars.version {
            Some(version) => judged(jars.server, version, Version::ZOOKEEPER),
            None => ProgramStatus::Unclear { path: jars.server, why: "the jar's name has no version".into() },
        },
        Err(error) => missing(&error),
    };
    let run = |found: Result<PathBuf, LabError>, ask: &dyn Fn(&Path) -> Result<Version, String>, needed| {
        match found {
            Ok(path) => match ask(&path) {
                Ok(version) => judged(path, version, needed),
                Err(why) => ProgramStatus::Unclear { path, why },
            },
            Err(error) => missing(&error),
        }
    };
    vec![
        ProgramReport { need: Need::RedisServer, status: run(search.redis_server(), &redis, Version::REDIS) },
        ProgramReport {
            need: Need::RedisSentinel,
            status: run(search.redis_sentinel(), &redis, Version::REDIS),
        },
        ProgramReport { need: Need::Java, status: run(search.java(), &java, Version::JAVA) },
        ProgramReport { need: Need::Zookeeper, status: jars },
    ]
}

fn judged(path: PathBuf, version: Version, needed: Version) -> ProgramStatus {
    if version < needed {
        return ProgramStatus::TooOld { path, version, needed };
    }
    ProgramStatus::Found { path, version }
}

fn missing(error: &LabError) -> ProgramStatus {
    ProgramStatus::Missing { remedy: error.to_string() }
}

/// Runs a program for its version. These end by themselves within milliseconds, so they have no guard.
fn version_of(path: &Path, args: &[&str], marker: &str) -> Result<Version, String> {
    let output = Command::new(path).args(args).output().map_err(|error| error.to_string())?;
    // Java prints its version to standard error.
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    Version::read_after(&said, marker).ok_or_else(|| {
        let first = said.lines().next().unwrap_or("nothing");
        format!("`{} {}` said: {first}", path.display(), args.join(" "))
    })
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
    /// Whether every lesson can be played. On the wall clock it can, with less to see.
    pub fn healthy(&self) -> bool {
        self.programs.iter().all(ProgramReport::usable)
            && !matches!(self.proof, ClockProof::Failed { .. })
            && self.room.problem.is_none()
    }
}

impl Need {
    /// The program, in the words of its packagers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RedisServer => "redis-server",
            Self::RedisSentinel => "redis-sentinel",
            Self::Java => "java",
            Self::Zookeeper => "ZooKeeper",
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for ProgramReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.status {
            ProgramStatus::Found { path, version } => {
                write!(f, "{} {version}: {}", self.need, path.display())
            }
            ProgramStatus::TooOld { path, version, needed } => {
                write!(
                    f,
                    "{} {version} is too old, {needed} or newer is needed: {}",
                    self.need,
                    path.display()
                )
            }
            ProgramStatus::Unclear { path, why } => {
                write!(f, "{} of unknown version: {} ({why})", self.need, path.display())
            }
            ProgramStatus::Missing { remedy } => f.write_str(remedy),
        }
    }
}

impl fmt::Display for RoomReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.problem, self.free_mib) {
            (Some(problem), _) => f.write_str(problem),
            (None, Some(free)) => {
                write!(f, "temporary directory {}: {free} MiB free", self.directory.display())
            }
            (None, None) => write!(f, "temporary directory {}", self.directory.display()),
        }
    }
}

impl fmt::Display for DoctorReport {
    /// One line for each finding.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.programs.iter().try_for_each(|program| writeln!(f, "{program}"))?;
        writeln!(f, "{}", self.proof)?;
        writeln!(f, "{}", self.room)
    }
}
