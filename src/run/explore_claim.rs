//! What a variant claims that exploring finds, proven in addition to its story.

use std::{ops::ControlFlow, sync::OnceLock, time::Duration};

use super::{
    explore::{Bounds, ExploreError, Explored, OutcomeSeen, Progress, Stuck, estimated_time, explore},
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
/// stay under. A search by states, whose size cannot be estimated, ends then as not complete.
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
    let watch = |progress: &Progress| {
        if progress.wall > LONGEST { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    Box::pin(explore(scenario, options, &bounds, &watch)).await.map_err(|error| match error {
        ExploreError::Engine(error) => error,
        other => {
            let path = scenario.path().key("explore");
            RunError::Lesson(scenario.loaded.source.place(&mistake(expected, &other, &path)))
        }
    })
}

/// Why a variant cannot be explored, with the keys of the lesson that change it.
fn mistake(expected: &Explore, error: &ExploreError, path: &Path) -> Mistake {
    let ExploreError::TooMany { orders, rate, seconds } = error else {
        return Mistake::new(path, error.text());
    };
    let (orders, rate, time) = (format!("{orders:.1e}"), format!("{rate:.0}"), estimated_time(*seconds));
    let message = both!(
        "about {orders} orders at {rate} a second would take {time}",
        "大约有 {orders} 种顺序，每秒 {rate} 种，要跑 {time}",
        time
    );
    let bounds = [
        (expected.slow.is_some(), "slow"),
        (expected.most_faults.is_some(), "most_faults"),
        (!expected.faults.is_empty(), "faults"),
    ];
    let given = bounds.into_iter().filter(|(given, _)| *given).map(|(_, key)| format!("`{key}`"));
    let keys = given.collect::<Vec<_>>().join(", ");
    let moves = expected.moves.unwrap_or(MOVES);
    Mistake::new(path, message).help(if keys.is_empty() {
        both!(
            "a smaller `moves` (now {moves}) makes it shorter, and so do fewer `clients` or fewer operations",
            "把 `moves` 调小（现在是 {moves}），或者减少 `clients`、减少操作，都能缩短"
        )
    } else {
        both!(
            "a smaller `moves` (now {moves}) makes it shorter, and so does less of {keys}, or fewer `clients`",
            "把 `moves` 调小（现在是 {moves}），减少 {keys}，或者减少 `clients`，都能缩短"
        )
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

/// Whether some order never ends in the way that a variant claims.
fn never_ends(expected: &Explore, found: &Explored) -> ClaimResult {
    let is_meant = |stuck: Stuck| match expected.expect {
        ExploreExpect::Deadlock => stuck == Stuck::Deadlock,
        ExploreExpect::Livelock => stuck == Stuck::Livelock,
        ExploreExpect::LostWakeup => stuck == Stuck::LostWakeup,
        _ => matches!(stuck, Stuck::Deadlock | Stuck::Livelock | Stuck::LostWakeup),
    };
    let (meant, others): (Vec<_>, Vec<_>) = found.stuck.iter().partition(|kind| is_meant(kind.stuck));
    let says = match expected.expect {
        ExploreExpect::Deadlock => Text::new(
            "In some order somebody waits for what nobody will bring about (deadlock).",
            "有的执行顺序会死锁：有人在等永远不会发生的事。",
        ),
        ExploreExpect::Livelock => Text::new(
            "In some order time passes, and everything comes to be as it was (livelock).",
            "有的执行顺序会活锁：时间在走，一切又回到原样。",
        ),
        ExploreExpect::LostWakeup => Text::new(
            "In some order somebody waits for a notification that will not come (lost wake-up).",
            "有的执行顺序会丢失唤醒：有人在等一个再也不会来的通知。",
        ),
        _ => Text::new("Some order never ends.", "有的执行顺序永远不会结束。"),
    };
    let orders = found.orders();
    let mut observed: Vec<Text> = meant.iter().chain(&others).map(|kind| kind.says.clone()).collect();
    if observed.is_empty() {
        observed.push(both!("all of {orders} orders end", "{orders} 种顺序都会结束"));
    }
    if found.cut > 0 {
        let cut = found.cut;
        observed.push(both!("{cut} were cut, and may go on", "{cut} 种被截断，后面如何不知道"));
    }
    ClaimResult {
        claim: format!("explore: {}", expected.expect.word()),
        says: Some(says),
        expected: Text::new("at least 1 never ends", "至少 1 种不会结束"),
        observed: Text::join(&observed, "; ", "；"),
        holds: !meant.is_empty(),
        evidence: Vec::new(),
    }
}

fn result(expected: &Explore, found: &Explored, moves: usize) -> ClaimResult {
    if !expected.expect.is_about_invariants() {
        return never_ends(expected, found);
    }
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
        _ => (
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

#[cfg(test)]
mod tests {
    use super::{Explore, ExploreError, ExploreExpect, Path, mistake};
    use crate::lesson::Failing;

    #[test]
    fn a_search_that_takes_too_long_names_the_keys_that_shorten_it() {
        let error = ExploreError::TooMany { orders: 1.2e9, rate: 1000.0, seconds: 1.2e6 };
        let with = |faults| Explore {
            expect: ExploreExpect::None,
            moves: Some(40),
            faults,
            broken_by: Vec::new(),
            most_faults: None,
            slow: Some(1),
            ends: None,
        };
        let found = mistake(&with(vec![Failing::Crash.anywhere()]), &error, &Path::root());
        assert_eq!(found.message.en, "about 1.2e9 orders at 1000 a second would take 14 days");
        let help = found.help.expect("what to do");
        assert!(help.en.contains("`moves` (now 40)") && help.en.contains("`slow`, `faults`"), "{help:?}");
        assert!(help.zh.contains("`slow`, `faults`"), "{help:?}");
        assert!(!help.en.contains("--") && !found.message.en.contains("--"));
    }
}
