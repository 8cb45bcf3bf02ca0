//! Participants and their votes: one vote per cookie and poll, and bounds on everything.

use std::{
    collections::{BTreeMap, HashMap},
    time::{Duration, Instant},
};

use super::limits::{Bucket, VOTES};
use crate::ui::state::classroom::protocol::{Poll, Tally};

/// The maximum number of known cookies. It exceeds the number of connections, so that there is always an unconnected
/// one to drop.
const PHONES: usize = 4000;
/// A phone counts as still connecting until this many other phones have been active since its page was loaded.
const CONNECTING: u64 = 1000;
/// The maximum number of polls whose votes are kept, because a teacher may step back to them.
const BALLOTS: usize = 32;
/// The maximum number of streams per phone: it is not always noticed at once when a page is closed.
const STREAMS: usize = 6;

#[derive(Debug)]
struct Phone {
    streams: usize,
    /// When it was last active, on a counter of activity.
    heard: u64,
    /// Whether it has voted, and would lose its votes.
    voted: bool,
    rate: Bucket,
}

#[derive(Debug)]
struct Ballot {
    began: Instant,
    votes: HashMap<u128, usize>,
    counts: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vote {
    Counted,
    /// The poll is not open.
    Over,
    NoSuchChoice,
    TooOften,
    Stranger,
}

#[derive(Debug, Default)]
pub(crate) struct Phones {
    known: HashMap<u128, Phone>,
    ballots: BTreeMap<u64, Ballot>,
    heard: u64,
}

impl Phones {
    /// Whether a cookie was issued here and is still known.
    pub(crate) fn knows(&self, cookie: u128) -> bool {
        self.known.contains_key(&cookie)
    }

    pub(crate) fn add(&mut self, cookie: u128) {
        if self.known.len() >= PHONES {
            // Of the unconnected phones, drops first those that have not voted and are not connecting, then the least
            // recently active.
            let absent = self.known.iter().filter(|(_, phone)| phone.streams == 0);
            let stays = |phone: &Phone| phone.voted || self.heard - phone.heard < CONNECTING;
            let oldest = absent.min_by_key(|(_, phone)| (stays(phone), phone.heard));
            if let Some(oldest) = oldest.map(|(cookie, _)| *cookie) {
                self.known.remove(&oldest);
                self.ballots.values_mut().for_each(|ballot| ballot.forget(oldest));
            }
        }
        self.heard += 1;
        self.known
            .insert(cookie, Phone { streams: 0, heard: self.heard, voted: false, rate: Bucket::new(VOTES) });
    }

    /// Registers another stream of a phone. Returns `false` if that would be too many.
    pub(crate) fn join(&mut self, cookie: u128) -> bool {
        self.heard += 1;
        let phone = self.known.get_mut(&cookie).filter(|phone| phone.streams < STREAMS);
        phone.is_some_and(|phone| {
            phone.streams += 1;
            phone.heard = self.heard;
            true
        })
    }

    pub(crate) fn leave(&mut self, cookie: u128) {
        if let Some(phone) = self.known.get_mut(&cookie) {
            phone.streams -= 1;
        }
    }

    /// Counts a vote if the poll is open, replacing the phone's earlier one.
    pub(crate) fn vote(&mut self, cookie: u128, id: u64, choice: usize, open: Option<&Poll>) -> Vote {
        self.heard += 1;
        let Some(phone) = self.known.get_mut(&cookie) else { return Vote::Stranger };
        phone.heard = self.heard;
        if !phone.rate.take() {
            return Vote::TooOften;
        }
        let Some(poll) = open.filter(|poll| poll.id == id && is_open(poll)) else {
            return Vote::Over;
        };
        if choice >= poll.choices.len() {
            return Vote::NoSuchChoice;
        }
        phone.voted = true;
        self.ballot(poll).count(cookie, choice);
        Vote::Counted
    }

    fn ballot(&mut self, poll: &Poll) -> &mut Ballot {
        // Newer polls have higher numbers, so this drops the oldest.
        while self.ballots.len() >= BALLOTS && !self.ballots.contains_key(&poll.id) {
            self.ballots.pop_first();
        }
        let new = || Ballot { began: Instant::now(), votes: HashMap::new(), counts: Vec::new() };
        let ballot = self.ballots.entry(poll.id).or_insert_with(new);
        if ballot.counts.len() < poll.choices.len() {
            ballot.counts.resize(poll.choices.len(), 0);
        }
        ballot
    }

    pub(crate) fn mine(&self, cookie: u128, poll: u64) -> Option<usize> {
        self.ballots.get(&poll)?.votes.get(&cookie).copied()
    }

