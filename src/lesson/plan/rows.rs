//! Checks tables and rows against the tables' definitions, for what the server would refuse while the lab starts or
//! while a program runs.

use std::{
    collections::{BTreeSet, HashMap},
    ops::ControlFlow,
};

use sqlparser::ast::{
    CharacterLength, ColumnDef, ColumnOption, CreateTable, DataType, Expr, Insert, ObjectName, Select,
    SelectItem, SetExpr, Statement, TableConstraint, TableFactor, TableObject, UnaryOperator, Value,
    visit_expressions,
};

use super::{
    super::{
        error::Mistake,
        expr::mentions::{joined, split_comparison},
        has_word,
    },
    Scenario,
    sql::{FILLED, equals, last_of, read, targets},
    tables::{self, Sent},
};
use crate::text::{Text, both};

/// A message and its help.
type Wrong = (Text, Text);

/// The values that a column accepts.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// Whole numbers from the first to the second, inclusive.
    Figure(i128, i128),
    /// Texts of at most this many characters, if known.
    Text(Option<u64>),
    /// A date, with or without a time.
    Date,
    Other,
}

struct Column {
    name: String,
    kind: Kind,
    may_be_null: bool,
    /// Whether the column has a value when a row gives none.
    has_default: bool,
    counts_itself: bool,
}

struct Table {
    columns: Vec<Column>,
    /// The column that alone is the primary key.
    primary: Option<usize>,
    /// The columns of each unique key, by index.
    unique: Vec<Vec<usize>>,
    /// Whether its rows are numbered from 1 on, if at all.
    from_one: bool,
}

