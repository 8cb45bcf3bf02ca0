//! The exercises on the screen: the chosen answer is judged whenever it is saved.

use std::{
    cell::{Cell, RefCell},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures::Stream;
use tokio::sync::watch;

use super::{
    super::{Failure, Global, millis, play, print, progress, words},
    Description, describe, file_name, hints, is_solved, read_answer, remember_solved,
};
use crate::{
    lab::{
        LabOptions,
        ready::{ReadyLabs, Reuse},
    },
    lesson::{Loaded, Params, Scenario},
    run::{
        LessonChoice,
        kata::{self, Round, Which},
        open::ChosenRuns,
    },
    ui::{
        app::{
            App, AppError, AppOptions, Ended,
            kata::{Request, ViewSettings, next_request},
            terminal::{InputGate, TerminalGuard, gated_input},
        },
        state::{
            catalogue::Catalogue,
            kata::{Exercise, ExerciseBoard, FailureRow, RoundRow, RoundState},
            progress::Store,
        },
        theme::Theme,
    },
};

/// How often the files are checked.
const LOOK: Duration = Duration::from_millis(50);

/// The state behind the screen.
struct Screen<'a> {
    all: &'a [Arc<Loaded>],
    files: Vec<PathBuf>,
    options: LabOptions,
    /// The labs that are ready for the next judgement.
    labs: ReadyLabs,
    board: watch::Sender<ExerciseBoard>,
    store: RefCell<Store>,
    /// When each file was last saved.
    saved: RefCell<Vec<SystemTime>>,
    /// Whether the learner was asked to confirm that the solution is wanted.
    asked: Cell<bool>,
    /// The rounds of the chosen answer that were judged.
    rounds: RefCell<Vec<Round>>,
    /// When the version of the file that was judged was saved.
    judged: Cell<Option<SystemTime>>,
}

pub(super) fn run(global: &Global, all: &[Arc<Loaded>], dir: &Path) -> Result<u8, Failure> {
    if !print::has_screen() {
        return Err(Failure::usage(words::KATA_NEEDS_TERMINAL.text(&[])));
    }
    let files: Vec<PathBuf> =
        all.iter().enumerate().map(|(n, loaded)| dir.join(file_name(n, loaded))).collect();
    let has = |n: &usize| files[*n].is_file();
    let (all, files): (Vec<Arc<Loaded>>, Vec<PathBuf>) =
        (0..all.len()).filter(has).map(|n| (Arc::clone(&all[n]), files[n].clone())).unzip();
    if all.is_empty() {
        let dir = dir.display().to_string();
        return Err(Failure::usage(words::KATA_NO_FILES.text(&[&dir, &dir])));
    }
    let (store, trouble) = Store::open();
    if let Some(trouble) = &trouble {
        print::complain(&progress::words_of(trouble, global.lang()));
    }
    let exercises = all.iter().zip(&files).map(|(loaded, file)| {
        let Description { task, given } = describe(loaded)?;
        Ok(Exercise {
            title: loaded.lesson.title.clone(),
            task,
            given,
            file: file.display().to_string(),
            solved: is_solved(&store, loaded),
        })
    });
    let exercises = exercises.collect::<Result<Vec<_>, Failure>>()?;
    let chosen = exercises.iter().position(|exercise| !exercise.solved).unwrap_or_default();
    let (board, mut seen) = watch::channel(ExerciseBoard { exercises, chosen, ..ExerciseBoard::default() });
    let mut settings = ViewSettings {
        keys: global.settings.keys.clone(),
        lang: global.lang(),
        theme: Theme::from_env(global.theme()),
        scroll: 0,
        help: None,
        to_newest: false,
        chosen,
    };
    let options = global.lab_options()?;
    let ended = super::super::block_on(async {
        let screen = Screen {
            all: &all,
            options,
            labs: ReadyLabs::default(),
            board,
            saved: RefCell::new(files.iter().map(|file| changed(file)).collect()),
            store: RefCell::new(store),
            rounds: RefCell::default(),
            asked: Cell::default(),
            judged: Cell::default(),
            files,
        };
        let (mut input, gate) = gated_input()?;
        let mut guard = TerminalGuard::take()?;
        let broken = |error: AppError| Failure::usage(error.to_string());
        loop {
            let request = tokio::select! {
                request = next_request(&mut *guard.terminal, &mut input, &mut seen, &mut settings) => request.map_err(broken)?,
                failed = screen.judge_as_saved() => return Err(failed),
            };
            screen.board.send_modify(|board| board.notice = None);
            let was_asked = screen.asked.take();
            match request {
                Request::Leave(Ended::Suspended) => guard.suspend()?,
                Request::Leave(ended) => return Ok(ended),
                Request::Hint => settings.to_newest = screen.hint(&settings.keys.label("solution")),
                Request::Solution => {
                    settings.to_newest = screen.solution(was_asked, &settings.keys.label("solution"));
                }
                Request::Other(next) => screen.other(next),
                Request::Edit => {
                    drop(guard);
                    screen.edit(&gate);
                    guard = TerminalGuard::take()?;
                }
                Request::Open => {
                    let opened =
                        screen.open(global, &settings, &mut guard, &mut input).await.map_err(broken)?;
                    if let ended @ (Ended::InputOver | Ended::Signal(_)) = opened {
                        return Ok(ended);
                    }
                }
            }
        }
    })?;
    Ok(play::exit_code(ended))
}

