//! What programs draw at random: it is another each time, and means the same.

use std::{fmt::Write, mem};

use serde_json::Value;

/// So many hexadecimal digits in a row, dashes apart, were drawn at random: an owner's token, a UUID.
const DIGITS: usize = 16;

/// What was drawn at random in one run so far.
#[derive(Debug, Default)]
pub(crate) struct Drawn(Vec<String>);

impl Drawn {
    /// A text in which what was drawn at random is told by when it was first seen.
    pub(crate) fn without_chance(&mut self, text: &str) -> String {
        let (mut told, mut run) = (String::new(), String::new());
        for c in text.chars() {
            if c.is_ascii_hexdigit() || c == '-' {
                run.push(c);
            } else {
                self.tell(mem::take(&mut run), &mut told);
                told.push(c);
            }
        }
        self.tell(run, &mut told);
        told
    }

    /// The children of a znode in the same way. ZooKeeper tells them in no order.
    pub(crate) fn children(&mut self, children: &[Value]) -> String {
        let told = children.iter().map(|child| self.without_chance(&child.to_string()));
        let mut told: Vec<String> = told.collect();
        told.sort_unstable();
        format!("[{}]", told.join(","))
    }

    fn tell(&mut self, run: String, told: &mut String) {
        // A number without letters may be a time or a sum, and counts.
        if run.chars().filter(char::is_ascii_hexdigit).count() < DIGITS
            || !run.chars().any(|c| c.is_ascii_alphabetic())
        {
            return told.push_str(&run);
        }
        let number = self.0.iter().position(|known| *known == run).unwrap_or_else(|| {
            self.0.push(run);
            self.0.len() - 1
        });
        let _ = write!(told, "(random {})", number + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::Drawn;

    #[test]
    fn what_is_drawn_at_random_is_told_by_when_it_was_first_seen() {
        let order = |tokens: [&str; 2]| {
            let mut drawn = Drawn::default();
            let [one, other] = tokens;
            let set = |token: &str| format!("SET lock {token} NX PX 3000");
            let texts = [set(one), set(other), format!("/lock/_c_{one}-lock-0000000001")];
            texts.map(|text| drawn.without_chance(&text))
        };
        let first = order(["27cdb3a4d6f511ef8ac62c5b0b6b9d8a", "b2f4ad3e-97c5-4d2e-9b7a-1d0f6f0f3a11"]);
        assert_eq!(first[0], "SET lock (random 1) NX PX 3000");
        assert_eq!(first[1], "SET lock (random 2) NX PX 3000");
        let again = order(["b2f4ad3e-97c5-4d2e-9b7a-1d0f6f0f3a11", "27cdb3a4d6f511ef8ac62c5b0b6b9d8a"]);
        assert_eq!(again[..2], first[..2]);
        let one_for_both = order(["27cdb3a4d6f511ef8ac62c5b0b6b9d8a"; 2]);
        assert_ne!(one_for_both[1], first[1], "two that are the same stay the same");
        let numbers = "SET stock 1764000000 0.1234567890123456789";
        assert_eq!(Drawn::default().without_chance(numbers), numbers);
    }
}
