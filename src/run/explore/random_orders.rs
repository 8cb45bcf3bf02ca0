//! Orders drawn at random. Where many orders break something, one of them is found this way long before all have been
//! gone through.

use std::sync::Arc;

use super::{
    ExploreError,
    explorer::{Explorer, Pick},
    search::Found,
};
use crate::random::SplitMix64;

/// The number of orders that are drawn before a search goes through all of them.
pub(crate) const DRAWN: u32 = 2_000;

/// How much more likely a step without a fault is than any one with a fault, or than the end of a fault: a fault may come
/// late in an order, and last.
const USUAL: usize = 8;

fn weight(pick: Pick) -> usize {
    match pick {
        Pick::Move(_) | Pick::Timer => USUAL,
        _ => 1,
    }
}

fn drawn(picks: &[Pick], random: &mut SplitMix64) -> Option<Pick> {
    let mut left = random.below(picks.iter().map(|pick| weight(*pick)).sum());
    picks.iter().copied().find(|pick| {
        let is_it = left < weight(*pick);
        left = left.saturating_sub(weight(*pick));
        is_it
    })
}

/// Draws up to `most` orders, always the same ones, until one breaks an invariant or the search is stopped. Returns what
/// that one breaks, and how those before it ended; `None` if none of them all breaks anything.
pub(crate) fn first_breach<G: Explorer>(
    explorer: &mut G,
    most: u32,
    stopped: &impl Fn() -> bool,
) -> Result<Option<Found>, ExploreError> {
    let root = explorer.begin()?;
    let (mut random, mut found) = (SplitMix64::new(0), Found::default());
    for _ in 0..most {
        let (mut node, mut steps) = (root.clone(), Vec::new());
        while let Some(pick) = drawn(&explorer.picks(&node), &mut random) {
            if stopped() {
                return Ok(Some(found));
            }
            let (next, touch) = explorer.take(&node, pick)?;
            steps.push((pick, Arc::new(touch)));
            node = next;
        }
        let ending = explorer.ending(&node)?;
        found.take(&steps, 0, &ending, false);
        // Nobody asks for what else is wrong with them.
        found.stuck.clear();
        if !ending.broken.is_empty() {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
