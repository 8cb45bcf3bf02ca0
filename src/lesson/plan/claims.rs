//! What must be observed, with names checked. Evaluating claims is the verdict's business.

use std::collections::BTreeSet;

use super::{
    super::{
        error::{Mistake, Path},
        expr::{Expr, Mentions, Template, mentions::split_comparison},
        model::{Claim, Lesson},
    },
    locks::LockSentences,
    references,
    story::{Roster, TextPlan},
};
use crate::{
    log::{LockInfo, stands_for},
    text::Text,
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
    /// At some moment more believed to hold this lock than may.
    Overlap(String),
    /// At no moment more believed to hold this lock than may, and somebody did hold it.
    Exclusive(String),
}

/// The functions that claims may call. Each is explained where it is defined, in the verdict.
pub const FUNCTIONS: [&str; 20] = [
    "role",
    "value",
    "pttl",
    "exists",
    "owner",
    "children",
    "replies",
    "moves",
    "at",
    "before",
    "waited",
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
    /// What the lesson says of locks.
    pub(crate) locks_told: &'a [LockInfo],
}

impl<'a> Vocabulary<'a> {
    pub(crate) fn new(roster: &'a Roster<'a>, lesson: &'a Lesson, locks_told: &'a [LockInfo]) -> Self {
        let mut known: BTreeSet<String> = FUNCTIONS.into_iter().map(str::to_owned).collect();
        known.extend(roster.counters());
        known.extend(roster.params.keys().cloned());
        known.extend(roster.actors.iter().map(|plan| plan.actor.name.clone()));
        // A process of threads gives its name to theirs: `A.worker`.
        let process = roster.actors.iter().filter_map(|plan| plan.actor.name.split_once('.'));
        known.extend(process.map(|(name, _)| name.to_owned()));
        Self { known, locks: roster.locks(), roster, lesson, locks_told }
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
                Condition::Overlap(lock_name(overlap, &path.key("overlap"), vocabulary)?)
            }
            Claim::Exclusive { exclusive, .. } => {
                Condition::Exclusive(lock_name(exclusive, &path.key("exclusive"), vocabulary)?)
            }
        };
        let sentences = |lock: &str| LockSentences::of(lock, vocabulary.locks_told);
        let by_default = match &condition {
            Condition::That { .. } => None,
            Condition::Overlap(lock) => Some(sentences(lock).overlapped),
            Condition::Exclusive(lock) => Some(sentences(lock).exclusive),
        };
        let literal =
            |text: Text| TextPlan { en: Template::literal(text.en), zh: Template::literal(text.zh) };
        Ok(PlannedClaim { condition, says: says.or(by_default.map(literal)) })
    };
    claims.iter().enumerate().map(plan_one).collect()
}

/// A lock that somebody may have beliefs about, or the name of several.
pub(crate) fn lock_name(lock: &str, path: &Path, vocabulary: &Vocabulary<'_>) -> Result<String, Mistake> {
    let locks = &vocabulary.locks;
    let name = Template::parse(lock).map_err(|error| Mistake::new(path, error))?.pattern();
    if locks.iter().any(|known| stands_for(known, &name) || stands_for(&name, known)) {
        return Ok(name);
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
