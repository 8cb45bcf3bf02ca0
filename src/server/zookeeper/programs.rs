//! Java and ZooKeeper's jars.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::jars::{self, Jars};
use crate::{
    process::{
        LabError,
        programs::{Search, is_executable},
        version::Version,
    },
    server::program::{Executable, version_of},
};

pub(crate) const JAVA: Executable = Executable {
    id: "java",
    name: "java",
    title: "Java",
    variable: "LOCKSTEP_JAVA",
    // This version accepts the options with which Lockstep starts ZooKeeper.
    needed: Version::new(11, 0, 0),
    in_lab: |_| true,
    find: java,
    version: |path| version_of(path, &["-version"], "\""),
    apt: "default-jre-headless",
    brew: "openjdk",
    apt_note: None,
};

/// Its variable names jar files and directories with jar files, separated by colons.
pub(crate) const ZOOKEEPER: Executable = Executable {
    id: "zookeeper",
    name: "ZooKeeper",
    title: "ZooKeeper",
    variable: "LOCKSTEP_ZOOKEEPER_JARS",
    // The first version with the metrics that the lessons read.
    needed: Version::new(3, 6, 0),
    in_lab: |_| true,
    find: |search| zookeeper(search).map(|jars| jars.server),
    version: |jar| jars::version(jar).ok_or_else(|| "the jar's name has no version".to_owned()),
    // Only the jars: the package `zookeeper` would install a desktop Java, too.
    apt: "libzookeeper-java",
    brew: "zookeeper",
    apt_note: None,
};

/// Where brew keeps a Java that it does not put on the path.
const BREW_JAVA: [&str; 3] = [
    "/opt/homebrew/opt/openjdk/bin/java",
    "/usr/local/opt/openjdk/bin/java",
    "/home/linuxbrew/.linuxbrew/opt/openjdk/bin/java",
];

/// Finds `java`: the one named for Lockstep, `JAVA_HOME`'s, the path's, or brew's.
fn java(search: &Search) -> Result<PathBuf, LabError> {
    if search.variable(JAVA.variable).is_none() {
        let home = search.variable("JAVA_HOME").map(|home| Path::new(&home).join("bin/java"));
        if let Some(java) = home.filter(|java| is_executable(java)) {
            return Ok(java);
        }
    }
    search.program(JAVA.name, JAVA.variable).or_else(|missing| {
        // Apple's stub in /usr/bin only reports that there is no Java, so brew's is tried.
        BREW_JAVA.iter().map(PathBuf::from).find(|java| is_executable(java)).ok_or(missing)
    })
}

/// Finds ZooKeeper's jars: the ones named for Lockstep, `ZOOKEEPER_HOME`'s, Debian's, or brew's.
pub(super) fn zookeeper(search: &Search) -> Result<Jars, LabError> {
    if let Some(named) = search.variable(ZOOKEEPER.variable) {
        let places: Vec<_> = env::split_paths(&named).collect();
        return jars::named(&places).ok_or_else(|| ZOOKEEPER.missing());
    }
    let home = search.variable("ZOOKEEPER_HOME").map(PathBuf::from);
    home.iter()
        .map(PathBuf::as_path)
        .chain(jars::HOMES.iter().map(Path::new))
        .find_map(jars::in_home)
        .ok_or_else(|| ZOOKEEPER.missing())
}
