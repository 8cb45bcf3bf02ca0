//! Checks the rows that statements insert or change against the definitions of their tables, for what the server would
//! refuse while the lab starts or while a program runs.

use std::{
    collections::{BTreeSet, HashMap},
    ops::ControlFlow,
};

use sqlparser::ast::{
    Expr, Insert, ObjectName, SetExpr, Statement, TableFactor, TableObject, UnaryOperator, Value,
    visit_expressions,
};

use super::{
    super::{PlannedVerb, Scenario},
    definitions::{Kind, Table, check_definitions, defined},
    statement::{FILLED, equals, last_of, read, targets},
    tables::{self, Sent},
};
use crate::{
    lesson::{
        error::{Finding, Mistake, finding},
        expr::Template,
        has_word,
    },
    log::Product,
    text::both,
};

/// The value that a statement gives a column, as far as it is literal.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Given {
    Null,
    Number(String),
    Text(String),
    Default,
    Unknown,
}

/// Checks the definition of every table, and every row against its table.
pub(crate) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    let sent = tables::sent(scenario);
    check_definitions(&sent)?;
    let known = defined(&sent);
    for statement in &sent {
        if let Ok(Some(read)) = read(&statement.text) {
            Mistake::if_found(&statement.path, of_comparison(&read, &known))?;
        }
    }
    for statement in sent.iter().filter(|statement| !statement.copes) {
        let Ok(Some(Statement::Update(update))) = read(&statement.text) else { continue };
        let TableFactor::Table { name, .. } = &update.table.relation else { continue };
        let name = last_of(name);
        let Some(Some(table)) = known.get(&name) else { continue };
        for assignment in &update.assignments {
            let [column] = &targets(&assignment.target)[..] else { continue };
            let place = table.columns.iter().position(|known| known.name == *column);
            let found = place.and_then(|place| of_given((&name, table), place, &given(&assignment.value)));
            Mistake::if_found(&statement.path, found)?;
        }
    }
    let mut there = BTreeSet::new();
    // The number of the next row of each table that numbers its rows.
    let mut next: HashMap<String, i64> = HashMap::new();
    let mut counts = true;
    for statement in sent.iter().filter(|statement| !statement.copes) {
        let first = tables::words(&statement.text).next().unwrap_or_default().to_ascii_uppercase();
        if statement.in_setup && has_word("DELETE UPDATE REPLACE TRUNCATE DROP ALTER", &first) {
            // From here on it is not known which rows and numbers there are.
            there.clear();
            counts = false;
        }
        let Ok(Some(Statement::Insert(insert))) = read(&statement.text) else { continue };
        let TableObject::TableName(name) = &insert.table else { continue };
        let name = last_of(name);
        let Some(Some(table)) = known.get(&name) else { continue };
        if insert.ignore {
            continue;
        }
        let mut rows = rows(&insert, table).map_err(|finding| statement.path.mistake(finding))?;
        for (columns, row) in &rows {
            Mistake::if_found(&statement.path, of_row((&name, table), columns, row))?;
        }
        // The order of programs is not known, and a row may be deleted or replaced, so duplicates are checked in the
        // setup only.
        if statement.in_setup && !insert.replace_into && insert.on.is_none() {
            for row in &mut rows {
                if counts {
                    table.number(row, next.entry(name.clone()).or_insert(1));
                }
                let row = &*row;
                Mistake::if_found(&statement.path, of_key((&name, table), row, &mut there))?;
            }
        }
        // The same holds if a row of the setup stays, whatever the programs do.
        if !statement.in_setup
            && !statement.conditional
            && !insert.replace_into
            && insert.on.is_none()
            && !sent.iter().any(|other| !other.in_setup && may_remove(other, &name, table))
        {
            for row in &rows {
                Mistake::if_found(&statement.path, of_key((&name, table), row, &mut there.clone()))?;
            }
        }
    }
    Ok(())
}

