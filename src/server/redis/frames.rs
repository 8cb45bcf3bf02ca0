//! Requests and replies of Redis' protocol (RESP2 and RESP3) in a stream of bytes: where each ends, and its contents.
//! Everything is bounded: the peer may be any program.

use redis::{Value, parse_redis_value};

use super::connection;
use crate::{
    log::Reply,
    text::{Text, both},
};

/// The most bytes of a request.
pub(crate) const LONGEST_REQUEST: usize = 1 << 20;
/// The most bytes of a reply that is passed on.
pub(crate) const LONGEST_ANSWER: usize = 16 << 20;

/// The most values in one request or reply, including those of nested lists.
const MOST_VALUES: u64 = 1 << 20;
/// The most bytes of a line: a number, a status, an error, an inline command (`PROTO_INLINE_MAX_SIZE`).
const LONGEST_LINE: usize = 64 << 10;

/// Why a stream cannot be read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// A TLS handshake.
    Tls,
    /// Bytes that Redis' protocol does not allow here.
    NotRedis,
    /// A request to send no replies.
    NoReplies,
    /// A request to pause the answers to all clients.
    Pause,
    TooLong(usize),
}

impl From<Unreadable> for Text {
    fn from(why: Unreadable) -> Self {
        match why {
            Unreadable::Tls => Self::new(
                "it speaks TLS, and requests inside TLS cannot be seen: use redis:// in place of rediss://",
                "它使用 TLS，TLS 里的请求看不到：请把 rediss:// 换成 redis://",
            ),
            Unreadable::NotRedis => Self::new(
                "what it sent is no request of Redis' protocol (RESP)",
                "它发来的不是 Redis 协议（RESP）的请求",
            ),
            Unreadable::NoReplies => Self::new(
                "it sent CLIENT REPLY, and without replies nobody can tell when a request is done",
                "它发了 CLIENT REPLY，没有回复就无法知道请求何时完成",
            ),
            Unreadable::Pause => Self::new(
                "it sent CLIENT PAUSE, and a server that answers nobody cannot be looked at: send CLIENT PAUSE … WRITE, or freeze \
                 the server",
                "它发了 CLIENT PAUSE，服务器谁都不应答，也就无法查看它的内容：请改用 CLIENT PAUSE … WRITE，或者冻结服务器",
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

/// How far a message has been read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scan {
    at: usize,
    /// The number of values still to come.
    open: u64,
    most: usize,
}

impl Scan {
    pub(crate) fn new(most: usize) -> Self {
        Self { at: 0, open: 1, most }
    }

    /// The length of the message at the start of `bytes`, or `None` if it is incomplete. The next call must get the
    /// same bytes and more.
    pub(crate) fn end(&mut self, bytes: &[u8]) -> Result<Option<usize>, Unreadable> {
        while self.open > 0 {
            let rest = &bytes[self.at.min(bytes.len())..];
            let Some(line) = rest.iter().position(|byte| *byte == b'\n') else {
                return if rest.len() > LONGEST_LINE { Err(Unreadable::NotRedis) } else { Ok(None) };
            };
            let Some((kind, text)) = rest[..line].strip_suffix(b"\r").and_then(|line| line.split_first())
            else {
                return Err(Unreadable::NotRedis);
            };
            let mut next = self.at + line + 1;
            let number = || {
                let text = str::from_utf8(text).map_err(|_| Unreadable::NotRedis)?;
                text.parse::<i64>().map_err(|_| Unreadable::NotRedis)
            };
            let mut within = 0;
            match kind {
                b'+' | b'-' | b':' | b',' | b'#' | b'_' | b'(' => {}
                b'$' | b'=' | b'!' => {
                    let length =
                        usize::try_from(number()?.max(-1)).map_or(0, |length| length.saturating_add(2));
                    if length > self.most {
                        return Err(Unreadable::TooLong(self.most));
                    }
                    next += length;
                }
                b'*' | b'~' | b'>' => within = u64::try_from(number()?).unwrap_or(0),
                b'%' => within = u64::try_from(number()?).unwrap_or(0).saturating_mul(2),
                // An attribute precedes its value.
                b'|' => within = u64::try_from(number()?).unwrap_or(0).saturating_mul(2).saturating_add(1),
                _ => return Err(Unreadable::NotRedis),
            }
            let open = (self.open - 1).saturating_add(within);
            if next > self.most || open > MOST_VALUES {
                return Err(Unreadable::TooLong(self.most));
            }
            if next > bytes.len() {
                return Ok(None);
            }
            (self.at, self.open) = (next, open);
        }
        Ok(Some(self.at))
    }
}

/// The length and the words of the request at the start of `bytes`, or `None` if it is incomplete.
pub(crate) fn request(scan: &mut Scan, bytes: &[u8]) -> Result<Option<(usize, Vec<String>)>, Unreadable> {
    match bytes.first() {
        None => Ok(None),
        // The content type "handshake" of TLS.
        Some(0x16) => Err(Unreadable::Tls),
        Some(b'*') => {
            let Some(end) = scan.end(bytes)? else { return Ok(None) };
            let Ok(Value::Array(items)) = parse_redis_value(&bytes[..end]) else {
                return Err(Unreadable::NotRedis);
            };
            let words = items.into_iter().map(|item| match item {
                Value::BulkString(bytes) => Ok(connection::text_of(bytes)),
                _ => Err(Unreadable::NotRedis),
            });
            Ok(Some((end, words.collect::<Result<_, _>>()?)))
        }
        // An inline command, as typed into a telnet session.
        Some(first) if first.is_ascii_alphabetic() || first.is_ascii_whitespace() => {
            let Some(line) = bytes.iter().position(|byte| *byte == b'\n') else {
                return if bytes.len() > LONGEST_LINE { Err(Unreadable::NotRedis) } else { Ok(None) };
            };
            let text = str::from_utf8(&bytes[..line]).map_err(|_| Unreadable::NotRedis)?;
            Ok(Some((line + 1, text.split_whitespace().map(str::to_owned).collect())))
        }
        Some(_) => Err(Unreadable::NotRedis),
    }
}

/// A message from a server.
#[derive(Debug, PartialEq)]
pub(crate) enum Sent {
    Reply(Reply),
    /// Pushed unasked: a published message, as its parts.
    Message(Vec<String>),
    /// The confirmation of one subscription or its end.
    Confirmation(Reply),
}

/// Parses one whole message of a server. `listens`: the connection has subscriptions, so that in RESP2 some lists are
/// no replies.
pub(crate) fn sent(bytes: &[u8], listens: bool) -> Sent {
    let value = parse_redis_value(bytes).and_then(Value::extract_error);
    let pushed = bytes.first() == Some(&b'>');
    let value = value.map(connection::in_resp2);
    if let Ok(Value::Array(items)) = &value
        && (pushed || listens)
        && let Some(kind) = items.first().and_then(text)
    {
        if kind.ends_with("subscribe") {
            return Sent::Confirmation(connection::reply(value));
        }
        if pushed
            && kind == "invalidate"
            && let Some(Value::Array(keys)) = items.get(1)
        {
            let keys: Vec<String> = keys.iter().filter_map(text).collect();
            return Sent::Message(vec![keys.join(" "), kind]);
        }
        if pushed || matches!(kind.as_str(), "message" | "pmessage" | "smessage") && items.len() > 2 {
            return Sent::Message(items.iter().filter_map(text).collect());
        }
    }
    Sent::Reply(connection::reply(value))
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => Some(connection::text_of(bytes.clone())),
        Value::SimpleString(text) => Some(text.clone()),
        Value::Int(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(bytes: &[u8]) -> Result<Option<usize>, Unreadable> {
        Scan::new(LONGEST_ANSWER).end(bytes)
    }

    #[test]
    fn every_kind_of_message_ends_where_it_ends_however_it_is_cut() {
        let messages: [&[u8]; 9] = [
            b"+OK\r\n",
            b"$5\r\nab\r\nc\r\n",
            b"$-1\r\n",
            b"*2\r\n$1\r\na\r\n*2\r\n:1\r\n_\r\n",
            b"*-1\r\n",
            b"%1\r\n+a\r\n#t\r\n",
            b"|1\r\n+ttl\r\n:3\r\n$1\r\nx\r\n",
            b">3\r\n+message\r\n+c\r\n+m\r\n",
            b"~2\r\n,1.5\r\n(123\r\n",
        ];
        for message in messages {
            let followed = [message, b"+MORE\r\n"].concat();
            assert_eq!(whole(&followed), Ok(Some(message.len())), "{}", message.escape_ascii());
            let mut scan = Scan::new(LONGEST_ANSWER);
            for cut in 0..message.len() {
                assert_eq!(scan.end(&followed[..cut]), Ok(None), "{} {cut}", message.escape_ascii());
            }
            assert_eq!(scan.end(message), Ok(Some(message.len())));
        }
    }

    #[test]
    fn what_is_too_long_or_nonsense_is_refused_before_it_is_there() {
        let refused = |bytes: &[u8]| request(&mut Scan::new(LONGEST_REQUEST), bytes);
        assert_eq!(refused(b"*3\r\n$3\r\nSET\r\n$104857600\r\n"), Err(Unreadable::TooLong(LONGEST_REQUEST)));
        assert_eq!(refused(b"*99999999\r\n"), Err(Unreadable::TooLong(LONGEST_REQUEST)));
        assert_eq!(refused(b"\x16\x03\x01\x02\x00"), Err(Unreadable::Tls));
        assert_eq!(refused(b"\x00\x01"), Err(Unreadable::NotRedis));
        assert_eq!(refused(b"*1\r\n:5\r\n"), Err(Unreadable::NotRedis));
        assert_eq!(refused(b"*x\r\n"), Err(Unreadable::NotRedis));
        assert_eq!(refused(&vec![b'a'; LONGEST_LINE + 1]), Err(Unreadable::NotRedis));
        let nested = b"*1\r\n".repeat(LONGEST_ANSWER / 4 + 1);
        assert_eq!(whole(&nested), Err(Unreadable::TooLong(LONGEST_ANSWER)));
    }

    #[test]
    fn requests_are_words() {
        let (_, words) =
            request(&mut Scan::new(100), b"*2\r\n$3\r\nGET\r\n$4\r\na \xff\0\r\n").unwrap().unwrap();
        assert_eq!(words[1], r"a\x20\xff\x00", "bytes that are no text stay different");
        let words = |bytes: &[u8]| request(&mut Scan::new(LONGEST_REQUEST), bytes);
        let expected = Ok(Some((24, ["GET".to_owned(), "lock\n".to_owned()].into())));
        assert_eq!(words(b"*2\r\n$3\r\nGET\r\n$5\r\nlock\n\r\nrest"), expected);
        assert_eq!(words(b"PING\r\nrest"), Ok(Some((6, ["PING".to_owned()].into()))));
        assert_eq!(words(b"*2\r\n$3\r\nGET\r\n$5\r\nlo"), Ok(None));
    }

    #[test]
    fn messages_and_confirmations_are_not_taken_for_replies() {
        let message = Sent::Message(["message", "c", "hello"].map(str::to_owned).into());
        let list = b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$5\r\nhello\r\n";
        assert_eq!(sent(list, true), message);
        assert!(matches!(sent(list, false), Sent::Reply(_)), "a list that somebody has put so");
        let confirmation = b">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n";
        assert!(matches!(sent(confirmation, false), Sent::Confirmation(_)));
        assert_eq!(sent(b"+OK\r\n", false), Sent::Reply(Reply::Value("OK".into())));
        let error = Sent::Reply(Reply::Error { code: "NOSCRIPT".into(), text: "No matching script.".into() });
        assert_eq!(sent(b"-NOSCRIPT No matching script.\r\n", false), error);
    }
}
