//! What the programs of a lesson count, and what that is called.

use std::collections::BTreeSet;

use super::{
    super::{
        Lesson, Step,
        error::{Mistake, Path},
    },
    ActorPlan, Loaded, invariants,
    story::Roster,
};
use crate::{
    log::CounterInfo,
    text::{Text, both},
};

/// The counters of a lesson: those of the actors, and those that programs of other variants count.
pub(crate) fn of(loaded: &Loaded, actors: &[ActorPlan]) -> BTreeSet<String> {
    let lesson = &loaded.lesson;
    let mut counters = actors.iter().flat_map(|plan| plan.program.counters.iter().cloned()).collect();
    let recipes = &loaded.recipes.programs;
    for steps in lesson.all_programs().flat_map(|(programs, _)| programs.values()) {
        within(steps, &mut counters);
        let used = super::unused::uses(steps).filter_map(|name| recipes.get(name));
        used.for_each(|recipe| within(&recipe.steps, &mut counters));
    }
    counters
}

fn within(steps: &[Step], counters: &mut BTreeSet<String>) {
    counters.extend(Step::each(steps).filter_map(|step| match step {
        Step::Count { counter } => Some(counter.clone()),
        _ => None,
    }));
}

/// The titles of counters, with parameters filled in.
pub(crate) fn titles(lesson: &Lesson, roster: &Roster<'_>) -> Result<Vec<CounterInfo>, Mistake> {
    let titled = lesson.counters.iter().map(|(name, spec)| {
        let path = Path::root().key("counters").key(name);
        if !roster.counters.contains(name) {
            let known = roster.counters.iter().map(String::as_str);
            let mistake = Mistake::unknown(&path, both!("counter", "计数器"), name, known);
            return Err(if roster.counters.is_empty() {
                mistake.help(both!(
                    "a program has to count it: `- count: {name}`",
                    "要有程序对它计数：`- count: {name}`"
                ))
            } else {
                mistake
            });
        }
        let title = title(&spec.title, &path.key("title"), roster)?;
        Ok(CounterInfo { name: name.clone(), title })
    });
    titled.collect()
}

/// A title of a lock or a counter, with parameters filled in.
pub(crate) fn title(title: &Text, path: &Path, roster: &Roster<'_>) -> Result<Text, Mistake> {
    roster.check_fixed_text(title, path)?;
    invariants::filled(title, path, roster)
}
