//! Steps through programs: the interpreter of one program, and the actors that step through them. Stories, free play,
//! races and exploring all use it.
//!
//! It is pure: no sockets, no clock, no log. Callers pass in replies, notifications and the time; it returns the
//! commands to send and the events that happened.

mod actor;
mod actors;
pub(crate) mod command;
mod interpreter;
mod live;
mod times;

#[cfg(test)]
mod tests;

pub(crate) use actor::{Actor, Cause, Failure, Notification, Output, Request, SESSION, State};
pub(crate) use actors::{Actors, actor_id};
pub(crate) use live::LiveNames;
pub(crate) use times::{Times, TimesOfPrograms};
