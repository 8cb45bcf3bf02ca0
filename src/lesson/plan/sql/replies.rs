//! Checks what expressions read of the rows that a `SELECT` answers.

use std::collections::HashMap;

use sqlparser::ast::{Expr, Select, SelectItem, SetExpr, Statement, TableFactor};

use super::{
    super::{Scenario, doubts::Doubt},
    definitions::{Kind, Table, defined},
    rows::row_doubt,
    statement::{FILLED, equals, last_of, read},
    tables,
};
use crate::{
    lesson::{
        expr::mentions::{joined, split_comparison},
        has_word,
    },
    text::both,
};

/// The doubt about the rows that a statement answers: an index beyond the one row that there can be, or a value of the
/// wrong kind. `statement` returns the statement of a name such as `read` or `A.read`.
pub(crate) fn reply_doubt(
    source: &str,
    statement: impl Fn(&str) -> Option<String>,
    scenario: &Scenario,
) -> Option<Doubt> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    let mut tables = None;
    source.match_indices('[').find_map(|(at, _)| {
        let (name, rest) = (source[..at].rsplit(|c| !is_part(c)).next()?, &source[at + 1..]);
        let (index, rest) = rest.split_once("].")?;
        let index: usize = index.parse().ok()?;
        let column = &rest[..rest.find(|c| !is_part(c) || c == '.').unwrap_or(rest.len())];
        let select = select(&statement(name)?)?;
        let table = table_of(&select, tables.get_or_insert_with(|| defined(&tables::sent(scenario))));
        let row = table.and_then(|table| row_of(&select, table));
        if index > 0 && row.is_some() {
            let message = both!(
                "`{name}` has one row at most, as its primary key says",
                "`{name}` 最多只有一行：它是按主键查的"
            );
            return Some((
                message,
                both!("the first is `{name}[0].{column}`", "第一行是 `{name}[0].{column}`"),
            ));
        }
        // An expression may ask first whether there is a row.
        let is_sure = !["length", "defined", "default"].iter().any(|word| source.contains(word));
        let row = row.filter(|row| is_sure && !row.contains(FILLED));
        if let Some(doubt) = row.and_then(|row| row_doubt(&row, scenario)) {
            return Some(doubt);
        }
        let whole = format!("{name}[{index}].{column}");
        let compared = joined(source).into_iter().filter_map(split_comparison);
        let (_, operator, right) = compared.into_iter().find(|(left, ..)| *left == whole)?;
        of_compared((&whole, operator, right), kind_of(&select, column, table)?)
    })
}

/// The doubt about more rows than one in the reply to a `SELECT` by the primary key, or about less than none changed.
pub(crate) fn count_doubt(
    source: &str,
    statement: impl Fn(&str) -> Option<String>,
    scenario: &Scenario,
) -> Option<Doubt> {
    joined(source).into_iter().filter_map(split_comparison).find_map(|(left, operator, right)| {
        let writes = |text: &String| {
            tables::words(text)
                .next()
                .is_some_and(|word| has_word("INSERT UPDATE DELETE REPLACE", &word.to_ascii_uppercase()))
        };
        if right.replace("- ", "-").parse::<i64>().is_ok_and(|number| number < 0)
            && statement(left).is_some_and(|text| writes(&text))
        {
            return Some((
                both!(
                    "`{left}` is how many rows it changed, never less than 0",
                    "`{left}` 是改动的行数，不会小于 0"
                ),
                both!("such as `{left} == 0`", "例如 `{left} == 0`"),
            ));
        }
        let name = left.strip_suffix("|length")?;
        let number: usize = right.parse().ok()?;
        let is_beyond = matches!(operator, "==" | ">=") && number > 1 || operator == ">" && number > 0;
        let select = select(&statement(name).filter(|_| is_beyond)?)?;
        row_of(&select, table_of(&select, &defined(&tables::sent(scenario)))?)?;
        let message = both!(
            "`{name}` has one row at most, as its primary key says",
            "`{name}` 最多只有一行：它是按主键查的"
        );
        Some((message, both!("such as `{left} == 1`", "例如 `{left} == 1`")))
    })
}

fn select(text: &str) -> Option<Box<Select>> {
    let Ok(Some(Statement::Query(query))) = read(text) else { return None };
    let SetExpr::Select(select) = *query.body else { return None };
    Some(select)
}

/// The table that a `SELECT` reads, if that is one.
fn table_of<'t>(select: &Select, tables: &'t HashMap<String, Option<Table>>) -> Option<&'t Table> {
    match &select.from[..] {
        [from] if from.joins.is_empty() => match &from.relation {
            TableFactor::Table { name, .. } => tables.get(&last_of(name))?.as_ref(),
            _ => None,
        },
        _ => None,
    }
}

/// The row that a `SELECT` finds by its primary key, as `table/value`.
fn row_of(select: &Select, table: &Table) -> Option<String> {
    let (primary, condition) = table.primary.zip(select.selection.as_ref())?;
    let TableFactor::Table { name, .. } = &select.from.first()?.relation else { return None };
    let mut equal = equals(condition).into_iter();
    let (_, value) = equal.find(|(column, _)| *column == table.columns[primary].name)?;
    Some(format!("{}/{value}", last_of(name)))
}

/// The kind of a column in an answer.
fn kind_of(select: &Select, column: &str, table: Option<&Table>) -> Option<Kind> {
    let is_it = |name: &str| name.eq_ignore_ascii_case(column);
    let expr = select.projection.iter().find_map(|item| match item {
        SelectItem::ExprWithAlias { expr, alias } if is_it(&alias.value) => Some(expr),
        SelectItem::UnnamedExpr(expr @ Expr::Identifier(name)) if is_it(&name.value) => Some(expr),
        _ => None,
    })?;
    match expr {
        Expr::Identifier(name) => {
            let mut columns = table?.columns.iter();
            columns.find(|known| known.name.eq_ignore_ascii_case(&name.value)).map(|known| known.kind)
        }
        Expr::Function(function) => {
            let known = ["GET_LOCK", "RELEASE_LOCK", "IS_FREE_LOCK", "COUNT", "ROW_COUNT", "CONNECTION_ID"];
            let name = function.name.to_string();
            known.iter().any(|known| name.eq_ignore_ascii_case(known)).then_some(Kind::Figure(0, i128::MAX))
        }
        _ => None,
    }
}

/// The doubt about a number that is compared with a text, or a text with a number.
pub(super) fn of_compared((left, operator, right): (&str, &str, &str), kind: Kind) -> Option<Doubt> {
    let quoted = right.strip_prefix(['\'', '"']).and_then(|rest| rest.strip_suffix(['\'', '"']));
    match (kind, quoted) {
        (Kind::Figure(..), Some(text)) => Some((
            both!("`{left}` is a number, and never {right}", "`{left}` 是数字，不会是 {right}"),
            both!("without quotes: `{left} {operator} {text}`", "去掉引号：`{left} {operator} {text}`"),
        )),
        (Kind::Text(_), None) if right.parse::<i64>().is_ok() => Some((
            both!("`{left}` is a text, and never the number {right}", "`{left}` 是文字，不会是数字 {right}"),
            both!("in quotes: `{left} {operator} '{right}'`", "加上引号：`{left} {operator} '{right}'`"),
        )),
        _ => None,
    }
}
