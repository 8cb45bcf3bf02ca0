//! `lockstep list`: the lessons and their variants.

use serde_json::json;

use super::{Failure, Global, OK, USAGE, print, words};
use crate::{
    lesson::{Loaded, Params, plan::fill},
    text::Text,
};

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
                        "name": name, "title": title(loaded, name), "expect": variant.expects(),
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
            for name in lesson.variants.keys() {
                print::line(&words::VARIANT.with(lang, &[name, title(loaded, name).get(lang)]))?;
            }
        }
    }
    for broken in &library.broken {
        print::complain(&broken.in_lang(lang));
    }
    Ok(if library.broken.is_empty() { OK } else { USAGE })
}

/// A variant's title with its parameters filled in.
fn title(loaded: &Loaded, variant: &str) -> Text {
    let scope = loaded.scope(variant, &Params::new()).unwrap_or_default();
    fill(&loaded.lesson.variants[variant].title, &scope)
}
