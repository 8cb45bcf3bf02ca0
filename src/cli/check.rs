//! `lockstep check`: lesson files, without running them.

use std::{path::PathBuf, sync::Arc};

use serde_json::json;

use super::{Failure, Global, OK, USAGE, is_path, print, words};
use crate::lesson::{
    LessonError, Loaded, Source,
    library::{RECIPES, load_file},
    plan::check_recipes,
};

pub(crate) fn check(global: &Global, files: &[PathBuf], strict: bool) -> Result<u8, Failure> {
    // `check lessons/*.yaml` names the recipes too; they are no lesson, and can be wrong all the same.
    let (recipes, files): (Vec<&PathBuf>, Vec<&PathBuf>) =
        files.iter().partition(|file| file.file_name().is_some_and(|name| name == RECIPES));
    for file in &recipes {
        let source = Source::read(file)?;
        check_recipes(&source)?;
        if strict {
            source.check_languages(true)?;
        }
    }
    let lessons: Vec<Result<Arc<Loaded>, LessonError>> = if files.is_empty() && recipes.is_empty() {
        let library = global.library()?;
        let broken = library.broken.into_iter().map(Err);
        library.lessons.into_iter().map(Ok).chain(broken).collect()
    } else {
        let load = |file: &&PathBuf| {
            let name = file.to_string_lossy();
            if is_path(&name) { Ok(load_file(file)) } else { global.lesson(&name).map(Ok) }
        };
        files.iter().map(load).collect::<Result<_, Failure>>()?
    };
    let mut code = OK;
    for lesson in lessons {
        let checked = lesson.and_then(|loaded| {
            loaded.check()?;
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
                }
            }
            Err(error) => {
                code = USAGE;
                print::mistake(&error, global.lang(), global.json)?;
            }
        }
    }
    Ok(code)
}
