//! `lockstep compare`: selects the two variants to compare.

use clap::Args;

use super::Failure;
use crate::{
    lesson::Loaded,
    recording::Recording,
    ui::state::{catalogue::CatalogueEntry, comparing},
};

/// What to compare.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The lesson's name, the path of a lesson file, or a recording
    pub(crate) lesson: String,
    /// Another recording of the same lesson, shown below the first
    #[arg(value_name = "RECORDING", conflicts_with_all = ["before", "after"])]
    pub(crate) other: Option<String>,
    /// The variant above [default: the one that the other variant fixes, or the first that shows the failure]
    #[arg(long, value_name = "NAME")]
    before: Option<String>,
    /// The variant below [default: one that fixes another, or the first that prevents the failure]
    #[arg(long, value_name = "NAME")]
    after: Option<String>,
}

impl CompareArgs {
    /// The two variants, by name. `recorded` are the recordings that were given, in their order.
    pub(crate) fn sides(&self, loaded: &Loaded, recorded: &[Recording]) -> Result<[String; 2], Failure> {
        if let [one, other] = recorded {
            let [one, other] = [&one.header, &other.header];
            if one.lesson != other.lesson {
                return Err(Failure::usage(format!(
                    "the recordings are of two lessons, `{}` and `{}`; compare two variants of one",
                    one.lesson, other.lesson
                )));
            }
            return two(&one.variant, &other.variant);
        }
        let id = &loaded.lesson.id;
        let names: Vec<&str> = loaded.lesson.variants.keys().map(String::as_str).collect();
        let place = |name: &String| {
            names.iter().position(|known| known == name).ok_or_else(|| {
                Failure::usage(format!(
                    "the lesson `{id}` has no variant `{name}`; it has {}",
                    names.join(", ")
                ))
            })
        };
        let before = self.before.as_ref().map(place).transpose()?;
        let after = self.after.as_ref().map(place).transpose()?;
        let playing = recorded.first().map(|recording| place(&recording.header.variant)).transpose()?;
        let entry = CatalogueEntry::from(&loaded.lesson);
        let usual = comparing::sides(&entry, after.or(before).or(playing)).ok_or_else(|| {
            Failure::usage(format!("the lesson `{id}` has only one variant: there is nothing to compare"))
        })?;
        two(names[before.unwrap_or(usual[0])], names[after.unwrap_or(usual[1])])
    }
}

fn two(before: &str, after: &str) -> Result<[String; 2], Failure> {
    if before == after {
        return Err(Failure::usage(format!(
            "`{before}` stands on both sides; a comparison needs two variants (`--before NAME`, `--after NAME`)"
        )));
    }
    Ok([before.to_owned(), after.to_owned()])
}
