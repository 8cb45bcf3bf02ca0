//! Lessons on real servers, through the library and on the command line: stories, faults, races, every order of moves,
//! the clock and the lab that they run on, and the pages that document all this.

#[path = "../common/place.rs"]
mod place;
#[path = "../common/scenarios.rs"]
mod scenarios;
#[path = "../common/stage.rs"]
mod stage;
#[path = "../common/texts.rs"]
mod texts;

mod attach;
mod attached_runs;
mod bench_locks;
mod carried;
mod check;
mod classroom;
mod clock;
mod cluster;
mod documents;
mod etcd;
mod explore;
mod explore_alike;
mod explore_processes;
mod explore_why;
mod export;
mod flock;
mod free;
mod free_branches;
mod free_support;
mod invariants;
mod kata;
mod lab;
mod libraries;
mod live;
mod locks;
mod mariadb;
mod messages;
mod mistakes;
mod mistakes_authors;
mod mistakes_more;
mod mistakes_slips;
mod mistakes_whole;
mod questions;
mod race;
mod recipes;
mod repetition;
mod run;
mod send;
mod sentinel;
mod story_faults;
mod time_functions;
mod trust;
mod why;
mod zookeeper;
