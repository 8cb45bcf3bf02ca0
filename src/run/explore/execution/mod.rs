//! Carrying out orders of moves for whoever explores them: hosted in Lockstep's own process where that is enough, and
//! with client processes as in a lesson where it is not, and to confirm what was found. It must not know which orders
//! there are.

pub(crate) mod came;
pub(crate) mod commands;
pub(crate) mod hosted;
pub(crate) mod keyspace;
pub(crate) mod processes;
pub(crate) mod refused;
pub(crate) mod roster;
pub(crate) mod rules;
pub(crate) mod script;
pub(crate) mod servers;
pub(crate) mod tracked;
pub(crate) mod trail;
pub(crate) mod walk;
pub(crate) mod watched;
pub(crate) mod written;

pub use hosted::Hosted;
pub use processes::Processes;
pub use rules::Rules;
pub use walk::Carried;

use crate::run::session::EngineError;

/// How orders are gone through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Means {
    /// What orders have in common is carried out once.
    pub share: bool,
    /// Orders that are sure to come to the same are left out.
    pub prune: bool,
}

/// Why an order cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum GroundError {
    /// The servers, the clients or the lesson.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// An operation that cannot be made again as it was.
    #[error("`{operation}` ({command}) cannot be explored: {why}")]
    NotReplayable {
        /// `A.acquire`.
        operation: String,
        /// What it sends.
        command: String,
        why: String,
    },
    /// The same moves did not lead to the same place.
    #[error(
        "`{operation}` cannot be explored: it was answered with {first}, and when the same moves were made again with \
         {second}"
    )]
    Strayed {
        /// `A.acquire`.
        operation: String,
        /// The first reply.
        first: String,
        second: String,
    },
    /// What must never be so cannot be told.
    #[error("{0}")]
    Invariant(String),
}
