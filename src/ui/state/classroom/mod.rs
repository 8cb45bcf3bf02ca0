//! The class as the screen knows it: who has joined, what is being asked, the votes, and what of it is kept.

pub mod protocol;

use std::{
    collections::BTreeMap,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use super::{catalogue::CatalogueEntry, playing::Playing};
use crate::{
    log::{Choice, Log},
    text::Text,
    verdict::Verdict,
};
use protocol::{
    Broken, ClassView, Classroom, Decision, Joining, MOVE_VOTE, Poll, PollKind, Published, StageRun, Tally,
    TeacherView,
};

/// Copying the log for the stage may take at most 1/SHARE of the time, but a copy is never delayed by more than
/// LONGEST.
const SHARE: u32 = 20;
const LONGEST: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub struct Class {
    pub joining: Joining,
    /// `None` once the server of the pages has died.
    pub room: Option<Classroom>,
    pub tally: Tally,
    /// The current vote on the next move, or the last one.
    pub ballot: Option<Ballot>,
    /// The lesson that is open, with its author's notes for teachers.
    pub playing: Option<Playing>,
    pub broken: Option<Broken>,
    /// Receives the class's runs, if they are to be kept.
    pub keep: Option<mpsc::Sender<KeptRun>>,
    /// The number of polls so far.
    polls: u64,
    stage: Stage,
}

/// A vote on the next move.
#[derive(Debug, Clone, PartialEq)]
pub struct Ballot {
    pub id: u64,
    pub choices: Vec<(Choice, Text)>,
    pub votes: Vec<usize>,
    pub until: Instant,
    /// The seconds that are left.
    pub seconds: u64,
    pub state: BallotState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BallotState {
    Open,
    NobodyVoted,
    Chosen(usize),
}

/// What a class has done in one run.
#[derive(Debug, Default)]
pub struct ClassRun {
    /// The moves that the class chose, each with the length of the log at that time.
    pub moves: Vec<(usize, Text)>,
    /// What has been kept: whether the verdict, how many broken invariants, how many votes.
    pub kept: (bool, usize, usize),
}

#[derive(Debug, Clone)]
pub struct KeptRun {
    pub entry: CatalogueEntry,
    pub variant: usize,
    pub log: Log,
    pub verdict: Option<Verdict>,
    pub answers: RunAnswers,
}

#[derive(Debug, Clone, Default)]
pub struct RunAnswers {
    /// By item of the story, the number of votes for each choice.
    pub votes: BTreeMap<usize, Vec<usize>>,
    /// By the event of the choice.
    pub moves: Vec<(usize, Text)>,
    pub broken: Option<Broken>,
}

/// The copy of the log for the stage.
#[derive(Debug, Default)]
struct Stage {
    log: Option<Arc<Log>>,
    /// The length of the copied log, and whether a branch was being made at that time.
    copied: (usize, bool),
    /// The earliest time of the next copy.
    next: Option<Instant>,
    /// Whether the log has changed since the copy.
    behind: bool,
}

impl Ballot {
    pub fn is_open(&self) -> bool {
        self.state == BallotState::Open
    }

    pub fn voted(&self) -> usize {
        self.votes.iter().sum()
    }

    /// Closes the vote. Returns the choice with the most votes, the first of equals, or `None` if nobody voted.
    pub fn count(&mut self) -> Option<usize> {
        let votes = self.votes.iter().enumerate().rev();
        let most = votes.max_by_key(|(_, votes)| **votes).filter(|(_, votes)| **votes > 0);
        let chosen = most.map(|(n, _)| n);
        self.state = chosen.map_or(BallotState::NobodyVoted, BallotState::Chosen);
        chosen
    }

    /// The poll shown on the participants' pages. `nobody` is the text for a poll without votes.
    pub fn poll(&self, asks: Text, nobody: Text) -> Poll {
        let decision = |right, why| Some(Decision { right, why, whys: Vec::new() });
        Poll {
            id: self.id,
            kind: PollKind::Move,
            asks,
            choices: self.choices.iter().map(|(_, says)| says.clone()).collect(),
            lasts: u64::try_from(MOVE_VOTE.as_millis()).ok(),
            closed: !self.is_open(),
            decided: match self.state {
                BallotState::Open => None,
                BallotState::NobodyVoted => decision(Vec::new(), Some(nobody)),
                BallotState::Chosen(n) => decision(vec![n], None),
            },
        }
    }
}

impl Class {
    pub fn new(room: Classroom, keep: Option<mpsc::Sender<KeptRun>>) -> Self {
        let tally = room.tally.borrow().clone();
        Self {
            joining: room.joining.clone(),
            tally,
            room: Some(room),
            ballot: None,
            playing: None,
            broken: None,
            keep,
            polls: 0,
            stage: Stage::default(),
        }
    }

    pub fn next_poll(&mut self) -> u64 {
        self.polls += 1;
        self.polls
    }

    /// Opens a vote on the next move.
    pub fn ask(&mut self, choices: Vec<(Choice, Text)>, now: Instant) {
        let (id, votes) = (self.next_poll(), vec![0; choices.len()]);
        let state = BallotState::Open;
        let (until, seconds) = (now + MOVE_VOTE, MOVE_VOTE.as_secs());
        self.ballot = Some(Ballot { id, choices, votes, until, seconds, state });
    }

    /// Handles the death of the server of the pages.
    pub fn lose(&mut self) {
        self.room = None;
        self.tally = Tally::default();
        self.ballot = self.ballot.take().filter(|ballot| !ballot.is_open());
    }

    pub fn publish(&mut self, class: ClassView, teacher: TeacherView, run: Option<StageRun>) {
        if let Some(room) = &self.room {
            room.published.send_replace(Published { class, teacher, run: run.map(Arc::new) });
        }
    }

    /// The log for the stage. It is copied when it has changed, but seldom enough that the terminal stays responsive.
    pub fn stage_log(&mut self, log: &Log, branching: bool, now: Instant) -> Arc<Log> {
        let here = (log.len(), branching);
        let stage = &mut self.stage;
        if let Some(known) = &stage.log {
            stage.behind = stage.copied != here;
            if !stage.behind || stage.next.is_some_and(|next| now < next) {
                return Arc::clone(known);
            }
        }
        let begun = Instant::now();
        let copy = Arc::new(log.clone());
        stage.next = Some(now + (begun.elapsed() * SHARE).min(LONGEST));
        (stage.copied, stage.behind) = (here, false);
        Arc::clone(stage.log.insert(copy))
    }

    /// Drops the copy, because no stage is open or nothing is being played.
    pub fn forget_stage(&mut self) {
        self.stage = Stage::default();
    }

    /// When the class next needs attention without a message.
    pub fn wake(&self, now: Instant) -> Option<Instant> {
        let ballot = self.ballot.as_ref().filter(|ballot| ballot.is_open()).map(|ballot| {
            // When the displayed seconds change.
            let left = ballot.until.saturating_duration_since(now);
            now + Duration::from_nanos(left.subsec_nanos().into()).max(Duration::from_millis(1))
        });
        let stage = self.stage.next.filter(|_| self.stage.behind);
        ballot.into_iter().chain(stage).min()
    }
}

/// Takes over new votes of a poll. Votes of a poll never decrease; if they seem to, the server of the pages has dropped
/// them for another poll, and they are ignored.
pub fn count(known: &mut Vec<usize>, votes: &[usize]) {
    if votes.len() == known.len() && votes.iter().sum::<usize>() >= known.iter().sum() {
        known.clear();
        known.extend_from_slice(votes);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{Ballot, BallotState, count};
    use crate::log::Choice;

    fn ballot(votes: &[usize]) -> Ballot {
        let choices = votes.iter().map(|_| (Choice::Timer, "time".into())).collect();
        let (votes, state) = (votes.to_vec(), BallotState::Open);
        Ballot { id: 1, choices, votes, until: Instant::now(), seconds: 0, state }
    }

    #[test]
    fn the_most_votes_decide_and_of_equals_the_first() {
        assert_eq!(ballot(&[1, 5, 5, 2]).count(), Some(1));
        let mut nobody = ballot(&[0, 0]);
        assert_eq!((nobody.count(), nobody.state), (None, BallotState::NobodyVoted));
    }

    #[test]
    fn votes_of_a_poll_never_decrease() {
        let mut known = vec![2, 1];
        for (votes, expected) in [(&[1, 2][..], [1, 2]), (&[0, 0], [1, 2]), (&[], [1, 2]), (&[4, 0], [4, 0])]
        {
            count(&mut known, votes);
            assert_eq!(known, expected);
        }
    }
}
