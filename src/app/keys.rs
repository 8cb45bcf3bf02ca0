//! What the keys mean. It must not know what becomes of an action.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What the learner wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Leave the program.
    Quit,
    /// Leave this screen or overlay.
    Close,
    /// The other language.
    Language,
    /// The help.
    Help,
    /// The interview cards.
    Cards,
    /// Open the chosen lesson.
    Open,
    /// Up or down by so many lines.
    Move(i32),
    /// Up or down by so many pages.
    Page(i32),
    /// The next step.
    Forward,
    /// The step before.
    Back,
    /// The first step or the newest.
    End(bool),
    /// Play or pause.
    Toggle,
    /// Faster or slower.
    Faster(bool),
    /// A fresh run of the same variant.
    Restart,
    /// A run of the variant after or before.
    Variant(bool),
    /// The focus moves to the next pane.
    Focus,
    /// Crowds member by member, or as bands.
    Crowd,
    /// The answer to a question, by index.
    Answer(usize),
    /// Two variants beside each other.
    Compare,
    /// To where they differ first.
    Difference,
    /// No answer to a question.
    Skip,
    /// Questions on or off.
    Questions,
    /// The next theme.
    Theme,
    /// The other view of the log: timeline or sequence.
    Lens,
    /// Columns further right, or further left.
    Sideways(bool),
    /// The pane with the focus alone, or all panes.
    Zoom,
    /// The large story for a classroom, or all panes.
    Present,
    /// The next question, fault or violation of the story, or the one before.
    Mark(bool),
}

/// The meaning of a key, the same on every screen; what a screen has no use for it ignores.
#[must_use]
pub fn action(key: KeyEvent) -> Option<Action> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return matches!(key.code, KeyCode::Char('c')).then_some(Action::Quit);
    }
    Some(match key.code {
        KeyCode::Char('Q') => Action::Quit,
        KeyCode::Char('q') | KeyCode::Esc => Action::Close,
        KeyCode::Char('L') => Action::Language,
        KeyCode::Char('?') | KeyCode::F(1) => Action::Help,
        KeyCode::Char('i') => Action::Cards,
        KeyCode::Enter => Action::Open,
        KeyCode::Up | KeyCode::Char('k') => Action::Move(-1),
        KeyCode::Down | KeyCode::Char('j') => Action::Move(1),
        KeyCode::PageUp => Action::Page(-1),
        KeyCode::PageDown => Action::Page(1),
        KeyCode::Right | KeyCode::Char('n' | 'l') => Action::Forward,
        KeyCode::Left | KeyCode::Char('p' | 'h') => Action::Back,
        KeyCode::Home => Action::End(false),
        KeyCode::End => Action::End(true),
        KeyCode::Char(' ') => Action::Toggle,
        KeyCode::Char('+' | '=') => Action::Faster(true),
        KeyCode::Char('-' | '_') => Action::Faster(false),
        KeyCode::Char('r') => Action::Restart,
        KeyCode::Char('v') => Action::Variant(true),
        KeyCode::Char('V') => Action::Variant(false),
        KeyCode::Char(digit @ '1'..='4') => Action::Answer(usize::from(digit as u8 - b'1')),
        KeyCode::Char('s') => Action::Skip,
        KeyCode::Char('e') => Action::Crowd,
        KeyCode::Char('b') => Action::Compare,
        KeyCode::Char('d') => Action::Difference,
        KeyCode::Char('N') => Action::Questions,
        KeyCode::Char('T') => Action::Theme,
        KeyCode::Char('w') => Action::Lens,
        KeyCode::Char('<') => Action::Sideways(false),
        KeyCode::Char('>') => Action::Sideways(true),
        KeyCode::Char('z') => Action::Zoom,
        KeyCode::Char('P') => Action::Present,
        KeyCode::Char(']') => Action::Mark(true),
        KeyCode::Char('[') => Action::Mark(false),
        KeyCode::Tab | KeyCode::BackTab => Action::Focus,
        _ => return None,
    })
}
