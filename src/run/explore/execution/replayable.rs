//! The commands that cannot be explored, and why.

use super::script;
use crate::text::{Text, Words, both};

pub(crate) const CHANGES_THE_SERVER: Words = Words::new(
    "it changes the server itself, which emptying it does not undo",
    "它改变了服务器本身，清空数据也恢复不了",
);
const CHANGES_THE_CONNECTION: Words = Words::new(
    "it changes its connection or its database, which cannot be gone back on",
    "它改变了连接或所用的数据库，无法退回",
);
const DEPENDS_ON_MORE: Words = Words::new(
    "its reply depends on more than the keys hold, and so need not be the same when it is made again",
    "它的回复不只取决于键的内容，重新执行时未必相同",
);
const BY_THE_CALENDAR: Words = Words::new(
    "it depends on the calendar, and so does not answer the same when it is made again",
    "它取决于日历时间，重新执行时结果就不同了",
);
const AT_RANDOM: Words = Words::new(
    "its reply is drawn at random, and so is not the same when it is made again",
    "它的回复是随机的，重新执行时就不同了",
);

/// Commands of lessons with which an order cannot be repeated or undone, why, and whether they are to be
/// refused in scripts, too: the others, the server itself refuses there. Commands that no lesson may send are
/// not listed.
const REFUSED: &[(&str, Words, bool)] = &[
    ("HELLO CLIENT QUIT READONLY", CHANGES_THE_CONNECTION, false),
    ("SELECT SWAPDB MOVE", CHANGES_THE_CONNECTION, true),
    (
        "TIME LASTSAVE INFO EXPIREAT PEXPIREAT EXPIRETIME PEXPIRETIME HEXPIRE HPEXPIRE HEXPIREAT HPEXPIREAT HGETEX \
         HSETEX XPENDING XCLAIM XAUTOCLAIM XINFO",
        BY_THE_CALENDAR,
        true,
    ),
    ("RANDOMKEY SPOP SRANDMEMBER HRANDFIELD ZRANDMEMBER", AT_RANDOM, true),
    ("LATENCY SLOWLOG", DEPENDS_ON_MORE, false),
    ("OBJECT MEMORY DBSIZE SCAN SSCAN HSCAN ZSCAN DUMP", DEPENDS_ON_MORE, true),
    ("CONFIG SCRIPT FUNCTION SAVE", CHANGES_THE_SERVER, false),
];

/// Arguments that name a moment of the calendar.
const CALENDAR: &[&str] = &["EXAT", "PXAT", "ABSTTL"];

/// Refused names that a script may nevertheless use if it asks for the time: it is told the order's time, and
/// its moments are computed from that.
const BY_THE_TIME: &[&str] = &["TIME", "EXPIREAT", "PEXPIREAT", "EXPIRETIME", "PEXPIRETIME", "EXAT", "PXAT"];

/// The commands that scripts may not call.
pub(crate) fn refused_in_scripts() -> impl Iterator<Item = &'static str> {
    let rows = REFUSED.iter().filter(|(.., in_scripts)| *in_scripts);
    rows.flat_map(|(names, ..)| names.split_ascii_whitespace())
}

/// Checks that an order with a command can be repeated. The error says why not. `tells_time`: whether `TIME`
/// is answered with the order's time.
pub(crate) fn replayable(name: &str, words: &[String], tells_time: bool) -> Result<(), Text> {
    if tells_time && name == "TIME" {
        return Ok(());
    }
    let row = REFUSED.iter().find(|(names, ..)| names.split_ascii_whitespace().any(|known| known == name));
    if let Some((_, why, _)) = row {
        return Err(why.text(&[]));
    }
    check_arguments(&[name], words.get(1..).unwrap_or_default(), false)
}

/// Checks that commands have no arguments that cannot be explored. The error says why.
fn check_arguments(names: &[&str], words: &[String], is_told_time: bool) -> Result<(), Text> {
    let has = |wanted: &str| words.iter().any(|word| word.eq_ignore_ascii_case(wanted));
    let is_known = |word: &str| is_told_time && BY_THE_TIME.contains(&word);
    if let Some(word) = CALENDAR.iter().find(|word| has(word) && !is_known(word)) {
        return Err(both!(
            "`{word}` names a moment of the calendar, which is another when it is made again",
            "`{word}` 指定了日历上的时刻，重新执行时已是另一个时刻"
        ));
    }
    if names.contains(&"XADD") && has("*") {
        return Err(both!(
            "the server names the entry by its calendar, and so not the same when it is made again",
            "条目的 ID 由服务器按日历时间生成，重新执行时就不同了"
        ));
    }
    if names.contains(&"COPY") && has("DB") {
        return Err(both!(
            "it writes to another database, which cannot be gone back on",
            "它写入了另一个数据库，无法退回"
        ));
    }
    Ok(())
}

