//! The findings of a search in the lesson's terms, and the confirmation of the shortest violations with
//! client processes.

use std::{sync::Arc, time::Duration};

use super::{
    ExploreError, Pick, Stuck,
    search::{SearchedSpace, Unavoidable, by_length},
    workers::Searched,
};
use crate::{
    lab::LabOptions,
    lesson::Scenario,
    log::{Choice, Log},
    run::race::{Outcome, racer::Racer},
    text::{Text, both},
    verdict::{self, why},
};

#[derive(Debug, Clone)]
pub struct Explored {
    pub tried: u64,
    /// Orders that were not carried out because they are equivalent to one that was.
    pub pruned: u128,
    pub space: SearchedSpace,
    /// Orders, tried or pruned, that were cut at the bound.
    pub cut: u128,
    /// Orders, tried or pruned, that broke an invariant.
    pub violations: u128,
    /// The broken invariants, and the number of orders that broke each.
    pub broken: Vec<(String, u128)>,
    /// The same, with the shortest order of each. If the search was stopped, only those that there was time
    /// to confirm.
    pub each: Vec<BrokenInvariant>,
    /// Orders that ended although a program did not finish.
    pub stuck: Vec<StuckOrders>,
    /// The outcomes of the orders, the most frequent first.
    pub outcomes: Vec<OutcomeSeen>,
    /// The shortest order that breaks an invariant.
    pub shortest: Option<CarriedOut>,
    /// Whether the search came to its end, rather than being stopped.
    pub complete: bool,
    /// The real time, including starting and stopping the servers.
    pub wall: Duration,
    pub searching: Duration,
}

impl Explored {
    /// The number of orders, carried out or not.
    pub fn orders(&self) -> u128 {
        self.pruned.saturating_add(u128::from(self.tried))
    }

    /// The shortest order that breaks an invariant, given by its source text, if it was confirmed.
    pub(crate) fn confirmed(&self, invariant: &str) -> Option<(&BrokenInvariant, &CarriedOut)> {
        let known = self.each.iter().find(|known| known.name == invariant)?;
        Some((known, known.shortest.as_ref()?))
    }

    /// Whether in some orders an actor waits forever, or for something that was not explored.
    pub fn never_ends(&self) -> bool {
        self.stuck.iter().any(|kind| kind.stuck != Stuck::GaveUp)
    }
}

#[derive(Debug, Clone)]
pub struct OutcomeSeen {
    pub outcome: Arc<Outcome>,
    pub orders: u128,
    pub first: Vec<Choice>,
    pub violates: bool,
}

#[derive(Debug, Clone)]
pub struct BrokenInvariant {
    /// The index of the invariant in the scenario.
    pub invariant: usize,
    /// Its source text in the lesson.
    pub name: String,
    /// The shortest order that breaks it, confirmed.
    pub shortest: Option<CarriedOut>,
    /// Why that order breaks it, or from where on that was unavoidable.
    pub why: Option<Text>,
    pub unavoidable: Option<Unavoidable>,
    /// The order to be confirmed.
    pub choices: Vec<Choice>,
}

impl Unavoidable {
    /// A sentence that names the move, and says how many of the orders from before it go wrong.
    pub(crate) fn text(&self, order: &CarriedOut) -> Option<Text> {
        let Some(step) = self.step else {
            return Some(both!(
                "It could not be avoided: every order goes wrong.",
                "无法避免：所有顺序都会出错。"
            ));
        };
        let made = occurrence(&order.moves, step)?;
        let Some(share) = self.before else {
            return Some(both!(
                "At the latest after {made} it could not be avoided any more: all orders that go on from there go wrong.",
                "最迟在{made} 之后就无法避免了：从那里接下去的顺序全部会出错。",
                made,
            ));
        };
        let share = match share {
            few if few < 0.01 => "< 1%".to_owned(),
            share => format!("{:.0}%", (share * 100.0).min(99.0).floor()),
        };
        Some(both!(
            "The last chance was before {made}: of the orders that go on from there, {share} go wrong; after it, all do.",
            "最后的机会在{made} 之前：从那里接下去的顺序有 {share} 会出错；这一步之后，全部都会出错。",
            made,
        ))
    }
}

