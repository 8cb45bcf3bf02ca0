//! Carrying out orders of moves: with programs in Lockstep's own process where that is enough, with client processes as
//! in a lesson where it is not, and to confirm what was found.

pub(crate) mod carry_out;
pub(crate) mod commands;
pub(crate) mod in_process;
pub(crate) mod keyspace;
pub(crate) mod outcomes;
pub(crate) mod processes;
pub(crate) mod replayable;
pub(crate) mod rules;
pub(crate) mod script;
pub(crate) mod servers;
pub(crate) mod tracked;
pub(crate) mod trail;
pub(crate) mod watched;

pub use in_process::InProcess;
pub use processes::Processes;
pub use rules::Rules;

use crate::{
    lab::Lab,
    run::{explore::Explorer, session::EngineError},
};

/// An explorer with servers of its own.
pub(crate) trait OnServers: Explorer<Error = ExplorerError, Node: Sync> + Send + 'static {
    fn lab(&self) -> &Lab;

    /// What frees, from another thread, the one that waits for the servers or clients.
    fn release(&self) -> Box<dyn Fn() + Send + Sync>;

    /// Ends what runs and waits until it is gone.
    async fn close(self);
}

/// How orders are explored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strategy {
    /// The beginning that orders share is carried out once.
    pub share: bool,
    /// Only one order of each trace is carried out.
    pub prune: bool,
}

/// Why an order cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum ExplorerError {
    /// The servers, the clients or the lesson.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// An operation that cannot be made again as it was.
    #[error("`{operation}` ({command}) cannot be explored: {why}")]
    NotReplayable { operation: String, command: String, why: String },
    /// The same moves did not lead to the same replies.
    #[error(
        "`{operation}` cannot be explored: it was answered with {first}, and when the same moves were made again with \
         {second}"
    )]
    Strayed { operation: String, first: String, second: String },
    /// An invariant cannot be evaluated.
    #[error("{0}")]
    Invariant(String),
}
