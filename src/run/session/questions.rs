//! Questions to the learner: records them, and decides them by the events that follow.

use super::{RunError, director::Director};
use crate::{
    lesson::{
        Path,
        plan::{AskPlan, ChoicePlan, RightPlan, TextPlan},
    },
    log::{AskedChoice, EventKind},
    verdict,
};

#[derive(Debug, Default)]
pub(crate) struct Questions(Vec<Open>);

#[derive(Debug)]
struct Open {
    ask: AskPlan,
    item: usize,
    path: Path,
    /// The number of steps before the question is decided.
    left: u32,
}

impl Director {
    /// Records a question to the learner, with the current values filled in.
    pub(crate) fn ask(&mut self, ask: &AskPlan, item: usize, path: &Path) -> Result<(), RunError> {
        let names = self.names();
        let q = self.fill(&ask.q, &names, &path.key("q"))?;
        let fill = |(n, choice): (usize, &ChoicePlan)| -> Result<AskedChoice, RunError> {
            let path = path.key("choices").index(n);
            let why = choice.why.as_ref();
            Ok(AskedChoice {
                says: self.fill(&choice.says, &names, &path.key("says"))?,
                why: why.map(|why| self.fill(why, &names, &path.key("why"))).transpose()?,
            })
        };
        let choices = ask.choices.iter().enumerate().map(fill).collect::<Result<_, _>>()?;
        self.recorder.record(EventKind::Asked { item, q, choices });
        self.questions.0.push(Open { ask: ask.clone(), item, path: path.clone(), left: ask.after });
        Ok(())
    }

    /// Decides the questions that are due at the end of a step.
    pub(crate) fn decide(&mut self) -> Result<(), RunError> {
        for open in &mut self.questions.0 {
            open.left -= 1;
        }
        let due: Vec<Open> = self.questions.0.extract_if(.., |open| open.left == 0).collect();
        for open in due {
            let now = self.clock.now();
            let right =
                verdict::decide(&self.scenario, &self.recorder.log, &open.ask, now).map_err(|why| {
                    let choices = open.path.key("choices");
                    let path = match why.choice {
                        Some(n) => choices.index(n).key("right"),
                        None => choices,
                    };
                    self.mistake(&path, why.message)
                })?;
            let why = reason(&open.ask);
            let why = why.map(|why| self.fill(why, &self.names(), &open.path)).transpose()?;
            self.recorder.record(EventKind::Decided { item: open.item, right, why });
        }
        Ok(())
    }
}

/// The explanation shown with the answer: the question's own, or that of a choice that is always right.
fn reason(ask: &AskPlan) -> Option<&TextPlan> {
    let mut always = ask.choices.iter().filter(|choice| matches!(choice.right, RightPlan::Always));
    ask.why.as_ref().or_else(|| always.find_map(|choice| choice.why.as_ref()))
}
