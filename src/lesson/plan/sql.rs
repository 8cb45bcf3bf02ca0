//! Checks the syntax of SQL statements, and the columns that they name, before there is a server. A lab has only the
//! tables that its lesson creates, so a column that none of them has is misspelt.

mod details;
mod scopes;

use std::{
    collections::{BTreeSet, HashMap},
    ops::ControlFlow,
};

use sqlparser::{
    ast::{
        AssignmentTarget, BinaryOperator, CastKind, DataType, Expr, Function, FunctionArguments, Insert,
        LockType, ObjectName, OnInsert, Query, Select, SelectItem, SetExpr, Statement, TableFactor,
        TableObject, Update, Value, Visit, Visitor,
    },
    dialect::MySqlDialect,
    parser::{Parser, ParserError},
};

pub(crate) use scopes::unknown_table;

use super::{
    super::{
        error::{ALIKE, Mistake, Path, did_you_mean, nearest},
        expr::{
            Mentions, Template,
            mentions::{joined, split_comparison},
        },
        has_word,
        model::Claim,
    },
    Act, ActorPlan, PlannedOperation, PlannedVerb, Scenario,
    program::Instruction,
    rows, tables, types,
};
use crate::{
    log::{
        ANY, Product,
        product::mariadb::{user_lock_row, user_locks},
    },
    text::{Text, both},
};

/// The placeholder for a `${…}` whose value is known only at run time: a number, which fits most of the grammar.
pub(super) const FILLED: &str = "70200701";

/// Other texts that a `${…}` outside quotes may stand for.
const FILLINGS: [&str; 5] = [FILLED, "x70200701", "", "=", "(70200701)"];

/// Grammar of MariaDB that `sqlparser` does not support. A statement with one of these words is not checked.
const UNSUPPORTED: &str = "
    PERSISTENT VERSIONING SYSTEM_TIME PERIOD PARTITION EXAMINED QUICK DELAYED NEXT PREVIOUS MOD JSON_TABLE MATCH SOUNDS
    PROCEDURE FULLTEXT SPATIAL SEQUENCE VECTOR OVERLAPS EXCEPT INTERSECT
";

/// The forms of statements, for help texts.
const FORMS: [(&str, &str); 14] = [
    ("WITH", "WITH name AS (SELECT …) SELECT column FROM name"),
    ("SELECT", "SELECT column, … FROM table WHERE condition ORDER BY column LIMIT n FOR UPDATE"),
    ("INSERT", "INSERT INTO table (column, …) VALUES (value, …)"),
    ("REPLACE", "REPLACE INTO table (column, …) VALUES (value, …)"),
    ("UPDATE", "UPDATE table SET column = value, … WHERE condition"),
    ("DELETE", "DELETE FROM table WHERE condition"),
    ("CREATE", "CREATE TABLE table (column type, …, PRIMARY KEY (column))"),
    ("BEGIN", "BEGIN"),
    ("START", "START TRANSACTION"),
    ("COMMIT", "COMMIT"),
    ("ROLLBACK", "ROLLBACK"),
    ("SAVEPOINT", "SAVEPOINT name"),
    ("LOCK", "LOCK TABLES table WRITE"),
    ("SET", "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"),
];

/// Keywords, to detect misspelt ones.
const WORDS: [&str; 20] = [
    "FROM", "WHERE", "ORDER", "GROUP", "BY", "LIMIT", "UPDATE", "SET", "VALUES", "INTO", "AND", "HAVING",
    "JOIN", "NOWAIT", "SKIP", "PRIMARY", "KEY", "DEFAULT", "NOT", "NULL",
];

/// Column types of MariaDB that `sqlparser` parses as custom names.
const TYPES: &str = "
    SERIAL YEAR UUID INET4 INET6 GEOMETRY POINT LINESTRING POLYGON MULTIPOINT MULTILINESTRING MULTIPOLYGON
    GEOMETRYCOLLECTION FIXED LONG INT1 INT2 INT3 INT4 INT8 MIDDLEINT FLOAT4 FLOAT8 NATIONAL NCHAR NVARCHAR XMLTYPE
";

