//! What was found, in the lesson's names, and the shortest violation carried out again with client processes.

use std::{sync::Arc, time::Duration};

use super::{
    ExploreError, Pick, StateGraph, Stuck,
    search::{Unavoidable, by_length},
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
    /// Orders that were not, because they are sure to come to the same as one that was.
    pub pruned: u128,
    /// Where orders were counted by states: how many states there are, and the steps between them.
    pub states: u64,
    pub transitions: u64,
    /// States that were found and not gone on from.
    pub states_left: u64,
    /// How many bytes states and steps took, counting included.
    pub bytes: u64,
    /// Whether the search ended because they took as much as they may.
    pub full: bool,
    /// All states, where they were asked for and are few.
    pub graph: Option<StateGraph>,
    /// Why orders could not be counted by states.
    pub one_by_one: Option<Text>,
    /// Orders of both that were cut at the bound.
    pub cut: u128,
    /// Orders of both that broke something.
    pub violations: u128,
    /// What was broken, and by how many orders.
    pub broken: Vec<(String, u128)>,
    /// The same, with the shortest order of each; where the search was stopped, as far as there was time to confirm it.
    pub each: Vec<BrokenInvariant>,
    /// Orders that do not end with everybody at the end of their program.
    pub stuck: Vec<StuckOrders>,
    /// What came of the orders, the most frequent first.
    pub outcomes: Vec<OutcomeSeen>,
    /// The shortest way to break something.
    pub shortest: Option<CarriedOut>,
    /// Why that breaks it, as far as it is known.
    pub why: Option<Text>,
    /// Whether the search came to its end, rather than being stopped.
    pub complete: bool,
    /// Real time, starting and ending the servers included.
    pub wall: Duration,
    pub searching: Duration,
}

impl Explored {
    /// How many orders there are, carried out or not.
    pub fn orders(&self) -> u128 {
        self.pruned.saturating_add(u128::from(self.tried))
    }

    /// Whether in some orders somebody waits for ever, or for what was not looked at.
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

/// An invariant that was broken.
#[derive(Debug, Clone)]
pub struct BrokenInvariant {
    /// Its number among those of the scenario.
    pub invariant: usize,
    /// As the lesson writes it.
    pub name: String,
    pub orders: u128,
    /// Its shortest order, confirmed.
    pub shortest: Option<CarriedOut>,
    /// Why that order breaks it, or from where on it cannot but break it.
    pub why: Option<Text>,
    pub unavoidable: Option<Unavoidable>,
    /// What is to be confirmed.
    pub(crate) choices: Vec<Choice>,
}

impl Unavoidable {
    /// The move, and what could still come of the orders before it.
    pub(crate) fn text(&self, order: &CarriedOut) -> Option<Text> {
        let Some(step) = self.step else {
            return Some(both!(
                "It could not be avoided: every order goes wrong.",
                "无法避免：所有顺序都会出错。"
            ));
        };
        let made = made(&order.moves, step)?;
        let Some(share) = self.before else {
            return Some(both!(
                "At the latest after {made} it could not be avoided any more: all orders that go on from there go wrong.",
                "最迟在 {made} 之后就无法避免了：从那里接下去的顺序全部会出错。",
                made,
            ));
        };
        let share = match share {
            few if few < 0.01 => "< 1%".to_owned(),
            share => format!("{:.0}%", (share * 100.0).min(99.0).floor()),
        };
        Some(both!(
            "The last chance was before {made}: of the orders that go on from there, {share} go wrong; after it, all do.",
            "最后的机会在 {made} 之前：从那里接下去的顺序有 {share} 会出错；这一步之后，全部都会出错。",
            made,
        ))
    }
}

/// A move, and which time of several it is.
fn made(moves: &[String], step: usize) -> Option<Text> {
    let made = moves.get(step)?;
    let times = |moves: &[String]| moves.iter().filter(|one| *one == made).count();
    let (time, all) = (times(&moves[..=step]), times(moves));
    Some(match time {
        _ if all == 1 => Text::from(made.as_str()),
        1 => both!("the first {made}", "第一次 {made} "),
        time if time == all => both!("the last {made}", "最后一次 {made} "),
        time => both!("{made} number {time}", "第 {time} 次 {made} "),
    })
}

#[derive(Debug, Clone)]
pub struct StuckOrders {
    pub stuck: Stuck,
    pub orders: u128,
    /// What that means, in words.
    pub says: Text,
    /// The first of them.
    pub first: Vec<Choice>,
    /// The same, confirmed; where the search was stopped, as far as there was time for it.
    pub order: Option<CarriedOut>,
    /// Why that one comes to it, or from where on it cannot but do so.
    pub why: Option<Text>,
    pub unavoidable: Option<Unavoidable>,
}

impl Stuck {
    /// What so many orders come to.
    fn text(self, orders: u128) -> Text {
        match self {
            Self::GaveUp => both!(
                "{orders} end early: a program ended with an error or met a reply that it does not handle, or a loop reached its bound (`at_most`)",
                "{orders} 种提前结束：程序出错退出，或遇到了它没有处理的回复，或者循环达到了上限（`at_most`）"
            ),
            Self::SessionLasts => both!(
                "{orders} end where somebody waits and the session of a client that crashed has not ended yet; what its end \
                 brings about is not looked at",
                "{orders} 种停在有人等待、而崩溃客户端的会话尚未过期的地方；会话过期之后的事没有继续探索"
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
    /// The same in words: `A.check`, `freeze A`, ….
    pub moves: Vec<String>,
    /// What happened, with a stop after every choice.
    pub log: Log,
}

/// What the search found, in the lesson's names. The orders of `each` are yet to be confirmed, the shortest first.
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
        orders: found.by_invariant.get(&invariant).copied().unwrap_or(0),
        shortest: None,
        unavoidable: found.unavoidable.get(&invariant).copied(),
        choices: choices(&order),
    });
    let stuck = found.stuck.into_iter();
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
                unavoidable: found.unavoidable_stuck.get(&stuck).copied(),
            })
            .collect(),
        tried: found.tried,
        pruned: found.orders.saturating_sub(u128::from(found.tried)),
        states: found.states,
        transitions: found.transitions,
        states_left: found.states_left,
        bytes: found.bytes,
        full: found.full,
        graph: found.graph,
        one_by_one: found.one_by_one,
        cut: found.cut,
        violations: found.violations,
        broken: found.by_invariant.into_iter().map(|(n, orders)| (name(n), orders)).collect(),
        outcomes,
        shortest: None,
        why: None,
        complete,
        wall,
        searching: wall,
    }
}