    /// The number of participants and the votes of a poll, and when the poll ends.
    pub(crate) fn tally(&mut self, poll: Option<&Poll>, stages: usize) -> (Tally, Option<Instant>) {
        let joined = self.known.values().filter(|phone| phone.streams > 0).count();
        let ballot = poll.map(|poll| self.ballot(poll));
        let ends = poll.and_then(|poll| poll.lasts.filter(|_| is_open(poll)).map(Duration::from_millis));
        let ends = ballot.as_ref().zip(ends).map(|(ballot, lasts)| ballot.began + lasts);
        let votes = ballot.map_or_else(Vec::new, |ballot| ballot.counts.clone());
        (Tally { joined, stages, poll: poll.map(|poll| poll.id), votes }, ends)
    }
}

fn is_open(poll: &Poll) -> bool {
    !poll.closed && poll.decided.is_none()
}

impl Ballot {
    fn forget(&mut self, cookie: u128) {
        if let Some(before) = self.votes.remove(&cookie) {
            self.counts[before] -= 1;
        }
    }

    fn count(&mut self, cookie: u128, choice: usize) {
        self.forget(cookie);
        self.votes.insert(cookie, choice);
        self.counts[choice] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::state::classroom::protocol::{Decision, PollKind};

    fn poll(id: u64) -> Poll {
        Poll {
            id,
            kind: PollKind::Prediction,
            asks: "?".into(),
            choices: vec!["a".into(), "b".into()],
            lasts: None,
            closed: false,
            decided: None,
        }
    }

    #[test]
    fn a_phone_has_one_vote_and_may_change_it_until_the_poll_is_decided() {
        let mut phones = Phones::default();
        let mut open = poll(7);
        phones.add(1);
        phones.add(2);
        let mut vote = |cookie, id, choice, open: &Poll| {
            let vote = phones.vote(cookie, id, choice, Some(open));
            (vote, phones.tally(Some(open), 0).0.votes)
        };
        assert_eq!(vote(1, 7, 0, &open), (Vote::Counted, vec![1, 0]));
        assert_eq!(vote(2, 7, 0, &open), (Vote::Counted, vec![2, 0]));
        assert_eq!(vote(1, 7, 1, &open), (Vote::Counted, vec![1, 1]));
        assert_eq!(vote(1, 7, 1, &open), (Vote::Counted, vec![1, 1]));
        assert_eq!(vote(3, 7, 1, &open), (Vote::Stranger, vec![1, 1]));
        assert_eq!(vote(1, 7, 2, &open), (Vote::NoSuchChoice, vec![1, 1]));
        assert_eq!(vote(1, 6, 1, &open), (Vote::Over, vec![1, 1]));
        open.closed = true;
        assert_eq!(vote(1, 7, 0, &open), (Vote::Over, vec![1, 1]));
        open.decided = Some(Decision { right: vec![0], why: None, whys: Vec::new() });
        assert_eq!(vote(1, 7, 0, &open), (Vote::Over, vec![1, 1]));
        assert_eq!(vote(2, 8, 1, &poll(8)), (Vote::Counted, vec![0, 1]));
        // After stepping back, the earlier votes are still there.
        assert_eq!(phones.tally(Some(&open), 0).0.votes, [1, 1]);
        assert_eq!((phones.mine(1, 7), phones.mine(1, 8)), (Some(1), None));
    }

    #[test]
    fn cookies_and_ballots_are_bounded_and_connected_phones_stay() {
        let mut phones = Phones::default();
        phones.add(0);
        assert!(phones.join(0));
        phones.add(1);
        assert_eq!(phones.vote(1, 1, 0, Some(&poll(1))), Vote::Counted);
        for cookie in 2..5000 {
            phones.add(cookie);
        }
        assert_eq!(phones.known.len(), PHONES);
        assert!(phones.knows(0) && phones.knows(1) && !phones.knows(2));
        for id in 0..1000 {
            assert_eq!(phones.tally(Some(&poll(id)), 0).0.poll, Some(id));
        }
        assert_eq!(phones.ballots.len(), BALLOTS);
        assert_eq!((0..20).filter(|_| phones.join(0)).count(), STREAMS - 1);
    }

    #[test]
    fn new_phones_join_after_many_voted_and_left() {
        let mut phones = Phones::default();
        for cookie in 0..PHONES as u128 {
            phones.add(cookie);
            phones.vote(cookie, 1, 0, Some(&poll(1)));
        }
        let class = 5000..5500;
        class.clone().for_each(|cookie| phones.add(cookie));
        assert!(class.clone().all(|cookie| phones.join(cookie)));
        assert_eq!(phones.known.len(), PHONES);
    }

    #[test]
    fn votes_are_rate_limited() {
        let mut phones = Phones::default();
        phones.add(1);
        let votes = (0..1000).map(|n| phones.vote(1, 1, n % 2, Some(&poll(1))));
        let (counted, rest): (Vec<_>, Vec<_>) = votes.partition(|vote| *vote == Vote::Counted);
        assert!((10..20).contains(&counted.len()), "{}", counted.len());
        assert!(rest.iter().all(|vote| *vote == Vote::TooOften));
        assert_eq!(phones.tally(Some(&poll(1)), 0).0.votes.iter().sum::<usize>(), 1);
    }
}
