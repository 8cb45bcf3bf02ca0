//! Checks the columns that SQL statements and claims name. A lab has only the tables that its lesson creates, so a column
//! that none of them has is misspelt.

use std::collections::{BTreeSet, HashMap};

use sqlparser::ast::{Expr, Insert, SetExpr, Statement, TableObject, Visit};

use super::{
    super::{Scenario, types},
    constructs::Named,
    definitions::column_kind,
    details,
    replies::of_compared,
    rows::row_lint as missing_row,
    scopes,
    statement::{FILLED, last_of, read, targets},
    tables,
};
use crate::{
    lesson::{
        error::{ALIKE, Finding, Mistake, Path, did_you_mean, finding, nearest, suggestion},
        expr::{
            Mentions,
            mentions::{attribute_of, joined, split_comparison},
        },
        has_word,
    },
    log::{
        ANY, Product,
        product::mariadb::{user_lock_row, user_locks},
    },
    text::both,
};

/// Units of time, which functions such as `TIMESTAMPDIFF` take as bare words.
const UNITS: &str = "MICROSECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR";

/// Checks that every column that a statement names is in one of its tables.
pub(crate) fn check_columns(scenario: &Scenario) -> Result<(), Mistake> {
    let statements = tables::statements(scenario);
    let known = columns(&statements);
    for (text, path) in &statements {
        let found = match read(text) {
            Ok(Some(statement)) => {
                of_columns(&statement, &known).or_else(|| scopes::of_query(&statement, &known))
            }
            _ => scopes::of_definition(text, &statements),
        };
        Mistake::if_found(path, found)?;
    }
    Ok(())
}

/// The columns of each table, in their order; `None` if they are not known.
fn columns(statements: &[(String, Path)]) -> HashMap<String, Option<Vec<String>>> {
    let mut known = HashMap::new();
    for (text, _) in statements {
        let mut words = tables::words(text);
        if words.next().is_some_and(|word| word.eq_ignore_ascii_case("ALTER")) {
            let name = words.nth(1).unwrap_or_default().trim_matches('`');
            known.insert(name.to_ascii_lowercase(), None);
        }
        if let Some(name) = tables::created(text) {
            let table = match read(text) {
                Ok(Some(Statement::CreateTable(table))) => Some(table),
                _ => None,
            };
            let plain = table.filter(|table| table.query.is_none() && !table.columns.is_empty());
            let columns = plain.map(|table| {
                table.columns.iter().map(|column| column.name.value.to_ascii_lowercase()).collect::<Vec<_>>()
            });
            let name = name.to_ascii_lowercase();
            let same = known.get(&name).is_none_or(|before| *before == columns);
            known.insert(name, columns.filter(|_| same));
        }
    }
    known
}

fn of_columns(statement: &Statement, known: &HashMap<String, Option<Vec<String>>>) -> Option<Finding> {
    let mut named = Named::default();
    let _ = statement.visit(&mut named);
    if named.unknown_columns || matches!(statement, Statement::CreateTable(_)) {
        return None;
    }
    let mut there: BTreeSet<&str> = named.aliases.iter().map(String::as_str).collect();
    for table in &named.tables {
        there.extend(known.get(table)?.as_ref()?.iter().map(String::as_str));
    }
    let assigned: Vec<String> = match statement {
        Statement::Insert(insert) => {
            let written = insert.columns.iter().map(last_of);
            written
                .chain(insert.assignments.iter().flat_map(|assignment| targets(&assignment.target)))
                .collect()
        }
        Statement::Update(update) => {
            update.assignments.iter().flat_map(|assignment| targets(&assignment.target)).collect()
        }
        _ => Vec::new(),
    };
    let is_known = |name: &&String| {
        there.contains(name.as_str())
            || name.contains(FILLED)
            || name.contains(['@', ANY])
            || has_word(UNITS, &name.to_ascii_uppercase())
            || name.eq_ignore_ascii_case("default")
    };
    if let Some(name) = assigned.iter().chain(&named.columns).find(|name| !is_known(name)) {
        let tables: Vec<&str> = named.tables.iter().map(String::as_str).collect();
        if tables.is_empty() {
            let message =
                both!("`{name}` is a column, and no table is named", "`{name}` 是列名，可是没有写表");
            let text = statement.to_string();
            // A bare word in the brackets of a function is more probably a text without quotes.
            let in_brackets = text.split(['(', ',', ')']).any(|part| part.trim().eq_ignore_ascii_case(name));
            let help = if in_brackets && text.contains('(') {
                both!("a text stands in quotes: '{name}'", "文字要写在引号里：'{name}'")
            } else {
                both!("write `SELECT {name} FROM table …`", "请写 `SELECT {name} FROM 表名 …`")
            };
            return Some(Finding { message, help });
        }
        let tables = tables.join("`, `");
        if let Some(wrong) = details::of_limit(statement, name) {
            return Some(wrong);
        }
        let message = both!("`{tables}` has no column `{name}`", "`{tables}` 没有列 `{name}`");
        let columns = there.iter().copied().collect::<Vec<_>>().join(", ");
        let help = suggestion(nearest(name, there.iter().copied(), ALIKE), || {
            both!(
                "its columns: {columns}; a text stands in quotes: '{name}'",
                "它的列：{columns}；文字要写在引号里：'{name}'"
            )
        });
        return Some(Finding { message, help });
    }
    let Statement::Insert(insert) = statement else { return None };
    of_values(insert, known)
}

