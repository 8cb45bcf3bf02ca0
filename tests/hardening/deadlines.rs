//! Servers that die, stop or never answer: a message within seconds, and a way to continue.
//!
//! Quick by default: a few steps of one variant of each lab, a few moments of each command. With `LOCKSTEP_CAMPAIGN`
//! every step of every variant, every server, and many moments.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
    time::{Duration, Instant},
};

use lockstep::{
    lab::LabOptions,
    lesson::Scenario,
    log::{ActorId, Choice, EventKind, ServerInfo},
    run::session::{self, Session, SessionCommand as Ask, Update},
};
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    child::Started,
    place::{Answer, LOCKSTEP, Place},
    pty::{RIGHT, Terminal},
    random::campaign,
    scenarios::{all_carried, carried},
    texts::planned,
};

/// The deadline for a message. Other tests on the machine may slow it down, so it is longer than a learner would wait.
const MESSAGE_WITHIN: Duration = Duration::from_secs(10);
/// Anything that takes longer than this hangs.
const HANGS: Duration = Duration::from_mins(1);

fn send(pid: i32, signal: Signal) {
    // The process may have ended meanwhile.
    let _ = kill_process(Pid::from_raw(pid).expect("a process number"), signal);
}

/// A process of a lab.
#[derive(Debug, Clone)]
struct Server {
    pid: i32,
    /// A part of its command line, for messages.
    what: String,
}

/// The running server processes with this working directory, or one below it.
fn servers_in(lab: &Path) -> Vec<Server> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("/proc").filter_map(Result::ok) {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else {
            continue;
        };
        // The name may contain anything; after it come the state and the parent's process id.
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let stat = stat.rsplit(')').next().unwrap_or_default().trim_start();
        let runs = !stat.is_empty() && !stat.starts_with(['T', 'Z', 'X']);
        let here = std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(lab));
        if here && runs {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            // The server that makes the class archive belongs to no lab.
            if line.contains("-XX:ArchiveClassesAtExit=") {
                continue;
            }
            let what = line.split(&lab.display().to_string()).nth(1).unwrap_or(&line);
            let server = Server { pid, what: what.chars().take(40).collect() };
            let parent = stat.split_whitespace().nth(1).and_then(|word| word.parse().ok());
            found.push((server, parent.unwrap_or(0)));
        }
    }
    // Forked children of servers are not servers.
    let all: Vec<i32> = found.iter().map(|(server, _)| server.pid).collect();
    found.retain(|(_, parent)| !all.contains(parent));
    let mut found: Vec<Server> = found.into_iter().map(|(server, _)| server).collect();
    found.sort_by_key(|server| server.pid);
    found
}

/// The directories of labs in a place.
fn labs_in(place: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(place).into_iter().flatten().filter_map(Result::ok);
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.is_dir()).collect()
}

/// The directory of the lab with these servers.
fn lab_of(servers: &[ServerInfo]) -> PathBuf {
    let address = &servers.first().expect("a server").address;
    if address.starts_with('/') {
        return Path::new(address).parent().expect("a directory").to_owned();
    }
    let port = address.rsplit(':').next().expect("a port");
    let config = |lab: &PathBuf| std::fs::read_to_string(lab.join("zookeeper.cfg")).unwrap_or_default();
    labs_in(&lockstep::lab::workspace_root())
        .into_iter()
        .find(|lab| config(lab).lines().any(|line| line == format!("clientPort={port}")))
        .expect("the lab's directory")
}

/// A live run as the screen has one.
struct Live {
    session: Session,
    lab: Option<PathBuf>,
    ended: bool,
}

/// An update of a live run that a user would react to.
#[derive(Debug, PartialEq)]
enum Said {
    Stepped,
    /// A process stands still (with the message), or all run again.
    Silent(Option<String>),
    Failed(String, bool),
    Over,
}

impl Live {
    fn open(scenario: Scenario) -> Self {
        Self {
            session: session::open(scenario, LabOptions::with_binary(LOCKSTEP.into()), 1),
            lab: None,
            ended: false,
        }
    }

