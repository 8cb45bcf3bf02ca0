//! An exam: orders of moves that no story has shown, found by exploring and carried out with client
//! processes. The learner says whether each is safe.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    ops::ControlFlow,
    sync::Arc,
    time::Duration,
};

use tokio::sync::mpsc;

use super::{
    explore::{Bounds, CarriedOut, ExploreError, Explored, OutcomeSeen, Progress, carry_out, explore},
    moves::{Answered, in_lines},
    session::RunError,
};
use crate::{
    lab::LabOptions,
    lesson::{Expect, Failing, LabKind, Loaded, Params, Scenario},
    log::{ActorId, Choice, Command, EventKind, Log},
    text::Text,
    verdict::{breaches, why},
};

/// The most orders of a variant that are tried to find one that breaks something and one that does not. A
/// number rather than a time, so that a slow machine asks the same questions.
const TRIED: u64 = 500;

/// The fewest orders that are tried even if both kinds were found: later ones may be shorter.
const TRIED_AT_LEAST: u64 = 150;

/// The time after which a search ends in any case: in some lessons one order takes long.
const LONGEST: Duration = Duration::from_secs(6);

/// The same on etcd, where an order takes seconds.
const LONGEST_ON_ETCD: Duration = Duration::from_secs(15);

/// The fewest choices of an order: a shorter one gives itself away.
const SHORTEST: usize = 3;

/// The most lines of an order: a longer one does not fit a small terminal together with the question.
const MOST_LINES: usize = 13;

/// A question about an order that was carried out.
#[derive(Debug, Clone)]
pub struct ExamQuestion {
    pub scenario: Scenario,
    /// Each move with the command that was sent.
    pub order: Vec<Text>,
    /// The same with the replies, which show how it came about.
    pub answered: Vec<Text>,
    /// The scripts that were run, by name.
    pub scripts: BTreeMap<String, String>,
    /// Whether no invariant was broken.
    pub safe: bool,
    /// What was broken, and how that came about.
    pub why: Option<Text>,
    pub log: Log,
}

impl ExamQuestion {
    /// What must never happen, in the lesson's words.
    pub fn never(&self) -> Text {
        let says: Vec<Text> = self.scenario.invariants.iter().map(|plan| plan.says.clone()).collect();
        Text::join(&says, " ", "")
    }
}

/// Questions as they are found. Closed after the last question, or when the search fails.
pub type Questions = mpsc::Receiver<Result<ExamQuestion, RunError>>;

/// Questions from many variants, found as they are needed.
pub struct Exam {
    scenarios: VecDeque<Scenario>,
    options: LabOptions,
    found: VecDeque<ExamQuestion>,
    /// The orders that were found. Variants that differ only under a fault have the same order without one.
    seen: HashSet<Vec<Text>>,
    /// Whether the next question should be safe: a learner who always gives the same answer must not do well.
    wants_safe: bool,
}

/// The number of questions that are found in advance.
const AHEAD: usize = 2;

/// How many questions of the unwanted kind are set aside before one of them is asked after all.
const SET_ASIDE: usize = 8;

