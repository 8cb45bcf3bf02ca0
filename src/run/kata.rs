//! Judges an answer to an exercise: every order of each of its rounds, the cheapest round first.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde::Serialize;

use super::{
    explore::{BrokenInvariant, CarriedOut, ExploreError, Explored, OutcomeSeen, Unavoidable, carry_out},
    explore_claim,
    moves::how_many,
    session::RunError,
};
use crate::{
    lab::{LabOptions, ready::Reuse},
    lesson::{
        Explore, ExploreExpect, LessonError, Loaded, MOVES, Mistake, Path, Scenario, Source, Step,
        plan::NeverPlan,
    },
    log::{EventKind, Log},
    text::{Text, both},
    verdict::{self, why},
};

/// The counter of a client of an exercise that gives up asking: it is stuck.
const IN_VAIN: &str = "without";

/// How long a search by orders looks for a shorter order once it knows one that breaks an answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// A round in which an answer was judged.
#[derive(Debug, Clone)]
pub struct Round {
    pub scenario: Scenario,
    pub orders: u128,
    /// The number of moves after which orders were cut, if any was.
    pub cut: Option<usize>,
    /// What is wrong with the answer, if anything is.
    pub failure: Option<Failure>,
    /// The real time that the round took.
    pub wall: Duration,
}

