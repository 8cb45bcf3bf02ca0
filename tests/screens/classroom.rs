//! A class in front of the screen: what is published to it, what its votes do, how it joins.

use crossterm::event::KeyCode;
use lockstep::{
    clock::{ClockKind, LessonTime},
    log::{
        ActorId, Choice, Event, EventKind, Fault, Stop,
        outlook::{ActorOutlook, Next, Outlook, Timer},
    },
    run::session::{SessionCommand, Update},
    text::Lang,
    ui::{
        app::ClassUpdate,
        state::classroom::protocol::{ClassView, ClassroomServer, PollKind, Remote},
        theme::{Environment, Theme, ThemeName},
    },
};

use crate::{
    lesson::{after_question, up_to_question},
    staged,
    stand::{LANGS, Stand, text},
};

/// Writes pictures of the class's screens into the directory named by `LOCKSTEP_PICTURES`.
#[test]
#[ignore = "writes pictures for people to look at; see docs/development.md"]
fn pictures() {
    for (lang, tag) in [(Lang::En, "en"), (Lang::Zh, "zh")] {
        for (size, form, presents) in
            [((80, 24), "80", false), ((120, 40), "120", false), ((120, 40), "present", true)]
        {
            let save = |stand: &Stand, name: &str| stand.save(&format!("class-{name}-{form}-{tag}"));
            let (mut stand, server) = Stand::lesson(up_to_question(), lang, size).with_class();
            if presents {
                stand.press('P');
            }
            let id = class(&server).poll.expect("a poll").id;
            stand.tally(50, Some(id), &[11, 18, 0, 2]);
            stand.press('x');
            save(&stand, "question");
            stand.key(KeyCode::Right);
            stand.events(after_question());
            stand.update(Update::Stepped { ended: false });
            stand.press('x');
            save(&stand, "outcome");
            stand.press('J');
            save(&stand, "joining");
            let (mut stand, server) = free(lang, size);
            if presents {
                stand.press('P');
            }
            stand.press('C');
            let id = class(&server).poll.expect("a poll").id;
            stand.tally(50, Some(id), &[9, 20, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0]);
            save(&stand, "vote");
            stand.press('C');
            save(&stand, "chosen");
            break_it(&mut stand);
            save(&stand, "broken");
        }
    }
}

fn class(server: &ClassroomServer) -> ClassView {
    server.published.borrow().class.clone()
}

#[test]
fn a_class_answers_in_the_teachers_place_and_its_votes_stand_beside_the_why() {
    for lang in LANGS {
        for (size, presents) in [((80, 24), false), ((120, 40), false), ((120, 40), true)] {
            let (mut stand, server) = Stand::lesson(up_to_question(), lang, size).with_class();
            if presents {
                stand.press('P');
            }
            let see = |stand: &Stand, words: [&str; 2]| {
                let words = words[usize::from(lang == Lang::Zh)];
                assert!(stand.shows(words), "{words}: {:#?}", stand.rows());
                stand.assert_whole();
            };
            let poll = class(&server).poll.expect("a poll");
            assert_eq!((poll.kind, poll.choices.len(), poll.closed), (PollKind::Prediction, 4, false));
            stand.tally(50, Some(poll.id), &[11, 18, 0, 2]);
            see(&stand, ["31 of 50 voted", "31 人已投票，共 50 人"]);
            assert!(!stand.shows("18"), "no distribution before it is decided: {:#?}", stand.rows());
            stand.commands();
            stand.key(KeyCode::Right);
            assert_eq!(stand.commands(), [SessionCommand::Step], "no answer of the teacher's own is needed");
            assert!(class(&server).poll.expect("a poll").closed, "the teacher has gone on");
            stand.events(after_question());
            stand.update(Update::Stepped { ended: false });
            stand.press('x');
            for words in ["18 · 58 %", "11 · 35 %", "2 · 6 %", "✓ -9"] {
                see(&stand, [words, words]);
            }
            see(&stand, ["→ Redis runs one command at a time", "→ Redis 一次只执行一条命令"]);
            let decided = class(&server).poll.and_then(|poll| poll.decided).expect("decided");
            assert_eq!(decided.right, [1]);
            // The pages may drop a poll in favour of the next one; the screen keeps it.
            stand.tally(50, Some(poll.id), &[0, 0, 0, 0]);
            see(&stand, ["18 · 58 %", "18 · 58 %"]);
        }
    }
}

