//! The definitions of a lesson's tables, and what the server would refuse in them.

use std::collections::{BTreeSet, HashMap};

use sqlparser::ast::{
    CharacterLength, ColumnDef, ColumnOption, CreateTable, DataType, Expr, Statement, TableConstraint,
};

use super::{
    super::Scenario,
    rows::{Given, given, is_figure},
    statement::{last_of, read},
    tables::{self, Sent},
};
use crate::{
    lesson::error::{Finding, Mistake, finding},
    text::both,
};

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

pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) may_be_null: bool,
    /// Whether the column has a value when a row gives none.
    pub(super) has_default: bool,
    pub(super) counts_itself: bool,
}

pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    /// The column that alone is the primary key.
    pub(super) primary: Option<usize>,
    /// The columns of each unique key, by index.
    pub(super) unique: Vec<Vec<usize>>,
    /// Whether its rows are numbered from 1 on, if at all.
    pub(super) from_one: bool,
}

/// The tables of a lesson; `None` for a table whose definition is not known.
pub(super) fn defined(sent: &[Sent]) -> HashMap<String, Option<Table>> {
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

/// The kind of a table's column.
pub(super) fn column_kind(table: &str, column: &str, scenario: &Scenario) -> Option<Kind> {
    let table = defined(&tables::sent(scenario)).remove(&table.to_ascii_lowercase())??;
    table.columns.iter().find(|known| known.name.eq_ignore_ascii_case(column)).map(|known| known.kind)
}

pub(super) fn check_definitions(sent: &[Sent]) -> Result<(), Mistake> {
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
            Some(Finding { message, help: both!("leave one of both out", "两者去掉一个") })
        } else {
            of_definition(&created)
        };
        Mistake::if_found(&statement.path, wrong.filter(|_| !statement.copes))?;
    }
    Ok(())
}

/// What the server refuses in a table's definition although it is grammatical.
fn of_definition(created: &CreateTable) -> Option<Finding> {
    let names: Vec<String> =
        created.columns.iter().map(|column| column.name.value.to_ascii_lowercase()).collect();
    let twice = (1..names.len()).find(|n| names[..*n].contains(&names[*n])).map(|n| &names[n]);
    if let Some(name) = twice {
        let message = both!("the column `{name}` is here twice", "列 `{name}` 在这里出现了两次");
        return Some(Finding {
            message, help: both!("give each a name of its own", "请给每个各起一个名字")
        });
    }
    for column in &created.columns {
        let name = &column.name.value;
        if matches!(column.data_type, DataType::Varchar(None) | DataType::Varbinary(None)) {
            let message = both!(
                "the column `{name}` does not say how long its texts may be",
                "列 `{name}` 没有写文字的最大长度"
            );
            return Some(Finding {
                message,
                help: both!("write `{name} VARCHAR(20)`", "请写 `{name} VARCHAR(20)`"),
            });
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
            return Some(Finding {
                message,
                help: both!(
                    "a number such as `DEFAULT 0`, or a text in quotes: `DEFAULT 'a'`",
                    "数字如 `DEFAULT 0`，文字要加引号：`DEFAULT 'a'`"
                ),
            });
        }
    }
    let (keys, primary) = keys(created);
    if let Some(unknown) = keys.iter().flat_map(|(_, key)| key).find(|name| !names.contains(name)) {
        let all = names.join(", ");
        let message = both!(
            "a key names the column `{unknown}`, which the table has not",
            "键里的列 `{unknown}` 在表里不存在"
        );
        return Some(Finding { message, help: both!("its columns: {all}", "它的列：{all}") });
    }
    if primary > 1 {
        let message = both!("a table has only one primary key", "一张表只能有一个主键");
        return Some(Finding {
            message,
            help: both!(
                "of two columns it is `PRIMARY KEY (a, b)`; another key is `UNIQUE (b)`",
                "两列合起来写 `PRIMARY KEY (a, b)`；另一个键写 `UNIQUE (b)`"
            ),
        });
    }
    let counts = created.columns.iter().find(|column| counts_itself(column));
    let name = counts.map(|column| column.name.value.to_ascii_lowercase())?;
    (!keys.iter().any(|(_, key)| key.first() == Some(&name))).then(|| {
        finding!(
            "`{name}` counts itself and is no key",
            "`{name}` 自增，却不是键",
            "write `{name} INT AUTO_INCREMENT PRIMARY KEY`",
            "请写 `{name} INT AUTO_INCREMENT PRIMARY KEY`"
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
    pub(super) fn of(created: &CreateTable) -> Option<Self> {
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
