//! The state of the catalogue: selection, search and focus.

use super::{
    catalogue::{Catalogue, CatalogueEntry},
    fuzzy::{Candidate, Query},
};
use crate::text::{Lang, Text};
use crate::ui::keys::Erase;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CatalogueFocus {
    #[default]
    Lessons,
    /// The chosen lesson's variants, with the index of the selected one.
    Variants(usize),
    Search,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Search {
    pub typed: String,
    /// The results, best first.
    pub hits: Vec<Hit>,
    /// The lesson that was selected before; cancelling the search returns to it.
    pub(crate) before: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    pub entry: usize,
    /// The matching variant, if the match is not in the lesson itself.
    pub variant: Option<usize>,
    pub title: Vec<usize>,
    /// Another matching text of the lesson, with the indices of its matching characters.
    pub other: Option<(String, Vec<usize>)>,
    score: u32,
    /// Whether the name contains each typed word literally.
    literal: bool,
}

impl Search {
    /// Searches titles, names, variants, summaries and interviewers' questions in both languages.
    pub fn new(typed: String, before: usize, catalogue: &Catalogue, lang: Lang) -> Self {
        let mut query = Query::new(&typed);
        let entries = catalogue.entries.iter().enumerate();
        let words: Vec<String> = typed.split_whitespace().map(str::to_lowercase).collect();
        let find = |(n, entry)| find((&mut query, &words), n, entry, lang);
        let mut hits: Vec<Hit> = entries.filter_map(find).collect();
        // Scattered letters count as a match only if no name contains the typed words literally.
        if hits.iter().any(|hit| hit.literal) {
            hits.retain(|hit| hit.literal);
        }
        // The sort is stable, so equal scores stay in the catalogue's order.
        hits.sort_by_key(|hit| std::cmp::Reverse(hit.score));
        Self { typed, hits, before }
    }

    pub fn hit(&self, entry: usize) -> Option<&Hit> {
        self.hits.iter().find(|hit| hit.entry == entry)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Title,
    Lesson,
    Variant(usize),
}

fn find(
    (query, words): (&mut Query, &[String]),
    n: usize,
    entry: &CatalogueEntry,
    lang: Lang,
) -> Option<Hit> {
    let mut kinds = Vec::new();
    let mut candidates = Vec::new();
    let mut add = |kind, text, bonus, loose| {
        kinds.push(kind);
        candidates.push(Candidate { text, bonus, loose });
    };
    add(Kind::Title, entry.lesson.title.get(lang), 60, true);
    add(Kind::Lesson, entry.lesson.id.as_str(), 40, true);
    add(Kind::Lesson, entry.lesson.title.get(lang.other()), 40, true);
    for (n, variant) in entry.variants.iter().enumerate() {
        add(Kind::Variant(n), variant.title.get(lang), 20, true);
        add(Kind::Variant(n), variant.name.as_str(), 15, true);
        add(Kind::Variant(n), variant.title.get(lang.other()), 10, true);
    }
    add(Kind::Lesson, entry.summary.get(lang), 5, false);
    add(Kind::Lesson, entry.summary.get(lang.other()), 0, false);
    for card in &entry.lesson.interview {
        add(Kind::Lesson, card.q.get(lang), 3, false);
        add(Kind::Lesson, card.q.get(lang.other()), 0, false);
    }
    let found = query.find(&candidates)?;
    let has = |word: &String| candidates.iter().any(|one| one.text.to_lowercase().contains(word));
    let literal = words.iter().all(has);
    let variant = found.marks.keys().find_map(|at| match kinds[*at] {
        Kind::Variant(n) => Some(n),
        Kind::Title | Kind::Lesson => None,
    });
    let other = found.marks.iter().find(|(at, _)| kinds[**at] != Kind::Title);
    Some(Hit {
        entry: n,
        variant,
        title: found.marks.get(&0).cloned().unwrap_or_default(),
        other: other.map(|(at, marks)| (candidates[*at].text.to_owned(), marks.clone())),
        score: found.score,
        literal,
    })
}

pub(crate) fn moved(from: usize, by: i32, count: usize) -> usize {
    let by = isize::try_from(by).unwrap_or(isize::MAX);
    from.saturating_add_signed(by).min(count.saturating_sub(1))
}

pub(crate) fn erase_from(text: &mut String, erase: Erase) {
    match erase {
        Erase::Character => {
            text.pop();
        }
        Erase::Word => {
            let kept = text.trim_end();
            let kept = kept.rfind(char::is_whitespace).map_or(0, |at| at + 1);
            // The space may be a multi-byte character.
            let kept = (kept..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(kept);
        }
        Erase::All => text.clear(),
    }
}

pub(crate) fn joined(title: &Text, variant: &Text, lang: Lang) -> String {
    format!("{} › {}", title.get(lang), variant.get(lang))
}

#[cfg(test)]
mod tests {
    use super::{Erase, erase_from, moved};

    #[test]
    fn typed_text_is_erased() {
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
