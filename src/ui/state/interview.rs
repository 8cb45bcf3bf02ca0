//! The interview: decks of cards, and a round in which cards are asked one after another.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use super::{
    catalogue::{Catalogue, CatalogueEntry},
    exam::ExamRound,
    reviews::{Grade, Reviews, due},
};
use crate::{
    lesson::{Card, Track},
    random::SplitMix64,
};

/// The default number of questions of a mock interview.
pub const MOCK: usize = 10;

/// A card: the index of its lesson in the catalogue, and its index in the lesson.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardPlace {
    pub entry: usize,
    pub card: usize,
}

/// A conjunction of conditions on cards.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// The lesson's name on the command line.
    pub lesson: Option<String>,
    pub track: Option<Track>,
    /// An article that asks the question, such as `S3`.
    pub article: Option<String>,
    /// In lessons that are common interview topics.
    pub starred: bool,
    /// Asked before and due again.
    pub due: bool,
    /// Only the first card of each lesson.
    pub first: bool,
}

impl Filter {
    /// A deck for the twenty minutes before an interview: one question from each common interview topic.
    pub fn brief() -> Self {
        Self { starred: true, first: true, ..Self::default() }
    }

    pub fn takes(&self, entry: &CatalogueEntry, card: &Card) -> bool {
        self.lesson.as_ref().is_none_or(|lesson| *lesson == entry.lesson.id)
            && self.track.is_none_or(|track| track == entry.lesson.track)
            && self
                .article
                .as_ref()
                .is_none_or(|article| card.from.iter().any(|from| from.eq_ignore_ascii_case(article)))
            && (!self.starred || entry.lesson.starred)
    }

    /// Whether the filter accepts a lesson, even if it has no cards.
    pub fn takes_lesson(&self, entry: &CatalogueEntry) -> bool {
        entry.lesson.interview.iter().chain([&Card::default()]).any(|card| self.takes(entry, card))
    }

    /// The matching cards, in the catalogue's order. `now` is in seconds since 1970.
    pub fn cards(&self, catalogue: &Catalogue, reviews: &Reviews, now: i64) -> Vec<CardPlace> {
        let all = catalogue.entries.iter().enumerate().flat_map(|(n, entry)| {
            let cards = entry.lesson.interview.iter().enumerate();
            cards
                .filter(|(_, card)| self.takes(entry, card))
                .take(if self.first { 1 } else { usize::MAX })
                .map(move |(card, _)| CardPlace { entry: n, card })
        });
        let is_due = |place: &CardPlace| place.due(catalogue, reviews).is_some_and(|due| due <= now);
        all.filter(|place| !self.due || is_due(place)).collect()
    }
}

impl CardPlace {
    pub fn of(self, catalogue: &Catalogue) -> Option<(&CatalogueEntry, &Card)> {
        let entry = catalogue.entries.get(self.entry)?;
        Some((entry, entry.lesson.interview.get(self.card)?))
    }

    /// When the card is due, in seconds since 1970; `None` if it was never asked.
    pub fn due(self, catalogue: &Catalogue, reviews: &Reviews) -> Option<i64> {
        let (entry, card) = self.of(catalogue)?;
        due(reviews.of(&entry.lesson.id, &card.q.en))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deck {
    pub filter: Filter,
    pub cards: usize,
    /// The number of cards due again.
    pub due: usize,
    /// The number of cards never asked.
    pub fresh: usize,
}

impl Deck {
    fn new(filter: Filter, catalogue: &Catalogue, reviews: &Reviews, now: i64) -> Self {
        let mut deck = Self { cards: 0, due: 0, fresh: 0, filter };
        for place in deck.filter.cards(catalogue, reviews, now) {
            deck.cards += 1;
            match place.due(catalogue, reviews) {
                None => deck.fresh += 1,
                Some(due) => deck.due += usize::from(due <= now),
            }
        }
        deck
    }
}

/// Every deck that has cards: `lesson`'s, due, all, starred, brief, one per track, one per article.
pub fn decks(catalogue: &Catalogue, lesson: Option<&str>, reviews: &Reviews, now: i64) -> Vec<Deck> {
    let entries = || catalogue.entries.iter().filter(|entry| !entry.lesson.interview.is_empty());
    let mut tracks: Vec<Track> = entries().map(|entry| entry.lesson.track).collect();
    tracks.dedup();
    let mut articles: Vec<&String> =
        entries().flat_map(|entry| &entry.lesson.interview).flat_map(|card| &card.from).collect();
    // By length first, so that S2 comes before S10.
    articles.sort_by_key(|article| (article.len(), article.as_str()));
    articles.dedup();
    let mut filters = vec![
        Filter { due: true, ..Filter::default() },
        Filter::default(),
        Filter { starred: true, ..Filter::default() },
        Filter::brief(),
    ];
    if let Some(lesson) = lesson {
        filters.insert(0, Filter { lesson: Some(lesson.to_owned()), ..Filter::default() });
    }
    filters.extend(tracks.into_iter().map(|track| Filter { track: Some(track), ..Filter::default() }));
    let article = |article: &String| Filter { article: Some(article.clone()), ..Filter::default() };
    filters.extend(articles.into_iter().map(article));
    let decks = filters.into_iter().map(|filter| Deck::new(filter, catalogue, reviews, now));
    decks.filter(|deck| deck.cards > 0).collect()
}

/// The grade of an answer, and the time it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answered {
    pub card: CardPlace,
    pub grade: Grade,
    pub took: Duration,
}

/// Cards that are asked one after another.
#[derive(Debug, Clone)]
pub struct Round {
    pub filter: Filter,
    /// With a stopwatch, and each question only once.
    pub mock: bool,
    /// The first one is being asked.
    queue: VecDeque<CardPlace>,
    pub answered: Vec<Answered>,
    /// The number of visible parts of the card: question, answer, follow-up question, its answer.
    pub open: usize,
    pub scroll: u16,
    began: Instant,
    /// When the current question was asked.
    asked: Instant,
    /// When the last answer was given.
    ended: Option<Instant>,
}

impl Round {
    /// Due cards, longest overdue first, then new ones; with `early`, also those not due yet.
    pub fn practice(
        filter: Filter,
        (catalogue, reviews): (&Catalogue, &Reviews),
        early: bool,
        (now, instant): (i64, Instant),
    ) -> Self {
        let cards = filter.cards(catalogue, reviews, now);
        let mut cards: Vec<(Option<i64>, CardPlace)> =
            cards.into_iter().map(|place| (place.due(catalogue, reviews), place)).collect();
        // The sort order is: due, new, not due yet.
        cards.sort_by_key(|(due, _)| due.unwrap_or(now + 1));
        let wanted = |due: Option<i64>| due.is_none_or(|due| due <= now);
        cards.retain(|(due, _)| early || wanted(*due));
        Self::new(filter, cards.into_iter().map(|(_, place)| place).collect(), false, instant)
    }

