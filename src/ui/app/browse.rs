//! Handles actions in the catalogue.

use crate::{
    run::Runs,
    ui::{
        app::{
            App,
            update::{Mode, lines},
        },
        keys::Action,
        state::{
            browse::{CatalogueFocus, Search, erase_from, moved},
            outcomes::ExplorationOptions,
        },
        view::Notice,
    },
};

impl<R: Runs> App<R> {
    /// Repeats the search for the typed text in the current language and selects the best hit.
    pub(crate) fn search(&mut self, typed: String) {
        let before = self.search.as_ref().map_or(self.selected, |search| search.before);
        let search = Search::new(typed, before, &self.catalogue, self.lang);
        if let Some(best) = search.hits.first().filter(|_| !search.typed.trim().is_empty()) {
            self.selected = best.entry;
        }
        self.search = Some(search);
    }

    pub(crate) fn typed(&self) -> String {
        self.search.as_ref().map_or_else(String::new, |search| search.typed.clone())
    }

    /// Carries out an action in the catalogue. When the selection changes, the description is scrolled back to its top.
    pub(crate) fn browse(&mut self, action: Action) {
        let before = self.selected;
        self.act_in_catalogue(action);
        if self.selected != before {
            self.reading = 0;
        }
    }

    fn act_in_catalogue(&mut self, action: Action) {
        match (action, self.catalogue_focus) {
            (Action::Close, CatalogueFocus::Lessons) => self.mode = Mode::Ending,
            (Action::Close | Action::Variants(false), CatalogueFocus::Variants(_)) => self.leave_variants(),
            (Action::Cancel, _) => {
                if let Some(search) = self.search.take() {
                    self.selected = search.before;
                }
                self.catalogue_focus = CatalogueFocus::Lessons;
            }
            (Action::Search, _) => {
                self.catalogue_focus = CatalogueFocus::Search;
                if self.search.is_none() {
                    self.search(String::new());
                }
            }
            (Action::Erase(erase), CatalogueFocus::Search) => {
                let mut text = self.typed();
                if text.is_empty() {
                    // As in other programs, erasing in an empty field leaves the search.
                    self.act_in_catalogue(Action::Cancel);
                    return;
                }
                erase_from(&mut text, erase);
                self.search(text);
            }
            (Action::Accept, CatalogueFocus::Search) if self.is_found() => {
                self.open(self.selected, self.found_variant());
            }
            (Action::Variants(true), CatalogueFocus::Lessons | CatalogueFocus::Search)
                if self.has_variants() =>
            {
                self.catalogue_focus = CatalogueFocus::Variants(self.found_variant());
            }
            (Action::Open, CatalogueFocus::Variants(variant)) => self.open(self.selected, variant),
            (Action::Open, _) => self.resume(),
            (Action::Move(_) | Action::End(_), _) => self.choose(lines(action)),
            (Action::Page(_), _) => self.scroll_description(lines(action)),
            (Action::Compare, _) => self.compare(self.selected, None),
            (Action::Measure, _) => self.show_measured(),
            (Action::Race, _) => self.race(self.selected, self.chosen_variant()),
            (Action::Explore, _) => {
                self.explore(self.selected, self.chosen_variant(), ExplorationOptions::default());
            }
            _ => {}
        }
    }

    /// Opens the selected lesson where the learner left it, and restores the step if the story had not ended.
    fn resume(&mut self) {
        let (entry, variant) = (self.selected, self.resumed());
        let choice = self.choice(entry, variant);
        let left = choice.and_then(|choice| self.progress.get().left_at(&choice.id, &choice.variant));
        self.open(entry, variant);
        if let (Some(item), Mode::Learning(lesson)) = (left, &mut self.mode) {
            lesson.run.resume_at(item);
            self.notice = Some(Notice::Resumed);
        }
    }

    /// The index of the variant to resume: the one opened last, or the first unfinished one after it (wrapping around).
    fn resumed(&self) -> usize {
        let Some(entry) = self.catalogue.entries.get(self.selected) else { return 0 };
        let (progress, count) = (self.progress.get(), entry.variants.len());
        let last = progress.last.get(&entry.lesson.id);
        let last = entry.variants.iter().position(|variant| Some(&variant.name) == last).unwrap_or(0);
        let mut from_there = (last..count).chain(0..last);
        let is_left = |n: &usize| !progress.is_finished(&entry.lesson.id, &entry.variants[*n].name);
        from_there.find(is_left).unwrap_or(0)
    }

    fn has_variants(&self) -> bool {
        let entry = self.catalogue.entries.get(self.selected);
        self.is_found() && entry.is_some_and(|entry| !entry.variants.is_empty())
    }

    /// Whether the search hits include the selected lesson (always true without a search).
    fn is_found(&self) -> bool {
        self.search.as_ref().is_none_or(|search| search.hit(self.selected).is_some())
    }

    fn chosen_variant(&self) -> usize {
        match self.catalogue_focus {
            CatalogueFocus::Variants(variant) => variant,
            CatalogueFocus::Lessons | CatalogueFocus::Search => self.found_variant(),
        }
    }

    fn leave_variants(&mut self) {
        self.catalogue_focus =
            if self.search.is_some() { CatalogueFocus::Search } else { CatalogueFocus::Lessons };
    }

    fn found_variant(&self) -> usize {
        let hit = self.search.as_ref().and_then(|search| search.hit(self.selected));
        hit.and_then(|hit| hit.variant).unwrap_or(0)
    }

    /// Moves the selection by `by` lines: in the variants, the hits or the list.
    fn choose(&mut self, by: i32) {
        if let CatalogueFocus::Variants(variant) = self.catalogue_focus {
            let entry = self.catalogue.entries.get(self.selected);
            let count = entry.map_or(0, |entry| entry.variants.len());
            self.catalogue_focus = CatalogueFocus::Variants(moved(variant, by, count));
            return;
        }
        match self.search.as_ref().filter(|_| self.catalogue_focus == CatalogueFocus::Search) {
            None => self.selected = moved(self.selected, by, self.catalogue.entries.len()),
            Some(search) => {
                let at = search.hits.iter().position(|hit| hit.entry == self.selected);
                let to = at.map_or(0, |at| moved(at, by, search.hits.len()));
                if let Some(hit) = search.hits.get(to) {
                    self.selected = hit.entry;
                }
            }
        }
    }

    /// Selects a lesson. The focus leaves the variants, which belong to the lesson selected before.
    pub(crate) fn choose_entry(&mut self, entry: usize) {
        self.selected = entry;
        self.reading = 0;
        if matches!(self.catalogue_focus, CatalogueFocus::Variants(_)) {
            self.leave_variants();
        }
    }

    /// Resets focus and search when a lesson is opened, so that the catalogue starts afresh next time.
    pub(crate) fn leave_catalogue(&mut self) {
        self.catalogue_focus = CatalogueFocus::default();
        self.search = None;
    }
}
