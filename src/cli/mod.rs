//! The command line: what the user may type, and the exit codes. It must not know how lessons run or look.

pub(crate) mod attach;
pub(crate) mod bench_locks;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod explore;
pub(crate) mod export;
mod help;
pub(crate) mod interrupt;
pub(crate) mod interview;
pub(crate) mod kata;
pub(crate) mod list;
pub(crate) mod meter;
pub(crate) mod new;
pub(crate) mod notes;
pub(crate) mod output;
pub(crate) mod play;
pub(crate) mod print;
pub(crate) mod progress;
pub(crate) mod race;
pub(crate) mod run;
pub(crate) mod teach;
pub(crate) mod trust;
pub(crate) mod usage;
pub(crate) mod words;

use std::{
    fmt,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use clap::{Args, CommandFactory, Parser, Subcommand};
use tokio::runtime::{Builder, Runtime};

use crate::{
    config::Config,
    files,
    lab::{
        LabError, LabOptions, end_all,
        limits::{self, room_for_threads},
    },
    lesson::{
        Language, LessonError, Library, Loaded, Params, Scenario,
        error::nearest,
        library::{carried, load_file},
        plan::param_from_word,
        schema,
    },
    recording::{self, RecordingError, carried::NotCarried},
    run::session::RunError,
    text::{Lang, Text, Words, both},
    ui::{
        app::{AppError, AppOptions},
        state::user_file::UserFile,
        theme::{Theme, ThemeName},
    },
};

/// Every claim held.
pub const OK: u8 = 0;
/// A claim did not hold.
pub const NOT_SHOWN: u8 = 1;
/// The user made a mistake.
pub const USAGE: u8 = 2;
/// A server is missing or failed.
pub const SERVER: u8 = 3;
/// A signal ended the command; the code is the one that shells use for Ctrl-C.
pub const INTERRUPTED: u8 = 130;

/// How long to wait at the end for tasks that own no lab.
const TASKS_END_WITHIN: Duration = Duration::from_millis(100);

const LESSONS: &str = "LOCKSTEP_LESSONS";

/// Watch distributed locks fail on real servers, one move at a time, and then fix them
#[derive(Debug, Parser)]
#[command(name = "lockstep", version, about, max_term_width = 100)]
#[command(after_help = "Without a command, the catalogue of lessons opens.\n\n\
    Exit codes: 0 all claims hold, 1 a claim does not hold, 2 a mistake in the arguments or in a file, \
    3 a server is missing or fails.")]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    global: Global,
}

