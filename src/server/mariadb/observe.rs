//! Reads what a MariaDB server holds: the committed rows, which transaction has locked which row, and who waits.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::Mutex as StdMutex,
};

use futures::FutureExt;
use mysql_async::{
    Column, Conn, Error,
    consts::{ColumnFlags, ColumnType},
    prelude::Queryable,
};
use serde_json::Value as Json;
use tokio::sync::Mutex;

use super::{
    connection::{answer_with_columns, open},
    locks::{self, Stored},
};
use crate::{
    clock::{LessonClock, Slot},
    log::{
        Command, Observed,
        product::mariadb::{Row, Tables, user_lock_row, user_locks},
    },
    server::observe::{Observation, ObserveError, Observer, Waiting, within},
};

/// The most locks of `GET_LOCK` that are asked for.
const USER_LOCKS: usize = 100;

/// The most rows that are read of a table.
const ROWS: usize = 200;

/// A connection for observing, opened on first use and again after a loss.
#[derive(Debug)]
pub(crate) struct MariadbObserver {
    socket: PathBuf,
    connection: Mutex<Option<Conn>>,
    /// The tables as last read.
    seen: Mutex<BTreeMap<String, Seen>>,
    /// The names in `GET_LOCK` so far: the server tells who has such a lock, but does not list them.
    user_locks: StdMutex<BTreeSet<String>>,
}

/// What was read of a table.
#[derive(Debug, Clone, Default)]
struct Seen {
    /// The columns of its primary key, and how they are stored.
    key: Vec<(String, Stored)>,
    /// Its rows by name, `table/key`.
    rows: Vec<(String, Row)>,
}

/// The server's error code for a locked table.
const LOCKED: u16 = 1205;

