//! Races and exploring with programs of a lesson: they are started again for each run, and must behave the same each
//! time, or the one that does not is named. The programs speak to their server over a plain socket, so that nothing has
//! to be installed.

use serde_json::Value;

use crate::{
    documents::{blocks, grammar::with, page},
    place::{Answer, Place},
    texts::{HEAD, ONLY},
};

/// A request and its reply in Python.
const ASK: &str = r#"
import os, random, socket, time

me = os.environ["LOCKSTEP_CLIENT"]
connection = socket.create_connection((os.environ["REDIS_HOST"], int(os.environ["REDIS_PORT"])))
replies = connection.makefile("rb")

def ask(*words):
    words = [word.encode() for word in words]
    request = b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)
    connection.sendall(b"*%d\r\n%s" % (len(words), request))
    line = replies.readline().decode().strip()
    if line.startswith("$"):
        return None if line == "$-1" else replies.read(int(line[1:]) + 2)[:-2].decode()
    return line[1:]
"#;

/// Checks whether the lock exists, and then takes it.
const CHECK_THEN_SET: &str = r#"
if ask("GET", "lock") is None:
    ask("SET", "lock", me)
    print("HOLDS lock")
    ask("INCR", "sold")
"#;

/// Takes the lock in one step, and deletes only its own.
const OWN_LOCK: &str = r#"
token = os.urandom(16).hex()
while ask("SET", "lock", token, "NX", "PX", "3000") != "OK":
    time.sleep(0.5)
print("HOLDS lock")
if ask("GET", "lock") == token:
    ask("DEL", "lock")
print("DROPS lock")
"#;

/// A place with a lesson of two clients that run this program, and with the permission to start them.
fn place(program: &str, more: &str) -> Place {
    let place = Place::new();
    let client =
        "{ exec: [python3, -S, worker.py], speaks: redis, moves: [GET, SET, INCR, DEL], locks: [lock] }";
    let lesson = format!(
        "{HEAD}lab: redis
clients:
  A: {client}
  B: {client}
{ONLY}    claims: [ that: A.GET is defined or A.SET is defined ]
    story:
      - finish: A
{more}"
    );
    place.write("tried/lesson.yaml", lesson);
    place.write("tried/worker.py", format!("{ASK}{program}"));
    let trusted = place.run(&["trust", "tried/lesson.yaml"]);
    assert_eq!(trusted.code, Some(0), "{}", trusted.err);
    place
}

fn report(answer: &Answer) -> Value {
    assert_eq!(answer.code, Some(0), "{}\n{}", answer.out, answer.err);
    answer.json().remove(0)
}

/// Explores every order, with and without pruning: both must count the same.
fn explored(place: &Place, args: &[&str]) -> Value {
    let explore = |more: &[&str]| {
        let answer = place.run(&[&["explore", "tried/lesson.yaml", "--json"], args, more].concat());
        place.assert_nothing_left();
        report(&answer)
    };
    let (pruned, all) = (explore(&[]), explore(&["--no-prune"]));
    for counted in ["orders", "violations", "cut"] {
        assert_eq!(pruned[counted], all[counted], "{counted}: {pruned}\n{all}");
    }
    assert_eq!(all["complete"], true, "{all}");
    all
}

#[test]
fn programs_race_on_real_servers_and_what_they_print_is_told_in_order() {
    // A program that has ended holds nothing, so it works on for a while.
    let works = format!("{CHECK_THEN_SET}time.sleep(1)\n");
    for (program, runs, expected) in
        [(works.as_str(), "16", &["held", "violated"][..]), (OWN_LOCK, "8", &["held"])]
    {
        let place = place(program, "");
        let raced = report(&place.run(&["race", "tried/lesson.yaml", "-n", runs, "--json"]));
        place.assert_nothing_left();
        assert_eq!((raced["runs"].to_string().as_str(), &raced["complete"]), (runs, &true.into()), "{raced}");
        let outcomes = raced["outcomes"].as_array().expect("outcomes");
        let fate = |outcome: &Value| outcome["locks"]["lock"].as_str().unwrap_or_default().to_owned();
        let fates: Vec<String> = outcomes.iter().map(fate).collect();
        // A client that starts late finds the lock; clients that start together do not.
        assert!(expected.iter().all(|fate| fates.iter().any(|seen| seen == fate)), "{raced}");
        assert_eq!(fates.len(), expected.len(), "{raced}");
        assert!(outcomes.iter().all(|outcome| outcome["unfinished"] == 0), "{raced}");
    }
}

#[test]
fn a_program_that_has_ended_can_neither_be_frozen_nor_crashed() {
    for fault in ["freeze", "crash"] {
        let place = place(OWN_LOCK, &format!("      - {fault}: A # too late\n"));
        let run = place.run(&["run", "tried/lesson.yaml"]);
        place.assert_nothing_left();
        assert_eq!(run.code, Some(2), "{}\n{}", run.out, run.err);
        assert!(run.err.contains("the program of the client `A` has ended"), "{}", run.err);
        assert!(run.err.contains("A # too late\n"), "{}", run.err);
    }
}

#[test]
fn every_order_of_programs_is_carried_out_with_fresh_processes() {
    // Both read before either takes the lock in 12 of the 20 orders of three moves each; in 4 of those, one has ended,
    // and holds nothing, before the other takes it. In the other 8, the client that reads too late has ended, and 4
    // different orders are left.
    let found = explored(&place(CHECK_THEN_SET, ""), &[]);
    let counts = ["orders", "interleavings", "violations", "cut"].map(|key| found[key].as_u64());
    assert_eq!(counts, [16, 16, 8, 0].map(Some), "{found}");
    assert_eq!(found["shortest"], serde_json::json!(["A.GET", "B.GET", "A.SET", "B.SET"]), "{found}");
}

