//! The forms of Redis commands, word by word: one table for both the checks and the help that they show.

use crate::{
    lesson::parse_millis,
    text::{Text, both},
};

/// The forms of commands. A word in a fixed position is checked by its placeholder: a number, or one of a few words.
const FORMS: &str = "
    GET key
    SET key value [NX | XX] [GET] [EX seconds | PX milliseconds | KEEPTTL]
    SETNX key value
    SETEX key seconds value
    PSETEX key milliseconds value
    GETSET key value
    GETDEL key
    GETRANGE key start stop
    SETRANGE key offset value
    DEL key [key …]
    UNLINK key [key …]
    EXISTS key [key …]
    INCR key
    DECR key
    INCRBY key increment
    DECRBY key increment
    INCRBYFLOAT key number
    MSET key value [key value …]
    MGET key [key …]
    APPEND key value
    GETBIT key offset
    SETBIT key offset 0|1
    BITCOUNT key [start end [BYTE | BIT]]
    BITPOS key 0|1 [start]
    EXPIRE key seconds [NX | XX | GT | LT]
    PEXPIRE key milliseconds [NX | XX | GT | LT]
    EXPIREAT key seconds [NX | XX | GT | LT]
    PEXPIREAT key milliseconds [NX | XX | GT | LT]
    PERSIST key
    TTL key
    PTTL key
    SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]
    HSCAN key cursor [MATCH pattern] [COUNT count]
    SSCAN key cursor [MATCH pattern] [COUNT count]
    ZSCAN key cursor [MATCH pattern] [COUNT count]
    SORT key [BY pattern] [LIMIT offset count] [GET pattern] [ASC | DESC] [ALPHA] [STORE key]
    OBJECT ENCODING key
    FLUSHALL [ASYNC | SYNC]
    FLUSHDB [ASYNC | SYNC]
    SELECT index
    HSET key field value [field value …]
    HSETNX key field value
    HGET key field
    HGETALL key
    HDEL key field [field …]
    HEXISTS key field
    HINCRBY key field increment
    HINCRBYFLOAT key field number
    LPUSH key value [value …]
    RPUSH key value [value …]
    LPOP key [count]
    RPOP key [count]
    LINDEX key index
    LINSERT key BEFORE|AFTER pivot value
    LPOS key value [RANK rank] [COUNT count] [MAXLEN length]
    LSET key index value
    LRANGE key start stop
    LREM key count value
    LTRIM key start stop
    BLPOP key [key …] seconds
    BRPOP key [key …] seconds
    LMOVE from to LEFT|RIGHT LEFT|RIGHT
    BLMOVE from to LEFT|RIGHT LEFT|RIGHT seconds
    BRPOPLPUSH from to seconds
    SADD key member [member …]
    SREM key member [member …]
    SISMEMBER key member
    SPOP key [count]
    SRANDMEMBER key [count]
    ZADD key [NX | XX] [GT | LT] [CH] [INCR] score member [score member …]
    ZINCRBY key number member
    ZREM key member [member …]
    ZRANGE key min max [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]
    ZREVRANGE key start stop [WITHSCORES]
    ZRANGEBYSCORE key score score [WITHSCORES] [LIMIT offset count]
    ZREVRANGEBYSCORE key score score [WITHSCORES] [LIMIT offset count]
    ZREMRANGEBYSCORE key score score
    ZREMRANGEBYRANK key start stop
    ZCOUNT key score score
    ZPOPMIN key [count]
    ZPOPMAX key [count]
    ZSCORE key member
    ZRANK key member
    GEOADD key [NX | XX] [CH] longitude latitude member [longitude latitude member …]
    GEODIST key member member [M | KM | FT | MI]
    XADD key [NOMKSTREAM] [MAXLEN | MINID [= | ~] threshold [LIMIT count]] * | id field value [field value …]
    XREAD [COUNT count] [BLOCK milliseconds] STREAMS key [key …] id [id …]
    XREADGROUP GROUP group consumer [COUNT count] [BLOCK milliseconds] [NOACK] STREAMS key [key …] > | id
    XRANGE key id id [COUNT count]
    XREVRANGE key id id [COUNT count]
    XGROUP CREATE key group $ | id [MKSTREAM]
    XACK key group id [id …]
    XPENDING key group [[IDLE milliseconds] start end count [consumer]]
    XCLAIM key group consumer milliseconds id [id …]
    XAUTOCLAIM key group consumer milliseconds id [COUNT count] [JUSTID]
    PUBLISH channel message
    SUBSCRIBE channel [channel …]
    EVAL script numkeys [key …] [argument …]
    EVALSHA sha1 numkeys [key …] [argument …]
    WAIT replicas milliseconds
    WATCH key [key …]
";

/// Placeholders that stand for whole numbers.
const WHOLE: &[&str] = &[
    "seconds",
    "milliseconds",
    "increment",
    "count",
    "start",
    "stop",
    "offset",
    "index",
    "cursor",
    "replicas",
];

