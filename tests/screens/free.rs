//! Free play on the screen: what is shown, what keys and clicks request from the run, how branches begin and are
//! browsed.

use crossterm::event::KeyCode;
use lockstep::{
    clock::{ClockKind, LessonTime},
    log::{
        ActorId, Choice, Event, EventKind, Fault, LinkId, OpId, Reply, Stop,
        outlook::{ActorOutlook, Blocked, Next, Outlook, Timer},
    },
    run::session::{Failure, SessionCommand, Update},
    text::{Lang, Text},
};

use crate::{
    scenarios, staged,
    stand::{LANGS, SIZES, Stand},
};

fn next(label: &str, wire: &str) -> Next {
    Next { label: label.into(), server: "redis".into(), wire: wire.into() }
}

/// A can move, B waits for time, C is dead.
fn outlook() -> Outlook {
    let until = LessonTime::from_nanos(4_500_000_000);
    let prospect = |next, blocked| ActorOutlook { next, blocked, ..ActorOutlook::default() };
    Outlook {
        actors: vec![
            prospect(Some(next("release", "DEL lock")), None),
            prospect(Some(next("acquire", "")), Some(Blocked::Waits { until })),
            prospect(None, Some(Blocked::Dead)),
        ],
        timer: Some(Timer { actor: ActorId(1), at: until, in_server: false }),
        faults: vec![
            Fault::Crash { client: "A".into() },
            Fault::Freeze { client: "A".into() },
            Fault::KillServer { server: "redis".into() },
        ],
    }
}

/// A lesson whose story was left after its last step.
fn free(lang: Lang, size: (u16, u16)) -> Stand {
    let mut stand = Stand::lesson(staged::misdelete(ClockKind::Controlled), lang, size);
    stand.commands();
    stand.press('f');
    stand.update(Update::Outlook(outlook()));
    stand
}

fn chosen(stand: &mut Stand) -> Vec<Choice> {
    let commands = stand.commands().into_iter();
    let choices = commands.filter_map(|command| match command {
        SessionCommand::Choose(choice) => Some(choice),
        _ => None,
    });
    choices.collect()
}

fn moves(actor: u32) -> Choice {
    Choice::Move { actor: ActorId(actor) }
}

/// A choice, its consequences, and its stop.
fn step(stand: &mut Stand, choice: Choice, more: Vec<EventKind>) {
    let at = LessonTime::from_nanos(9_000_000_000);
    let stop = EventKind::Stop { item: 0, stop: Stop::Move };
    let kinds = [EventKind::Chose(choice)].into_iter().chain(more).chain([stop]);
    stand.events(kinds.map(|kind| Event { at, kind }).collect());
    stand.update(Update::Stepped { ended: false });
    stand.update(Update::Outlook(outlook()));
    stand.wait(5_000);
}

#[test]
fn who_can_move_what_that_sends_and_who_cannot_is_told_on_every_screen() {
    for size in SIZES {
        for lang in LANGS {
            let stand = free(lang, size);
            let told = stand.rows().join("\n");
            let goal = match lang {
                Lang::En => "Let two clients hold the lock at the same time.",
                Lang::Zh => "让两个客户端同时持有锁。",
            };
            let (waits, dead) = match lang {
                Lang::En => ("waits (acquire) until 4.500s", "dead"),
                Lang::Zh => ("等待中（acquire），到 4.500s", "已宕机"),
            };
            for words in [goal, "DEL lock", waits, dead] {
                assert!(told.contains(words), "{size:?} {lang:?} {words}\n{told}");
            }
        }
    }
}