/// The value that a statement gives a column, as far as it is literal.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Given {
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
        if let Ok(Some(read)) = read(&statement.text)
            && let Some((message, help)) = of_comparison(&read, &known)
        {
            return Err(Mistake::new(&statement.path, message).help(help));
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
            found.map_or(Ok(()), |(message, help)| Err(Mistake::new(&statement.path, message).help(help)))?;
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
        let wrong = |(message, help): Wrong| Mistake::new(&statement.path, message).help(help);
        let mut rows = rows(&insert, table).map_err(wrong)?;
        for (columns, row) in &rows {
            of_row((&name, table), columns, row).map_or(Ok(()), |found| Err(wrong(found)))?;
        }
        // The order of programs is not known, and a row may be deleted or replaced, so duplicates are checked in the
        // setup only.
        if statement.in_setup && !insert.replace_into && insert.on.is_none() {
            for row in &mut rows {
                if counts {
                    table.number(row, next.entry(name.clone()).or_insert(1));
                }
                let row = &*row;
                of_key((&name, table), row, &mut there).map_or(Ok(()), |found| Err(wrong(found)))?;
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
                of_key((&name, table), row, &mut there.clone()).map_or(Ok(()), |found| Err(wrong(found)))?;
            }
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

/// The tables of a lesson; `None` for a table whose definition is not known.
fn defined(sent: &[Sent]) -> HashMap<String, Option<Table>> {
    let mut known: HashMap<String, Option<Table>> = HashMap::new();
    for statement in sent {
        match read(&statement.text) {
            Ok(Some(Statement::CreateTable(created))) => {
                let name = last_of(&created.name);
                // If a table is defined twice, it is not known which definition applies.
                let table = (!known.contains_key(&name)).then(|| Table::of(&created)).flatten();
                known.insert(name, table);
            }
            _ if tables::words(&statement.text)
                .next()
                .is_some_and(|word| word.eq_ignore_ascii_case("ALTER")) =>
            {
                let name = tables::words(&statement.text).nth(2).unwrap_or_default();
                known.insert(name.trim_matches('`').to_ascii_lowercase(), None);
            }
            _ => {}
        }
    }
    known
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

/// The doubt about the rows that a statement answers: an index beyond the one row that there can be, or a value of the
/// wrong kind. `statement` returns the statement of a name such as `read` or `A.read`.
pub(crate) fn reply_doubt(
    source: &str,
    statement: impl Fn(&str) -> Option<String>,
    scenario: &Scenario,
) -> Option<Wrong> {
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

/// The kind of a table's column.
pub(super) fn column_kind(table: &str, column: &str, scenario: &Scenario) -> Option<Kind> {
    let table = defined(&tables::sent(scenario)).remove(&table.to_ascii_lowercase())??;
    table.columns.iter().find(|known| known.name.eq_ignore_ascii_case(column)).map(|known| known.kind)
}

/// The doubt about more rows than one in the reply to a `SELECT` by the primary key, or about less than none changed.
pub(crate) fn count_doubt(
    source: &str,
    statement: impl Fn(&str) -> Option<String>,
    scenario: &Scenario,
) -> Option<Wrong> {
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
pub(super) fn of_compared((left, operator, right): (&str, &str, &str), kind: Kind) -> Option<Wrong> {
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

/// The doubt about a row, given by its table and primary key, that no statement inserts.
pub(crate) fn row_doubt(key: &str, scenario: &Scenario) -> Option<Wrong> {
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
    Some((both!("no statement inserts the row `{key}`", "没有语句插入过行 `{key}`"), help))
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

fn check_definitions(sent: &[Sent]) -> Result<(), Mistake> {
    let mut there = BTreeSet::new();
    for statement in sent {
        let words: Vec<String> =
            tables::words(&statement.text).take(3).map(str::to_ascii_uppercase).collect();
        if words.first().is_some_and(|word| word == "DROP") {
            there.clear();
        }
        let Ok(Some(Statement::CreateTable(created))) = read(&statement.text) else { continue };
        let name = last_of(&created.name);
        let again = statement.in_setup
            && !there.insert(name.clone())
            && !created.if_not_exists
            && !created.or_replace;
        let wrong = if again {
            let message = both!("the table `{name}` is there already", "表 `{name}` 已经存在");
            Some((message, both!("leave one of both out", "两者去掉一个")))
        } else {
            of_definition(&created)
        };
        if let Some((message, help)) = wrong.filter(|_| !statement.copes) {
            return Err(Mistake::new(&statement.path, message).help(help));
        }
    }
    Ok(())
}

/// What the server refuses in a table's definition although it is grammatical.
fn of_definition(created: &CreateTable) -> Option<Wrong> {
    let names: Vec<String> =
        created.columns.iter().map(|column| column.name.value.to_ascii_lowercase()).collect();
    let twice = (1..names.len()).find(|n| names[..*n].contains(&names[*n])).map(|n| &names[n]);
    if let Some(name) = twice {
        let message = both!("the column `{name}` is here twice", "列 `{name}` 在这里出现了两次");
        return Some((message, both!("give each a name of its own", "请给每个各起一个名字")));
    }
    for column in &created.columns {
        let name = &column.name.value;
        if matches!(column.data_type, DataType::Varchar(None) | DataType::Varbinary(None)) {
            let message = both!(
                "the column `{name}` does not say how long its texts may be",
                "列 `{name}` 没有写文字的最大长度"
            );
            return Some((message, both!("write `{name} VARCHAR(20)`", "请写 `{name} VARCHAR(20)`")));
        }
        let default = column.options.iter().find_map(|option| match &option.option {
            ColumnOption::Default(value) => Some(value),
            _ => None,
        });
        let is_word = |value: &Expr| matches!(value, Expr::Identifier(word) if !word.value.to_ascii_uppercase().starts_with("CURRENT"));
        let misfit = default.is_some_and(|value| {
            matches!((kind(&column.data_type), given(value)), (Kind::Figure(..), Given::Text(text)) if !is_figure(&text))
        });
        if let Some(value) = default.filter(|value| is_word(value) || misfit) {
            let message =
                both!("`DEFAULT {value}` is no value of `{name}`", "`DEFAULT {value}` 不是 `{name}` 的值");
            return Some((
                message,
                both!(
                    "a number such as `DEFAULT 0`, or a text in quotes: `DEFAULT 'a'`",
                    "数字如 `DEFAULT 0`，文字要加引号：`DEFAULT 'a'`"
                ),
            ));
        }
    }
    let (keys, primary) = keys(created);
    if let Some(unknown) = keys.iter().flat_map(|(_, key)| key).find(|name| !names.contains(name)) {
        let all = names.join(", ");
        let message = both!(
            "a key names the column `{unknown}`, which the table has not",
            "键里的列 `{unknown}` 在表里不存在"
        );
        return Some((message, both!("its columns: {all}", "它的列：{all}")));
    }
    if primary > 1 {
        let message = both!("a table has only one primary key", "一张表只能有一个主键");
        return Some((
            message,
            both!(
                "of two columns it is `PRIMARY KEY (a, b)`; another key is `UNIQUE (b)`",
                "两列合起来写 `PRIMARY KEY (a, b)`；另一个键写 `UNIQUE (b)`"
            ),
        ));
    }
    let counts = created.columns.iter().find(|column| counts_itself(column));
    let name = counts.map(|column| column.name.value.to_ascii_lowercase())?;
    (!keys.iter().any(|(_, key)| key.first() == Some(&name))).then(|| {
        (
            both!("`{name}` counts itself and is no key", "`{name}` 自增，却不是键"),
            both!(
                "write `{name} INT AUTO_INCREMENT PRIMARY KEY`",
                "请写 `{name} INT AUTO_INCREMENT PRIMARY KEY`"
            ),
        )
    })
}

/// The keys of a table, each with whether it is unique, and the number of primary keys.
fn keys(created: &CreateTable) -> (Vec<(bool, Vec<String>)>, usize) {
    let (mut keys, mut primary) = (Vec::new(), 0);
    for column in &created.columns {
        let name = vec![column.name.value.to_ascii_lowercase()];
        for option in &column.options {
            match option.option {
                ColumnOption::PrimaryKey(_) => {
                    primary += 1;
                    keys.push((true, name.clone()));
                }
                ColumnOption::Unique(_) => keys.push((true, name.clone())),
                _ => {}
            }
        }
    }
    for constraint in &created.constraints {
        let (columns, unique) = match constraint {
            TableConstraint::PrimaryKey(key) => {
                primary += 1;
                (&key.columns, true)
            }
            TableConstraint::Unique(key) => (&key.columns, true),
            TableConstraint::Index(key) => (&key.columns, false),
            _ => continue,
        };
        // A key on a prefix, `name(10)`, compares only the beginning.
        let plain = columns.iter().map(|column| match &column.column.expr {
            Expr::Identifier(name) => Some(name.value.to_ascii_lowercase()),
            _ => None,
        });
        if let Some(names) = plain.collect::<Option<Vec<_>>>() {
            keys.push((unique, names));
        }
    }
    (keys, primary)
}

fn counts_itself(column: &ColumnDef) -> bool {
    column.options.iter().any(|option| option.to_string().to_ascii_uppercase().contains("AUTO_INCREMENT"))
}

fn kind(data_type: &DataType) -> Kind {
    let signed = |bits: u32| Kind::Figure(-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1);
    let unsigned = |bits: u32| Kind::Figure(0, (1_i128 << bits) - 1);
    match data_type {
        DataType::TinyInt(_) => signed(8),
        DataType::SmallInt(_) => signed(16),
        DataType::Int(_) | DataType::Integer(_) => signed(32),
        DataType::BigInt(_) => signed(64),
        DataType::TinyIntUnsigned(_) => unsigned(8),
        DataType::SmallIntUnsigned(_) => unsigned(16),
        DataType::IntUnsigned(_) | DataType::IntegerUnsigned(_) => unsigned(32),
        DataType::BigIntUnsigned(_) => unsigned(64),
        DataType::Varchar(length) | DataType::Char(length) => Kind::Text(match length {
            Some(CharacterLength::IntegerLength { length, .. }) => Some(*length),
            _ => None,
        }),
        DataType::Text => Kind::Text(None),
        DataType::Date | DataType::Datetime(_) | DataType::Timestamp(..) => Kind::Date,
        _ => Kind::Other,
    }
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

    fn of(created: &CreateTable) -> Option<Self> {
        if created.query.is_some() || created.columns.is_empty() {
            return None;
        }
        let (keys, _) = keys(created);
        let is_primary = |name: &str| {
            created.columns.iter().any(|column| {
                column.name.value.eq_ignore_ascii_case(name)
                    && column.options.iter().any(|option| matches!(option.option, ColumnOption::PrimaryKey(_)))
            }) || created.constraints.iter().any(|constraint| {
                matches!(constraint, TableConstraint::PrimaryKey(key)
                    if key.columns.iter().any(|column| column.column.expr.to_string().trim_matches('`').eq_ignore_ascii_case(name)))
            })
        };
        let columns: Vec<Column> = created
            .columns
            .iter()
            .map(|column| {
                let has = |wanted: &dyn Fn(&ColumnOption) -> bool| {
                    column.options.iter().any(|option| wanted(&option.option))
                };
                let name = column.name.value.to_ascii_lowercase();
                Column {
                    kind: kind(&column.data_type),
                    may_be_null: !has(&|option| matches!(option, ColumnOption::NotNull))
                        && !is_primary(&name),
                    has_default: has(&|option| {
                        matches!(option, ColumnOption::Default(_) | ColumnOption::Generated { .. })
                    }) || matches!(
                        column.data_type,
                        DataType::Timestamp(..) | DataType::Custom(..)
                    ),
                    counts_itself: counts_itself(column),
                    name,
                }
            })
            .collect();
        let place = |name: &String| columns.iter().position(|column| column.name == *name);
        let mut alone = (0..columns.len()).filter(|n| is_primary(&columns[*n].name));
        let primary = alone.next().filter(|_| alone.next().is_none());
        let unique = keys
            .iter()
            .filter(|(unique, _)| *unique)
            .filter_map(|(_, key)| key.iter().map(place).collect::<Option<Vec<_>>>())
            .collect();
        let from_one = !created.to_string().replace(' ', "").to_ascii_uppercase().contains("AUTO_INCREMENT=");
        Some(Self { columns, primary, unique, from_one })
    }
}

fn is_figure(text: &str) -> bool {
    text.trim().parse::<f64>().is_ok() || text.contains(FILLED)
}

fn given(value: &Expr) -> Given {
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

/// The columns that a statement names, by index, and the values that a row gives them.
type Row = (Vec<usize>, Vec<Given>);

fn rows(insert: &Insert, table: &Table) -> Result<Vec<Row>, Wrong> {
    let written: Vec<String> = if insert.assignments.is_empty() {
        insert.columns.iter().map(last_of).collect()
    } else {
        insert.assignments.iter().flat_map(|assignment| targets(&assignment.target)).collect()
    };
    if let Some(n) = (1..written.len()).find(|n| written[..*n].contains(&written[*n])) {
        let name = &written[n];
        let message = both!("the column `{name}` is here twice", "列 `{name}` 在这里出现了两次");
        return Err((message, both!("give it one value", "一列只给一个值")));
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
fn of_row((name, table): (&str, &Table), columns: &[usize], row: &[Given]) -> Option<Wrong> {
    let missing = table.columns.iter().enumerate().find(|(n, column)| {
        !columns.contains(n) && !column.may_be_null && !column.has_default && !column.counts_itself
    });
    if let Some((_, column)) = missing {
        let column = &column.name;
        let message = both!(
            "`{name}.{column}` is NOT NULL and has no default, and this row gives it no value",
            "`{name}.{column}` 是 NOT NULL 且没有默认值，而这一行没有给它值"
        );
        return Some((
            message,
            both!("name `{column}` and give it a value", "请写上 `{column}` 并给它一个值"),
        ));
    }
    columns.iter().zip(row).find_map(|(place, given)| of_given((name, table), *place, given))
}

/// What is wrong with a value that its column does not accept.
fn of_given((name, table): (&str, &Table), place: usize, given: &Given) -> Option<Wrong> {
    let column = &table.columns[place];
    let name = format!("{name}.{}", column.name);
    match (given, column.kind) {
        (Given::Null, _) if !column.may_be_null && !column.counts_itself => Some((
            both!("`{name}` may not be NULL", "`{name}` 不能是 NULL"),
            both!("give it a value", "请给它一个值"),
        )),
        (Given::Text(text), Kind::Figure(..)) if !is_figure(text) => Some((
            both!("`{name}` takes a number, and here is '{text}'", "`{name}` 要数字，这里是 '{text}'"),
            both!(
                "give it a number, or make the column a `VARCHAR(20)`",
                "请给它一个数字，或者把这一列定义成 `VARCHAR(20)`"
            ),
        )),
        (Given::Text(text), Kind::Date) if !text.trim_start().starts_with(|c: char| c.is_ascii_digit()) => {
            Some((
                both!("`{name}` takes a date, and here is '{text}'", "`{name}` 要日期，这里是 '{text}'"),
                both!("such as `NOW(3)` or '2026-01-31 12:00:00'", "例如 `NOW(3)` 或 '2026-01-31 12:00:00'"),
            ))
        }
        (Given::Text(text), Kind::Text(Some(most))) if text.chars().count() as u64 > most => Some((
            both!(
                "'{text}' is longer than the {most} characters of `{name}`",
                "'{text}' 超过了 `{name}` 的 {most} 个字符"
            ),
            both!("make the column wider, or the text shorter", "请把列放宽，或者把文字缩短"),
        )),
        (Given::Number(number), Kind::Figure(least, most))
            if number.parse::<i128>().is_ok_and(|number| !(least..=most).contains(&number)) =>
        {
            Some((
                both!(
                    "`{name}` takes numbers from {least} to {most}, and here is {number}",
                    "`{name}` 的取值是 {least} 到 {most}，这里是 {number}"
                ),
                both!(
                    "give it a smaller one, or make the column a `BIGINT`",
                    "请给一个小些的数，或者把这一列定义成 `BIGINT`"
                ),
            ))
        }
        _ => None,
    }
}

/// The doubt about a numeric column that is compared with a text that is no number.
fn of_comparison(statement: &Statement, known: &HashMap<String, Option<Table>>) -> Option<Wrong> {
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
            wrong = Some((
                message,
                both!("compare it with a number: `{name} = 1`", "请和数字比较：`{name} = 1`"),
            ));
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
) -> Option<Wrong> {
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
            return Some((message, both!("give this row another {key}", "请给这一行另一个 {key}")));
        }
    }
    None
}
