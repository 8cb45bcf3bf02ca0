//! Every order of a variant's moves: how the learner gets there, the search in progress, its findings, stepping through
//! the shortest failing order, and the ways back.

use std::{sync::Arc, time::Duration};

use crossterm::event::KeyCode;
use lockstep::{
    clock::{ClockKind, LessonTime},
    log::{ActorId, Choice, Event as Happened, EventKind, HistoryEntry, KeyValue, Stop},
    run::{
        batch::{BatchUpdate, Finding},
        explore::{
            Bounds, BrokenInvariant, CarriedOut, ClientPlace, Explored, Failing, Layer, OutcomeSeen,
            Progress, SearchedSpace, ServerContents, ShortestSoFar, StateGraph, StateNode, StateStep, Stuck,
            StuckOrders, Whereabouts,
        },
        race::{Invariant, LockFate, Outcome, Wording},
        session::Failure,
    },
    text::{Lang, Text},
    ui::app::Mode,
};

use crate::{
    staged,
    stand::{LANGS, SIZES, Stand, odd_sizes, opens_from_everywhere, text},
};

fn outcome(fate: LockFate) -> Arc<Outcome> {
    Arc::new(Outcome { locks: [("lock".to_owned(), fate)].into(), ..Outcome::default() })
}

/// A search that found 12 of 924 orders to fail, or none.
fn found(broken: bool, complete: bool) -> BatchUpdate {
    let seen =
        |fate, orders, violates| OutcomeSeen { outcome: outcome(fate), orders, first: Vec::new(), violates };
    let mut outcomes = vec![seen(LockFate::Held, 912, false)];
    if broken {
        outcomes.push(seen(LockFate::Violated, 12, true));
    }
    let moves = ["A.acquire", "timer", "B.acquire", "A.release", "C.acquire"];
    let shortest = CarriedOut {
        choices: vec![Choice::Move { actor: ActorId(0) }],
        moves: moves.map(str::to_owned).into(),
        log: staged::misdelete(ClockKind::Controlled).log(),
    };
    let explored = Explored {
        tried: 1_200,
        pruned: 65_432,
        space: SearchedSpace::default(),
        cut: 0,
        violations: if broken { 12 } else { 0 },
        broken: broken.then(|| ("overlap: lock".to_owned(), 12)).into_iter().collect(),
        shortest: broken.then(|| shortest.clone()),
        each: if broken { vec![breaks(shortest)] } else { Vec::new() },
        stuck: Vec::new(),
        outcomes,
        complete,
        wall: Duration::from_secs(3),
        searching: Duration::from_secs(2),
    };
    BatchUpdate::Found(Box::new(Finding {
        explored,
        wording: Wording {
            invariants: vec![Invariant {
                name: "overlap: lock".into(),
                says: text("Two clients hold the lock at the same time.", "两个客户端同时持有锁。"),
            }],
            ..Wording::none()
        },
    }))
}

fn breaks(order: CarriedOut) -> BrokenInvariant {
    BrokenInvariant {
        invariant: 0,
        name: "overlap: lock".to_owned(),
        shortest: Some(order),
        why: Some(text(
            "A's lease ended between A.acquire and A.release.",
            "A 的租约在 A.acquire 与 A.release 之间到期。",
        )),
        unavoidable: None,
        choices: Vec::new(),
    }
}

/// A search that is half done.
fn searching(lang: Lang, size: (u16, u16)) -> Stand {
    let mut stand = Stand::catalogue(lang, size);
    stand.press('X');
    let progress = Progress {
        tried: 600,
        states: 0,
        pruned: 30_000,
        violations: 3,
        done: 0.5,
        wall: Duration::from_secs(2),
        ..Progress::default()
    };
    let two = text("Two clients hold the lock.", "两个客户端持有锁。");
    let shortest = vec![so_far(two, &["A.", "B.", "", "crash A", "B."])];
    stand.batch_update(BatchUpdate::Progress(progress, shortest));
    stand
}

fn so_far(says: Text, moves: &[&str]) -> ShortestSoFar {
    ShortestSoFar { says, moves: moves.iter().map(|moved| (*moved).to_owned()).collect() }
}

fn explored(lang: Lang, size: (u16, u16)) -> Stand {
    let mut stand = searching(lang, size);
    stand.batch_update(found(true, true));
    stand
}

