//! Checks the order of what a program believes and what it sends: a lock that is dropped without being held, or released
//! and never dropped, a belief before the operation that takes the lock or on a refused branch.

use std::collections::BTreeMap;

use super::{
    super::{
        error::{Mistake, Path, finding},
        expr::{Template, mentions::split_comparison},
    },
    Scenario,
    program::{Instruction, PlannedOperation, PlannedVerb, Program},
    releases::deletes,
};
use crate::log::{ANY, Belief, Flock};

/// What a client may believe about a lock at one place of its program, as bits.
type States = u8;
const NEVER: States = 1;
const DROPPED: States = 2;
const WAITS: States = 4;
const HOLDS: States = 8;

pub(crate) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    let of_lesson = scenario.loaded.lesson.kata.is_none();
    let mut programs = scenario.actors.iter().map(|plan| &plan.program).filter(|_| of_lesson);
    programs.try_for_each(|program| {
        check_refused(program)?;
        let locks = program.locks.iter().filter(|lock| !lock.contains(ANY));
        locks.into_iter().try_for_each(|lock| check_lock(program, lock))
    })
}

fn check_lock(program: &Program, lock: &str) -> Result<(), Mistake> {
    let Some(states) = states(program, lock) else { return Ok(()) };
    let at = |n: usize| states.get(&n).copied().unwrap_or_default();
    for (n, path) in &program.believes {
        let Some(Instruction::Believe { lock: name, belief }) = program.instructions.get(*n) else {
            continue;
        };
        if name.pattern() != lock {
            continue;
        }
        match belief {
            Belief::Nothing => check_dropped(program, lock, (*n, at(*n)), path)?,
            Belief::Holding if at(*n) & (DROPPED | HOLDS) == 0 => check_taken(program, lock, *n, path)?,
            _ => {}
        }
    }
    check_released(program, lock)
}

/// The states in which each instruction may be reached; `None` if a lock with a name like this is known only at run time.
fn states(program: &Program, lock: &str) -> Option<BTreeMap<usize, States>> {
    if program.locks.iter().any(|known| known.contains(ANY)) {
        return None;
    }
    let mut found = BTreeMap::<usize, States>::new();
    let mut open = vec![(0, NEVER)];
    while let Some((n, state)) = open.pop() {
        let known = found.entry(n).or_default();
        if *known | state == *known {
            continue;
        }
        *known |= state;
        let after = match program.instructions.get(n) {
            Some(Instruction::Believe { lock: name, belief }) if name.pattern() == lock => match belief {
                Belief::Nothing => DROPPED,
                Belief::Holding | Belief::Sharing => HOLDS,
                _ => WAITS,
            },
            _ => state,
        };
        open.extend(program.after(n).map(|next| (next, after)));
    }
    Some(found)
}

/// Refuses a second `drops` behind another, and one of a lock that the program never holds in place of one that it does.
fn check_dropped(
    program: &Program,
    lock: &str,
    (n, states): (usize, States),
    path: &Path,
) -> Result<(), Mistake> {
    let drops = |at: usize, name: &str| matches!(&program.instructions[at], Instruction::Believe { lock, belief: Belief::Nothing } if lock.pattern() == name);
    let is_written = |at: usize| program.believes.iter().any(|(written, _)| *written == at);
    if n > 0 && drops(n - 1, lock) && is_written(n - 1) {
        return Err(path.mistake(finding!(
            "`{lock}` is dropped already here",
            "到这里 `{lock}` 已经放弃了",
            "leave one of both `drops: {lock}` out",
            "两个 `drops: {lock}` 去掉一个"
        )));
    }
    let is_dropped = |name: &str| (0..program.instructions.len()).any(|at| drops(at, name));
    let other = program.locks.iter().find(|other| *other != lock && !is_dropped(other));
    let Some(other) = other.filter(|_| states == NEVER) else { return Ok(()) };
    Err(path.mistake(finding!(
        "`{lock}` is not held here: this program holds `{other}`, and never drops it",
        "这里并不持有 `{lock}`：这个程序持有的是 `{other}`，却从不放弃它",
        "write `drops: {other}`",
        "请写 `drops: {other}`"
    )))
}

/// Refuses a `holds` before the operation that takes the lock.
fn check_taken(program: &Program, lock: &str, n: usize, path: &Path) -> Result<(), Mistake> {
    let operations = |instructions: &[Instruction]| {
        let sent = instructions.iter().filter_map(Instruction::operation).cloned();
        sent.filter(|operation| !matches!(operation.verb, PlannedVerb::Wait(_))).collect::<Vec<_>>()
    };
    let Some(next) = operations(&program.instructions[n..]).into_iter().next() else { return Ok(()) };
    if !operations(&program.instructions[..n]).is_empty() || !takes(&next) {
        return Ok(());
    }
    let label = &next.label;
    Err(path.mistake(finding!(
        "the program believes that it holds `{lock}` before `{label}` takes it",
        "`{label}` 还没有去拿，程序就认为自己持有 `{lock}` 了",
        "write `- holds: {lock}` after `{label}`",
        "请把 `- holds: {lock}` 写在 `{label}` 之后"
    )))
}

/// Whether the operation asks for a lock, and waits until it has it or may be refused.
fn takes(operation: &PlannedOperation) -> bool {
    match &operation.verb {
        PlannedVerb::Redis(_) => asks(operation),
        PlannedVerb::Call(call) => call.name() == "create",
        PlannedVerb::Local { lock, .. } => *lock,
        PlannedVerb::Flock { call, .. } => *call != Flock::Unlock,
        _ => false,
    }
}

