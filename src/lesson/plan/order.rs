//! Whether the moves of a story are possible in that order, and whether the replies that it asks for have come; a run
//! would fail when it reaches a wrong one.

use std::collections::BTreeSet;

use super::{
    super::{
        error::{Finding, Mistake, Path, finding},
        expr::{
            Mentions,
            mentions::{joined, split_comparison},
        },
    },
    Act, AskPlan, AwaitPlan, PlannedMove, RightPlan, Scenario, StoryLine,
    lints::{exceeds, required},
    program::{Instruction, PlannedOperation, PlannedVerb, Program},
};
use crate::{log::ActorId, text::both};

/// The operations that an actor may be at, as indices of instructions. The number of instructions stands for the end.
type Places = BTreeSet<usize>;

/// The operations that each actor may be at, line by line.
pub(super) struct Positions<'s> {
    scenario: &'s Scenario,
    places: Vec<Places>,
}

impl<'s> Positions<'s> {
    pub(super) fn new(scenario: &'s Scenario) -> Self {
        let places = scenario.actors.iter().map(|plan| operations_from(&plan.program, [0])).collect();
        Self { scenario, places }
    }

    fn program(&self, actor: ActorId) -> &'s Program {
        &self.scenario.actor(actor).program
    }

    /// The operations that may come next; `None` stands for the end of the program.
    pub(super) fn next_of(&self, actor: ActorId) -> impl Iterator<Item = Option<&'s PlannedOperation>> {
        let instructions = &self.program(actor).instructions;
        self.places[actor.0 as usize]
            .iter()
            .map(|at| Some(&**instructions.get(*at).and_then(Instruction::operation)?))
    }

    /// The actor's program is over.
    pub(super) fn end(&mut self, actor: ActorId) {
        self.places[actor.0 as usize] = [self.program(actor).instructions.len()].into();
    }

    /// Makes the moves of a line.
    pub(super) fn take(&mut self, line: &StoryLine) -> Result<(), Mistake> {
        advance_any_number(self.scenario, line.act.moving(), &mut self.places);
        for one in line.act.moves() {
            let program = self.program(one.actor);
            if program.outside {
                continue;
            }
            let here = &mut self.places[one.actor.0 as usize];
            let Some(after) = after_move(program, here, &one.label) else {
                let next: BTreeSet<&str> = here.iter().filter_map(|at| moves_at(program, *at)).collect();
                let leads_there = |label: &&str| {
                    let after = after_move(program, here, label).unwrap_or_default();
                    after.iter().any(|at| moves_at(program, *at) == Some(one.label.as_str()))
                };
                let missing = next.iter().copied().find(leads_there).or_else(|| next.first().copied());
                return Err(out_of_order(self.scenario, one, (&next, missing), &line.path));
            };
            *here = after;
        }
        Ok(())
    }
}

/// The mistake of a move that is not next. `next` are the moves that may be, and the one of them that is missing.
fn out_of_order(
    scenario: &Scenario,
    one: &PlannedMove,
    (next, missing): (&BTreeSet<&str>, Option<&str>),
    path: &Path,
) -> Mistake {
    let (name, label) = (&scenario.actor(one.actor).actor.name, &one.label);
    let Some(first) = missing else {
        let message = both!("the program of {name} is over here", "到这里 {name} 的程序已经结束了");
        return Mistake::new(path, message).help(both!("leave the move out", "请去掉这一步"));
    };
    let next = next.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ");
    let message = both!(
        "{name} cannot make the move `{label}` here: next is {next}",
        "{name} 在这里不能做 `{label}`：下一步是 {next}"
    );
    Mistake::new(path, message)
        .help(both!("write `- move: {name}.{first}` before it", "请在前面写 `- move: {name}.{first}`"))
}

/// The moves that a story has made up to a line.
#[derive(Default)]
struct MovesMade<'a> {
    moves: BTreeSet<(u32, &'a str)>,
    /// Actors that made moves that the story does not name.
    by_themselves: BTreeSet<u32>,
}

impl<'a> MovesMade<'a> {
    fn take(&mut self, act: &'a Act) {
        self.moves.extend(act.moves().iter().map(|one| (one.actor.0, one.label.as_str())));
        self.by_themselves.extend(act.moving().iter().map(|actor| actor.0));
    }

