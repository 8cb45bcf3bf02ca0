//! Installing what is missing: first a plan, which can be shown and asked about, then its execution. It
//! must not decide whether to install, nor look for programs itself.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::doctor::ProgramReport;
use super::{Lab, LabOptions};
use crate::lesson::LabKind;
use crate::process::Exit;
use crate::process::error::LabError;
use crate::process::programs::Search;
use crate::server::program::Program;
use crate::text::{Lang, Words};

/// Where apt keeps what it knows of packages; without it nothing can be installed.
const APT_LISTS: &str = "/var/lib/apt/lists";

/// What is to be done, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallPlan {
    pub steps: Vec<Step>,
    /// What whoever agrees to the plan should know.
    pub notes: Vec<Words>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub program: String,
    pub args: Vec<String>,
}

impl Step {
    pub(super) fn new(program: &str, args: &[&str]) -> Self {
        Self { program: program.to_owned(), args: args.iter().map(ToString::to_string).collect() }
    }

    /// With these arguments behind its others.
    pub(super) fn with(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }
}

impl fmt::Display for Step {
    /// As it would be typed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program)?;
        self.args.iter().try_for_each(|arg| {
            if arg.contains(['*', ';', '{', ' ']) { write!(f, " '{arg}'") } else { write!(f, " {arg}") }
        })
    }
}

impl fmt::Display for InstallPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))?;
        self.notes.iter().try_for_each(|note| writeln!(f, "Note: {}", note.get(Lang::En)))
    }
}

/// What a plan depends on, besides what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Machine {
    manager: Option<Manager>,
    root: bool,
    /// Whether apt knows any packages.
    lists: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manager {
    Apt,
    Brew,
}

impl Machine {
    fn look(search: &Search) -> Self {
        let manager = match (search.has("apt-get"), search.has("brew")) {
            (true, _) => Some(Manager::Apt),
            (false, true) => Some(Manager::Brew),
            (false, false) => None,
        };
        let root = rustix::process::geteuid().is_root();
        Self { manager, root, lists: has_lists(Path::new(APT_LISTS)) }
    }
}

impl InstallPlan {
    /// The plan for what these reports miss on this machine. `None` where nothing is missing.
    pub fn new(programs: &[ProgramReport], search: &Search) -> Result<Option<Self>, LabError> {
        let missing: Vec<_> =
            programs.iter().filter(|report| !report.usable()).map(|report| report.program).collect();
        plan(&missing, Machine::look(search))
    }

    /// The plan for these packages of the system; without any step where there are none.
    pub(super) fn of_packages(packages: &Packages, search: &Search) -> Result<Self, LabError> {
        let none = Self { steps: Vec::new(), notes: Vec::new() };
        packages.plan(Machine::look(search)).map(|plan| plan.unwrap_or(none))
    }

    /// This one, and then the other.
    pub fn and(mut self, other: Self) -> Self {
        self.steps.extend(other.steps);
        self.notes.extend(other.notes);
        self
    }

    /// Runs the commands, one after another, with this process' own terminal: package managers ask for
    /// passwords and show their progress themselves.
    ///
    /// # Errors
    /// Where a command cannot be run or fails; the ones after it are not run.
    pub fn run(&self) -> Result<(), LabError> {
        for step in &self.steps {
            // The user's own errand in the user's own terminal: it is meant to be reached by Ctrl-C and to
            // finish by itself, so it is no child of the lab and has no guard.
            let status = Command::new(&step.program).args(&step.args).status();
            let how = match status {
                Ok(status) if status.success() => continue,
                Ok(status) => Exit::from(status).to_string(),
                Err(error) => error.to_string(),
            };
            return Err(LabError::Install { command: step.to_string(), how });
        }
        Ok(())
    }
}

/// Makes what labs otherwise make beside the first of them, so that the first lesson starts as quickly as all others.
/// A lab that cannot start says so when a lesson wants it.
pub(crate) async fn prepare(options: &LabOptions) {
    if options.search.serves(LabKind::Zookeeper)
        && let Ok(mut lab) = Lab::start(LabKind::Zookeeper, options).await
    {
        lab.background_work().await;
        lab.shutdown().await;
    }
}

fn plan(missing: &[&Program], machine: Machine) -> Result<Option<InstallPlan>, LabError> {
    let mut packages = Packages::default();
    for program in missing {
        packages.need(&format!("{} {} or newer", program.title, program.needed), program.apt, program.brew);
        packages.notes.extend(program.apt_note);
    }
    packages.notes.dedup();
    packages.plan(machine)
}

