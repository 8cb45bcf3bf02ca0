//! How an expression's value changes if all times that it reads become later by the same amount: a difference of two
//! times stays as it is, a time plus a duration becomes later by that amount, and whether one time is before another
//! stays as it is.
//!
//! What this module cannot tell counts as a change of any other kind.

use super::tokens::{Cursor, Kind};

/// What a shift of all times by `t` does to a value: it adds `degree * t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shift {
    pub(crate) degree: i32,
    /// Whether the value is an integer, if it is a value at all: sums of integers are exact, however large the times in
    /// them.
    pub(crate) whole: bool,
}

impl Shift {
    /// A value that no shift changes.
    pub(crate) const NONE: Self = Self { degree: 0, whole: false };
    pub(crate) const WHOLE: Self = Self { degree: 0, whole: true };
    pub(crate) const TIME: Self = Self { degree: 1, whole: true };

    /// What a shift does to an expression, given what it does to the names in it. `None`: something else.
    pub(crate) fn of(source: &str, of_name: &dyn Fn(&str) -> Self) -> Option<Self> {
        let cursor = Cursor::new(source).ok()?;
        let reads_time =
            cursor.tokens.iter().any(|(kind, name)| *kind == Kind::Name && of_name(name).degree != 0);
        let mut reader = Reader { cursor, of_name };
        let shift = reader.choice().filter(|_| reader.cursor.at == reader.cursor.tokens.len());
        if reads_time { shift } else { Some(shift.unwrap_or(Self::NONE)) }
    }

    /// The shift of a value that is one of two.
    pub(crate) fn or(self, other: Self) -> Option<Self> {
        (self.degree == other.degree).then_some(Self { whole: self.whole && other.whole, ..self })
    }

    fn unchanged(self) -> Option<()> {
        (self.degree == 0).then_some(())
    }
}

/// Reads the grammar of [`super::syntax`].
struct Reader<'s> {
    cursor: Cursor<'s>,
    of_name: &'s dyn Fn(&str) -> Shift,
}

