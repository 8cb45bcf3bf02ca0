//! The learner's progress, kept in a JSON file and shown in the catalogue.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

use serde::{Deserialize, Serialize};

pub use super::user_file::Trouble;
use super::user_file::{Content, UserFile};
use crate::{text::Lang, verdict::Outcome};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub finished: bool,
    /// The newest verdict.
    pub outcome: Option<Outcome>,
    /// The number of correct predictions, in the last run with predictions.
    pub right: usize,
    pub asked: usize,
    /// The number of invariants broken in free play, at most in one run.
    #[serde(default)]
    pub solved: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub lessons: BTreeMap<String, BTreeMap<String, Record>>,
    /// For each lesson, the variant opened last.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub last: BTreeMap<String, String>,
    /// Where a story was left unfinished; see [`Left`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left: BTreeMap<String, Left>,
    /// Names of actions that the learner has used, and needs no tip about.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tried: BTreeSet<String>,
    #[serde(default)]
    pub screen: ScreenChoices,
}

/// The step at which a story was left. When it is resumed, earlier steps are carried out at once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    pub variant: String,
    /// The item of the story, counted like `EventKind::Stop`.
    pub item: usize,
}

/// The learner's last settings of the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScreenChoices {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lang: Option<Lang>,
    /// The name of the theme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theme: Option<String>,
    /// Whether lessons are shown as sequence diagrams.
    #[serde(default)]
    pub sequence: bool,
    /// Whether the programs replace the wire.
    #[serde(default)]
    pub program: bool,
    /// The number of rows added to the timelines; may be negative.
    #[serde(default)]
    pub rows: i16,
}

impl Content for Progress {
    const FILE: &str = "progress.json";
    const FORMAT: u32 = 1;
}

impl Progress {
    pub fn of(&self, lesson: &str, variant: &str) -> Option<Record> {
        self.lessons.get(lesson)?.get(variant).copied()
    }

    pub fn is_finished(&self, lesson: &str, variant: &str) -> bool {
        self.of(lesson, variant).is_some_and(|record| record.finished)
    }

    /// Where the story of a variant was left unfinished.
    pub fn left_at(&self, lesson: &str, variant: &str) -> Option<usize> {
        self.left.get(lesson).filter(|left| left.variant == variant).map(|left| left.item)
    }

    /// Carries over what was reached in variants that have moved to another lesson since. `place` is where a variant is
    /// now.
    pub fn follow(&mut self, place: impl Fn(&str, &str) -> Option<(String, String)>) {
        for (id, variants) in std::mem::take(&mut self.lessons) {
            for (variant, record) in variants {
                let (id, variant) = place(&id, &variant).unwrap_or_else(|| (id.clone(), variant));
                let known = self.lessons.entry(id).or_default().entry(variant).or_insert(record);
                if !known.finished {
                    *known = record;
                }
            }
        }
    }

    /// The name of an action to suggest that the learner has not used yet.
    pub fn tip(&self) -> Option<&'static str> {
        let finished = self.lessons.values().flat_map(BTreeMap::values).any(|record| record.finished);
        let tips = [("step", true), ("compare", finished), ("free", finished)];
        let tip = tips.into_iter().find(|(action, ready)| *ready && !self.tried.contains(*action));
        tip.map(|(action, _)| action)
    }
}

pub type Store = UserFile<Progress>;

impl Store {
    pub fn note(&mut self, lesson: &str, variant: &str, record: Record) -> Result<(), Trouble> {
        self.change(|progress| {
            let variants = progress.lessons.entry(lesson.to_owned()).or_default();
            variants.insert(variant.to_owned(), record);
        })
    }

    /// Deletes a progress file, whatever it contains.
    pub fn forget(path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Progress, Record, Store, Trouble};
    use crate::verdict::Outcome;

    const DONE: Record =
        Record { finished: true, outcome: Some(Outcome::Shown), right: 1, asked: 2, solved: 0 };

