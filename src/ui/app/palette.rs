//! The command palette: everything that can be done now, by name.

use crate::ui::state::palette::{Command, Listed, Palette};
use std::time::Instant;

use crate::ui::state::{
    browse::{self, CatalogueFocus, erase_from, moved},
    fuzzy::{Candidate, Query},
};
use crate::{
    log::Choice,
    text::{Lang, Text, Words},
    ui::{state::screen::Overlay, theme::ThemeName, view, words},
};
use crate::{
    run::Runs,
    ui::{
        app::{
            App,
            update::{Mode, PAGE, SPEEDS},
        },
        keys::{Action, Place, TABLE},
    },
};

impl<R: Runs> App<R> {
    /// Everything that can be done on the screen below: what is nearest to the focus first, then lessons, then
    /// settings.
    fn commands(&self) -> Vec<Command> {
        if self.palette.faults {
            return self.offers();
        }
        let mut commands = self.offers();
        commands.extend(self.actions());
        commands.extend(self.lessons());
        commands.extend(self.settings());
        commands
    }

    /// What can be chosen in free play; of that only faults, where only they are wanted. A stretch of time that was
    /// typed comes first.
    fn offers(&self) -> Vec<Command> {
        let Mode::Learning(lesson) = &self.mode else { return Vec::new() };
        let Some(free) = lesson.run().free() else { return Vec::new() };
        let offer = |action, words: &dyn Fn(Lang) -> String| Command {
            action,
            name: words(self.lang),
            others: vec![words(self.lang.other())],
            keys: String::new(),
            current: false,
        };
        let world = lesson.run().playback.world();
        let only = self.palette.faults;
        let choices = free.choices().into_iter().enumerate();
        let wanted = choices.filter(|(_, choice)| !only || matches!(choice, Choice::Cause(_)));
        let offers = wanted.map(|(n, choice)| {
            offer(Action::Choose(n), &|lang| view::choice(&choice, &free.outlook, world, lang))
        });
        let typed = crate::lesson::parse_millis(self.palette.typed.trim()).ok();
        let typed = typed.and_then(|millis| u64::try_from(millis).ok()).filter(|millis| !only && *millis > 0);
        let passes = typed.map(|millis| {
            let words = |lang| view::choice(&Choice::Pass { millis }, &free.outlook, world, lang);
            let mut command = offer(Action::Pass(millis), &words);
            command.others.push(self.palette.typed.clone());
            command
        });
        passes.into_iter().chain(offers).collect()
    }

    fn actions(&self) -> Vec<Command> {
        let places = self.places_below();
        // Where an action is at home decides: a pane's before the screen's before those of everywhere.
        let rows = TABLE.iter().enumerate().filter_map(|(n, row)| {
            let near = places.iter().position(|place| row.places.contains(place))?;
            let scrolls = matches!(row.action, Action::Move(_) | Action::Page(_) | Action::End(_));
            (row.action != Action::Palette && self.possible(row.action)).then_some((scrolls, near, n))
        });
        let mut rows: Vec<(bool, usize, usize)> = rows.collect();
        rows.sort_unstable();
        let command = |(_, _, n): (bool, usize, usize)| {
            let (row, keys) = (&TABLE[n], self.keys.keys(n));
            let labels: Vec<String> = keys.iter().take(2).map(|chord| chord.label()).collect();
            Command {
                action: row.action,
                name: row.name.get(self.lang).to_owned(),
                others: vec![row.name.get(self.lang.other()).to_owned(), row.id.to_owned()],
                keys: labels.join(" "),
                current: false,
            }
        };
        rows.into_iter().map(command).collect()
    }

    fn lessons(&self) -> Vec<Command> {
        let mut commands = Vec::new();
        for (n, entry) in self.catalogue.entries.iter().enumerate() {
            if entry.broken.is_some() {
                continue;
            }
            for (at, variant) in entry.variants.iter().enumerate() {
                let title = |lang| browse::joined(&entry.title, &variant.title, lang);
                let open = |lang| words::OPEN.with(lang, &[&title(lang)]);
                commands.push(Command {
                    action: Action::OpenAt(n, at),
                    name: open(self.lang),
                    others: vec![open(self.lang.other()), format!("{} {}", entry.id, variant.name)],
                    keys: String::new(),
                    current: matches!(&self.mode, Mode::Learning(lesson) if lesson.is(n, at)),
                });
            }
        }
        commands
    }

    fn settings(&self) -> Vec<Command> {
        let setting = |action, name: Text, id: String, current| Command {
            action,
            name: name.get(self.lang).to_owned(),
            others: vec![name.get(self.lang.other()).to_owned(), id],
            keys: String::new(),
            current,
        };
        let both = |words: Words, value: &dyn Fn(Lang) -> String| Text {
            en: words.with(Lang::En, &[&value(Lang::En)]),
            zh: words.with(Lang::Zh, &[&value(Lang::Zh)]),
        };
        let themes = ThemeName::ALL.into_iter().map(|theme| {
            let name = both(words::THEME_IS, &|lang| words::theme(theme).get(lang).to_owned());
            let id = format!("theme {}", theme.name());
            setting(Action::SetTheme(theme), name, id, theme == self.theme.name)
        });
        let langs = [Lang::En, Lang::Zh].into_iter().map(|lang| {
            let name = both(words::LANGUAGE_IS, &|_| words::language(lang).to_owned());
            setting(Action::SetLang(lang), name, format!("lang {lang}"), lang == self.lang)
        });
        let speeds = SPEEDS.into_iter().enumerate().map(|(n, speed)| {
            let name = both(words::SPEED_IS, &|_| format!("{speed}x"));
            // Chosen from the same list: equal or not, nothing in between.
            let current = (speed - self.speed).abs() < f64::EPSILON;
            setting(Action::SetSpeed(n), name, format!("speed {speed}"), current)
        });
        themes.chain(langs).chain(speeds).collect()
    }

