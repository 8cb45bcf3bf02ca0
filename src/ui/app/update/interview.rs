//! The interview: how it is opened, its keys, and the way to the step that proves an answer and back.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::{App, Lesson, Mode, lines, outcomes::Single, scrolled};
use crate::{
    run::{LessonChoice, Runs},
    ui::{
        keys::Action,
        state::{
            browse::moved,
            exam::{ExamRound, QUESTIONS},
            interview::{Beginning, Filter, Interview, MOCK, Round, decks, parts},
            reviews::{Grade, Review},
        },
        view::{Notice, Screen},
    },
};

/// Seconds since 1970.
pub fn today() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or_default()
}

/// A seed that differs on each call.
fn fresh_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() ^ u64::from(since.subsec_nanos())
}

impl<R: Runs> App<R> {
    /// The interview if it is on the screen.
    pub(crate) fn interviewing(&self) -> Option<&Interview> {
        self.interview.as_ref().filter(|interview| !interview.in_lesson)
    }

    /// Opens the interview when the program was started for it.
    pub(crate) fn begin_interview(&mut self, beginning: &Beginning, now: Instant) {
        self.show_interview(None, false);
        let Some(interview) = &mut self.interview else { return };
        interview.standalone = true;
        match beginning {
            Beginning::Decks => {}
            Beginning::Practice(filter) => self.practice(filter.clone(), false, now),
            Beginning::Mock(filter, questions) => self.mock(filter.clone(), *questions, now),
            Beginning::Exam(filter, questions) => self.exam(filter.clone(), *questions),
        }
    }

    fn show_interview(&mut self, lesson: Option<&str>, over_lesson: bool) {
        let decks = if over_lesson {
            Vec::new()
        } else {
            decks(&self.catalogue, lesson, self.reviews.get(), self.moment.0)
        };
        self.interview = Some(Interview {
            decks,
            chosen: 0,
            round: None,
            exam: None,
            in_lesson: false,
            over_lesson,
            standalone: false,
        });
    }

    /// In the catalogue, opens the choice of a deck; in a lesson, its cards; from a step that a card has opened,
    /// returns to the card.
    pub(crate) fn interview(&mut self, now: Instant) {
        match &mut self.interview {
            Some(interview) if interview.in_lesson => return self.leave_lesson(),
            Some(_) => return self.end_interview(),
            None => {}
        }
        if let Mode::Learning(lesson) = &mut self.mode {
            lesson.run.pause();
        }
        let entry = self.mode.entry().unwrap_or(self.selected);
        let lesson = self.catalogue.entries.get(entry).map(|entry| entry.lesson.id.clone());
        let over_lesson = !matches!(self.mode, Mode::Browsing);
        self.show_interview(lesson.as_deref(), over_lesson);
        if over_lesson {
            self.practice(Filter { lesson, ..Filter::default() }, false, now);
        }
    }

    fn practice(&mut self, filter: Filter, early: bool, now: Instant) {
        let cards = (&self.catalogue, self.reviews.get());
        let round = Round::practice(filter, cards, early, (self.moment.0, now));
        if let Some(interview) = &mut self.interview {
            interview.round = Some(round);
        }
    }

    fn mock(&mut self, filter: Filter, questions: usize, now: Instant) {
        let cards = (&self.catalogue, self.reviews.get());
        let round = Round::mock(filter, cards, questions, (self.moment.0, now), fresh_seed());
        if let Some(interview) = &mut self.interview {
            interview.round = Some(round);
        }
    }

    fn exam(&mut self, filter: Filter, questions: usize) {
        let lessons = self.catalogue.entries.iter().filter(|entry| filter.takes_lesson(entry));
        let lessons: Vec<String> = lessons.map(|entry| entry.lesson.id.clone()).collect();
        let found = self.runs.exam(&lessons, fresh_seed());
        if let Some(interview) = &mut self.interview {
            interview.exam = Some(ExamRound::new(filter, questions, found));
        }
    }

    fn act_in_exam(&mut self, action: Action) {
        let Some(exam) = self.interview.as_mut().and_then(|interview| interview.exam.as_mut()) else {
            return;
        };
        match action {
            Action::Close => self.end_round(),
            Action::Judge(safe) => {
                exam.judge(safe);
                // The explanation comes first.
                exam.scroll = 0;
            }
            Action::Open => exam.next_question(),
            Action::Proof if exam.answer.is_some() => self.watch_order(),
            Action::Move(_) | Action::Page(_) | Action::End(_) => self.scroll_card(lines(action)),
            _ => {}
        }
    }

