//! Finds Java and ZooKeeper's jars.

use std::env;
use std::path::{Path, PathBuf};

use crate::process::LabError;
use crate::process::programs::{Search, is_executable};
use crate::server::zookeeper::jars::{self, Jars};

/// Names another `java`.
pub const JAVA: &str = "LOCKSTEP_JAVA";
/// Names ZooKeeper's jars: jar files and directories with jar files, separated by colons.
pub const ZOOKEEPER_JARS: &str = "LOCKSTEP_ZOOKEEPER_JARS";

/// Where brew keeps a Java that it does not put on the path.
const BREW_JAVA: [&str; 3] = [
    "/opt/homebrew/opt/openjdk/bin/java",
    "/usr/local/opt/openjdk/bin/java",
    "/home/linuxbrew/.linuxbrew/opt/openjdk/bin/java",
];

impl Search {
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
}
