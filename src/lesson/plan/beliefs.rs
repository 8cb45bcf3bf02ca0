//! Checks the order of what a program believes and what it sends: a lock that is dropped without being held, or released
//! and never dropped, a belief before the operation that takes the lock or on a refused branch.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    super::{
        error::{Mistake, Path, finding},
        expr::{Template, mentions::split_comparison},
        model::Claim,
    },
    Scenario,
    lints::returned,
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
        locks.into_iter().try_for_each(|lock| check_lock(scenario, program, lock))
    })
}

fn check_lock(scenario: &Scenario, program: &Program, lock: &str) -> Result<(), Mistake> {
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
            Belief::Holding if at(*n) & (DROPPED | HOLDS) == 0 => {
                check_taken(program, lock, *n, path)?;
                // Who is alone with its program may be sure of the lock.
                let is_at = |(_, other): &(usize, Path)| other == path;
                let same = scenario.actors.iter().filter(|plan| plan.program.believes.iter().any(is_at));
                let overlaps =
                    |claim: &Claim| matches!(claim, Claim::Overlap { overlap, .. } if overlap == lock);
                if same.count() > 1 && !scenario.is_meant(overlaps) {
                    check_granted(program, lock, *n, path)?;
                }
            }
            _ => {}
        }
    }
    check_released(program, lock, &states)
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
    if states != NEVER {
        return Ok(());
    }
    let Some(other) = program.locks.iter().find(|other| *other != lock && !is_dropped(other)) else {
        let taken = program.instructions[..n].iter().rev().find_map(Instruction::operation);
        // A program that never holds the lock may be one of several threads.
        let never = program.locks.len() == 1 && taken.is_some_and(|operation| takes(operation));
        if !never {
            return Ok(());
        }
        return Err(path.mistake(finding!(
            "`{lock}` is dropped here, and this program never holds it",
            "这里放弃了 `{lock}`，而这个程序从没持有过它",
            "write `- holds: {lock}` where the program has got it",
            "请在拿到锁的地方写 `- holds: {lock}`"
        )));
    };
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

/// Refuses a `holds` right after an operation that may have been refused.
fn check_granted(program: &Program, lock: &str, n: usize, path: &Path) -> Result<(), Mistake> {
    let before = program.instructions[..n].iter().enumerate().rev();
    let mut before = before.skip_while(|(_, one)| {
        matches!(one, Instruction::Believe { .. } | Instruction::Count { .. } | Instruction::Set { .. })
    });
    let Some((at, Instruction::Operate(asked))) = before.next() else { return Ok(()) };
    let is_led_to = program.instructions.iter().any(|one| match one {
        Instruction::Jump { to } | Instruction::JumpUnless { to, .. } => (at + 1..=n).contains(to),
        _ => false,
    });
    let answers = match &asked.verb {
        PlannedVerb::Script { .. } => returned(&asked.verb).is_some_and(|numbers| numbers == [0, 1].into()),
        _ => asks(asked),
    };
    if is_led_to || asked.until.is_some() || asked.queued || !answers {
        return Ok(());
    }
    let label = &asked.label;
    let granted = if asks(asked) && !is_command(asked, "SETNX") { "'OK'" } else { "1" };
    Err(path.mistake(finding!(
        "`{label}` may be refused, and the program believes all the same that it holds `{lock}`",
        "`{label}` 可能被拒绝，程序却照样认为自己持有 `{lock}`",
        "write `until: reply == {granted}` in `{label}`, or `holds` in the `then` of `if: {label} == {granted}`",
        "请在 `{label}` 里写 `until: reply == {granted}`，或者把 `holds` 放进 `if: {label} == {granted}` 的 `then`"
    )))
}