/// Checks that a script can be repeated. If its calls cannot be determined, no string in it and no argument
/// may be the name of a refused command.
pub(crate) fn replayable_script(
    source: &str,
    calls: Option<&[script::Call]>,
    args: &[String],
    tells_time: bool,
) -> Result<(), Text> {
    let mut texts = script::quoted(source);
    texts.extend(args.iter().map(|arg| arg.to_ascii_uppercase()));
    let names: Vec<&str> = match calls {
        Some(calls) => calls.iter().map(|call| call.name.as_str()).collect(),
        None => texts.iter().map(String::as_str).collect(),
    };
    let is_told_time = tells_time && texts.iter().any(|text| text == "TIME");
    let refused = |name: &&&str| {
        !(is_told_time && BY_THE_TIME.contains(*name))
            && refused_in_scripts().any(|refused| refused == **name)
    };
    if let Some(word) = names.iter().find(refused) {
        return Err(in_script(word));
    }
    if source.contains("math.random") {
        return Err(both!(
            "its script draws at random, and so need not do the same when it is made again",
            "脚本里用了随机数，重新执行时未必相同"
        ));
    }
    check_arguments(&names, &texts, is_told_time)
        .map_err(|why| both!("its script: {why}", "它的脚本：{why}", why))
}

/// Why a script that calls this command cannot be explored.
pub(crate) fn in_script(name: &str) -> Text {
    both!(
        "its script calls `{name}`, which does not answer the same when it is made again",
        "它的脚本调用了 `{name}`，重新执行时回复未必相同"
    )
}

#[cfg(test)]
mod tests {
    use super::{super::script, replayable, replayable_script};

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_refused_command_says_why() {
        for (command, why) in [
            ("RANDOMKEY", "random"),
            ("TIME", "calendar"),
            ("SET k v EXAT 1", "calendar"),
            ("CONFIG SET a b", "server itself"),
        ] {
            let words = words(command);
            let refused = replayable(&words[0], &words, false).expect_err(command);
            assert!(refused.en.contains(why), "{command}: {refused:?}");
        }
        assert!(replayable("SET", &words("SET k v NX PX 10"), true).is_ok());
        assert!(replayable("BLPOP", &words("BLPOP q 0"), true).is_ok());
        let script = |source: &str, args: &str| {
            replayable_script(source, script::calls(source).as_deref(), &[args.to_owned()], false)
        };
        let judged = |source: &str| replayable_script(source, script::calls(source).as_deref(), &[], true);
        assert!(replayable("TIME", &words("TIME"), true).is_ok());
        assert!(judged("return redis.call('TIME')[1]").is_ok());
        assert!(judged("local c = redis.call return c('TIME')").is_ok());
        assert!(judged("local c = redis.call return c('RANDOMKEY')").is_err());
        // A moment that a script computes from the time that it was told is known; any other is not.
        let until = "return redis.call('SET', KEYS[1], 1, 'NX', 'PXAT', redis.call('TIME')[1] * 1000 + 5)";
        assert!(judged(until).is_ok());
        assert!(judged("return redis.call('PEXPIREAT', KEYS[1], redis.call('TIME')[1] * 1000 + 5)").is_ok());
        assert!(judged("return redis.call('SET', KEYS[1], 1, 'PXAT', ARGV[1])").is_err());
        assert!(judged("return redis.call('PEXPIREAT', KEYS[1], ARGV[1])").is_err());
        assert!(script(until, "").is_err());
        assert!(script("return redis.call('TIME')[1]", "").is_err());
        assert!(script("local c = redis.call return c('TIME')", "").is_err());
        assert!(script("return redis.call(ARGV[1])", "time").is_err());
        assert!(script("return redis.call('XADD', KEYS[1], '*', 'a', 'b')", "").is_err());
        assert!(script("return redis.call('COPY', 'a', 'b', 'DB', 1)", "").is_err());
        assert!(script("return redis.call('GET', KEYS[1])", "").is_ok());
        assert!(script("return redis.call('HGET', KEYS[1], 'time')", "").is_ok());
    }
}
