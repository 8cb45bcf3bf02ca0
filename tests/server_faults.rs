//! Stories in which servers are killed, frozen and restarted, and which wait for something to come true.

mod common;

use common::Place;

const LESSON: &str = r#"
format: 1
id: five
track: redis
title: { en: Five, zh: 五 }
summary: { en: Five, zh: 五 }
intro: { en: Five, zh: 五 }
minutes: 1
lab: masters
clients:
  A: { runs: worker }
programs:
  worker:
    - one: { redis: SET lock A PX 60000, on: redis1 }
    - two: { redis: SET lock A PX 60000, on: redis2, allow: [Lost] }
    - again: { redis: GET lock, on: redis2 }
    - three: { redis: SET lock A PX 60000, on: redis3 }
variants:
  only:
    title: { en: Only, zh: 唯一 }
    expect: shown
    lesson: { en: Five, zh: 五 }
    claims:
      - A.two == 'Lost'
      - A.again is none
      - value('lock', 'redis1') == 'A'
      - exists('lock', 'redis2') == false
      - value('lock', 'redis3') == 'A'
      - role('redis2') == 'master'
      - role('redis4') is none
story:
  - move: A.one
  - kill: redis2
  - move: A.two
  - kill: redis4
  - restart: redis2
  - move: A.again
  - freeze: redis3
  - move: A.three
  - pass: 1s
  - thaw: redis3
  - await: { that: "value('lock', 'redis3') == 'A'", within: 5s }
"#;

#[test]
fn servers_die_stand_still_and_come_back() {
    let place = Place::new();
    place.write("five.yaml", LESSON);
    let answer = place.run(&["run", "five.yaml", "--json"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    assert_eq!(place.left_behind(), Vec::<std::path::PathBuf>::new());
    assert_eq!(place.processes(), Vec::<String>::new());
}

#[test]
fn what_a_story_cannot_do_to_servers_is_said_with_its_place() {
    let place = Place::new();
    let last = "  - await: { that: \"value('lock', 'redis3') == 'A'\", within: 5s }\n";
    for (to, why) in [
        ("  - kill: redis4\n", "the server `redis4` is dead already"),
        ("  - thaw: redis1\n", "the server `redis1` is not frozen"),
        ("  - restart: redis1\n", "the server `redis1` runs"),
        ("  - kill: redis6\n", "unknown server `redis6`"),
        ("  - drop: A->redis1\n", "holds nothing"),
        (
            "  - await: { that: exists('lock') == false, within: 1s }\n",
            "did not come true within 1000 ms",
        ),
        (
            "  - await: { that: role('redis9') == 'master', within: 1s }\n",
            "no server is called `redis9`",
        ),
    ] {
        place.write("five.yaml", LESSON.replace(last, to));
        let answer = place.run(&["run", "five.yaml"]);
        assert_eq!(answer.code, Some(2), "{to}: {}{}", answer.out, answer.err);
        assert!(
            answer.err.contains("five.yaml:") && answer.err.contains(why),
            "{to}: {}",
            answer.err
        );
    }
    place.write("five.yaml", LESSON.replace("on: redis1", "on: primary"));
    let answer = place.run(&["check", "five.yaml"]);
    assert_eq!(answer.code, Some(2), "{}{}", answer.out, answer.err);
    assert!(answer.err.contains("unknown server `primary`"), "{}", answer.err);
}