fn is_command(operation: &PlannedOperation, name: &str) -> bool {
    matches!(&operation.verb, PlannedVerb::Redis(words) if words[0].to_string().eq_ignore_ascii_case(name))
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

/// Refuses an operation that gives the lock back although the program then ends without dropping it.
fn check_released(program: &Program, lock: &str, states: &BTreeMap<usize, States>) -> Result<(), Mistake> {
    let is_about =
        |one: &Instruction| matches!(one, Instruction::Believe { lock: name, .. } if name.pattern() == lock);
    let is_held = |one: &Instruction| matches!(one, Instruction::Believe { belief, .. } if belief.holds());
    let Some(held) = program.instructions.iter().position(|one| is_about(one) && is_held(one)) else {
        return Ok(());
    };
    let before = || program.instructions[..held].iter().rev().filter_map(Instruction::operation);
    // The operation before the belief is the one that took the lock; a znode has the path that `create` answered.
    let taken =
        before().next().filter(|taken| takes(taken) || matches!(taken.verb, PlannedVerb::Script { .. }));
    let created =
        before().filter(|one| matches!(&one.verb, PlannedVerb::Call(call) if call.name() == "create"));
    let reply = |operation: &Arc<PlannedOperation>| format!("${{{}}}", operation.label);
    let own: Vec<String> =
        taken.and_then(|taken| named(taken)).into_iter().chain(created.map(reply)).collect();
    let ends_without = |from: usize| {
        let (mut open, mut seen) = (program.after(from).collect::<Vec<_>>(), BTreeSet::new());
        while let Some(at) = open.pop() {
            if program.instructions.get(at).is_some_and(is_about) {
                return false;
            }
            if seen.insert(at) {
                open.extend(program.after(at));
            }
        }
        true
    };
    let given_back = program.instructions.iter().enumerate().find_map(|(n, instruction)| {
        let operation = instruction.operation()?;
        let path = operation.path.as_ref()?;
        let is_own = named(operation).is_some_and(|name| own.contains(&name));
        let holds = states.get(&n).is_some_and(|states| states & (HOLDS | DROPPED) == HOLDS);
        (holds && is_own && deletes(&operation.verb) && ends_without(n)).then_some((operation, path))
    });
    let Some((operation, path)) = given_back else { return Ok(()) };
    let label = &operation.label;
    Err(path.mistake(finding!(
        "`{label}` gives `{lock}` back, and the program goes on believing that it holds it",
        "`{label}` 归还了 `{lock}`，程序却仍认为自己持有它",
        "write `- drops: {lock}` after it",
        "请在它后面写 `- drops: {lock}`"
    )))
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
        check_first(program, (*n, *to), (name, granted), path)?;
        let before = program.instructions[..*n].iter().rev().find_map(Instruction::operation);
        let of_error = name == "error";
        let Some(asked) = before.filter(|asked| {
            let is_it = name == "reply" || name == asked.label;
            asked.until.is_none() && if of_error { !asked.allow.is_empty() } else { asks(asked) && is_it }
        }) else {
            continue;
        };
        let is_set = is_command(asked, "SET");
        let then = &program.instructions[n + 1..*to];
        let rest = &program.instructions[*to..];
        let leaves = matches!(then, [.., Instruction::Stop | Instruction::Jump { .. }]);
        let otherwise = match then.last() {
            Some(Instruction::Jump { to: end }) if end > to => &program.instructions[*to..*end],
            _ => &[],
        };
        let inverted = match (of_error, granted) {
            // After an error what was asked for was not done.
            (true, true) => is_taken(program, *n, then) && gives_up(otherwise),
            (true, false) => leaves && gives_up(then) && is_taken(program, *n, rest),
            (false, true) => leaves && gives_up(then) && holds(rest),
            (false, false) => holds_later(then),
        };
        if (is_set || of_error) && inverted {
            let right = match (of_error, granted) {
                (_, true) => format!("{name} is none"),
                (true, false) => format!("{name} is not none"),
                (false, false) => format!("{name} == 'OK'"),
            };
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

/// Whether the program believes that it holds a lock before it sends anything else.
fn holds(from: &[Instruction]) -> bool {
    let mut at_once = from.iter().take_while(|one| {
        matches!(
            one,
            Instruction::Believe { .. }
                | Instruction::Count { .. }
                | Instruction::Set { .. }
                | Instruction::Enter { .. }
                | Instruction::Leave
        )
    });
    at_once.any(|one| matches!(one, Instruction::Believe { belief: Belief::Holding, .. }))
}

/// Whether a branch holds a lock at once that the program has not held before.
fn is_taken(program: &Program, n: usize, branch: &[Instruction]) -> bool {
    let held = |one: &Instruction| match one {
        Instruction::Believe { lock, belief } if belief.holds() => Some(lock.pattern()),
        _ => None,
    };
    let first = branch.iter().find_map(held);
    holds(branch) && !program.instructions[..n].iter().any(|one| held(one) == first)
}

/// Whether the steps of a branch send nothing, and stop or drop the lock without holding it.
fn gives_up(branch: &[Instruction]) -> bool {
    let sends = |one: &Instruction| matches!(one, Instruction::Operate(_));
    let drops = |one: &Instruction| matches!(one, Instruction::Believe { belief: Belief::Nothing, .. });
    let ends = matches!(branch, [.., Instruction::Stop]) || branch.iter().any(drops);
    ends && !holds(branch) && !branch.iter().any(sends)
}

/// The same, also after steps that cannot have taken a lock or have asked who has it.
fn holds_later(from: &[Instruction]) -> bool {
    let asks_again = |one: &Instruction| match one {
        Instruction::Operate(operation) => {
            !matches!(operation.verb, PlannedVerb::Wait(_)) && !is_command(operation, "WAIT")
        }
        _ => false,
    };
    let mut before = from.iter().take_while(|one| !asks_again(one));
    before.any(|one| matches!(one, Instruction::Believe { belief: Belief::Holding, .. }))
}

/// Refuses a queue's `if` the wrong way round: one that lets whoever has somebody before it hold the lock.
fn check_first(
    program: &Program,
    (n, to): (usize, usize),
    (name, is_there): (&str, bool),
    path: &Path,
) -> Result<(), Mistake> {
    let last = program.instructions[..n].iter().rev().find_map(|one| match one {
        Instruction::Set { name: set, value } if set == name => Some(value.source()),
        Instruction::Operate(operation) if operation.label == name => Some(""),
        _ => None,
    });
    let is_before = last.is_some_and(|source| source.contains("|before(") && source.ends_with(')'));
    if !is_before || !is_there || !holds(&program.instructions[n + 1..to]) {
        return Ok(());
    }
    Err(path.mistake(finding!(
        "this is the wrong way round: whoever has somebody before it in the queue holds the lock",
        "条件写反了：前面还有人排队的反而持有锁",
        "write `if: {name} is none`",
        "请写 `if: {name} is none`"
    )))
}
