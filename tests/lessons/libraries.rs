//! Lessons that run foreign lock libraries: without the libraries they play from recordings and say what to do, with
//! them they make the same moves each time.

use std::time::{Duration, Instant};

use lockstep::{
    lesson::{Library, Params, Scenario},
    run::session::{self, SessionCommand, Update},
};

use crate::{
    free_support::{ChoiceResult, Free, options, pass},
    place::{Answer, Place},
};

/// The home directory of `Place` has no libraries in it.
const LESSON: &str = "redis-py-lock";

#[test]
fn without_its_library_a_lesson_says_what_to_do_and_plays_from_its_recording() {
    let place = Place::new();
    for (lang, says) in [("en", "redis 8.1.0, not installed here"), ("zh", "redis 8.1.0，这里没有安装")]
    {
        let live = place.run(&["--lang", lang, "run", LESSON]);
        assert_eq!(live.code, Some(3), "{}", live.err);
        let told = [says, "lockstep doctor --install --with python"];
        assert!(told.iter().all(|part| live.err.contains(part)), "{}", live.err);
    }
    let recorded = place.run(&["--recorded", "run", LESSON]);
    assert_eq!(recorded.code, Some(0), "{}", recorded.err);
    let exported = place.run(&["--recorded", "export", LESSON, "--format", "mermaid", "--output", "run.mmd"]);
    assert_eq!(exported.code, Some(0), "{}", exported.err);
    assert!(place.path().join("run.mmd").exists());
}

#[test]
fn doctor_names_the_libraries_and_installs_nothing_unasked() {
    let place = Place::new();
    let looked = place.run(&["doctor", "--with", "python"]);
    assert_eq!(looked.code, Some(3), "{}", looked.err);
    assert!(looked.out.contains("missing: ") && looked.out.contains("redis 8.1.0"), "{}", looked.out);
    let asked = place.run(&["doctor", "--install", "--with", "python"]);
    assert_eq!(asked.code, Some(3), "nobody is there to say yes: {}", asked.err);
    let home = place.path().display().to_string();
    let step = asked.err.lines().find(|line| line.contains("-m pip install")).unwrap_or_default();
    assert!(
        step.starts_with(&home) && step.contains(" redis==8.1.0"),
        "into a directory of ours: {}",
        asked.err
    );
    let asked = place.run(&["doctor", "--install", "--with", "java"]);
    assert_eq!(asked.code, Some(3), "nobody is there to say yes: {}", asked.err);
    let step = asked.err.lines().find(|line| line.contains("apt-get download")).unwrap_or_default();
    assert!(
        step.starts_with(&format!("env -C {home}")) && step.contains(" 'libcurator-recipes-java=5.4.0-*'"),
        "into a directory of ours: {}",
        asked.err
    );
    assert!(!place.path().join(".local/share/lockstep/libraries").exists());
}

#[test]
fn of_each_library_the_lessons_run_one_version() {
    let mut seen = std::collections::BTreeMap::new();
    for loaded in Library::carried().lessons {
        for (language, libraries) in &loaded.lesson.libraries {
            for (name, version) in libraries {
                let known = seen.entry((*language, name.clone())).or_insert_with(|| version.clone());
                assert_eq!(known, version, "{}: {name}", loaded.lesson.id);
            }
        }
    }
    assert!(!seen.is_empty());
}

/// The moves of each variant, in order: actor and command. All variants must come out as promised.
fn moves(place: &Place, lesson: &str) -> Vec<(String, Vec<(u64, String)>)> {
    let home = std::env::var("HOME").unwrap_or_default();
    let data = std::env::var("XDG_DATA_HOME").unwrap_or(format!("{home}/.local/share"));
    let mut command = place.command(&["run", lesson, "--json", "--events"]);
    let answer = Answer::of(&command.env("XDG_DATA_HOME", data).output().expect("lockstep starts"));
    assert_eq!(answer.code, Some(0), "{lesson}: {}{}", answer.out, answer.err);
    let of_run = |line: &str| {
        let run: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let events = run["events"].as_array().expect("events").iter();
        let sent = events.filter(|event| event["event"] == "sent").map(|event| {
            let label = event["label"].as_str().unwrap_or_default();
            (event["actor"].as_u64().expect("an actor"), label.to_owned())
        });
        (run["variant"].as_str().unwrap_or_default().to_owned(), sent.collect())
    };
    answer.out.lines().map(of_run).collect()
}

#[test]
#[ignore = "needs the lessons' libraries: lockstep doctor --install --with python --with node --with java"]
fn a_library_makes_the_same_moves_each_time() {
    let place = Place::new();
    for loaded in Library::carried().lessons.iter().filter(|loaded| !loaded.lesson.libraries.is_empty()) {
        let id = &loaded.lesson.id;
        let first = moves(&place, id);
        assert_eq!(first.len(), loaded.lesson.variants.len());
        for _ in 0..2 {
            assert_eq!(first, moves(&place, id), "{id}");
        }
    }
}

/// The processor time of all descendants of this process, in ticks of the kernel.
fn ticks_of_descendants() -> u64 {
    let mut known = std::collections::HashMap::new();
    for entry in std::fs::read_dir("/proc").expect("it can be read").flatten() {
        let name = entry.file_name();
        let Ok(pid) = name.to_string_lossy().parse::<u32>() else { continue };
        // The process has ended meanwhile.
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let fields: Vec<&str> = stat[stat.rfind(')').expect("a name") + 2..].split(' ').collect();
        let number = |n: usize| fields[n].parse::<u64>().expect("a number");
        known.insert(pid, (u32::try_from(number(1)).expect("a process"), number(11) + number(12)));
    }
    let is_ours = |mut pid: u32| loop {
        match known.get(&pid) {
            Some((parent, _)) if *parent == std::process::id() => break true,
            Some((parent, _)) => pid = *parent,
            None => break false,
        }
    };
    known.iter().filter(|(pid, _)| is_ours(**pid)).map(|(_, (_, ticks))| ticks).sum()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the lessons' libraries: lockstep doctor --install --with python --with node --with java"]
async fn while_a_lesson_is_paused_its_libraries_do_nothing_and_after_a_jump_they_notice_their_timers() {
    let library = Library::carried();
    for lesson in ["redis-py-lock", "kazoo-lock", "redis-semaphore", "curator-lock"] {
        let loaded = library.find(lesson).expect("a carried lesson");
        for variant in loaded.lesson.variants.keys() {
            let scenario = Scenario::plan(loaded, variant, &Params::new()).expect("it is good");
            let half = scenario.story.len() / 2;
            let mut free = Free::of(session::open(scenario, options(), 1));
            for _ in 0..half {
                free.tell(SessionCommand::Step);
                while !matches!(free.next().await, Update::Stepped { .. }) {}
            }
            free.tell(SessionCommand::LeaveStory);
            free.outlook().await;
            let paused_at = free.log.events().last().expect("events").at;
            let before = ticks_of_descendants();
            tokio::time::sleep(Duration::from_secs(10)).await;
            let ticks = ticks_of_descendants() - before;
            let began = Instant::now();
            assert_eq!(free.choose(pass(30_000)).await, ChoiceResult::Done);
            let jumped = began.elapsed();
            let now = |log: &lockstep::log::Log| log.events().last().expect("events").at;
            assert!(ticks <= 30, "{lesson} {variant}: 3 % of a processor at most, servers included");
            assert!(now(&free.log).since(paused_at) >= Duration::from_secs(30));
            eprintln!("{lesson} {variant}: {ticks} ticks in 10 s, 30 s passed in {jumped:?}");
        }
    }
}
