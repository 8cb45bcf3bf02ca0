//! Tests of the clock without any server: the arithmetic of the page, and the guarantees of [`LessonClock`]. How real
//! servers behave on it is tested in `tests/lessons/clock.rs`.

use super::{
    page::{self, PER_MILLE},
    *,
};
use proptest::prelude::*;
use std::{
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};
use tempfile::TempDir;

fn controlled() -> (TempDir, LessonClock) {
    let dir = tempfile::tempdir().expect("a directory");
    let clock = LessonClock::with_library_in(dir.path(), dir.path()).expect("a clock");
    (dir, clock)
}

fn lines() -> impl Strategy<Value = Line> {
    let longest = prop_oneof![Just(i64::MAX), 0..1_i64 << 40];
    (0..1_i64 << 50, -(1_i64 << 50)..1_i64 << 50, 0..=100_000_i64, longest)
        .prop_map(|(anchor, offset, rate, longest)| Line { anchor, offset, rate, longest })
}

proptest! {
    #[test]
    fn a_line_never_goes_back(line in lines(), from in 0..1_i64 << 51, step in 0..1_i64 << 40) {
        prop_assert!(line.at(from) <= line.at(from + step));
    }

    #[test]
    fn a_line_runs_at_its_rate(line in lines(), thousands in 0..1_i64 << 30) {
        let real = line.anchor + thousands * PER_MILLE;
        let passed = line.at(real) - line.at(line.anchor);
        if real - line.anchor <= line.longest {
            prop_assert_eq!(passed, thousands * line.rate);
        } else {
            prop_assert_eq!(passed, line.at(line.anchor + line.longest) - line.at(line.anchor));
            prop_assert!(line.stands_still(real));
        }
    }

    #[test]
    fn a_change_of_rate_is_no_step(line in lines(), after in 0..1_i64 << 40, rate in 0..=100_000_i64) {
        let real = line.anchor + after;
        let turned = line.turned(real, rate);
        prop_assert_eq!(turned.at(real), line.at(real));
        prop_assert_eq!(turned.rate, rate);
    }

    #[test]
    fn a_wait_is_just_long_enough(rate in 1..=100_000_i64, left in 1..1_i64 << 45) {
        let line = Line { anchor: 0, offset: 0, rate, longest: i64::MAX };
        let real = line.real_for(left).expect("it runs");
        prop_assert!(line.at(real) >= left, "waking before the time would be spinning");
        prop_assert!(real == 0 || line.at(real - 1) < left, "and longer would be late");
    }

    #[test]
    fn absurd_numbers_do_no_harm(
        numbers: [i64; 5], rate in 0..=100_000_i64,
    ) {
        let [anchor, offset, longest, real, left] = numbers;
        let line = Line { anchor, offset, rate, longest };
        let _ = (line.at(real), line.turned(real, rate), line.real_for(left), line.stands_still(real));
    }
}

#[test]
fn a_moment_before_the_anchor_is_the_anchor() {
    let line = Line { anchor: 1_000, offset: 10, rate: 100_000, longest: i64::MAX };
    assert_eq!(line.at(0), 1_010);
}

#[test]
fn time_does_not_run_away_where_nobody_looks() {
    let line = Line { anchor: 0, offset: 0, rate: 8 * PER_MILLE, longest: 100 };
    assert_eq!([99, 100, 700].map(|real| line.at(real)), [792, 800, 800]);
    assert_eq!([99, 100].map(|real| line.stands_still(real)), [false, true]);
    let next = line.turned(700, PER_MILLE);
    assert_eq!([700, 701, 5_700].map(|real| next.at(real)), [800, 801, 5_800], "and goes on from there");
}

#[test]
fn nothing_ends_while_time_stands_still() {
    let line = Line { anchor: 0, offset: 0, rate: 0, longest: i64::MAX };
    assert_eq!(line.real_for(1), None);
    assert_eq!(line.real_for(0), Some(0));
}

#[test]
fn a_paused_clock_stands_still_until_it_jumps() {
    let (_dir, clock) = controlled();
    assert_eq!(clock.kind(), ClockKind::Controlled);
    let paused = clock.set_rate(Rate::PAUSED).expect("a pause");
    assert_eq!(clock.now(), paused);
    let hour = Duration::from_hours(1);
    assert_eq!(clock.jump(hour).expect("a jump"), paused + hour);
    assert_eq!(clock.now(), paused + hour);
}

#[test]
fn the_calendar_is_set_and_lesson_time_stays() {
    const MOMENT: i64 = 1_767_225_599;
    let (_dir, clock) = controlled();
    let at = clock.set_rate(Rate::PAUSED).expect("a rate");
    clock.set_calendar(MOMENT).expect("a calendar");
    assert_eq!(clock.now(), at);
    assert_eq!(clock.from_unix_millis(MOMENT * 1_000, None), at);
    clock.jump(Duration::from_secs(2)).expect("a jump");
    clock.set_calendar(MOMENT).expect("a calendar, although it goes back");
    assert_eq!(clock.from_unix_millis(MOMENT * 1_000, None), at + Duration::from_secs(2));
    assert!(LessonClock::wall().set_calendar(MOMENT).is_err());
}

