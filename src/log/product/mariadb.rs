//! MariaDB: which statements a lesson may send, and the rows of its tables.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Access, Command, Traits};
use crate::text::{Text, both};

pub(crate) const TRAITS: Traits = Traits {
    name: "MariaDB",
    key: "sql",
    calls: &[],
    housekeeping: &[],
    command: |_, _, operands| {
        let statement = operands.concat();
        // Checked again: the values filled in may be anything.
        check(&statement)?;
        Ok(Command::Sql(statement))
    },
    check: |template| check(&without_values(template)),
    releases: |statement| {
        let words = words(statement);
        let first = words.first().map_or("", String::as_str);
        matches!(first, "COMMIT" | "ROLLBACK" | "UNLOCK") || words.iter().any(|word| word == "RELEASE_LOCK")
    },
    refuses_at_once: true,
};

/// How a statement may begin: statements that read and change rows, lock them, or create tables.
const BEGINNINGS: [&str; 21] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "REPLACE",
    "WITH",
    "BEGIN",
    "START TRANSACTION",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT",
    "RELEASE SAVEPOINT",
    "LOCK TABLES",
    "UNLOCK TABLES",
    "SET",
    "DO",
    "CREATE TABLE",
    "CREATE INDEX",
    "ALTER TABLE",
    "DROP TABLE",
    "TRUNCATE",
];

/// Words that reach beyond the session and the lab's tables; refused anywhere outside quotes.
const REFUSED: [&str; 8] =
    ["GLOBAL", "OUTFILE", "DUMPFILE", "LOAD_FILE", "DIRECTORY", "PASSWORD", "STATEMENT", "TABLESPACE"];

/// The words allowed in a `SET`: isolation levels, and how long the session waits. No other variable is allowed, since
/// some (`sql_mode`, `character_set_client`) decide where the server sees a quote, and with it a statement, end.
const SETTINGS: [&str; 19] = [
    "SET",
    "SESSION",
    "TRANSACTION",
    "ISOLATION",
    "LEVEL",
    "READ",
    "UNCOMMITTED",
    "COMMITTED",
    "REPEATABLE",
    "SERIALIZABLE",
    "ONLY",
    "WRITE",
    "AUTOCOMMIT",
    "INNODB_LOCK_WAIT_TIMEOUT",
    "LOCK_WAIT_TIMEOUT",
    "TX_ISOLATION",
    "ON",
    "OFF",
    "DEFAULT",
];

/// **Architecture Invariant:** what a lesson sends is known to be harmless: one statement, which reaches only rows and
/// locks of the lab's own server. The server has no accounts that could refuse the rest.
fn check(statement: &str) -> Result<(), Text> {
    if !is_one(statement) {
        return Err(both!(
            "an operation is one SQL statement, without comments and with every quote closed",
            "一个操作是一条 SQL 语句，不带注释，引号都要成对"
        ));
    }
    let words = words(statement);
    let begins = |beginning: &&str| beginning.split(' ').eq(words.iter().take(beginning.split(' ').count()));
    if !BEGINNINGS.iter().any(begins) {
        let known = BEGINNINGS.join(", ");
        let near = BEGINNINGS.iter().find(|known| {
            let count = known.split(' ').count();
            let written = words.iter().take(count).cloned().collect::<Vec<_>>().join(" ");
            known.len() > 3 && strsim::osa_distance(&written, known) <= 2
        });
        if let Some(near) = near {
            return Err(both!(
                "did you mean `{near}`? A lesson's SQL statement begins with one of: {known}",
                "是不是 `{near}`？课程里的 SQL 语句要以这些词之一开头：{known}"
            ));
        }
        return Err(both!(
            "a lesson's SQL statement begins with one of: {known}",
            "课程里的 SQL 语句要以这些词之一开头：{known}"
        ));
    }
    if let Some(word) = words.iter().find(|word| REFUSED.contains(&word.as_str())) {
        return Err(both!(
            "a lesson may not say `{word}` in SQL: it reaches beyond the lab's tables",
            "课程的 SQL 里不能出现 `{word}`：它超出了 lab 的表"
        ));
    }
    let is_setting =
        |word: &String| SETTINGS.contains(&word.as_str()) || word.bytes().all(|byte| byte.is_ascii_digit());
    if words[0] == "SET" && (statement.contains('`') || !words.iter().all(is_setting)) {
        let is_of = |word: &&str| words.iter().any(|written| written == word);
        let value = [
            ("AUTOCOMMIT", "SET autocommit = 0"),
            ("INNODB_LOCK_WAIT_TIMEOUT", "SET innodb_lock_wait_timeout = 5"),
            ("LOCK_WAIT_TIMEOUT", "SET lock_wait_timeout = 5"),
            ("LEVEL", "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"),
        ];
        if let Some((_, form)) =
            value.iter().find(|(word, _)| is_of(word)).filter(|_| !statement.contains('`'))
        {
            let wrong = words.iter().find(|word| !is_setting(word)).map_or("", String::as_str);
            return Err(both!(
                "`{wrong}` is no value here; write it like `{form}`",
                "`{wrong}` 在这里不是有效的值；请写成 `{form}` 这样"
            ));
        }
        return Err(both!(
            "a lesson may SET only a transaction's isolation or access mode, autocommit, \
             innodb_lock_wait_timeout and lock_wait_timeout",
            "课程只能 SET 事务的隔离级别或读写模式、autocommit、innodb_lock_wait_timeout 和 lock_wait_timeout"
        ));
    }
    Ok(())
}

