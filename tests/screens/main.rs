//! What the screens show, drawn into memory at fixed sizes from logs that are written by hand, and what else needs no
//! server: what the documentation says, which folders import which.

#[path = "../common/scenarios.rs"]
mod scenarios;

mod event_loop;
mod staged;
mod stand;

mod classroom;
mod compare;
mod exploration;
mod faults;
mod finding;
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
mod sentinels;
mod sequence;
