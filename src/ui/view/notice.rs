//! Notices at the bottom of the screen, about things outside the lesson.

use std::path::PathBuf;

use super::{outcomes::histogram::grouped, overlay, paragraph, prelude::*};
use crate::{
    run::explore::MOST_STATES,
    text::Text,
    ui::{
        keys::{Action, Chord, KeyScope, TABLE, map::KeyMap},
        state::{progress::Trouble, screen::Mistakes},
        theme::ThemeName,
    },
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A process was stopped from outside; with the message about it.
    Silent(Text),
    Questions(bool),
    /// This action would lose the run.
    RunIsLost(Action),
    /// The same for a branch that is not on the screen.
    BranchIsLost(Action),
    Saved(PathBuf),
    /// The run that was left has been recorded in this file.
    Recorded(PathBuf),
    NotSaved(Text),
    /// The recording belongs to an earlier version of its lesson.
    Outdated,
    /// The story continues at the step at which the learner left it.
    Resumed,
    /// The step on the screen was opened from the interview.
    BackToCard,
    OneVariant,
    NoMoreRaces,
    NoOrder,
    /// The number of states that the search has counted, 0 if it is not over or has not counted them.
    NoStates(u64),
    RaceForgotten {
        id: String,
        variant: String,
        seed: u64,
    },
    Theme(ThemeName),
    Progress(Trouble),
    Config(Mistakes),
    ClassHere,
    /// The server of the class's pages has died.
    ClassGone,
    VoteInFreePlay,
    OnlyInFreePlay,
    /// The key does nothing here; the scope in which it works, and its action's row of the table.
    Elsewhere(Chord, KeyScope, usize),
    OnlyInSequence,
    SequenceFits,
    NoCrowd,
    NoQuestion,
    /// No question, fault or violation comes after (`true`) or before this step.
    NoMark(bool),
    /// The lesson has no other fix (`true`) or failure to compare.
    NoOther(bool),
    VoteLater,
    NobodyJoined,
    /// Chinese was requested, and the terminal cannot display it.
    OnlyAscii,
}

/// The key of an action that discards a run.
fn key_of(action: Action) -> &'static str {
    if action == Action::Restart { "restart" } else { "leave" }
}