    /// The next update that a user would react to.
    async fn said(&mut self, within: Duration) -> Said {
        let heard = tokio::time::timeout(within, async {
            loop {
                match self.session.updates.recv().await {
                    Some(Update::Events(events)) => {
                        let ready = events.iter().find_map(|event| match &event.kind {
                            EventKind::LabReady { servers, .. } => Some(lab_of(servers)),
                            _ => None,
                        });
                        if ready.is_some() {
                            self.lab = ready;
                            return Said::Stepped;
                        }
                    }
                    Some(Update::Stepped { ended }) => {
                        self.ended |= ended;
                        return Said::Stepped;
                    }
                    Some(Update::Silent(why)) => return Said::Silent(why.map(|why| why.en)),
                    Some(Update::Failed(why)) => return Said::Failed(why.message.en, why.server),
                    None => return Said::Over,
                    Some(_) => {}
                }
            }
        });
        let said = heard.await.ok();
        said.unwrap_or_else(|| panic!("nothing is said: it hangs; ended: {}, lab {:?}", self.ended, self.lab))
    }

    fn step(&self) {
        // A failed run reports its failure by itself.
        let _ = self.session.commands.send(Ask::Step);
    }

    /// Takes this many steps; returns false if the story ends before.
    async fn steps(&mut self, steps: usize) -> bool {
        assert_eq!(self.said(HANGS).await, Said::Stepped, "the lab is ready");
        for _ in 0..steps {
            self.step();
            assert_eq!(self.said(HANGS).await, Said::Stepped);
            if self.ended {
                return false;
            }
        }
        true
    }

    fn servers(&self) -> Vec<Server> {
        servers_in(self.lab.as_ref().expect("ready"))
    }
}

/// The number of servers that were struck, and the longest time until it was reported.
#[derive(Debug, Default)]
struct Tally {
    times: usize,
    worst: Duration,
    /// How many times the lesson itself did the same to the same server in the same step.
    own: usize,
}

impl Tally {
    fn add(&mut self, took: Duration, what: &str) {
        assert!(took <= MESSAGE_WITHIN, "{what}: told only after {took:?}");
        self.times += 1;
        self.worst = self.worst.max(took);
    }
}

/// Kills a server after this many steps. Returns false if there are not so many steps, or servers.
async fn killed_at(scenario: &Scenario, (steps, victim): (usize, usize), tally: &mut Tally) -> bool {
    let mut live = Live::open(scenario.clone());
    let goes_on = live.steps(steps).await;
    let servers = live.servers();
    let Some(server) = servers.get(victim) else {
        return false;
    };
    let what = format!("{}, {} killed at step {steps}", name(scenario), server.what);
    send(server.pid, Signal::KILL);
    let since = Instant::now();
    live.step();
    let mut stepped = false;
    loop {
        // In this step the lesson itself may kill that server: then no message is needed.
        let heard = tokio::time::timeout(MESSAGE_WITHIN, live.said(HANGS)).await;
        let Ok(said) = heard else {
            assert!(stepped, "{what}: nothing is said");
            tally.own += 1;
            return goes_on;
        };
        match said {
            Said::Failed(message, server) => {
                assert!(server && message.contains("ended in mid-lesson"), "{what}: {message}");
                break;
            }
            Said::Over => panic!("{what}: it ended without a word"),
            Said::Stepped => stepped = true,
            Said::Silent(_) => {}
        }
    }
    tally.add(since.elapsed(), &what);
    goes_on
}

/// Stops a server after this many steps, during the next step or before it, and resumes it later.
async fn stopped_at(scenario: &Scenario, (steps, victim): (usize, usize), tally: &mut Tally) -> bool {
    let mut live = Live::open(scenario.clone());
    let goes_on = live.steps(steps).await;
    let servers = live.servers();
    let Some(server) = servers.get(victim) else {
        return false;
    };
    let what = format!("{}, {} stopped at step {steps}", name(scenario), server.what);
    send(server.pid, Signal::STOP);
    let since = Instant::now();
    // In half of the cases the next step is requested meanwhile.
    let meanwhile = (steps + victim) % 2 == 1;
    if meanwhile {
        live.step();
    }
    let mut stepped = false;
    loop {
        let heard = tokio::time::timeout(MESSAGE_WITHIN, live.said(HANGS)).await;
        let Ok(said) = heard else {
            // In this step the lesson itself kills or stops that server.
            assert!(stepped, "{what}: nothing is said");
            tally.own += 1;
            return goes_on;
        };
        match said {
            Said::Silent(Some(why)) => {
                let pid = format!("kill -CONT {}", server.pid);
                assert!(why.contains("no answer from") && why.contains(&pid), "{what}: {why}");
                break;
            }
            Said::Stepped => stepped = true,
            other => panic!("{what}: {other:?}"),
        }
    }
    tally.add(since.elapsed(), &what);
    send(server.pid, Signal::CONT);
    // The message counts seconds until the server runs again.
    while let Said::Silent(Some(_)) | Said::Stepped = live.said(HANGS).await {}
    if !meanwhile && !live.ended {
        // Nothing waited for the server and time stood still: the pause must have no effect.
        live.step();
        loop {
            match live.said(HANGS).await {
                Said::Stepped => break,
                Said::Silent(_) => {}
                other => panic!("{what}: {other:?}"),
            }
        }
    }
    goes_on
}

