//! Before and after, by the real program on real servers: in a terminal, and from recordings.

use lockstep::{
    lesson::Library,
    log::Log,
    recording,
    ui::{state::catalogue::CatalogueEntry, state::comparing},
    verdict::compare::{What, first_difference},
};

use crate::{
    place::Place,
    pty::{END, HOME, LEFT, RIGHT, Terminal},
};

/// Runs a variant on real servers; returns its log.
fn run(place: &Place, lesson: &str, variant: &str, file: &str) -> Log {
    let answer = place.run(&["run", lesson, "--variant", variant, "--record", file]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    recording::read(&place.path().join(file)).expect("a recording").log
}

#[test]
fn two_runs_of_one_variant_do_not_differ() {
    let place = Place::new();
    for (lesson, variant) in [
        ("unlock-someone-elses-lock", "get-compare-del"),
        ("oversell", "redis-lock"),
        ("setnx-without-expire", "set-nx-px"),
        ("zk-herd", "predecessor"),
    ] {
        let logs = ["1.jsonl", "2.jsonl"].map(|file| run(&place, lesson, variant, file));
        assert_eq!(first_difference([&logs[0], &logs[1]]), None, "{lesson} {variant}");
    }
}

#[test]
fn what_is_played_is_compared_with_what_it_fixes_or_is_fixed_by() {
    let library = Library::carried();
    let loaded = library.find("unlock-someone-elses-lock").expect("it is carried");
    let entry = CatalogueEntry::from(&loaded.lesson);
    for (playing, before, after) in [
        ("blind-del", "blind-del", "owner-check"),
        ("get-compare-del", "get-compare-del", "owner-check"),
        ("owner-check", "get-compare-del", "owner-check"),
        ("user-id-token", "user-id-token", "owner-check"),
    ] {
        let playing = entry.variants.iter().position(|variant| variant.name == playing);
        let sides = comparing::sides(&entry, playing).expect("several variants");
        assert_eq!(sides.map(|n| entry.variants[n].name.as_str()), [before, after]);
    }
}

#[test]
fn in_a_table_locks_are_compared_under_the_same_fault() {
    let library = Library::carried();
    let entry = CatalogueEntry::from(&library.find("which-lock").expect("it is carried").lesson);
    let table = entry.table.as_ref().expect("it is a table");
    for playing in 0..entry.variants.len() {
        let sides = comparing::sides(&entry, Some(playing)).expect("several locks");
        assert!(sides.contains(&playing), "{sides:?}");
        assert_eq!(table.column(sides[0]), table.column(sides[1]));
    }
}

#[test]
fn by_default_a_failure_stands_above_its_own_fix() {
    let library = Library::carried();
    let pairs: Vec<String> = library
        .ids()
        .map(|id| {
            let loaded = library.find(id).expect("it is carried");
            let entry = CatalogueEntry::from(&loaded.lesson);
            let sides = comparing::sides(&entry, None).expect("several variants");
            let [before, after] = sides.map(|n| entry.variants[n].name.clone());
            format!("{}: {before}, {after}", entry.lesson.id)
        })
        .collect();
    let expected = [
        "oversell: check-then-decrement, redis-lock",
        "file-lock: in-memory, flock",
        "setnx-without-expire: two-commands, set-nx-px",
        "unlock-someone-elses-lock: get-compare-del, owner-check",
        "watchdog: no-renewal, watchdog",
        "reentrancy: by-value, count",
        "lost-reply: resend, read-back",
        "fencing-token: no-token, token",
        "restart-without-persistence: crash, crash-everysec",
        "segmented-lock: one-lock, segments",
        "failover: replication-lag, replicated",
        "failover-mitigations: nobody-asks, wait",
        "cluster-is-not-safer: replication-lag, wait",
        "redlock: one-master, majority",
        "redlock-restarted-node: in-memory, always",
        "redlock-clock-jump: one-clock, all-five",
        "redlock-late-validity: votes-only, checked",
        "wait-without-spinning: holder-dies, as-long-as-the-lease",
        "redisson-lock: own-lease, watched",
        "fair-lock: barging, queue",
        "multi-lock: one-by-one, all-or-none",
        "read-write-lock: no-read-lock, read-lock",
        "semaphore: counter, owner",
        "permit-expirable-semaphore: one-expiry, own-deadlines",
        "countdown-latch: workers-set, main-sets",
        "spin-lock: fixed, backoff",
        "znode-types: overwrite, with-version",
        "zk-persistent-deadlock: persistent, ephemeral",
        "zk-herd: herd, predecessor",
        "zk-notified-is-not-granted: believe-it, look-again",
        "zk-session-expiry: frozen, czxid",
        "zk-lost-create-reply: create-again, new-session",
        "curator-mutex: each-time, counted",
        "curator-semaphore-mutex: by-thread, by-lease",
        "curator-read-write: is-anybody-writing, is-a-writer-before-me",
        "curator-multi-lock: without-time, with-time",
        "zk-leader-failover: works-on, stops-when-suspended",
        "db-pessimistic: autocommit, for-update",
        "db-deadlock: deadlock, retry",
        "db-optimistic: lost-update, version",
        "db-aba: by-value, by-version",
        "redis-py-lock: lost-reply, read-back",
        "redlock-py: clock-set-back, monotonic",
        "python-redis-lock: late-renewal, own-clock",
        "node-redlock: long-wait, each-try-anew",
        "redis-semaphore: no-refresh, refreshed",
        "kazoo-lock: works-on, listens",
        "curator-lock: asks-itself, listens",
        "etcd-lease: plain-key, lease",
        "which-lock: redis-polling-freeze, mariadb-for-update-freeze",
    ];
    assert_eq!(pairs, expected);
}

/// The first difference between a failure and its fix, in lessons that differ only in the fix.
#[test]
fn a_failure_and_its_fix_part_at_the_fix() {
    let place = Place::new();
    for (lesson, before, after, parts) in [
        ("setnx-without-expire", "two-commands", "set-nx-px", ("A", "acquire", 0)),
        ("unlock-someone-elses-lock", "get-compare-del", "owner-check", ("A", "check", 0)),
        ("watchdog", "no-renewal", "watchdog", ("A.watchdog", "renew", 0)),
    ] {
        let logs = [before, after].map(|variant| run(&place, lesson, variant, &format!("{variant}.jsonl")));
        let found = first_difference([&logs[0], &logs[1]]).expect("a difference");
        let moves: Vec<_> = found.moves.iter().flatten().map(lockstep::verdict::compare::Move::key).collect();
        assert!(moves.contains(&parts), "{lesson}: {found:?}");
    }
}

#[test]
fn the_failure_and_its_fix_part_at_the_release() {
    let place = Place::new();
    let lesson = "unlock-someone-elses-lock";
    let before = run(&place, lesson, "blind-del", "before.jsonl");
    let after = run(&place, lesson, "owner-check", "after.jsonl");
    let found = first_difference([&before, &after]).expect("a difference");
    let [Some(before), Some(after)] = &found.moves else {
        panic!("both release: {found:?}");
    };
    assert_eq!(found.what, What::Command);
    assert_eq!((before.key(), after.key()), (("A", "release", 0), ("A", "release", 0)));
    assert_eq!(before.wire, "DEL lock");
    assert!(after.wire.starts_with("EVAL release_if_owner"), "{}", after.wire);

    // The same two recordings on the screen, without any server.
    let variables = [("PATH", ""), ("LOCKSTEP_REDIS_SERVER", "/nowhere/redis-server")];
    let args = ["compare", "before.jsonl", "after.jsonl"];
    let mut terminal = Terminal::start_with(&place, &args, (100, 30), &variables);
    let screen = terminal.wait_for("≠ First difference: another command");
    let recorded = screen.rows().iter().filter(|row| row.contains("RECORDED")).count();
    assert_eq!(recorded, 1, "{screen}");
    assert!(screen.has("A.release sends DEL lock → 1"), "{screen}");
    terminal.press("q");
    terminal.wait_for("Enter open");
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
    place.assert_nothing_left();
}

#[test]
fn a_lesson_is_compared_on_real_servers_and_stepped_through() {
    let place = Place::new();
    let args = ["compare", "unlock-someone-elses-lock", "--before", "blind-del"];
    let mut terminal = Terminal::start_with(&place, &args, (100, 30), &[]);
    let end = terminal.wait_for("≠ First difference: another command");
    for words in [
        // It is named as the fix of another variant.
        "ABOVE  DEL without looking",
        "BELOW  Compare and delete in one script",
        "2 HOLDERS AT ONCE",
        "✓ never two holders",
        "ABOVE: FAILURE SHOWN",
        "BELOW: FAILURE PREVENTED",
    ] {
        assert!(end.has(words), "{words}: {end}");
    }
    terminal.press(HOME);
    terminal.wait_for("step 0/");
    terminal.press(RIGHT);
    terminal.wait_for("step 1/");
    terminal.press(LEFT);
    terminal.wait_for("step 0/");
    terminal.press("d");
    terminal.wait_until("the mark on both", |screen| {
        screen.rows().iter().filter(|row| row.contains("≠ release")).count() == 2
    });
    terminal.press(END);
    terminal.wait_until("the end again", |screen| *screen == end);
    terminal.press("L");
    let chinese = terminal.wait_for("第一处不同：命令不同");
    assert!(chinese.has("上方") && chinese.has("始终只有一个持有者"), "{chinese}");
    // Another failure beside the same fix: only that one is run.
    terminal.press("L");
    terminal.press("V");
    terminal.wait_for("BEFORE  GET, compare, DEL");
    let other = terminal.wait_for("≠ First difference");
    assert!(other.has("A.check sends GET lock"), "{other}");
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
    terminal.assert_restored();
    place.assert_nothing_left();
}

#[test]
fn a_lesson_that_is_played_waits_behind_the_comparison() {
    let place = Place::new();
    let mut terminal = Terminal::start_with(&place, &["play", "oversell"], (100, 30), &[]);
    terminal.wait_for("Ready: press");
    terminal.press(RIGHT);
    let lesson = terminal.wait_for("paused  step 1/");
    terminal.press("b");
    let screen = terminal.wait_for("≠ First difference");
    let ends = |words: &str| screen.rows().iter().any(|row| row.ends_with(words));
    assert!(ends(" SOLD 10/1") && ends(" sold 1"), "{screen}");
    terminal.press("b");
    terminal.wait_until("the lesson as it was", |screen| *screen == lesson);
    terminal.press(RIGHT);
    terminal.wait_for("paused  step 2/");
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
    place.assert_nothing_left();
}

/// A comparison on a machine without Redis, after the offer to install it.
fn without_redis(place: &Place, args: &[&str]) -> Terminal {
    let variables = [("LOCKSTEP_REDIS_SERVER", "/nowhere/redis-server")];
    let mut terminal = Terminal::start_with(place, args, (100, 30), &variables);
    let screen = terminal.wait_until("the comparison, or an offer to install", |screen| {
        screen.has("Install them now?") || screen.has("before and after")
    });
    if screen.has("Install them now?") {
        terminal.press("n\r");
    }
    terminal
}

#[test]
fn without_servers_recordings_are_compared() {
    let place = Place::new();
    let mut terminal = without_redis(&place, &["compare", "oversell"]);
    // The second of the two ends last.
    let screen = terminal.wait_for("AFTER: FAILURE PREVENTED");
    let recorded = screen.rows().iter().filter(|row| row.contains("RECORDED")).count();
    assert_eq!(recorded, 1, "{screen}");
    assert!(screen.has("BEFORE: FAILURE SHOWN") && screen.has("AFTER: FAILURE PREVENTED"), "{screen}");
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_missing_server_is_said_in_both_halves() {
    let place = Place::new();
    // There are no recordings with other parameters.
    let mut terminal = without_redis(&place, &["compare", "oversell", "--set", "buyers=5"]);
    let screen = terminal.wait_until("two failed runs", |screen| {
        screen.rows().iter().filter(|row| row.contains("this run failed")).count() == 2
    });
    assert!(screen.has("one of the runs did not come to its end"), "{screen}");
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let place = Place::new();
    run(&place, "oversell", "atomic-script", "one.jsonl");
    run(&place, "unlock-someone-elses-lock", "owner-check", "other.jsonl");
    let cases: [(&[&str], &str); 6] = [
        (&["oversell", "--after", "nothing"], "has no variant `nothing`"),
        (&["oversell", "--before", "lost-update", "--after", "lost-update"], "stands on both sides"),
        (&["one.jsonl", "other.jsonl"], "of two lessons"),
        (&["one.jsonl", "one.jsonl"], "stands on both sides"),
        (&["oversell", "one.jsonl"], "is no recording"),
        (&["undersell"], "there is no lesson `undersell`"),
    ];
    for (args, words) in cases {
        let args: Vec<&str> = std::iter::once("compare").chain(args.iter().copied()).collect();
        let answer = place.run(&args);
        assert_eq!(answer.code, Some(2), "{args:?} {}", answer.err);
        assert!(answer.err.contains(words), "{words}: {}", answer.err);
    }
}
