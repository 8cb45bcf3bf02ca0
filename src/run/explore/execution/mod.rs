//! Carries out orders of moves: with programs inside Lockstep where that suffices, with client processes as
//! in a lesson where it does not, and to confirm findings.

pub(crate) mod carry_out;
pub(crate) mod commands;
pub(crate) mod in_process;
pub(crate) mod keyspace;
mod listed;
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
pub(crate) mod time_command;
pub(crate) mod tracked;
pub(crate) mod trail;
pub(crate) mod transactions;
mod unordered;
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

    /// The state space, if orders can be counted by states.
    fn states(&mut self) -> Option<impl StateSpace>;

    /// Why orders cannot be counted by states, or `None` if they can.
    fn one_by_one(&self) -> Option<Text>;

    /// All states and the steps between them, with every client told apart, or `None` if they are too many.
    fn graph(&mut self) -> Result<Option<StateGraph>, ExploreError>;

    /// Returns a function that, called on another thread, unblocks the one that waits for servers or clients.
    fn unblocker(&self) -> Box<dyn Fn() + Send + Sync>;

    /// Ends all processes and waits until they have exited. After a search without an error, a lab may be left for the
    /// next one.
    async fn close(self, is_good: bool);
}
