//! The protocols between programs and servers, by the server's product: where a message ends, what it asks
//! for, what passes without a turn, and which request a reply answers.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use sha1::{Digest, Sha1};

use super::connection::{RequestInfo, Unanswered};
use crate::{
    log::{
        Command, Product, Reply,
        product::{redis::is_settable, zookeeper::Call},
    },
    server::{
        redis::frames::{self, LONGEST_ANSWER, Scan, Unreadable},
        zookeeper::jute,
    },
    text::{Text, both},
};

/// The most bytes of a request, of any product.
pub(super) const LONGEST_REQUEST: usize = 1 << 20;
const _: () = assert!(LONGEST_REQUEST == frames::LONGEST_REQUEST && LONGEST_REQUEST == jute::LONGEST_REQUEST);

/// Commands that affect the connections of others. They are moves, unless both their words are listed as
/// passing.
const ACTS_ON_OTHERS: [(&str, &str); 4] =
    [("CLIENT", "PAUSE"), ("CLIENT", "UNPAUSE"), ("CLIENT", "KILL"), ("CLIENT", "UNBLOCK")];
/// Commands with which libraries ask for what not every server has. An error in reply means nothing: they go on without.
const ABOUT_ABILITIES: [&str; 2] = ["CLIENT", "COMMAND"];
/// The commands that call a script.
const SCRIPTS: [&str; 4] = ["EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO"];
/// The most characters of a script that are shown.
const LONGEST_SCRIPT: usize = 40;
/// The most scripts of a program whose names are remembered.
const MOST_SCRIPTS: usize = 1000;
/// The most characters of one word of a request that are shown.
const LONGEST_WORD: usize = 400;
/// The same for a word of binary data, such as a pickled object, of which nobody can read more.
const LONGEST_DATA: usize = 40;

/// The protocol state of one connection.
#[derive(Debug)]
pub(super) enum Dialect {
    Redis {
        /// The commands that pass without a turn.
        passes: Arc<[String]>,
        request: Scan,
        reply: Scan,
        /// The number of its subscriptions.
        listens: Subscriptions,
        scripts: Scripts,
    },
    Zookeeper {
        passes: Arc<[String]>,
        /// Whether the program has asked for a session, and whether the server has answered.
        greeted: (bool, bool),
    },
}

/// The number of subscriptions of a connection, as its server reports it with each confirmation: to channels
/// and patterns, and to shard channels, which are counted separately.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Subscriptions {
    channels: u64,
    of_shards: u64,
}

impl Subscriptions {
    fn any(self) -> bool {
        self.channels + self.of_shards > 0
    }

    fn confirmed(&mut self, confirmation: &Reply) {
        let Reply::Value(parts) = confirmation else { return };
        let (Some(kind), Some(number)) = (parts[0].as_str(), parts[2].as_u64()) else { return };
        let counted = if matches!(kind, "ssubscribe" | "sunsubscribe") {
            &mut self.of_shards
        } else {
            &mut self.channels
        };
        *counted = number;
    }
}

/// A message from a server.
pub(super) enum Sent {
    Message {
        about: String,
        what: String,
    },
    Confirmation(Reply),
    /// The session that a connection is given, or 0 if the one that it asked for is over.
    Session(i64),
    /// The reply to the request at this index among the unanswered ones.
    Reply(usize, Reply),
    /// A message that answers no request.
    Nothing,
}

impl Dialect {
    pub(super) fn of(product: Product, passes: &Arc<[String]>, scripts: &Scripts) -> Self {
        let passes = Arc::clone(passes);
        match product {
            Product::Zookeeper => Self::Zookeeper { passes, greeted: (false, false) },
            _ => Self::Redis {
                passes,
                request: Scan::new(LONGEST_REQUEST),
                reply: Scan::new(LONGEST_ANSWER),
                listens: Subscriptions::default(),
                scripts: Arc::clone(scripts),
            },
        }
    }

