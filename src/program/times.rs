//! The variables of a program that hold times, and whether the program would notice if all times became earlier by the
//! same amount. A program that only takes differences of times, or compares times with each other, does not notice.

use std::collections::{BTreeMap, HashMap};

use minijinja::Value;

use crate::lesson::{
    expr::{Expr, Scope, Shift, Template},
    plan::{Instruction, PlannedOperation, PlannedVerb, Program},
};

/// The variables that hold times, with the degree of each (see [`Shift`]).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Times(BTreeMap<String, i32>);

/// The times of several programs, without those that have none.
pub(crate) type TimesOfPrograms = HashMap<*const Program, Times>;

/// Where the value of a variable comes from.
enum Source<'p> {
    Expr(&'p Expr),
    /// A parameter of a `use`: a text that is read as a number if it is one.
    Given(&'p Template),
    Reply,
}

impl Times {
    /// `None` if the program may notice a shift of all times. `scope` has its parameters.
    pub(crate) fn of(program: &Program, scope: &Scope) -> Option<Self> {
        let mut names = Names { sources: BTreeMap::new(), known: BTreeMap::new(), scope };
        for instruction in &program.instructions {
            names.add_sources(instruction);
        }
        // A variable of this name would hide the clock.
        if names.sources.contains_key("now") {
            return None;
        }
        while names.find_more()? {}
        let all_known = names.known.len() == names.sources.len();
        let unnoticed = |instruction| names.is_unnoticed(instruction);
        if !all_known || !program.instructions.iter().all(unnoticed) {
            return None;
        }
        let times = names.known.iter().filter(|(_, shift)| shift.degree != 0);
        Some(Self(times.map(|(name, shift)| ((*name).to_owned(), shift.degree)).collect()))
    }

    pub(crate) fn degrees(&self) -> impl Iterator<Item = (&str, i32)> {
        self.0.iter().map(|(name, degree)| (name.as_str(), *degree))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

struct Names<'p> {
    /// All that may be assigned to each variable.
    sources: BTreeMap<&'p str, Vec<Source<'p>>>,
    /// What is known of the variables by the sources that have been looked at.
    known: BTreeMap<&'p str, Shift>,
    scope: &'p Scope,
}

/// A shift of all times changes a value in another way than by adding to it.
struct OtherChange;

impl<'p> Names<'p> {
    fn add_sources(&mut self, instruction: &'p Instruction) {
        let mut add = |name: &'p str, source| self.sources.entry(name).or_default().push(source);
        match instruction {
            Instruction::Set { name, value } => add(name, Source::Expr(value)),
            Instruction::Enter { with, .. } => {
                for (name, template) in with {
                    add(name, Source::Given(template));
                }
            }
            Instruction::Operate(operation) if !matches!(operation.verb, PlannedVerb::Wait(_)) => {
                for name in ["reply", "error", &operation.label] {
                    add(name, Source::Reply);
                }
            }
            _ => {}
        }
    }

    /// Looks at every source whose names are known. Returns whether more is known than before, and `None` if a variable
    /// may hold a time as well as something else.
    fn find_more(&mut self) -> Option<bool> {
        let mut more = false;
        for (name, sources) in &self.sources {
            let given = self.scope.get(name).map(of_value);
            let found = sources.iter().filter_map(|source| self.shift_of_source(source));
            for shift in found.map(Result::ok).chain(given.map(Some)).collect::<Vec<_>>() {
                let joined = self.known.get(name).map_or(shift, |known| known.or(shift?));
                more |= self.known.insert(name, joined?) != joined;
            }
        }
        Some(more)
    }

    /// `None` if not all of its names are known yet.
    fn shift_of_source(&self, source: &Source<'p>) -> Option<Result<Shift, OtherChange>> {
        let is_known = |name: &String| {
            self.known.contains_key(name.as_str()) || !self.sources.contains_key(name.as_str())
        };
        let of = |expr: &Expr| expr.names().iter().all(is_known).then(|| self.shift(expr).ok_or(OtherChange));
        match source {
            Source::Expr(expr) => of(expr),
            Source::Given(template) => match template.only_expression() {
                Some(expr) => of(expr),
                // What it is filled with is looked at with its instruction.
                None => Some(Ok(Shift::NONE)),
            },
            Source::Reply => Some(Ok(Shift::NONE)),
        }
    }

    fn shift(&self, expr: &Expr) -> Option<Shift> {
        Shift::of(expr.source(), &|name| match (self.known.get(name), self.scope.get(name)) {
            (Some(known), _) => *known,
            (None, _) if name == "now" => Shift::TIME,
            (None, Some(value)) => of_value(value),
            (None, None) => Shift::NONE,
        })
    }

    /// Whether what an instruction does is the same after a shift of all times, apart from what it assigns.
    fn is_unnoticed(&self, instruction: &Instruction) -> bool {
        let same = |expr: &Expr| self.shift(expr).is_some_and(|shift| shift.degree == 0);
        let all_same = |template: &Template| template.expressions().all(same);
        match instruction {
            Instruction::Operate(operation) => {
                let PlannedOperation { verb, until, every, releases, .. } = &**operation;
                let sent = verb.templates().into_iter();
                matches!(verb, PlannedVerb::Redis(_) | PlannedVerb::Script { .. } | PlannedVerb::Wait(_))
                    && sent.chain(every).chain(releases).all(all_same)
                    && until.iter().all(same)
            }
            Instruction::Believe { lock, .. } => all_same(lock),
            Instruction::JumpUnless { condition, .. } => same(condition),
            Instruction::RepeatBegin { bound } => all_same(bound),
            Instruction::RepeatNext { condition, .. } => condition.iter().all(same),
            Instruction::Enter { with, .. } => {
                let assigned = |template: &Template| template.only_expression().is_some();
                with.iter().all(|(_, template)| assigned(template) || all_same(template))
            }
            Instruction::Set { .. }
            | Instruction::Count { .. }
            | Instruction::Jump { .. }
            | Instruction::Leave
            | Instruction::Stop => true,
        }
    }
}

fn of_value(value: &Value) -> Shift {
    if value.is_integer() { Shift::WHOLE } else { Shift::NONE }
}

#[cfg(test)]
mod tests {
    use super::Times;
    use crate::{
        lesson::{Params, Scenario, library::from_text},
        program::tests::lesson,
    };

    fn times(steps: &str) -> Option<Vec<(String, i32)>> {
        let loaded = from_text("timed.yaml", &lesson(steps)).expect("a lesson");
        let scenario = Scenario::plan(&loaded, "only", &Params::new()).expect("a plan");
        let plan = &scenario.actors[0];
        let times = Times::of(&plan.program, &plan.scope)?;
        Some(times.degrees().map(|(name, degree)| (name.to_owned(), degree)).collect())
    }

    #[test]
    fn variables_that_hold_times_are_found_through_others() {
        let steps = "
    - let: { first: now }
    - acquire: { redis: 'SET lock ${self} NX PX 1000' }
    - let: { began: first, took: now - began, ends: began + 500 }
    - wait: '${ends - now}'
    - if: now < ends and took > 3
      then: [ let: { began: ends } ]";
        let known = ["began", "ends", "first"].map(|name| (name.to_owned(), 1));
        assert_eq!(times(steps), Some(known.to_vec()));
        assert_eq!(times("\n    - ask: { redis: GET k }"), Some(Vec::new()));
    }

    #[test]
    fn a_program_that_shows_a_time_notices() {
        for steps in [
            "- acquire: { redis: 'SET lock ${now}' }",
            "- let: { began: now }\n    - acquire: { redis: 'SET lock ${began + 5}' }",
            "- let: { began: now }\n    - if: began > 5\n      then: [ count: late ]",
            "- let: { began: 0 }\n    - look: { redis: GET k }\n    - let: { began: now }",
            "- look: { redis: GET k }\n    - let: { look: now }",
            "- look: { redis: GET k }\n    - let: { ends: now + look }",
            "- let: { began: now }\n    - wait: '${began}'",
        ] {
            let steps = format!("\n    {steps}\n    - last: {{ redis: GET k }}");
            assert_eq!(times(&steps), None, "{steps}");
        }
    }
}
