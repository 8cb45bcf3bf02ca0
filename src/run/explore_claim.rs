//! What a variant claims that exploring finds, proven in addition to its story.

use std::{ops::ControlFlow, sync::OnceLock, time::Duration};

use super::{
    explore::{Bounds, ExploreError, Explored, OutcomeSeen, Progress, explore},
    session::{RunError, RunReport},
};
use crate::{
    lab::LabOptions,
    lesson::{Explore, ExploreExpect, MOVES, MayFail, Mistake, Path, Scenario},
    text::{Text, both},
    verdict::{ClaimResult, Outcome},
};

/// The longest that a proof may take, since it is part of every run. The time is estimated from the speed of
/// the first orders, and a busy machine makes it several times longer than the minute that an author should
/// stay under.
const LONGEST: Duration = Duration::from_mins(10);

/// Explores a variant that claims what must be found, and adds the result to the claims of a run. Does
/// nothing for other variants, or if the run's clock could not be stopped.
///
/// # Errors
/// If the variant cannot be explored or that takes too long, which is an error of its author, or if a server
/// fails.
pub async fn prove(
    scenario: &Scenario,
    options: &LabOptions,
    report: &mut RunReport,
) -> Result<(), RunError> {
    let Some(expected) = &scenario.variant().explore else { return Ok(()) };
    // A clock that runs would decide the order.
    if !report.is_controlled() {
        return Ok(());
    }
    let began = std::time::Instant::now();
    let too_much = expected.broken_by.iter().map(|fault| Explore {
        expect: ExploreExpect::Violated,
        faults: vec![fault.clone()],
        // The bound keeps a search short that goes through all orders, and this one ends at the first that goes wrong.
        moves: Some(expected.moves.unwrap_or(MOVES).max(MOVES)),
        broken_by: Vec::new(),
        ..expected.clone()
    });
    let withstood = [(expected.clone(), false)].into_iter();
    for (expected, first) in withstood.chain(too_much.map(|expected| (expected, true))) {
        let found = explored(scenario, options, &expected, first).await?;
        let claim = result(&expected, &found, expected.moves.unwrap_or(MOVES));
        if !claim.holds {
            report.verdict.outcome = Outcome::NotShown;
        }
        report.verdict.claims.push(claim);
    }
    report.wall += began.elapsed();
    Ok(())
}

/// Explores every order within the bounds that a variant's author has set, or `first`, until one breaks something.
async fn explored(
    scenario: &Scenario,
    options: &LabOptions,
    expected: &Explore,
    first: bool,
) -> Result<Explored, RunError> {
    let bounds = Bounds { first, longest: LONGEST, ..Bounds::from(expected) };
    let watch = |_: &Progress| ControlFlow::Continue(());
    Box::pin(explore(scenario, options, &bounds, &watch)).await.map_err(|error| match error {
        ExploreError::Engine(error) => error,
        other => {
            let path = Path::root().key("variants").key(&scenario.variant).key("explore");
            let mistake = Mistake::new(&path, other.to_string());
            RunError::Lesson(scenario.loaded.source.place(&mistake))
        }
    })
}

/// Explores every order within the bounds that a round of an exercise has. `patience`: how long a search by orders
/// continues after it has found an order that breaks something.
pub(super) async fn tried(
    scenario: &Scenario,
    options: &LabOptions,
    expected: &Explore,
    patience: Option<Duration>,
) -> Result<Explored, ExploreError> {
    let bounds = Bounds { longest: LONGEST, ..Bounds::from(expected) };
    let broken = OnceLock::new();
    let watch = |progress: &Progress| {
        let found = progress.violations > 0 && progress.states == 0;
        let since = found.then(|| *broken.get_or_init(|| progress.wall));
        let over = since.zip(patience).is_some_and(|(since, patience)| progress.wall > since + patience);
        if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    Box::pin(explore(scenario, options, &bounds, &watch)).await
}

/// Of the outcomes in which more programs did not finish than are allowed to, the one with the shortest
/// order.
pub(super) fn stuck<'f>(expected: &Explore, found: &'f Explored) -> Option<&'f OutcomeSeen> {
    let stuck = found.outcomes.iter().filter(|seen| seen.outcome.unfinished > expected.may_not_end());
    stuck.min_by_key(|seen| seen.first.len())
}

