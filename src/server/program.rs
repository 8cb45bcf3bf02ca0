//! The programs that servers consist of, as data: which version is needed, where they are found, how they are
//! installed.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde::{Serialize, Serializer};

use crate::{
    lesson::LabKind,
    process::{LabError, programs::Search, version::Version},
    text::Words,
};

/// A program that a product's servers need.
#[derive(Debug)]
pub struct Executable {
    /// Its name in JSON.
    pub id: &'static str,
    pub name: &'static str,
    /// Its name for users who install it by hand.
    pub title: &'static str,
    /// The environment variable that overrides its path.
    pub variable: &'static str,
    /// The oldest supported version.
    pub needed: Version,
    /// The labs of its product that need it.
    pub in_lab: fn(LabKind) -> bool,
    pub find: fn(&Search) -> Result<PathBuf, LabError>,
    /// Its version, or what it printed instead.
    pub version: fn(&Path) -> Result<Version, String>,
    /// The packages that provide it.
    pub apt: &'static str,
    pub brew: &'static str,
    /// A note about apt's package.
    pub apt_note: Option<Words>,
}

impl Serialize for Executable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id)
    }
}

impl Executable {
    pub fn missing(&self) -> LabError {
        LabError::MissingProgram { program: self.name, variable: self.variable }
    }

    /// Returns an error if the found version is too old.
    pub fn require_version(&self, path: &Path, found: &str) -> Result<(), LabError> {
        if Version::read(found).is_none_or(|version| version >= self.needed) {
            return Ok(());
        }
        let (program, needed, variable) = (self.name, self.needed.to_string(), self.variable);
        Err(LabError::TooOld { program, path: path.to_path_buf(), found: found.to_owned(), needed, variable })
    }
}

/// How long a program may take to say its version, also on a busy machine.
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);

/// Runs a program for its version, which follows a marker. These programs end by themselves within milliseconds, so
/// they have no guard.
pub(super) fn version_of(path: &Path, args: &[&str], marker: &str) -> Result<Version, String> {
    let asked = Command::new(path)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = asked.map_err(|error| error.to_string())?;
    let since = Instant::now();
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if since.elapsed() > ANSWERS_WITHIN {
            // It may have ended just now.
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!(
                "`{} {}` said nothing within {} s",
                path.display(),
                args.join(" "),
                ANSWERS_WITHIN.as_secs()
            ));
        }
        thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    // Java prints its version to standard error.
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    Version::read_after(&said, marker).ok_or_else(|| {
        let first = said.lines().next().unwrap_or("nothing");
        format!("`{} {}` said: {first}", path.display(), args.join(" "))
    })
}