/// A template with `0` in place of each `${…}`: the values are checked once they are known.
fn without_values(template: &str) -> String {
    let mut parts = template.split("${");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "0" + part.split_once('}').map_or("", |(_, rest)| rest))
}

/// The state of its session that a statement sets (`true`) or ends (`false`).
pub(super) fn leaves(statement: &str) -> Option<(&'static str, bool)> {
    let words = words(statement);
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    Some(match words.first().map_or("", String::as_str) {
        "BEGIN" | "START" => ("transaction", true),
        "ROLLBACK" if has("TO") => return None,
        "COMMIT" | "ROLLBACK" => ("transaction", false),
        "LOCK" => ("tables", true),
        "UNLOCK" => ("tables", false),
        "SET" => ("variable", true),
        _ if has("GET_LOCK") => ("GET_LOCK", true),
        _ if has("RELEASE_LOCK") => ("GET_LOCK", false),
        _ => return None,
    })
}

/// The locks that a statement takes with `GET_LOCK('name', 10)`.
pub(crate) fn user_locks(statement: &str) -> Vec<&str> {
    const TAKES: &str = "GET_LOCK(";
    let upper = statement.to_ascii_uppercase();
    let names = upper.match_indices(TAKES).filter_map(|(at, _)| {
        let rest = statement[at + TAKES.len()..].trim_start();
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        rest[1..].split_once(quote).map(|(name, _)| name)
    });
    names.collect()
}

/// The name of a lock of `GET_LOCK` among the rows.
pub(crate) fn user_lock_row(name: &str) -> String {
    format!("GET_LOCK/{name}")
}

/// How long a statement asks to wait: `GET_LOCK('name', 10)`, `SLEEP(4)`.
pub(super) fn waits(statement: &str) -> Duration {
    let words = words(statement);
    let mut pairs = words.iter().zip(words.iter().skip(1));
    let asked = pairs.find(|(name, _)| matches!(name.as_str(), "GET_LOCK" | "SLEEP"));
    Duration::from_secs(asked.and_then(|(_, seconds)| seconds.parse().ok()).unwrap_or(0))
}

/// The limit that a statement sets for later waits for rows: `SET innodb_lock_wait_timeout = 3`.
pub(super) fn row_wait_limit(statement: &str) -> Option<Duration> {
    let words = words(statement);
    let limit = words.iter().position(|word| word == "INNODB_LOCK_WAIT_TIMEOUT")?;
    let seconds = words.get(limit + 1)?.parse().ok();
    seconds.filter(|_| words[0] == "SET").map(Duration::from_secs)
}