    /// Returns the length of the request that `bytes` begins with, and what it asks for, or `None` if it is
    /// incomplete.
    pub(super) fn request(&mut self, bytes: &[u8]) -> Result<Option<(usize, Option<RequestInfo>)>, Text> {
        match self {
            Self::Redis { passes, request, scripts, .. } => {
                let Some((end, words)) = frames::request(request, bytes)? else {
                    return Ok(None);
                };
                *request = Scan::new(LONGEST_REQUEST);
                Ok(Some((end, redis(words, passes, scripts)?)))
            }
            Self::Zookeeper { passes, greeted: (asked, _) } => {
                let Some(end) = jute::end(bytes, LONGEST_REQUEST)? else { return Ok(None) };
                let number = if *asked { Some(jute::request(&bytes[4..end])?) } else { None };
                *asked = true;
                let call = number.as_ref().and_then(|number| number.call.clone());
                let command = call.filter(|call| !is_about_ensemble(call)).map(|mut call| {
                    call.texts_mut().into_iter().for_each(shorten);
                    Command::Zookeeper(call)
                });
                let command = command.filter(|command| !is_one_of(passes, command.brief().split(' ')));
                let asked = RequestInfo { command, number, ..RequestInfo::default() };
                Ok(Some((end, Some(asked))))
            }
        }
    }

    /// Returns the length of the message that the server's bytes begin with, and the message, or `None` if it
    /// is incomplete.
    pub(super) fn sent(
        &mut self,
        bytes: &[u8],
        unanswered: &VecDeque<Unanswered>,
    ) -> Result<Option<(usize, Sent)>, Text> {
        match self {
            Self::Redis { reply, listens, .. } => {
                let Some(end) = reply.end(bytes)? else { return Ok(None) };
                *reply = Scan::new(LONGEST_ANSWER);
                let confirms = unanswered.front().is_some_and(|first| first.asked.confirmations > 0);
                let sent = match frames::sent(&bytes[..end], confirms || listens.any()) {
                    frames::Sent::Message(mut parts) => match (parts.pop(), parts.pop()) {
                        (Some(what), Some(about)) => Sent::Message { about, what },
                        _ => Sent::Nothing,
                    },
                    frames::Sent::Confirmation(reply) => {
                        listens.confirmed(&reply);
                        Sent::Confirmation(reply)
                    }
                    frames::Sent::Reply(reply) => {
                        if reply == Reply::Value("RESET".into()) {
                            *listens = Subscriptions::default();
                        }
                        Sent::Reply(0, reply)
                    }
                };
                Ok(Some((end, sent)))
            }
            Self::Zookeeper { greeted: (_, answered), .. } => {
                let Some(end) = jute::end(bytes, jute::LONGEST_ANSWER)? else {
                    return Ok(None);
                };
                let message = &bytes[4..end];
                if !*answered {
                    *answered = true;
                    return Ok(Some((end, jute::session(message).map_or(Sent::Nothing, Sent::Session))));
                }
                let place = |xid| {
                    let is_it =
                        |known: &Unanswered| known.asked.number.as_ref().is_some_and(|it| it.xid == xid);
                    unanswered.iter().position(is_it)
                };
                let asked = |xid| unanswered.get(place(xid)?)?.asked.number.as_ref();
                let sent = match jute::sent(message, asked) {
                    Some(jute::Sent::Fired(about, what)) => Sent::Message { about, what: what.to_owned() },
                    Some(jute::Sent::Reply(xid, reply)) => {
                        place(xid).map_or(Sent::Nothing, |n| Sent::Reply(n, reply))
                    }
                    None => {
                        return Err(Text::new(
                            "its server sent what is no reply of ZooKeeper's protocol",
                            "服务器发来的不是 ZooKeeper 协议的回复",
                        ));
                    }
                };
                Ok(Some((end, sent)))
            }
        }
    }

    /// The message to a program whose connection is about to be closed, if its protocol has errors that it
    /// can read.
    pub(super) fn closing_error(&self, why: &str) -> Vec<u8> {
        match self {
            Self::Redis { .. } => format!("-ERR Lockstep closes this connection: {why}\r\n").into_bytes(),
            Self::Zookeeper { .. } => Vec::new(),
        }
    }
}

