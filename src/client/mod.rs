//! A client of a lesson: an operating-system process of its own that carries out one operation at a time for
//! each of its actors, and reports replies and notifications.
//!
//! It must not know lessons, stories or locks: requests come in over a pipe, and responses go out. That is
//! what makes a SIGKILL or a SIGSTOP of it real.

pub(crate) mod flock;
pub(crate) mod gate;
pub(crate) mod local;
pub(crate) mod process;
pub mod protocol;

pub use crate::server::redis::resp::{Answer, Part, RespConnection, is_silence};
pub use process::client_main;
