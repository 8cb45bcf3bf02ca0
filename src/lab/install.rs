//! Installing what is missing: first a plan, which can be shown and asked about, then its execution. It
//! must not decide whether to install, nor look for programs itself.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Serialize;

use super::doctor::{Need, ProgramReport};
use crate::process::Exit;
use crate::process::error::LabError;
use crate::process::programs::Search;
use crate::process::version::Version;

/// Where apt keeps what it knows of packages; without it nothing can be installed.
const APT_LISTS: &str = "/var/lib/apt/lists";

/// What is to be done, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InstallPlan {
    /// The commands.
    pub steps: Vec<Step>,
    /// What whoever agrees to the plan should know.
    pub notes: Vec<&'static str>,
}

/// One command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
}

impl fmt::Display for Step {
    /// As it would be typed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program)?;
        self.args.iter().try_for_each(|arg| write!(f, " {arg}"))
    }
}

impl fmt::Display for InstallPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))?;
        self.notes.iter().try_for_each(|note| writeln!(f, "Note: {note}"))
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

impl InstallPlan {
    /// The plan for what these reports miss on this machine. `None` where nothing is missing.
    ///
    /// # Errors
    /// Where there is no package manager that Lockstep knows.
    pub fn new(programs: &[ProgramReport], search: &Search) -> Result<Option<Self>, LabError> {
        let has = |name| search.has(name);
        let manager = match (has("apt-get"), has("brew")) {
            (true, _) => Some(Manager::Apt),
            (false, true) => Some(Manager::Brew),
            (false, false) => None,
        };
        let machine = Machine {
            manager,
            root: rustix::process::geteuid().is_root(),
            lists: has_lists(Path::new(APT_LISTS)),
        };
        let missing: Vec<_> =
            programs.iter().filter(|program| !program.usable()).map(|program| program.need).collect();
        plan(&missing, machine)
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

fn plan(missing: &[Need], machine: Machine) -> Result<Option<InstallPlan>, LabError> {
    if missing.is_empty() {
        return Ok(None);
    }
    match machine.manager {
        Some(Manager::Apt) => Ok(Some(apt(missing, machine))),
        Some(Manager::Brew) => Ok(Some(brew(missing))),
        None => Err(LabError::NoPackageManager { missing: by_hand(missing) }),
    }
}

fn apt(missing: &[Need], machine: Machine) -> InstallPlan {
    let packages = packages(missing, |need| match need {
        Need::RedisServer => "redis-server",
        Need::RedisSentinel => "redis-sentinel",
        Need::Java => "default-jre-headless",
        // Only the jars: the package `zookeeper` brings a desktop's Java along.
        Need::Zookeeper => "libzookeeper-java",
    });
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
    let mut install = vec!["apt-get", "install", "-y", "--no-install-recommends"];
    install.extend(&packages);
    steps.push(step(&install));
    let mut notes = Vec::new();
    if missing.iter().any(|need| matches!(need, Need::RedisServer | Need::RedisSentinel)) {
        notes.push(SERVICE_NOTE);
    }
    InstallPlan { steps, notes }
}

fn brew(missing: &[Need]) -> InstallPlan {
    let packages = packages(missing, |need| match need {
        Need::RedisServer | Need::RedisSentinel => "redis",
        Need::Java => "openjdk",
        Need::Zookeeper => "zookeeper",
    });
    let args = ["install"].iter().chain(&packages).map(ToString::to_string).collect();
    InstallPlan { steps: vec![Step { program: "brew".into(), args }], notes: Vec::new() }
}

fn packages(missing: &[Need], package: fn(Need) -> &'static str) -> Vec<&'static str> {
    let mut packages: Vec<_> = missing.iter().map(|need| package(*need)).collect();
    packages.dedup();
    packages
}

fn by_hand(missing: &[Need]) -> String {
    let names: Vec<_> = missing
        .iter()
        .map(|need| match need {
            Need::RedisServer => format!("Redis {} or newer", Version::REDIS),
            Need::RedisSentinel => format!("Redis Sentinel {} or newer", Version::REDIS),
            Need::Java => format!("Java {} or newer", Version::JAVA),
            Need::Zookeeper => format!("ZooKeeper {} or newer", Version::ZOOKEEPER),
        })
        .collect();
    names.join(", ")
}

fn has_lists(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|entries| {
        entries.flatten().any(|entry| entry.file_name().to_string_lossy().contains("_Packages"))
    })
}

const SERVICE_NOTE: &str = "the packages redis-server and redis-sentinel also bring system services. They are \
not started now, but would be at the next boot. Lockstep never uses them; to keep them off: \
`sudo systemctl disable --now redis-server redis-sentinel`.";

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Need; 4] = [Need::RedisServer, Need::RedisSentinel, Need::Java, Need::Zookeeper];

    fn machine(manager: Option<Manager>, root: bool, lists: bool) -> Machine {
        Machine { manager, root, lists }
    }

    #[test]
    fn apt_is_asked_for_what_is_missing_and_nothing_else() {
        let plan = plan(&[Need::Zookeeper], machine(Some(Manager::Apt), true, true)).unwrap().unwrap();
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
        let plan = plan(&ALL, machine(Some(Manager::Apt), false, false)).unwrap().unwrap();
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
        let plan = plan(&ALL, machine(Some(Manager::Brew), false, true)).unwrap().unwrap();
        assert_eq!(plan.to_string(), "brew install redis openjdk zookeeper\n");
    }

    #[test]
    fn without_a_manager_the_user_is_told_what_to_install() {
        let message = plan(&[Need::Java], machine(None, true, true)).unwrap_err().to_string();
        assert!(message.contains("Java 11.0.0 or newer") && message.contains("lockstep doctor"), "{message}");
        assert_eq!(plan(&[], machine(None, true, true)).unwrap(), None);
    }
}
