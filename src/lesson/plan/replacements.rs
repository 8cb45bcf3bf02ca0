//! The operations of programs that a variant replaces.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::Loaded;
use crate::{
    lesson::{
        Variant,
        error::{Mistake, Path},
        step::Step,
    },
    text::both,
};

/// Checks that each replacement replaces an operation; otherwise it is misspelt.
pub(super) fn check_replacements(
    variant: &Variant,
    programs: &IndexMap<String, Vec<Step>>,
    loaded: &Loaded,
    at: &Path,
) -> Result<(), Mistake> {
    variant.settings.check(loaded.lesson.lab_of(variant), &at.key("settings"))?;
    let recipes = loaded.recipes.programs.iter().map(|(name, recipe)| (name, &recipe.steps));
    let known: BTreeSet<String> = programs
        .iter()
        .chain(recipes)
        .flat_map(|(name, steps)| labels_of(steps).map(move |label| format!("{name}.{label}")))
        .collect();
    match variant.replace.keys().find(|target| !known.contains(*target)) {
        None => Ok(()),
        Some(target) => {
            let path = at.key("replace").key(target);
            if let Some((client, label)) = target.rsplit_once('.')
                && let Some(program) = variant
                    .clients
                    .as_ref()
                    .unwrap_or(&loaded.lesson.clients)
                    .get(client)
                    .and_then(|client| client.runs.as_ref())
            {
                let message = both!(
                    "`{client}` is a client, and `replace` names a program's operation",
                    "`{client}` 是客户端，而 `replace` 要写程序的操作"
                );
                return Err(Mistake::new(&path, message)
                    .help(both!("write `{program}.{label}`", "请写 `{program}.{label}`")));
            }
            Err(Mistake::unknown(&path, both!("operation", "操作"), target, known.iter().map(String::as_str)))
        }
    }
}

/// The labels of the operations among the steps.
pub(super) fn labels_of(steps: &[Step]) -> impl Iterator<Item = &String> {
    Step::each(steps).filter_map(|step| match step {
        Step::Operation { label, .. } => Some(label),
        _ => None,
    })
}
