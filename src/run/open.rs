//! Chooses the run that a lesson on the screen gets: live if its servers are available, recorded if they are
//! not or a recording is asked for.

use std::{cell::RefCell, path::PathBuf, sync::Arc};

use tokio::sync::mpsc;

use crate::{
    bench::{Measuring, Series},
    lab::LabOptions,
    lesson::{Loaded, Params, Scenario, plan::ScriptLine},
    log::Log,
    recording::{
        self, Recording,
        carried::{self, NotCarried},
    },
    run::{
        batch::{self, Batch, Control},
        exam::{Exam, Questions},
        explore::Bounds,
        session::{self, Failure, Session, Update},
    },
    text::{Text, Words},
    verdict::{self, why},
};

/// For races when only recordings are wanted.
const RECORDED_NOT_RACED: Words = Words::new(
    "a race needs real servers, and `--recorded` asks for none; start Lockstep without it",
    "并发竞争需要真实的服务器，而 `--recorded` 表示只用录像；请去掉它重新启动",
);
/// For a search when only recordings are wanted, or when the clock cannot be stopped.
pub(super) const NOT_EXPLORED_HERE: Words = Words::new(
    "exploring needs real servers whose clock stands still; start Lockstep without `--recorded` and `--wall-clock`",
    "穷举需要真实的服务器和可以停住的时钟；请去掉 `--recorded` 和 `--wall-clock` 重新启动",
);

/// For measurements when only recordings are wanted.
const NOT_MEASURED_HERE: Words = Words::new(
    "measuring needs real servers, and `--recorded` asks for none; start Lockstep without it",
    "测量需要真实的服务器，而 `--recorded` 表示只用录像；请去掉它重新启动",
);

/// For an exam when its orders cannot be carried out.
const NO_EXAM_HERE: Words = Words::new(
    "an exam needs real servers whose clock stands still; start Lockstep without `--recorded` and `--wall-clock`",
    "考试需要真实的服务器和可以停住的时钟；请去掉 `--recorded` 和 `--wall-clock` 重新启动",
);

/// For runs that cannot be saved.
const NOT_KEPT_HERE: Words = Words::new("this run cannot be kept", "这次运行不能保存");

/// A lesson and one of its variants, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LessonChoice {
    pub id: String,
    pub variant: String,
}

pub trait Runs {
    /// Starts a run and returns at once. Failures are reported as [`Update::Failed`].
    fn open(&self, lesson: &LessonChoice) -> Session;

    /// Races a variant `races` times and returns at once. Failures are reported as
    /// [`BatchUpdate::Failed`](batch::BatchUpdate::Failed), as with [`explore`](Self::explore).
    fn race(&self, lesson: &LessonChoice, races: u64) -> Batch;

    /// Explores every order of a variant within these bounds and returns at once.
    fn explore(&self, lesson: &LessonChoice, bounds: &Bounds) -> Batch;

    /// Measures every kind of lock, or says why that is not possible.
    fn measure(&self) -> Result<Measuring, Text> {
        Err(NOT_MEASURED_HERE.text(&[]))
    }

    /// Looks for orders of moves in these lessons, given by id, that an exam can ask about, and returns at
    /// once. The seed determines the questions.
    fn exam(&self, _lessons: &[String], _seed: u64) -> Result<Questions, Text> {
        Err(NO_EXAM_HERE.text(&[]))
    }

    /// Whether runs begin in free play because there is no story.
    fn begin_free(&self) -> bool {
        false
    }

    /// The author's notes for teachers: on the lesson, and at each step of the variant's story.
    fn script(&self, _: &LessonChoice) -> (Option<Text>, Vec<ScriptLine>) {
        Default::default()
    }

    /// Why a run of a variant went wrong, if its log says so.
    fn why(&self, lesson: &LessonChoice, log: &Log) -> Option<Text>;

    /// The log of the recording of a variant that the program carries, if there is one.
    fn recorded(&self, _lesson: &LessonChoice) -> Option<Log> {
        None
    }

