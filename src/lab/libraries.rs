//! Lock libraries that lessons run: which are installed, where programs find them, how they are installed. They are in
//! a directory of Lockstep's own, never in the system's.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use etcetera::BaseStrategy as _;
use serde::Serialize;

use super::{
    install::{InstallPlan, Packages, Step},
    jars,
};
use crate::{
    lesson::{Language, Libraries},
    process::{LabError, programs::Search},
    text::{Text, both},
};

/// The directory of the lessons' libraries.
#[derive(Debug, Clone, Default)]
pub struct Installed {
    /// `None` if the user has no home directory.
    directory: Option<PathBuf>,
}

/// A library in the version that a lesson requires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LibraryVersion {
    pub language: Language,
    pub name: String,
    pub version: String,
}

/// Libraries that are not installed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MissingLibraries(pub Vec<LibraryVersion>);

impl MissingLibraries {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn names(&self, between: &str) -> String {
        let names = self.0.iter().map(|LibraryVersion { name, version, .. }| format!("{name} {version}"));
        names.collect::<Vec<_>>().join(between)
    }

    /// The command that installs them.
    fn command(&self) -> String {
        let mut languages: Vec<Language> = self.0.iter().map(|library| library.language).collect();
        languages.dedup();
        let with = languages.into_iter().flat_map(|language| [" --with ", language.id()]);
        ["lockstep doctor --install"].into_iter().chain(with).collect()
    }

    pub fn text(&self) -> Text {
        let (names, command) = (Text::new(self.names(", "), self.names("、")), self.command());
        both!(
            "{names}, not installed here: `{command}` installs it into a directory of Lockstep's own",
            "{names}，这里没有安装：`{command}` 会把它装进 Lockstep 自己的目录",
            names
        )
    }
}

impl Installed {
    /// The libraries in the user's data directory (`XDG_DATA_HOME`).
    pub fn of_user() -> Self {
        let dirs = etcetera::choose_base_strategy().ok();
        Self { directory: dirs.map(|dirs| dirs.data_dir().join("lockstep").join("libraries")) }
    }

    pub fn directory(&self, language: Language) -> Option<PathBuf> {
        Some(self.directory.as_ref()?.join(language.id()))
    }

    /// The libraries that are not installed in exactly this version.
    pub fn missing(&self, libraries: &Libraries, search: &Search) -> MissingLibraries {
        let all = libraries.iter().flat_map(|(language, all)| {
            all.iter().map(|(name, version)| LibraryVersion {
                language: *language,
                name: name.clone(),
                version: version.clone(),
            })
        });
        MissingLibraries(all.filter(|library| !self.has(library, search)).collect())
    }

    fn has(&self, library: &LibraryVersion, search: &Search) -> bool {
        let Some(directory) = self.directory(library.language) else { return false };
        match library.language {
            Language::Python => {
                directory.join("bin/python3").exists() && has_python(&directory.join("lib"), library)
            }
            Language::Node => search.has("node") && has_node(&directory, library),
            Language::Java => jars::runs_source(search) && jars::has(&directory, library),
        }
    }

    /// Lets a program find these libraries instead of the user's own ones.
    pub(super) fn offer(&self, libraries: &Libraries, program: &mut Command) {
        for (language, all) in libraries {
            let Some(directory) = self.directory(*language) else { continue };
            match language {
                Language::Python => {
                    let path = env::var_os("PATH").unwrap_or_default();
                    let path = [directory.join("bin")].into_iter().chain(env::split_paths(&path));
                    if let Ok(path) = env::join_paths(path) {
                        program.env("PATH", path);
                    }
                    program.env_remove("PYTHONPATH").env_remove("PYTHONHOME");
                }
                Language::Node => {
                    program.env("NODE_PATH", directory.join("node_modules"));
                }
                Language::Java => {
                    program.env("CLASSPATH", jars::class_path(&directory, all));
                    program.env("JDK_JAVA_OPTIONS", jars::JVM).env_remove("JAVA_TOOL_OPTIONS");
                }
            }
        }
    }