/// MariaDB's default of `innodb_lock_wait_timeout`.
pub(crate) const WAITS_FOR_ROWS: Duration = Duration::from_secs(50);

/// Whether a text is exactly one statement.
fn is_one(statement: &str) -> bool {
    let bare = outside_quotes(statement);
    let ends = |bare: &str| bare.trim_end().trim_end_matches(';').contains(';');
    bare.is_some_and(|bare| !ends(&bare) && !["/*", "--", "#"].iter().any(|comment| bare.contains(comment)))
}

/// The words of a statement outside quotes, in capitals.
fn words(statement: &str) -> Vec<String> {
    let bare = outside_quotes(statement).unwrap_or_default();
    let words = bare.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    words.map(str::to_uppercase).collect()
}

/// A statement with a space in place of each quoted text; `None` if a quote is not closed.
fn outside_quotes(statement: &str) -> Option<String> {
    let (mut bare, mut chars) = (String::new(), statement.chars());
    while let Some(c) = chars.next() {
        if !matches!(c, '\'' | '"' | '`') {
            bare.push(c);
            continue;
        }
        // A doubled quote is read as the end of one text and the beginning of the next.
        loop {
            match chars.next()? {
                '\\' if c != '`' => drop(chars.next()),
                end if end == c => break,
                _ => {}
            }
        }
        bare.push(' ');
    }
    Some(bare)
}

/// The rows of all tables, and their locks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tables {
    /// By table and primary key: `good/1`. Also the locks of `GET_LOCK`, while somebody has them: `GET_LOCK/name`.
    pub rows: BTreeMap<String, Row>,
    /// The open transactions.
    pub transactions: Vec<Transaction>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transaction {
    /// Its connection.
    pub session: i64,
    /// The connections whose locks it waits for.
    pub waits_for: Vec<i64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its other columns, in the table's order.
    pub columns: Vec<(String, Json)>,
    /// The connection whose transaction has locked it.
    pub owner: Option<i64>,
    /// Further connections whose transactions have locked it: locks in share mode.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sharing: Vec<i64>,
    /// The connections that wait for it.
    pub waiting: Vec<i64>,
}

/// A column and its value: `stock=1`
fn column((name, value): (&String, &Json)) -> String {
    match value {
        Json::String(text) => format!("{name}={text}"),
        other => format!("{name}={other}"),
    }
}

/// Whether a row's text, as [`Row::text`] writes it, has all the columns in `read`, with the same values.
pub(crate) fn has_columns(row: &str, read: &str) -> bool {
    read.split(' ').all(|read| row.split(' ').any(|column| column == read))
}

/// Whether a statement mentions the table of a row.
pub(super) fn names(statement: &str, row: &str) -> bool {
    let table = row.split('/').next().map(str::to_uppercase);
    table.is_some_and(|table| words(statement).contains(&table))
}

/// How a statement accesses the rows that it finds.
pub(crate) fn access(statement: &str) -> Option<Access> {
    match words(statement).first()?.as_str() {
        "SELECT" => Some(Access::Read),
        "UPDATE" => Some(Access::Changed),
        "DELETE" => Some(Access::Deleted),
        _ => None,
    }
}

/// The row that a statement names by its key; `None` if several rows match.
pub(crate) fn named_by_key<'r>(statement: &str, known: impl Iterator<Item = &'r str>) -> Option<&'r str> {
    let words = words(statement);
    let condition: Vec<&String> = words.iter().skip_while(|word| *word != "WHERE").collect();
    let is_named = |row: &&str| {
        let key = row.rsplit('/').next().unwrap_or_default();
        names(statement, row) && condition.iter().any(|word| *word == key)
    };
    let mut named = known.filter(is_named);
    named.next().filter(|_| named.next().is_none())
}

/// Whether a statement commits a transaction.
pub(crate) fn commits(statement: &str) -> bool {
    words(statement).first().is_some_and(|word| word == "COMMIT")
}

