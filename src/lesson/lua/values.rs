//! The kinds of values that a script computes with, as far as they are known, and the operations on them that are
//! always mistakes.

use super::{
    super::plan::{keys, lints::Answer},
    LuaMistake, Reader, Value,
};
use crate::{
    lesson::{
        error::{ALIKE, did_you_mean, nearest},
        has_word,
    },
    text::{Text, both},
};

/// The known kind of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Number,
    /// A number that a command always answers.
    Answered,
    /// `OK` and other status replies: a table with the field `ok`.
    Status,
    Table,
    Nil,
    True,
    False,
}

impl Kind {
    /// The kind of value that `redis.call` returns for a command; `None` if unknown.
    pub(super) fn of_call(words: &[Option<String>]) -> Option<Self> {
        let name = words.first()?.as_ref()?;
        if name.eq_ignore_ascii_case("TYPE") {
            return Some(Self::Status);
        }
        if Answer::is_never_nil(name) {
            return Some(Self::Answered);
        }
        match Answer::of_words(words)? {
            Answer::Number => Some(Self::Number),
            Answer::Text => Some(Self::Text),
            Answer::Ok => Some(Self::Status),
            Answer::Several | Answer::Rows | Answer::Texts => Some(Self::Table),
            _ => None,
        }
    }

    /// The kind of value that a function of Lua returns; `None` if unknown.
    pub(super) fn of_function(path: &[&str]) -> Option<Self> {
        match path {
            ["tonumber"] => Some(Self::Number),
            ["tostring"] | ["string", "format" | "sub" | "lower" | "upper" | "rep"] => Some(Self::Text),
            _ => None,
        }
    }

    fn is_number(self) -> bool {
        matches!(self, Self::Number | Self::Answered)
    }
}

/// Why an argument of `redis.call` is one that no command takes.
pub(super) fn of_argument(value: &Value<'_>) -> Option<Text> {
    let written = match value.kind? {
        Kind::Nil => "nil",
        Kind::True => "true",
        Kind::False => "false",
        Kind::Table => {
            let table = value.path.first().copied().unwrap_or("…");
            return Some(both!(
                "`redis.call` takes texts and numbers, and no table: write `unpack({table})`",
                "`redis.call` 的参数只能是文字或数字，不能是表：请写 `unpack({table})`"
            ));
        }
        _ => return None,
    };
    Some(both!(
        "`redis.call` takes texts and numbers, and no `{written}`; such as '' or 0",
        "`redis.call` 的参数只能是文字或数字，不能是 `{written}`；例如 '' 或 0"
    ))
}

/// Why an operator between two values is a mistake.
pub(super) fn of_operator(sign: &str, left: &Value<'_>, right: &Value<'_>) -> Option<Text> {
    let is_word =
        |value: &Value<'_>| value.text.as_ref().is_some_and(|text| text.trim().parse::<f64>().is_err());
    if matches!(sign, "+" | "-" | "*" | "/" | "%") && (is_word(left) || is_word(right)) {
        return Some(if sign == "+" {
            both!("texts are joined with `..` in Lua, not with `+`", "Lua 里拼接文字用 `..`，不用 `+`")
        } else {
            both!("`{sign}` computes with numbers, and this is a text", "`{sign}` 只能计算数字，这里是文字")
        });
    }
    let (left, right) = (left.kind?, right.kind?);
    let either = |is: fn(Kind) -> bool, other: fn(Kind) -> bool| {
        (is(left) && other(right)) || (is(right) && other(left))
    };
    let is_text = |kind: Kind| kind == Kind::Text;
    match sign {
        "==" | "~=" if either(is_text, Kind::is_number) => Some(both!(
            "a text and a number are never equal in Lua: write `tonumber(…)` around the text, or the number in quotes",
            "Lua 里文字和数字永远不相等：请给文字套上 `tonumber(…)`，或者给数字加引号"
        )),
        "<" | ">" | "<=" | ">=" if either(is_text, Kind::is_number) => Some(both!(
            "Lua cannot compare a text with a number by `{sign}`: write `tonumber(…)` around the text",
            "Lua 不能用 `{sign}` 比较文字和数字：请给文字套上 `tonumber(…)`"
        )),
        "==" | "~=" if either(|kind| kind == Kind::Status, is_text) => Some(both!(
            "this command answers a table in Lua, such as {{ ok = 'OK' }}, which is never equal to a text: write \
             `redis.call(…).ok`, or ask only whether there is an answer",
            "这条命令在 Lua 里返回表，例如 {{ ok = 'OK' }}，永远不等于文字：请写 `redis.call(…).ok`，或者只判断有没有返回值"
        )),
        "==" | "~=" if either(Kind::is_number, |kind| kind == Kind::True) => Some(both!(
            "a number is never `true` in Lua: `redis.call` never gives `true`; compare it with a number, `== 1`",
            "Lua 里数字不等于 `true`，`redis.call` 不会返回 `true`：请和数字比较，`== 1`"
        )),
        "and" if left == Kind::Answered => Some(always()),
        _ => None,
    }
}

