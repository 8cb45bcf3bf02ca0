//! `lockstep progress`: what the learner has done so far.

use std::io::{BufRead, IsTerminal, Write};

use serde_json::json;

use super::{Failure, Global, OK};
use crate::{
    app::{Record, Store, Trouble},
    lesson::Lang,
};

/// Prints it, or clears it.
pub(super) fn progress(global: &Global, reset: bool, yes: bool) -> Result<u8, Failure> {
    if reset {
        if !yes && !asked("Forget all progress?")? {
            return Err(Failure::usage("nothing was forgotten"));
        }
        if let Some(path) = Store::path() {
            Store::forget(&path)
                .map_err(|error| Failure::usage(format!("{} was not removed: {error}", path.display())))?;
        }
        if !global.json {
            println!("All progress is forgotten.");
        }
        return Ok(OK);
    }
    let (store, trouble) = Store::open();
    if let Some(trouble) = &trouble {
        eprintln!("lockstep: {}", words(trouble));
    }
    let progress = store.progress();
    if global.json {
        for (lesson, variants) in &progress.lessons {
            for (
                variant,
                Record {
                    finished,
                    outcome,
                    right,
                    asked,
                },
            ) in variants
            {
                println!(
                    "{}",
                    json!({
                        "lesson": lesson, "variant": variant, "finished": finished, "outcome": outcome,
                        "right": right, "asked": asked,
                    })
                );
            }
        }
        return Ok(OK);
    }
    if progress.lessons.is_empty() {
        println!("No lesson was taken yet. `lockstep` opens the catalogue.");
    }
    let library = global.library()?;
    for (lesson, variants) in &progress.lessons {
        match library.find(lesson) {
            Some(loaded) => println!("{lesson}: {}", loaded.lesson.title.get(global.lang())),
            None => println!("{lesson}"),
        }
        for (variant, record) in variants {
            let mark = if record.finished { "✓" } else { "·" };
            let predictions = match (record.asked, global.lang()) {
                (0, _) => String::new(),
                (asked, Lang::En) => format!(": {} of {asked} predictions right", record.right),
                (asked, Lang::Zh) => format!("：预测 {}/{asked} 猜对", record.right),
            };
            println!("    {mark} {variant}{predictions}");
        }
    }
    Ok(OK)
}

/// A trouble in words for standard error.
fn words(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Damaged(aside) => format!(
            "the file of your progress was damaged; it is set aside as {}",
            aside.display()
        ),
        Trouble::Newer(path) => format!(
            "{} was written by a newer Lockstep and is left alone; update this one",
            path.display()
        ),
        Trouble::Unkept(why) => format!("progress cannot be kept: {why}"),
    }
}

/// Asks the user at the terminal; only a yes is a yes.
fn asked(question: &str) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage(format!(
            "{question} Nobody is there to answer; add `--yes` to forget it unasked"
        )));
    }
    eprint!("{question} [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(
        answer.trim().to_lowercase().as_str(),
        "y" | "yes" | "是"
    ))
}
