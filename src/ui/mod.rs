//! TODO

pub mod app;
pub mod chart;
pub mod flight;
pub mod keys;
pub mod state;
pub mod theme;
pub mod view;
pub mod words;
