//! Recordings, exports and configuration: which files are overwritten, and which are read.

use std::{
    collections::HashMap,
    fmt::Write as _,
    fs,
    io::Write as _,
    os::unix::{
        fs::{FileTypeExt as _, symlink},
        net::UnixListener,
    },
    panic::AssertUnwindSafe,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use flate2::{Compression, write::GzEncoder};
use lockstep::{
    export::{self, Finished, Format, Look, Moment},
    lesson::{Library, Scenario},
    recording::{self, Recording, carried},
    ui::state::catalogue::CatalogueEntry,
    verdict::{self, why},
};
use serde_json::Value;

use crate::{
    place::{Answer, LOCKSTEP, Place},
    random::{Random, campaign, given_seed},
    scenarios::{self, all_carried},
};

/// Runs `lockstep ARGS` with a time limit, at which `timeout` exits with 124.
fn bounded(place: &Place, args: &[&str]) -> Answer {
    let mut command = Command::new("timeout");
    command.args(["-k", "1", "60", "sh", "-c", "ulimit -v 1572864; exec \"$@\"", "sh", LOCKSTEP]);
    place.settle(command.args(args));
    Answer::of(&command.output().expect("it starts"))
}

fn make(program: &str, args: &[&str]) -> bool {
    let status = Command::new(program).args(args).status();
    status.is_ok_and(|status| status.success())
}

/// Anything but a regular file is refused at once, wherever a file is read.
#[test]
fn nobody_waits_for_what_is_no_file() {
    let place = Place::new();
    let fifo = place.path().join("fifo.jsonl");
    assert!(make("mkfifo", &[fifo.to_str().expect("UTF-8")]));
    let _socket = UnixListener::bind(place.path().join("socket")).expect("bound");
    fs::create_dir(place.path().join("folder")).expect("made");
    for file in ["fifo.jsonl", "socket", "folder", "/dev/zero", "/dev/full"] {
        let commands: [&[&str]; 7] = [
            &["check", file],
            &["run", file],
            &["export", file],
            &["play", file],
            &["compare", file],
            &["list", "--config", file],
            &["run", "--all", "--lessons", "folder", "--config", file],
        ];
        for args in commands {
            let answer = bounded(&place, args);
            assert_eq!(answer.code, Some(2), "{args:?}: {}", answer.err);
            assert!(answer.err.contains(file.trim_start_matches("./")), "{args:?}: {}", answer.err);
        }
    }
    // The second of two recordings, the user's own configuration, the progress file, recipes beside a lesson.
    let answer = bounded(&place, &["compare", "fifo.jsonl", "fifo.jsonl"]);
    assert_eq!(answer.code, Some(2), "{}", answer.err);
    for file in ["config/lockstep/config.toml", "state/lockstep/progress.json", "recipes.yaml"] {
        let file = place.path().join(file);
        fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        assert!(make("mkfifo", &[file.to_str().expect("UTF-8")]));
    }
    assert_eq!(bounded(&place, &["config", "--check"]).code, Some(2));
    let progress = bounded(&place, &["progress"]);
    assert_eq!(progress.code, Some(0), "{}", progress.err);
    assert!(progress.err.contains("named pipe"), "{}", progress.err);
    place.write("lesson.yaml", "format: 1");
    assert_eq!(bounded(&place, &["check", "lesson.yaml"]).code, Some(2));
}

fn is_fifo(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|facts| facts.file_type().is_fifo())
}