#[test]
fn choices_stand_in_the_program_where_each_client_is() {
    let scenario = scenarios::carried("unlock-someone-elses-lock", "blind-del");
    let mut events = staged::misdelete(ClockKind::Controlled).events;
    let replied = events.iter().position(|event| matches!(event.kind, EventKind::Replied { .. }));
    events.truncate(replied.expect("a reply") + 1);
    let mut stand = Stand::programmed(scenario, Lang::En, (200, 60));
    stand.events(events);
    stand.update(Update::Stepped { ended: false });
    stand.press('x');
    stand.press('f');
    stand.update(Update::Outlook(outlook()));
    let rows = stand.rows();
    let written = " ● A  DEL lock";
    let place = rows.iter().rposition(|row| row.contains(written)).unwrap_or_else(|| panic!("{rows:#?}"));
    let column = rows[place].split(written).next().map_or(0, |before| before.chars().count());
    assert!(rows[..place].iter().any(|row| row.contains("● A  release  DEL lock")), "{rows:#?}");
    stand.commands();
    stand.click(u16::try_from(column + 4).expect("on the screen"), u16::try_from(place).expect("a row"));
    assert_eq!(chosen(&mut stand), [moves(0)], "{rows:#?}");
}

#[test]
fn every_key_asks_for_what_it_says() {
    let mut stand = free(Lang::En, (100, 30));
    assert!(matches!(stand.commands()[..], [SessionCommand::LeaveStory]));
    stand.press('1');
    assert_eq!(chosen(&mut stand), [moves(0)]);
    step(&mut stand, moves(0), vec![]);
    stand.press('t');
    assert_eq!(chosen(&mut stand), [Choice::Timer]);
    step(&mut stand, Choice::Timer, vec![]);
    stand.press('.');
    assert_eq!(chosen(&mut stand), [Choice::Pass { millis: 1_000 }]);
    step(&mut stand, Choice::Pass { millis: 1_000 }, vec![]);
    // Any length of time can be typed.
    stand.press(':');
    for key in "2500ms".chars() {
        stand.press(key);
    }
    assert!(stand.shows("time, +2.5 s"), "{:#?}", stand.rows());
    stand.key(KeyCode::Enter);
    assert_eq!(chosen(&mut stand), [Choice::Pass { millis: 2_500 }]);
    step(&mut stand, Choice::Pass { millis: 2_500 }, vec![]);
    // A fault, too; nothing else is listed there.
    stand.press('x');
    assert!(stand.shows("Cause a fault") && !stand.shows("open Overselling"));
    for key in "kill".chars() {
        stand.press(key);
    }
    stand.key(KeyCode::Enter);
    let server = "redis".to_owned();
    assert_eq!(chosen(&mut stand), [Choice::Inject(Fault::KillServer { server })]);
    // The story does not continue by itself.
    let server = "redis".to_owned();
    step(&mut stand, Choice::Inject(Fault::KillServer { server }), vec![]);
    stand.key(KeyCode::Right);
    assert!(stand.shows("There is no story to go on with"), "{:#?}", stand.rows());
    stand.press(' ');
    stand.wait(5_000);
    assert!(stand.commands().is_empty());
}

#[test]
fn a_fault_of_a_link_is_found_by_the_arrow_of_lessons_and_what_is_not_found_is_told() {
    let cut = Fault::Cut { link: LinkId::new("A", "redis") };
    for (typed, found) in [("cut A->nobody", false), ("cut A->redis", true), ("cut A→redis", true)] {
        let mut stand = free(Lang::En, (100, 30));
        stand.update(Update::Outlook(Outlook { faults: vec![cut.clone()], ..outlook() }));
        stand.commands();
        stand.press('x');
        typed.chars().for_each(|key| stand.press(key));
        let told = stand.shows("nothing matches") && stand.shows("leave with Esc");
        assert_eq!(told, !found, "{typed}: {:#?}", stand.rows());
        stand.key(KeyCode::Enter);
        let expected = if found { vec![Choice::Inject(cut.clone())] } else { vec![] };
        assert_eq!(chosen(&mut stand), expected, "{typed}");
        stand.key(KeyCode::Esc);
        assert!(!stand.shows("Cause a fault"), "{typed}: {:#?}", stand.rows());
    }
}

#[test]
fn what_is_chosen_before_anything_can_be_seen_is_not_carried_out_later() {
    let mut stand = Stand::opened(Lang::En, (100, 30));
    stand.press('f');
    stand.commands();
    for key in ['t', '1', '.'] {
        stand.press(key);
        assert_eq!(chosen(&mut stand), [], "{key}");
        assert!(stand.shows("still starting"), "{:#?}", stand.rows());
    }
    stand.update(Update::Outlook(outlook()));
    assert!(!stand.shows("still starting"), "{:#?}", stand.rows());
}