/// Reports an `UPDATE` of a row that no statement inserts, if a parameter gives its primary key, a text. A row that is
/// written out may be missing on purpose.
pub(crate) fn check_changed(scenario: &Scenario) -> Result<(), Mistake> {
    let known = defined(&tables::sent(scenario));
    for plan in &scenario.actors {
        for operation in plan.program.operations() {
            let (PlannedVerb::Call(call), Some(path)) = (&operation.verb, &operation.path) else { continue };
            if call.product() != Product::Mariadb {
                continue;
            }
            let text: String = call.all_operands().map(|text| plan.filled_within(text)).collect();
            if call.all_operands().all(Template::is_literal) {
                continue;
            }
            let Ok(Some(Statement::Update(update))) = read(&text) else { continue };
            let TableFactor::Table { name, .. } = &update.table.relation else { continue };
            let name = last_of(name);
            let Some(Some(table)) = known.get(&name) else { continue };
            let (Some(primary), Some(condition)) = (table.primary, &update.selection) else { continue };
            let row =
                equals(condition).into_iter().find(|(column, _)| *column == table.columns[primary].name);
            let is_name = |row: &str| !row.contains(FILLED) && row.parse::<i64>().is_err();
            let Some((_, row)) = row.filter(|(_, row)| is_name(row)) else { continue };
            Mistake::if_found(&path.key("sql"), row_lint(&format!("{name}/{row}"), scenario))?;
        }
    }
    Ok(())
}

/// Whether a statement may remove a row of a table, or change its keys.
fn may_remove(statement: &Sent, name: &str, table: &Table) -> bool {
    let is_of = |other: &ObjectName| last_of(other) == name;
    match read(&statement.text) {
        Ok(Some(Statement::Insert(insert))) => match &insert.table {
            TableObject::TableName(other) => is_of(other) && (insert.replace_into || insert.on.is_some()),
            _ => true,
        },
        Ok(Some(Statement::Update(update))) => {
            let keys: Vec<&str> =
                table.unique.iter().flatten().map(|column| table.columns[*column].name.as_str()).collect();
            let mut assigned = update.assignments.iter().flat_map(|one| targets(&one.target));
            assigned.any(|column| keys.contains(&column.as_str()))
        }
        _ => {
            let mut words = tables::words(&statement.text);
            let first = words.next().map(str::to_ascii_uppercase).unwrap_or_default();
            !has_word("SELECT INSERT BEGIN START COMMIT ROLLBACK SAVEPOINT SET", &first)
        }
    }
}

/// The primary keys of the rows that statements insert into a table, and whether the server may number further rows.
/// `None` if the keys are known only at run time.
fn made(sent: &[Sent], name: &str, table: &Table) -> Option<(BTreeSet<String>, bool)> {
    let primary = table.primary?;
    let (mut keys, mut numbered) = (BTreeSet::new(), false);
    for statement in sent {
        match read(&statement.text) {
            Ok(Some(Statement::Insert(insert))) => {
                let TableObject::TableName(of) = &insert.table else { return None };
                if last_of(of) != name {
                    continue;
                }
                let rows = rows(&insert, table).ok().filter(|rows| !rows.is_empty())?;
                for (columns, row) in rows {
                    match columns.iter().position(|column| *column == primary).map(|at| &row[at]) {
                        Some(Given::Number(key) | Given::Text(key)) => drop(keys.insert(key.to_lowercase())),
                        None | Some(Given::Null | Given::Default) => numbered = true,
                        Some(Given::Unknown) => return None,
                    }
                }
            }
            Ok(Some(Statement::Update(update))) => {
                let mut assigned = update.assignments.iter().flat_map(|one| targets(&one.target));
                if assigned.any(|column| column == table.columns[primary].name) {
                    return None;
                }
            }
            Ok(Some(_)) => {}
            _ if tables::words(&statement.text).any(|word| word.trim_matches('`') == name) => return None,
            _ => {}
        }
    }
    Some((keys, numbered))
}