/// A search with long findings, such as that of the watchdog: long orders of five actors that do not end.
fn found_much() -> BatchUpdate {
    let BatchUpdate::Found(mut finding) = found(true, true) else { unreachable!("a finding") };
    let explored = &mut finding.explored;
    (explored.cut, explored.violations) = (5_598_720, 3_732_480);
    explored.outcomes.push(explored.outcomes[1].clone());
    let [broken] = &mut explored.each[..] else { unreachable!("an order that goes wrong") };
    let order = broken.shortest.as_mut().expect("an order");
    let moves = ["B.acquire", "A.worker.acquire", "C.acquire", "Ops.ttl", "Ops.ttl", "+10.001 s"];
    order.moves = moves.into_iter().chain(["A.watchdog.renew"]).map(str::to_owned).collect();
    broken.why = Some(text(
        "A.watchdog's PEXPIRE lock came between B's SET lock and B's release: it set the lease of a lock that \
         belongs to B, and it will do so again.",
        "A.watchdog 的 PEXPIRE lock 插在 B 的 SET lock 与 B 的释放之间：它给 B 的锁续了期，而且以后还会这样做。",
    ));
    BatchUpdate::Found(finding)
}

#[test]
fn why_it_goes_wrong_is_read_without_scrolling_on_the_smallest_screen() {
    for (lang, last) in [(Lang::En, "it will do so again."), (Lang::Zh, "以后还会这样做。")] {
        let mut stand = searching(lang, (80, 24));
        stand.batch_update(found_much());
        let rows = stand.rows();
        let more = rows.iter().any(|row| row.contains("↓ more") || row.contains("↓ 更多"));
        assert!(!more && stand.shows(last), "{rows:#?}");
    }
}

/// The bounds of every search that was requested.
fn bounds(stand: &Stand) -> Vec<Bounds> {
    let explored = stand.runs.explored.borrow();
    explored.iter().map(|(_, searcher)| searcher.bounds.clone()).collect()
}

#[test]
#[ignore = "leaves pictures of the screens in LOCKSTEP_PICTURES"]
fn pictures() {
    for lang in LANGS {
        for size in SIZES {
            let size_name = format!("{lang}-{}x{}", size.0, size.1);
            searching(lang, size).save(&format!("orders-searching-{size_name}"));
            let mut stand = explored(lang, size);
            stand.save(&format!("orders-{size_name}"));
            stand.key(KeyCode::Enter);
            stand.press(']');
            stand.save(&format!("orders-shortest-{size_name}"));
            let mut stand = searching(lang, size);
            let BatchUpdate::Found(mut finding) = found(true, true) else { panic!("a search that is over") };
            (finding.explored.space.graph, finding.explored.space.states) =
                (Some(graph()), graph().states.len() as u64);
            stand.batch_update(BatchUpdate::Found(finding));
            stand.press('g');
            stand.key(KeyCode::Right);
            stand.save(&format!("states-{size_name}"));
        }
    }
}

#[test]
fn while_orders_are_not_counted_yet_it_is_said_that_some_go_wrong() {
    for (lang, some, none) in [
        (Lang::En, "some orders go wrong", "no order that goes wrong so far"),
        (Lang::Zh, "有顺序会出错", "目前还没有出错的顺序"),
    ] {
        let mut stand = Stand::catalogue(lang, (80, 24));
        stand.press('X');
        let by_states = |states| Progress { states, wall: Duration::from_secs(2), ..Progress::default() };
        stand.batch_update(BatchUpdate::Progress(by_states(100), [].into()));
        assert!(stand.shows(none) && !stand.shows(some), "{:#?}", stand.rows());
        let shortest = vec![so_far(text("Sold twice.", "卖了两次。"), &["A.", "B."])];
        stand.batch_update(BatchUpdate::Progress(by_states(200), shortest));
        assert!(stand.shows(some) && !stand.shows(none), "{:#?}", stand.rows());
    }
}

#[test]
fn the_shortest_so_far_is_shown_while_the_search_goes_on() {
    for (lang, title) in [(Lang::En, "The shortest so far that goes wrong"), (Lang::Zh, "目前最短的出错顺序")]
    {
        let stand = searching(lang, (80, 24));
        assert!(stand.shows(title), "{:#?}", stand.rows());
        // A, B, time passes, A is killed, B.
        for lane in ["A  ●  ·  ·  crash  ·", "B  ·  ■  ·  ·      ■", "·  ·  ⋯  ·      ·"] {
            assert!(stand.shows(lane), "{lane}: {:#?}", stand.rows());
        }
    }
}