impl From<Error> for ObserveError {
    fn from(error: Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl MariadbObserver {
    pub fn new(socket: &Path) -> Self {
        Self {
            socket: socket.to_path_buf(),
            connection: Mutex::new(None),
            seen: Mutex::default(),
            user_locks: StdMutex::default(),
        }
    }

    /// Opens a connection that does not wait for tables locked by a program.
    async fn open(&self) -> Result<Conn, Error> {
        let mut connection = open(&self.socket.display().to_string()).await?;
        connection.query_drop("SET SESSION lock_wait_timeout = 0").await?;
        Ok(connection)
    }

    async fn ask(&self, query: &str) -> Result<Vec<Json>, Error> {
        self.ask_with_columns(query).await.map(|(rows, _)| rows)
    }

    /// The rows that a query returns, and their columns. Retried on a new connection if the old one broke.
    async fn ask_with_columns(&self, query: &str) -> Result<(Vec<Json>, Vec<Column>), Error> {
        let mut slot = self.connection.lock().await;
        let mut connection = match slot.take() {
            Some(connection) => connection,
            None => self.open().await?,
        };
        let mut answered = answer_with_columns(&mut connection, query, usize::MAX).await;
        if answered.as_ref().is_err_and(Error::is_fatal) {
            connection = self.open().await?;
            answered = answer_with_columns(&mut connection, query, usize::MAX).await;
        }
        *slot = Some(connection);
        let (rows, columns) = answered?;
        Ok((rows.as_array().cloned().unwrap_or_default(), columns))
    }

    async fn ask_one(&self, query: &str) -> Result<Option<Json>, ObserveError> {
        Ok(within(self.ask(query)).await?.into_iter().next().map(|row| row["value"].clone()))
    }

    /// The version as in `10.11.14-MariaDB-0+deb12u2`, only the numbers.
    pub async fn version(&self) -> Result<String, ObserveError> {
        let version = self.ask_one("SELECT VERSION() AS value").await?.map(|version| text(&version));
        let version = version.unwrap_or_default();
        Ok(version.split('-').next().unwrap_or_default().to_owned())
    }

    async fn status(&self) -> Result<String, Error> {
        let status = self.ask("SHOW ENGINE INNODB STATUS").await?;
        Ok(status.first().map(|row| text(&row["Status"])).unwrap_or_default())
    }

    /// Reads a table. A table that a program has locked keeps its last known contents until it is unlocked.
    async fn read(&self, table: &str) -> Result<Seen, Error> {
        let select = format!("SELECT * FROM `{}` LIMIT {ROWS}", table.replace('`', "``"));
        let (rows, columns) = match self.ask_with_columns(&select).await {
            Err(Error::Server(error)) if error.code == LOCKED => {
                return Ok(self.seen.lock().await.get(table).cloned().unwrap_or_default());
            }
            answered => answered?,
        };
        let primary = columns.iter().filter(|column| column.flags().contains(ColumnFlags::PRI_KEY_FLAG));
        let key: Vec<_> = primary.map(|column| (column.name_str().into_owned(), stored(column))).collect();
        let fields: Vec<String> = columns.iter().map(|column| column.name_str().into_owned()).collect();
        let rows = rows.iter().enumerate().map(|(n, row)| {
            let named: Vec<String> = key.iter().map(|(name, _)| text(&row[name.as_str()])).collect();
            let named = if named.is_empty() { (n + 1).to_string() } else { named.join(",") };
            let others = fields.iter().filter(|field| !key.iter().any(|(name, _)| name == *field));
            let others = others.map(|name| (name.clone(), row.get(name).cloned().unwrap_or_default()));
            (format!("{table}/{named}"), Row { columns: others.collect(), ..Row::default() })
        });
        let seen = Seen { rows: rows.collect(), key };
        self.seen.lock().await.insert(table.to_owned(), seen.clone());
        Ok(seen)
    }

    /// The locks of `GET_LOCK` that somebody has, with the connections that wait for them.
    async fn user_locks(&self) -> Result<BTreeMap<String, Row>, Error> {
        let names: Vec<String> = match self.user_locks.lock() {
            Ok(names) => names.iter().cloned().collect(),
            Err(_) => Vec::new(),
        };
        let mut held = BTreeMap::new();
        if names.is_empty() {
            return Ok(held);
        }
        let columns = names.iter().enumerate().map(|(n, name)| format!("IS_USED_LOCK('{name}') AS l{n}"));
        let used = self.ask(&format!("SELECT {}", columns.collect::<Vec<_>>().join(", "))).await?;
        for (n, name) in names.iter().enumerate() {
            let owner = used.first().and_then(|used| text(&used[format!("l{n}")]).parse().ok());
            if let Some(owner) = owner {
                held.insert(user_lock_row(name), Row { owner: Some(owner), ..Row::default() });
            }
        }
        for waiting in self.ask(WAITING_FOR_USER_LOCKS).await? {
            let statement = text(&waiting["info"]);
            let Some(session) = waiting["id"].as_i64() else { continue };
            // Of several, it waits for the first that another connection has.
            let mut rows = user_locks(&statement).into_iter().map(user_lock_row);
            let row = rows.find(|row| held.get(row).is_some_and(|row| row.owner != Some(session)));
            if let Some(row) = row.and_then(|row| held.get_mut(&row)) {
                row.waiting.push(session);
            }
        }
        Ok(held)
    }

    async fn look(&self) -> Result<Tables, Error> {
        let mut tables = Tables::default();
        let mut keys: BTreeMap<String, Vec<(String, Stored)>> = BTreeMap::new();
        for table in self.ask(TABLES).await? {
            let table = text(&table["name"]);
            let Seen { key, rows } = self.read(&table).await?;
            keys.entry(table).or_insert(key);
            tables.rows.extend(rows);
        }
        tables.rows.extend(self.user_locks().await?);
        let status = self.status().await?;
        let locks = locks::read(&status);
        tables.transactions = locks::transactions(&status, &locks);
        for lock in locks.iter().filter(|lock| !lock.key.is_empty()) {
            let key = keys.get(&lock.table).into_iter().flatten().zip(&lock.key);
            let named: Vec<String> = key.map(|((_, kind), bytes)| locks::text(bytes, *kind)).collect();
            // An inserted row that is not committed is invisible but locked.
            let row = tables.rows.entry(format!("{}/{}", lock.table, named.join(","))).or_default();
            if lock.waits {
                row.waiting.push(lock.session);
            } else if *row.owner.get_or_insert(lock.session) != lock.session
                && !row.sharing.contains(&lock.session)
            {
                row.sharing.push(lock.session);
            }
        }
        Ok(tables)
    }
}

impl Observer for MariadbObserver {
    fn observe<'a>(&'a self, _: &'a LessonClock, _: Option<&'a Slot>) -> Observation<'a, Observed> {
        async { Ok(Observed::Mariadb(within(self.look()).await?)) }.boxed()
    }

