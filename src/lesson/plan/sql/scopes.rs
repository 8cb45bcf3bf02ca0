//! The names in scope in a query: its tables, their aliases, and the aliases of its columns.

use std::{
    collections::{BTreeSet, HashMap},
    ops::ControlFlow,
};

use sqlparser::ast::{
    Expr, JoinConstraint, JoinOperator, ObjectName, Query, Select, SelectItem, SetExpr, Statement,
    TableFactor, Visit, Visitor, visit_expressions,
};

use super::{
    statement::{FILLED, last_of, read},
    tables,
};
use crate::{
    lesson::{
        error::{ALIKE, Finding, Path, finding, nearest, suggestion},
        has_word,
    },
    log::ANY,
    text::both,
};

/// The columns of each table, by its name in lower case; `None` if they are not known.
type Columns = HashMap<String, Option<Vec<String>>>;

/// The tables of a statement, including those that its `WITH` defines.
#[derive(Default)]
struct Relations {
    named: Vec<String>,
    own: BTreeSet<String>,
}

impl Visitor for Relations {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        self.own.extend(tables.map(|table| table.alias.name.value.to_ascii_lowercase()));
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        if let [name] = &relation.0[..] {
            self.named.extend(name.as_ident().map(|name| name.value.clone()));
        }
        ControlFlow::Continue(())
    }
}

/// Reports a table of a statement with `WITH` that neither this nor any other statement creates.
pub(crate) fn unknown_table(text: &str, is_created: impl Fn(&str) -> bool) -> Option<String> {
    if !tables::words(text).any(|word| word.eq_ignore_ascii_case("WITH")) {
        return None;
    }
    let statement = read(text).ok()??;
    let mut found = Relations::default();
    let _ = statement.visit(&mut found);
    let Relations { named, own } = found;
    if own.is_empty() {
        return None;
    }
    let is_known = |name: &String| {
        own.contains(&name.to_ascii_lowercase())
            || is_created(name)
            || name.contains(FILLED)
            || name.starts_with("seq_")
            || name.eq_ignore_ascii_case("dual")
    };
    named.into_iter().find(|name| !is_known(name))
}

/// Reports a name of a query that consists of one `SELECT`.
pub(super) fn of_query(statement: &Statement, known: &Columns) -> Option<Finding> {
    let Statement::Query(query) = statement else { return None };
    let SetExpr::Select(select) = &*query.body else { return None };
    // A subquery has a scope of its own.
    let inner = statement.to_string().to_ascii_uppercase().matches("SELECT").count() > 1;
    if inner || query.with.is_some() {
        return None;
    }
    let joins = || select.from.iter().flat_map(|table| &table.joins);
    let factors =
        || select.from.iter().map(|table| &table.relation).chain(joins().map(|join| &join.relation));
    let mut there: Vec<(String, &Vec<String>)> = Vec::new();
    for factor in factors() {
        let TableFactor::Table { name, alias, args: None, .. } = factor else { return None };
        let called =
            alias.as_ref().map_or_else(|| last_of(name), |alias| alias.name.value.to_ascii_lowercase());
        if there.iter().any(|(other, _)| *other == called) {
            return Some(finding!(
                "two tables of this query are called `{called}`",
                "这条查询里有两张表都叫 `{called}`",
                "give each a name of its own: `acc AS a JOIN acc AS b`",
                "请各起一个名字：`acc AS a JOIN acc AS b`"
            ));
        }
        there.push((called, known.get(&last_of(name))?.as_ref()?));
    }
    let shares = joins().any(|join| {
        let (JoinOperator::Join(on)
        | JoinOperator::Inner(on)
        | JoinOperator::Left(on)
        | JoinOperator::LeftOuter(on)
        | JoinOperator::Right(on)
        | JoinOperator::RightOuter(on)) = &join.join_operator
        else {
            return true;
        };
        matches!(on, JoinConstraint::Using(_) | JoinConstraint::Natural)
    });
    let aliases = aliases(select);
    of_alias(select, &aliases, &there)
        .or_else(|| of_ambiguous(statement, &aliases, &there).filter(|_| !shares))
}

fn aliases(select: &Select) -> BTreeSet<String> {
    let named = select.projection.iter().filter_map(|item| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.to_ascii_lowercase()),
        _ => None,
    });
    named.collect()
}

