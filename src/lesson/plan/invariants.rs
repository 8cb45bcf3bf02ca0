//! Plans invariants: checks their names. The verdict watches for violations.

use std::{collections::BTreeSet, fmt};

use super::{
    super::{
        LessonError, Scenario,
        error::{Mistake, Mistakes, Path, finding},
        expr::{Expr, Scope, Template, within_allowance},
        invariant::{Invariant, Never},
        model::{Lesson, Variant},
    },
    claims::{self, Vocabulary},
    constants::values,
    locks::LockSentences,
    references,
    story::Roster,
};
use crate::{
    log::LockInfo,
    text::{Text, both},
};

impl Scenario {
    /// Compiles a user's own invariant, in addition to the lesson's. All its names must exist: a condition over an
    /// unknown counter would never hold.
    ///
    /// # Errors
    /// The mistake in it, with its help.
    pub fn never(&self, source: &str) -> Result<Expr, Text> {
        self.claim(source).map_err(|mistake| match mistake.help {
            Some(help) => Text::join(&[mistake.message, help], "; ", "；"),
            None => mistake.message,
        })
    }

    /// Compiles an expression as in claims that is not in a file.
    ///
    /// # Errors
    /// The mistake in it, with its column.
    pub fn expression(&self, source: &str) -> Result<Expr, LessonError> {
        let compiled = within_allowance(|| self.claim(source));
        compiled.map_err(|mistake| self.wrong_expression(source, mistake.message, mistake.help))
    }

    /// Creates the error for an expression, located at the first word of it that the message quotes.
    pub fn wrong_expression(
        &self,
        source: &str,
        message: impl Into<Text>,
        help: Option<Text>,
    ) -> LessonError {
        let message = message.into();
        let mut quoted =
            message.en.split('`').skip(1).step_by(2).filter(|word| *word != source && !word.is_empty());
        let at = quoted.find_map(|word| source.find(word)).unwrap_or(0);
        let column = source[..at].chars().count() + 1;
        let excerpt = Some(source.to_owned());
        LessonError {
            file: "expression".to_owned(),
            place: Some((1, column)),
            excerpt,
            message,
            help,
            more: Vec::new(),
        }
    }

    fn claim(&self, source: &str) -> Result<Expr, Mistake> {
        let path = Path::root();
        let expr = Expr::parse(source).map_err(|error| Mistake::new(&path, error))?;
        references::check(source, &self.clients, &self.actors, &path)?;
        claims::check_metrics(source, &self.loaded.lesson, &path)?;
        let mut known: BTreeSet<&str> = claims::FUNCTIONS.into_iter().collect();
        for plan in &self.actors {
            let name = plan.actor.name.as_str();
            known.extend([name, name.split('.').next().unwrap_or(name)]);
        }
        known.extend(self.counters.iter().map(String::as_str));
        let names = expr.names();
        let mut unknown =
            names.iter().filter(|name| !known.contains(name.as_str()) && self.scope.get(name).is_none());
        match unknown.next() {
            None => Ok(expr),
            Some(name) => Err(Mistake::unknown(&path, both!("name", "变量"), name, known)),
        }
    }
}

/// An invariant, ready to be watched.
#[derive(Debug, Clone)]
pub struct InvariantPlan {
    pub never: NeverPlan,
    /// The sentence that says what is broken, with its parameters filled in.
    pub says: Text,
    /// The challenge in free play, with its parameters filled in.
    pub goal: Text,
}

#[derive(Debug, Clone)]
pub enum NeverPlan {
    /// This expression over the run so far is true.
    That(Expr),
    /// More actors believe at the same time that they hold this lock than may.
    Overlap(String),
}

impl fmt::Display for NeverPlan {
    /// Writes the condition as in a lesson: `sold > stock`, `overlap: lock`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::That(expr) => f.write_str(expr.source()),
            Self::Overlap(lock) => write!(f, "overlap: {lock}"),
        }
    }
}

