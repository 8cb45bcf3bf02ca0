//! What programs give recipes: two locks that are the same, and a renewal that comes after the lease has ended.

use super::{
    super::{
        super::{
            Expect,
            error::{Mistake, Path, finding},
            expr::Template,
            parse_millis,
        },
        ActorPlan, Scenario,
        program::Instruction,
    },
    counted::sets,
};

/// A use of a recipe: the path, and the values that do not change.
struct Given<'s> {
    recipe: &'s str,
    with: &'s [(String, Template)],
    plan: &'s ActorPlan,
    path: &'s Path,
}

impl<'s> Given<'s> {
    /// The uses in a program itself; in those that it uses, names may stand for something else.
    fn all(plan: &'s ActorPlan) -> Vec<Self> {
        let (mut depth, mut found) = (0_usize, Vec::new());
        for instruction in &plan.program.instructions {
            match instruction {
                Instruction::Enter { program, with, path } => {
                    if let Some(path) = path.as_ref().filter(|_| depth == 0) {
                        found.push(Given { recipe: program, with, plan, path });
                    }
                    depth += 1;
                }
                Instruction::Leave => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        found
    }

    /// The value of a parameter; `None` if only a run determines it.
    fn value(&self, name: &str) -> Option<String> {
        let (_, template) = self.with.iter().find(|(known, _)| known == name)?;
        let is_known = |name: &String| self.plan.scope.get(name).is_some() && !sets(&self.plan.program, name);
        template.names().iter().all(is_known).then(|| template.render(&self.plan.scope.value()).ok())?
    }

    /// A duration in milliseconds.
    fn millis(&self, name: &str) -> Option<i64> {
        parse_millis(&self.value(name)?).ok()
    }
}

pub(super) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    let given: Vec<Given<'_>> = scenario.actors.iter().flat_map(Given::all).collect();
    given.iter().try_for_each(check_locks)?;
    given.iter().try_for_each(check_lease)?;
    if scenario.variant().expects() == Expect::Prevented {
        given.iter().try_for_each(|renews| check_renewal(renews, &given))?;
    }
    Ok(())
}

/// Refuses a lock of several that is the same one twice: its owner gets it again.
fn check_locks(given: &Given<'_>) -> Result<(), Mistake> {
    let first = given.value("first");
    if first.is_none() || first != given.value("second") {
        return Ok(());
    }
    let lock = first.unwrap_or_default();
    Err(given.path.key("with").key("second").mistake(finding!(
        "`first` and `second` are both `{lock}`: that is one lock, and no two",
        "`first` 和 `second` 都是 `{lock}`：这是同一把锁，不是两把",
        "name another lock, where the program or its client is given them",
        "请在给出它们的程序或客户端里写另一把锁"
    )))
}

/// Refuses a lease that stands where another duration belongs, while the lease is given another one.
fn check_lease(given: &Given<'_>) -> Result<(), Mistake> {
    let written = |name: &str| {
        let (_, template) = given.with.iter().find(|(known, _)| known == name)?;
        Some(template.to_string())
    };
    let Some(lease) = written("lease").filter(|lease| lease != "${lease}") else { return Ok(()) };
    let other = ["every", "work"].into_iter().find(|name| written(name).as_deref() == Some("${lease}"));
    let Some(name) = other else { return Ok(()) };
    Err(given.path.key("with").key(name).mistake(finding!(
        "`{name}` is given the lease, and `lease` is given `{lease}`",
        "`{name}` 用了租期，而 `lease` 用的是 `{lease}`",
        "write them the other way round: `lease: \"${{lease}}\", {name}: \"{lease}\"`",
        "请对调过来：`lease: \"${{lease}}\", {name}: \"{lease}\"`"
    )))
}

/// Refuses a watchdog in a fix that first renews when the lease has already ended.
fn check_renewal(given: &Given<'_>, all: &[Given<'_>]) -> Result<(), Mistake> {
    let granted = |other: &&Given<'_>| other.recipe == "etcd_queue" && other.value("id") == given.value("id");
    let lease = match given.recipe {
        "watchdog" | "redisson_watchdog" => given.millis("lease"),
        "etcd_keeper" => {
            let seconds = all.iter().find(granted).and_then(|queue| queue.value("ttl"));
            seconds.and_then(|seconds| seconds.parse::<i64>().ok()).map(|seconds| seconds * 1000)
        }
        _ => None,
    };
    let (Some(lease), Some(every)) = (lease, given.millis("every")) else { return Ok(()) };
    if every < lease {
        return Ok(());
    }
    let third = lease / 3;
    Err(given.path.key("with").key("every").mistake(finding!(
        "it first renews after {every} ms, and the lease ends after {lease} ms",
        "它 {every} 毫秒后才第一次续期，而租期 {lease} 毫秒就到了",
        "renew well before the lease ends, such as every third of it: {third}ms",
        "要在租期结束之前早早续期，例如每三分之一租期一次：{third}ms"
    )))
}
