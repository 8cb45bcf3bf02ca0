//! The kinds of answers that operations give, as far as their commands tell, and checks for uses that no such answer
//! allows.

use super::{
    super::{
        super::{
            duration::parse_signed_millis,
            error::{ALIKE, Finding, finding, nearest, suggestion},
            expr::{Mentions, Template},
            has_word,
        },
        PlannedVerb,
        call::PlannedCall,
    },
    comparison::{Literal, literal},
};
use crate::{
    log::Product,
    text::{Text, both},
};

/// The kind of answer of an operation, as far as its command tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Number,
    /// A text, such as the value of a key.
    Text,
    /// The path of a znode.
    Path,
    /// The path of a sequential znode, which ends with a number of ten digits.
    Numbered,
    /// A znode's name without its parent's path.
    Name,
    /// `OK`, or nil.
    Ok,
    Several,
    /// A list of rows, each with its columns.
    Rows,
    /// A list of texts.
    Texts,
    /// `DELETE`: the answer of an etcd watch that has seen a deletion.
    Deleted,
    /// `QUEUED`, in a Redis transaction: `EXEC` returns the replies.
    Queued,
    /// An object with these fields.
    Object(&'static [&'static str]),
}

/// The fields of a znode's stat.
pub(super) const STAT: &[&str] = &[
    "czxid", "mzxid", "pzxid", "ctime", "mtime", "version", "cversion", "aversion", "length", "children",
    "owner",
];
/// The fields of an etcd key.
const ENTRY: &[&str] = &["key", "value", "create_revision", "mod_revision", "lease"];
const ENTRY_BEFORE: &[&str] = &["key", "value", "create_revision", "mod_revision", "lease", "revision"];
const NOTIFICATION: &[&str] = &["about", "what"];

const NUMBERS: &str = "
    DEL UNLINK EXISTS INCR DECR INCRBY DECRBY STRLEN APPEND EXPIRE PEXPIRE EXPIREAT PEXPIREAT PERSIST TTL PTTL SETNX HSET
    HSETNX HDEL HEXISTS HLEN HINCRBY LPUSH RPUSH LLEN LREM SADD SREM SCARD SISMEMBER ZREM ZCARD PUBLISH COPY RENAMENX
    DBSIZE WAIT TOUCH MSETNX ZRANK ZREVRANK ZCOUNT XLEN XACK XDEL PFCOUNT
";
/// Commands that answer a number in every case.
const NEVER_NIL: &str = "
    DEL UNLINK EXISTS INCR DECR INCRBY DECRBY STRLEN APPEND EXPIRE PEXPIRE PERSIST TTL PTTL SETNX HSET HSETNX HDEL HEXISTS HLEN
    HINCRBY LPUSH RPUSH LLEN LREM SADD SREM SCARD SISMEMBER ZREM ZCARD ZCOUNT PUBLISH XLEN XACK WAIT
";
const TEXTS: &str = "
    GET GETSET GETDEL HGET LPOP RPOP LINDEX TYPE ZSCORE ZINCRBY INCRBYFLOAT HINCRBYFLOAT GEODIST
";
const SEVERAL: &str = "
    HGETALL ZRANGE EXEC XREAD XREADGROUP XRANGE XREVRANGE XPENDING XCLAIM XAUTOCLAIM ZREVRANGE ZRANGEBYSCORE
";
const LISTS: &str = "MGET HKEYS HVALS LRANGE SMEMBERS KEYS HMGET BLPOP BRPOP";