/// Reserved words that one might choose as the name of a table or column; MariaDB accepts them only in back quotes.
const RESERVED: &str = "
    CALL CASE CHANGE CHARACTER CHECK COLUMN CONDITION CURSOR DEC DESC DOUBLE EACH EXIT FETCH FLOAT FOR FORCE FROM FULLTEXT
    GRANT GROUP IN INDEX INT INTEGER INTERVAL INTO KEY KEYS KILL LEAVE LEFT LIKE LIMIT LINES LOAD LOCK LONG LOOP MATCH MOD
    NATURAL NUMERIC OFFSET ON OR ORDER OUT OUTER OVER PARTITION PORTION PRECISION PRIMARY PROCEDURE PURGE RANGE READ READS
    REAL RELEASE RENAME REPEAT REPLACE RETURN RIGHT ROWS ROW_NUMBER SEPARATOR SET SHOW SIGNAL SQL TABLE TO TRIGGER UNION
    UNIQUE UNLOCK UPDATE USAGE USE USING VALUES WHEN WHERE WITH WRITE
";

/// Units of time, which functions such as `TIMESTAMPDIFF` take as bare words.
const UNITS: &str = "MICROSECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR";

/// Checks the syntax of every statement.
pub(crate) fn check_grammar(scenario: &Scenario) -> Result<(), Mistake> {
    tables::statements(scenario).iter().try_for_each(|(text, path)| match doubt(text) {
        Some((message, help)) => Err(Mistake::new(path, message).help(help)),
        None => Ok(()),
    })
}

/// A reserved word that `CREATE TABLE` uses as the name of the table or of a column.
fn reserved(text: &str) -> Option<&str> {
    let table = tables::created(text)?;
    let is_type = |word: &str| {
        has_word(
            "INT BIGINT SMALLINT TINYINT VARCHAR CHAR TEXT DATETIME TIMESTAMP DATE TIME DECIMAL BOOLEAN",
            word,
        )
    };
    let columns = text.split(['(', ',']).filter_map(|part| {
        let mut words = tables::words(part);
        let name = words.next()?;
        words.next().is_some_and(|word| is_type(&word.to_ascii_uppercase())).then_some(name)
    });
    columns.chain([table]).find(|name| has_word(RESERVED, &name.to_ascii_uppercase()))
}

/// What is wrong with a statement, with help.
fn doubt(text: &str) -> Option<(Text, Text)> {
    let words: Vec<String> = tables::words(text).map(str::to_ascii_uppercase).collect();
    let first = words.first().map_or("", String::as_str);
    let form = FORMS.iter().find(|(name, _)| *name == first).map(|(_, form)| *form);
    let write = |form: &str| both!("write `{form}`", "请写 `{form}`");
    if bare(text).contains("==") {
        let message = both!("SQL does not know `==`", "SQL 里没有 `==`");
        return Some((message, both!("it compares with `=`", "SQL 用 `=` 比较")));
    }
    if let Some(name) = reserved(text) {
        let message =
            both!("`{name}` is a word of SQL and no name", "`{name}` 是 SQL 的保留字，不能直接用作名字");
        let help = both!(
            "give it another name, or write it in back quotes everywhere",
            "请换个名字，或者处处用反引号括起来"
        );
        return Some((message, help));
    }
    let rest = words.get(1..).unwrap_or_default();
    let only = |known: &str| rest.iter().all(|word| has_word(known, word));
    let is_right = match first {
        "BEGIN" => only("WORK"),
        "START" => {
            rest.first().is_some_and(|word| word == "TRANSACTION")
                && only("TRANSACTION WITH CONSISTENT SNAPSHOT READ ONLY WRITE")
        }
        "COMMIT" => only("WORK AND NO CHAIN RELEASE"),
        "ROLLBACK" => only("WORK AND NO CHAIN RELEASE") || rest.iter().any(|word| word == "TO"),
        "SAVEPOINT" => rest.len() == 1,
        "SET" if rest.iter().any(|word| word == "LEVEL") => {
            let level = rest.iter().skip_while(|word| *word != "LEVEL").skip(1);
            let level = level.map(String::as_str).collect::<Vec<_>>().join(" ");
            let level = [" READ WRITE", " READ ONLY"]
                .iter()
                .find_map(|access| level.strip_suffix(access))
                .unwrap_or(&level);
            ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"].contains(&level)
                || level.contains(ANY)
        }
        "LOCK" => bare(text).to_ascii_uppercase().split(',').all(|table| {
            tables::words(table).any(|word| has_word("READ WRITE", word)) || table.contains(ANY)
        }),
        _ => true,
    };
    if !is_right {
        let message = both!("this is no SQL: `{text}`", "这不是正确的 SQL：`{text}`");
        return Some((message, write(form.unwrap_or_default())));
    }
    if let Some(wrong) = details::of_words(&words) {
        return Some(wrong);
    }
    let statement = match read(text) {
        Ok(statement) => statement?,
        Err(found) => {
            let message = match &found {
                Some(word) => {
                    both!("this is no SQL: unexpected `{word}`", "这不是正确的 SQL：意外的 `{word}`")
                }
                None => both!("this is no SQL: it ends too early", "这不是正确的 SQL：语句没有写完"),
            };
            let word = found.unwrap_or_default().to_ascii_uppercase();
            let misspelt = Some(word.as_str()).filter(|word| word.len() > 2 && !WORDS.contains(word));
            let meant = misspelt.and_then(|word| nearest(word, WORDS, ALIKE)).map(did_you_mean);
            let form = form.map(write);
            let help: Vec<Text> = meant.into_iter().chain(form).collect();
            return Some((message, Text::join(&help, " ", "")));
        }
    };
    of_meaning(&statement)
}

