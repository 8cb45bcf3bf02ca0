//! Comparisons that come out the same whatever happens: a text with a number, a count with less than nothing, figures that
//! nothing changes. A run lets them pass, and `check` refuses them: what they are to prove, they do not prove.

use super::{
    super::{
        LabKind,
        error::{ALIKE, Mistake, Path, did_you_mean, nearest},
        expr::{
            Mentions,
            mentions::{joined, split_comparison},
            tokens::{Kind, tokens},
        },
        invariant::{Invariant, Never},
        model::Claim,
    },
    Act, Condition, PlannedVerb, RightPlan, Scenario, keys, sql, types,
};
use crate::{
    log::{Limit, Product, stands_for},
    text::{Text, both},
};

/// What an operation answers, as far as its command tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Number,
    /// A text, such as what a key holds.
    Text,
    /// The path of a znode.
    Path,
    /// `OK`, or nothing.
    Ok,
    Several,
    /// `DELETE`, where it is told of one.
    Deleted,
    /// An object with these fields.
    Object(&'static [&'static str]),
}

/// What ZooKeeper knows of a node.
const STAT: &[&str] = &[
    "czxid", "mzxid", "pzxid", "ctime", "mtime", "version", "cversion", "aversion", "length", "children",
    "owner",
];
/// What etcd knows of a key.
const ENTRY: &[&str] = &["key", "value", "create_revision", "mod_revision", "lease"];
const ENTRY_BEFORE: &[&str] = &["key", "value", "create_revision", "mod_revision", "lease", "revision"];
const NOTIFICATION: &[&str] = &["about", "what"];

const NUMBERS: &str = "
    DEL UNLINK EXISTS INCR DECR INCRBY DECRBY STRLEN APPEND EXPIRE PEXPIRE EXPIREAT PEXPIREAT PERSIST TTL PTTL SETNX HSET
    HSETNX HDEL HEXISTS HLEN HINCRBY LPUSH RPUSH LLEN LREM SADD SREM SCARD SISMEMBER ZREM ZCARD PUBLISH COPY RENAMENX
    DBSIZE WAIT TOUCH MSETNX
";
const TEXTS: &str = "GET GETSET GETDEL HGET LPOP RPOP LINDEX TYPE";
const SEVERAL: &str = "MGET HGETALL HKEYS HVALS LRANGE SMEMBERS ZRANGE KEYS HMGET BLPOP BRPOP";

