//! Finds the programs that labs are made of: redis-server, redis-sentinel, Java and ZooKeeper's jars.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use super::error::LabError;
use super::jars::{self, Jars};
use crate::{lesson::LabKind, log::Product};

/// Names another `redis-server`.
pub const REDIS_SERVER: &str = "LOCKSTEP_REDIS_SERVER";
/// Names another `redis-sentinel`.
pub const REDIS_SENTINEL: &str = "LOCKSTEP_REDIS_SENTINEL";
/// Names another `java`.
pub const JAVA: &str = "LOCKSTEP_JAVA";
/// Names ZooKeeper's jars: jar files and directories with jar files, separated by colons.
pub const ZOOKEEPER_JARS: &str = "LOCKSTEP_ZOOKEEPER_JARS";

/// Searched after `PATH`: servers live in `sbin`, which is often not on an ordinary user's path, and brew's
/// directories are missing in programs started from a desktop.
const MORE_DIRS: [&str; 6] =
    ["/usr/local/bin", "/usr/bin", "/usr/sbin", "/usr/local/sbin", "/sbin", "/opt/homebrew/bin"];

/// Where brew keeps a Java that it does not put on the path.
const BREW_JAVA: [&str; 3] = [
    "/opt/homebrew/opt/openjdk/bin/java",
    "/usr/local/opt/openjdk/bin/java",
    "/home/linuxbrew/.linuxbrew/opt/openjdk/bin/java",
];

/// Where to look for programs.
#[derive(Debug, Clone)]
pub struct Search {
    path: Vec<PathBuf>,
    variables: fn(&str) -> Option<OsString>,
}

impl Search {
    /// Looks where this process' environment says.
    pub fn from_environment() -> Self {
        let path = env::var_os("PATH").unwrap_or_default();
        let more = MORE_DIRS.iter().map(PathBuf::from);
        Self { path: env::split_paths(&path).chain(more).collect(), variables: |name| env::var_os(name) }
    }

    /// Looks in these directories, with these variables in place of the environment's.
    pub fn new(path: Vec<PathBuf>, variables: fn(&str) -> Option<OsString>) -> Self {
        Self { path, variables }
    }

    /// Finds `redis-server`.
    ///
    /// # Errors
    /// Where there is none.
    pub fn redis_server(&self) -> Result<PathBuf, LabError> {
        self.program("redis-server", REDIS_SERVER)
    }

    /// Finds `redis-sentinel`.
    ///
    /// # Errors
    /// Where there is none.
    pub fn redis_sentinel(&self) -> Result<PathBuf, LabError> {
        self.program("redis-sentinel", REDIS_SENTINEL)
    }

    /// Finds `java`: the one named for Lockstep, `JAVA_HOME`'s, the path's, or brew's.
    ///
    /// # Errors
    /// Where there is none.
    pub fn java(&self) -> Result<PathBuf, LabError> {
        if self.variable(JAVA).is_none() {
            let home = self.variable("JAVA_HOME").map(|home| Path::new(&home).join("bin/java"));
            if let Some(java) = home.filter(|java| is_executable(java)) {
                return Ok(java);
            }
        }
        self.program("java", JAVA).or_else(|missing| {
            // Apple's stub in /usr/bin only says that there is no Java, so brew's comes to its aid.
            BREW_JAVA.iter().map(PathBuf::from).find(|java| is_executable(java)).ok_or(missing)
        })
    }

    /// Finds ZooKeeper's jars: the ones named for Lockstep, `ZOOKEEPER_HOME`'s, Debian's, or brew's.
    ///
    /// # Errors
    /// Where there are none.
    pub fn zookeeper(&self) -> Result<Jars, LabError> {
        let missing = || LabError::MissingProgram { program: "ZooKeeper", variable: ZOOKEEPER_JARS };
        if let Some(named) = self.variable(ZOOKEEPER_JARS) {
            let places: Vec<_> = env::split_paths(&named).collect();
            return jars::named(&places).ok_or_else(missing);
        }
        let home = self.variable("ZOOKEEPER_HOME").map(PathBuf::from);
        home.iter()
            .map(PathBuf::as_path)
            .chain(jars::HOMES.iter().map(Path::new))
            .find_map(jars::in_home)
            .ok_or_else(missing)
    }

    /// Whether everything that this kind of lab is made of is there. What is there may still be too old, which a
    /// lab that starts says by itself: asking each program for its version takes longer than a first picture may.
    pub fn serves(&self, lab: LabKind) -> bool {
        match lab.product() {
            Product::Redis => {
                self.redis_server().is_ok() && (!lab.has_sentinels() || self.redis_sentinel().is_ok())
            }
            Product::Zookeeper => self.java().is_ok() && self.zookeeper().is_ok(),
        }
    }

    /// Whether there is a program of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        which(&self.path, OsStr::new(name)).is_some()
    }

    fn program(&self, name: &'static str, variable: &'static str) -> Result<PathBuf, LabError> {
        let missing = LabError::MissingProgram { program: name, variable };
        if let Some(named) = self.variable(variable) {
            // A wrong override is an error and not a reason to take another one behind the user's back.
            let named = PathBuf::from(named);
            return if is_executable(&named) { Ok(named) } else { Err(missing) };
        }
        which(&self.path, OsStr::new(name)).ok_or(missing)
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        (self.variables)(name).filter(|value| !value.is_empty())
    }
}

/// The first executable file of that name in these directories.
fn which(path: &[PathBuf], name: &OsStr) -> Option<PathBuf> {
    path.iter().map(|dir| dir.join(name)).find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(file).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn touch(file: &Path, mode: u32) {
        fs::write(file, "").unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_first_executable_on_the_path_wins() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        touch(&first.path().join("redis-server"), 0o644);
        touch(&second.path().join("redis-server"), 0o755);
        let search = Search::new(vec![first.path().into(), second.path().into()], |_| None);
        assert_eq!(search.redis_server().unwrap(), second.path().join("redis-server"));
        let message = search.redis_sentinel().unwrap_err().to_string();
        assert!(message.contains("doctor --install") && message.contains(REDIS_SENTINEL), "{message}");
    }

    #[test]
    fn a_lab_is_served_where_all_its_programs_are() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = |name: &str| [JAVA, ZOOKEEPER_JARS].contains(&name).then(|| "/nonexistent".into());
        let search = Search::new(vec![dir.path().into()], elsewhere);
        let served = || LabKind::ALL.map(|lab| search.serves(lab));
        assert_eq!(served(), [false; 4]);
        touch(&dir.path().join("redis-server"), 0o755);
        assert_eq!(served(), [true, true, false, false]);
        touch(&dir.path().join("redis-sentinel"), 0o755);
        assert_eq!(served(), [true, true, true, false]);
    }

    #[test]
    fn a_wrong_override_is_not_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        touch(&dir.path().join("redis-server"), 0o755);
        let wrong = |name: &str| (name == REDIS_SERVER).then(|| "/nonexistent".into());
        assert!(Search::new(vec![dir.path().into()], wrong).redis_server().is_err());
    }
}
