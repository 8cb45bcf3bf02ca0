//! `lockstep list`: the lessons and their variants.

use serde_json::json;

use super::{Failure, Global, OK, USAGE, print, words};

pub(crate) fn list(global: &Global) -> Result<u8, Failure> {
    let library = global.library()?;
    let lang = global.lang();
    for loaded in &library.lessons {
        let lesson = &loaded.lesson;
        if global.json {
            let variants: Vec<_> = lesson
                .variants
                .iter()
                .map(|(name, variant)| {
                    json!({
                        "name": name, "title": variant.title, "expect": variant.expect,
                        "lab": lesson.lab_of(variant),
                    })
                })
                .collect();
            print::json(&json!({
                "id": lesson.id, "track": lesson.track, "lab": lesson.lab, "minutes": lesson.minutes,
                "title": lesson.title, "summary": lesson.summary, "variants": variants,
            }))?;
        } else {
            print::line(&words::TITLED.with(lang, &[&lesson.id, lesson.title.get(lang)]))?;
            print::line(&format!("    {}", lesson.summary.get(lang)))?;
            for (name, variant) in &lesson.variants {
                print::line(&words::VARIANT.with(lang, &[name, variant.title.get(lang)]))?;
            }
        }
    }
    for broken in &library.broken {
        print::complain(&broken.to_string());
    }
    Ok(if library.broken.is_empty() { OK } else { USAGE })
}
