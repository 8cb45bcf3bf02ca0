//! Checks programs and recipes that no client runs. Otherwise a mistake in them would show only when they are first
//! used.

use std::{cell::RefCell, collections::BTreeSet};

use indexmap::IndexMap;

use super::{
    super::{
        LabKind, Lesson, LessonError, Loaded, Recipes, Source,
        error::{Mistake, Path},
        library::carried_recipes,
        model::{Client, Params, Recipe},
        step::{Operation, Step},
    },
    compile::Compiler,
    scripts,
};
use crate::text::both;

/// The context for compiling unused steps: no parameters, and no replacements.
struct EmptyContext {
    params: Params,
    replace: IndexMap<String, Operation>,
}

impl EmptyContext {
    fn new() -> Self {
        Self { params: Params::new(), replace: IndexMap::new() }
    }

    fn compiler<'a>(
        &'a self,
        programs: &'a IndexMap<String, Vec<Step>>,
        scripts: &'a IndexMap<String, String>,
        recipes: &'a Recipes,
        program_path: &'a dyn Fn(&str) -> Path,
    ) -> Compiler<'a> {
        Compiler {
            programs,
            program_path,
            replace: &self.replace,
            replace_path: Path::root(),
            scripts,
            recipes,
            params: &self.params,
            param_path: &|name| Path::root().key("params").key(name),
            counted: &[],
            holes: None,
            lab: LabKind::of_every_product(),
            reads_lost: true,
            used: RefCell::default(),
            unused: true,
        }
    }
}

/// Reads a file of recipes and checks all of them, used or not.
pub fn check_recipes(source: &Source) -> Result<Recipes, LessonError> {
    let own = source.recipes()?;
    let mut recipes = (*carried_recipes()?).clone();
    recipes.local.extend(own.programs.keys().cloned());
    recipes.scripts.extend(own.scripts.clone());
    recipes.programs.extend(own.programs.clone());
    let scripts = own
        .scripts
        .iter()
        .try_for_each(|(name, text)| scripts::check(text, &Path::root().key("scripts").key(name)).map(drop));
    let (context, programs, none) = (EmptyContext::new(), IndexMap::new(), IndexMap::new());
    let compiler = context.compiler(&programs, &none, &recipes, &Recipe::path);
    scripts
        .and_then(|()| {
            own.programs.iter().try_for_each(|(name, Recipe { steps, params, .. })| {
                compiler.check_unused(name, (steps, &Recipe::path(name)), params.iter().cloned())
            })
        })
        .map_err(|mistake| source.place(&mistake))?;
    Ok(own)
}

/// Checks the programs of a lesson that no variant runs, as far as possible.
pub(crate) fn check(loaded: &Loaded) -> Result<(), Mistake> {
    let lesson = &loaded.lesson;
    if lesson.kata.is_some() {
        return Ok(());
    }
    let mut run = BTreeSet::new();
    for variant in lesson.variants.values() {
        let program = |name: &str| variant.programs.get(name).or_else(|| lesson.programs.get(name));
        for client in variant.clients.as_ref().unwrap_or(&lesson.clients).values() {
            let Client { runs, named_threads, .. } = client;
            let mut next: Vec<&str> = runs.iter().chain(named_threads.values()).map(String::as_str).collect();
            let mut seen = BTreeSet::new();
            while let Some(name) = next.pop() {
                if let Some(steps) = program(name).filter(|_| seen.insert(name)) {
                    run.insert(std::ptr::from_ref(steps));
                    next.extend(uses(steps));
                }
            }
        }
    }
    let params = || lesson.params.keys().cloned().chain(given_names(lesson));
    for (programs, path) in lesson.all_programs() {
        let mut known = lesson.programs.clone();
        known.extend(programs.clone());
        let context = EmptyContext::new();
        let program_path = |name: &str| {
            let shared = Path::root().key("programs");
            if programs.contains_key(name) { path.key(name) } else { shared.key(name) }
        };
        let compiler = context.compiler(&known, &lesson.scripts, &loaded.recipes, &program_path);
        for (name, steps) in programs.iter().filter(|(_, steps)| !run.contains(&std::ptr::from_ref(*steps))) {
            compiler.check_unused(name, (steps, &path.key(name)), params())?;
        }
    }
    Ok(())
}

/// Reports a parameter in the `with` of a client or a program that nothing in the lesson uses.
pub(crate) fn check_params(loaded: &Loaded) -> Result<(), Mistake> {
    let lesson = &loaded.lesson;
    let of_clients = lesson.all_clients().flat_map(|(clients, path)| {
        clients.iter().map(move |(group, client)| (client.with.keys().collect::<Vec<_>>(), path.key(group)))
    });
    let programs = lesson
        .all_programs()
        .flat_map(|(programs, path)| programs.iter().map(move |(name, steps)| (steps, path.key(name))));
    // Recipes check their own.
    let of_steps = programs.flat_map(|(steps, path)| Step::each_at(steps, &path)).filter_map(
        |(step, path)| match step {
            Step::Use { program, with } if lesson.programs.contains_key(program) => {
                Some((with.keys().collect(), path))
            }
            _ => None,
        },
    );
    let is_known = |name: &String| {
        lesson.params.contains_key(name)
            || lesson.variants.values().any(|variant| variant.params.contains_key(name))
            || asks_for(loaded.source.text(), name)
    };
    for (names, at) in of_clients.chain(of_steps) {
        let Some(name) = names.into_iter().find(|name| !is_known(name)) else { continue };
        let message = both!("nothing in this lesson asks for `{name}`", "这节课里没有地方用到 `{name}`");
        let known = lesson.params.keys().map(String::as_str).collect::<Vec<_>>().join("`, `");
        let help = if known.is_empty() {
            both!("a program asks for it with `${{{name}}}`", "程序里用 `${{{name}}}` 来取它")
        } else {
            both!(
                "a program asks for it with `${{{name}}}`; parameters here: `{known}`",
                "程序里用 `${{{name}}}` 来取它；这里的参数有：`{known}`"
            )
        };
        return Err(Mistake::new(&at.key("with").key(name), message).help(help));
    }
    Ok(())
}

/// Whether a name occurs in the text other than as the name of a field.
fn asks_for(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part) && !after.trim_start().starts_with(':')
    })
}

/// The programs and recipes that the steps use.
pub(crate) fn uses(steps: &[Step]) -> impl Iterator<Item = &str> {
    Step::each(steps).filter_map(|step| match step {
        Step::Use { program, .. } => Some(program.as_str()),
        _ => None,
    })
}

/// The names of parameters that any `with` gives a program.
fn given_names(lesson: &Lesson) -> impl Iterator<Item = String> {
    let steps =
        lesson.all_programs().flat_map(|(programs, _)| programs.values().flat_map(|steps| Step::each(steps)));
    let of_steps = steps.filter_map(|step| match step {
        Step::Use { with, .. } => Some(with.keys()),
        _ => None,
    });
    let clients = lesson.all_clients().flat_map(|(clients, _)| clients.values());
    of_steps.flatten().chain(clients.flat_map(|client| client.with.keys())).cloned()
}
