//! The user's programs in the real program in a real terminal: a lock broken by hand, and no process left.

use crate::{
    place::Place,
    pty::{CTRL_C, ENTER, LEFT, Terminal},
};

/// Takes a lock for 3 s and keeps working. Its child is in a session of its own.
const WORKER: &str = r#"
setsid sleep 1000 &
exec 3<>"/dev/tcp/$REDIS_HOST/$REDIS_PORT"
until [ "$reply" = $'+OK\r' ]; do
    [ -z "$reply" ] || sleep 5
    printf 'SET lock %s NX PX 3000\r\n' "$LOCKSTEP_CLIENT" >&3
    IFS= read -r reply <&3
done
echo HOLDS lock
sleep 1000
"#;

#[test]
fn two_programs_come_to_hold_a_lock_and_nothing_of_them_is_left() {
    let place = Place::new();
    let args = ["attach", "redis", "--clients", "2", "--", "bash", "-c", WORKER];
    let mut terminal = Terminal::start(&place, &args);
    terminal.wait_for("2 ■ B  SET  SET lock B NX PX 3000");
    terminal.press("1");
    terminal.wait_for("● A holds");
    terminal.press("2");
    terminal.wait_for("B's wait ends");
    terminal.press("x");
    terminal.wait_for("▸ freeze A");
    terminal.press(ENTER);
    terminal.wait_for("1 ● A  ▮ frozen");
    terminal.press("t");
    terminal.wait_for("2 ■ B  SET  SET lock B NX PX 3000");
    terminal.press("2");
    let broken = terminal.wait_for("YOU BROKE IT");
    assert!(broken.says("A was frozen between") && broken.has("2 HOLDERS AT ONCE"), "{broken}");
    terminal.press("c");
    terminal.wait_for("bash -c");
    terminal.press("c");
    // The run is not stored anywhere: the program asks before leaving, and can save it.
    terminal.press("q");
    terminal.wait_for("q again throws it away, S saves it first");
    terminal.press("\x1b");
    let stays = terminal.wait_until("no question", |screen| !screen.has("again throws it away"));
    assert!(stays.has("YOU BROKE IT"), "{stays}");
    terminal.press("r");
    terminal.wait_for("r again throws it away");
    terminal.press("c");
    terminal.wait_for("YOU BROKE IT");
    terminal.press("S");
    terminal.wait_for("Saved as attach.free.jsonl.gz");
    // Another run from an earlier place is in no file.
    terminal.press(LEFT);
    terminal.wait_until("the last request waits again", |screen| !screen.has("YOU BROKE IT"));
    terminal.press("x");
    terminal.wait_for("▸ thaw A");
    terminal.press(ENTER);
    terminal.wait_for("done again on fresh servers");
    terminal.press("q");
    terminal.wait_for("q again throws it away");
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
    terminal.assert_restored();
    for alone in ["teach", "compare"] {
        let mut terminal = Terminal::start(&place, &[alone, "attach.free.jsonl.gz"]);
        terminal.wait_for("`lockstep play FILE` shows it alone");
        assert_eq!(terminal.ended(), 2);
    }
    let mut terminal = Terminal::start(&place, &["play", "attach.free.jsonl.gz"]);
    terminal.wait_for("RECORDED");
    for step in ["A.SET", "A.SET → B.SET", "→ freeze A"] {
        terminal.press("n");
        terminal.wait_for(step);
    }
    terminal.press("R");
    terminal.wait_for("a recording has no programs to start");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended(), 0);
    place.assert_nothing_left();
}

#[test]
fn with_a_file_to_record_in_each_run_that_is_left_is_kept_unasked() {
    let place = Place::new();
    place.write("letter.txt", "dear reader");
    let args = |file| ["attach", "redis", "--clients", "2", "--record", file, "--", "bash", "-c", WORKER];
    let mut terminal = Terminal::start(&place, &args("letter.txt"));
    terminal.wait_for("Overwrite it?");
    terminal.press("n");
    terminal.press(ENTER);
    assert_eq!(terminal.ended(), 2);
    let mut terminal = Terminal::start(&place, &args("run.jsonl"));
    terminal.wait_for("2 ■ B  SET  SET lock B NX PX 3000");
    terminal.press("1");
    terminal.wait_for("● A holds");
    terminal.press("r");
    terminal.wait_for("recorded in run.jsonl");
    terminal.wait_for("2 ■ B  SET  SET lock B NX PX 3000");
    terminal.press("2");
    terminal.wait_for("■ B holds");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended(), 0);
    for (file, holder) in [("run.jsonl", "'A'"), ("run-2.jsonl", "'B'")] {
        let value = place.run(&["eval", file, "value('lock')"]);
        assert_eq!(value.out.lines().next(), Some(holder), "{}", value.err);
    }
    // The file is a recording of Lockstep by now, and may be replaced.
    let mut terminal = Terminal::start(&place, &args("run.jsonl"));
    terminal.wait_for("2 ■ B  SET  SET lock B NX PX 3000");
    terminal.press("2");
    terminal.wait_for("■ B holds");
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
    let value = place.run(&["eval", "run.jsonl", "value('lock')"]);
    assert_eq!(value.out.lines().next(), Some("'B'"), "{}", value.err);
    place.assert_nothing_left();
}

#[test]
fn where_nothing_was_chosen_nothing_is_asked() {
    let place = Place::new();
    let args = ["attach", "redis", "--clients", "2", "--", "bash", "-c", WORKER];
    let mut terminal = Terminal::start(&place, &args);
    terminal.wait_for("2 ■ B  SET  SET lock B NX PX 3000");
    // Again, on a fresh lab.
    terminal.press("r");
    terminal.wait_for("1 ● A  SET  SET lock A NX PX 3000");
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
    terminal.assert_restored();
    place.assert_nothing_left();
}
