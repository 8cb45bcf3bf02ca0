//! The terminal program: one loop that handles messages and draws. It must not know how lessons are run; a `Runs` opens
//! runs for it.
//!
//! **Architecture Invariant:** there is one queue of messages. The loop drains it, then draws one picture, or none if
//! nothing changed. The loop takes the terminal and the stream of input as parameters, so that tests drive the real
//! loop.

pub(crate) mod browse;
mod cell_output;
pub mod classroom;
pub mod follow;
pub mod kata;
pub(crate) mod mouse;
pub(crate) mod palette;
pub mod synchronized;
pub mod terminal;
pub(crate) mod update;

pub use crate::ui::app::{
    classroom::ClassUpdate,
    update::{App, Message, Mode, Receivers, interview::today},
};

use crate::run::{LessonChoice, Runs};
use crate::ui::state::screen::Mistakes;
use std::{
    io,
    path::PathBuf,
    task::Poll,
    time::{Duration, Instant},
};

use crossterm::event::Event;
use futures::{Stream, StreamExt as _, future::OptionFuture};
use ratatui::{Terminal, backend::Backend, layout::Rect};
use tokio::sync::mpsc;

use crate::{
    signals::Signals,
    text::Lang,
    ui::{
        keys::KeyMap,
        state::{
            interview::Beginning,
            progress::{Store, Trouble},
            reviews::ReviewStore,
        },
        theme::Theme,
        view,
    },
};

#[derive(Debug, Clone)]
pub struct AppOptions {
    pub lang: Lang,
    /// A lesson to open at once. Without it, or if there is no such lesson, the catalogue is shown.
    pub open: Option<LessonChoice>,
    /// The names of two variants of that lesson to compare in place of opening it.
    pub compare: Option<[String; 2]>,
    pub speed: f64,
    pub theme: Theme,
    /// Whether the learner is asked for predictions; `N` toggles it.
    pub questions: bool,
    pub reduced_motion: bool,
    pub progress: Store,
    pub reviews: ReviewStore,
    /// Opens the interview at once, in place of the catalogue.
    pub interview: Option<Beginning>,
    /// The file in which the current step is written for the teacher's notes.
    pub playing_file: Option<PathBuf>,
    /// What is wrong with the stored progress: reported on the first screen.
    pub trouble: Option<Trouble>,
    pub keys: KeyMap,
    /// What is wrong with the configuration: reported on the first screen.
    pub mistakes: Option<Mistakes>,
    /// Whether the lesson to be opened has changed since its recording was made: reported on the first screen.
    pub outdated: bool,
}