/// What is grammatical but refused by the server, or means something else than it seems.
fn of_meaning(statement: &Statement) -> Option<(Text, Text)> {
    if let Statement::CreateTable(table) = statement {
        let unknown = table.columns.iter().find_map(|column| match &column.data_type {
            DataType::Custom(name, _) if !has_word(TYPES, &name.to_string().to_ascii_uppercase()) => {
                Some((column.name.value.clone(), name.to_string()))
            }
            DataType::String(_) => Some((column.name.value.clone(), "STRING".to_owned())),
            DataType::Unspecified => Some((column.name.value.clone(), String::new())),
            _ => None,
        });
        if let Some((column, name)) = unknown.filter(|(_, name)| !name.contains(FILLED)) {
            let known =
                ["INT", "BIGINT", "VARCHAR", "CHAR", "TEXT", "DATETIME", "TIMESTAMP", "DECIMAL", "BOOLEAN"];
            let message = both!(
                "the column `{column}` has no type that MariaDB knows: `{name}`",
                "列 `{column}` 的类型 `{name}` 不是 MariaDB 的类型"
            );
            let help = nearest(&name.to_ascii_uppercase(), known, ALIKE).map_or_else(
                || {
                    both!(
                        "such as INT, BIGINT, VARCHAR(20) or DATETIME",
                        "例如 INT、BIGINT、VARCHAR(20) 或 DATETIME"
                    )
                },
                did_you_mean,
            );
            return Some((message, help));
        }
    }
    if let Statement::Update(update) = statement {
        let joined = update.assignments.iter().any(|assignment| {
            matches!(&assignment.value, Expr::BinaryOp { op: BinaryOperator::And, right, .. }
                if matches!(**right, Expr::BinaryOp { op: BinaryOperator::Eq, .. }))
        });
        if joined {
            let message = both!(
                "`SET a = 1 AND b = 2` sets only `a`, to whether both are so",
                "`SET a = 1 AND b = 2` 只改了 `a`，值是“两者是否都成立”"
            );
            return Some((
                message,
                both!("write a comma: `SET a = 1, b = 2`", "请用逗号：`SET a = 1, b = 2`"),
            ));
        }
    }
    let mut named = Named::default();
    let _ = statement.visit(&mut named);
    if let Some((written, instead)) = named.foreign.or_else(|| of_other_products(statement)) {
        let message = both!("MariaDB does not know `{written}`", "MariaDB 没有 `{written}`");
        return Some((message, both!("write `{instead}`", "请写 `{instead}`")));
    }
    if let Some(written) = named.placeholder {
        let message = both!("`{written}` stands for nothing here", "`{written}` 在这里没有对应的值");
        return Some((
            message,
            both!(
                "a value is filled in with `${{name}}`, a text in quotes: `'${{name}}'`",
                "填入值要写 `${{name}}`，文字加引号：`'${{name}}'`"
            ),
        ));
    }
    if let Some(written) = named.bare_condition {
        let message =
            both!("`{written}` is no comparison of a column with a value", "`{written}` 不是列和值的比较");
        return Some((
            message,
            both!(
                "write `WHERE column = value`, and `AND` between two conditions",
                "请写 `WHERE 列 = 值`，两个条件之间写 `AND`"
            ),
        ));
    }
    if named.compares_null {
        let message = both!("a comparison with `NULL` is never true", "和 `NULL` 比较永远不成立");
        return Some((message, both!("write `IS NULL` or `IS NOT NULL`", "请写 `IS NULL` 或 `IS NOT NULL`")));
    }
    let found =
        details::of_precision(statement).or_else(|| details::of_prefix(statement)).or(named.aggregate);
    if let Some(wrong) = found.or_else(|| named.calls.iter().find_map(details::of_arguments)) {
        return Some(wrong);
    }
    if let Some(wrong) = named.calls.iter().find_map(of_call) {
        return Some(wrong);
    }
    if named.shares {
        let message = both!("MariaDB does not know `FOR SHARE`", "MariaDB 没有 `FOR SHARE`");
        return Some((message, both!("write `LOCK IN SHARE MODE`", "请写 `LOCK IN SHARE MODE`")));
    }
    None
}

