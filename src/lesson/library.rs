//! All lessons that can be chosen: those carried in the binary, and those of a directory.

use std::{
    collections::HashMap,
    fs,
    path::{Path as FilePath, PathBuf},
    sync::{Arc, LazyLock},
};

use include_dir::{Dir, File, include_dir};
use indexmap::IndexMap;

use super::{
    Lesson, LessonError, Libraries, Loaded, Recipe, Recipes, Source,
    error::{Mistake, Path},
};
use crate::{parallel, text::both};

static CARRIED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/lessons");
static EXERCISES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/kata");

/// The order of lessons within a track, in which they are best learned. Lessons that are not listed follow by name.
const ORDER: &[&str] = &[
    "oversell",
    "file-lock",
    "setnx-without-expire",
    "unlock-someone-elses-lock",
    "watchdog",
    "reentrancy",
    "lost-reply",
    "fencing-token",
    "restart-without-persistence",
    "segmented-lock",
    "failover",
    "failover-mitigations",
    "cluster-is-not-safer",
    "redlock",
    "redlock-restarted-node",
    "redlock-clock-jump",
    "redlock-late-validity",
    "wait-without-spinning",
    "redisson-lock",
    "fair-lock",
    "multi-lock",
    "read-write-lock",
    "semaphore",
    "permit-expirable-semaphore",
    "countdown-latch",
    "spin-lock",
    "znode-types",
    "zk-persistent-deadlock",
    "zk-herd",
    "zk-notified-is-not-granted",
    "zk-session-expiry",
    "zk-lost-create-reply",
    "curator-mutex",
    "curator-semaphore-mutex",
    "curator-read-write",
    "curator-multi-lock",
    "zk-leader-failover",
    "db-pessimistic",
    "db-deadlock",
    "db-optimistic",
    "db-aba",
    "etcd-lease",
    "redis-py-lock",
    "redlock-py",
    "python-redis-lock",
    "node-redlock",
    "redis-semaphore",
    "kazoo-lock",
    "curator-lock",
    "which-lock",
];

/// The name of the recipes file, which is no lesson.
pub const RECIPES: &str = "recipes.yaml";

/// All lessons that were found, readable and broken.
#[derive(Debug, Clone, Default)]
pub struct Library {
    /// The readable lessons, in the order of the catalogue.
    pub lessons: Vec<Arc<Loaded>>,
    /// The errors of the files that cannot be read.
    pub broken: Vec<LessonError>,
    /// The error in the directory's own recipes, if any. It makes the meaning of all its lessons uncertain.
    pub broken_recipes: Option<LessonError>,
}

