//! The locks of a lesson: their titles, and how many clients may hold each.

use std::collections::BTreeSet;

use super::{
    super::{
        Lesson,
        error::{ALIKE, Mistake, Path, did_you_mean, finding, nearest},
        expr::Template,
        model::Params,
    },
    Condition, Instruction, Scenario, counters,
    program::Program,
    story::Roster,
    templates::number,
    types::{nearly, whole_words},
};
use crate::{
    log::{ANY, Belief, Capacity, LockInfo, stands_for},
    text::{Text, both},
};

/// The largest limit of holders: a lesson may have this many actors.
const MOST_HOLDERS: u32 = 5_000;

impl Scenario {
    /// How many clients may hold a lock, or each of the locks that the name stands for.
    pub fn capacity(&self, lock: &str) -> Capacity {
        LockInfo::named(&self.locks, lock).map(|known| known.limit).unwrap_or_default()
    }
}

/// The locks that the lesson describes, and those that programs share.
pub(crate) fn plan(lesson: &Lesson, params: &Params, roster: &Roster<'_>) -> Result<Vec<LockInfo>, Mistake> {
    let instructions = || roster.actors.iter().flat_map(|plan| &plan.program.instructions);
    let shared = instructions().filter_map(|instruction| match instruction {
        Instruction::Believe { lock, belief: Belief::Sharing } => Some(lock.pattern()),
        _ => None,
    });
    let mut shared: Vec<String> = shared.collect();
    let mut locks = Vec::new();
    for (source, spec) in &lesson.locks {
        let path = Path::root().key("locks").key(source);
        let name = Template::parse(source).map_err(|error| Mistake::new(&path, error))?.pattern();
        let is_shared = shared.iter().any(|lock| stands_for(&name, lock));
        let limit = match &spec.holders {
            Some(_) if is_shared => {
                return Err(path.key("holders").mistake(finding!(
                    "`{name}` cannot have `holders` and be shared",
                    "`{name}` 不能既有 `holders` 又是共享的",
                    "a semaphore has `holders`, a read-write lock has readers that say `mode: shared`",
                    "信号量写 `holders`，读写锁由读者写 `mode: shared`"
                )));
            }
            None if is_shared => Capacity::ReadWrite,
            None => Capacity::default(),
            Some(holders) => {
                let holders = number(holders, params, &path.key("holders"), 1..=MOST_HOLDERS)?;
                Capacity::Holders(usize::try_from(holders).unwrap_or(1))
            }
        };
        let mut title = None;
        if let Some(given) = &spec.title {
            title = Some(counters::title(given, &path.key("title"), roster)?);
            if name.contains(ANY) {
                return Err(path.key("title").mistake(finding!(
                    "a title for several locks would not say which one is meant",
                    "多把锁共用一个标题，就分不清是哪一把了",
                    "leave it out: each is shown by its name",
                    "请去掉它：每把锁都会显示自己的名字"
                )));
            }
        }
        shared.retain(|lock| !stands_for(&name, lock));
        locks.push(LockInfo { name, title, limit });
    }
    shared.sort();
    shared.dedup();
    locks.extend(shared.into_iter().map(|name| LockInfo { name, title: None, limit: Capacity::ReadWrite }));
    Ok(locks)
}

/// The locks for which the lesson gives a number of holders.
pub(crate) fn counted(lesson: &Lesson) -> Vec<String> {
    let counted = lesson.locks.iter().filter(|(_, spec)| spec.holders.is_some());
    counted.filter_map(|(source, _)| Some(Template::parse(source).ok()?.pattern())).collect()
}

/// Refuses a described lock that no variant has, because its name is misspelt.
pub(crate) fn check_used(lesson: &Lesson, scenarios: &[Scenario]) -> Result<(), Mistake> {
    let used = || scenarios.iter().flat_map(|scenario| &scenario.actors).flat_map(|plan| &plan.program.locks);
    for source in lesson.locks.keys() {
        let name = Template::parse(source).map(|name| name.pattern()).unwrap_or_default();
        if !used().any(|lock| stands_for(lock, &name) || stands_for(&name, lock)) {
            let path = Path::root().key("locks").key(source);
            let mistake = Mistake::unknown(&path, both!("lock", "锁"), source, used().map(String::as_str));
            return Err(if used().next().is_none() {
                mistake.help(both!(
                    "somebody has to hold it: a program that says `holds` of it",
                    "总得有人持有它：要有一个程序对它写 `holds`"
                ))
            } else {
                mistake
            });
        }
    }
    Ok(())
}

