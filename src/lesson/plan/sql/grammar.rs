//! Checks the syntax of SQL statements before there is a server.

use sqlparser::ast::{BinaryOperator, DataType, Expr, Insert, OnInsert, Statement, Update, Visit};

use super::{
    super::Scenario,
    constructs::Named,
    details,
    functions::of_call,
    statement::{FILLED, bare, read},
    tables,
};
use crate::{
    lesson::{
        error::{ALIKE, Finding, Mistake, did_you_mean, nearest, suggestion},
        has_word,
    },
    log::ANY,
    text::{Text, both},
};

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

/// Checks the syntax of every statement.
pub(crate) fn check_grammar(scenario: &Scenario) -> Result<(), Mistake> {
    tables::statements(scenario).iter().try_for_each(|(text, path)| Mistake::if_found(path, lint(text)))
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
fn lint(text: &str) -> Option<Finding> {
    let words: Vec<String> = tables::words(text).map(str::to_ascii_uppercase).collect();
    let first = words.first().map_or("", String::as_str);
    let form = FORMS.iter().find(|(name, _)| *name == first).map(|(_, form)| *form);
    let write = |form: &str| both!("write `{form}`", "请写 `{form}`");
    if bare(text).contains("==") {
        let message = both!("SQL does not know `==`", "SQL 里没有 `==`");
        return Some(Finding { message, help: both!("it compares with `=`", "SQL 用 `=` 比较") });
    }
    if let Some(name) = reserved(text) {
        let message =
            both!("`{name}` is a word of SQL and no name", "`{name}` 是 SQL 的保留字，不能直接用作名字");
        let help = both!(
            "give it another name, or write it in back quotes everywhere",
            "请换个名字，或者处处用反引号括起来"
        );
        return Some(Finding { message, help });
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
        return Some(Finding { message, help: write(form.unwrap_or_default()) });
    }
    if let Some(wrong) = details::of_words(&words) {
        return Some(wrong);
    }
    let statement = match read(text) {
        Ok(statement) => statement?,
        Err(found) => {
            let message = match &found {
                Some(word) => {
                    both!("this is no SQL: unexpected `{word}`", "这不是正确的 SQL：这里不该有 `{word}`")
                }
                None => both!("this is no SQL: it ends too early", "这不是正确的 SQL：语句没有写完"),
            };
            let word = found.unwrap_or_default().to_ascii_uppercase();
            let misspelt = Some(word.as_str()).filter(|word| word.len() > 2 && !WORDS.contains(word));
            let meant = misspelt.and_then(|word| nearest(word, WORDS, ALIKE)).map(did_you_mean);
            let form = form.map(write);
            let help: Vec<Text> = meant.into_iter().chain(form).collect();
            return Some(Finding { message, help: Text::join(&help, " ", "") });
        }
    };
    of_meaning(&statement)
}

/// What is grammatical but refused by the server, or means something else than it seems.
fn of_meaning(statement: &Statement) -> Option<Finding> {
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
            let help = suggestion(nearest(&name.to_ascii_uppercase(), known, ALIKE), || {
                both!(
                    "such as INT, BIGINT, VARCHAR(20) or DATETIME",
                    "例如 INT、BIGINT、VARCHAR(20) 或 DATETIME"
                )
            });
            return Some(Finding { message, help });
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
            return Some(Finding {
                message,
                help: both!("write a comma: `SET a = 1, b = 2`", "请用逗号：`SET a = 1, b = 2`"),
            });
        }
    }
    let mut named = Named::default();
    let _ = statement.visit(&mut named);
    if let Some((written, instead)) = named.foreign.or_else(|| of_other_products(statement)) {
        let message = both!("MariaDB does not know `{written}`", "MariaDB 没有 `{written}`");
        return Some(Finding { message, help: both!("write `{instead}`", "请写 `{instead}`") });
    }
    if let Some(written) = named.placeholder {
        let message = both!("`{written}` stands for nothing here", "`{written}` 在这里没有对应的值");
        return Some(Finding {
            message,
            help: both!(
                "a value is filled in with `${{name}}`, a text in quotes: `'${{name}}'`",
                "填入值要写 `${{name}}`，文字加引号：`'${{name}}'`"
            ),
        });
    }
    if let Some(written) = named.bare_condition {
        let message =
            both!("`{written}` is no comparison of a column with a value", "`{written}` 不是列和值的比较");
        return Some(Finding {
            message,
            help: both!(
                "write `WHERE column = value`, and `AND` between two conditions",
                "请写 `WHERE 列 = 值`，两个条件之间写 `AND`"
            ),
        });
    }
    if named.compares_null {
        let message = both!("a comparison with `NULL` is never true", "和 `NULL` 比较永远不成立");
        return Some(Finding {
            message,
            help: both!("write `IS NULL` or `IS NOT NULL`", "请写 `IS NULL` 或 `IS NOT NULL`"),
        });
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
        return Some(Finding {
            message,
            help: both!("write `LOCK IN SHARE MODE`", "请写 `LOCK IN SHARE MODE`"),
        });
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