#[test]
fn threads_never_see_time_go_back() {
    let (_dir, clock) = controlled();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut seen = clock.now();
                while !done.load(Ordering::Relaxed) {
                    let now = clock.now();
                    assert!(now >= seen, "{now:?} after {seen:?}");
                    seen = now;
                }
            });
        }
        for turn in 0..300 {
            let rate = [Rate::FASTEST, Rate::PAUSED, Rate::NORMAL][turn % 3];
            clock.set_rate(rate).expect("a change");
            clock.jump(Duration::from_millis(1)).expect("a jump");
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn calendar_deadlines_become_lesson_time() {
    for clock in [controlled().1, LessonClock::wall()] {
        let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        let unix = i64::try_from(unix.as_millis()).expect("before the end of time");
        let deadline = clock.from_unix_millis(unix + 5_000, None);
        let left = deadline.since(clock.now());
        assert!(
            left <= Duration::from_secs(5) && left > Duration::from_secs(4),
            "{}: {left:?}",
            clock.kind()
        );
    }
}

#[test]
fn the_wall_clock_says_what_it_cannot() {
    let clock = LessonClock::wall();
    assert_eq!(clock.kind(), ClockKind::Wall);
    assert!(matches!(clock.jump(Duration::from_secs(1)), Err(ClockError::CannotJump)));
    assert!(clock.allocate_slot().is_none());
    assert!(clock.env(None).is_empty());
    let asked = clock.set_rate(Rate::PAUSED).expect("nothing happens");
    // Real time never stands still.
    while clock.now() <= asked {
        thread::yield_now();
    }
}

#[test]
fn slots_come_back() {
    let (_dir, clock) = controlled();
    let mut slots: Vec<_> = std::iter::from_fn(|| clock.allocate_slot()).collect();
    assert_eq!(slots.len(), SLOTS);
    clock.skew(&slots[1], 5).expect("a skew");
    slots.remove(1);
    let again = clock.allocate_slot().expect("the one given back");
    assert_eq!(again.index, 1);

    let (_dir, other) = controlled();
    assert!(matches!(other.skew(&again, 1), Err(ClockError::CannotSkew)));
}

#[test]
fn a_process_finds_the_clock_in_its_environment() {
    let (dir, clock) = controlled();
    let slot = clock.allocate_slot().expect("a slot");
    let env = clock.env(Some(&slot));
    let value = |name: &str| env.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    let library = value("LD_PRELOAD").expect("a library");
    assert!(library.to_string_lossy().ends_with("lesson_clock.so"));
    assert_eq!(value("LESSON_CLOCK"), Some(dir.path().join("lesson_clock.page").into()));
    assert_eq!(value("LESSON_CLOCK_SLOT"), Some("0".into()));
    assert_eq!(clock.env(None).len(), 2);
}

#[test]
fn servers_do_not_wait_for_the_disk_and_programs_of_users_do() {
    let (dir, clock) = controlled();
    let status = dir.path().join("status");
    fs::write(&status, vec![0; page::STATUS_BYTES]).expect("a file");
    // The kernel refuses to sync this file.
    let syncs = |data: &[&str], env: &[(&str, &Path)]| {
        let mut sync = Command::new("sync");
        sync.args(data)
            .arg("/dev/null")
            .stderr(Stdio::null())
            .envs(clock.env(None))
            .envs(env.iter().copied());
        sync.status().expect("it runs").success()
    };
    for data in [&[][..], &["--data"]] {
        assert!(syncs(data, &[]), "a server asked the kernel");
        assert!(!syncs(data, &[(STATUS_VARIABLE, &status)]), "a program of a user was not let");
    }
}

#[test]
fn a_directory_has_one_clock() {
    let (dir, _clock) = controlled();
    let second = LessonClock::with_library_in(dir.path(), dir.path())
        .expect_err("the first one's processes have its page");
    assert!(matches!(second, ClockError::File { .. }), "{second}");
}

#[test]
fn a_directory_that_cannot_be_preloaded_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let spaced = dir.path().join("my lessons");
    fs::create_dir(&spaced).expect("a directory");
    let error = LessonClock::with_library_in(&spaced, &spaced).expect_err("the linker would split it");
    assert!(error.to_string().contains("TMPDIR"), "{error}");
}

#[test]
fn kinds_are_written_as_words() {
    assert_eq!(serde_json::to_string(&ClockKind::Controlled).expect("a word"), "\"controlled\"");
    assert_eq!(ClockKind::Wall.to_string(), "wall");
}
