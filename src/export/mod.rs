//! Exports finished runs for slides, articles and pages: the screen as a picture or a terminal recording, a page that
//! plays, a sequence diagram, the data. Pure functions of a log, its verdict and the lesson's texts; they must not know
//! how the run was made, nor touch a file.

pub mod cards;
pub(crate) mod cast;
pub(crate) mod crowd;
pub(crate) mod html;
pub(crate) mod json;
pub mod measured;
pub(crate) mod mermaid;
pub(crate) mod moment;
pub(crate) mod screen;
pub(crate) mod svg;

pub use html::class::{ClassPage, class_index, class_page};
pub use moment::Moment;
pub use screen::Look;

use clap::ValueEnum;
use serde::Serialize;

use crate::{
    lesson::Params,
    log::Log,
    printable,
    text::Text,
    ui::state::catalogue::{CatalogueEntry, CatalogueVariant},
    verdict::Verdict,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// The lesson screen as a drawing, at one moment
    Svg,
    /// A page that plays in a browser: one file, no network
    Html,
    /// A terminal recording, for asciinema
    Cast,
    /// A sequence diagram, for Mermaid
    Mermaid,
    /// The run as data: lesson, steps, verdict, events
    Json,
}

impl Format {
    /// The format for a file name, by its extension.
    pub fn of_file(name: &str) -> Option<Self> {
        match name.rsplit_once('.')?.1 {
            "htm" => Some(Self::Html),
            "mmd" => Some(Self::Mermaid),
            format => Self::from_str(format, false).ok(),
        }
    }

    /// Whether a file with this beginning was written in this format.
    pub fn wrote(self, beginning: &str) -> bool {
        let (first, mark) = match self {
            Self::Svg => ("<svg ", svg::MARK),
            Self::Html => ("<!DOCTYPE html>", html::MARK),
            Self::Cast => ("{", cast::MARK),
            Self::Mermaid => ("---\ntitle: ", mermaid::MARK),
            Self::Json => ("{", json::MARK),
        };
        beginning.starts_with(first) && beginning.contains(mark)
    }
}

/// A finished run, with the texts of its lesson.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The lesson's texts, with the run's values filled in.
    pub entry: CatalogueEntry,
    /// The index of the variant in the lesson.
    pub variant: usize,
    /// The values set with `--set`.
    pub params: Params,
    pub log: Log,
    /// `None` if the lesson has no claims, or if its story was left.
    pub verdict: Option<Verdict>,
}

impl Finished {
    fn variant(&self) -> Option<&CatalogueVariant> {
        self.entry.variants.get(self.variant)
    }

    pub fn variant_name(&self) -> &str {
        self.variant().map_or("", |variant| &variant.name)
    }

    pub fn title(&self) -> Text {
        Text::from_fn(|lang| {
            let variant = self.variant().map_or_else(String::new, |it| format!(" · {}", it.title.get(lang)));
            printable::line(&format!("{}{variant}", self.entry.lesson.title.get(lang))).into_owned()
        })
    }
}

/// Exports the run up to a moment, or all of it. Fails if the moment is not in the run.
pub fn export(run: &Finished, format: Format, moment: Option<Moment>, look: &Look) -> Result<String, Text> {
    let moment = moment.unwrap_or(Moment::End).resolve(&run.log)?;
    // Every format escapes its own text; this is the last check.
    Ok(match format {
        Format::Svg => printable::lines(&svg::picture(run, moment, look)).into_owned(),
        Format::Html => printable::lines(&html::page(run, moment, look)).into_owned(),
        Format::Cast => printable::json(&cast::recording(run, moment, look)).into_owned(),
        Format::Mermaid => printable::lines(&mermaid::diagram(run, moment, look.lang)).into_owned(),
        Format::Json => printable::json(&json::document(run, moment)).into_owned(),
    })
}

#[cfg(test)]
mod tests;