#[test]
fn a_client_is_moved_by_a_click() {
    for size in [(100, 30), (200, 60)] {
        let mut stand = free(Lang::En, size);
        stand.commands();
        let rows = stand.rows();
        let y = rows.iter().position(|row| row.contains("1 ● A")).expect("A's row");
        stand.click(8, u16::try_from(y).expect("on the screen"));
        assert_eq!(chosen(&mut stand), [moves(0)], "{size:?}");
    }
}

#[test]
fn who_cannot_move_says_why() {
    let mut stand = free(Lang::Zh, (100, 30));
    stand.press('3');
    assert_eq!(chosen(&mut stand), [moves(2)]);
    stand.update(Update::Refused(Text {
        en: "C cannot move: it is dead.".into(),
        zh: "C 动不了：它已经死了。".into(),
    }));
    stand.update(Update::Outlook(outlook()));
    assert!(stand.shows("C 动不了：它已经死了。"), "{:#?}", stand.rows());
    stand.press('1');
    assert!(!stand.shows("动不了"), "told once");
}

#[test]
fn where_nobody_can_ever_move_again_it_is_said_what_to_do() {
    let mut stand = free(Lang::En, (100, 30));
    assert!(!stand.shows("Everybody is finished or dead"));
    let over = |blocked| ActorOutlook { blocked: Some(blocked), ..ActorOutlook::default() };
    stand.update(Update::Outlook(Outlook {
        actors: vec![over(Blocked::Finished), over(Blocked::Dead)],
        ..Outlook::default()
    }));
    assert!(stand.shows("Everybody is finished or dead: ← goes back"), "{:#?}", stand.rows());
    stand.press('t');
    assert!(stand.shows("Everybody is finished or dead: ← goes back"), "{:#?}", stand.rows());
    assert!(!stand.shows("Nobody waits"), "{:#?}", stand.rows());
}

#[test]
fn a_program_that_computes_or_has_never_connected_is_told_so_in_its_row() {
    for (lang, computes, alone, ends) in [
        (
            Lang::En,
            "still at work: it computes, or reads the clock until time passes; . lets time pass",
            "has not connected to Redis yet; does it use REDIS_URL?",
            "time, to 3.000s: redis ends A's BLPOP",
        ),
        (
            Lang::Zh,
            "还没停下来：在计算，或者在反复读时钟；按 . 让时间前进",
            "还没有连接 Redis，它用了 REDIS_URL 吗？",
            "时间前进到 3.000s：redis 结束 A 的 BLPOP",
        ),
    ] {
        let mut stand = free(lang, (200, 50));
        let until = LessonTime::from_nanos(20_000_000);
        let waits = Some(Blocked::Waits { until });
        stand.update(Update::Outlook(Outlook {
            actors: vec![
                ActorOutlook {
                    next: Some(next("BLPOP", "BLPOP q 3")),
                    blocked: Some(Blocked::Unanswered),
                    unconnected: false,
                },
                ActorOutlook { next: Some(Next::default()), blocked: waits, unconnected: true },
                ActorOutlook {
                    next: Some(Next::default()),
                    blocked: Some(Blocked::Computes),
                    unconnected: false,
                },
            ],
            timer: Some(Timer {
                actor: ActorId(0),
                at: LessonTime::from_nanos(3_000_000_000),
                in_server: true,
            }),
            ..Outlook::default()
        }));
        // A Chinese character takes two cells, and the rows may be wrapped.
        let told = stand.rows().join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        for words in [computes, alone, ends] {
            assert!(told.contains(words), "{words}: {:#?}", stand.rows());
        }
    }
}