impl Screen<'_> {
    fn chosen(&self) -> (&Arc<Loaded>, &Path) {
        let chosen = self.board.borrow().chosen;
        (&self.all[chosen], &self.files[chosen])
    }

    /// Judges the chosen file, unless its current version has been judged, and again whenever it is saved.
    /// Returns the error that prevents this from continuing.
    async fn judge_as_saved(&self) -> Failure {
        let mut looks = tokio::time::interval(LOOK);
        loop {
            looks.tick().await;
            self.follow_saved();
            let (_, file) = self.chosen();
            let now = changed(file);
            if self.judged.get() == Some(now) {
                continue;
            }
            self.judged.set(None);
            tokio::select! {
                judged = self.judge() => match judged {
                    Ok(()) => {}
                    Err(error) if error.code == super::super::USAGE => {
                        self.board.send_modify(|board| board.mistake = Some(error.message));
                    }
                    Err(error) => return error,
                },
                // The file was saved again meanwhile, so this judgement is obsolete.
                () = async {
                    while changed(file) == now && !self.follow_saved() {
                        tokio::time::sleep(LOOK).await;
                    }
                } => continue,
            }
            self.prepare();
            self.judged.set(Some(now));
            self.board.send_modify(|board| board.judging = false);
        }
    }

    async fn judge(&self) -> Result<(), Failure> {
        let (loaded, file) = self.chosen();
        self.rounds.borrow_mut().clear();
        self.board.send_modify(|board| {
            board.judging = true;
            // It was about the version before, and hides the key that leads on.
            board.notice = None;
            (board.rounds, board.failure, board.mistake) = (Vec::new(), None, None);
            if board.solution.is_none() {
                board.discussion = None;
            }
        });
        let answered = loaded.with_answer(&read_answer(file)?)?;
        let rounds = answered.rounds()?;
        self.board.send_modify(|board| {
            board.rounds = rounds
                .iter()
                .map(|round| RoundRow { title: round.fill(&round.variant().title), state: RoundState::Open })
                .collect();
        });
        let tell = |round: &Round| {
            self.rounds.borrow_mut().push(round.clone());
            self.board.send_modify(|board| show(board, round));
        };
        let options = LabOptions { reuse: Some(Reuse::Any(self.labs.clone())), ..self.options.clone() };
        Box::pin(kata::judge(&answered, &options, &tell)).await?;
        if self.board.borrow().is_solved() {
            // If it cannot be stored, that was reported before the screen was opened.
            let _ = remember_solved(&mut self.store.borrow_mut(), loaded);
            self.board.send_modify(|board| {
                let chosen = board.chosen;
                board.exercises[chosen].solved = true;
                board.hints.clear();
                board.discussion = loaded.lesson.kata.as_ref().map(|kata| kata.discussion.clone());
            });
        }
        Ok(())
    }

    /// Starts a lab for the next judgement, where servers take long to start.
    fn prepare(&self) {
        let (loaded, _) = self.chosen();
        let round = loaded.rounds().ok().and_then(|rounds| rounds.into_iter().next());
        if let Some(round) = round.filter(Scenario::needs_processes) {
            self.labs.prepare(round.lab(), &round.settings(), &self.options);
        }
    }

    /// Shows one more hint. Returns whether there was one.
    fn hint(&self, key: &str) -> bool {
        let Some(kata) = &self.chosen().0.lesson.kata else { return false };
        let all = hints(kata, &self.rounds.borrow()).to_vec();
        let mut shown = false;
        self.board.send_modify(|board| {
            // The latest result may require other hints than those shown before.
            let known = if all.starts_with(&board.hints) { board.hints.len() } else { 0 };
            shown = known < all.len();
            if shown {
                board.hints = all.into_iter().take(known + 1).collect();
            } else {
                board.notice = Some(words::NO_MORE_HINTS.text(&[key]));
            }
        });
        shown
    }

    /// Shows the solution, or hides it. A learner who has not solved the exercise is asked first. Returns
    /// whether it is shown.
    fn solution(&self, sure: bool, key: &str) -> bool {
        let Some(kata) = &self.chosen().0.lesson.kata else { return false };
        let mut shown = false;
        self.board.send_modify(|board| {
            if board.solution.take().is_some() {
                board.discussion = board.is_solved().then(|| kata.discussion.clone());
            } else if sure || board.exercises[board.chosen].solved {
                board.solution = Some(kata.solution.clone());
                board.discussion = Some(kata.discussion.clone());
                shown = true;
            } else {
                board.notice = Some(words::SURE_OF_SOLUTION.text(&[key]));
                self.asked.set(true);
            }
        });
        shown
    }

    /// Switches to a file that was saved and is not on the screen. Returns whether there was one.
    fn follow_saved(&self) -> bool {
        let now: Vec<SystemTime> = self.files.iter().map(|file| changed(file)).collect();
        let before = self.saved.replace(now.clone());
        let here = self.board.borrow().chosen;
        // A deleted file was not saved.
        let saved = |n: &usize| *n != here && now[*n] != before[*n] && now[*n] != SystemTime::UNIX_EPOCH;
        let Some(saved) = (0..now.len()).find(saved) else { return false };
        self.go_to(saved);
        self.board.send_modify(|board| board.notice = Some(words::SWITCHED.text(&[])));
        true
    }

    fn other(&self, next: bool) {
        let (count, chosen) = (self.all.len(), self.board.borrow().chosen);
        self.go_to((chosen + if next { 1 } else { count - 1 }) % count);
    }

    fn go_to(&self, chosen: usize) {
        self.rounds.borrow_mut().clear();
        self.judged.set(None);
        self.board.send_modify(|board| {
            let exercises = std::mem::take(&mut board.exercises);
            *board = ExerciseBoard { exercises, chosen, judging: true, ..ExerciseBoard::default() };
        });
    }

    /// Hands the terminal to the learner's editor until the editor ends.
    fn edit(&self, gate: &InputGate) {
        let _closed = gate.close();
        let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| std::env::var(name).ok());
        let editor = editor.filter(|editor| !editor.trim().is_empty()).unwrap_or_else(|| "vi".to_owned());
        // As in git and other programs, the variable may contain arguments.
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &format!("{editor} \"$1\""), "editor"]).arg(self.chosen().1);
        let ran = shell.status();
        let message = match ran {
            Ok(status) if status.success() => return,
            // The shell's exit code for a program that does not exist.
            Ok(status) if status.code() == Some(127) => words::KATA_NO_EDITOR.text(&[&editor]),
            Ok(status) => words::KATA_EDITOR_FAILED.text(&[&editor, &status.to_string()]),
            Err(error) => words::KATA_EDITOR_FAILED.text(&[&editor, &error.to_string()]),
        };
        self.board.send_modify(|board| board.notice = Some(message));
    }

    /// Shows the order that broke the answer on the lesson's screen.
    async fn open<I: Stream<Item = std::io::Result<crossterm::event::Event>> + Unpin>(
        &self,
        global: &Global,
        settings: &ViewSettings,
        guard: &mut TerminalGuard,
        input: &mut I,
    ) -> Result<Ended, AppError> {
        let opened = self.rounds.borrow().iter().find_map(|round| {
            let failure = round.failure.as_ref()?;
            Some((round.scenario.clone(), failure_row(failure), failure.order.as_ref()?.log.clone()))
        });
        let Some((scenario, failure, log)) = opened else { return Ok(Ended::Quit) };
        let choice =
            LessonChoice { id: scenario.loaded.lesson.id.clone(), variant: scenario.variant.clone() };
        let entry = play::entry(&scenario.loaded, &Params::new(), true);
        let runs = ChosenRuns {
            lessons: vec![Arc::clone(&scenario.loaded)],
            overrides: Params::new(),
            options: self.options.clone(),
            seed: global.seed,
            files: Vec::new(),
            recorded: false,
            begun: RefCell::default(),
        };
        let options = AppOptions {
            lang: settings.lang,
            theme: settings.theme,
            questions: false,
            mistakes: None,
            ..global.app_options()
        };
        let catalogue = Catalogue::new(vec![entry]);
        let mut app = App::of_broken_answer(catalogue, runs, &options, choice, (failure, &log));
        guard.run(input, &mut app).await
    }
}

/// Shows the result of a round on the board.
fn show(board: &mut ExerciseBoard, round: &Round) {
    let title = round.scenario.fill(&round.scenario.variant().title);
    let state = match &round.failure {
        None => RoundState::Held(round.extent(), millis(round.wall)),
        Some(_) => RoundState::Failed,
    };
    if let Some(row) = board.rounds.iter_mut().find(|row| row.title == title) {
        row.state = state;
    }
    board.failure = round.failure.as_ref().map(failure_row);
}

fn failure_row(failure: &kata::Failure) -> FailureRow {
    FailureRow {
        says: failure.says.clone(),
        order: failure.order.as_ref().map(|order| super::order_words(&order.moves)),
        goes_wrong: failure.which != Which::Any,
        why: failure.why.clone(),
    }
}

/// When a file was last saved, or the Unix epoch if it does not exist.
fn changed(path: &Path) -> SystemTime {
    fs::metadata(path).and_then(|facts| facts.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}
