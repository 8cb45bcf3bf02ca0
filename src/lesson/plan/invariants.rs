//! What must never be so, with names checked. Watching for it is the verdict's business.

use std::{collections::BTreeSet, fmt};

use super::{
    super::{
        Scenario,
        error::{Mistake, Path},
        expr::{Expr, Scope, Template},
        invariant::{Invariant, Never},
        model::{Lesson, Variant},
    },
    claims::{self, Vocabulary},
    references,
    settled::values,
    story::Roster,
};
use crate::text::Text;

impl Scenario {
    /// Compiles an expression that somebody wants never to be so beside the lesson's. Whatever it names must be there:
    /// of a counter that nobody counts it would never be so.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn never(&self, source: &str) -> Result<Expr, String> {
        let path = Path::root();
        let told = |mistake: Mistake| match mistake.help {
            Some(help) => format!("{}; {help}", mistake.message),
            None => mistake.message,
        };
        let expr = Expr::parse(source)?;
        references::check(source, &self.clients, &self.actors, &path).map_err(told)?;
        claims::check_metrics(source, &self.loaded.lesson, &path).map_err(told)?;
        let mut known: BTreeSet<&str> = claims::FUNCTIONS.into_iter().collect();
        for plan in &self.actors {
            let name = plan.actor.name.as_str();
            known.extend([name, name.split('.').next().unwrap_or(name)]);
            known.extend(plan.program.counters.iter().map(String::as_str));
        }
        let names = expr.names();
        let mut unknown =
            names.iter().filter(|name| !known.contains(name.as_str()) && self.scope.get(name).is_none());
        match unknown.next() {
            None => Ok(expr),
            Some(name) => Err(told(Mistake::unknown(&path, "name", name, known))),
        }
    }
}

/// Something that must never be so, ready to be watched for.
#[derive(Debug, Clone)]
pub struct InvariantPlan {
    pub never: NeverPlan,
    /// What is broken when it is so, its parameters filled in.
    pub says: Text,
    /// The challenge of free play, its parameters filled in.
    pub goal: Text,
}

#[derive(Debug, Clone)]
pub enum NeverPlan {
    /// That this is true of what has happened so far.
    That(Expr),
    /// That two clients believe at one time that they hold this lock.
    Overlap(String),
}

impl fmt::Display for NeverPlan {
    /// As a lesson has it: `sold > stock`, `overlap: lock`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::That(expr) => f.write_str(expr.source()),
            Self::Overlap(lock) => write!(f, "overlap: {lock}"),
        }
    }
}

/// The variant's own, or else the lesson's, or else one for each lock that its programs have beliefs about.
pub(crate) fn plan(
    lesson: &Lesson,
    (name, variant): (&str, &Variant),
    roster: &Roster<'_>,
    vocabulary: &Vocabulary<'_>,
) -> Result<Vec<InvariantPlan>, Mistake> {
    let root = Path::root();
    match (&variant.invariants, &lesson.invariants) {
        (Some(own), _) => {
            let path = root.key("variants").key(name).key("invariants");
            each(own, &path, roster, vocabulary)
        }
        (None, Some(shared)) => {
            let plans = each(shared, &root.key("invariants"), roster, vocabulary);
            // It can be wrong in one variant only, and its place in the file does not say in which.
            plans.map_err(|mistake| {
                let help = mistake.help.as_ref().map(|help| format!("{help}; ")).unwrap_or_default();
                let found = format!("found in the variant `{name}`, which can have `invariants` of its own");
                mistake.help(help + &found)
            })
        }
        (None, None) => Ok(roster.locks().into_iter().map(of_lock).collect()),
    }
}

fn each(
    invariants: &[Invariant],
    path: &Path,
    roster: &Roster<'_>,
    vocabulary: &Vocabulary<'_>,
) -> Result<Vec<InvariantPlan>, Mistake> {
    if invariants.is_empty() {
        return Err(Mistake::new(path, "an empty list of what must never be")
            .help("leave `invariants` out: then no lock may have two holders"));
    }
    let plan_one = |(n, invariant): (usize, &Invariant)| -> Result<InvariantPlan, Mistake> {
        let path = path.index(n);
        let never = match &invariant.never {
            Never::That(source) => NeverPlan::That(vocabulary.expr(source, &path.key("never"))?),
            Never::Overlap { overlap } => {
                claims::check_lock(overlap, &path.key("never").key("overlap"), vocabulary)?;
                NeverPlan::Overlap(overlap.clone())
            }
        };
        Ok(InvariantPlan {
            never,
            says: filled(&invariant.says, &path.key("says"), roster)?,
            goal: filled(&invariant.goal, &path.key("goal"), roster)?,
        })
    };
    invariants.iter().enumerate().map(plan_one).collect()
}

/// A goal is read before anything has happened, so only parameters have a value.
fn filled(text: &Text, path: &Path, roster: &Roster<'_>) -> Result<Text, Mistake> {
    let plan = roster.text(text, path)?;
    let names = Scope::new(values(roster.params)).value();
    for (template, lang) in [(&plan.en, "en"), (&plan.zh, "zh")] {
        let mut used = template.names().into_iter();
        if let Some(counter) = used.find(|name| !roster.params.contains_key(name)) {
            return Err(Mistake::new(
                &path.key(lang),
                format!("`{counter}` has no value before the first move"),
            )
            .help("what must never be is said with parameters alone"));
        }
    }
    let fill = |template: &Template, lang: &str| {
        template.render(&names).map_err(|error| Mistake::new(&path.key(lang), error))
    };
    Ok(Text { en: fill(&plan.en, "en")?, zh: fill(&plan.zh, "zh")? })
}

/// What goes for every lock, where the author says nothing.
fn of_lock(lock: String) -> InvariantPlan {
    // `lock` is the name that nearly all give it: read as the word that it is.
    let (en, zh) = match lock.as_str() {
        "lock" => ("the lock".to_owned(), "锁".to_owned()),
        other => (other.to_owned(), format!(" {other}")),
    };
    InvariantPlan {
        never: NeverPlan::Overlap(lock),
        says: Text {
            en: format!("Two clients hold {en} at the same time."),
            zh: format!("两个客户端同时持有{zh}。"),
        },
        goal: Text {
            en: format!("Let two clients hold {en} at the same time."),
            zh: format!("让两个客户端同时持有{zh}。"),
        },
    }
}
