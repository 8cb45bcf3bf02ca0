//! What must be observed, with names checked. Evaluating claims is the verdict's business.

use std::collections::BTreeSet;

use super::{
    super::{
        error::{Mistake, Path},
        expr::{Expr, Mentions, mentions::split_comparison},
        model::{Claim, Lesson},
    },
    references,
    story::{Roster, TextPlan},
};

#[derive(Debug, Clone)]
pub struct PlannedClaim {
    pub condition: Condition,
    /// What that means, in a sentence, where the author wrote one.
    pub says: Option<TextPlan>,
}

#[derive(Debug, Clone)]
pub enum Condition {
    /// What is on the left, compared with what is on the right; `None` where the expression is simply to be
    /// true.
    That {
        source: String,
        left: Expr,
        /// The comparison and what is expected, with its own text: `== 10`.
        right: Option<(String, Expr)>,
        whole: Expr,
    },
    /// At some moment two clients believed to hold this lock.
    Overlap(String),
    /// At no moment two clients believed to hold this lock, and somebody did hold it.
    Exclusive(String),
}

/// The functions that claims may call. Each is explained where it is defined, in the verdict.
pub const FUNCTIONS: [&str; 17] = [
    "role",
    "value",
    "pttl",
    "exists",
    "owner",
    "children",
    "replies",
    "moves",
    "notified",
    "woken_by",
    "metric_by",
    "holders",
    "finished",
    "orphaned",
    "deleted_by_another",
    "renewed_by_another",
    "herd",
];

/// The attributes that an actor's name has in claims besides the labels of its operations.
pub const ACTOR_FUNCTIONS: [&str; 3] = ["notified", "finished", "crashed"];

/// The names that expressions over what happened may use.
pub(crate) struct Vocabulary<'a> {
    known: BTreeSet<String>,
    locks: BTreeSet<String>,
    roster: &'a Roster<'a>,
    lesson: &'a Lesson,
}

impl<'a> Vocabulary<'a> {
    pub(crate) fn new(roster: &'a Roster<'a>, lesson: &'a Lesson) -> Self {
        let mut known: BTreeSet<String> = FUNCTIONS.into_iter().map(str::to_owned).collect();
        known.extend(roster.counters());
        known.extend(roster.params.keys().cloned());
        known.extend(roster.actors.iter().map(|plan| plan.actor.name.clone()));
        // A process of threads gives its name to theirs: `A.worker`.
        let process = roster.actors.iter().filter_map(|plan| plan.actor.name.split_once('.'));
        known.extend(process.map(|(name, _)| name.to_owned()));
        Self { known, locks: roster.locks(), roster, lesson }
    }

    pub(crate) fn expr(&self, source: &str, path: &Path) -> Result<Expr, Mistake> {
        references::check(source, self.roster.clients, self.roster.actors, path)?;
        check_metrics(source, self.lesson, path)?;
        let expr = Expr::parse(source).map_err(|error| Mistake::new(path, error))?;
        Mistake::unless_known(path, "name", &expr.names(), self.known.iter())?;
        Ok(expr)
    }
}

pub(crate) fn plan(
    claims: &[Claim],
    path: &Path,
    vocabulary: &Vocabulary<'_>,
) -> Result<Vec<PlannedClaim>, Mistake> {
    if claims.is_empty() {
        return Err(Mistake::new(path, "a variant that claims nothing cannot be proved")
            .help("say what must be observed, such as `sold == 10` or `overlap: lock`"));
    }
    let plan_one = |(n, claim): (usize, &Claim)| -> Result<PlannedClaim, Mistake> {
        let path = path.index(n);
        let says = claim.says().map(|says| vocabulary.roster.text(says, &path.key("says"))).transpose()?;
        let condition = match claim {
            Claim::Bare(source) => expression(source, &path, vocabulary)?,
            Claim::That { that, .. } => expression(that, &path.key("that"), vocabulary)?,
            Claim::Overlap { overlap, .. } => {
                check_lock(overlap, &path.key("overlap"), vocabulary)?;
                Condition::Overlap(overlap.clone())
            }
            Claim::Exclusive { exclusive, .. } => {
                check_lock(exclusive, &path.key("exclusive"), vocabulary)?;
                Condition::Exclusive(exclusive.clone())
            }
        };
        Ok(PlannedClaim { condition, says })
    };
    claims.iter().enumerate().map(plan_one).collect()
}

pub(crate) fn check_lock(lock: &str, path: &Path, vocabulary: &Vocabulary<'_>) -> Result<(), Mistake> {
    let locks = &vocabulary.locks;
    if locks.contains(lock) {
        return Ok(());
    }
    let mistake = Mistake::unknown(path, "lock", lock, locks.iter().map(String::as_str));
    Err(if locks.is_empty() {
        mistake.help("somebody has to hold it: a program that says `holds` of it")
    } else {
        mistake
    })
}

fn expression(source: &str, path: &Path, vocabulary: &Vocabulary<'_>) -> Result<Condition, Mistake> {
    let whole = vocabulary.expr(source, path)?;
    let (left, right) = match split_comparison(source) {
        Some((left, operator, right)) => {
            (vocabulary.expr(left, path)?, Some((operator.to_owned(), vocabulary.expr(right, path)?)))
        }
        None => (whole.clone(), None),
    };
    Ok(Condition::That { source: source.to_owned(), left, right, whole })
}

/// `metric_by('name', …)` must ask for a counter that the lesson has read.
pub(crate) fn check_metrics(source: &str, lesson: &Lesson, path: &Path) -> Result<(), Mistake> {
    let mentions = Mentions::of(source);
    for name in mentions.calls_of("metric_by").filter_map(|call| call.arguments.first()?.as_ref()) {
        if !lesson.metrics.iter().any(|metric| metric == name) {
            let mistake = Mistake::unknown(path, "metric", name, lesson.metrics.iter().map(String::as_str));
            return Err(mistake.help("list it under `metrics:` so that it is read"));
        }
    }
    Ok(())
}
