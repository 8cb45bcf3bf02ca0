//! Who has locked which row and who waits for it, as `SHOW ENGINE INNODB STATUS` tells with
//! `innodb_status_output_locks`. The tables of `information_schema` for it are a copy that is not renewed before 0.1 s
//! have passed, which they never do while the lesson's time stands still.

/// A lock on a row, or the wait for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RowLock {
    pub table: String,
    /// The columns of the row's primary key, as InnoDB stores them.
    pub key: Vec<Vec<u8>>,
    /// The connection.
    pub session: i64,
    pub waits: bool,
}

/// Reads all locks on rows of tables' primary keys, each once.
pub(super) fn read(status: &str) -> Vec<RowLock> {
    let mut locks: Vec<RowLock> = Vec::new();
    let mut session = 0;
    let mut held: Option<(String, bool)> = None;
    for line in status.lines() {
        if let Some(id) = self::session(line) {
            session = id;
        } else if line.starts_with("RECORD LOCKS ") {
            held = on_primary_key(line).map(|table| (table, line.ends_with(" waiting")));
        } else if line.starts_with("Record lock, ") {
            if let Some((table, waits)) = &held {
                locks.push(RowLock { table: table.clone(), key: Vec::new(), session, waits: *waits });
            }
        } else if let (Some(field), Some(_), Some(lock)) = (field(line), &held, locks.last_mut()) {
            lock.key.push(field);
        } else if line.starts_with("---TRANSACTION") || line.starts_with("TABLE LOCK") {
            held = None;
        }
    }
    // What somebody waits for is told twice.
    let mut known: Vec<RowLock> = Vec::new();
    for lock in locks {
        if !known.contains(&lock) {
            known.push(lock);
        }
    }
    known
}

/// The connections that wait for a lock on a row, or between rows.
pub(super) fn waiting(status: &str) -> impl Iterator<Item = i64> {
    status.split("---TRANSACTION ").skip(1).filter_map(|transaction| {
        let mut lines = transaction.lines();
        lines.find(|line| line.starts_with("LOCK WAIT "))?;
        lines.find_map(session)
    })
}

/// `MariaDB thread id 4, OS thread handle …`
fn session(line: &str) -> Option<i64> {
    line.strip_prefix("MariaDB thread id ")?.split(',').next()?.parse().ok()
}

/// `… index PRIMARY of table `lesson`.`good` trx id 12 …`
fn on_primary_key(line: &str) -> Option<String> {
    let (_, table) = line.split_once(" index PRIMARY of table ")?;
    let (table, _) = table.split_once(" trx id ")?;
    let (_, name) = table.split_once("`.`")?;
    Some(name.trim_end_matches('`').to_owned())
}

/// ` 0: len 4; hex 80000001; asc     ;;`
fn field(line: &str) -> Option<Vec<u8>> {
    let (_, hex) = line.split_once("; hex ")?;
    let hex = hex.split(';').next()?.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    hex.chunks(2).map(byte).collect()
}

/// A column of a key as a query would answer it. Signed numbers are stored with their first bit flipped, so that they
/// sort as bytes.
pub(super) fn text(stored: &[u8], column_type: &str) -> String {
    if !column_type.contains("int") || stored.len() > 8 || stored.is_empty() {
        return String::from_utf8_lossy(stored).into_owned();
    }
    let number = stored.iter().fold(0_i128, |number, byte| number << 8 | i128::from(*byte));
    let middle = if column_type.contains("unsigned") { 0 } else { 1_i128 << (8 * stored.len() - 1) };
    (number - middle).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{RowLock, read, text, waiting};

    const STATUS: &str = "\
---TRANSACTION 12, ACTIVE 0 sec starting index read
mysql tables in use 1, locked 1
LOCK WAIT 3 lock struct(s), heap size 1128, 2 row lock(s)
MariaDB thread id 5, OS thread handle 139815363114688, query id 13 localhost root Sending data
SELECT * FROM good WHERE stock=1 FOR UPDATE
------- TRX HAS BEEN WAITING 711083 us FOR THIS LOCK TO BE GRANTED:
RECORD LOCKS space id 1 page no 3 n bits 320 index PRIMARY of table `lesson`.`good` trx id 12 lock_mode X locks rec but not gap waiting
Record lock, heap no 2 PHYSICAL RECORD: n_fields 5; compact format; info bits 0
 0: len 4; hex 80000001; asc     ;;

------------------
TABLE LOCK table `lesson`.`good` trx id 12 lock mode IX
RECORD LOCKS space id 1 page no 4 n bits 320 index stock of table `lesson`.`good` trx id 12 lock_mode X
Record lock, heap no 2 PHYSICAL RECORD: n_fields 2; compact format; info bits 0
 0: len 4; hex 80000001; asc     ;;

RECORD LOCKS space id 1 page no 3 n bits 320 index PRIMARY of table `lesson`.`good` trx id 12 lock_mode X locks rec but not gap waiting
Record lock, heap no 2 PHYSICAL RECORD: n_fields 5; compact format; info bits 0
 0: len 4; hex 80000001; asc     ;;

---TRANSACTION 11, ACTIVE 1 sec
MariaDB thread id 4, OS thread handle 139815363421888, query id 10 localhost root User sleep
SELECT SLEEP(4)
RECORD LOCKS space id 1 page no 3 n bits 320 index PRIMARY of table `lesson`.`good` trx id 11 lock_mode X locks rec but not gap
Record lock, heap no 2 PHYSICAL RECORD: n_fields 5; compact format; info bits 0
 0: len 4; hex 80000001; asc     ;;
";

    #[test]
    fn holders_and_waiters_are_told_apart() {
        let lock = |session, waits| RowLock {
            table: "good".to_owned(),
            key: vec![vec![0x80, 0, 0, 1]],
            session,
            waits,
        };
        assert_eq!(read(STATUS), [lock(5, true), lock(4, false)]);
        assert_eq!(waiting(STATUS).collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn keys_are_told_as_queries_do() {
        assert_eq!(text(&[0x80, 0, 0, 1], "int(11)"), "1");
        assert_eq!(text(&[0x7f, 0xff], "smallint(6)"), "-1");
        assert_eq!(text(&[0, 3], "smallint(5) unsigned"), "3");
        assert_eq!(text(b"ab", "varchar(20)"), "ab");
    }

    proptest! {
        #[test]
        fn any_status_can_be_read(status in "(\\PC|[\\n`;])*", key in any::<Vec<u8>>()) {
            read(&status);
            text(&key, "int");
        }
    }
}
