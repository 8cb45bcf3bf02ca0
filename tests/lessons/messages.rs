//! Messages that servers send unasked, and programs that wait for them, on real servers.

use serde_json::Value;

use crate::{place::Place, texts::HEAD};

/// B waits for a message of A on `ch`, for at most A's lease. A variant for each story with its claims.
fn lesson(variants: &[(&str, &str, &[&str])]) -> String {
    let variants = variants.iter().map(|(name, story, claims)| {
        let claims: Vec<String> = claims.iter().map(|claim| format!("      - \"{claim}\"\n")).collect();
        format!(
            "  {name}:\n    title: {{ en: Tried, zh: 试 }}\n    expect: shown\n    lesson: {{ en: Tried, zh: 试 }}\n    \
             story:\n{story}    claims:\n{}",
            claims.concat()
        )
    });
    format!(
        "{HEAD}lab: redis
clients:
  A: {{ runs: holder }}
  B: {{ runs: waiter }}
setup:
  - redis: HSET h a 1 b 2
  - redis: ZADD z 1.5 a
programs:
  holder:
    - acquire: {{ redis: SET lock A NX PX 5000 }}
    - holds: lock
    - drops: lock
    - release: {{ redis: DEL lock }}
    - tell: {{ redis: PUBLISH ch free }}
    - wait: 1s
    - again: {{ redis: PUBLISH ch again }}
  waiter:
    - subscribe: {{ redis: SUBSCRIBE ch }}
    - fields: {{ redis: HGETALL h }}
    - score: {{ redis: ZSCORE z a }}
    - ttl: {{ redis: PTTL lock }}
    - message: {{ take: {{ from: [ch, other], within: \"${{ttl}}\" }} }}
    - if: message is none
      then:
        - count: timeouts
    - pattern: {{ redis: PSUBSCRIBE oth* }}
    - acquire: {{ redis: SET lock B NX PX 5000 }}
variants:
{}",
        variants.collect::<Vec<_>>().concat()
    )
}

const BEGINNING: &str = "      - move: [A.acquire, B.subscribe, B.fields, B.score, B.ttl]\n";

fn proved(variants: &[(&str, &str, &[&str])]) -> Vec<Value> {
    let place = Place::new();
    let stories: Vec<_> = variants.iter().map(|(_, story, _)| format!("{BEGINNING}{story}")).collect();
    let variants: Vec<_> =
        variants.iter().zip(&stories).map(|(v, story)| (v.0, story.as_str(), v.2)).collect();
    place.write("tried.yaml", lesson(&variants));
    let answer = place.run(&["run", "tried.yaml", "--json", "--events"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    place.assert_nothing_left();
    answer.json()
}

#[test]
fn a_message_ends_the_wait_and_the_lease_does_where_it_is_lost() {
    let told: &[&str] = &[
        "B.message.what == 'free' and B.message.about == 'ch' and timeouts == 0",
        "B.subscribe == ['subscribe', 'ch', 1] and B.pattern[0] == 'psubscribe'",
        // As under RESP2: replies do not depend on whether the client has subscriptions.
        "B.fields == ['a', '1', 'b', '2'] and B.score == '1.5'",
        "A.tell == 1 and B.acquire == 'OK'",
    ];
    let lost: &[&str] =
        &["A.tell == 1", "B.message is none and timeouts == 1", "replies('B.message') == [none]"];
    let reports = proved(&[
        ("told", "      - move: [B.message, A.release, A.tell, B.pattern, B.acquire]\n", told),
        ("before", "      - move: [A.release, A.tell, B.message, B.pattern, B.acquire]\n", told),
        (
            "lost",
            "      - move: B.message
      - hold: { link: B->redis, way: replies }
      - move: [A.release, A.tell]
      - drop: B->redis
      - release: B->redis
      - pass: 5s
      - move: [B.pattern, B.acquire]\n",
            lost,
        ),
        (
            "moving",
            "      - pass: { for: 1s, moving: [A, B] }\n",
            &["timeouts == 0", "B.acquire == 'OK'", "finished('B') == 1"],
        ),
    ]);
    // It waited as long as the lease had left, and the end of the wait says that nothing came.
    let events = reports[2]["events"].as_array().expect("events");
    let at = |event: &str| events.iter().find(|known| known["event"] == event && known["label"] == "message");
    let (waits, waited) = (at("waits").expect("it waits"), at("waited").expect("in vain"));
    assert_eq!(waited["in_vain"], true);
    let early = waits["until"].as_i64().zip(waited["at"].as_i64()).map(|(until, at)| at - until);
    assert!(early.is_some_and(|late| (0..1_000_000_000).contains(&late)), "{waits} {waited}");
}

#[test]
fn a_wait_within_no_time_answers_at_once() {
    let place = Place::new();
    let story = format!("{BEGINNING}      - move: B.message\n");
    let claims: &[&str] = &["B.message is none", "moves('B.message') == 1", "timeouts == 1"];
    let lesson = lesson(&[("only", &story, claims)]);
    place.write("tried.yaml", lesson.replace("within: \"${ttl}\"", "within: 0s"));
    let answer = place.run(&["run", "tried.yaml"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    place.assert_nothing_left();
}

#[test]
fn messages_are_raced_and_explored() {
    let place = Place::new();
    place.write("tried.yaml", lesson(&[("only", "      - finish: A\n", &["timeouts == 0"])]));
    let answer = place.run(&["race", "tried.yaml", "-n", "20", "--json"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let report = |more: &[&str]| {
        let answer = place.run(&[&["explore", "tried.yaml", "--json"], more].concat());
        assert_eq!(answer.code, Some(0), "{}", answer.err);
        answer.json().remove(0)
    };
    let (pruned, all) = (report(&[]), report(&["--no-prune"]));
    assert_eq!(all["cut"], 0, "{all}");
    assert_eq!(pruned["outcomes"], all["outcomes"]);
    let tried =
        pruned["interleavings"].as_u64().zip(pruned["pruned"].as_u64()).map(|(tried, rest)| tried + rest);
    assert_eq!(tried, all["interleavings"].as_u64());
    place.assert_nothing_left();
}

/// What comes over a delayed link ends the wait, and the rest of `within` does not pass.
#[test]
fn a_wait_ends_when_its_message_comes() {
    let place = Place::new();
    let lesson = format!(
        "{HEAD}lab: redis
clients:
  A: {{ runs: teller }}
  B: {{ runs: listener }}
programs:
  teller:
    - tell: {{ redis: PUBLISH freed now }}
  listener:
    - listen: {{ redis: SUBSCRIBE freed }}
    - wake: {{ take: {{ from: freed, within: 30s }} }}
    - work: 1s
    - note: {{ redis: SET woken 1 }}
story:
  - move: B.listen
  - delay: {{ link: B->redis, by: 2s, way: replies }}
  - move: [A.tell, B.wake, B.note]
  - pass: 3s
variants:
  tried:
    title: {{ en: Tried, zh: 试 }}
    expect: shown
    lesson: {{ en: Tried, zh: 试 }}
    claims:
      - B.wake.what == 'now'
      - at('B.wake') >= 2000 and at('B.note') < 20000
"
    );
    place.write("tried.yaml", lesson);
    let answer = place.run(&["run", "tried.yaml"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
}