/// Recordings and pictures replace only regular files.
#[test]
fn what_is_no_file_is_never_replaced() {
    let place = Place::new();
    let at = |name: &str| place.path().join(name);
    let text = |name: &str| at(name).to_str().expect("UTF-8").to_owned();
    assert!(make("mkfifo", &[&text("fifo")]));
    let _socket = UnixListener::bind(at("socket")).expect("bound");
    symlink("nowhere", at("dangling")).expect("linked");
    symlink("fifo", at("to-fifo")).expect("linked");
    // Only root can make devices.
    let device = make("mknod", &[&text("device"), "c", "1", "3"]);
    let names = ["fifo", "socket", "dangling", "to-fifo", "device"];
    for name in names.iter().filter(|name| **name != "device" || device) {
        let kind = |name: &str| fs::symlink_metadata(at(name)).expect("it is there").file_type();
        let before = kind(name);
        for force in [&[][..], &["--force"]] {
            let export = [&["export", "oversell", "--recorded", "--output", name], force].concat();
            let record = [&["run", "oversell", "--variant", "lost-update", "--record", name], force].concat();
            for args in [export, record] {
                let answer = bounded(&place, &args);
                assert_eq!(answer.code, Some(2), "{args:?}: {}", answer.err);
                assert!(answer.err.contains(name), "{args:?}: {}", answer.err);
                assert_eq!(kind(name), before, "{args:?}");
            }
        }
    }
    assert!(is_fifo(&at("fifo")) && !at("nowhere").exists());
    let answer = bounded(&place, &["export", "oversell", "--recorded", "--output", "."]);
    assert_eq!(answer.code, Some(2), "{}", answer.err);
    // `new` never touches an existing file of any kind.
    symlink("nowhere", at("my-lock.yaml")).expect("linked");
    assert_eq!(bounded(&place, &["new", "my-lock"]).code, Some(2));
    assert!(!at("nowhere").exists());
    // Other names of standard output are not treated as files.
    for name in ["-", "/dev/stdout"] {
        let answer = bounded(&place, &["export", "oversell", "--recorded", "--output", name]);
        assert!(answer.out.starts_with("<svg"), "{name}: {}", answer.err);
    }
}

/// A foreign file is kept if the user cannot be asked, and overwritten with `--force`. A file made by the same command
/// is replaced.
#[test]
fn a_strangers_file_is_not_overwritten_unasked() {
    let place = Place::new();
    let at = |name: &str| place.path().join(name);
    for format in ["svg", "html", "cast", "mermaid", "json"] {
        let export = ["export", "oversell", "--recorded", "--format", format, "--output", "out"];
        fs::write(at("out"), "my thesis").expect("written");
        let answer = bounded(&place, &export);
        assert_eq!(answer.code, Some(2), "{}", answer.err);
        assert!(answer.err.contains("--force"), "{}", answer.err);
        assert_eq!(fs::read_to_string(at("out")).expect("there"), "my thesis");
        let answer = bounded(&place, &[&export[..], &["--force"]].concat());
        assert_eq!(answer.code, Some(0), "{}", answer.err);
        let first = fs::read_to_string(at("out")).expect("there");
        assert!(first.len() > 200, "{first}");
        symlink("out", at("link")).expect("linked");
        let again = ["export", "watchdog", "--recorded", "--format", format, "--output", "link"];
        let answer = bounded(&place, &again);
        assert_eq!(answer.code, Some(0), "{format} is known again: {}", answer.err);
        assert!(at("link").is_symlink(), "a link stays a link");
        assert_ne!(fs::read_to_string(at("out")).expect("there"), first);
        fs::remove_file(at("link")).expect("removed");
        // A picture of another format is a different file.
        let other = if format == "svg" { "json" } else { "svg" };
        let answer =
            bounded(&place, &["export", "oversell", "--recorded", "--format", other, "--output", "out"]);
        assert_eq!(answer.code, Some(2), "{}", answer.err);
    }
    let temporary = fs::read_dir(place.path()).expect("readable").count();
    assert_eq!(temporary, 1, "nothing is left beside the file");
}