    /// The figure of the lesson's table according to that recording, in milliseconds.
    fn figure(&self, _lesson: &LessonChoice) -> Option<u64> {
        None
    }

    /// Saves a run as a recording in the current directory. Returns the path of the file.
    fn save(&self, _: &LessonChoice, _: &Log) -> Result<PathBuf, Text> {
        Err(NOT_KEPT_HERE.text(&[]))
    }

    /// Whether every run is recorded when it is left.
    fn records(&self) -> bool {
        false
    }

    /// Called when a run is left: records it, if runs are recorded, and returns the path of the file.
    fn record(&self, _: &Log) -> Option<Result<PathBuf, Text>> {
        None
    }

    /// Starts a live run that first repeats everything that was done in `past`
    /// ([`branch`](crate::run::session::branch)), and returns at once.
    fn branch(&self, lesson: &LessonChoice, past: Log) -> Session;
}

/// Live and recorded runs of lessons.
pub struct ChosenRuns {
    pub lessons: Vec<Arc<Loaded>>,
    pub overrides: Params,
    pub options: LabOptions,
    pub seed: u64,
    /// The user's recordings, which are played whenever their lesson and variant are opened.
    pub files: Vec<Recording>,
    /// Whether runs are never live.
    pub recorded: bool,
    /// The run that will be opened first, if it has been [begun](Self::begin).
    pub begun: RefCell<Option<(LessonChoice, Session)>>,
}

impl Runs for ChosenRuns {
    fn open(&self, choice: &LessonChoice) -> Session {
        match self.begun.take() {
            Some((begun, session)) if begun == *choice => session,
            _ => self.choose(choice).unwrap_or_else(failed),
        }
    }

    fn branch(&self, choice: &LessonChoice, past: Log) -> Session {
        let branch = |scenario| session::branch(scenario, self.options.clone(), self.seed, past);
        self.scenario(choice).map_or_else(failed, branch)
    }

    fn race(&self, choice: &LessonChoice, races: u64) -> Batch {
        let refused = self.recorded.then_some(RECORDED_NOT_RACED);
        match self.unless(refused, choice) {
            Ok(scenario) => batch::races(scenario, self.options.clone(), self.seed, races),
            Err(message) => Batch::failed(message, Control { races, stopped: false }),
        }
    }

    fn explore(&self, choice: &LessonChoice, bounds: &Bounds) -> Batch {
        let refused = (self.recorded || self.options.wall_clock).then_some(NOT_EXPLORED_HERE);
        match self.unless(refused, choice) {
            Ok(scenario) => batch::search(scenario, self.options.clone(), bounds.clone()),
            Err(message) => Batch::failed(message, Control::default()),
        }
    }

    fn measure(&self) -> Result<Measuring, Text> {
        if self.recorded {
            return Err(NOT_MEASURED_HERE.text(&[]));
        }
        Ok(Series::usual(self.options.clone()).start())
    }

    fn exam(&self, lessons: &[String], seed: u64) -> Result<Questions, Text> {
        if self.recorded || self.options.wall_clock {
            return Err(NO_EXAM_HERE.text(&[]));
        }
        let wanted = self.lessons.iter().filter(|loaded| lessons.contains(&loaded.lesson.id));
        Ok(Exam::new(wanted, self.options.clone(), self.seed ^ seed).begin())
    }

    fn recorded(&self, choice: &LessonChoice) -> Option<Log> {
        Some(carried::open(&self.scenario(choice).ok()?).ok()?.log)
    }

    fn figure(&self, choice: &LessonChoice) -> Option<u64> {
        figure(&self.scenario(choice).ok()?)
    }

    fn script(&self, choice: &LessonChoice) -> (Option<Text>, Vec<ScriptLine>) {
        let scenario = self.scenario(choice).ok();
        scenario.map_or_else(Default::default, |scenario| (scenario.notes(), scenario.script()))
    }

