//! Parses SQL statements, in which a value to fill in is not known yet, and reads what they name.

use sqlparser::{
    ast::{
        AssignmentTarget, BinaryOperator, Expr, LockType, ObjectName, Select, SelectItem, SetExpr, Statement,
        TableFactor, Update,
    },
    dialect::MySqlDialect,
    parser::{Parser, ParserError},
};

use super::tables;
use crate::{lesson::has_word, log::ANY};

/// The placeholder for a `${…}` whose value is known only at run time: a number, which fits most of the grammar.
pub(super) const FILLED: &str = "70200701";

/// Other texts that a `${…}` outside quotes may stand for.
const FILLINGS: [&str; 5] = [FILLED, "x70200701", "", "=", "(70200701)"];

/// Grammar of MariaDB that `sqlparser` does not support. A statement with one of these words is not checked.
const UNSUPPORTED: &str = "
    PERSISTENT VERSIONING SYSTEM_TIME PERIOD PARTITION EXAMINED QUICK DELAYED NEXT PREVIOUS MOD JSON_TABLE MATCH SOUNDS
    PROCEDURE FULLTEXT SPATIAL SEQUENCE VECTOR OVERLAPS EXCEPT INTERSECT
";

/// Parses a statement; `Ok(None)` for one that is not checked. `Err` has the unexpected token, or `None` if the
/// statement ends too early.
pub(super) fn read(text: &str) -> Result<Option<Statement>, Option<String>> {
    let words: Vec<String> = tables::words(text).map(str::to_ascii_uppercase).collect();
    let begins = |names: &str| words.first().is_some_and(|word| has_word(names, word));
    let creates = begins("CREATE") && words.iter().take(4).any(|word| word == "TABLE");
    // A `!` before a value is a negation that `sqlparser` does not support.
    let negates = bare(text).match_indices('!').any(|(at, _)| !bare(text)[at + 1..].starts_with('='));
    let is_unsupported =
        words.iter().any(|word| has_word(UNSUPPORTED, word)) || bare(text).contains(":=") || negates;
    let updates_several = begins("UPDATE")
        && bare(text).split_once(',').is_some_and(|(before, _)| {
            !before.contains('=') && !tables::words(before).any(|word| word.eq_ignore_ascii_case("SET"))
        });
    if is_unsupported || updates_several || !(creates || begins("SELECT WITH INSERT REPLACE UPDATE DELETE")) {
        return Ok(None);
    }
    let text = without_end(text);
    let parts: Vec<&str> = text.split(ANY).collect();
    let holes = parts.len() - 1;
    let filled = |fill: &dyn Fn(usize) -> &'static str| {
        let mut whole = parts[0].to_owned();
        for (n, part) in parts[1..].iter().enumerate() {
            whole.push_str(fill(n));
            whole.push_str(part);
        }
        parse(&whole)
    };
    let first = filled(&|_| FILLED);
    if first.is_ok() || holes == 0 {
        return first;
    }
    // A `${…}` may stand for something else than a number.
    let others = FILLINGS.len().pow(u32::try_from(holes.min(3)).unwrap_or_default());
    let other = (1..others).find_map(|mut choice| {
        let mut fills = vec![FILLED; holes];
        for fill in fills.iter_mut().take(3) {
            *fill = FILLINGS[choice % FILLINGS.len()];
            choice /= FILLINGS.len();
        }
        filled(&|n| fills[n]).ok()
    });
    match other {
        Some(statement) => Ok(statement),
        None if holes > 3 => Ok(None),
        None => first,
    }
}

fn parse(text: &str) -> Result<Option<Statement>, Option<String>> {
    match Parser::parse_sql(&MySqlDialect {}, text) {
        Ok(mut statements) if statements.len() == 1 => Ok(statements.pop()),
        Ok(_) | Err(ParserError::RecursionLimitExceeded) => Ok(None),
        Err(ParserError::ParserError(why) | ParserError::TokenizerError(why)) => {
            let found =
                why.split_once("found: ").map(|(_, rest)| rest.split(" at Line").next().unwrap_or(rest));
            Err(found.filter(|found| *found != "EOF").map(|found| found.replace(FILLED, "${…}")))
        }
    }
}