/// Interprets a request of the Redis protocol. Returns `None` if the request is empty.
fn redis(words: Vec<String>, passes: &[String], scripts: &Scripts) -> Result<Option<RequestInfo>, Text> {
    let Some(name) = words.first().map(|word| word.to_ascii_uppercase()) else { return Ok(None) };
    let is = |command: &str, part: &str| {
        name == command && words.get(1).is_some_and(|word| word.eq_ignore_ascii_case(part))
    };
    if is("CLIENT", "REPLY") {
        return Err(Unreadable::NoReplies.into());
    }
    if is("CLIENT", "PAUSE") && !words.get(3).is_some_and(|mode| mode.eq_ignore_ascii_case("WRITE")) {
        return Err(Unreadable::Pause.into());
    }
    if is("CONFIG", "SET") {
        // The server's own rules know no parameters.
        let mut set = words.iter().skip(2).step_by(2).map(|parameter| parameter.to_ascii_lowercase());
        if let Some(mut parameter) = set.find(|parameter| !is_settable(parameter)) {
            shorten(&mut parameter);
            return Err(both!(
                "it sent CONFIG SET {parameter}, which a program may not set here: it may set how the server stores, evicts, \
                 persists and replicates (docs/safety.md lists the parameters)",
                "它发了 CONFIG SET {parameter}，这个参数程序不能设置：可以设置存储、淘汰、持久化和复制方面的参数（docs/safety.md 列出了全部）"
            ));
        }
    }
    let passes = is_one_of(passes, words.iter().map(String::as_str));
    let confirmations = if name.ends_with("SUBSCRIBE") { (words.len() - 1).max(1) } else { 0 };
    let calls = SCRIPTS.contains(&name.as_str());
    let database = words.get(1).filter(|number| name == "SELECT" && *number != "0").cloned();
    let command = (!passes).then(|| shown(words, scripts));
    let passes = Some(name).filter(|name| passes && !ABOUT_ABILITIES.contains(&name.as_str()));
    Ok(Some(RequestInfo { command, number: None, calls, confirmations, database, passes }))
}

/// Whether a command is listed in `known`, by its first word or its first two.
fn is_one_of<'a>(known: &[String], mut words: impl Iterator<Item = &'a str>) -> bool {
    let (name, part) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is = |command: &str, of: &str| name.eq_ignore_ascii_case(command) && part.eq_ignore_ascii_case(of);
    known.iter().any(|known| match known.split_once(' ') {
        Some((command, of)) => is(command, of),
        None => {
            name.eq_ignore_ascii_case(known) && !ACTS_ON_OTHERS.iter().any(|(command, of)| is(command, of))
        }
    })
}

/// Whether a call asks which servers there are: Curator does so whenever it has connected.
fn is_about_ensemble(call: &Call) -> bool {
    matches!(call, Call::Get { path, .. } if path == "/zookeeper/config")
}

fn shorten(word: &mut String) {
    let is_data = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    let most = if word.contains(is_data) || word.contains("\\x") { LONGEST_DATA } else { LONGEST_WORD };
    if let Some((end, _)) = word.char_indices().nth(most) {
        // An escaped byte stays whole, and counts as one.
        let end = word[..end].rfind("\\x").filter(|escape| end - escape < 4).unwrap_or(end);
        let left = word[end..].len() - 3 * word[end..].matches("\\x").count();
        word.truncate(end);
        // Without blanks: a word with blanks is quoted, and the escapes in it are escaped once more.
        *word = format!("{word}…(+{left}B)");
    }
}

/// The first statement of a script that names no script yet, as those of one library may begin alike; else the very first.
fn first_line(script: &str, known: &BTreeMap<String, String>) -> String {
    let named = |line: &str| -> String { line.trim().chars().take(LONGEST_SCRIPT).collect() };
    let text = first_statement(script);
    let is_free = |line: &&str| !known.values().any(|name| *name == named(line));
    let mut lines =
        text.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("--"));
    let line = lines.find(is_free).or_else(|| text.lines().next()).unwrap_or_default();
    named(line)
}

