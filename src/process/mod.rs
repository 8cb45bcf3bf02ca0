//! Processes of a lab: they are started under a guard, watched, frozen and killed, and they live in a private
//! directory. This folder must not know what the processes do.
//!
//! **Architecture Invariants** that are kept here:
//! - Only `process`, for `lab`, starts, stops or signals processes.
//! - Whatever ends Lockstep (quit, panic, SIGTERM, SIGKILL), no process of its own outlives it.

pub(crate) mod child;
pub(crate) mod error;
pub(crate) mod error_zh;
pub(crate) mod exit;
pub(crate) mod group;
pub mod guard;
pub(crate) mod health;
pub mod limits;
pub(crate) mod live_directories;
pub mod programs;
pub(crate) mod rest;
pub(crate) mod spawner;
pub(crate) mod starvation;
pub(crate) mod sweep;
pub(crate) mod usage;
pub(crate) mod version;
pub(crate) mod wall_clock;
pub(crate) mod workspace;

pub use child::Process;
pub use error::LabError;
pub use exit::Exit;