/// Grammatical constructs of other databases, and what to use in MariaDB.
fn of_other_products(statement: &Statement) -> Option<(&'static str, &'static str)> {
    match statement {
        Statement::Insert(Insert { on: Some(OnInsert::OnConflict(_)), .. }) => {
            Some(("ON CONFLICT", "ON DUPLICATE KEY UPDATE column = value"))
        }
        Statement::Insert(Insert { or: Some(_), .. }) => Some(("INSERT OR", "REPLACE INTO table …")),
        Statement::Update(Update { returning: Some(_), .. }) => {
            Some(("UPDATE … RETURNING", "SELECT column FROM table WHERE condition"))
        }
        Statement::Update(Update { from: Some(_), .. }) => {
            Some(("UPDATE … FROM", "UPDATE table JOIN other ON condition SET column = value"))
        }
        _ => None,
    }
}

/// Functions of other databases, and what to use in MariaDB.
const FOREIGN_FUNCTIONS: [(&str, &str); 5] = [
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

fn of_call(call: &Function) -> Option<(Text, Text)> {
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
            (message, write(form))
        });
    }
    // Other functions are not checked; only a name similar to one of these is taken for a misspelling.
    let misspelt = || both!("MariaDB has no function `{name}`", "MariaDB 没有函数 `{name}`");
    // `POW` is a function, too, although it is similar to `NOW`.
    let near = |known: &&&str| {
        !matches!(upper.as_str(), "POW" | "RELEASE_ALL_LOCKS") && strsim::osa_distance(known, &upper) <= 1
    };
    if let Some(known) = COMMON.iter().find(near) {
        return (*known != upper).then(|| (misspelt(), did_you_mean(known)));
    }
    if upper == "RELEASE_ALL_LOCKS" {
        return None;
    }
    let (_, _, form) =
        FUNCTIONS.iter().find(|(known, ..)| known.len() > 5 && nearest(&upper, [*known], 0.93).is_some())?;
    Some((misspelt(), write(form)))
}

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
        if let Some((message, help)) = found {
            return Err(Mistake::new(path, message).help(help));
        }
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

fn of_columns(statement: &Statement, known: &HashMap<String, Option<Vec<String>>>) -> Option<(Text, Text)> {
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
            return Some((message, help));
        }
        let tables = tables.join("`, `");
        if let Some(wrong) = details::of_limit(statement, name) {
            return Some(wrong);
        }
        let message = both!("`{tables}` has no column `{name}`", "`{tables}` 没有列 `{name}`");
        let columns = there.iter().copied().collect::<Vec<_>>().join(", ");
        let help = nearest(name, there.iter().copied(), ALIKE).map_or_else(
            || {
                both!(
                    "its columns: {columns}; a text stands in quotes: '{name}'",
                    "它的列：{columns}；文字要写在引号里：'{name}'"
                )
            },
            did_you_mean,
        );
        return Some((message, help));
    }
    let Statement::Insert(insert) = statement else { return None };
    of_values(insert, known)
}

