//! Constructs that are grammatical SQL but refused by the server: engines, precisions, numbers of arguments, and column
//! prefixes that name no table of the query.

use std::{collections::BTreeSet, ops::ControlFlow};

use sqlparser::ast::{
    DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Select, Statement,
    TableFactor, TimezoneInfo, Value, Visit, Visitor,
};

use super::{
    statement::{FILLED, last_of},
    tables,
};
use crate::{
    lesson::{
        error::{Finding, did_you_mean, finding, nearest},
        has_word,
    },
    log::ANY,
    text::both,
};

const ENGINES: [&str; 9] =
    ["INNODB", "MYISAM", "ARIA", "MEMORY", "CSV", "ARCHIVE", "BLACKHOLE", "MERGE", "SEQUENCE"];

/// What is wrong with the words of a statement, regardless of punctuation. `words` are upper-case.
pub(super) fn of_words(words: &[String]) -> Option<Finding> {
    let after = |word: &str| words.iter().skip_while(move |known| *known != word).nth(1);
    if let Some(engine) = after("ENGINE").filter(|_| words[0] == "CREATE" || words[0] == "ALTER")
        && !ENGINES.contains(&engine.as_str())
        && !engine.contains(ANY)
    {
        return Some(Finding {
            message: both!("MariaDB has no engine `{engine}`", "MariaDB 没有存储引擎 `{engine}`"),
            help: nearest(engine, ENGINES, 0.8).map_or_else(
                || both!("write `ENGINE=InnoDB`", "请写 `ENGINE=InnoDB`"),
                |near| did_you_mean(if near == "INNODB" { "InnoDB" } else { near }),
            ),
        });
    }
    if words.windows(2).any(|pair| pair[0] == "NOWAIT" && pair[1] == "WAIT") {
        return Some(Finding {
            message: both!("`NOWAIT` and `WAIT` rule each other out", "`NOWAIT` 和 `WAIT` 不能同时写"),
            help: both!("write one of both: `FOR UPDATE NOWAIT`", "两者只留一个：`FOR UPDATE NOWAIT`"),
        });
    }
    let plain: Vec<&str> = words.iter().map(String::as_str).collect();
    match plain[..] {
        ["UNLOCK", "TABLE" | "TABLES", ref rest @ ..] if !rest.is_empty() => Some(finding!(
            "`UNLOCK TABLES` names no table: it unlocks all of them",
            "`UNLOCK TABLES` 不带表名，它会释放全部表锁",
            "write `UNLOCK TABLES`",
            "请写 `UNLOCK TABLES`"
        )),
        ["ALTER", "TABLE", table, "ADD", "COLUMN", column] | ["ALTER", "TABLE", table, "ADD", column] => {
            Some(finding!(
                "the new column `{column}` has no type",
                "新的列 `{column}` 没有类型",
                "write `ALTER TABLE {table} ADD {column} INT`",
                "请写 `ALTER TABLE {table} ADD {column} INT`"
            ))
        }
        _ => None,
    }
}

/// A fractional-second precision above the server's maximum of 6.
pub(super) fn of_precision(statement: &Statement) -> Option<Finding> {
    let Statement::CreateTable(table) = statement else { return None };
    table.columns.iter().find_map(|column| match column.data_type {
        DataType::Datetime(Some(digits @ 7..))
        | DataType::Timestamp(Some(digits @ 7..), TimezoneInfo::None)
        | DataType::Time(Some(digits @ 7..), TimezoneInfo::None) => {
            let written = column.data_type.to_string();
            Some(too_precise(&written, digits, &written.replace(&format!("({digits})"), "(6)")))
        }
        _ => None,
    })
}

fn too_precise(written: &str, digits: u64, right: &str) -> Finding {
    finding!(
        "`{written}`: a second has 6 digits at most behind the point, not {digits}",
        "`{written}`：秒的小数最多 6 位，不能是 {digits} 位",
        "write `{right}`",
        "请写 `{right}`"
    )
}

/// Functions, the least and the largest number of their arguments, and their forms.
const ARITIES: [(&str, usize, usize, &str); 12] = [
    ("IFNULL", 2, 2, "IFNULL(column, 0)"),
    ("NULLIF", 2, 2, "NULLIF(column, 0)"),
    ("COALESCE", 1, usize::MAX, "COALESCE(column, 0)"),
    ("GREATEST", 2, usize::MAX, "GREATEST(a, b)"),
    ("LEAST", 2, usize::MAX, "LEAST(a, b)"),
    ("COUNT", 1, 1, "COUNT(*)"),
    ("MAX", 1, 1, "MAX(column)"),
    ("MIN", 1, 1, "MIN(column)"),
    ("SUM", 1, 1, "SUM(column)"),
    ("AVG", 1, 1, "AVG(column)"),
    ("NOW", 0, 1, "NOW(3)"),
    ("RELEASE_ALL_LOCKS", 0, 0, "RELEASE_ALL_LOCKS()"),
];

