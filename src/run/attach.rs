//! External programs that users bring as clients: the lesson behind `lockstep attach`, and its runs. There is
//! no story: the user chooses what happens next.

use std::{
    cell::RefCell,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

use super::{
    LessonChoice, Runs,
    batch::{self, Batch, Control},
    explore::Bounds,
    open::{self, NOT_EXPLORED_HERE},
    session::{self, Session},
};
use crate::{
    lab::LabOptions,
    lesson::{
        LabKind, LessonError, Libraries, Params, Scenario, Speaks,
        library::from_text,
        plan::{Exec, NeverPlan, Origin, Program, housekeeping},
    },
    log::{ANY, Capacity, LockInfo, Log},
    recording::{self, AttachedPrograms, MOST_ATTACHED},
    text::{Text, Words},
    verdict::why,
};

/// How many programs may be attached at once.
pub const PROGRAMS: RangeInclusive<usize> = 1..=MOST_ATTACHED;

/// The only variant of the lesson.
const VARIANT: &str = "free";

const LESSON: &str = r#"
format: 1
id: attach
track: libraries
title: { en: Your own lock, zh: 你自己的锁 }
summary: { en: "Your programs, one request at a time.", zh: 你的程序，一次一个请求。 }
intro:
  en: "Each request of your programs waits here until you let it go. Time passes when you say so."
  zh: 你的程序发出的每个请求都停在这里，由你放行。时间也由你来推进。
minutes: 1
lab: LAB
clients: CLIENTS
LIMIT
programs: { program: [ holds: LOCK, drops: LOCK ] }
variants:
  free:
    title: { en: Free play, zh: 自由操作 }
    expect: shown
    lesson: { en: "You choose what happens.", zh: 接下来发生什么由你决定。 }
    story: [ say: { en: "You choose what happens.", zh: 接下来发生什么由你决定。 } ]
    claims: [ overlap: LOCK ]
"#;

/// A scenario in which these programs are the clients A, B, and so on.
pub fn scenario(programs: &AttachedPrograms) -> Result<Scenario, LessonError> {
    let AttachedPrograms { server, servers, lock, holders, passes, commands } = programs;
    let names = (b'A'..).take(commands.len()).map(char::from);
    let clients: Vec<String> = names.map(|name| format!("{name}: {{ runs: program }}")).collect();
    let lab = match server {
        Speaks::Redis => "redis",
        Speaks::Zookeeper => "zookeeper",
    };
    let limit =
        if *holders == 1 { String::new() } else { format!("locks: {{ LOCK: {{ holders: {holders} }} }}") };
    let text = LESSON
        .replace("LIMIT", &limit)
        .replace("LAB", lab)
        .replace("CLIENTS", &format!("{{ {} }}", clients.join(", ")));
    // A JSON string is a YAML string, too.
    let text = text.replace("LOCK", &serde_json::Value::from(lock.as_deref().unwrap_or("lock")).to_string());
    let mut loaded = Arc::unwrap_or_clone(from_text("attach.yaml", &text)?);
    if *server == Speaks::Redis {
        Arc::make_mut(&mut loaded.lesson).lab = LabKind::masters(*servers);
    }
    let mut scenario = Scenario::plan(&Arc::new(loaded), VARIANT, &Params::new())?;
    for (client, words) in scenario.clients.iter_mut().zip(commands) {
        let (words, origin, libraries) = (words.clone(), Origin::User, Libraries::new());
        let passes = [housekeeping(server.product()), passes.clone()].concat();
        client.exec = Some(Exec { words, origin, passes, libraries, scripts: indexmap::IndexMap::new() });
    }
    // The user may break the lock or not, so nothing is claimed.
    scenario.claims.clear();
    // As many programs as may hold the lock cannot break it, so there is no such challenge.
    if commands.len() <= *holders {
        scenario.invariants.iter_mut().for_each(|invariant| invariant.goal = Text::default());
    }
    if let Some(lock) = lock {
        let limit = |name: String, holders| LockInfo { name, title: None, limit: Capacity::Holders(holders) };
        // Other locks may have any number of holders.
        scenario.locks = vec![limit(lock.clone(), *holders), limit(ANY.to_string(), MOST_ATTACHED)];
    } else {
        for invariant in &mut scenario.invariants {
            invariant.never = NeverPlan::Overlap(ANY.to_string());
        }
        for known in &mut scenario.locks {
            known.name = ANY.to_string();
        }
    }
    for plan in &mut scenario.actors {
        let Program { locks, listens, .. } = (*plan.program).clone();
        let locks = if lock.is_none() { [ANY.to_string()].into() } else { locks };
        plan.program = Arc::new(Program { outside: true, locks, listens, ..Program::default() });
    }
    Ok(scenario)
}

/// The lesson and variant of attached programs, as used by the screen.
pub fn choice(scenario: &Scenario) -> LessonChoice {
    LessonChoice { id: scenario.loaded.lesson.id.clone(), variant: scenario.variant.clone() }
}

/// The runs of attached programs.
pub struct Attached {
    pub scenario: Scenario,
    pub options: LabOptions,
    pub seed: u64,
    /// The files that each run is recorded to when it is left, if runs are recorded.
    pub record: Option<Rc<RunFiles>>,
}

/// The files of runs that are recorded as they are left. The first has the given name; the others are created
/// beside it.
#[derive(Debug)]
pub struct RunFiles {
    first: PathBuf,
    written: RefCell<Vec<Result<PathBuf, Text>>>,
}

impl RunFiles {
    pub fn new(first: &Path) -> Self {
        Self { first: first.to_owned(), written: RefCell::default() }
    }

    /// The result of recording each run so far.
    pub fn written(&self) -> Vec<Result<PathBuf, Text>> {
        self.written.borrow().clone()
    }

    fn write(&self, scenario: &Scenario, log: &Log) -> Result<PathBuf, Text> {
        let is_first = !self.written.borrow().iter().any(Result::is_ok);
        let path = if is_first { self.first.clone() } else { recording::numbered_file_name(&self.first) };
        let written = recording::write(&path, scenario, log).map(|()| path);
        let written = written.map_err(|error| Text::from(error.to_string()));
        self.written.borrow_mut().push(written.clone());
        written
    }
}

impl Runs for Attached {
    fn open(&self, _: &LessonChoice) -> Session {
        session::open(self.scenario.clone(), self.options.clone(), self.seed)
    }

    fn begin_free(&self) -> bool {
        true
    }

    fn race(&self, _: &LessonChoice, races: u64) -> Batch {
        batch::races(self.scenario.clone(), self.options.clone(), self.seed, races)
    }

    fn explore(&self, _: &LessonChoice, bounds: &Bounds) -> Batch {
        if self.options.wall_clock {
            return Batch::failed(NOT_EXPLORED_HERE.text(&[]), Control::default());
        }
        batch::search(self.scenario.clone(), self.options.clone(), bounds.clone())
    }

    fn why(&self, _: &LessonChoice, log: &Log) -> Option<Text> {
        why::first(&self.scenario, log).map(|why| why.text)
    }

    fn branch(&self, _: &LessonChoice, past: Log) -> Session {
        session::branch(self.scenario.clone(), self.options.clone(), self.seed, past)
    }

    fn save(&self, _: &LessonChoice, log: &Log) -> Result<PathBuf, Text> {
        open::save(&self.scenario, log)
    }

    fn records(&self) -> bool {
        self.record.is_some()
    }

    fn record(&self, log: &Log) -> Option<Result<PathBuf, Text>> {
        Some(self.record.as_ref()?.write(&self.scenario, log))
    }
}

/// For actions that need the programs, which a recording does not have.
const PROGRAMS_NOT_HERE: Words = Words::new(
    "a recording has no programs to start; `lockstep attach` starts yours",
    "录像里没有可以启动的程序；请用 `lockstep attach` 启动你的程序",
);

/// A recorded run of attached programs, which are not started.
pub struct Recorded {
    scenario: Scenario,
    log: Log,
}

impl Recorded {
    pub fn new(scenario: Scenario, log: Log) -> Self {
        Self { scenario, log }
    }
}

impl Runs for Recorded {
    fn open(&self, _: &LessonChoice) -> Session {
        session::replay(self.scenario.clone(), self.log.clone())
    }

    fn race(&self, _: &LessonChoice, _: u64) -> Batch {
        Batch::failed(PROGRAMS_NOT_HERE.text(&[]), Control::default())
    }

    fn explore(&self, _: &LessonChoice, _: &Bounds) -> Batch {
        Batch::failed(PROGRAMS_NOT_HERE.text(&[]), Control::default())
    }

    fn why(&self, _: &LessonChoice, log: &Log) -> Option<Text> {
        why::first(&self.scenario, log).map(|why| why.text)
    }

    fn branch(&self, _: &LessonChoice, _: Log) -> Session {
        open::failed(PROGRAMS_NOT_HERE.text(&[]))
    }
}
