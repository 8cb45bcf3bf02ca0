//! The exercises in the terminal: what was found about the learner's file is drawn as it comes, and keys say what is
//! wanted next.

use std::io;

use crossterm::event::{Event, KeyEventKind};
use futures::{Stream, StreamExt as _};
use ratatui::{Terminal, backend::Backend};
use tokio::sync::watch;

use super::{AppError, Ended};
use crate::{
    signals::Signals,
    text::Lang,
    ui::{
        keys::{Action, Chord, KeyMap, Place},
        state::kata::Board,
        theme::Theme,
        view::{Context, KataView, empty_covered_cells},
    },
};

/// What the learner asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// To step through the order that broke the answer.
    Open,
    /// To change the file in an editor.
    Edit,
    Hint,
    Solution,
    /// The next exercise, or the one before.
    Other(bool),
    Leave(Ended),
}

/// What the screen keeps from one request to the next.
#[derive(Debug, Clone)]
pub struct ViewSettings {
    pub keys: KeyMap,
    pub lang: Lang,
    pub theme: Theme,
    pub scroll: u16,
}

/// Draws the board whenever it changes, until the learner asks for something.
pub async fn next_request<B: Backend, I: Stream<Item = io::Result<Event>> + Unpin>(
    terminal: &mut Terminal<B>,
    input: &mut I,
    board: &mut watch::Receiver<Board>,
    settings: &mut ViewSettings,
) -> Result<Request, AppError> {
    let mut signals = Signals::listen().map_err(AppError::Signals)?;
    loop {
        let seen = board.borrow_and_update().clone();
        let mut reach = 0;
        let drawn = terminal.draw(|frame| {
            let context = Context { keys: &settings.keys, theme: settings.theme, lang: settings.lang };
            let view = KataView { board: &seen, scroll: settings.scroll, context };
            reach = view.reach(frame.area());
            view.draw(frame.area(), frame.buffer_mut());
            empty_covered_cells(frame.buffer_mut());
        });
        drawn.map_err(|error| AppError::Draw(error.to_string()))?;
        settings.scroll = settings.scroll.min(reach);
        tokio::select! {
            biased;
            (signal, _) = signals.next() => return Ok(Request::Leave(Ended::Signal(signal))),
            event = input.next() => {
                let Some(event) = event else { return Ok(Request::Leave(Ended::InputOver)) };
                let Event::Key(key) = event.map_err(AppError::Input)? else { continue };
                if key.kind == KeyEventKind::Release {
                    continue;
                }
                let request = match settings.keys.action(&[Place::Kata, Place::Everywhere], Chord::pressed(key)) {
                    Some(Action::Close | Action::Quit) => Request::Leave(Ended::Quit),
                    Some(Action::Open) => Request::Open,
                    Some(Action::Edit) => Request::Edit,
                    Some(Action::Hint) => Request::Hint,
                    Some(Action::Solution) => Request::Solution,
                    Some(Action::Variant(next)) => Request::Other(next),
                    other => {
                        match other {
                            Some(Action::Language) => settings.lang = settings.lang.other(),
                            Some(Action::Theme) => settings.theme = settings.theme.named(settings.theme.name.next()),
                            Some(Action::Move(by)) => scroll(settings, by, reach),
                            Some(Action::Page(by)) => scroll(settings, by * 10, reach),
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
    let by = i16::try_from(by).unwrap_or_default();
    settings.scroll = settings.scroll.saturating_add_signed(by).min(reach);
}
