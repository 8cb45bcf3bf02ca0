//! What tells one run of a variant from a run of anything else: a digest of all that a run follows.

use std::{
    fmt::{self, Write as _},
    sync::Arc,
};

use super::{Instruction, PlannedOperation, Program, Scenario};

impl Scenario {
    /// A digest of everything that a log of this variant follows: lab, parameters, clients, programs with the
    /// recipes that they use, and the story with its texts. Titles, claims, invariants and interview cards are
    /// no part of it, nor are lines of other variants: they can change and a log still is of this lesson.
    pub fn fingerprint(&self) -> String {
        let mut digest = Fnv1a::default();
        // A digest takes whatever it is given.
        let _ = self.describe(&mut digest);
        format!("{:016x}", digest.0)
    }

    fn describe(&self, to: &mut Fnv1a) -> fmt::Result {
        let (lesson, variant) = (&self.loaded.lesson, self.variant());
        let clients = variant.clients.as_ref().unwrap_or(&lesson.clients);
        write!(to, "{} {} {:?} {:?}", lesson.id, self.variant, lesson.lab, lesson.metrics)?;
        write!(to, "{:?} {:?} {:?}", lesson.params, variant.params, self.overrides)?;
        write!(to, "{:?} {clients:?}", self.setup)?;
        let mut before: Option<&Arc<Program>> = None;
        for plan in &self.actors {
            write!(to, "\n{:?}", plan.actor)?;
            // The members of a crowd share one.
            if before.is_none_or(|before| !Arc::ptr_eq(before, &plan.program)) {
                program(to, &plan.program)?;
            }
            before = Some(&plan.program);
        }
        for line in &self.story {
            write!(to, "\n{} {:?}", line.item, line.act)?;
        }
        Ok(())
    }
}

fn program(to: &mut Fnv1a, program: &Program) -> fmt::Result {
    for instruction in &program.instructions {
        match instruction {
            Instruction::Operate(operation) => operate(to, operation)?,
            other => write!(to, "{other:?}")?,
        }
    }
    Ok(())
}

/// An operation without its place in the file, which moves with every line above it.
fn operate(to: &mut Fnv1a, operation: &PlannedOperation) -> fmt::Result {
    let PlannedOperation {
        label,
        verb,
        on,
        until,
        every,
        allow,
        // Follows from the instructions.
        releases: _,
        path: _,
    } = operation;
    write!(to, "{label} {verb:?} {on:?} {until:?} {every:?} {allow:?}")
}

/// FNV-1a (Fowler, Noll, Vo): the same on every machine and in every release, which the hashers of the standard
/// library do not promise.
struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl fmt::Write for Fnv1a {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::lesson::{Param, Params, Scenario, library::from_text};

    const LESSON: &str = include_str!("../../../assets/new-lesson.yaml");

    fn fingerprint(text: &str, variant: &str) -> String {
        let loaded = from_text("lesson.yaml", text).expect("it is good");
        Scenario::plan(&loaded, variant, &Params::new()).expect("it is good").fingerprint()
    }

    #[test]
    fn what_a_run_follows_changes_it_and_nothing_else_does() {
        let now = fingerprint(LESSON, "blind-del");
        assert_ne!(now, fingerprint(LESSON, "owner-check"), "each variant has its own");
        let (first, rest) = LESSON.split_once("story:").expect("a story");
        let said = format!("{first}story:\n  - say: {{ en: Another word., zh: 又一句。 }}{rest}");
        assert_ne!(now, fingerprint(&said, "blind-del"), "a word more is another story");
        let above = format!("# A line above moves every place in the file.\n\n{LESSON}");
        assert_eq!(now, fingerprint(&above, "blind-del"));
        let elsewhere =
            format!("{first}story:\n  - {{ say: {{ en: Hm., zh: 嗯。 }}, only: [owner-check] }}{rest}");
        assert_eq!(now, fingerprint(&elsewhere, "blind-del"), "the other variant's words");
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
