//! The data exchanged with the server of the class's pages: what the screen publishes, and what comes back. Neither
//! side waits for the other.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, watch};

use crate::{
    clock::LessonTime, log::Log, text::Text, ui::state::catalogue::CatalogueEntry, verdict::Verdict,
};

/// The time for a vote on the next move.
pub const MOVE_VOTE: Duration = Duration::from_secs(10);
/// The name of the server's threads. A panic in them does not end the lesson.
pub const THREAD: &str = "class";

/// The source of all pages. It is replaced as a whole when it changes.
#[derive(Debug, Clone, Default)]
pub struct Published {
    pub class: ClassView,
    pub teacher: TeacherView,
    /// What the stage draws; `None` while no stage is open.
    pub run: Option<Arc<StageRun>>,
}

/// The part that everybody may see.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ClassView {
    /// `None` while no lesson is open.
    pub title: Option<Text>,
    pub variant: Option<Text>,
    /// The number of completed steps, and of all steps; the latter is `None` in free play.
    pub step: usize,
    pub steps: Option<usize>,
    /// The story's current narration.
    pub says: Option<Text>,
    pub locks: Vec<LockView>,
    pub poll: Option<Poll>,
    /// What was broken in free play.
    pub broken: Option<Broken>,
    /// In a story, what is wrong now, apart from locks with too many holders.
    pub harm: Option<Text>,
    /// The outcome of the variant, once its verdict is shown.
    pub outcome: Option<Text>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LockView {
    pub name: Text,
    pub holders: Vec<Holder>,
    /// Whether it has more holders than allowed.
    pub broken: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Holder {
    pub name: String,
    /// The index of the client, which decides its colour and glyph.
    pub client: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Broken {
    /// How many moves it took; `None` if the class chose none of them.
    pub moves: Option<usize>,
    pub says: Text,
}

/// A question to the class; each question has its own number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Poll {
    pub id: u64,
    pub kind: PollKind,
    pub asks: Text,
    pub choices: Vec<Text>,
    /// The time for voting, in milliseconds of real time; `None` if the teacher ends it.
    pub lasts: Option<u64>,
    /// Voting is over because the teacher went on, but the result is not known yet.
    pub closed: bool,
    /// Votes count until this is set or the poll is closed.
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
    /// The right answers, or the move that was made.
    pub right: Vec<usize>,
    pub why: Option<Text>,
    /// For each choice, why it was plausible though wrong.
    pub whys: Vec<Option<Text>>,
}

/// The part that only the teacher sees.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TeacherView {
    pub notes: Option<Text>,
    /// The note on the completed step; then the next step and its note.
    pub note: Option<Text>,
    pub next: Option<Text>,
    pub next_note: Option<Text>,
    /// When the lesson was opened, in seconds since 1970.
    pub began: i64,
    /// Whether a vote on the next move can be opened now.
    pub can_vote: bool,
}

/// A run at one moment.
#[derive(Debug, Clone)]
pub struct StageRun {
    pub entry: CatalogueEntry,
    pub variant: usize,
    pub log: Arc<Log>,
    /// The playhead: the number of events before it, and the time shown.
    pub position: usize,
    pub display: LessonTime,
    /// The verdict, at the end of the run.
    pub verdict: Option<Verdict>,
}

/// What the server of the pages knows about the class.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// The number of connected phones.
    pub joined: usize,
    /// The number of connected stage pages.
    pub stages: usize,
    /// The poll of these votes, and the number of votes for each choice.
    pub poll: Option<u64>,
    pub votes: Vec<usize>,
}

/// A request of the teacher's remote control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remote {
    Next,
    Back,
    Play,
    /// Opens or ends a vote on the next move.
    Vote,
}

/// How participants join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joining {
    /// The full address, as in the QR code.
    pub url: String,
    pub code: String,
    /// Whether the address is reachable only from this machine.
    pub loopback: bool,
}

/// The screen's end of the connection. The channels close when the server of the pages dies.
#[derive(Debug)]
pub struct Classroom {
    pub joining: Joining,
    pub published: watch::Sender<Published>,
    pub tally: watch::Receiver<Tally>,
    pub remote: mpsc::Receiver<Remote>,
}

/// The server's end of the connection.
#[derive(Debug)]
pub struct ClassroomServer {
    pub published: watch::Receiver<Published>,
    pub tally: watch::Sender<Tally>,
    pub remote: mpsc::Sender<Remote>,
}

/// Creates both ends.
pub fn open(joining: Joining) -> (Classroom, ClassroomServer) {
    let (published, shown) = watch::channel(Published::default());
    let (tally, counted) = watch::channel(Tally::default());
    let (remote, asked) = mpsc::channel(16);
    (
        Classroom { joining, published, tally: counted, remote: asked },
        ClassroomServer { published: shown, tally, remote },
    )
}
