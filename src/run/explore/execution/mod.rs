//! Carrying out orders of moves: with programs in Lockstep's own process where that is enough, with client processes as
//! in a lesson where it is not, and to confirm what was found.

pub(crate) mod asked_time;
pub(crate) mod carry_out;
pub(crate) mod commands;
pub(crate) mod in_process;
pub(crate) mod keyspace;
pub(crate) mod one_by_one;
pub(crate) mod outcomes;
pub(crate) mod processes;
pub(crate) mod repeats;
pub(crate) mod replayable;
pub(crate) mod replayed_states;
pub(crate) mod rules;
pub(crate) mod script;
pub(crate) mod servers;
pub(crate) mod state_space;
pub(crate) mod symmetry;
pub(crate) mod tracked;
pub(crate) mod trail;
pub(crate) mod watched;

pub use in_process::InProcess;
pub use processes::Processes;
pub use rules::Rules;

use crate::{
    lab::Lab,
    run::explore::{ExploreError, Explorer, StateGraph, states::StateSpace},
    text::Text,
};

pub(crate) trait OnServers: Explorer<Node: Sync> + Send + 'static {
    fn lab(&self) -> &Lab;

    /// Its states, where orders can be counted by them.
    fn states(&mut self) -> Option<impl StateSpace>;

    /// Why they cannot.
    fn one_by_one(&self) -> Option<Text>;

    /// All its states and the steps between them, every client told apart, where they are few.
    fn graph(&mut self) -> Result<Option<StateGraph>, ExploreError>;

    /// What frees, from another thread, the one that waits for the servers or clients.
    fn release(&self) -> Box<dyn Fn() + Send + Sync>;

    /// Ends what runs and waits until it is gone.
    async fn close(self);
}