/// What is wrong with the arguments of a common function.
pub(super) fn of_arguments(call: &Function) -> Option<Finding> {
    let name = call.name.to_string();
    let upper = name.to_ascii_uppercase();
    let (_, least, most, form) = ARITIES.iter().find(|(known, ..)| *known == upper)?;
    let FunctionArguments::List(given) = &call.args else { return None };
    let write = both!("write `{form}`", "请写 `{form}`");
    if let [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] = given.args[..]
        && upper != "COUNT"
    {
        return Some(Finding {
            message: both!("`{name}(*)`: only `COUNT` takes `*`", "`{name}(*)`：只有 `COUNT` 能用 `*`"),
            help: write,
        });
    }
    if let ("NOW", [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))]) =
        (upper.as_str(), &given.args[..])
        && let Value::Number(digits, _) = &value.value
        && let Ok(digits @ 7..) = digits.parse()
    {
        return Some(too_precise(&call.to_string(), digits, "NOW(6)"));
    }
    let count = given.args.len();
    let is_distinct = given.duplicate_treatment.is_some();
    ((count < *least || count > *most) && !is_distinct).then(|| Finding {
        message: both!("`{name}` does not take {count} arguments", "`{name}` 不接受 {count} 个参数"),
        help: write,
    })
}

/// Reports a name in place of the number of `LIMIT`.
pub(super) fn of_limit(statement: &Statement, name: &str) -> Option<Finding> {
    let text = statement.to_string().to_ascii_uppercase();
    let limit = format!(" LIMIT {}", name.to_ascii_uppercase());
    let is_limit = text.split_once(&limit).is_some_and(|(_, rest)| rest.is_empty() || rest.starts_with(' '));
    is_limit.then(|| {
        finding!(
            "`LIMIT` takes a whole number, and `{name}` is none",
            "`LIMIT` 后面要写整数，`{name}` 不是整数",
            "write `LIMIT 1`",
            "请写 `LIMIT 1`"
        )
    })
}

/// Reports a timeout of `GET_LOCK` that is not a number of seconds.
pub(super) fn of_timeout(call: &Function) -> Option<Finding> {
    let FunctionArguments::List(given) = &call.args else { return None };
    let [_, FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(timeout)))] = &given.args[..] else {
        return None;
    };
    let (Value::SingleQuotedString(text) | Value::DoubleQuotedString(text)) = &timeout.value else {
        return None;
    };
    (text.trim().parse::<f64>().is_err() && !text.contains(FILLED)).then(|| {
        finding!(
            "GET_LOCK waits for seconds, and '{text}' is no number",
            "GET_LOCK 的第二个参数是秒数，'{text}' 不是数字",
            "write `GET_LOCK('name', 5)`",
            "请写 `GET_LOCK('name', 5)`"
        )
    })
}

/// An aggregate function in a `WHERE` condition, which is evaluated for each row.
pub(super) fn of_aggregate(select: &Select) -> Option<Finding> {
    let condition = select.selection.as_ref()?.to_string().to_ascii_uppercase();
    let name = ["COUNT", "SUM", "MAX", "MIN", "AVG"].into_iter().find(|name| {
        tables::words(&condition).any(|word| word == *name) && condition.contains(&format!("{name}("))
    })?;
    (!condition.contains("SELECT")).then(|| {
        finding!(
            "`WHERE` asks of each row, and `{name}` is of all of them",
            "`WHERE` 逐行判断，而 `{name}` 是对多行的统计",
            "write it behind the rows: `GROUP BY column HAVING {name}(…) > 1`",
            "请写在后面：`GROUP BY 列 HAVING {name}(…) > 1`"
        )
    })
}

/// The tables of a query, and the prefixes of its columns.
#[derive(Default)]
struct Prefixes {
    tables: BTreeSet<String>,
    asked: Vec<String>,
}

impl Visitor for Prefixes {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &sqlparser::ast::ObjectName) -> ControlFlow<()> {
        self.tables.insert(last_of(relation));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<()> {
        let alias = match table {
            TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } => alias.as_ref(),
            _ => None,
        };
        self.tables.extend(alias.map(|alias| alias.name.value.to_ascii_lowercase()));
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(names) = expr
            && let [table, _] = &names[..]
        {
            self.asked.push(table.value.clone());
        }
        ControlFlow::Continue(())
    }
}

/// A column whose prefix is no table of the statement.
pub(super) fn of_prefix(statement: &Statement) -> Option<Finding> {
    if !matches!(statement, Statement::Query(_) | Statement::Update(_) | Statement::Delete(_)) {
        return None;
    }
    let mut named = Prefixes::default();
    let _ = statement.visit(&mut named);
    let known = |name: &String| {
        name.contains(FILLED) || name.contains('@') || named.tables.contains(&name.to_ascii_lowercase())
    };
    let name = named.asked.iter().find(|name| !known(name))?;
    let tables = named.tables.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    Some(Finding {
        message: both!("no table of this statement is called `{name}`", "这条语句里没有叫 `{name}` 的表"),
        help: if has_word(&tables.replace(',', ""), name) || tables.is_empty() {
            both!("name the table in `FROM`", "请在 `FROM` 里写上这张表")
        } else {
            both!("known here: {tables}", "这里有：{tables}")
        },
    })
}