    fn may_have(&self, actor: u32, label: &str) -> bool {
        self.by_themselves.contains(&actor) || self.moves.contains(&(actor, label))
    }
}

/// Refuses a claim about the reply to a move that the story never makes, and an `await` of one that nobody makes before
/// or meanwhile.
pub(crate) fn check_claims(scenario: &Scenario) -> Result<(), Mistake> {
    let mut made = MovesMade::default();
    for line in &scenario.story {
        made.take(&line.act);
        let Act::Await(AwaitPlan { that, .. }) = &line.act else { continue };
        let source = that.source();
        let is_open = scenario.loaded.lesson.kata.is_some()
            || ["undefined", "not ", "default"].iter().any(|word| source.contains(word));
        let Some(name) = never_made(scenario, source, &made).filter(|_| !is_open) else { continue };
        let who = name.rsplit_once('.').map_or(name.as_str(), |(who, _)| who);
        let at = line.path.key("await").key("that");
        return Err(at.mistake(finding!(
            "`{name}` never comes here: nobody makes that move before or meanwhile",
            "这里等不到 `{name}`：在此之前和等待期间都没有谁做这一步",
            "write `- move: {name}` before it, or let {who} move meanwhile: `moving: [{who}]`",
            "请在前面写 `- move: {name}`，或者让 {who} 在等待期间行动：`moving: [{who}]`"
        )));
    }
    check_finished(scenario)?;
    for (source, at) in scenario.claim_sources() {
        // A claim that asks whether there is a reply is valid without one.
        if source.contains("defined") || source.contains("default") {
            continue;
        }
        if let Some(name) = never_made(scenario, source, &made) {
            let message = both!(
                "the story never makes the move `{name}`, so it has no reply",
                "剧情里从没有 `{name}` 这一步，它没有回复"
            );
            return Err(Mistake::new(&at, message)
                .help(both!("write `- move: {name}` into the story", "请在剧情里写 `- move: {name}`")));
        }
    }
    Ok(())
}

/// Refuses a claim that a program is over which the story leaves before its end.
fn check_finished(scenario: &Scenario) -> Result<(), Mistake> {
    let mut positions = Positions::new(scenario);
    if scenario.loaded.lesson.kata.is_some()
        || scenario.story.iter().any(|line| positions.take(line).is_err())
    {
        return Ok(());
    }
    for (source, at) in scenario.claim_sources() {
        for part in required(source) {
            Mistake::if_found(&at, too_many_finished(part, &positions))?;
            let Some(name) = part.strip_suffix(".finished").filter(|name| !name.contains(' ')) else {
                continue;
            };
            let actor =
                scenario.actors.iter().position(|plan| plan.actor.name == name && !plan.program.outside);
            let Some(n) = actor else { continue };
            let next: Vec<&str> = positions.places[n]
                .iter()
                .map(|place| moves_at(&scenario.actors[n].program, *place).unwrap_or_default())
                .collect();
            if let [first, ..] = next[..]
                && !next.contains(&"")
            {
                return Err(at.mistake(finding!(
                    "`{name}.finished` is false at the end: `{first}` is still to come",
                    "结束时 `{name}.finished` 是 false：`{first}` 还没有做",
                    "write `- finish: {name}` into the story, or claim `not {name}.finished`",
                    "请在剧情里写 `- finish: {name}`，或者断言 `not {name}.finished`"
                )));
            }
        }
    }
    Ok(())
}

/// The finding about more finished programs than the story brings to their ends.
fn too_many_finished(part: &str, positions: &Positions<'_>) -> Option<Finding> {
    let (left, operator, right) = split_comparison(part)?;
    let name = left.strip_prefix("finished(")?.strip_suffix(')')?.trim_matches(['\'', '"']);
    // A sum of several is not judged.
    if name.contains(')') {
        return None;
    }
    let number: usize = right.parse().ok()?;
    let actors = || positions.scenario.actors.iter().zip(&positions.places);
    let is_one = |own: &str| {
        own == name
            || own
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
    };
    let named = || actors().filter(|(plan, _)| is_one(&plan.actor.name));
    if named().any(|(plan, _)| plan.program.outside) {
        return None;
    }
    let most = named().filter(|(plan, places)| places.contains(&plan.program.instructions.len())).count();
    exceeds(operator, number, most).then(|| {
        finding!(
            "`{left}` is {most} at most: the story leaves the others before their end",
            "`{left}` 最多是 {most}：剧情没有让其余的走到程序结尾",
            "write `- finish: {name}` into the story, or `{left} == {most}`",
            "请在剧情里写 `- finish: {name}`，或者写 `{left} == {most}`"
        )
    })
}

