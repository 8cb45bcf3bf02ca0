//! What a variant says that exploring must find, proven beside its story.

use std::{ops::ControlFlow, time::Duration};

use super::{
    explore::{Bounds, ExploreError, Explored, explore},
    session::{EngineError, RunReport},
};
use crate::{
    lab::LabOptions,
    lesson::{Explore, ExploreExpect, MOVES, Mistake, Path, Scenario},
    text::Text,
    verdict::{ClaimResult, Outcome},
};

/// The longest that a proof may take: it is made with every run.
const LONGEST: Duration = Duration::from_secs(60);

/// Explores a variant that says what must be found, and adds it to the claims of a run. Does nothing for any other, nor where the run's
/// clock could not be stopped.
///
/// # Errors
/// It cannot be explored, or takes too long, which is a mistake of its author's; or a server fails.
pub async fn prove(
    scenario: &Scenario,
    options: &LabOptions,
    report: &mut RunReport,
) -> Result<(), EngineError> {
    let Some(expected) = &scenario.variant().explore else { return Ok(()) };
    // A clock that runs on would decide the order.
    if !report.is_controlled() {
        return Ok(());
    }
    let bounds = Bounds {
        moves: expected.moves.unwrap_or(MOVES),
        faults: expected.faults.clone(),
        longest: LONGEST,
        ..Bounds::default()
    };
    let began = std::time::Instant::now();
    let found = Box::pin(explore(scenario, options, &bounds, &|_| ControlFlow::Continue(()))).await;
    let found = found.map_err(|error| match error {
        ExploreError::Engine(error) => error,
        other => {
            let path = Path::root().key("variants").key(&scenario.variant).key("explore");
            let mistake = Mistake::new(&path, other.to_string());
            EngineError::Lesson(scenario.loaded.source.place(&mistake))
        }
    })?;
    let claim = result(expected, &found, bounds.moves);
    if !claim.holds {
        report.verdict.outcome = Outcome::NotShown;
    }
    report.verdict.claims.push(claim);
    report.wall += began.elapsed();
    Ok(())
}

fn result(expected: &Explore, found: &Explored, moves: usize) -> ClaimResult {
    let (violations, cut, orders) = (found.violations, found.cut, found.orders());
    // What comes after the end of an order that was cut is not known, unless its author is content with that many moves.
    let told = expected.moves.is_some() || cut == 0;
    let mut observed = Text::new(
        format!("{violations} of {orders} orders violate"),
        format!("{orders} 种顺序中有 {violations} 种出错"),
    );
    if cut > 0 {
        let more = Text::new(
            format!("{cut} were cut after {moves} moves"),
            format!("{cut} 种走满 {moves} 步后截断"),
        );
        observed = Text::join(&[observed, more], ", ", "，");
    }
    let (claim, says, wanted, holds) = match expected.expect {
        ExploreExpect::None => (
            "explore: none",
            Text::new("No order of the moves breaks an invariant.", "无论按什么顺序执行，都不会出错。"),
            if told {
                Text::new("0 violate", "0 种出错")
            } else {
                Text::new("0 violate, 0 cut", "0 种出错，0 种截断")
            },
            violations == 0 && told,
        ),
        ExploreExpect::Violated => (
            "explore: violated",
            Text::new("Some order of the moves breaks an invariant.", "有的执行顺序会出错。"),
            Text::new("at least 1 violates", "至少 1 种出错"),
            violations > 0,
        ),
    };
    ClaimResult {
        claim: claim.to_owned(),
        says: Some(says),
        expected: wanted,
        observed,
        holds,
        evidence: Vec::new(),
    }
}
