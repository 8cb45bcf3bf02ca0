//! Finds installed programs.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use crate::process::error::LabError;

/// The directories that are searched after `PATH`: servers are in `sbin`, which is often not on an ordinary
/// user's path, and brew's directories are missing in programs that are started from a desktop.
const MORE_DIRS: [&str; 6] =
    ["/usr/local/bin", "/usr/bin", "/usr/sbin", "/usr/local/sbin", "/sbin", "/opt/homebrew/bin"];

#[derive(Debug, Clone)]
pub struct Search {
    /// The directories to search. The first `own` are those in which a shell looks.
    path: Vec<PathBuf>,
    own: usize,
    variables: fn(&str) -> Option<OsString>,
}

impl Search {
    pub fn from_environment() -> Self {
        let path = env::var_os("PATH").unwrap_or_default();
        let mut path: Vec<PathBuf> = env::split_paths(&path).collect();
        let own = path.len();
        path.extend(MORE_DIRS.iter().map(PathBuf::from));
        Self { path, own, variables: |name| env::var_os(name) }
    }

    /// Looks in these directories, with these variables instead of the environment's.
    pub fn new(path: Vec<PathBuf>, variables: fn(&str) -> Option<OsString>) -> Self {
        Self { own: path.len(), path, variables }
    }

    /// Whether a command's first word is a program, as a shell resolves it: by its path if it has one, and
    /// otherwise in `PATH` alone. Starting the command looks nowhere else.
    pub(crate) fn finds(&self, word: &str) -> bool {
        let own = &self.path[..self.own];
        if word.contains('/') {
            is_executable(Path::new(word))
        } else {
            which(own, OsStr::new(word)).is_some()
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        which(&self.path, OsStr::new(name)).is_some()
    }

    pub(crate) fn program(&self, name: &'static str, variable: &'static str) -> Result<PathBuf, LabError> {
        let missing = LabError::MissingProgram { program: name, variable };
        if let Some(named) = self.variable(variable) {
            // A wrong override is an error, and no reason to use another program behind the user's back.
            let named = PathBuf::from(named);
            return if is_executable(&named) { Ok(named) } else { Err(missing) };
        }
        which(&self.path, OsStr::new(name)).ok_or(missing)
    }

    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        (self.variables)(name).filter(|value| !value.is_empty())
    }
}

/// The first executable file of that name in these directories.
fn which(path: &[PathBuf], name: &OsStr) -> Option<PathBuf> {
    path.iter().map(|dir| dir.join(name)).find(|file| is_executable(file))
}

pub(crate) fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(file).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}