/// The first move whose reply an expression needs, although nobody has made it.
fn never_made(scenario: &Scenario, source: &str, made: &MovesMade<'_>) -> Option<String> {
    let parts = joined(source);
    // An expression with an alternative is valid without the reply.
    if parts.len() > 1 && source.contains(" or ") {
        return None;
    }
    let mentions = Mentions::of(source);
    // The time of a move needs a reply, too, and so does a count of more than none.
    let timed = ["at", "before"].into_iter().flat_map(|function| mentions.calls_of(function));
    let timed = timed.flat_map(|call| call.arguments.iter().flatten().cloned());
    let counted = parts.into_iter().filter_map(|part| {
        let (left, operator, right) = split_comparison(part)?;
        let right: i64 = right.parse().ok()?;
        let wants = matches!(operator, "==" | ">=") && right > 0 || operator == ">" && right >= 0;
        let name = left.strip_prefix("moves(")?.strip_suffix(')')?.trim().trim_matches(['\'', '"']);
        wants.then(|| name.to_owned())
    });
    let named: Vec<Vec<String>> =
        timed.chain(counted).map(|name| name.split('.').map(str::to_owned).collect()).collect();
    mentions.paths.iter().chain(&named).filter(|path| path.len() > 1).find_map(|path| {
        scenario.actors.iter().enumerate().filter(|(_, plan)| !plan.program.outside).find_map(|(n, plan)| {
            let actor = u32::try_from(n).unwrap_or(u32::MAX);
            let words = plan.actor.name.split('.').count();
            let label = path.get(words)?;
            let is_its = path[..words].join(".") == plan.actor.name && plan.program.labels.contains(label);
            (is_its && !made.may_have(actor, label) && !plan.program.only_waits(label))
                .then(|| format!("{}.{label}", plan.actor.name))
        })
    })
}

/// A condition of a choice: the place of its question, and the choice.
type Condition<'s> = (&'s Path, usize);

