//! Comparisons with a part of what a key holds, or with an attribute of a client or a notification, that never has such a
//! value.

use super::comparison::{Literal, literal, of_number, of_whole_list};
use crate::{
    lesson::error::{Finding, finding},
    text::both,
};

/// The finding about a whole list of texts that is compared with a list of numbers, or about pairs of a member and its
/// score that are the other way round.
pub(super) fn of_list(left: &str, operator: &str, right: &str) -> Option<Finding> {
    let (call, part) = left.rsplit_once(").")?;
    let items = right.strip_prefix('[')?.strip_suffix(']')?;
    if !call.starts_with("value(") || !matches!(operator, "==" | "!=") {
        return None;
    }
    let number = |item: &str| item.trim().parse::<f64>().is_ok();
    let of_numbers = || Finding {
        message: both!("`{left}` holds texts, and here are numbers", "`{left}` 里是文字，这里写的是数字"),
        help: both!("put each in quotes: `['1', '2']`", "请给每个加上引号：`['1', '2']`"),
    };
    match part {
        "list" | "set" => items.split(',').any(number).then(of_numbers),
        "sorted_set" => {
            let pairs = items.split('[').skip(1).filter_map(|pair| pair.split(']').next());
            let pairs: Vec<(&str, &str)> = pairs.filter_map(|pair| pair.rsplit_once(',')).collect();
            if pairs.iter().any(|(_, score)| number(score)) {
                return Some(of_numbers());
            }
            let (member, score) = pairs.into_iter().find_map(|(first, second)| {
                let Literal::Text(member) = literal(second.trim())? else { return None };
                member.parse::<f64>().is_err().then(|| (second.trim(), first.trim()))
            })?;
            Some(finding!(
                "each pair of `{left}` is a member and then its score, and {member} is no score",
                "`{left}` 的每一对先是成员、后是分数，而 {member} 不是分数",
                "write `[[{member}, {score}]]`",
                "请写 `[[{member}, {score}]]`"
            ))
        }
        _ => None,
    }
}

/// The finding about an attribute that never has the value it is compared with.
pub(super) fn of_attribute(left: &str, operator: &str, value: &Literal<'_>, right: &str) -> Option<Finding> {
    let plain = !left.contains([' ', '|', '(']);
    let says_yes_or_no = left.ends_with(".crashed") || left.ends_with(".finished");
    if plain && says_yes_or_no && !matches!(value, Literal::Flag) {
        return Some(finding!(
            "`{left}` is `true` or `false`, never {right}",
            "`{left}` 是 `true` 或 `false`，不会是 {right}",
            "write `{left}` or `not {left}`",
            "请写 `{left}` 或 `not {left}`"
        ));
    }
    if plain && left.ends_with(".notified") && !matches!(value, Literal::Number(_)) {
        return Some(of_number(left, "==", &Literal::Flag, right));
    }
    if plain
        && left.rsplit_once('.').is_some_and(|(_, field)| field == "what")
        && let Literal::Text(word) = value
        && let Some(event) = event(word)
    {
        return Some(Finding {
            message: both!("`{left}` is never {right}", "`{left}` 不会是 {right}"),
            help: both!("did you mean '{event}'?", "是不是 '{event}'？"),
        });
    }
    if let Some((entry, field)) = left.split_once("].")
        && !field.contains(['[', '.', '|', ' '])
        && left.starts_with("value(")
    {
        let (is_stream, is_sorted) = (entry.contains(").stream["), entry.contains(").sorted_set["));
        if is_stream && !entry.contains("][") {
            return Some(finding!(
                "an entry of a stream is its id and its fields: `{entry}]` has no `.{field}`",
                "stream 的一条消息由 ID 和字段组成：`{entry}]` 没有 `.{field}`",
                "write `{entry}][1].{field}`",
                "请写 `{entry}][1].{field}`"
            ));
        }
        if is_sorted {
            return Some(finding!(
                "`{entry}]` is a member with its score, and has no `.{field}`",
                "`{entry}]` 是成员和分数的一对，没有 `.{field}`",
                "the member is `{entry}][0]`, the score `{entry}][1]`",
                "成员是 `{entry}][0]`，分数是 `{entry}][1]`"
            ));
        }
    }
    let of_hash = left.starts_with("value(") && !left.contains('|');
    let whole = [").list", ").set", ").sorted_set", ").stream"].iter().any(|part| left.ends_with(part));
    if whole && left.starts_with("value(") && matches!(value, Literal::Text(_) | Literal::Number(_)) {
        let item = if matches!(value, Literal::Text(_)) { right } else { "'A'" };
        return Some(of_whole_list(left, right, item));
    }
    let parts = [").hash", ").list", ").set", ").sorted_set"];
    let field = parts.iter().find_map(|part| Some(left.split_once(part)?.1)).filter(|_| of_hash)?;
    // The items of a sorted set are pairs of a member and its score.
    let of_pairs = left.contains(").sorted_set[") && field.matches('[').count() == 1 && field.ends_with(']');
    match value {
        Literal::Text(_) | Literal::Number(_) if of_pairs => Some(finding!(
            "`{left}` is a member with its score, never {right}",
            "`{left}` 是成员和分数的一对，不会是 {right}",
            "the member is `{left}[0]`, the score `{left}[1]`",
            "成员是 `{left}[0]`，分数是 `{left}[1]`"
        )),
        Literal::Number(number) if field.starts_with(['.', '[']) => Some(of_content(left, operator, *number)),
        _ => None,
    }
}

/// The finding about what a key holds that is compared with a number.
pub(super) fn of_content(left: &str, operator: &str, number: i64) -> Finding {
    finding!(
        "`{left}` is a text or `none`, never the number {number}",
        "`{left}` 是文字或 `none`，不会是数字 {number}",
        "write `{left}|int {operator} {number}`",
        "请写 `{left}|int {operator} {number}`"
    )
}

/// The events that ZooKeeper's clients are notified of.
pub(super) const EVENTS: [&str; 7] = [
    "NodeCreated",
    "NodeDeleted",
    "NodeDataChanged",
    "NodeChildrenChanged",
    "Suspended",
    "Reconnected",
    "Expired",
];

/// The event that a misspelt word means.
fn event(word: &str) -> Option<&'static str> {
    let plain: String = word.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.strip_prefix("Session").or_else(|| plain.strip_prefix("Connection")).unwrap_or(&plain);
    EVENTS.into_iter().find(|event| event.eq_ignore_ascii_case(plain) && *event != word)
}
