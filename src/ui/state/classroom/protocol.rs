//! What a class sees and says: what the screen publishes, and what comes back. Plain data between the screen and the
//! server of the class's pages; neither waits for the other.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, watch};

use crate::{
    clock::LessonTime, log::Log, text::Text, ui::state::catalogue::CatalogueEntry, verdict::Verdict,
};

/// How long a class has for choosing the next move.
pub const MOVE_VOTE: Duration = Duration::from_secs(10);
/// The threads of the server of the pages: what panics there ends no lesson.
pub const THREAD: &str = "class";

/// Everything that pages are made of. It is replaced as a whole whenever it changes.
#[derive(Debug, Clone, Default)]
pub struct Published {
    pub class: ClassView,
    pub teacher: TeacherView,
    /// What the stage draws, while one is open.
    pub run: Option<Arc<StageRun>>,
}

/// What everybody may see.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ClassView {
    /// Nothing while no lesson is open.
    pub title: Option<Text>,
    pub variant: Option<Text>,
    /// How many steps are over, and how many there are; free play has no end.
    pub step: usize,
    pub steps: Option<usize>,
    /// The sentence of the story.
    pub says: Option<Text>,
    pub locks: Vec<LockView>,
    pub poll: Option<Poll>,
    /// What was broken in free play.
    pub broken: Option<Broken>,
    /// What came of the variant, once its verdict is on the screen.
    pub outcome: Option<Text>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LockView {
    pub name: Text,
    pub holders: Vec<Holder>,
    /// Whether more hold it than may.
    pub broken: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Holder {
    pub name: String,
    /// The client's place among the clients: its colour and glyph.
    pub client: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Broken {
    /// How many it took; nothing where the class chose none of them.
    pub moves: Option<usize>,
    pub says: Text,
}

/// What the class is asked. Another question has another number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Poll {
    pub id: u64,
    pub kind: PollKind,
    pub asks: Text,
    pub choices: Vec<Text>,
    /// Milliseconds of real time that a vote has from its opening; none where the teacher ends it.
    pub lasts: Option<u64>,
    /// The teacher has gone on: what was voted stands, and what comes of it is not known yet.
    pub closed: bool,
    /// Votes count while there is none, and it is not closed.
    pub decided: Option<Decision>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PollKind {
    /// What will happen?
    Prediction,
    /// What shall happen?
    Move,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// The answers that were right, or the move that was made.
    pub right: Vec<usize>,
    pub why: Option<Text>,
    /// Why a wrong answer was plausible, for each choice.
    pub whys: Vec<Option<Text>>,
}

/// What only the teacher sees.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TeacherView {
    pub notes: Option<Text>,
    /// Of the step that is over, and of the one that comes next.
    pub note: Option<Text>,
    pub next: Option<Text>,
    pub next_note: Option<Text>,
    /// When the lesson was opened, in seconds since 1970.
    pub began: i64,
    /// Whether a vote on the next move can be opened now.
    pub can_vote: bool,
}

/// A run at a moment.
#[derive(Debug, Clone)]
pub struct StageRun {
    pub entry: CatalogueEntry,
    pub variant: usize,
    pub log: Arc<Log>,
    /// Where the playhead stands: how many events are over, and the moment that is shown.
    pub position: usize,
    pub display: LessonTime,
    /// The verdict, where the run is at its end.
    pub verdict: Option<Verdict>,
}

/// What is known of the class.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Phones that are connected.
    pub joined: usize,
    /// Stage pages that are connected.
    pub stages: usize,
    /// The poll that the votes are for, and how many each of its choices has.
    pub poll: Option<u64>,
    pub votes: Vec<usize>,
}

/// What a teacher's phone asks the screen to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remote {
    Next,
    Back,
    Play,
    /// Opens a vote on the next move, or ends the one that is open.
    Vote,
}

/// Where people join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joining {
    /// The whole address, as the QR code has it.
    pub url: String,
    pub code: String,
    /// Whether only this machine can reach it.
    pub loopback: bool,
}

/// The screen's end. The other end is gone when the server of the pages has died.
#[derive(Debug)]
pub struct Classroom {
    pub joining: Joining,
    pub published: watch::Sender<Published>,
    pub tally: watch::Receiver<Tally>,
    pub remote: mpsc::Receiver<Remote>,
}

/// The end of the server of the pages.
#[derive(Debug)]
pub struct ClassroomServer {
    pub published: watch::Receiver<Published>,
    pub tally: watch::Sender<Tally>,
    pub remote: mpsc::Sender<Remote>,
}

/// Both ends.
pub fn open(joining: Joining) -> (Classroom, ClassroomServer) {
    let (published, shown) = watch::channel(Published::default());
    let (tally, counted) = watch::channel(Tally::default());
    let (remote, asked) = mpsc::channel(16);
    (
        Classroom { joining, published, tally: counted, remote: asked },
        ClassroomServer { published: shown, tally, remote },
    )
}