#[test]
fn a_recording_replaces_recordings_only() {
    let place = Place::new();
    let at = |name: &str| place.path().join(name);
    for name in ["run.jsonl", "run.jsonl.gz"] {
        let run = ["run", "oversell", "--variant", "lost-update", "--record", name];
        fs::write(at(name), "my thesis").expect("written");
        let answer = bounded(&place, &run);
        assert_eq!(answer.code, Some(2), "{}", answer.err);
        assert!(answer.err.contains("--force"), "{}", answer.err);
        assert_eq!(fs::read_to_string(at(name)).expect("there"), "my thesis");
        for args in [[&run[..], &["--force"]].concat(), run.to_vec()] {
            let answer = place.run(&args);
            assert_eq!(answer.code, Some(0), "{args:?}: {}", answer.err);
            assert!(recording::read(&at(name)).is_ok());
        }
    }
    // Before the first of several runs starts, all of their files must be free.
    fs::create_dir(at("runs")).expect("made");
    let library = Library::carried();
    let loaded = library.find("oversell").expect("carried");
    let last = loaded.lesson.variants.keys().next_back().expect("it has variants");
    fs::write(at("runs").join(format!("oversell.{last}.jsonl.gz")), "my thesis").expect("written");
    let answer = bounded(&place, &["run", "oversell", "--record", "runs"]);
    assert_eq!(answer.code, Some(2), "{}", answer.err);
    assert_eq!(answer.out, "");
    assert_eq!(fs::read_dir(at("runs")).expect("readable").count(), 1);
}

/// A umask that denies the user access to their own files is reported before anything starts.
#[test]
fn a_umask_that_locks_the_user_out_is_named() {
    let place = Place::new();
    let commands: [&[&str]; 4] = [
        &["export", "oversell", "--recorded", "--output", "out.svg"],
        &["run", "oversell", "--variant", "lost-update", "--record", "run.jsonl"],
        &["run", "oversell"],
        &["new", "my-lock"],
    ];
    for args in commands {
        let mut command = Command::new("sh");
        command.args(["-c", "umask 777; exec \"$@\"", "sh", LOCKSTEP]).args(args);
        let output = command
            .current_dir(place.path())
            .env("TMPDIR", place.path())
            .env("HOME", place.path())
            .output()
            .expect("it starts");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {err}");
        assert!(err.contains("umask 777"), "{args:?}: {err}");
    }
    assert_eq!(fs::read_dir(place.path()).expect("readable").count(), 0);
}

/// The header and the first event of a valid recording.
fn beginning() -> [String; 2] {
    let text = carried_text(&scenarios::carried("oversell", "lost-update"));
    let mut lines = text.lines().map(str::to_owned);
    [lines.next().expect("a header"), lines.next().expect("an event")]
}

/// A carried recording as text.
fn carried_text(scenario: &Scenario) -> String {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("run.jsonl");
    let Recording { log, .. } = carried::open(scenario).expect("carried");
    recording::write(&path, scenario, &log).expect("written");
    fs::read_to_string(path).expect("there")
}

/// A gzip file of a few hundred kilobytes that repeats one piece of text.
fn bomb(path: &Path, first: &str, again: &[u8], times: usize) {
    let file = fs::File::create(path).expect("made");
    let mut gzip = GzEncoder::new(file, Compression::fast());
    gzip.write_all(first.as_bytes()).expect("written");
    for _ in 0..times {
        gzip.write_all(again).expect("written");
    }
    gzip.finish().expect("written");
}