impl Default for AppOptions {
    fn default() -> Self {
        Self {
            lang: Lang::En,
            open: None,
            compare: None,
            speed: 1.0,
            theme: Theme::default(),
            questions: true,
            progress: Store::default(),
            reviews: ReviewStore::default(),
            interview: None,
            playing_file: None,
            trouble: None,
            keys: KeyMap::default(),
            reduced_motion: false,
            mistakes: None,
            outdated: false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Quit,
    /// The terminal was closed: there will be no more input.
    InputOver,
    /// A signal with this number arrived.
    Signal(i32),
    /// The learner wants the shell for a while.
    Suspended,
}

#[derive(Debug, thiserror::Error)]
pub enum AppError {
    #[error("cannot draw on the terminal: {0}")]
    Draw(String),
    #[error("cannot read from the terminal: {0}")]
    Input(#[source] io::Error),
    #[error("cannot listen to signals: {0}")]
    Signals(#[source] io::Error),
}

/// The maximum number of messages handled before a picture is drawn.
const MAX_DRAINED: usize = 1024;
/// The minimum interval between pictures.
const MIN_FRAME: Duration = Duration::from_millis(16);

/// Runs the program until the learner leaves, the terminal is closed or a signal arrives.
pub async fn run<B, I, R>(
    terminal: &mut Terminal<B>,
    mut input: I,
    app: &mut App<R>,
) -> Result<Ended, AppError>
where
    B: Backend,
    I: Stream<Item = io::Result<Event>> + Unpin,
    R: Runs,
{
    let ended = follow_messages(terminal, &mut input, app).await;
    if !matches!(ended, Ok(Ended::Suspended)) {
        app.keep_current_run();
    }
    ended
}

async fn follow_messages<B, I, R>(
    terminal: &mut Terminal<B>,
    input: &mut I,
    app: &mut App<R>,
) -> Result<Ended, AppError>
where
    B: Backend,
    I: Stream<Item = io::Result<Event>> + Unpin,
    R: Runs,
{
    let mut signals = Signals::listen().map_err(AppError::Signals)?;
    let mut drawn: Option<Instant> = None;
    let mut changed = true;
    loop {
        let now = Instant::now();
        let may_draw = drawn.is_none_or(|drawn| now >= drawn + MIN_FRAME);
        if changed && may_draw {
            draw(terminal, app)?;
            drawn = Some(now);
            changed = false;
        }
        let wake = match (changed, drawn) {
            (true, Some(drawn)) => Some(drawn + MIN_FRAME),
            _ => app.wake(now),
        };
        let message = tokio::select! {
            biased;
            (signal, _) = signals.next() => return Ok(Ended::Signal(signal)),
            event = input.next() => match event {
                Some(event) => Message::Input(event.map_err(AppError::Input)?),
                None => return Ok(Ended::InputOver),
            },
            update = next_update(app) => update,
            () = tokio::time::sleep_until(wake.unwrap_or(now).into()), if wake.is_some() => Message::Tick,
        };
        changed |= app.handle(message, Instant::now());
        // Handles every pending message before the next picture.
        for _ in 0..MAX_DRAINED {
            let Some(message) = pending(input, app).await? else { break };
            changed |= app.handle(message, Instant::now());
        }
        if matches!(app.mode(), Mode::Ending) {
            return Ok(Ended::Quit);
        }
        if let Some(ended) = app.leaving.take() {
            return Ok(ended);
        }
    }
}

fn draw<B: Backend, R: Runs>(terminal: &mut Terminal<B>, app: &mut App<R>) -> Result<(), AppError> {
    let size = terminal.size().map_err(|error| AppError::Draw(error.to_string()))?;
    app.resize(Rect::new(0, 0, size.width, size.height));
    let drawn = terminal.draw(|frame| {
        app.draw(frame.area(), frame.buffer_mut());
        view::empty_covered_cells(frame.buffer_mut());
        if let Some(cursor) = app.cursor() {
            frame.set_cursor_position(cursor);
        }
    });
    drawn.map(drop).map_err(|error| AppError::Draw(error.to_string()))
}

/// The next update of the live run, a batch, a measurement, an exam or the class; pending forever if there is none of
/// them.
async fn next_update<R: Runs>(app: &mut App<R>) -> Message {
    let Receivers { session, batch, measuring, exam, room } = app.receivers();
    let (tally, remote) = room.map(|room| (&mut room.tally, &mut room.remote)).unzip();
    let tally = tally.map(async |tally| match tally.changed().await {
        Ok(()) => ClassUpdate::Tally(tally.borrow().clone()),
        Err(_) => ClassUpdate::Gone,
    });
    tokio::select! {
        Some(heard) = OptionFuture::from(tally) => Message::Class(heard),
        Some(asked) = OptionFuture::from(remote.map(mpsc::Receiver::recv)) => {
            Message::Class(asked.map_or(ClassUpdate::Gone, ClassUpdate::Remote))
        }
        Some(update) = OptionFuture::from(session.map(|session| session.updates.recv())) => Message::Run(update),
        Some(update) = OptionFuture::from(batch.map(|batch| batch.updates.recv())) => Message::Batch(update),
        Some(update) = OptionFuture::from(measuring.map(|measuring| measuring.updates.recv())) => {
            Message::Measured(update)
        }
        Some(question) = OptionFuture::from(exam.map(mpsc::Receiver::recv)) => {
            Message::Exam(question.map(|question| question.map(Box::new).map_err(|error| error.text())))
        }
        else => std::future::pending().await,
    }
}

async fn pending<I, R>(input: &mut I, app: &mut App<R>) -> Result<Option<Message>, AppError>
where
    I: Stream<Item = io::Result<Event>> + Unpin,
    R: Runs,
{
    if matches!(app.mode(), Mode::Ending) {
        return Ok(None);
    }
    // Polled with this task's own waker: crossterm keeps the waker of the first poll that found nothing, and with a
    // no-op waker the next key would not wake the task.
    if let Poll::Ready(Some(event)) = futures::poll!(input.next()) {
        return Ok(Some(Message::Input(event.map_err(AppError::Input)?)));
    }
    let update = std::pin::pin!(next_update(app));
    match futures::poll!(update) {
        Poll::Ready(update) => Ok(Some(update)),
        Poll::Pending => Ok(None),
    }
}
