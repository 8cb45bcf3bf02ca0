//! Conditions that contradict each other: `A.look is none` and `A.look == 0`.

use super::{
    super::super::expr::{
        mentions::{joined, split_comparison},
        syntax::LONGEST,
        tokens::{Kind, tokens},
    },
    comparison::{Literal, literal},
};

/// A condition on the value of a name or call.
enum Assertion<'s> {
    Nothing,
    Something,
    True,
    False,
    Number(&'s str, i64),
    Text(&'s str, &'s str),
    /// Equal to a name that is never none.
    Named,
}

/// Names that always have a value.
const NEVER_NONE: [&str; 3] = ["token", "self", "client"];

/// The operands of `and` in an expression. Returns none if it contains `or` or `if`, because then not all must hold.
pub(crate) fn required(source: &str) -> Vec<&str> {
    let is_either = tokens(source).is_ok_and(|tokens| {
        tokens.iter().any(|(kind, word)| *kind == Kind::Name && matches!(*word, "or" | "if"))
    });
    // One that is too long is refused; to compare thousands of operands with each other would take minutes before.
    if is_either || source.len() > LONGEST { Vec::new() } else { joined(source) }
}

fn assertion(part: &str) -> Option<(&str, Assertion<'_>)> {
    if let Some(name) = part.strip_suffix(" is none") {
        return Some((name.trim(), Assertion::Nothing));
    }
    if let Some(name) = part.strip_suffix(" is not none") {
        return Some((name.trim(), Assertion::Something));
    }
    if let Some(name) = part.strip_prefix("not ") {
        return Some((name.trim(), Assertion::False)).filter(|(name, _)| is_plain(name));
    }
    match split_comparison(part) {
        Some((left, "==", right)) if NEVER_NONE.contains(&right) => Some((left, Assertion::Named)),
        Some((left, operator, right)) => match literal(right)? {
            Literal::Number(number) => Some((left, Assertion::Number(operator, number))),
            Literal::Text(text) => Some((left, Assertion::Text(operator, text))),
            Literal::Flag => None,
        },
        None => Some((part, Assertion::True)).filter(|(name, _)| is_plain(name)),
    }
}

/// Whether this is a single name or call.
fn is_plain(name: &str) -> bool {
    !name.contains(" in ") && !name.contains(" is ") && !name.starts_with('(')
}

/// Whether two conditions contradict each other.
fn excludes(one: &Assertion<'_>, other: &Assertion<'_>) -> bool {
    match (one, other) {
        (
            Assertion::Nothing,
            Assertion::Something
            | Assertion::Number("==" | ">" | ">=" | "<" | "<=", _)
            | Assertion::Text("==", _)
            | Assertion::Named,
        )
        | (Assertion::True, Assertion::False)
        | (Assertion::Number("==", _), Assertion::Text("==", _)) => true,
        (Assertion::Text("==", one), Assertion::Text("==", other)) => one != other,
        (Assertion::Text("==", one), Assertion::Text("!=", other)) => one == other,
        (Assertion::Number(operator, one), Assertion::Number(other_operator, other)) => {
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

/// The indices of two conditions that contradict each other.
pub(crate) fn contradictory(parts: &[&str]) -> Option<(usize, usize)> {
    let said: Vec<_> = parts.iter().map(|part| assertion(part)).collect();
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
            ("reply is none and reply == token", true),
            ("reply is none and reply == other", false),
            ("value('x')|int == 1 and value('x') == '1'", false),
        ] {
            assert_eq!(contradictory(&required(source)).is_some(), excluded, "{source}");
        }
    }
}
