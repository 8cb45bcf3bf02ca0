//! Requests and replies of ZooKeeper's protocol (jute) in a stream of bytes: where each ends, and its contents.
//! Everything is bounded: the peer may be any program.

use serde_json::{Value, json};

use crate::{
    log::{Reply, product::zookeeper::Call},
    text::{Text, both},
};

/// The most bytes of a request: the server's own default limit.
pub(crate) const LONGEST_REQUEST: usize = 1 << 20;
/// The most bytes of a reply that is passed on.
pub(crate) const LONGEST_ANSWER: usize = 16 << 20;

/// The numbers of requests that change or read something, by the names of ZooKeeper's `ZooDefs.OpCode`.
mod op {
    pub const CREATE: i32 = 1;
    pub const DELETE: i32 = 2;
    pub const EXISTS: i32 = 3;
    pub const GET_DATA: i32 = 4;
    pub const SET_DATA: i32 = 5;
    pub const GET_CHILDREN: i32 = 8;
    pub const SYNC: i32 = 9;
    pub const PING: i32 = 11;
    pub const GET_CHILDREN_2: i32 = 12;
    pub const CHECK: i32 = 13;
    pub const MULTI: i32 = 14;
    pub const CREATE_2: i32 = 15;
    pub const CREATE_CONTAINER: i32 = 19;
    pub const CREATE_TTL: i32 = 21;
    pub const CLOSE: i32 = -11;
    /// In the reply to a `multi`: an error result.
    pub const ERROR: i32 = -1;
    /// The requests that are shown as calls, besides a `multi`.
    pub const CALLS: [i32; 13] = [
        CREATE,
        DELETE,
        EXISTS,
        GET_DATA,
        SET_DATA,
        GET_CHILDREN,
        SYNC,
        GET_CHILDREN_2,
        CHECK,
        CREATE_2,
        CREATE_CONTAINER,
        CREATE_TTL,
        CLOSE,
    ];
}

/// The number of replies that answer no request.
const NOTIFICATION: i32 = -1;

/// Why a stream cannot be read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// A TLS handshake.
    Tls,
    NotZookeeper,
    TooLong(usize),
}

impl From<Unreadable> for Text {
    fn from(why: Unreadable) -> Self {
        match why {
            Unreadable::Tls => Self::new(
                "it speaks TLS, and requests inside TLS cannot be seen: connect without it",
                "它使用 TLS，TLS 里的请求看不到：请不用 TLS 连接",
            ),
            Unreadable::NotZookeeper => Self::new(
                "what it sent is no request of ZooKeeper's protocol",
                "它发来的不是 ZooKeeper 协议的请求",
            ),
            Unreadable::TooLong(most) => {
                let most = most >> 20;
                both!(
                    "one message has more than {most} MiB, the most here",
                    "一条消息超过了这里的上限 {most} MiB"
                )
            }
        }
    }
}

/// The length of the message at the start of `bytes`, including its length prefix, or `None` if it is incomplete.
pub(crate) fn end(bytes: &[u8], most: usize) -> Result<Option<usize>, Unreadable> {
    let Some(length) = bytes.first_chunk::<4>() else { return Ok(None) };
    // The content type "handshake" of TLS, and its major version.
    if length.starts_with(&[0x16, 3]) {
        return Err(Unreadable::Tls);
    }
    let length = usize::try_from(i32::from_be_bytes(*length)).map_err(|_| Unreadable::NotZookeeper)?;
    if length > most {
        // Four-letter words and other text read as large numbers, too.
        let is_text = bytes[..4].iter().all(u8::is_ascii_graphic);
        return Err(if is_text { Unreadable::NotZookeeper } else { Unreadable::TooLong(most) });
    }
    Ok((bytes.len() >= 4 + length).then_some(4 + length))
}

/// A request, without its length prefix.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    /// Its number, which the reply repeats.
    pub(crate) xid: i32,
    opcode: i32,
    /// `None` for requests that only maintain a session: pings, authentication, watches that are set again, reads of
    /// ACLs.
    pub(crate) call: Option<Call>,
}

