//! An exam: orders of moves that no story shows, asked one after another while the next ones are looked for.

use super::interview::Filter;
pub use crate::run::exam::{ExamQuestion, Questions};
use crate::text::Text;

/// Orders of an exam, where nobody says how many.
pub const QUESTIONS: usize = 25;

/// What was said of an order.
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
    /// How many there are to be.
    pub count: usize,
    /// Where more come from, as long as there are more.
    questions: Option<Questions>,
    /// What is being asked, or was just answered.
    pub question: Option<ExamQuestion>,
    /// What was said of it.
    pub said: Option<bool>,
    pub judged: Vec<Judged>,
    /// Why there are no more.
    pub failed: Option<Text>,
    pub scroll: u16,
}

impl ExamRound {
    pub fn new(filter: Filter, count: usize, questions: Result<Questions, Text>) -> Self {
        let (questions, failed) = match questions {
            Ok(questions) => (Some(questions), None),
            Err(why) => (None, Some(why)),
        };
        let (question, said, judged) = (None, None, Vec::new());
        Self { filter, count, questions, question, said, judged, failed, scroll: 0 }
    }

    /// Where the next question comes from, while it is waited for.
    pub fn awaited(&mut self) -> Option<&mut Questions> {
        self.questions.as_mut().filter(|_| self.question.is_none())
    }

    /// Takes in the next question; the end of them, where there is none.
    pub fn receive(&mut self, question: Option<Result<ExamQuestion, Text>>) {
        match question {
            Some(Ok(question)) => (self.question, self.said, self.scroll) = (Some(question), None, 0),
            Some(Err(why)) => (self.failed, self.questions) = (Some(why), None),
            None => self.questions = None,
        }
    }

    /// Takes what somebody says of the order, once.
    pub fn say(&mut self, safe: bool) {
        let Some(question) = self.question.as_ref().filter(|_| self.said.is_none()) else { return };
        self.judged.push(Judged {
            lesson: question.scenario.loaded.lesson.title.clone(),
            variant: question.scenario.fill(&question.scenario.variant().title),
            safe: question.safe,
            right: question.safe == safe,
        });
        self.said = Some(safe);
    }

    /// Leaves an order that was answered for the next one.
    pub fn go_on(&mut self) {
        if self.said.take().is_none() {
            return;
        }
        (self.question, self.scroll) = (None, 0);
        if self.judged.len() >= self.count {
            self.questions = None;
        }
    }

    /// Whether nothing is asked any more.
    pub fn is_over(&self) -> bool {
        self.question.is_none() && self.questions.is_none()
    }

    /// How many orders were left behind, and how many there are to be.
    pub fn progress(&self) -> (usize, usize) {
        (self.judged.len() - usize::from(self.said.is_some()), self.count)
    }

    pub fn right(&self) -> usize {
        self.judged.iter().filter(|judged| judged.right).count()
    }
}
