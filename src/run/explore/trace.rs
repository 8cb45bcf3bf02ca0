//! An order and all those that differ from it only by exchanging adjacent steps that do not depend on each
//! other: how many there are, and the first of them.
//!
//! Such orders are one *trace* (Mazurkiewicz 1977): the linear extensions of the partial order in which a
//! step comes after every earlier step that it depends on.

use std::{collections::HashMap, sync::Arc};

use super::explorer::{Pick, StepFootprint};

pub type Taken = (Pick, Arc<StepFootprint>);

/// The number of orders of a trace; `u128::MAX` if that is too small.
pub fn extensions(steps: &[Taken]) -> u128 {
    // A step that touches everything keeps its place relative to all others, so the stretches between such
    // steps are independent.
    let mut product: Option<u128> = Some(1);
    for stretch in steps.split(|(_, touch)| touch.all) {
        product = product.and_then(|product| product.checked_mul(of_stretch(stretch)?));
    }
    product.unwrap_or(u128::MAX)
}

/// The number of orders of a stretch, or `None` on overflow. Groups that are independent of each other can be
/// interleaved in any way.
fn of_stretch(steps: &[Taken]) -> Option<u128> {
    let mut product: u128 = 1;
    let mut shuffled = 0;
    for group in groups(steps) {
        let of_group = of_group(&group)?;
        shuffled += group.len();
        product = product.checked_mul(of_group)?.checked_mul(choose(shuffled, group.len())?)?;
    }
    Some(product)
}

/// Partitions the steps so that none depends on one of another group.
fn groups(steps: &[Taken]) -> Vec<Vec<&StepFootprint>> {
    let mut group: Vec<usize> = (0..steps.len()).collect();
    for later in 0..steps.len() {
        for earlier in 0..later {
            let (one, other) = (group[earlier], group[later]);
            if one != other && steps[later].1.depends_on(&steps[earlier].1) {
                for member in group.iter_mut().filter(|member| **member == other) {
                    *member = one;
                }
            }
        }
    }
    let mut found: Vec<(usize, Vec<&StepFootprint>)> = Vec::new();
    for (n, (_, touch)) in steps.iter().enumerate() {
        match found.iter_mut().find(|(known, _)| *known == group[n]) {
            Some((_, members)) => members.push(touch),
            None => found.push((group[n], vec![touch])),
        }
    }
    found.into_iter().map(|(_, members)| members).collect()
}

/// The number of linear extensions of one group, by the sets of steps that can come first.
fn of_group(steps: &[&StepFootprint]) -> Option<u128> {
    // Most groups are chains.
    if steps.windows(2).all(|pair| pair[1].depends_on(pair[0])) {
        return Some(1);
    }
    let before: Vec<u128> = (0..steps.len())
        .map(|later| {
            let needed = (0..later).filter(|earlier| steps[later].depends_on(steps[*earlier]));
            needed.fold(0, |set, earlier| set | bit(earlier))
        })
        .collect();
    let whole = (0..steps.len()).fold(0, |set, n| set | bit(n));
    count_from(0, whole, &before, &mut HashMap::new())
}

/// The bound on moves keeps orders far shorter than the number of bits.
fn bit(n: usize) -> u128 {
    1 << n
}

fn count_from(
    done: u128,
    whole: u128,
    before: &[u128],
    known: &mut HashMap<u128, Option<u128>>,
) -> Option<u128> {
    if done == whole {
        return Some(1);
    }
    if let Some(count) = known.get(&done) {
        return *count;
    }
    let next = (0..before.len()).filter(|n| done & bit(*n) == 0 && before[*n] & !done == 0);
    let mut sum: Option<u128> = Some(0);
    for n in next {
        let count = count_from(done | bit(n), whole, before, known);
        sum = sum.and_then(|sum| sum.checked_add(count?));
    }
    known.insert(done, sum);
    sum
}

/// The number of ways to choose `k` of `n`, or `None` on overflow.
fn choose(n: usize, k: usize) -> Option<u128> {
    (0..k).try_fold(1_u128, |product, i| {
        let n = u128::try_from(n - i).ok()?;
        Some(product.checked_mul(n)? / u128::try_from(i + 1).ok()?)
    })
}

/// The given steps, and all that they depend on, by position.
pub fn needed(steps: &[Taken], wanted: &[usize]) -> Vec<usize> {
    let mut needed = vec![false; steps.len()];
    for n in wanted {
        needed[*n] = true;
    }
    for later in (0..steps.len()).rev() {
        if needed[later] {
            for earlier in 0..later {
                needed[earlier] |= steps[later].1.depends_on(&steps[earlier].1);
            }
        }
    }
    (0..steps.len()).filter(|n| needed[*n]).collect()
}

/// The given steps in the first order of their trace: at each position, the smallest of the steps that can
/// come next.
pub fn first_order(steps: &[Taken], mut left: Vec<usize>) -> Vec<Pick> {
    let mut order = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let free = (0..left.len()).filter(|at| {
            let step = &steps[left[*at]].1;
            left[..*at].iter().all(|earlier| !step.depends_on(&steps[*earlier].1))
        });
        let Some(at) = free.min_by_key(|at| steps[left[*at]].0) else { break };
        order.push(steps[left.remove(at)].0);
    }
    order
}