/// Small files that are large in memory are read only up to a limit.
#[test]
fn a_small_file_cannot_become_a_large_one() {
    let place = Place::new();
    let path = place.path().join("bomb.jsonl.gz");
    let [header, ready] = beginning();
    let start = format!("{header}\n{ready}\n");
    let say = format!(r#"{{"at":1,"event":"say","item":0,"en":"{}","zh":""}}"#, "a".repeat(20_000));
    let say = format!("{say}\n").repeat(10).into_bytes();
    let stop = b"{\"at\":1,\"event\":\"stop\",\"item\":0,\"stop\":\"move\"}\n".repeat(100);
    let nested = b"[".repeat(100_000);
    let spaces = b" ".repeat(100_000);
    let zeros = b"0,".repeat(50_000);
    let reply =
        format!("{start}{}", r#"{"at":1,"event":"replied","op":1,"actor":0,"label":"x","reply":{"value":["#);
    let row = format!("{}{}]}}}}\n", &reply[start.len()..], "0,".repeat(1_500_000) + "0");
    let bombs: [(&str, &str, &[u8], usize, &str); 7] = [
        ("many bytes", &start, &say, 1_000, "MiB, unpacked"),
        ("many lines", &start, &stop, 1_100, "lines"),
        ("one line", &start, &spaces, 100, "in one line"),
        ("one first line", "{\"lockstep_recording\":", &nested, 100, "in one line"),
        ("one value", &reply, &zeros, 2_000, "in one line"),
        ("many values", &start, row.as_bytes(), 40, "values"),
        ("nesting", &reply, &nested, 30, "recursion limit"),
    ];
    for (what, first, again, times, told) in bombs {
        bomb(&path, first, again, times);
        let size = fs::metadata(&path).expect("there").len();
        assert!(size < 4 << 20, "{what}: {size} bytes are no small file");
        let began = Instant::now();
        let answer = bounded(&place, &["export", "bomb.jsonl.gz"]);
        assert_eq!(answer.code, Some(2), "{what}: {}", answer.err);
        let error = answer.err.trim_end();
        assert!(error.contains("bomb.jsonl.gz:"), "{what}: {error}");
        assert!(error.contains(told), "{what}: {error}");
        assert!(error.len() < 1_000, "{what}: {error}");
        println!("{what}: {size} bytes, refused after {:?}", began.elapsed());
    }
    for args in [&["play", "bomb.jsonl.gz"][..], &["compare", "bomb.jsonl.gz", "bomb.jsonl.gz"]] {
        let answer = bounded(&place, args);
        assert_eq!(answer.code, Some(2), "{args:?}: {}", answer.err);
    }
}

/// Changes one place of a value to something unexpected.
fn mutate(random: &mut Random, value: &mut Value, known: &[String]) {
    match value {
        Value::Object(map) if !map.is_empty() && random.below(12) > 0 => {
            let name = map.keys().nth(random.below(map.len())).expect("one of them").clone();
            match random.below(30) {
                0 => drop(map.remove(&name)),
                1 => {
                    let value = map.remove(&name).expect("it is there");
                    map.insert(random.one(known), value);
                }
                _ => mutate(random, map.get_mut(&name).expect("it is there"), known),
            }
        }
        Value::Array(items) if !items.is_empty() && random.below(12) > 0 => {
            let n = random.below(items.len());
            match random.below(8) {
                0 => drop(items.remove(n)),
                1 => items.push(items[n].clone()),
                _ => mutate(random, &mut items[n], known),
            }
        }
        Value::Number(_) => {
            let numbers: [Value; 14] = [
                0.into(),
                1.into(),
                2.into(),
                (-1).into(),
                i64::MIN.into(),
                i64::MAX.into(),
                u64::MAX.into(),
                i32::MAX.into(),
                u32::MAX.into(),
                1_000_000_000_u64.into(),
                60_000_000_000_u64.into(),
                4_000_000_000_000_000_000_i64.into(),
                1e300.into(),
                0.5.into(),
            ];
            *value = random.one(&numbers);
        }
        Value::String(text) => match random.below(6) {
            0 => text.clear(),
            1 => "\u{1b}[2J\u{202e}<script>".clone_into(text),
            2 => *text = "很长".repeat(3_000),
            3 => text.push_str("/0000000001->redis"),
            _ => *text = random.one(known),
        },
        Value::Bool(yes) => *yes = !*yes,
        other => {
            let values = [Value::Null, 7.into(), "x".into(), serde_json::json!([]), serde_json::json!({})];
            *other = random.one(&values);
        }
    }
}

/// All texts of a recording: names of actors, servers, locks, events.
fn texts(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) if text.len() < 80 && !into.contains(text) => into.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, into)),
        Value::Object(map) => map.values().for_each(|item| texts(item, into)),
        _ => {}
    }
}

/// A recording with a few lines changed, removed, duplicated or swapped.
fn mutated(lines: &[Value], known: &[String], random: &mut Random) -> String {
    let mut lines = lines.to_vec();
    for _ in 0..=random.below(6) {
        let n = 1 + random.below(lines.len() - 2);
        match random.below(12) {
            0 if n > 1 => drop(lines.remove(n)),
            1 => lines.insert(n + 1, lines[n].clone()),
            2 => {
                let other = 1 + random.below(lines.len() - 2);
                lines.swap(n, other);
            }
            _ => mutate(random, &mut lines[n], known),
        }
    }
    let last = lines.len() - 1;
    lines[last] = serde_json::json!({"end": last - 1});
    lines.iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{line}");
        text
    })
}