/// A Lua script without the comments that it begins with, or with them if there is nothing else.
fn first_statement(text: &str) -> &str {
    let text = text.trim_start();
    let mut rest = text;
    while rest.starts_with("--") || rest.starts_with("#!") {
        let end = if rest.starts_with("--[[") { "]]" } else { "\n" };
        rest = rest.split_once(end).map_or("", |(_, after)| after.trim_start());
    }
    if rest.is_empty() { text } else { rest }
}

/// The names by which a program's scripts are shown, by their hash, or by its beginning if a lesson names them: a library
/// that sends a script's text first and its hash later has one script, and so one name.
pub(super) type Scripts = Arc<Mutex<BTreeMap<String, String>>>;

/// A script by its name in the lesson, or else by the beginning of its hash or text, whichever the program has sent first.
fn script_name(script: &str, known: &Scripts) -> String {
    let is_hash = script.len() == 40 && script.bytes().all(|byte| byte.is_ascii_hexdigit());
    let hash =
        if is_hash { script.to_ascii_lowercase() } else { format!("{:x}", Sha1::digest(script.as_bytes())) };
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    // Of all keys that the hash begins with, only those of its own beginning sort right before it.
    if let Some((_, name)) =
        known.range(..=hash.clone()).next_back().filter(|(key, _)| hash.starts_with(*key))
    {
        return name.clone();
    }
    let name = if is_hash { format!("{}…", &script[..8]) } else { first_line(script, &known) };
    if known.len() < MOST_SCRIPTS {
        known.insert(hash, name.clone());
    }
    name
}

