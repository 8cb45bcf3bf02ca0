//! Fuzzy matching: which of several texts the typed letters match, and at which characters.

use std::collections::BTreeMap;

use nucleo_matcher::{
    Config, Matcher, Utf32Str,
    pattern::{Atom, AtomKind, CaseMatching, Normalization},
};

#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    pub text: &'a str,
    /// Added to the score of a match in this text.
    pub bonus: u32,
    /// Whether letters may be skipped between the typed ones: true for names, false for sentences, where almost any
    /// letters could be found.
    pub loose: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    pub score: u32,
    /// The indices of the matching characters, ascending, by candidate.
    pub marks: BTreeMap<usize, Vec<usize>>,
}

/// The typed words, all of which must match.
#[derive(Debug)]
pub struct Query {
    matcher: Matcher,
    words: Vec<[Atom; 2]>,
}

impl Query {
    /// Parses the typed text. Case and accents are ignored. The arrow of a link, which no keyboard has, may also be
    /// typed as lessons write it, `A->redis`, or as a screen of ASCII shows it, `A>redis`.
    pub fn new(typed: &str) -> Self {
        let typed = typed.replace("->", "→").replace('>', "→");
        let atom = |word, kind| Atom::new(word, CaseMatching::Ignore, Normalization::Smart, kind, false);
        let words = typed.split_whitespace();
        Self {
            matcher: Matcher::new(Config::DEFAULT),
            words: words.map(|word| [atom(word, AtomKind::Fuzzy), atom(word, AtomKind::Substring)]).collect(),
        }
    }

    /// Matches every word at its best place. Returns `None` if a word does not match.
    pub fn find(&mut self, candidates: &[Candidate<'_>]) -> Option<Found> {
        let mut found = Found::default();
        for word in &self.words {
            let matcher = &mut self.matcher;
            let places = candidates.iter().enumerate().filter_map(|(n, candidate)| {
                let (score, marks) = best(word, *candidate, matcher)?;
                Some((score, n, marks))
            });
            // The first of equal scores wins: candidates are ordered by importance.
            let (score, n, marks) = places.reduce(|a, b| if b.0 > a.0 { b } else { a })?;
            found.score += score;
            let all = found.marks.entry(n).or_default();
            all.extend(marks);
            all.sort_unstable();
            all.dedup();
        }
        Some(found)
    }
}

fn best(
    [fuzzy, substring]: &[Atom; 2],
    candidate: Candidate<'_>,
    matcher: &mut Matcher,
) -> Option<(u32, Vec<usize>)> {
    let mut buffer = Vec::new();
    let text = Utf32Str::new(candidate.text, &mut buffer);
    let mut marks = Vec::new();
    let mut score = substring.indices(text, matcher, &mut marks);
    if score.is_none() && candidate.loose {
        marks.clear();
        score = fuzzy.indices(text, matcher, &mut marks).filter(|_| is_close(&marks));
    }
    let marks = marks.into_iter().map(|mark| mark as usize);
    Some((u32::from(score?) + candidate.bonus, marks.collect()))
}

/// Whether the matches are close together; letters scattered over a whole line are a coincidence.
fn is_close(marks: &[u32]) -> bool {
    let (Some(first), Some(last)) = (marks.iter().min(), marks.iter().max()) else { return true };
    (last - first) as usize <= marks.len() * 3 + 4
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Candidate, Found, Query};

    fn name(text: &str) -> Candidate<'_> {
        Candidate { text, bonus: 0, loose: true }
    }

    fn find(typed: &str, candidates: &[Candidate<'_>]) -> Option<Found> {
        Query::new(typed).find(candidates)
    }

    #[test]
    fn letters_may_be_left_out_of_names() {
        let found = find("zkh", &[name("zk-herd")]).expect("found");
        assert_eq!(found.marks[&0], [0, 1, 3]);
        assert!(find("zzz", &[name("zk-herd")]).is_none());
        assert!(find("ZKH", &[name("zk-herd")]).is_some(), "capitals make no difference");
    }

    #[test]
    fn chinese_is_found_by_its_characters() {
        let found = find("误锁", &[name("误删别人的锁")]).expect("found");
        assert_eq!(found.marks[&0], [0, 5]);
        assert!(find("羊群", &[name("误删别人的锁")]).is_none());
    }

    #[test]
    fn an_arrow_is_found_however_it_is_typed() {
        let link = [name("cut A→redis and lose what it holds")];
        for typed in ["cut A->redis", "cut A→redis", "cut A>redis", "cut A->redis and lose what it holds"] {
            assert_eq!(find(typed, &link).expect(typed).marks[&0][..6], [0, 1, 2, 4, 5, 6], "{typed}");
        }
        assert!(find("cut B->redis", &link).is_none());
    }

    #[test]
    fn sentences_match_only_adjacent_letters() {
        let sentence = Candidate { loose: false, ..name("A takes the lock for 3 s") };
        assert!(find("the lock", &[sentence]).is_some());
        assert!(find("tlk", &[sentence]).is_none());
        assert!(find("xz", &[name("x and z")]).is_some());
        assert!(find("xz", &[name("x is at one end, at the other is z")]).is_none());
    }

    #[test]
    fn every_word_is_found_somewhere_and_the_better_place_wins() {
        let candidates = [name("Watchdog renewal"), name("redis")];
        let found = find("red dog", &candidates).expect("found");
        assert_eq!(found.marks[&0], [5, 6, 7]);
        assert_eq!(found.marks[&1], [0, 1, 2]);
        assert!(find("red cat", &candidates).is_none());
        let title = Candidate { bonus: 40, ..name("the lock") };
        let found = find("lock", &[name("lock"), title]).expect("found");
        assert!(found.marks.contains_key(&1));
        assert_eq!(find("  ", &candidates), Some(Found::default()));
    }

    proptest! {
        #[test]
        fn marks_are_characters_of_the_text(typed in any::<String>(), text in any::<String>()) {
            if let Some(found) = find(&typed, &[name(&text)]) {
                let length = text.chars().count();
                prop_assert!(found.marks.values().flatten().all(|mark| *mark < length));
            }
        }
    }
}