#[test]
fn without_anybody_there_the_learner_is_asked() {
    let (mut stand, server) = Stand::lesson(up_to_question(), Lang::En, (80, 24)).with_class();
    assert!(class(&server).poll.is_some());
    stand.commands();
    stand.key(KeyCode::Right);
    assert_eq!(stand.commands(), []);
    assert!(stand.shows("What do you think?") && !stand.shows(" voted"), "{:#?}", stand.rows());
}

#[test]
fn what_is_on_the_screen_is_published_and_only_when_it_changes() {
    let (mut stand, mut server) =
        Stand::lesson(staged::misdelete(ClockKind::Controlled), Lang::En, (80, 24)).with_class();
    let seen = server.published.borrow_and_update().clone();
    assert_eq!(seen.class.title, Some(text("Unlocking someone else's lock", "误删别人的锁")));
    assert!(seen.class.step > 0 && seen.class.steps == Some(11) && seen.run.is_none());
    assert_eq!(seen.class.locks.len(), 1, "{:?}", seen.class.locks);
    stand.press('z');
    stand.tally(3, None, &[]);
    stand.wait(1_000);
    assert!(!server.published.has_changed().expect("open"), "nothing of it has changed");
    stand.key(KeyCode::Left);
    let before = server.published.borrow_and_update().class.step;
    assert_eq!(before + 1, seen.class.step);
    // A stage gets the log, copied once for both of these positions.
    let stage = lockstep::ui::state::classroom::protocol::Tally { stages: 1, ..Default::default() };
    stand.hear(ClassUpdate::Tally(stage));
    let first = server.published.borrow_and_update().run.clone().expect("a run");
    stand.key(KeyCode::Left);
    let second = server.published.borrow_and_update().run.clone().expect("a run");
    assert!(std::sync::Arc::ptr_eq(&first.log, &second.log) && second.position < first.position);
    stand.press('q');
    assert_eq!(class(&server), ClassView::default(), "the catalogue is nobody's lesson");
}

#[test]
fn a_teachers_phone_does_what_the_keys_do() {
    let (mut stand, _server) = Stand::fresh(Lang::En, (80, 24)).with_class();
    stand.commands();
    stand.press('?');
    stand.hear(ClassUpdate::Remote(Remote::Next));
    assert_eq!(stand.commands(), [SessionCommand::Step]);
    stand.update(Update::Stepped { ended: false });
    stand.hear(ClassUpdate::Remote(Remote::Play));
    assert_eq!(stand.commands(), [SessionCommand::Watch]);
    stand.hear(ClassUpdate::Remote(Remote::Vote));
    assert!(stand.shows("in free play: f begins it"), "{:#?}", stand.rows());
}

#[test]
fn a_teachers_phone_goes_past_a_question_that_nobody_answers_and_keeps_an_answer() {
    for answered in [false, true] {
        let (mut stand, _server) = Stand::lesson(up_to_question(), Lang::En, (80, 24)).with_class();
        stand.commands();
        if answered {
            stand.press('1');
        }
        stand.hear(ClassUpdate::Remote(Remote::Next));
        assert_eq!(stand.commands(), [SessionCommand::Step]);
        assert_eq!(stand.shows("▸ 1."), answered, "{:#?}", stand.rows());
    }
}