/// The finding about a row, given by its table and primary key, that no statement inserts.
pub(crate) fn row_lint(key: &str, scenario: &Scenario) -> Option<Finding> {
    let (name, row) = key.split_once('/')?;
    let sent = tables::sent(scenario);
    let table = defined(&sent).remove(&name.to_ascii_lowercase())??;
    let (keys, numbered) = made(&sent, &name.to_ascii_lowercase(), &table)?;
    if keys.contains(&row.to_lowercase()) || (numbered && row.parse::<u32>().is_ok_and(|row| row > 0)) {
        return None;
    }
    let there = keys.iter().map(|key| format!("`{name}/{key}`")).take(6).collect::<Vec<_>>().join(", ");
    let help = if numbered {
        both!(
            "the server numbers the rows from 1 on: `{name}/1`",
            "行号由服务器从 1 开始自动分配：`{name}/1`"
        )
    } else if there.is_empty() {
        both!("insert it: `INSERT INTO {name} VALUES (…)`", "请先插入：`INSERT INTO {name} VALUES (…)`")
    } else {
        both!("rows that are inserted: {there}", "插入过的行：{there}")
    };
    Some(Finding {
        message: both!("no statement inserts the row `{key}`", "没有语句插入过行 `{key}`"), help
    })
}

/// Whether any program inserts rows into the table of a row.
pub(crate) fn are_inserted(row: &str, scenario: &Scenario) -> bool {
    let table = row.split('/').next().unwrap_or(row);
    tables::sent(scenario).iter().filter(|sent| !sent.in_setup).any(|sent| {
        let mut words = tables::words(&sent.text);
        words.next().is_some_and(|word| has_word("INSERT REPLACE", &word.to_ascii_uppercase()))
            && words.take(2).any(|word| word.eq_ignore_ascii_case(table))
    })
}

impl Table {
    /// Gives a row of the setup the number that the server gives it, and counts on.
    fn number(&self, (columns, row): &mut Row, next: &mut i64) {
        let Some(place) = self.columns.iter().position(|column| column.counts_itself && self.from_one) else {
            return;
        };
        let at = columns.iter().position(|column| *column == place);
        match at.map(|at| &row[at]) {
            None => {
                columns.push(place);
                row.push(Given::Number(next.to_string()));
                *next += 1;
            }
            Some(Given::Number(number)) => {
                *next = number.parse().map_or(*next, |number: i64| number + 1).max(*next);
            }
            // The server numbers the row, and its number is not told here.
            Some(_) => *next += 1,
        }
    }
}

pub(super) fn is_figure(text: &str) -> bool {
    text.trim().parse::<f64>().is_ok() || text.contains(FILLED)
}

pub(super) fn given(value: &Expr) -> Given {
    match value {
        Expr::Value(value) => match &value.value {
            Value::Null => Given::Null,
            Value::Number(number, _) if !number.contains(FILLED) => Given::Number(number.clone()),
            Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) if !text.contains(FILLED) => {
                Given::Text(text.clone())
            }
            _ => Given::Unknown,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match given(expr) {
            Given::Number(number) => Given::Number(format!("-{number}")),
            _ => Given::Unknown,
        },
        Expr::Identifier(word) if word.value.eq_ignore_ascii_case("default") => Given::Default,
        _ => Given::Unknown,
    }
}

/// The rows that the setup inserts, each as `value` gives it: its columns apart from the primary key. Empty if another
/// statement of the setup may change them.
pub(crate) fn held(scenario: &Scenario) -> HashMap<String, serde_json::Value> {
    let sent = tables::sent(scenario);
    let known = defined(&sent);
    let mut held = HashMap::new();
    for statement in sent.iter().filter(|statement| statement.in_setup) {
        let first = tables::words(&statement.text).next().unwrap_or_default().to_ascii_uppercase();
        let insert = match read(&statement.text) {
            Ok(Some(Statement::Insert(insert))) if insert.on.is_none() && !insert.replace_into => insert,
            _ if has_word("CREATE SET BEGIN COMMIT", &first) => continue,
            _ => return HashMap::new(),
        };
        let TableObject::TableName(name) = &insert.table else { return HashMap::new() };
        let name = last_of(name);
        let Some(Some(table)) = known.get(&name) else { continue };
        let Some(primary) = table.primary else { continue };
        for (columns, row) in rows(&insert, table).unwrap_or_default() {
            let mut values = serde_json::Map::new();
            let mut key = None;
            for (column, given) in columns.into_iter().zip(row) {
                let value = match given {
                    Given::Number(number) => {
                        number.parse::<i64>().map_or(serde_json::Value::Null, Into::into)
                    }
                    Given::Text(text) => text.into(),
                    Given::Null | Given::Default | Given::Unknown => continue,
                };
                if column == primary {
                    key =
                        value.as_str().map_or_else(|| Some(value.to_string()), |text| Some(text.to_owned()));
                } else {
                    values.insert(table.columns[column].name.clone(), value);
                }
            }
            held.extend(key.map(|key| (format!("{name}/{key}"), values.into())));
        }
    }
    held
}

