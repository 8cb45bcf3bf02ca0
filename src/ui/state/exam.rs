//! An exam: orders of moves that are in no story, asked one after another while the next ones are being searched for.

use super::interview::Filter;
pub use crate::run::exam::{ExamQuestion, Questions};
use crate::text::Text;

/// The default number of questions.
pub const QUESTIONS: usize = 25;

/// The learner's judgement of an order.
#[derive(Debug, Clone)]
pub struct Judged {
    pub lesson: Text,
    pub variant: Text,
    pub safe: bool,
    pub right: bool,
}

#[derive(Debug)]
pub struct ExamRound {
    pub filter: Filter,
    /// How many questions the exam has.
    pub count: usize,
    /// The source of further questions; `None` once it is exhausted.
    questions: Option<Questions>,
    /// The question that is being asked or was just answered.
    pub question: Option<ExamQuestion>,
    pub answer: Option<bool>,
    pub judged: Vec<Judged>,
    /// Why there are no further questions.
    pub failed: Option<Text>,
    pub scroll: u16,
}

impl ExamRound {
    pub fn new(filter: Filter, count: usize, questions: Result<Questions, Text>) -> Self {
        let (questions, failed) = match questions {
            Ok(questions) => (Some(questions), None),
            Err(why) => (None, Some(why)),
        };
        let (question, answer, judged) = (None, None, Vec::new());
        Self { filter, count, questions, question, answer, judged, failed, scroll: 0 }
    }

    /// The source of the next question while the exam waits for one.
    pub fn awaited(&mut self) -> Option<&mut Questions> {
        self.questions.as_mut().filter(|_| self.question.is_none())
    }

    /// Handles the next question; `None` means that there are no more.
    pub fn receive(&mut self, question: Option<Result<ExamQuestion, Text>>) {
        match question {
            Some(Ok(question)) => (self.question, self.answer, self.scroll) = (Some(question), None, 0),
            Some(Err(why)) => (self.failed, self.questions) = (Some(why), None),
            None => self.questions = None,
        }
    }

    /// Takes the answer to the current question; only the first one counts.
    pub fn judge(&mut self, safe: bool) {
        let Some(question) = self.question.as_ref().filter(|_| self.answer.is_none()) else { return };
        self.judged.push(Judged {
            lesson: question.scenario.loaded.lesson.title.clone(),
            variant: question.scenario.fill(&question.scenario.variant().title),
            safe: question.safe,
            right: question.safe == safe,
        });
        self.answer = Some(safe);
    }

    /// Leaves an answered question for the next one.
    pub fn next_question(&mut self) {
        if self.answer.take().is_none() {
            return;
        }
        (self.question, self.scroll) = (None, 0);
        if self.judged.len() >= self.count {
            self.questions = None;
        }
    }

    pub fn is_over(&self) -> bool {
        self.question.is_none() && self.questions.is_none()
    }

    /// The number of questions completed, and of all questions.
    pub fn progress(&self) -> (usize, usize) {
        (self.judged.len() - usize::from(self.answer.is_some()), self.count)
    }

    pub fn right(&self) -> usize {
        self.judged.iter().filter(|judged| judged.right).count()
    }
}