impl Notice {
    fn words(&self, keys: &KeyMap, lang: Lang) -> String {
        match self {
            Self::Silent(why) => words::SILENT.with(lang, &[why.get(lang), &keys.label("restart")]),
            Self::RunIsLost(action) => {
                words::RUN_IS_LOST.with(lang, &[&keys.label(key_of(*action)), &keys.label("save")])
            }
            Self::BranchIsLost(action) => {
                let keys = [key_of(*action), "branches", "save"].map(|id| keys.label(id));
                words::BRANCH_IS_LOST.with(lang, &[&keys[0], &keys[1], &keys[2]])
            }
            Self::Saved(file) => words::SAVED.with(lang, &[&file.display().to_string()]),
            Self::Recorded(file) => words::RUN_RECORDED.with(lang, &[&file.display().to_string()]),
            Self::NotSaved(why) => why.get(lang).to_owned(),
            Self::Questions(true) => words::QUESTIONS_ON.with(lang, &[&keys.label("questions")]),
            Self::Questions(false) => words::QUESTIONS_OFF.with(lang, &[&keys.label("questions")]),
            Self::Outdated => words::OUTDATED.get(lang).to_owned(),
            Self::Resumed => words::RESUMED.with(lang, &[&keys.label("restart")]),
            Self::BackToCard => words::BACK_TO_CARD.with(lang, &[&keys.label("interview")]),
            Self::OneVariant => words::ONE_VARIANT.get(lang).to_owned(),
            Self::NoOrder => words::NO_ORDER.get(lang).to_owned(),
            Self::NoStates(counted) => {
                let why = words::NO_STATES.with(lang, &[&MOST_STATES.to_string()]);
                match counted {
                    0 => why,
                    counted => words::STATES_COUNTED.with(lang, &[&why, &grouped((*counted).into())]),
                }
            }
            Self::NoMoreRaces => words::NO_MORE_RACES.get(lang).to_owned(),
            Self::RaceForgotten { id, variant, seed } => {
                words::RACE_FORGOTTEN.with(lang, &[id, variant, &seed.to_string()])
            }
            Self::Theme(name) => {
                words::THEME_CHANGED.with(lang, &[words::theme(*name).get(lang), &keys.label("theme")])
            }
            Self::Progress(Trouble::Damaged(aside)) => {
                let name = aside.file_name().unwrap_or_default().to_string_lossy();
                words::DAMAGED.with(lang, &[&name])
            }
            Self::Progress(Trouble::Newer(_)) => words::NEWER.get(lang).to_owned(),
            Self::Progress(Trouble::Unkept(why)) => words::UNKEPT.with(lang, &[why]),
            Self::ClassHere => words::CLASS_HERE.with(lang, &[&keys.label("join")]),
            Self::ClassGone => words::CLASS_GONE.get(lang).to_owned(),
            Self::VoteInFreePlay => words::VOTE_IN_FREE_PLAY.with(lang, &[&keys.label("free")]),
            Self::OnlyInFreePlay => words::ONLY_IN_FREE_PLAY.with(lang, &[&keys.label("free")]),
            Self::Elsewhere(key, place, row) => words::ELSEWHERE
                .with(lang, &[&key.label(), words::place(*place).get(lang), TABLE[*row].name.get(lang)]),
            Self::OnlyInSequence => words::ONLY_IN_SEQUENCE.with(lang, &[&keys.label("lens")]),
            Self::SequenceFits => words::SEQUENCE_FITS.get(lang).to_owned(),
            Self::NoCrowd => words::NO_CROWD.get(lang).to_owned(),
            Self::NoQuestion => words::NO_QUESTION.with(lang, &[&keys.label("free")]),
            Self::NoMark(true) => words::NO_NEXT_MARK.get(lang).to_owned(),
            Self::NoMark(false) => words::NO_PREVIOUS_MARK.get(lang).to_owned(),
            Self::NoOther(true) => words::NO_OTHER_FIX.get(lang).to_owned(),
            Self::NoOther(false) => words::NO_OTHER_FAILURE.get(lang).to_owned(),
            Self::VoteLater => words::VOTE_LATER.get(lang).to_owned(),
            Self::OnlyAscii => words::ONLY_ASCII.get(lang).to_owned(),
            Self::NobodyJoined => words::NOBODY_JOINED.with(lang, &[&keys.label("join")]),
            Self::Config(Mistakes { first, more: 0 }) => {
                format!("{first} {}", words::DEFAULTS_STAND.get(lang))
            }
            Self::Config(Mistakes { first, more }) => {
                format!("{first} {}", words::MORE_MISTAKES.with(lang, &[&more.to_string()]))
            }
        }
    }
}

const MOST_ROWS: usize = 4;

/// Draws a notice over as many of the screen's last rows as it needs.
pub fn draw(notice: &Notice, context: Context<'_>, area: Rect, buf: &mut Buffer) {
    let area = area.intersection(buf.area);
    if area.is_empty() {
        return;
    }
    let width = usize::from(area.width);
    let style = context.theme.style(Role::Warning);
    let words = notice.words(context.keys, context.lang);
    let rows = paragraph::prose(&words, width.saturating_sub(2), style, context.theme);
    let most = MOST_ROWS.min(area.height.into());
    for (n, row) in rows.iter().take(most).rev().enumerate() {
        let y = area.bottom() - 1 - u16::try_from(n).unwrap_or(0);
        overlay::clear(Rect { y, height: 1, ..area }, buf);
        buf.set_style(Rect { y, height: 1, ..area }, style);
        buf.set_line(area.x + 1, y, row, area.width.saturating_sub(1));
    }
    context.theme.finish(buf);
}
