//! One actor's connection to one MariaDB server.

use futures::{FutureExt, future::BoxFuture};
use mysql_async::{Column, Conn, DriverError, Error, IoError, OptsBuilder, Value, prelude::Queryable};
use serde_json::{Map, Value as Json};

use super::DATABASE;
use crate::{
    log::{Command, Reply},
    server::connection::{
        Breaks, Connection, LONGEST_REPLY, ReplyFuture, ServerAddress, TOO_LONG, too_long, value,
    },
};

/// The most rows that are read of one answer.
const ROWS: usize = 10_000;

/// A client of one server. Locks belong to a connection, so it is opened before the first move; after a break the
/// operation that notices it fails, and the next one opens another.
struct Client {
    address: String,
    connection: Option<Conn>,
    session: i64,
    /// How many connections had broken when this one was opened or reset.
    breaks: Breaks,
}

pub(crate) async fn connect(server: &ServerAddress) -> Result<Box<dyn Connection>, String> {
    let connection = open(&server.address).await.map_err(|error| error.to_string())?;
    Ok(Box::new(Client {
        address: server.address.clone(),
        session: connection.id().into(),
        connection: Some(connection),
        breaks: Breaks::default(),
    }))
}

/// Opens a connection to the lessons' database. The options set what the crate would otherwise ask the server: a link
/// must carry only the lesson's statements, and the crate would bypass the link by connecting to the server's own
/// socket.
pub(super) async fn open(socket: &str) -> Result<Conn, Error> {
    let options = OptsBuilder::default()
        .socket(Some(socket))
        .prefer_socket(false)
        .user(Some("lesson"))
        .db_name(Some(DATABASE))
        .max_allowed_packet(Some(16 << 20))
        .wait_timeout(Some(28_800));
    Conn::new(options).await
}

impl Client {
    /// Returns the connection, opening one if there is none. A broken connection is noticed by the next statement,
    /// whose reply is then lost: the transaction ended with the connection, and the program must not continue as if it
    /// were open.
    async fn connected(&mut self) -> Result<&mut Conn, Error> {
        match &mut self.connection {
            Some(connection) => Ok(connection),
            empty => {
                let connection = open(&self.address).await?;
                self.session = connection.id().into();
                Ok(empty.insert(connection))
            }
        }
    }

    async fn ask(&mut self, statement: &str) -> Reply {
        let connection = match self.connected().await {
            Ok(connection) => connection,
            Err(error) => return lost(&error),
        };
        match answer(connection, statement).await {
            Ok(value) => Reply::Value(value),
            Err(Error::Server(error)) => Reply::Error { code: error.code.to_string(), text: error.message },
            Err(Error::Other(_)) => {
                // The rest of the answer is still on its way over this connection.
                self.connection = None;
                too_long()
            }
            Err(error) => {
                self.connection = None;
                lost(&error)
            }
        }
    }

    async fn delete_all(&mut self) -> Result<(), Reply> {
        let tables =
            "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()";
        let tables = value(self.ask(tables).await)?;
        for name in tables.as_array().into_iter().flatten().filter_map(|table| table["name"].as_str()) {
            value(self.ask(&format!("DROP TABLE `{}`", name.replace('`', "``"))).await)?;
        }
        Ok(())
    }
}

/// The reply that did not come. What the library says of a closed connection repeats its own kinds of errors.
fn lost(error: &Error) -> Reply {
    let why = match error {
        Error::Io(IoError::Io(error)) if error.raw_os_error().is_some() => error.to_string(),
        Error::Io(_) | Error::Driver(DriverError::ConnectionClosed) => "the connection was closed".to_owned(),
        _ => error.to_string(),
    };
    Reply::Lost(why)
}

impl Connection for Client {
    fn send<'a>(&'a mut self, command: &'a Command, _: Option<&'a str>, breaks: Breaks) -> ReplyFuture<'a> {
        async move {
            self.breaks = breaks;
            match command {
                Command::Sql(statement) => Some(self.ask(statement).await),
                _ => None,
            }
        }
        .boxed()
    }

    fn session(&self) -> Option<i64> {
        Some(self.session)
    }

    /// A connection that is said to be broken and is not is made like a new one: nothing of its session is left but its id.
    fn reach(&mut self, breaks: Breaks) -> BoxFuture<'_, ()> {
        async move {
            let is_new = std::mem::replace(&mut self.breaks, breaks) == breaks;
            if let Ok(connection) = self.connected().await
                && !is_new
            {
                // If it is broken, the next statement notices it.
                let _ = connection.reset().await;
            }
        }
        .boxed()
    }

    fn empty<'a>(&'a mut self, _: &'a [String]) -> BoxFuture<'a, Result<(), Reply>> {
        self.delete_all().boxed()
    }
}

/// Rows as a list of objects; the number of affected rows for a statement that changes rows; `OK` for any other.
pub(super) async fn answer(connection: &mut Conn, statement: &str) -> Result<Json, Error> {
    answer_with_columns(connection, statement, LONGEST_REPLY).await.map(|(answer, _)| answer)
}

/// The same, with the metadata of the rows' columns.
///
/// # Errors
/// `Error::Other` if the values have more than `most` bytes: then the connection cannot be used any more.
pub(super) async fn answer_with_columns(
    connection: &mut Conn,
    statement: &str,
    most: usize,
) -> Result<(Json, Vec<Column>), Error> {
    let mut result = connection.query_iter(statement).await?;
    let Some(columns) = result.columns().filter(|columns| !columns.is_empty()) else {
        let first = statement.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
        let changes = matches!(first.as_str(), "INSERT" | "UPDATE" | "DELETE" | "REPLACE");
        let answer = if changes { result.affected_rows().into() } else { "OK".into() };
        return Ok((answer, Vec::new()));
    };
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while let Some(row) = result.next().await? {
        if rows.len() < ROWS {
            let values = row.unwrap();
            bytes += values.iter().map(size).sum::<usize>();
            if bytes > most {
                return Err(Error::Other(TOO_LONG.into()));
            }
            let fields = columns.iter().zip(values);
            let fields = fields.map(|(column, value)| (column.name_str().into_owned(), json(column, value)));
            rows.push(Json::Object(fields.collect::<Map<String, Json>>()));
        }
    }
    Ok((Json::Array(rows), columns.to_vec()))
}

/// The bytes of a value's text.
fn size(value: &Value) -> usize {
    if let Value::Bytes(bytes) = value { bytes.len() } else { 0 }
}

/// A value of the text protocol, in which numbers are texts.
fn json(column: &Column, value: Value) -> Json {
    match value {
        Value::NULL => Json::Null,
        Value::Bytes(bytes) => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let number = text.parse::<i64>().ok().filter(|_| column.column_type().is_numeric_type());
            number.map_or_else(|| text.into(), Json::from)
        }
        other => other.as_sql(true).into(),
    }
}