/// Passes a recording to every reader of recordings, at a moment chosen by the round. Returns the number of pictures
/// made.
fn look_at(mut recording: Recording, scenario: &Scenario, round: usize) -> usize {
    if recording.fit(scenario).is_err() {
        return 0;
    }
    let log = &recording.log;
    let _ = verdict::breaches(scenario, log);
    let _ = why::first(scenario, log);
    let entry = CatalogueEntry::from(&scenario.loaded.lesson);
    let variant = entry.variants.iter().position(|variant| variant.name == scenario.variant);
    let run = Finished {
        variant: variant.expect("it has it"),
        entry,
        params: scenario.overrides.clone(),
        verdict: Some(verdict::judge(scenario, log)),
        log: log.clone(),
    };
    let moments = [Moment::End, Moment::Step(0), Moment::Step(7), "4s".parse().expect("a time")];
    let looks = [
        Look::default(),
        Look { size: (60, 16), presenting: true, ..Look::default() },
        Look {
            size: (200, 60),
            diagram: lockstep::ui::state::screen::DiagramKind::Sequence,
            lang: lockstep::text::Lang::Zh,
            ..Look::default()
        },
    ];
    let mut drawn = 0;
    let moment = moments[round % moments.len()];
    for look in &looks {
        drawn += usize::from(export::export(&run, Format::Svg, Some(moment), look).is_ok());
    }
    let mut formats = vec![Format::Html, Format::Mermaid, Format::Json];
    // A cast has hundreds of frames.
    if round % 8 == 1 {
        formats.push(Format::Cast);
    }
    for format in formats {
        drawn += usize::from(export::export(&run, format, Some(moment), &looks[0]).is_ok());
    }
    drawn
}

/// Recordings with impossible events: nothing panics, and nothing takes long.
#[test]
fn a_recording_that_lies_does_no_harm() {
    let each = if campaign() { 300 } else { 3 };
    let seed = given_seed("LOCKSTEP_SEED").unwrap_or(1);
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("run.jsonl");
    let mut panicked = Vec::new();
    let (mut read, mut drawn, mut refused) = (0, 0, HashMap::<String, usize>::new());
    for (n, scenario) in (0_u64..).zip(all_carried()) {
        let text = carried_text(&scenario);
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let mut known = Vec::new();
        for line in &lines {
            texts(line, &mut known);
        }
        let mut random = Random::new(seed.wrapping_add(n << 32));
        for round in 0..each {
            fs::write(&path, mutated(&lines, &known, &mut random)).expect("written");
            let began = Instant::now();
            let what =
                format!("{} {}, seed {seed}, round {round}", scenario.loaded.lesson.id, scenario.variant);
            let looked = std::panic::catch_unwind(AssertUnwindSafe(|| match recording::read(&path) {
                Ok(recording) => Ok(look_at(recording, &scenario, round)),
                Err(error) => Err(error.to_string()),
            }));
            match looked {
                Ok(Ok(pictures)) => {
                    read += 1;
                    drawn += pictures;
                }
                Ok(Err(error)) => {
                    let why = error.rsplit("damaged: ").next().unwrap_or_default().to_owned();
                    *refused.entry(why).or_default() += 1;
                }
                Err(_) => {
                    let kept = std::env::temp_dir().join(format!("lockstep-lies-{}.jsonl", panicked.len()));
                    let _ = fs::copy(&path, &kept);
                    panicked.push(format!("{what}: see {}", kept.display()));
                }
            }
            let took = began.elapsed();
            assert!(took < Duration::from_secs(30), "{what}: {took:?}");
        }
    }
    println!("{read} were read and gave {drawn} pictures; refused: {}", refused.values().sum::<usize>());
    assert!(panicked.is_empty(), "{panicked:#?}");
    assert!(
        read > each && drawn > 5 * each,
        "most mutations are still recordings: {read}, {drawn}, {refused:?}"
    );
}