/// The columns that a statement names, by index, and the values that a row gives them.
type Row = (Vec<usize>, Vec<Given>);

fn rows(insert: &Insert, table: &Table) -> Result<Vec<Row>, Finding> {
    let written: Vec<String> = if insert.assignments.is_empty() {
        insert.columns.iter().map(last_of).collect()
    } else {
        insert.assignments.iter().flat_map(|assignment| targets(&assignment.target)).collect()
    };
    if let Some(n) = (1..written.len()).find(|n| written[..*n].contains(&written[*n])) {
        let name = &written[n];
        let message = both!("the column `{name}` is here twice", "列 `{name}` 在这里出现了两次");
        return Err(Finding { message, help: both!("give it one value", "一列只给一个值") });
    }
    let place = |name: &String| table.columns.iter().position(|column| column.name == *name);
    let Some(mut columns) = written.iter().map(place).collect::<Option<Vec<_>>>() else {
        return Ok(Vec::new());
    };
    if !insert.assignments.is_empty() {
        let row = insert.assignments.iter().map(|assignment| given(&assignment.value)).collect();
        return Ok(vec![(columns, row)]);
    }
    let Some(SetExpr::Values(values)) = insert.source.as_ref().map(|source| &*source.body) else {
        return Ok(Vec::new());
    };
    let rows = values.rows.iter().map(|row| {
        let row: Vec<Given> = row.content.iter().map(given).collect();
        if columns.is_empty() && !row.is_empty() {
            columns = (0..table.columns.len()).collect();
        }
        (columns.clone(), row)
    });
    Ok(rows.filter(|(columns, row)| columns.len() == row.len()).collect())
}

/// What is wrong with a row: a column that needs a value and gets none, or a value that its column does not accept.
fn of_row((name, table): (&str, &Table), columns: &[usize], row: &[Given]) -> Option<Finding> {
    let missing = table.columns.iter().enumerate().find(|(n, column)| {
        !columns.contains(n) && !column.may_be_null && !column.has_default && !column.counts_itself
    });
    if let Some((_, column)) = missing {
        let column = &column.name;
        let message = both!(
            "`{name}.{column}` is NOT NULL and has no default, and this row gives it no value",
            "`{name}.{column}` 是 NOT NULL 且没有默认值，而这一行没有给它值"
        );
        return Some(Finding {
            message,
            help: both!("name `{column}` and give it a value", "请写上 `{column}` 并给它一个值"),
        });
    }
    columns.iter().zip(row).find_map(|(place, given)| of_given((name, table), *place, given))
}

