//! Jars of lock libraries for the JVM: each library in a directory of its own, with all its dependencies, named by its
//! version.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use indexmap::IndexMap;

use super::{install::Step, libraries::LibraryVersion};
use crate::process::{LabError, programs::Search};

/// How Debian's packages provide a library.
struct Debian {
    library: &'static str,
    /// Packages with the library's own version.
    packages: &'static [&'static str],
    /// Packages that it depends on, in whatever version is available.
    needs: &'static [&'static str],
    /// Jars of those; the library's own is copied last, so that its presence means that all are present.
    jars: &'static [&'static str],
}

const DEBIAN: [Debian; 1] = [Debian {
    library: "curator-recipes",
    packages: &["libcurator-client-java", "libcurator-framework-java", "libcurator-recipes-java"],
    needs: &["libguava-java", "libslf4j-java", "libzookeeper-java"],
    jars: &["guava", "slf4j-api", "zookeeper", "zookeeper-jute", "curator-client", "curator-framework"],
}];

/// Options for a JVM that starts quickly and whose internal threads do not wake periodically, so that only the program
/// waits for lesson time. Other JVMs may not know all of these options.
pub(super) const JVM: &str = "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:+UseSerialGC \
    -XX:TieredStopAtLevel=1 -XX:-UsePerfData -XX:GuaranteedSafepointInterval=0 -XX:AsyncDeflationInterval=60000";

/// Whether a JDK is installed: a runtime alone does not run source files.
pub(super) fn runs_source(search: &Search) -> bool {
    search.has("java") && search.has("javac")
}

fn home(directory: &Path, name: &str, version: &str) -> PathBuf {
    directory.join(format!("{name}-{version}"))
}

fn file(name: &str, version: &str) -> String {
    format!("{name}-{version}.jar")
}

pub(super) fn has(directory: &Path, library: &LibraryVersion) -> bool {
    let LibraryVersion { name, version, .. } = library;
    fs::exists(home(directory, name, version).join(file(name, version))).unwrap_or(false)
}

/// The `CLASSPATH` for these libraries: every jar in their directories.
pub(super) fn class_path(directory: &Path, libraries: &IndexMap<String, String>) -> OsString {
    let all = libraries.iter().map(|(name, version)| home(directory, name, version).join("*"));
    env::join_paths(all).unwrap_or_default()
}

/// The commands that install one library.
pub(super) fn steps(
    directory: &Path,
    library: &LibraryVersion,
    search: &Search,
) -> Result<Vec<Step>, LabError> {
    let LibraryVersion { name, version, .. } = library;
    let home = home(directory, name, version);
    let known = DEBIAN.iter().find(|known| known.library == name);
    let Some(known) = known.filter(|_| search.has("apt-get") && search.has("dpkg-deb")) else {
        return Err(LabError::NoJars { jar: file(name, version), directory: home });
    };
    let at = home.display().to_string();
    // Debian's revision of this version.
    let packages = known.packages.iter().map(|package| format!("{package}={version}-*"));
    let packages = packages.chain(known.needs.iter().map(ToString::to_string));
    let unpacked = format!("{at}/usr/share/java");
    let jars = known.jars.iter().map(|jar| format!("{unpacked}/{jar}.jar"));
    let jars = jars.chain([format!("{unpacked}/{}", file(name, version))]);
    Ok(vec![
        Step::new("mkdir", &["-p", &at]),
        Step::new("env", &["-C", &at, "apt-get", "download"]).with(packages),
        Step::new("find", &[&at, "-name", "*.deb", "-exec", "dpkg-deb", "-x", "{}", &at, ";", "-delete"]),
        // Most of them are symbolic links.
        Step::new("cp", &["-L", "-t", &at]).with(jars),
        Step::new("rm", &["-r", &format!("{at}/usr")]),
    ])
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::lesson::Language;

    fn curator() -> LibraryVersion {
        LibraryVersion { language: Language::Java, name: "curator-recipes".into(), version: "5.4.0".into() }
    }

    #[test]
    fn a_library_is_there_when_its_own_jar_is() {
        let java = tempfile::tempdir().expect("a directory");
        assert!(!has(java.path(), &curator()));
        let home = java.path().join("curator-recipes-5.4.0");
        fs::create_dir(&home).expect("a directory");
        fs::write(home.join("guava.jar"), "").expect("a file");
        assert!(!has(java.path(), &curator()), "what it needs came first");
        fs::write(home.join("curator-recipes-5.4.0.jar"), "").expect("a file");
        assert!(has(java.path(), &curator()));
        assert!(!has(java.path(), &LibraryVersion { version: "5.5.0".into(), ..curator() }));
        let all = [("curator-recipes", "5.4.0"), ("redisson", "3.17.0")];
        let all = all.map(|(name, version)| (name.to_owned(), version.to_owned())).into_iter().collect();
        let at = java.path().display();
        let path = format!("{at}/curator-recipes-5.4.0/*:{at}/redisson-3.17.0/*");
        assert_eq!(class_path(java.path(), &all), OsString::from(path));
    }

    #[test]
    fn packages_are_fetched_in_the_version_of_the_lesson_into_a_directory_of_our_own() {
        let bin = tempfile::tempdir().expect("a directory");
        let search = Search::new(vec![bin.path().to_owned()], |_| None);
        let java = Path::new("/data/java");
        let refused = steps(java, &curator(), &search).expect_err("no apt-get is there");
        let message = refused.to_string();
        let where_to = "/data/java/curator-recipes-5.4.0";
        assert!(message.contains("curator-recipes-5.4.0.jar") && message.ends_with(where_to), "{message}");
        assert!(refused.text().zh.ends_with(where_to));
        for name in ["apt-get", "dpkg-deb"] {
            let program = bin.path().join(name);
            fs::write(&program, "").expect("a file");
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a mode");
        }
        let steps = steps(java, &curator(), &search).expect("a plan");
        let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
        let fetch = steps.iter().find(|step| step.contains("apt-get download")).expect("a step that fetches");
        assert!(fetch.starts_with("env -C /data/java/curator-recipes-5.4.0 "), "{fetch}");
        assert!(fetch.contains(" 'libcurator-recipes-java=5.4.0-*' "), "{fetch}");
        assert!(steps.iter().all(|step| step.contains("/data/java/curator-recipes-5.4.0")), "{steps:?}");
    }
}