impl Exam {
    /// Selects the variants of these lessons that can be searched quickly. The seed determines their order.
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
        // Variants that form a table are much alike.
        scenarios.retain(|scenario| {
            let (lab, actors) = (scenario.lab(), scenario.actors.len());
            [LabKind::Redis, LabKind::Masters, LabKind::Mariadb, LabKind::Zookeeper, LabKind::Etcd]
                .contains(&lab)
                && (2..=4).contains(&actors)
                && scenario.loaded.lesson.table.is_none()
        });
        scenarios.sort_by_cached_key(|scenario| {
            let mut hasher = DefaultHasher::new();
            (seed, &scenario.loaded.lesson.id, &scenario.variant).hash(&mut hasher);
            hasher.finish()
        });
        // Variants that fail have orders of both kinds, the others only safe ones. So the two kinds of
        // variants alternate as long as there are any.
        let (fail, prevent): (Vec<_>, Vec<_>) =
            scenarios.into_iter().partition(|scenario| scenario.variant().expects() == Expect::Shown);
        let mut scenarios = interleaved(fail, prevent);
        // Nobody waits for the slowest search: it is made while others are answered.
        let slow = |scenario: &Scenario| scenario.lab() == LabKind::Etcd;
        let soonest = scenarios.iter().position(|scenario| !slow(scenario)).unwrap_or(0);
        scenarios.rotate_left(soonest);
        Self {
            scenarios,
            options,
            found: VecDeque::new(),
            seen: HashSet::new(),
            wants_safe: seed.is_multiple_of(2),
        }
    }

    /// Looks for the next question while the learner thinks about the last one. Must be called inside a
    /// `tokio` runtime.
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

    /// The next question, or `None` after the last variant.
    async fn next(&mut self) -> Result<Option<ExamQuestion>, RunError> {
        loop {
            let wanted = self.found.iter().position(|question| question.safe == self.wants_safe);
            if wanted.is_none()
                && self.found.len() < SET_ASIDE
                && let Some(scenario) = self.scenarios.pop_front()
            {
                let found = Box::pin(questions(&scenario, &self.options)).await?;
                self.keep(found);
                continue;
            }
            let next = self.found.remove(wanted.unwrap_or(0));
            self.wants_safe = next.as_ref().is_some_and(|question| !question.safe);
            return Ok(next);
        }
    }

    /// Adds the questions whose orders were not found before.
    fn keep(&mut self, mut found: Vec<ExamQuestion>) {
        found.retain(|question| self.seen.insert(question.order.clone()));
        self.found.extend(found);
    }
}

/// Interleaves two lists; the rest of the longer one comes last.
fn interleaved<T>(these: Vec<T>, others: Vec<T>) -> VecDeque<T> {
    let (mut these, mut others) = (these.into_iter(), others.into_iter());
    let mut mixed = VecDeque::new();
    while these.len() + others.len() > 0 {
        mixed.extend(these.next());
        mixed.extend(others.next());
    }
    mixed
}

