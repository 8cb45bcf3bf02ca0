//! Many races of a variant: how the learner gets there, the growing histogram, stepping through one race, and the ways
//! back.

use std::time::Duration;

use crossterm::event::KeyCode;
use lockstep::{
    clock::ClockKind,
    log::{Log, outlook::Outlook},
    run::{
        batch::{BatchUpdate, Control},
        race::{Invariant, LockFate, Outcome, Race, RaceInfo, Wording},
        session::{Failure, Update},
    },
    text::Lang,
    ui::{
        app::Mode,
        theme::{Glyphs, Ink, Role, Theme, ThemeName},
    },
};

use crate::{
    staged,
    stand::{LANGS, SIZES, Stand, odd_sizes, opens_from_everywhere},
};

/// Ten clients and two invariants.
fn info() -> RaceInfo {
    let never =
        |name: &str, en: &str, zh: &str| Invariant { name: name.into(), says: crate::stand::text(en, zh) };
    RaceInfo {
        clock: ClockKind::Controlled,
        actors: 10,
        faults_left_out: true,
        wording: Wording {
            invariants: vec![
                never("sold > stock", "More was sold than there was.", "卖出的比原有的多。"),
                never(
                    "overlap: lock",
                    "Two clients hold the lock at the same time.",
                    "两个客户端同时持有锁。",
                ),
            ],
            ..Wording::none()
        },
    }
}

/// Two held the lock, and this many were sold.
fn broken(sold: i64) -> Outcome {
    Outcome {
        locks: [("lock".to_owned(), LockFate::Violated)].into(),
        counters: [("sold".to_owned(), sold)].into(),
        values: [("stock".to_owned(), Some((1 - sold).to_string()))].into(),
        unfinished: 0,
        broken: ["overlap: lock".to_owned()].into(),
    }
}

fn fine() -> Outcome {
    Outcome { locks: [("lock".to_owned(), LockFate::Held)].into(), broken: [].into(), ..broken(1) }
}

/// The log of a race like misdelete: two holders in the end.
fn log() -> Log {
    staged::misdelete(ClockKind::Controlled).log()
}

fn race(n: u64, outcome: Outcome, log: Log) -> BatchUpdate {
    BatchUpdate::Raced(Race { seed: 1 + n, outcome, log, lesson: Duration::from_secs(4) })
}

/// Twelve races of a hundred: seven fine, four that sold two, one that sold three.
fn raced(lang: Lang, size: (u16, u16)) -> Stand {
    themed(lang, size, Theme::default())
}

fn themed(lang: Lang, size: (u16, u16), theme: Theme) -> Stand {
    let mut stand = Stand::themed_catalogue(lang, size, theme);
    stand.press('R');
    stand.batch_update(BatchUpdate::Ready(info()));
    for n in 0..12 {
        stand.now += Duration::from_millis(100);
        let (outcome, log) = match n {
            2 => (broken(3), log()),
            3..=6 => (broken(2), log()),
            _ => (fine(), staged::owner_check(ClockKind::Controlled).log()),
        };
        stand.batch_update(race(n, outcome, log));
    }
    stand
}

fn row(stand: &Stand, words: &str) -> String {
    let rows = stand.rows();
    let found = rows.iter().find(|row| row.contains(words));
    found.unwrap_or_else(|| panic!("{words}: {rows:#?}")).clone()
}

#[test]
#[ignore = "leaves pictures of the screens in LOCKSTEP_PICTURES"]
fn pictures() {
    for lang in LANGS {
        for size in SIZES {
            let size_name = format!("{lang}-{}x{}", size.0, size.1);
            let mut stand = raced(lang, size);
            stand.save(&format!("trials-{size_name}"));
            stand.key(KeyCode::Down);
            stand.key(KeyCode::Right);
            stand.save(&format!("trials-races-{size_name}"));
            stand.key(KeyCode::Enter);
            stand.press(']');
            stand.save(&format!("trials-single-{size_name}"));
            let light = Theme::default().named(ThemeName::Light);
            themed(lang, size, light).save(&format!("trials-light-{size_name}"));
        }
    }
}

