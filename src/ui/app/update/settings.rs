//! The learner's settings: questions, theme, language, speed.

use std::time::Instant;

use super::{App, Mode, SPEEDS};
use crate::{
    run::Runs,
    text::Lang,
    ui::{state::browse::Search, theme::ThemeName, view::Notice},
};

impl<R: Runs> App<R> {
    pub(super) fn toggle_questions(&mut self) {
        self.questions = !self.questions;
        if let Mode::Learning(lesson) = &mut self.mode {
            lesson.run.set_questions(self.questions);
        }
        self.notice = Some(Notice::Questions(self.questions));
    }

    pub(super) fn set_theme(&mut self, name: ThemeName) {
        self.theme = self.theme.named(name);
        self.keep(|progress| progress.screen.theme = Some(name.name().to_owned()));
        self.notice = Some(Notice::Theme(name));
    }

    pub(super) fn set_lang(&mut self, lang: Lang) {
        if self.theme.readable(lang) != lang {
            self.notice = Some(Notice::OnlyAscii);
            return;
        }
        self.lang = lang;
        self.keep(|progress| progress.screen.lang = Some(lang));
        if let Some(search) = &self.search {
            self.search = Some(Search::new(search.typed.clone(), search.before, &self.catalogue, lang));
        }
    }

    pub(super) fn set_speed(&mut self, speed: f64, now: Instant) {
        self.speed = speed;
        match &mut self.mode {
            Mode::Learning(lesson) => lesson.run.set_speed(speed, now),
            Mode::Comparing(comparison) => comparison.comparing.speed = speed,
            Mode::Browsing | Mode::Outcomes(_) | Mode::Ending => {}
        }
    }
}

/// The next speed up or down from `speed`, which need not be one of [`SPEEDS`].
pub(super) fn next_speed(speed: f64, faster: bool) -> f64 {
    if faster {
        SPEEDS.into_iter().find(|known| *known > speed).unwrap_or(speed)
    } else {
        SPEEDS.into_iter().rev().find(|known| *known < speed).unwrap_or(speed)
    }
}
