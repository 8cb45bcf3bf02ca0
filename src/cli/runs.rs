//! Which run a lesson on the screen gets: live where its servers are, recorded where they are not or where that
//! is asked for. It must not know the screen.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use super::words;
use crate::{
    app::{LessonChoice, Runs},
    engine::{self, Session, Update},
    explore::{self, Bounds, Exploring},
    lab::LabOptions,
    lesson::{Loaded, Params, Scenario, Text},
    race::{self, Orders, Racing, Told},
    recording::{
        Recording,
        carried::{self, NotCarried},
    },
};

/// Live and recorded runs over the engine.
pub(super) struct ChosenRuns {
    pub(super) lessons: Vec<Arc<Loaded>>,
    pub(super) overrides: Params,
    pub(super) options: LabOptions,
    pub(super) seed: u64,
    /// Recordings of the user's, which play wherever their lesson and variant are opened.
    pub(super) files: Vec<Recording>,
    /// Never live.
    pub(super) recorded: bool,
}

impl Runs for ChosenRuns {
    fn open(&self, choice: &LessonChoice) -> Session {
        self.choose(choice).unwrap_or_else(failed)
    }

    fn race(&self, choice: &LessonChoice, runs: u64) -> Racing {
        let scenario = match self.scenario(choice) {
            Ok(_) if self.recorded => Err(words::RECORDED_NOT_RACED.text(&[])),
            Ok(scenario) => Ok(scenario),
            Err(message) => Err(message.into()),
        };
        match scenario {
            Ok(scenario) => race::watch(scenario, self.options.clone(), self.seed, runs),
            Err(message) => not_raced(message, runs),
        }
    }

    fn explore(&self, choice: &LessonChoice, bounds: &Bounds) -> Exploring {
        let scenario = match self.scenario(choice) {
            Ok(_) if self.recorded || self.options.wall_clock => Err(words::NOT_EXPLORED_HERE.text(&[])),
            Ok(scenario) => Ok(scenario),
            Err(message) => Err(message.into()),
        };
        match scenario {
            Ok(scenario) => explore::watch(scenario, self.options.clone(), bounds.clone()),
            Err(message) => not_explored(message),
        }
    }
}

impl ChosenRuns {
    fn loaded(&self, choice: &LessonChoice) -> Result<&Arc<Loaded>, String> {
        let loaded = self.lessons.iter().find(|loaded| loaded.lesson.id == choice.id);
        loaded.ok_or_else(|| format!("there is no lesson `{}`", choice.id))
    }

    /// The variant with the user's parameters.
    fn scenario(&self, choice: &LessonChoice) -> Result<Scenario, String> {
        let loaded = self.loaded(choice)?;
        // A parameter that this lesson does not have is another lesson's.
        let own = self
            .overrides
            .iter()
            .filter(|(name, _)| loaded.lesson.params.contains_key(*name));
        let params: Params = own.map(|(name, value)| (name.clone(), value.clone())).collect();
        Scenario::plan(loaded, &choice.variant, &params).map_err(|error| error.to_string())
    }

    fn choose(&self, choice: &LessonChoice) -> Result<Session, String> {
        let file = self.files.iter().find(|recording| {
            recording.header.lesson == choice.id && recording.header.variant == choice.variant
        });
        if let Some(Recording { header, log }) = file {
            let scenario = Scenario::plan(self.loaded(choice)?, &choice.variant, &header.params);
            let scenario = scenario.map_err(|error| error.to_string())?;
            return Ok(engine::replay(scenario, log.clone()));
        }
        let scenario = self.scenario(choice)?;
        let live = !self.recorded && self.options.search.serves(scenario.lab());
        if !live {
            match carried::open(&scenario) {
                Ok(recording) => return Ok(engine::replay(scenario, recording.log)),
                Err(error) if self.recorded || matches!(error, NotCarried::Broken(_)) => {
                    return Err(error.to_string());
                }
                // The lab then says what it lacks and how to get it.
                Err(_) => {}
            }
        }
        Ok(engine::open(scenario, self.options.clone(), self.seed))
    }
}

/// A run that could not even begin.
fn failed(message: String) -> Session {
    let (commands, _) = mpsc::unbounded_channel();
    let (tell, updates) = mpsc::unbounded_channel();
    let _ = tell.send(Update::Failed {
        message: message.into(),
        server: false,
    });
    Session { commands, updates }
}

/// A search that could not even begin.
fn not_explored(message: Text) -> Exploring {
    let (tell, told) = mpsc::unbounded_channel();
    let _ = tell.send(explore::Told::Failed {
        message,
        server: false,
    });
    Exploring {
        stop: Arc::default(),
        told,
    }
}

/// Races that could not even begin.
fn not_raced(message: Text, runs: u64) -> Racing {
    let (orders, _) = watch::channel(Orders { runs, paused: false });
    let (tell, told) = mpsc::channel(1);
    // There is room for one, and nothing else is told.
    let _ = tell.try_send(Told::Failed {
        message,
        server: false,
    });
    Racing { orders, told }
}