#[test]
fn a_variant_is_raced_from_the_catalogue_from_its_variants_and_from_its_lesson() {
    assert!(Stand::catalogue(Lang::En, (80, 24)).shows("R race"));
    let raced = |stand: &Stand| -> Vec<String> {
        let raced = stand.runs.raced.borrow();
        raced.iter().map(|(choice, _)| choice.variant.clone()).collect()
    };
    let rows = opens_from_everywhere('R', raced, BatchUpdate::Ready(info()));
    assert!(rows[0].contains("blind DEL 1/3 · races"), "{rows:#?}");
}

#[test]
fn the_histogram_grows_with_every_race() {
    for (lang, progress, pace, broke, what, left_out) in [
        (
            Lang::En,
            "12 of 100 races",
            "10/s, 8s left",
            "✗ 5 of 12 races went wrong (41.7%)",
            "5: Two clients hold the lock at the same time.",
            "faults of the story",
        ),
        (
            Lang::Zh,
            "已跑 12/100 次",
            "每秒 10 次，还需 8s",
            "✗ 5/12 次出错（41.7%）",
            "5 次：两个客户端同时持有锁。",
            "不含剧情里的故障",
        ),
    ] {
        for size in SIZES {
            let stand = raced(lang, size);
            for words in [progress, pace, broke, what, left_out] {
                assert!(stand.shows(words), "{words} {size:?}: {:#?}", stand.rows());
            }
        }
    }
    let stand = raced(Lang::En, (100, 30));
    let often = row(&stand, "lock held properly, 1 sold, stock is 0");
    assert!(often.contains(" 7 ") && often.contains("58.3%") && often.contains("seed 1 "), "{often}");
    let rare = row(&stand, "✗ 3 sold, stock is -2 · Two clients hold the lock");
    assert!(rare.contains(" 1 ") && rare.contains("8.3%") && rare.contains("seed 3 "), "{rare}");
    let cells = |row: &str| row.matches('█').count();
    let some = row(&stand, "2 sold, stock is -1");
    assert!(
        cells(&often) > cells(&some) && cells(&some) > cells(&rare) && cells(&rare) > 0,
        "{:#?}",
        stand.rows()
    );
}

#[test]
fn what_breaks_the_lock_is_red_and_marked_besides() {
    let stand = raced(Lang::En, (100, 30));
    let buffer = stand.buffer();
    let danger = Theme::default().style(Role::Danger).fg;
    for (y, row) in stand.rows().iter().enumerate() {
        let y = u16::try_from(y).expect("few rows");
        let red = (0..100).any(|x| buffer[(x, y)].symbol() == "█" && buffer[(x, y)].style().fg == danger);
        assert_eq!(red, row.contains("· Two clients hold the lock at the same time"), "{row}");
    }
}

#[test]
fn every_terminal_tells_what_broke_from_what_did_not() {
    let ascii = Theme { glyphs: Glyphs::Ascii, ink: Ink::Mono, ..Theme::default() };
    let stand = themed(Lang::En, (100, 30), ascii);
    assert!(stand.rows().iter().all(|row| row.is_ascii()), "{:#?}", stand.rows());
    let marked = |words: &str| row(&stand, words).contains(&format!("x {words}"));
    assert!(
        marked("2 sold, stock is -1 . Two clients hold the lock") && !marked("lock held properly"),
        "{:#?}",
        stand.rows()
    );
    assert!(row(&stand, "|>").contains("lock held properly"), "{:#?}", stand.rows());
    for name in ThemeName::ALL {
        let theme = Theme::default().named(name);
        let stand = themed(Lang::En, (100, 30), theme);
        let y =
            stand.rows().iter().position(|row| row.contains("· Two clients hold the lock at the same time"));
        let y = u16::try_from(y.expect("a row")).expect("few rows");
        let danger = theme.style(Role::Danger).fg;
        assert_eq!(stand.buffer()[(5, y)].style().fg, danger, "{name:?}");
    }
}

