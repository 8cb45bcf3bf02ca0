//! Who has locked which row and who waits for it, from `SHOW ENGINE INNODB STATUS` with `innodb_status_output_locks`.
//! The tables of `information_schema` for this are a cached copy that is renewed only after 0.1 s, which never pass
//! while lesson time stands still.

use crate::log::product::mariadb::Transaction;

/// A lock on a row or the gap before it, or a wait for one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RowLock {
    pub table: String,
    /// The columns of the row's primary key, as InnoDB stores them; empty for a gap, or an entry in another index.
    pub key: Vec<Vec<u8>>,
    /// The connection.
    pub session: i64,
    pub waits: bool,
    /// The page, and the record number in it.
    place: (String, String),
}

/// The section on current transactions. The sections before it describe the latest deadlock, with locks that no longer
/// exist.
fn now(status: &str) -> &str {
    let from = status.split_once("\nTRANSACTIONS\n").map_or(status, |(_, rest)| rest);
    from.split_once("\nFILE I/O\n").map_or(from, |(transactions, _)| transactions)
}

/// Parses all locks on rows, each once.
pub(super) fn read(status: &str) -> Vec<RowLock> {
    let mut locks: Vec<RowLock> = Vec::new();
    let mut session = 0;
    // What the following locks have in common, and whether they are on rows of a primary key.
    let mut common: Option<(RowLock, bool)> = None;
    for line in now(status).lines() {
        if let Some(id) = self::session(line) {
            session = id;
        } else if line.starts_with("RECORD LOCKS ") {
            common = index(line).map(|(page, table, index)| {
                let place = (page.to_owned(), String::new());
                let waits = line.ends_with(" waiting");
                let on_row = index == "PRIMARY" && !line.contains(" gap before rec");
                (RowLock { table: table.to_owned(), session, waits, place, ..RowLock::default() }, on_row)
            });
        } else if let Some(rest) = line.strip_prefix("Record lock, heap no ") {
            if let Some((lock, _)) = &common {
                let mut lock = lock.clone();
                rest.split(' ').next().unwrap_or_default().clone_into(&mut lock.place.1);
                locks.push(lock);
            }
        } else if line.starts_with("---TRANSACTION") || line.starts_with("TABLE LOCK") {
            common = None;
        } else if let (Some(field), Some((_, true)), Some(lock)) = (field(line), &common, locks.last_mut())
            && lock.place.1 != SUPREMUM
        {
            lock.key.push(field);
        }
    }
    // A lock that a transaction waits for is listed twice.
    let mut known: Vec<RowLock> = Vec::new();
    for lock in locks {
        if !known.contains(&lock) {
            known.push(lock);
        }
    }
    known
}

/// The record number of the supremum, the gap after the last record of a page.
const SUPREMUM: &str = "1";

/// The open transactions, by connection.
pub(super) fn transactions(status: &str, locks: &[RowLock]) -> Vec<Transaction> {
    let active = now(status).split("---TRANSACTION ").skip(1).filter_map(|transaction| {
        let (state, lines) = transaction.split_once('\n')?;
        let session = lines.lines().find_map(session).filter(|_| state.contains(", ACTIVE "))?;
        let mine = locks.iter().filter(|lock| lock.session == session && lock.waits);
        let holders = mine.flat_map(|mine| {
            locks
                .iter()
                .filter(move |lock| lock.place == mine.place && !lock.waits && lock.session != session)
        });
        let mut holders: Vec<i64> = holders.map(|lock| lock.session).collect();
        holders.sort_unstable();
        holders.dedup();
        Some(Transaction { session, waits_for: holders })
    });
    let mut active: Vec<Transaction> = active.collect();
    active.sort_by_key(|transaction| transaction.session);
    active
}

/// The connections that wait for a lock on a row, or between rows.
pub(super) fn waiting(status: &str) -> impl Iterator<Item = i64> {
    now(status).split("---TRANSACTION ").skip(1).filter_map(|transaction| {
        let mut lines = transaction.lines();
        lines.find(|line| line.starts_with("LOCK WAIT "))?;
        lines.find_map(session)
    })
}

/// Parses `MariaDB thread id 4, OS thread handle …`.
fn session(line: &str) -> Option<i64> {
    line.strip_prefix("MariaDB thread id ")?.split(',').next()?.parse().ok()
}

