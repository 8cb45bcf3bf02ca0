//! An exam: orders of moves that no story has shown, found by exploring and carried out with client processes, of which
//! somebody is to say whether they are safe.

use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hash, Hasher},
    ops::ControlFlow,
    sync::Arc,
    time::Duration,
};

use tokio::sync::mpsc;

use super::{
    explore::{Bounds, CarriedOut, OutcomeSeen, Progress, carry_out, explore},
    moves::folded,
    session::RunError,
};
use crate::{
    lab::LabOptions,
    lesson::{Expect, Failing, LabKind, Loaded, Params, Scenario},
    log::{Choice, EventKind, Log},
    text::Text,
    verdict::{breaches, why},
};

/// How many orders of a variant are tried for one that breaks something and one that does not. A number, so that a slow
/// machine asks the same questions.
const TRIED: u64 = 500;

/// So many are tried even where both kinds were found: later ones may be shorter.
const TRIED_AT_LEAST: u64 = 150;

/// After so long a search ends even so: some lessons take long for one order.
const LONGEST: Duration = Duration::from_secs(6);

/// An order with fewer moves gives itself away.
const SHORTEST: usize = 3;

/// An order with more lines does not fit a small terminal together with what is asked of it.
const MOST_LINES: usize = 14;

/// An order that was carried out.
#[derive(Debug, Clone)]
pub struct ExamQuestion {
    pub scenario: Scenario,
    /// Each move, and what was sent.
    pub order: Vec<String>,
    /// Whether nothing was broken that must never be.
    pub safe: bool,
    /// What was broken, and how it came to that.
    pub why: Option<Text>,
    /// What happened.
    pub log: Log,
}

impl ExamQuestion {
    /// What must never be, in the lesson's words.
    pub fn never(&self) -> Text {
        let says: Vec<Text> = self.scenario.invariants.iter().map(|plan| plan.says.clone()).collect();
        Text::join(&says, " ", "")
    }
}

/// Questions as they are found; the end of them, or of the search.
pub type Questions = mpsc::Receiver<Result<ExamQuestion, RunError>>;

/// Questions as they are asked for, mixed from many variants.
pub struct Exam {
    scenarios: VecDeque<Scenario>,
    options: LabOptions,
    found: VecDeque<ExamQuestion>,
    /// Whether the next one should be safe: one that always says yes must not do well.
    wants_safe: bool,
}

/// So many questions wait to be asked.
const AHEAD: usize = 2;

/// So many questions of the kind that is not wanted are set aside before one of them is asked after all.
const SET_ASIDE: usize = 8;

impl Exam {
    /// Of these lessons' variants, those that can be searched in a moment. The seed says in which order.
    pub fn new<'a>(
        lessons: impl IntoIterator<Item = &'a Arc<Loaded>>,
        options: LabOptions,
        seed: u64,
    ) -> Self {
        let plans = |loaded: &'a Arc<Loaded>| {
            let names = loaded.lesson.variants.keys();
            names.filter_map(|name| Scenario::plan(loaded, name, &Params::new()).ok())
        };
        let mut scenarios: Vec<Scenario> = lessons.into_iter().flat_map(plans).collect();
        // Variants that make up a table are much alike.
        scenarios.retain(|scenario| {
            let (lab, actors) = (scenario.lab(), scenario.actors.len());
            [LabKind::Redis, LabKind::Masters, LabKind::Mariadb].contains(&lab)
                && (2..=3).contains(&actors)
                && scenario.loaded.lesson.table.is_none()
        });
        scenarios.sort_by_cached_key(|scenario| {
            let mut hasher = DefaultHasher::new();
            (seed, &scenario.loaded.lesson.id, &scenario.variant).hash(&mut hasher);
            hasher.finish()
        });
        // Those that fail have orders of both kinds, the others safe ones alone: every other one fails, as long as there are
        // such.
        let (fail, prevent): (Vec<_>, Vec<_>) =
            scenarios.into_iter().partition(|scenario| scenario.variant().expect == Expect::Shown);
        Self {
            scenarios: in_turn(fail, prevent),
            options,
            found: VecDeque::new(),
            wants_safe: seed.is_multiple_of(2),
        }
    }

    /// Looks for the next question while somebody thinks about the last one. Must be called inside a `tokio` runtime.
    pub fn begin(mut self) -> Questions {
        let (ask, questions) = mpsc::channel(AHEAD);
        tokio::spawn(async move {
            while let Some(question) = Box::pin(self.next()).await.transpose() {
                let failed = question.is_err();
                if ask.send(question).await.is_err() || failed {
                    break;
                }
            }
        });
        questions
    }

    /// The next question; none after the last variant.
    async fn next(&mut self) -> Result<Option<ExamQuestion>, RunError> {
        loop {
            let wanted = self.found.iter().position(|question| question.safe == self.wants_safe);
            if wanted.is_none()
                && self.found.len() < SET_ASIDE
                && let Some(scenario) = self.scenarios.pop_front()
            {
                self.found.extend(Box::pin(questions(&scenario, &self.options)).await?);
                continue;
            }
            let next = self.found.remove(wanted.unwrap_or(0));
            self.wants_safe = next.as_ref().is_some_and(|question| !question.safe);
            return Ok(next);
        }
    }
}

