//! One actor's connection to one Redis server.

use redis::{
    AsyncConnectionConfig, ConnectionInfo, ErrorKind, IntoConnectionInfo, ProtocolVersion,
    RedisConnectionInfo, RedisError, RedisResult, Value,
    aio::{AsyncPushSender, MultiplexedConnection},
};
use serde_json::Value as Json;

use super::stream;
use crate::log::Reply;
use crate::server::connection::{LONGEST_REPLY, TOO_LONG, too_long};

/// The most bytes of messages that are read between two commands of a connection with subscriptions.
const MOST_MESSAGES: usize = 16 << 20;

/// Connects over a Unix socket or TCP. `heard` receives what the server sends unasked.
pub(crate) async fn connect(
    address: &str,
    password: Option<&str>,
    heard: Option<impl AsyncPushSender>,
) -> RedisResult<MultiplexedConnection> {
    // The crate gives up on a reply after 500 ms although the command may still run. A reply on a held link must arrive
    // late, not be dropped.
    let mut config = AsyncConnectionConfig::new().set_response_timeout(None).set_connection_timeout(None);
    let info = place(address, password)?;
    let most = if heard.is_some() { MOST_MESSAGES } else { LONGEST_REPLY };
    let stream = stream::open(info.addr(), most).await?;
    let mut settings = info.redis_settings().clone();
    if let Some(heard) = heard {
        // Under RESP2 a connection with subscriptions accepts no other commands.
        settings = settings.set_protocol(ProtocolVersion::RESP3);
        config = config.set_push_sender(heard);
    }
    let (connection, driver) = MultiplexedConnection::new_with_config(&settings, stream, config).await?;
    // It ends when the connection is dropped.
    tokio::spawn(driver);
    Ok(connection)
}

/// An address in the crate's form, with the password.
pub(crate) fn place(address: &str, password: Option<&str>) -> RedisResult<ConnectionInfo> {
    let url =
        if address.starts_with('/') { format!("unix://{address}") } else { format!("redis://{address}") };
    let place = url.into_connection_info()?;
    Ok(match password {
        Some(password) => place.set_redis_settings(RedisConnectionInfo::default().set_password(password)),
        None => place,
    })
}

/// A result of the crate as the log's reply.
pub(crate) fn reply(result: RedisResult<Value>) -> Reply {
    match result {
        // For connections that do not limit the length themselves.
        Ok(value) if size(&value) > LONGEST_REPLY => too_long(),
        Ok(value) => Reply::Value(json(value)),
        Err(error) => failed(&error),
    }
}

/// Converts a RESP3 reply to its RESP2 form, so that a program's replies do not depend on whether it has subscriptions.
pub(crate) fn in_resp2(value: Value) -> Value {
    let all = |items: Vec<Value>| Value::Array(items.into_iter().map(in_resp2).collect());
    match value {
        Value::Push { kind, data } => {
            let kind = Value::SimpleString(format!("{kind:?}").to_ascii_lowercase());
            all([vec![kind], data].concat())
        }
        Value::Array(items) | Value::Set(items) => all(items),
        Value::Map(pairs) => all(pairs.into_iter().flat_map(|(key, item)| [key, item]).collect()),
        Value::Double(number) => Value::SimpleString(number.to_string()),
        Value::Boolean(yes) => Value::Int(yes.into()),
        other => other,
    }
}

/// The approximate number of bytes of a value on the wire.
fn size(value: &Value) -> usize {
    match value {
        Value::BulkString(bytes) => bytes.len(),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => text.len(),
        Value::Array(items) | Value::Set(items) => items.iter().map(|item| 4 + size(item)).sum(),
        Value::Map(pairs) => pairs.iter().map(|(key, item)| 8 + size(key) + size(item)).sum(),
        _ => 8,
    }
}

fn failed(error: &RedisError) -> Reply {
    if error.is_io_error() && error.to_string().contains(TOO_LONG) {
        return too_long();
    }
    if error.is_io_error() || error.is_connection_dropped() || error.kind() == ErrorKind::Io {
        return Reply::Lost(error.to_string());
    }
    let code = error.code().unwrap_or("ERR").to_owned();
    Reply::Error { code, text: error.detail().map_or_else(|| error.to_string(), str::to_owned) }
}

/// A string of Redis as text. Bytes that are no UTF-8 are escaped as `redis-cli` shows them, so that different values
/// stay different. They are one word, without blanks and quotes.
pub(crate) fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let escaped = error.into_bytes().into_iter().map(|byte| match byte {
            b'!'..=b'~' if !matches!(byte, b'"' | b'\\') => char::from(byte).to_string(),
            _ => format!("\\x{byte:02x}"),
        });
        escaped.collect()
    })
}

/// A Redis value as JSON.
fn json(value: Value) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Int(number) => number.into(),
        Value::BulkString(bytes) => text_of(bytes).into(),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => text.into(),
        Value::Okay => "OK".into(),
        Value::Array(items) | Value::Set(items) => Json::Array(items.into_iter().map(json).collect()),
        Value::Map(pairs) => Json::Array(
            pairs.into_iter().map(|(key, item)| Json::Array(vec![json(key), json(item)])).collect(),
        ),
        Value::Attribute { data, .. } => json(*data),
        Value::Double(number) => number.into(),
        Value::Boolean(yes) => yes.into(),
        Value::BigNumber(number) => number.to_string().into(),
        Value::ServerError(error) => {
            format!("{} {}", error.code(), error.details().unwrap_or_default()).into()
        }
        other => format!("{other:?}").into(),
    }
}