impl Library {
    pub fn carried() -> Self {
        let mut library = Self::default();
        let recipes = carried_recipes().unwrap_or_else(|error| {
            library.broken.push(error);
            Arc::default()
        });
        let is_lesson = |file: &&File<'_>| {
            file.path().extension().is_some_and(|ending| ending == "yaml")
                && file.path() != FilePath::new(RECIPES)
        };
        let files: Vec<&File<'_>> = CARRIED.files().filter(is_lesson).collect();
        for read in parallel::map(&files, |file| read_carried(file)) {
            match read {
                Ok((source, lesson)) => library.add(source, lesson, &recipes, true),
                Err(error) => library.broken.push(error),
            }
        }
        library.sort();
        library
    }

    /// The lessons carried in the binary and those of a directory; a lesson of the directory replaces a carried one
    /// with the same id.
    pub fn with_directory(directory: &FilePath) -> Result<Self, LessonError> {
        let mut library = Self::carried();
        let mut recipes = (*carried_recipes()?).clone();
        let own = match extend(&mut recipes, &directory.join(RECIPES)) {
            Ok(own) => own,
            Err(error) => {
                library.broken.push(error.clone());
                library.broken_recipes = Some(error);
                None
            }
        };
        let recipes = Arc::new(recipes);
        let mut files: HashMap<String, String> = HashMap::new();
        for path in yaml_files(directory)? {
            let mut add = || {
                let source = Source::read(&path)?;
                let lesson = source.lesson()?;
                if let Some(first) = files.insert(lesson.id.clone(), source.file.clone()) {
                    let mistake = id_is_taken(&lesson.id, &first);
                    files.insert(lesson.id, first);
                    return Err(source.place(&mistake));
                }
                library.add(with_recipes(&source, own.as_ref(), &recipes), lesson, &recipes, false);
                Ok(())
            };
            if let Err(error) = add() {
                library.broken.push(error);
            }
        }
        library.sort();
        Ok(library)
    }

    /// The lesson with this id, or else with this former id.
    pub fn find(&self, id: &str) -> Option<&Arc<Loaded>> {
        let known = |is: &dyn Fn(&Lesson) -> bool| self.lessons.iter().find(|loaded| is(&loaded.lesson));
        known(&|lesson| lesson.id == id)
            .or_else(|| known(&|lesson| lesson.formerly.iter().any(|former| former == id)))
    }

    /// The lesson that has this variant: the one with this id or, if the variant has moved, another that was once part
    /// of it. The one with this id if none has it.
    pub fn find_with(&self, id: &str, variant: Option<&str>) -> Option<&Arc<Loaded>> {
        let found = self.find(id)?;
        let has =
            |loaded: &&Arc<Loaded>| variant.is_none_or(|name| loaded.lesson.variant_called(name).is_some());
        let was = |loaded: &&Arc<Loaded>| loaded.lesson.formerly.iter().any(|former| former == id);
        Some(Some(found).filter(has).or_else(|| self.lessons.iter().filter(was).find(has)).unwrap_or(found))
    }

    /// The ids of the lesson and the variant that these ids mean today.
    pub fn place(&self, id: &str, variant: &str) -> Option<(String, String)> {
        let lesson = &self.find_with(id, Some(variant))?.lesson;
        Some((lesson.id.clone(), lesson.variant_called(variant)?.clone()))
    }

    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.lessons.iter().map(|loaded| loaded.lesson.id.as_str())
    }

    fn add(&mut self, source: Source, lesson: Lesson, recipes: &Arc<Recipes>, carried: bool) {
        // An exercise is not listed as a lesson, because that would show its solution.
        if lesson.kata.is_some() {
            return;
        }
        self.lessons.retain(|known| known.lesson.id != lesson.id);
        self.lessons.push(Arc::new(Loaded {
            lesson: Arc::new(lesson),
            source,
            recipes: Arc::clone(recipes),
            carried,
        }));
    }

    fn sort(&mut self) {
        self.lessons.sort_by_key(|loaded| {
            let Lesson { track, id, .. } = &*loaded.lesson;
            (*track, ORDER.iter().position(|known| known == id).unwrap_or(ORDER.len()), id.clone())
        });
    }
}

/// The mistake of two files with the same id: which of them the id means would be arbitrary.
pub(crate) fn id_is_taken(id: &str, first: &str) -> Mistake {
    let message = both!("`{id}` is the id of {first} too", "`{id}` 也是 {first} 的 id");
    Mistake::new(&Path::root().key("id"), message)
        .help(both!("give each lesson an id of its own", "请让每节课有自己的 id"))
}

fn read_carried(file: &'static File<'_>) -> Result<(Source, Lesson), LessonError> {
    let source = Source::carried(
        format!("lessons/{}", file.path().display()),
        file.contents_utf8().unwrap_or_default(),
    );
    let lesson = source.lesson()?;
    Ok((source, lesson))
}

/// Loads one of the lessons carried in the binary without reading the others: its file is named after its id.
pub fn carried(id: &str) -> Option<Arc<Loaded>> {
    let (source, lesson) = read_carried(CARRIED.get_file(format!("{id}.yaml"))?).ok()?;
    let recipes = carried_recipes().ok()?;
    (lesson.id == id).then(|| Arc::new(Loaded { lesson: Arc::new(lesson), source, recipes, carried: true }))
}

/// Parses a lesson, with the recipes carried in the binary. `file` is the name that errors give the text.
pub fn from_text(file: &str, text: &str) -> Result<Arc<Loaded>, LessonError> {
    let source = Source::new(file, text);
    let lesson = source.lesson()?;
    let recipes = carried_recipes()?;
    Loaded { lesson: Arc::new(lesson), source, recipes, carried: false }.solved().map(Arc::new)
}

/// The exercises carried in the binary, in the order in which they are to be solved, which is that of their file names.
pub fn exercises() -> Result<Vec<Arc<Loaded>>, LessonError> {
    let mut files: Vec<&File<'_>> = EXERCISES.files().collect();
    files.sort_by_key(|file| file.path());
    let load = |file: &File<'_>| {
        from_text(&format!("kata/{}", file.path().display()), file.contents_utf8().unwrap_or_default())
    };
    files.into_iter().map(load).collect()
}

