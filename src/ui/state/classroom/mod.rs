//! A class as the screen knows it: who is there, what it is asked, what it has said, and what of that is kept.

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

/// Copying the log for the stage may take one part in SHARE of the time; a copy is never put off longer than LONGEST.
const SHARE: u32 = 20;
const LONGEST: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub struct Class {
    pub joining: Joining,
    /// Nothing once the server of the pages has died.
    pub room: Option<Classroom>,
    pub tally: Tally,
    /// The vote on the next move: the one that is open, or the last one.
    pub ballot: Option<Ballot>,
    /// The lesson that is open, with what its author wrote to teachers.
    pub playing: Option<Playing>,
    pub broken: Option<Broken>,
    /// Where the class's runs go, if anybody keeps them.
    pub keep: Option<mpsc::Sender<KeptRun>>,
    /// How many polls there were.
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
    /// How many are left.
    pub seconds: u64,
    pub state: BallotState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BallotState {
    Open,
    NobodyVoted,
    Chosen(usize),
}

/// What one run of a lesson has been to the class.
#[derive(Debug, Default)]
pub struct ClassRun {
    /// What the class has chosen, each with how long the log was then.
    pub moves: Vec<(usize, Text)>,
    /// Whether its verdict was kept, how many broken invariants, and how much was voted.
    pub kept: (bool, usize, usize),
}

/// A run of the class, for whoever keeps it.
#[derive(Debug, Clone)]
pub struct KeptRun {
    pub entry: CatalogueEntry,
    pub variant: usize,
    pub log: Log,
    pub verdict: Option<Verdict>,
    pub answers: RunAnswers,
}

/// What a class has said to a run.
#[derive(Debug, Clone, Default)]
pub struct RunAnswers {
    /// By the story's items, how many each choice had.
    pub votes: BTreeMap<usize, Vec<usize>>,
    /// By the events with which they were chosen.
    pub moves: Vec<(usize, Text)>,
    pub broken: Option<Broken>,
}

/// What the stage was given last.
#[derive(Debug, Default)]
struct Stage {
    log: Option<Arc<Log>>,
    /// How much of which log that is.
    copied: (usize, bool),
    /// When the log may be copied again.
    next: Option<Instant>,
    /// Whether the log has changed since.
    behind: bool,
}

impl Ballot {
    pub fn is_open(&self) -> bool {
        self.state == BallotState::Open
    }

    pub fn voted(&self) -> usize {
        self.votes.iter().sum()
    }

    /// The choice with the most votes; of equals the first.
    pub fn count(&mut self) -> Option<usize> {
        let votes = self.votes.iter().enumerate().rev();
        let most = votes.max_by_key(|(_, votes)| **votes).filter(|(_, votes)| **votes > 0);
        let chosen = most.map(|(n, _)| n);
        self.state = chosen.map_or(BallotState::NobodyVoted, BallotState::Chosen);
        chosen
    }

    /// What everybody's own screen shows. `nobody`: what is said where nobody has voted.
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

    /// The server of the pages has died.
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

    /// The log for the stage: copied where it has changed, and not so often that anybody at the terminal would notice.
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

    /// No stage is open, or nothing is played on it.
    pub fn forget_stage(&mut self) {
        self.stage = Stage::default();
    }

    /// When something is to be done for the class next, though nothing happens.
    pub fn wake(&self, now: Instant) -> Option<Instant> {
        let ballot = self.ballot.as_ref().filter(|ballot| ballot.is_open()).map(|ballot| {
            // When the seconds that are left change.
            let left = ballot.until.saturating_duration_since(now);
            now + Duration::from_nanos(left.subsec_nanos().into()).max(Duration::from_millis(1))
        });
        let stage = self.stage.next.filter(|_| self.stage.behind);
        ballot.into_iter().chain(stage).min()
    }
}

/// Votes as they are known next: of one poll they never become fewer. Where they would, the server of the pages has
/// forgotten them in favour of another poll's.
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
    fn votes_of_a_poll_never_become_fewer() {
        let mut known = vec![2, 1];
        for (votes, expected) in [(&[1, 2][..], [1, 2]), (&[0, 0], [1, 2]), (&[], [1, 2]), (&[4, 0], [4, 0])]
        {
            count(&mut known, votes);
            assert_eq!(known, expected);
        }
    }
}
