//! ZooKeeper's class path: which jars of a directory belong to it, and their version.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use crate::process::version::Version;

/// Where ZooKeeper's jars may be: Debian's packages, then a distribution unpacked by brew or by hand.
pub(crate) const HOMES: [&str; 7] = [
    "/usr/share/java",
    "/opt/homebrew/opt/zookeeper/libexec",
    "/usr/local/opt/zookeeper/libexec",
    "/home/linuxbrew/.linuxbrew/opt/zookeeper/libexec",
    "/opt/zookeeper",
    "/usr/local/zookeeper",
    "/usr/share/zookeeper",
];

/// What the server needs besides `zookeeper` itself. Every entry is a prefix of jar names. A distribution logs through
/// logback; Debian's jars leave the choice, and `slf4j-simple` is the plainest.
const COMPANIONS: [&str; 11] = [
    "zookeeper-jute",
    "slf4j-api",
    "slf4j-simple",
    "logback-classic",
    "logback-core",
    "netty-",
    "snappy-java",
    "metrics-core",
    "commons-cli",
    "commons-io",
    "audience-annotations",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jars {
    pub server: PathBuf,
    /// All jars, in Java's search order.
    pub class_path: Vec<PathBuf>,
    /// The version in the server jar's name, if it has one.
    pub version: Option<Version>,
}

impl Jars {
    /// The value for Java's `-cp`.
    pub fn joined(&self) -> OsString {
        let parts: Vec<&OsStr> = self.class_path.iter().map(|jar| jar.as_os_str()).collect();
        parts.join(OsStr::new(":"))
    }

    /// Whether they include logback, which needs a configured log level.
    pub fn has_logback(&self) -> bool {
        self.class_path.iter().any(|jar| name(jar).starts_with("logback-"))
    }
}

/// The jars in a home: directly there, as Debian has them, or in `lib`, as a distribution has them.
pub(crate) fn in_home(home: &Path) -> Option<Jars> {
    [home.to_path_buf(), home.join("lib"), home.join("libexec/lib")].iter().find_map(|dir| {
        let all = list(dir);
        let server = server_jar(&all)?;
        let companions =
            COMPANIONS.iter().flat_map(|prefix| all.iter().filter(move |jar| belongs(jar, prefix)));
        Some(jars(server.clone(), companions.cloned().collect()))
    })
}

/// The jars named by a user: files, and every jar of directories.
pub(crate) fn named(places: &[PathBuf]) -> Option<Jars> {
    let all: Vec<_> = places
        .iter()
        .flat_map(|place| if place.is_dir() { list(place) } else { vec![place.clone()] })
        .collect();
    let server = server_jar(&all)?.clone();
    Some(jars(server, all))
}

fn jars(server: PathBuf, companions: Vec<PathBuf>) -> Jars {
    let version = version(&server);
    // Debian has each jar twice, with and without its version in the name; Java must open it once.
    let mut seen = BTreeSet::new();
    let mut class_path = vec![server.clone()];
    class_path.extend(companions);
    class_path.retain(|jar| seen.insert(fs::canonicalize(jar).unwrap_or_else(|_| jar.clone())));
    Jars { server, class_path, version }
}

fn list(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut jars: Vec<_> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension() == Some(OsStr::new("jar")))
        .collect();
    jars.sort();
    jars
}

/// `zookeeper.jar` or `zookeeper-3.8.0.jar`, but not `zookeeper-jute.jar` or `zookeeper-recipes-….jar`.
fn server_jar(all: &[PathBuf]) -> Option<&PathBuf> {
    all.iter().find(|jar| name(jar) == "zookeeper.jar" || version_in_name(jar).is_some())
}

/// Whether a jar's name is this prefix and then a version, or for `netty-` anything but its native parts.
fn belongs(jar: &Path, prefix: &str) -> bool {
    let name = name(jar);
    let Some(rest) = name.strip_prefix(prefix) else { return false };
    if prefix.ends_with('-') {
        return !rest.contains("tcnative") && !rest.contains("kqueue");
    }
    rest == ".jar"
        || rest.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The version in the jar's own name, in that of a link to it in the same directory, or in that of its target.
pub(super) fn version(server: &Path) -> Option<Version> {
    let real = fs::canonicalize(server).ok()?;
    let same = |jar: &PathBuf| fs::canonicalize(jar).is_ok_and(|other| other == real);
    version_in_name(server).or_else(|| version_in_name(&real)).or_else(|| {
        list(server.parent()?).iter().filter(|jar| same(jar)).find_map(|jar| version_in_name(jar))
    })
}

fn version_in_name(jar: &Path) -> Option<Version> {
    Version::read(name(jar).strip_prefix("zookeeper-")?)
}

fn name(jar: &Path) -> &str {
    jar.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn home(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            fs::create_dir_all(dir.path().join(file).parent().unwrap()).unwrap();
            fs::write(dir.path().join(file), "").unwrap();
        }
        dir
    }

    #[test]
    fn debians_jars_are_taken_once_and_the_version_is_read_from_a_link() {
        let dir =
            home(&["zookeeper.jar", "zookeeper-jute.jar", "slf4j-api.jar", "netty-common.jar", "guava.jar"]);
        symlink("zookeeper.jar", dir.path().join("zookeeper-3.8.0.jar")).unwrap();
        symlink("slf4j-api.jar", dir.path().join("slf4j-api-1.7.32.jar")).unwrap();
        let jars = in_home(dir.path()).unwrap();
        assert_eq!(jars.version, Some(Version::new(3, 8, 0)));
        assert_eq!(jars.class_path.len(), 4, "{:?}", jars.class_path);
        assert!(!jars.has_logback());
    }

    #[test]
    fn a_distribution_keeps_its_jars_in_lib() {
        let dir = home(&[
            "lib/zookeeper-3.9.2.jar",
            "lib/zookeeper-jute-3.9.2.jar",
            "lib/logback-classic-1.2.13.jar",
            "lib/jetty-server-9.4.jar",
        ]);
        let jars = in_home(dir.path()).unwrap();
        assert_eq!(jars.version, Some(Version::new(3, 9, 2)));
        assert_eq!(jars.class_path.len(), 3, "{:?}", jars.class_path);
        assert!(jars.has_logback());
    }

    #[test]
    fn other_jars_of_the_family_are_not_the_server() {
        let dir = home(&["zookeeper-jute.jar", "zookeeper-recipes-lock-3.8.0.jar"]);
        assert_eq!(in_home(dir.path()), None);
    }
}
