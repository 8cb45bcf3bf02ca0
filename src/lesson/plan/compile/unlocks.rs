//! Checks for locks that a program unlocks and never locks.

use super::{super::program::PlannedVerb, Draft};
use crate::{
    lesson::{
        error::{Finding, did_you_mean},
        expr::Template,
    },
    log::{Flock, stands_for},
    text::both,
};

impl Draft<'_> {
    /// Reports a mutex, a file or a lock of MariaDB that is unlocked but never locked.
    pub(super) fn check_unlocks(&mut self) {
        // The kind of each lock operation, whether it unlocks, the name, and the path.
        let found = self.program.operations().filter_map(|operation| {
            let (kind, unlocks, name) = match &operation.verb {
                PlannedVerb::Local { lock, name } => ("local", !*lock, name.pattern()),
                PlannedVerb::Flock { call, path } => ("flock", *call == Flock::Unlock, path.pattern()),
                PlannedVerb::Call(call) => {
                    let text: String = call.operands("TEXT").map(Template::pattern).collect();
                    let (unlocks, name) = named_lock(&text)?;
                    ("sql", unlocks, name.to_owned())
                }
                _ => return None,
            };
            Some((kind, unlocks, name, operation.path.clone()))
        });
        let found: Vec<_> = found.collect();
        let locked = |kind: &str| {
            let all = found.iter().filter(move |(of, unlocks, ..)| *of == kind && !unlocks);
            all.map(|(_, _, name, _)| name.as_str()).collect::<Vec<_>>()
        };
        let never = found.iter().find(|(kind, unlocks, name, _)| {
            let is_it = |locked: &&str| stands_for(locked, name) || stands_for(name, locked);
            // A lesson may want to show what `RELEASE_LOCK` answers to a client without the lock.
            let may_be_meant = *kind == "sql" && locked(kind).is_empty();
            *unlocks && !may_be_meant && !locked(kind).iter().any(is_it)
        });
        let Some((kind, _, name, Some(path))) = never else { return };
        let message = both!("this program never locks `{name}`", "这个程序从没锁过 `{name}`");
        let help = locked(kind).first().map_or_else(
            || {
                let word = if *kind == "local" { "lock " } else { "" };
                both!("lock it before: `{kind}: {word}{name}`", "请先加锁：`{kind}: {word}{name}`")
            },
            |locked| did_you_mean(locked),
        );
        self.report(path.key(kind).mistake(Finding { message, help }));
    }
}

/// The lock of `GET_LOCK('name', 5)` or `RELEASE_LOCK('name')`, and whether the statement unlocks it.
fn named_lock(statement: &str) -> Option<(bool, &str)> {
    let upper = statement.to_ascii_uppercase();
    let (unlocks, at) = match (upper.find("RELEASE_LOCK("), upper.find("GET_LOCK(")) {
        (Some(at), None) => (true, at + "RELEASE_LOCK(".len()),
        (None, Some(at)) => (false, at + "GET_LOCK(".len()),
        _ => return None,
    };
    let rest = statement.get(at..)?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    Some((unlocks, rest[1..].split(quote).next()?))
}