/// Parses the page, the table and the index from `RECORD LOCKS space id 1 page no 3 n bits 8 index PRIMARY of table
/// `lesson`.`good` trx id 12 …`.
fn index(line: &str) -> Option<(&str, &str, &str)> {
    let (page, rest) = line.strip_prefix("RECORD LOCKS ")?.split_once(" n bits ")?;
    let (index, table) = rest.split_once(" index ")?.1.split_once(" of table ")?;
    let (table, _) = table.split_once(" trx id ")?;
    let (_, name) = table.split_once("`.`")?;
    Some((page, name.trim_end_matches('`'), index))
}

/// Parses ` 0: len 4; hex 80000001; asc     ;;`.
fn field(line: &str) -> Option<Vec<u8>> {
    let (_, hex) = line.split_once("; hex ")?;
    let hex = hex.split(';').next()?.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    hex.chunks(2).map(byte).collect()
}

/// How InnoDB stores a column of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stored {
    /// Signed numbers have their first bit flipped, so that they sort as bytes.
    Integer {
        signed: bool,
    },
    Text,
}

/// A column of a key as a query would return it.
pub(super) fn text(bytes: &[u8], stored: Stored) -> String {
    let Stored::Integer { signed } = stored else { return String::from_utf8_lossy(bytes).into_owned() };
    if bytes.len() > 8 || bytes.is_empty() {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let number = bytes.iter().fold(0_i128, |number, byte| number << 8 | i128::from(*byte));
    let middle = if signed { 1_i128 << (8 * bytes.len() - 1) } else { 0 };
    (number - middle).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Stored, Transaction, read, text, transactions, waiting};

    const SIGNED: Stored = Stored::Integer { signed: true };

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
    fn holders_and_waiters_are_distinguished() {
        let locks = read(STATUS);
        let on_rows = locks.iter().filter(|lock| !lock.key.is_empty());
        let found: Vec<_> = on_rows.map(|lock| (lock.session, lock.waits, lock.key.concat())).collect();
        assert_eq!(found, [(5, true, vec![0x80, 0, 0, 1]), (4, false, vec![0x80, 0, 0, 1])]);
        let transaction = |session, waits_for| Transaction { session, waits_for };
        assert_eq!(transactions(STATUS, &locks), [transaction(4, vec![]), transaction(5, vec![4])]);
        assert_eq!(waiting(STATUS).collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn the_latest_deadlock_is_not_what_is_so_now() {
        let deadlock = "\
------------------------
LATEST DETECTED DEADLOCK
------------------------
2026-11-24 17:00:00 0x7f28d4fff6c0
*** (1) TRANSACTION:
TRANSACTION 23, ACTIVE 0 sec starting index read
LOCK WAIT 3 lock struct(s), heap size 1128, 2 row lock(s)
MariaDB thread id 7, OS thread handle 139815363114688, query id 13 localhost root Statistics
SELECT * FROM good WHERE id = 2 FOR UPDATE
*** WAITING FOR THIS LOCK TO BE GRANTED:
RECORD LOCKS space id 1 page no 3 n bits 320 index PRIMARY of table `lesson`.`good` trx id 23 lock_mode X locks rec but not gap waiting
Record lock, heap no 3 PHYSICAL RECORD: n_fields 5; compact format; info bits 0
 0: len 4; hex 80000002; asc     ;;
";
        let (header, end) = ("------------\nTRANSACTIONS\n------------\n", "--------\nFILE I/O\n--------\n");
        let after = format!("{deadlock}{header}Trx id counter 25\n{end}");
        assert_eq!((read(&after), waiting(&after).count()), (vec![], 0));
        let later = format!("{deadlock}{header}{STATUS}{end}");
        assert_eq!(read(&later), read(STATUS));
        assert_eq!(transactions(&later, &read(&later)), transactions(STATUS, &read(STATUS)));
    }

    #[test]
    fn keys_are_written_as_in_queries() {
        assert_eq!(text(&[0x80, 0, 0, 1], SIGNED), "1");
        assert_eq!(text(&[0x7f, 0xff], SIGNED), "-1");
        assert_eq!(text(&[0, 3], Stored::Integer { signed: false }), "3");
        assert_eq!(text(b"ab", Stored::Text), "ab");
    }

    proptest! {
        #[test]
        fn any_status_can_be_read(status in "(\\PC|[\\n`;])*", key in any::<Vec<u8>>()) {
            transactions(&status, &read(&status));
            text(&key, SIGNED);
        }
    }
}