#[test]
fn a_class_without_its_pages_goes_on() {
    let (mut stand, _server) = Stand::lesson(up_to_question(), Lang::En, (80, 24)).with_class();
    stand.tally(50, Some(1), &[1, 0, 0, 0]);
    stand.hear(ClassUpdate::Gone);
    assert!(stand.shows("The pages of the class are gone"), "{:#?}", stand.rows());
    stand.commands();
    stand.key(KeyCode::Right);
    assert_eq!(stand.commands(), [SessionCommand::Step]);
    assert!(!stand.shows("The pages of the class are gone"), "told once");
}

#[test]
fn how_to_join_fits_every_screen() {
    let plain = Environment { locale: Some("POSIX"), ..Environment::default() };
    let ascii = Theme::new(ThemeName::Auto, plain);
    for (size, theme, has_code) in [
        ((80, 24), Theme::default(), true),
        ((120, 40), Theme::default(), true),
        ((60, 16), Theme::default(), false),
        ((80, 24), ascii, false),
        ((120, 40), ascii, true),
    ] {
        let script = staged::misdelete(ClockKind::Controlled);
        let (mut stand, _server) = Stand::themed(script, Lang::En, size, theme).with_class();
        assert!(stand.shows("A class can join: J shows how."), "{:#?}", stand.rows());
        stand.press('P');
        stand.tally(7, None, &[]);
        stand.press('J');
        stand.assert_whole();
        for words in ["192.168.1.23:5625", "7 have joined"] {
            assert!(stand.shows(words), "{size:?} {words}: {:#?}", stand.rows());
        }
        assert_eq!(stand.shows("Scan the code"), has_code, "{size:?}: {:#?}", stand.rows());
        stand.press('J');
        assert!(!stand.shows("7 have joined"));
    }
    let mut alone = Stand::fresh(Lang::En, (80, 24));
    alone.press('J');
    let says = "J does nothing here. Elsewhere (A class (lockstep teach))";
    assert!(alone.shows(says) && !alone.shows("Scan the code"), "{:#?}", alone.rows());
}

/// A and B can move, B waits for time, and there are more faults than can be read in ten seconds.
fn outlook() -> Outlook {
    let able = |label: &str, wire: &str| ActorOutlook {
        next: Some(Next { label: label.into(), server: "redis".into(), wire: wire.into() }),
        ..ActorOutlook::default()
    };
    let clients = ["A", "B", "C"].map(str::to_owned);
    let faults = |make: fn(String) -> Fault| clients.clone().map(make);
    Outlook {
        actors: vec![able("release", "DEL lock"), able("acquire", "SET lock b NX")],
        timer: Some(Timer { actor: ActorId(1), at: LessonTime::from_nanos(4_500_000_000), in_server: false }),
        faults: [
            faults(|client| Fault::Crash { client }),
            faults(|client| Fault::Freeze { client }),
            faults(|client| Fault::SkewClient { client, ahead_ms: 5_000 }),
            faults(|server| Fault::KillServer { server }),
        ]
        .concat(),
    }
}

fn free(lang: Lang, size: (u16, u16)) -> (Stand, ClassroomServer) {
    let script = staged::misdelete(ClockKind::Controlled);
    let (mut stand, server) = Stand::lesson(script, lang, size).with_class();
    stand.press('f');
    stand.update(Update::Outlook(outlook()));
    stand.tally(50, None, &[]);
    stand.commands();
    (stand, server)
}

fn moves(actor: u32) -> Choice {
    Choice::Move { actor: ActorId(actor) }
}

