//! Checks what expressions read of the rows that a `SELECT` answers.

use std::collections::HashMap;

use sqlparser::ast::{
    Expr, FromTable, GroupByExpr, LimitClause, Query, Select, SelectItem, SetExpr, Statement, TableFactor,
    TableWithJoins,
};

use super::{
    super::{Scenario, lints::unquoted},
    definitions::{Kind, Table, defined},
    rows::row_lint,
    statement::{FILLED, equals, last_of, read},
    tables,
};
use crate::{
    lesson::{
        error::{Finding, finding},
        expr::mentions::comparisons,
        has_word,
    },
    text::{Text, both},
};

/// The finding about the rows that a statement answers: an index beyond the one row that there can be, or a value of the
/// wrong kind. `statement` returns the statement of a name such as `read` or `A.read`.
pub(crate) fn reply_lint(
    source: &str,
    statement: impl Fn(&str) -> Option<String>,
    scenario: &Scenario,
) -> Option<Finding> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    let mut tables = None;
    source.match_indices('[').find_map(|(at, _)| {
        let (name, rest) = (source[..at].rsplit(|c| !is_part(c)).next()?, &source[at + 1..]);
        let (index, rest) = rest.split_once("].")?;
        let index: usize = index.parse().ok()?;
        let column = &rest[..rest.find(|c| !is_part(c) || c == '.').unwrap_or(rest.len())];
        let query = query(&statement(name)?)?;
        let select = select(&query)?;
        let table = table_of(select, tables.get_or_insert_with(|| defined(&tables::sent(scenario))));
        let row = table.and_then(|table| row_of(select, table));
        let most = most_rows(&query, select, row.is_some());
        if let Some((most, why)) = most.filter(|(most, _)| index >= *most) {
            let last = most.checked_sub(1)?;
            return Some(Finding {
                message: both!(
                    "`{name}` has no row beyond `[{last}]`: {why}",
                    "`{name}` 到 `[{last}]` 就没有行了：{why}",
                    why
                ),
                help: both!(
                    "rows count from 0: `{name}[{last}].{column}`",
                    "行从 0 数起：`{name}[{last}].{column}`"
                ),
            });
        }
        // An expression may ask first whether there is a row.
        let is_sure = !["length", "defined", "default"].iter().any(|word| source.contains(word));
        let row = row.filter(|row| is_sure && !row.contains(FILLED));
        if let Some(lint) = row.and_then(|row| row_lint(&row, scenario)) {
            return Some(lint);
        }
        let whole = format!("{name}[{index}].{column}");
        let is_given = table.is_some_and(|table| {
            table.columns.iter().any(|known| known.name == column.to_ascii_lowercase() && !known.may_be_null)
        });
        if is_given
            && let Some(test) =
                [" is none", " is not none"].iter().find(|test| source.contains(&format!("{whole}{test}")))
        {
            return Some(finding!(
                "`{column}` is NOT NULL: `{whole}{test}` is always the same",
                "列 `{column}` 是 NOT NULL：`{whole}{test}` 的结果总是一样",
                "where there is no row: `{name}|length == 0`",
                "没有这一行时请写 `{name}|length == 0`"
            ));
        }
        let (_, operator, right) = comparisons(source).find(|(left, ..)| *left == whole)?;
        of_compared((&whole, operator, right), kind_of(select, column, table)?)
    })
}

/// The finding about more rows than a `SELECT` can answer or a statement can change, or about less than none changed.
pub(crate) fn count_lint(
    source: &str,
    statement: impl Fn(&str) -> Option<String>,
    scenario: &Scenario,
) -> Option<Finding> {
    comparisons(source).find_map(|(left, operator, right)| {
        let writes = |text: &String| {
            tables::words(text)
                .next()
                .is_some_and(|word| has_word("INSERT UPDATE DELETE REPLACE", &word.to_ascii_uppercase()))
        };
        if right.replace("- ", "-").parse::<i64>().is_ok_and(|number| number < 0)
            && statement(left).is_some_and(|text| writes(&text))
        {
            return Some(finding!(
                "`{left}` is how many rows it changed, never less than 0",
                "`{left}` 是改动的行数，不会小于 0",
                "such as `{left} == 0`",
                "例如 `{left} == 0`"
            ));
        }
        let number: usize = right.parse().ok()?;
        let (most, why) = match left.strip_suffix("|length") {
            Some(name) => {
                let query = query(&statement(name)?)?;
                let select = select(&query)?;
                let known = defined(&tables::sent(scenario));
                let row = table_of(select, &known).and_then(|table| row_of(select, table));
                most_rows(&query, select, row.is_some())?
            }
            None => most_changed(&statement(left)?, scenario)?,
        };
        let is_beyond = matches!(operator, "==" | ">=") && number > most || operator == ">" && number >= most;
        is_beyond.then(|| Finding {
            message: both!("`{left}` is {most} at most: {why}", "`{left}` 最多是 {most}：{why}", why),
            help: both!("such as `{left} == {most}`", "例如 `{left} == {most}`"),
        })
    })
}