    /// Opens the order that was just judged, to step through it.
    fn watch_order(&mut self) {
        let Some(interview) = &self.interview else { return };
        let Some(question) = interview.exam.as_ref().and_then(|exam| exam.question.clone()) else { return };
        let (id, variant) = (question.scenario.loaded.lesson.id.clone(), question.scenario.variant.clone());
        let Some((entry, at)) = self.catalogue.find(&id, Some(&variant)) else { return };
        let run = self.run_of_log(LessonChoice { id, variant }, &question.log, (entry, at));
        let mut lesson = Lesson::new(entry, at, run);
        lesson.single = Some(Single::Examined(Box::new(question)));
        self.mode = Mode::Learning(Box::new(lesson));
        self.adapt();
        self.notice = Some(Notice::BackToCard);
        if let Some(interview) = &mut self.interview {
            interview.in_lesson = true;
        }
    }

    fn end_interview(&mut self) {
        if self.interview.take().is_some_and(|interview| interview.standalone) {
            self.mode = Mode::Ending;
        }
    }

    pub(crate) fn act_in_interview(&mut self, action: Action, now: Instant) {
        let Some(interview) = &mut self.interview else { return };
        if interview.exam.is_some() {
            return self.act_in_exam(action);
        }
        let Some(round) = &mut interview.round else { return self.choose_deck(action, now) };
        let card = round.card().and_then(|place| Some((place, place.of(&self.catalogue)?.1)));
        let Some((place, card)) = card else { return self.after_round(action, now) };
        match action {
            Action::Close => self.end_round(),
            Action::Open => {
                round.reveal(parts(card));
                // Scrolls to the newest part.
                round.scroll = u16::MAX;
            }
            Action::Grade(n) if round.open > 1 => {
                let grade = Grade::ALL[n];
                round.grade(grade, now);
                let Some((entry, card)) = place.of(&self.catalogue) else { return };
                let review = Review { at: self.moment.0, grade };
                if let Err(trouble) =
                    self.reviews.change(|reviews| reviews.add(&entry.lesson.id, &card.q.en, review))
                {
                    self.notice = Some(Notice::Progress(trouble));
                }
            }
            Action::Move(_) | Action::Page(_) | Action::End(_) => self.scroll_card(lines(action)),
            Action::Proof if round.open > 1 => self.prove(place.entry, place.card),
            _ => {}
        }
    }

    fn choose_deck(&mut self, action: Action, now: Instant) {
        let Some(interview) = &mut self.interview else { return };
        let filter = interview.decks.get(interview.chosen).map(|deck| deck.filter.clone());
        match (action, filter) {
            (Action::Close, _) => self.end_interview(),
            (Action::Move(_) | Action::Page(_) | Action::End(_), _) => {
                interview.chosen = moved(interview.chosen, lines(action), interview.decks.len());
            }
            (Action::Open, Some(filter)) => self.practice(filter, false, now),
            (Action::Mock, Some(filter)) => self.mock(filter, MOCK, now),
            (Action::Exam, Some(filter)) => self.exam(filter, QUESTIONS),
            _ => {}
        }
    }

    fn after_round(&mut self, action: Action, now: Instant) {
        let round = self.interview.as_ref().and_then(|interview| interview.round.as_ref());
        let Some(filter) = round.map(|round| round.filter.clone()) else { return };
        match action {
            Action::Close => self.end_round(),
            // Asking for more also asks cards that are not due yet.
            Action::Open => self.practice(filter, true, now),
            Action::Mock => self.mock(filter, MOCK, now),
            Action::Move(_) | Action::Page(_) | Action::End(_) => self.scroll_card(lines(action)),
            _ => {}
        }
    }

    /// Returns to the choice of a deck, recomputed, or to where the round was begun.
    fn end_round(&mut self) {
        let Some(interview) = &mut self.interview else { return };
        if interview.over_lesson {
            return self.end_interview();
        }
        (interview.round, interview.exam) = (None, None);
        let lesson = interview.decks.first().and_then(|deck| deck.filter.lesson.clone());
        interview.decks = decks(&self.catalogue, lesson.as_deref(), self.reviews.get(), self.moment.0);
        interview.chosen = interview.chosen.min(interview.decks.len().saturating_sub(1));
    }

    fn scroll_card(&mut self, by: i32) {
        let Some(Screen::Interview(view)) = self.screen() else { return };
        let reach = view.reach(self.size);
        let Some(interview) = &mut self.interview else { return };
        let exam = interview.exam.as_mut().map(|exam| &mut exam.scroll);
        if let Some(scroll) = exam.or(interview.round.as_mut().map(|round| &mut round.scroll)) {
            *scroll = scrolled(*scroll, by, reach);
        }
    }

    /// Opens the step that proves an answer, or the beginning of the lesson if the card names no step.
    fn prove(&mut self, entry: usize, card: usize) {
        let Some(lesson) = self.catalogue.entries.get(entry) else { return };
        let proof = lesson.proof(card);
        self.open(entry, proof.map_or(0, |proof| proof.variant));
        if let (Mode::Learning(lesson), Some(proof)) = (&mut self.mode, proof) {
            lesson.run.advance_to(proof.item);
        }
        self.notice = Some(Notice::BackToCard);
    }
}
