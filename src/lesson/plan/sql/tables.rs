//! Checks the tables that SQL statements name. The server begins without tables, so a table that no statement creates
//! is misspelt.

use std::collections::BTreeSet;

use super::{
    super::{PlannedVerb, Scenario, program::Instruction},
    scopes::unknown_table,
};
use crate::{
    lesson::{
        error::{ALIKE, Mistake, Path, nearest, suggestion},
        expr::Template,
        has_word,
    },
    log::{ANY, Product, stands_for},
    text::both,
};

/// An SQL statement of a lesson.
pub(crate) struct Sent {
    /// The statement, with [`ANY`] in place of each value to fill in.
    pub text: String,
    /// The statement's path in the lesson.
    pub path: Path,
    /// Whether it is part of the setup. These statements come first, in their order.
    pub in_setup: bool,
    /// Whether its operation allows errors.
    pub copes: bool,
    /// Whether a condition of its program comes before it.
    pub conditional: bool,
}

/// The texts and paths of a lesson's SQL statements.
pub(crate) fn statements(scenario: &Scenario) -> Vec<(String, Path)> {
    sent(scenario).into_iter().map(|sent| (sent.text, sent.path)).collect()
}

/// The SQL statements of a lesson.
pub(crate) fn sent(scenario: &Scenario) -> Vec<Sent> {
    let setup = scenario.setup_path();
    let mut statements = Vec::new();
    let mut add = |verb: &PlannedVerb, path: &Path, in_setup, copes, conditional| match verb {
        PlannedVerb::Call(call) if call.product() == Product::Mariadb => {
            let text: String = call.all_operands().map(Template::pattern).collect();
            statements.push(Sent { text, path: path.key("sql"), in_setup, copes, conditional });
        }
        _ => {}
    };
    for (n, line) in scenario.setup.iter().enumerate() {
        add(&line.verb, &setup.index(n), true, false, false);
    }
    for plan in &scenario.actors {
        let mut conditional = false;
        for instruction in &plan.program.instructions {
            match instruction {
                Instruction::Operate(operation) => {
                    let path = operation.path.clone().unwrap_or_else(Path::root);
                    add(&operation.verb, &path, false, !operation.allow.is_empty(), conditional);
                }
                Instruction::JumpUnless { .. } | Instruction::RepeatNext { .. } => conditional = true,
                _ => {}
            }
        }
    }
    statements
}

pub(crate) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    let statements = statements(scenario);
    let sent = sent(scenario);
    check_created_twice(&sent)?;
    check_order(&sent)?;
    let created: BTreeSet<&str> = statements.iter().filter_map(|(text, _)| created(text)).collect();
    for (text, path) in &statements {
        let own = unknown_table(text, |name| created.iter().any(|known| stands_for(known, name)));
        let Some(name) = named(text).find(|name| !created.contains(name)).or(own.as_deref()) else {
            continue;
        };
        let message = both!("no statement creates the table `{name}`", "没有语句创建过表 `{name}`");
        let help = suggestion(nearest(name, created.iter().copied(), ALIKE), || {
            both!(
                "create it in the setup: `- sql: CREATE TABLE {name} (…)`",
                "请在 setup 中创建：`- sql: CREATE TABLE {name} (…)`"
            )
        });
        return Err(Mistake::new(path, message).help(help));
    }
    Ok(())
}

/// Refuses a table that an earlier statement of the setup creates, unless some statement drops tables.
fn check_created_twice(sent: &[Sent]) -> Result<(), Mistake> {
    let is_plain = |text: &str| !words(text).any(|word| has_word("IF REPLACE", &word.to_ascii_uppercase()));
    let drops = |text: &str| words(text).next().is_some_and(|word| word.eq_ignore_ascii_case("DROP"));
    if sent.iter().any(|statement| drops(&statement.text)) {
        return Ok(());
    }
    let mut there = BTreeSet::new();
    for statement in sent {
        let Some(name) = created(&statement.text) else { continue };
        let is_there = there.contains(name);
        if statement.in_setup {
            there.insert(name);
        }
        if is_there && is_plain(&statement.text) && !statement.copes && !name.contains(ANY) {
            let message = both!("the table `{name}` is there already", "表 `{name}` 已经存在");
            return Err(Mistake::new(&statement.path, message).help(both!(
                "leave it out, or write `CREATE TABLE IF NOT EXISTS {name} …`",
                "请去掉它，或者写 `CREATE TABLE IF NOT EXISTS {name} …`"
            )));
        }
    }
    Ok(())
}

/// Refuses a statement of the setup that names a table which a later one creates.
fn check_order(sent: &[Sent]) -> Result<(), Mistake> {
    let setup: Vec<&Sent> = sent.iter().filter(|statement| statement.in_setup).collect();
    for (n, statement) in setup.iter().enumerate() {
        let is_there = |name: &str| setup[..=n].iter().any(|known| created(&known.text) == Some(name));
        let comes = |name: &str| setup[n + 1..].iter().any(|known| created(&known.text) == Some(name));
        if let Some(name) = named(&statement.text).find(|name| !is_there(name) && comes(name)) {
            let message =
                both!("the table `{name}` is created only further down", "表 `{name}` 在后面才创建");
            return Err(Mistake::new(&statement.path, message).help(both!(
                "write `CREATE TABLE {name} …` before it",
                "请把 `CREATE TABLE {name} …` 写在它前面"
            )));
        }
    }
    Ok(())
}

