//! Lints: comparisons that have the same result in every run, such as a text with a number, a count with a negative
//! number, or constants with each other. A run accepts them, but `check` refuses them, because they prove nothing.

mod answer;
mod attributes;
mod beginning;
mod comparison;
mod contradiction;
mod counted;
pub(crate) mod events;
mod given;
mod in_programs;
mod increments;
pub(crate) mod items;
mod kinds;
mod owners;
mod proof;
mod reach;
mod returns;
mod scenario;
mod texts;
mod there;

use self::{
    answer::of_answer,
    beginning::check_beginning,
    contradiction::contradictory,
    reach::{figure, of_most},
    scenario::{of_actor, of_counter, of_event, of_list, of_message, of_owner, of_role, of_value},
};
pub(crate) use self::{
    answer::{Answer, field_lint, of_named},
    comparison::{Literal, exceeds, lint, literal, unquoted},
    contradiction::required,
    in_programs::{arithmetic_lint, error_lint, errors_asked, name_lint, size_lint, unnumbered_lint},
    kinds::{Held, Kind, count_lint, held, held_lint, kind_lint},
    returns::{number_lint, numbers_of, returned, subject_lint, subjects_of},
};
use super::{
    super::{
        Expect, LabKind,
        error::{Finding, Mistake, Mistakes, Path, finding},
        expr::{
            Mentions,
            mentions::{comparisons, dotted, joined, split_comparison},
        },
        invariant::{Invariant, Never},
        model::Claim,
    },
    Act, Condition, RightPlan, Scenario, StoryLine, keys,
    program::Instruction,
    sql::{self, replies},
    types,
};
use crate::{
    log::{Belief, Capacity, stands_for},
    text::both,
};

/// Checks what claims, invariants and the story of a variant compare.
pub(crate) fn check(scenario: &Scenario, all: &[Scenario]) -> Result<(), Mistakes> {
    let mut found = Mistakes::default();
    for plan in scenario.programmed() {
        for mistake in &plan.program.findings {
            found.extend(mistake.clone());
        }
    }
    for plan in &scenario.actors {
        let statement = |label: &str| plan.program.statement_of(label);
        let is_take = |label: &str| plan.program.answer_of(label).is_some_and(Answer::is_notification);
        let lint = |source: &str| {
            replies::reply_lint(source, statement, scenario)
                .or_else(|| replies::count_lint(source, statement, scenario))
                .or_else(|| of_message(source, scenario, is_take))
                .or_else(|| reach::of_replicas(source, &plan.program, scenario))
                .or_else(|| there::of_beginning(source, scenario))
        };
        found.each(&plan.program.asked, |(source, path)| Mistake::if_found(path, lint(source)));
    }
    found.keep(increments::check(scenario));
    found.keep(counted::check(scenario));
    found.keep(given::check(scenario));
    found.keep(proof::check(scenario));
    found.keep(texts::check(scenario));
    found.each(&scenario.story, |line| check_line(scenario, line));
    found.keep(reach::check(scenario));
    let at = scenario.path().key("claims");
    for n in 0..scenario.variant().claims.len() {
        found.keep(check_claim(scenario, n, &at.index(n)));
    }
    found.keep(check_together(scenario, &at));
    found.keep(check_quoted(scenario, all));
    let Some((invariants, at)) = scenario.written_invariants() else { return found.or(()) };
    let others = if scenario.variant().invariants.is_some() { &[][..] } else { all };
    for n in 0..invariants.len() {
        found.keep(check_invariant(scenario, others, (invariants, n), &at.index(n).key("never")));
    }
    found.or(())
}

fn check_claim(scenario: &Scenario, n: usize, at: &Path) -> Result<(), Mistake> {
    let claims = &scenario.variant().claims;
    let claim = &claims[n];
    let same = |other: &Claim| match (other, claim) {
        (Claim::Bare(a) | Claim::That { that: a, .. }, Claim::Bare(b) | Claim::That { that: b, .. }) => {
            a == b
        }
        _ => false,
    };
    if let Some(before) = claims[..n].iter().position(same) {
        return Err(duplicate(at, before + 1));
    }
    match claim {
        Claim::Bare(source) => check_expression(scenario, &[], source, at),
        Claim::That { that, .. } => check_expression(scenario, &[], that, &at.key("that")),
        Claim::Overlap { .. } | Claim::Exclusive { .. } => check_lock(scenario, n, at),
    }
}

