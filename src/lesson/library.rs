//! All lessons that can be chosen: those carried in the binary, and those of a directory.

use std::{
    collections::HashMap,
    fs,
    path::{Path as FilePath, PathBuf},
    sync::Arc,
};

use include_dir::{Dir, include_dir};

use super::{
    Lesson, LessonError, Loaded, Recipes, Source,
    error::{Mistake, Path},
};

static CARRIED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/lessons");

/// The order of the catalogue within a track: the core six first, as the course takes them; others follow
/// by name.
const CORE: [&str; 6] = [
    "oversell",
    "setnx-without-expire",
    "unlock-someone-elses-lock",
    "watchdog",
    "master-failover",
    "zk-herd",
];

/// The recipes file's name: it is no lesson.
pub const RECIPES: &str = "recipes.yaml";

/// Every lesson that was found, good and bad.
#[derive(Debug, Clone, Default)]
pub struct Library {
    /// Lessons that can be read, in the order of the catalogue.
    pub lessons: Vec<Arc<Loaded>>,
    /// Files that cannot.
    pub broken: Vec<LessonError>,
}

impl Library {
    /// The lessons carried in the binary.
    pub fn carried() -> Self {
        let mut library = Self::default();
        let recipes = Arc::new(match carried_recipes() {
            Ok(recipes) => recipes,
            Err(error) => {
                library.broken.push(error);
                Recipes::default()
            }
        });
        for file in CARRIED.files() {
            let name = file.path().display().to_string();
            if file.path().extension().is_none_or(|ending| ending != "yaml") || name == RECIPES {
                continue;
            }
            let text = file.contents_utf8().unwrap_or_default();
            let source = Source::new(format!("lessons/{name}"), text);
            match source.lesson() {
                Ok(lesson) => library.add(source, lesson, &recipes),
                Err(error) => library.broken.push(error),
            }
        }
        library.sort();
        library
    }

    /// The lessons carried in the binary and those of a directory, which win where ids are the same.
    pub fn with_directory(directory: &FilePath) -> Result<Self, LessonError> {
        let mut library = Self::carried();
        let mut recipes = carried_recipes()?;
        let own = directory.join(RECIPES);
        if own.exists() {
            match Source::read(&own).and_then(|source| source.recipes()) {
                Ok(own) => {
                    recipes.scripts.extend(own.scripts);
                    recipes.programs.extend(own.programs);
                }
                Err(error) => library.broken.push(error),
            }
        }
        let recipes = Arc::new(recipes);
        let mut files: HashMap<String, String> = HashMap::new();
        for path in yaml_files(directory)? {
            let added = Source::read(&path).and_then(|source| {
                let lesson = source.lesson()?;
                match files.get(&lesson.id) {
                    Some(first) => Err(twice(&source, &lesson.id, first)),
                    None => Ok((source, lesson)),
                }
            });
            match added {
                Ok((source, lesson)) => {
                    files.insert(lesson.id.clone(), source.file.clone());
                    library.add(source, lesson, &recipes);
                }
                Err(error) => library.broken.push(error),
            }
        }
        library.sort();
        Ok(library)
    }

    /// A lesson by its id.
    pub fn find(&self, id: &str) -> Option<&Arc<Loaded>> {
        self.lessons.iter().find(|loaded| loaded.lesson.id == id)
    }

    /// The ids of all lessons.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.lessons.iter().map(|loaded| loaded.lesson.id.as_str())
    }

    fn add(&mut self, source: Source, lesson: Lesson, recipes: &Arc<Recipes>) {
        self.lessons.retain(|known| known.lesson.id != lesson.id);
        self.lessons.push(Arc::new(Loaded { lesson, source, recipes: Arc::clone(recipes) }));
    }

    fn sort(&mut self) {
        let rank = |lesson: &Lesson| CORE.iter().position(|id| *id == lesson.id).unwrap_or(CORE.len());
        self.lessons.sort_by(|a, b| {
            let key = |loaded: &Loaded| (loaded.lesson.track, rank(&loaded.lesson), loaded.lesson.id.clone());
            key(a).cmp(&key(b))
        });
    }
}

/// Two files of one directory give their lesson the same id.
fn twice(source: &Source, id: &str, first: &str) -> LessonError {
    let mistake = Mistake::new(&Path::root().key("id"), format!("`{id}` is the id of {first} too"));
    source.place(&mistake.help("give each lesson an id of its own"))
}

/// A lesson from its text, with the recipes carried in the binary. `file` is what its mistakes are named by.
pub fn from_text(file: &str, text: &str) -> Result<Arc<Loaded>, LessonError> {
    let source = Source::new(file, text);
    let lesson = source.lesson()?;
    let recipes = Arc::new(carried_recipes()?);
    Ok(Arc::new(Loaded { lesson, source, recipes }))
}

/// Loads one lesson file, with the recipes carried in the binary and those beside the file.
pub fn load_file(path: &FilePath) -> Result<Arc<Loaded>, LessonError> {
    let source = Source::read(path)?;
    let lesson = source.lesson()?;
    let mut recipes = carried_recipes()?;
    let beside = path.parent().map_or_else(|| PathBuf::from(RECIPES), |parent| parent.join(RECIPES));
    if beside.exists() {
        let own = Source::read(&beside)?.recipes()?;
        recipes.scripts.extend(own.scripts);
        recipes.programs.extend(own.programs);
    }
    Ok(Arc::new(Loaded { lesson, source, recipes: Arc::new(recipes) }))
}

/// The recipes carried in the binary.
pub fn carried_recipes() -> Result<Recipes, LessonError> {
    let text = CARRIED.get_file(RECIPES).and_then(include_dir::File::contents_utf8).unwrap_or_default();
    Source::new(format!("lessons/{RECIPES}"), text).recipes()
}

fn yaml_files(directory: &FilePath) -> Result<Vec<PathBuf>, LessonError> {
    let shown = directory.display().to_string();
    let entries = fs::read_dir(directory).map_err(|error| {
        let help = "give a directory that holds lesson files (*.yaml)".to_owned();
        LessonError::of_file(&shown, format!("cannot be read: {error}"), Some(help))
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