/// The form of a command.
pub(super) fn form(name: &str) -> Option<&'static str> {
    FORMS.lines().map(str::trim).find(|form| form.split(' ').next() == Some(name))
}

/// Checks the words in fixed positions: all before the first bracketed group of more than one word.
pub(super) fn check_words(name: &str, form: &str, words: &[Option<String>]) -> Result<(), Text> {
    // Blocking commands accept fractions of seconds.
    let waits = ["BLMOVE", "BRPOPLPUSH"].contains(&name);
    for (place, word) in form.split(' ').zip(words).skip(1) {
        let place = match place.strip_prefix('[') {
            None => place,
            Some(inside) => match inside.strip_suffix(']') {
                Some(place) if place.starts_with(|c: char| c.is_ascii_lowercase()) => place,
                _ => return Ok(()),
            },
        };
        if let Some(word) = word.as_ref().filter(|_| !waits || place != "seconds") {
            check_word(name, place, word)?;
        }
    }
    Ok(())
}

fn check_word(name: &str, place: &str, word: &str) -> Result<(), Text> {
    if WHOLE.contains(&place) && word.parse::<i64>().is_err() {
        return Err(no_whole_number(name, word));
    }
    if place == "number" && word.parse::<f64>().is_err() || place == "score" && !is_score(word) {
        return Err(no_number(name, word));
    }
    if place == "sha1" && !(word.len() == 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit())) {
        return Err(both!(
            "`{name}` wants the SHA1 of a script here, 40 hexadecimal digits, and `{word}` is none",
            "`{name}` 在这里要写脚本的 SHA1（40 位十六进制数），`{word}` 不是"
        ));
    }
    if place.len() > 1 && place.contains('|') {
        return check_choice(name, &place.split('|').collect::<Vec<_>>(), word);
    }
    Ok(())
}

pub(super) fn check_choice(name: &str, known: &[&str], word: &str) -> Result<(), Text> {
    if known.iter().any(|known| known.eq_ignore_ascii_case(word)) {
        return Ok(());
    }
    let known = known.join(", ");
    Err(both!(
        "`{name}` wants one of {known} here, and `{word}` is none",
        "`{name}` 在这里要写 {known} 之一，`{word}` 不是"
    ))
}

/// Checks the range of a `ZRANGE`: by rank, by score or lexicographic.
pub(super) fn check_range(name: &str, words: &[Option<String>]) -> Result<(), Text> {
    let options = || words.iter().skip(4);
    if name != "ZRANGE" || options().any(Option::is_none) {
        return Ok(());
    }
    let has = |option: &str| options().flatten().any(|word| word.eq_ignore_ascii_case(option));
    for word in words.iter().skip(2).take(2).flatten() {
        match () {
            () if has("BYSCORE") && !is_score(word) => return Err(no_score(name, word)),
            () if has("BYLEX") => {}
            () if !has("BYSCORE") && word.parse::<i64>().is_err() => return Err(no_whole_number(name, word)),
            () => {}
        }
    }
    Ok(())
}

/// Checks that each member of a `GEOADD` follows its longitude and latitude.
pub(super) fn check_places(words: &[Option<String>]) -> Result<(), Text> {
    let is_option = |word: &&Option<String>| {
        word.as_ref()
            .is_some_and(|word| ["NX", "XX", "CH"].iter().any(|option| option.eq_ignore_ascii_case(word)))
    };
    let places: Vec<&Option<String>> = words.iter().skip(2).skip_while(is_option).collect();
    if !places.len().is_multiple_of(3) {
        // A word that is known only at run time may be an option.
        return if places.first().is_some_and(|first| first.is_none()) {
            Ok(())
        } else {
            Err(both!(
                "`GEOADD` takes longitude, latitude and member, and words are left over",
                "`GEOADD` 的参数是经度、纬度、成员三个一组，这里有多余的词"
            ))
        };
    }
    for place in places.chunks(3) {
        for (word, most) in place.iter().zip([180.0, 85.06]) {
            let Some(word) = word else { continue };
            let is_well = word.parse::<f64>().is_ok_and(|degrees| degrees.abs() <= most);
            if !is_well {
                return Err(both!(
                    "`GEOADD` wants a longitude and a latitude before the member, and `{word}` is none",
                    "`GEOADD` 的成员前面要写经度和纬度，`{word}` 不是"
                ));
            }
        }
    }
    Ok(())
}

