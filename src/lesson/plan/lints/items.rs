//! Index expressions beyond the end of a list: how many items an operation returns, and how often a move is made. And
//! lists that count one reply twice.

use super::{
    super::{
        super::expr::{
            Template,
            mentions::{joined, split_comparison},
            tokens::{Kind, tokens},
        },
        PlannedVerb, Scenario,
    },
    answer::Answer,
    in_programs::is_code,
};
use crate::{
    lesson::error::{Finding, finding},
    log::{Product, stands_for},
    text::both,
};

/// The most items in the reply to an operation; `None` if neither its command nor its script determines it.
pub(crate) fn answered(verb: &PlannedVerb) -> Option<usize> {
    match verb {
        PlannedVerb::Redis(words) => match words[0].pattern().to_ascii_uppercase().as_str() {
            "MGET" => Some(words.len() - 1),
            "HMGET" => Some(words.len().saturating_sub(2)),
            "BLPOP" | "BRPOP" => Some(2),
            "XAUTOCLAIM" | "XPENDING" => length(verb),
            _ => None,
        },
        PlannedVerb::Script { source, .. } => {
            let tables = source.split("return ").skip(1).map(|returned| in_table(returned.trim_start()));
            tables.collect::<Option<Vec<usize>>>()?.into_iter().max()
        }
        PlannedVerb::Call(call) if call.name() == "multi" => Some(call.parts().len()),
        _ => None,
    }
}

/// The number of items in every reply to an operation, if that is always the same.
pub(crate) fn length(verb: &PlannedVerb) -> Option<usize> {
    let PlannedVerb::Redis(words) = verb else { return None };
    match words[0].pattern().to_ascii_uppercase().as_str() {
        "XAUTOCLAIM" => Some(3),
        // How many, the first ID, the last, and how many each consumer has.
        "XPENDING" if words.len() == 3 => Some(4),
        _ => None,
    }
}

/// The finding about the length of a reply that always has as many items. `length` gives it for a name.
pub(crate) fn length_lint(source: &str, length: impl Fn(&str) -> Option<usize>) -> Option<Finding> {
    joined(source).into_iter().find_map(|part| {
        let (left, _, right) = split_comparison(part)?;
        let name = left.strip_suffix("|length")?;
        right.parse::<usize>().ok()?;
        let count = length(name)?;
        Some(finding!(
            "`{name}` always has {count} items, whatever is found: `{part}` has the same result in every run",
            "无论找到什么，`{name}` 总有 {count} 项：`{part}` 的结果永远一样",
            "ask for one of them, such as `{name}[0]`, or count the messages in it: `{name}[1]|length`",
            "请取其中一项，例如 `{name}[0]`；要数里面的消息请写 `{name}[1]|length`"
        ))
    })
}

/// The finding about a reply that a counted or filtered list names twice: `[vote1, vote1]|select('eq', 'OK')`.
pub(crate) fn repeated(source: &str) -> Option<Finding> {
    const KEYWORDS: [&str; 6] = ["and", "else", "if", "in", "not", "or"];
    let tokens = tokens(source).ok()?;
    let opens = (0..tokens.len()).filter(|at| {
        let may_index = |(kind, word): &(Kind, &str)| {
            *kind == Kind::Name && !KEYWORDS.contains(word) || matches!(*word, ")" | "]")
        };
        tokens[*at] == (Kind::Sign, "[")
            && !at.checked_sub(1).is_some_and(|before| may_index(&tokens[before]))
    });
    opens.into_iter().find_map(|open| {
        let inside = tokens[open + 1..].split(|token| *token == (Kind::Sign, "]")).next()?;
        let after = tokens.get(open + inside.len() + 2)?;
        let is_path = |item: &&[(Kind, &str)]| {
            item.first().is_some_and(|(kind, _)| *kind == Kind::Name)
                && item.iter().all(|(kind, word)| matches!(kind, Kind::Name | Kind::Number) || *word == ".")
        };
        let items: Vec<_> = inside.split(|token| *token == (Kind::Sign, ",")).collect();
        let (n, twice) =
            items.iter().enumerate().find(|(n, item)| is_path(item) && items[..*n].contains(item))?;
        let name: String = twice.iter().map(|(_, word)| *word).collect();
        (*after == (Kind::Sign, "|")).then(|| {
            let n = n + 1;
            finding!(
                "`{name}` counts twice: it stands in this list before, too",
                "`{name}` 算了两次：它在这个列表里前面已经出现过",
                "name another one as item {n}, or leave it out",
                "第 {n} 项请写另一个，或者去掉"
            )
        })
    })
}

