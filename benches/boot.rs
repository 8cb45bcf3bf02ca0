//! How long a learner waits: for the first picture, for a lesson's first possible move, and for a step that jumps over
//! a lease. On real servers, in real time.

use std::{
    io::Read,
    path::PathBuf,
    process::{Command as Program, Stdio},
    time::{Duration, Instant},
};

use criterion::{Criterion, criterion_group, criterion_main};
use lockstep::{
    lab::LabOptions,
    lesson::{Library, Param, Params, Scenario, library::from_text},
    log::{ActorId, Choice, EventKind, Log, Stop},
    run::session::{self, Session, SessionCommand, Update},
};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};

const LOCKSTEP: &str = env!("CARGO_BIN_EXE_lockstep");

fn scenario(lesson: &str, variant: &str) -> Scenario {
    let library = Library::carried();
    let loaded = library.find(lesson).expect("a carried lesson");
    Scenario::plan(loaded, variant, &Params::new()).expect("it is good")
}

async fn until(session: &mut Session, wanted: impl Fn(&Update) -> bool) {
    while let Some(update) = session.updates.recv().await {
        if let Update::Failed(why) = &update {
            panic!("{}", why.message.en);
        }
        if wanted(&update) {
            return;
        }
    }
}

/// Ten buyers who read the stock repeatedly: enough moves for a branch far into a run.
const LOOKS: &str = "
format: 1
id: looks
track: basics
title: { en: Looks, zh: 查 }
summary: { en: Looks, zh: 查 }
intro: { en: Looks, zh: 查 }
minutes: 1
lab: redis
setup: [ redis: SET stock 1 ]
clients:
  A: { runs: looker }
  B: { runs: looker }
programs:
  looker:
    - repeat: [ look: { redis: GET stock } ]
      times: 40
variants:
  only:
    title: { en: Only, zh: 唯一 }
    expect: shown
    lesson: { en: Looks, zh: 查 }
    claims: [ that: value('stock')|int == 1 ]
story: [ move: A.look ]
";

/// From the request for a branch at the fiftieth move to its first possible move: a fresh lab, and fifty moves
/// repeated.
fn branches(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let loaded = from_text("looks.yaml", LOOKS).expect("it is good");
    let scenario = Scenario::plan(&loaded, "only", &Params::new()).expect("it is good");
    let options = || LabOptions::with_binary(PathBuf::from(LOCKSTEP));
    let past = runtime.block_on(async {
        let mut session = session::open(scenario.clone(), options(), 1);
        for n in 0..50 {
            let actor = ActorId(n % 2);
            let choose = SessionCommand::Choose(Choice::Move { actor });
            session.commands.send(choose).expect("the run listens");
        }
        let (mut past, mut steps) = (Log::new(), 0);
        while steps < 50 {
            match session.updates.recv().await.expect("the run goes on") {
                Update::Events(events) => past.extend(events),
                Update::Stepped { .. } => steps += 1,
                Update::Failed(why) => panic!("{}", why.message.en),
                _ => {}
            }
        }
        past
    });
    assert_eq!(past.history(past.len()).len(), 50);
    criterion.bench_function("a branch at move 50 on redis, to its first possible move", |bencher| {
        bencher.iter_custom(|times| {
            runtime.block_on(async {
                let mut total = Duration::ZERO;
                for _ in 0..times {
                    let began = Instant::now();
                    let mut session = session::branch(scenario.clone(), options(), 1, past.clone());
                    until(&mut session, |update| match update {
                        Update::Branched { difference, refused } => {
                            assert!(difference.is_none() && refused.is_none());
                            false
                        }
                        Update::Outlook(_) => true,
                        _ => false,
                    })
                    .await;
                    total += began.elapsed();
                }
                total
            })
        });
    });
}

/// From the choice of a lesson to its first possible move.
fn boots(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    for (name, lesson, variant) in [
        ("redis lesson, ten processes, to its first possible move", "oversell", "check-then-decrement"),
        ("redis lesson, three processes, to its first possible move", "setnx-without-expire", "two-commands"),
        ("zookeeper lesson, 40 sessions, to its first possible move", "zk-herd", "herd"),
    ] {
        let scenario = scenario(lesson, variant);
        criterion.bench_function(name, |bencher| {
            bencher.iter_custom(|times| {
                runtime.block_on(async {
                    let mut total = Duration::ZERO;
                    for _ in 0..times {
                        let began = Instant::now();
                        let mut session = session::open(
                            scenario.clone(),
                            LabOptions::with_binary(PathBuf::from(LOCKSTEP)),
                            1,
                        );
                        until(&mut session, |update| matches!(update, Update::Events(_))).await;
                        total += began.elapsed();
                    }
                    total
                })
            });
        });
    }
}

