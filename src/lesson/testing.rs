//! The new-lesson template, for tests.

use super::{Params, Scenario, library::from_text};
use crate::log::{
    EventKind,
    testing::{LogBuilder, ready},
};

pub const NEW_LESSON: &str = include_str!("../../assets/new-lesson.yaml");

/// Plans a variant of a lesson, which must be valid.
pub fn scenario(lesson: &str, variant: &str) -> Scenario {
    let loaded = from_text("lesson.yaml", lesson).expect("it is good");
    Scenario::plan(&loaded, variant, &Params::new()).expect("it is good")
}

/// The beginning of a log of this scenario.
pub fn log(scenario: &Scenario) -> LogBuilder {
    let actors = scenario.actors.iter().map(|plan| plan.actor.clone());
    let mut ready = ready(&["redis", "other", "zookeeper"], actors);
    if let EventKind::LabReady { locks, .. } = &mut ready {
        locks.clone_from(&scenario.locks);
    }
    LogBuilder::new(ready)
}
