//! Lockstep: distributed locks that fail on real servers, one move at a time.
//!
//! Data goes one way: a [`lesson`] is loaded and planned, the [`engine`] runs it with [`client`] processes
//! against the servers of a [`lab`] on the lesson [`clock`], everything that happens is appended to the
//! [`log`], and a [`world`] folded from the log is what the [`view`]s of the [`app`] draw and what the
//! [`verdict`] judges. Two logs beside each other are what [`compare`] is about.

pub mod app;
pub mod cli;
pub mod client;
pub mod clock;
pub mod compare;
pub mod config;
pub mod effect;
pub mod engine;
pub mod explore;
pub mod export;
pub mod files;
pub mod flight;
pub mod lab;
pub mod lesson;
pub mod log;
pub mod outlook;
pub mod printable;
pub mod race;
pub mod recording;
pub mod signals;
pub mod verdict;
pub mod view;
pub mod why;
pub mod world;
