//! Checks calls of functions in SQL: those that locks are built from, and those of other databases.

use sqlparser::ast::{Function, FunctionArguments};

use super::details;
use crate::{
    lesson::error::{Finding, did_you_mean, nearest},
    text::both,
};

/// Functions of other databases, and what to use in MariaDB.
pub(super) const FOREIGN_FUNCTIONS: [(&str, &str); 5] = [
    ("PG_ADVISORY_LOCK", "GET_LOCK('name', seconds)"),
    ("PG_TRY_ADVISORY_LOCK", "GET_LOCK('name', 0)"),
    ("PG_ADVISORY_UNLOCK", "RELEASE_LOCK('name')"),
    ("PG_SLEEP", "SLEEP(seconds)"),
    ("GEN_RANDOM_UUID", "UUID()"),
];

/// Functions that locks are built from, their numbers of arguments, and their forms.
const FUNCTIONS: [(&str, usize, &str); 6] = [
    ("GET_LOCK", 2, "GET_LOCK('name', seconds)"),
    ("RELEASE_LOCK", 1, "RELEASE_LOCK('name')"),
    ("IS_FREE_LOCK", 1, "IS_FREE_LOCK('name')"),
    ("IS_USED_LOCK", 1, "IS_USED_LOCK('name')"),
    ("SLEEP", 1, "SLEEP(seconds)"),
    ("CONNECTION_ID", 0, "CONNECTION_ID()"),
];

/// Other functions that lessons probably use. None is one letter away from another function of MariaDB.
const COMMON: [&str; 12] = [
    "NOW",
    "DATE_ADD",
    "COUNT",
    "COALESCE",
    "IFNULL",
    "NULLIF",
    "CONCAT",
    "GREATEST",
    "LEAST",
    "LAST_INSERT_ID",
    "ROW_COUNT",
    "UNIX_TIMESTAMP",
];

pub(super) fn of_call(call: &Function) -> Option<Finding> {
    let name = call.name.to_string();
    let upper = name.to_ascii_uppercase();
    let FunctionArguments::List(given) = &call.args else { return None };
    let write = |form: &str| both!("write `{form}`", "请写 `{form}`");
    if let Some((_, wanted, form)) = FUNCTIONS.iter().find(|(known, ..)| *known == upper) {
        if let Some(wrong) = details::of_timeout(call) {
            return Some(wrong);
        }
        let given = given.args.len();
        return (given != *wanted).then(|| {
            let message = both!(
                "`{name}` takes {wanted} arguments, and here are {given}",
                "`{name}` 要 {wanted} 个参数，这里有 {given} 个"
            );
            Finding { message, help: write(form) }
        });
    }
    // Other functions are not checked; only a name similar to one of these is taken for a misspelling.
    let misspelt = || both!("MariaDB has no function `{name}`", "MariaDB 没有函数 `{name}`");
    // `POW` is a function, too, although it is similar to `NOW`.
    let near = |known: &&&str| {
        !matches!(upper.as_str(), "POW" | "RELEASE_ALL_LOCKS") && strsim::osa_distance(known, &upper) <= 1
    };
    if let Some(known) = COMMON.iter().find(near) {
        return (*known != upper).then(|| Finding { message: misspelt(), help: did_you_mean(known) });
    }
    if upper == "RELEASE_ALL_LOCKS" {
        return None;
    }
    let (_, _, form) =
        FUNCTIONS.iter().find(|(known, ..)| known.len() > 5 && nearest(&upper, [*known], 0.93).is_some())?;
    Some(Finding { message: misspelt(), help: write(form) })
}