/// Whether a statement has a single condition, as in `WHERE id = 1`.
pub(crate) fn has_one_condition(statement: &str) -> bool {
    words(statement).iter().skip_while(|word| *word != "WHERE").count() == 3
}

/// A statement in brief: its verb and its table.
pub(super) fn brief(statement: &str) -> String {
    let words: Vec<&str> = statement.split_whitespace().collect();
    let from = words.iter().position(|word| word.eq_ignore_ascii_case("FROM"));
    match (words.first(), from.and_then(|from| words.get(from + 1))) {
        (Some(select), Some(table)) if select.eq_ignore_ascii_case("SELECT") => {
            format!("{select} … FROM {table}")
        }
        _ => words.into_iter().take(2).collect::<Vec<_>>().join(" "),
    }
}

/// The row that a query has read, and the columns that it read, if the row is among those known by name and text.
pub(crate) fn read<'a>(
    statement: &str,
    reply: &Json,
    known: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<(String, String)> {
    let [Json::Object(columns)] = reply.as_array()?.as_slice() else { return None };
    let text = columns.iter().map(column).collect::<Vec<_>>().join(" ");
    let words = words(statement);
    let condition = words.iter().skip_while(|word| *word != "WHERE");
    let condition: Vec<&str> = condition.map(String::as_str).collect();
    let has = |row: &str, name: &String| row.split(' ').any(|word| word.split('=').next() == Some(name));
    let rows =
        known.filter(|(name, row)| names(statement, name) && columns.keys().all(|name| has(row, name)));
    let rows: Vec<(&str, &str)> = rows.filter(|_| words[0] == "SELECT").collect();
    let by_key =
        |(name, _): &&(&str, &str)| name.rsplit('/').next().is_some_and(|key| condition.contains(&key));
    let found = rows.iter().find(by_key).or_else(|| {
        let mut alike = rows.iter().filter(|(_, row)| has_columns(row, &text));
        alike.next().filter(|_| alike.next().is_none())
    });
    found.map(|(name, _)| ((*name).to_owned(), text))
}

impl Row {
    /// `stock=1 version=0`
    pub(super) fn text(&self) -> String {
        self.columns.iter().map(|(name, value)| column((name, value))).collect::<Vec<_>>().join(" ")
    }

    /// Its columns as a JSON object.
    pub(crate) fn value(&self) -> Json {
        Json::Object(self.columns.iter().cloned().collect())
    }
}