impl Answer {
    pub(crate) fn of(verb: &PlannedVerb) -> Option<Self> {
        match verb {
            PlannedVerb::Redis(words) => {
                let word = |n: usize| Some(words.get(n)?.to_string().to_ascii_uppercase());
                let name = word(0)?;
                let is_in = |list: &str| has_word(list, &name);
                // `LPOP key 2` answers a list.
                let alone = || !matches!(name.as_str(), "LPOP" | "RPOP") || words.len() == 2;
                match () {
                    () if is_in(NUMBERS) => Some(Self::Number),
                    () if is_in(TEXTS) && alone() => Some(Self::Text),
                    () if is_in(SEVERAL) => Some(Self::Several),
                    () if is_in(LISTS) => Some(Self::Texts),
                    () if name == "SET" => {
                        // With `GET` the answer is the old value. A parameter could be that option, too.
                        let is_time =
                            |n: usize| matches!(word(n - 1).as_deref(), Some("EX" | "PX" | "EXAT" | "PXAT"));
                        let is_plain = |n: usize| {
                            if words[n].is_literal() { word(n).as_deref() != Some("GET") } else { is_time(n) }
                        };
                        let plain = (3..words.len()).all(is_plain);
                        plain.then_some(Self::Ok)
                    }
                    () if matches!(name.as_str(), "SETEX" | "PSETEX" | "MSET" | "HMSET") => Some(Self::Ok),
                    () => None,
                }
            }
            PlannedVerb::Call(call) => match (call.product(), call.name()) {
                (Product::Zookeeper, "create") if call.has_flag("-s") => Some(Self::Numbered),
                (Product::Zookeeper, "create") => Some(Self::Path),
                (Product::Zookeeper, "get") => Some(Self::Text),
                (Product::Zookeeper | Product::Etcd, "ls") | (Product::Zookeeper, "multi") => {
                    Some(Self::Several)
                }
                (Product::Zookeeper, "delete") | (Product::Etcd, "put" | "put-if" | "revoke") => {
                    Some(Self::Ok)
                }
                (Product::Zookeeper, "exists" | "set") => Some(Self::Object(STAT)),
                (Product::Etcd, "get") => Some(Self::Object(ENTRY)),
                (Product::Etcd, "before") => Some(Self::Object(ENTRY_BEFORE)),
                (Product::Etcd, "create") => Some(Self::Object(&["create_revision"])),
                (Product::Etcd, "grant" | "keepalive" | "delete") => Some(Self::Number),
                (Product::Etcd, "watch") => Some(Self::Deleted),
                (Product::Mariadb, _) => {
                    let statement = call.operands("TEXT").next()?.to_string();
                    match statement.split_whitespace().next()?.to_ascii_uppercase().as_str() {
                        "SELECT" | "WITH" => Some(Self::Rows),
                        "INSERT" | "UPDATE" | "DELETE" | "REPLACE" => Some(Self::Number),
                        "BEGIN" | "START" | "COMMIT" | "ROLLBACK" | "SET" => Some(Self::Ok),
                        _ => None,
                    }
                }
                _ => None,
            },
            PlannedVerb::Local { .. } | PlannedVerb::Flock { .. } => Some(Self::Ok),
            PlannedVerb::Take(_) => Some(Self::Object(NOTIFICATION)),
            PlannedVerb::Script { source, .. } => Self::of_script(source),
            PlannedVerb::Wait(_) | PlannedVerb::Given(_) => None,
        }
    }

    /// Whether the answer is one value, without fields or items.
    pub(super) fn has_no_parts(self) -> bool {
        matches!(self, Self::Number | Self::Ok | Self::Text | Self::Path | Self::Numbered | Self::Deleted)
    }

    /// Whether this is what a `take` answers.
    pub(crate) fn is_notification(self) -> bool {
        self == Self::Object(NOTIFICATION)
    }

    /// The answer to a command of which some words are computed.
    pub(crate) fn of_words(words: &[Option<String>]) -> Option<Self> {
        let word = |word: &Option<String>| Template::literal(word.clone().unwrap_or_default());
        Self::of(&PlannedVerb::Redis(words.iter().map(word).collect()))
    }

    /// Whether a command answers a number in every case.
    pub(crate) fn is_never_nil(name: &str) -> bool {
        has_word(NEVER_NIL, &name.to_ascii_uppercase())
    }

