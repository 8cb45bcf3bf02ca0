//! Verdicts on made-up logs, without any server.

use std::time::Duration;

use super::{Outcome, evidence, judge};
use crate::{
    lesson::{Scenario, testing},
    log::{
        Belief, Reply,
        testing::{LogBuilder, notified},
    },
};

const FIRST_CLAIMS: &str = "      - overlap: lock
        says: { en: A and B held the lock at the same time., zh: A 和 B 同时认为自己持有锁。 }
      - that: A.release == 1
        says: { en: A's DEL deleted B's lock., zh: A 的 DEL 删掉了 B 的锁。 }
";

/// The lesson of `lockstep new` with the claims of its first variant replaced, and a log in which each event takes a
/// second.
fn run(claims: &str) -> (Scenario, LogBuilder) {
    let lesson = testing::NEW_LESSON.replacen(FIRST_CLAIMS, claims, 1);
    let scenario = testing::scenario(&lesson, "blind-del");
    let log = testing::log(&scenario).ticking(Duration::from_secs(1));
    (scenario, log)
}

#[test]
fn an_overlap_is_found_and_dated() {
    let (scenario, mut log) = run("      - overlap: lock\n");
    log.believes(0, Belief::Holding);
    log.believes(1, Belief::Holding);
    log.believes(0, Belief::Nothing);
    let verdict = judge(&scenario, &log);
    assert_eq!(verdict.outcome, Outcome::Shown);
    assert_eq!(verdict.claims[0].observed.en, "A and B at once, from 2.000s to 3.000s");
    assert_eq!(verdict.claims[0].evidence, [2]);
}

#[test]
fn an_overlap_whose_ends_read_the_same_is_one_moment() {
    let (scenario, _) = run("      - overlap: lock\n");
    let mut log = testing::log(&scenario).ticking(Duration::from_nanos(1));
    log.believes(0, Belief::Holding);
    log.believes(1, Belief::Holding);
    log.believes(0, Belief::Nothing);
    let observed = judge(&scenario, &log).claims.remove(0).observed;
    assert!(observed.en.starts_with("A and B at once, for a moment at 0"), "{observed:?}");
    assert!(observed.zh.ends_with("一度同时持有"), "{observed:?}");
}

#[test]
fn exclusive_needs_a_holder() {
    let (scenario, mut log) = run("      - exclusive: lock\n");
    let nobody = judge(&scenario, &log);
    assert_eq!(
        (nobody.outcome, nobody.claims[0].observed.en.as_str()),
        (Outcome::NotShown, "nobody ever held it")
    );
    log.believes(0, Belief::Holding);
    log.believes(0, Belief::Nothing);
    log.believes(1, Belief::Holding);
    assert_eq!(judge(&scenario, &log).outcome, Outcome::Shown, "one after the other is no overlap");
}

#[test]
fn replies_and_moves_are_counted_by_label() {
    let claims = "      - A.release == 1\n      - replies('release') == [1, 'ERR']\n      - moves('release') == 2\n      \
                  - moves('B.release') == 1\n      - holders('lock') == 0\n";
    let (scenario, mut log) = run(claims);
    log.moves(0, "release", "DEL lock", 1);
    let sent = log.sends(1, "release", "DEL lock");
    log.answers(sent, Reply::Error { code: "ERR".to_owned(), text: "no".to_owned() });
    let verdict = judge(&scenario, &log);
    assert_eq!(verdict.outcome, Outcome::Shown, "{verdict:#?}");
    assert_eq!(verdict.claims[0].evidence, [2], "the reply that proves it");
}

#[test]
fn what_never_happened_does_not_hold() {
    for claim in ["A.release == 1", "woken_by('A.release') == 0", "replies('release')[0] == 1"] {
        let (scenario, log) = run(&format!("      - {claim}\n"));
        let verdict = judge(&scenario, &log);
        assert_eq!(verdict.outcome, Outcome::NotShown, "{claim}");
    }
}

#[test]
fn what_one_move_woke_is_counted_in_its_own_step() {
    let (scenario, mut log) = run("      - woken_by('A.release') == 2\n      - notified('B') == 3\n");
    let woken = || notified(1, "/lock", "NodeDeleted");
    log.add(woken());
    log.stop();
    log.moves(0, "release", "DEL lock", "OK");
    log.add(woken());
    log.add(woken());
    log.stop();
    let verdict = judge(&scenario, &log);
    assert_eq!(verdict.outcome, Outcome::Shown, "{verdict:#?}");
}