#[test]
fn each_invariant_has_its_shortest_so_far() {
    for lang in LANGS {
        let mut stand = searching(lang, (80, 24));
        let shortest = vec![
            so_far(text("Two hold the lock.", "两个客户端持有锁。"), &["A.", "B."]),
            so_far(text("Sold twice.", "卖了两次。"), &["A.", "A.", "B.", "B."]),
        ];
        stand.batch_update(BatchUpdate::Progress(
            Progress { tried: 700, done: 0.5, wall: Duration::from_secs(2), ..Progress::default() },
            shortest,
        ));
        let (first, second) = match lang {
            Lang::En => ("Two hold the lock.", "Sold twice."),
            Lang::Zh => ("两个客户端持有锁。", "卖了两次。"),
        };
        assert!(stand.shows(first) && stand.shows("1/2") && !stand.shows(second), "{:#?}", stand.rows());
        stand.key(KeyCode::Right);
        assert!(stand.shows(second) && stand.shows("2/2") && !stand.shows(first), "{:#?}", stand.rows());
        // The final finding begins with the shortest order of all.
        stand.batch_update(found(true, true));
        assert!(!stand.shows("2/2"), "{:#?}", stand.rows());
    }
}

#[test]
fn states_are_seen_to_grow_while_they_are_found() {
    let layer = |states, broken| Layer { states, broken };
    for (lang, one, many) in [
        (Lang::En, "states so many steps from the beginning ", "to a mark"),
        (Lang::Zh, "从开头起走了多少步的状态 ", "每格"),
    ] {
        let mut stand = Stand::catalogue(lang, (80, 24));
        stand.press('X');
        let progress = |layers: Vec<Layer>| Progress {
            states: layers.iter().map(|layer| layer.states).sum(),
            orders: 1_234,
            layers,
            wall: Duration::from_secs(2),
            ..Progress::default()
        };
        let grown = progress(vec![layer(1, 0), layer(2, 0), layer(3, 1)]);
        stand.batch_update(BatchUpdate::Progress(grown, Vec::new()));
        let rows = stand.rows();
        assert!(rows.iter().any(|row| row.contains("▰▰✗")), "{rows:#?}");
        assert!(rows.iter().any(|row| row.contains("│   ▰ ") || row.contains("  ▰ ")), "{rows:#?}");
        assert!(stand.shows(one) && !stand.shows(many) && stand.shows("1,234"), "{rows:#?}");
        let grown = progress(vec![layer(1, 0), layer(400, 0), layer(9_000, 3_000)]);
        stand.batch_update(BatchUpdate::Progress(grown, Vec::new()));
        assert!(stand.shows(many), "{:#?}", stand.rows());
        // The number of orders replaces it.
        stand.batch_update(found(true, true));
        assert!(!stand.shows(many), "{:#?}", stand.rows());
    }
}

#[test]
fn it_is_said_why_orders_are_not_counted_by_states() {
    for lang in LANGS {
        let mut stand = searching(lang, (80, 24));
        let BatchUpdate::Found(mut finding) = found(true, true) else { panic!("a search that is over") };
        let why = text("Gone through one by one.", "逐个顺序地试。");
        finding.explored.space.one_by_one = Some(why.clone());
        stand.batch_update(BatchUpdate::Found(finding));
        assert!(stand.shows(why.get(lang)), "{:#?}", stand.rows());
    }
}

#[test]
fn where_clients_are_told_apart_it_is_said_how_many_states_the_search_has_counted() {
    for (lang, words) in [(Lang::En, "the search has counted 2,"), (Lang::Zh, "数出来是 2 个")] {
        let mut stand = searching(lang, (120, 40));
        let BatchUpdate::Found(mut finding) = found(true, true) else { panic!("a search that is over") };
        (finding.explored.space.graph, finding.explored.space.states) = (Some(graph()), 2);
        stand.batch_update(BatchUpdate::Found(finding));
        stand.press('g');
        assert!(stand.shows(words), "{:#?}", stand.rows());
    }
}

