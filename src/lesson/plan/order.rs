//! Checks that the moves of a story are possible in that order; a run would fail when it reaches a wrong one.

use std::collections::BTreeSet;

use super::{
    super::{
        error::{Mistake, Path},
        expr::{Mentions, mentions::joined},
        model::Claim,
    },
    Act, AskPlan, RightPlan, Scenario,
    program::{Instruction, PlannedVerb, Program},
};
use crate::{log::ActorId, text::both};

/// The operations that an actor may be at, as indices of instructions. Empty if its program has ended.
type Places = BTreeSet<usize>;

pub(crate) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    if scenario.loaded.lesson.kata.is_some() {
        return Ok(());
    }
    let program = |actor: ActorId| &scenario.actors[actor.0 as usize].program;
    let mut places: Vec<Places> =
        scenario.actors.iter().map(|plan| operations_from(&plan.program, [0])).collect();
    for line in &scenario.story {
        let moves = match &line.act {
            Act::Each(moves) | Act::Together(moves) => moves.as_slice(),
            Act::Send(one) => std::slice::from_ref(one),
            Act::Finish(actors) => {
                advance_freely(scenario, actors, &mut places);
                continue;
            }
            Act::Pass(pass) => {
                advance_freely(scenario, &pass.moving, &mut places);
                continue;
            }
            Act::Await(until) => {
                advance_freely(scenario, &until.moving, &mut places);
                continue;
            }
            Act::Say(_) | Act::Ask(_) | Act::Faults(_) => continue,
        };
        for one in moves {
            let program = program(one.actor);
            if program.outside {
                continue;
            }
            let here = &mut places[one.actor.0 as usize];
            let after = after_move(program, here, &one.label);
            if after.is_none() {
                let (name, label) = (&scenario.actors[one.actor.0 as usize].actor.name, &one.label);
                let next: BTreeSet<&str> = here.iter().filter_map(|at| moves_at(program, *at)).collect();
                let mistake = match next.iter().next() {
                    None => Mistake::new(
                        &line.path,
                        both!("the program of {name} is over here", "到这里 {name} 的程序已经结束了"),
                    )
                    .help(both!("leave the move out", "请去掉这一步")),
                    Some(first) => {
                        let next =
                            next.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ");
                        Mistake::new(
                            &line.path,
                            both!(
                                "{name} cannot make the move `{label}` here: next is {next}",
                                "{name} 在这里不能做 `{label}`：下一步是 {next}"
                            ),
                        )
                        .help(both!(
                            "write `- move: {name}.{first}` before it",
                            "请在前面写 `- move: {name}.{first}`"
                        ))
                    }
                };
                return Err(mistake);
            }
            *here = after.unwrap_or_default();
        }
    }
    Ok(())
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
        match act {
            Act::Each(turns) | Act::Together(turns) => {
                self.moves.extend(turns.iter().map(|one| (one.actor.0, one.label.as_str())));
            }
            Act::Send(one) => drop(self.moves.insert((one.actor.0, &one.label))),
            Act::Finish(actors) => self.by_themselves.extend(actors.iter().map(|actor| actor.0)),
            Act::Pass(pass) => self.by_themselves.extend(pass.moving.iter().map(|actor| actor.0)),
            Act::Await(until) => self.by_themselves.extend(until.moving.iter().map(|actor| actor.0)),
            Act::Say(_) | Act::Ask(_) | Act::Faults(_) => {}
        }
    }

    fn may_have(&self, actor: u32, label: &str) -> bool {
        self.by_themselves.contains(&actor) || self.moves.contains(&(actor, label))
    }
}

