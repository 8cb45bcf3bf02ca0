//! The teacher's notes in a second terminal: polls which step is on the screen and draws its notes.

use std::{io, time::Duration};

use crossterm::event::{Event, KeyEventKind};
use futures::{Stream, StreamExt as _};
use ratatui::{Terminal, backend::Backend};

use super::{AppError, Ended, today};
use crate::{
    signals::Signals,
    text::Lang,
    ui::{
        keys::{Action, Chord, KeyMap, KeyScope},
        state::playing::Playing,
        theme::Theme,
        view::{Context, NotesView, empty_covered_cells},
    },
};

/// The interval between polls for the step on the screen: short enough that the notes change before anybody reads them.
pub const LOOK: Duration = Duration::from_millis(200);

/// Draws the notes for what `read` returns until the teacher leaves, the terminal is closed or a signal arrives.
pub async fn follow<B: Backend, I: Stream<Item = io::Result<Event>> + Unpin>(
    terminal: &mut Terminal<B>,
    mut input: I,
    read: impl Fn() -> Option<Playing>,
    (keys, mut lang, mut theme): (KeyMap, Lang, Theme),
) -> Result<Ended, AppError> {
    let mut signals = Signals::listen().map_err(AppError::Signals)?;
    let mut looks = tokio::time::interval(LOOK);
    let mut drawn = None;
    loop {
        let seen = (read(), today(), lang, theme.name);
        if drawn.as_ref() != Some(&seen) {
            let context = Context { keys: &keys, theme, lang: theme.readable(lang) };
            let view = NotesView { playing: seen.0.as_ref(), now: seen.1, context };
            let draw = terminal.draw(|frame| {
                view.draw(frame.area(), frame.buffer_mut());
                empty_covered_cells(frame.buffer_mut());
            });
            draw.map_err(|error| AppError::Draw(error.to_string()))?;
            drawn = Some(seen);
        }
        tokio::select! {
            biased;
            (signal, _) = signals.next() => return Ok(Ended::Signal(signal)),
            event = input.next() => match event {
                Some(event) => match event.map_err(AppError::Input)? {
                    Event::Key(key) if key.kind != KeyEventKind::Release => {
                        match keys.action(&[KeyScope::Notes, KeyScope::Everywhere], Chord::pressed(key)) {
                            Some(Action::Close | Action::Quit) => return Ok(Ended::Quit),
                            Some(Action::Suspend) => return Ok(Ended::Suspended),
                            Some(Action::Language) => lang = lang.other(),
                            Some(Action::Theme) => theme = theme.named(theme.name.next()),
                            _ => {}
                        }
                    }
                    Event::Resize(..) => drawn = None,
                    _ => {}
                },
                None => return Ok(Ended::InputOver),
            },
            _ = looks.tick() => {}
        }
    }
}
