//! However Lockstep ends, none of its processes survive, and the files of a killed one are removed later.

use std::{cell::Cell, process::Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    child::Started,
    place::{NEW_LESSON, Place},
    pty::eventually,
};

/// A step that takes minutes on the wall clock when lengthened, so that the lesson is certainly in its middle.
const LONG: &str = "- work: 5s";

struct Running {
    place: Place,
    child: Started,
}

impl Running {
    /// Starts a run and waits until its server and its clients run.
    fn in_mid_lesson(args: &[&str]) -> Self {
        let place = Place::new();
        place.write("lesson.yaml", NEW_LESSON.replace(LONG, "- work: 600s"));
        let mut command =
            place.command(&[&["run", "lesson.yaml", "--wall-clock", "--jobs", "1"], args].concat());
        let child = Started::new(command.stdout(Stdio::null()).stderr(Stdio::null()));
        let running = Self { place, child };
        running.until("the server and two clients run", |running| {
            let processes = running.place.processes();
            let count = |word: &str| processes.iter().filter(|process| process.contains(word)).count();
            count("redis-server") >= 1 && count("__client") >= 2
        });
        running
    }

    /// Waits for a condition that nothing signals.
    #[track_caller]
    fn until(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        eventually(what, || condition(self), || format!("{:?}", self.place.processes()));
    }
}

#[test]
fn sigkill_leaves_no_process_and_the_next_start_clears_the_files() {
    let mut running = Running::in_mid_lesson(&[]);
    running.child.signal(Signal::KILL);
    running.child.0.wait().expect("it ends");
    running.until("every process is gone", |running| running.place.processes().is_empty());
    assert_eq!(running.place.left_behind().len(), 1, "SIGKILL gives nobody time to remove the directory");
    let answer = running.place.run(&["run", "oversell", "--variant", "atomic-script"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    running.place.assert_nothing_left_after("the next start");
}

#[test]
fn an_asked_for_end_leaves_neither_processes_nor_files() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut running = Running::in_mid_lesson(&[]);
        running.child.signal(signal);
        let status = running.child.0.wait().expect("it ends");
        assert_eq!(status.code(), Some(130), "{signal:?}");
        running.place.assert_nothing_left_after(&format!("{signal:?}"));
    }
}

/// Runs a lesson, kills its server once the clients run, and returns standard error.
fn said_when_the_server_is_killed(lesson: &str) -> String {
    let place = Place::new();
    place.write("lesson.yaml", lesson);
    let mut command = place.command(&["run", "lesson.yaml", "--wall-clock", "--jobs", "1"]);
    let child = Started::new(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    let mut running = Running { place, child };
    let server = |running: &Running| -> Option<i32> {
        let processes = running.place.processes();
        let clients = processes.iter().filter(|process| process.contains("__client")).count();
        let server = processes
            .iter()
            .find(|process| process.contains("redis-server") && !process.contains("__guard"))?;
        (clients >= 2).then(|| server.split(' ').next()?.parse().ok()).flatten()
    };
    // Searched once: while a client executes another program, it has no name for a moment.
    let seen = Cell::new(None);
    running.until("the server runs", |running| {
        seen.set(server(running));
        seen.get().is_some()
    });
    let pid = seen.get().and_then(Pid::from_raw).expect("the server's pid");
    kill_process(pid, Signal::KILL).expect("the signal is sent");
    let status = running.child.0.wait().expect("it ends");
    let mut error = String::new();
    std::io::Read::read_to_string(running.child.0.stderr.as_mut().expect("stderr"), &mut error)
        .expect("readable");
    assert_eq!(status.code(), Some(3), "{error}");
    running.place.assert_nothing_left();
    error
}

#[test]
fn a_server_that_dies_while_the_lesson_is_set_up_is_named() {
    let lesson = NEW_LESSON;
    // The lesson waits for a value that never comes.
    let error = said_when_the_server_is_killed(&format!("{lesson}\nsetup:\n  - redis: BLPOP nothing 0\n"));
    assert!(error.contains("the server `redis` ended"), "{error}");
}

#[test]
fn a_server_that_dies_in_mid_lesson_is_reported_with_its_own_words() {
    let lesson = NEW_LESSON.replace(LONG, "- work: 600s");
    let error = said_when_the_server_is_killed(&lesson);
    assert!(error.contains("redis") && error.contains("SIGKILL"), "{error}");
}

#[test]
fn a_temporary_directory_that_cannot_be_written_is_named() {
    let place = Place::new();
    let missing = place.path().join("missing");
    let output =
        place.command(&["run", "oversell"]).env("TMPDIR", &missing).output().expect("lockstep starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(2 | 3)), "{error}");
    assert!(error.contains("missing") && error.contains("TMPDIR"), "{error}");
}
