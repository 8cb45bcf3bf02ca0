//! However Lockstep ends, nothing of it goes on running, and what a killed one left is cleared away.

mod common;

use std::{
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use common::Place;
use rustix::process::{Pid, Signal, kill_process};

/// A lesson that takes minutes on the wall clock, so that it is surely in its middle.
const LONG: &str = "- work: 5s";

struct Running {
    place: Place,
    child: Child,
}

impl Running {
    /// Starts a run and waits until its server and its clients are up.
    fn in_mid_lesson(args: &[&str]) -> Self {
        let place = Place::new();
        place.write(
            "lesson.yaml",
            include_str!("../assets/new-lesson.yaml").replace(LONG, "- work: 600s"),
        );
        let child = place
            .command(&[&["run", "lesson.yaml", "--wall-clock"], args].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("lockstep starts");
        let running = Self { place, child };
        running.until("the server and two clients run", |running| {
            let processes = running.place.processes();
            let count = |word: &str| processes.iter().filter(|process| process.contains(word)).count();
            count("redis-server") >= 1 && count("__client") >= 2
        });
        running
    }

    /// Waits for a condition of the outside world; a minute is a failure.
    fn until(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !condition(self) {
            assert!(
                Instant::now() < deadline,
                "never: {what}; {:?}",
                self.place.processes()
            );
            // Between two looks at the outside world; what is waited for is the condition.
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a pid")).expect("a pid");
        kill_process(pid, signal).expect("the signal is sent");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn sigkill_leaves_no_process_and_the_next_start_clears_the_files() {
    let mut running = Running::in_mid_lesson(&[]);
    running.signal(Signal::KILL);
    running.child.wait().expect("it ends");
    running.until("every process is gone", |running| {
        running.place.processes().is_empty()
    });
    assert_eq!(
        running.place.left_behind().len(),
        1,
        "SIGKILL gives nobody time to remove the directory"
    );
    let answer = running
        .place
        .run(&["run", "oversell", "--variant", "atomic-script"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    assert_eq!(
        running.place.left_behind(),
        Vec::<std::path::PathBuf>::new(),
        "the next start cleared it"
    );
}

#[test]
fn an_asked_for_end_leaves_neither_processes_nor_files() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut running = Running::in_mid_lesson(&[]);
        running.signal(signal);
        let status = running.child.wait().expect("it ends");
        assert_eq!(status.code(), Some(130), "{signal:?}");
        assert_eq!(running.place.processes(), Vec::<String>::new(), "{signal:?}");
        assert_eq!(
            running.place.left_behind(),
            Vec::<std::path::PathBuf>::new(),
            "{signal:?}"
        );
    }
}

/// Runs a lesson, kills its server once the clients are there, and gives what was said.
fn said_when_the_server_is_killed(lesson: &str) -> String {
    let place = Place::new();
    place.write("lesson.yaml", lesson);
    let child = place
        .command(&["run", "lesson.yaml", "--wall-clock"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("lockstep starts");
    let mut running = Running { place, child };
    let server = |running: &Running| -> Option<i32> {
        let processes = running.place.processes();
        let clients = processes
            .iter()
            .filter(|process| process.contains("__client"))
            .count();
        let server = processes
            .iter()
            .find(|process| process.contains("redis-server") && !process.contains("__guard"))?;
        (clients >= 2)
            .then(|| server.split(' ').next()?.parse().ok())
            .flatten()
    };
    running.until("the server runs", |running| server(running).is_some());
    let pid = server(&running)
        .and_then(Pid::from_raw)
        .expect("the server's pid");
    kill_process(pid, Signal::KILL).expect("the signal is sent");
    let status = running.child.wait().expect("it ends");
    let mut error = String::new();
    std::io::Read::read_to_string(running.child.stderr.as_mut().expect("stderr"), &mut error)
        .expect("readable");
    assert_eq!(status.code(), Some(3), "{error}");
    assert_eq!(running.place.left_behind(), Vec::<std::path::PathBuf>::new());
    error
}

#[test]
fn a_server_that_dies_while_the_lesson_is_set_up_is_named() {
    let lesson = include_str!("../assets/new-lesson.yaml");
    // What never comes is waited for.
    let error = said_when_the_server_is_killed(&format!("{lesson}\nsetup:\n  - redis: BLPOP nothing 0\n"));
    assert!(error.contains("the server `redis` ended"), "{error}");
}

#[test]
fn a_server_that_dies_in_mid_lesson_is_reported_with_its_own_words() {
    let lesson = include_str!("../assets/new-lesson.yaml").replace(LONG, "- work: 600s");
    let error = said_when_the_server_is_killed(&lesson);
    assert!(error.contains("redis") && error.contains("SIGKILL"), "{error}");
}

#[test]
fn a_temporary_directory_that_cannot_be_written_is_named() {
    let place = Place::new();
    let missing = place.path().join("missing");
    let output = place
        .command(&["run", "oversell"])
        .env("TMPDIR", &missing)
        .output()
        .expect("lockstep starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(2 | 3)), "{error}");
    assert!(error.contains("missing") && error.contains("TMPDIR"), "{error}");
}
