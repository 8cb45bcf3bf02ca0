//! Faults of servers on the screen: on their lanes, in the wire log and in the servers' pane.

use crossterm::event::KeyCode;
use lockstep::{
    clock::ClockKind,
    log::{ActorId, Belief, Direction, EventKind, Fault, LinkId, ServerInfo, Stop},
    text::Lang,
};

use crate::{
    staged::Script,
    stand::{LANGS, Stand},
};

/// One server more than there are lanes on the smallest screen.
const SERVERS: [&str; 5] = ["redis1", "redis2", "redis3", "redis4", "redis5"];

/// A lab of five masters and one client in which nothing has happened.
fn five() -> Script {
    let mut script = Script::new("Redis", ClockKind::Controlled, &[("A".into(), "A".into(), false)]);
    if let EventKind::LabReady { servers, .. } = &mut script.events[0].kind {
        *servers = SERVERS
            .iter()
            .map(|name| ServerInfo {
                name: (*name).into(),
                product: "Redis".into(),
                version: "7.0.15".into(),
                address: format!("/tmp/lockstep/{name}.sock"),
                password: None,
            })
            .collect();
    }
    script
}

fn cause(script: &mut Script, fault: Fault) {
    script.add(EventKind::Fault(fault));
    script.stop(Stop::Fault);
}

/// Every fault of a server, one after another.
fn faults() -> Script {
    let mut script = five();
    let server = |name: &str| name.to_owned();
    let link = || LinkId::new("redis3", "redis1");
    for fault in [
        Fault::KillServer { server: server("redis1") },
        Fault::FreezeServer { server: server("redis2") },
        Fault::Hold { link: link(), way: Direction::Replies },
        Fault::Skew { server: server("redis4"), ahead_ms: 30_000 },
        Fault::Skew { server: server("redis5"), ahead_ms: -1_250 },
        Fault::RestartServer { server: server("redis1") },
        Fault::ThawServer { server: server("redis2") },
        Fault::Cut { link: link() },
    ] {
        cause(&mut script, fault);
    }
    script
}

/// The servers' lanes, which are above every other pane that names servers.
fn lanes(stand: &Stand) -> Vec<String> {
    let rows = stand.rows();
    let lane = |server: &str| {
        let begins = |row: &&String| row.trim_start_matches('│').starts_with(server);
        rows.iter()
            .filter(begins)
            .find(|row| row.contains(['✝', '▮', '▶', '◷', '✗']))
            .cloned()
            .unwrap_or_default()
    };
    SERVERS.iter().map(|server| lane(server)).collect()
}

#[test]
fn every_fault_of_a_server_stands_on_its_lane_at_every_size() {
    for size in [(100, 30), (120, 40), (200, 60)] {
        for lang in LANGS {
            let stand = Stand::lesson(faults(), lang, size);
            let lanes = lanes(&stand);
            let shows = |n: usize, words: &[&str]| {
                for word in words {
                    assert!(lanes[n].contains(word), "{size:?} {word}\n{:#?}", stand.rows());
                }
            };
            shows(0, &["✝ SIGKILL", if lang == Lang::En { "▶ START" } else { "▶ 重启" }]);
            shows(1, &["▮ SIGSTOP", "▶ SIGCONT"]);
            shows(2, &["▮ →redis1", "✗ →redis1"]);
            shows(3, &["◷ +30s"]);
            shows(4, &["◷ -1.25s"]);
            stand.assert_whole();
        }
    }
}

#[test]
fn faults_are_told_in_words_and_only_up_to_the_playhead() {
    let mut stand = Stand::lesson(faults(), Lang::En, (120, 40));
    for words in [
        "✝ redis1 killed",
        "▮ redis3→redis1 link holds replies",
        "◷ redis4 clock 30 s ahead",
        "◷ redis5 clock 1.25 s behind",
        // The servers' pane.
        "redis4 ◷ clock 30 s ahead",
    ] {
        assert!(stand.shows(words), "{words}\n{:#?}", stand.rows());
    }
    stand.press('L');
    for words in ["◷ redis4 时钟快了 30 秒", "◷ redis5 时钟慢了 1.25 秒", "▮ redis3→redis1 链路挂起回复"]
    {
        assert!(stand.shows(words), "{words}\n{:#?}", stand.rows());
    }
    stand.key(KeyCode::Home);
    assert!(!stand.shows("SIGKILL"), "{:#?}", stand.rows());
    assert!(!stand.shows("◷"), "{:#?}", stand.rows());
}