    /// The finding about a test for nil on an operation that always answers a number or `OK`.
    pub(crate) fn nil_lint(verb: &PlannedVerb, name: &str) -> Option<Finding> {
        if Self::of(verb) == Some(Self::Deleted) {
            return Some(finding!(
                "a watch answers 'DELETE' once the key is gone: `{name}` is never `none`",
                "键被删除时 watch 回复 'DELETE'：`{name}` 不会是 `none`",
                "write `{name} == 'DELETE'`",
                "请写 `{name} == 'DELETE'`"
            ));
        }
        if let PlannedVerb::Script { name: script, source, .. } = verb {
            return always_number(source).then(|| {
                finding!(
                    "the script `{script}` always answers a number: `{name}` is never `none`",
                    "脚本 `{script}` 总是返回数字：`{name}` 不会是 `none`",
                    "such as `{name} == 0`",
                    "例如 `{name} == 0`"
                )
            });
        }
        if let PlannedVerb::Call(call) = verb {
            return of_call(call, name);
        }
        if let PlannedVerb::Take(take) = verb {
            let for_ever = |within: &Template| {
                within.is_literal() && parse_signed_millis(&within.to_string()).is_ok_and(|millis| millis < 0)
            };
            return take.within.as_ref().is_none_or(for_ever).then(|| {
                finding!(
                    "without `within` it waits until something comes: `{name}` is never `none`",
                    "没有 `within` 时会一直等到有通知：`{name}` 不会是 `none`",
                    "say how long it waits at most: `take: {{ from: …, within: 3s }}`",
                    "请写最多等多久：`take: {{ from: …, within: 3s }}`"
                )
            });
        }
        if matches!(verb, PlannedVerb::Local { .. } | PlannedVerb::Flock { .. }) {
            return Some(finding!(
                "it answers 'OK', or an error: `{name}` is never `none`",
                "它要么回复 'OK'，要么报错：`{name}` 不会是 `none`",
                "such as `{name} == 'OK'`",
                "例如 `{name} == 'OK'`"
            ));
        }
        let PlannedVerb::Redis(words) = verb else { return None };
        let command = words[0].to_string().to_ascii_uppercase();
        if Self::is_never_nil(&command) {
            return Some(finding!(
                "`{command}` always answers a number: `{name}` is never `none`",
                "`{command}` 总是回复数字：`{name}` 不会是 `none`",
                "such as `{name} == 0`",
                "例如 `{name} == 0`"
            ));
        }
        let is_time = |n: usize| {
            ["EX", "PX", "EXAT", "PXAT"].iter().any(|time| time.eq_ignore_ascii_case(&words[n].to_string()))
        };
        let is_plain = |n: usize| {
            let is_option =
                ["XX", "NX", "GET"].iter().any(|word| word.eq_ignore_ascii_case(&words[n].to_string()));
            is_time(n - 1) || (words[n].is_literal() && !is_option && !words[n].to_string().starts_with("IF"))
        };
        let always = matches!(command.as_str(), "SETEX" | "PSETEX" | "MSET" | "HMSET")
            || (command == "SET" && (3..words.len()).all(is_plain));
        always.then(|| {
            finding!("`{command}` without `NX` always answers 'OK': `{name}` is never `none`", "没有 `NX` 的 `{command}` 总是回复 'OK'：`{name}` 不会是 `none`", "write `SET key value NX` where somebody else may hold the key; a reply that was lost is 'Lost'", "想在键已存在时不写入，请写 `SET key value NX`；丢失的回复是 'Lost'")
        })
    }

    /// The answer of a script, if all its `return` statements give a number, or all a table.
    fn of_script(source: &str) -> Option<Self> {
        let is_number = |returned: &str| {
            let returned = returned.trim_start();
            let figure = returned.strip_prefix('-').unwrap_or(returned);
            let called =
                returned.strip_prefix("redis.call(").map(|rest| rest.trim_start_matches(['\'', '"']));
            let command = called.and_then(|rest| rest.split(['\'', '"']).next());
            figure.starts_with(|c: char| c.is_ascii_digit())
                || command.is_some_and(|name| has_word(NUMBERS, &name.to_ascii_uppercase()))
        };
        let is_nothing = |returned: &str| returned.starts_with("false") || returned.starts_with("nil");
        let all: Vec<&str> = source.split("return ").skip(1).map(str::trim_start).collect();
        let said: Vec<&str> = all.iter().copied().filter(|returned| !is_nothing(returned)).collect();
        match () {
            () if said.is_empty() => None,
            () if said.iter().all(|returned| is_number(returned)) => Some(Self::Number),
            // The items of a table may be of any kind.
            () if all.iter().all(|returned| {
                let first = returned.strip_prefix('{').map(str::trim_start);
                first.is_some_and(|first| {
                    !["ok", "err", "map", "double"].iter().any(|key| first.starts_with(key))
                })
            }) =>
            {
                Some(Self::Several)
            }
            () => None,
        }
    }
}