/// Why a condition that is always a number is a mistake.
pub(super) fn of_condition(value: &Value<'_>) -> Option<Text> {
    (value.kind? == Kind::Answered).then(always)
}

pub(super) fn always() -> Text {
    both!(
        "this command always answers a number, and 0 counts as true in Lua: compare it, such as `== 1`",
        "这条命令总是返回数字，而 0 在 Lua 里也算真：请写出比较，例如 `== 1`"
    )
}

/// The members of Lua's libraries in Redis.
const LIBRARIES: &[(&str, &str)] = &[
    ("string", "byte char dump find format gmatch gsub len lower match rep reverse sub upper gfind"),
    ("table", "concat insert maxn remove sort getn setn foreach foreachi unpack"),
    (
        "math",
        "abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 max min mod modf pi pow rad \
         random randomseed sin sinh sqrt tan tanh",
    ),
    (
        "cjson",
        "encode decode null new encode_sparse_array encode_max_depth decode_max_depth encode_number_precision \
         encode_keep_buffer encode_invalid_numbers decode_invalid_numbers decode_array_with_array_mt",
    ),
    ("bit", "tobit tohex bnot band bor bxor lshift rshift arshift rol ror bswap"),
];

/// Functions of other languages, and what to use instead.
const MEANT: &[(&str, &str)] = &[
    ("size", "#t"),
    ("length", "#t"),
    ("substring", "string.sub"),
    ("substr", "string.sub"),
    ("split", "string.gmatch"),
    ("replace", "string.gsub"),
    ("stringify", "cjson.encode"),
    ("parse", "cjson.decode"),
    ("randint", "math.random"),
    ("round", "math.floor"),
    ("push", "table.insert"),
    ("append", "table.insert"),
    ("join", "table.concat"),
];

/// Why a field access is a mistake: the library, `KEYS` or `ARGV` has no such field.
pub(super) fn of_field(library: &str, field: &str) -> Option<Text> {
    if matches!(library, "KEYS" | "ARGV") {
        return Some(both!(
            "`{library}` has no field `{field}`: how many there are is `#{library}`, and the first is `{library}[1]`",
            "`{library}` 没有字段 `{field}`：个数是 `#{library}`，第一个是 `{library}[1]`"
        ));
    }
    let (_, known) = LIBRARIES.iter().find(|(name, _)| *name == library)?;
    let known = || known.split_ascii_whitespace();
    if known().any(|known| known == field) {
        return None;
    }
    let message = both!("`{library}` has no `{field}`", "`{library}` 没有 `{field}`");
    let meant = MEANT.iter().find(|(said, _)| *said == field).map(|(_, meant)| (*meant).to_owned());
    let help =
        meant.or_else(|| nearest(field, known(), ALIKE).map(|near| format!("{library}.{near}"))).map_or_else(
            || {
                let known = known().take(8).collect::<Vec<_>>().join(", ");
                both!("it has {known}, …", "它有 {known} 等")
            },
            |meant| did_you_mean(&meant),
        );
    Some(Text::join(&[message, help], "; ", "；"))
}

/// Commands that Redis does not accept from a script.
const NOT_IN_SCRIPTS: &str = "
    MULTI EXEC DISCARD WATCH UNWATCH SUBSCRIBE PSUBSCRIBE SSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE SUNSUBSCRIBE BLPOP
    BRPOP BLMOVE BRPOPLPUSH BLMPOP BZPOPMIN BZPOPMAX BZMPOP WAIT WAITAOF EVAL EVALSHA EVAL_RO EVALSHA_RO FCALL
    FCALL_RO SCRIPT FUNCTION
";

/// Why the first argument of `redis.call` is a mistake: it must be the name of one command that a script may send.
pub(super) fn of_first(value: &Value<'_>) -> Option<Text> {
    if let Some(written) = value.begins.as_ref().filter(|begins| begins.contains(' ')) {
        let name = written.split(' ').next().unwrap_or_default();
        return Some(both!(
            "each word of a command is an argument of its own: write `redis.call('{name}', …)`",
            "命令的每个词都是单独的参数：请写 `redis.call('{name}', …)`"
        ));
    }
    let name = value.text.as_ref()?;
    let name = NOT_IN_SCRIPTS.split_ascii_whitespace().find(|known| known.eq_ignore_ascii_case(name))?;
    let message = both!("a script may not send `{name}`", "脚本里不能发送 `{name}`");
    let help = match name {
        "MULTI" | "EXEC" | "DISCARD" | "WATCH" | "UNWATCH" => {
            both!("nothing comes between its commands anyway", "脚本本身就是原子执行的，不需要事务")
        }
        "BLPOP" | "BRPOP" | "BLMOVE" | "BRPOPLPUSH" => {
            both!(
                "nobody else moves while it runs: use the command without `B`",
                "脚本运行时别人无法操作：请用不带 `B` 的命令"
            )
        }
        _ => both!("let a program send it", "请由程序来发送"),
    };
    Some(Text::join(&[message, help], "; ", "；"))
}

