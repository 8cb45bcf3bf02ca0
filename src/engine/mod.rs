//! Runs: who moves next, on which clock, and the log of what then happened.
//!
//! It must not know the screen. Lessons come in resolved ([`crate::lesson::Scenario`]), events go out; the
//! servers are reached only through the lab, the clients only through their pipes.

mod attended;
mod director;
mod error;
mod explore;
mod faults;
mod flights;
mod free;
mod governor;
mod live;
mod machine;
mod moves;
mod outlook;
mod pacing;
mod performer;
mod questions;
mod race;
mod recorder;
mod replay;
mod session;
mod setup;
mod stage;
mod start_order;
mod stops;
mod story;
mod time;
mod wire;

pub use error::EngineError;
pub use explore::{Carried, GroundError, Hosted, Means, Processes, Rules, Walk};
pub use live::{branch, open};
pub use race::{Racer, span};
pub use replay::replay;
pub use session::{Command, Session, Update};
pub use story::{RunReport, run_story};
