//! One line at the bottom of the screen about something that is no part of a lesson. It must not know why.

use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    text,
    theme::{Role, Theme, ThemeName},
    words,
};
use crate::{app::Trouble, lesson::Lang};

/// What is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// Questions were turned on or off.
    Questions(bool),
    /// The recording is of an earlier text of its lesson.
    Outdated,
    /// A lesson has nothing to compare.
    OneVariant,
    /// Another theme was chosen.
    Theme(ThemeName),
    /// Something is wrong with the file of the learner's progress.
    Progress(Trouble),
}

impl Notice {
    fn words(&self, lang: Lang) -> String {
        match self {
            Self::Questions(true) => words::QUESTIONS_ON.get(lang).to_owned(),
            Self::Questions(false) => words::QUESTIONS_OFF.get(lang).to_owned(),
            Self::Outdated => words::OUTDATED.get(lang).to_owned(),
            Self::OneVariant => words::ONE_VARIANT.get(lang).to_owned(),
            Self::Theme(name) => words::THEME_CHANGED.with(lang, &[words::theme(*name).get(lang)]),
            Self::Progress(Trouble::Damaged(aside)) => {
                let name = aside.file_name().unwrap_or_default().to_string_lossy();
                words::DAMAGED.with(lang, &[&name])
            }
            Self::Progress(Trouble::Newer(_)) => words::NEWER.get(lang).to_owned(),
            Self::Progress(Trouble::Unkept(why)) => words::UNKEPT.with(lang, &[why]),
        }
    }
}

/// Draws it over the screen's last row.
pub fn draw(notice: &Notice, (lang, theme): (Lang, Theme), area: Rect, buf: &mut Buffer) {
    let area = area.intersection(buf.area);
    let Some(y) = area.bottom().checked_sub(1).filter(|_| !area.is_empty()) else {
        return;
    };
    let words = format!(" {}", notice.words(lang));
    let words = text::pad(&words, area.width.into());
    buf.set_stringn(area.x, y, words, area.width.into(), theme.style(Role::Warning));
    theme.finish(buf);
}