/// The replacement for a word of Lua that scripts in Redis do not have.
pub(super) fn of_other_lua(name: &str) -> Option<Text> {
    Some(match name {
        "continue" | "goto" => both!(
            "Lua 5.1 has no `{name}`: put what follows into an `if`",
            "Lua 5.1 没有 `{name}`：请把后面的语句放进 `if`"
        ),
        "require" | "dofile" | "io" => {
            both!("a script in Redis cannot load anything", "Redis 脚本不能加载别的模块")
        }
        "print" => both!("a script says something with `return`", "脚本要输出内容请用 `return`"),
        "sleep" | "wait" => both!(
            "no script can wait, or nobody else could be served: write `- wait: 1s` in the program",
            "脚本里不能等待，否则服务器无法响应别人：请在程序里写 `- wait: 1s`"
        ),
        _ => return None,
    })
}

/// Functions without side effects.
const GIVING: &str = "tonumber tostring type unpack next select rawget rawequal pairs ipairs";

/// Reports a call of a function without side effects whose result is dropped: `local seen tonumber(…)`.
pub(super) fn of_thrown_away(name: &str) -> Option<Text> {
    has_word(GIVING, name).then(|| {
        both!(
            "what `{name}` gives is not used: is a `=` missing before it?",
            "`{name}` 的结果没有用到：前面是不是少了 `=`？"
        )
    })
}

/// Reports a key in the place of a value, in a command with one key: `redis.call('SET', ARGV[1], KEYS[1])`, and a member
/// in the place of a score.
pub(super) fn of_order(given: &[Value<'_>]) -> Option<Text> {
    if let [command, _, score, member] = given
        && command.text.as_ref().is_some_and(|name| name.eq_ignore_ascii_case("ZADD"))
        && member.kind == Some(Kind::Number)
        && score.given.is_some()
    {
        return Some(both!(
            "`ZADD` takes the score before the member: here the member is computed, and the score is an argument",
            "`ZADD` 的分数写在成员前面：这里成员是算出来的，分数却是参数"
        ));
    }
    if let [command, _, count, element] = given
        && command.text.as_ref().is_some_and(|name| name.eq_ignore_ascii_case("LREM"))
        && element.number == Some(0)
        && count.number.is_none()
    {
        return Some(both!(
            "`LREM` takes how many are to be removed before the element: `redis.call('LREM', KEYS[1], 0, …)`",
            "`LREM` 先写要删几个，再写元素：`redis.call('LREM', KEYS[1], 0, …)`"
        ));
    }
    let [command, key, values @ ..] = given else { return None };
    let name = command.text.as_ref().filter(|name| has_word(keys::OF_ONE_KEY, &name.to_ascii_uppercase()))?;
    let swapped = key.given == Some("ARGV") && values.iter().any(|value| value.given == Some("KEYS"));
    swapped.then(|| {
        both!(
            "the key of `{name}` stands before what is written to it: write `redis.call('{name}', KEYS[1], …)`",
            "`{name}` 的键要写在值的前面：请写 `redis.call('{name}', KEYS[1], …)`"
        )
    })
}

impl<'s> Reader<'s> {
    /// Records the kind of a local, unless its name is assigned anywhere else.
    pub(super) fn note_kind(&mut self, name: &'s str, value: &Value<'_>) {
        let source = self.source;
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let assigned = source.match_indices(name).filter(|(at, _)| {
            let after = source[at + name.len()..].trim_start();
            !source[..*at].ends_with(is_part)
                && (after.starts_with(',') || (after.starts_with('=') && !after.starts_with("==")))
        });
        if let Some(kind) = value.kind.filter(|_| assigned.count() == 1) {
            self.kinds.insert(name, kind);
        }
    }

    /// Forgets the kinds of these names: new locals shadow them from here on.
    pub(super) fn forget(&mut self, names: &[&'s str]) {
        for name in names {
            self.kinds.remove(name);
        }
    }

    /// Returns an error if something doubtful was found.
    pub(super) fn doubt(at: usize, found: Option<Text>) -> Result<(), LuaMistake> {
        found.map_or(Ok(()), |message| Err(LuaMistake { at, message, runs: true }))
    }
}