/// Options that every command takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every command")]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line, each by itself")]
pub struct Global {
    /// The language of lessons and screens [default: from the configuration, `LC_ALL`, `LC_MESSAGES` or LANG]
    #[arg(long, global = true, value_enum)]
    lang: Option<Lang>,
    /// Adds your own lessons from this directory to those that Lockstep carries
    #[arg(
        long = "lessons",
        id = "lessons_dir",
        global = true,
        value_name = "DIR",
        env = LESSONS
    )]
    lessons: Option<PathBuf>,
    /// Which variant of the lesson [default: the first; run, race and explore take all]
    #[arg(long, global = true, value_name = "NAME")]
    variant: Option<String>,
    /// Changes a parameter of the lesson, such as lease=5s; may be given several times
    #[arg(long = "set", global = true, value_name = "NAME=VALUE", value_parser = parse_set)]
    set: Vec<(String, String)>,
    /// How fast time passes while playing, from 0.1 to 100 [default: 1, real time]
    #[arg(long, global = true, value_name = "X", value_parser = parse_speed)]
    speed: Option<f64>,
    /// The seed of owner tokens and of the starts of races: the same seed gives the same ones
    #[arg(long, global = true, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Prints results as JSON, one object per line
    #[arg(long, global = true)]
    json: bool,
    /// Runs on the machine's own clock, which cannot be paused
    #[arg(long, global = true)]
    wall_clock: bool,
    /// Uses the recordings that Lockstep carries instead of live runs; needs no servers
    #[arg(long, global = true)]
    recorded: bool,
    /// Does not ask for predictions; `N` on the screen turns questions on again
    #[arg(long, global = true)]
    no_questions: bool,
    /// Shows each result at once; messages do not travel across the screen
    #[arg(long, global = true)]
    reduced_motion: bool,
    /// The colours of screens and pictures: auto, dark, light or contrast; `T` on the screen changes them
    #[arg(long, global = true, value_name = "NAME")]
    theme: Option<ThemeName>,
    /// Uses this configuration file instead of your own (see `lockstep config`)
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The contents of the configuration file.
    #[arg(skip)]
    settings: Config,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Opens a lesson or a recording on the screen
    Play {
        /// The lesson's name, the path of a lesson file, or a recording
        lesson: String,
    },
    /// Opens two variants of a lesson together: a failure and its fix
    Compare(compare::CompareArgs),
    /// Lists the lessons and their variants
    List,
    /// Runs lessons without a screen and checks their claims
    Run(run::RunArgs),
    /// Evaluates an expression on a finished run: what was observed, and when
    Eval(eval::EvalArgs),
    /// Runs all clients at once, many times, and counts the outcomes
    Race(race::RaceArgs),
    /// Tries every order in which the clients can move, and says how many of them break the lock
    Explore(explore::ExploreArgs),
    /// Measures each kind of lock with the same contended work, on the machine's own clock
    BenchLocks(bench_locks::BenchArgs),
    /// Turns a run into a picture, a page that plays, a terminal recording, a sequence diagram or data
    Export(export::ExportArgs),
    /// Asks interview questions and remembers what you knew; or exports them for Anki or for printing
    Interview(interview::InterviewArgs),
    /// Starts your own programs as clients; each of their requests waits until you let it go
    Attach(attach::AttachArgs),
    /// Allows a lesson file to start its own programs, which run as you
    Trust(trust::TrustArgs),
    /// Exercises: you write the lock, and every order of moves tests it
    Kata(kata::KataArgs),
    /// Shows the author's notes for teachers, also for the step that is being played
    Notes(notes::NotesArgs),
    /// Opens a lesson for a class: students vote on their phones
    Teach(teach::TeachArgs),
    /// Checks lesson files without running them
    Check {
        /// Lessons: names or paths [default: all carried lessons and those of --lessons]
        files: Vec<PathBuf>,
        /// Also requires every text in both languages, and a sentence (`says`) with each invariant that is an expression
        #[arg(long)]
        strict: bool,
    },
    /// Says what this machine has and lacks, and tests whether the clock can be controlled
    Doctor {
        /// Asks, then installs what is missing with the system's package manager
        #[arg(long)]
        install: bool,
        /// Also checks, or installs, the libraries of this language that lessons use, in Lockstep's own directory; may be
        /// given several times
        #[arg(long, value_name = "LANGUAGE")]
        with: Vec<Language>,
        /// Does not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
    /// Prints what you have done so far
    Progress {
        /// Asks, then deletes it
        #[arg(long)]
        reset: bool,
        /// Does not ask for confirmation
        #[arg(long, short, requires = "reset")]
        yes: bool,
    },
    /// Prints a configuration file with all defaults, and the path where it belongs
    Config {
        /// Checks your configuration file instead
        #[arg(long)]
        check: bool,
    },
    /// Prints the JSON Schema of lessons, for editors
    Schema,
    /// Writes a lesson to start from
    New {
        /// Its name: lower-case letters, digits and hyphens
        name: String,
    },
    /// Prints a script for a shell that completes `lockstep` commands and options
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

fn parse_set(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write NAME=VALUE, such as buyers=20".to_owned()),
    }
}

fn parse_speed(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('x').parse::<f64>() {
        Ok(speed) if (0.1..=100.0).contains(&speed) => Ok(speed),
        _ => Err("a number from 0.1 to 100".to_owned()),
    }
}

/// The failure of a command: a message for standard error, and the exit code.
#[derive(Debug)]
pub struct Failure {
    message: Text,
    code: u8,
}

impl Failure {
    /// A signal, given by its name, ended the command.
    fn interrupted(signal: &str) -> Self {
        Self { message: words::ENDED_BY.text(&[signal]), code: INTERRUPTED }
    }

    /// An operation on a file failed. `words` take the path and the reason.
    fn of_file(words: Words, path: &Path, error: &dyn fmt::Display) -> Self {
        Self::usage(words.text(&[&path.display().to_string(), &error.to_string()]))
    }

    fn usage(message: impl Into<Text>) -> Self {
        Self { message: message.into(), code: USAGE }
    }

    fn server(message: impl Into<Text>) -> Self {
        Self { message: message.into(), code: SERVER }
    }
}

impl From<LessonError> for Failure {
    fn from(error: LessonError) -> Self {
        Self::usage(error)
    }
}

/// Errors that are the user's to mend, and have no Chinese.
macro_rules! usage {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::usage(error.to_string())
            }
        }
    )*};
}
usage!(RecordingError, NotCarried, AppError, std::io::Error);

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        if error.is_server() { Self::server(error.text()) } else { Self::usage(error.text()) }
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        RunError::from(error).into()
    }
}

