//! Checks programs and recipes that no client runs. Otherwise a mistake in them would show only when they are first
//! used.

use std::{cell::RefCell, collections::BTreeSet};

use indexmap::IndexMap;

use super::{
    super::{
        LabKind, LessonError, Loaded, Recipes, Source,
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
    ) -> Compiler<'a> {
        Compiler {
            programs,
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
    recipes.beside.extend(own.programs.keys().cloned());
    recipes.scripts.extend(own.scripts.clone());
    recipes.programs.extend(own.programs.clone());
    let scripts = own
        .scripts
        .iter()
        .try_for_each(|(name, text)| scripts::check(text, &Path::root().key("scripts").key(name)).map(drop));
    let (context, programs, none) = (EmptyContext::new(), IndexMap::new(), IndexMap::new());
    let compiler = context.compiler(&programs, &none, &recipes);
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
    let params = || lesson.params.keys().cloned().chain(given_names(loaded));
    let root = Path::root();
    let own = lesson
        .variants
        .iter()
        .map(|(name, variant)| (&variant.programs, root.key("variants").key(name).key("programs")));
    for (programs, path) in std::iter::once((&lesson.programs, root.key("programs"))).chain(own) {
        let mut known = lesson.programs.clone();
        known.extend(programs.clone());
        let context = EmptyContext::new();
        let compiler = context.compiler(&known, &lesson.scripts, &loaded.recipes);
        for (name, steps) in programs.iter().filter(|(_, steps)| !run.contains(&std::ptr::from_ref(*steps))) {
            compiler.check_unused(name, (steps, &path.key(name)), params())?;
        }
    }
    Ok(())
}

/// Reports a parameter in the `with` of a client or a program that nothing in the lesson uses.
pub(crate) fn check_given(loaded: &Loaded) -> Result<(), Mistake> {
    let lesson = &loaded.lesson;
    let root = Path::root();
    let own = lesson.variants.iter().filter_map(|(name, variant)| {
        Some((variant.clients.as_ref()?, root.key("variants").key(name).key("clients")))
    });
    let of_clients =
        std::iter::once((&lesson.clients, root.key("clients"))).chain(own).flat_map(|(clients, path)| {
            clients.iter().map(move |(group, client)| {
                (client.with.keys().collect::<Vec<_>>(), path.key(group).key("with"))
            })
        });
    let own = lesson
        .variants
        .iter()
        .map(|(name, variant)| (&variant.programs, root.key("variants").key(name).key("programs")));
    let programs = std::iter::once((&lesson.programs, root.key("programs"))).chain(own);
    let of_steps = programs.flat_map(|(programs, path)| {
        programs.iter().flat_map(move |(name, steps)| {
            let mut found = Vec::new();
            given_to(steps, &path.key(name), &lesson.programs, &mut found);
            found
        })
    });
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
        return Err(Mistake::new(&at.key(name), message).help(help));
    }
    Ok(())
}

/// The parameters that steps pass to programs of the lesson, with their paths. Recipes check their own.
fn given_to<'l>(
    steps: &'l [Step],
    path: &Path,
    programs: &IndexMap<String, Vec<Step>>,
    found: &mut Vec<(Vec<&'l String>, Path)>,
) {
    for (n, step) in steps.iter().enumerate() {
        let path = path.index(n);
        match step {
            Step::Use { program, with } if programs.contains_key(program) => {
                found.push((with.keys().collect(), path.key("with")));
            }
            Step::If { then, otherwise, .. } => {
                given_to(then, &path.key("then"), programs, found);
                given_to(otherwise, &path.key("else"), programs, found);
            }
            Step::Repeat { steps, .. } => given_to(steps, &path.key("repeat"), programs, found),
            _ => {}
        }
    }
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
pub(crate) fn uses(steps: &[Step]) -> Vec<&str> {
    let in_each = steps.iter().map(|step| match step {
        Step::Use { program, .. } => vec![program.as_str()],
        Step::If { then, otherwise, .. } => [uses(then), uses(otherwise)].concat(),
        Step::Repeat { steps, .. } => uses(steps),
        _ => Vec::new(),
    });
    in_each.flatten().collect()
}

/// The names of parameters that any `with` gives a program.
fn given_names(loaded: &Loaded) -> Vec<String> {
    fn within(steps: &[Step], names: &mut Vec<String>) {
        for step in steps {
            match step {
                Step::Use { with, .. } => names.extend(with.keys().cloned()),
                Step::If { then, otherwise, .. } => {
                    within(then, names);
                    within(otherwise, names);
                }
                Step::Repeat { steps, .. } => within(steps, names),
                _ => {}
            }
        }
    }
    let lesson = &loaded.lesson;
    let mut names = Vec::new();
    let own = lesson.variants.values().flat_map(|variant| variant.programs.values());
    lesson.programs.values().chain(own).for_each(|steps| within(steps, &mut names));
    let clients = lesson.variants.values().filter_map(|variant| variant.clients.as_ref());
    let clients = std::iter::once(&lesson.clients).chain(clients).flat_map(|clients| clients.values());
    names.extend(clients.flat_map(|client| client.with.keys().cloned()));
    names
}
