//! The interview: decks of cards, and a round in which they are asked one after another.

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

/// Questions of a mock interview, where nobody says how many.
pub const MOCK: usize = 10;

/// A card: the places of its lesson in the catalogue, and of the card in the lesson.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardPlace {
    pub entry: usize,
    pub card: usize,
}

/// Which cards are wanted: those that all of this is true of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// A lesson's name on the command line.
    pub lesson: Option<String>,
    pub track: Option<Track>,
    /// An article in which they are asked, such as `S3`.
    pub article: Option<String>,
    /// Of lessons that interviewers like to ask about.
    pub starred: bool,
    /// Asked before, and to be asked again by now.
    pub due: bool,
    /// Only the first of each lesson.
    pub first: bool,
}

impl Filter {
    /// What fits into the twenty minutes before an interview: one question of each lesson that interviewers like.
    pub fn brief() -> Self {
        Self { starred: true, first: true, ..Self::default() }
    }

    pub fn takes(&self, entry: &CatalogueEntry, card: &Card) -> bool {
        self.lesson.as_ref().is_none_or(|lesson| *lesson == entry.id)
            && self.track.is_none_or(|track| track == entry.track)
            && self
                .article
                .as_ref()
                .is_none_or(|article| card.from.iter().any(|from| from.eq_ignore_ascii_case(article)))
            && (!self.starred || entry.starred)
    }

    /// Whether anything of a lesson is wanted, with cards or without.
    pub fn takes_lesson(&self, entry: &CatalogueEntry) -> bool {
        entry.interview.iter().chain([&Card::default()]).any(|card| self.takes(entry, card))
    }

    /// The cards, in the order of the catalogue. `now` is in seconds since 1970.
    pub fn cards(&self, catalogue: &Catalogue, reviews: &Reviews, now: i64) -> Vec<CardPlace> {
        let all = catalogue.entries.iter().enumerate().flat_map(|(n, entry)| {
            let cards = entry.interview.iter().enumerate();
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
        Some((entry, entry.interview.get(self.card)?))
    }

    /// When it is to be asked again; `None` where it never was asked.
    pub fn due(self, catalogue: &Catalogue, reviews: &Reviews) -> Option<i64> {
        let (entry, card) = self.of(catalogue)?;
        due(reviews.of(&entry.id, &card.q.en))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deck {
    pub filter: Filter,
    pub cards: usize,
    /// To be asked again by now.
    pub due: usize,
    /// Never asked.
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

/// Every deck with cards in it: what is due, all, the starred, the brief one, each track's, each article's. `lesson` comes first.
pub fn decks(catalogue: &Catalogue, lesson: Option<&str>, reviews: &Reviews, now: i64) -> Vec<Deck> {
    let entries = || catalogue.entries.iter().filter(|entry| !entry.interview.is_empty());
    let mut tracks: Vec<Track> = entries().map(|entry| entry.track).collect();
    tracks.dedup();
    let mut articles: Vec<&String> =
        entries().flat_map(|entry| &entry.interview).flat_map(|card| &card.from).collect();
    // S2 before S10.
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

/// What was said of an answer, and how long it took.
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
    /// With a clock, and every question once.
    pub mock: bool,
    /// The first is being asked.
    queue: VecDeque<CardPlace>,
    pub answered: Vec<Answered>,
    /// How much of the card is open: the question, its answer, the question that follows, that one's answer.
    pub open: usize,
    pub scroll: u16,
    began: Instant,
    /// When this question was asked.
    asked: Instant,
    /// When the last answer was given.
    ended: Option<Instant>,
}

impl Round {
    /// What is due, the longest overdue first, then what is new; where `early` says so, the rest behind that.
    pub fn practice(
        filter: Filter,
        (catalogue, reviews): (&Catalogue, &Reviews),
        early: bool,
        (now, instant): (i64, Instant),
    ) -> Self {
        let cards = filter.cards(catalogue, reviews, now);
        let mut cards: Vec<(Option<i64>, CardPlace)> =
            cards.into_iter().map(|place| (place.due(catalogue, reviews), place)).collect();
        // Behind what is due by now comes the new, and behind that the rest.
        cards.sort_by_key(|(due, _)| due.unwrap_or(now + 1));
        let wanted = |due: Option<i64>| due.is_none_or(|due| due <= now);
        cards.retain(|(due, _)| early || wanted(*due));
        Self::new(filter, cards.into_iter().map(|(_, place)| place).collect(), false, instant)
    }

    /// So many of the cards, in no order.
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

    /// What is being asked; `None` once everything was.
    pub fn card(&self) -> Option<CardPlace> {
        self.queue.front().copied()
    }

    /// How many answers have been given, and how many there will have been.
    pub fn progress(&self) -> (usize, usize) {
        (self.answered.len(), self.answered.len() + self.queue.len())
    }

    /// Since the first question, and since this one.
    pub fn clock(&self, now: Instant) -> (Duration, Duration) {
        let now = self.ended.unwrap_or(now);
        (now.saturating_duration_since(self.began), now.saturating_duration_since(self.asked))
    }

    /// Opens the next part of a card that has so many.
    pub fn reveal(&mut self, parts: usize) {
        self.open = (self.open + 1).min(parts);
    }

    /// Takes a grade for what is being asked. In practice a card that was not known comes once more.
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

/// How many parts a card has: a question and its answer, and those that follow.
pub fn parts(card: &Card) -> usize {
    if card.follow_up.is_some() { 4 } else { 2 }
}

/// The interview on the screen.
#[derive(Debug)]
pub struct Interview {
    /// To choose from, where it was not opened for one lesson.
    pub decks: Vec<Deck>,
    pub chosen: usize,
    pub round: Option<Round>,
    /// In place of a round.
    pub exam: Option<ExamRound>,
    /// The learner watches what a card says, and comes back to it.
    pub away: bool,
    /// It was opened over a lesson, which is there still.
    pub over_lesson: bool,
    /// The program was started for it, and ends with it.
    pub alone: bool,
}

/// How the interview begins, where the program is started for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beginning {
    /// With the choice of a deck.
    Decks,
    Practice(Filter),
    /// A mock interview of so many questions.
    Mock(Filter, usize),
    /// An exam of so many orders of moves.
    Exam(Filter, usize),
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Filter, Round, SplitMix64, decks};
    use crate::{
        lesson::{Card, Track},
        ui::state::{
            catalogue::{Catalogue, CatalogueEntry},
            reviews::{Grade, Review, Reviews},
        },
    };

    const NOW: i64 = 1_790_000_000;

    fn catalogue() -> Catalogue {
        let entry = |id: &str, track, starred, questions: &[(&str, &[&str])]| {
            let mut entry = CatalogueEntry::broken(id, "");
            (entry.broken, entry.track, entry.starred) = (None, track, starred);
            let card = |(q, from): &(&str, &[&str])| Card {
                q: (*q).into(),
                from: from.iter().map(|from| (*from).to_owned()).collect(),
                ..Card::default()
            };
            entry.interview = questions.iter().map(card).collect();
            entry
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
        // The lesson, due, all, starred, brief, two tracks, S2, S10.
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
    fn practice_asks_what_is_due_and_then_what_is_new_and_again_what_was_not_known() {
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
    fn a_mock_interview_asks_so_many_once_each() {
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
