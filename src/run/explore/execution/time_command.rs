//! The answer to `TIME` during exploration. A server's clock does not follow the time of an order, which goes
//! back, so the answer is the order's time on a calendar of its own.

use super::script;
use crate::{
    clock::LessonTime,
    lesson::{Scenario, expr::Template, plan::PlannedVerb},
};

/// The time at which every order begins, in seconds since 1970: one second before a midnight, so that a lock that depends
/// on the minute, the hour or the day is seen when that changes. The calendar is set to it where an order is carried out.
pub(crate) const BEGINNING: i64 = 1_767_225_599;

/// The prefix of a script that asks for the time. It redefines `redis` so that `TIME` returns the order's
/// time, and so that a moment on that calendar is sent as the time left until then, because the server's own
/// calendar is another.
const CLOCK: &str = "local redis = (function(redis, seconds, micros) \
    local now = seconds * 1000 + math.floor(micros / 1000) \
    local units = {EXPIREAT = 1000, PEXPIREAT = 1, EXPIRETIME = 1000, PEXPIRETIME = 1, EXAT = 1000, PXAT = 1} \
    local function answering(ask) return function(name, ...) \
    local words, what = {...}, type(name) == 'string' and string.upper(name) \
    if what == 'TIME' then return {seconds, micros} end \
    if what == 'EXPIREAT' or what == 'PEXPIREAT' then \
    name = 'PEXPIRE' words[2] = words[2] * units[what] - now \
    elseif what == 'EXPIRETIME' or what == 'PEXPIRETIME' then \
    local left = ask('PTTL', ...) \
    return type(left) == 'number' and left >= 0 and math.floor((now + left) / units[what] + 0.5) or left \
    elseif what == 'SET' or what == 'GETEX' then for n = 2, #words - 1 do \
    local unit = type(words[n]) == 'string' and #words[n] == 4 and units[string.upper(words[n])] \
    if unit then words[n], words[n + 1] = 'PX', words[n + 1] * unit - now end end end \
    return ask(name, unpack(words)) end end \
    return setmetatable({call = answering(redis.call), pcall = answering(redis.pcall)}, {__index = redis}) end)";

/// Whether a command asks for the time, judging by its text.
pub(crate) fn asks<W: AsRef<str>>(words: &[W]) -> bool {
    let mut words = words.iter().map(AsRef::as_ref);
    let is_time = |word: &str| word.eq_ignore_ascii_case("TIME");
    let Some(name) = words.next() else { return false };
    match (is_time(name), name.to_ascii_uppercase().as_str()) {
        (true, _) => true,
        (_, "EVAL" | "EVAL_RO") => {
            words.next().is_some_and(|source| script::quoted(source).iter().any(|text| is_time(text)))
                || words.any(is_time)
        }
        _ => false,
    }
}

/// Whether any program of a scenario asks a server for the time.
pub(crate) fn is_asked_for(scenario: &Scenario) -> bool {
    scenario.operations().any(|operation| match &operation.verb {
        PlannedVerb::Redis(words) => asks(&words.iter().map(Template::pattern).collect::<Vec<_>>()),
        PlannedVerb::Script { source, args, .. } => {
            let args = args.iter().map(Template::pattern);
            asks(&["EVAL".to_owned(), source.to_string()].into_iter().chain(args).collect::<Vec<_>>())
        }
        _ => false,
    })
}

/// Returns a command as it is sent to a server whose clock is `ahead_ms` ahead of the order's time.
pub(crate) fn with_time(mut words: Vec<String>, at: LessonTime, ahead_ms: i64) -> Vec<String> {
    if !asks(&words) {
        return words;
    }
    let micros = at.as_nanos() / 1_000 + ahead_ms * 1_000;
    let (seconds, micros) = (BEGINNING + micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    let Some(source) = words.get_mut(1) else {
        let asked = ["EVAL", "return {ARGV[1], ARGV[2]}", "0"].map(str::to_owned).into_iter();
        return asked.chain([seconds, micros].map(|part| part.to_string())).collect();
    };
    // A script's first line may be a shebang, which must stay first. The prefix adds no line, so line numbers
    // stay the same.
    let first = if source.starts_with("#!") { source.find('\n').map_or(source.len(), |n| n + 1) } else { 0 };
    source.insert_str(first, &format!("{CLOCK}(redis, '{seconds}', '{micros}') "));
    words
}

#[cfg(test)]
mod tests {
    use super::{asks, with_time};
    use crate::clock::LessonTime;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn time_is_answered_with_that_of_the_order() {
        let at = LessonTime::from_millis(1_234);
        assert_eq!(with_time(words(&["time"]), at, 0)[2..], words(&["0", "1767225600", "234000"]));
        assert_eq!(with_time(words(&["TIME"]), at, -2_000)[3..], words(&["1767225598", "234000"]));
        let script = words(&["EVAL", "#!lua flags=no-writes\nreturn redis.call('TIME')[1]", "0"]);
        let sent = with_time(script, at, 0);
        assert!(sent[1].starts_with("#!lua flags=no-writes\nlocal redis = "), "{}", sent[1]);
        assert!(
            sent[1].ends_with("(redis, '1767225600', '234000') return redis.call('TIME')[1]"),
            "{}",
            sent[1]
        );
        assert_eq!(sent[1].lines().count(), 2);
    }

    #[test]
    fn other_commands_are_sent_as_they_are() {
        for other in [&["SET", "time", "1"][..], &["EVAL", "return redis.call('GET', 'n') -- time", "0"], &[]]
        {
            assert!(!asks(other), "{other:?}");
            assert_eq!(with_time(words(other), LessonTime::ZERO, 0), words(other));
        }
        assert!(asks(&["EVAL", "return redis.call(ARGV[1])", "0", "Time"]));
    }
}