/// A step that lets 30 s of lesson time pass.
fn jump(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let loaded = from_text("new-lesson.yaml", include_str!("../assets/new-lesson.yaml")).expect("it is good");
    let lease = Params::from_iter([("lease".to_owned(), Param::Word("30s".to_owned()))]);
    let scenario = Scenario::plan(&loaded, "blind-del", &lease).expect("it is good");
    criterion.bench_function("a step that jumps over a lease of 30 s", |bencher| {
        bencher.iter_custom(|times| {
            runtime.block_on(async {
                let mut total = Duration::ZERO;
                for _ in 0..times {
                    let options = LabOptions::with_binary(PathBuf::from(LOCKSTEP));
                    let mut session = session::open(scenario.clone(), options, 1);
                    loop {
                        let began = Instant::now();
                        session.commands.send(SessionCommand::Step).expect("the run listens");
                        let mut passed = false;
                        while let Some(update) = session.updates.recv().await {
                            match update {
                                Update::Events(events) => {
                                    passed |= events.iter().any(|event| {
                                        matches!(event.kind, EventKind::Stop { stop: Stop::Passed, .. })
                                    });
                                }
                                Update::Stepped { .. } => break,
                                Update::Failed(why) => panic!("{}", why.message.en),
                                _ => {}
                            }
                        }
                        if passed {
                            total += began.elapsed();
                            break;
                        }
                    }
                }
                total
            })
        });
    });
}

/// From the start of the program to the end of `--help`.
fn starts(criterion: &mut Criterion) {
    criterion.bench_function("lockstep --help", |bencher| {
        bencher.iter(|| {
            let status = Program::new(LOCKSTEP).arg("--help").stdout(Stdio::null()).status();
            assert!(status.expect("it starts").success());
        });
    });
    criterion.bench_function("lockstep, to the first frame of the catalogue", |bencher| {
        bencher.iter_custom(|times| (0..times).map(|_| first_frame(&[], &[], "Lessons")).sum());
    });
}

/// Environment variables with which no server program is found.
const NO_SERVERS: [(&str, &str); 5] = [
    ("PATH", "/nowhere"),
    ("LOCKSTEP_REDIS_SERVER", "/nowhere"),
    ("LOCKSTEP_REDIS_SENTINEL", "/nowhere"),
    ("LOCKSTEP_JAVA", "/nowhere"),
    ("LOCKSTEP_ZOOKEEPER_JARS", "/nowhere"),
];

/// From the start of the program to the first frame of each carried recording, with no server programs installed.
fn recorded(criterion: &mut Criterion) {
    for lesson in Library::carried().ids() {
        criterion.bench_function(&format!("recorded {lesson}, to its first frame"), |bencher| {
            bencher.iter_custom(|times| {
                let open = || first_frame(&["play", lesson, "--recorded"], &NO_SERVERS, "RECORDED");
                (0..times).map(|_| open()).sum()
            });
        });
    }
}

/// From the start of the program until a picture with these words has been drawn.
fn first_frame(args: &[&str], variables: &[(&str, &str)], words: &str) -> Duration {
    let size = PtySize { rows: 40, cols: 120, pixel_width: 0, pixel_height: 0 };
    let pty = native_pty_system().openpty(size).expect("a pseudo-terminal");
    let mut reader = pty.master.try_clone_reader().expect("a reader");
    let mut command = CommandBuilder::new(LOCKSTEP);
    command.env("TERM", "xterm-256color");
    command.env("LC_ALL", "C.UTF-8");
    command.args(args);
    for (name, value) in variables {
        command.env(name, value);
    }
    let began = Instant::now();
    let mut child = pty.slave.spawn_command(command).expect("it starts");
    let (mut seen, mut buffer) = (Vec::new(), vec![0; 65_536]);
    // Each picture ends by hiding the cursor.
    let drawn = |seen: &[u8]| {
        let text = String::from_utf8_lossy(seen);
        text.ends_with("\x1b[?25l") && text.contains(words)
    };
    while !drawn(&seen) {
        let count = reader.read(&mut buffer).expect("it draws");
        assert!(count > 0, "it ended without a picture");
        seen.extend_from_slice(&buffer[..count]);
    }
    let took = began.elapsed();
    child.kill().expect("it ends");
    child.wait().expect("it ends");
    took
}

criterion_group! {
    name = waits;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(8));
    targets = starts, recorded, boots, jump, branches
}
criterion_main!(waits);
