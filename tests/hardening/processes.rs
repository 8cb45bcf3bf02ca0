//! No process and no directory outlives Lockstep, including forks of servers.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::UnixStream,
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    child::Started,
    place::{NEW_LESSON, Place},
    pty::{CTRL_C, ENTER, Terminal, eventually},
    random::{Random, campaign, given_seed},
};

/// Random numbers from a seed that is printed, so that a failure can be reproduced: `LOCKSTEP_SEED` sets it.
fn random(what: &str) -> Random {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let seed = given_seed("LOCKSTEP_SEED").unwrap_or(now.as_secs());
    eprintln!("{what}: LOCKSTEP_SEED={seed}");
    Random::new(seed)
}

/// Lets a random time pass, since the test is about the moment.
fn moment(random: &mut Random, longest: u64) -> Duration {
    let moment = Duration::from_millis(random.next() % longest);
    std::thread::sleep(moment);
    moment
}

/// Starts a command without input and output.
fn start(command: &mut Command) -> Started {
    let null = Stdio::null;
    Started::new(command.stdin(null()).stdout(null()).stderr(null()))
}

/// Starts Lockstep again, with the shortest lab.
#[track_caller]
fn start_next(place: &Place) {
    let answer = place.run(&["run", "oversell", "--variant", "atomic-script"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
}

/// The socket of a lab's server.
fn socket(place: &Place, server: &str) -> Option<PathBuf> {
    let labs = place.left_behind().into_iter();
    labs.map(|lab| lab.join(format!("{server}.sock"))).find(|socket| socket.exists())
}

/// The answers of a server to commands sent by its administrator, or the error.
fn ask(place: &Place, server: &str, commands: &str) -> Result<String, String> {
    let socket = socket(place, server).ok_or("there is no socket yet")?;
    let secret =
        std::fs::read_to_string(socket.with_file_name("secret")).map_err(|error| error.to_string())?;
    // A forked child keeps the connection open, so the end of the stream is no sign.
    let last = "-- all answered --";
    let asked = UnixStream::connect(socket).and_then(|mut stream| {
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let commands = commands.replace('\n', "\r\n");
        write!(stream, "AUTH lockstep {secret}\r\n{commands}\r\nECHO \"{last}\"\r\n")?;
        let mut answer = String::new();
        let mut lines = BufReader::new(stream);
        while !answer.contains(last) {
            if lines.read_line(&mut answer)? == 0 {
                return Err(std::io::Error::other(format!("it hung up after {answer:?}")));
            }
        }
        Ok(answer)
    });
    let answer = asked.map_err(|error| error.to_string())?;
    // The first answer is that to `AUTH`.
    answer.strip_prefix("+OK\r\n").map(str::to_owned).ok_or(answer)
}

/// The number of running forks of Redis servers, which name themselves `redis-rdb-bgsave` and `redis-rdb-to-slaves`.
fn forks(place: &Place) -> usize {
    let processes = place.processes();
    processes.iter().filter(|process| process.contains("redis-rdb-")).count()
}

/// Makes a server save in the background, so slowly that it takes a quarter of an hour.
#[track_caller]
fn save_slowly(place: &Place, server: &str) {
    let commands =
        "CONFIG SET rdb-key-save-delay 9000000\nMSET k1 1 k2 2 k3 3 k4 4 k5 5 k6 6 k7 7 k8 8 k9 9\nBGSAVE";
    let answer = ask(place, server, commands);
    let began = answer.as_ref().is_ok_and(|answer| answer.contains("Background saving started"));
    assert!(began, "{answer:?}");
    until_forked(place);
}

/// Makes a replica do a full resynchronization with its master, slowly.
#[track_caller]
fn sync_slowly(place: &Place) {
    let commands = "CONFIG SET rdb-key-save-delay 9000000\nMSET k1 1 k2 2 k3 3 k4 4 k5 5 k6 6 k7 7 k8 8 k9 9";
    let answer = ask(place, "node1", commands);
    assert!(answer.as_ref().is_ok_and(|answer| answer.starts_with("+OK\r\n+OK\r\n+OK")), "{answer:?}");
    let known = ask(place, "node2", "CONFIG GET replicaof").unwrap_or_default();
    let master = known.lines().find(|line| line.starts_with("127.")).expect("it follows a master");
    // As its own master the replica gets a history of its own, so that only a full resynchronization is possible.
    let commands = format!("REPLICAOF NO ONE\nSET other 1\nREPLICAOF {master}");
    ask(place, "node2", &commands).expect("it answers");
    until_forked(place);
}

#[track_caller]
fn until_forked(place: &Place) {
    eventually("a fork runs", || forks(place) > 0, || format!("{:#?}", place.processes()));
}

/// A lesson on the screen whose first server answers.
fn open_lesson(place: &Place, lesson: &str) -> Terminal {
    let terminal = Terminal::start(place, &["play", lesson, "--no-questions"]);
    terminal.wait_for("Ready: press");
    terminal
}

#[test]
fn a_fork_ends_with_its_lockstep() {
    type Ending = (&'static str, fn(&mut Terminal));
    let endings: [Ending; 3] = [
        ("Q", |terminal| terminal.press("Q")),
        ("Ctrl-C", |terminal| terminal.press(CTRL_C)),
        ("SIGTERM", |terminal| terminal.signal(Signal::TERM)),
    ];
    let place = Place::new();
    for (name, end) in endings {
        let mut terminal = open_lesson(&place, "oversell");
        save_slowly(&place, "redis");
        end(&mut terminal);
        terminal.ended();
        place.assert_nothing_left_after(name);
    }
}

/// The lesson clock's library ends the fork, before the next start.
#[test]
fn a_fork_ends_when_lockstep_is_killed() {
    let place = Place::new();
    let mut terminal = open_lesson(&place, "oversell");
    save_slowly(&place, "redis");
    terminal.signal(Signal::KILL);
    terminal.end();
    eventually("the fork is gone", || forks(&place) == 0, || format!("{:?}", place.processes()));
    start_next(&place);
    place.assert_nothing_left_after("the next start");
}

#[test]
fn a_fork_ends_with_its_server() {
    let place = Place::new();
    let mut terminal = open_lesson(&place, "oversell");
    // Before there is a fork, which has the server's name at first.
    let processes = place.processes();
    let server = processes.iter().find(|process| process.contains("redis-server"));
    let pid = server.and_then(|server| server.split(' ').next()?.parse().ok());
    save_slowly(&place, "redis");
    kill_process(pid.and_then(Pid::from_raw).expect("a pid"), Signal::KILL).expect("it is killed");
    terminal.wait_for("A server failed");
    eventually("the fork is gone", || forks(&place) == 0, || format!("{:?}", place.processes()));
    terminal.press("Q");
    terminal.ended();
    place.assert_nothing_left_after("Q");
}

/// On the wall clock Lockstep's library is not in the server, so only the next start ends its fork.
#[test]
fn a_fork_that_outlives_sigkill_is_ended_by_the_next_start() {
    let place = Place::new();
    let lesson = NEW_LESSON.replace("- work: 5s", "- work: 600s");
    place.write("lesson.yaml", lesson);
    let mut running = start(&mut place.command(&["run", "lesson.yaml", "--wall-clock", "--jobs", "1"]));
    eventually(
        "the server answers",
        || ask(&place, "redis", "PING").is_ok_and(|answer| answer.starts_with("+PONG")),
        || format!("{:?}", place.processes()),
    );
    save_slowly(&place, "redis");
    // A foreign process in the same directory, with a process group of its own: it must survive.
    let lab = place.left_behind().remove(0);
    let mut shell = Command::new("sleep");
    std::os::unix::process::CommandExt::process_group(&mut shell, 0);
    let mut innocent = start(shell.arg("1000").current_dir(&lab));
    running.signal(Signal::KILL);
    running.0.wait().expect("it ends");
    start_next(&place);
    assert_eq!(forks(&place), 0);
    assert_eq!(innocent.0.try_wait().expect("it can be asked for"), None, "it is left alone");
    drop(innocent);
    place.assert_nothing_left_after("the next start");
}

#[test]
fn a_strange_lock_hangs_no_start() {
    let place = Place::new();
    let prefix = format!("lockstep-{}-", rustix::process::geteuid().as_raw());
    let strange = |name: &str, make: &dyn Fn(PathBuf)| {
        let dir = place.path().join(format!("{prefix}{name}"));
        std::fs::create_dir(&dir).expect("a directory");
        make(dir);
    };
    let fifo = |path: PathBuf| {
        let made = Command::new("mkfifo").arg(path).status().expect("mkfifo");
        assert!(made.success());
    };
    let link = |path: PathBuf| std::os::unix::fs::symlink("/dev/zero", path).expect("a link");
    let write = |path: PathBuf| std::fs::write(path, "").expect("a file");
    strange("fifo01", &|dir| fifo(dir.join("lock")));
    strange("link01", &|dir| link(dir.join("lock")));
    strange("dir001", &|dir| {
        std::fs::create_dir(dir.join("lock")).expect("a directory");
    });
    strange("pids01", &|dir| {
        write(dir.join("lock"));
        fifo(dir.join("pids"));
    });
    strange("pids02", &|dir| {
        write(dir.join("lock"));
        link(dir.join("pids"));
    });
    let began = Instant::now();
    start_next(&place);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    // A directory is abandoned if its lock is free; one without a lock is left alone.
    let mut left: Vec<_> = place
        .left_behind()
        .into_iter()
        .filter_map(|dir| dir.file_name()?.to_str().map(str::to_owned))
        .collect();
    left.sort();
    assert_eq!(left, ["dir001", "fifo01", "link01"].map(|name| format!("{prefix}{name}")));
}

/// Leaving at a random moment in the middle of whatever owns labs.
#[test]
fn leaving_anywhere_leaves_nothing() {
    let mut random = random("leaving_anywhere_leaves_nothing");
    let times = if campaign() { 50 } else { 1 };
    // The arguments and key that open it, and the text that shows that it is under way.
    let places: [(&str, &[&str], &str, &str); 4] = [
        ("a search", &["play", "unlock-someone-elses-lock"], "X", "every order"),
        ("a search with processes", &["play", "zk-herd"], "X", "every order"),
        ("races", &["play", "oversell"], "R", "races"),
        ("the comparison", &["compare", "oversell"], "", "oversell"),
    ];
    for n in 0..times {
        for (what, args, key, shown) in places {
            let place = Place::new();
            let mut terminal = Terminal::start(&place, args);
            if key.is_empty() {
                terminal
                    .wait_until("the comparison", |screen| screen.rows().iter().any(|row| !row.is_empty()));
            } else {
                terminal.wait_for("Ready: press");
                terminal.press(key);
                terminal.wait_for(shown);
                if shown == "every order" {
                    terminal.press(ENTER);
                }
            }
            let moment = moment(&mut random, 700);
            match random.below(4) {
                0 => terminal.signal(Signal::TERM),
                1 => terminal.press(CTRL_C),
                2 => terminal.signal(Signal::HUP),
                _ => terminal.press("Q"),
            }
            let asked = Instant::now();
            terminal.end();
            let took = asked.elapsed();
            terminal.assert_restored();
            place.assert_nothing_left_after(&format!("{n}: {what} left after {moment:?}"));
            assert!(took < Duration::from_secs(10), "{what}: {took:?}");
        }
    }
}

#[test]
fn a_headless_search_that_is_interrupted_leaves_nothing() {
    let mut random = random("a_headless_search_that_is_interrupted_leaves_nothing");
    let place = Place::new();
    let commands: [&[&str]; 4] = [
        &["explore", "unlock-someone-elses-lock", "--moves", "40", "--no-prune"],
        &["explore", "zk-herd", "--set", "clients=3"],
        &["race", "oversell", "-n", "100000"],
        &["run", "failover"],
    ];
    let times = if campaign() { 25 } else { 1 };
    for n in 0..times {
        for args in commands {
            let mut running = start(&mut place.command(args));
            // Before the command listens, a signal ends it at once.
            eventually(
                "a lab is there",
                || !place.left_behind().is_empty() || running.0.try_wait().is_ok_and(|ended| ended.is_some()),
                || format!("{:?}", place.processes()),
            );
            let moment = moment(&mut random, 1000);
            let _ =
                running.0.try_wait().is_ok_and(|ended| ended.is_none()).then(|| running.signal(Signal::INT));
            running.0.wait().expect("it ends");
            place.assert_nothing_left_after(&format!("{n}: {args:?} after {moment:?}"));
        }
    }
}

/// SIGKILL at random moments; in one of ten cases while a server's fork runs.
#[test]
fn killed_at_any_moment_nothing_is_left_after_the_next_start() {
    let mut random = random("killed_at_any_moment_nothing_is_left_after_the_next_start");
    let times = if campaign() { 100 } else { 10 };
    let place = Place::new();
    let headless: [&[&str]; 6] = [
        &["run", "oversell"],
        &["run", "zk-herd"],
        &["run", "failover"],
        &["race", "unlock-someone-elses-lock", "-n", "100000"],
        &["explore", "unlock-someone-elses-lock", "--moves", "40", "--no-prune"],
        &["explore", "zk-herd", "--set", "clients=3"],
    ];
    let mut processes = 0;
    for n in 0..times {
        let what = match n % 10 {
            0 if n % 20 == 0 => {
                let mut terminal = open_lesson(&place, "oversell");
                save_slowly(&place, "redis");
                processes += place.processes().len();
                terminal.signal(Signal::KILL);
                terminal.end();
                "a save in the background".to_owned()
            }
            0 => {
                let mut terminal = open_lesson(&place, "failover");
                sync_slowly(&place);
                processes += place.processes().len();
                terminal.signal(Signal::KILL);
                terminal.end();
                "a full synchronisation".to_owned()
            }
            1..=3 => {
                let lesson = ["oversell", "zk-herd", "failover"][n % 3];
                let mut terminal = Terminal::start(&place, &["play", lesson]);
                let moment = moment(&mut random, 1500);
                processes += place.processes().len();
                terminal.signal(Signal::KILL);
                terminal.end();
                format!("play {lesson} after {moment:?}")
            }
            _ => {
                let args = headless[random.below(6)];
                let mut running = start(&mut place.command(args));
                let moment = moment(&mut random, 1500);
                processes += place.processes().len();
                let _ = running.0.kill();
                running.0.wait().expect("it ends");
                format!("{args:?} after {moment:?}")
            }
        };
        start_next(&place);
        place.assert_nothing_left_after(&format!("{n}: {what}"));
    }
    eprintln!("{times} SIGKILLs, {processes} processes: nothing left after the next start");
}