impl Tables {
    /// The locked rows and the connections that locked them.
    pub(super) fn owned(&self) -> BTreeMap<String, i64> {
        self.rows.iter().filter_map(|(name, row)| Some((name.clone(), row.owner?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{TRAITS, check, row_wait_limit, user_locks, waits};

    #[test]
    fn what_reaches_only_rows_is_let_through() {
        for statement in [
            "SELECT stock FROM good WHERE id = 1 FOR UPDATE",
            "update good set note = 'a; -- \\' b', n = n - 1 where id = 1;",
            "INSERT INTO ord VALUES ('it''s', \"GLOBAL\", ${id})",
            "SET innodb_lock_wait_timeout = 3",
            "SET innodb_lock_wait_timeout = ${seconds}",
            "SET autocommit = OFF",
            "set session transaction isolation level read committed",
            "SET tx_isolation = 'READ-COMMITTED'",
            "start transaction read only",
            "SELECT GET_LOCK('lock', 10)",
        ] {
            assert_eq!((TRAITS.check)(statement), Ok(()), "{statement}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for statement in [
            "",
            "SHUTDOWN",
            "SELECT 1; SHUTDOWN",
            "SELECT 1 /*! INTO OUTFILE '/tmp/x' */",
            "SELECT 1 INTO OUTFILE '/tmp/x'",
            "SELECT 'open",
            "SET GLOBAL general_log_file = '/tmp/x'",
            "SET @@global.general_log = 1",
            "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
            "SET autocommit = 0, @@session.`sql_mode` = ''",
            "SET NAMES gbk",
            "SET character_set_client = gbk",
            "SET innodb_lock_wait_timeout = ${seconds}",
            "CREATE FUNCTION f RETURNS INT SONAME 'x.so'",
            "CREATE TABLE t (a INT) DATA DIRECTORY '/tmp'",
            "KILL 3",
            "USE mysql",
        ] {
            assert!(check(statement).is_err(), "{statement}");
        }
    }

    #[test]
    fn how_long_a_statement_waits_is_read_from_it() {
        assert_eq!(waits("SELECT GET_LOCK('SLEEP 5', 10)").as_secs(), 10);
        assert_eq!(waits("SELECT sleep(4)").as_secs(), 4);
        assert!(waits("UPDATE good SET n = 'SLEEP(4)'").is_zero());
        assert_eq!(user_locks("SELECT get_lock( \"a b\", 0), GET_LOCK('c', 5)"), ["a b", "c"]);
        assert!(user_locks("SELECT GET_LOCK(a, 0), RELEASE_LOCK('c')").is_empty());
        let limit = |statement: &str| row_wait_limit(statement).map(|limit| limit.as_secs());
        assert_eq!(limit("SET autocommit = 0, innodb_lock_wait_timeout = 3"), Some(3));
        assert_eq!(limit("SELECT innodb_lock_wait_timeout FROM t LIMIT 3"), None);
    }

    #[test]
    fn a_query_tells_which_row_it_has_read() {
        let known = [("good/1", "sku=100 stock=1"), ("good/2", "sku=200 stock=1"), ("ord/1", "buyer=A")];
        let read = |statement: &str, reply: serde_json::Value| {
            super::read(statement, &reply, known.into_iter()).map(|(row, read)| format!("{row} {read}"))
        };
        let outdated = read("SELECT stock FROM good WHERE id = 1", json!([{"stock": 5}]));
        assert_eq!(outdated.as_deref(), Some("good/1 stock=5"), "by its primary key, whatever it holds now");
        let only =
            read("SELECT sku, stock FROM good WHERE sku = 200 FOR UPDATE", json!([{"sku": 200, "stock": 1}]));
        assert_eq!(only.as_deref(), Some("good/2 sku=200 stock=1"));
        for (statement, reply) in [
            ("SELECT stock FROM good WHERE sku = 100", json!([{"stock": 1}])),
            ("SELECT count(*) FROM good WHERE id = 1", json!([{"count(*)": 1}])),
            ("SELECT stock FROM good", json!([{"stock": 1}, {"stock": 1}])),
            ("UPDATE good SET stock = 0 WHERE id = 1", json!(1)),
        ] {
            assert_eq!(read(statement, reply), None, "{statement}");
        }
    }

    #[test]
    fn a_row_is_named_by_its_key_alone() {
        let named = |statement| super::named_by_key(statement, ["good/1", "good/2", "ord/1"].into_iter());
        assert_eq!(named("UPDATE good SET stock = 2 WHERE id = 1"), Some("good/1"));
        assert_eq!(named("SELECT stock FROM good WHERE id = 2 FOR UPDATE"), Some("good/2"));
        assert_eq!(
            named("UPDATE good SET stock = 2 WHERE id = 2 AND version = 1"),
            None,
            "it could be either"
        );
        assert_eq!(named("UPDATE good SET stock = 1"), None);
        assert!(super::has_one_condition("UPDATE good SET stock = 2 WHERE id = 1"));
        assert!(!super::has_one_condition("UPDATE good SET stock = 2 WHERE id = 1 AND version = 1"));
        assert_eq!(super::brief("SELECT stock, version FROM good WHERE id = 1"), "SELECT … FROM good");
        assert_eq!(super::brief("UPDATE good SET stock = 2 WHERE id = 1"), "UPDATE good");
    }

    #[test]
    fn a_transactions_end_releases_its_locks() {
        for statement in ["COMMIT", "rollback", "SELECT RELEASE_LOCK('lock')"] {
            assert!((TRAITS.releases)(statement), "{statement}");
        }
        assert!(!(TRAITS.releases)("UPDATE good SET note = 'COMMIT'"));
    }
}
