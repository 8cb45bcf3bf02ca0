//! Every word that the command line says to learners, in both languages. Mistakes in lessons are their authors'
//! business and are named in English only, as are the options' own descriptions.

use crate::{lesson::Words, verdict::Outcome};

/// An outcome, in front of a run's line.
pub(super) const fn outcome(outcome: Outcome) -> Words {
    match outcome {
        Outcome::Shown => Words::new("failure shown", "故障已重现"),
        Outcome::Prevented => Words::new("prevented", "故障已避免"),
        Outcome::NotShown => Words::new("NOT SHOWN", "未能证实"),
    }
}

/// A run: outcome, lesson, variant, its title, lesson time, real time.
pub(super) const RAN: Words = Words::new(
    "{}{} · {}  ({}; {} s of lesson time in {} s)",
    "{}{} · {}（{}；课程时间 {} 秒，实际用时 {} 秒）",
);
/// What was seen.
pub(super) const OBSERVED: Words = Words::new("observed {}", "实际 {}");
/// What a claim wanted.
pub(super) const EXPECTED: Words = Words::new(", expected {}", "，预期 {}");
