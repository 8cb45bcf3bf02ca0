//! Every order of a variant's moves, tried while the learner watches: how far the search is, what it found, and how it
//! is to be done again.

use super::{learning::ENDED, shelf::moved};
use crate::run::LessonChoice;
use crate::{
    run::explore::{Bounds, Exploring, Failing, Finding, MOST_MOVES, MayFail, Progress, Told},
    text::Text,
};

/// Where the search stands.
#[derive(Debug, Clone)]
pub enum Search {
    /// The servers are being started, or the size of the whole is being estimated.
    Booting,
    /// It goes on.
    Searching,
    /// It was asked to stop.
    Stopping,
    /// It is over, or was stopped: what was found.
    Found(Box<Finding>),
    /// It could not go on.
    Failed {
        /// What happened, why, and what to do.
        message: Text,
        /// Whether it was a server.
        server: bool,
    },
}

/// How the learner wants it done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// An order is cut after so many moves.
    pub moves: usize,
    /// The fault that an order may have.
    pub fault: Option<Failing>,
    /// Whether orders that are sure to come to the same as another are left out.
    pub prune: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        let bounds = Bounds::default();
        Self { moves: bounds.moves, fault: None, prune: bounds.prune }
    }
}

impl Wanted {
    /// The bounds of such a search.
    pub fn bounds(self) -> Bounds {
        let fault = self.fault.map(|how| MayFail { how, client: None });
        Bounds {
            moves: self.moves,
            faults: fault.into_iter().collect(),
            prune: self.prune,
            ..Bounds::default()
        }
    }

    /// With one move more or fewer.
    pub fn with_moves(self, more: bool) -> Self {
        let moves = if more { (self.moves + 1).min(MOST_MOVES) } else { (self.moves - 1).max(1) };
        Self { moves, ..self }
    }

    pub fn with_next_fault(self) -> Self {
        let fault = match self.fault {
            None => Some(Failing::Crash),
            Some(Failing::Crash) => Some(Failing::Freeze),
            Some(Failing::Freeze) => None,
        };
        Self { fault, ..self }
    }
}

/// A search on the screen.
#[derive(Debug)]
pub struct Exploration {
    /// What is explored.
    pub choice: LessonChoice,
    wanted: Wanted,
    exploring: Option<Exploring>,
    search: Search,
    progress: Progress,
    /// The outcome that the learner looks at, by place.
    chosen: usize,
}

impl Exploration {
    /// A search that has just been asked for.
    pub fn new(choice: LessonChoice, wanted: Wanted, exploring: Exploring) -> Self {
        Self {
            choice,
            wanted,
            exploring: Some(exploring),
            search: Search::Booting,
            progress: Progress::default(),
            chosen: 0,
        }
    }

    /// The search under way, while there is one.
    pub fn exploring(&mut self) -> Option<&mut Exploring> {
        self.exploring.as_mut()
    }

    /// The search has told something; `None` when it ended without a word.
    pub fn hear(&mut self, told: Option<Told>) {
        match told {
            Some(Told::Progress(progress)) => {
                self.progress = progress;
                if matches!(self.search, Search::Booting) && progress.tried > 0 {
                    self.search = Search::Searching;
                }
            }
            Some(Told::Found(found)) => self.end(Search::Found(found)),
            Some(Told::Failed { message, server }) => self.end(Search::Failed { message, server }),
            None => self.end(Search::Failed { message: ENDED.text(&[]), server: false }),
        }
    }

    fn end(&mut self, search: Search) {
        self.exploring = None;
        self.search = search;
    }

    /// Asks it to stop and to tell what it has found; false where it does not go on, or was asked already.
    pub fn stop(&mut self) -> bool {
        let Some(exploring) = self.exploring.as_ref().filter(|_| matches!(self.search, Search::Searching))
        else {
            return false;
        };
        exploring.stop();
        self.search = Search::Stopping;
        true
    }

    /// Where it stands, for the screen.
    pub fn search(&self) -> &Search {
        &self.search
    }

    /// How far it is, for the screen.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// How it is done.
    pub fn wanted(&self) -> Wanted {
        self.wanted
    }

    /// What was found, once it is over.
    pub fn found(&self) -> Option<&Finding> {
        match &self.search {
            Search::Found(found) => Some(found),
            _ => None,
        }
    }

    /// Which of the outcomes that were found is chosen, by place.
    pub fn chosen(&self) -> usize {
        self.chosen
    }

    /// This outcome, by place.
    pub fn point_at(&mut self, place: usize) {
        self.chosen = place;
    }

    /// Another outcome: so many places on.
    pub fn choose(&mut self, by: i32) {
        let count = self.found().map_or(0, |found| found.explored.outcomes.len());
        self.chosen = moved(self.chosen, by, count);
    }
}
