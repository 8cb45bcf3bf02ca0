//! `lockstep check`: checks lesson files without running them.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::json;

use super::{Failure, Global, OK, USAGE, is_path, print, read_lesson, words};
use crate::{
    lab::doctor::redis_version,
    lesson::{
        LessonError, Loaded, Mistake, Path as At, Scenario, Source,
        library::{Library, RECIPES, carried, id_is_taken},
        plan::check_recipes,
    },
    printable,
    text::both,
};

pub(crate) fn check(global: &Global, files: &[PathBuf], strict: bool) -> Result<u8, Failure> {
    // `check lessons/*.yaml` includes the recipes, which are no lesson but may contain mistakes.
    let (recipes, files): (Vec<&PathBuf>, Vec<&PathBuf>) =
        files.iter().partition(|file| file.file_name().is_some_and(|name| name == RECIPES));
    let lessons: Vec<Result<Arc<Loaded>, LessonError>> = if files.is_empty() && recipes.is_empty() {
        let library = global.library()?;
        let broken = library.broken.into_iter().map(Err);
        library.lessons.into_iter().map(Ok).chain(broken).collect()
    } else {
        let load = |file: &&PathBuf| {
            let name = file.to_string_lossy();
            if is_path(&name) { Ok(read_lesson(file)) } else { global.lesson(&name).map(Ok) }
        };
        files.iter().map(load).collect::<Result<_, Failure>>()?
    };
    let with_own_recipes = lessons.iter().flatten().filter(|loaded| !loaded.recipes.local.is_empty());
    let own_recipes = with_own_recipes.map(|loaded| Path::new(&loaded.source.file).with_file_name(RECIPES));
    let recipes: BTreeSet<PathBuf> = recipes.into_iter().cloned().chain(own_recipes).collect();
    let mut code = OK;
    let mut reported: Vec<LessonError> = Vec::new();
    // A mistake in a recipe is found in each lesson that uses it, and is reported once.
    let mut report = |error: &LessonError| {
        code = USAGE;
        if reported.contains(error) {
            return Ok(());
        }
        reported.push(error.clone());
        print::mistake(error, global.lang(), global.json)?;
        error.more.iter().try_for_each(|other| print::mistake(other, global.lang(), global.json))
    };
    for file in &recipes {
        if let Err(error) = checked_recipes(file, strict) {
            report(&error)?;
        }
    }
    let redis = redis_version();
    let all: Vec<&Loaded> = lessons.iter().flatten().map(Arc::as_ref).collect();
    for lesson in &lessons {
        let checked = lesson.as_ref().map_err(Clone::clone).and_then(|loaded| {
            let scenarios = loaded.check()?;
            loaded.check_redis(&scenarios, redis)?;
            check_ids(loaded, &all)?;
            if !global.set.is_empty() {
                let names = loaded.lesson.variants.keys();
                names
                    .map(|name| Scenario::plan(loaded, name, &global.overrides()))
                    .collect::<Result<Vec<_>, _>>()?;
            }
            if strict {
                loaded.source.check_languages(false)?;
                loaded.check_sentences()?;
            }
            Ok(loaded)
        });
        match checked {
            Ok(loaded) => {
                let (file, lesson) = (&loaded.source.file, &loaded.lesson);
                if global.json {
                    print::json(&json!({ "file": file, "lesson": lesson.id, "ok": true }))?;
                } else {
                    let count = lesson.variants.len().to_string();
                    print::line(&words::GOOD.with(global.lang(), &[file, &lesson.id, &count]))?;
                    let commands: Vec<String> =
                        loaded.commands().into_iter().map(printable::command).collect();
                    if !commands.is_empty() {
                        let listed = super::trust::list(&commands, global.lang());
                        print::line(&words::STARTS_PROGRAMS.with(global.lang(), &[&listed]))?;
                    }
                }
            }
            Err(error) => report(&error)?,
        }
    }
    Ok(code)
}

fn checked_recipes(file: &Path, strict: bool) -> Result<(), LessonError> {
    let source = Source::read(file)?;
    check_recipes(&source)?;
    if strict { source.check_languages(true) } else { Ok(()) }
}

/// Checks that the id of a lesson is not taken, and that the lessons it comes after exist: among those that
/// are checked, those beside it, or those that Lockstep carries.
fn check_ids(loaded: &Loaded, checked: &[&Loaded]) -> Result<(), LessonError> {
    let lesson = &loaded.lesson;
    let place = |mistake: &Mistake| loaded.source.place(mistake);
    let before = checked.iter().take_while(|other| !std::ptr::eq(**other, loaded));
    let is_another =
        |other: &&&Loaded| other.lesson.id == lesson.id && other.source.file != loaded.source.file;
    if let Some(first) = before.clone().find(is_another) {
        return Err(place(&id_is_taken(&lesson.id, &first.source.file)));
    }
    for (n, id) in lesson.after.iter().enumerate() {
        if checked.iter().any(|other| other.lesson.id == *id) || carried(id).is_some() {
            continue;
        }
        let library = Library::with_directory(&loaded.directory()).unwrap_or_else(|_| Library::carried());
        if library.find(id).is_none() {
            let at = At::root().key("after").index(n);
            return Err(place(&Mistake::unknown(&at, both!("lesson", "课程"), id, library.ids())));
        }
    }
    Ok(())
}