/// One of these, one of the others, as long as there are any.
fn in_turn<T>(these: Vec<T>, others: Vec<T>) -> VecDeque<T> {
    let (mut these, mut others) = (these.into_iter(), others.into_iter());
    let mut mixed = VecDeque::new();
    while these.len() + others.len() > 0 {
        mixed.extend(these.next());
        mixed.extend(others.next());
    }
    mixed
}

/// Orders of a variant, safe ones and others, as far as there are such.
async fn questions(scenario: &Scenario, options: &LabOptions) -> Result<Vec<ExamQuestion>, RunError> {
    // Order by order: counted by states, how orders end is known only at the end of the search.
    let bounds = Bounds { confirmed_within: Some(Duration::ZERO), prune: false, ..Bounds::default() };
    let enough = |progress: &Progress| {
        let both_kinds = progress.violations > 0 && progress.violations < progress.tried.into();
        let enough = both_kinds && progress.tried >= TRIED_AT_LEAST;
        let ends = enough || progress.tried >= TRIED || progress.wall >= LONGEST;
        if ends { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    // Not every variant can be explored, and another one is as good.
    let Ok(mut explored) = explore(scenario, options, &bounds, &enough).await else { return Ok(Vec::new()) };
    if explored.outcomes.iter().all(|seen| !seen.violates) {
        // What nobody breaks by order alone may break where somebody stands still for a while.
        let bounds = Bounds { faults: vec![Failing::Freeze.anywhere()], ..bounds };
        let Ok(frozen) = explore(scenario, options, &bounds, &enough).await else { return Ok(Vec::new()) };
        explored = frozen;
    }
    // Fewer variants have orders that break something, so each gives two of them, which come to different things.
    let pick = |violates: bool, most: usize| {
        let fits = |seen: &&OutcomeSeen| seen.violates == violates && seen.first.len() >= SHORTEST;
        let mut seen: Vec<&OutcomeSeen> = explored.outcomes.iter().filter(fits).collect();
        // A fault must not give an order away.
        let is_plain =
            |seen: &OutcomeSeen| !seen.first.iter().any(|choice| matches!(choice, Choice::Inject(_)));
        seen.sort_by_key(|seen| (is_plain(seen), seen.first.len()));
        seen.into_iter().take(most).map(move |seen| (seen.first.clone(), violates)).collect::<Vec<_>>()
    };
    let mut questions = Vec::new();
    for (choices, violates) in pick(true, 2).into_iter().chain(pick(false, 1)) {
        let CarriedOut { moves, log, .. } = carry_out(scenario, options, choices).await?;
        let broken = breaches(scenario, &log).unwrap_or_default();
        let order = folded(&commands(moves, &log));
        // Nothing is asked that did not come out as it was found.
        if broken.is_empty() != violates && order.len() <= MOST_LINES {
            let says = || broken.first().map(|breach| scenario.invariants[breach.invariant].says.clone());
            questions.push(ExamQuestion {
                order,
                scenario: scenario.clone(),
                safe: !violates,
                why: why::first(scenario, &log).map(|why| why.text).or_else(says),
                log,
            });
        }
    }
    Ok(questions)
}

/// Moves with what was sent, without what was answered.
fn commands(moves: Vec<String>, log: &Log) -> Vec<String> {
    let events = log.events();
    let actors = events.iter().find_map(|event| match &event.kind {
        EventKind::LabReady { actors, .. } => Some(actors.as_slice()),
        _ => None,
    });
    let name =
        |actor: usize| actors.and_then(|actors| actors.get(actor)).map_or("", |actor| actor.name.as_str());
    let mut sent: Vec<(String, String)> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Sent { actor, label, command, .. } => {
                Some((format!("{}.{label}", name(actor.0 as usize)), command.to_string()))
            }
            _ => None,
        })
        .collect();
    let with_command = |mut words: String| {
        if let Some(at) = sent.iter().position(|(label, _)| *label == words) {
            let (_, command) = sent.remove(at);
            words = format!("{words}  {command}");
        }
        words
    };
    moves.into_iter().map(with_command).collect()
}