/// The variant's invariants, or else the lesson's, or else one for each lock that its programs have beliefs about.
pub(crate) fn plan(
    lesson: &Lesson,
    (name, variant): (&str, &Variant),
    roster: &Roster<'_>,
    vocabulary: &Vocabulary<'_>,
) -> Result<Vec<InvariantPlan>, Mistakes> {
    let root = Path::root();
    match (&variant.invariants, &lesson.invariants) {
        (Some(own), _) => {
            let path = Path::of_variant(name).key("invariants");
            each(own, &path, roster, vocabulary)
        }
        (None, Some(shared)) => {
            let plans = each(shared, &root.key("invariants"), roster, vocabulary);
            // A shared invariant may be wrong in one variant only, and its place in the file does not show which.
            plans.map_err(|mistakes| {
                mistakes.map(|mistake| {
                    let found = both!(
                        "found in the variant `{name}`, which can have `invariants` of its own",
                        "在方案 `{name}` 里发现；方案可以有自己的 `invariants`"
                    );
                    let help: Vec<Text> = mistake.help.clone().into_iter().chain([found]).collect();
                    mistake.help(Text::join(&help, "; ", "；"))
                })
            })
        }
        (None, None) => {
            Ok(roster.locks().into_iter().map(|lock| of_lock(lock, vocabulary.lock_infos)).collect())
        }
    }
}

fn each(
    invariants: &[Invariant],
    path: &Path,
    roster: &Roster<'_>,
    vocabulary: &Vocabulary<'_>,
) -> Result<Vec<InvariantPlan>, Mistakes> {
    if invariants.is_empty() {
        let finding = finding!(
            "an empty list of what must never be",
            "“绝不允许”的列表是空的",
            "leave `invariants` out: then no lock may have too many holders",
            "请去掉 `invariants`：那样就表示任何锁的持有者都不能过多"
        );
        return Err(path.mistake(finding).into());
    }
    let plan_one = |(n, invariant): (usize, &Invariant)| -> Result<InvariantPlan, Mistake> {
        let path = path.index(n);
        let mut plan = match &invariant.never {
            Never::That(source) => so(vocabulary.expr(source, &path.key("never"))?),
            Never::Overlap { overlap } => {
                let lock = claims::lock_name(overlap, &path.key("never").key("overlap"), vocabulary)?;
                of_lock(lock, vocabulary.lock_infos)
            }
        };
        let own = [(&invariant.says, "says", &mut plan.says), (&invariant.goal, "goal", &mut plan.goal)];
        for (text, key, filled_in) in own {
            if let Some(text) = text {
                *filled_in = filled(text, &path.key(key), roster)?;
            }
        }
        if matches!(plan.never, NeverPlan::That(_)) && invariant.says.is_some() && invariant.goal.is_none() {
            // The author's sentence tells a learner more than the expression.
            plan.goal = plan.says.clone();
        }
        Ok(plan)
    };
    Mistakes::all(invariants.iter().enumerate().map(plan_one))
}

/// Renders a text that is read before anything has happened, so that only parameters have values.
pub(crate) fn filled(text: &Text, path: &Path, roster: &Roster<'_>) -> Result<Text, Mistake> {
    let plan = roster.text(text, path)?;
    let names = Scope::new(values(roster.params)).value();
    for (template, lang) in [(&plan.en, "en"), (&plan.zh, "zh")] {
        let mut used = template.names().into_iter();
        if let Some(counter) = used.find(|name| !roster.params.contains_key(name)) {
            return Err(Mistake::new(
                &path.key(lang),
                both!("`{counter}` has no value before the first move", "第一步之前 `{counter}` 还没有值"),
            )
            .help(both!("what must never be is said with parameters alone", "不变式的文字里只能用参数")));
        }
    }
    let fill = |template: &Template, lang: &str| {
        template.render(&names).map_err(|error| Mistake::new(&path.key(lang), error))
    };
    Ok(Text { en: fill(&plan.en, "en")?, zh: fill(&plan.zh, "zh")? })
}

/// An invariant for an expression, with default sentences.
pub(crate) fn so(expr: Expr) -> InvariantPlan {
    let source = expr.source();
    let says = Text::new(
        format!("What must never be is so: `{source}`."),
        format!("出现了绝不允许的情况：`{source}`。"),
    );
    let goal = Text::new(format!("Bring it about that `{source}`."), format!("让 `{source}` 成立。"));
    InvariantPlan { never: NeverPlan::That(expr), says, goal }
}

/// The default invariant for a lock.
fn of_lock(lock: String, known: &[LockInfo]) -> InvariantPlan {
    let LockSentences { says, goal, .. } = LockSentences::of(&lock, known);
    InvariantPlan { never: NeverPlan::Overlap(lock), says, goal }
}