    fn note(&self, command: &Command) {
        let Command::Sql(statement) = command else { return };
        let Ok(mut known) = self.user_locks.lock() else { return };
        // A name is sent to the server as it is.
        let plain = |name: &&str| !name.is_empty() && !name.contains(['\\', '\'', '"']);
        for name in user_locks(statement).into_iter().filter(plain) {
            if known.len() < USER_LOCKS {
                known.insert(name.to_owned());
            }
        }
    }

    fn metric<'a>(&'a self, name: &'a str) -> Observation<'a, Option<i64>> {
        async move {
            let status = within(self.ask("SHOW GLOBAL STATUS")).await?;
            let known: BTreeMap<String, &Json> =
                status.iter().map(|row| (text(&row["Variable_name"]), &row["Value"])).collect();
            Ok(known.get(name).and_then(|value| text(value).parse().ok()))
        }
        .boxed()
    }

    fn waiting(&self) -> Observation<'_, Waiting> {
        async {
            let status = within(self.status()).await?;
            let for_rows: BTreeSet<i64> = locks::waiting(&status).collect();
            let connections = within(self.ask(WAITING)).await?;
            let waits = |row: &Json, id| {
                row["waits"] == 1 || for_rows.contains(&id) && row["tid"].as_i64().is_none_or(sleeps)
            };
            let ids = connections.iter().filter_map(|row| row["id"].as_i64().filter(|id| waits(row, *id)));
            Ok(Waiting::Sessions(ids.collect()))
        }
        .boxed()
    }

    fn has_ended<'a>(&'a self, sessions: &'a [i64]) -> Observation<'a, bool> {
        async move {
            let there = within(self.ask("SELECT id FROM information_schema.processlist")).await?;
            Ok(!there.iter().filter_map(|row| row["id"].as_i64()).any(|id| sessions.contains(&id)))
        }
        .boxed()
    }

    fn unix_millis(&self) -> Observation<'_, Option<i64>> {
        async {
            let now = self.ask_one("SELECT CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS INTEGER) AS value").await?;
            Ok(now.and_then(|now| text(&now).parse().ok()))
        }
        .boxed()
    }

    fn metric_names(&self) -> &'static str {
        "`SHOW GLOBAL STATUS` lists them"
    }
}

fn text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The connections, and which of them wait for anything but a row.
const WAITING: &str = "SELECT id, tid, state IN ('User lock', 'User sleep') OR state LIKE 'Waiting for %' AS waits \
    FROM information_schema.processlist";

/// Whether a thread sleeps. InnoDB lists a wait for a row before the waiting thread has looked for a deadlock, and who
/// looks last decides who is rolled back: so a wait counts once its thread has gone to sleep.
fn sleeps(thread: i64) -> bool {
    let stat = fs::read_to_string(format!("/proc/{thread}/stat"));
    stat.map_or(true, |stat| stat.rsplit(") ").next().is_some_and(|state| state.starts_with('S')))
}

/// The connections that wait for a lock of `GET_LOCK`, and what they have sent.
const WAITING_FOR_USER_LOCKS: &str =
    "SELECT id, info FROM information_schema.processlist WHERE state = 'User lock' ORDER BY id";

/// The query leaves out the columns of the tables, for which the server would open each table.
const TABLES: &str =
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY name";

fn stored(column: &Column) -> Stored {
    match column.column_type() {
        ColumnType::MYSQL_TYPE_TINY
        | ColumnType::MYSQL_TYPE_SHORT
        | ColumnType::MYSQL_TYPE_INT24
        | ColumnType::MYSQL_TYPE_LONG
        | ColumnType::MYSQL_TYPE_LONGLONG => {
            Stored::Integer { signed: !column.flags().contains(ColumnFlags::UNSIGNED_FLAG) }
        }
        _ => Stored::Text,
    }
}