#[test]
fn a_breach_is_celebrated_with_its_evidence_and_kept() {
    let mut stand = free(Lang::En, (120, 40));
    let events = stand.app.run().expect("a run").playback.log().events();
    let holding = events.iter().position(|event| matches!(event.kind, EventKind::Believes { .. }));
    let breached = EventKind::Breached {
        invariant: 0,
        says: Text {
            en: "Two clients hold the lock at the same time.".into(),
            zh: "两个客户端同时持有锁。".into(),
        },
        why: Some(Text {
            en: "B's SET came between A's SET and A's DEL.".into(),
            zh: "B 的 SET 插在了 A 的 SET 和 DEL 之间。".into(),
        }),
        evidence: vec![holding.expect("somebody believes")],
        since: None,
    };
    stand.press('1');
    step(&mut stand, moves(0), vec![breached]);
    let told = stand.rows().join("\n");
    for words in [
        "YOU BROKE IT",
        "B's SET came between A's SET and A's DEL.",
        "Two clients hold the lock at the same time.",
        "↳ at ",
    ] {
        assert!(told.contains(words), "{words}\n{told}");
    }
    // One step later it is listed as a challenge that was met.
    stand.press('1');
    step(&mut stand, moves(0), vec![]);
    assert!(!stand.shows("YOU BROKE IT"));
    assert!(stand.shows("✓ you broke it: Two clients hold the lock at the same time."));
    assert_eq!(stand.app.run().expect("a run").solved(), 1);
}

#[test]
fn a_choice_further_back_begins_a_branch_and_the_tree_is_walked() {
    let mut stand = free(Lang::En, (120, 40));
    for actor in [0, 0] {
        stand.press('1');
        step(&mut stand, moves(actor), vec![]);
    }
    stand.key(KeyCode::Left);
    stand.wait(5_000);
    assert!(stand.shows("You look back."), "{:#?}", stand.rows());
    stand.press('2');
    let past = stand.runs.pasts.borrow().last().cloned().expect("a branch");
    let history = past.history(past.len()).len();
    assert_eq!(stand.runs.opened.borrow().len(), 2, "on a lab of its own");
    assert!(stand.shows("doing it again on fresh servers"), "{:#?}", stand.rows());
    // While the moves are being repeated, no key is taken for a choice.
    stand.press('1');
    assert_eq!(chosen(&mut stand), []);
    stand.events(past.events().to_vec());
    stand.update(Update::Branched { difference: None, refused: None });
    stand.update(Update::Outlook(outlook()));
    assert_eq!(chosen(&mut stand), [moves(1)], "what was chosen before");
    step(&mut stand, moves(1), vec![]);
    assert!(stand.shows("answered as before"), "{:#?}", stand.rows());
    stand.press('B');
    assert!(stand.shows(&format!("└─ ╋ 2  after step {history}: ")), "{:#?}", stand.rows());
    assert!(stand.shows("· 1  the first run: "));
    // Going back to the first run also repeats its moves.
    stand.key(KeyCode::Up);
    stand.key(KeyCode::Enter);
    let past = stand.runs.pasts.borrow().last().cloned().expect("a branch");
    assert_eq!(past.history(past.len()).len(), history + 1);
    stand.events(past.events().to_vec());
    stand.update(Update::Branched {
        difference: None,
        refused: Some("A cannot move: it is dead.".to_owned().into()),
    });
    stand.update(Update::Outlook(outlook()));
    assert!(stand.shows("could be done again: A cannot move"), "{:#?}", stand.rows());
    assert_eq!(chosen(&mut stand), []);
    stand.press('B');
    assert!(stand.shows("╋ 1  the first run") && stand.shows("· 2  after step"));
    stand.press('q');
    assert!(!stand.shows("the first run"));
}

#[test]
fn a_recorded_run_is_left_by_a_branch_on_live_servers() {
    let mut stand = Stand::lesson(staged::misdelete(ClockKind::Recorded), Lang::En, (100, 30));
    stand.press('f');
    assert_eq!(stand.runs.pasts.borrow().len(), 1);
    stand.update(Update::Failed(Failure {
        message: "redis-server is missing".to_owned().into(),
        server: true,
    }));
    assert!(stand.shows("edis-server is missing"), "{:#?}", stand.rows());
    assert!(!stand.shows("doing it again"), "{:#?}", stand.rows());
}

#[test]
fn free_play_can_be_asked_for_before_the_servers_are_up() {
    let mut stand = Stand::opened(Lang::En, (100, 30));
    stand.press('f');
    assert!(stand.commands().contains(&SessionCommand::LeaveStory));
    let script = staged::misdelete(ClockKind::Controlled);
    stand.events(script.events[..3].to_vec());
    stand.update(Update::Outlook(outlook()));
    stand.press('1');
    assert_eq!(chosen(&mut stand), [moves(0)]);
}