/// Refuses a claim about the reply to a move that the story never makes.
pub(crate) fn check_claims(scenario: &Scenario) -> Result<(), Mistake> {
    let mut made = MovesMade::default();
    scenario.story.iter().for_each(|line| made.take(&line.act));
    let variant = scenario.variant();
    let at = Path::root().key("variants").key(&scenario.variant).key("claims");
    for (n, claim) in variant.claims.iter().enumerate() {
        let (source, at) = match claim {
            Claim::Bare(source) => (source, at.index(n)),
            Claim::That { that, .. } => (that, at.index(n).key("that")),
            _ => continue,
        };
        // A claim that asks whether there is a reply, or has an alternative, is valid without one.
        if joined(source).len() > 1 && source.contains(" or ")
            || source.contains("defined")
            || source.contains("default")
        {
            continue;
        }
        let mentions = Mentions::of(source);
        // The time of a move needs a reply, too.
        let timed = ["at", "before"].into_iter().flat_map(|function| mentions.calls_of(function));
        let timed = timed.flat_map(|call| call.arguments.iter().flatten());
        let timed: Vec<Vec<String>> =
            timed.map(|name| name.split('.').map(str::to_owned).collect()).collect();
        for path in mentions.paths.iter().chain(&timed).filter(|path| path.len() > 1) {
            for (n, plan) in scenario.actors.iter().enumerate().filter(|(_, plan)| !plan.program.outside) {
                let actor = u32::try_from(n).unwrap_or(u32::MAX);
                let words = plan.actor.name.split('.').count();
                let Some(label) = path.get(words) else { continue };
                let is_its =
                    path[..words].join(".") == plan.actor.name && plan.program.labels.contains(label);
                if !is_its || made.may_have(actor, label) || plan.program.only_waits(label) {
                    continue;
                }
                let name = &plan.actor.name;
                let message = both!(
                    "the story never makes the move `{name}.{label}`, so it has no reply",
                    "剧情里从没有 `{name}.{label}` 这一步，它没有回复"
                );
                return Err(Mistake::new(&at, message).help(both!(
                    "write `- move: {name}.{label}` into the story",
                    "请在剧情里写 `- move: {name}.{label}`"
                )));
            }
        }
    }
    Ok(())
}

/// Refuses a question that no choice can answer when it is decided, because the replies in its conditions come later.
pub(crate) fn check_questions(scenario: &Scenario) -> Result<(), Mistake> {
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
            if *left == 0 {
                check_question(scenario, ask, path, &made)?;
            }
        }
        open.retain(|(.., left)| *left > 0);
    }
    Ok(())
}

fn check_question(
    scenario: &Scenario,
    ask: &AskPlan,
    path: &Path,
    made: &MovesMade<'_>,
) -> Result<(), Mistake> {
    // The first reply in an expression that has not come yet.
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
    let mut first = None;
    for (n, choice) in ask.choices.iter().enumerate() {
        match &choice.right {
            RightPlan::Never => {}
            RightPlan::Always => return Ok(()),
            RightPlan::When(right) => match missing(right.source()) {
                None => return Ok(()),
                Some(name) => {
                    first.get_or_insert((n, name));
                }
            },
        }
    }
    let Some((n, name)) = first else { return Ok(()) };
    let steps = ask.after;
    let message = both!(
        "`{name}` has no reply yet when this question is decided, {steps} steps later",
        "再过 {steps} 步见分晓时，`{name}` 还没有回复"
    );
    let at = path.key("ask").key("choices").index(n).key("right");
    Err(Mistake::new(&at, message).help(both!(
        "give the question a greater `after`, which counts every move of a list, or ask for a reply that is there by then",
        "请把 `after` 写大一些（列表里的每一步都算），或者改用那时已有的回复"
    )))
}

/// Adds every operation that actors may reach when they move by themselves.
fn advance_freely(scenario: &Scenario, actors: &[ActorId], places: &mut [Places]) {
    for actor in actors {
        let program = &scenario.actors[actor.0 as usize].program;
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
    match program.instructions.get(at) {
        Some(Instruction::Operate(operation)) => Some(&operation.label),
        _ => None,
    }
}

/// The operations that an actor may be at after a move; `None` if it cannot make that move.
fn after_move(program: &Program, here: &Places, label: &str) -> Option<Places> {
    let made: Vec<usize> = here.iter().copied().filter(|at| moves_at(program, *at) == Some(label)).collect();
    if made.is_empty() {
        return None;
    }
    let mut after = operations_from(program, made.iter().map(|at| at + 1));
    let tries_again = |at: &usize| matches!(program.instructions.get(*at), Some(Instruction::Operate(operation)) if operation.until.is_some());
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
            None | Some(Instruction::Stop) => {}
            Some(Instruction::Operate(operation)) => {
                found.insert(at);
                if matches!(operation.verb, PlannedVerb::Wait(_)) {
                    open.push(at + 1);
                }
            }
            Some(Instruction::Jump { to }) => open.push(*to),
            Some(Instruction::JumpUnless { to, .. } | Instruction::RepeatNext { exit: to, .. }) => {
                open.extend([*to, at + 1]);
            }
            Some(_) => open.push(at + 1),
        }
    }
    found
}