fn name(scenario: &Scenario) -> String {
    format!("{} {}", scenario.loaded.lesson.id, scenario.variant)
}

/// One variant for each kind of lab; in a campaign every variant.
fn scenarios() -> Vec<Scenario> {
    if campaign() {
        // `LOCKSTEP_LESSON` limits a campaign to one lesson, to find the cause of a failure.
        let only = std::env::var("LOCKSTEP_LESSON").ok();
        let mut all = all_carried();
        all.retain(|scenario| only.as_ref().is_none_or(|only| *only == scenario.loaded.lesson.id));
        return all;
    }
    [("unlock-someone-elses-lock", "blind-del"), ("zk-herd", "herd"), ("failover", "replication-lag")]
        .map(|(lesson, variant)| carried(lesson, variant))
        .into()
}

/// The labs of this process do not interfere with each other, but their load would add up.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn at_each_step(what: &str, at: &impl AsyncFn(&Scenario, (usize, usize), &mut Tally) -> bool) {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let mut tally = Tally::default();
    runtime.expect("a runtime").block_on(async {
        for scenario in scenarios() {
            let steps: Vec<usize> = if campaign() { (0..1000).collect() } else { vec![3] };
            for step in steps {
                let mut victim = 0;
                let mut goes_on = at(&scenario, (step, victim), &mut tally).await;
                let more = goes_on;
                while goes_on && campaign() {
                    victim += 1;
                    goes_on = at(&scenario, (step, victim), &mut tally).await;
                }
                if !more {
                    break;
                }
            }
            println!("{what}, as far as {}: {} times, worst {:?}", name(&scenario), tally.times, tally.worst);
        }
    });
    println!("{what}: {tally:?}");
    assert!(tally.times >= 3 && tally.own <= tally.times / 10, "{tally:?}");
}

#[test]
fn a_server_killed_at_a_step_is_told() {
    at_each_step("killed", &killed_at);
}

#[test]
fn a_server_stopped_at_a_step_is_told_and_the_run_goes_on_with_it() {
    at_each_step("stopped", &stopped_at);
}

#[test]
fn the_screen_names_the_stopped_server_and_what_to_do_and_goes_on_with_it() {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, &["play", "watchdog", "--no-questions"]);
    terminal.wait_for("Ready: press");
    let servers: Vec<Server> = labs_in(place.path()).iter().flat_map(|lab| servers_in(lab)).collect();
    let server = servers.first().expect("a server");
    send(server.pid, Signal::STOP);
    let since = Instant::now();
    terminal.press(RIGHT);
    let told = terminal.wait_for("no answer from redis for");
    assert!(since.elapsed() < MESSAGE_WITHIN, "told only after {:?}", since.elapsed());
    assert!(told.has(&format!("kill -CONT {}", server.pid)) || told.has("SIGSTOP"), "{told}");
    // Keys are handled meanwhile.
    terminal.press("?");
    terminal.wait_for("every command by name");
    terminal.press("\x1b");
    send(server.pid, Signal::CONT);
    let gone = terminal.wait_until("the message is gone", |screen| !screen.has("no answer from redis"));
    assert!(!gone.has("The lab has failed"), "{gone}");
    // Again; this time the user restarts instead of waiting.
    send(server.pid, Signal::STOP);
    terminal.wait_for("no answer from redis for");
    terminal.press("r");
    terminal.wait_for("Ready: press");
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
    place.assert_nothing_left();
}

/// A running command, which is killed with the test.
struct Running {
    child: Started,
    place: Place,
}

impl Running {
    fn start(args: &[&str]) -> Self {
        let place = Place::new();
        let child = Started::new(&mut Self::command(&place, args));
        Self { child, place }
    }

    fn command(place: &Place, args: &[&str]) -> Command {
        let out = std::fs::File::create(place.path().join("out")).expect("a file");
        let err = std::fs::File::create(place.path().join("err")).expect("a file");
        let mut command = place.command(args);
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        command
    }

