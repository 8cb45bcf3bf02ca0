//! The catalogue's state: what is chosen, searched for, looked into. It must not know how the catalogue looks.

use super::{
    App, Catalogue, CatalogueEntry, Runs,
    exploration::Wanted,
    fuzzy::{Candidate, Query},
    keys::{Action, Erase},
    state::{Mode, PAGE},
};
use crate::lesson::{Lang, Text};

/// Where in the catalogue the keys go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shelf {
    /// The list of lessons.
    #[default]
    Lessons,
    /// The chosen lesson's variants, and which of them.
    Variants(usize),
    /// The search.
    Search,
}

/// A search and what it found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Search {
    /// What was typed.
    pub typed: String,
    /// What was found, the best first.
    pub hits: Vec<Hit>,
    /// The lesson that was chosen before: to it leads giving up.
    before: usize,
}

/// A lesson that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Its place in the catalogue.
    pub entry: usize,
    /// The variant that was found, where it was not the lesson itself.
    pub variant: Option<usize>,
    /// The characters of its title that match.
    pub title: Vec<usize>,
    /// Another text of it that matches, and its characters that do.
    pub beside: Option<(String, Vec<usize>)>,
    score: u32,
}

impl Search {
    /// Looks for what was typed in titles, names, variants and summaries of both languages.
    #[must_use]
    pub fn new(typed: String, before: usize, catalogue: &Catalogue, lang: Lang) -> Self {
        let mut query = Query::new(&typed);
        let entries = catalogue.entries.iter().enumerate();
        let mut hits: Vec<Hit> = entries
            .filter_map(|(n, entry)| find(&mut query, n, entry, lang))
            .collect();
        // Stable: equals stay in the catalogue's order.
        hits.sort_by_key(|hit| std::cmp::Reverse(hit.score));
        Self { typed, hits, before }
    }

    /// The hit that is a lesson.
    #[must_use]
    pub fn hit(&self, entry: usize) -> Option<&Hit> {
        self.hits.iter().find(|hit| hit.entry == entry)
    }
}

/// What a candidate is a text of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Title,
    Lesson,
    Variant(usize),
}

fn find(query: &mut Query, n: usize, entry: &CatalogueEntry, lang: Lang) -> Option<Hit> {
    let mut kinds = Vec::new();
    let mut candidates = Vec::new();
    let mut add = |kind, text, bonus, loose| {
        kinds.push(kind);
        candidates.push(Candidate { text, bonus, loose });
    };
    add(Kind::Title, entry.title.get(lang), 60, true);
    add(Kind::Lesson, entry.id.as_str(), 40, true);
    add(Kind::Lesson, entry.title.get(lang.other()), 40, true);
    for (n, variant) in entry.variants.iter().enumerate() {
        add(Kind::Variant(n), variant.title.get(lang), 20, true);
        add(Kind::Variant(n), variant.name.as_str(), 15, true);
        add(Kind::Variant(n), variant.title.get(lang.other()), 10, true);
    }
    add(Kind::Lesson, entry.summary.get(lang), 5, false);
    add(Kind::Lesson, entry.summary.get(lang.other()), 0, false);
    let found = query.find(&candidates)?;
    let variant = found.marks.keys().find_map(|at| match kinds[*at] {
        Kind::Variant(n) => Some(n),
        Kind::Title | Kind::Lesson => None,
    });
    let beside = found.marks.iter().find(|(at, _)| kinds[**at] != Kind::Title);
    Some(Hit {
        entry: n,
        variant,
        title: found.marks.get(&0).cloned().unwrap_or_default(),
        beside: beside.map(|(at, marks)| (candidates[*at].text.to_owned(), marks.clone())),
        score: found.score,
    })
}

impl<R: Runs> App<R> {
    /// Looks again for what was typed, in the language of the screen; the best hit is chosen.
    fn look(&mut self, typed: String) {
        let before = self.search.as_ref().map_or(self.selected, |search| search.before);
        let search = Search::new(typed, before, &self.catalogue, self.lang);
        if let Some(best) = search.hits.first().filter(|_| !search.typed.trim().is_empty()) {
            self.selected = best.entry;
        }
        self.search = Some(search);
    }

    /// What was typed so far.
    fn typed(&self) -> String {
        self.search
            .as_ref()
            .map_or_else(String::new, |search| search.typed.clone())
    }

    /// What was found is shown in another language.
    pub(super) fn look_again(&mut self) {
        if let Some(search) = &self.search {
            self.search = Some(Search::new(
                search.typed.clone(),
                search.before,
                &self.catalogue,
                self.lang,
            ));
        }
    }

    /// A character is typed into the search.
    pub(super) fn search_for(&mut self, typed: char) {
        let mut text = self.typed();
        text.push(typed);
        self.look(text);
    }

    /// An action in the catalogue. Another lesson's description is read from its beginning.
    pub(super) fn browse(&mut self, action: Action) {
        let before = self.selected;
        self.take_up(action);
        if self.selected != before {
            self.reading = 0;
        }
    }

