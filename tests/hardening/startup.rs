//! Limits of the machine, signals, and a clock that is proved before the screen says so.

use std::{os::unix::fs::PermissionsExt, path::PathBuf, process::Command};

use rustix::process::Signal;

use crate::{
    place::{Answer, LOCKSTEP, Place},
    pty::Terminal,
};

#[test]
fn every_signal_that_can_be_heard_gives_the_terminal_back() {
    let signals = [
        Signal::QUIT,
        Signal::ABORT,
        Signal::USR1,
        Signal::USR2,
        Signal::ALARM,
        Signal::VTALARM,
        Signal::PROF,
        Signal::XCPU,
        Signal::XFSZ,
        Signal::IO,
    ];
    let place = Place::new();
    for signal in signals {
        let mut terminal = Terminal::start(&place, &["play", "oversell"]);
        terminal.wait_for("Ready: press");
        terminal.signal(signal);
        let code = i32::try_from(terminal.ended()).expect("an exit code");
        assert_eq!(code, 128 + signal.as_raw(), "as shells tell of {signal:?}");
        terminal.assert_restored();
        let raw = String::from_utf8_lossy(&terminal.raw()).into_owned();
        assert!(raw.contains("\x1b[?1003l") || raw.contains("\x1b[?1000l"), "the mouse is given back");
        place.assert_nothing_left_after(&format!("{signal:?}"));
    }
}

/// A `redis-server` that drops the preloaded library, as the dynamic linker does with one that it may not load.
fn deaf_server(place: &Place) -> PathBuf {
    let script = place.write("deaf-redis-server", "#!/bin/sh\nunset LD_PRELOAD\nexec redis-server \"$@\"\n");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    script
}

