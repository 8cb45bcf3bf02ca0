//! Who decides on a failover: the Sentinels' messages are on the screen, in the wire log, in the servers' lanes, beside
//! the servers' contents, and in the sequence.

use lockstep::{
    log::{Event, EventKind, Log, Observed, Role, SentinelNotice},
    recording::carried,
    run::session::Update,
    text::Lang,
};

use crate::{scenarios, stand::Stand};

fn log() -> Log {
    carried::open(&scenarios::carried("failover", "replication-lag")).expect("a recording").log
}

/// The events up to the end of the step in which a replica became the master.
fn promoted(log: &Log) -> &[Event] {
    let is_promoted = |event: &Event| match &event.kind {
        EventKind::State(state) if state.server == "node2" => {
            matches!(&state.observed, Observed::Redis(space) if space.role == Some(Role::Master))
        }
        _ => false,
    };
    let promoted = log.events().iter().position(is_promoted).expect("a promotion");
    let rest = log.events()[promoted..].iter();
    let stop = rest.take_while(|event| !matches!(event.kind, EventKind::Stop { .. })).count();
    &log.events()[..=promoted + stop]
}

fn notices(events: &[Event]) -> impl Iterator<Item = (&str, &SentinelNotice)> {
    events.iter().filter_map(|event| match &event.kind {
        EventKind::Sentinel { sentinel, notice } => Some((sentinel.as_str(), notice)),
        _ => None,
    })
}

/// The Sentinel that was elected.
fn leader(log: &Log) -> String {
    let elected = notices(log.events()).find(|(_, notice)| **notice == SentinelNotice::Elected);
    elected.expect("an election").0.to_owned()
}

fn seen(events: &[Event], lang: Lang, size: (u16, u16)) -> Stand {
    let mut stand = Stand::opened(lang, size);
    stand.events(events.to_vec());
    stand.update(Update::Stepped { ended: false });
    stand.press('x');
    stand
}

#[test]
fn a_recording_tells_a_failover_in_its_order() {
    let log = log();
    let words: Vec<&str> = notices(promoted(&log)).map(|(_, notice)| notice.word()).collect();
    let first = |word: &str| words.iter().position(|known| *known == word).expect(word);
    let order = ["+sdown", "+odown", "+vote-for-leader", "+elected-leader", "+selected-slave"].map(first);
    assert!(order.is_sorted(), "{words:?}");
    let leader = leader(&log);
    let votes = notices(log.events()).filter(
        |(_, notice)| matches!(notice, SentinelNotice::Votes { leader: chosen, .. } if *chosen == leader),
    );
    assert!(votes.count() >= 2, "two of three elect it");
}

#[test]
fn who_decides_is_seen_where_it_is_decided() {
    let log = log();
    let leader = leader(&log);
    for (lang, elected, needed) in [
        (Lang::En, format!("elected: {leader}, promotes node2"), ", 2 needed"),
        (Lang::Zh, format!("当选：{leader}，提升 node2"), "，需 2 个"),
    ] {
        let mut stand = seen(promoted(&log), lang, (120, 40));
        // In this order: the heading of the tally, the Sentinels that miss the master, votes, the elected one; then the
        // wire log.
        for words in [
            "⚑",
            needed,
            &elected,
            "+sdown node1",
            "+odown node1",
            &format!("+vote-for-leader {leader}"),
            "+elected-leader",
            "+selected-slave node2",
        ] {
            assert!(stand.shows(words), "{words} {:#?}", stand.rows());
        }
        // The servers' lanes: the old master's and the new one's.
        for lane in ["node1", "node2 ♛"] {
            let marked = stand.rows().iter().any(|row| row.contains(lane) && row.contains('⚑'));
            assert!(marked, "{lane} {:#?}", stand.rows());
        }
        stand.press('w');
        assert!(stand.shows("+elected-leader"), "{:#?}", stand.rows());
        stand.assert_whole();
        // On a small screen the tally is what the step has changed, and so is visible.
        let small = seen(promoted(&log), lang, (80, 24));
        assert!(small.shows(&leader) && small.shows(&elected), "{:#?}", small.rows());
        small.assert_whole();
    }
}

#[test]
fn a_locks_owner_is_named_before_its_lease_is_drawn() {
    let log = carried::open(&scenarios::carried("failover", "split-brain")).expect("a recording").log;
    for size in [(80, 24), (120, 40)] {
        let mut stand = seen(log.events(), Lang::Zh, size);
        stand.ended();
        stand.key(crossterm::event::KeyCode::Right);
        let rows = stand.rows();
        let cut = rows.iter().find(|row| row.contains("node") && row.contains("lock  …"));
        assert!(cut.is_none(), "{size:?} {rows:#?}");
    }
}

#[test]
fn three_who_say_the_same_are_told_in_one_line() {
    let log = log();
    let stand = seen(promoted(&log), Lang::En, (120, 40));
    let lines = stand.rows().iter().filter(|row| row.contains("+sdown node1")).count();
    let missed = notices(promoted(&log)).filter(|(_, notice)| notice.word() == "+sdown").count();
    assert!(missed > 1 && lines == 1, "{missed} {:#?}", stand.rows());
    assert!(stand.shows(&format!("{missed} Sentinels")), "{:#?}", stand.rows());
}

#[test]
fn a_recording_from_before_sentinels_were_heard_plays_as_it_did() {
    let mut old = Log::new();
    let silent = |event: &&Event| !matches!(event.kind, EventKind::Sentinel { .. });
    let log = log();
    old.extend(log.events().iter().filter(silent).cloned());
    let stand = seen(old.events(), Lang::En, (120, 40));
    assert!(stand.shows("♛ master") && !stand.shows("⚑"), "{:#?}", stand.rows());
}