/// Checks that a row has a value for each column.
fn of_values(insert: &Insert, known: &HashMap<String, Option<Vec<String>>>) -> Option<(Text, Text)> {
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
        return Some((
            message,
            both!(
                "a parameter is filled in with `${{{name}}}`, and a text stands in quotes: '{name}'",
                "参数要写 `${{{name}}}`，文字要写在引号里：'{name}'"
            ),
        ));
    }
    let row = values.rows.iter().find(|row| row.content.len() != wanted && !row.content.is_empty())?;
    let (given, names) = (row.content.len(), columns.join(", "));
    let message = both!(
        "a row has {given} values, and there are {wanted} columns: {names}",
        "一行有 {given} 个值，而列有 {wanted} 个：{names}"
    );
    Some((message, both!("give a value for each column", "每一列都要给一个值")))
}

/// Refuses a transaction that its program never ends: it would hold its locks until the client exits.
pub(crate) fn check_transactions(scenario: &Scenario) -> Result<(), Mistake> {
    // Forgetting to end it may be the point of the lesson: other clients then handle the error, or a fault ends the
    // client.
    let is_shown = scenario.story.iter().any(|line| matches!(line.act, Act::Faults(_)));
    scenario.actors.iter().try_for_each(check_savepoints)?;
    for plan in scenario.actors.iter().filter(|_| !is_shown) {
        let statements: Vec<(String, &PlannedOperation)> = statements_of(plan)
            .filter_map(|(operation, text)| {
                Some((tables::words(&text).next()?.to_ascii_uppercase(), operation))
            })
            .collect();
        let ends = statements
            .iter()
            .any(|(word, _)| has_word("COMMIT ROLLBACK LOCK CREATE ALTER DROP TRUNCATE", word));
        // A program that handles errors may leave the end to the server, unless a claim reads what it has written.
        let copes = statements.iter().any(|(_, operation)| !operation.allow.is_empty())
            && !claims_written(scenario, plan);
        let begins = statements.iter().find(|(word, _)| has_word("BEGIN START", word));
        if let (false, false, Some((_, operation))) = (ends, copes, begins)
            && let Some(path) = &operation.path
        {
            let message = both!("this program never ends its transaction", "这个程序没有结束它的事务");
            return Err(Mistake::new(&path.key("sql"), message).help(both!(
                "write `- commit: {{ sql: COMMIT }}` or `ROLLBACK` after it",
                "请在后面写 `- commit: {{ sql: COMMIT }}` 或 `ROLLBACK`"
            )));
        }
    }
    Ok(())
}

/// Refuses a program that rolls back to or releases a savepoint that it never sets.
fn check_savepoints(plan: &ActorPlan) -> Result<(), Mistake> {
    let savepoint = |text: &str| {
        let words: Vec<String> = tables::words(text).map(str::to_ascii_uppercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            ["SAVEPOINT", name] => Some((true, name.to_owned())),
            ["ROLLBACK", .., "TO", name]
            | ["ROLLBACK", .., "TO", "SAVEPOINT", name]
            | ["RELEASE", "SAVEPOINT", name] => Some((false, name.to_owned())),
            _ => None,
        }
    };
    let all: Vec<_> = statements_of(plan)
        .filter_map(|(operation, text)| savepoint(&text).map(|(sets, name)| (operation, sets, name)))
        .collect();
    let set: BTreeSet<&str> =
        all.iter().filter(|(_, sets, _)| *sets).map(|(.., name)| name.as_str()).collect();
    let is_open = set.iter().any(|name| name.contains(ANY));
    let unknown = all.iter().find(|(operation, sets, name)| {
        !sets && !set.contains(name.as_str()) && !name.contains(ANY) && operation.allow.is_empty()
    });
    let Some((operation, _, name)) = unknown.filter(|_| !is_open) else { return Ok(()) };
    let Some(path) = &operation.path else { return Ok(()) };
    let name = name.to_ascii_lowercase();
    let message = both!("no statement sets the savepoint `{name}`", "没有语句设置过保存点 `{name}`");
    let known = set.iter().map(|name| name.to_ascii_lowercase()).collect::<Vec<_>>().join(", ");
    Err(Mistake::new(&path.key("sql"), message).help(if known.is_empty() {
        both!("write `SAVEPOINT {name}` before it", "请先写 `SAVEPOINT {name}`")
    } else {
        both!("set here: {known}", "这里设置过：{known}")
    }))
}