/// The shortest orders, and the first that are stuck, carried out again, with client processes. Each must break its invariant
/// there, too, or leave somebody unfinished.
pub(crate) async fn confirmed(
    scenario: &Scenario,
    options: &LabOptions,
    mut each: Vec<BrokenInvariant>,
    mut stuck: Vec<StuckOrders>,
) -> Result<(Vec<BrokenInvariant>, Vec<StuckOrders>), ExploreError> {
    let mut racer = Racer::set_up(scenario, options).await?;
    let mut done: Result<(), ExploreError> = Ok(());
    for n in 0..each.len() {
        let same = each[..n].iter().position(|known| known.choices == each[n].choices);
        let carried = match same.and_then(|same| each[same].shortest.clone()) {
            Some(known) => Ok(known),
            None => racer.carry_out(each[n].choices.clone()).await,
        };
        match carried.map_err(ExploreError::from).and_then(|carried| {
            let breaches = verdict::breaches(scenario, &carried.log).map_err(ExploreError::Invariant)?;
            let broke = breaches.iter().any(|breach| breach.invariant == each[n].invariant);
            if broke { Ok(carried) } else { Err(not_confirmed(&carried)) }
        }) {
            Ok(carried) => {
                let breaches = verdict::breaches(scenario, &carried.log).unwrap_or_default();
                let breach = breaches.iter().find(|breach| breach.invariant == each[n].invariant);
                let known = breach.and_then(|breach| why::explanation(scenario, &carried.log, breach));
                let unavoidable = || each[n].unavoidable.as_ref().and_then(|known| known.text(&carried));
                each[n].why = known.or_else(unavoidable);
                each[n].shortest = Some(carried);
            }
            Err(error) => {
                done = Err(error);
                break;
            }
        }
    }
    for stuck in stuck.iter_mut().take(if done.is_ok() { usize::MAX } else { 0 }) {
        match racer.carry_out(stuck.first.clone()).await {
            Ok(carried) if Outcome::of(scenario, &carried.log).unfinished > 0 => {
                let unavoidable = || stuck.unavoidable.as_ref().and_then(|known| known.text(&carried));
                stuck.why = why::in_vain(scenario, &carried.log).or_else(unavoidable);
                stuck.order = Some(carried);
            }
            Ok(carried) => done = Err(not_confirmed(&carried)),
            Err(error) => done = Err(error.into()),
        }
        if done.is_err() {
            break;
        }
    }
    racer.tear_down().await;
    done.map(|()| (each, stuck))
}

fn not_confirmed(carried: &CarriedOut) -> ExploreError {
    ExploreError::NotConfirmed { order: carried.moves.join(" → ") }
}

#[cfg(test)]
mod tests {
    use super::{CarriedOut, Unavoidable};
    use crate::log::Log;

    #[test]
    fn of_a_move_that_is_made_again_and_again_it_is_said_which_time_was_the_last_chance() {
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
