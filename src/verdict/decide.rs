//! Decides questions: which choices the events have proved right.

use std::sync::Arc;

use super::facts::Facts;
use crate::{
    clock::LessonTime,
    lesson::{
        Scenario,
        plan::{AskPlan, RightPlan},
    },
    log::{Event, EventKind, Log},
};

/// Why a question cannot be decided: a mistake of the lesson's author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecided {
    /// The choice whose expression failed; `None` for the question as a whole.
    pub choice: Option<usize>,
    pub message: String,
}

/// Returns the right choices of a question, given the log up to its decision, and when that is: later than the last event
/// if nothing has happened since.
///
/// **Architecture Invariant:** as with the verdict, the right choices are computed from the log, by the evaluation of
/// claims, and never scripted.
///
/// # Errors
/// An expression cannot be evaluated, or no choice is right: then the lesson asks a question without an answer.
pub fn decide(
    scenario: &Scenario,
    log: &Log,
    ask: &AskPlan,
    now: LessonTime,
) -> Result<Vec<usize>, Undecided> {
    let mut facts = Facts::new(scenario, log);
    let decision = EventKind::Decided { item: 0, right: Vec::new(), why: None };
    facts.extend(&[Event { at: now, kind: decision }]);
    let facts = Arc::new(facts);
    let names = facts.names(scenario);
    let mut right = Vec::new();
    for (n, choice) in ask.choices.iter().enumerate() {
        let holds = match &choice.right {
            RightPlan::Always => true,
            RightPlan::Never => false,
            RightPlan::When(expr) => {
                expr.eval(names.clone()).map_err(|message| Undecided { choice: Some(n), message })?.is_true()
            }
        };
        if holds {
            right.push(n);
        }
    }
    if right.is_empty() {
        return Err(Undecided {
            choice: None,
            message: "this question has no right answer: none of its choices came true".to_owned(),
        });
    }
    Ok(right)
}

#[cfg(test)]
mod tests {
    use super::{Undecided, decide};
    use crate::{
        clock::LessonTime,
        lesson::{plan::Act, testing},
        log::Belief,
    };

    const ASK: &str = "\
story:
  - ask:
      q: { en: What will it answer?, zh: 会返回什么？ }
      choices:
        - { says: { en: one, zh: 一 }, right: FIRST, why: { en: no, zh: 不 } }
        - { says: { en: nil, zh: 空 }, why: { en: no, zh: 不 } }
        - { says: { en: less, zh: 更少 }, right: SECOND, why: { en: no, zh: 不 } }
";

    /// The decision after A's release was answered with 1.
    fn decided(first: &str, second: &str) -> Result<Vec<usize>, Undecided> {
        let ask = ASK.replace("FIRST", first).replace("SECOND", second);
        let lesson = testing::NEW_LESSON.replace("story:\n", &ask);
        let lesson = lesson.replace("- acquire:", "- waits: lock\n    - acquire:");
        let scenario = testing::scenario(&lesson, "blind-del");
        let Act::Ask(ask) = &scenario.story[0].act else { panic!("the question comes first") };
        let mut log = testing::log(&scenario);
        log.moves(0, "release", "DEL lock", 1);
        log.believes(1, Belief::Waiting);
        decide(&scenario, &log, ask, LessonTime::from_millis(60_000))
    }

    #[test]
    fn what_happened_says_which_choices_are_right() {
        assert_eq!(decided("A.release == 1", "A.release < 1"), Ok(vec![0]));
        assert_eq!(decided("A.release == 0", "A.release <= 1"), Ok(vec![2]));
        assert_eq!(decided("A.release == 1", "A.release >= 1"), Ok(vec![0, 2]));
    }

    /// A client that waits all the time does nothing that would be an event.
    #[test]
    fn time_that_has_passed_since_the_last_event_counts() {
        assert_eq!(decided("waited('B') < 50000", "waited('B') >= 50000"), Ok(vec![2]));
    }

    #[test]
    fn a_question_without_a_right_answer_is_a_mistake() {
        let nothing = decided("A.release == 7", "A.release == 8").expect_err("nothing is right");
        assert_eq!(nothing.choice, None);
        let broken = decided("A.release == 1", "replies(7)").expect_err("a number is no label");
        assert_eq!(broken.choice, Some(2));
        assert!(broken.message.contains("replies(7)"), "{}", broken.message);
        let never = decided("A.release == 1", "B.release > 1").expect_err("B has released nothing");
        assert_eq!(never.choice, Some(2));
    }
}