/// The SQL statements of a program, with their operations.
fn statements_of(plan: &ActorPlan) -> impl Iterator<Item = (&PlannedOperation, String)> {
    plan.program.instructions.iter().filter_map(|instruction| match instruction {
        Instruction::Operate(operation) => match &operation.verb {
            PlannedVerb::Call(call) if call.product() == Product::Mariadb => {
                Some((&**operation, call.all_operands().map(Template::pattern).collect()))
            }
            _ => None,
        },
        _ => None,
    })
}

/// Whether a claim reads a row of a table that the program writes.
fn claims_written(scenario: &Scenario, plan: &ActorPlan) -> bool {
    let written: Vec<String> = statements_of(plan)
        .filter_map(|(_, text)| {
            let mut named = Named::default();
            let statement = read(&text).ok()??;
            let writes =
                matches!(statement, Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_));
            let _ = statement.visit(&mut named);
            writes.then(|| named.tables.into_iter().next()).flatten()
        })
        .collect();
    let claims = scenario.variant().claims.iter().filter_map(|claim| match claim {
        Claim::Bare(source) | Claim::That { that: source, .. } => Some(source),
        _ => None,
    });
    let mut asked = claims.flat_map(|source| Mentions::of(source).keys_of("value"));
    asked.any(|(key, _)| {
        key.split_once('/').is_some_and(|(table, _)| written.contains(&table.to_ascii_lowercase()))
    })
}

/// The doubt about a row or column that no table has: `value('good/1').stock`.
pub(crate) fn row_doubt(source: &str, scenario: &Scenario) -> Option<(Text, Text)> {
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
            let message =
                both!("no statement takes a lock `{row}` with GET_LOCK", "没有语句用 GET_LOCK 加锁 `{row}`");
            let near =
                nearest(row, names.iter().copied(), ALIKE).map(|near| did_you_mean(&user_lock_row(near)));
            return Some((
                message,
                near.unwrap_or_else(|| {
                    both!("write `owner('GET_LOCK/name')`", "请写 `owner('GET_LOCK/名字')`")
                }),
            ));
        }
        let Some(columns) = known.get(&table.to_ascii_lowercase()) else {
            let near = nearest(table, known.keys().map(String::as_str), ALIKE);
            if !alone && near.is_none() {
                continue;
            }
            let message = both!("no statement creates the table `{table}`", "没有语句创建过表 `{table}`");
            let tables = known.keys().cloned().collect::<Vec<_>>().join(", ");
            let help =
                near.map_or_else(|| both!("known here: {tables}", "这里可用的有：{tables}"), did_you_mean);
            return Some((message, help));
        };
        let Some(columns) = columns else { continue };
        if let Some((row, column)) = key.rsplit_once('/').filter(|(row, _)| row.contains('/'))
            && columns.contains(&column.to_ascii_lowercase())
        {
            return Some((
                both!(
                    "`{key}` is no row: a row is named by its table and its primary key",
                    "`{key}` 不是行：行的名字是表名加主键"
                ),
                both!("write `value('{row}').{column}`", "请写 `value('{row}').{column}`"),
            ));
        }
        if let Some(column) = columns.last().filter(|_| types::is_whole(source, &key)) {
            return Some((
                both!(
                    "a row has columns: `value('{key}')` is all of them",
                    "一行有多列：`value('{key}')` 是整行"
                ),
                both!(
                    "ask for one of them: `value('{key}').{column}`",
                    "请取其中一列：`value('{key}').{column}`"
                ),
            ));
        }
        let asked = source.match_indices(&key).find_map(|(at, key)| {
            let rest = source[at + key.len()..].strip_prefix(['\'', '"'])?.strip_prefix(").")?;
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            Some(&rest[..end])
        });
        if let Some(column) = asked.filter(|asked| !columns.contains(&asked.to_ascii_lowercase())) {
            let message = both!("`{table}` has no column `{column}`", "`{table}` 没有列 `{column}`");
            let all = columns.join(", ");
            let help = nearest(column, columns.iter().map(String::as_str), ALIKE)
                .map_or_else(|| both!("its columns: {all}", "它的列：{all}"), did_you_mean);
            return Some((message, help));
        }
    }
    // `owner` is not checked: a missing row has no owner, and that may be what the claim is about.
    let rows = ["value", "exists"].into_iter().flat_map(|function| mentions.keys_of(function));
    rows.into_iter()
        .find_map(|(key, _)| rows::row_doubt(&key, scenario))
        .or_else(|| joined(source).into_iter().find_map(|part| of_type(part, scenario)))
}

