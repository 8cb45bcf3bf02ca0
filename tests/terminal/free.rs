//! Free play in the real program in a real terminal: a lock broken by hand, a branch with other choices; and nothing is
//! left.

use crate::{
    place::Place,
    pty::{CTRL_C, ENTER, LEFT, RIGHT, Terminal},
};

/// Presses a client's key once its row shows what it would send, and waits until it shows what comes next.
#[track_caller]
fn moves(terminal: &mut Terminal, key: &str, sends: &str, then: &str) {
    terminal.wait_for(sends);
    terminal.press(key);
    terminal.wait_for(then);
}

#[test]
fn a_story_is_left_the_sale_is_broken_and_a_branch_breaks_it_otherwise() {
    let place = Place::new();
    let args = ["play", "oversell", "--set", "buyers=3", "--no-questions"];
    let mut terminal = Terminal::start(&place, &args);
    terminal.wait_for("Ready: press");
    for step in 1..=3 {
        terminal.press(RIGHT);
        terminal.wait_for(&format!("paused  step {step}/"));
    }
    terminal.press("f");
    let left = terminal.wait_for("Free play: you choose");
    assert!(
        left.has("· Challenge: Sell more than there is.") && left.has("free play") && !left.has("step 3/"),
        "{left}"
    );
    assert!(left.has(" x faults  . +1 s  ← back"), "{left}");

    // Two clients that have both read buy, one after the other.
    moves(&mut terminal, "2", "2 ■ B   check  GET stock", "2 ■ B   buy  DECR stock");
    moves(&mut terminal, "1", "1 ● A   buy  DECR stock", "1 ● A   finished");
    moves(&mut terminal, "2", "2 ■ B   buy  DECR stock", "2 ■ B   finished");
    let broken = terminal.wait_for("YOU BROKE IT");
    assert!(broken.has("More was sold than there was.") && broken.says("came between"), "{broken}");

    // Back to before the second purchase, and C1 moves first.
    terminal.press(LEFT);
    terminal.wait_for("You look back.");
    // B's next operation is shown where it was then.
    let back = terminal.wait_for("2 ■ B   buy  DECR stock");
    assert!(back.has("looking back") && back.has("f branch here"), "{back}");
    terminal.press("3");
    terminal.wait_for("answered as before");
    moves(&mut terminal, "2", "2 ■ B   buy  DECR stock", "2 ■ B   finished");
    terminal.wait_for("YOU BROKE IT");
    terminal.press("B");
    let tree = terminal.wait_for("the first run: ");
    assert!(
        tree.says("story, 3 steps → B.check → A.buy → B.buy")
            && tree.has("└─ ╋ 2  after step 5: C1.check → B.buy"),
        "{tree}"
    );
    // The first run again, with the same results.
    terminal.press("k");
    terminal.press(ENTER);
    let first = terminal.wait_for("answered as before");
    assert!(first.has("2 ■ B   finished") || first.has("doing it again"), "{first}");
    terminal.wait_for("3 ▲ C1  check  GET stock");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended(), 0);
    terminal.assert_restored();
    place.assert_nothing_left();

    let kept = place.run(&["progress"]);
    assert!(kept.out.contains("broken by hand"), "{}", kept.out);
}

#[test]
fn in_chinese_on_a_small_screen_a_lease_is_outlived_by_a_fault_from_the_palette() {
    let place = Place::new();
    let args = ["play", "unlock-someone-elses-lock", "--lang", "zh", "--no-questions"];
    let mut terminal = Terminal::start_with(&place, &args, (80, 24), &[]);
    terminal.wait_for("按 →");
    terminal.press("f");
    let begun = terminal.wait_for("自由模式：由你决定");
    assert!(
        begun.has("· 挑战：让两个客户端同时持有锁。") && begun.has("· 挑战：让一个客户端删掉别人的锁。"),
        "{begun}"
    );
    moves(&mut terminal, "1", "1 ● A  acquire  SET lock", "1 ● A  等待中（干活）");
    // A is frozen for longer than its lease lasts.
    terminal.press("x");
    terminal.wait_for("制造故障");
    terminal.press("冻结 A");
    terminal.press(ENTER);
    terminal.wait_for("1 ● A  ▮ 冻结");
    terminal.press("1");
    terminal.wait_for("A 动不了：进程被冻结了，先让它恢复。");
    terminal.press(":");
    terminal.wait_for("命令");
    terminal.press("5s");
    terminal.press(ENTER);
    terminal.wait_until("five seconds later", |screen| screen.has("  5.0"));
    moves(&mut terminal, "2", "2 ■ B  acquire  SET lock", "2 ■ B  等待中（干活）");
    let broken = terminal.wait_for("你攻破了它");
    assert!(
        broken.has("两个客户端同时持有锁。") && broken.has("· 挑战：让一个客户端删掉别人的锁。"),
        "{broken}"
    );
    terminal.press("q");
    terminal.wait_for("亲手攻破 1/2");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended(), 0);
    terminal.assert_restored();
    place.assert_nothing_left();
}
