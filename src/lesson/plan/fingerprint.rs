//! What tells one run of a variant from a run of anything else: a digest of all that a run follows. It must
//! not know what digests are compared for.

use std::fmt::Write as _;

use super::{Instruction, PlannedOperation, Scenario};

impl Scenario {
    /// A digest of everything that a log of this variant follows: lab, parameters, clients, programs with the
    /// recipes that they use, and the story with its texts. Titles, claims and interview cards are no part of
    /// it, nor are lines of other variants: they can change and a log still is of this lesson.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let (lesson, variant) = (&self.loaded.lesson, self.variant());
        let clients = variant.clients.as_ref().unwrap_or(&lesson.clients);
        let mut text = format!(
            "{} {} {:?} {:?} {:?} {:?} {:?} {:?} {clients:?}",
            lesson.id,
            self.variant,
            lesson.lab,
            lesson.metrics,
            lesson.params,
            variant.params,
            self.overrides,
            self.setup,
        );
        for actor in &self.actors {
            let _ = write!(text, "\n{:?}", actor.actor);
            for instruction in &actor.program.instructions {
                match instruction {
                    Instruction::Operate(operation) => operate(&mut text, operation),
                    other => drop(write!(text, "{other:?}")),
                }
            }
        }
        for line in &self.story {
            let _ = write!(text, "\n{} {:?}", line.item, line.act);
        }
        format!("{:016x}", fnv1a(text.as_bytes()))
    }
}

/// An operation without its place in the file, which moves with every line above it.
fn operate(text: &mut String, operation: &PlannedOperation) {
    let PlannedOperation {
        label,
        verb,
        on,
        until,
        every,
        allow,
        path: _,
    } = operation;
    let _ = write!(text, "{label} {verb:?} {on:?} {until:?} {every:?} {allow:?}");
}

/// FNV-1a (Fowler, Noll, Vo): the same on every machine and in every release, which the hashers of the standard
/// library do not promise.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use crate::lesson::{Param, Params, Scenario, library::from_text};

    const LESSON: &str = include_str!("../../../assets/new-lesson.yaml");

    fn fingerprint(text: &str, variant: &str) -> String {
        let loaded = from_text("lesson.yaml", text).expect("it is good");
        Scenario::plan(&loaded, variant, &Params::new())
            .expect("it is good")
            .fingerprint()
    }

    #[test]
    fn what_a_run_follows_changes_it_and_nothing_else_does() {
        let now = fingerprint(LESSON, "blind-del");
        assert_ne!(
            now,
            fingerprint(LESSON, "owner-check"),
            "each variant has its own"
        );
        let (first, rest) = LESSON.split_once("story:").expect("a story");
        let said = format!("{first}story:\n  - say: {{ en: Another word., zh: 又一句。 }}{rest}");
        assert_ne!(
            now,
            fingerprint(&said, "blind-del"),
            "a word more is another story"
        );
        let above = format!("# A line above moves every place in the file.\n\n{LESSON}");
        assert_eq!(now, fingerprint(&above, "blind-del"));
        let elsewhere =
            format!("{first}story:\n  - {{ say: {{ en: Hm., zh: 嗯。 }}, only: [owner-check] }}{rest}");
        assert_eq!(
            now,
            fingerprint(&elsewhere, "blind-del"),
            "the other variant's words"
        );
    }

    #[test]
    fn other_figures_make_another_run() {
        let loaded = from_text("lesson.yaml", LESSON).expect("it is good");
        let plan = |params: &Params| {
            let scenario = Scenario::plan(&loaded, "blind-del", params).expect("it is good");
            scenario.fingerprint()
        };
        let lease = Params::from_iter([("lease".to_owned(), Param::Word("5s".to_owned()))]);
        assert_ne!(plan(&Params::new()), plan(&lease));
    }
}