/// The doubt about a numeric column compared with a text, or a text column with a number: `value('good/1').stock ==
/// '1'`.
fn of_type(source: &str, scenario: &Scenario) -> Option<(Text, Text)> {
    let (left, operator, right) = split_comparison(source)?;
    let (row, column) = left.strip_prefix("value(")?.split_once(").")?;
    let table = row.trim_matches(['\'', '"']).split_once('/')?.0;
    rows::of_compared((left, operator, right), rows::column_kind(table, column, scenario)?)
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
pub(super) fn locked_row(text: &str) -> Option<(String, bool)> {
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
fn bare(text: &str) -> String {
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

/// The names and constructs in a statement.
#[derive(Default)]
struct Named {
    tables: BTreeSet<String>,
    columns: Vec<String>,
    /// Aliases that the statement defines.
    aliases: BTreeSet<String>,
    /// Whether it uses tables whose columns are not known, such as those of a `WITH`.
    unknown_columns: bool,
    compares_null: bool,
    /// `?` or `:name`, which a driver would fill in.
    placeholder: Option<String>,
    /// A condition that is a bare column, or that compares the result of a comparison.
    bare_condition: Option<String>,
    /// Whether it contains `FOR SHARE`.
    shares: bool,
    /// A construct of another database, and what to use in MariaDB.
    foreign: Option<(&'static str, &'static str)>,
    calls: Vec<Function>,
    aggregate: Option<(Text, Text)>,
}

impl Visitor for Named {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.unknown_columns |= query.with.is_some();
        self.shares |= query.locks.iter().any(|lock| lock.lock_type == LockType::Share);
        if query.locks.iter().any(|lock| lock.of.is_some()) {
            self.foreign = Some(("FOR UPDATE OF", "FOR UPDATE"));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        if let Some(condition @ Expr::Identifier(_)) = &select.selection {
            self.bare_condition = Some(condition.to_string());
        }
        self.aggregate = self.aggregate.take().or_else(|| details::of_aggregate(select));
        if select.top.is_some() {
            self.foreign = Some(("TOP", "SELECT column FROM table LIMIT 1"));
        }
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.aliases.insert(alias.value.to_ascii_lowercase());
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        self.unknown_columns |= relation.0.len() != 1;
        self.tables.insert(last_of(relation));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<()> {
        self.unknown_columns |=
            !matches!(table, TableFactor::Table { args: None, .. } | TableFactor::NestedJoin { .. });
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let is_null = |expr: &Expr| matches!(expr, Expr::Value(value) if value.value == Value::Null);
        match expr {
            Expr::Identifier(name) => self.columns.push(name.value.to_ascii_lowercase()),
            Expr::CompoundIdentifier(names) => {
                self.columns.extend(names.last().map(|name| name.value.to_ascii_lowercase()));
            }
            Expr::BinaryOp { left, op: BinaryOperator::Eq | BinaryOperator::NotEq, .. }
                if matches!(
                    **left,
                    Expr::BinaryOp { op: BinaryOperator::Eq | BinaryOperator::NotEq, .. }
                ) =>
            {
                self.bare_condition = Some(expr.to_string());
            }
            Expr::BinaryOp { left, op: BinaryOperator::Eq | BinaryOperator::NotEq, right } => {
                self.compares_null |= is_null(left) || is_null(right);
            }
            Expr::Value(value) => {
                if let Value::Placeholder(written) = &value.value {
                    self.placeholder = Some(written.clone());
                }
            }
            Expr::ILike { .. } => self.foreign = Some(("ILIKE", "LIKE")),
            Expr::Cast { kind: CastKind::DoubleColon, .. } => {
                self.foreign = Some(("::", "CAST(column AS CHAR)"));
            }
            Expr::Function(function) => {
                let name = function.name.to_string();
                let is_it = |(known, _): &&(&str, &str)| name.eq_ignore_ascii_case(known);
                self.foreign = self.foreign.or(FOREIGN_FUNCTIONS.iter().find(is_it).copied());
                self.calls.push(function.clone());
                // Sequences appear where the parser expects columns.
                self.unknown_columns |=
                    has_word("NEXTVAL LASTVAL SETVAL", &function.name.to_string().to_ascii_uppercase());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
