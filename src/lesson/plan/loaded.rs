//! A lesson as it was loaded, and the checks of all of it.

use std::sync::Arc;

use super::{
    beliefs, blocked, cards, channels, constants, explored, fields, groups, idle, keys, leases,
    lesson::check_lesson,
    lints, locks, order,
    params::params,
    scenario::Scenario,
    sql::{self, rows, tables},
    types, unused, znodes,
};
use crate::{
    lesson::{
        Lesson, LessonError, Params, Recipes, Source,
        error::{Mistake, Mistakes, Path},
        expr::{Scope, within_allowance},
        invariant::{Invariant, Never},
        table,
    },
    text::both,
};

/// A parsed lesson with its source text.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub lesson: Arc<Lesson>,
    /// The source text, so that mistakes found later can be located.
    pub source: Source,
    pub recipes: Arc<Recipes>,
    /// Whether the lesson is carried in the binary; then so are the programs that it starts.
    pub carried: bool,
}

impl Loaded {
    /// The names that the texts of a variant may use, without planning its programs.
    pub fn scope(&self, variant: &str, overrides: &Params) -> Result<Scope, LessonError> {
        let at = Path::of_variant(variant);
        let Some(known) = self.lesson.variants.get(variant) else { return Ok(Scope::default()) };
        let params = params(&self.lesson, known, overrides, &at);
        params
            .map(|params| Scope::new(constants::values(&params)))
            .map_err(|mistake| self.source.place(&mistake))
    }

    /// Checks the whole lesson: plans every variant and checks the texts that belong to no variant. Returns the
    /// variants, ready to run.
    pub fn check(self: &Arc<Self>) -> Result<Vec<Scenario>, LessonError> {
        within_allowance(|| {
            let mut found = Mistakes::default();
            found.keep(check_lesson(&self.lesson));
            let names = self.lesson.variants.keys();
            let scenarios: Vec<Scenario> =
                names.filter_map(|name| found.keep(Scenario::resolve(self, name, &Params::new()))).collect();
            // What is said of names that are wrong would be wrong, too.
            if found.is_empty() {
                self.lint(&scenarios, &mut found);
            }
            let scenarios = found.or(scenarios).map_err(|mistakes| self.source.place_all(&mistakes))?;
            self.check_kata()?;
            Ok(scenarios)
        })
    }

    /// Checks what is wrong although every name is known.
    fn lint(self: &Arc<Self>, scenarios: &[Scenario], found: &mut Mistakes) {
        found.keep(locks::check_used(&self.lesson, scenarios));
        found.keep(cards::check(&self.lesson, scenarios));
        found.keep(table::check(&self.lesson, scenarios));
        found.keep(unused::check(self));
        found.keep(unused::check_params(self));
        found.keep(self.check_programs());
        found.each(scenarios, sql::check_grammar);
        found.each(scenarios, tables::check);
        found.each(scenarios, rows::check);
        found.each(scenarios, sql::check_columns);
        found.each(scenarios, rows::check_changed);
        found.each(scenarios, types::check);
        found.keep(types::check_prefixes(scenarios));
        found.each(scenarios, keys::check_tags);
        found.keep(fields::check_read(scenarios));
        found.keep(fields::check_written(scenarios));
        found.each(scenarios, groups::check);
        found.each(scenarios, channels::check);
        found.each(scenarios, leases::check);
        found.each(scenarios, |scenario| lints::check(scenario, scenarios));
        found.keep(lints::check_reached(scenarios));
        found.each(scenarios, idle::check);
        found.each(scenarios, blocked::check);
        found.each(scenarios, order::check_claims);
        found.keep(order::check_questions(scenarios));
        found.each(scenarios, znodes::check);
        found.each(scenarios, lints::events::check);
        found.each(scenarios, sql::check_transactions);
        found.each(scenarios, locks::check_names);
        found.each(scenarios, beliefs::check);
        found.each(scenarios, explored::check);
    }

    /// Checks that each invariant that is an expression also has a sentence, which is what learners read.
    ///
    /// # Errors
    /// The first invariant without a sentence, with its place.
    pub fn check_sentences(&self) -> Result<(), LessonError> {
        let root = Path::root();
        let own = self.lesson.variants.iter().filter_map(|(name, variant)| {
            Some((variant.invariants.as_ref()?, Path::of_variant(name).key("invariants")))
        });
        let shared = self.lesson.invariants.iter().map(|shared| (shared, root.key("invariants")));
        for (invariants, path) in shared.chain(own) {
            let unsaid = |known: &Invariant| matches!(known.never, Never::That(_)) && known.says.is_none();
            if let Some(n) = invariants.iter().position(unsaid) {
                let message = both!(
                    "this invariant is an expression and says nothing",
                    "这个不变式是表达式，却没有说明"
                );
                let mistake = Mistake::new(&path.index(n), message).help(both!(
                    "`--strict` wants `says: {{ en: …, zh: … }}` beside it: what learners read when it is broken",
                    "`--strict` 要求写上 `says: {{ en: …, zh: … }}`：它被违反时学员看到的就是这句话"
                ));
                return Err(self.source.place(&mistake));
            }
        }
        Ok(())
    }
}