#[test]
fn a_variant_is_explored_from_the_catalogue_from_its_variants_and_from_its_lesson() {
    let explored = |stand: &Stand| -> Vec<String> {
        let explored = stand.runs.explored.borrow();
        explored.iter().map(|(choice, _)| choice.variant.clone()).collect()
    };
    opens_from_everywhere('X', explored, found(true, true));
}

#[test]
fn the_search_says_how_far_it_is_and_what_it_found() {
    for (lang, tried, pace, broken, within) in [
        (
            Lang::En,
            "600 tried, 30,000 more equivalent",
            "of about 1,200, 300/s, 2s left",
            "✗ 3 orders go wrong",
            "Up to 24 moves, without a fault",
        ),
        (
            Lang::Zh,
            "已试 600 种，另有等价 30,000 种",
            "约 1,200 种要试，每秒 300 种，还需 2s",
            "✗ 3 种顺序出错",
            "每种最多 24 步，不加故障",
        ),
    ] {
        for size in SIZES {
            let stand = searching(lang, size);
            for words in [tried, broken, within] {
                assert!(stand.shows(words), "{words} {size:?}: {:#?}", stand.rows());
            }
            assert!(stand.shows(pace) || size.0 < 100, "{size:?}: {:#?}", stand.rows());
        }
    }
    for (lang, words) in [
        (
            Lang::En,
            [
                "✗ 12 orders go wrong",
                "12: Two clients hold the lock at the same time.",
                "✗ lock had too many holders",
                "A  acquire  ·",
            ],
        ),
        (
            Lang::Zh,
            ["✗ 12 种顺序出错", "12 种：两个客户端同时持有锁。", "✗ lock 持有者过多", "A  acquire  ·"],
        ),
    ] {
        for size in SIZES {
            let stand = explored(lang, size);
            for words in words {
                assert!(stand.shows(words), "{words} {size:?}: {:#?}", stand.rows());
            }
        }
    }
}

#[test]
fn where_nothing_goes_wrong_it_says_so_within_its_bounds() {
    let mut stand = searching(Lang::En, (100, 30));
    stand.batch_update(found(false, true));
    // Without a fault this proves nothing: no tick, but a suggestion.
    for words in [
        "Without a fault or slowness none goes wrong; races may differ. f adds faults, then slowness.",
        "No order that goes wrong was found.",
        "all tried",
    ] {
        assert!(stand.shows(words), "{words}: {:#?}", stand.rows());
    }
    for words in ["were cut", "✓ no order"] {
        assert!(!stand.shows(words), "{words}: {:#?}", stand.rows());
    }
    stand.key(KeyCode::Enter);
    assert!(matches!(stand.app.mode(), Mode::Outcomes(_)));
    // The variant fails in its story, but not by a crash.
    stand.press('f');
    stand.batch_update(found(false, true));
    assert!(stand.shows("With this fault none goes wrong"), "{:#?}", stand.rows());
}

#[test]
fn the_whole_shortest_order_is_in_sight_once_and_folded() {
    let round = ["B.acquire", "C.acquire", "+0.501 s"];
    let moves = ["A.acquire"].into_iter().chain(round.repeat(3)).chain(["freeze A"]).chain(round.repeat(3));
    let moves: Vec<String> = moves.chain(["B.acquire"]).map(str::to_owned).collect();
    for lang in LANGS {
        for size in [(80, 24), (100, 30), (120, 40)] {
            let mut stand = searching(lang, size);
            let BatchUpdate::Found(mut finding) = found(true, true) else { panic!("a search that is over") };
            let shortest = finding.explored.each[0].shortest.as_mut().expect("an order");
            shortest.moves.clone_from(&moves);
            let often = finding.explored.outcomes[0].clone();
            finding.explored.outcomes.extend(std::iter::repeat_n(often, 9));
            stand.batch_update(BatchUpdate::Found(finding));
            for words in ["×3", "freeze", "A's lease ended", "A 的租约在"] {
                let chinese = words.starts_with("A 的");
                assert!(
                    stand.shows(words) != (words.starts_with('A') && chinese == (lang == Lang::En)),
                    "{words} {lang} {size:?}: {:#?}",
                    stand.rows()
                );
            }
            for words in ["↓ more", "↓ 更多", "A.acquire →", "◷"] {
                assert!(!stand.shows(words), "{words} {size:?}: {:#?}", stand.rows());
            }
            stand.assert_whole();
        }
    }
}