    #[test]
    fn records_persist_and_concurrent_changes_are_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("state/lockstep/progress.json");
        let (mut mine, trouble) = Store::at(path.clone());
        assert_eq!(trouble, None);
        let (mut yours, _) = Store::at(path.clone());
        mine.note("oversell", "a", DONE).expect("noted");
        yours.note("oversell", "b", Record::default()).expect("noted");
        let (again, trouble) = Store::at(path.clone());
        assert_eq!(trouble, None);
        assert_eq!(again.get().of("oversell", "a"), Some(DONE));
        assert_eq!(again.get().of("oversell", "b"), Some(Record::default()));
        let names = std::fs::read_dir(path.parent().expect("a directory")).expect("readable");
        assert_eq!(names.count(), 1, "no temporary file is left");
        Store::forget(&path).expect("removed");
        Store::forget(&path).expect("nothing is there to remove");
        assert!(!path.exists());
    }

    #[test]
    fn changes_at_the_same_time_are_all_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("progress.json");
        std::thread::scope(|scope| {
            for n in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    for variant in 0..8 {
                        let (mut store, _) = Store::at(path.clone());
                        store
                            .note(&format!("lesson-{n}"), &format!("variant-{variant}"), DONE)
                            .expect("noted");
                    }
                });
            }
        });
        let (store, trouble) = Store::at(path);
        assert_eq!(trouble, None);
        assert_eq!(store.get().lessons.values().map(std::collections::BTreeMap::len).sum::<usize>(), 64);
    }

    #[test]
    fn what_was_reached_in_a_variant_follows_it_to_its_new_lesson() {
        let mut progress = Progress::default();
        let mut note = |id: &str, variant: &str, record| {
            progress.lessons.entry(id.to_owned()).or_default().insert(variant.to_owned(), record);
        };
        note("db-deadlock", "retry", Record::default());
        note("db-pessimistic", "retry", DONE);
        note("db-pessimistic", "index", DONE);
        note("my-lesson", "gone", DONE);
        let place = |id: &str, variant: &str| match variant {
            "retry" => Some(("db-deadlock".to_owned(), variant.to_owned())),
            "index" => Some((id.to_owned(), variant.to_owned())),
            _ => None,
        };
        progress.follow(place);
        let after = progress.clone();
        progress.follow(place);
        assert_eq!(progress, after, "a second time changes nothing");
        for (id, variant, record) in [
            ("db-deadlock", "retry", Some(DONE)),
            ("db-pessimistic", "retry", None),
            ("db-pessimistic", "index", Some(DONE)),
            ("my-lesson", "gone", Some(DONE)),
        ] {
            assert_eq!(progress.of(id, variant), record, "{id} {variant}");
        }
    }

    #[test]
    fn tips_are_shown_one_at_a_time_until_tried() {
        let mut store = Store::default();
        assert_eq!(store.get().tip(), Some("step"));
        let tried = |store: &mut Store, action: &str| {
            let change = |progress: &mut Progress| progress.tried.extend([action.to_owned()]);
            store.change(change).expect("nothing is written");
        };
        tried(&mut store, "step");
        assert_eq!(store.get().tip(), None, "no verdict yet");
        store.note("oversell", "a", DONE).expect("noted");
        assert_eq!(store.get().tip(), Some("compare"));
        tried(&mut store, "compare");
        assert_eq!(store.get().tip(), Some("free"));
        tried(&mut store, "free");
        assert_eq!(store.get().tip(), None);
    }

    #[test]
    fn a_damaged_file_is_moved_and_a_newer_one_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("progress.json");
        for number in 1..=2 {
            std::fs::write(&path, "{\"format\": 1, \"less").expect("written");
            let (mut store, trouble) = Store::at(path.clone());
            let aside = dir.path().join(format!("progress.json.damaged-{number}"));
            assert_eq!(trouble, Some(Trouble::Damaged(aside.clone())));
            assert!(aside.exists());
            store.note("oversell", "a", DONE).expect("noted");
        }
        let newer = "{\"format\": 2, \"courses\": []}";
        std::fs::write(&path, newer).expect("written");
        let (mut store, trouble) = Store::at(path.clone());
        assert_eq!(trouble, Some(Trouble::Newer(path.clone())));
        store.note("oversell", "a", DONE).expect("nowhere to note it, which was told");
        assert_eq!(std::fs::read_to_string(&path).expect("readable"), newer);
    }

    #[test]
    fn an_unwritable_path_is_reported_once() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let (mut store, trouble) = Store::at(file.path().join("lockstep/progress.json"));
        assert_eq!(trouble, None);
        let result = store.note("oversell", "a", DONE);
        assert!(matches!(result, Err(Trouble::Unkept(_))), "{result:?}");
        assert_eq!(store.note("oversell", "b", DONE), Ok(()));
        assert_eq!(store.get().of("oversell", "b"), Some(DONE), "remembered to the end");
    }
}