    fn why(&self, choice: &LessonChoice, log: &Log) -> Option<Text> {
        let scenario = self.scenario(choice).ok()?;
        why::first(&scenario, log).map(|why| why.text)
    }

    fn save(&self, choice: &LessonChoice, log: &Log) -> Result<PathBuf, Text> {
        save(&self.scenario(choice)?, log)
    }
}

impl ChosenRuns {
    /// Starts the servers of a variant that will be opened as soon as there is a screen.
    pub fn begin(&self, choice: &LessonChoice) {
        self.begun.replace(Some((choice.clone(), self.open(choice))));
    }

    fn scenario(&self, choice: &LessonChoice) -> Result<Scenario, String> {
        let loaded = self.lessons.iter().find(|loaded| loaded.lesson.id == choice.id);
        let loaded = loaded.ok_or_else(|| format!("there is no lesson `{}`", choice.id))?;
        Scenario::plan(loaded, &choice.variant, &self.params(choice)).map_err(|error| error.to_string())
    }

    /// The scenario of a variant for a live run, unless that is refused.
    fn unless(&self, refused: Option<Words>, choice: &LessonChoice) -> Result<Scenario, Text> {
        let scenario = self.scenario(choice)?;
        refused.map_or(Ok(scenario), |why| Err(why.text(&[])))
    }

    /// The user's recording of a variant, if there is one.
    fn file(&self, choice: &LessonChoice) -> Option<&Recording> {
        let mut files = self.files.iter();
        files.find(|file| file.header.lesson == choice.id && file.header.variant == choice.variant)
    }

    /// The parameters of a variant's runs: those of its recording or, without one, those of the command line
    /// that the lesson has.
    fn params(&self, choice: &LessonChoice) -> Params {
        if let Some(file) = self.file(choice) {
            return file.header.params.clone();
        }
        let loaded = self.lessons.iter().find(|loaded| loaded.lesson.id == choice.id);
        let has = |name: &str| loaded.is_some_and(|loaded| loaded.lesson.params.contains_key(name));
        // A parameter that this lesson does not have belongs to another lesson.
        let own = self.overrides.iter().filter(|(name, _)| has(name));
        own.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    fn choose(&self, choice: &LessonChoice) -> Result<Session, String> {
        let scenario = self.scenario(choice)?;
        if let Some(Recording { log, .. }) = self.file(choice) {
            return Ok(session::replay(scenario, log.clone()));
        }
        let live = !self.recorded && self.options.serves(&scenario);
        if !live {
            match carried::open(&scenario) {
                Ok(recording) => return Ok(session::replay(scenario, recording.log)),
                Err(error) if self.recorded || matches!(error, NotCarried::Broken(_)) => {
                    return Err(error.to_string());
                }
                // The lab then reports what is missing and how to install it.
                Err(_) => {}
            }
        }
        Ok(session::open(scenario, self.options.clone(), self.seed))
    }
}

/// The figure of a cell of its lesson's table, from the carried recording.
pub(crate) fn figure(scenario: &Scenario) -> Option<u64> {
    let expr = scenario.expression(&scenario.loaded.lesson.table.as_ref()?.figure).ok()?;
    let log = carried::open(scenario).ok()?.log;
    verdict::value(scenario, &log, &expr).ok()?.json.as_u64()
}

/// Writes a run to a new file in the current directory.
pub(super) fn save(scenario: &Scenario, log: &Log) -> Result<PathBuf, Text> {
    let path = PathBuf::from(recording::free_file_name(scenario));
    recording::write(&path, scenario, log).map_err(|error| error.to_string())?;
    Ok(path)
}

/// A session that failed before it began.
pub(super) fn failed(message: impl Into<Text>) -> Session {
    let (commands, _) = mpsc::unbounded_channel();
    let (sender, updates) = mpsc::unbounded_channel();
    let _ = sender.send(Update::Failed(Failure { message: message.into(), server: false }));
    Session { commands, updates }
}
