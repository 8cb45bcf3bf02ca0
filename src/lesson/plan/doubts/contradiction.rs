//! Conditions that contradict each other: `A.look is none` and `A.look == 0`.

use super::{
    super::super::expr::{
        mentions::{joined, split_comparison},
        tokens::{Kind, tokens},
    },
    comparison::{Literal, literal},
};

/// What is said of a value.
enum Said<'s> {
    Nothing,
    Something,
    True,
    False,
    Number(&'s str, i64),
    Text(&'s str, &'s str),
}

/// The parts of an expression that must all be so; none, where only one of several needs to be.
pub(crate) fn required(source: &str) -> Vec<&str> {
    let is_either = tokens(source).is_ok_and(|tokens| {
        tokens.iter().any(|(kind, word)| *kind == Kind::Name && matches!(*word, "or" | "if"))
    });
    if is_either { Vec::new() } else { joined(source) }
}

fn said(part: &str) -> Option<(&str, Said<'_>)> {
    if let Some(name) = part.strip_suffix(" is none") {
        return Some((name.trim(), Said::Nothing));
    }
    if let Some(name) = part.strip_suffix(" is not none") {
        return Some((name.trim(), Said::Something));
    }
    if let Some(name) = part.strip_prefix("not ") {
        return Some((name.trim(), Said::False)).filter(|(name, _)| is_plain(name));
    }
    match split_comparison(part) {
        Some((left, operator, right)) => match literal(right)? {
            Literal::Number(number) => Some((left, Said::Number(operator, number))),
            Literal::Text(text) => Some((left, Said::Text(operator, text))),
            Literal::Flag => None,
        },
        None => Some((part, Said::True)).filter(|(name, _)| is_plain(name)),
    }
}

/// Whether this is one name or one call.
fn is_plain(name: &str) -> bool {
    !name.contains(" in ") && !name.contains(" is ") && !name.starts_with('(')
}

/// Whether two parts rule each other out.
fn excludes(one: &Said<'_>, other: &Said<'_>) -> bool {
    match (one, other) {
        (
            Said::Nothing,
            Said::Something | Said::Number("==" | ">" | ">=" | "<" | "<=", _) | Said::Text("==", _),
        )
        | (Said::True, Said::False)
        | (Said::Number("==", _), Said::Text("==", _)) => true,
        (Said::Text("==", one), Said::Text("==", other)) => one != other,
        (Said::Text("==", one), Said::Text("!=", other)) => one == other,
        (Said::Number(operator, one), Said::Number(other_operator, other)) => {
            let holds = |operator: &str, value: i64, number: i64| match operator {
                "==" => value == number,
                "!=" => value != number,
                "<" => value < number,
                "<=" => value <= number,
                ">" => value > number,
                _ => value >= number,
            };
            let near = [*one, *other].into_iter().flat_map(|n| [n.saturating_sub(1), n, n.saturating_add(1)]);
            !near
                .into_iter()
                .any(|value| holds(operator, value, *one) && holds(other_operator, value, *other))
        }
        _ => false,
    }
}

/// Two of these parts that cannot both be so, by their places.
pub(crate) fn contradictory(parts: &[&str]) -> Option<(usize, usize)> {
    let said: Vec<_> = parts.iter().map(|part| said(part)).collect();
    let pairs = (0..parts.len()).flat_map(|n| (0..n).map(move |before| (before, n)));
    pairs.into_iter().find(|(before, n)| match (&said[*before], &said[*n]) {
        (Some((left, one)), Some((right, other))) => {
            left == right && (excludes(one, other) || excludes(other, one))
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::{contradictory, required};

    #[test]
    fn conditions_that_rule_each_other_out_are_found() {
        for (source, excluded) in [
            ("A.look is none and A.look == 0", true),
            ("A.look is none and A.look is not none", true),
            ("exists('lock') and not exists('lock')", true),
            ("sold == 1 and sold == 2", true),
            ("sold > 3 and sold < 4", true),
            ("sold >= 3 and sold <= 3", false),
            ("sold != 3 and sold > 2", false),
            ("A.look == 'A' and A.look == 'B'", true),
            ("A.look == 'A' and B.look == 'B'", false),
            ("A.look is none or A.look == 0", false),
            ("A.look is none and A.look != 0", false),
            ("value('x')|int == 1 and value('x') == '1'", false),
        ] {
            assert_eq!(contradictory(&required(source)).is_some(), excluded, "{source}");
        }
    }
}
