//! The terminal: what is on the screen, how it is drawn, what keys do.
//!
//! **Architecture Invariant:** imports go one way: theme, keys, words, chart, flight, state, view, app. State knows no
//! drawing, views change nothing, and only `app` turns input into changes.

pub mod app;
pub mod chart;
pub(crate) mod flight;
pub mod keys;
pub mod state;
pub mod theme;
pub mod view;
pub mod words;
