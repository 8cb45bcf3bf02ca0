//! The interview: which questions it asks, in which order, what it shows of a card, and the way to the step that proves
//! the answer.

use std::sync::Arc;

use crossterm::event::KeyCode;
use lockstep::{
    clock::ClockKind,
    log::EventKind,
    run::{
        exam::ExamQuestion,
        session::{SessionCommand, Update},
    },
    text::Lang,
    ui::app::Mode,
};

use crate::{
    scenarios, staged,
    stand::{LANGS, SIZES, Stand, text},
};

const QUESTION: &str = "Why is GET, compare, DEL not enough?";
const ANSWER: &str = "The lease may end between GET and DEL.";

fn in_lesson(lang: Lang, size: (u16, u16)) -> Stand {
    Stand::lesson(staged::misdelete(ClockKind::Controlled), lang, size)
}

#[test]
#[ignore = "leaves pictures of the screens in LOCKSTEP_PICTURES"]
fn pictures() {
    for lang in LANGS {
        for size in SIZES {
            let tag = format!("{lang}-{}x{}", size.0, size.1);
            for (name, keys) in
                [("question", "i"), ("answer", "i "), ("all", "i   "), ("result", "i   4 2 2")]
            {
                let mut stand = in_lesson(lang, size);
                stand.keys(keys);
                stand.save(&format!("interview-{name}-{tag}"));
            }
            let mut stand = Stand::catalogue(lang, size);
            stand.keys("ij");
            stand.save(&format!("interview-decks-{tag}"));
            stand.keys("m ");
            stand.save(&format!("interview-mock-{tag}"));
        }
    }
}

#[test]
fn a_card_shows_its_answer_when_asked_and_is_graded_by_the_learner() {
    let mut stand = in_lesson(Lang::En, (100, 30));
    let lesson = stand.rows();
    stand.press('i');
    assert!(
        stand.shows(QUESTION) && stand.shows("1 of 2") && stand.shows("Four key points of a Redis lock · S7"),
        "{:#?}",
        stand.rows()
    );
    stand.press('3');
    assert!(!stand.shows(ANSWER) && stand.shows("1 of 2"), "nobody grades what was not seen");
    stand.press(' ');
    assert!(stand.shows(ANSWER) && stand.shows("3 good 10 min") && !stand.shows("DELEX"));
    stand.keys("  ");
    assert!(stand.shows("And then: Which command does both") && stand.shows("DELEX lock IFEQ token"));
    stand.press('1');
    assert!(stand.shows("What should the token be?") && stand.shows("2 of 3"), "it comes once more");
    stand.keys(" 3");
    assert!(stand.shows(QUESTION) && stand.shows("3 of 3"));
    stand.keys(" 4");
    assert!(stand.shows("3 answers in") && stand.shows("To look at again"), "{:#?}", stand.rows());
    stand.press('q');
    assert_eq!(stand.rows(), lesson, "the lesson is found as it was left");
}

#[test]
fn in_the_catalogue_a_deck_is_chosen_and_a_mock_interview_has_a_clock() {
    let mut stand = Stand::catalogue(Lang::En, (100, 30));
    let catalogue = stand.rows();
    stand.press('i');
    for deck in ["SETNX without EXPIRE", "Everything", "★ Asked most often", "ZooKeeper"] {
        assert!(stand.shows(deck), "{deck}: {:#?}", stand.rows());
    }
    // The chosen deck is marked by a style.
    let decks = stand.buffer();
    stand.key(KeyCode::End);
    assert_ne!(stand.buffer(), decks);
    stand.key(KeyCode::Home);
    assert_eq!(stand.buffer(), decks, "from the last deck to the first");
    stand.keys("jm");
    assert!(stand.shows("Mock interview · Everything") && stand.shows("1 of 10"), "{:#?}", stand.rows());
    let now = stand.now;
    assert!(stand.app.wake(now).is_some_and(|wake| wake > now), "the clock goes on");
    stand.wait(65_000);
    assert!(stand.shows("01:05"), "{:#?}", stand.rows());
    for _ in 0..10 {
        stand.keys(" 1");
    }
    assert!(stand.shows("10 answers in 01:05"), "{:#?}", stand.rows());
    assert_eq!(stand.app.wake(stand.now), None, "it stands still");
    stand.keys("qq");
    assert_eq!(stand.rows(), catalogue);
}