    /// A random selection of that many cards.
    pub fn mock(
        filter: Filter,
        (catalogue, reviews): (&Catalogue, &Reviews),
        questions: usize,
        (now, instant): (i64, Instant),
        seed: u64,
    ) -> Self {
        let mut cards = filter.cards(catalogue, reviews, now);
        SplitMix64::new(seed).shuffle(&mut cards);
        cards.truncate(questions);
        Self::new(filter, cards.into(), true, instant)
    }

    fn new(filter: Filter, queue: VecDeque<CardPlace>, mock: bool, now: Instant) -> Self {
        Self {
            filter,
            mock,
            queue,
            answered: Vec::new(),
            open: 1,
            scroll: 0,
            began: now,
            asked: now,
            ended: None,
        }
    }

    /// The card being asked; `None` at the end of the round.
    pub fn card(&self) -> Option<CardPlace> {
        self.queue.front().copied()
    }

    /// The number of answers given, and the number at the end of the round.
    pub fn progress(&self) -> (usize, usize) {
        (self.answered.len(), self.answered.len() + self.queue.len())
    }

    /// The time since the first question, and since the current one.
    pub fn clock(&self, now: Instant) -> (Duration, Duration) {
        let now = self.ended.unwrap_or(now);
        (now.saturating_duration_since(self.began), now.saturating_duration_since(self.asked))
    }

    /// Reveals the next part of a card that has `parts` parts.
    pub fn reveal(&mut self, parts: usize) {
        self.open = (self.open + 1).min(parts);
    }

    /// Grades the current card. In practice, a card that was not known is asked once more.
    pub fn grade(&mut self, grade: Grade, now: Instant) {
        let Some(card) = self.queue.pop_front() else { return };
        let took = now.saturating_duration_since(self.asked);
        self.answered.push(Answered { card, grade, took });
        if grade == Grade::Again && !self.mock {
            self.queue.push_back(card);
        }
        (self.open, self.scroll, self.asked) = (1, 0, now);
        if self.queue.is_empty() {
            self.ended = Some(now);
        }
    }

    pub fn graded(&self, grade: Grade) -> usize {
        self.answered.iter().filter(|answered| answered.grade == grade).count()
    }
}

/// The number of parts of a card: a question and its answer, and perhaps a follow-up and its answer.
pub fn parts(card: &Card) -> usize {
    if card.follow_up.is_some() { 4 } else { 2 }
}

#[derive(Debug)]
pub struct Interview {
    /// The decks to choose from; empty if it was opened for one lesson.
    pub decks: Vec<Deck>,
    pub chosen: usize,
    pub round: Option<Round>,
    /// Takes the place of a round.
    pub exam: Option<ExamRound>,
    /// Whether the learner is watching a step that a card has opened.
    pub in_lesson: bool,
    /// Whether it was opened over a lesson, which is kept.
    pub over_lesson: bool,
    /// Whether the program was started for the interview, and ends with it.
    pub standalone: bool,
}

/// What the interview begins with when the program is started for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beginning {
    /// The choice of a deck.
    Decks,
    Practice(Filter),
    /// A mock interview with that many questions.
    Mock(Filter, usize),
    /// An exam with that many questions.
    Exam(Filter, usize),
}