    /// The plan that installs the missing ones of these libraries; `None` if nothing is missing.
    pub fn plan(&self, libraries: &Libraries, search: &Search) -> Result<Option<InstallPlan>, LabError> {
        let missing = self.missing(libraries, search);
        if missing.is_empty() {
            return Ok(None);
        }
        let mut languages: Vec<Language> = missing.0.iter().map(|library| library.language).collect();
        languages.dedup();
        let mut packages = Packages::default();
        let mut steps = Vec::new();
        for language in languages {
            let Some(directory) = self.directory(language) else { return Err(LabError::NoHome) };
            let at = directory.display().to_string();
            // All libraries of the language, so that its package manager resolves their dependencies together.
            let of_language = libraries.get(&language).into_iter().flatten();
            match language {
                Language::Python => {
                    if !makes_environments(search) {
                        packages.need("Python 3 with venv", "python3-venv", "python");
                    }
                    let python = format!("{at}/bin/python3");
                    steps.push(Step::new("python3", &["-m", "venv", "--clear", &at]));
                    let install = ["-m", "pip", "install", "--disable-pip-version-check"];
                    let named = of_language.map(|(name, version)| format!("{name}=={version}"));
                    steps.push(Step::new(&python, &install).with(named));
                }
                Language::Node => {
                    if !search.has("node") || !search.has("npm") {
                        packages.need("Node with npm", "nodejs npm", "node");
                    }
                    let install = ["install", "--prefix", &at, "--ignore-scripts", "--no-audit", "--no-fund"];
                    let named = of_language.map(|(name, version)| format!("{name}@{version}"));
                    steps.push(Step::new("npm", &install).with(named));
                }
                Language::Java => {
                    if !jars::runs_source(search) {
                        packages.need("a JDK 11 or newer", "default-jdk-headless", "openjdk");
                    }
                    for library in missing.0.iter().filter(|library| library.language == language) {
                        if jars::has(&directory, library) {
                            continue;
                        }
                        steps.extend(jars::steps(&directory, library, search)?);
                        packages.lists = true;
                    }
                }
            }
        }
        let mut plan = InstallPlan::of_packages(&packages, search)?;
        plan.steps.extend(steps);
        Ok((!plan.steps.is_empty()).then_some(plan))
    }
}

/// Whether `python3` is installed and can make virtual environments, which Debian has in a separate package.
fn makes_environments(search: &Search) -> bool {
    // It ends by itself within milliseconds, so it has no guard.
    let asks = || Command::new("python3").args(["-c", "import ensurepip, venv"]).output();
    search.has("python3") && asks().is_ok_and(|answer| answer.status.success())
}

/// Whether an environment has a package: pip leaves a directory `NAME-VERSION.dist-info`.
fn has_python(lib: &Path, library: &LibraryVersion) -> bool {
    // Normalizes names as PEP 503 does.
    let plain = |name: &str| name.to_ascii_lowercase().replace(['_', '.'], "-");
    let names = |directory: &Path| {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let packages = names(lib).into_iter().flat_map(|python| names(&python.join("site-packages")));
    packages
        .filter_map(|package| {
            let name = package.file_name()?.to_str()?.strip_suffix(".dist-info")?;
            let (name, version) = name.rsplit_once('-')?;
            Some((plain(name), version.to_owned()))
        })
        .any(|(name, version)| name == plain(&library.name) && version == library.version)
}

fn has_node(directory: &Path, library: &LibraryVersion) -> bool {
    let file = directory.join("node_modules").join(&library.name).join("package.json");
    let package =
        fs::read(file).ok().and_then(|text| serde_json::from_slice::<serde_json::Value>(&text).ok());
    let version = package.as_ref().and_then(|package| package["version"].as_str());
    // A leading `v` is ignored, as `npm` does.
    version.is_some_and(|version| version.trim_start_matches('v') == library.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn libraries(language: Language, name: &str, version: &str) -> Libraries {
        Libraries::from_iter([(language, [(name.to_owned(), version.to_owned())].into_iter().collect())])
    }

    #[test]
    fn a_library_is_there_in_its_own_version_only() {
        let home = tempfile::tempdir().expect("a directory");
        let installed = Installed { directory: Some(home.path().to_owned()) };
        let search = Search::from_environment();
        let wanted = libraries(Language::Python, "python-redis-lock", "4.0.1");
        assert!(!installed.missing(&wanted, &search).is_empty(), "nothing is there");
        let packages = home.path().join("python/lib/python3.11/site-packages");
        fs::create_dir_all(packages.join("python_redis_lock-4.0.1.dist-info")).expect("a directory");
        assert!(!installed.missing(&wanted, &search).is_empty(), "its interpreter has gone");
        fs::create_dir_all(home.path().join("python/bin/python3")).expect("a directory");
        assert!(installed.missing(&wanted, &search).is_empty());
        let other = libraries(Language::Python, "python-redis-lock", "4.0.2");
        let missing = installed.missing(&other, &search);
        let Text { en, zh } = missing.text();
        assert_eq!(en.split(',').next(), Some("python-redis-lock 4.0.2"));
        assert!(zh.contains("lockstep doctor --install --with python"), "{zh}");
    }

    #[test]
    fn what_installs_a_library_names_its_version_and_a_directory_of_our_own() {
        let home = tempfile::tempdir().expect("a directory");
        let installed = Installed { directory: Some(home.path().to_owned()) };
        let search = Search::new(vec!["/usr/bin".into()], |_| None);
        let plan = installed.plan(&libraries(Language::Node, "redlock", "4.2.0"), &search);
        let Ok(Some(plan)) = plan else { panic!("{plan:?}") };
        let last = plan.steps.last().map(ToString::to_string).unwrap_or_default();
        let at = home.path().join("node").display().to_string();
        assert!(
            last.starts_with(&format!("npm install --prefix {at} ")) && last.ends_with(" redlock@4.2.0"),
            "{last}"
        );
    }
}