/// The words of a statement, without brackets, commas and strings.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    let outside = text.split(['\'', '"']).step_by(2);
    outside
        .flat_map(|part| part.split(|c: char| c.is_whitespace() || "(),;=".contains(c)))
        .filter(|word| !word.is_empty())
}

/// The table that a statement creates.
pub(crate) fn created(text: &str) -> Option<&str> {
    let mut words = words(text)
        .filter(|word| !has_word("IF NOT EXISTS OR REPLACE TEMPORARY", &word.to_ascii_uppercase()));
    let is = |word: Option<&str>, wanted: &str| {
        word.is_some_and(|word| has_word(wanted, &word.to_ascii_uppercase()))
    };
    (is(words.next(), "CREATE") && is(words.next(), "TABLE VIEW SEQUENCE"))
        .then(|| words.next().map(plain))?
}

/// The tables that a statement reads or changes, as far as they are known before it is sent. Returns none after `FROM`
/// and the like for statements with a syntax of their own there: `WITH`, `SUBSTRING(x FROM 2)`.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let all: Vec<&str> = words(text).collect();
    let is = |word: Option<&&str>, wanted: &str| {
        word.is_some_and(|word| has_word(wanted, &word.to_ascii_uppercase()))
    };
    let has_own_grammar =
        all.iter().any(|word| is(Some(word), "WITH EXTRACT TRIM SUBSTRING SUBSTR JSON_TABLE"));
    let follows = |n: usize| {
        let before = n.checked_sub(1).and_then(|n| all.get(n));
        // No table follows in `SELECT … FOR UPDATE`, `ON DUPLICATE KEY UPDATE` and `ON UPDATE CASCADE`.
        is(all.get(n), "FROM JOIN INTO") || (is(all.get(n), "UPDATE") && !is(before, "FOR KEY ON"))
    };
    // `DROP TABLE name`, `TRUNCATE name`, `CREATE INDEX name ON table`.
    let capitals: Vec<String> = all.iter().take(4).map(|word| word.to_ascii_uppercase()).collect();
    let alone = match capitals.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["DROP" | "TRUNCATE" | "ALTER", "TABLE", next, ..] if next != "IF" => Some(2),
        ["TRUNCATE", next, ..] if next != "TABLE" => Some(1),
        ["CREATE", "INDEX", _, "ON"] => Some(4),
        _ => None,
    };
    let locks = is(all.first(), "LOCK");
    let locked = (2..all.len()).filter(|n| locks && !is(all.get(*n), "READ WRITE LOCAL AS"));
    let locked =
        locked.filter(|n| is(all.get(n + 1), "READ WRITE") && (*n == 2 || is(all.get(n - 1), "READ WRITE")));
    let after = (0..all.len()).filter(|n| !has_own_grammar && follows(*n));
    let names: Vec<&str> = after
        .filter_map(|n| all.get(n + 1).copied())
        .chain(locked.filter_map(|n| all.get(n).copied()))
        .chain(alone.and_then(|n| all.get(n).copied()))
        .collect();
    let is_table = move |name: &&str| {
        // A system table, a subquery, a modifier or a name that is filled in later is not a table of the lesson.
        !name.contains(['.', ANY, '@'])
            && !name.starts_with("seq_")
            && !is(Some(name), "SELECT DUAL IGNORE LOW_PRIORITY")
    };
    names.into_iter().filter(is_table).map(plain)
}

/// Removes the back quotes of a name.
fn plain(name: &str) -> &str {
    name.trim_matches('`')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_where_statements_name_them() {
        for (statement, wanted) in [
            ("SELECT n FROM stock WHERE id = 1 FOR UPDATE", vec!["stock"]),
            ("SELECT * FROM `a` JOIN b ON a.id = b.id", vec!["a", "b"]),
            ("INSERT INTO a (x) SELECT y FROM b", vec!["a", "b"]),
            ("INSERT INTO a VALUES (1) ON DUPLICATE KEY UPDATE n = n + 1", vec!["a"]),
            ("update a set x = 'from b' where y in (select z from c)", vec!["a", "c"]),
            ("SELECT 1 FROM (SELECT 2 FROM a) AS b", vec!["a"]),
            ("SELECT SUBSTRING(x FROM 2) FROM a", vec![]),
            ("WITH b AS (SELECT 1) SELECT * FROM b", vec![]),
            ("INSERT INTO a SELECT seq FROM seq_1_to_9", vec!["a"]),
            ("SELECT * FROM information_schema.innodb_trx", vec![]),
            ("SELECT n INTO @n FROM a", vec!["a"]),
            ("LOCK TABLES a WRITE, b AS c READ, d READ", vec!["a", "d"]),
        ] {
            assert_eq!(named(statement).collect::<Vec<_>>(), wanted, "{statement}");
        }
        assert_eq!(created("CREATE TABLE IF NOT EXISTS stock (id INT)"), Some("stock"));
        assert_eq!(created("create temporary table `t` (id int)"), Some("t"));
        assert_eq!(created("SELECT 1"), None);
    }
}