/// What was found, in words. `unfinished`: how many clients did not come to the end in an order in which more did not than
/// are allowed to.
fn observed(expected: &Explore, found: &Explored, moves: usize, unfinished: usize) -> Text {
    let (violations, cut, orders) = (found.violations, found.cut, found.orders());
    let is_enough = expected.expect == ExploreExpect::Violated && !found.complete;
    if let Some(order) = found.shortest.as_ref().filter(|_| is_enough) {
        let steps = order.moves.len();
        return both!("an order of {steps} steps violates", "找到一种出错的顺序，共 {steps} 步");
    }
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
    if !found.complete {
        let more = Text::new("and not every order was gone through", "并且没有试完所有顺序");
        observed = Text::join(&[observed, more], ", ", "，");
    }
    if unfinished > 0 {
        let more = if found.stuck.is_empty() && cut > 0 {
            // No client is known to be stuck: some were still moving when their orders were cut.
            Text::new(
                "so that it is not known whether everybody comes to the end: more `moves`, or waits that are longer, would tell",
                "所以不知道是否人人都能走到结尾：加大 `moves`，或者把等待间隔调长，才能知道",
            )
        } else {
            Text::new(
                format!("in one of them {unfinished} did not come to the end"),
                format!("其中一种有 {unfinished} 个客户端没有走到结尾"),
            )
        };
        observed = Text::join(&[observed, more], ", ", "，");
    }
    observed
}

fn result(expected: &Explore, found: &Explored, moves: usize) -> ClaimResult {
    let (violations, cut) = (found.violations, found.cut);
    // What follows the end of an order that was cut is unknown, unless its author asked for just that many
    // moves.
    let conclusive = found.complete && (expected.moves.is_some() || cut == 0);
    let unfinished = stuck(expected, found).map_or(0, |seen| seen.outcome.unfinished);
    let observed = observed(expected, found, moves, unfinished);
    let faults: Vec<String> = expected.faults.iter().map(MayFail::to_string).collect();
    let faults = faults.join(", ");
    let (claim, says, wanted, holds) = match expected.expect {
        ExploreExpect::None => (
            "explore: none",
            none_breaks(cut > 0, moves, &faults),
            if conclusive {
                Text::new("0 violate", "0 种出错")
            } else {
                Text::new("0 violate, 0 cut", "0 种出错，0 种截断")
            },
            violations == 0 && conclusive && unfinished == 0,
        ),
        ExploreExpect::Violated => (
            "explore: violated",
            if faults.is_empty() {
                Text::new("Some order of the moves breaks an invariant.", "有的执行顺序会出错。")
            } else {
                both!(
                    "With `{faults}` some order breaks an invariant.",
                    "出现 `{faults}` 时，有的执行顺序会出错。"
                )
            },
            Text::new("at least 1 violates", "至少 1 种出错"),
            violations > 0 || found.shortest.is_some(),
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

/// The statement that no order breaks an invariant, with its limits.
fn none_breaks(cut: bool, moves: usize, faults: &str) -> Text {
    let within =
        if cut { both!(" within {moves} moves", "走满 {moves} 步之内，") } else { Text::default() };
    let with = if faults.is_empty() {
        Text::default()
    } else {
        both!(", with `{faults}` at any point", "任意时刻可出现 `{faults}`，")
    };
    both!(
        "No order breaks an invariant{within}{with}.",
        "{within}{with}无论按什么顺序执行，都不会出错。",
        within,
        with
    )
}
