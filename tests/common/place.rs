//! What the tests of the real program share. It must not know what is tested.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// The program under test.
pub const LOCKSTEP: &str = env!("CARGO_BIN_EXE_lockstep");

/// The lesson that `lockstep new` writes.
pub const NEW_LESSON: &str = include_str!("../../assets/new-lesson.yaml");

/// How long a killed process may take to disappear; one that is left after this was not killed.
const TAKEN_DOWN_WITHIN: Duration = Duration::from_secs(10);

/// A private directory for one test: everything that Lockstep leaves behind is found here.
pub struct Place {
    dir: TempDir,
}

impl Place {
    /// An empty place.
    pub fn new() -> Self {
        Self { dir: tempfile::Builder::new().prefix("lt").tempdir_in("/tmp").expect("a temporary directory") }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file here, or in a subdirectory.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("it stands in a directory"))
            .expect("the directory is made");
        std::fs::write(&path, text).expect("a file is written");
        path
    }

    /// The command `lockstep ARGS`, with this place as its home and its temporary directory.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(LOCKSTEP);
        self.settle(command.args(args));
        command
    }

    /// Makes this place the home and the temporary directory of a command.
    pub fn settle(&self, command: &mut Command) {
        command
            .current_dir(self.path())
            .env("TMPDIR", self.path())
            .env("HOME", self.path())
            .env("XDG_STATE_HOME", self.path().join("state"))
            .env("XDG_CONFIG_HOME", self.path().join("config"))
            .env("LC_ALL", "C.UTF-8")
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_RUNTIME_DIR")
            .env_remove("LOCKSTEP_LESSONS");
    }

    /// Runs `lockstep ARGS` to its end.
    pub fn run(&self, args: &[&str]) -> Answer {
        Answer::of(&self.command(args).output().expect("lockstep starts"))
    }

    /// The directories of labs that are still here.
    pub fn left_behind(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path()).expect("the place is readable");
        entries
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .filter(|path| {
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("lockstep-"))
            })
            .collect()
    }

    /// Asserts that no process and no directory of Lockstep is left here.
    #[track_caller]
    pub fn assert_nothing_left(&self) {
        self.assert_nothing_left_after("the test");
    }

    /// The same; `what` names the cause in the message of a failure.
    #[track_caller]
    pub fn assert_nothing_left_after(&self, what: &str) {
        assert_eq!(self.left_behind(), Vec::<PathBuf>::new(), "after {what}");
        // A killed process exists until the kernel has removed it, which takes longer on a busy machine.
        let since = Instant::now();
        let mut processes = self.processes();
        while !processes.is_empty() && since.elapsed() < TAKEN_DOWN_WITHIN {
            std::thread::sleep(Duration::from_millis(5));
            processes = self.processes();
        }
        assert_eq!(processes, Vec::<String>::new(), "after {what}");
    }

    /// Processes whose command line or working directory names this place, other than zombies.
    pub fn processes(&self) -> Vec<String> {
        let here = self.path().display().to_string();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").expect("/proc").filter_map(Result::ok) {
            let pid = entry.file_name().to_string_lossy().into_owned();
            if !pid.bytes().all(|byte| byte.is_ascii_digit()) || pid == std::process::id().to_string() {
                continue;
            }
            let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let Some((_, state)) = stat.rsplit_once(") ") else { continue };
            if state.starts_with(['Z', 'X']) {
                continue;
            }
            let environment = String::from_utf8_lossy(&environment).into_owned();
            let works_here =
                std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(self.path()));
            if works_here || command.contains(&here) || environment.contains(&format!("TMPDIR={here}\0")) {
                // The parent's process id follows the state.
                let state = state.split(' ').take(2).collect::<Vec<_>>().join(" ");
                found.push(format!("{pid} {command}({state})"));
            }
        }
        found
    }
}

/// How a command ended.
pub struct Answer {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Answer {
    pub fn of(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Parses standard output as one JSON object per line.
    pub fn json(&self) -> Vec<serde_json::Value> {
        let parse = |line| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}\n{}", self.err))
        };
        self.out.lines().map(parse).collect()
    }
}
