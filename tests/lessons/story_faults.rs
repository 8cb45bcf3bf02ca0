//! What a story can do to clocks, links and processes, on real servers; and variants with servers of their own.

use serde_json::{Value, json};

use crate::{
    place::Place,
    texts::{HEAD, ONLY},
};

/// A lesson of one variant: its servers, its clients, its claims, and its story.
fn lesson(lab: &str, cast: &str, claims: &[&str], story: &str) -> String {
    let claims: Vec<String> = claims.iter().map(|claim| format!("      - {claim}\n")).collect();
    format!("{HEAD}lab: {lab}\n{cast}{ONLY}    claims:\n{}story:\n{story}", claims.concat())
}

/// Runs a lesson whose claims must all hold; returns its events.
fn proved(text: &str) -> Vec<Value> {
    let place = Place::new();
    place.write("tried.yaml", text);
    let answer = place.run(&["run", "tried.yaml", "--json", "--events"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    place.assert_nothing_left();
    let report = answer.json().remove(0);
    report["events"].as_array().expect("events").clone()
}

/// The message of a command that refuses a lesson, which must name its place.
fn refused(command: &[&str], text: &str) -> String {
    let place = Place::new();
    place.write("tried.yaml", text);
    let answer = place.run(&[command, &["tried.yaml"]].concat());
    assert_eq!(answer.code, Some(2), "{}{}", answer.out, answer.err);
    assert!(answer.err.contains("tried.yaml:"), "{}", answer.err);
    answer.err
}

fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["event"] == kind).collect()
}

const CLOCKS: &str = "
clients:
  A: { runs: worker }
programs:
  worker:
    - set1: { redis: SET lock A PX 10000, on: redis1 }
    - set2: { redis: SET lock A PX 10000, on: redis2 }
    - set3: { redis: SET lock A PX 10000, on: redis3 }
    - early2: { redis: GET lock, on: redis2 }
    - late2: { redis: GET lock, on: redis2 }
    - early1: { redis: GET lock, on: redis1 }
    - late1: { redis: GET lock, on: redis1 }
    - early3: { redis: GET lock, on: redis3 }
    - late3: { redis: GET lock, on: redis3 }
    - probe2: { redis: SET probe A PX 5000, on: redis2 }
    - probe3: { redis: SET probe A PX 5000, on: redis3 }
";

const CLOCK_STORY: &str = r"
  - each: [A.set1, A.set2, A.set3]
  - skew: { redis2: '${ahead}', redis3: -4s }
  - pass: 5900ms
  - move: A.early2
  - pass: 100ms
  - move: A.late2
  - pass: 3800ms
  - move: A.early1
  - pass: 200ms
  - move: A.late1
  - pass: 3800ms
  - move: A.early3
  - pass: 200ms
  - move: A.late3
  - each: [A.probe2, A.probe3]
";

#[test]
fn a_server_whose_clock_is_ahead_ends_leases_early_by_exactly_so_much() {
    let claims = [
        "A.early2 == 'A'",
        "A.late2 is none",
        "A.early1 == 'A'",
        "A.late1 is none",
        "A.early3 == 'A'",
        "A.late3 is none",
        // An observed expiry is lesson time, however wrong its server's clock is.
        "pttl('probe', 'redis2') > 4900 and pttl('probe', 'redis2') <= 5000",
        "pttl('probe', 'redis3') > 4900 and pttl('probe', 'redis3') <= 5000",
    ];
    let text = lesson("masters\nparams:\n  ahead: 4s", CLOCKS, &claims, CLOCK_STORY);
    let events = proved(&text);
    let skews: Vec<&Value> = of_kind(&events, "fault");
    let what: Vec<_> =
        skews.iter().map(|fault| (&fault["fault"], &fault["server"], &fault["ahead_ms"])).collect();
    assert_eq!(
        what,
        [(&json!("skew"), &json!("redis2"), &json!(4000)), (&json!("skew"), &json!("redis3"), &json!(-4000))]
    );
    // The observation right after the clocks were set: the lease on redis2 now ends 4 s earlier, the one on redis3 4 s
    // later, the one on redis1 as before.
    let ends = |server: &str| -> Vec<f64> {
        let seen = of_kind(&events, "state").into_iter().filter(|state| state["server"] == server);
        seen.filter_map(|state| state["observed"]["redis"]["keys"]["lock"]["expires_at"].as_f64()).collect()
    };
    for (server, moved) in [("redis1", None), ("redis2", Some(-4e9)), ("redis3", Some(4e9))] {
        let ends = ends(server);
        assert_eq!(ends.len(), 1 + usize::from(moved.is_some()), "{server}: {ends:?}");
        if let Some(moved) = moved {
            assert!((ends[1] - ends[0] - moved).abs() < 1.0, "{server}: {ends:?}");
        }
    }
}