/// The default sentences about a lock.
pub(crate) struct LockSentences {
    /// That it has too many holders now.
    pub(crate) says: Text,
    /// The challenge to give it too many holders.
    pub(crate) goal: Text,
    /// That it had too many holders at some time.
    pub(crate) overlapped: Text,
    /// That it never had too many holders.
    pub(crate) exclusive: Text,
}

impl LockSentences {
    pub(crate) fn of(lock: &str, known: &[LockInfo]) -> Self {
        let info = LockInfo::named(known, lock);
        // Almost every lesson calls its lock `lock`, so that name is written as the ordinary word.
        let (en, zh) = match (info.and_then(|info| info.title.as_ref()), lock) {
            (Some(title), _) => (title.en.clone(), title.zh.clone()),
            (None, "lock") => ("the lock".to_owned(), "锁".to_owned()),
            (None, other) => (other.to_owned(), format!(" {other}")),
        };
        let limit = info.map(|info| info.limit).unwrap_or_default();
        let (who, zh_who) = match limit {
            Capacity::Holders(1) => ("two clients".to_owned(), "两个客户端".to_owned()),
            Capacity::Holders(most) => (format!("more than {most} clients"), format!("超过 {most} 个客户端")),
            Capacity::ReadWrite => {
                return Self {
                    says: Text::new(
                        format!("A client holds {en} exclusively while another holds it, too."),
                        format!("一个客户端独占{zh}期间，另一个客户端也持有它。"),
                    ),
                    goal: Text::new(
                        format!("Let a client hold {en} exclusively while another holds it, too."),
                        format!("让一个客户端独占{zh}，同时另一个客户端也持有它。"),
                    ),
                    overlapped: Text::new(
                        format!("A client held {en} exclusively while another held it, too."),
                        format!("一个客户端独占{zh}期间，另一个客户端也持有过它。"),
                    ),
                    exclusive: Text::new(
                        format!("While a client held {en} exclusively, no other ever held it."),
                        format!("有客户端独占{zh}期间，从没有其他客户端持有它。"),
                    ),
                };
            }
        };
        let mut upper = who.clone();
        upper[..1].make_ascii_uppercase();
        Self {
            says: Text::new(
                format!("{upper} hold {en} at the same time."),
                format!("{zh_who}同时持有{zh}。"),
            ),
            goal: Text::new(
                format!("Let {who} hold {en} at the same time."),
                format!("让{zh_who}同时持有{zh}。"),
            ),
            overlapped: Text::new(
                format!("{upper} held {en} at the same time."),
                format!("{zh_who}同时持有过{zh}。"),
            ),
            exclusive: Text::new(
                format!("At no time did {who} hold {en}."),
                format!("任何时刻都没有{zh_who}同时持有{zh}。"),
            ),
        }
    }
}

/// The least similarity between the name of a lock that a program drops and one that it holds and never drops. Less
/// similar names may belong to two locks.
const ALMOST_THE_SAME: f64 = 0.9;

