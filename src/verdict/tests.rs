//! Verdicts on made-up logs: what claims see, without any server.

use super::{Outcome, evidence, judge};
use crate::{
    clock::{ClockKind, LessonTime},
    lesson::{Params, Scenario, library::from_text},
    log::{ActorId, Belief, Command, Dialect, Event, EventKind, Log, OpId, Reply, Stop},
};

const FIRST_CLAIMS: &str = "      - overlap: lock
        says: { en: A and B held the lock at the same time., zh: A 和 B 同时认为自己持有锁。 }
      - that: A.release == 1
        says: { en: A's DEL deleted B's lock., zh: A 的 DEL 删掉了 B 的锁。 }
";

/// The lesson to start from, with the claims of its first variant replaced.
fn scenario(claims: &str) -> Scenario {
    let text = include_str!("../../assets/new-lesson.yaml").replacen(FIRST_CLAIMS, claims, 1);
    let loaded = from_text("lesson.yaml", &text).expect("it is good");
    Scenario::plan(&loaded, "blind-del", &Params::new()).expect("it is good")
}

struct Story(Log, i64);

impl Story {
    fn new(scenario: &Scenario) -> Self {
        let mut story = Self(Log::new(), 0);
        story.then(EventKind::LabReady {
            lesson: "my-lock".to_owned(),
            variant: "blind-del".to_owned(),
            clock: ClockKind::Controlled,
            servers: Vec::new(),
            actors: scenario.actors.iter().map(|plan| plan.actor.clone()).collect(),
        });
        story
    }

    fn then(&mut self, kind: EventKind) {
        self.1 += 1;
        self.0.append(Event { at: LessonTime::from_millis(self.1 * 1000), kind });
    }

    fn believes(&mut self, actor: u32, belief: Belief) {
        self.then(EventKind::Believes { actor: ActorId(actor), lock: "lock".to_owned(), belief });
    }

    fn moves(&mut self, actor: u32, label: &str, reply: Reply) {
        let (op, actor, label) =
            (OpId(u64::try_from(self.1).expect("small")), ActorId(actor), label.to_owned());
        let (server, command) = ("redis".to_owned(), Command::from_text("DEL lock", Dialect::Redis));
        self.then(EventKind::Sent { op, actor, label: label.clone(), server, command, releases: Vec::new() });
        self.then(EventKind::Replied { op, actor, label, reply });
    }

    fn stop(&mut self) {
        self.then(EventKind::Stop { item: 0, stop: Stop::Move });
    }
}

#[test]
fn an_overlap_is_found_and_dated() {
    let scenario = scenario("      - overlap: lock\n");
    let mut story = Story::new(&scenario);
    story.believes(0, Belief::Holding);
    story.believes(1, Belief::Holding);
    story.believes(0, Belief::Nothing);
    let verdict = judge(&scenario, &story.0);
    assert_eq!(verdict.outcome, Outcome::Shown);
    assert_eq!(verdict.claims[0].observed.en, "A and B at once, from 3.000 s to 4.000 s");
    assert_eq!(verdict.claims[0].evidence, [2]);
}

#[test]
fn exclusive_needs_a_holder() {
    let scenario = scenario("      - exclusive: lock\n");
    let mut story = Story::new(&scenario);
    let nobody = judge(&scenario, &story.0);
    assert_eq!(
        (nobody.outcome, nobody.claims[0].observed.en.as_str()),
        (Outcome::NotShown, "nobody ever held it")
    );
    story.believes(0, Belief::Holding);
    story.believes(0, Belief::Nothing);
    story.believes(1, Belief::Holding);
    assert_eq!(judge(&scenario, &story.0).outcome, Outcome::Shown, "one after the other is no overlap");
}

#[test]
fn replies_and_moves_are_counted_by_label() {
    let claims = "      - A.release == 1\n      - replies('release') == [1, 'ERR']\n      - moves('release') == 2\n      \
                  - moves('B.release') == 1\n      - holders('lock') == 0\n";
    let scenario = scenario(claims);
    let mut story = Story::new(&scenario);
    story.moves(0, "release", Reply::Value(1.into()));
    story.moves(1, "release", Reply::Error { code: "ERR".to_owned(), text: "no".to_owned() });
    let verdict = judge(&scenario, &story.0);
    assert_eq!(verdict.outcome, Outcome::Shown, "{verdict:#?}");
    assert_eq!(verdict.claims[0].evidence, [2], "the reply that proves it");
}

#[test]
fn what_never_happened_does_not_hold() {
    for claim in ["A.release == 1", "woken_by('A.release') == 0", "replies('release')[0] == 1"] {
        let scenario = scenario(&format!("      - {claim}\n"));
        let verdict = judge(&scenario, &Story::new(&scenario).0);
        assert_eq!(verdict.outcome, Outcome::NotShown, "{claim}");
    }
}

#[test]
fn what_one_move_woke_is_counted_in_its_own_step() {
    let scenario = scenario("      - woken_by('A.release') == 2\n      - notified('B') == 3\n");
    let mut story = Story::new(&scenario);
    let told = || EventKind::Notified {
        actor: ActorId(1),
        server: "zookeeper".to_owned(),
        about: "/lock".to_owned(),
        what: "NodeDeleted".to_owned(),
    };
    story.then(told());
    story.stop();
    story.moves(0, "release", Reply::Value("OK".into()));
    story.then(told());
    story.then(told());
    story.stop();
    let verdict = judge(&scenario, &story.0);
    assert_eq!(verdict.outcome, Outcome::Shown, "{verdict:#?}");
}

#[test]
fn a_claim_is_said_in_a_sentence_and_its_evidence_in_words() {
    let claims = "      - that: A.release == 1\n        says: { en: \"A's lease was ${lease|duration}.\", zh: \"A 的租期是 ${lease|duration}。\" }\n      \
                  - moves('B.release') == 0\n";
    let scenario = scenario(claims);
    let mut story = Story::new(&scenario);
    story.moves(0, "release", Reply::Value(1.into()));
    let verdict = judge(&scenario, &story.0);
    let [said, bare] = &verdict.claims[..] else { panic!("{verdict:#?}") };
    assert_eq!(said.says.as_ref().map(|says| says.en.as_str()), Some("A's lease was 3 s."));
    assert_eq!((&bare.says, &bare.evidence), (&None, &vec![]));
    let told = evidence(&story.0, &said.claim, &said.evidence, 3);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].en, "at 2.000 s: A sent DEL lock; answered 1 at 3.000 s");
    assert_eq!(told[0].zh, "2.000 s：A 发出 DEL lock；3.000 s 返回 1");
}

#[test]
fn of_much_evidence_the_first_and_the_last_are_told() {
    let scenario = scenario("      - moves('release') == 50\n");
    let mut story = Story::new(&scenario);
    for n in 0..50 {
        story.moves(n % 2, "release", Reply::Value(1.into()));
    }
    let claim = &judge(&scenario, &story.0).claims[0];
    assert_eq!(claim.evidence.len(), 50);
    let told = evidence(&story.0, &claim.claim, &claim.evidence, 3);
    let told: Vec<&str> = told.iter().map(|line| line.en.as_str()).collect();
    assert_eq!(
        told,
        [
            "at 2.000 s: A sent DEL lock; answered 1 at 3.000 s",
            "… 48 more in between",
            "at 100.000 s: B sent DEL lock; answered 1 at 101.000 s",
        ]
    );
}