#[test]
fn a_clock_can_be_put_right_again_and_outlives_a_restart() {
    let cast = "
clients:
  A: { runs: worker }
programs:
  worker:
    - before: { redis: TIME, on: redis1 }
    - wrong: { redis: TIME, on: redis1 }
    - still: { redis: TIME, on: redis1 }
    - right: { redis: TIME, on: redis1 }
    - other: { redis: TIME, on: redis2 }
";
    let claims = [
        "A.wrong[0]|int - A.before[0]|int >= 3600",
        "A.still[0]|int - A.before[0]|int >= 3600",
        "A.right[0]|int - A.before[0]|int < 60",
        "A.other[0]|int - A.before[0]|int < 60",
    ];
    let story = "
  - move: A.before
  - skew: { redis1: 1h }
  - move: A.wrong
  - kill: redis1
  - restart: redis1
  - move: A.still
  - skew: { redis1: 0s }
  - each: [A.right, A.other]
";
    proved(&lesson("masters", cast, &claims, story));
}

#[test]
fn clocks_that_cannot_be_set_are_named_with_their_place() {
    let good = lesson("masters\nparams:\n  ahead: 4s", CLOCKS, &["A.set1 == 'OK'"], CLOCK_STORY);
    for (from, to, why) in [
        ("redis3: -4s", "redis9: -4s", "unknown server or client `redis9`"),
        ("redis3: -4s", "redis3: soon", "`soon` is not a duration"),
        ("redis3: -4s", "redis3: true", "`true` is not a duration"),
        ("{ redis2: '${ahead}', redis3: -4s }", "{}", "nobody's clock is set"),
        ("${ahead}", "${behind}", "behind"),
    ] {
        let error = refused(&["check"], &good.replacen(from, to, 1));
        assert!(error.contains(why), "{to}: {error}");
    }
    let error = refused(&["run", "--wall-clock"], &good);
    assert!(error.contains("this run is on the machine's own clock"), "{error}");
}

const ONE_WAY: &str = "
clients:
  A: { runs: setter }
  B: { runs: reader }
programs:
  setter:
    - set: { redis: INCR key, allow: [Lost] }
  reader:
    - get: { redis: GET key }
    - again: { redis: GET key }
";

#[test]
fn a_held_reply_is_lost_although_the_server_did_what_was_asked() {
    let story = "
  - hold: { link: A->redis, way: replies }
  - move: A.set
  - move: B.get
  - drop: A->redis
  - move: B.again
";
    let claims = ["B.get == '1'", "A.set == 'Lost'", "B.again == '1'"];
    let events = proved(&lesson("redis", ONE_WAY, &claims, story));
    let faults = of_kind(&events, "fault");
    assert_eq!(faults[0]["way"], "replies", "{}", faults[0]);
    assert_eq!(faults[1].get("way"), None, "{}", faults[1]);
    // The step of the move ends when the server has acted: its own observation already shows it.
    let position = |found: &dyn Fn(&Value) -> bool| events.iter().position(found);
    let seen = position(&|event| event["observed"]["redis"]["keys"]["key"].is_object());
    let got = position(&|event| event["event"] == "sent" && event["label"] == "get");
    assert!(seen.is_some() && seen < got, "{seen:?} {got:?}");
}

const HANDOVER: &str = "
clients:
  A: { runs: worker }
  B: { runs: worker }
programs:
  worker:
    - acquire: { redis: 'SET lock ${self} NX PX 60000', until: reply == 'OK', every: 200ms }
    - holds: lock
    - release: { redis: DEL lock }
    - drops: lock
