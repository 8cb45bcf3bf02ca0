//! Takes over the real terminal, and restores it in every case.
//!
//! **Architecture Invariant:** the terminal is restored on every way out: by the guard's drop, by the panic hook, and
//! after a signal, because a signal ends the loop and the guard is dropped. The shell gets it back, too, while the
//! program is suspended.

#![expect(
    clippy::disallowed_methods,
    reason = "screens are drawn here, and no cell of them acts on a terminal"
)]

use std::{
    io,
    mem::ManuallyDrop,
    panic,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crossterm::{
    event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event},
    execute,
    terminal::{Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen, enable_raw_mode},
};
use futures::Stream;
use ratatui::{Terminal, TerminalOptions, Viewport, backend::CrosstermBackend, layout::Rect};
use rustix::process::{Signal, kill_current_process_group};
use tokio::sync::mpsc;

use super::{App, AppError, Ended, synchronized::Synchronized};
use crate::{run::Runs, ui::state::classroom::protocol};

pub type RealTerminal = Terminal<Synchronized<CrosstermBackend<io::Stdout>>>;

/// Keeps the terminal in raw mode on its alternate screen until dropped.
#[derive(Debug)]
pub struct TerminalGuard {
    /// Never dropped by itself, because its own drop prints.
    pub(crate) terminal: ManuallyDrop<RealTerminal>,
}

impl TerminalGuard {
    /// Takes over the terminal, and installs a panic hook that restores it before the panic message is printed.
    pub fn take() -> io::Result<Self> {
        // This sets up the terminal and a panic hook that restores it. Its return value is dropped, because pictures
        // are drawn through `Synchronized`, which limits the size.
        let viewport = Viewport::Fixed(Rect::new(0, 0, 1, 1));
        drop(ratatui::try_init_with_options(TerminalOptions { viewport })?);
        // A program that was killed may have left the terminal on its alternate screen, where entering clears nothing.
        execute!(io::stdout(), EnterAlternateScreen, Clear(ClearType::All))?;
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // A panic in the server of the class's pages does not end the lesson, so the screen stays.
            if std::thread::current().name() == Some(protocol::THREAD) {
                return;
            }
            // Inside a synchronized update the terminal would hold the message back until the update ends.
            let _ = execute!(io::stdout(), EndSynchronizedUpdate);
            // `hook` is the one set by `try_init`, which restores the screen; mouse and paste have to be released before.
            release_input();
            hook(info);
        }));
        let terminal = Terminal::new(Synchronized::new(CrosstermBackend::new(io::stdout())));
        let terminal = terminal.inspect_err(|_| {
            let _ = ratatui::try_restore();
        });
        let guard = Self { terminal: ManuallyDrop::new(terminal?) };
        execute!(io::stdout(), EnableMouseCapture, EnableBracketedPaste)?;
        Ok(guard)
    }

    /// Runs the program on the terminal until it ends, also after the shell has continued it.
    pub async fn run<I, R>(&mut self, mut input: I, app: &mut App<R>) -> Result<Ended, AppError>
    where
        I: Stream<Item = io::Result<Event>> + Unpin,
        R: Runs,
    {
        loop {
            match super::run(&mut *self.terminal, &mut input, app).await? {
                Ended::Suspended => self.suspend().map_err(AppError::Input)?,
                ended => return Ok(ended),
            }
        }
    }

    /// Gives the terminal back to the shell, stops the program until the shell continues it, and takes the terminal
    /// again.
    pub fn suspend(&mut self) -> io::Result<()> {
        self.release();
        // The whole group, as when a terminal does it, because a script may have started this program. Servers and
        // clients are in groups of their own, so that no `SIGCONT` wakes a client that a lesson has frozen.
        kill_current_process_group(Signal::TSTP)?;
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste)?;
        let size = self.terminal.size()?;
        self.terminal.resize(size.into())
    }

    fn release(&mut self) {
        // Errors are ignored: if the terminal is gone there is nothing to restore and nowhere to report it.
        // `ratatui::restore` would print, and panic because it cannot.
        let _ = self.terminal.backend_mut().end();
        release_input();
        let _ = self.terminal.show_cursor();
        let _ = ratatui::try_restore();
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        self.release();
    }
}

fn release_input() {
    // If the terminal is gone there is nothing to restore.
    let _ = execute!(io::stdout(), DisableBracketedPaste, DisableMouseCapture);
}

/// The learner's input. A thread of its own reads it: when the terminal has been closed, crossterm never returns from
/// reading, and the loop must not block on that. The thread ends with the process.
pub fn input() -> io::Result<impl Stream<Item = io::Result<Event>> + Unpin> {
    let (tell, mut events) = mpsc::unbounded_channel();
    std::thread::Builder::new().name("input".to_owned()).spawn(move || {
        loop {
            let event = crossterm::event::read();
            let last = event.is_err();
            if tell.send(event).is_err() || last {
                return;
            }
        }
    })?;
    Ok(futures::stream::poll_fn(move |context| events.poll_recv(context)))
}

/// Like [`input`], but reads nothing while the gate is closed.
pub fn gated_input() -> io::Result<(impl Stream<Item = io::Result<Event>> + Unpin, InputGate)> {
    let (tell, mut events) = mpsc::unbounded_channel();
    let gate = InputGate::default();
    let shared = Arc::clone(&gate.0);
    std::thread::Builder::new().name("input".to_owned()).spawn(move || {
        loop {
            shared.wait_while(|state| state.closed).reading = true;
            // Reading without input pending would steal a key that is meant for the other program.
            let event = match crossterm::event::poll(LOOK) {
                Ok(false) => None,
                Ok(true) => Some(crossterm::event::read()),
                Err(error) => Some(Err(error)),
            };
            shared.update(|state| state.reading = false);
            let last = matches!(event, Some(Err(_)));
            if event.is_some_and(|event| tell.send(event).is_err()) || last {
                return;
            }
        }
    })?;
    Ok((futures::stream::poll_fn(move |context| events.poll_recv(context)), gate))
}

/// How long one poll of the terminal lasts: the maximum wait before another program gets the terminal.
const LOOK: Duration = Duration::from_millis(20);

/// Stops the reading of input while another program uses the terminal.
#[derive(Debug, Clone, Default)]
pub struct InputGate(Arc<Gate>);

#[derive(Debug, Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    closed: bool,
    reading: bool,
}

/// Keeps the gate closed until dropped.
#[derive(Debug)]
pub struct ClosedGate<'a>(&'a Gate);

impl InputGate {
    /// Closes the gate once the read in progress has ended.
    pub fn close(&self) -> ClosedGate<'_> {
        self.0.update(|state| state.closed = true);
        drop(self.0.wait_while(|state| state.reading));
        ClosedGate(&self.0)
    }
}

impl Drop for ClosedGate<'_> {
    fn drop(&mut self) {
        self.0.update(|state| state.closed = false);
    }
}

impl Gate {
    fn update(&self, change: impl FnOnce(&mut GateState)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    fn wait_while(&self, wanted: impl Fn(&GateState) -> bool) -> MutexGuard<'_, GateState> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.changed.wait_while(state, |state| wanted(state)).unwrap_or_else(PoisonError::into_inner)
    }
}
