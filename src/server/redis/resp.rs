//! A blocking connection to one Redis server, for programs that Lockstep runs in its own process because they never
//! need to be killed or stopped: this is the fastest way.

use std::time::Duration;

use redis::{Client, Cmd, Connection, RedisError, RedisResult, Value};

use super::connection::{place, reply, text_of};
use crate::log::Reply;

/// How long a server may take to answer, in real time. None of the commands sent here blocks.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// A connection on which several commands may be sent at once.
pub struct RespConnection {
    connection: Connection,
    /// The bytes to be sent, and the number of commands in them.
    out: Vec<u8>,
    count: usize,
}

/// The answer to one command.
#[derive(Debug)]
pub struct Answer(RedisResult<Value>);

impl RespConnection {
    /// Connects to a Unix socket's path or `host:port`, and authenticates if there is a password.
    pub fn open(address: &str, password: Option<&str>) -> Result<Self, String> {
        let client = place(address, password).and_then(Client::open);
        let connection = client.and_then(|client| {
            let connection = client.get_connection_with_timeout(ANSWERS_WITHIN)?;
            connection.set_read_timeout(Some(ANSWERS_WITHIN))?;
            connection.set_write_timeout(Some(ANSWERS_WITHIN))?;
            Ok(connection)
        });
        Ok(Self { connection: connection.map_err(|error| error.to_string())?, out: Vec::new(), count: 0 })
    }

    /// Queues a command.
    pub fn push<W: AsRef<[u8]>>(&mut self, words: impl IntoIterator<Item = W>) {
        let mut command = Cmd::new();
        for word in words {
            command.arg(word.as_ref());
        }
        command.write_packed_command(&mut self.out);
        self.count += 1;
    }

    /// Sends the queued commands in one piece. [`Self::ask`] then waits for their answers.
    pub fn send(&mut self) -> Result<(), String> {
        let sent = self.connection.send_packed_command(&self.out);
        self.out.clear();
        sent.map_err(|error| broken(&error))
    }

    /// Sends the queued commands, and waits for all answers.
    pub fn ask(&mut self) -> Result<Vec<Answer>, String> {
        if !self.out.is_empty() {
            self.send()?;
        }
        let count = std::mem::take(&mut self.count);
        let mut answers = Vec::with_capacity(count);
        for _ in 0..count {
            let answer = self.connection.recv_response().and_then(Value::extract_error);
            if let Err(error) = &answer
                && (error.is_unrecoverable_error() || error.is_timeout())
            {
                return Err(broken(error));
            }
            answers.push(Answer(answer));
        }
        Ok(answers)
    }

    /// Sends one command and waits for its answer.
    pub fn ask_one<W: AsRef<[u8]>>(&mut self, words: impl IntoIterator<Item = W>) -> Result<Answer, String> {
        self.push(words);
        let answer = self.ask()?.pop();
        answer.ok_or_else(|| "no answer".to_owned())
    }
}

/// The error after which the connection cannot be used.
fn broken(error: &RedisError) -> String {
    if error.is_timeout() { silence() } else { error.to_string() }
}

fn silence() -> String {
    format!("no answer for {} s", ANSWERS_WITHIN.as_secs())
}

/// Whether a connection was given up because no answer came.
pub fn is_silence(why: &str) -> bool {
    why == silence()
}

impl Answer {
    /// As a client of a lesson would report it.
    pub fn into_reply(self) -> Reply {
        reply(self.0)
    }

    /// The parts of a list answer: texts as bytes, numbers, and nested lists as they are.
    pub fn into_parts(self) -> Result<Vec<Part>, String> {
        match self.0.map_err(|error| error.to_string())? {
            Value::Array(items) | Value::Set(items) => Ok(items.into_iter().map(Part::of).collect()),
            other => Ok(vec![Part::of(other)]),
        }
    }

    /// Whether the server carried out the command; if not, why.
    pub fn done(self) -> Result<(), String> {
        self.0.map(drop).map_err(|error| error.to_string())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Bytes(Vec<u8>),
    Number(i64),
    List(Vec<Part>),
    Nil,
}

impl Part {
    fn of(value: Value) -> Self {
        match value {
            Value::BulkString(bytes) => Self::Bytes(bytes),
            Value::SimpleString(text) => Self::Bytes(text.into_bytes()),
            Value::Okay => Self::Bytes(b"OK".to_vec()),
            Value::Int(number) => Self::Number(number),
            Value::Array(items) | Value::Set(items) => Self::List(items.into_iter().map(Self::of).collect()),
            _ => Self::Nil,
        }
    }

    pub fn text(&self) -> String {
        match self {
            Self::Bytes(bytes) => text_of(bytes.clone()),
            Self::Number(number) => number.to_string(),
            Self::List(_) | Self::Nil => String::new(),
        }
    }
}
