//! The screen of the exercises: draws the results for the learner's file as they arrive, and returns what the learner
//! asks for.

use std::io;

use crossterm::event::{Event, KeyCode, KeyEventKind};
use futures::{Stream, StreamExt as _};
use ratatui::{Terminal, backend::Backend};
use tokio::sync::watch;

use super::{AppError, Ended, update::scrolled};
use crate::{
    signals::Signals,
    text::Lang,
    ui::{
        keys::{Action, Chord, KeyMap, KeyScope},
        state::kata::ExerciseBoard,
        theme::Theme,
        view::{Context, KataView, empty_covered_cells},
    },
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Step through the order that broke the answer.
    Open,
    /// Open the file in an editor.
    Edit,
    Hint,
    Solution,
    /// The next exercise (`true`) or the previous one.
    Other(bool),
    Leave(Ended),
}

/// The state of the screen that lasts from one request to the next.
#[derive(Debug, Clone)]
pub struct ViewSettings {
    pub keys: KeyMap,
    pub lang: Lang,
    pub theme: Theme,
    pub scroll: u16,
    /// The scroll position of the help in lines; `None` while the help is closed.
    pub help: Option<u16>,
    /// Whether to scroll to the hint or solution requested last.
    pub to_newest: bool,
    /// The index of the exercise shown last.
    pub chosen: usize,
}

/// Draws the board whenever it changes, until the learner requests something.
pub async fn next_request<B: Backend, I: Stream<Item = io::Result<Event>> + Unpin>(
    terminal: &mut Terminal<B>,
    input: &mut I,
    board: &mut watch::Receiver<ExerciseBoard>,
    settings: &mut ViewSettings,
) -> Result<Request, AppError> {
    let mut signals = Signals::listen().map_err(AppError::Signals)?;
    loop {
        let seen = board.borrow_and_update().clone();
        if std::mem::replace(&mut settings.chosen, seen.chosen) != seen.chosen {
            settings.scroll = 0;
        }
        let mut reach = 0;
        let drawn = terminal.draw(|frame| {
            let context = Context {
                keys: &settings.keys,
                theme: settings.theme,
                lang: settings.theme.readable(settings.lang),
            };
            let mut view = KataView { board: &seen, scroll: settings.scroll, help: settings.help, context };
            if std::mem::take(&mut settings.to_newest) {
                view.scroll = view.newest(frame.area());
            }
            reach = view.reach(frame.area());
            match &mut view.help {
                Some(scroll) => *scroll = (*scroll).min(reach),
                None => view.scroll = view.scroll.min(reach),
            }
            (settings.scroll, settings.help) = (view.scroll, view.help);
            view.draw(frame.area(), frame.buffer_mut());
            empty_covered_cells(frame.buffer_mut());
        });
        drawn.map_err(|error| AppError::Draw(error.to_string()))?;
        tokio::select! {
            biased;
            (signal, _) = signals.next() => return Ok(Request::Leave(Ended::Signal(signal))),
            event = input.next() => {
                let Some(event) = event else { return Ok(Request::Leave(Ended::InputOver)) };
                let Event::Key(key) = event.map_err(AppError::Input)? else { continue };
                if key.kind == KeyEventKind::Release {
                    continue;
                }
                let request = match settings.keys.action(&[KeyScope::Kata, KeyScope::Everywhere], Chord::pressed(key)) {
                    Some(Action::Quit) => Request::Leave(Ended::Quit),
                    Some(Action::Suspend) => Request::Leave(Ended::Suspended),
                    Some(Action::Close | Action::Help) if settings.help.is_some() => {
                        settings.help = None;
                        continue;
                    }
                    Some(Action::Move(by)) => {
                        scroll(settings, by, reach);
                        continue;
                    }
                    Some(Action::Page(by)) => {
                        scroll(settings, by * 10, reach);
                        continue;
                    }
                    Some(Action::Help) => {
                        settings.help = Some(0);
                        continue;
                    }
                    _ if settings.help.is_some() => continue,
                    // Esc means "back", and there is no screen to go back to.
                    Some(Action::Close) if key.code == KeyCode::Esc => continue,
                    Some(Action::Close) => Request::Leave(Ended::Quit),
                    Some(Action::Open) => Request::Open,
                    Some(Action::Edit) => Request::Edit,
                    Some(Action::Hint) => Request::Hint,
                    Some(Action::Solution) => Request::Solution,
                    Some(Action::Variant(next)) => Request::Other(next),
                    other => {
                        match other {
                            Some(Action::Language) => settings.lang = settings.lang.other(),
                            Some(Action::Theme) => settings.theme = settings.theme.named(settings.theme.name.next()),
                            _ => {}
                        }
                        continue;
                    }
                };
                return Ok(request);
            }
            changed = board.changed() => if changed.is_err() {
                return Ok(Request::Leave(Ended::Quit));
            },
        }
    }
}

fn scroll(settings: &mut ViewSettings, by: i32, reach: u16) {
    let scroll = settings.help.as_mut().unwrap_or(&mut settings.scroll);
    *scroll = scrolled(*scroll, by, reach);
}