/// How orders of a variant end.
async fn outcomes(scenario: &Scenario, options: &LabOptions) -> Result<Vec<OutcomeSeen>, ExploreError> {
    // Order by order: in a search by states, the ends of orders are known only when the search is complete.
    let bounds = Bounds { confirmed_within: Some(Duration::ZERO), prune: false, ..Bounds::default() };
    let frozen = Bounds { faults: vec![Failing::Freeze.anywhere()], ..bounds.clone() };
    let enough = |progress: &Progress| {
        let both_kinds = progress.violations > 0 && progress.violations < progress.tried.into();
        let enough = both_kinds && progress.tried >= TRIED_AT_LEAST;
        let ends = enough || progress.tried >= TRIED || progress.wall >= LONGEST;
        if ends { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    if scenario.lab() == LabKind::Etcd {
        // Drawn at random, the first few orders already differ.
        let bounds = Bounds { first: true, ..frozen };
        let enough = |progress: &Progress| {
            if progress.wall >= LONGEST_ON_ETCD { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        return Ok(clear(explore(scenario, options, &bounds, &enough).await?));
    }
    let explored = explore(scenario, options, &bounds, &enough).await?;
    let outcomes = clear(explored);
    if outcomes.iter().any(|seen| seen.violates) {
        return Ok(outcomes);
    }
    // A variant that no order breaks may break if a client freezes for a while.
    let frozen = clear(explore(scenario, options, &frozen, &enough).await?);
    Ok(if frozen.is_empty() { outcomes } else { frozen })
}

/// The outcomes without those that break nothing only because a client waits forever: nobody would call them safe.
fn clear(explored: Explored) -> Vec<OutcomeSeen> {
    let waits = explored.never_ends();
    let mut outcomes = explored.outcomes;
    outcomes.retain(|seen| seen.violates || seen.outcome.unfinished == 0 || !waits);
    outcomes
}

/// Whether the variant's story makes these choices' moves: in its order, up to the end of either, or to where the story
/// leaves moves to the program.
fn is_story(scenario: &Scenario, choices: &[Choice]) -> bool {
    let named = scenario.story.iter().take_while(|line| line.act.moving().is_empty());
    let story: Vec<ActorId> = named.flat_map(|line| line.act.moves()).map(|planned| planned.actor).collect();
    let made = choices.iter().filter_map(|choice| match choice {
        Choice::Move { actor } => Some(*actor),
        _ => None,
    });
    let made: Vec<ActorId> = made.collect();
    story.len().min(made.len()) >= SHORTEST && story.iter().zip(&made).all(|(planned, made)| planned == made)
}

/// Questions about orders of a variant, safe ones and others if it has both.
async fn questions(scenario: &Scenario, options: &LabOptions) -> Result<Vec<ExamQuestion>, RunError> {
    // Not every variant can be explored; another one serves as well.
    let Ok(outcomes) = outcomes(scenario, options).await else { return Ok(Vec::new()) };
    // Fewer variants have orders that break something, so each contributes two of these, with different
    // outcomes.
    let pick = |violates: bool, most: usize| {
        let fits = |seen: &&OutcomeSeen| {
            seen.violates == violates && seen.first.len() >= SHORTEST && !is_story(scenario, &seen.first)
        };
        let mut seen: Vec<&OutcomeSeen> = outcomes.iter().filter(fits).collect();
        // Orders with faults come first in both kinds, so that a fault does not give the answer away.
        let is_plain =
            |seen: &OutcomeSeen| !seen.first.iter().any(|choice| matches!(choice, Choice::Inject(_)));
        seen.sort_by_key(|seen| (is_plain(seen), seen.first.len()));
        seen.into_iter().take(most).map(move |seen| (seen.first.clone(), violates)).collect::<Vec<_>>()
    };
    let mut questions = Vec::new();
    for (mut choices, violates) in pick(true, 2).into_iter().chain(pick(false, 1)) {
        let mut carried = carry_out(scenario, options, choices.clone()).await?;
        let moves = commands(&carried, false);
        let shown = (0..=moves.len()).rev().find(|n| in_lines(&moves[..*n]).len() <= MOST_LINES);
        // Of a long order the beginning is asked about. Faults that are no single choices make none that long.
        if shown.is_some_and(|shown| shown < moves.len()) && moves.len() == choices.len() {
            choices.truncate(shown.unwrap_or_default());
            carried = carry_out(scenario, options, choices).await?;
        }
        let [order, answered] = [false, true].map(|answered| in_lines(&commands(&carried, answered)));
        let log = carried.log;
        let broken = breaches(scenario, &log).unwrap_or_default();
        // An order is not used if it did not end as it did in the search.
        if broken.is_empty() != violates && order.len() <= MOST_LINES {
            let says = || broken.first().map(|breach| scenario.invariants[breach.invariant].says.clone());
            questions.push(ExamQuestion {
                order,
                answered,
                scripts: scripts(scenario, &log),
                scenario: scenario.clone(),
                safe: !violates,
                why: why::first(scenario, &log).map(|why| why.text).or_else(says),
                log,
            });
        }
    }
    Ok(questions)
}

/// The texts of the scripts that were run.
fn scripts(scenario: &Scenario, log: &Log) -> BTreeMap<String, String> {
    let run = log.events().iter().filter_map(|event| match &event.kind {
        EventKind::Sent { command: Command::Script { name, .. }, .. } => Some(name),
        _ => None,
    });
    let known = &scenario.loaded.lesson.scripts;
    run.filter_map(|name| Some((name.clone(), known.get(name)?.clone()))).collect()
}

/// The moves with the commands that were sent, and with the replies if it is answered. Longer times are rounded, so that
/// those of clocks that run do not differ by hundredths.
fn commands(CarriedOut { moves, log, .. }: &CarriedOut, answered: bool) -> Vec<Answered> {
    let replies = log.events().iter().filter_map(|event| match &event.kind {
        EventKind::Replied { op, reply, .. } if answered => Some((*op, reply.brief())),
        _ => None,
    });
    let replies: HashMap<_, _> = replies.collect();
    let sent = log.events().iter().filter_map(|event| match &event.kind {
        EventKind::Sent { op, actor, label, command, .. } => {
            let reply = replies.get(op).cloned().unwrap_or_default();
            Some((format!("{}.{label}", log.called(*actor)), (command.to_string(), reply)))
        }
        _ => None,
    });
    let mut sent: Vec<(String, (String, String))> = sent.collect();
    let with_command = |words: &String| {
        let time = words.strip_prefix('+').and_then(|time| time.strip_suffix(" s")?.parse::<f64>().ok());
        if let Some(seconds) = time.filter(|seconds| *seconds >= 1.0) {
            return Answered { words: format!("+{seconds:.1} s"), reply: String::new() };
        }
        match sent.iter().position(|(label, _)| label == words) {
            Some(at) => {
                let (_, (command, reply)) = sent.remove(at);
                Answered { words: format!("{words}  {command}"), reply }
            }
            None => Answered { words: words.clone(), reply: String::new() },
        }
    };
    moves.iter().map(with_command).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        lesson::Library,
        run::{
            explore::{SearchedSpace, Stuck, StuckOrders},
            race::Outcome,
        },
    };

    /// What was found of orders, each by how many programs it leaves unfinished and whether it breaks something.
    fn found(ends: &[(usize, bool)], stuck: &[Stuck]) -> Explored {
        let outcomes = ends.iter().map(|(unfinished, violates)| OutcomeSeen {
            outcome: Outcome { unfinished: *unfinished, ..Outcome::default() }.into(),
            orders: 1,
            first: Vec::new(),
            violates: *violates,
        });
        let stuck = stuck.iter().map(|stuck| StuckOrders {
            stuck: *stuck,
            orders: 1,
            says: Text::default(),
            first: Vec::new(),
            order: None,
            why: None,
            unavoidable: None,
        });
        Explored {
            tried: ends.len() as u64,
            pruned: 0,
            space: SearchedSpace::default(),
            cut: 0,
            violations: 0,
            broken: Vec::new(),
            each: Vec::new(),
            stuck: stuck.collect(),
            outcomes: outcomes.collect(),
            shortest: None,
            complete: true,
            wall: Duration::ZERO,
            searching: Duration::ZERO,
        }
    }

    #[test]
    fn an_order_in_which_a_client_waits_forever_is_not_asked_about_as_a_safe_one() {
        let ends = [(0, false), (1, false), (1, true)];
        let left = |stuck: &[Stuck]| -> Vec<(usize, bool)> {
            let outcomes = clear(found(&ends, stuck)).into_iter();
            outcomes.map(|seen| (seen.outcome.unfinished, seen.violates)).collect()
        };
        assert_eq!(left(&[Stuck::Deadlock]), [(0, false), (1, true)]);
        // A program that gave up, or an order that was cut, waits for nothing.
        assert_eq!(left(&[Stuck::GaveUp]), ends);
        assert_eq!(left(&[]), ends);
    }

    #[tokio::test]
    async fn an_order_is_asked_about_once_and_safe_ones_alternate_with_others() {
        let library = Library::carried();
        let loaded = library.find("unlock-someone-elses-lock").expect("a carried lesson");
        let scenario = Scenario::plan(loaded, "blind-del", &Params::new()).expect("it is good");
        let question = |order: &str, safe| ExamQuestion {
            scenario: scenario.clone(),
            order: vec![Text::new(order, order)],
            answered: Vec::new(),
            scripts: BTreeMap::default(),
            safe,
            why: None,
            log: Log::new(),
        };
        let mut exam = Exam::new([], LabOptions::with_binary("lockstep".into()), 0);
        exam.keep(vec![question("A, A", true), question("B, A", false), question("A, B", true)]);
        exam.keep(vec![question("B, A", false), question("B, B", true)]);
        let mut asked = Vec::new();
        while let Some(next) = exam.next().await.expect("nothing is searched") {
            asked.push((next.order[0].en.clone(), next.safe));
        }
        let of = |order: &str, safe| (order.to_owned(), safe);
        assert_eq!(asked, [of("A, A", true), of("B, A", false), of("A, B", true), of("B, B", true)]);
    }
}