/// What is wrong with a value that its column does not accept.
fn of_given((name, table): (&str, &Table), place: usize, given: &Given) -> Option<Finding> {
    let column = &table.columns[place];
    let name = format!("{name}.{}", column.name);
    match (given, column.kind) {
        (Given::Null, _) if !column.may_be_null && !column.counts_itself => Some(Finding {
            message: both!("`{name}` may not be NULL", "`{name}` 不能是 NULL"),
            help: both!("give it a value", "请给它一个值"),
        }),
        (Given::Text(text), Kind::Figure(..)) if !is_figure(text) => Some(finding!(
            "`{name}` takes a number, and here is '{text}'",
            "`{name}` 要数字，这里是 '{text}'",
            "give it a number, or make the column a `VARCHAR(20)`",
            "请给它一个数字，或者把这一列定义成 `VARCHAR(20)`"
        )),
        (Given::Text(text), Kind::Date) if !text.trim_start().starts_with(|c: char| c.is_ascii_digit()) => {
            Some(finding!(
                "`{name}` takes a date, and here is '{text}'",
                "`{name}` 要日期，这里是 '{text}'",
                "such as `NOW(3)` or '2026-01-31 12:00:00'",
                "例如 `NOW(3)` 或 '2026-01-31 12:00:00'"
            ))
        }
        (Given::Text(text), Kind::Text(Some(most))) if text.chars().count() as u64 > most => Some(finding!(
            "'{text}' is longer than the {most} characters of `{name}`",
            "'{text}' 超过了 `{name}` 的 {most} 个字符",
            "make the column wider, or the text shorter",
            "请把列放宽，或者把文字缩短"
        )),
        (Given::Number(number), Kind::Figure(least, most))
            if number.parse::<i128>().is_ok_and(|number| !(least..=most).contains(&number)) =>
        {
            Some(finding!(
                "`{name}` takes numbers from {least} to {most}, and here is {number}",
                "`{name}` 的取值是 {least} 到 {most}，这里是 {number}",
                "give it a smaller one, or make the column a `BIGINT`",
                "请给一个小些的数，或者把这一列定义成 `BIGINT`"
            ))
        }
        _ => None,
    }
}

/// The finding about a numeric column that is compared with a text that is no number.
fn of_comparison(statement: &Statement, known: &HashMap<String, Option<Table>>) -> Option<Finding> {
    let is_figures = |name: &str| {
        let mut columns = known
            .values()
            .flat_map(|table| table.iter().flat_map(|table| &table.columns))
            .filter(|column| column.name.eq_ignore_ascii_case(name))
            .peekable();
        columns.peek().is_some() && columns.all(|column| matches!(column.kind, Kind::Figure(..)))
    };
    let mut wrong = None;
    let _ = visit_expressions(statement, |expr| {
        if let Expr::BinaryOp { left, right, .. } = expr
            && let Some(name) = match &**left {
                Expr::Identifier(name) => Some(name.value.as_str()),
                Expr::CompoundIdentifier(names) => names.last().map(|name| name.value.as_str()),
                _ => None,
            }
            && let Given::Text(text) = given(right)
            && !is_figure(&text)
            && is_figures(name)
        {
            let message =
                both!("`{name}` is a number, and never '{text}'", "`{name}` 是数字，不会是 '{text}'");
            wrong = Some(Finding {
                message,
                help: both!("compare it with a number: `{name} = 1`", "请和数字比较：`{name} = 1`"),
            });
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    wrong
}

/// The duplicate of a unique key in an earlier row of the setup.
fn of_key(
    (name, table): (&str, &Table),
    (columns, row): &Row,
    there: &mut BTreeSet<(String, usize, Vec<String>)>,
) -> Option<Finding> {
    for (n, key) in table.unique.iter().enumerate() {
        let value = |place: &usize| {
            let at = columns.iter().position(|column| column == place)?;
            match &row[at] {
                Given::Number(number) => Some(number.clone()),
                // MariaDB's default collation ignores case.
                Given::Text(text) => Some(text.to_lowercase()),
                _ => None,
            }
        };
        let Some(values) = key.iter().map(value).collect::<Option<Vec<_>>>() else { continue };
        let shown = values.join(", ");
        if !there.insert((name.to_owned(), n, values)) {
            let key =
                key.iter().map(|place| table.columns[*place].name.as_str()).collect::<Vec<_>>().join(", ");
            let message = both!(
                "there is a row of `{name}` with {key} = {shown} already, and no two may share it",
                "`{name}` 里已经有 {key} = {shown} 的一行，而这个键不能重复"
            );
            return Some(Finding {
                message,
                help: both!("give this row another {key}", "请给这一行另一个 {key}"),
            });
        }
    }
    None
}