/// A request as it is shown: scripts by their names, long words shortened.
fn shown(mut words: Vec<String>, scripts: &Scripts) -> Command {
    let is_script = words.first().is_some_and(|word| SCRIPTS.contains(&word.to_ascii_uppercase().as_str()));
    let keys = words.get(2).and_then(|number| number.parse::<usize>().ok());
    let keys = keys.filter(|keys| is_script && *keys <= words.len() - 3);
    let name = keys.map(|_| script_name(&words[1], scripts));
    words.iter_mut().for_each(shorten);
    if let (Some(name), Some(keys)) = (name, keys) {
        let mut rest = words.split_off(3);
        let args = rest.split_off(keys);
        return Command::Script { name, keys: rest, args };
    }
    Command::Redis(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_named_by_its_first_statement() {
        for text in [
            "\n  return 1",
            "-- Returns 1.\n-- Always.\nreturn 1\n",
            "--[[ Returns\n1 ]]\n\treturn 1",
            "#!lua flags=\nreturn 1",
        ] {
            assert_eq!(first_statement(text).trim_end(), "return 1", "{text}");
        }
        assert_eq!(first_statement(" -- nothing"), "-- nothing");
    }

    #[test]
    fn scripts_that_begin_alike_have_names_of_their_own() {
        let scripts = Scripts::default();
        let begin = "-- if it can\nredis.pcall('SELECT', ARGV[1])\n\n";
        let named = |rest: &str| script_name(&format!("{begin}{rest}"), &scripts);
        assert_eq!(named("-- takes\nreturn 1"), "redis.pcall('SELECT', ARGV[1])");
        assert_eq!(named("-- gives\n  return 2"), "return 2");
        assert_eq!(named("-- takes\nreturn 1"), "redis.pcall('SELECT', ARGV[1])");
        assert_eq!(named("return 2"), "redis.pcall('SELECT', ARGV[1])");
    }

    #[test]
    fn a_script_has_one_name_whether_its_text_or_its_hash_is_sent() {
        let name = |scripts: &Scripts, script: &str| {
            let words = ["EVAL", script, "1", "lock", "a"].map(str::to_owned).to_vec();
            let Command::Script { name, keys, args } = shown(words, scripts) else { panic!("{script}") };
            assert_eq!((keys, args), (vec!["lock".to_owned()], vec!["a".to_owned()]));
            name
        };
        // SHA-1 of the text.
        let (text, hash) = ("return 1", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
        let scripts = Scripts::default();
        assert_eq!([name(&scripts, text), name(&scripts, hash)], ["return 1", "return 1"]);
        let scripts = Scripts::default();
        assert_eq!([name(&scripts, hash), name(&scripts, text)], ["e0e1f9fa…", "e0e1f9fa…"]);
        let commented = format!("--[[{}]]\nreturn 2", " long".repeat(200));
        assert_eq!(name(&scripts, &commented), "return 2", "a comment longer than what is shown of a word");
    }

    #[test]
    fn a_lesson_may_name_the_scripts_of_a_library() {
        let names = [("e0e1f9fa", "take"), ("e0e1f9fab", "longer"), ("e0e1f9fb", "other")];
        let names = names.map(|(hash, name)| (hash.to_owned(), name.to_owned()));
        let scripts: Scripts = Arc::new(Mutex::new(names[..1].iter().cloned().collect()));
        let hash = "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB";
        assert_eq!(["return 1", hash].map(|script| script_name(script, &scripts)), ["take", "take"]);
        let scripts: Scripts = Arc::new(Mutex::new(names.into_iter().collect()));
        assert_eq!(script_name(hash, &scripts), "longer");
        assert_eq!(script_name("return 2", &scripts), "return 2");
    }

    #[test]
    fn binary_data_is_truncated() {
        let text = "{\n\t\"lock\": 1}".repeat(20);
        for (word, shown_chars) in [(text.as_str(), text.chars().count()), (&"\0x".repeat(50), LONGEST_DATA)]
        {
            let Command::Redis(words) = shown(vec!["SET".to_owned(), word.to_owned()], &Scripts::default())
            else {
                panic!()
            };
            assert!(words[1].starts_with(&word[..shown_chars]), "{}", words[1]);
            assert_eq!(words[1].contains("(+60B)"), shown_chars == LONGEST_DATA, "{}", words[1]);
        }
        let mut token = r"a\xff".repeat(20);
        shorten(&mut token);
        assert_eq!(token, format!("{}…(+24B)", r"a\xff".repeat(8)));
        let mut token = r"\xff".repeat(20) + "b";
        token.insert(0, 'a');
        shorten(&mut token);
        assert_eq!(token, format!("a{}…(+12B)", r"\xff".repeat(9)), "no escape is cut in two");
    }

    #[test]
    fn replies_are_no_messages_after_unsubscribing() {
        let passes = Product::Redis.traits().housekeeping.iter().map(ToString::to_string).collect();
        let mut dialect = Dialect::of(Product::Redis, &passes, &Scripts::default());
        let mut unanswered = VecDeque::new();
        let mut exchange = |request: &[u8], answer: &[u8]| {
            let (_, asked) = dialect.request(request).expect("a request").expect("a whole one");
            unanswered.push_back(Unanswered { op: None, asked: asked.expect("it asks for something") });
            let (_, sent) = dialect.sent(answer, &unanswered).expect("an answer").expect("a whole one");
            unanswered.clear();
            sent
        };
        let message = b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n";
        let list = |sent| matches!(sent, Sent::Reply(0, Reply::Value(_)));
        assert!(list(exchange(b"LRANGE l 0 -1\r\n", message)));
        let subscribed = exchange(b"SUBSCRIBE c\r\n", b"*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
        assert!(matches!(subscribed, Sent::Confirmation(_)));
        assert!(matches!(exchange(b"PING\r\n", message), Sent::Message { .. }));
        let over = exchange(b"UNSUBSCRIBE\r\n", b"*3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:0\r\n");
        assert!(matches!(over, Sent::Confirmation(_)));
        assert!(list(exchange(b"LRANGE l 0 -1\r\n", message)), "it listens no longer");
        exchange(b"SSUBSCRIBE c\r\n", b"*3\r\n$10\r\nssubscribe\r\n$1\r\nc\r\n:1\r\n");
        assert!(matches!(exchange(b"PING\r\n", message), Sent::Message { .. }));
        exchange(b"RESET\r\n", b"+RESET\r\n");
        assert!(list(exchange(b"LRANGE l 0 -1\r\n", message)), "nor after a reset");
    }
}