#[test]
fn tokens_that_are_drawn_at_random_are_no_difference_and_waits_end_when_they_should() {
    // The second client reaches the lock before the first has it, while it holds it, or after its release; else it
    // waits.
    let found = explored(&place(OWN_LOCK, ""), &[]);
    let counts = ["orders", "violations", "cut"].map(|key| found[key].as_u64());
    assert_eq!(counts, [6, 0, 0].map(Some), "{found}");
}

#[test]
fn a_program_that_is_killed_in_an_order_leaves_nothing_for_the_next() {
    // A client sends one command and ends. It may be killed before its move or not at all: three points, less where no
    // client can move.
    let place = place("ask(\"SET\", \"lock\", me)\n", "");
    let found = explored(&place, &["--fault", "crash:A"]);
    // Without a fault AB and BA; A is killed before both, or between B and A.
    assert_eq!(found["orders"], 4, "{found}");
}

#[test]
fn programs_that_do_something_else_each_time_are_said_to() {
    let random = "ask('GET', 'lock')\ntime.sleep(random.uniform(1, 900))\nask('SET', 'lock', me)\n";
    let chooses = "ask('GET', f'k{random.randrange(10 ** 9)}')\n";
    for (program, instead) in [(random, "waited until"), (chooses, "was about to send `GET k")] {
        let place = place(program, "");
        let refused = place.run(&["explore", "tried/lesson.yaml"]);
        assert_eq!(refused.code, Some(2), "{}{}", refused.out, refused.err);
        assert_eq!(refused.out, "", "nothing is counted");
        let parts = ["does not do the same each time", instead, "a random delay", "threads", "lockstep race"];
        assert!(parts.iter().all(|part| refused.err.contains(part)), "{}", refused.err);
        let chinese = place.run(&["explore", "tried/lesson.yaml", "--lang", "zh"]);
        assert!(chinese.err.contains("随机的延迟"), "{}", chinese.err);
        place.assert_nothing_left();
    }
}

#[test]
fn a_program_that_ends_before_its_move_is_told_with_its_reason() {
    let fails = "ask('GET', 'lock')\nraise SystemExit('no such lock')\n";
    let ends = "import sys\nask('GET', 'lock')\nprint('nothing to do', file=sys.stderr)\n";
    let second = "      - move: A.SET\n";
    for (program, reason) in
        [(fails, "the program of A ended: no such lock (exit code 1)"), (ends, "is `nothing to do`")]
    {
        let place = place(program, "");
        let lesson = std::fs::read_to_string(place.path().join("tried/lesson.yaml")).expect("the lesson");
        let moves = lesson.replace("      - finish: A\n", &format!("      - move: A.GET\n{second}"));
        place.write("tried/lesson.yaml", moves);
        assert_eq!(place.run(&["trust", "tried/lesson.yaml"]).code, Some(0));
        let ended = place.run(&["run", "tried/lesson.yaml"]);
        assert_eq!(ended.code, Some(2), "{}{}", ended.out, ended.err);
        assert!(ended.err.contains(reason), "{}", ended.err);
        place.assert_nothing_left();
    }
}

#[test]
fn a_lesson_with_programs_may_say_what_exploring_must_find() {
    let place = place(CHECK_THEN_SET, "    explore: { expect: violated }\n");
    assert_eq!(place.run(&["check", "tried/lesson.yaml"]).code, Some(0));
    let shown = place.run(&["run", "tried/lesson.yaml"]);
    assert_eq!(shown.code, Some(0), "{}{}", shown.out, shown.err);
    assert!(shown.out.contains("8 of 16 orders violate"), "{}", shown.out);
    let lesson = std::fs::read_to_string(place.path().join("tried/lesson.yaml")).expect("the lesson");
    place.write(
        "tried/lesson.yaml",
        lesson.replace("expect: violated", "expect: violated, faults: [lost-reply]"),
    );
    let refused = place.run(&["check", "tried/lesson.yaml"]);
    assert_eq!(refused.code, Some(2), "{}", refused.out);
    assert!(refused.err.contains("only `crash` and `freeze`"), "{}", refused.err);
}

/// Takes a lock with a lease and releases it with a script, as redis-py does. With `GET` it looks at something else first.
const LEASED: &str = r#"
import sys
if "GET" in sys.argv:
    ask("GET", "other")
token = os.urandom(16).hex()
while ask("SET", "lock", token, "NX", "PX", sys.argv[1]) != "OK":
    time.sleep(0.5)
print("HOLDS lock", flush=True)
time.sleep(5)
ask("EVAL", "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0", "1", "lock", token)
print("DROPS lock", flush=True)
"#;

#[test]
fn the_lesson_of_the_page_about_programs_runs() {
    let blocks = blocks(&page("docs/attach.md"), "yaml");
    let [lesson, more] = &blocks[..] else { panic!("{blocks:?}") };
    let looks = with(lesson, more).replace("\"${lease}\"]", "\"${lease}\", GET]");
    for (text, expected) in [
        (lesson.clone(), 0),
        (looks.clone(), 0),
        (looks.replace("passes: [HELLO, CLIENT, PING, GET], ", ""), 2),
    ] {
        let place = Place::new();
        place.write("own/lesson.yaml", &text);
        place.write("own/worker.py", format!("{ASK}{LEASED}"));
        assert_eq!(place.run(&["trust", "own/lesson.yaml"]).code, Some(0), "{text}");
        let answer = place.run(&["run", "own/lesson.yaml"]);
        assert_eq!(answer.code, Some(expected), "{}{}\n{text}", answer.out, answer.err);
        place.assert_nothing_left();
    }
}