pub fn main() -> ExitCode {
    let (outcome, lang) = match Cli::try_parse() {
        Ok(Cli { command, mut global }) => {
            let outcome = global.configure().and_then(|()| answer(command, &global));
            // A failure after a signal is a consequence of the signal.
            let outcome =
                outcome.map_err(|failure| interrupt::received().map_or(failure, Failure::interrupted));
            (outcome, global.lang())
        }
        Err(said) => {
            let lang = usage::lang(std::env::args_os());
            (print::usage(&said, lang), lang)
        }
    };
    let code = outcome.unwrap_or_else(|Failure { message, code }| {
        if code != print::UNREAD {
            print::complain(message.get(lang));
        }
        code
    });
    ExitCode::from(code)
}

fn answer(command: Option<Command>, global: &Global) -> Result<u8, Failure> {
    match command {
        None => play::play(global, None, None, None, |_| Ok(None)),
        Some(Command::Play { lesson }) => attach::play_recorded(global, &lesson)
            .unwrap_or_else(|| play::play(global, Some(&lesson), None, None, |_| Ok(None))),
        Some(Command::Compare(args)) => {
            play::play(global, Some(&args.lesson), Some(&args), None, |_| Ok(None))
        }
        Some(Command::Teach(args)) => teach::teach(global, &args),
        Some(Command::Interview(args)) => interview::interview(global, &args),
        Some(Command::Attach(args)) => attach::attach(global, &args),
        Some(Command::Trust(args)) => trust::trust(global, &args),
        Some(Command::Kata(args)) => kata::kata(global, &args),
        Some(Command::Notes(args)) => notes::notes(global, &args),
        Some(Command::List) => list::list(global),
        Some(Command::Run(args)) => run::run(global, &args),
        Some(Command::Eval(args)) => eval::eval(global, &args),
        Some(Command::Race(args)) => race::race(global, &args),
        Some(Command::Explore(args)) => explore::explore(global, &args),
        Some(Command::BenchLocks(args)) => bench_locks::bench_locks(global, &args),
        Some(Command::Export(args)) => export::export(global, &args),
        Some(Command::Check { files, strict }) => check::check(global, &files, strict),
        Some(Command::Doctor { install, with, yes }) => doctor::doctor(global, install, &with, yes),
        Some(Command::Progress { reset, yes }) => progress::progress(global, reset, yes),
        Some(Command::Config { check }) => config::config(global, check),
        Some(Command::Schema) => print::document(&schema()).map(|()| OK),
        Some(Command::New { name }) => new::new(global, &name),
        Some(Command::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "lockstep", &mut script);
            print::document(&String::from_utf8_lossy(&script)).map(|()| OK)
        }
    }
}

impl Global {
    /// Reads the configuration. A file that was given must exist; the user's default one need not.
    fn configure(&mut self) -> Result<(), Failure> {
        self.settings = match &self.config {
            None => Config::open(),
            Some(path) => Config::read(path)
                .map_err(|error| Failure::usage(format!("{} cannot be read: {error}", path.display())))?,
        };
        Ok(())
    }

    /// The language: the command line comes before the configuration, and that before the environment.
    fn lang(&self) -> Lang {
        self.lang.or(self.settings.lang).unwrap_or_else(Lang::from_env)
    }

    fn theme(&self) -> ThemeName {
        self.theme.or(self.settings.theme).unwrap_or_default()
    }

    fn speed(&self) -> f64 {
        self.speed.or(self.settings.speed).unwrap_or(1.0)
    }

    fn questions(&self) -> bool {
        !self.no_questions && self.settings.questions.unwrap_or(true)
    }

    /// What the command line and the configuration say of the screen.
    fn app_options(&self) -> AppOptions {
        AppOptions {
            lang: self.lang(),
            speed: self.speed(),
            theme: Theme::from_env(self.theme()),
            questions: self.questions(),
            keys: self.settings.keys.clone(),
            reduced_motion: self.reduced_motion || self.settings.reduced_motion.unwrap_or(false),
            mistakes: self.settings.summary(),
            ..AppOptions::default()
        }
    }

    fn library(&self) -> Result<Library, Failure> {
        match &self.lessons {
            None => Ok(Library::carried()),
            Some(directory) => Ok(Library::with_directory(directory)?),
        }
    }

    /// A carried lesson, read without the others. None if it does not have the variant that was given.
    fn carried(&self, id: &str) -> Option<Arc<Loaded>> {
        carried(id).filter(|loaded| {
            self.variant.as_ref().is_none_or(|variant| loaded.lesson.variants.contains_key(variant))
        })
    }