#[test]
fn a_class_chooses_the_next_move() {
    for size in [(80, 24), (120, 40)] {
        let (mut stand, server) = free(Lang::En, size);
        stand.press('C');
        let poll = class(&server).poll.expect("a poll");
        assert_eq!((poll.kind, poll.choices.len(), poll.lasts), (PollKind::Move, 12, Some(10_000)));
        assert_eq!(poll.choices[0].en, "A moves: release DEL lock");
        let kinds = |words: &str| poll.choices.iter().filter(|choice| choice.en.contains(words)).count();
        assert_eq!([kinds("crash"), kinds("freeze"), kinds("kill server")], [3, 2, 2], "{:?}", poll.choices);
        assert!(stand.shows("The class votes: 10 s"), "{:#?}", stand.rows());
        stand.wait(3_500);
        stand.tally(50, Some(poll.id), &[0, 20, 0, 20]);
        let mut votes = vec![0; 12];
        (votes[1], votes[3]) = (20, 20);
        stand.tally(50, Some(poll.id), &votes);
        assert!(stand.shows("votes: 7 s") && stand.shows("40 of 50 voted"), "{:#?}", stand.rows());
        assert_eq!(stand.commands(), []);
        stand.wait(6_600);
        assert_eq!(stand.commands(), [SessionCommand::Choose(moves(1))], "of equals the first");
        assert!(
            stand.shows("✓ B moves: acquire SET lock b NX") && stand.shows("20 · 50 %"),
            "{:#?}",
            stand.rows()
        );
        assert_eq!(class(&server).poll.and_then(|poll| poll.decided).expect("decided").right, [1]);
    }
}

#[test]
fn a_vote_ends_when_the_teacher_wants_and_nobodys_vote_moves_nothing() {
    let (mut stand, server) = free(Lang::Zh, (100, 30));
    stand.press('C');
    stand.press('C');
    assert_eq!(stand.commands(), []);
    assert!(stand.shows("没有人投票"), "{:#?}", stand.rows());
    assert!(class(&server).poll.expect("a poll").closed);
    // A choice made by hand ends the vote.
    stand.press('C');
    stand.press('1');
    assert_eq!(stand.commands(), [SessionCommand::Choose(moves(0))]);
    assert_eq!(class(&server).poll, None);
    stand.wait(20_000);
    assert_eq!(stand.commands(), []);
    // With nobody joined there is no vote.
    stand.update(Update::Stepped { ended: false });
    stand.tally(0, None, &[]);
    stand.press('C');
    assert!(stand.shows("还没有人加入"), "{:#?}", stand.rows());
}

#[test]
fn a_class_that_breaks_the_lock_is_told_in_how_many_moves() {
    for (lang, votes, words) in [
        (Lang::En, true, "BROKEN BY THIS CLASS IN 2 MOVES"),
        (Lang::Zh, true, "这个班用 2 步攻破了它"),
        (Lang::En, false, "YOU BROKE IT"),
        (Lang::Zh, false, "你攻破了它"),
    ] {
        let (mut stand, server) = free(lang, (100, 30));
        if votes {
            stand.press('C');
            let id = class(&server).poll.expect("a poll").id;
            stand.tally(50, Some(id), &[9, 20, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0]);
            stand.press('C');
        }
        break_it(&mut stand);
        assert!(stand.shows(words), "{:#?}", stand.rows());
        let broken = class(&server).broken.expect("broken");
        assert_eq!(
            (broken.moves, broken.says.en.as_str()),
            (votes.then_some(2), "A and B hold the lock. Nobody looked whose it was.")
        );
    }
}

/// A fault, a passing of time and a move, after which two hold the lock.
fn break_it(stand: &mut Stand) {
    let stop = EventKind::Stop { item: 0, stop: Stop::Move };
    let breached = EventKind::Breached {
        invariant: 0,
        says: text("A and B hold the lock.", "A 和 B 同时持有锁。"),
        why: Some(text("Nobody looked whose it was.", "没有人检查锁是谁的。")),
        evidence: vec![],
        since: None,
    };
    let client = "A".to_owned();
    let kinds = [
        EventKind::Chose(Choice::Inject(Fault::Freeze { client })),
        stop.clone(),
        EventKind::Chose(Choice::Timer),
        stop.clone(),
        EventKind::Chose(moves(1)),
        breached,
        stop,
    ];
    let at = LessonTime::from_nanos(9_000_000_000);
    stand.update(Update::Events(kinds.into_iter().map(|kind| Event { at, kind }).collect()));
    stand.update(Update::Stepped { ended: false });
    stand.wait(5_000);
}