impl Reader<'_> {
    fn choice(&mut self) -> Option<Shift> {
        let mut shift = self.all_unchanged(&["or", "and"])?;
        while self.cursor.eat("if") {
            self.all_unchanged(&["or", "and"])?.unchanged()?;
            if self.cursor.eat("else") {
                shift = shift.or(self.choice()?)?;
            } else {
                shift.unchanged()?;
            }
        }
        Some(shift)
    }

    /// Operands joined by `and` and `or`.
    fn all_unchanged(&mut self, operators: &[&'static str]) -> Option<Shift> {
        let first = self.not()?;
        if !operators.iter().any(|operator| self.cursor.peek() == Some(operator)) {
            return Some(first);
        }
        first.unchanged()?;
        while self.cursor.eat_one(operators).is_some() {
            self.not()?.unchanged()?;
        }
        Some(Shift::NONE)
    }

    fn not(&mut self) -> Option<Shift> {
        if self.cursor.eat("not") {
            self.not()?.unchanged()?;
            return Some(Shift::NONE);
        }
        let mut shift = self.sum()?;
        while let Some(operator) = self.cursor.eat_one(&["==", "!=", "<", "<=", ">", ">=", "in", "not"]) {
            if operator == "not" && !self.cursor.eat("in") {
                return None;
            }
            let other = self.sum()?;
            if matches!(operator, "in" | "not") {
                shift.unchanged()?;
            }
            shift.or(other)?;
            shift = Shift::NONE;
        }
        Some(shift)
    }

    fn sum(&mut self) -> Option<Shift> {
        let mut shift = self.joined()?;
        while let Some(operator) = self.cursor.eat_one(&["+", "-"]) {
            let other = self.joined()?;
            let whole = shift.whole && other.whole;
            if !whole {
                shift.unchanged()?;
                other.unchanged()?;
            }
            let sign = if operator == "+" { 1 } else { -1 };
            shift = Shift { degree: shift.degree + sign * other.degree, whole };
        }
        Some(shift)
    }

    /// Operands joined by what binds more than a sum.
    fn joined(&mut self) -> Option<Shift> {
        let mut shift = self.filtered()?;
        while let Some(operator) = self.cursor.eat_one(&["~", "*", "//", "/", "%", "**"]) {
            shift.unchanged()?;
            let other = self.filtered()?;
            other.unchanged()?;
            let whole = shift.whole && other.whole && matches!(operator, "*" | "//" | "%");
            shift = Shift { degree: 0, whole };
        }
        Some(shift)
    }

    fn filtered(&mut self) -> Option<Shift> {
        let mut shift = self.signed()?;
        while self.cursor.eat_one(&["|", "is"]).is_some() {
            shift.unchanged()?;
            self.cursor.eat("not");
            while matches!(self.cursor.tokens.get(self.cursor.at), Some((Kind::Name, _))) {
                self.cursor.at += 1;
                if !self.cursor.eat(".") {
                    break;
                }
            }
            if self.cursor.peek() == Some("(") {
                self.brackets()?;
            }
            shift = Shift::NONE;
        }
        Some(shift)
    }

    fn signed(&mut self) -> Option<Shift> {
        if self.cursor.eat("-") {
            let shift = self.signed()?;
            return Some(Shift { degree: -shift.degree, ..shift });
        }
        let mut shift = self.value()?;
        loop {
            if self.cursor.eat(".") {
                self.cursor.at += 1;
            } else if matches!(self.cursor.peek(), Some("[" | "(")) {
                self.brackets()?;
            } else {
                return Some(shift);
            }
            shift.unchanged()?;
            shift = Shift::NONE;
        }
    }

    fn value(&mut self) -> Option<Shift> {
        let (kind, token) = self.cursor.tokens.get(self.cursor.at).copied()?;
        if matches!(token, "[" | "{") {
            self.brackets()?;
            return Some(Shift::NONE);
        }
        self.cursor.at += 1;
        Some(match (kind, token) {
            (Kind::Sign, "(") => {
                let shift = self.choice()?;
                return self.cursor.eat(")").then_some(shift);
            }
            (Kind::Sign, _) => return None,
            (Kind::Number, number) if number.bytes().all(|digit| digit.is_ascii_digit()) => Shift::WHOLE,
            (Kind::Name, name) => (self.of_name)(name),
            (Kind::Number | Kind::Text, _) => Shift::NONE,
        })
    }

    /// Skips brackets, in which no time may be read.
    fn brackets(&mut self) -> Option<()> {
        let mut depth = 0;
        loop {
            let (kind, token) = self.cursor.tokens.get(self.cursor.at).copied()?;
            self.cursor.at += 1;
            match (kind, token) {
                (Kind::Sign, "(" | "[" | "{") => depth += 1,
                (Kind::Sign, ")" | "]" | "}") => depth -= 1,
                (Kind::Name, name) => (self.of_name)(name).unchanged()?,
                _ => {}
            }
            if depth == 0 {
                return Some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Shift;

    fn shift(source: &str) -> Option<i32> {
        let of_name = |name: &str| match name {
            "now" | "began" => Shift::TIME,
            "lease" | "drift" => Shift::WHOLE,
            _ => Shift::NONE,
        };
        Shift::of(source, &of_name).map(|shift| shift.degree)
    }

    #[test]
    fn differences_of_times_do_not_change_and_sums_with_durations_are_times() {
        for unchanged in [
            "lease - (now - began) - drift",
            "now - began > 1000 or read != token",
            "now + lease - began < 300 and got is none",
            "now < began + 2 * lease",
            "not (votes >= 3 and now - began < lease)",
            "[a, b]|select('eq', 'OK')|list|length",
            "((now - began) / 2)|round",
            "-began + now",
            "1 if began < now else 2",
            "reply is not none and a is divisibleby 3",
            "reply.now - 5",
        ] {
            assert_eq!(shift(unchanged), Some(0), "{unchanged}");
        }
        for time in
            ["now", "now + lease - drift", "(began)", "now if reply == 1 else began + 5", "lease + now"]
        {
            assert_eq!(shift(time), Some(1), "{time}");
        }
        assert_eq!(shift("now + began"), Some(2));
    }

    #[test]
    fn anything_else_that_reads_a_time_counts_as_a_change() {
        for other in [
            "now ~ ''",
            "now * 2",
            "now / 1000",
            "now|string",
            "now > 5000",
            "now + 0.5",
            "now + reply",
            "now == none",
            "now and reply",
            "not now",
            "[now, began]|max",
            "reply[now]",
            "now in [1]",
            "now if reply == 1 else 0",
            "now if reply == 1",
            "now is divisibleby 1000",
            "range(now)",
            "now %",
            "a is divisibleby now",
        ] {
            assert_eq!(shift(other), None, "{other}");
        }
    }
}