/// A move and, if it occurs several times, which occurrence this is.
fn occurrence(moves: &[String], step: usize) -> Option<Text> {
    let made = moves.get(step)?;
    let times = |moves: &[String]| moves.iter().filter(|one| *one == made).count();
    let (time, all) = (times(&moves[..=step]), times(moves));
    Some(match time {
        _ if all == 1 => both!("{made}", " {made}"),
        1 => both!("the first {made}", "第一次 {made}"),
        time if time == all => both!("the last {made}", "最后一次 {made}"),
        time => both!("{made} number {time}", "第 {time} 次 {made}"),
    })
}

#[derive(Debug, Clone)]
pub struct StuckOrders {
    pub stuck: Stuck,
    pub orders: u128,
    /// What that means, in words.
    pub says: Text,
    /// The first of these orders.
    pub first: Vec<Choice>,
    /// The first order, confirmed. If the search was stopped, only if there was time for it.
    pub order: Option<CarriedOut>,
    /// Why that order gets stuck, or from where on that was unavoidable.
    pub why: Option<Text>,
    pub unavoidable: Option<Unavoidable>,
}

impl Stuck {
    /// A sentence on this many orders.
    fn text(self, orders: u128) -> Text {
        match self {
            Self::GaveUp => both!(
                "{orders} end early: a program ended with an error or met a reply that it does not handle, or a loop reached its bound (`at_most`)",
                "{orders} 种提前结束：程序出错退出，或遇到了它没有处理的回复，或者循环达到了上限（`at_most`）"
            ),
            Self::SessionLasts => both!(
                "{orders} end where somebody waits, and a lease has not ended yet; what its end brings about is not looked at",
                "{orders} 种停在有人等待、而某个租约尚未到期的地方；到期之后的事没有继续探索"
            ),
            Self::LostWakeup => both!(
                "{orders} never end: somebody waits for a notification that nobody will bring about (lost wake-up)",
                "{orders} 种永远不结束：有人在等一个再也不会来的通知（丢失唤醒）"
            ),
            Self::Deadlock => both!(
                "{orders} never end, whatever happens next: somebody waits for what nobody will bring about (deadlock)",
                "{orders} 种无论接下来怎么走都不会结束：有人在等永远不会发生的事（死锁）"
            ),
            Self::Livelock => both!(
                "{orders} go round: time passes, and everything comes to be as it was (livelock)",
                "{orders} 种原地打转：时间在走，一切又回到原样（活锁）"
            ),
        }
    }
}

/// An order that was carried out with client processes.
#[derive(Debug, Clone)]
pub struct CarriedOut {
    pub choices: Vec<Choice>,
    /// The choices in words: `A.check`, `freeze A`, ….
    pub moves: Vec<String>,
    /// The events, with a stop after every choice.
    pub log: Log,
}

/// The findings of a search in the lesson's terms. The orders of `each` have yet to be confirmed; the
/// shortest comes first.
pub(crate) fn report(scenario: &Scenario, (found, complete, wall): Searched) -> Explored {
    let name = |n: usize| scenario.invariants[n].never.to_string();
    let choices =
        |order: &[Pick]| -> Vec<Choice> { order.iter().flat_map(|pick| pick.choices(scenario)).collect() };
    let mut outcomes: Vec<OutcomeSeen> = found
        .outcomes
        .into_iter()
        .map(|(outcome, seen)| OutcomeSeen {
            outcome,
            orders: seen.orders,
            violates: seen.violates,
            first: choices(&seen.first),
        })
        .collect();
    outcomes.sort_by_key(|seen| std::cmp::Reverse(seen.orders));
    let mut shortest: Vec<_> = found.shortest_of.into_iter().collect();
    shortest.sort_by(|(_, one), (_, other)| by_length(one, other));
    let each = shortest.into_iter().map(|(invariant, order)| BrokenInvariant {
        invariant,
        name: name(invariant),
        why: None,
        shortest: None,
        unavoidable: found.unavoidable.get(&invariant).copied(),
        choices: choices(&order),
    });
    let stuck = found.stuck.into_iter();
    // An order counts when it ends. If the search was stopped, one that has broken something may not have ended yet.
    let at_least = |orders: u128| if complete { orders } else { orders.max(1) };
    let broken: Vec<_> =
        found.by_invariant.into_iter().map(|(n, orders)| (name(n), at_least(orders))).collect();
    let violations = if broken.is_empty() { found.violations } else { at_least(found.violations) };
    Explored {
        each: each.collect(),
        stuck: stuck
            .map(|(stuck, (orders, first))| StuckOrders {
                stuck,
                orders,
                says: stuck.text(orders),
                first: choices(&first),
                order: None,
                why: None,
                // What comes after the end of a session or a lease is not known, so nothing is unavoidable.
                unavoidable: found
                    .unavoidable_stuck
                    .get(&stuck)
                    .filter(|_| stuck != Stuck::SessionLasts)
                    .copied(),
            })
            .collect(),
        tried: found.tried,
        pruned: found.orders.max(violations).saturating_sub(u128::from(found.tried)),
        space: found.space,
        cut: found.cut,
        violations,
        broken,
        outcomes,
        shortest: None,
        complete,
        wall,
        searching: wall,
    }
}