/// Reports an alias of a selected column in `WHERE`, where aliases are not in scope yet.
fn of_alias(
    select: &Select,
    aliases: &BTreeSet<String>,
    there: &[(String, &Vec<String>)],
) -> Option<Finding> {
    let condition = select.selection.as_ref()?;
    let mut found = None;
    let _ = visit_expressions(condition, |expr| {
        if let Expr::Identifier(name) = expr {
            let name = name.value.to_ascii_lowercase();
            if aliases.contains(&name) && !there.iter().any(|(_, columns)| columns.contains(&name)) {
                found = Some(name);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    });
    let name = found?;
    Some(finding!(
        "`WHERE` does not know `{name}`: it is the name of what is answered",
        "`WHERE` 里不能用 `{name}`：它是结果列的别名",
        "write the column itself, or `HAVING {name} …` behind the condition",
        "请写列本身，或者在后面写 `HAVING {name} …`"
    ))
}

/// Reports an unqualified column that several tables of the query have.
fn of_ambiguous(
    statement: &Statement,
    aliases: &BTreeSet<String>,
    there: &[(String, &Vec<String>)],
) -> Option<Finding> {
    let mut found = None;
    let _ = visit_expressions(statement, |expr| {
        if let Expr::Identifier(name) = expr
            && name.quote_style != Some('"')
        {
            let name = name.value.to_ascii_lowercase();
            let having: Vec<&str> = there
                .iter()
                .filter(|(_, columns)| columns.contains(&name))
                .map(|(called, _)| called.as_str())
                .collect();
            if having.len() > 1 && !aliases.contains(&name) {
                found = Some((name, having[0].to_owned(), having.join("`, `")));
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    });
    let (name, first, tables) = found?;
    Some(finding!(
        "`{tables}` all have a column `{name}`: which one is meant?",
        "`{tables}` 都有列 `{name}`，不知道是哪一个",
        "name its table: `{first}.{name}`",
        "请写上表名：`{first}.{name}`"
    ))
}

/// Reports a column of `ALTER TABLE` or `CREATE INDEX` that the table never has.
pub(super) fn of_definition(text: &str, statements: &[(String, Path)]) -> Option<Finding> {
    let words: Vec<&str> = tables::words(text).map(|word| word.trim_matches('`')).collect();
    let capitals: Vec<String> = words.iter().map(|word| word.to_ascii_uppercase()).collect();
    let capitals: Vec<&str> = capitals.iter().map(String::as_str).collect();
    let is_column =
        |word: &str| !has_word("INDEX KEY PRIMARY FOREIGN CONSTRAINT CHECK PARTITION IF COLUMN", word);
    let (table, columns) = match capitals[..] {
        ["ALTER", "TABLE", _, "DROP" | "MODIFY" | "CHANGE", "COLUMN", name, ..] if name != "IF" => {
            (words[2], &words[5..6])
        }
        ["ALTER", "TABLE", _, "DROP" | "MODIFY" | "CHANGE", name, ..] if is_column(name) => {
            (words[2], &words[4..5])
        }
        // `name(10)` indexes a prefix of the column, and `DESC` is its order.
        ["CREATE", "INDEX", _, "ON", _, ..] => (words[4], &words[5..]),
        ["CREATE", "UNIQUE", "INDEX", _, "ON", _, ..] => (words[5], &words[6..]),
        _ => return None,
    };
    let there = ever(table, statements)?;
    let is_known = |name: &str| {
        there.contains(&name.to_ascii_lowercase())
            || name.contains([ANY, '@'])
            || name.bytes().all(|byte| byte.is_ascii_digit())
            || has_word(
                "ASC DESC USING BTREE HASH COMMENT ALGORITHM LOCK WAIT NOWAIT",
                &name.to_ascii_uppercase(),
            )
    };
    let name = columns.iter().find(|name| !is_known(name))?;
    let all = there.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    Some(Finding {
        message: both!("`{table}` has no column `{name}`", "`{table}` 没有列 `{name}`"),
        help: suggestion(nearest(name, there.iter().map(String::as_str), ALIKE), || {
            both!("its columns: {all}", "它的列：{all}")
        }),
    })
}

/// All columns that a table ever has; `None` if that is not known.
fn ever(table: &str, statements: &[(String, Path)]) -> Option<BTreeSet<String>> {
    let mut columns = BTreeSet::new();
    for (text, _) in statements {
        let words: Vec<&str> = tables::words(text).map(|word| word.trim_matches('`')).collect();
        let starts = |wanted: &str| words.first().is_some_and(|word| word.eq_ignore_ascii_case(wanted));
        if starts("ALTER") && words.get(2).is_some_and(|name| *name == table) {
            // A column that the statement adds or renames is one of its words.
            columns.extend(words[3..].iter().map(|word| word.to_ascii_lowercase()));
            let drops =
                words.get(3).is_some_and(|word| has_word("DROP MODIFY CHANGE", &word.to_ascii_uppercase()));
            if drops {
                let named =
                    if words.get(4).is_some_and(|word| word.eq_ignore_ascii_case("COLUMN")) { 5 } else { 4 };
                columns.remove(&words.get(named).map(|name| name.to_ascii_lowercase()).unwrap_or_default());
            }
        }
    }
    let mut is_created = false;
    for (text, _) in statements {
        if tables::created(text) == Some(table) {
            let Ok(Some(Statement::CreateTable(created))) = read(text) else { return None };
            if created.query.is_some() || created.columns.is_empty() {
                return None;
            }
            is_created = true;
            columns.extend(created.columns.iter().map(|column| column.name.value.to_ascii_lowercase()));
        }
    }
    is_created.then_some(columns)
}
