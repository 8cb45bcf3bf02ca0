//! The command palette: every currently possible command, by name.

use crate::ui::state::palette::{Listed, PaletteCommand};
use std::time::Instant;

use crate::ui::state::{
    browse::{self, CatalogueFocus, erase_from, moved},
    fuzzy::{Candidate, Query},
};
use crate::{
    log::Choice,
    text::Lang,
    ui::{state::screen::Overlay, theme::ThemeName, view, words},
};
use crate::{
    run::Runs,
    ui::{
        app::{
            App,
            update::{Mode, SPEEDS, lines},
        },
        keys::{Action, KeyScope, TABLE},
    },
};

impl<R: Runs> App<R> {
    /// Every command that is possible on the screen below: those nearest to the focus first, then lessons, then
    /// settings.
    fn commands(&self) -> Vec<PaletteCommand> {
        let mut commands = self.free_play_commands();
        if !self.palette.faults {
            commands.extend(self.actions());
            commands.extend(self.lessons());
            commands.extend(self.settings());
        }
        commands
    }

    /// The choices of free play, or only its faults. A typed duration comes first.
    fn free_play_commands(&self) -> Vec<PaletteCommand> {
        let Mode::Learning(lesson) = &self.mode else { return Vec::new() };
        let Some(free) = lesson.run.free.as_ref() else { return Vec::new() };
        let (log, only) = (lesson.run.playback.log(), self.palette.faults);
        let offer = |action, choice: &Choice, id| {
            self.command_line(action, |lang| view::choice(choice, &free.outlook, log, lang), id)
        };
        let choices = free.choices().into_iter().enumerate();
        let wanted = choices.filter(|(_, choice)| !only || matches!(choice, Choice::Inject(_)));
        let free_play_commands = wanted.map(|(n, choice)| offer(Action::Choose(n), &choice, None));
        let typed = &self.palette.typed;
        let millis =
            crate::lesson::parse_millis(typed.trim()).ok().and_then(|millis| u64::try_from(millis).ok());
        let passes = millis
            .filter(|millis| !only && *millis > 0)
            .map(|millis| offer(Action::Pass(millis), &Choice::Pass { millis }, Some(typed.clone())));
        passes.into_iter().chain(free_play_commands).collect()
    }

    /// A command with the name that `words` gives in each language. Typing `id` finds it too.
    fn command_line(
        &self,
        action: Action,
        words: impl Fn(Lang) -> String,
        id: Option<String>,
    ) -> PaletteCommand {
        let others = [words(self.lang.other())].into_iter().chain(id).collect();
        PaletteCommand { action, name: words(self.lang), others, keys: String::new(), current: false }
    }

    fn actions(&self) -> Vec<PaletteCommand> {
        let scopes = self.screen_scopes();
        // The scope of an action decides its rank: the pane's first, then the screen's, then the global ones.
        let rows = TABLE.iter().enumerate().filter_map(|(n, row)| {
            let near = scopes.iter().position(|place| row.scopes.contains(place))?;
            let scrolls = matches!(row.action, Action::Move(_) | Action::Page(_) | Action::End(_));
            (row.action != Action::Palette && self.possible(row.action)).then_some((scrolls, near, n))
        });
        let mut rows: Vec<(bool, usize, usize)> = rows.collect();
        rows.sort_unstable();
        let command = |(_, _, n): (bool, usize, usize)| {
            let (row, keys) = (&TABLE[n], self.keys.keys(n));
            let labels: Vec<String> = keys.iter().take(2).map(|chord| chord.label()).collect();
            let name = |lang| row.name.get(lang).to_owned();
            PaletteCommand {
                keys: labels.join(" "),
                ..self.command_line(row.action, name, Some(row.id.to_owned()))
            }
        };
        rows.into_iter().map(command).collect()
    }

    fn lessons(&self) -> Vec<PaletteCommand> {
        let mut commands = Vec::new();
        let entries = self.catalogue.entries.iter().enumerate();
        for (n, entry) in entries.filter(|(_, entry)| entry.broken.is_none()) {
            for (at, variant) in entry.variants.iter().enumerate() {
                let title = |lang| browse::joined(&entry.lesson.title, &variant.title, lang);
                let open = |lang| words::OPEN.with(lang, &[&title(lang)]);
                let id = format!("{} {}", entry.lesson.id, variant.name);
                commands.push(PaletteCommand {
                    current: matches!(&self.mode, Mode::Learning(lesson) if lesson.is(n, at)),
                    ..self.command_line(Action::OpenAt(n, at), open, Some(id))
                });
            }
        }
        commands
    }

    fn settings(&self) -> Vec<PaletteCommand> {
        let themes = ThemeName::ALL.into_iter().map(|theme| {
            let name = |lang| words::THEME_IS.with(lang, &[words::theme(theme).get(lang)]);
            let id = format!("theme {}", theme.name());
            let current = theme == self.theme.name;
            PaletteCommand { current, ..self.command_line(Action::SetTheme(theme), name, Some(id)) }
        });
        let langs = [Lang::En, Lang::Zh].into_iter().map(|lang| {
            let name = |shown| words::LANGUAGE_IS.with(shown, &[words::language(lang)]);
            let current = lang == self.lang;
            PaletteCommand {
                current,
                ..self.command_line(Action::SetLang(lang), name, Some(format!("lang {lang}")))
            }
        });
        let speeds = SPEEDS.into_iter().enumerate().map(|(n, speed)| {
            let name = |lang| words::SPEED_IS.with(lang, &[&format!("{speed}x")]);
            // Both values come from the same list, so they are either equal or clearly different.
            let current = (speed - self.speed).abs() < f64::EPSILON;
            PaletteCommand {
                current,
                ..self.command_line(Action::SetSpeed(n), name, Some(format!("speed {speed}")))
            }
        });
        themes.chain(langs).chain(speeds).collect()
    }