/// Carries out the shortest orders, and the first stuck ones, with client processes. Fails unless each order
/// breaks its invariant there, too, or leaves a program unfinished.
pub(crate) async fn confirmed(
    scenario: &Scenario,
    options: &LabOptions,
    mut each: Vec<BrokenInvariant>,
    mut stuck: Vec<StuckOrders>,
) -> Result<(Vec<BrokenInvariant>, Vec<StuckOrders>), ExploreError> {
    let mut racer = Racer::set_up(scenario, options).await?;
    let confirmed = confirm(&mut racer, scenario, &mut each, &mut stuck).await;
    racer.tear_down().await;
    confirmed.map(|()| (each, stuck))
}

async fn confirm(
    racer: &mut Racer,
    scenario: &Scenario,
    each: &mut [BrokenInvariant],
    stuck: &mut [StuckOrders],
) -> Result<(), ExploreError> {
    for n in 0..each.len() {
        let same = each[..n].iter().position(|known| known.choices == each[n].choices);
        let carried = match same.and_then(|same| each[same].shortest.clone()) {
            Some(known) => known,
            None => racer.carry_out(each[n].choices.clone()).await?,
        };
        let breaches = verdict::breaches(scenario, &carried.log).map_err(ExploreError::Invariant)?;
        let breach = breaches.iter().find(|breach| breach.invariant == each[n].invariant);
        let breach = breach.ok_or_else(|| not_confirmed(&carried))?;
        let known = why::explanation(scenario, &carried.log, breach);
        let unavoidable = || each[n].unavoidable.as_ref().and_then(|known| known.text(&carried));
        each[n].why = known.or_else(unavoidable);
        each[n].shortest = Some(carried);
    }
    for stuck in stuck {
        let carried = racer.carry_out(stuck.first.clone()).await?;
        if Outcome::of(scenario, &carried.log).unfinished == 0 {
            return Err(not_confirmed(&carried));
        }
        let unavoidable = || stuck.unavoidable.as_ref().and_then(|known| known.text(&carried));
        stuck.why = why::in_vain(scenario, &carried.log).or_else(unavoidable);
        stuck.order = Some(carried);
    }
    Ok(())
}

fn not_confirmed(carried: &CarriedOut) -> ExploreError {
    ExploreError::NotConfirmed { order: carried.moves.join(" → ") }
}

#[cfg(test)]
mod tests {
    use super::{CarriedOut, Unavoidable};
    use crate::log::Log;

    #[test]
    fn the_last_chance_names_which_occurrence_of_a_move_it_was() {
        let moves = ["A.take", "B.o", "B.o", "A.o", "B.o"].map(str::to_owned).to_vec();
        let order = CarriedOut { choices: Vec::new(), moves, log: Log::default() };
        let last = |step, before| Unavoidable { step, before }.text(&order).map(|text| text.en);
        let text = |step| last(Some(step), Some(0.5));
        assert_eq!(
            text(3).as_deref(),
            Some(
                "The last chance was before A.o: of the orders that go on from there, 50% go wrong; after it, all do."
            )
        );
        let begin = |step| text(step).and_then(|text| Some(text.split_once(':')?.0.to_owned()));
        assert_eq!(begin(1).as_deref(), Some("The last chance was before the first B.o"));
        assert_eq!(begin(2).as_deref(), Some("The last chance was before B.o number 2"));
        assert_eq!(begin(4).as_deref(), Some("The last chance was before the last B.o"));
        assert_eq!(text(5), None);
        let latest = last(Some(3), None).unwrap_or_default();
        assert!(latest.starts_with("At the latest after A.o "), "{latest}");
        let always = last(None, Some(1.0));
        assert_eq!(always.as_deref(), Some("It could not be avoided: every order goes wrong."));
    }
}
