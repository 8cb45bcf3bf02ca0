//! `lockstep progress`: prints or resets the learner's progress.

use serde_json::json;

use super::{Failure, Global, OK, print, words};
use crate::{
    text::Lang,
    ui::state::progress::{Record, Store, Trouble},
};

pub(crate) fn progress(global: &Global, reset: bool, yes: bool) -> Result<u8, Failure> {
    let lang = global.lang();
    if reset {
        if !yes {
            let answer = print::ask(words::FORGET.get(lang), false)?;
            if !answer.ok_or_else(|| Failure::usage(words::NOBODY_FORGETS.text(&[])))? {
                return Err(Failure::usage(words::NOTHING_FORGOTTEN.text(&[])));
            }
        }
        if let Some(path) = Store::path() {
            Store::forget(&path).map_err(|error| Failure::of_file(words::NOT_REMOVED, &path, &error))?;
        }
        if !global.json {
            print::line(words::FORGOTTEN.get(lang))?;
        }
        return Ok(OK);
    }
    let (store, trouble) = Store::open();
    if let Some(trouble) = &trouble {
        print::complain(&words_of(trouble, lang));
    }
    let library = global.library()?;
    let mut progress = store.get().clone();
    progress.follow(|id, variant| library.place(id, variant));
    if global.json {
        for (lesson, variants) in &progress.lessons {
            for (variant, Record { finished, outcome, right, asked, solved }) in variants {
                print::json(&json!({
                    "lesson": lesson, "variant": variant, "finished": finished, "outcome": outcome,
                    "right": right, "asked": asked, "solved": solved,
                }))?;
            }
        }
        return Ok(OK);
    }
    if progress.lessons.is_empty() {
        print::line(words::NO_PROGRESS.get(lang))?;
    }
    for (lesson, variants) in &progress.lessons {
        match library.find(lesson) {
            Some(loaded) => print::line(&format!("{lesson}: {}", loaded.lesson.title.get(lang)))?,
            None => print::line(lesson)?,
        }
        for (variant, record) in variants {
            let mark = if record.finished { "✓" } else { "·" };
            let predictions = match record.asked {
                0 => String::new(),
                asked => words::PREDICTED.with(lang, &[&record.right.to_string(), &asked.to_string()]),
            };
            let solved = match record.solved {
                0 => String::new(),
                solved => words::SOLVED.with(lang, &[&solved.to_string()]),
            };
            print::line(&format!("    {mark} {variant}{predictions}{solved}"))?;
        }
    }
    Ok(OK)
}

pub(crate) fn words_of(trouble: &Trouble, lang: Lang) -> String {
    match trouble {
        Trouble::Damaged(aside) => words::DAMAGED.with(lang, &[&aside.display().to_string()]),
        Trouble::Newer(path) => words::NEWER.with(lang, &[&path.display().to_string()]),
        Trouble::Unkept(why) => words::UNKEPT.with(lang, &[why]),
    }
}