    fn possible(&self, action: Action) -> bool {
        let entry = self.catalogue.entries.get(self.mode.entry().unwrap_or(self.selected));
        match (action, &self.mode) {
            (Action::Cards, Mode::Browsing) => true,
            (Action::Cards, _) => {
                self.interview.is_some() || entry.is_some_and(|entry| !entry.lesson.interview.is_empty())
            }
            (Action::Open | Action::Variants(true), Mode::Browsing) => {
                entry.is_some_and(|entry| entry.broken.is_none() && !entry.variants.is_empty())
            }
            (Action::Variant(_) | Action::Compare, _) => entry.is_some_and(|entry| entry.variants.len() > 1),
            (Action::Vote, Mode::Learning(lesson)) => lesson.run.free.is_some(),
            (Action::MoveActor(_) | Action::Vote, _) => false,
            (Action::Branches, Mode::Learning(lesson)) => !lesson.branches.is_empty(),
            (Action::Answer(choice), Mode::Learning(lesson)) => choice < lesson.run.choices(),
            (Action::Skip, Mode::Learning(lesson)) => lesson.run.choices() > 0,
            (Action::Back | Action::End(false), Mode::Learning(lesson)) => {
                lesson.run.playback.world().position > 0
            }
            (Action::End(true), Mode::Learning(lesson)) => !lesson.run.playback.at_frontier(),
            (Action::Faster(true), _) => self.speed < SPEEDS[SPEEDS.len() - 1],
            (Action::Faster(false), _) => self.speed > SPEEDS[0],
            _ => true,
        }
    }

    /// The commands that match the typed text, best first.
    pub fn listed(&self) -> Vec<Listed> {
        let mut query = Query::new(&self.palette.typed);
        let mut listed: Vec<(u32, Listed)> = Vec::new();
        for command in self.commands() {
            let mut candidates = vec![Candidate { text: &command.name, bonus: 20, loose: true }];
            candidates.extend(command.others.iter().map(|text| Candidate { text, bonus: 0, loose: true }));
            let Some(found) = query.find(&candidates) else { continue };
            let marks = found.marks.get(&0).cloned().unwrap_or_default();
            let other = found.marks.iter().find(|(at, _)| **at > 0);
            let other = other.map(|(at, marks)| (candidates[*at].text.to_owned(), marks.clone()));
            // A name typed in full wins over every other match.
            let exact = candidates.iter().any(|candidate| candidate.text == self.palette.typed.trim());
            listed.push((if exact { u32::MAX } else { found.score }, Listed { command, marks, other }));
        }
        // Of equal scores the shorter name wins, because more of it was typed. Choices of free play keep their order, and
        // with nothing typed all commands do.
        let length = |command: &PaletteCommand| match command.action {
            Action::Choose(_) => 0,
            _ => command.name.chars().count(),
        };
        if !self.palette.typed.trim().is_empty() {
            listed.sort_by_key(|(score, listed)| (std::cmp::Reverse(*score), length(&listed.command)));
        }
        listed.into_iter().map(|(_, listed)| listed).collect()
    }

    pub(crate) fn command(&mut self, action: Action, now: Instant) {
        match action {
            Action::Accept => {
                if let Some(chosen) = self.listed().into_iter().nth(self.palette.chosen) {
                    self.overlay = Overlay::Nothing;
                    self.act(chosen.command.action, now);
                }
            }
            Action::Cancel | Action::Close => self.overlay = Overlay::Nothing,
            Action::Erase(_) if self.palette.typed.is_empty() => self.overlay = Overlay::Nothing,
            Action::Erase(erase) => {
                erase_from(&mut self.palette.typed, erase);
                self.palette.chosen = 0;
            }
            Action::Move(_) | Action::Page(_) => {
                self.palette.chosen = moved(self.palette.chosen, lines(action), self.listed().len());
            }
            _ => {}
        }
    }

    /// The active key scopes, innermost first.
    pub(crate) fn key_scopes(&self) -> Vec<KeyScope> {
        match self.overlay {
            Overlay::Palette => vec![KeyScope::Field, KeyScope::Everywhere],
            Overlay::Help(_) | Overlay::Measured(_) => vec![KeyScope::Page, KeyScope::Everywhere],
            Overlay::Branches(_) => vec![KeyScope::Branches, KeyScope::Free, KeyScope::Everywhere],
            Overlay::Joining => vec![KeyScope::Class, KeyScope::Everywhere],
            Overlay::Nothing => match (&self.mode, self.catalogue_focus) {
                (Mode::Browsing, CatalogueFocus::Search) => vec![KeyScope::Field, KeyScope::Everywhere],
                _ => self.screen_scopes(),
            },
        }
    }

    /// The key scopes of the screen itself, ignoring overlays and text fields.
    fn screen_scopes(&self) -> Vec<KeyScope> {
        let mut scopes = self.screen().map_or_else(Vec::new, |screen| screen.key_scopes());
        if self.class.is_some() {
            scopes.insert(scopes.len().saturating_sub(1), KeyScope::Class);
        }
        scopes
    }
}