    fn servers(&self) -> Vec<Server> {
        labs_in(self.place.path()).iter().flat_map(|lab| servers_in(lab)).collect()
    }

    /// Waits until a server runs; returns false if the command has ended before.
    fn until_a_server_runs(&mut self) -> bool {
        let since = Instant::now();
        while self.servers().is_empty() {
            assert!(since.elapsed() < HANGS, "no server was started");
            if self.child.0.try_wait().expect("its state").is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        true
    }

    /// Waits for the end. Returns the exit code, standard error, and the time that it took.
    fn ended(mut self, what: &str) -> (Option<i32>, String, Duration) {
        let since = Instant::now();
        let status = loop {
            if let Some(status) = self.child.0.try_wait().expect("its state") {
                break status;
            }
            if since.elapsed() > HANGS {
                for server in self.servers() {
                    send(server.pid, Signal::CONT);
                }
                panic!("{what}: it hangs");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let took = since.elapsed();
        let err = std::fs::read_to_string(self.place.path().join("err")).unwrap_or_default();
        self.place.assert_nothing_left_after(what);
        (status.code(), err, took)
    }
}

const COMMANDS: &[&[&str]] = &[
    // One variant each: of several, those that are left are carried out before the command ends.
    &["run", "zk-herd", "--variant", "herd"],
    &["run", "failover", "--variant", "replicated"],
    &["run", "watchdog", "--variant", "watchdog"],
    &["race", "zk-herd", "-n", "100000"],
    &["race", "oversell", "-n", "100000"],
    // Bounded: killing a server of a lab that is no longer used has no effect.
    &["explore", "zk-herd", "--variant", "herd", "--set", "clients=3", "--moves", "5"],
    &["explore", "failover", "--variant", "replication-lag"],
    &["explore", "unlock-someone-elses-lock", "--moves", "40", "--fault", "freeze", "--no-prune"],
    &["export", "zk-herd", "--variant", "herd", "--format", "json"],
];

/// Moments after the start of the first server: during the set-up, at its end, and in the middle of the work.
fn moments() -> Vec<Duration> {
    if campaign() {
        (0..24).map(|n| Duration::from_millis(n * n * 6)).collect()
    } else {
        vec![Duration::from_millis(900)]
    }
}

/// The commands; quick tests use some of them.
fn commands() -> impl Iterator<Item = &'static &'static [&'static str]> {
    COMMANDS.iter().enumerate().filter(|(n, _)| campaign() || [1, 4, 5, 7].contains(n)).map(|(_, args)| args)
}

fn struck(signal: Signal, words: &[&str]) {
    let (mut tally, mut too_late) = (Tally::default(), 0);
    for args in commands() {
        for (n, moment) in moments().into_iter().enumerate() {
            let mut running = Running::start(args);
            if !running.until_a_server_runs() {
                continue;
            }
            std::thread::sleep(moment);
            let servers = running.servers();
            let Some(server) = servers.get(n % servers.len().max(1)) else {
                continue;
            };
            let what = format!("{args:?}, {signal:?} to {} after {moment:?}", server.what);
            send(server.pid, signal);
            let (code, err, took) = running.ended(&what);
            if matches!(code, Some(0 | 1)) {
                // The command no longer needed that lab, or the lesson itself had killed the server.
                too_late += 1;
                continue;
            }
            assert_eq!(code, Some(3), "{what}: {err}");
            assert!(words.iter().any(|word| err.contains(word)), "{what}: {err}");
            tally.add(took, &what);
        }
        println!("{signal:?}, as far as {args:?}: {} times, worst {:?}", tally.times, tally.worst);
    }
    println!("{signal:?}: {} times, worst {:?}; too late {too_late} times", tally.times, tally.worst);
    assert!(tally.times > too_late, "{tally:?}, too late {too_late} times");
}

#[test]
fn without_a_screen_a_killed_server_ends_the_command_with_3() {
    struck(Signal::KILL, &["ended in mid-lesson", "ended while it was starting", "could not be read"]);
}

#[test]
fn without_a_screen_a_stopped_server_ends_the_command_with_3() {
    struck(Signal::STOP, &["kill -CONT"]);
}

/// Ctrl-C while every server is stopped, so that waiting for a server would take for ever.
#[test]
fn ctrl_c_ends_every_command_within_a_second() {
    let mut tally = Tally::default();
    for args in commands().copied().chain([&["doctor"][..]]) {
        for stops in [true, false] {
            for moment in moments() {
                let mut running = Running::start(args);
                if !running.until_a_server_runs() {
                    continue;
                }
                std::thread::sleep(moment);
                if stops {
                    for server in running.servers() {
                        send(server.pid, Signal::STOP);
                    }
                }
                running.child.signal(Signal::INT);
                let what = format!("{args:?}, SIGINT after {moment:?}, servers stopped: {stops}");
                let (code, err, took) = running.ended(&what);
                if code == Some(130) {
                    tally.add(took, &what);
                } else {
                    assert!(took < Duration::from_secs(1), "{what}: {code:?} {err}");
                }
            }
        }
        println!("SIGINT, as far as {args:?}: {} times, worst {:?}", tally.times, tally.worst);
    }
    println!("SIGINT: {} times, worst {:?}", tally.times, tally.worst);
    // One second on an idle machine.
    assert!(tally.times >= 4 && tally.worst < Duration::from_secs(5), "{tally:?}");
}

fn lesson(program: &str, story: &str) -> String {
    format!(
        "
format: 1
id: waits
track: redis
title: {{ en: Waits, zh: 等 }}
summary: {{ en: Waits, zh: 等 }}
intro: {{ en: Waits, zh: 等 }}
minutes: 1
lab: redis
clients:
  A: {{ runs: p }}
scripts:
  forever: while true do end
programs:
  p:
    - move: {program}
variants:
  only:
    title: {{ en: Only, zh: 唯一 }}
    expect: prevented
    lesson: {{ en: Waits, zh: 等 }}
    claims: [ that: A.move == none ]
story: [ {story} ]
"
    )
}

fn run(text: &str) -> Answer {
    let place = Place::new();
    let file = place.write("waits.yaml", text);
    let answer = place.run(&["run", file.to_str().expect("a name")]);
    place.assert_nothing_left();
    answer
}

#[test]
fn a_command_that_never_answers_is_the_lessons_mistake_and_has_its_place() {
    for (program, story, words) in [
        ("{ redis: BLPOP k 0 }", "move: A.move", "waits.yaml:16:13"),
        ("{ script: forever, keys: [k], args: [] }", "move: A.move", "answers nobody meanwhile"),
        ("{ redis: BLPOP k 100000 }", "move: A.move", "asked to wait for 100000 s"),
        ("{ redis: GET k }", "await: { that: 'false', within: 1000000h }", "too long"),
        ("{ redis: GET k }", "await: { that: 'false', within: 25h }", "at most 24h"),
    ] {
        let answer = run(&lesson(program, story));
        assert_eq!(answer.code, Some(2), "{program} {story}: {}", answer.err);
        assert!(answer.err.contains(words), "{program} {story}: {}", answer.err);
        assert!(answer.err.contains("waits.yaml:"), "{program} {story}: {}", answer.err);
    }
}

#[test]
fn free_play_goes_on_past_a_command_that_never_answers() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let text = lesson("{ redis: BLPOP k 5 }", "move: A.move");
        let mut session = session::open(planned(&text, "only"), LabOptions::with_binary(LOCKSTEP.into()), 1);
        let choices = [
            Choice::Move { actor: ActorId(0) },
            // Time stands still in free play, so the command waits until time is passed.
            Choice::Pass { millis: 6_000 },
        ];
        let mut replied = false;
        let mut choices = choices.into_iter();
        let mut next = choices.next();
        // The reply comes once the server has noticed the timeout.
        while !replied {
            if let Some(choice) = next.take() {
                session.commands.send(Ask::Choose(choice)).expect("it listens");
            }
            let update = tokio::time::timeout(HANGS, session.updates.recv()).await;
            match update.expect("it does not hang").expect("it goes on") {
                Update::Stepped { .. } => next = choices.next(),
                Update::Events(events) => {
                    replied = events.iter().any(|event| matches!(event.kind, EventKind::Replied { .. }));
                }
                Update::Failed(why) => panic!("{}", why.message.en),
                Update::Refused(why) => panic!("{}", why.en),
                _ => {}
            }
        }
    });
}

#[test]
fn a_command_that_waits_for_a_while_is_not_cut() {
    // Longer than the limit for commands that do not block.
    let answer = run(&lesson("{ redis: BLPOP k 11 }", "move: A.move"));
    assert_ne!(answer.code, Some(3), "{}", answer.err);
    assert!(!answer.err.contains("no reply"), "{}", answer.err);
}