    fn possible(&self, action: Action) -> bool {
        let entry = self.catalogue.entries.get(match &self.mode {
            Mode::Learning(lesson) => lesson.entry(),
            Mode::Comparing(comparison) => comparison.entry(),
            Mode::Outcomes(screen) => screen.entry,
            Mode::Browsing | Mode::Ending => self.selected,
        });
        match (action, &self.mode) {
            (Action::Cards, _) => entry.is_some_and(|entry| !entry.interview.is_empty()),
            (Action::Open | Action::Variants(true), Mode::Browsing) => {
                entry.is_some_and(|entry| entry.broken.is_none() && !entry.variants.is_empty())
            }
            (Action::Variant(_) | Action::Compare, _) => entry.is_some_and(|entry| entry.variants.len() > 1),
            (Action::MoveActor(_), _) => false,
            (Action::Branches, Mode::Learning(lesson)) => !lesson.branches.is_empty(),
            (Action::Answer(choice), Mode::Learning(lesson)) => choice < lesson.run().choices(),
            (Action::Skip, Mode::Learning(lesson)) => lesson.run().choices() > 0,
            (Action::Back | Action::End(false), Mode::Learning(lesson)) => {
                lesson.run().playback.world().position > 0
            }
            (Action::End(true), Mode::Learning(lesson)) => !lesson.run().playback.at_frontier(),
            (Action::Faster(true), _) => self.speed < SPEEDS[SPEEDS.len() - 1],
            (Action::Faster(false), _) => self.speed > SPEEDS[0],
            _ => true,
        }
    }

    /// The lines that match what was typed, the best first.
    pub fn listed(&self) -> Vec<Listed> {
        let mut query = Query::new(&self.palette.typed);
        let mut listed: Vec<(u32, Listed)> = Vec::new();
        for command in self.commands() {
            let mut candidates = vec![Candidate { text: &command.name, bonus: 20, loose: true }];
            candidates.extend(command.others.iter().map(|text| Candidate { text, bonus: 0, loose: true }));
            let Some(found) = query.find(&candidates) else { continue };
            let marks = found.marks.get(&0).cloned().unwrap_or_default();
            let beside = found.marks.iter().find(|(at, _)| **at > 0);
            let beside = beside.map(|(at, marks)| (candidates[*at].text.to_owned(), marks.clone()));
            listed.push((found.score, Listed { command, marks, beside }));
        }
        // Of equals the shorter: more of it was typed. With nothing typed all stay where they are.
        if !self.palette.typed.trim().is_empty() {
            listed.sort_by_key(|(score, listed)| {
                (std::cmp::Reverse(*score), listed.command.name.chars().count())
            });
        }
        listed.into_iter().map(|(_, listed)| listed).collect()
    }

    /// Opens the palette, or closes it.
    pub(crate) fn toggle_palette(&mut self) {
        self.palette = Palette::default();
        self.overlay = match self.overlay {
            Overlay::Palette => Overlay::Nothing,
            _ => Overlay::Palette,
        };
    }

    pub(crate) fn type_command(&mut self, typed: char) {
        self.palette.typed.push(typed);
        self.palette.chosen = 0;
    }

    /// An action while the palette is open.
    pub(crate) fn command(&mut self, action: Action, now: Instant) {
        match action {
            Action::Accept => {
                let chosen = self.listed().into_iter().nth(self.palette.chosen);
                if let Some(chosen) = chosen {
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
            Action::Move(by) => self.choose_command(by),
            Action::Page(pages) => self.choose_command(pages * PAGE),
            _ => {}
        }
    }

    fn choose_command(&mut self, by: i32) {
        let count = self.listed().len();
        self.palette.chosen = moved(self.palette.chosen, by, count);
    }

    /// The places that are live on the screen, the nearest first.
    pub(crate) fn places(&self) -> Vec<Place> {
        match self.overlay {
            Overlay::Palette => vec![Place::Field, Place::Everywhere],
            Overlay::Help(_) | Overlay::Cards(_) => vec![Place::Page, Place::Everywhere],
            Overlay::Branches(_) => vec![Place::Branches, Place::Free, Place::Everywhere],
            Overlay::Nothing => match (&self.mode, self.catalogue_focus) {
                (Mode::Browsing, CatalogueFocus::Search) => vec![Place::Field, Place::Everywhere],
                _ => self.places_below(),
            },
        }
    }

    /// The places of the screen itself: whatever lies over it, and though somebody types.
    fn places_below(&self) -> Vec<Place> {
        self.screen().map_or_else(Vec::new, |screen| screen.places())
    }
}
