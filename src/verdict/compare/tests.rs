use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Timeline, What, first_difference, moves};
use crate::{
    clock::LessonTime,
    log::{
        Belief, EventKind, Log, Stop,
        testing::{LogBuilder, actor, believes, ready},
    },
};

/// A move as written in a test: actor, label, command, reply, and the milliseconds before it.
type Made<'a> = (u32, &'a str, &'a str, Value, i64);

fn built(made: &[Made<'_>]) -> LogBuilder {
    let mut log = LogBuilder::new(ready(&["redis"], ["A", "B", "C"].map(actor)));
    let mut at = 0;
    for (item, (who, label, wire, reply, passed)) in made.iter().enumerate() {
        at += passed;
        log.at(at).moves(*who, label, wire, reply.clone());
        log.add(EventKind::Stop { item, stop: Stop::Move });
    }
    log
}

fn log(made: &[Made<'_>]) -> Log {
    built(made).finish()
}

fn believing(mut log: LogBuilder, belief: Belief) -> Log {
    log.add(believes(0, belief));
    log.finish()
}

fn story() -> Vec<Made<'static>> {
    vec![
        (0, "acquire", "SET lock A-eb24 NX PX 3000", json!("OK"), 0),
        (1, "acquire", "SET lock B-d97e NX PX 3000", json!(null), 10),
        (1, "acquire", "SET lock B-d97e NX PX 3000", json!("OK"), 3000),
        (0, "release", "DEL lock", json!(1), 1000),
    ]
}

/// Actor, label and index of the two moves of a difference.
fn at(difference: Option<&super::Difference>) -> (What, [Option<String>; 2]) {
    let difference = difference.expect("a difference");
    let name = |made: &super::Move| format!("{}.{} {}", made.who, made.label, made.nth);
    (difference.what, difference.moves.each_ref().map(|made| made.as_ref().map(name)))
}

fn both(name: &str) -> [Option<String>; 2] {
    [Some(name.to_owned()), Some(name.to_owned())]
}

#[test]
fn what_programs_draw_at_random_is_no_difference_and_whose_it_is_is_one() {
    let run = |token: &str, holder: &str| {
        log(&[
            (0, "SET", &format!("SET lock {token} NX PX 3000"), json!("OK"), 0),
            (1, "SET", &format!("SET lock {}0f NX PX 3000", &token[2..]), json!(null), 10),
            (1, "GET", "GET lock", json!(holder), 10),
            (1, "ls", "ls /lock", json!([format!("{token}-0"), format!("{holder}-1")]), 10),
        ])
    };
    let (one, other) = ("b8b7ad54e8ed11f1968002fc00000001", "0c5ad1b2c3d411f1968002fc00000077");
    let first = run(one, one);
    assert_eq!(first_difference([&first, &run(other, other)]), None);
    let others = format!("{}0f", &other[2..]);
    let holder = first_difference([&first, &run(other, &others)]);
    assert_eq!(at(holder.as_ref()), (What::Reply, both("B.GET 0")));
}

#[test]
fn equal_runs_do_not_differ_whatever_the_time_and_the_tokens() {
    let one = story();
    assert_eq!(first_difference([&log(&one), &log(&one)]), None);
    let mut other = story();
    other[0].2 = "SET lock A-0c1d NX PX 3000";
    other[1].4 = 1700;
    assert_eq!(first_difference([&log(&one), &log(&other)]), None);
}

#[test]
fn a_changed_command_is_a_difference() {
    let mut other = story();
    other[3].2 = "EVAL release_if_owner 1 lock A-eb24";
    let found = first_difference([&log(&story()), &log(&other)]);
    assert_eq!(at(found.as_ref()), (What::Command, both("A.release 0")));
    // A number that is no token is part of the command.
    let mut other = story();
    other[0].2 = "SET lock A-eb24 NX PX 4000";
    let found = first_difference([&log(&story()), &log(&other)]);
    assert_eq!(at(found.as_ref()), (What::Command, both("A.acquire 0")));
}

#[test]
fn a_changed_reply_is_a_difference_and_a_draining_ttl_is_none() {
    let mut other = story();
    other[3].3 = json!(0);
    let found = first_difference([&log(&story()), &log(&other)]);
    assert_eq!(at(found.as_ref()), (What::Reply, both("A.release 0")));
    let asks = |left: i64| log(&[(0, "ttl", "PTTL lock", json!(left), 0)]);
    assert_eq!(first_difference([&asks(2999), &asks(2970)]), None);
    assert!(first_difference([&asks(2999), &asks(60_000)]).is_some());
    assert!(first_difference([&asks(50), &asks(-2)]).is_some());
    // A script that returns the rest of another client's lease.
    let tries = |left: i64| log(&[(0, "take", "EVAL take 1 lock A", json!(left), 0)]);
    assert_eq!(first_difference([&tries(29_999), &tries(29_970)]), None);
    assert!(first_difference([&tries(1), &tries(2)]).is_some());
    let stat = |owner: i64, version: i64| {
        let reply = json!({"czxid": owner, "owner": owner, "version": version});
        log(&[(0, "watch", "exists -w /lock", reply, 0)])
    };
    assert_eq!(first_difference([&stat(7, 0), &stat(8, 0)]), None);
    assert!(first_difference([&stat(7, 0), &stat(7, 1)]).is_some());
}

#[test]
fn another_belief_after_the_same_reply_is_a_difference() {
    let holds = believing(built(&story()[..1]), Belief::Holding);
    let pending = believing(built(&story()[..1]), Belief::Unsure);
    assert_eq!(first_difference([&holds, &holds]), None);
    let found = first_difference([&holds, &pending]);
    assert_eq!(at(found.as_ref()), (What::Outcome, both("A.acquire 0")));
}

#[test]
fn an_extra_move_is_a_difference_whichever_run_makes_it() {
    let mut more = story();
    more.insert(3, (0, "check", "GET lock", json!("B-d97e"), 5));
    let (one, more) = (log(&story()), log(&more));
    let found = first_difference([&one, &more]);
    assert_eq!(at(found.as_ref()), (What::Extra, [None, Some("A.check 0".to_owned())]));
    let found = first_difference([&more, &one]);
    assert_eq!(at(found.as_ref()), (What::Extra, [Some("A.check 0".to_owned()), None]));
    // Making the same move once more is extra, too.
    let again = log(&story()[..2]);
    let found = first_difference([&again, &one]);
    assert_eq!(at(found.as_ref()), (What::Extra, [None, Some("B.acquire 1".to_owned())]));
}

#[test]
fn an_actor_that_does_something_else_at_the_same_point_does_it_instead() {
    let looks = log(&[(0, "check", "GET stock", json!("1"), 0), (0, "buy", "DECR stock", json!(0), 0)]);
    let buys = log(&[(0, "buy", "EVAL sell_one 1 stock", json!(0), 0)]);
    let found = first_difference([&looks, &buys]);
    let stand = [Some("A.check 0".to_owned()), Some("A.buy 0".to_owned())];
    assert_eq!(at(found.as_ref()), (What::Command, stand));
}

#[test]
fn the_same_move_at_the_same_time_stands_in_one_place_and_at_another_time_does_not() {
    let mut other = story();
    other[3].4 = 300;
    let logs = [&log(&story()), &log(&other)];
    let timeline = Timeline::new(logs);
    let place = |side: usize, n: usize| {
        let event = moves(logs[side])[n].event;
        let found = timeline.slots.iter().position(|slot| slot.events[side] == Some(event));
        found.expect("a place")
    };
    for n in 0..3 {
        assert_eq!(place(0, n), place(1, n), "move {n}");
    }
    assert!(place(1, 3) < place(0, 3), "the earlier one stands to the left");
    // Before the first move, and after each of the four slots with moves, the last of which is the end.
    assert_eq!(timeline.stops.len(), 6);
    assert_eq!(timeline.positions(timeline.stops[1]), [4, 4]);
}

#[test]
fn nothing_has_no_place_and_one_run_alone_has_all_of_its_own() {
    let empty = Log::new();
    assert_eq!(Timeline::new([&empty, &empty]).stops, [0]);
    let one = log(&story());
    let timeline = Timeline::new([&one, &empty]);
    assert_eq!(timeline.slots.len(), one.len());
    assert_eq!(timeline.positions(usize::MAX), [one.len(), 0]);
}

fn any_run() -> impl Strategy<Value = Log> {
    let label = prop_oneof![Just("acquire"), Just("release"), Just("check")];
    let wire = prop_oneof![Just("GET k"), Just("DEL k")];
    let made = (0..3_u32, label, wire, 0..3_i64, 0..400_i64);
    prop::collection::vec(made, 0..14).prop_map(|made| {
        let made: Vec<Made<'_>> = made
            .into_iter()
            .map(|(who, label, wire, reply, passed)| (who, label, wire, json!(reply), passed))
            .collect();
        log(&made)
    })
}

proptest! {
    #[test]
    fn a_run_does_not_differ_from_itself(run in any_run()) {
        prop_assert_eq!(first_difference([&run, &run]), None);
        let timeline = Timeline::new([&run, &run]);
        prop_assert!(timeline.slots.iter().all(|slot| slot.events[0].is_none() || slot.at >= LessonTime::ZERO));
    }

    #[test]
    fn a_difference_is_the_same_from_the_other_side(one in any_run(), other in any_run()) {
        let there = first_difference([&one, &other]);
        let back = first_difference([&other, &one]);
        prop_assert_eq!(there.is_some(), back.is_some());
        if let (Some(there), Some(back)) = (there, back) {
            let [mine, its] = there.moves.clone();
            let time = |made: &Option<super::Move>| made.as_ref().map(|made| made.at);
            // If both runs made equally many moves and the next ones are by two actors, the earlier one comes first; at
            // the same time, that of the first run.
            let tie = mine.is_some() && time(&mine) == time(&back.moves[0]);
            prop_assert!(tie || back.moves == [its, mine]);
        }
    }

    #[test]
    fn all_moves_before_the_first_difference_are_in_both(one in any_run(), other in any_run()) {
        let made = [moves(&one), moves(&other)];
        match first_difference([&one, &other]) {
            None => prop_assert_eq!(made[0].len(), made[1].len()),
            Some(difference) => {
                let before = [0, 1].map(|side| {
                    let this = difference.moves[side].as_ref()?;
                    made[side].iter().position(|known| known.event == this.event)
                });
                let first = before.into_iter().flatten().min().expect("a move of either run");
                let shorter = usize::from(before[0] != Some(first));
                for known in &made[shorter][..first] {
                    let same = made[1 - shorter].iter().find(|its| its.key() == known.key());
                    let same = same.expect("the same move");
                    prop_assert!(same.same_command(known) && same.same_reply(known));
                }
            }
        }
    }

    #[test]
    fn a_timeline_keeps_every_event_and_the_order_of_both_logs(one in any_run(), other in any_run()) {
        let timeline = Timeline::new([&one, &other]);
        for (side, log) in [&one, &other].into_iter().enumerate() {
            let events: Vec<usize> = timeline.slots.iter().filter_map(|slot| slot.events[side]).collect();
            prop_assert_eq!(events, (0..log.len()).collect::<Vec<_>>());
        }
        prop_assert!(timeline.slots.windows(2).all(|pair| pair[0].at <= pair[1].at));
        prop_assert!(timeline.stops.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert_eq!(timeline.stops.last(), Some(&timeline.slots.len()));
        for stop in &timeline.stops {
            let over = timeline.positions(*stop);
            let counted = timeline.slots[..*stop].iter();
            let counted = [0, 1].map(|side| counted.clone().filter(|slot| slot.events[side].is_some()).count());
            prop_assert_eq!(over, counted);
        }
    }
}