fn check_invariant(
    scenario: &Scenario,
    others: &[Scenario],
    (invariants, n): (&[Invariant], usize),
    at: &Path,
) -> Result<(), Mistake> {
    let same = |other: &Invariant| match (&other.never, &invariants[n].never) {
        (Never::That(a), Never::That(b)) | (Never::Overlap { overlap: a }, Never::Overlap { overlap: b }) => {
            a == b
        }
        _ => false,
    };
    if let Some(before) = invariants[..n].iter().position(same) {
        return Err(duplicate(at, before + 1));
    }
    let Never::That(source) = &invariants[n].never else { return Ok(()) };
    check_expression(scenario, others, source, at)?;
    check_beginning(scenario, source, at)
}

/// Reports an invariant, or what makes a choice right, with a count that no run reaches, in whichever variant it is judged.
pub(crate) fn check_reached(scenarios: &[Scenario]) -> Result<(), Mistake> {
    let mut judged: Vec<(Path, Option<Finding>)> = Vec::new();
    for scenario in scenarios.iter().filter(|scenario| scenario.loaded.lesson.kata.is_none()) {
        // A parameter may get another value on the command line, and what nobody ever does to a key may be said of
        // every key.
        let is_literal = |part: &&str, is_right: bool| {
            split_comparison(part).is_some_and(|(left, _, right)| {
                let open = left.contains("_by_another") || left.contains("holders") && !is_right;
                literal(right).is_some() && !open
            })
        };
        let of = |source: &str, is_right: bool| {
            let parts = if source.contains(" or ") { Vec::new() } else { joined(source) };
            parts.iter().filter(|part| is_literal(part, is_right)).find_map(|part| of_most(part, scenario))
        };
        let (invariants, at) = scenario.written_invariants().unwrap_or_default();
        for (n, invariant) in invariants.iter().enumerate() {
            if let Never::That(source) = &invariant.never {
                judged.push((at.index(n).key("never"), of(source, false)));
            }
        }
        for line in &scenario.story {
            let Act::Ask(ask) = &line.act else { continue };
            let at = line.path.key("ask").key("choices");
            for (n, choice) in ask.choices.iter().enumerate() {
                if let RightPlan::When(right) = &choice.right {
                    judged.push((at.index(n).key("right"), of(right.source(), true)));
                }
            }
        }
    }
    let never = judged.iter().find_map(|(at, lint)| {
        let all = judged.iter().filter(|(other, _)| other == at).all(|(_, lint)| lint.is_some());
        lint.clone().filter(|_| all).map(|lint| (at, lint))
    });
    never.map_or(Ok(()), |(at, lint)| Err(at.mistake(lint)))
}

/// The mistake of a duplicate in a list.
fn duplicate(at: &Path, before: usize) -> Mistake {
    let message = both!("number {before} of this list says the same", "和列表里的第 {before} 条相同");
    Mistake::new(at, message).help(both!("leave one of both out", "两者去掉一个"))
}

/// Reports a claim about a lock that another claim contradicts. A lock that overlaps in a variant that prevents the
/// failure is no mistake: only the damage may be prevented.
fn check_lock(scenario: &Scenario, n: usize, at: &Path) -> Result<(), Mistake> {
    let conditions = || scenario.claims.iter().map(|claim| &claim.condition);
    match conditions().nth(n) {
        Some(Condition::Exclusive(lock))
            if conditions().any(|other| matches!(other, Condition::Overlap(other) if other == lock)) =>
        {
            let message = both!(
                "`{lock}` cannot be exclusive and overlap in one run",
                "一次运行里，`{lock}` 不可能既互斥又重叠"
            );
            Err(Mistake::new(at, message).help(both!("claim one of both", "两个断言只能留一个")))
        }
        Some(Condition::Overlap(lock)) => {
            check_held(scenario, lock, &at.key("overlap"))?;
            check_overlap(scenario, lock, at)?;
            check_prevented(scenario, lock, at)
        }
        Some(Condition::Exclusive(lock)) => check_held(scenario, lock, &at.key("exclusive")),
        _ => Ok(()),
    }
}

/// Reports a lock that programs wait for or drop, but never hold.
fn check_held(scenario: &Scenario, lock: &str, at: &Path) -> Result<(), Mistake> {
    let is_held = scenario.instructions().any(|instruction| match instruction {
        Instruction::Believe { lock: held, belief: Belief::Holding | Belief::Sharing } => {
            let held = held.pattern();
            stands_for(&held, lock) || stands_for(lock, &held)
        }
        _ => false,
    });
    if is_held || scenario.is_open() || scenario.locks_files() {
        return Ok(());
    }
    let message = both!("no program ever holds `{lock}`", "没有任何程序持有过 `{lock}`");
    Err(Mistake::new(at, message).help(both!(
        "write `- holds: {lock}` where a program has got it",
        "请在程序拿到锁的地方写 `- holds: {lock}`"
    )))
}