#[test]
fn a_claim_is_said_in_a_sentence_and_its_evidence_in_words() {
    let claims = "      - that: A.release == 1\n        says: { en: \"A's lease was ${lease|duration}.\", zh: \"A 的租期是 ${lease|duration}。\" }\n      \
                  - moves('B.release') == 0\n";
    let (scenario, mut log) = run(claims);
    log.moves(0, "release", "DEL lock", 1);
    let verdict = judge(&scenario, &log);
    let [said, bare] = &verdict.claims[..] else { panic!("{verdict:#?}") };
    assert_eq!(said.says.as_ref().map(|says| says.en.as_str()), Some("A's lease was 3 s."));
    assert_eq!((&bare.says, &bare.evidence), (&None, &vec![]));
    let lines = evidence(&log, &said.claim, &said.evidence, 3);
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0].en, "at 1.000s: A sent DEL lock; answered 1 at 2.000s");
    assert_eq!(lines[0].zh, "1.000s：A 发出 DEL lock；2.000s 返回 1");
}

#[test]
fn of_much_evidence_the_first_and_the_last_are_listed() {
    let (scenario, mut log) = run("      - moves('release') == 50\n");
    for n in 0..50 {
        log.moves(n % 2, "release", "DEL lock", 1);
    }
    let claim = &judge(&scenario, &log).claims[0];
    assert_eq!(claim.evidence.len(), 50);
    let lines = evidence(&log, &claim.claim, &claim.evidence, 3);
    let lines: Vec<&str> = lines.iter().map(|line| line.en.as_str()).collect();
    assert_eq!(
        lines,
        [
            "at 1.000s: A sent DEL lock; answered 1 at 2.000s",
            "… 48 more in between",
            "at 1m39.0s: B sent DEL lock; answered 1 at 1m40.0s",
        ]
    );
}

#[test]
fn time_and_order_are_those_of_the_last_of_the_moves() {
    let claims = "      - at('A.release') == 2000\n      - at('release') == 6000\n      \
                  - before('A.release', 'B.release')\n      - not before('B.release', 'A.release')\n";
    let (scenario, mut log) = run(claims);
    log.moves(0, "release", "DEL lock", 1);
    log.moves(1, "release", "DEL lock", 0);
    log.moves(1, "release", "DEL lock", 0);
    let verdict = judge(&scenario, &log);
    assert_eq!(verdict.outcome, Outcome::Shown, "{verdict:#?}");
    assert_eq!(verdict.claims[2].evidence, [2, 6]);
    // A move that was never made is neither before nor after another.
    for claim in ["before('A.release', 'B.release')", "at('B.release') < 99999"] {
        let (scenario, mut log) = run(&format!("      - {claim}\n"));
        log.moves(0, "release", "DEL lock", 1);
        let verdict = judge(&scenario, &log);
        assert_eq!(verdict.outcome, Outcome::NotShown, "{claim}");
        assert!(verdict.claims[0].observed.en.contains("`B.release` was never done"), "{verdict:#?}");
    }
}

#[test]
fn the_longest_wait_for_a_lock_counts_while_it_lasts() {
    let lesson = testing::NEW_LESSON
        .replace(FIRST_CLAIMS, "      - waited('B') == 3000\n      - waited('A') == 1000\n");
    let lesson = lesson.replace("    - acquire:", "    - waits: lock\n    - acquire:");
    let scenario = testing::scenario(&lesson, "blind-del");
    let mut log = testing::log(&scenario).ticking(Duration::from_secs(1));
    log.believes(0, Belief::Waiting);
    log.believes(0, Belief::Holding);
    log.believes(1, Belief::Waiting);
    log.believes(0, Belief::Nothing);
    log.believes(1, Belief::Waiting);
    log.believes(0, Belief::Nothing);
    let verdict = judge(&scenario, &log);
    assert_eq!(verdict.outcome, Outcome::Shown, "{verdict:#?}");
    assert_eq!(verdict.claims[0].evidence, [3, 6], "it still waits");
}