/// Packages of the system that are missing.
#[derive(Debug, Default)]
pub(super) struct Packages {
    /// What they bring, in words for whoever installs it by hand.
    titles: Vec<String>,
    apt: Vec<&'static str>,
    brew: Vec<&'static str>,
    /// What to know about apt's.
    notes: Vec<Words>,
    /// Whether apt has to know packages, even where it installs none.
    pub(super) lists: bool,
}

impl Packages {
    pub(super) fn need(&mut self, title: &str, apt: &'static str, brew: &'static str) {
        self.titles.push(title.to_owned());
        self.apt.push(apt);
        self.brew.push(brew);
        self.apt.dedup();
        self.brew.dedup();
    }

    fn plan(&self, machine: Machine) -> Result<Option<InstallPlan>, LabError> {
        if self.titles.is_empty() && !self.lists {
            return Ok(None);
        }
        match machine.manager {
            Some(Manager::Apt) => Ok(Some(self.apt(machine))),
            Some(Manager::Brew) => Ok(Some(self.brew())),
            None => Err(LabError::NoPackageManager { missing: self.titles.join(", ") }),
        }
    }

    fn apt(&self, machine: Machine) -> InstallPlan {
        // `sudo` clears the environment, so `env` sets it on the inner side. DEBIAN_FRONTEND: no questions.
        // SYSTEMD_OFFLINE and RUNLEVEL: Debian starts a freshly installed service at once; these two, for this
        // one command only, make the start a no-op where systemd runs and where it does not.
        let settings = ["DEBIAN_FRONTEND=noninteractive", "SYSTEMD_OFFLINE=1", "RUNLEVEL=1"];
        let step = |words: &[&str]| {
            let mut all: Vec<String> = if machine.root { vec![] } else { vec!["sudo".into()] };
            all.push("env".into());
            all.extend(settings.iter().chain(words).map(ToString::to_string));
            Step { program: all.remove(0), args: all }
        };
        let mut steps = Vec::new();
        if !machine.lists {
            steps.push(step(&["apt-get", "update"]));
        }
        if !self.apt.is_empty() {
            let mut install = vec!["apt-get", "install", "-y", "--no-install-recommends"];
            install.extend(self.apt.iter().flat_map(|packages| packages.split(' ')));
            steps.push(step(&install));
        }
        InstallPlan { steps, notes: self.notes.clone() }
    }

    fn brew(&self) -> InstallPlan {
        InstallPlan {
            steps: vec![Step::new("brew", &["install"]).with(self.brew.iter().copied())],
            notes: Vec::new(),
        }
    }
}

fn has_lists(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|entries| {
        entries.flatten().any(|entry| entry.file_name().to_string_lossy().contains("_Packages"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{
        redis::programs::{SENTINEL, SERVER},
        zookeeper::programs::{JAVA, ZOOKEEPER},
    };

    const MISSING: [&Program; 4] = [&SERVER, &SENTINEL, &JAVA, &ZOOKEEPER];

    fn machine(manager: Option<Manager>, root: bool, lists: bool) -> Machine {
        Machine { manager, root, lists }
    }

    #[test]
    fn apt_is_asked_for_what_is_missing_and_nothing_else() {
        let plan = plan(&[&ZOOKEEPER], machine(Some(Manager::Apt), true, true)).unwrap().unwrap();
        let [step] = plan.steps.as_slice() else { panic!("{plan}") };
        assert!(
            step.to_string().ends_with("apt-get install -y --no-install-recommends libzookeeper-java"),
            "{step}"
        );
        assert!(step.to_string().starts_with("env DEBIAN_FRONTEND=noninteractive"), "{step}");
        assert!(plan.notes.is_empty());
    }

    #[test]
    fn without_lists_and_rights_apt_is_updated_first_through_sudo() {
        let plan = plan(&MISSING, machine(Some(Manager::Apt), false, false)).unwrap().unwrap();
        assert_eq!(plan.steps.len(), 2);
        assert!(plan.steps.iter().all(|step| step.program == "sudo"));
        assert!(plan.steps[0].to_string().ends_with("apt-get update"));
        assert!(
            plan.to_string().contains("redis-server redis-sentinel default-jre-headless libzookeeper-java")
        );
        assert!(plan.to_string().contains("Note: "));
    }

    #[test]
    fn brew_has_sentinel_in_redis() {
        let plan = plan(&MISSING, machine(Some(Manager::Brew), false, true)).unwrap().unwrap();
        assert_eq!(plan.to_string(), "brew install redis openjdk zookeeper\n");
    }

    #[test]
    fn without_a_manager_the_user_is_told_what_to_install() {
        let message = plan(&[&JAVA], machine(None, true, true)).unwrap_err().to_string();
        assert!(message.contains("Java 11.0.0 or newer") && message.contains("lockstep doctor"), "{message}");
        assert_eq!(plan(&[], machine(None, true, true)).unwrap(), None);
    }
}