/// The finding about a message of a stream beyond those that are ever added: `value('jobs').stream[2]`.
pub(super) fn messages_beyond(source: &str, scenario: &Scenario) -> Option<Finding> {
    let at = source.find(").stream[")?;
    let index: usize = source[at + ").stream[".len()..].split_once(']')?.0.trim().parse().ok()?;
    let call = &source[source[..at].rfind("value(")?..at];
    let key = call.strip_prefix("value(")?.trim_matches(['\'', '"']);
    if scenario.is_open() || key.contains(['\'', '"', ',', '~']) {
        return None;
    }
    let mut adds = 0;
    for line in &scenario.setup {
        adds += usize::from(adds_to(&line.verb, key)?);
    }
    for plan in &scenario.actors {
        for operation in plan.program.operations() {
            adds_to(&operation.verb, key)?;
        }
        adds += plan.program.at_most(|instruction| {
            instruction.operation().is_some_and(|operation| adds_to(&operation.verb, key) == Some(true))
        })?;
    }
    (index >= adds && adds > 0).then(|| {
        let (name, last) = (format!("value('{key}').stream"), adds - 1);
        finding!(
            "`{name}` has {adds} messages at most, and the first is `{name}[0]`",
            "`{name}` 最多有 {adds} 条消息，第一条是 `{name}[0]`",
            "the last is `{name}[{last}]`",
            "最后一条是 `{name}[{last}]`"
        )
    })
}

/// Whether an operation adds a message to a stream; `None` if it may add several.
fn adds_to(verb: &PlannedVerb, key: &str) -> Option<bool> {
    match verb {
        PlannedVerb::Redis(words) => {
            let name = words[0].pattern().to_ascii_uppercase();
            if matches!(name.as_str(), "EVAL" | "EVALSHA" | "FCALL" | "RENAME" | "RESTORE" | "COPY") {
                return None;
            }
            Some(name == "XADD" && stands_for(&words.get(1)?.pattern(), key))
        }
        PlannedVerb::Script { keys, .. } => {
            (!keys.iter().any(|known| stands_for(&known.pattern(), key))).then_some(false)
        }
        PlannedVerb::Given(_) => None,
        _ => Some(false),
    }
}

/// The answer to one of the calls of a `multi`.
pub(crate) fn of_part(verb: &PlannedVerb, index: usize) -> Option<Answer> {
    let PlannedVerb::Call(call) = verb else { return None };
    let part = call.parts().get(index).filter(|_| call.name() == "multi")?.clone();
    if part.name() == "check" { Some(Answer::Ok) } else { Answer::of(&PlannedVerb::Call(part)) }
}

/// The number of values in a table literal of Lua at the beginning of the text.
fn in_table(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('{')?;
    let (mut depth, mut quote, mut from, mut items) = (0_u32, None, 0, Vec::new());
    for (at, c) in inside.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '{' | '(' | '[') => depth += 1,
            (None, ',' | ';' | '}') if depth == 0 => {
                items.push(inside[from..at].trim());
                from = at + 1;
                if c == '}' {
                    items.retain(|item| !item.is_empty());
                    // A function of the script may return several values, and `name = value` is not an item.
                    let is_one = |item: &str| {
                        let begins = ["redis.call(", "redis.pcall(", "tonumber(", "tostring(", "#"];
                        !item.contains(['(', '=']) && !item.contains("...")
                            || begins.iter().any(|begin| item.starts_with(begin))
                    };
                    return items.iter().all(|item| is_one(item)).then_some(items.len());
                }
            }
            (None, '}' | ')' | ']') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Reports an index beyond the end of a list: `look[2]`. `items` returns the most items of a name such as `look` or
/// `replies('A.vote')`.
pub(crate) fn beyond(source: &str, items: impl Fn(&str) -> Option<usize>) -> Option<Finding> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    source.match_indices('[').find_map(|(at, _)| {
        let (index, _) = source[at + 1..].split_once(']')?;
        let index: usize = index.trim().parse().ok()?;
        let before = &source[..at];
        let name = if before.ends_with(')') {
            &before[before.rfind("replies(")?..]
        } else {
            before.rsplit(|c| !is_part(c)).next()?
        };
        let count = items(name).filter(|count| index >= *count)?;
        let message = both!(
            "`{name}` has {count} items at most, and the first is `{name}[0]`",
            "`{name}` 最多有 {count} 项，第一项是 `{name}[0]`"
        );
        let help = match count.checked_sub(1) {
            Some(last) => both!("the last is `{name}[{last}]`", "最后一项是 `{name}[{last}]`"),
            None => both!(
                "ask only whether there are any: `{name}|length == 0`",
                "只能问有没有：`{name}|length == 0`"
            ),
        };
        Some(Finding { message, help })
    })
}