/// The column of the scrubber's knob.
fn knob(stand: &Stand) -> usize {
    let rows = stand.rows();
    let row = rows.iter().rev().find(|row| row.contains('╋')).expect("a knob");
    row.chars().take_while(|c| *c != '╋').count()
}

#[test]
fn while_a_move_is_on_its_way_nothing_says_that_the_learner_looks_back() {
    let script = staged::misdelete(ClockKind::Controlled);
    let mut stand = Stand::moving(&script.events, Lang::En, (100, 30));
    stand.press('f');
    stand.update(Update::Outlook(outlook()));
    stand.press('1');
    let rows = |stand: &Stand| -> Vec<String> {
        let rows = stand.rows();
        rows.into_iter().skip(1).take(6).collect()
    };
    let before = rows(&stand);
    let op = OpId(900);
    let at = LessonTime::from_nanos(9_000_000_000);
    let (actor, label) = (ActorId(0), "release".to_owned());
    let kinds = [
        EventKind::Chose(moves(0)),
        EventKind::Sent {
            op,
            actor,
            label: label.clone(),
            server: "redis".into(),
            command: staged::redis("DEL lock"),
            releases: Vec::new(),
        },
        EventKind::Replied { op, actor, label, reply: Reply::Value(1.into()).into() },
        EventKind::Stop { item: 0, stop: Stop::Move },
    ];
    stand.events(kinds.map(|kind| Event { at, kind }).into());
    stand.update(Update::Stepped { ended: false });
    stand.update(Update::Outlook(outlook()));
    stand.wait(10);
    let playback = &stand.app.run().expect("a run").playback;
    assert!(playback.is_gliding() && !playback.at_frontier());
    assert_eq!(rows(&stand), before, "nothing jumps");
    // A key pressed meanwhile is the next choice, and begins no branch.
    stand.commands();
    stand.press('1');
    assert_eq!(chosen(&mut stand), [moves(0)]);
    assert!(stand.runs.pasts.borrow().is_empty());
}

#[test]
fn the_scrubber_goes_along() {
    let mut stand = Stand::fresh(Lang::En, (100, 30));
    stand.press('f');
    stand.update(Update::Outlook(outlook()));
    let mut places = vec![knob(&stand)];
    for _ in 0..2 {
        stand.press('1');
        step(&mut stand, moves(0), vec![]);
        places.push(knob(&stand));
    }
    stand.key(KeyCode::Left);
    stand.wait(5_000);
    assert!(places.is_sorted_by(|one, next| one < next), "{places:?}");
    assert_eq!(knob(&stand), places[1]);
}

#[test]
fn further_back_everybody_has_the_key_of_then_and_says_what_came_next() {
    let crowd = |finished: bool| {
        let able = |n: u32| {
            let next = Some(next("check", &format!("GET {n}")));
            ActorOutlook { next, ..ActorOutlook::default() }
        };
        let done = ActorOutlook { blocked: Some(Blocked::Finished), ..ActorOutlook::default() };
        let mut actors: Vec<ActorOutlook> = (0..11).map(able).collect();
        if finished {
            actors[0] = done;
        }
        Outlook { actors, ..Outlook::default() }
    };
    let mut stand = free(Lang::En, (120, 40));
    stand.update(Update::Outlook(crowd(false)));
    stand.press('1');
    let op = OpId(900);
    let sent = EventKind::Sent {
        op,
        actor: ActorId(0),
        label: "check".into(),
        server: "redis".into(),
        command: staged::redis("GET then"),
        releases: Vec::new(),
    };
    step(&mut stand, moves(0), vec![sent]);
    stand.update(Update::Outlook(crowd(true)));
    assert!(!stand.shows("1 ● A"), "it has given its key away");
    stand.key(KeyCode::Left);
    stand.wait(5_000);
    let told = stand.rows().join("\n");
    assert!(told.contains("1 ● A") && told.contains("check  GET then"), "{told}");
    stand.press('1');
    let pasts = stand.runs.pasts.borrow();
    assert_eq!(pasts.len(), 1, "a branch");
}