/// An order in which an actor does not reach the end of its program can be stepped through like a failing one; if
/// nothing else is found, it is the one that is opened.
#[test]
fn an_order_that_does_not_end_is_stepped_through() {
    for (lang, title, says) in [
        (Lang::En, "The first that does not end", "never end"),
        (Lang::Zh, "第一种走不到头的顺序", "永远不结束"),
    ] {
        for broken in [false, true] {
            let mut stand = searching(lang, (120, 40));
            let BatchUpdate::Found(mut finding) = found(broken, true) else {
                panic!("a search that is over")
            };
            let order = CarriedOut {
                choices: vec![Choice::Move { actor: ActorId(1) }],
                moves: vec!["B.takes".to_owned(), "A.takes".to_owned()],
                log: staged::misdelete(ClockKind::Controlled).log(),
            };
            finding.explored.stuck = vec![StuckOrders {
                stuck: Stuck::Deadlock,
                orders: 7,
                says: text("7 never end", "7 种永远不结束"),
                first: order.choices.clone(),
                order: Some(order),
                why: Some(text("A waits for itself.", "A 在等它自己。")),
                unavoidable: None,
            }];
            stand.batch_update(BatchUpdate::Found(finding));
            if broken {
                assert!(stand.shows("1/2") && !stand.shows(title), "{:#?}", stand.rows());
                stand.key(KeyCode::Right);
            }
            let itself = if lang == Lang::En { "A waits for itself." } else { "A 在等它自己。" };
            for words in [title, says, "B  takes", itself] {
                assert!(stand.shows(words), "{words}: {:#?}", stand.rows());
            }
            stand.key(KeyCode::Enter);
            assert!(matches!(stand.app.mode(), Mode::Learning(_)));
            assert!(stand.shows("B.takes → A.takes") && stand.shows(says), "{:#?}", stand.rows());
        }
    }
}

#[test]
fn orders_that_were_cut_prove_nothing() {
    for (lang, words) in
        [(Lang::En, "77 orders were cut after 24 moves"), (Lang::Zh, "77 种顺序走满 24 步就停了")]
    {
        let mut stand = searching(lang, (100, 30));
        let BatchUpdate::Found(mut finding) = found(false, true) else {
            panic!("a search that is over");
        };
        finding.explored.cut = 77;
        stand.batch_update(BatchUpdate::Found(finding));
        assert!(stand.shows(words), "{:#?}", stand.rows());
    }
}

#[test]
fn it_is_stopped_first_and_left_then() {
    let mut stand = searching(Lang::En, (100, 30));
    let asked = |stand: &Stand| {
        let explored = stand.runs.explored.borrow();
        explored[0].1.control.borrow().stopped
    };
    assert!(!asked(&stand));
    stand.key(KeyCode::Esc);
    assert!(asked(&stand) && stand.shows("stopping"), "{:#?}", stand.rows());
    stand.batch_update(found(true, false));
    assert!(
        stand.shows("stopped: this is what was found") && stand.shows("✗ ≥ 12 orders go wrong"),
        "{:#?}",
        stand.rows()
    );
    stand.key(KeyCode::Esc);
    assert!(matches!(stand.app.mode(), Mode::Browsing));
}

#[test]
fn what_is_searched_can_be_changed() {
    let mut stand = explored(Lang::En, (120, 40));
    let last = |stand: &Stand| bounds(stand).pop().expect("a search");
    assert_eq!((last(&stand).moves, last(&stand).prune), (24, true));
    assert!(last(&stand).faults.is_empty());
    stand.press('+');
    assert_eq!(last(&stand).moves, 25);
    assert!(stand.shows("Up to 25 moves"), "{:#?}", stand.rows());
    stand.press('-');
    stand.press('-');
    assert_eq!(last(&stand).moves, 23);
    for (fault, words) in [
        (Some(Failing::Crash), "at most one crash"),
        (Some(Failing::Freeze), "at most one freeze"),
        (Some(Failing::LostReply), "at most one lost reply"),
        (Some(Failing::Restart), "at most one server restart"),
        (None, "somebody slow at most once"),
        (None, "without a fault"),
    ] {
        stand.press('f');
        assert_eq!(last(&stand).faults.first().map(|fault| fault.how), fault);
        assert!(stand.shows(words), "{:#?}", stand.rows());
    }
    stand.press('p');
    assert!(!last(&stand).prune);
    assert!(stand.shows("each of them is tried"), "{:#?}", stand.rows());
    // At the lowest bound no search is started again.
    for _ in 0..40 {
        stand.press('-');
    }
    let count = bounds(&stand).len();
    assert_eq!(last(&stand).moves, 1);
    stand.press('-');
    assert_eq!(bounds(&stand).len(), count);
}