fn by_key() -> Text {
    both!("its primary key finds one row", "它按主键只找得到一行")
}

/// The most rows that a `SELECT` can answer, and the reason.
fn most_rows(query: &Query, select: &Select, by_primary: bool) -> Option<(usize, Text)> {
    if by_primary {
        return Some((1, by_key()));
    }
    let counts = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(Expr::Function(called))
        | SelectItem::ExprWithAlias { expr: Expr::Function(called), .. } => {
            called.over.is_none()
                && has_word("COUNT SUM MIN MAX AVG", &called.name.to_string().to_ascii_uppercase())
        }
        _ => false,
    };
    let is_ungrouped = matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    if is_ungrouped && select.projection.iter().any(counts) {
        return Some((1, both!("it counts all rows in one", "聚合后只有一行")));
    }
    let (LimitClause::LimitOffset { limit: Some(limit), .. } | LimitClause::OffsetCommaLimit { limit, .. }) =
        query.limit_clause.as_ref()?
    else {
        return None;
    };
    let limit = limit.to_string();
    let most = limit.parse().ok().filter(|_| limit != FILLED)?;
    Some((most, both!("its `LIMIT` says so", "`LIMIT` 就是这么写的")))
}

/// The most rows that a statement can change, and the reason.
fn most_changed(text: &str, scenario: &Scenario) -> Option<(usize, Text)> {
    let (tables, condition) = match read(text).ok()?? {
        Statement::Update(update) => (vec![update.table], update.selection?),
        Statement::Delete(delete) if delete.using.is_none() && delete.tables.is_empty() => {
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = delete.from;
            (from, delete.selection?)
        }
        Statement::Insert(insert) if !insert.replace_into && insert.on.is_none() => {
            let SetExpr::Values(values) = *insert.source?.body else { return None };
            return Some((values.rows.len(), both!("it has so many rows", "语句里只有这么多行")));
        }
        _ => return None,
    };
    let known = defined(&tables::sent(scenario));
    let table = one_table(&tables).and_then(|name| known.get(&name)?.as_ref())?;
    let primary = &table.columns[table.primary?].name;
    equals(&condition).iter().any(|(column, _)| column == primary).then(|| (1, by_key()))
}

fn query(text: &str) -> Option<Box<Query>> {
    match read(text) {
        Ok(Some(Statement::Query(query))) => Some(query),
        _ => None,
    }
}

fn select(query: &Query) -> Option<&Select> {
    match &*query.body {
        SetExpr::Select(select) => Some(select),
        _ => None,
    }
}

/// The name of the only table in a list.
fn one_table(from: &[TableWithJoins]) -> Option<String> {
    match from {
        [from] if from.joins.is_empty() => match &from.relation {
            TableFactor::Table { name, .. } => Some(last_of(name)),
            _ => None,
        },
        _ => None,
    }
}

/// The table that a `SELECT` reads, if that is one.
fn table_of<'t>(select: &Select, tables: &'t HashMap<String, Option<Table>>) -> Option<&'t Table> {
    tables.get(&one_table(&select.from)?)?.as_ref()
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

/// The finding about a number that is compared with a text, or a text with a number.
pub(super) fn of_compared((left, operator, right): (&str, &str, &str), kind: Kind) -> Option<Finding> {
    let quoted = right.strip_prefix(['\'', '"']).and_then(|rest| rest.strip_suffix(['\'', '"']));
    match (kind, quoted) {
        (Kind::Figure(..), Some(text)) => Some(unquoted(left, operator, text, right)),
        (Kind::Figure(..), None)
            if right.contains('.') && right.parse::<f64>().is_ok_and(|n| n.fract() != 0.0) =>
        {
            let whole = right.split('.').next().unwrap_or_default();
            Some(finding!(
                "`{left}` is a whole number, and never {right}",
                "`{left}` 是整数，不会是 {right}",
                "such as `{left} {operator} {whole}`",
                "例如 `{left} {operator} {whole}`"
            ))
        }
        (Kind::Text(_), None) if right.parse::<i64>().is_ok() => Some(finding!(
            "`{left}` is a text, and never the number {right}",
            "`{left}` 是文字，不会是数字 {right}",
            "in quotes: `{left} {operator} '{right}'`",
            "加上引号：`{left} {operator} '{right}'`"
        )),
        _ => None,
    }
}