/// Reports `overlap` in a variant that prevents the failure, if an invariant says that the lock never overlaps.
fn check_prevented(scenario: &Scenario, lock: &str, at: &Path) -> Result<(), Mistake> {
    let forbids = |invariants: &[Invariant]| {
        invariants.iter().any(|one| matches!(&one.never, Never::Overlap { overlap } if overlap == lock))
    };
    let is_broken = scenario.variant().expects() == Expect::Prevented
        && scenario.written_invariants().is_none_or(|(invariants, _)| forbids(invariants));
    if !is_broken || scenario.is_open() {
        return Ok(());
    }
    Err(at.mistake(finding!(
        "`overlap: {lock}` breaks the invariant that `{lock}` never overlaps, and this variant should prevent that",
        "`overlap: {lock}` 违反了“`{lock}` 不会重叠”这条不变式，而这个方案本应防止它",
        "claim `exclusive: {lock}`; a failure has `expect: shown`; a fix that allows two holders has `invariants` of its own, \
         about the damage",
        "请断言 `exclusive: {lock}`；展示失败的方案写 `expect: shown`；允许两个持有者的修复要写自己的 `invariants`，只管损害"
    )))
}

/// Reports `overlap` for a lock that no more actors ever hold than may.
fn check_overlap(scenario: &Scenario, lock: &str, at: &Path) -> Result<(), Mistake> {
    let mut limits =
        scenario.locks.iter().filter(|known| stands_for(&known.name, lock)).map(|known| known.limit);
    let most = match limits.next_back() {
        Some(Capacity::Holders(most)) => most,
        Some(_) => return Ok(()),
        None => 1,
    };
    let holds = |name: &String| stands_for(name, lock) || stands_for(lock, name);
    let actors = scenario.actors.iter().filter(|plan| plan.program.locks.iter().any(holds)).count();
    if scenario.is_attached() || actors > most {
        return Ok(());
    }
    Err(at.mistake(finding!(
        "`{lock}` may have {most} holders, and only {actors} clients ever take it: it never overlaps",
        "`{lock}` 允许 {most} 个持有者，而只有 {actors} 个客户端会用到它：不可能重叠",
        "let another client run the program, or claim `exclusive: {lock}`",
        "请再加一个运行该程序的客户端，或者断言 `exclusive: {lock}`"
    )))
}

/// Checks the condition that a line of the story waits for, or those that decide its question.
fn check_line(scenario: &Scenario, line: &StoryLine) -> Result<(), Mistake> {
    match &line.act {
        Act::Await(until) => {
            check_expression(scenario, &[], until.that.source(), &line.path.key("await").key("that"))
        }
        Act::Ask(ask) => ask.choices.iter().enumerate().try_for_each(|(n, choice)| {
            let RightPlan::When(right) = &choice.right else { return Ok(()) };
            let at = line.path.key("ask").key("choices").index(n).key("right");
            check_comparison(scenario, &[], right.source(), &at)
        }),
        _ => Ok(()),
    }
}

fn check_expression(
    scenario: &Scenario,
    others: &[Scenario],
    source: &str,
    at: &Path,
) -> Result<(), Mistake> {
    let mentions = Mentions::of(source);
    if let Some(call) =
        mentions.calls_of("before").find(|call| matches!(&call.arguments[..], [Some(a), Some(b)] if a == b))
    {
        let name = call.arguments[0].clone().unwrap_or_default();
        let message = both!("`{name}` is never before itself", "`{name}` 不会先于它自己");
        return Err(Mistake::new(at, message).help(both!(
            "name two moves: `before('A.release', 'B.acquire')`",
            "请写两个操作：`before('A.release', 'B.acquire')`"
        )));
    }
    let is_figure = |path: &Vec<String>| {
        scenario.scope.get(&path[0]).is_some()
            || matches!(path[0].as_str(), "true" | "false" | "none" | "and" | "or" | "not")
    };
    Mistake::if_found(at, decided(source))?;
    if mentions.calls.is_empty() && mentions.paths.iter().all(is_figure) {
        return Err(at.mistake(finding!(
            "`{source}` does not depend on anything that happens",
            "`{source}` 与发生的事无关，结果总是一样",
            "ask for what is to be observed, such as `A.release == 1` or `sold == 10`",
            "请写要观察到的事，例如 `A.release == 1` 或 `sold == 10`"
        )));
    }
    check_comparison(scenario, others, source, at)
}