/// Checks that a row has a value for each column.
fn of_values(insert: &Insert, known: &HashMap<String, Option<Vec<String>>>) -> Option<Finding> {
    let TableObject::TableName(table) = &insert.table else { return None };
    let SetExpr::Values(values) = &*insert.source.as_ref()?.body else { return None };
    let columns: Vec<String> = if insert.columns.is_empty() {
        known.get(&last_of(table))?.clone()?
    } else {
        insert.columns.iter().map(last_of).collect()
    };
    let wanted = columns.len();
    let word = values.rows.iter().flat_map(|row| &row.content).find_map(|value| match value {
        Expr::Identifier(name) if name.quote_style.is_none() => Some(&name.value),
        _ => None,
    });
    if let Some(name) = word.filter(|name| {
        !name.contains(FILLED) && !name.starts_with('@') && !name.eq_ignore_ascii_case("default")
    }) {
        let message = both!("`{name}` is no value", "`{name}` 不是值");
        return Some(Finding {
            message,
            help: both!(
                "a parameter is filled in with `${{{name}}}`, and a text stands in quotes: '{name}'",
                "参数要写 `${{{name}}}`，文字要写在引号里：'{name}'"
            ),
        });
    }
    let row = values.rows.iter().find(|row| row.content.len() != wanted && !row.content.is_empty())?;
    let (given, names) = (row.content.len(), columns.join(", "));
    let message = both!(
        "a row has {given} values, and there are {wanted} columns: {names}",
        "一行有 {given} 个值，而列有 {wanted} 个：{names}"
    );
    Some(Finding { message, help: both!("give a value for each column", "每一列都要给一个值") })
}

/// The finding about a row or column that no table has: `value('good/1').stock`.
pub(crate) fn row_lint(source: &str, scenario: &Scenario) -> Option<Finding> {
    let lab = scenario.lab();
    if !lab.has(Product::Mariadb) {
        return None;
    }
    let statements = tables::statements(scenario);
    let known = columns(&statements);
    let alone = lab.parts().len() == 1 && !scenario.actors.iter().any(|plan| plan.program.locks_files);
    let mentions = Mentions::of(source);
    for (key, _) in ["value", "exists", "owner"].into_iter().flat_map(|function| mentions.keys_of(function)) {
        let Some((table, row)) = key.split_once('/') else { continue };
        if table == "GET_LOCK" {
            let names: BTreeSet<&str> = statements.iter().flat_map(|(text, _)| user_locks(text)).collect();
            if names.contains(row) || names.iter().any(|name| name.contains(ANY)) {
                continue;
            }
            let message = both!(
                "no statement takes a lock `{row}` with GET_LOCK",
                "没有语句用 GET_LOCK 给 `{row}` 加锁"
            );
            let near =
                nearest(row, names.iter().copied(), ALIKE).map(|near| did_you_mean(&user_lock_row(near)));
            return Some(Finding {
                message,
                help: near.unwrap_or_else(|| {
                    both!("write `owner('GET_LOCK/name')`", "请写 `owner('GET_LOCK/名字')`")
                }),
            });
        }
        let Some(columns) = known.get(&table.to_ascii_lowercase()) else {
            let near = nearest(table, known.keys().map(String::as_str), ALIKE);
            if !alone && near.is_none() {
                continue;
            }
            let message = both!("no statement creates the table `{table}`", "没有语句创建过表 `{table}`");
            let tables = known.keys().cloned().collect::<Vec<_>>().join(", ");
            let help = suggestion(near, || both!("known here: {tables}", "这里可用的有：{tables}"));
            return Some(Finding { message, help });
        };
        let Some(columns) = columns else { continue };
        if let Some((row, column)) = key.rsplit_once('/').filter(|(row, _)| row.contains('/'))
            && columns.contains(&column.to_ascii_lowercase())
        {
            return Some(finding!(
                "`{key}` is no row: a row is named by its table and its primary key",
                "`{key}` 不是行：行的名字是表名加主键",
                "write `value('{row}').{column}`",
                "请写 `value('{row}').{column}`"
            ));
        }
        if let Some(column) = columns.last().filter(|_| types::is_whole(source, &key)) {
            return Some(finding!(
                "a row has columns: `value('{key}')` is all of them",
                "一行有多列：`value('{key}')` 是整行",
                "ask for one of them: `value('{key}').{column}`",
                "请取其中一列：`value('{key}').{column}`"
            ));
        }
        let asked = attribute_of(source, &key);
        if let Some(column) = asked.filter(|asked| !columns.contains(&asked.to_ascii_lowercase())) {
            let message = both!("`{table}` has no column `{column}`", "`{table}` 没有列 `{column}`");
            let all = columns.join(", ");
            let help = suggestion(nearest(column, columns.iter().map(String::as_str), ALIKE), || {
                both!("its columns: {all}", "它的列：{all}")
            });
            return Some(Finding { message, help });
        }
    }
    // `owner` is not checked: a missing row has no owner, and that may be what the claim is about.
    let rows = ["value", "exists"].into_iter().flat_map(|function| mentions.keys_of(function));
    rows.into_iter()
        .find_map(|(key, _)| missing_row(&key, scenario))
        .or_else(|| joined(source).into_iter().find_map(|part| of_type(part, scenario)))
}

/// The finding about a numeric column compared with a text, or a text column with a number: `value('good/1').stock ==
/// '1'`.
fn of_type(source: &str, scenario: &Scenario) -> Option<Finding> {
    let (left, operator, right) = split_comparison(source)?;
    let (row, column) = left.strip_prefix("value(")?.split_once(").")?;
    let table = row.trim_matches(['\'', '"']).split_once('/')?.0;
    of_compared((left, operator, right), column_kind(table, column, scenario)?)
}