#[test]
fn a_clock_put_right_is_no_longer_shown_as_wrong() {
    let mut script = five();
    let skew = |ahead_ms| Fault::Skew { server: "redis2".into(), ahead_ms };
    cause(&mut script, skew(4000));
    cause(&mut script, skew(0));
    let stand = Stand::lesson(script, Lang::En, (120, 40));
    assert!(stand.shows("◷ redis2 clock right again"), "{:#?}", stand.rows());
    assert!(!stand.shows("redis2 ◷"), "{:#?}", stand.rows());
}

#[test]
fn what_a_witness_has_to_type_is_shown_beside_the_servers() {
    let stand = Stand::lesson(five(), Lang::En, (120, 40));
    assert!(!stand.shows("from outside"), "{:#?}", stand.rows());
    for (lang, words) in [(Lang::En, "from outside: redis-cli -s … -a 5e5a3e"), (Lang::Zh, "-a 5e5a3e")] {
        let mut script = five();
        if let EventKind::LabReady { servers, .. } = &mut script.events[0].kind {
            for server in servers {
                server.password = Some("5e5a3e".into());
            }
        }
        let stand = Stand::lesson(script, lang, (120, 40));
        assert!(stand.shows(words), "{:#?}", stand.rows());
    }
}

/// A key that is set as soon as its server is up again: its holder's name appears after the mark of the server's start.
#[test]
fn what_happened_to_a_server_and_who_holds_its_key_stand_beside_each_other() {
    let mut script = five();
    script.say("The server fails.", "服务器故障。");
    let server = || "redis1".to_owned();
    cause(&mut script, Fault::KillServer { server: server() });
    cause(&mut script, Fault::RestartServer { server: server() });
    script.call(0, "acquire", "SET lock A NX PX 30000", serde_json::json!("OK"));
    script.key("lock", Some("A"), Some(30_000));
    if let Some(EventKind::State(state)) = script.events.last_mut().map(|event| &mut event.kind) {
        state.server = server();
    }
    script.pass(10_000);
    script.stop(Stop::Move);
    for size in [(80, 24), (100, 24)] {
        let stand = Stand::lesson(script.clone(), Lang::En, size);
        let row = stand.rows().into_iter().find(|row| row.contains("▶ START")).unwrap_or_default();
        assert!(row.contains("▶ START ● A"), "{size:?}: {:#?}", stand.rows());
    }
}

#[test]
fn two_who_wait_for_each_other_are_seen_to_hold_and_to_wait() {
    let who = ["A", "B"].map(|name| (name.to_owned(), name.to_owned(), false));
    let mut script = Script::new("Redis", ClockKind::Controlled, &who);
    for (round, reply) in [(0, "OK".into()), (1, serde_json::Value::Null)] {
        for actor in [0, 1] {
            let lock = ["a", "b"][(actor + round) % 2];
            let actor = u32::try_from(actor).expect("few actors");
            let believes =
                |belief| EventKind::Believes { actor: ActorId(actor), lock: lock.to_owned(), belief };
            script.add(believes(Belief::Waiting));
            script.call(actor, "acquire", &format!("SET {lock} x NX"), serde_json::Value::clone(&reply));
            if round == 0 {
                script.add(believes(Belief::Holding));
            }
            script.pass(500);
            script.stop(Stop::Move);
        }
    }
    for (lang, says) in
        [(Lang::En, ["A waits for ■ B", "B waits for ● A"]), (Lang::Zh, ["A 等待 ■ B", "B 等待 ● A"])]
    {
        let stand = Stand::lesson(script.clone(), lang, (120, 40));
        for words in says {
            let rows = stand.rows();
            let at = rows.iter().position(|row| row.contains(words));
            let at = at.unwrap_or_else(|| panic!("{words}\n{rows:#?}"));
            // Below the hatch is what each holds.
            let held = |row: &String| row.trim_end_matches('│').ends_with("████");
            assert!(rows[at + 1..=at + 2].iter().any(held), "{rows:#?}");
        }
        stand.assert_whole();
    }
}