/// Whether the operation is `SET … NX` or `SETNX`, which answer whether the lock was free.
fn asks(operation: &PlannedOperation) -> bool {
    let PlannedVerb::Redis(words) = &operation.verb else { return false };
    let is = |word: &Template, wanted: &str| word.to_string().eq_ignore_ascii_case(wanted);
    let has = |option: &str| words.iter().skip(3).any(|word| is(word, option));
    // With `GET` it answers the value that was there before.
    is(&words[0], "SETNX") || is(&words[0], "SET") && has("NX") && !has("GET")
}

/// What an operation names first: its key, path or mutex.
fn named(operation: &PlannedOperation) -> Option<String> {
    Some(match &operation.verb {
        PlannedVerb::Redis(words) => words.get(1)?.to_string(),
        PlannedVerb::Script { keys, .. } => keys.first()?.to_string(),
        PlannedVerb::Call(call) => call.all_operands().next()?.to_string(),
        PlannedVerb::Local { name, .. } => name.to_string(),
        PlannedVerb::Flock { path, .. } => path.to_string(),
        _ => return None,
    })
}

/// Refuses an operation that gives the lock back although the program never drops it.
fn check_released(program: &Program, lock: &str) -> Result<(), Mistake> {
    let is_about = |belief: &Instruction, wanted: fn(Belief) -> bool| matches!(belief, Instruction::Believe { lock: name, belief } if wanted(*belief) && name.pattern() == lock);
    let about = |wanted| program.instructions.iter().position(|one| is_about(one, wanted));
    let Some(held) = about(Belief::holds) else { return Ok(()) };
    // The operation before the belief is the one that took the lock.
    let Some(taken) = program.instructions[..held].iter().rev().find_map(Instruction::operation) else {
        return Ok(());
    };
    let releases = program.operations().flat_map(|operation| &operation.releases);
    if !takes(taken) || releases.into_iter().any(|name| name.pattern() == lock) {
        return Ok(());
    }
    let own = [named(taken), Some(format!("${{{}}}", taken.label))];
    let mut sent = program.instructions.iter().skip(held).filter_map(|instruction| {
        let operation = instruction.operation()?;
        let gives_back = deletes(&operation.verb) && own.contains(&named(operation));
        Some((operation, operation.path.as_ref()?)).filter(|_| gives_back)
    });
    let Some((operation, path)) = sent.next() else { return Ok(()) };
    let label = &operation.label;
    if about(|belief| !matches!(belief, Belief::Holding | Belief::Sharing | Belief::Waiting)).is_none() {
        return Err(path.mistake(finding!(
            "`{label}` gives `{lock}` back, and the program goes on believing that it holds it",
            "`{label}` 归还了 `{lock}`，程序却仍认为自己持有它",
            "write `- drops: {lock}` after it",
            "请在它后面写 `- drops: {lock}`"
        )));
    }
    Ok(())
}

/// Refuses an `if` the wrong way round: one that stops whoever was granted the lock, or lets whoever was refused hold it.
fn check_refused(program: &Program) -> Result<(), Mistake> {
    for (n, path) in &program.conditions {
        let Some(Instruction::JumpUnless { condition, to }) = program.instructions.get(*n) else { continue };
        let source = condition.source().trim();
        let nothing = source.strip_suffix(" is none").map(|name| (name, false));
        let something = source.strip_suffix(" is not none").map(|name| (name, true));
        let compared = split_comparison(source).and_then(|(name, operator, right)| {
            let right = right.trim_matches(['\'', '"']);
            match (operator, right) {
                ("==", "OK") => Some((name, true)),
                ("!=", "OK") | ("==", "none") => Some((name, false)),
                _ => None,
            }
        });
        let Some((name, granted)) = nothing.or(something).or(compared) else { continue };
        let before = program.instructions[..*n].iter().rev().find_map(Instruction::operation);
        let Some(asked) = before
            .filter(|asked| asked.until.is_none() && asks(asked) && (name == "reply" || name == asked.label))
        else {
            continue;
        };
        let is_set = matches!(&asked.verb, PlannedVerb::Redis(words) if words[0].to_string().eq_ignore_ascii_case("SET"));
        let then = &program.instructions[n + 1..*to];
        let holds = |from: &[Instruction]| {
            let mut at_once = from.iter().take_while(|one| {
                matches!(
                    one,
                    Instruction::Believe { .. } | Instruction::Count { .. } | Instruction::Set { .. }
                )
            });
            at_once.any(|one| matches!(one, Instruction::Believe { belief: Belief::Holding, .. }))
        };
        let stops = matches!(then, [.., Instruction::Stop])
            && !then.iter().any(|one| matches!(one, Instruction::Operate(_)));
        let inverted =
            if granted { stops && !holds(then) && holds(&program.instructions[*to..]) } else { holds(then) };
        if is_set && inverted {
            let right = if granted { format!("{name} is none") } else { format!("{name} == 'OK'") };
            return Err(path.mistake(finding!(
                "this is the wrong way round: whoever was refused holds the lock",
                "条件写反了：被拒绝的反而持有锁",
                "write `if: {right}`",
                "请写 `if: {right}`"
            )));
        }
    }
    Ok(())
}