/// Refuses a lock that a program drops or waits for but nobody holds, if its name is similar to that of another lock.
pub(crate) fn check_names(scenario: &Scenario) -> Result<(), Mistake> {
    let programs = || scenario.actors.iter().map(|plan| &plan.program);
    if programs().any(|program| program.outside) {
        return check_printed(scenario);
    }
    let held: BTreeSet<String> = programs().flat_map(|program| locks_of(program, Belief::holds)).collect();
    for program in programs() {
        let own: BTreeSet<String> = locks_of(program, Belief::holds).collect();
        let dropped: BTreeSet<String> = locks_of(program, |belief| belief == Belief::Nothing).collect();
        for (at, path) in &program.believes {
            let Some(Instruction::Believe { lock, belief: belief @ (Belief::Waiting | Belief::Nothing) }) =
                program.instructions.get(*at)
            else {
                continue;
            };
            let name = lock.pattern();
            let other_name = |near: &str| {
                let message = both!(
                    "this program holds `{near}` and drops `{lock}`",
                    "这个程序持有的是 `{near}`，放弃的却是 `{lock}`"
                );
                Mistake::new(path, message)
                    .help(both!("one lock has one name in both places", "同一把锁两处要用同一个名字"))
            };
            // Without what is filled in, which may be anything, also the space that is missing.
            let bare = |lock: &str| lock.replace(ANY, "");
            let is_slip = |lock: &&String| {
                lock.contains(ANY)
                    && name.contains(ANY)
                    && nearest(&bare(&name), [bare(lock).as_str()], ALMOST_THE_SAME).is_some()
            };
            if *belief == Belief::Nothing
                && !own.contains(&name)
                && let Some(near) = own.iter().find(is_slip)
            {
                return Err(other_name(&near.replace(ANY, "…")));
            }
            if contains(&own, &name) {
                continue;
            }
            let never_dropped = || own.iter().filter(|lock| !contains(&dropped, lock)).map(String::as_str);
            // A lock that nobody ever holds cannot be dropped.
            let other = || never_dropped().next().filter(|_| !contains(&held, &name));
            if *belief == Belief::Nothing
                && let Some(near) = nearest(&name, never_dropped(), ALMOST_THE_SAME).or_else(other)
            {
                return Err(other_name(near));
            }
            if contains(&held, &name) {
                continue;
            }
            if let Some(near) = nearest(&name, held.iter().map(String::as_str), ALIKE) {
                // The name that stands only once is the misspelt one.
                let text = scenario.loaded.source.text();
                let slip = program.believes.iter().find(|(at, _)| {
                    matches!(program.instructions.get(*at), Some(Instruction::Believe { lock, belief: Belief::Holding }) if lock.pattern() == near)
                });
                if let Some((_, path)) = slip.filter(|_| whole_words(text, near) == 1) {
                    let message = both!(
                        "nothing else in this lesson names the lock `{near}`",
                        "这节课里别处都没有提到锁 `{near}`"
                    );
                    return Err(Mistake::new(path, message).help(did_you_mean(&name)));
                }
                let message = both!("nobody ever holds `{lock}`", "从没有谁持有 `{lock}`");
                return Err(Mistake::new(path, message).help(did_you_mean(near)));
            }
        }
    }
    Ok(())
}

/// Refuses a lock of an external program that nothing else names, if its name is almost that of a lock that others name.
fn check_printed(scenario: &Scenario) -> Result<(), Mistake> {
    let own = scenario.actors.iter().filter(|plan| !plan.program.outside);
    let mut others: BTreeSet<&str> = own.flat_map(|plan| &plan.program.locks).map(String::as_str).collect();
    others.extend(scenario.claims.iter().filter_map(|claim| match &claim.condition {
        Condition::Overlap(lock) | Condition::Exclusive(lock) => Some(lock.as_str()),
        Condition::That { .. } => None,
    }));
    for client in scenario.clients.iter().filter(|client| client.exec.is_some()) {
        let Some(plan) = scenario.loaded.lesson.clients.get(&client.name) else { continue };
        let Some(n) = plan.locks.iter().position(|lock| !others.contains(lock.as_str())) else { continue };
        let lock = &plan.locks[n];
        let unprinted = others.iter().copied().filter(|known| !plan.locks.iter().any(|own| own == known));
        if let Some(near) = nearly(lock, unprinted) {
            let path = Path::root().key("clients").key(&client.name).key("locks").index(n);
            let message = both!(
                "nothing else in this lesson names the lock `{lock}`",
                "这节课里别处都没有提到锁 `{lock}`"
            );
            return Err(Mistake::new(&path, message).help(did_you_mean(near)));
        }
    }
    Ok(())
}

/// The locks about which a program may have such a belief.
fn locks_of(program: &Program, wanted: fn(Belief) -> bool) -> impl Iterator<Item = String> + '_ {
    program.instructions.iter().filter_map(move |instruction| match instruction {
        Instruction::Believe { lock, belief } if wanted(*belief) => Some(lock.pattern()),
        _ => None,
    })
}

/// Whether a lock is in the set; parts of either name may be known only at run time.
fn contains(locks: &BTreeSet<String>, name: &str) -> bool {
    locks.iter().any(|lock| stands_for(lock, name) || stands_for(name, lock))
}