#[test]
fn a_server_that_does_not_take_the_clock_is_found_out_and_said_so() {
    let place = Place::new();
    let deaf = deaf_server(&place);
    let mut command = place.command(&["run", "oversell", "--json"]);
    let answer = Answer::of(&command.env("LOCKSTEP_REDIS_SERVER", &deaf).output().expect("it starts"));
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    for line in answer.json() {
        assert_eq!(line["clock"], "wall", "{line}");
        let why = line["clock_why"].as_str().unwrap_or_default();
        assert!(why.contains("redis did not take the lesson clock"), "{line}");
    }
    assert!(answer.err.contains("WALL CLOCK"), "{}", answer.err);
    place.assert_nothing_left_after("a run");
    let java = place.write("deaf-java", "#!/bin/sh\nunset LD_PRELOAD\nexec java \"$@\"\n");
    std::fs::set_permissions(&java, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    let mut command = place.command(&["explore", "zk-herd"]);
    let answer = Answer::of(&command.env("LOCKSTEP_JAVA", &java).output().expect("it starts"));
    assert_eq!(answer.code, Some(3), "{}", answer.err);
    assert!(answer.err.contains("zookeeper did not take the lesson clock"), "{}", answer.err);
    let mut command = place.command(&["explore", "oversell", "--variant", "local-lock"]);
    let answer = Answer::of(&command.env("LOCKSTEP_REDIS_SERVER", &deaf).output().expect("it starts"));
    assert_eq!(answer.code, Some(3), "{}", answer.err);
    assert!(answer.err.contains("did not take the lesson clock"), "{}", answer.err);
    let mut command = place.command(&["doctor"]);
    let answer = Answer::of(&command.env("LOCKSTEP_REDIS_SERVER", &deaf).output().expect("it starts"));
    assert!(answer.out.contains("did not take the lesson clock"), "{}", answer.out);

    let deaf = deaf.display().to_string();
    let mut terminal =
        Terminal::start_with(&place, &["play", "oversell"], (120, 40), &[("LOCKSTEP_REDIS_SERVER", &deaf)]);
    let screen = terminal.wait_for("WALL CLOCK");
    assert!(!screen.has("CONTROLLED CLOCK"), "{screen}");
    terminal.press("Q");
    terminal.ended();
    place.assert_nothing_left_after("the screen");
}

/// Runs a shell script whose `mount` commands have no effect outside; `None` if this system does not allow that.
fn with_mounts(place: &Place, script: &str) -> Option<Answer> {
    let attempt = |flags: &[&str], script: &str| {
        let mut unshare = Command::new("unshare");
        place.settle(unshare.args(flags).args(["sh", "-c", script]));
        unshare
            .env("LOCKSTEP", LOCKSTEP)
            .env("XDG_CACHE_HOME", place.path().join("cache"))
            .env_remove("XDG_RUNTIME_DIR");
        unshare.output().ok().map(|output| Answer::of(&output))
    };
    let flags: [&[&str]; 2] = [&["-m"], &["-r", "-m"]];
    let able = flags.into_iter().find(|flags| {
        attempt(flags, "mount -t tmpfs none /mnt").is_some_and(|answer| answer.code == Some(0))
    });
    if able.is_none() {
        eprintln!("not tried: this system lets nobody mount anything");
    }
    attempt(able?, script)
}

#[test]
fn with_a_noexec_temporary_directory_the_clock_is_controlled_from_elsewhere() {
    let place = Place::new();
    let cache = place.path().join("cache");
    std::fs::create_dir(&cache).expect("a directory");
    std::fs::create_dir(place.path().join("t")).expect("a directory");
    let script = "mount -t tmpfs -o noexec none t && TMPDIR=$PWD/t $LOCKSTEP run oversell unlock-someone-elses-lock --json \
                  && ls t";
    let Some(answer) = with_mounts(&place, script) else {
        return;
    };
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    for line in answer.json() {
        assert_eq!(line["clock"], "controlled", "{line}");
    }
    assert_eq!(std::fs::read_dir(&cache).expect("readable").count(), 0, "the library is gone, too");
    place.assert_nothing_left_after("noexec");
}

#[test]
fn where_nothing_can_be_loaded_from_anywhere_the_wall_clock_is_said() {
    let place = Place::new();
    // The checkout may itself be in /tmp, so the program is started from a mount that stays executable.
    let script = "mount --bind ${LOCKSTEP%/*} /mnt || exit 9
                  for d in /tmp /var/tmp /dev/shm; do mount --bind $d $d && mount -o remount,bind,noexec $d || exit 9; done
                  /mnt/lockstep run oversell --json && /mnt/lockstep doctor --lang zh >&2";
    let Some(answer) = with_mounts(&place, script) else {
        return;
    };
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    for line in answer.json() {
        assert_eq!(line["clock"], "wall", "{line}");
        assert!(line["clock_why"].as_str().is_some_and(|why| why.contains("noexec")), "{line}");
    }
    assert!(answer.err.contains("WALL CLOCK") && answer.err.contains("noexec 挂载"), "{}", answer.err);
    place.assert_nothing_left_after("noexec everywhere");
}

/// Runs `lockstep ARGS` after a shell's `ulimit` or `umask`.
fn limited(place: &Place, limit: &str, args: &str) -> Answer {
    let mut shell = Command::new("sh");
    place.settle(shell.args(["-c", &format!("{limit} && exec {LOCKSTEP} {args}")]));
    Answer::of(&shell.output().expect("a shell"))
}

#[track_caller]
fn assert_named(answer: &Answer, limit: &str, code: i32, when: &str) {
    let Answer { out, err, .. } = answer;
    assert!(!err.contains("panicked") && !out.contains("panicked"), "{when}: {err}");
    assert_eq!(answer.code, Some(code), "{when}: {err}");
    assert!(err.contains(limit), "{when}: {err}");
}

#[test]
fn too_few_open_files_are_named() {
    let place = Place::new();
    for files in [12, 20, 40, 63] {
        for args in
            ["run oversell", "explore oversell --variant local-lock", "race oversell -n 1", "run zk-herd"]
        {
            let when = format!("ulimit -n {files}: {args}");
            assert_named(&limited(&place, &format!("ulimit -n {files}"), args), "ulimit -n", 3, &when);
            place.assert_nothing_left_after(&when);
        }
    }
}

#[test]
fn a_umask_that_makes_files_useless_is_named() {
    let place = Place::new();
    assert_named(&limited(&place, "umask 777", "run oversell"), "umask 777", 2, "umask 777");
    place.assert_nothing_left_after("umask 777");
    assert_eq!(limited(&place, "umask 077", "run oversell").code, Some(0));
}

#[test]
fn where_no_thread_can_be_started_that_is_said() {
    let place = Place::new();
    // The limit does not hold for root, so root switches to a user without other processes.
    let program = place.path().join("lockstep");
    std::fs::copy(LOCKSTEP, &program).expect("a copy that anybody may run");
    for path in [place.path(), program.as_path()] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).expect("anybody may");
    }
    let root = rustix::process::geteuid().is_root();
    let (mut named, mut ran) = (0, 0);
    for processes in [1, 2, 4, 6, 8, 10, 12, 16, 20, 30, 60] {
        let script = format!(
            "ulimit -u {processes} && exec {} run oversell --variant atomic-script",
            program.display()
        );
        let mut command = if root {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", "54321", "--regid", "54321", "--clear-groups", "bash", "-c", &script]);
            command
        } else {
            let mut command = Command::new("bash");
            command.args(["-c", &script]);
            command
        };
        let command = command.current_dir(place.path()).env("TMPDIR", place.path()).env("HOME", place.path());
        let answer = Answer::of(&command.output().expect("it starts"));
        assert!(!answer.err.contains("panicked"), "{processes}: {}", answer.err);
        if answer.code == Some(0) {
            ran += 1;
        } else {
            assert_named(&answer, "ulimit -u", 3, &format!("ulimit -u {processes}"));
            named += 1;
        }
        place.assert_nothing_left_after(&format!("ulimit -u {processes}"));
    }
    assert!(named > 0, "{named} named, {ran} ran");
}

#[test]
fn too_little_memory_is_named() {
    let place = Place::new();
    for (kib, args) in
        [(300_000, "run zk-herd --variant predecessor"), (600_000, "run zk-herd --variant predecessor")]
    {
        let when = format!("ulimit -v {kib}: {args}");
        let answer = limited(&place, &format!("ulimit -v {kib}"), args);
        assert_named(&answer, "ulimit -v", 3, &when);
        place.assert_nothing_left_after(&when);
    }
}