/// The finding about a literal `true` or `false` joined by `and` or `or`: it decides the result alone, or has no effect.
pub(crate) fn decided(source: &str) -> Option<Finding> {
    let mut parts = joined(source).into_iter();
    let Some(part) = parts.find(|part| matches!(*part, "true" | "false" | "True" | "False")) else {
        return excluded(source);
    };
    (part.len() < source.len()).then(|| {
        finding!(
            "`{part}` in `{source}` decides it by itself, or nothing",
            "`{source}` 里的 `{part}` 要么直接决定结果，要么没有作用",
            "leave `{part}` out",
            "请去掉 `{part}`"
        )
    })
}

/// Reports two operands of `and` that contradict each other.
fn excluded(source: &str) -> Option<Finding> {
    let parts = required(source);
    let (one, other) = contradictory(&parts)?;
    let (one, other) = (parts[one], parts[other]);
    Some(Finding {
        message: both!("`{one}` and `{other}` are never both so", "`{one}` 和 `{other}` 不可能同时成立"),
        help: both!("leave one of both out, or write `or`", "请去掉一个，或者改成 `or`"),
    })
}

/// Reports two claims that cannot both hold.
fn check_together(scenario: &Scenario, at: &Path) -> Result<(), Mistake> {
    let claims = scenario.variant().claims.iter().enumerate();
    let sources = claims.filter_map(|(n, claim)| match claim {
        Claim::Bare(source) => Some((at.index(n), source)),
        Claim::That { that, .. } => Some((at.index(n).key("that"), that)),
        _ => None,
    });
    let parts: Vec<(Path, &str)> = sources
        .flat_map(|(at, source)| required(source).into_iter().map(move |part| (at.clone(), part)))
        .collect();
    let words: Vec<&str> = parts.iter().map(|(_, part)| *part).collect();
    let Some((one, other)) = contradictory(&words) else { return Ok(()) };
    let (one, (at, other)) = (words[one], &parts[other]);
    let message = both!(
        "no run ends with `{one}`, as another claim says, and with `{other}`",
        "另一个断言是 `{one}`，一次运行结束时不可能又有 `{other}`"
    );
    Err(Mistake::new(at, message).help(both!("claim one of both", "两个断言只能留一个")))
}

/// Reports a number in quotes if another claim compares the same reply with a number: one of both never holds.
fn check_quoted(scenario: &Scenario, all: &[Scenario]) -> Result<(), Mistake> {
    let is_number = |reply: &str| {
        let sources = all.iter().flat_map(|scenario| scenario.claim_sources().map(|(source, _)| source));
        sources
            .flat_map(comparisons)
            .any(|(left, _, right)| left == reply && matches!(literal(right), Some(Literal::Number(_))))
    };
    for (source, at) in scenario.claim_sources() {
        for (left, operator, right) in comparisons(source) {
            if let Some(Literal::Text(text)) = literal(right)
                && text.parse::<i64>().is_ok()
                && left.rsplit_once('.').is_some_and(|(who, _)| scenario.actor_named(who).is_some())
                && is_number(left)
            {
                return Err(at.mistake(finding!(
                    "another claim compares `{left}` with a number, and here is the text {right}",
                    "另一个断言把 `{left}` 和数字比较，这里却是文字 {right}",
                    "without quotes: `{left} {operator} {text}`",
                    "去掉引号：`{left} {operator} {text}`"
                )));
            }
        }
    }
    Ok(())
}

/// The finding about an event that no server of the lab sends.
pub(crate) fn event_lint(source: &str, lab: LabKind) -> Option<Finding> {
    joined(source).into_iter().find_map(|part| of_event(part, lab))
}

/// Whether a name in claims is a counter, or how many notifications a client had.
fn is_count(scenario: &Scenario, name: &str) -> bool {
    let notified = || scenario.actor_named(name.strip_suffix(".notified")?);
    scenario.counters.contains(name) || notified().is_some()
}

/// The kind of a name in claims: a parameter, a counter, or an attribute of a client.
fn kind_in(scenario: &Scenario, name: &str, answer: Option<Answer>) -> Option<Kind> {
    if is_count(scenario, name) {
        return Some(Kind::Number);
    }
    scenario.scope.get(name).and_then(Kind::of_value).or(answer.map(Kind::of_answer))
}