#[test]
fn a_card_opens_the_step_that_proves_it_and_takes_back() {
    let mut stand = Stand::catalogue(Lang::En, (100, 30));
    stand.press('i');
    stand.key(KeyCode::Enter);
    stand.keys(" ");
    assert!(stand.shows("o shows it happen: compare-and-delete script · step 4"), "{:#?}", stand.rows());
    stand.press('o');
    let choice = stand.runs.opened.borrow().last().map(|(choice, _)| choice.clone()).expect("a run");
    assert_eq!((choice.id.as_str(), choice.variant.as_str()), ("setnx", "script"));
    // It plays by itself up to that step, and no further.
    let script = staged::misdelete(ClockKind::Controlled);
    let steps = |commands: Vec<SessionCommand>| {
        commands.into_iter().filter(|c| matches!(c, SessionCommand::Step)).count()
    };
    assert_eq!(steps(stand.commands()), 1);
    let mut asked = 0;
    let mut part = Vec::new();
    for event in script.events {
        let ends = matches!(event.kind, EventKind::Stop { .. });
        part.push(event);
        if ends {
            stand.events(std::mem::take(&mut part));
            stand.update(Update::Stepped { ended: false });
            match steps(stand.commands()) {
                0 => break,
                more => asked += more,
            }
        }
    }
    assert!(asked > 0 && stand.shows("step 4/"), "{asked}: {:#?}", stand.rows());
    stand.press('q');
    assert!(stand.shows(QUESTION) && stand.shows(ANSWER), "{:#?}", stand.rows());
    stand.keys("qq");
    assert!(matches!(stand.app.mode(), Mode::Browsing));
}

#[test]
fn cards_fit_every_screen_in_both_languages() {
    for lang in LANGS {
        for size in SIZES.into_iter().chain([(60, 16), (300, 16)]) {
            let mut stand = in_lesson(lang, size);
            for key in "i   12".chars() {
                stand.press(key);
                stand.assert_whole();
            }
            let mut stand = Stand::catalogue(lang, size);
            stand.press('i');
            stand.assert_whole();
        }
    }
}

#[test]
fn whoever_has_answered_everything_is_told_so_and_may_be_asked_all_the_same() {
    for (lang, done, early) in [
        (Lang::En, "none of these 2 cards is due", "asks them all the same"),
        (Lang::Zh, "这 2 题都还没到复习时间", "现在就再问一遍"),
    ] {
        let mut stand = in_lesson(lang, (100, 30));
        stand.keys("i 4 4q");
        assert!(!stand.shows(done), "{:#?}", stand.rows());
        stand.press('i');
        assert!(stand.shows(done) && stand.shows(early), "{:#?}", stand.rows());
        stand.key(KeyCode::Enter);
        assert!(
            !stand.shows(done) && stand.rows().concat().matches("DEL").count() > 0,
            "{:#?}",
            stand.rows()
        );
    }
}

#[test]
fn grades_with_their_intervals_are_whole_on_the_smallest_screen() {
    for (lang, grades) in [
        (Lang::En, ["1 again 1 min", "2 hard 5 min", "3 good 10 min", "4 easy 15 d"]),
        (Lang::Zh, ["1 重来 1 分钟", "2 困难 5 分钟", "3 良好 10 分钟", "4 简单 15 天"]),
    ] {
        let mut stand = in_lesson(lang, (60, 16));
        stand.keys("i ");
        assert!(grades.iter().all(|grade| stand.shows(grade)), "{:#?}", stand.rows());
    }
}

