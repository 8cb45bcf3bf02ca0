//! References to moves in expressions over what happened: `A.release`, `A.worker.release`, `'P1.2.check'`. A claim
//! about a reply that can never come proves nothing, so they are checked.

use super::{
    super::error::{Mistake, Path},
    claims::ACTOR_FUNCTIONS,
    clients::{ActorPlan, ClientPlan},
};

/// Checks every reference that begins with the name of a process.
pub(crate) fn check(
    source: &str,
    clients: &[ClientPlan],
    actors: &[ActorPlan],
    path: &Path,
) -> Result<(), Mistake> {
    for client in clients {
        for (rest, quoted) in mentions(source, &client.name) {
            let actors = &actors[client.actors.clone()];
            check_one(&rest, quoted, (client, actors), path)?;
        }
    }
    Ok(())
}

/// What follows each `NAME.` in a source, word by word, and whether it stands in a quoted text.
fn mentions<'s>(source: &'s str, name: &str) -> Vec<(Vec<&'s str>, bool)> {
    let mut found = Vec::new();
    for (at, _) in source.match_indices(&format!("{name}.")) {
        let before = source[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '/')) {
            continue;
        }
        let rest = &source[at + name.len() + 1..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.'))).unwrap_or(rest.len());
        found.push((rest[..end].split('.').collect(), is_quoted(source, at)));
    }
    found
}

/// Whether a place in a source is inside a quoted text.
fn is_quoted(source: &str, at: usize) -> bool {
    let mut quote = None;
    for c in source[..at].chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            _ => {}
        }
    }
    quote.is_some()
}

fn check_one(
    words: &[&str],
    quoted: bool,
    (client, actors): (&ClientPlan, &[ActorPlan]),
    path: &Path,
) -> Result<(), Mistake> {
    let first = words.first().copied().unwrap_or_default();
    let alone = actors.iter().find(|plan| plan.actor.name == client.name);
    let threads =
        || actors.iter().filter_map(|plan| plan.actor.name.strip_prefix(&client.name)?.strip_prefix('.'));
    match alone {
        Some(plan) => check_label(first, plan, path),
        None if threads().any(|thread| thread == first) => {
            let name = format!("{}.{first}", client.name);
            let plan = actors.iter().find(|plan| plan.actor.name == name);
            match (plan, words.get(1)) {
                (Some(plan), Some(label)) => check_label(label, plan, path),
                _ => Ok(()),
            }
        }
        // A function may be asked about all threads at once: `moves('P1.check')`.
        None if quoted && actors.iter().any(|plan| plan.program.labels.contains(first)) => Ok(()),
        // A crowd's members have names of their own.
        None if threads().next().is_none() => Ok(()),
        None => Err(Mistake::unknown(path, &format!("thread of {}", client.name), first, threads())),
    }
}

fn check_label(label: &str, plan: &ActorPlan, path: &Path) -> Result<(), Mistake> {
    if ACTOR_FUNCTIONS.contains(&label) || plan.program.labels.contains(label) {
        return Ok(());
    }
    let known = plan.program.labels.iter().map(String::as_str);
    Err(Mistake::unknown(path, &format!("move of {}", plan.actor.name), label, known))
}

#[cfg(test)]
mod tests {
    use super::mentions;

    #[test]
    fn references_are_found_word_by_word() {
        let source = "A.worker.release == 1 and moves('A.dog.renew') > 2 and BA.x and /A.y";
        let found = mentions(source, "A");
        assert_eq!(found, [(vec!["worker", "release"], false), (vec!["dog", "renew"], true)]);
    }
}