/// Refuses a question that no choice can answer when it is decided, because the replies in its conditions come later,
/// and a choice for which that is so in every variant.
pub(crate) fn check_questions(scenarios: &[Scenario]) -> Result<(), Mistake> {
    let mut early: Vec<(Condition<'_>, String, u32)> = Vec::new();
    let mut decided: Vec<Condition<'_>> = Vec::new();
    for scenario in scenarios {
        let mut made = MovesMade::default();
        let mut open: Vec<(&AskPlan, &Path, u32)> = Vec::new();
        for line in &scenario.story {
            made.take(&line.act);
            if let Act::Ask(ask) = &line.act {
                open.push((ask, &line.path, ask.after));
            }
            if !line.act.is_step() {
                continue;
            }
            for (ask, path, left) in &mut open {
                *left -= 1;
                if *left > 0 {
                    continue;
                }
                let asked = check_question(scenario, ask, path, &made)?;
                for (n, missing) in asked {
                    match missing {
                        Some(name) => early.push(((path, n), name, ask.after)),
                        None => decided.push((path, n)),
                    }
                }
            }
            open.retain(|(.., left)| *left > 0);
        }
    }
    match early.into_iter().find(|(condition, ..)| !decided.contains(condition)) {
        Some(((path, n), name, steps)) => Err(asked_early(path, n, &name, steps)),
        None => Ok(()),
    }
}

/// Returns each condition with the first reply in it that has not come yet.
fn check_question(
    scenario: &Scenario,
    ask: &AskPlan,
    path: &Path,
    made: &MovesMade<'_>,
) -> Result<Vec<(usize, Option<String>)>, Mistake> {
    let missing = |source: &str| {
        if ["defined", "default", " or ", "not "].iter().any(|word| source.contains(word)) {
            return None;
        }
        Mentions::of(source).paths.into_iter().find_map(|words| {
            let (n, plan) = scenario.actors.iter().enumerate().find(|(_, plan)| {
                let count = plan.actor.name.split('.').count();
                words.len() > count && words[..count].join(".") == plan.actor.name
            })?;
            let label = &words[plan.actor.name.split('.').count()];
            let actor = u32::try_from(n).ok()?;
            let is_missing =
                plan.program.labels.contains(label) && !plan.program.outside && !made.may_have(actor, label);
            is_missing.then(|| format!("{}.{label}", plan.actor.name))
        })
    };
    let choices = ask.choices.iter().enumerate();
    let asked: Vec<(usize, Option<String>)> = choices
        .filter_map(|(n, choice)| match &choice.right {
            RightPlan::When(right) => Some((n, missing(right.source()))),
            RightPlan::Never | RightPlan::Always => None,
        })
        .collect();
    let always = ask.choices.iter().any(|choice| matches!(choice.right, RightPlan::Always));
    match &asked[..] {
        [(n, Some(name)), rest @ ..] if !always && rest.iter().all(|(_, missing)| missing.is_some()) => {
            Err(asked_early(path, *n, name, ask.after))
        }
        _ => Ok(asked),
    }
}

fn asked_early(path: &Path, choice: usize, name: &str, steps: u32) -> Mistake {
    let s = if steps == 1 { "" } else { "s" };
    let message = both!(
        "`{name}` has no reply yet when this question is decided, {steps} step{s} later",
        "再过 {steps} 步见分晓时，`{name}` 还没有回复"
    );
    let at = path.key("ask").key("choices").index(choice).key("right");
    Mistake::new(&at, message).help(both!(
        "give the question a greater `after`, which counts every move of a list, or ask for a reply that is there by then; a \
         choice that is never right has no `right`",
        "请把 `after` 写大一些（列表里的每一步都算），或者改用那时已有的回复；永远不对的选项不用写 `right`"
    ))
}

/// Adds every operation that actors may reach when they move by themselves.
fn advance_any_number(scenario: &Scenario, actors: &[ActorId], places: &mut [Places]) {
    for actor in actors {
        let program = &scenario.actor(*actor).program;
        let here = &mut places[actor.0 as usize];
        loop {
            let next = operations_from(program, here.iter().map(|at| at + 1));
            let before = here.len();
            here.extend(next);
            if here.len() == before {
                break;
            }
        }
    }
}

fn moves_at(program: &Program, at: usize) -> Option<&str> {
    Some(&program.instructions.get(at)?.operation()?.label)
}

/// The operations that an actor may be at after a move; `None` if it cannot make that move.
fn after_move(program: &Program, here: &Places, label: &str) -> Option<Places> {
    let made: Vec<usize> = here.iter().copied().filter(|at| moves_at(program, *at) == Some(label)).collect();
    if made.is_empty() {
        return None;
    }
    let mut after = operations_from(program, made.iter().map(|at| at + 1));
    let operation = |at: &usize| program.instructions.get(*at).and_then(Instruction::operation);
    let tries_again = |at: &usize| operation(at).is_some_and(|operation| operation.until.is_some());
    after.extend(made.into_iter().filter(tries_again));
    Some(after)
}

/// The operations that may come next from these instructions. A wait is one of them, and so is what follows it, because
/// time may pass before the next move.
pub(crate) fn operations_from(program: &Program, from: impl IntoIterator<Item = usize>) -> Places {
    let mut open: Vec<usize> = from.into_iter().collect();
    let (mut seen, mut found) = (BTreeSet::new(), Places::new());
    while let Some(at) = open.pop() {
        if !seen.insert(at) {
            continue;
        }
        match program.instructions.get(at) {
            None | Some(Instruction::Stop) => drop(found.insert(program.instructions.len())),
            Some(Instruction::Operate(operation)) => {
                found.insert(at);
                if matches!(operation.verb, PlannedVerb::Wait(_)) {
                    open.push(at + 1);
                }
            }
            Some(_) => open.extend(program.after(at)),
        }
    }
    found
}
