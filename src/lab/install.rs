//! Installs missing programs: first a plan, which can be shown and confirmed, then its execution. It must not decide
//! whether to install, nor search for programs itself.

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
use crate::server::program::Executable;
use crate::text::{Text, Words, both};

/// Where apt keeps its package lists; without them it can install nothing.
const APT_LISTS: &str = "/var/lib/apt/lists";

/// The commands of an installation, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallPlan {
    pub steps: Vec<Step>,
    /// Notes for the user who confirms the plan.
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

    /// Appends arguments.
    pub(super) fn with(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }
}

impl fmt::Display for Step {
    /// As typed into a shell.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program)?;
        self.args.iter().try_for_each(|arg| {
            if arg.contains(['*', ';', '{', ' ']) { write!(f, " '{arg}'") } else { write!(f, " {arg}") }
        })
    }
}

/// What a plan depends on besides the missing programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Machine {
    manager: Option<Manager>,
    root: bool,
    /// Whether apt has package lists.
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
    /// The plan for the missing programs of these reports on this machine; `None` if nothing is missing.
    pub fn new(programs: &[ProgramReport], search: &Search) -> Result<Option<Self>, LabError> {
        let missing: Vec<_> =
            programs.iter().filter(|report| !report.usable()).map(|report| report.program).collect();
        plan(&missing, Machine::look(search))
    }

    /// The plan for these system packages; without steps if there are none.
    pub(super) fn of_packages(packages: &Packages, search: &Search) -> Result<Self, LabError> {
        let none = Self { steps: Vec::new(), notes: Vec::new() };
        packages.plan(Machine::look(search)).map(|plan| plan.unwrap_or(none))
    }

    /// The steps, and the notes about them.
    pub fn text(&self) -> Text {
        let steps = self.steps.iter().map(|step| Text::from(format!("{step}\n")));
        let notes = self.notes.iter().map(|note| {
            let note = note.text(&[]);
            both!("Note: {note}\n", "注意：{note}\n", note)
        });
        Text::join(&steps.chain(notes).collect::<Vec<_>>(), "", "")
    }

    /// This plan followed by the other.
    pub fn and(mut self, other: Self) -> Self {
        self.steps.extend(other.steps);
        self.notes.extend(other.notes);
        self
    }

    /// Runs the commands, one after another, on this process's own terminal: package managers ask for passwords and
    /// show their progress themselves.
    ///
    /// # Errors
    /// A command cannot be run or fails; the ones after it are not run.
    pub fn run(&self) -> Result<(), LabError> {
        for step in &self.steps {
            // This command belongs to the user's terminal: Ctrl-C must reach it and it ends by itself, so it is no
            // child of the lab and has no guard.
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

/// Builds in advance what labs otherwise build in the background of the first one, so that the first lesson starts as
/// quickly as all others. Errors of the lab's start are not reported here but when a lesson needs it.
pub(crate) async fn prepare(options: &LabOptions) {
    if options.search.serves(LabKind::Zookeeper)
        && let Ok(mut lab) = Lab::start(LabKind::Zookeeper, options).await
    {
        lab.background_work().await;
        lab.shutdown().await;
    }
}

fn plan(missing: &[&Executable], machine: Machine) -> Result<Option<InstallPlan>, LabError> {
    let mut packages = Packages::default();
    for program in missing {
        packages.need(&format!("{} {} or newer", program.title, program.needed), program.apt, program.brew);
        packages.notes.extend(program.apt_note);
    }
    packages.notes.dedup();
    packages.plan(machine)
}

/// Missing system packages.
#[derive(Debug, Default)]
pub(super) struct Packages {
    /// What the packages provide, in words for users who install by hand.
    titles: Vec<String>,
    apt: Vec<&'static str>,
    brew: Vec<&'static str>,
    /// Notes about apt's packages.
    notes: Vec<Words>,
    /// Whether apt needs its package lists even if it installs none of these packages.
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
        // SYSTEMD_OFFLINE and RUNLEVEL: Debian starts a freshly installed service at once; these two, for this one
        // command only, make the start a no-op with and without systemd.
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

    const MISSING: [&Executable; 4] = [&SERVER, &SENTINEL, &JAVA, &ZOOKEEPER];

    fn machine(manager: Option<Manager>, root: bool, lists: bool) -> Machine {
        Machine { manager, root, lists }
    }

    #[test]
    fn apt_is_asked_for_what_is_missing_and_nothing_else() {
        let plan = plan(&[&ZOOKEEPER], machine(Some(Manager::Apt), true, true)).unwrap().unwrap();
        let [step] = plan.steps.as_slice() else { panic!("{plan:?}") };
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
        let plan = plan.text().en;
        assert!(plan.contains("redis-server redis-sentinel default-jre-headless libzookeeper-java"));
        assert!(plan.contains("Note: "));
    }

    #[test]
    fn brew_has_sentinel_in_redis() {
        let plan = plan(&MISSING, machine(Some(Manager::Brew), false, true)).unwrap().unwrap();
        assert_eq!(plan.text().en, "brew install redis openjdk zookeeper\n");
    }

    #[test]
    fn without_a_package_manager_the_message_names_what_to_install() {
        let message = plan(&[&JAVA], machine(None, true, true)).unwrap_err().to_string();
        assert!(message.contains("Java 11.0.0 or newer") && message.contains("lockstep doctor"), "{message}");
        assert_eq!(plan(&[], machine(None, true, true)).unwrap(), None);
    }
}