#[test]
fn the_shortest_order_is_stepped_through() {
    for (lang, shortest, why, back) in [
        (Lang::En, "No shorter order goes wrong than these 5 choices:", "A's lease ended between", "q back"),
        (Lang::Zh, "没有比这 5 步更短的出错顺序：", "A 的租约在 A.acquire", "q 返回"),
    ] {
        let mut stand = explored(lang, (100, 30));
        let before = stand.rows();
        stand.key(KeyCode::Enter);
        for words in [shortest, why, back, "A.acquire → timer"] {
            assert!(stand.shows(words), "{words}: {:#?}", stand.rows());
        }
        stand.press(']');
        assert!(stand.shows("HOLDERS AT ONCE") || stand.shows("个持有者同时存在"), "{:#?}", stand.rows());
        let here = stand.rows();
        for key in ['X', 'R', 'r', 'v'] {
            stand.press(key);
            let rows = stand.rows();
            assert_eq!(rows[..27], here[..27], "{key}");
            let says = if lang == Lang::En { " does nothing here" } else { " 在这里不起作用" };
            assert!(stand.shows(&format!("{key}{says}")), "{rows:#?}");
        }
        stand.press('q');
        assert_eq!(stand.rows(), before);
    }
}

/// Two buyers who read the stock and then buy: the initial state, the one after A's read, and the one after both have
/// bought.
fn graph() -> StateGraph {
    let client = |name: &str, place, holds: &[&str]| ClientPlace {
        name: name.to_owned(),
        place,
        holds: holds.iter().map(|lock| (*lock).to_owned()).collect(),
        frozen: false,
    };
    let before = |label: &str| Whereabouts::Before(label.to_owned());
    let servers = |value: &str| {
        let lease = Some(Duration::from_secs(3));
        let keys = vec![("lock".to_owned(), KeyValue::String(value.to_owned()), lease)];
        vec![ServerContents { name: "redis".to_owned(), keys }]
    };
    let step = |words: &str, actor, to| StateStep {
        words: words.to_owned(),
        to,
        events: vec![
            Happened { at: LessonTime::ZERO, kind: EventKind::Chose(Choice::Move { actor: ActorId(actor) }) },
            Happened { at: LessonTime::ZERO, kind: EventKind::Stop { item: 0, stop: Stop::Move } },
        ],
        takes: Duration::ZERO,
    };
    let state = |value, clients, broken, steps| StateNode { servers: servers(value), clients, broken, steps };
    let both = |place: &dyn Fn(&str) -> Whereabouts| {
        vec![client("A", place("A"), &[]), client("B", place("B"), &[])]
    };
    StateGraph {
        beginning: Vec::new(),
        states: vec![
            state(
                "0",
                both(&|_| before("check")),
                vec![],
                vec![step("A.check", 0, 1), step("B.check", 1, 1)],
            ),
            state(
                "A-1",
                vec![
                    client("A", before("work"), &["lock"]),
                    client("B", Whereabouts::Waits(Duration::from_millis(1300)), &[]),
                ],
                vec![],
                vec![step("+1.3 s", 0, 2)],
            ),
            state(
                "B-1",
                vec![
                    client("A", Whereabouts::Dead, &["lock"]),
                    client("B", Whereabouts::Finished, &["lock"]),
                ],
                vec![0],
                vec![],
            ),
        ],
    }
}

