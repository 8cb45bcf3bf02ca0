//! Lockstep: distributed locks that fail on real servers, one move at a time.
//!
//! Data goes one way: a [`lesson`] is loaded and planned, a [`run`] carries it out with [`client`] processes
//! against the servers of a [`lab`] on the lesson [`clock`], everything that happens is appended to the
//! [`log`], and a [`world`] folded from the log is what the [`ui`] draws, what an [`export`] writes and what
//! the [`verdict`] judges.

pub mod bench;
pub mod cli;
pub mod client;
pub mod clock;
pub mod config;
pub(crate) mod exact_sleep;
pub mod export;
pub mod files;
pub mod lab;
pub mod lesson;
pub mod log;
pub(crate) mod parallel;
pub mod printable;
pub(crate) mod process;
pub(crate) mod program;
pub(crate) mod random;
pub mod recording;
pub mod run;
pub(crate) mod server;
pub mod signals;
pub mod teach;
pub mod text;
pub mod ui;
pub mod verdict;
pub mod world;