/// The finding about a test for nil on a call that answers something in every case.
fn of_call(call: &PlannedCall, name: &str) -> Option<Finding> {
    let statement = call.operands("TEXT").next().map(Template::to_string).unwrap_or_default();
    let first = statement.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
    match (call.product(), call.name()) {
        (Product::Mariadb, _) if matches!(first.as_str(), "INSERT" | "UPDATE" | "DELETE" | "REPLACE") => {
            Some(finding!(
                "`{first}` answers how many rows it changed: `{name}` is never `none`",
                "`{first}` 回复改动的行数：`{name}` 不会是 `none`",
                "such as `{name} == 0`",
                "例如 `{name} == 0`"
            ))
        }
        (Product::Mariadb, _) if matches!(first.as_str(), "SELECT" | "WITH") => Some(finding!(
            "`{first}` answers a list, empty where no row fits: `{name}` is never `none`",
            "`{first}` 回复列表，没有符合的行时是空列表：`{name}` 不会是 `none`",
            "such as `{name}|length == 0`",
            "例如 `{name}|length == 0`"
        )),
        (Product::Zookeeper, verb @ ("create" | "delete" | "set" | "ls" | "multi"))
        | (Product::Etcd, verb @ ("grant" | "put" | "create" | "ls" | "delete" | "revoke")) => {
            Some(finding!(
                "`{verb}` answers something, or an error: `{name}` is never `none`",
                "`{verb}` 要么有回复，要么报错：`{name}` 不会是 `none`",
                "let it allow the error, such as `allow: [NoNode]`, and ask for `error`",
                "请允许这个错误，例如 `allow: [NoNode]`，再判断 `error`"
            ))
        }
        _ => None,
    }
}

