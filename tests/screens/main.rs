//! What the screens show, drawn into memory at fixed sizes from logs written by hand, and other checks without a
//! server: the documentation, and which folders import which.

#[path = "../common/scenarios.rs"]
mod scenarios;

mod event_loop;
mod staged;
mod stand;

mod classroom;
mod compare;
mod exploration;
mod faults;
mod free;
mod free_picture;
mod imports;
mod interview;
mod keys;
mod lesson;
mod moment;
mod motion;
mod races;
mod readable;
mod search;
mod sentinels;
mod sequence;