impl Asked {
    pub(crate) const fn is_ping(&self) -> bool {
        self.opcode == op::PING
    }
}

/// A message from a server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sent {
    /// A watch has fired: the path, and the event.
    Fired(String, &'static str),
    /// The reply to the request with this number.
    Reply(i32, Reply),
}

pub(crate) fn request(message: &[u8]) -> Result<Asked, Unreadable> {
    let mut rest = Reader(message);
    let read = |rest: &mut Reader| {
        let (xid, opcode) = (rest.int()?, rest.int()?);
        let call = match opcode {
            op::MULTI => Some(rest.multi()?),
            _ if op::CALLS.contains(&opcode) => Some(rest.call(opcode)?),
            _ => None,
        };
        Some(Asked { xid, opcode, call })
    };
    read(&mut rest).ok_or(Unreadable::NotZookeeper)
}

/// The session that the server grants to a connecting client; 0 if the client's former session has ended.
pub(crate) fn session(message: &[u8]) -> Option<i64> {
    let mut rest = Reader(message);
    let (_protocol, _timeout) = (rest.int()?, rest.int()?);
    rest.long()
}

/// Parses a message from the server. `asked` returns the request with a number.
pub(crate) fn sent<'a>(message: &[u8], asked: impl FnOnce(i32) -> Option<&'a Asked>) -> Option<Sent> {
    let mut rest = Reader(message);
    let (xid, _zxid, error) = (rest.int()?, rest.long()?, rest.int()?);
    if xid == NOTIFICATION {
        let (kind, _state, path) = (rest.int()?, rest.int()?, rest.text()?);
        return Some(Sent::Fired(path, event(kind)));
    }
    let asked = asked(xid);
    let reply = match (asked.map_or(0, |asked| asked.opcode), error) {
        (opcode, 0) => Reply::Value(rest.answer(opcode)?),
        (op::EXISTS, NO_NODE) => Reply::Value(Value::Null),
        // The cause is in the results of the parts, if there are any.
        (op::MULTI, error) => rest.multi_error().unwrap_or_else(|| failed(error)),
        (_, error) => failed(error),
    };
    Some(Sent::Reply(xid, reply))
}

const NO_NODE: i32 = -101;

fn failed(error: i32) -> Reply {
    let code = match error {
        -4 => "ConnectionLoss",
        -6 => "Unimplemented",
        -7 => "OperationTimeout",
        -8 => "BadArguments",
        NO_NODE => "NoNode",
        -102 => "NoAuth",
        -103 => "BadVersion",
        -108 => "NoChildrenForEphemerals",
        -110 => "NodeExists",
        -111 => "NotEmpty",
        -112 => "SessionExpired",
        -114 => "InvalidAcl",
        -115 => "AuthFailed",
        -118 => "SessionMoved",
        other => return Reply::Error { code: format!("Error{other}"), text: String::new() },
    };
    Reply::Error { code: code.to_owned(), text: String::new() }
}

fn event(kind: i32) -> &'static str {
    match kind {
        -1 => "Session",
        1 => "NodeCreated",
        2 => "NodeDeleted",
        3 => "NodeDataChanged",
        4 => "NodeChildrenChanged",
        _ => "Other",
    }
}