    /// A lesson by its id, or by the path of its file.
    fn lesson(&self, name: &str) -> Result<Arc<Loaded>, Failure> {
        if self.lessons.is_none()
            && let Some(lesson) = self.carried(name)
        {
            return Ok(lesson);
        }
        // No id contains a dot or a slash.
        if name.contains(['.', '/']) && is_path(name) {
            return Ok(read_lesson(Path::new(name))?);
        }
        let library = self.library()?;
        if let Some(lesson) = library.find_with(name, self.variant.as_deref()) {
            let own = self.lessons.as_deref().is_some_and(|directory| lesson.directory() == directory);
            return match library.broken_recipes.as_ref().filter(|_| own) {
                Some(error) => Err(error.clone().into()),
                None => Ok(lesson.clone()),
            };
        }
        if is_path(name) {
            return Ok(read_lesson(Path::new(name))?);
        }
        // The id of a file that cannot be read is unknown, so it may be the one that is meant.
        let is_meant =
            |broken: &&LessonError| Path::new(&broken.file).file_stem().is_some_and(|stem| stem == name);
        let meant = library.broken.iter().find(is_meant);
        match (meant, nearest(name, library.ids(), 0.7)) {
            (Some(broken), _) => Err(broken.clone().into()),
            (None, Some(near)) => Err(Failure::usage(words::NO_LESSON_BUT.text(&[name, near]))),
            (None, None) => Err(match library.broken.first() {
                Some(broken) => broken.clone().into(),
                None => Failure::usage(words::NO_LESSON.text(&[name])),
            }),
        }
    }

    /// The variant that was given, by the name that it has in this lesson.
    fn named<'a>(&'a self, loaded: &'a Loaded) -> Option<&'a String> {
        self.variant.as_ref().map(|name| loaded.lesson.variant_called(name).unwrap_or(name))
    }

    /// The variant that was given, or the first.
    fn variant_of(&self, loaded: &Loaded) -> String {
        let first = || loaded.lesson.variants.keys().next();
        self.named(loaded).or_else(first).cloned().unwrap_or_default()
    }

    /// The scenarios of a lesson to be run: the variant that was given, or all of them.
    fn scenarios(&self, loaded: &Arc<Loaded>) -> Result<Vec<Scenario>, LessonError> {
        let all = loaded.lesson.variants.keys().filter(|_| self.variant.is_none());
        let variants = self.named(loaded).into_iter().chain(all);
        variants.map(|variant| Scenario::plan(loaded, variant, &self.overrides())).collect()
    }

    fn overrides(&self) -> Params {
        self.set.iter().map(|(name, value)| (name.clone(), param_from_word(value))).collect()
    }

    fn lab_options(&self) -> Result<LabOptions, Failure> {
        files::check_umask().map_err(output::umask)?;
        let mut options = LabOptions::new()?;
        options.wall_clock = self.wall_clock;
        // An error in that file is reported by `lockstep trust`; until then the file allows nothing.
        options.trusted = UserFile::<trust::Trusted>::open().0.get().lessons.clone();
        options.set = self.overrides();
        Ok(options)
    }
}

/// Loads a lesson from its file.
fn read_lesson(path: &Path) -> Result<Arc<Loaded>, LessonError> {
    if !recording::is_recording(path) {
        return load_file(path);
    }
    let file = path.display().to_string();
    let help = both!("to see it: lockstep play {file}", "要看它：lockstep play {file}");
    Err(LessonError::of_file(&file, both!("is a recording, not a lesson", "是录像，不是课程"), Some(help)))
}

/// Whether the argument that names a lesson is the path of a file.
fn is_path(name: &str) -> bool {
    let path = Path::new(name);
    path.exists() || name.contains('/') || path.extension().is_some()
}

/// Runs a command's work, and waits until no lab of it is left, however the work ends.
fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    room_for_threads()?;
    // More than there may be processors: a thread that starts a process or writes a file waits for the
    // system, and what other labs send over their links should not wait with it.
    let runtime = Builder::new_multi_thread().worker_threads(6).enable_all().build().map_err(|source| {
        limits::named(LabError::Spawn {
            program: "the part of Lockstep that waits for servers".to_owned(),
            source,
        })
    })?;
    let handle = runtime.handle().clone();
    let _ending = Ending(Some(runtime));
    handle.block_on(work)
}

/// Whole milliseconds, for JSON.
fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A runtime whose drop, also in a panic, ends the labs first: their owners need the runtime for that.
struct Ending(Option<Runtime>);

impl Drop for Ending {
    fn drop(&mut self) {
        end_all(|| {
            if let Some(runtime) = self.0.take() {
                runtime.shutdown_timeout(TASKS_END_WITHIN);
            }
        });
    }
}