#[test]
fn races_stop_and_go_on_and_more_may_be_wanted() {
    let mut stand = raced(Lang::En, (100, 30));
    let control = |stand: &Stand| *stand.runs.raced.borrow()[0].1.control.borrow();
    assert_eq!(control(&stand), Control { races: 100, stopped: false });
    stand.press(' ');
    assert_eq!(control(&stand), Control { races: 100, stopped: true });
    assert!(stand.rows()[0].contains("paused"), "{:#?}", stand.rows());
    // Paused time is not counted.
    stand.now += Duration::from_mins(1);
    stand.press(' ');
    assert!(!control(&stand).stopped);
    assert!(stand.shows("10/s, 8s left"), "{:#?}", stand.rows());
    stand.press('+');
    assert_eq!(control(&stand).races, 1000);
    assert!(stand.shows("12 of 1000 races"), "{:#?}", stand.rows());
    for runs in [10_000, 100_000, 1_000_000, 1_000_000] {
        stand.press('+');
        assert_eq!(control(&stand).races, runs);
    }
    assert!(stand.shows("There can be no more races"), "{:#?}", stand.rows());
}

#[test]
fn when_there_have_been_enough_it_says_so() {
    let mut stand = raced(Lang::En, (100, 30));
    for n in 12..100 {
        stand.now += Duration::from_millis(100);
        stand.batch_update(race(n, fine(), Log::new()));
    }
    assert!(stand.rows()[0].contains("done"), "{:#?}", stand.rows());
    assert!(stand.shows("100 of 100 races  10/s, 10 s in all"), "{:#?}", stand.rows());
    stand.press('+');
    assert!(stand.rows()[0].contains("racing"), "{:#?}", stand.rows());
}

#[test]
fn a_chosen_outcome_stays_chosen_whatever_becomes_more_frequent() {
    let mut stand = raced(Lang::En, (100, 30));
    let chosen = |stand: &Stand| row(stand, "▸");
    assert!(chosen(&stand).contains("lock held properly"), "{:#?}", stand.rows());
    stand.key(KeyCode::Down);
    assert!(chosen(&stand).contains("2 sold"), "{:#?}", stand.rows());
    for n in 12..40 {
        stand.batch_update(race(n, broken(3), Log::new()));
    }
    assert!(chosen(&stand).contains("2 sold"), "{:#?}", stand.rows());
    let outcomes = |words: &str| stand.rows().iter().position(|row| row.contains(words));
    let rows = ["1 sold, stock", "2 sold, stock", "3 sold, stock"].map(outcomes);
    assert!(rows.is_sorted() && rows[0].is_some(), "by what they counted: {:#?}", stand.rows());
}

#[test]
fn a_single_race_is_stepped_through_and_the_others_go_on() {
    for (lang, which, broke, back) in [
        (
            Lang::En,
            "Race 6 of 12, seed 6:",
            "✗ 2 sold, stock is -1 · Two clients hold the lock at the same time",
            "q back",
        ),
        (
            Lang::Zh,
            "第 6 次并发竞争（共 12 次），种子 6：",
            "✗ 售出 2，stock 为 -1 · 两个客户端同时持有锁",
            "q 返回",
        ),
    ] {
        let mut stand = raced(lang, (100, 30));
        stand.key(KeyCode::Down);
        stand.key(KeyCode::Right);
        stand.key(KeyCode::Down);
        stand.key(KeyCode::Down);
        stand.key(KeyCode::Enter);
        assert!(matches!(stand.app.mode(), Mode::Learning(_)));
        for words in [which, broke, back] {
            assert!(stand.shows(words), "{words}: {:#?}", stand.rows());
        }
        let begun = stand.rows();
        assert!(!stand.shows("HOLDERS AT ONCE") && !stand.shows("个持有者同时存在"), "{begun:#?}");
        for _ in 0..2 {
            stand.key(KeyCode::Right);
        }
        assert!(stand.shows("SET lock a-7f3c"), "{:#?}", stand.rows());
        for _ in 0..2 {
            stand.key(KeyCode::Left);
        }
        // Without the scrubber: what was shown once stays marked there.
        assert_eq!(stand.rows()[..28], begun[..28]);
        stand.press(']');
        assert!(stand.shows("HOLDERS AT ONCE") || stand.shows("个持有者同时存在"), "{:#?}", stand.rows());
        stand.key(KeyCode::End);
        let end = stand.rows();
        stand.key(KeyCode::Right);
        assert_eq!(stand.rows(), end, "there is no verdict behind the end");
        // The keys of a lesson do nothing here.
        for key in ['v', 'r', 'b', 'R'] {
            stand.press(key);
            assert_eq!(stand.rows()[..27], end[..27], "{key}");
        }
        stand.batch_update(race(12, fine(), Log::new()));
        stand.press('q');
        assert!(stand.shows("13"), "the others went on: {:#?}", stand.rows());
        let chosen = stand.rows().iter().any(|row| row.contains("▸ race 6") || row.contains("▸ 第 6 次"));
        assert!(chosen, "{:#?}", stand.rows());
        stand.press('q');
        assert!(matches!(stand.app.mode(), Mode::Outcomes(_)), "from the races to the outcomes");
        stand.press('q');
        assert!(matches!(stand.app.mode(), Mode::Browsing));
    }
}

