//! A recorded run as the screen publishes it for the stage.

use std::sync::Arc;

use lockstep::{
    lesson::{Library, Params, Scenario},
    recording::carried,
    ui::state::{catalogue::CatalogueEntry, classroom::protocol::StageRun},
    verdict,
};

/// A run at its end: two clients hold the lock, and a verdict says so.
pub fn run() -> StageRun {
    let library = Library::carried();
    let loaded = library.find("unlock-someone-elses-lock").expect("a carried lesson");
    let scenario = Scenario::plan(loaded, "blind-del", &Params::new()).expect("it is good");
    let log = carried::open(&scenario).expect("a recording").log;
    let entry = CatalogueEntry::from(&scenario.loaded.lesson);
    let variant = entry.variants.iter().position(|variant| variant.name == scenario.variant);
    StageRun {
        entry,
        variant: variant.expect("it is there"),
        position: log.len(),
        display: log.time_at(log.len()),
        verdict: Some(verdict::judge(&scenario, &log)),
        log: Arc::new(log),
    }
}

/// The same run with its playhead at another position.
pub fn at(run: &StageRun, position: usize) -> Arc<StageRun> {
    let display = run.log.time_at(position);
    Arc::new(StageRun { position, display, verdict: None, ..run.clone() })
}