/// Checks the parts of a `BITFIELD`, each of which has its own number of words.
pub(super) fn check_bitfield(words: &[Option<String>]) -> Result<(), Text> {
    const PARTS: [(&str, usize, &str); 4] = [
        ("GET", 2, "GET type offset"),
        ("SET", 3, "SET type offset value"),
        ("INCRBY", 3, "INCRBY type offset increment"),
        ("OVERFLOW", 1, "OVERFLOW WRAP|SAT|FAIL"),
    ];
    let mut rest = words.get(2..).unwrap_or_default();
    while let [first, after @ ..] = rest {
        // A word that is known only at run time may be any part.
        let Some(first) = first else { return Ok(()) };
        let Some((_, count, form)) = PARTS.iter().find(|(name, ..)| name.eq_ignore_ascii_case(first)) else {
            let known = PARTS.map(|(name, ..)| name).join(", ");
            return Err(both!(
                "`BITFIELD` wants one of {known} here, and `{first}` is none",
                "`BITFIELD` 在这里要写 {known} 之一，`{first}` 不是"
            ));
        };
        if after.len() < *count {
            return Err(both!("words are missing: `{form}`", "缺少参数：`{form}`"));
        }
        let is_type = |word: &str| {
            word.strip_prefix(['i', 'u']).is_some_and(|bits| bits.parse::<u8>().is_ok_and(|bits| bits > 0))
        };
        if let Some(word) = after[0].as_deref().filter(|word| *count > 1 && !is_type(word)) {
            return Err(both!(
                "`{first}` wants a type such as `u8` or `i16`, and `{word}` is none",
                "`{first}` 后面要写类型，例如 `u8` 或 `i16`，`{word}` 不是"
            ));
        }
        rest = &after[*count..];
    }
    Ok(())
}

/// Checks the value that `CONFIG SET` gives a parameter.
pub(super) fn check_parameter(name: &str, value: &str) -> Result<(), Text> {
    let name = name.to_ascii_lowercase();
    let known: &[&str] = match name.as_str() {
        "appendonly"
        | "replica-read-only"
        | "slave-read-only"
        | "replica-serve-stale-data"
        | "no-appendfsync-on-rewrite"
        | "lazyfree-lazy-eviction"
        | "lazyfree-lazy-expire"
        | "stop-writes-on-bgsave-error"
        | "activedefrag" => &["yes", "no"],
        "appendfsync" => &["always", "everysec", "no"],
        "maxmemory-policy" => &[
            "noeviction",
            "allkeys-lru",
            "allkeys-lfu",
            "allkeys-random",
            "volatile-lru",
            "volatile-lfu",
            "volatile-random",
            "volatile-ttl",
            "allkeys-lrm",
            "volatile-lrm",
        ],
        "maxmemory" => {
            let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let unit = value[digits.len()..].to_ascii_lowercase();
            let is_amount = digits.parse::<u64>().is_ok()
                && ["", "b", "k", "kb", "m", "mb", "g", "gb"].contains(&unit.as_str());
            return if is_amount {
                Ok(())
            } else {
                Err(both!(
                    "`{name}` wants an amount of memory, such as 1mb, and `{value}` is none",
                    "`{name}` 要写内存大小，例如 1mb，`{value}` 不是"
                ))
            };
        }
        "hz" | "timeout" | "min-replicas-to-write" | "min-replicas-max-lag" | "maxmemory-samples" => {
            return if value.parse::<i64>().is_ok() { Ok(()) } else { Err(no_whole_number(&name, value)) };
        }
        _ => return Ok(()),
    };
    check_choice(&name, known, value)
}

pub(super) fn is_score(word: &str) -> bool {
    let word = word.strip_prefix('(').unwrap_or(word);
    word.parse::<f64>().is_ok() || word.trim_start_matches(['+', '-']).eq_ignore_ascii_case("inf")
}

fn no_number(name: &str, word: &str) -> Text {
    both!("`{name}` wants a number here, and `{word}` is none", "`{name}` 在这里要数字，`{word}` 不是数字")
}

pub(super) fn no_score(name: &str, word: &str) -> Text {
    both!(
        "`{name}` wants a score here, and `{word}` is no number",
        "`{name}` 在这里要分数，`{word}` 不是数字"
    )
}

pub(super) fn no_whole_number(name: &str, word: &str) -> Text {
    let counts_seconds = ["EX", "EXPIRE", "SETEX"].contains(&name);
    let counts_millis = ["PX", "PEXPIRE", "PSETEX"].contains(&name);
    if let Some(millis) = parse_millis(word).ok().filter(|_| counts_seconds || counts_millis) {
        let number = if counts_seconds { (millis + 999) / 1000 } else { millis };
        return both!(
            "`{name}` wants a whole number here, and `{word}` is none: write `{number}`",
            "`{name}` 在这里要整数，`{word}` 不是整数：请写 `{number}`"
        );
    }
    let is_name = word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_name {
        return both!(
            "`{name}` wants a whole number here, and `{word}` is none; a value is filled in with `${{{word}}}`",
            "`{name}` 在这里要整数，`{word}` 不是整数；填入值要写 `${{{word}}}`"
        );
    }
    both!(
        "`{name}` wants a whole number here, and `{word}` is none",
        "`{name}` 在这里要整数，`{word}` 不是整数"
    )
}