/// An order in which A deletes B's lock.
fn unsafe_order() -> ExamQuestion {
    let order = [
        "A.acquire  SET lock a NX PX 3000",
        "pass 3s",
        "B.acquire  SET lock b NX PX 3000",
        "A.release  DEL lock",
    ];
    let mut scenario = scenarios::carried("unlock-someone-elses-lock", "blind-del");
    // The lesson's name in this test's catalogue.
    Arc::make_mut(&mut Arc::make_mut(&mut scenario.loaded).lesson).id = "unlock".into();
    let answered = ["OK", "", "OK", "1"];
    let answered = order.iter().zip(answered).map(|(made, reply)| {
        let made = if reply.is_empty() { (*made).to_owned() } else { format!("{made} → {reply}") };
        text(&made, &made)
    });
    ExamQuestion {
        scenario,
        order: order.map(|made| text(made, made)).to_vec(),
        answered: answered.collect(),
        scripts: [("extend".to_owned(), "return redis.call('PEXPIRE', KEYS[1], 1)".to_owned())].into(),
        safe: false,
        why: Some(text("A deleted a lock that was B's.", "A 删掉了 B 的锁。")),
        log: staged::misdelete(ClockKind::Controlled).log(),
    }
}

#[test]
fn an_exam_asks_of_an_order_whether_it_is_safe_and_lets_it_be_watched() {
    for (lang, size) in LANGS.into_iter().flat_map(|lang| SIZES.map(|size| (lang, size))) {
        let mut stand = Stand::catalogue(lang, size);
        stand.keys("ix");
        stand.assert_whole();
        let asked: Vec<_> = stand.runs.examined.borrow().iter().map(|(lessons, _)| lessons.clone()).collect();
        assert_eq!(asked, [["setnx"]], "of the lessons of the chosen deck");
        let [looks, wrong, unsafe_, none] = match lang {
            Lang::En => ["Looking for an order", "✗ Wrong.", "It is not safe.", "1 of 2 right"],
            Lang::Zh => ["正在寻找", "✗ 答错了。", "它不安全。", "答对 1 题，共 2 题"],
        };
        assert!(stand.shows(looks), "{:#?}", stand.rows());
        stand.examine(Some(unsafe_order()));
        let question = stand.rows();
        assert!(stand.shows("4. A.release  DEL lock") && !stand.shows(unsafe_), "{question:#?}");
        assert!(stand.shows("redis.call('PEXPIRE'") && !stand.shows("→ OK"), "{question:#?}");
        stand.assert_whole();
        stand.press('o');
        stand.key(KeyCode::Enter);
        assert_eq!(stand.rows(), question, "nothing is shown or left before it is judged");
        stand.press('y');
        stand.press('n');
        assert!(stand.shows(wrong) && stand.shows(unsafe_), "the first word counts: {:#?}", stand.rows());
        assert!(stand.shows("SET lock a NX PX 3000 → OK"), "with the replies: {:#?}", stand.rows());
        stand.assert_whole();
        let told = stand.rows();
        stand.press('o');
        assert!(matches!(stand.app.mode(), Mode::Learning(_)) && stand.shows(unsafe_), "{:#?}", stand.rows());
        stand.key(KeyCode::Right);
        stand.assert_whole();
        stand.press('q');
        assert_eq!(stand.rows(), told, "back to the exam");
        stand.key(KeyCode::Enter);
        assert!(stand.shows(looks), "{:#?}", stand.rows());
        stand.examine(Some(unsafe_order()));
        stand.press('n');
        stand.key(KeyCode::Enter);
        stand.examine(None);
        assert!(stand.shows(none), "{:#?}", stand.rows());
        stand.assert_whole();
        stand.keys("qq");
        assert!(matches!(stand.app.mode(), Mode::Browsing));
    }
}
