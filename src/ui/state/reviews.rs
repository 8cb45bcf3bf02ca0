//! How well interview cards were known each time they were asked, and when each is due again, according to FSRS.
//!
//! Only the reviews are stored; due dates are computed from them.

use std::{collections::BTreeMap, sync::LazyLock};

use chrono::DateTime;
use rs_fsrs::{FSRS, Parameters, Rating, Seed};
use serde::{Deserialize, Serialize};

use super::user_file::{Content, UserFile};

/// How well an answer was known, according to the learner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    Again,
    Hard,
    Good,
    Easy,
}

impl Grade {
    pub const ALL: [Self; 4] = [Self::Again, Self::Hard, Self::Good, Self::Easy];

    fn rating(self) -> Rating {
        [Rating::Again, Rating::Hard, Rating::Good, Rating::Easy][self as usize]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// Seconds since 1970.
    pub at: i64,
    pub grade: Grade,
}

/// The reviews of cards: by lesson, and by the English text of the question, which identifies a card even when others
/// are inserted before it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviews {
    cards: BTreeMap<String, BTreeMap<String, Vec<Review>>>,
}

impl Content for Reviews {
    const FILE: &str = "interview.json";
    const FORMAT: u32 = 1;
}

pub type ReviewStore = UserFile<Reviews>;

impl Reviews {
    pub fn of(&self, lesson: &str, question: &str) -> &[Review] {
        self.cards.get(lesson).and_then(|cards| cards.get(question)).map_or(&[], Vec::as_slice)
    }

    pub fn add(&mut self, lesson: &str, question: &str, review: Review) {
        let cards = self.cards.entry(lesson.to_owned()).or_default();
        cards.entry(question.to_owned()).or_default().push(review);
    }
}

static SCHEDULER: LazyLock<FSRS> =
    LazyLock::new(|| FSRS::new(Parameters { seed: Seed::Empty, ..Parameters::default() }));

/// The last second of the year 9999; later times in a file are clamped to it.
const LATEST: i64 = 253_402_300_799;

fn time(seconds: i64) -> DateTime<chrono::Utc> {
    DateTime::from_timestamp(seconds.clamp(0, LATEST), 0).unwrap_or_default()
}

fn learned(reviews: &[Review]) -> rs_fsrs::Card {
    let mut card = rs_fsrs::Card::default();
    for review in reviews {
        // A clock that was set back must not make elapsed time negative.
        let at = time(review.at).max(card.last_review);
        card = SCHEDULER.next(card, at, review.grade.rating()).card;
    }
    card
}

/// When a card with these reviews is due, in seconds since 1970; `None` if it was never asked.
pub fn due(reviews: &[Review]) -> Option<i64> {
    (!reviews.is_empty()).then(|| learned(reviews).due.timestamp())
}

/// For each grade, in how many seconds the card would be due if graded so now.
pub fn intervals(reviews: &[Review], now: i64) -> [i64; 4] {
    let card = learned(reviews);
    let now = time(now).max(card.last_review);
    Grade::ALL.map(|grade| {
        let next = SCHEDULER.next(card.clone(), now, grade.rating()).card;
        (next.due - now).num_seconds()
    })
}

#[cfg(test)]
mod tests {
    use super::{Grade, Review, ReviewStore, Reviews, due, intervals};
    use crate::ui::state::user_file::Trouble;

    const DAY: i64 = 86_400;
    const NOW: i64 = 1_790_000_000;

    fn review(at: i64, grade: Grade) -> Review {
        Review { at, grade }
    }

    #[test]
    fn a_better_grade_brings_a_card_back_later_and_forgetting_brings_it_back_soon() {
        assert_eq!(due(&[]), None);
        let new = intervals(&[], NOW);
        assert_eq!(new[..3], [60, 300, 600], "minutes, as long as it is new");
        assert!(new[3] > 10 * DAY, "{new:?}");
        let known = [review(NOW, Grade::Good), review(NOW + 600, Grade::Good)];
        let next = due(&known).expect("it was reviewed");
        assert!(next >= NOW + 2 * DAY, "{}", next - NOW);
        let later = intervals(&known, next);
        assert!(later.is_sorted() && later[0] < DAY && later[2] > 2 * (next - NOW), "{later:?}");
    }

    #[test]
    fn no_stored_time_breaks_the_scheduler() {
        let odd = [i64::MAX, i64::MIN, NOW, NOW - 9 * DAY, -1];
        let reviews = odd.map(|at| review(at, Grade::Good));
        assert!(due(&reviews).is_some_and(|due| due > 0));
        assert!(intervals(&reviews, NOW).iter().all(|interval| *interval > 0));
    }

    #[test]
    fn reviews_persist_and_newer_files_are_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("lockstep/interview.json");
        let add = |reviews: &mut Reviews| reviews.add("oversell", "Why?", review(NOW, Grade::Hard));
        let (mut one, trouble) = ReviewStore::at(path.clone());
        assert_eq!(trouble, None);
        let (mut other, _) = ReviewStore::at(path.clone());
        one.change(add).expect("kept");
        other.change(add).expect("kept");
        let (again, _) = ReviewStore::at(path.clone());
        assert_eq!(again.get().of("oversell", "Why?"), [review(NOW, Grade::Hard); 2]);

        std::fs::write(&path, "{\"format\": 1, \"cards\": {\"oversell\": 3}}").expect("written");
        let (_, trouble) = ReviewStore::at(path.clone());
        let aside = path.with_file_name("interview.json.damaged-1");
        assert_eq!(trouble, Some(Trouble::Damaged(aside.clone())));
        assert!(std::fs::read_to_string(aside).expect("set aside").contains("oversell"));

        std::fs::write(&path, "{\"format\": 2}").expect("written");
        let (mut newer, trouble) = ReviewStore::at(path.clone());
        assert_eq!(trouble, Some(Trouble::Newer(path.clone())));
        newer.change(add).expect("nowhere to keep it, which was told");
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "{\"format\": 2}");
    }
}