impl Round {
    /// The number of orders, and how far they were followed.
    pub fn extent(&self) -> Text {
        let orders = how_many(self.orders);
        match self.cut {
            Some(moves) => {
                both!("{orders}, each for {moves} moves at most", "{orders}，每种最多走 {moves} 步", orders)
            }
            None => orders,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Failure {
    pub kind: FailureKind,
    pub says: Text,
    pub order: Option<CarriedOut>,
    /// Which of the orders `order` is.
    pub which: Which,
    /// The explanation, such as which move came between which two.
    pub why: Option<Text>,
    /// The kind of cause, if a move came between two others.
    pub cause: Option<why::Cause>,
}

impl Failure {
    /// A failure that no single move explains.
    fn new(kind: FailureKind, says: Text, order: Option<CarriedOut>) -> Self {
        let which = if kind == FailureKind::TooSafe { Which::Any } else { Which::First };
        Self { kind, says, order, which, why: None, cause: None }
    }

    /// Too little was tried.
    fn without_order(says: Text, why: Text) -> Self {
        Self { why: Some(why), ..Self::new(FailureKind::OneOrder, says, None) }
    }
}

/// Which of the orders is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The shortest order that goes wrong.
    Shortest,
    /// The shortest such order that was found: not every order was explored.
    ShortestSoFar,
    /// Some order that goes wrong.
    First,
    /// Any order: all of them go well, and none shows what at least one must.
    Any,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// An order breaks an invariant.
    Broken,
    /// In some order a program does not finish.
    Stuck,
    /// No order brings about what at least one must: the answer is too cautious.
    TooSafe,
    /// There was only one order, or not all were explored to their end, which proves nothing.
    OneOrder,
}

/// Judges the answer in an exercise, up to the first round that it fails. Calls `report` with each round as
/// soon as it is over.
///
/// # Errors
/// If the answer cannot be explored, with the position of the reason, or if a server fails.
pub async fn judge(
    answered: &Arc<Loaded>,
    options: &LabOptions,
    report: &dyn Fn(&Round),
) -> Result<Vec<Round>, RunError> {
    let mut rounds: Vec<Round> = Vec::new();
    for scenario in answered.rounds()? {
        let Some(expected) = scenario.variant().explore.clone() else { continue };
        let began = Instant::now();
        let patience = (expected.expect == ExploreExpect::None).then_some(PATIENCE);
        let found = explore_claim::tried(&scenario, options, &expected, patience).await;
        let found = found.map_err(|error| not_judged(answered, error))?;
        let orders = found.orders();
        let cut = (found.cut > 0).then(|| expected.moves.unwrap_or(MOVES));
        let mut failure = failure(&scenario, options, &expected, found).await?;
        if let Some(failure) = &mut failure {
            failure.why =
                failure.why.take().or_else(|| last_command(&scenario, &failure.order.as_ref()?.log));
        }
        rounds.push(Round { scenario, orders, cut, failure, wall: began.elapsed() });
        if let Some(round) = rounds.last() {
            report(round);
            if round.failure.is_some() {
                break;
            }
            prepare_to_show(round, options);
        }
    }
    Ok(rounds)
}

/// Begins to start the servers on which an order would be shown if the next round failed, where they take long to start.
fn prepare_to_show(held: &Round, options: &LabOptions) {
    let scenario = &held.scenario;
    if let Some(Reuse::Any(labs)) = options.reuse.as_ref().filter(|_| scenario.needs_processes()) {
        labs.prepare(scenario.lab(), &scenario.settings(), options);
    }
}

/// The error for an answer that cannot be judged, at the operation that is the reason.
fn not_judged(answered: &Loaded, error: ExploreError) -> RunError {
    let (operation, message) = match &error {
        ExploreError::Engine(RunError::Lesson(LessonError { message: why, .. })) => {
            ("", both!("this answer cannot be judged: {why}", "这个答案无法判定：{why}", why))
        }
        ExploreError::NotReplayable { operation, command, why } => (
            operation.as_str(),
            both!("`{command}` cannot be judged: {why}", "`{command}` 无法判定：{why}", why),
        ),
        ExploreError::Strayed { operation, .. } => (operation.as_str(), Text::from(error.to_string())),
        _ => ("", Text::from(error.to_string())),
    };
    let label = operation.rsplit('.').next().unwrap_or_default();
    let holes = answered.lesson.kata.iter().flat_map(|kata| kata.programs.keys());
    let programs = holes.filter_map(|name| Some((name, answered.lesson.programs.get(name)?)));
    let mut paths = programs.map(|(name, steps)| {
        let path = Path::root().key("programs").key(name);
        let is_it = |step: &Step| matches!(step, Step::Operation { label: known, .. } if known == label);
        let found = Step::each_at(steps, &path).find(|(step, _)| is_it(step));
        (found.map(|(_, path)| path.key(label)), path)
    });
    let first = paths.next();
    let named = first.iter().cloned().chain(paths).find_map(|(named, _)| named);
    let path = named.or_else(|| first.map(|(_, path)| path)).unwrap_or_default();
    let mistake = Mistake::new(&path, message);
    if let ExploreError::Engine(error) = error {
        let placed = answered.source.place(&mistake);
        return match error {
            // What stands in the file of the exercise cannot be changed by the learner.
            RunError::Lesson(error) if error.file != placed.file => RunError::Lesson(placed),
            error => error,
        };
    }
    let mistake = mistake.help(both!(
        "use one command, or a script that does it in one step: `scripts:`, and `{{ script: NAME, keys: [KEY] }}`; the time \
         is given to a script, `args: [\"${{now}}\"]`",
        "请改用一条命令，或者用脚本一步完成：写在 `scripts:` 下，用 `{{ script: 名字, keys: [键] }}` 调用；时间作为参数传给脚本：`args: [\"${{now}}\"]`"
    ));
    RunError::Lesson(answered.source.place(&mistake))
}

/// What is wrong with the answer, according to the findings of a round, or `None` if nothing is.
async fn failure(
    scenario: &Scenario,
    options: &LabOptions,
    expected: &Explore,
    found: Explored,
) -> Result<Option<Failure>, RunError> {
    let controlled = LabOptions { controlled_only: true, ..options.with_new_servers() };
    // Shares count orders that break an invariant. If other orders go wrong because they end too early,
    // shares say nothing about those that go well.
    let too_early = |seen: &OutcomeSeen| !seen.violates && seen.outcome.unfinished > expected.may_not_end();
    let only_broken = !found.outcomes.iter().any(too_early);
    // For a single order this would say nothing.
    let all_fail = found.complete && found.orders() > 1 && found.violations == found.orders();
    if expected.expect == ExploreExpect::None
        && let Some(order) = found.shortest
    {
        let is_its = |broken: &&BrokenInvariant| {
            broken.shortest.as_ref().is_some_and(|shortest| shortest.choices == order.choices)
        };
        // The order is carried out a little later than in the search, so that its log may break another invariant first.
        let searched = found.each.iter().find(is_its).map(|broken| broken.invariant);
        let carried_out = || Some(verdict::breaches(scenario, &order.log).ok()?.first()?.invariant);
        let broken = searched.or_else(carried_out).and_then(|known| scenario.invariants.get(known));
        let says = broken.map(|plan| plan.says.clone()).unwrap_or_default();
        let in_vain = broken.is_some_and(|plan| match &plan.never {
            NeverPlan::That(never) => never.mentions().names(IN_VAIN),
            NeverPlan::Overlap(_) => false,
        });
        let kind = if in_vain { FailureKind::Stuck } else { FailureKind::Broken };
        // A client that asks in vain does so because of something long before, not because of what came
        // between two of its moves.
        let known = if in_vain { None } else { why::first(scenario, &order.log) };
        let cause = known.as_ref().map(|why| why.kind);
        let known = match known {
            None if in_vain => why::in_vain(scenario, &order.log),
            known => known.map(|why| why.text),
        };
        let mut each = found.each.iter().filter(is_its);
        let unavoidable = || {
            // If every order goes wrong, `always` says so.
            let some = |known: &Unavoidable| only_broken && known.step.is_some();
            each.find_map(|broken| broken.unavoidable.filter(some)?.text(&order))
        };
        let always = || {
            let no_timing = both!(
                "Every order goes wrong, so this is no matter of timing.",
                "所有顺序都会出错，所以不是时机的问题。"
            );
            let said = std::iter::once(no_timing).chain(last_command(scenario, &order.log));
            all_fail.then(|| Text::join(&said.collect::<Vec<_>>(), " ", ""))
        };
        let why = known.or_else(|| gave_up(&order.log)).or_else(unavoidable).or_else(always);
        let which = if found.complete { Which::Shortest } else { Which::ShortestSoFar };
        return Ok(Some(Failure { kind, says, order: Some(order), which, why, cause }));
    }
    let cut = found.cut;
    if let Some(seen) = explore_claim::stuck(expected, &found) {
        if found.stuck.is_empty() && cut > 0 {
            // No client is known to be stuck: some were still moving when their orders were cut.
            let moves = expected.moves.unwrap_or(MOVES);
            let says = both!(
                "{cut} orders were cut after {moves} moves, before everybody had come to the end: whether they do is not known.",
                "有 {cut} 种顺序走满 {moves} 步还没有走到结尾，无法知道是否走得完。"
            );
            let why = both!("An answer of fewer commands can be judged.", "命令少一些的答案才能判定。");
            return Ok(Some(Failure::without_order(says, why)));
        }
        let known = found.stuck.iter().find(|stuck| stuck.first == seen.first);
        let order = match known.and_then(|stuck| stuck.order.clone()) {
            Some(order) => order,
            None => carry_out(scenario, &controlled, seen.first.clone()).await?,
        };
        let why = why::in_vain(scenario, &order.log);
        let says = unfinished(scenario, &order.log, why.is_none());
        return Ok(Some(Failure { why, ..Failure::new(FailureKind::Stuck, says, Some(order)) }));
    }
    if expected.expect == ExploreExpect::Violated && found.violations == 0 {
        let order = match found.outcomes.first() {
            Some(seen) => Some(carry_out(scenario, &controlled, seen.first.clone()).await?),
            None => None,
        };
        let asked = scenario.fill(&scenario.variant().lesson);
        let says = both!(
            "No order does what this round asks: {asked}",
            "没有一种顺序达到这一轮的要求：{asked}",
            asked
        );
        let orders = how_many(found.orders());
        let why = both!(
            "All orders ({orders}) were tried; this is one of them.",
            "所有顺序（{orders}）都试过了，这是其中一种。",
            orders
        );
        return Ok(Some(Failure { why: Some(why), ..Failure::new(FailureKind::TooSafe, says, order) }));
    }
    Ok(too_little(scenario, expected, &found))
}

/// If too little was tried to prove anything: what.
fn too_little(scenario: &Scenario, expected: &Explore, found: &Explored) -> Option<Failure> {
    let untold = !found.complete || (expected.moves.is_none() && found.cut > 0);
    if untold || (found.orders() <= 1 && scenario.actors.len() > 1) {
        let (says, why) = if untold {
            (
                both!(
                    "Not every order was gone through, and those that were prove nothing.",
                    "没有试完所有顺序，试过的什么也证明不了。"
                ),
                both!(
                    "There are too many orders, or they are too long. An answer of fewer commands can be judged.",
                    "顺序太多，或者太长；命令少一些的答案才能判定。"
                ),
            )
        } else {
            (
                both!("There was one order only, and that proves nothing.", "只有一种顺序，什么也证明不了。"),
                both!(
                    "Never could two clients choose who goes first, because the answer sends no command there, or only \
                     waits.",
                    "从来没有两个客户端可以抢先，因为答案在这里不发任何命令，或者只是等待。"
                ),
            )
        };
        return Some(Failure::without_order(says, why));
    }
    None
}

/// Why a program gave up, if one did: a reply that it did not expect, such as an error.
fn gave_up(log: &Log) -> Option<Text> {
    log.events().iter().find_map(|event| match &event.kind {
        EventKind::GaveUp { why, .. } => {
            Some(Text::from_fn(|lang| why.get(lang).lines().next().unwrap_or_default().to_owned()))
        }
        _ => None,
    })
}

/// Says which actors did not finish in an order and, if `with_reason` is set, why, if a program gave a
/// reason.
fn unfinished(scenario: &Scenario, log: &Log, with_reason: bool) -> Text {
    let events = || log.events().iter().map(|event| &event.kind);
    let over = |n: usize| {
        events().any(|kind| matches!(kind, EventKind::Finished { actor } if actor.0 as usize == n))
    };
    let crashed = |n: usize| {
        let name =
            scenario.clients.iter().find(|client| client.actors.contains(&n)).map(|client| &client.name);
        events().any(|kind| matches!(kind, EventKind::Fault(fault) if fault.killed_client() == name.map(String::as_str)))
    };
    let actors = scenario.actors.iter().enumerate();
    let left = actors.filter(|(n, _)| !over(*n) && !crashed(*n)).map(|(_, plan)| plan.actor.name.as_str());
    let names = left.collect::<Vec<_>>().join(", ");
    let says = both!("{names} did not come to the end.", "{names} 没有走到结尾。");
    let why = with_reason.then(|| gave_up(log)).flatten();
    Text::join(&std::iter::once(says).chain(why).collect::<Vec<_>>(), " ", "")
}

/// The last command of an order, with its reply: where nothing came between two moves, it is what went wrong.
fn last_command(scenario: &Scenario, log: &Log) -> Option<Text> {
    let events = || log.events().iter().map(|event| &event.kind).rev();
    let alone = if scenario.actors.len() == 1 {
        both!(
            "No other client is there: this comes from its own commands.",
            "这里没有别的客户端：是它自己的命令造成的。"
        )
    } else {
        Text::default()
    };
    let sent = events().find_map(|kind| match kind {
        EventKind::Sent { op, actor, command, .. } => Some((*op, *actor, command.to_string())),
        _ => None,
    });
    let Some((sent, actor, command)) = sent else {
        return Some(both!("No client sent any command.", "没有任何客户端发过命令。"));
    };
    let name = &scenario.actors.get(actor.0 as usize)?.actor.name;
    let reply = events().find_map(|kind| match kind {
        EventKind::Replied { op, reply, .. } if *op == sent => Some(reply.brief()),
        _ => None,
    });
    let last = match reply {
        Some(reply) => both!(
            "The last command was {name}'s {command}, answered with {reply}.",
            "最后一条命令是 {name} 的 {command}，回复是 {reply}。"
        ),
        None => both!("The last command was {name}'s {command}.", "最后一条命令是 {name} 的 {command}。"),
    };
    Some(Text::join(
        &[alone, last].into_iter().filter(|text| *text != Text::default()).collect::<Vec<_>>(),
        " ",
        "",
    ))
}

/// A known answer that was not judged as its exercise says.
#[derive(Debug, Clone)]
pub struct Misjudged {
    /// The file of the answer.
    pub answer: String,
    /// The round that it must fail first, or `None` if it is right.
    pub expected: Option<String>,
    /// The round that it failed.
    pub failed: Option<String>,
}

/// Judges all known answers of an exercise. Calls `report` with each answer and the rounds that it went
/// through.
///
/// # Errors
/// As [`judge`].
pub async fn verify(
    exercise: &Arc<Loaded>,
    options: &LabOptions,
    report: &dyn Fn(&Source, &[Round]),
) -> Result<Vec<Misjudged>, RunError> {
    let mut wrong = Vec::new();
    for (text, expected) in exercise.known_answers() {
        let answered = exercise.with_answer(&text)?;
        let rounds = Box::pin(judge(&answered, options, &|_| {})).await?;
        report(&text, &rounds);
        let last = rounds.last().filter(|round| round.failure.is_some());
        let failed = last.map(|round| round.scenario.variant.as_str());
        let is_so = match expected {
            Some("") => failed.is_some(),
            expected => failed == expected,
        };
        if !is_so {
            wrong.push(Misjudged {
                answer: text.file.clone(),
                expected: expected.map(str::to_owned),
                failed: failed.map(str::to_owned),
            });
        }
    }
    Ok(wrong)
}
