//! What can be done, under which names and on which keys: one table, from which the keys' meaning, the help, the
//! hints, the command palette and the table in docs/keys.md are made. It must not know what becomes of an action.

pub(crate) mod chord;
pub mod map;
pub(crate) mod table;

pub use chord::{Chord, ChordError};
pub use map::{Bindings, Complaint, KeyMap};
pub use table::{TABLE, row};

use crate::{
    text::{Lang, Words},
    ui::theme::ThemeName,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Quit,
    /// This screen or overlay.
    Close,
    Language,
    Help,
    Cards,
    /// How well an answer was known, by index.
    Grade(usize),
    /// The step that shows what an answer says.
    Proof,
    Mock,
    Exam,
    /// Whether an order of moves is taken for safe.
    Judge(bool),
    Open,
    /// Up or down by so many lines.
    Move(i32),
    /// Up or down by so many pages.
    Page(i32),
    Forward,
    Back,
    /// The first step or the newest; the first line or the last.
    End(bool),
    Toggle,
    Faster(bool),
    Restart,
    /// A run of the variant after or before.
    Variant(bool),
    Focus,
    /// The clients' programs, or what they stood in place of.
    Program,
    /// The answer to a question, by index.
    Answer(usize),
    Skip,
    Free,
    /// In free play: the actor with this key makes its next move, counted from 0.
    MoveActor(usize),
    Timer,
    /// Let so many milliseconds pass.
    Pass(u64),
    Faults,
    /// In free play: what can be chosen now, by its place.
    Choose(usize),
    Branches,
    /// Keeps the run in a file.
    Save,
    /// How a class joins.
    Join,
    /// A vote of the class on the next move, or its end.
    Vote,
    Compare,
    Difference,
    Race,
    More,
    Explore,
    /// Every kind of lock against the others.
    Measure,
    Prune,
    NextFault,
    /// Longer orders, or shorter ones.
    Moves(bool),
    /// Into the races of the chosen outcome, or back to the outcomes.
    Races(bool),
    /// The shortest order of the next broken invariant, or of the one before.
    Broken(bool),
    /// Into the states of a search.
    States,
    /// The chosen step to another state, or the last one back.
    Walk(bool),
    Crowd,
    SwitchDiagram,
    /// Columns further right, or further left.
    Sideways(bool),
    /// More rows for the timelines, or fewer.
    Rows(bool),
    Zoom,
    Present,
    /// The next question, fault or violation of the story, or the one before.
    Mark(bool),
    Questions,
    Theme,
    Palette,
    Search,
    /// Into the chosen lesson's variants, or back to the lessons.
    Variants(bool),
    Accept,
    Cancel,
    Erase(Erase),
    /// Open a variant of a lesson, by their places in the catalogue.
    OpenAt(usize, usize),
    SetTheme(ThemeName),
    SetLang(Lang),
    /// The speed at this place of the list of speeds.
    SetSpeed(usize),
    /// Of an exercise: the file in the user's editor, a hint, the reference solution.
    Edit,
    Hint,
    Solution,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erase {
    Character,
    Word,
    All,
}

/// Where an action is at home. Several places are live at a time: a pane, its screen, and everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyScope {
    Catalogue,
    Variants,
    /// A lesson, whichever pane has the focus.
    Lesson,
    /// A lesson whose story puts questions.
    Asked,
    /// A lesson whose story was left: free play.
    Free,
    Branches,
    /// A lesson's story, verdict or question.
    Story,
    Lanes,
    Servers,
    Wire,
    Program,
    Comparison,
    Races,
    /// One of many races, or of all orders.
    Single,
    Exploration,
    /// The states of a small search, one by one.
    States,
    /// A page over a screen: the help.
    Page,
    /// What the interview can ask, and what came of a round.
    Decks,
    /// A question of the interview.
    Card,
    /// An order of moves in an exam.
    Exam,
    /// The teacher's notes, in a terminal of their own.
    Notes,
    /// The exercises.
    Kata,
    /// Every screen before which there is a class.
    Class,
    Everywhere,
    /// A line of typed text: the search, the palette. Characters are typed there; only other keys act.
    Field,
}

impl KeyScope {
    /// All of them, in the order in which they are written about.
    pub const ALL: [Self; 25] = [
        Self::Lesson,
        Self::Asked,
        Self::Free,
        Self::Branches,
        Self::Story,
        Self::Lanes,
        Self::Servers,
        Self::Wire,
        Self::Program,
        Self::Comparison,
        Self::Races,
        Self::Exploration,
        Self::States,
        Self::Single,
        Self::Catalogue,
        Self::Variants,
        Self::Decks,
        Self::Card,
        Self::Exam,
        Self::Notes,
        Self::Kata,
        Self::Class,
        Self::Page,
        Self::Everywhere,
        Self::Field,
    ];

    /// Which places can be live together with this one, itself among them.
    pub const fn meets(self, other: Self) -> bool {
        match (self, other) {
            (Self::Field, other) | (other, Self::Field) => matches!(other, Self::Field),
            (Self::Everywhere | Self::Class, _) | (_, Self::Everywhere | Self::Class) => true,
            // Who is in free play is not asked anything.
            (Self::Asked, Self::Free) | (Self::Free, Self::Asked) => false,
            // The panes are those of a lesson and of one run of many.
            (Self::Single, other) | (other, Self::Single) => other.is_pane() || matches!(other, Self::Single),
            (one, other) if one.is_lesson() || other.is_lesson() => {
                (one.is_lesson() || one.is_pane()) && (other.is_lesson() || other.is_pane())
            }
            _ => self as u8 == other as u8,
        }
    }

    const fn is_lesson(self) -> bool {
        matches!(self, Self::Lesson | Self::Asked | Self::Free)
    }

    const fn is_pane(self) -> bool {
        matches!(self, Self::Story | Self::Lanes | Self::Servers | Self::Wire | Self::Program)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Pane {
    /// The story, or the verdict.
    #[default]
    Story,
    Lanes,
    Servers,
    Wire,
    /// What the clients run.
    Program,
}

impl Pane {
    pub fn next(self) -> Self {
        match self {
            Self::Story => Self::Lanes,
            Self::Lanes => Self::Servers,
            Self::Servers => Self::Wire,
            Self::Wire => Self::Program,
            Self::Program => Self::Story,
        }
    }
}

impl From<Pane> for KeyScope {
    fn from(pane: Pane) -> Self {
        match pane {
            Pane::Story => Self::Story,
            Pane::Lanes => Self::Lanes,
            Pane::Servers => Self::Servers,
            Pane::Wire => Self::Wire,
            Pane::Program => Self::Program,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Its name in the configuration.
    pub id: &'static str,
    pub action: Action,
    /// The keys that it has as long as nobody gives it others, as [`Chord`] reads them.
    pub keys: &'static [&'static str],
    pub places: &'static [KeyScope],
    pub name: Words,
    /// The help tells of it and of so many rows after it in one line.
    pub fold: Option<(usize, Words)>,
    pub hints: &'static [Hint],
}

#[derive(Debug, Clone, Copy)]
pub struct Hint {
    pub place: KeyScope,
    /// The most needed is the lowest: a narrow screen shows as many as fit.
    pub rank: u8,
    /// With the key of the row after this one, too.
    pub pair: bool,
    pub words: Words,
}

impl Row {
    /// Whether one key for both would mean two things at a time.
    pub fn meets(&self, other: &Self) -> bool {
        let meets = |a: &KeyScope| other.places.iter().any(|b| a.meets(*b));
        self.places.iter().any(meets)
    }
}