impl Answer {
    pub(crate) fn of(verb: &PlannedVerb) -> Option<Self> {
        match verb {
            PlannedVerb::Redis(words) => {
                let word = |n: usize| Some(words.get(n)?.to_string().to_ascii_uppercase());
                let name = word(0)?;
                let is_in = |list: &str| super::super::has_word(list, &name);
                // `LPOP key 2` answers a list.
                let alone = || !matches!(name.as_str(), "LPOP" | "RPOP") || words.len() == 2;
                match () {
                    () if is_in(NUMBERS) => Some(Self::Number),
                    () if is_in(TEXTS) && alone() => Some(Self::Text),
                    () if is_in(SEVERAL) => Some(Self::Several),
                    () if name == "SET" => {
                        // The old value is the answer with `GET`, which a parameter may be, too.
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
                (Product::Zookeeper, "create") => Some(Self::Path),
                (Product::Zookeeper, "get") => Some(Self::Text),
                (Product::Zookeeper | Product::Etcd, "ls") => Some(Self::Several),
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
                        "SELECT" | "WITH" => Some(Self::Several),
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

    /// What a script returns, where that is a figure in each place.
    fn of_script(source: &str) -> Option<Self> {
        let is_number = |returned: &str| {
            let returned = returned.trim_start();
            let figure = returned.strip_prefix('-').unwrap_or(returned);
            let called =
                returned.strip_prefix("redis.call(").map(|rest| rest.trim_start_matches(['\'', '"']));
            let command = called.and_then(|rest| rest.split(['\'', '"']).next());
            figure.starts_with(|c: char| c.is_ascii_digit())
                || command.is_some_and(|name| super::super::has_word(NUMBERS, &name.to_ascii_uppercase()))
        };
        let mut returned = source.split("return ").skip(1).peekable();
        (returned.peek().is_some() && returned.all(is_number)).then_some(Self::Number)
    }
}

/// What is asked of a reply that it does not have: a field of an object, or of a list what its items have. `path`: names
/// with dots between, of which the first is that of the reply.
fn of_fields(name: &str, field: &str, answer: Answer) -> Option<Doubt> {
    let is_index = field.bytes().all(|byte| byte.is_ascii_digit());
    match answer {
        Answer::Object(fields) if !fields.contains(&field) && !is_index => {
            let message = both!("what `{name}` answers has no `.{field}`", "`{name}` 的回复没有 `.{field}`");
            let known = fields.join(", ");
            let help = nearest(field, fields.iter().copied(), ALIKE)
                .map_or_else(|| both!("it has {known}", "它有 {known}"), did_you_mean);
            Some((message, help))
        }
        Answer::Several if !is_index => Some((
            both!(
                "`{name}` answers a list, which has no `.{field}`",
                "`{name}` 的回复是列表，没有 `.{field}`"
            ),
            both!("ask for one of its items: `{name}[0].{field}`", "请取其中一项：`{name}[0].{field}`"),
        )),
        Answer::Number | Answer::Ok | Answer::Text | Answer::Path if !is_index => Some((
            both!("what `{name}` answers has no `.{field}`", "`{name}` 的回复没有 `.{field}`"),
            both!("ask for the answer itself: `{name}`", "请直接用回复：`{name}`"),
        )),
        _ => None,
    }
}

/// What an expression asks of replies that they do not have. `answer`: what a name such as `look` or `A.look` answers, and
/// `columns`: what its rows have.
pub(crate) fn field_doubt(
    source: &str,
    answer: impl Fn(&str) -> Option<Answer>,
    columns: impl Fn(&str) -> Option<Vec<String>>,
) -> Option<Doubt> {
    let mentions = Mentions::of(source);
    let of_path = mentions.paths.iter().find_map(|path| {
        (1..path.len()).find_map(|n| {
            let name = path[..n].join(".");
            of_fields(&name, &path[n], answer(&name)?)
        })
    });
    of_path.or_else(|| {
        // `look[0].stock`
        source.match_indices("[0].").find_map(|(at, index)| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
            let begin = source[..at].rfind(|c| !is_part(c)).map_or(0, |before| before + 1);
            let rest = &source[at + index.len()..];
            let name = &source[begin..at];
            let field = &rest[..rest.find(|c| !is_part(c) || c == '.').unwrap_or(rest.len())];
            let columns = columns(name)?;
            if columns.iter().any(|column| column.eq_ignore_ascii_case(field)) {
                return None;
            }
            let message =
                both!("the rows of `{name}` have no column `{field}`", "`{name}` 的结果里没有列 `{field}`");
            let known = columns.join(", ");
            let help = nearest(field, columns.iter().map(String::as_str), ALIKE)
                .map_or_else(|| both!("they have {known}", "结果里有 {known}"), did_you_mean);
            Some((message, help))
        })
    })
}

/// What stands on the right of a comparison, where it is written out.
enum Literal<'s> {
    Number(i64),
    Text(&'s str),
    Flag,
}

fn literal(word: &str) -> Option<Literal<'_>> {
    if let Ok(number) = word.replace("- ", "-").parse() {
        return Some(Literal::Number(number));
    }
    if matches!(word, "true" | "false") {
        return Some(Literal::Flag);
    }
    let inner =
        |quote: char| word.strip_prefix(quote)?.strip_suffix(quote).filter(|text| !text.contains(quote));
    inner('\'').or_else(|| inner('"')).map(Literal::Text)
}

/// Functions that count, or tell a time: a number from 0 on.
const COUNTING: [&str; 10] = [
    "moves",
    "notified",
    "woken_by",
    "holders",
    "finished",
    "deleted_by_another",
    "renewed_by_another",
    "herd",
    "waited",
    "at",
];
/// Functions that say yes or no.
const YES_OR_NO: [&str; 3] = ["exists", "before", "orphaned"];

/// What is wrong with a comparison, and what would be right.
type Doubt = (Text, Text);

/// A comparison with what an answer never is, among those that `and` and `or` join. `answer`: what a name such as `reply` or
/// `A.release` answers.
pub(crate) fn doubt(source: &str, answer: impl Fn(&str) -> Option<Answer>) -> Option<Doubt> {
    joined(source).into_iter().find_map(|part| of_part(part, &answer))
}

/// What only servers say of errors, which are no replies of a program.
const ERRORS: &str = "
    ERR WRONGTYPE NOSCRIPT NOREPLICAS READONLY LOADING MASTERDOWN MOVED ASK TRYAGAIN CROSSSLOT CLUSTERDOWN BUSY NodeExists
    NoNode NotEmpty BadVersion EWOULDBLOCK KeyExists LeaseNotFound Unavailable SessionExpired ConnectionLoss
";

/// A reply in a program that is compared with the code of an error.
pub(crate) fn error_doubt(source: &str, known: impl Fn(&str) -> bool, in_sql: bool) -> Option<Doubt> {
    joined(source).into_iter().find_map(|part| {
        let (left, operator, right) = split_comparison(part)?;
        if left == "error" && matches!(literal(right)?, Literal::Number(_) | Literal::Flag) {
            let text = right.trim_matches(['\'', '"']);
            return Some((
                both!(
                    "`error` is a text or `none`, and never {right}",
                    "`error` 是文字或 `none`，不会是 {right}"
                ),
                if matches!(literal(right), Some(Literal::Flag)) {
                    both!(
                        "write `error is none` or `error is not none`",
                        "请写 `error is none` 或 `error is not none`"
                    )
                } else {
                    both!("in quotes: `error {operator} '{text}'`", "加上引号：`error {operator} '{text}'`")
                },
            ));
        }
        let Literal::Text(code) = literal(right)? else { return None };
        let is_number = in_sql && code.len() == 4 && code.bytes().all(|byte| byte.is_ascii_digit());
        (known(left) && (is_number || super::super::has_word(ERRORS, code))).then(|| {
            (
                both!("a reply is never the error {right}", "回复不会是错误 {right}"),
                both!(
                    "write `error {operator} {right}`, and let the operation `allow: [{code}]`",
                    "请写 `error {operator} {right}`，并在操作里写 `allow: [{code}]`"
                ),
            )
        })
    })
}

/// A text that is compared with the name of what every program has: `look == 'token'`.
pub(crate) fn name_doubt(source: &str) -> Option<Doubt> {
    joined(source).into_iter().find_map(|part| {
        let (left, operator, right) = split_comparison(part)?;
        let Literal::Text(name @ ("token" | "self" | "client")) = literal(right)? else { return None };
        Some((
            both!("{right} in quotes is plain text", "加了引号的 {right} 只是普通文字"),
            both!("without quotes: `{left} {operator} {name}`", "去掉引号：`{left} {operator} {name}`"),
        ))
    })
}

/// A text with which is computed: `read - 1`.
pub(crate) fn arithmetic_doubt(source: &str, is_text: impl Fn(&str) -> bool) -> Option<Doubt> {
    let tokens = tokens(source).ok()?;
    (0..tokens.len()).find_map(|n| {
        let (Kind::Name, name) = tokens[n] else { return None };
        let before = n.checked_sub(1).map(|before| tokens[before].1);
        let (Kind::Sign, sign) = tokens.get(n + 1)? else { return None };
        let next = tokens.get(n + 2)?;
        let computes =
            matches!(*sign, "-" | "*" | "/" | "//" | "%") || (*sign == "+" && next.0 == Kind::Number);
        (computes && !matches!(before, Some("." | "|" | "~")) && is_text(name)).then(|| {
            let number = next.1;
            (
                both!(
                    "`{name}` answers a text, with which nothing can be computed",
                    "`{name}` 的回复是文字，不能用来计算"
                ),
                both!(
                    "`{name}|int` is its number: `{name}|int {sign} {number}`",
                    "`{name}|int` 是它的数值：`{name}|int {sign} {number}`"
                ),
            )
        })
    })
}

/// What is wrong whatever it is compared with.
fn of_form(source: &str) -> Option<Doubt> {
    if let Some(asked) = source.strip_prefix("pttl(")
        && let Some((_, test)) = asked.split_once(')')
        && ["is", "==", "!="].iter().any(|word| test.trim_start().starts_with(word))
        && test.contains("none")
    {
        return Some((
            both!("`pttl()` is a number, and never `none`", "`pttl()` 是数字，不会是 `none`"),
            both!("without the key it is -2: `pttl('lock') == -2`", "键不存在时是 -2：`pttl('lock') == -2`"),
        ));
    }
    if let Some((number, _)) = source.split_once(" in value(").filter(|(word, _)| word.parse::<i64>().is_ok())
    {
        return Some((
            both!(
                "what `value()` gives holds texts, never the number {number}",
                "`value()` 里是文字，不会有数字 {number}"
            ),
            both!("write it in quotes: `'{number}'`", "请加引号：`'{number}'`"),
        ));
    }
    None
}

/// A number that is compared with a text.
fn of_quoted(
    left: &str,
    operator: &str,
    text: &str,
    right: &str,
    answer: &impl Fn(&str) -> Option<Answer>,
) -> Option<Doubt> {
    let of_stat = left
        .rsplit_once('.')
        .is_some_and(|(whole, part)| answer(whole) == Some(Answer::Object(STAT)) && part != "owner");
    if of_stat || ["|int", "|length", "|count", "|float"].iter().any(|filter| left.ends_with(filter)) {
        return Some((
            both!("`{left}` is a number, and never {right}", "`{left}` 是数字，不会是 {right}"),
            both!("without quotes: `{left} {operator} {text}`", "去掉引号：`{left} {operator} {text}`"),
        ));
    }
    if !matches!(operator, "==" | "!=") && text.parse::<i64>().is_ok() {
        return Some((
            both!(
                "{right} is a text: `{operator}` compares it letter by letter",
                "{right} 是文字，`{operator}` 会逐个字符比较"
            ),
            both!(
                "without quotes: `{left} {operator} {text}`; `x|int` is the number of a text",
                "去掉引号：`{left} {operator} {text}`；文字的数值是 `x|int`"
            ),
        ));
    }
    None
}

fn of_part(source: &str, answer: &impl Fn(&str) -> Option<Answer>) -> Option<Doubt> {
    if let Some(doubt) = of_form(source) {
        return Some(doubt);
    }
    let (left, operator, right) = split_comparison(source)?;
    if left == right {
        return Some((
            both!("`{left}` is compared with itself", "`{left}` 和它自己比较"),
            both!("name what it is to be compared with", "请写明要和什么比较"),
        ));
    }
    let equal = matches!(operator, "==" | "!=");
    let value = literal(right)?;
    if let Literal::Text(text) = value
        && let Some(doubt) = of_quoted(left, operator, text, right, answer)
    {
        return Some(doubt);
    }
    if let Some(doubt) = of_attribute(left, operator, &value, right) {
        return Some(doubt);
    }
    if let Some(kind) = answer(left) {
        return of_answer(left, kind, equal, &value, right);
    }
    if let Some((whole, part)) = left.rsplit_once('.')
        && matches!(answer(whole), Some(Answer::Number | Answer::Text | Answer::Path | Answer::Ok))
    {
        return Some((
            both!("what `{whole}` answers has no `.{part}`", "`{whole}` 的回复没有 `.{part}`"),
            both!("ask for the answer itself: `{whole}`", "请直接用回复：`{whole}`"),
        ));
    }
    let mentions = Mentions::of(left);
    let [call] = &mentions.calls[..] else { return None };
    let function = call.function.as_str();
    if !(left.starts_with(function) && left.ends_with(')')) || left.matches('(').count() != 1 {
        return None;
    }
    let counts = COUNTING.contains(&function);
    match value {
        // Who asks for less than some milliseconds may mean that nobody waited.
        Literal::Number(number @ 1..100)
            if matches!(function, "at" | "waited") && !matches!(operator, "<" | "<=") =>
        {
            Some((
                both!(
                    "`{left}` counts in milliseconds: {number} are hardly meant",
                    "`{left}` 以毫秒计，{number} 毫秒多半不是本意"
                ),
                both!("write `{left} {operator} {number}000`", "请写 `{left} {operator} {number}000`"),
            ))
        }
        Literal::Number(number) if counts => never_or_always(operator, number).then(|| {
            (
                both!("`{left}` is never less than 0", "`{left}` 从不小于 0"),
                both!("such as `{left} == 1`", "例如 `{left} == 1`"),
            )
        }),
        Literal::Text(_) | Literal::Flag if counts || function == "pttl" => Some((
            both!("`{left}` is a number, and never {right}", "`{left}` 是数字，不会是 {right}"),
            both!("such as `{left} == 1`", "例如 `{left} == 1`"),
        )),
        Literal::Number(_) | Literal::Text(_) | Literal::Flag
            if matches!(function, "replies" | "children") =>
        {
            Some((
                both!("`{left}` is a list, and never {right}", "`{left}` 是列表，不会是 {right}"),
                both!(
                    "such as `{left}|length == 1`, `{left}[0] == 'OK'`, or `'OK' in {left}`",
                    "例如 `{left}|length == 1`、`{left}[0] == 'OK'`，或者 `'OK' in {left}`"
                ),
            ))
        }
        Literal::Number(_) if function == "value" => Some((
            both!(
                "`{left}` is a text or `none`, never the number {right}",
                "`{left}` 是文字或 `none`，不会是数字 {right}"
            ),
            both!("write `{left}|int {operator} {right}`", "请写 `{left}|int {operator} {right}`"),
        )),
        Literal::Text(_) if YES_OR_NO.contains(&function) => Some((
            both!("`{left}` is `true` or `false`, never a text", "`{left}` 是 `true` 或 `false`，不会是文字"),
            both!("write `{left}` or `not {left}`", "请写 `{left}` 或 `not {left}`"),
        )),
        _ => None,
    }
}

/// What stands behind a dot and is never what it is compared with.
fn of_attribute(left: &str, operator: &str, value: &Literal<'_>, right: &str) -> Option<Doubt> {
    let plain = !left.contains([' ', '|', '(']);
    if plain && left.ends_with(".crashed") && !matches!(value, Literal::Flag) {
        return Some((
            both!(
                "`{left}` is `true` or `false`, never {right}",
                "`{left}` 是 `true` 或 `false`，不会是 {right}"
            ),
            both!("write `{left}` or `not {left}`", "请写 `{left}` 或 `not {left}`"),
        ));
    }
    if plain && left.ends_with(".finished") && !matches!(value, Literal::Flag) {
        return Some((
            both!(
                "`{left}` is `true` or `false`, never {right}",
                "`{left}` 是 `true` 或 `false`，不会是 {right}"
            ),
            both!("write `{left}` or `not {left}`", "请写 `{left}` 或 `not {left}`"),
        ));
    }
    if plain && left.ends_with(".notified") && !matches!(value, Literal::Number(_)) {
        return Some((
            both!("`{left}` is a number, and never {right}", "`{left}` 是数字，不会是 {right}"),
            both!("such as `{left} == 1`", "例如 `{left} == 1`"),
        ));
    }
    if plain
        && left.rsplit_once('.').is_some_and(|(_, field)| field == "what")
        && let Literal::Text(word) = value
        && let Some(event) = event(word)
    {
        return Some((
            both!("`{left}` is never {right}", "`{left}` 不会是 {right}"),
            both!("did you mean '{event}'?", "是不是 '{event}'？"),
        ));
    }
    let of_hash = left.starts_with("value(") && !left.contains('|');
    let field = left.split_once(").hash").map(|(_, field)| field).filter(|_| of_hash)?;
    match value {
        Literal::Number(number) if field.starts_with(['.', '[']) => Some((
            both!(
                "`{left}` is a text or `none`, never the number {number}",
                "`{left}` 是文字或 `none`，不会是数字 {number}"
            ),
            both!("write `{left}|int {operator} {number}`", "请写 `{left}|int {operator} {number}`"),
        )),
        _ => None,
    }
}

/// What ZooKeeper tells its clients.
const EVENTS: [&str; 7] = [
    "NodeCreated",
    "NodeDeleted",
    "NodeDataChanged",
    "NodeChildrenChanged",
    "Suspended",
    "Reconnected",
    "Expired",
];

/// What ZooKeeper tells its clients, for a word that is written otherwise.
fn event(word: &str) -> Option<&'static str> {
    let plain: String = word.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.strip_prefix("Session").or_else(|| plain.strip_prefix("Connection")).unwrap_or(&plain);
    EVENTS.into_iter().find(|event| event.eq_ignore_ascii_case(plain) && *event != word)
}

/// A count of holders that no run can have: there are only so many actors.
fn of_holders(source: &str, actors: usize) -> Option<Doubt> {
    let (left, operator, right) = split_comparison(source)?;
    let is_count = left.starts_with("holders(") && left.ends_with(')') && left.matches('(').count() == 1;
    let Literal::Number(number) = literal(right)? else { return None };
    let most = i64::try_from(actors).ok()?;
    let never = match operator {
        "==" | ">=" => number > most,
        ">" => number >= most,
        _ => false,
    };
    (is_count && never).then(|| {
        (
            both!(
                "`{left}` is {most} at most: so many actors are there",
                "`{left}` 最多是 {most}：一共只有这么多参与者"
            ),
            both!("such as `{left} == 1`", "例如 `{left} == 1`"),
        )
    })
}

/// What is asked of a key that holds no such thing: a znode and a key of etcd hold a text.
fn of_value(source: &str, lab: LabKind) -> Option<Doubt> {
    if lab.has(Product::Mariadb) {
        return None;
    }
    let of_redis = lab.has(Product::Redis);
    let kinds = ["hash", "list", "set", "sorted_set", "stream", "other"];
    for (key, _) in Mentions::of(source).keys_of("value") {
        let asked = source.match_indices(&key).find_map(|(at, key)| {
            let rest = source[at + key.len()..].strip_prefix(['\'', '"'])?.strip_prefix(").")?;
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            Some(&rest[..end])
        });
        let Some(field) = asked.filter(|field| !(of_redis && kinds.contains(field))) else { continue };
        let message = both!("`value('{key}')` has no `.{field}`", "`value('{key}')` 没有 `.{field}`");
        let help = if of_redis {
            nearest(field, kinds, ALIKE).map_or_else(
                || {
                    both!(
                        "of a hash it is `value('{key}').hash.{field}`",
                        "哈希请写 `value('{key}').hash.{field}`"
                    )
                },
                did_you_mean,
            )
        } else {
            both!("it is a text: `value('{key}') == 'A'`", "它是文字：`value('{key}') == 'A'`")
        };
        return Some((message, help));
    }
    None
}

/// An owner that nobody is.
fn of_owner(source: &str, scenario: &Scenario) -> Option<Doubt> {
    let (left, operator, right) = split_comparison(source)?;
    let asks = left.starts_with("owner(") && left.ends_with(')') && left.matches('(').count() == 1;
    let is_actor = |name: &str| scenario.actors.iter().any(|plan| plan.actor.name == name);
    if asks && is_actor(right) {
        return Some((
            both!("`{right}` without quotes is all that is known of it", "没有引号的 `{right}` 不是名字"),
            both!("write `{left} {operator} '{right}'`", "请写 `{left} {operator} '{right}'`"),
        ));
    }
    let Literal::Text(name) = literal(right)? else { return None };
    let outside = scenario.actors.iter().any(|plan| plan.program.outside);
    (asks && !outside && !is_actor(name)).then(|| {
        let known: Vec<&str> = scenario.actors.iter().map(|plan| plan.actor.name.as_str()).take(12).collect();
        let known = known.join(", ");
        (
            both!("nobody is called {right}", "没有谁叫 {right}"),
            both!("known here: {known}", "这里有：{known}"),
        )
    })
}

/// A role that servers of this product never have.
fn of_role(source: &str, lab: LabKind) -> Option<Doubt> {
    let (left, _, right) = split_comparison(source)?;
    let mentions = Mentions::of(left);
    let server = mentions.calls_of("role").next()?.arguments.first()?.as_deref()?;
    let Some(Literal::Text(word)) = literal(right) else { return None };
    let known: &[&str] = match lab.part_of(lab.server_named(server)?).product() {
        Product::Redis => &["master", "replica"],
        _ => &["leader", "follower", "looking"],
    };
    let is_plain = left.starts_with("role") && left.ends_with(')');
    (is_plain && !known.contains(&word)).then(|| {
        let known = known.iter().map(|known| format!("'{known}'")).collect::<Vec<_>>().join(", ");
        (
            both!("`{left}` is never {right}", "`{left}` 不会是 {right}"),
            both!("it is one of {known}", "它是其中之一：{known}"),
        )
    })
}

/// Whether a text may be the code of an error: `NoNode`, `WRONGTYPE`, `1205`, `Lost`.
fn is_code(text: &str) -> bool {
    let is_number = text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number || (text.len() > 2 && text.starts_with(|c: char| c.is_ascii_uppercase()))
}

fn of_answer(left: &str, kind: Answer, equal: bool, value: &Literal<'_>, right: &str) -> Option<Doubt> {
    let digits = |text: &str| text.parse::<i64>().is_ok();
    match (kind, value) {
        // In a claim the reply may be the code of an error, such as MariaDB's '1062'.
        (Answer::Number, Literal::Text(text)) if digits(text) && !is_code(text) => Some((
            both!(
                "`{left}` answers a number, never the text {right}",
                "`{left}` 的回复是数字，不会是文字 {right}"
            ),
            both!("without quotes: `{left} == {text}`", "去掉引号：`{left} == {text}`"),
        )),
        (Answer::Number, Literal::Text(text)) if equal && (*text == "OK" || !is_code(text)) => Some((
            both!("`{left}` answers a number, never {right}", "`{left}` 的回复是数字，不会是 {right}"),
            both!("such as `{left} == 1`", "例如 `{left} == 1`"),
        )),
        (Answer::Path, Literal::Flag | Literal::Text(_)) if !matches!(value, Literal::Text(text) if text.starts_with('/') || is_code(text)) => {
            Some((
                both!(
                    "`{left}` answers the path of a znode, never {right}",
                    "`{left}` 的回复是 znode 的路径，不会是 {right}"
                ),
                both!("such as `{left} is not none`", "例如 `{left} is not none`"),
            ))
        }
        (Answer::Text | Answer::Path, Literal::Number(number)) => Some((
            both!(
                "`{left}` answers a text or `none`, never the number {number}",
                "`{left}` 的回复是文字或 `none`，不会是数字 {number}"
            ),
            both!(
                "`{left}|int` is its number; or write '{number}'",
                "`{left}|int` 是它的数值；或者写 '{number}'"
            ),
        )),
        (Answer::Deleted, value)
            if !matches!(value, Literal::Text("DELETE" | "Lost" | "Unavailable" | "ConnectionLoss")) =>
        {
            Some((
                both!(
                    "`{left}` answers 'DELETE', never {right}",
                    "`{left}` 的回复是 'DELETE'，不会是 {right}"
                ),
                both!("write `{left} == 'DELETE'`", "请写 `{left} == 'DELETE'`"),
            ))
        }
        (Answer::Ok, Literal::Number(_) | Literal::Flag) => Some((
            both!(
                "`{left}` answers 'OK' or `none`, never {right}",
                "`{left}` 的回复是 'OK' 或 `none`，不会是 {right}"
            ),
            both!("write `{left} == 'OK'`", "请写 `{left} == 'OK'`"),
        )),
        (Answer::Ok | Answer::Text, Literal::Text("nil" | "(nil)" | "null" | "NULL" | "None")) => Some((
            both!(
                "an empty reply is `none`, and never the text {right}",
                "空回复是 `none`，不会是文字 {right}"
            ),
            both!("write `{left} is none`", "请写 `{left} is none`"),
        )),
        (Answer::Ok, Literal::Text(text))
            if *text != "OK" && (text.eq_ignore_ascii_case("ok") || !is_code(text)) =>
        {
            Some((
                both!("`{left}` answers 'OK', never {right}", "`{left}` 的回复是 'OK'，不会是 {right}"),
                both!("write `{left} == 'OK'`", "请写 `{left} == 'OK'`"),
            ))
        }
        // A claim's reply may be the code of an error.
        (Answer::Object(fields), Literal::Text(text)) if fields != NOTIFICATION && is_code(text) => None,
        (Answer::Several, Literal::Text(text)) if is_code(text) => None,
        (Answer::Object(fields), _) => {
            let field = if fields.contains(&"version") { "version" } else { fields[fields.len() - 1] };
            Some((
                both!(
                    "`{left}` answers an object, never {right}",
                    "`{left}` 的回复是一个对象，不会是 {right}"
                ),
                both!(
                    "such as `{left} is not none`, or ask for a field of it: `{left}.{field}`",
                    "例如 `{left} is not none`，或者取它的字段：`{left}.{field}`"
                ),
            ))
        }
        (Answer::Several, _) => Some((
            both!("`{left}` answers a list, never {right}", "`{left}` 的回复是列表，不会是 {right}"),
            both!(
                "such as `{left}|length == 1`, or `{left}[0]`",
                "例如 `{left}|length == 1`，或者 `{left}[0]`"
            ),
        )),
        _ => None,
    }
}

/// What claims, invariants and the story of a variant compare.
pub(crate) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    if let Some(doubt) = scenario.actors.iter().find_map(|plan| plan.program.doubts.first()) {
        return Err(doubt.clone());
    }
    check_story(scenario)?;
    let root = Path::root();
    let variant = scenario.variant();
    let at = root.key("variants").key(&scenario.variant);
    for (n, claim) in variant.claims.iter().enumerate() {
        let at = at.key("claims").index(n);
        let same = |other: &Claim| match (other, claim) {
            (Claim::Bare(a) | Claim::That { that: a, .. }, Claim::Bare(b) | Claim::That { that: b, .. }) => {
                a == b
            }
            _ => false,
        };
        if let Some(before) = variant.claims[..n].iter().position(same) {
            return Err(twice(&at, before + 1));
        }
        match claim {
            Claim::Bare(source) => check_observed(scenario, source, &at)?,
            Claim::That { that, .. } => check_observed(scenario, that, &at.key("that"))?,
            Claim::Overlap { .. } | Claim::Exclusive { .. } => check_lock(scenario, n, &at)?,
        }
    }
    let (invariants, at) = match (&variant.invariants, &scenario.loaded.lesson.invariants) {
        (Some(own), _) => (own, at.key("invariants")),
        (None, Some(shared)) => (shared, root.key("invariants")),
        (None, None) => return Ok(()),
    };
    for (n, invariant) in invariants.iter().enumerate() {
        let at = at.index(n).key("never");
        let same = |other: &Invariant| match (&other.never, &invariant.never) {
            (Never::That(a), Never::That(b))
            | (Never::Overlap { overlap: a }, Never::Overlap { overlap: b }) => a == b,
            _ => false,
        };
        if let Some(before) = invariants[..n].iter().position(same) {
            return Err(twice(&at, before + 1));
        }
        if let Never::That(source) = &invariant.never {
            check_observed(scenario, source, &at)?;
        }
    }
    Ok(())
}

/// What is said again.
fn twice(at: &Path, before: usize) -> Mistake {
    let message = both!("number {before} of this list says the same", "和列表里的第 {before} 条相同");
    Mistake::new(at, message).help(both!("leave one of both out", "两者去掉一个"))
}

/// A claim about a lock that another claim rules out. That a lock overlaps where the failure is prevented is no mistake: what
/// is prevented may be the damage.
fn check_lock(scenario: &Scenario, n: usize, at: &Path) -> Result<(), Mistake> {
    let conditions = || scenario.claims.iter().map(|claim| &claim.condition);
    match conditions().nth(n) {
        Some(Condition::Exclusive(lock))
            if conditions().any(|other| matches!(other, Condition::Overlap(other) if other == lock)) =>
        {
            let message = both!(
                "`{lock}` cannot be exclusive and overlap in one run",
                "一次运行里，`{lock}` 不可能既互斥又重叠"
            );
            Err(Mistake::new(at, message).help(both!("claim one of both", "两个断言只能留一个")))
        }
        Some(Condition::Overlap(lock)) => check_overlap(scenario, lock, at),
        _ => Ok(()),
    }
}

/// More holders than there may be take as many who ever hold the lock.
fn check_overlap(scenario: &Scenario, lock: &str, at: &Path) -> Result<(), Mistake> {
    let mut limits =
        scenario.locks.iter().filter(|known| stands_for(&known.name, lock)).map(|known| known.limit);
    let most = match limits.next_back() {
        Some(Limit::Holders(most)) => most,
        Some(_) => return Ok(()),
        None => 1,
    };
    let mut plans = scenario.actors.iter();
    let outside = plans.any(|plan| plan.program.outside);
    let holds = |name: &String| stands_for(name, lock) || stands_for(lock, name);
    let actors = scenario.actors.iter().filter(|plan| plan.program.locks.iter().any(holds)).count();
    if outside || actors > most {
        return Ok(());
    }
    let message = both!(
        "`{lock}` may have {most} holders, and only {actors} clients ever take it: it never overlaps",
        "`{lock}` 允许 {most} 个持有者，而只有 {actors} 个客户端会用到它：不可能重叠"
    );
    Err(Mistake::new(at, message).help(both!(
        "let another client run the program, or claim `exclusive: {lock}`",
        "请再加一个运行该程序的客户端，或者断言 `exclusive: {lock}`"
    )))
}

/// What the story waits for, and what decides its questions.
fn check_story(scenario: &Scenario) -> Result<(), Mistake> {
    for line in &scenario.story {
        match &line.act {
            Act::Await(until) => {
                check_observed(scenario, until.that.source(), &line.path.key("await").key("that"))?;
            }
            Act::Ask(ask) => {
                for (n, choice) in ask.choices.iter().enumerate() {
                    if let RightPlan::When(right) = &choice.right {
                        let at = line.path.key("ask").key("choices").index(n).key("right");
                        check_comparison(scenario, right.source(), &at)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// What has to come true at some time.
fn check_observed(scenario: &Scenario, source: &str, at: &Path) -> Result<(), Mistake> {
    check_expression(scenario, source, at)?;
    let outside = scenario.actors.iter().any(|plan| plan.program.outside);
    match of_holders(source, scenario.actors.len()).filter(|_| !outside) {
        Some((message, help)) => Err(Mistake::new(at, message).help(help)),
        None => Ok(()),
    }
}

fn check_expression(scenario: &Scenario, source: &str, at: &Path) -> Result<(), Mistake> {
    let mentions = Mentions::of(source);
    if let Some(call) =
        mentions.calls_of("before").find(|call| matches!(&call.arguments[..], [Some(a), Some(b)] if a == b))
    {
        let name = call.arguments[0].clone().unwrap_or_default();
        let message = both!("`{name}` is never before itself", "`{name}` 不会先于它自己");
        return Err(Mistake::new(at, message).help(both!(
            "name two moves: `before('A.release', 'B.acquire')`",
            "请写两个操作：`before('A.release', 'B.acquire')`"
        )));
    }
    let is_figure = |path: &Vec<String>| {
        scenario.scope.get(&path[0]).is_some()
            || matches!(path[0].as_str(), "true" | "false" | "none" | "and" | "or" | "not")
    };
    let decided = joined(source).into_iter().find(|part| matches!(*part, "true" | "false"));
    if let Some(part) = decided.filter(|part| part.len() < source.len()) {
        let message = both!(
            "`{part}` in `{source}` decides it by itself, or nothing",
            "`{source}` 里的 `{part}` 要么直接决定结果，要么没有作用"
        );
        return Err(Mistake::new(at, message).help(both!("leave `{part}` out", "请去掉 `{part}`")));
    }
    if mentions.calls.is_empty() && mentions.paths.iter().all(is_figure) {
        let message = both!(
            "`{source}` does not depend on anything that happens",
            "`{source}` 与发生的事无关，结果总是一样"
        );
        return Err(Mistake::new(at, message).help(both!(
            "ask for what is to be observed, such as `A.release == 1` or `sold == 10`",
            "请写要观察到的事，例如 `A.release == 1` 或 `sold == 10`"
        )));
    }
    check_comparison(scenario, source, at)
}

/// A counter, which begins at 0 and only grows, that is compared with what it never is.
fn of_counter(source: &str, scenario: &Scenario) -> Option<Doubt> {
    let (left, operator, right) = split_comparison(source)?;
    if !scenario.actors.iter().any(|plan| plan.program.counters.contains(left)) {
        return None;
    }
    match literal(right) {
        Some(Literal::Text(text)) => {
            let help = if text.parse::<i64>().is_ok() {
                both!("without quotes: `{left} {operator} {text}`", "去掉引号：`{left} {operator} {text}`")
            } else {
                both!("such as `{left} == 1`", "例如 `{left} == 1`")
            };
            Some((both!("`{left}` is a number, and never {right}", "`{left}` 是数字，不会是 {right}"), help))
        }
        Some(Literal::Number(number)) if never_or_always(operator, number) => Some((
            both!("`{left}` is never less than 0", "`{left}` 从不小于 0"),
            both!("such as `{left} == 1`", "例如 `{left} == 1`"),
        )),
        None if matches!(operator, "==" | "!=") && right.contains('.') && right.parse::<f64>().is_ok() => {
            Some((
                both!("`{left}` is a whole number, and never {right}", "`{left}` 是整数，不会是 {right}"),
                both!("such as `{left} == 1`", "例如 `{left} == 1`"),
            ))
        }
        _ => None,
    }
}

/// Whether a comparison of a count with a number comes out the same whatever the count is.
fn never_or_always(operator: &str, number: i64) -> bool {
    match operator {
        "<" | ">=" => number <= 0,
        "==" | "!=" | "<=" | ">" => number < 0,
        _ => false,
    }
}

/// A client's name without quotes, which is no text: it stands for all that is known of the client.
fn of_actor(source: &str, scenario: &Scenario) -> Option<Doubt> {
    let is_actor = |name: &str| scenario.actors.iter().any(|plan| plan.actor.name == name);
    if let Some((left, operator, right)) = split_comparison(source)
        && is_actor(right)
    {
        return Some((
            both!("`{right}` without quotes is all that is known of it", "没有引号的 `{right}` 不是名字"),
            both!("write `{left} {operator} '{right}'`", "请写 `{left} {operator} '{right}'`"),
        ));
    }
    let (name, rest) = source.split_once(' ')?;
    let compares = ["is", "==", "!=", "<", ">", "in"].iter().any(|word| rest.starts_with(word));
    (is_actor(name) && compares).then(|| {
        (
            both!("`{name}` is a client, and no reply", "`{name}` 是客户端，不是回复"),
            both!("name one of its moves: `{name}.acquire`", "请写它的某个操作：`{name}.acquire`"),
        )
    })
}

/// What ZooKeeper never tells, in a lab in which nobody else tells anything.
fn of_event(source: &str, lab: LabKind) -> Option<Doubt> {
    let (left, _, right) = split_comparison(source)?;
    let only_zookeeper = lab.parts().iter().all(|part| part.product() == Product::Zookeeper);
    let Literal::Text(word) = literal(right)? else { return None };
    let asks =
        left.rsplit_once('.').is_some_and(|(_, field)| field == "what") && !left.contains([' ', '|', '(']);
    (asks && only_zookeeper && !EVENTS.contains(&word)).then(|| {
        let known = EVENTS.join(", ");
        (
            both!("`{left}` is never {right}", "`{left}` 不会是 {right}"),
            both!("ZooKeeper tells {known}", "ZooKeeper 的通知有 {known}"),
        )
    })
}

fn check_comparison(scenario: &Scenario, source: &str, at: &Path) -> Result<(), Mistake> {
    keys::check(scenario, source, at)?;
    let parts = joined(source);
    let counter = parts.iter().find_map(|part| of_counter(part, scenario));
    let actor = || parts.iter().find_map(|part| of_actor(part, scenario));
    if let Some((message, help)) = counter.or_else(actor) {
        return Err(Mistake::new(at, message).help(help));
    }
    let plan_of = |name: &str| {
        let (who, label) = name.rsplit_once('.')?;
        Some((scenario.actors.iter().find(|plan| plan.actor.name == who)?, label.to_owned()))
    };
    let answer = |name: &str| plan_of(name).and_then(|(plan, label)| plan.program.answer_of(&label));
    let columns = |name: &str| plan_of(name).and_then(|(plan, label)| plan.program.columns_of(&label));
    let found = doubt(source, answer)
        .or_else(|| field_doubt(source, answer, columns))
        .or_else(|| of_value(source, scenario.lab()))
        .or_else(|| types::doubt(source, scenario))
        .or_else(|| sql::row_doubt(source, scenario))
        .or_else(|| joined(source).into_iter().find_map(|part| of_role(part, scenario.lab())))
        .or_else(|| joined(source).into_iter().find_map(|part| of_event(part, scenario.lab())))
        .or_else(|| joined(source).into_iter().find_map(|part| of_owner(part, scenario)));
    match found {
        Some((message, help)) => Err(Mistake::new(at, message).help(help)),
        None => Ok(()),
    }
}
