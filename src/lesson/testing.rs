//! The lesson to start from, for tests.

use super::{Params, Scenario, library::from_text};
use crate::log::{
    EventKind,
    testing::{LogBuilder, ready},
};

pub const NEW_LESSON: &str = include_str!("../../assets/new-lesson.yaml");

/// A variant of a lesson, which must be good.
pub fn scenario(lesson: &str, variant: &str) -> Scenario {
    let loaded = from_text("lesson.yaml", lesson).expect("it is good");
    Scenario::plan(&loaded, variant, &Params::new()).expect("it is good")
}

/// The beginning of a log of a scenario's actors.
pub fn log(scenario: &Scenario) -> LogBuilder {
    let actors = scenario.actors.iter().map(|plan| plan.actor.clone());
    let mut ready = ready(&["redis", "other", "zookeeper"], actors);
    if let EventKind::LabReady { locks, .. } = &mut ready {
        locks.clone_from(&scenario.locks);
    }
    LogBuilder::new(ready)
}
