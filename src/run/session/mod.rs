//! Stories and free play on real servers: whose move is next, on which clock, and the log of what happened.
//! Servers are reached only through the lab, clients only through their pipes.

pub(crate) mod client;
pub(crate) mod director;
pub(crate) mod error;
pub(crate) mod faults;
pub(crate) mod free;
pub(crate) mod handle;
pub(crate) mod harness;
pub(crate) mod live;
pub(crate) mod moves;
pub(crate) mod outlook;
pub(crate) mod pacing;
pub(crate) mod pending;
mod permission;
pub(crate) mod questions;
pub(crate) mod recorder;
pub(crate) mod redirects;
pub(crate) mod replay;
pub(crate) mod setup;
pub(crate) mod start_order;
pub(crate) mod stops;
pub(crate) mod story;
pub(crate) mod supervision;
pub(crate) mod throttle;
pub(crate) mod time;

pub use error::{NotTrusted, RunError};
pub use handle::{Failure, Session, SessionCommand, Update};
pub use live::{branch, open};
pub use replay::replay;
pub(crate) use story::{RunReport, run_story};