";

/// A client that has requested the release no longer holds the lock, although the reply is late and it does not know
/// yet.
#[test]
fn the_next_holder_may_be_let_in_before_the_reply_to_the_release_is_in() {
    let story = "
  - move: A.acquire
  - hold: { link: A->redis, way: replies }
  - move: A.release
  - move: B.acquire
  - release: A->redis
  - pass: 100ms
";
    let claims = ["exclusive: lock", "holders('lock') == 1", "A.release == 1", "B.acquire == 'OK'"];
    // Even without an invariant of the lesson's, two holders count as a failure.
    let text = lesson("redis", HANDOVER, &claims, story).replace("expect: shown", "expect: prevented");
    let events = proved(&text);
    let believes = of_kind(&events, "believes");
    let beliefs: Vec<_> =
        believes.iter().map(|event| (event["actor"].as_u64(), event["belief"].as_str())).collect();
    // A still believed that it held the lock when B came to: this is the intended case.
    let (holding, nothing) = (Some("holding"), Some("nothing"));
    assert_eq!(beliefs, [(Some(0), holding), (Some(1), holding), (Some(0), nothing)]);
    let place = Place::new();
    place.write("tried.yaml", text);
    let answer = place.run(&["run", "tried.yaml", "--record", "run.jsonl"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    for (format, red) in [("mermaid", "rect rgba"), ("html", "\"clashes\":[{")] {
        let export = ["export", "run.jsonl", "--lessons", ".", "--format", format];
        let answer = place.run(&export);
        assert_eq!(answer.code, Some(0), "{}", answer.err);
        assert!(answer.out.contains("DEL lock"), "{format}");
        assert!(!answer.out.contains(red), "{format}");
    }
}

/// Every claim holds, but an invariant does not: nothing was prevented.
#[test]
fn a_story_that_breaks_an_invariant_has_prevented_nothing() {
    let story = "
  - move: A.acquire
  - pass: 60s
  - move: B.acquire
";
    let claims = ["A.acquire == 'OK'", "B.acquire == 'OK'"];
    let text = lesson("redis", HANDOVER, &claims, story);
    proved(&text);
    let place = Place::new();
    place.write("tried.yaml", text.replace("expect: shown", "expect: prevented"));
    let answer = place.run(&["run", "tried.yaml"]);
    assert_eq!(answer.code, Some(1), "{}{}", answer.out, answer.err);
    assert!(answer.out.contains("✗ never: overlap: lock"), "{}", answer.out);
    let answer = place.run(&["run", "tried.yaml", "--json"]);
    let report = answer.json().remove(0);
    assert_eq!(report["verdict"], "not_shown");
    let broken = &report["claims"][2];
    assert_eq!((&broken["claim"], &broken["holds"]), (&json!("never: overlap: lock"), &json!(false)));
}

#[test]
fn a_reply_of_one_of_five_servers_is_held_before_the_first_command_and_later() {
    let cast = "
clients:
  A: { runs: setter }
  B: { runs: reader }
programs:
  setter:
    - first: { redis: INCR key, on: redis2, allow: [Lost] }
    - other: { redis: INCR key, on: redis3 }
    - second: { redis: INCR key, on: redis2 }
  reader:
    - get: { redis: GET key, on: redis2 }
    - again: { redis: GET key, on: redis2 }
";
    let story = "
  - hold: { link: A->redis2, way: replies }
  - move: A.first
  - move: B.get
  - drop: A->redis2
  - move: A.other
  - release: A->redis2
  - hold: { link: A->redis2, way: replies }
  - move: A.second
  - move: B.again
  - release: A->redis2
";
    let claims = ["B.get == '1'", "A.first == 'Lost'", "A.other == 1", "B.again == '2'", "A.second == 2"];
    proved(&lesson("masters", cast, &claims, story));
}

#[test]
fn a_released_reply_is_there_before_the_next_move_even_where_another_link_is_held() {
    let cast = "
clients:
  A: { runs: setter }
programs:
  setter:
    - set: { redis: INCR key, on: redis3 }
    - again: { redis: INCR key, on: redis3 }
";
    let story = "
  - hold: { link: [A->redis3, A->redis4], way: replies }
  - move: A.set
  - release: A->redis3
  - move: A.again
";
    proved(&lesson("masters", cast, &["A.set == 1", "A.again == 2"], story));
}

/// What a client learns of a broken connection, the same on every lab: `SERVER` is one of its Redis servers.
#[test]
fn idle_clients_connect_again_and_what_was_on_its_way_is_lost() {
    let cast = "
clients:
  A: { runs: user }
  B: { runs: user }
  C: { runs: user }
programs:
  user:
    - first: { redis: INCR key, on: SERVER, allow: [Lost] }
    - second: { redis: INCR key, on: SERVER, allow: [Lost] }
    - third: { redis: INCR key, on: SERVER, allow: [Lost] }
    - fourth: { redis: INCR key, on: SERVER, allow: [Lost] }
";
    let story = "
  - move: A.first
  - hold: { link: B->SERVER, way: requests }
  - move: B.first
  - kill: SERVER
  - move: A.second
  - release: B->SERVER
  - restart: SERVER
  # A and B have lost a command meanwhile; C has never sent any.
  - each: [C.first, A.third, B.second]
  - kill: SERVER
  - restart: SERVER
  # All of them were idle.
  - each: [C.second, A.fourth, B.third]
  - cut: C->SERVER
  - release: C->SERVER
  - each: [C.third, B.fourth]
";
    let claims = [
        "A.first == 1",
        "B.first == 'Lost'",
        "A.second == 'Lost'",
        "C.first == 1 and A.third == 2 and B.second == 3",
        "C.second == 1 and A.fourth == 2 and B.third == 3",
        "C.third == 4 and B.fourth == 5",
    ];
    for (lab, server) in [("redis", "redis"), ("masters", "redis2")] {
        let text = lesson(lab, cast, &claims, story).replace("SERVER", server);
        proved(&text);
    }
}

#[test]
fn whoever_is_moving_goes_on_as_soon_as_a_notification_has_come() {
    let cast = "
clients:
  A: { runs: holder }
  B: { runs: waiter }
programs:
  holder:
    - create: { zk: create -e /lock A }
    - work: 400ms
    - release: { zk: delete /lock }
  waiter:
    - look: { zk: exists -w /lock }
    - wake: { take: /lock }
    - create: { zk: create -e /lock B }
    - work: 400ms
    - release: { zk: delete /lock }
";
    for passes in [
        "pass: { for: 2s, moving: [A, B] }",
        "pass: { for: 2s, moving: [B, A] }",
        "await: { that: moves('B.release') == 1, within: 4s, moving: [B, A] }",
    ] {
        let story = format!("  - each: [A.create, B.look]\n  - {passes}\n");
        let claims = ["B.create == '/lock'", "moves('B.release') == 1"];
        proved(&lesson("zookeeper", cast, &claims, &story).replace("track: redis", "track: zookeeper"));
    }
}

#[test]
fn a_let_right_before_an_operation_is_evaluated_when_it_begins() {
    let cast = "
clients:
  A: { runs: worker }
  B: { runs: setter }
programs:
  stamp:
    - let: { began: now }
    - stamp: { redis: \"SET ${to} ${began}\" }
  setter:
    - set: { redis: SET go 1 }
  worker:
    - first: { redis: GET nothing }
    - let: { began: now }
    - second: { redis: \"SET began ${began}\" }
    - let: { replied: now }
    - holds: lock
    - let: { tried: now }
    - third: { redis: GET go, until: reply == '1', every: 1s }
    - fourth: { redis: \"MSET replied ${replied} tried ${tried}\" }
    - use: stamp
      with: { to: stamped }
    - drops: lock
    - let: { left: 20000 - now }
    - work: ${left}
";
    let story = "
  - move: A.first
  - pass: 2s
  - move: A.second
  - pass: 2s
  - move: A.third
  - pass: 1500ms
  - move: [B.set, A.third]
  - pass: 1s
  - move: A.fourth
  - pass: 1s
  - move: A.stamp
";
    let claims = [
        "value('began')|int >= 2000 and value('began')|int < 3000",
        // What comes before a visible step, such as a belief, is done when the reply is in.
        "value('replied')|int >= 2000 and value('replied')|int < 3000",
        // A retry does not begin the operation again.
        "value('tried')|int >= 4000 and value('tried')|int < 5000",
        "value('stamped')|int >= 7500 and value('stamped')|int < 8500",
    ];
    let events = proved(&lesson("redis", cast, &claims, story));
    let seconds = |event: &Value, field: &str| event[field].as_f64().expect("a time") / 1e9;
    let belief = seconds(of_kind(&events, "believes")[0], "at");
    assert!((2.0..3.0).contains(&belief), "{belief}");
    // A wait begins as soon as the reply before it is in.
    let waits = of_kind(&events, "waits");
    let until = seconds(waits.last().expect("a wait"), "until");
    assert!((20.0..20.1).contains(&until), "{until}");
}

#[test]
fn a_held_request_has_not_arrived_until_the_link_is_released() {
    let story = "
  - hold: { link: [A->redis], way: requests }
  - move: A.set
  - move: B.get
  - release: A->redis
  - move: B.again
";
    let claims = ["B.get is none", "A.set == 1", "B.again == '1'"];
    let events = proved(&lesson("redis", ONE_WAY, &claims, story));
    assert_eq!(of_kind(&events, "fault")[0]["way"], "requests");
}

#[test]
fn a_hold_that_cannot_be_is_named_with_its_place() {
    let story = "  - hold: { link: A->redis, way: replies }\n  - move: A.set\n";
    let good = lesson("redis", ONE_WAY, &["exists('key')"], story);
    for (from, to, why) in [
        ("way: replies", "way: back", "`way` cannot be `back`"),
        ("way: replies", "ways: replies", "unknown field `ways`"),
        ("{ link: A->redis, way: replies }", "[]", "an empty list"),
        ("{ link: A->redis, way: replies }", "7", "takes a text or a list or fields below it"),
        ("link: A->redis", "link: A->postgres", "unknown server `postgres`"),
        ("link: A->redis", "link: redis->A", "a link goes from a client to a server"),
    ] {
        let error = refused(&["check"], &good.replacen(from, to, 1));
        assert!(error.contains(why), "{to}: {error}");
    }
}

const SLEEPER: &str = "
clients:
  A: { runs: sleeper }
  B: { runs: watcher }
programs:
  sleeper:
    - nap: { wait: 2s }
    - set: { redis: SET key A }
  watcher:
    - look: { wait: 3s }
    - get: { redis: GET key }
";

#[test]
fn the_timers_of_a_frozen_client_fire_when_it_is_thawed() {
    let story = "
  - freeze: A
  - pass: { for: 10s, moving: [A, B] }
  - thaw: A
  - move: A.set
";
    let claims = ["B.get is none", "A.set == 'OK'"];
    let events = proved(&lesson("redis", SLEEPER, &claims, story));
    let moment = |found: &dyn Fn(&Value) -> bool| {
        let event = events.iter().find(|event| found(event)).expect("it happened");
        event["at"].as_i64().expect("a time")
    };
    let thawed = moment(&|event| event["fault"] == "thaw");
    let woke = moment(&|event| event["event"] == "waited" && event["label"] == "nap");
    let other = moment(&|event| event["event"] == "waited" && event["label"] == "look");
    assert!(woke >= thawed, "woke at {woke}, thawed at {thawed}");
    assert!(woke - thawed < 1_000_000_000, "at once: {}", woke - thawed);
    assert!(other < thawed, "whoever runs is woken in time");
}

#[test]
fn a_frozen_client_makes_no_move_and_the_story_is_told_so() {
    for (to, help) in [
        ("move: A.set", "the story moves A.set, but A is frozen"),
        ("each: [B.get, A.set]", "the story moves A.set, but A is frozen"),
        ("together: [A.set, B.get]", "the story moves A.set, but A is frozen"),
        ("finish: A", "the story moves A to its end, but A is frozen"),
    ] {
        let story = format!("  - freeze: A\n  - {to}\n");
        let error = refused(&["run"], &lesson("redis", SLEEPER, &["A.set == 'OK'"], &story));
        assert!(error.contains(help), "{to}: {error}");
        assert!(error.contains("help: thaw it first: `- thaw: A`"), "{to}: {error}");
    }
}

const THREADS: &str = "
clients:
  A: { named_threads: { worker: work, dog: renew } }
programs:
  work:
    - acquire: { redis: SET lock A }
    - holds: lock
  renew:
    - renew: { redis: INCR renewals }
";

#[test]
fn claims_and_questions_name_the_threads_of_a_process() {
    let story = "
  - move: A.worker.acquire
  - ask:
      q: { en: What will it answer?, zh: 会返回什么？ }
      choices:
        - says: { en: one, zh: 一 }
          right: A.dog.renew == 1
          why: { en: It counts., zh: 它会计数。 }
        - says: { en: nothing, zh: 无 }
          why: { en: It answers., zh: 它会回复。 }
  - move: A.dog.renew
  - await: { that: A.dog.renew == 1, within: 1s }
";
    let claims = [
        "A.worker.acquire == 'OK'",
        "A.dog.renew == 1",
        "A.dog.finished",
        "moves('A.dog.renew') == 1",
        "finished('A.worker') == 1",
        "finished('A') == 2",
    ];
    let events = proved(&lesson("redis", THREADS, &claims, story));
    assert_eq!(of_kind(&events, "decided")[0]["right"], json!([0]));
}

#[test]
fn a_claim_about_a_thread_or_a_move_of_it_that_is_not_there_is_a_mistake() {
    let story = "  - move: A.worker.acquire\n";
    let good = lesson("redis", THREADS, &["A.worker.acquire == 'OK'"], story);
    for (to, why) in [
        ("A.worker.aquire == 'OK'", "unknown move of A.worker `aquire`"),
        ("A.wroker.acquire == 'OK'", "unknown thread of A `wroker`"),
        ("A.acquire == 'OK'", "did you mean `A.worker.acquire`?"),
        ("moves('A.dog.acquire') == 0", "unknown move of A.dog `acquire`"),
        ("moves('A.cat') == 0", "unknown thread of A `cat`"),
    ] {
        let error = refused(&["check"], &good.replacen("A.worker.acquire == 'OK'", to, 1));
        assert!(error.contains(why), "{to}: {error}");
    }
}

/// The two-lab lesson without its head.
const TWO_LABS: &str = r#"lab: redis
clients:
  A: { runs: one }
programs:
  one:
    - set: { redis: INCR key }
  five:
    - set: { redis: INCR key, on: redis3 }
    - other: { redis: INCR key, on: redis4 }
setup:
  - redis: SET key 5
variants:
  one:
    title: { en: One, zh: 一台 }
    expect: shown
    lesson: { en: Tried, zh: 试 }
    claims:
      - A.set == 6
      - value('key', 'redis') == '6'
  five:
    title: { en: Five, zh: 五台 }
    expect: shown
    lesson: { en: Tried, zh: 试 }
    lab: masters
    clients:
      A: { runs: five }
    setup:
      - redis: SET key 8
        on: redis3
      - { redis: "SET key 1" }
    story:
      - each: [A.set, A.other]
      - kill: redis5
    claims:
      - A.set == 9
      - A.other == 1
      - value('key', 'redis1') == '1'
      - role('redis5') is none
story:
  - move: A.set
"#;

#[test]
fn a_variant_may_have_servers_of_its_own() {
    let place = Place::new();
    place.write("tried.yaml", format!("{HEAD}{TWO_LABS}"));
    let answer = place.run(&["run", "tried.yaml", "--json", "--events", "--record", "."]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    place.assert_nothing_left();
    let servers: Vec<usize> = answer
        .json()
        .iter()
        .map(|report| report["events"][0]["servers"].as_array().map_or(0, Vec::len))
        .collect();
    assert_eq!(servers, [1, 5]);
    let listed = place.run(&["list", "--json", "--lessons", "."]).json();
    let tried = listed.iter().find(|lesson| lesson["id"] == "tried").expect("listed");
    assert_eq!(tried["lab"], "redis");
    assert_eq!(tried["variants"][0]["lab"], "redis");
    assert_eq!(tried["variants"][1]["lab"], "masters");
}

#[test]
fn a_variant_is_checked_against_its_own_servers() {
    for (from, to, why) in [
        ("lab: masters", "lab: sentinel", "unknown server"),
        ("lab: masters", "lab: zookeeper", "no server of this lab is Redis"),
        ("- redis: SET key 5", "- zk: create /key 5", "no server of this lab is ZooKeeper"),
        ("lab: masters", "lab: mysql", "`lab` cannot be `mysql`"),
        ("        on: redis3\n", "        on: redis7\n", "unknown server `redis7`"),
        ("        on: redis3\n", "        on: redis\n", "unknown server `redis`"),
        ("kill: redis5", "kill: redis", "unknown server `redis`"),
    ] {
        let text = format!("{HEAD}{}", TWO_LABS.replacen(from, to, 1));
        let error = refused(&["check"], &text);
        assert!(error.contains(why), "{to}: {error}");
    }
    // Metrics belong to the lesson, so every variant's servers must have them.
    let counting = format!("{HEAD}metrics: [evicted_keys]\n{TWO_LABS}");
    let place = Place::new();
    place.write("tried.yaml", &counting);
    assert_eq!(place.run(&["check", "tried.yaml"]).code, Some(0));
    let error = refused(&["check"], &counting.replacen("lab: masters", "lab: zookeeper", 1));
    assert!(error.contains("cannot give the lesson's `metrics`"), "{error}");
}

/// Five servers: one is killed and restarts empty, one stays dead, one is frozen for a while.
fn five(story_end: &str) -> String {
    let cast = "\
clients:
  A: { runs: worker }
programs:
  worker:
    - one: { redis: SET lock A PX 60000, on: redis1 }
    - two: { redis: SET lock A PX 60000, on: redis2, allow: [Lost] }
    - again: { redis: GET lock, on: redis2 }
    - three: { redis: SET lock A PX 60000, on: redis3 }
";
    let claims = [
        "A.two == 'Lost'",
        "A.again is none",
        "value('lock', 'redis1') == 'A'",
        "exists('lock', 'redis2') == false",
        "value('lock', 'redis3') == 'A'",
        "role('redis2') == 'master'",
        "role('redis4') is none",
    ];
    let story = "  - move: A.one
  - kill: redis2
  - move: A.two
  - kill: redis4
  - restart: redis2
  - move: A.again
  - freeze: redis3
  - move: A.three
  - pass: 1s
  - thaw: redis3
";
    lesson("masters", cast, &claims, &format!("{story}{story_end}"))
}

#[test]
fn servers_die_stand_still_and_come_back() {
    proved(&five("  - await: { that: \"value('lock', 'redis3') == 'A'\", within: 5s }\n"));
}

#[test]
fn what_a_story_cannot_do_to_servers_is_said_with_its_place() {
    for (to, why) in [
        ("  - kill: redis4\n", "the server `redis4` is dead already"),
        ("  - thaw: redis1\n", "the server `redis1` is not frozen"),
        ("  - restart: redis1\n", "the server `redis1` runs"),
        ("  - kill: redis6\n", "unknown server `redis6`"),
        ("  - drop: A->redis1\n", "holds nothing"),
        ("  - await: { that: exists('lock') == false, within: 1s }\n", "did not come true within 1000 ms"),
        ("  - await: { that: role('redis9') == 'master', within: 1s }\n", "unknown server `redis9`"),
    ] {
        let error = refused(&["run"], &five(to));
        assert!(error.contains(why), "{to}: {error}");
    }
    let error = refused(&["check"], &five("").replace("on: redis1", "on: primary"));
    assert!(error.contains("unknown server `primary`"), "{error}");
}

const PERSISTENCE: &str = "
clients:
  A: { runs: worker }
programs:
  worker:
    - set: { redis: SET lock A }
    - get: { redis: GET lock }
";

#[test]
fn a_loss_of_power_takes_what_was_not_on_the_disk() {
    let kill = "  - kill: { server: redis, loses: unsynced }\n  - restart: redis\n  - move: A.get\n";
    for (appendonly, wait, claim) in
        [("always", "", "A.get == 'A'"), ("everysec", "  - pass: 3s\n", "A.get == 'A'")]
    {
        let settings = format!("settings: {{ appendonly: {appendonly} }}\n{PERSISTENCE}");
        proved(&lesson("redis", &settings, &[claim], &format!("  - move: A.set\n{wait}{kill}")));
    }
    let refused = refused(
        &["check"],
        &lesson(
            "zookeeper",
            "clients: { A: { runs: a } }\nprograms: { a: [ ls: { zk: ls / } ] }\n",
            &["A.ls != 1"],
            "  - kill: { server: zookeeper, loses: unsynced }\n",
        ),
    );
    assert!(refused.contains("on the disk"), "{refused}");
}

#[test]
fn what_a_delayed_link_has_arrives_later_and_in_order() {
    let cast = "
clients:
  A: { runs: setter }
  B: { runs: setter }
programs:
  setter:
    - first: { redis: 'SET key ${client}' }
    - second: { redis: GET key }
";
    let story = "
  - delay: { link: A->redis, by: 2s, way: requests }
  - move: A.first
  - pass: 1s
  - move: B.first
  - pass: 5s
  - release: A->redis
  - delay: { link: B->redis, by: 2s, way: replies }
  - move: B.second
  - move: A.second
  - pass: 3s
";
    let events =
        proved(&lesson("redis", cast, &["A.first == 'OK'", "A.second == 'A'", "B.second == 'A'"], story));
    let at = |event: &Value| event["at"].as_i64().unwrap_or_else(|| panic!("{event}")) / 1_000_000;
    let span = |actor: u64, label: &str| {
        let all = |kind: &str| {
            let found = of_kind(&events, kind);
            let one = found.into_iter().find(|event| event["actor"] == actor && event["label"] == label);
            at(one.expect(label))
        };
        all("replied") - all("sent")
    };
    // Delayed data arrives no earlier than its delay; how much later depends on the machine, but never by a whole
    // delay.
    assert!((2000..4000).contains(&span(0, "first")), "{}", span(0, "first"));
    assert!((2000..4000).contains(&span(1, "second")), "{}", span(1, "second"));
    assert!(span(0, "second") < 2000, "{}", span(0, "second"));
}

#[test]
fn what_is_written_to_an_append_only_file_survives_a_kill() {
    let story = "  - move: A.set\n  - kill: redis\n  - restart: redis\n  - move: A.get\n";
    for (appendonly, claim) in
        [("always", "A.get == 'A'"), ("everysec", "A.get == 'A'"), ("no", "A.get is none")]
    {
        let settings = format!("settings: {{ appendonly: {appendonly} }}\n{PERSISTENCE}");
        proved(&lesson("redis", &settings, &[claim], story));
    }
}

#[test]
fn a_clients_wrong_clock_makes_a_redlock_valid_that_is_not() {
    const CAST: &str = "
clients:
  A: { runs: p }
  B: { runs: p }
programs:
  p:
    - early: { redis: \"SET early ${now}\" }
    - use: redlock_acquire
      with: { key: lock, lease: 3000, drift: 10, retry: 1s }
    - late: { redis: \"SET late ${now}\" }
";
    const STORY: &str = "
  - move: [A.early, A.lock1, A.lock2, A.lock3]
  - pass: 4s
  - skew: { A: -5s }
  - move: [A.lock4, A.lock5]
  - move: [B.early, B.lock1, B.lock2, B.lock3, B.lock4, B.lock5]
  - move: A.late
  - skew: { A: 0s }
";
    let without = STORY.replace("  - skew: { A: -5s }\n", "").replace("  - move: A.late\n", "");
    let claims = ["overlap: lock", "that: value('late')|int < value('early')|int"];
    let events = proved(&lesson("masters", CAST, &claims, STORY));
    let skews = of_kind(&events, "fault");
    assert_eq!(skews[0]["fault"], "skew_client");
    assert_eq!((&skews[0]["client"], &skews[0]["ahead_ms"]), (&json!("A"), &json!(-5000)));
    // With a correct clock it knows that it was too slow.
    proved(&lesson("masters", CAST, &["that: holders('lock') == 1"], &without));
    let why = refused(&["check"], &lesson("masters", CAST, &["overlap: lock"], "  - skew: { C: 5s }\n"));
    assert!(why.contains("unknown server or client `C`"), "{why}");
}