/// The most times that a move is made, by its name in claims: by one actor, by several, or by all.
pub(super) fn made(name: &str, scenario: &Scenario) -> Option<usize> {
    let (who, label) = name.rsplit_once('.').unwrap_or(("", name));
    let mut plans =
        scenario.actors.iter().filter(|plan| who.is_empty() || plan.actor.name.starts_with(who)).peekable();
    plans.peek()?;
    plans.try_fold(0, |sum, plan| Some(sum + plan.program.moves_of(label)?))
}

/// The most replies of `replies('A.vote')`.
pub(super) fn replied(call: &str, scenario: &Scenario) -> Option<usize> {
    let name = call.strip_prefix("replies(")?.strip_suffix(')')?.trim().trim_matches(['\'', '"']);
    made(name, scenario).filter(|_| !name.contains(['(', '\'', '"']))
}

/// The comparisons of single replies that `replies('A.leave') == ['Lost', 1]` makes.
pub(super) fn compared(part: &str) -> Vec<String> {
    let items = || {
        let (left, "==", right) = split_comparison(part)? else { return None };
        let name = left.strip_prefix("replies(")?.strip_suffix(')')?.trim_matches(['\'', '"']);
        let items = right.strip_prefix('[')?.strip_suffix(']')?;
        let is_plain =
            !name.contains(['\'', '"', '(']) && name.contains('.') && !items.contains(['[', '(', '{']);
        // Errors are no replies of a command, and nothing was answered before the last of several tries.
        let items = items.split(',').map(str::trim).filter(|item| *item != "none" && !is_code(item));
        is_plain.then(|| items.map(|item| format!("{name} == {item}")).collect())
    };
    items().unwrap_or_default()
}

/// Whether the operation lists the names of znodes.
pub(crate) fn lists_names(verb: &PlannedVerb) -> bool {
    matches!(verb, PlannedVerb::Call(call) if call.product() == Product::Zookeeper && call.name() == "ls")
}

/// Whether a word of a Redis command is this name, in any case of letters.
pub(crate) fn is_word(word: &Template, wanted: &str) -> bool {
    word.pattern().eq_ignore_ascii_case(wanted)
}

#[cfg(test)]
mod tests {
    use super::{beyond, in_table, repeated};

    #[test]
    fn a_name_counts_once_in_a_list() {
        for (source, wrong) in [
            ("[a, b, b]|select('eq', 'OK')|list|length > 1", true),
            ("votes|length > 1 and [A.one.set, B.set, A.one.set]|sum == 2", true),
            ("[a, b, c]|sum == 2", false),
            ("[1, 1]|sum == a[0]", false),
            ("[a, b] == [a, a]", false),
            ("x[a] + x[a]|int", false),
        ] {
            assert_eq!(repeated(source).is_some(), wrong, "{source}");
        }
    }

    #[test]
    fn the_values_of_a_table_are_counted_where_they_are_written_out() {
        for (table, count) in [
            ("{0, x}\n", Some(2)),
            ("{}", Some(0)),
            ("{1, redis.call('HGET', KEYS[1], 'a,b'), {2, 3}}", Some(3)),
            ("{1; 2;}", Some(2)),
            ("{unpack(KEYS)}", None),
            ("{ok = 'OK'}", None),
            ("{1, several()}", None),
            ("1", None),
        ] {
            assert_eq!(in_table(table), count, "{table}");
        }
    }

    #[test]
    fn an_index_beyond_the_end_is_found_behind_any_letters() {
        let items = |name: &str| (name == "look" || name == "replies('A.vote')").then_some(2);
        for (source, is_beyond) in [
            ("look[1] == 1", false),
            ("look[2] == 1", true),
            ("x == '锁' and look[2] == 1", true),
            ("'锁'[2] == 1", false),
            ("outlook[2] == 1", false),
            ("replies('A.vote')[2] == 'OK'", true),
            ("look[n] == 1", false),
        ] {
            assert_eq!(beyond(source, items).is_some(), is_beyond, "{source}");
        }
    }
}