#[cfg(test)]
mod tests {
    use std::{
        sync::Arc,
        time::{Duration, Instant},
    };

    use super::{Filter, Round, SplitMix64, decks};
    use crate::{
        lesson::{Card, Lesson, Track},
        ui::state::{
            catalogue::{Catalogue, CatalogueEntry},
            reviews::{Grade, Review, Reviews},
        },
    };

    const NOW: i64 = 1_790_000_000;

    fn catalogue() -> Catalogue {
        let entry = |id: &str, track, starred, questions: &[(&str, &[&str])]| {
            let card = |(q, from): &(&str, &[&str])| Card {
                q: (*q).into(),
                from: from.iter().map(|from| (*from).to_owned()).collect(),
                ..Card::default()
            };
            let interview = questions.iter().map(card).collect();
            let lesson = Lesson { id: id.into(), track, starred, interview, ..Lesson::default() };
            CatalogueEntry::from(&Arc::new(lesson))
        };
        Catalogue::new(vec![
            entry("oversell", Track::Basics, true, &[("a", &["S10"]), ("b", &["S2", "S10"])]),
            entry("unlock", Track::Redis, false, &[("c", &[]), ("d", &["S2"])]),
        ])
    }

    fn asked(round: &Round, catalogue: &Catalogue) -> Vec<String> {
        let question = |place: &super::CardPlace| place.of(catalogue).expect("a card").1.q.en.clone();
        round.queue.iter().map(question).collect()
    }

    #[test]
    fn decks_are_by_star_track_and_article_and_count_what_is_due() {
        let catalogue = catalogue();
        let mut reviews = Reviews::default();
        reviews.add("unlock", "d", Review { at: NOW - 3600, grade: Grade::Again });
        let decks = decks(&catalogue, Some("unlock"), &reviews, NOW);
        let seen: Vec<_> = decks.iter().map(|deck| (deck.cards, deck.due, deck.fresh)).collect();
        // In order: the lesson, due, all, starred, brief, two tracks, S2, S10.
        assert_eq!(
            seen,
            [
                (2, 1, 1),
                (1, 1, 0),
                (4, 1, 3),
                (2, 0, 2),
                (1, 0, 1),
                (2, 0, 2),
                (2, 1, 1),
                (2, 1, 1),
                (2, 0, 2)
            ]
        );
        assert_eq!(decks[7].filter.article.as_deref(), Some("S2"));
    }

    #[test]
    fn practice_asks_due_then_new_cards_and_repeats_unknown_ones() {
        let catalogue = catalogue();
        let mut reviews = Reviews::default();
        reviews.add("unlock", "d", Review { at: NOW - 3600, grade: Grade::Again });
        reviews.add("oversell", "a", Review { at: NOW, grade: Grade::Easy });
        let begun = Instant::now();
        let practice = |filter, early| Round::practice(filter, (&catalogue, &reviews), early, (NOW, begun));
        let mut round = practice(Filter::default(), false);
        assert_eq!(asked(&round, &catalogue), ["d", "b", "c"]);
        assert_eq!(asked(&practice(Filter::default(), true), &catalogue), ["d", "b", "c", "a"]);
        round.reveal(2);
        round.grade(Grade::Again, begun + Duration::from_secs(5));
        assert_eq!((asked(&round, &catalogue), round.open), (vec!["b".into(), "c".into(), "d".into()], 1));
        assert_eq!(round.progress(), (1, 4));
        for _ in 0..3 {
            round.grade(Grade::Good, begun + Duration::from_secs(65));
        }
        assert_eq!(round.card(), None);
        assert_eq!(round.clock(begun + Duration::from_secs(999)).0, Duration::from_secs(65));
        assert_eq!((round.graded(Grade::Again), round.graded(Grade::Good)), (1, 3));
    }

    #[test]
    fn a_mock_interview_asks_each_question_once() {
        let catalogue = catalogue();
        let reviews = Reviews::default();
        let begun = Instant::now();
        let mut round = Round::mock(Filter::default(), (&catalogue, &reviews), 3, (NOW, begun), 7);
        let questions = asked(&round, &catalogue);
        assert_eq!(questions.iter().collect::<std::collections::BTreeSet<_>>().len(), 3);
        (0..3).for_each(|_| round.grade(Grade::Again, begun));
        assert_eq!((round.card(), round.progress()), (None, (3, 3)));
        let orders: std::collections::BTreeSet<_> = (0..50)
            .map(|seed| {
                let mut items = [0, 1, 2];
                SplitMix64::new(seed).shuffle(&mut items);
                items
            })
            .collect();
        assert_eq!(orders.len(), 6, "every order comes");
    }
}