/// Whether a script ends with a `return`, and each of its `return` statements gives a number that is never nil.
fn always_number(source: &str) -> bool {
    let code: Vec<&str> =
        source.lines().map(|line| line.split("--").next().unwrap_or_default().trim()).collect();
    let ends = code.iter().rfind(|line| !line.is_empty()).is_some_and(|line| line.starts_with("return "));
    // The command whose reply a local variable keeps.
    let kept = |name: &str| {
        let mut given = code.iter().filter_map(|line| {
            let (left, right) = line.split_once('=')?;
            (left.trim().trim_start_matches("local ").trim() == name).then_some(right.trim())
        });
        let first = given.next().filter(|_| given.next().is_none())?;
        let (command, rest) = first.strip_prefix("redis.call('")?.split_once('\'')?;
        (rest.ends_with(')') && rest.matches(')').count() == 1).then_some(command)
    };
    let is_number = |line: &str| {
        let returned = line.split(" end").next().unwrap_or_default().trim().trim_end_matches(';');
        let command = returned.strip_prefix("redis.call('").and_then(|rest| rest.split_once('\''));
        let is_alone = returned.ends_with(')') && returned.matches("call(").count() == 1;
        returned.parse::<i64>().is_ok()
            || kept(returned).is_some_and(Answer::is_never_nil)
            || command.is_some_and(|(name, rest)| {
                let computes = ["=", "<", ">", " and ", " or "].iter().any(|sign| rest.contains(sign));
                is_alone && !computes && Answer::is_never_nil(name)
            })
    };
    let is_bare = code.iter().any(|line| line.ends_with("return"));
    let all = code.join("\n");
    let mut returned = all.split("return ").skip(1).map(|rest| rest.lines().next().unwrap_or_default());
    ends && !is_bare && returned.all(is_number)
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// The finding about a field that an answer does not have, or that belongs to the items of a list.
fn of_fields(name: &str, field: &str, answer: Answer) -> Option<Finding> {
    let is_index = field.bytes().all(|byte| byte.is_ascii_digit());
    match answer {
        Answer::Object(fields) if !fields.contains(&field) && !is_index => {
            let message = both!("what `{name}` answers has no `.{field}`", "`{name}` 的回复没有 `.{field}`");
            let known = fields.join(", ");
            // ZooKeeper's own name for `version` is `dataVersion`.
            let whole = fields.iter().copied().find(|known| field == format!("data{}", capital(known)));
            let help = suggestion(whole.or_else(|| nearest(field, fields.iter().copied(), ALIKE)), || {
                both!("it has {known}", "它有 {known}")
            });
            Some(Finding { message, help })
        }
        Answer::Several | Answer::Rows | Answer::Texts if !is_index => Some(finding!(
            "`{name}` answers a list, which has no `.{field}`",
            "`{name}` 的回复是列表，没有 `.{field}`",
            "ask for one of its items: `{name}[0].{field}`",
            "请取其中一项：`{name}[0].{field}`"
        )),
        _ if answer.has_no_parts() && !is_index => Some(Finding {
            message: both!("what `{name}` answers has no `.{field}`", "`{name}` 的回复没有 `.{field}`"),
            help: both!("ask for the answer itself: `{name}`", "请直接用回复：`{name}`"),
        }),
        _ => None,
    }
}

/// The finding about fields in an expression that replies do not have. `answer` gives the kind of answer for a name such
/// as `look` or `A.look`, `columns` the columns of its rows.
pub(crate) fn field_lint(
    source: &str,
    answer: impl Fn(&str) -> Option<Answer>,
    columns: impl Fn(&str) -> Option<Vec<String>>,
) -> Option<Finding> {
    let mentions = Mentions::of(source);
    let of_path = mentions.paths.iter().find_map(|path| {
        if let ["none" | "true" | "false", field, ..] =
            &path.iter().map(String::as_str).collect::<Vec<_>>()[..]
        {
            let word = &path[0];
            return Some(finding!(
                "`{word}` is a value without fields: it has no `.{field}`",
                "`{word}` 没有字段，没有 `.{field}`",
                "write `{word}` alone, such as `reply is none`",
                "请只写 `{word}`，例如 `reply is none`"
            ));
        }
        (1..path.len()).find_map(|n| {
            let name = path[..n].join(".");
            of_fields(&name, &path[n], answer(&name)?)
        })
    });
    let by_number = || {
        source.match_indices("[0][").find_map(|(at, _)| {
            let name = source[..at]
                .rsplit(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.')))
                .next()?;
            let columns = columns(name)?;
            let column = source[at + 4..].split_once(']')?.0.parse::<usize>().ok()?;
            let column = columns.get(column).or(columns.first())?;
            Some(Finding {
                message: both!("a row's columns have names, and no numbers", "行里的列用名字取，不用序号"),
                help: both!("write `{name}[0].{column}`", "请写 `{name}[0].{column}`"),
            })
        })
    };
    of_path.or_else(by_number).or_else(|| {
        // Such as `look[0].stock`.
        source.match_indices("[0].").find_map(|(at, index)| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
            let rest = &source[at + index.len()..];
            let name = source[..at].rsplit(|c| !is_part(c)).next()?;
            let field = &rest[..rest.find(|c| !is_part(c) || c == '.').unwrap_or(rest.len())];
            let columns = columns(name)?;
            if columns.iter().any(|column| column == field) {
                return None;
            }
            let message =
                both!("the rows of `{name}` have no column `{field}`", "`{name}` 的结果里没有列 `{field}`");
            let known = columns.join(", ");
            let alike = columns.iter().map(String::as_str).find(|column| column.eq_ignore_ascii_case(field));
            let help = suggestion(
                alike.or_else(|| nearest(field, columns.iter().map(String::as_str), ALIKE)),
                || both!("they have {known}", "结果里有 {known}"),
            );
            Some(Finding { message, help })
        })
    })
}

/// Whether a text may be an error code: `NoNode`, `WRONGTYPE`, `1205`, `Lost`.
fn is_code(text: &str) -> bool {
    let is_number = text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number || (text.len() > 2 && text.starts_with(|c: char| c.is_ascii_uppercase()))
}

fn of_queued(left: &str, right: &str) -> Finding {
    finding!(
        "between `MULTI` and `EXEC` `{left}` answers 'QUEUED', never {right}",
        "在 `MULTI` 和 `EXEC` 之间，`{left}` 的回复是 'QUEUED'，不会是 {right}",
        "ask for an item of what `EXEC` answers: `exec[0]`",
        "请取 `EXEC` 回复里的一项：`exec[0]`"
    )
}

fn of_several(left: &str, value: &Literal<'_>, right: &str) -> Finding {
    let help = match value {
        Literal::Flag => both!("where there is none: `{left} is none`", "没有结果时请写 `{left} is none`"),
        _ => both!(
            "such as `{left}|length == 1`, or `{left}[0]`",
            "例如 `{left}|length == 1`，或者 `{left}[0]`"
        ),
    };
    Finding {
        message: both!("`{left}` answers a list, never {right}", "`{left}` 的回复是列表，不会是 {right}"),
        help,
    }
}

fn of_rows(left: &str, right: &str) -> Finding {
    finding!(
        "`{left}` answers a list of rows, never {right}",
        "`{left}` 的回复是若干行，不会是 {right}",
        "such as `{left}|length == 1`; or give a column a name, `… AS got`, then `{left}[0].got == {right}`",
        "例如 `{left}|length == 1`；或者给列起个名字 `… AS got`，再写 `{left}[0].got == {right}`"
    )
}

/// The finding about a whole row, such as `reply[0]`, that is compared with a fixed value.
pub(super) fn of_row(left: &str, operator: &str, right: &str) -> Finding {
    finding!(
        "`{left}` is a row, never {right}",
        "`{left}` 是一整行，不会是 {right}",
        "ask for a column: give it a name, `… AS got`, then `{left}.got {operator} {right}`",
        "请取其中一列：给列起个名字 `… AS got`，再写 `{left}.got {operator} {right}`"
    )
}

fn of_name(left: &str, path: &str, right: &str) -> Finding {
    let name = path.rsplit('/').next().unwrap_or_default();
    finding!(
        "`{left}` is a name without its path, never {right}",
        "`{left}` 只是名字，不带路径，不会是 {right}",
        "write `{left} == '{name}'`",
        "请写 `{left} == '{name}'`"
    )
}

/// The finding about a variable that holds a znode's name or path and is compared with what it never is.
pub(crate) fn of_named(left: &str, kind: Answer, operator: &str, right: &str) -> Option<Finding> {
    let value = literal(right)?;
    if matches!(value, Literal::Text("")) {
        let test = if operator == "!=" { "is not none" } else { "is none" };
        return Some(finding!(
            "`{left}` is never empty: where there is no znode it is `none`",
            "`{left}` 不会是空文字：没有 znode 时是 `none`",
            "write `{left} {test}`",
            "请写 `{left} {test}`"
        ));
    }
    of_answer(left, kind, matches!(operator, "==" | "!="), &value, right)
}

/// The finding about the path of a sequential znode without its ten digits.
fn of_numbered(left: &str, path: &str, right: &str) -> Option<Finding> {
    let name = path.trim_end_matches(|c: char| c.is_ascii_digit());
    let number: u32 = path[name.len()..].parse().unwrap_or(0);
    (path.len() - name.len() != 10).then(|| {
        finding!(
            "`{left}` ends with ten digits, which the server appends, and is never {right}",
            "`{left}` 末尾有服务器加上的十位序号，不会是 {right}",
            "write `{left} == '{name}{number:010}'`, or ask for its number: `{left}|suffix == {number}`",
            "请写 `{left} == '{name}{number:010}'`，或者只比较序号：`{left}|suffix == {number}`"
        )
    })
}

/// What to compare a path with: with a whole one, if the author wrote the name of a sequential znode.
fn whole_path(left: &str, value: &Literal<'_>) -> Text {
    match value {
        Literal::Text(name) if name.bytes().rev().take_while(u8::is_ascii_digit).count() >= 10 => {
            both!("write the whole path: `{left} == '/…/{name}'`", "请写完整路径：`{left} == '/…/{name}'`")
        }
        _ => both!("such as `{left} == '/lock'`", "例如 `{left} == '/lock'`"),
    }
}

fn of_object(left: &str, fields: &[&str], right: &str) -> Finding {
    let known = ["version", "value"].into_iter().find(|field| fields.contains(field));
    let field = known.unwrap_or(fields[fields.len() - 1]);
    finding!(
        "`{left}` answers an object, never {right}",
        "`{left}` 的回复是一个对象，不会是 {right}",
        "such as `{left} is not none`, or ask for a field of it: `{left}.{field}`",
        "例如 `{left} is not none`，或者取它的字段：`{left}.{field}`"
    )
}

pub(super) fn of_answer(
    left: &str,
    kind: Answer,
    equal: bool,
    value: &Literal<'_>,
    right: &str,
) -> Option<Finding> {
    let digits = |text: &str| text.parse::<i64>().is_ok();
    match (kind, value) {
        // In a claim the reply may be an error code, such as MariaDB's '1062'.
        (Answer::Number, Literal::Text(text)) if digits(text) && !is_code(text) => Some(finding!(
            "`{left}` answers a number, never the text {right}",
            "`{left}` 的回复是数字，不会是文字 {right}",
            "without quotes: `{left} == {text}`",
            "去掉引号：`{left} == {text}`"
        )),
        (Answer::Number, Literal::Text(text)) if equal && (*text == "OK" || !is_code(text)) => {
            Some(finding!(
                "`{left}` answers a number, never {right}",
                "`{left}` 的回复是数字，不会是 {right}",
                "such as `{left} == 1`",
                "例如 `{left} == 1`"
            ))
        }
        (Answer::Numbered, Literal::Text(text)) if text.starts_with('/') => of_numbered(left, text, right),
        (Answer::Path | Answer::Numbered, Literal::Flag | Literal::Text(_)) if !matches!(value, Literal::Text(text) if text.starts_with('/') || is_code(text)) => {
            Some(Finding {
                message: both!(
                    "`{left}` answers the path of a znode, never {right}",
                    "`{left}` 的回复是 znode 的路径，不会是 {right}"
                ),
                help: whole_path(left, value),
            })
        }
        (Answer::Name, Literal::Text(path)) if path.contains('/') => Some(of_name(left, path, right)),
        (Answer::Text | Answer::Path | Answer::Numbered | Answer::Name, Literal::Number(_)) => {
            Some(Finding {
                message: both!(
                    "`{left}` answers a text or `none`, never the number {right}",
                    "`{left}` 的回复是文字或 `none`，不会是数字 {right}"
                ),
                help: if equal {
                    both!(
                        "`{left}|int` is its number; or write '{right}'",
                        "`{left}|int` 是它的数值；或者写 '{right}'"
                    )
                } else {
                    both!("`{left}|int` is its number", "`{left}|int` 是它的数值")
                },
            })
        }
        (Answer::Queued, value) if !matches!(value, Literal::Text("QUEUED" | "Lost")) => {
            Some(of_queued(left, right))
        }
        (Answer::Deleted, value)
            if !matches!(value, Literal::Text("DELETE" | "Lost" | "Unavailable" | "ConnectionLoss")) =>
        {
            Some(finding!(
                "`{left}` answers 'DELETE', never {right}",
                "`{left}` 的回复是 'DELETE'，不会是 {right}",
                "write `{left} == 'DELETE'`",
                "请写 `{left} == 'DELETE'`"
            ))
        }
        (Answer::Ok, Literal::Number(_) | Literal::Flag) => Some(finding!(
            "`{left}` answers 'OK' or `none`, never {right}",
            "`{left}` 的回复是 'OK' 或 `none`，不会是 {right}",
            "write `{left} == 'OK'`",
            "请写 `{left} == 'OK'`"
        )),
        (Answer::Ok | Answer::Text, Literal::Text("nil" | "(nil)" | "null" | "NULL" | "None")) => {
            Some(finding!(
                "an empty reply is `none`, and never the text {right}",
                "空回复是 `none`，不会是文字 {right}",
                "write `{left} is none`",
                "请写 `{left} is none`"
            ))
        }
        (Answer::Ok, Literal::Text(text)) if *text != "Lost" && text.eq_ignore_ascii_case("lost") => {
            Some(finding!(
                "a reply that was lost is 'Lost', never {right}",
                "丢失的回复是 'Lost'，不会是 {right}",
                "write `{left} == 'Lost'`",
                "请写 `{left} == 'Lost'`"
            ))
        }
        (Answer::Ok, Literal::Text(text))
            if *text != "OK" && (text.eq_ignore_ascii_case("ok") || !is_code(text)) =>
        {
            Some(finding!(
                "`{left}` answers 'OK', never {right}",
                "`{left}` 的回复是 'OK'，不会是 {right}",
                "write `{left} == 'OK'`",
                "请写 `{left} == 'OK'`"
            ))
        }
        // In a claim the reply may be an error code.
        (Answer::Object(fields), Literal::Text(text)) if fields != NOTIFICATION && is_code(text) => None,
        (Answer::Several | Answer::Rows | Answer::Texts, Literal::Text(text)) if is_code(text) => None,
        (Answer::Object(fields), _) => Some(of_object(left, fields, right)),
        (Answer::Rows, Literal::Number(_) | Literal::Text(_)) => Some(of_rows(left, right)),
        (Answer::Several | Answer::Rows | Answer::Texts, _) => Some(of_several(left, value, right)),
        _ => None,
    }
}
