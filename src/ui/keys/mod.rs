//! Actions, their names and their keys: one table, from which the key map, the help, the hints, the command palette and
//! the table in docs/keys.md are made. It must not know what an action does.

pub(crate) mod chord;
pub mod map;
pub(crate) mod table;

pub use chord::Chord;
pub use map::{Bindings, Complaint, KeyMap};
pub use table::{TABLE, row};

use crate::{
    text::{Lang, Words},
    ui::theme::ThemeName,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Quit,
    /// Stops the program until the shell continues it.
    Suspend,
    /// Closes this screen or overlay.
    Close,
    Language,
    Help,
    Cards,
    /// Grades how well an answer was known, by index.
    Grade(usize),
    /// Opens the step that proves an answer.
    Proof,
    Mock,
    Exam,
    /// Judges an order of moves as safe or unsafe.
    Judge(bool),
    Open,
    /// By that many lines up (negative) or down.
    Move(i32),
    /// By that many pages up (negative) or down.
    Page(i32),
    Forward,
    Back,
    /// To the newest step or last line (`true`), or the first one.
    End(bool),
    Toggle,
    Faster(bool),
    Restart,
    /// Opens the next (`true`) or previous variant.
    Variant(bool),
    Focus,
    /// Toggles between the clients' programs and the pane they replace.
    Program,
    /// Answers a question, by index.
    Answer(usize),
    Skip,
    Free,
    /// In free play, lets the actor on this key move; counted from 0.
    MoveActor(usize),
    Timer,
    /// Lets that many milliseconds pass.
    Pass(u64),
    Faults,
    /// In free play, makes the choice with this index.
    Choose(usize),
    Branches,
    Save,
    /// Shows how a class joins.
    Join,
    /// Opens or ends a vote of the class on the next move.
    Vote,
    Compare,
    Difference,
    Race,
    More,
    Explore,
    /// Measures the kinds of locks against each other.
    Measure,
    Prune,
    NextFault,
    /// Longer (`true`) or shorter orders.
    Moves(bool),
    /// Into the races of the chosen outcome (`true`), or back to the outcomes.
    Races(bool),
    /// The shortest order that breaks the next (`true`) or previous invariant.
    Broken(bool),
    /// Opens the states of a search.
    States,
    /// Takes the chosen step to another state (`true`), or the last one back.
    Walk(bool),
    Crowd,
    SwitchDiagram,
    /// Further right (`true`) or left by columns.
    Sideways(bool),
    /// More (`true`) or fewer rows for the timelines.
    Rows(bool),
    Zoom,
    Present,
    /// To the next (`true`) or previous question, fault or violation of the story.
    Mark(bool),
    Questions,
    Theme,
    Palette,
    Search,
    /// Into the chosen lesson's variants (`true`), or back to the lessons.
    Variants(bool),
    Accept,
    Cancel,
    Erase(Erase),
    /// Opens a variant of a lesson, by their indices in the catalogue.
    OpenAt(usize, usize),
    SetTheme(ThemeName),
    SetLang(Lang),
    /// Sets the speed with this index in the list of speeds.
    SetSpeed(usize),
    /// In an exercise: opens the file in the user's editor, shows a hint or the reference solution.
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

/// The scope in which an action is available. Several scopes are active at a time: a pane, its screen, and everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyScope {
    Catalogue,
    Variants,
    /// A lesson, whichever pane has the focus.
    Lesson,
    /// A lesson whose story asks questions.
    Asked,
    /// A lesson in free play.
    Free,
    Branches,
    /// The pane of a lesson's story, verdict or question.
    Story,
    Lanes,
    Servers,
    Wire,
    Program,
    Comparison,
    Races,
    /// A single race, or a single order of an exploration.
    Single,
    Exploration,
    /// The states of a small search.
    States,
    /// A page over a screen, such as the help.
    Page,
    /// The interview's choice of a deck, and the results of a round.
    Decks,
    /// A question of the interview.
    Card,
    /// An order of moves in an exam.
    Exam,
    /// The teacher's notes in a terminal of their own.
    Notes,
    /// The exercises.
    Kata,
    /// Every screen with a class.
    Class,
    Everywhere,
    /// A text field: the search, the palette. Characters are typed; only other keys trigger actions.
    Field,
}

impl KeyScope {
    /// All scopes, in the order of the documentation.
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

    /// Whether both scopes can be active at the same time, which is true of a scope and itself.
    pub const fn meets(self, other: Self) -> bool {
        match (self, other) {
            (Self::Field, other) | (other, Self::Field) => matches!(other, Self::Field),
            (Self::Everywhere | Self::Class, _) | (_, Self::Everywhere | Self::Class) => true,
            // Free play asks no questions.
            (Self::Asked, Self::Free) | (Self::Free, Self::Asked) => false,
            // A single run has the panes of a lesson.
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
    /// The clients' programs.
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
    /// The name in the configuration.
    pub id: &'static str,
    pub action: Action,
    /// The default keys, in the syntax of [`Chord`].
    pub keys: &'static [&'static str],
    pub scopes: &'static [KeyScope],
    pub name: Words,
    /// The help lists this row and that many following rows in one line.
    pub fold: Option<(usize, Words)>,
    pub hints: &'static [Hint],
}

#[derive(Debug, Clone, Copy)]
pub struct Hint {
    pub place: KeyScope,
    /// Lower ranks are more important: a narrow screen shows as many hints as fit.
    pub rank: u8,
    /// Whether the hint also shows the key of the next row.
    pub pair: bool,
    pub words: Words,
}

impl Row {
    /// Whether a key for both would be ambiguous.
    pub fn meets(&self, other: &Self) -> bool {
        let meets = |a: &KeyScope| other.scopes.iter().any(|b| a.meets(*b));
        self.scopes.iter().any(meets)
    }
}