#[test]
fn a_race_is_gone_on_with_by_hand_and_left_to_the_races() {
    let mut stand = raced(Lang::En, (100, 30));
    stand.key(KeyCode::Down);
    stand.key(KeyCode::Enter);
    stand.key(KeyCode::Right);
    stand.press('f');
    let past = stand.runs.pasts.borrow().last().cloned().expect("a branch");
    assert!(stand.shows("doing it again on fresh servers"), "{:#?}", stand.rows());
    stand.events(past.events().to_vec());
    stand.update(Update::Branched { difference: None, refused: None });
    stand.update(Update::Outlook(Outlook::default()));
    assert!(stand.shows("Free play: you choose"), "{:#?}", stand.rows());
    stand.press('q');
    assert!(matches!(stand.app.mode(), Mode::Outcomes(_)));
}

#[test]
fn a_race_plays_by_itself_to_its_end() {
    let mut stand = raced(Lang::En, (100, 30));
    stand.key(KeyCode::Down);
    stand.key(KeyCode::Enter);
    stand.press(' ');
    for _ in 0..200 {
        stand.wait(500);
    }
    assert!(stand.rows()[0].contains("the end"), "{:#?}", stand.rows());
}

#[test]
fn a_race_whose_log_is_gone_says_how_to_run_it_again() {
    let mut stand = raced(Lang::En, (100, 30));
    let mut script = staged::long(14_000);
    let events = script.events.len() / 2;
    script.events.truncate(events);
    // Three such logs are more than there is room for.
    for n in 12..30 {
        stand.batch_update(race(n, broken(2), script.log()));
    }
    assert!(stand.shows("races not kept: there is room for 250000 events"), "{:#?}", stand.rows());
    stand.key(KeyCode::Right);
    assert!(stand.shows("not kept any more"), "{:#?}", stand.rows());
    let gone = stand
        .rows()
        .iter()
        .filter(|row| row.contains("race ") && row.contains("seed"))
        .position(|row| row.contains("not kept"));
    for _ in 0..gone.unwrap_or(0) {
        stand.key(KeyCode::Down);
    }
    stand.key(KeyCode::Enter);
    assert!(matches!(stand.app.mode(), Mode::Outcomes(_)));
    assert!(stand.shows("lockstep race setnx --variant blind-del -n 1 --seed"), "{:#?}", stand.rows());
}

#[test]
fn races_that_cannot_go_on_say_why_and_keep_what_was_counted() {
    for (lang, title, again) in [
        (Lang::En, "✗ A server failed", "r races again"),
        (Lang::Zh, "✗ 服务器出错了", "按 r 换一套全新的服务器"),
    ] {
        let sold = if lang == Lang::En { "2 sold" } else { "售出 2" };
        let mut stand = raced(lang, (80, 24));
        stand.batch_update(BatchUpdate::Failed(Failure {
            message: "the server `redis` ended in mid-lesson (signal 9)".into(),
            server: true,
        }));
        for words in [title, "ended in mid-lesson", again, sold] {
            assert!(stand.shows(words), "{words}: {:#?}", stand.rows());
        }
        stand.press('r');
        assert_eq!(stand.runs.raced.borrow().len(), 2);
        stand.app.handle(lockstep::ui::app::Message::Batch(None), stand.now);
        assert!(!stand.shows(sold), "{:#?}", stand.rows());
    }
}