fn check_comparison(
    scenario: &Scenario,
    others: &[Scenario],
    source: &str,
    at: &Path,
) -> Result<(), Mistake> {
    keys::check(scenario, others, source, at)?;
    let dotted = dotted(source);
    let source = dotted.as_str();
    let parts = joined(source);
    let counter = parts.iter().find_map(|part| of_counter(part, scenario));
    let actor = || parts.iter().find_map(|part| of_actor(part, scenario));
    Mistake::if_found(at, counter.or_else(actor))?;
    let answer = |name: &str| scenario.reply(name).and_then(|(program, label)| program.answer_of(label));
    let columns = |name: &str| scenario.reply(name).and_then(|(program, label)| program.columns_of(label));
    // An error of MariaDB is a text.
    let number = |part: &&str| {
        let (left, _, right) = split_comparison(part)?;
        let (program, label) = scenario.reply(left)?;
        let copes = program.allows(label, right) && right.parse::<u16>().is_ok();
        copes.then(|| Finding {
            message: both!("`{left}` is a text where it was an error", "出错时 `{left}` 是文字"),
            help: both!("in quotes: `{left} == '{right}'`", "加上引号：`{left} == '{right}'`"),
        })
    };
    let found = sql::row_lint(source, scenario)
        .or_else(|| parts.iter().find_map(number))
        .or_else(|| lint(source, answer))
        .or_else(|| field_lint(source, answer, columns))
        .or_else(|| {
            items::beyond(source, |name| match scenario.reply(name) {
                Some((program, label)) => program.items_of(label),
                None => items::replied(name, scenario),
            })
        })
        .or_else(|| {
            items::length_lint(source, |name| {
                let (program, label) = scenario.reply(name)?;
                program.length_of(label)
            })
        })
        .or_else(|| items::messages_beyond(source, scenario))
        .or_else(|| items::repeated(source))
        .or_else(|| increments::lint(source, scenario))
        .or_else(|| of_value(source, scenario.lab()))
        .or_else(|| types::lint(source, scenario))
        // After the types of keys, which say which field it is.
        .or_else(|| of_list(source, scenario.lab()))
        .or_else(|| {
            let statement =
                |name: &str| scenario.reply(name).and_then(|(program, label)| program.statement_of(label));
            replies::reply_lint(source, statement, scenario)
                .or_else(|| replies::count_lint(source, statement, scenario))
        })
        .or_else(|| joined(source).into_iter().find_map(|part| of_role(part, scenario.lab())))
        .or_else(|| event_lint(source, scenario.lab()))
        .or_else(|| of_message(source, scenario, |name| answer(name).is_some_and(Answer::is_notification)))
        .or_else(|| joined(source).into_iter().find_map(|part| of_owner(part, scenario)))
        .or_else(|| {
            // A constant that the lesson gives a name.
            comparisons(source).find_map(|(left, operator, right)| {
                let number = figure(right, scenario).filter(|_| literal(right).is_none())?;
                let equal = matches!(operator, "==" | "!=");
                of_answer(left, answer(left)?, equal, &Literal::Number(number), right)
            })
        })
        .or_else(|| count_lint(source, |name| is_count(scenario, name)))
        .or_else(|| there::of_beginning(source, scenario))
        .or_else(|| there::of_shard(source, scenario))
        .or_else(|| there::of_expiry(source, scenario))
        .or_else(|| there::of_token(source, scenario))
        .or_else(|| there::of_figure(source, scenario))
        .or_else(|| kind_lint(source, |name| kind_in(scenario, name, answer(name))))
        .or_else(|| {
            // An item of all replies, if there is one, is a reply.
            let numbers = |name: &str| {
                let rest = name.strip_prefix("replies(");
                let filtered = rest
                    .and_then(|rest| rest.strip_suffix(")|first").or_else(|| rest.strip_suffix(")|last")));
                let indexed = rest.and_then(|rest| rest.strip_suffix(']')?.split_once(")["));
                let indexed = indexed.filter(|(_, n)| n.bytes().all(|byte| byte.is_ascii_digit()));
                let item = filtered.or(indexed.map(|(moves, _)| moves));
                let name = item.map_or(name, |moves| moves.trim_matches(['\'', '"']));
                scenario.reply(name).and_then(|(program, label)| numbers_of(program, label))
            };
            let subjects =
                |name: &str| scenario.reply(name).and_then(|(program, label)| subjects_of(program, label));
            number_lint(source, numbers)
                .or_else(|| subject_lint(source, subjects))
                .filter(|_| scenario.loaded.lesson.kata.is_none())
        });
    Mistake::if_found(at, found)?;
    // Each item of a list is compared with a reply.
    let listed = parts.iter().flat_map(|part| items::compared(part));
    listed.into_iter().try_for_each(|one| check_comparison(scenario, others, &one, at))
}
