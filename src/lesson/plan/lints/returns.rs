//! Comparisons of a reply with something that its own operation never answers: a number that its script does not return,
//! or the subject of another notification.

use std::collections::BTreeSet;

use super::{
    super::{
        super::{
            expr::{Template, mentions::comparisons},
            has_word,
        },
        PlannedVerb, Program, TakePlan,
    },
    comparison::{Literal, literal},
};
use crate::{
    lesson::error::{Finding, finding},
    log::{ANY, stands_for},
};

/// Commands that answer 0 or 1: of one key, and of one key with one item.
const OF_KEY: &str = "DEL UNLINK EXISTS PERSIST";
const OF_ITEM: &str = "SETNX SADD SREM SISMEMBER HDEL HEXISTS ZREM RENAMENX EXPIRE PEXPIRE";

/// The numbers that a command or a script returns, if each of its `return` statements gives a whole number or nothing.
pub(crate) fn returned(verb: &PlannedVerb) -> Option<BTreeSet<i64>> {
    let source = match verb {
        PlannedVerb::Script { source, .. } => source,
        PlannedVerb::Redis(words) => {
            let (name, count) = (words[0].pattern().to_ascii_uppercase(), words.len());
            let is_one = (has_word(OF_KEY, &name) && count == 2) || (has_word(OF_ITEM, &name) && count == 3);
            return is_one.then(|| [0, 1].into());
        }
        _ => return None,
    };
    let mut numbers = BTreeSet::new();
    for returned in source.split("return").skip(1) {
        let line = returned.lines().next().unwrap_or_default();
        // A command that answers 0 or 1.
        let call = line.trim().trim_end_matches([';', ' ']).strip_suffix("end").unwrap_or(line).trim();
        let of_key = call.strip_prefix("redis.call('").and_then(|call| call.split_once("', KEYS["));
        if let Some((name, rest)) = of_key
            && has_word(OF_KEY, &name.to_ascii_uppercase())
            && rest.trim_end_matches([';', ' ']).strip_suffix("])").is_some_and(|n| n.parse::<u32>().is_ok())
        {
            numbers.extend([0, 1]);
            continue;
        }
        let mut words = line.split([' ', ';']).filter(|word| !word.is_empty());
        let (value, next) = (words.next()?, words.next());
        // Of several values the first is the reply.
        let (value, is_more) = value.strip_suffix(',').map_or((value, false), |value| (value, true));
        if !is_more && next.is_some_and(|next| !matches!(next, "end" | "else" | "elseif" | "--")) {
            return None;
        }
        match value.parse() {
            Ok(number) => drop(numbers.insert(number)),
            Err(_) if matches!(value, "nil" | "false") => {}
            Err(_) => return None,
        }
    }
    Some(numbers).filter(|numbers| !numbers.is_empty())
}

/// The operations with a label.
fn all<'p>(program: &'p Program, label: &'p str) -> impl Iterator<Item = &'p PlannedVerb> {
    program.operations().filter(move |operation| operation.label == label).map(|operation| &operation.verb)
}

/// The numbers that operations with this label answer; `None` if they may answer anything else.
pub(crate) fn numbers_of(program: &Program, label: &str) -> Option<BTreeSet<i64>> {
    let numbers: Option<BTreeSet<i64>> = all(program, label)
        .map(returned)
        .collect::<Option<Vec<_>>>()
        .map(|sets| sets.into_iter().flatten().collect());
    numbers.filter(|numbers| !numbers.is_empty())
}

/// The subjects that operations with this label take notifications about; `None` if one takes any.
pub(crate) fn subjects_of(program: &Program, label: &str) -> Option<Vec<String>> {
    let each = all(program, label).map(|verb| match verb {
        PlannedVerb::Take(TakePlan { from, .. }) => {
            let from: Vec<String> = from.iter().map(Template::pattern).collect();
            (!from.iter().any(|about| about == "any" || *about == ANY.to_string())).then_some(from)
        }
        _ => None,
    });
    let subjects = each.collect::<Option<Vec<_>>>()?.concat();
    Some(subjects).filter(|subjects| !subjects.is_empty())
}

/// The finding about a number that a script never returns. `numbers` gives those that a name such as `A.take` may be.
pub(crate) fn number_lint(source: &str, numbers: impl Fn(&str) -> Option<BTreeSet<i64>>) -> Option<Finding> {
    comparisons(source).find_map(|(left, operator, right)| {
        let Literal::Number(number) = literal(right)? else { return None };
        let known = numbers(left)?;
        let (least, most) = (*known.first()?, *known.last()?);
        let never = match operator {
            "==" | "!=" => !known.contains(&number),
            ">=" => most < number,
            ">" => most <= number,
            "<=" => least > number,
            "<" => least >= number,
            _ => false,
        };
        never.then(|| {
            let known = known.iter().map(ToString::to_string).collect::<Vec<_>>();
            let (or, others) = (known.join(" or "), known.join(" 或 "));
            finding!("`{left}` is answered {or} or nothing: comparing it with {right} has the same result in every run", "`{left}` 的回复只会是 {others} 或空，和 {right} 比较的结果永远一样", "such as `{left} == {most}`", "例如 `{left} == {most}`")
        })
    })
}

/// The finding about the subject of a notification that the `take` never takes. `subjects` gives those of a name.
pub(crate) fn subject_lint(source: &str, subjects: impl Fn(&str) -> Option<Vec<String>>) -> Option<Finding> {
    comparisons(source).find_map(|(left, operator, right)| {
        let Literal::Text(text) = literal(right)? else { return None };
        let known = subjects(left.strip_suffix(".about")?)?;
        if known.iter().any(|known| stands_for(known, text)) {
            return None;
        }
        let first = known.first().map(|known| known.replace(ANY, "…")).unwrap_or_default();
        let known = known.iter().map(|known| known.replace(ANY, "…")).collect::<Vec<_>>().join("`, `");
        Some(finding!(
            "`{left}` is what the `take` is about, `{known}`, and never {right}",
            "`{left}` 是 `take` 等的对象 `{known}`，不会是 {right}",
            "write `{left} {operator} '{first}'`",
            "请写 `{left} {operator} '{first}'`"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::{PlannedVerb, number_lint, returned};

    fn script(source: &str) -> PlannedVerb {
        PlannedVerb::Script { name: "s".to_owned(), source: source.into(), keys: vec![], args: vec![] }
    }

    #[test]
    fn the_numbers_that_a_script_returns_are_known_where_they_are_written_out() {
        for (source, numbers) in [
            ("if x then return 1 end\nreturn 0", Some(vec![0, 1])),
            ("if x then return -1; else return nil end return false", Some(vec![-1])),
            ("return redis.call('INCR', KEYS[1])", None),
            ("if x then return 1 end return false, 0", Some(vec![1])),
            ("return 1 + n", None),
            ("return { 1 }", None),
            ("return\n", None),
            ("redis.call('DEL', KEYS[1])", None),
        ] {
            let known = returned(&script(source)).map(|known| known.into_iter().collect::<Vec<_>>());
            assert_eq!(known, numbers, "{source}");
        }
    }

    #[test]
    fn a_number_that_is_never_returned_is_not_asked_for() {
        let numbers = |name: &str| (name == "take").then(|| [0, 1].into());
        for (source, is_wrong) in [
            ("take == 1", false),
            ("take == 2", true),
            ("take > 1", true),
            ("take < 1", false),
            ("take < 0", true),
            ("take <= 0", false),
            ("n == 2", false),
        ] {
            assert_eq!(number_lint(source, numbers).is_some(), is_wrong, "{source}");
        }
    }
}