/// As with `--recorded`: there is nothing to retry.
#[test]
fn races_that_are_refused_say_plainly_that_there_are_none() {
    for (lang, title) in [(Lang::En, "✗ There can be no races here"), (Lang::Zh, "✗ 这里无法并发竞争")]
    {
        let mut stand = Stand::catalogue(lang, (80, 24));
        stand.press('R');
        let message = "a race needs real servers, and `--recorded` asks for none".into();
        stand.batch_update(BatchUpdate::Failed(Failure { message, server: false }));
        assert!(stand.shows(title) && stand.shows("asks for none"), "{:#?}", stand.rows());
        for words in ["cannot go on", "races again", "课程无法继续"] {
            assert!(!stand.shows(words), "{words}: {:#?}", stand.rows());
        }
    }
}

#[test]
fn what_is_broken_without_a_lock_is_told_in_the_lessons_words() {
    let mut stand = Stand::catalogue(Lang::En, (80, 24));
    stand.press('R');
    stand.batch_update(BatchUpdate::Ready(RaceInfo { faults_left_out: false, ..info() }));
    stand.batch_update(race(0, fine(), log()));
    assert!(stand.shows("✓ none of 1 races went wrong"), "{:#?}", stand.rows());
    let oversold = Outcome { locks: [].into(), broken: ["sold > stock".to_owned()].into(), ..broken(7) };
    stand.batch_update(race(1, oversold, log()));
    for words in
        ["✗ 1 of 2 races went wrong (50.0%)", "1: More was sold", "✗ 7 sold, stock is -6 · More was sold"]
    {
        assert!(stand.shows(words), "{words}: {:#?}", stand.rows());
    }
    assert!(row(&stand, "race 2").contains("  ●■■●▲  seed 2"), "who moved when: {:#?}", stand.rows());
    assert!(!stand.shows("Two clients hold") && !stand.shows("faults"), "{:#?}", stand.rows());
    stand.key(KeyCode::Enter);
    assert!(stand.shows("✗ 7 sold, stock is -6 · More was sold than there was"), "{:#?}", stand.rows());
}

#[test]
fn the_mouse_chooses_and_opens() {
    let mut stand = raced(Lang::En, (100, 30));
    let y = |stand: &Stand, words: &str| {
        let rows = stand.rows();
        u16::try_from(rows.iter().position(|row| row.contains(words)).expect(words)).expect("few rows")
    };
    let at = y(&stand, "3 sold");
    stand.click(10, at);
    assert!(row(&stand, "▸").contains("3 sold"), "{:#?}", stand.rows());
    let at = y(&stand, "race 3");
    stand.click(10, at);
    assert!(row(&stand, "▸ race").contains("seed 3"), "{:#?}", stand.rows());
    stand.click(10, at);
    assert!(stand.shows("Race 3 of 12, seed 3:"), "{:#?}", stand.rows());
}

#[test]
fn no_wide_character_is_cut_and_nothing_runs_over_its_pane() {
    for lang in LANGS {
        for size in SIZES {
            let mut stand = raced(lang, size);
            for keys in ["", "j", "l", "?", "?", "i", "i"] {
                stand.keys(keys);
                stand.assert_whole();
            }
            stand.key(KeyCode::Enter);
            stand.assert_whole();
        }
    }
}

#[test]
fn no_size_is_too_small_or_too_large() {
    for enter in [false, true] {
        let mut stand = raced(Lang::Zh, (80, 24));
        if enter {
            stand.key(KeyCode::Enter);
        }
        for size in odd_sizes() {
            stand.resize(size);
            for code in [KeyCode::Right, KeyCode::Up, KeyCode::PageDown, KeyCode::End, KeyCode::Left] {
                stand.key(code);
                stand.buffer();
            }
        }
    }
}
