//! A lesson as it was loaded, and the checks of all of it.

use std::sync::Arc;

use super::{
    beliefs, blocked, cards, channels, constants, explored, fields, groups, idle, leases,
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
        error::{Mistake, Path},
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
            check_lesson(&self.lesson).map_err(|mistake| self.source.place(&mistake))?;
            let names = self.lesson.variants.keys();
            let scenarios: Vec<Scenario> =
                names.map(|name| Scenario::plan(self, name, &Params::new())).collect::<Result<_, _>>()?;
            locks::check_used(&self.lesson, &scenarios)
                .and_then(|()| cards::check(&self.lesson, &scenarios))
                .and_then(|()| table::check(&self.lesson, &scenarios))
                .and_then(|()| unused::check(self))
                .and_then(|()| unused::check_params(self))
                .and_then(|()| self.check_programs())
                .and_then(|()| scenarios.iter().try_for_each(sql::check_grammar))
                .and_then(|()| scenarios.iter().try_for_each(tables::check))
                .and_then(|()| scenarios.iter().try_for_each(rows::check))
                .and_then(|()| scenarios.iter().try_for_each(sql::check_columns))
                .and_then(|()| scenarios.iter().try_for_each(rows::check_changed))
                .and_then(|()| scenarios.iter().try_for_each(types::check))
                .and_then(|()| types::check_prefixes(&scenarios))
                .and_then(|()| fields::check_read(&scenarios))
                .and_then(|()| fields::check_written(&scenarios))
                .and_then(|()| scenarios.iter().try_for_each(groups::check))
                .and_then(|()| scenarios.iter().try_for_each(channels::check))
                .and_then(|()| scenarios.iter().try_for_each(leases::check))
                .and_then(|()| scenarios.iter().try_for_each(|scenario| lints::check(scenario, &scenarios)))
                .and_then(|()| lints::check_invariants(&scenarios))
                .and_then(|()| scenarios.iter().try_for_each(idle::check))
                .and_then(|()| scenarios.iter().try_for_each(blocked::check))
                .and_then(|()| scenarios.iter().try_for_each(order::check_claims))
                .and_then(|()| order::check_questions(&scenarios))
                .and_then(|()| scenarios.iter().try_for_each(znodes::check))
                .and_then(|()| scenarios.iter().try_for_each(lints::events::check))
                .and_then(|()| scenarios.iter().try_for_each(sql::check_transactions))
                .and_then(|()| scenarios.iter().try_for_each(locks::check_names))
                .and_then(|()| scenarios.iter().try_for_each(beliefs::check))
                .and_then(|()| scenarios.iter().try_for_each(explored::check))
                .map_err(|mistake| self.source.place(&mistake))?;
            self.check_kata()?;
            Ok(scenarios)
        })
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