    fn take_up(&mut self, action: Action) {
        match (action, self.shelf) {
            (Action::Close, Shelf::Lessons) => self.mode = Mode::Ending,
            (Action::Close | Action::Variants(false), Shelf::Variants(_)) => {
                self.shelf = if self.search.is_some() {
                    Shelf::Search
                } else {
                    Shelf::Lessons
                };
            }
            (Action::Cancel, _) => {
                if let Some(search) = self.search.take() {
                    self.selected = search.before;
                }
                self.shelf = Shelf::Lessons;
            }
            (Action::Search, _) => {
                self.shelf = Shelf::Search;
                if self.search.is_none() {
                    self.look(String::new());
                }
            }
            (Action::Erase(erase), Shelf::Search) => {
                let mut text = self.typed();
                if text.is_empty() {
                    // As in other programs: what erases the last of it leaves.
                    self.take_up(Action::Cancel);
                    return;
                }
                erase_from(&mut text, erase);
                self.look(text);
            }
            (Action::Accept, Shelf::Search) => self.open_found(),
            (Action::Variants(true), Shelf::Lessons | Shelf::Search) if self.has_variants() => {
                self.shelf = Shelf::Variants(self.found_variant());
            }
            (Action::Open, Shelf::Variants(variant)) => self.open(self.selected, variant),
            (Action::Open, _) => self.open(self.selected, 0),
            (Action::Move(by), _) => self.choose(by),
            (Action::Page(pages), _) => self.scroll_description(pages * PAGE),
            (Action::Compare, _) => self.compare(self.selected, None),
            (Action::Race, Shelf::Variants(variant)) => self.race(self.selected, variant),
            (Action::Race, _) => self.race(self.selected, self.found_variant()),
            (Action::Explore, Shelf::Variants(variant)) => {
                self.explore(self.selected, variant, Wanted::default());
            }
            (Action::Explore, _) => self.explore(self.selected, self.found_variant(), Wanted::default()),
            (Action::End(end), _) => self.choose(if end { i32::MAX } else { i32::MIN }),
            _ => {}
        }
    }

    fn has_variants(&self) -> bool {
        let entry = self.catalogue.entries.get(self.selected);
        self.is_found() && entry.is_some_and(|entry| !entry.variants.is_empty())
    }

    /// Whether the chosen lesson is among those in sight.
    fn is_found(&self) -> bool {
        self.search
            .as_ref()
            .is_none_or(|search| search.hit(self.selected).is_some())
    }

    fn found_variant(&self) -> usize {
        let hit = self.search.as_ref().and_then(|search| search.hit(self.selected));
        hit.and_then(|hit| hit.variant).unwrap_or(0)
    }

    fn open_found(&mut self) {
        if self.is_found() {
            self.open(self.selected, self.found_variant());
        }
    }

    /// Moves the choice by so many lines: in the variants, the hits or the list.
    fn choose(&mut self, by: i32) {
        if let Shelf::Variants(variant) = self.shelf {
            let entry = self.catalogue.entries.get(self.selected);
            let count = entry.map_or(0, |entry| entry.variants.len());
            self.shelf = Shelf::Variants(moved(variant, by, count));
            return;
        }
        match self.search.as_ref().filter(|_| self.shelf == Shelf::Search) {
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

    /// A lesson is pointed at: its variants are another's no more.
    pub(super) fn choose_entry(&mut self, entry: usize) {
        self.selected = entry;
        self.reading = 0;
        if matches!(self.shelf, Shelf::Variants(_)) {
            self.shelf = if self.search.is_some() {
                Shelf::Search
            } else {
                Shelf::Lessons
            };
        }
    }

    /// A lesson is opened: the next look at the catalogue begins anew.
    pub(super) fn leave_shelf(&mut self) {
        self.shelf = Shelf::default();
        self.search = None;
    }
}

/// The place in a list of so many, so many lines further.
pub(super) fn moved(from: usize, by: i32, count: usize) -> usize {
    let by = isize::try_from(by).unwrap_or(isize::MAX);
    from.saturating_add_signed(by).min(count.saturating_sub(1))
}

/// Takes back some of what was typed.
pub(super) fn erase_from(text: &mut String, erase: Erase) {
    match erase {
        Erase::Character => {
            text.pop();
        }
        Erase::Word => {
            let kept = text.trim_end();
            let kept = kept.rfind(char::is_whitespace).map_or(0, |at| at + 1);
            // The space may be a wide one.
            let kept = (kept..=text.len())
                .find(|at| text.is_char_boundary(*at))
                .unwrap_or(0);
            text.truncate(kept);
        }
        Erase::All => text.clear(),
    }
}

/// Kept here so that the search and the palette speak of a lesson alike.
pub(super) fn joined(title: &Text, variant: &Text, lang: Lang) -> String {
    format!("{} › {}", title.get(lang), variant.get(lang))
}

#[cfg(test)]
mod tests {
    use super::{Erase, erase_from, moved};

    #[test]
    fn what_was_typed_is_taken_back() {
        let erased = |text: &str, erase| {
            let mut text = text.to_owned();
            erase_from(&mut text, erase);
            text
        };
        assert_eq!(erased("误锁", Erase::Character), "误");
        assert_eq!(erased("red dog ", Erase::Word), "red ");
        assert_eq!(erased("误\u{3000}锁", Erase::Word), "误\u{3000}");
        assert_eq!(erased("dog", Erase::Word), "");
        assert_eq!(erased("", Erase::Word), "");
        assert_eq!(erased("red dog", Erase::All), "");
    }

    #[test]
    fn a_choice_stays_in_its_list() {
        assert_eq!(moved(2, -5, 4), 0);
        assert_eq!(moved(2, 5, 4), 3);
        assert_eq!(moved(0, 1, 0), 0);
        assert_eq!(moved(1, i32::MIN, 4), 0);
        assert_eq!(moved(1, i32::MAX, 4), 3);
    }
}