#[test]
fn the_states_of_a_small_search_are_walked_through_with_the_arrows() {
    for (lang, first, ends, broken, back) in [
        (Lang::En, "State 1 of 3", "Orders end here.", "Two clients hold the lock", "Nobody has moved yet."),
        (Lang::Zh, "状态 1/3", "到此结束。", "两个客户端同时持有锁", "还没有任何人走一步。"),
    ] {
        for size in SIZES {
            let mut stand = searching(lang, size);
            let BatchUpdate::Found(mut finding) = found(true, true) else { panic!("a search that is over") };
            (finding.explored.space.graph, finding.explored.space.states) =
                (Some(graph()), graph().states.len() as u64);
            stand.batch_update(BatchUpdate::Found(finding));
            let before = stand.rows();
            stand.press('g');
            for words in [first, "lock  \"0\"", "A.check", "▸", back] {
                assert!(stand.shows(words), "{words} {size:?}: {:#?}", stand.rows());
            }
            stand.assert_whole();
            stand.key(KeyCode::Down);
            stand.key(KeyCode::Right);
            for words in ["lock  \"A-1\"", "1.3 ", "+1.3 s", "B.check", "✗"] {
                assert!(stand.shows(words), "{words} {size:?}: {:#?}", stand.rows());
            }
            stand.key(KeyCode::Right);
            for words in [ends, broken, "B.check → +1.3 s"] {
                assert!(stand.shows(words), "{words} {size:?}: {:#?}", stand.rows());
            }
            stand.assert_whole();
            // There is no next state, but a previous one.
            stand.key(KeyCode::Right);
            assert!(stand.shows(ends));
            stand.key(KeyCode::Left);
            stand.key(KeyCode::Left);
            stand.key(KeyCode::Left);
            assert!(stand.shows(first) && stand.shows(back), "{:#?}", stand.rows());
            stand.press('q');
            assert_eq!(stand.rows(), before);
        }
    }
}

/// The moves that led to the state are repeated on a fresh lab, and free play continues from there.
#[test]
fn from_any_state_one_goes_on_by_hand() {
    let mut stand = searching(Lang::En, (100, 30));
    let BatchUpdate::Found(mut finding) = found(true, true) else { panic!("a search that is over") };
    (finding.explored.space.graph, finding.explored.space.states) =
        (Some(graph()), graph().states.len() as u64);
    stand.batch_update(BatchUpdate::Found(finding));
    stand.press('g');
    stand.key(KeyCode::Down);
    stand.key(KeyCode::Right);
    stand.key(KeyCode::Enter);
    assert!(matches!(stand.app.mode(), Mode::Learning(_)));
    let pasts = stand.runs.pasts.borrow();
    let past = pasts.last().expect("a branch");
    assert_eq!(past.history(past.len()), [HistoryEntry::Choice(Choice::Move { actor: ActorId(1) })]);
}

#[test]
fn states_that_are_not_known_cannot_be_walked_through() {
    for (lang, words) in [(Lang::En, "at most 60"), (Lang::Zh, "不超过 60 个")] {
        let mut stand = explored(lang, (100, 30));
        stand.press('g');
        assert!(stand.shows(words), "{:#?}", stand.rows());
    }
}

#[test]
fn what_cannot_be_explored_says_why() {
    for (lang, title) in [(Lang::En, "✗ This cannot be explored"), (Lang::Zh, "✗ 无法穷举")] {
        let mut stand = Stand::catalogue(lang, (80, 24));
        stand.press('X');
        stand.batch_update(BatchUpdate::Failed(Failure {
            message: text(
                "about 1e12 orders at 3200 a second would take 3616 days; choose fewer moves",
                "大约有 1e12 种顺序，要跑 3616 天；请减少步数",
            ),
            server: false,
        }));
        assert!(stand.shows(title) && stand.shows("3616"), "{:#?}", stand.rows());
        stand.press('-');
        assert_eq!(bounds(&stand).last().map(|bounds| bounds.moves), Some(23));
        stand.app.handle(lockstep::ui::app::Message::Batch(None), stand.now);
        assert!(stand.shows(title), "{:#?}", stand.rows());
    }
}

#[test]
fn no_wide_character_is_cut_and_nothing_runs_over_its_pane() {
    for lang in LANGS {
        for size in SIZES {
            for mut stand in [searching(lang, size), explored(lang, size)] {
                for keys in ["", "j", "?", "?", "i", "i"] {
                    stand.keys(keys);
                    stand.assert_whole();
                }
                stand.key(KeyCode::Enter);
                stand.assert_whole();
            }
        }
    }
}

#[test]
fn no_size_is_too_small_or_too_large() {
    for mut stand in [searching(Lang::Zh, (80, 24)), explored(Lang::Zh, (80, 24))] {
        for (width, height) in odd_sizes() {
            stand.resize((width, height));
            for code in [KeyCode::Up, KeyCode::PageDown, KeyCode::End] {
                stand.key(code);
                stand.buffer();
            }
            stand.click(width / 2, height / 2);
        }
    }
}