/// Loads one lesson file, with the recipes carried in the binary and those beside the file.
pub fn load_file(path: &FilePath) -> Result<Arc<Loaded>, LessonError> {
    let source = Source::read(path)?;
    let lesson = source.lesson()?;
    let mut recipes = (*carried_recipes()?).clone();
    let own = extend(&mut recipes, &path.with_file_name(RECIPES))?;
    let source = with_recipes(&source, own.as_ref(), &recipes);
    Loaded { lesson: Arc::new(lesson), source, recipes: Arc::new(recipes), carried: false }
        .solved()
        .map(Arc::new)
}

/// Adds the user's own recipes, if the file exists, and returns that file.
fn extend(recipes: &mut Recipes, own: &FilePath) -> Result<Option<Source>, LessonError> {
    if !own.exists() {
        return Ok(None);
    }
    let source = Source::read(own)?;
    let own = source.recipes()?;
    recipes.local.extend(own.programs.keys().cloned());
    recipes.scripts.extend(own.scripts);
    recipes.programs.extend(own.programs);
    Ok(Some(source))
}

/// The lesson's source, in which paths to steps of recipes beside the lesson resolve to the recipes file.
fn with_recipes(source: &Source, own: Option<&Source>, recipes: &Recipes) -> Source {
    let steps = || recipes.local.iter().map(|name| Recipe::path(name)).collect();
    own.map_or_else(|| source.clone(), |own| source.with_parts_of(own, steps()))
}

/// The content of a file that a carried lesson's command names with this word.
pub(super) fn carried_file(word: &str) -> Option<&'static [u8]> {
    CARRIED.get_file(word).map(File::contents)
}

/// The files of programs that carried lessons start: their paths, as commands name them, and their content.
pub(crate) fn carried_programs() -> impl Iterator<Item = (&'static FilePath, &'static [u8])> {
    let directory = CARRIED.get_dir("programs");
    directory.into_iter().flat_map(Dir::files).map(|file| (file.path(), file.contents()))
}

/// The libraries that the carried lessons need, sorted by name within each language.
pub fn carried_libraries() -> Libraries {
    let mut all = Libraries::new();
    for loaded in Library::carried().lessons {
        for (language, libraries) in &loaded.lesson.libraries {
            all.entry(*language).or_default().extend(libraries.clone());
        }
    }
    all.values_mut().for_each(IndexMap::sort_unstable_keys);
    all
}

pub fn carried_recipes() -> Result<Arc<Recipes>, LessonError> {
    static READ: LazyLock<Result<Arc<Recipes>, LessonError>> = LazyLock::new(|| {
        let text = CARRIED.get_file(RECIPES).and_then(File::contents_utf8).unwrap_or_default();
        Source::carried(format!("lessons/{RECIPES}"), text).recipes().map(Arc::new)
    });
    READ.clone()
}

pub(crate) fn yaml_files(directory: &FilePath) -> Result<Vec<PathBuf>, LessonError> {
    let shown = directory.display().to_string();
    let entries = fs::read_dir(directory).map_err(|error| {
        let help =
            both!("give a directory that holds lesson files (*.yaml)", "请给出存放课程文件（*.yaml）的目录");
        LessonError::of_file(&shown, both!("cannot be read: {error}", "无法读取：{error}"), Some(help))
    })?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml"))
        .filter(|path| path.file_name().is_some_and(|name| name != RECIPES))
        .collect();
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_that_moved_are_found_under_the_id_that_they_had() {
        let library = Library::carried();
        let found = |id: &str, variant| library.find_with(id, variant).map(|loaded| loaded.lesson.id.clone());
        for (id, variant, lesson) in [
            ("db-pessimistic", "for-update", "db-pessimistic"),
            ("db-pessimistic", "deadlock", "db-deadlock"),
            ("master-failover", "split-brain", "failover"),
            ("master-failover", "min-replicas", "failover-mitigations"),
            ("master-failover", "redlock", "redlock"),
            ("db-pessimistic", "no-such-variant", "db-pessimistic"),
        ] {
            assert_eq!(found(id, Some(variant)).as_deref(), Some(lesson), "{id} {variant}");
        }
        assert_eq!(found("master-failover", None).as_deref(), Some("failover"));
        let (lesson, variant) = library.place("master-failover", "redlock").expect("a place");
        assert_eq!((&*lesson, &*variant), ("redlock", "one-master"), "a variant that became a lesson");
    }
}