/// The rest of a message. Each method reads the next value, or returns `None` if the message is too short.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn int(&mut self) -> Option<i32> {
        self.chunk().map(i32::from_be_bytes)
    }

    fn long(&mut self) -> Option<i64> {
        self.chunk().map(i64::from_be_bytes)
    }

    fn flag(&mut self) -> Option<bool> {
        self.chunk::<1>().map(|[byte]| byte != 0)
    }

    /// Bytes with a length prefix; a length of -1 means none.
    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.int()?.max(0)).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    /// A list with a count prefix. Every item takes some bytes, so that a false count cannot run on.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.int()?.max(0);
        (0..count).map(|_| item(self)).collect()
    }

    fn stat(&mut self) -> Option<Value> {
        let (czxid, mzxid, ctime, mtime) = (self.long()?, self.long()?, self.long()?, self.long()?);
        let (version, cversion, aversion) = (self.int()?, self.int()?, self.int()?);
        let (owner, length, children, pzxid) = (self.long()?, self.int()?, self.int()?, self.long()?);
        Some(json!({
            "czxid": czxid, "mzxid": mzxid, "pzxid": pzxid, "ctime": ctime, "mtime": mtime, "version": version,
            "cversion": cversion, "aversion": aversion, "length": length, "children": children, "owner": owner,
        }))
    }

    /// The rest of a request that is a call.
    fn call(&mut self, opcode: i32) -> Option<Call> {
        let any = |version: i32| (version != -1).then_some(version);
        Some(match opcode {
            op::CREATE | op::CREATE_2 | op::CREATE_CONTAINER | op::CREATE_TTL => {
                let (path, data) = (self.text()?, self.text()?);
                self.list(|acl| Some((acl.int()?, acl.text()?, acl.text()?)))?;
                let flags = self.int()?;
                let ttl = if opcode == op::CREATE_TTL { u64::try_from(self.long()?).ok() } else { None };
                let (ephemeral, sequential) = (matches!(flags, 1 | 3), matches!(flags, 2 | 3 | 6));
                Call::Create { ephemeral, sequential, container: flags == 4, ttl, path, data }
            }
            op::DELETE => Call::Delete { path: self.text()?, version: any(self.int()?) },
            op::EXISTS => Call::Exists { path: self.text()?, watch: self.flag()? },
            op::GET_DATA => Call::Get { path: self.text()?, watch: self.flag()? },
            op::SET_DATA => {
                let (path, data) = (self.text()?, self.text()?);
                Call::Set { path, data, version: any(self.int()?) }
            }
            op::GET_CHILDREN | op::GET_CHILDREN_2 => Call::Ls { path: self.text()?, watch: self.flag()? },
            op::SYNC => Call::Sync { path: self.text()? },
            op::CHECK => Call::Check { path: self.text()?, version: any(self.int()?) },
            op::CLOSE => Call::Close,
            _ => return None,
        })
    }

    fn multi(&mut self) -> Option<Call> {
        let mut calls = Vec::new();
        loop {
            let (opcode, done, _error) = (self.int()?, self.flag()?, self.int()?);
            if done {
                return Some(Call::Multi { calls });
            }
            calls.push(self.call(opcode)?);
        }
    }

    fn answer(&mut self, opcode: i32) -> Option<Value> {
        Some(match opcode {
            op::CREATE | op::CREATE_2 | op::CREATE_CONTAINER | op::CREATE_TTL | op::GET_DATA => {
                self.text()?.into()
            }
            op::EXISTS | op::SET_DATA => self.stat()?,
            op::GET_CHILDREN | op::GET_CHILDREN_2 => self.list(Self::text)?.into(),
            op::MULTI => {
                let mut answers = Vec::new();
                loop {
                    let (opcode, done, _error) = (self.int()?, self.flag()?, self.int()?);
                    if done {
                        return Some(answers.into());
                    }
                    let answer = self.answer(opcode)?;
                    // A stat follows only inside a `multi`, in the results of these calls.
                    if matches!(opcode, op::CREATE_2 | op::CREATE_CONTAINER | op::CREATE_TTL) {
                        self.stat()?;
                    }
                    answers.push(answer);
                }
            }
            _ => "OK".into(),
        })
    }

    /// The first error of a `multi` that is a cause of its own.
    fn multi_error(&mut self) -> Option<Reply> {
        // The error code of the calls after the one that failed.
        const NOT_TRIED: i32 = -2;
        loop {
            let (opcode, done, _error) = (self.int()?, self.flag()?, self.int()?);
            if done || opcode != op::ERROR {
                return None;
            }
            let error = self.int()?;
            if error != 0 && error != NOT_TRIED {
                return Some(failed(error));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Vec<u8> {
        [&u32::try_from(text.len()).expect("short").to_be_bytes()[..], text.as_bytes()].concat()
    }

    fn ints(numbers: &[i32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
    }

    /// As kazoo sends the node of its `Lock`: ephemeral and sequential.
    fn create() -> Vec<u8> {
        let acl = [ints(&[1, 31]), text("world"), text("anyone")].concat();
        [text("/lock/guid__lock__"), text("me"), acl, ints(&[3])].concat()
    }

    fn asked(opcode: i32, body: &[u8]) -> Result<Asked, Unreadable> {
        request(&[&ints(&[7, opcode])[..], body].concat())
    }

    #[test]
    fn a_create_and_its_reply_are_read() {
        let asked = asked(op::CREATE, &create()).expect("a request");
        let call = asked.call.clone().expect("a call");
        assert_eq!(call.to_string(), "create -e -s /lock/guid__lock__ me");
        let reply = [ints(&[7, 0, 5, 0]), text("/lock/guid__lock__0000000000")].concat();
        let expected = Sent::Reply(7, Reply::Value("/lock/guid__lock__0000000000".into()));
        assert_eq!(sent(&reply, |_| Some(&asked)), Some(expected));
        let refused = ints(&[7, 0, 5, -110]);
        let Some(Sent::Reply(7, Reply::Error { code, .. })) = sent(&refused, |_| Some(&asked)) else {
            panic!()
        };
        assert_eq!(code, "NodeExists");
    }

    #[test]
    fn what_keeps_a_session_is_no_call() {
        for opcode in [11, 100, 101, 105, 6] {
            assert_eq!(asked(opcode, &[]).expect("a request").call, None, "{opcode}");
        }
        assert_eq!(asked(op::CLOSE, &[]).expect("a request").call, Some(Call::Close));
    }

    #[test]
    fn the_calls_of_a_multi_and_why_it_failed_are_read() {
        let check = [ints(&[op::CHECK]), vec![0], ints(&[-1]), text("/a"), ints(&[4])].concat();
        let make = [ints(&[op::CREATE]), vec![0], ints(&[-1]), create()].concat();
        let over = [ints(&[-1]), vec![1], ints(&[-1])].concat();
        let asked = asked(op::MULTI, &[check, make, over.clone()].concat()).expect("a request");
        let call = asked.call.clone().expect("a call");
        assert_eq!(call.to_string(), "multi check /a 4 ; create -e -s /lock/guid__lock__ me");
        let error = |code: i32| [ints(&[op::ERROR]), vec![0], ints(&[code, code])].concat();
        let reply = [ints(&[7, 0, 5, -103]), error(-103), error(-2), over].concat();
        let Some(Sent::Reply(7, Reply::Error { code, .. })) = sent(&reply, |_| Some(&asked)) else {
            panic!()
        };
        assert_eq!(code, "BadVersion");
    }

    #[test]
    fn a_watch_that_fires_answers_nobody() {
        let fired = [ints(&[-1, -1, -1, 0, 2, 3]), text("/lock/x")].concat();
        assert_eq!(sent(&fired, |_| None), Some(Sent::Fired("/lock/x".into(), "NodeDeleted")));
    }

    #[test]
    fn garbage_is_refused_and_bounded() {
        assert_eq!(end(&[0x16, 3, 1, 2], LONGEST_REQUEST), Err(Unreadable::Tls));
        assert_eq!(end(b"ruok", LONGEST_REQUEST), Err(Unreadable::NotZookeeper));
        assert_eq!(end(&ints(&[-5]), LONGEST_REQUEST), Err(Unreadable::NotZookeeper));
        assert_eq!(end(&ints(&[100 << 20]), LONGEST_REQUEST), Err(Unreadable::TooLong(LONGEST_REQUEST)));
        assert_eq!(end(&ints(&[8, 1]), LONGEST_REQUEST), Ok(None), "half of it");
        // A truncated message is refused at every length.
        let whole = [ints(&[7, op::CREATE]), create()].concat();
        for cut in 0..whole.len() {
            assert_eq!(request(&whole[..cut]), Err(Unreadable::NotZookeeper), "{cut}");
        }
        let lies = [ints(&[7, op::CREATE]), text("/a"), text(""), ints(&[i32::MAX])].concat();
        assert_eq!(request(&lies), Err(Unreadable::NotZookeeper));
    }
}