/// A statement without the endings that only MariaDB has: `LOCK IN SHARE MODE`, `WAIT 5`, `INTO @n`.
fn without_end(text: &str) -> String {
    let mut words: Vec<&str> = text.trim_end().trim_end_matches(';').split_whitespace().collect();
    let ends = |words: &[&str], end: &[&str]| {
        words.len() > end.len()
            && words[words.len() - end.len()..]
                .iter()
                .zip(end)
                .all(|(word, end)| word.eq_ignore_ascii_case(end))
    };
    let cut = |count: usize, words: &mut Vec<&str>| words.truncate(words.len() - count);
    if let [.., wait, _] = words[..]
        && wait.eq_ignore_ascii_case("WAIT")
    {
        cut(2, &mut words);
    }
    for end in [&["NOWAIT"][..], &["SKIP", "LOCKED"]] {
        if ends(&words, end) {
            cut(end.len(), &mut words);
        }
    }
    if ends(&words, &["LOCK", "IN", "SHARE", "MODE"]) {
        cut(4, &mut words);
    }
    if let [.., into, variable] = words[..]
        && into.eq_ignore_ascii_case("INTO")
        && variable.starts_with('@')
    {
        cut(2, &mut words);
    }
    // If nothing was cut, the original text is kept, with the spaces in its strings.
    let count = text.split_whitespace().count();
    if words.len() == count { text.trim_end().trim_end_matches(';').to_owned() } else { words.join(" ") }
}

/// The text outside quotes.
pub(super) fn bare(text: &str) -> String {
    text.split(['\'', '"']).step_by(2).collect::<Vec<_>>().join(" ")
}

pub(super) fn last_of(name: &ObjectName) -> String {
    let last = name.0.last().and_then(|part| part.as_ident());
    last.map(|ident| ident.value.to_ascii_lowercase()).unwrap_or_default()
}

pub(super) fn targets(target: &AssignmentTarget) -> Vec<String> {
    match target {
        AssignmentTarget::ColumnName(name) => vec![last_of(name)],
        AssignmentTarget::Tuple(names) => names.iter().map(last_of).collect(),
    }
}

/// The columns that a condition compares for equality with a value, and these values.
pub(super) fn equals(condition: &Expr) -> Vec<(String, String)> {
    match condition {
        Expr::Nested(inner) => equals(inner),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            equals(left).into_iter().chain(equals(right)).collect()
        }
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => match (&**left, &**right) {
            (Expr::Identifier(column), Expr::Value(value)) => {
                let value = value.to_string();
                vec![(column.value.to_ascii_lowercase(), value.trim_matches('\'').to_owned())]
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The column names of a `SELECT`; `None` if they are not known.
pub(crate) fn selected(text: &str) -> Option<Vec<String>> {
    let Ok(Some(Statement::Query(query))) = read(text) else { return None };
    let SetExpr::Select(select) = *query.body else { return None };
    let name = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(name.value.clone()),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(names)) => Some(names.last()?.value.clone()),
        SelectItem::UnnamedExpr(other) => Some(other.to_string()),
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
        _ => None,
    };
    let names: Option<Vec<String>> = select.projection.iter().map(name).collect();
    names.filter(|names| !names.iter().any(|name| name.contains(FILLED)))
}

/// The row that a statement locks, as `table/value column`, and whether it waits for the row if that is locked. `None`
/// if the row is not found by one value.
pub(crate) fn locked_row(text: &str) -> Option<(String, bool)> {
    let statement = read(text).ok()??;
    let upper = text.to_ascii_uppercase();
    let waits =
        !["NOWAIT", "LOCKED", "WAIT"].iter().any(|word| tables::words(&upper).any(|other| other == *word));
    let (table, condition) = match statement {
        Statement::Update(Update { table, selection, .. }) => (table.relation, selection?),
        Statement::Query(query) if query.locks.iter().any(|lock| lock.lock_type == LockType::Update) => {
            let SetExpr::Select(select) = *query.body else { return None };
            let Select { from, selection, .. } = *select;
            let [table] = <[_; 1]>::try_from(from).ok()?;
            (table.joins.is_empty().then_some(table.relation)?, selection?)
        }
        _ => return None,
    };
    let TableFactor::Table { name, .. } = table else { return None };
    let (column, value) = equals(&condition).into_iter().next()?;
    (!value.contains(FILLED)).then(|| (format!("{}/{value} {column}", last_of(&name)), waits))
}
