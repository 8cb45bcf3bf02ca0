//! Random programs, explored by Lockstep and by a model that shares no code with it; and programs for which Lockstep
//! once gave a wrong result.

mod orders;
mod program;
mod redis;
mod redlock;
mod rows;

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    rc::Rc,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use lockstep::{
    lab::LabOptions,
    lesson::{Params, Scenario, library::from_text},
    run::explore::{Bounds, Explored, Failing, MayFail, explore},
};

use self::{
    orders::{Model, Outcome, Sum},
    program::{Case, May, Never, Send, Step},
};
use crate::{
    place::LOCKSTEP,
    random::{Random, campaign, given_seed},
};

/// The number of random programs in a quick run; different ones each time.
const QUICK: u32 = 25;
/// The number in a campaign.
const CAMPAIGN: u32 = 1_000;
/// Programs with more orders are skipped: many small programs find more than a few large ones.
const LARGEST: u128 = 2_000;

async fn explored(text: &str, bounds: Bounds) -> Result<Explored, String> {
    let loaded = from_text("drawn.yaml", text).map_err(|error| error.to_string())?;
    let scenario = Scenario::plan(&loaded, "only", &Params::new()).map_err(|error| error.to_string())?;
    let bounds = Bounds { workers: 1, ..bounds };
    let options = LabOptions::with_binary(LOCKSTEP.into());
    let watch = |_: &_| ControlFlow::Continue(());
    explore(&scenario, &options, &bounds, &watch).await.map_err(|error| error.to_string())
}

/// The faults of a case as bounds of a search.
fn bounds(case: &Case) -> Bounds {
    let how = |may: &May| match may {
        May::Crash => Failing::Crash,
        May::Freeze => Failing::Freeze,
        May::LoseReply => Failing::LostReply,
        May::Cut => Failing::Cut,
        May::Restart => Failing::Restart,
        May::Skew(ahead) => Failing::Skew(*ahead),
    };
    // A clock fault names its server.
    let fault = |may: &May| MayFail {
        server: matches!(may, May::Skew(_)).then(|| "redis".to_owned()),
        ..how(may).anywhere()
    };
    Bounds {
        moves: case.moves,
        faults: case.may.iter().map(fault).collect(),
        most_faults: case.most,
        slow: case.slow,
        ..Bounds::default()
    }
}

/// The number of moves and faults of the shortest failing order.
fn length(found: &Explored) -> Option<usize> {
    let moves = &found.shortest.as_ref()?.moves;
    Some(moves.iter().filter(|words| !words.starts_with('+')).count())
}

fn by_lockstep(found: &Explored) -> String {
    let outcomes: BTreeMap<Outcome, u128> = found
        .outcomes
        .iter()
        .map(|seen| {
            let outcome = &seen.outcome;
            let locks = outcome.locks.iter().map(|(lock, fate)| {
                let told = match fate {
                    lockstep::run::race::LockFate::Violated => "VIOLATED",
                    lockstep::run::race::LockFate::Held => "held",
                    lockstep::run::race::LockFate::NeverHeld => "never held",
                };
                (lock.clone(), told.to_owned())
            });
            let told = Outcome {
                locks: locks.collect(),
                counters: outcome.counters.clone(),
                values: outcome.values.clone(),
                unfinished: outcome.unfinished,
                broken: outcome.broken.clone(),
            };
            (told, seen.orders)
        })
        .collect();
    let mut broken = found.broken.clone();
    broken.sort();
    told(
        found.pruned + u128::from(found.tried),
        (found.cut, found.violations),
        &broken,
        length(found),
        &outcomes,
    )
}

fn by_model(case: &Case, sum: &Sum) -> String {
    let named = case.never.iter().map(Never::name);
    let mut broken: Vec<(String, u128)> =
        named.zip(sum.by_never.iter().copied()).filter(|(_, orders)| *orders > 0).collect();
    broken.sort();
    told(sum.orders, (sum.cut, sum.violations), &broken, sum.soonest, &sum.outcomes)
}

fn told(
    orders: u128,
    (cut, violations): (u128, u128),
    broken: &[(String, u128)],
    soonest: Option<usize>,
    outcomes: &BTreeMap<Outcome, u128>,
) -> String {
    format!("{orders} orders, {cut} cut, {violations} violate, {broken:?}, after {soonest:?}, {outcomes:#?}")
}

/// Asserts that Lockstep and the model agree on a case, with and without symmetry reduction of clients.
async fn compare(case: &Case, sum: &Sum, name: &str) {
    let text = case.yaml();
    for symmetry in [true, false] {
        let found = explored(&text, Bounds { symmetry, ..bounds(case) }).await;
        let Case { moves, may, most, slow, .. } = case;
        let told = format!(
            "--moves {moves} --fault {may:?} --faults {most} --slow {slow} (symmetry: {symmetry})\n{text}"
        );
        let found = found.unwrap_or_else(|error| panic!("{name}: {error}\n{told}"));
        assert_eq!(
            by_lockstep(&found),
            by_model(case, sum),
            "{name}: Lockstep (left) and the model (right) differ\n{told}"
        );
        assert!(found.complete);
    }
}

async fn compare_one(case: &Case) -> Rc<Sum> {
    let sum = Model::count(case).expect("it is small");
    compare(case, &sum, "one case").await;
    sum
}

fn made(label: &str, words: &str) -> Step {
    Step::Move {
        send: Send::Words(words.split(' ').map(str::to_owned).collect()),
        label: label.to_owned(),
        until_ok: None,
        allow_lost: false,
    }
}

fn wait() -> Step {
    Step::Wait { millis: 1000, label: "s0".to_owned() }
}

/// A new seed, or that of `LOCKSTEP_MODEL_SEED`.
fn seed() -> u64 {
    given_seed("LOCKSTEP_MODEL_SEED").unwrap_or_else(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
        u64::from(since.subsec_nanos()) ^ since.as_secs() << 32
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn random_programs_come_to_what_the_model_says() {
    let mut seed = seed();
    println!("LOCKSTEP_MODEL_SEED={seed}");
    let began = Instant::now();
    let (mut programs, mut orders, mut violating, mut too_many) = (0, 0_u128, 0, 0);
    while programs < if campaign() { CAMPAIGN } else { QUICK } {
        let case = Case::draw(&mut Random::new(seed));
        let this = seed;
        seed = seed.wrapping_add(1);
        let Some(sum) = Model::count(&case).filter(|sum| sum.orders <= LARGEST) else {
            too_many += 1;
            continue;
        };
        compare(&case, &sum, &format!("LOCKSTEP_MODEL_SEED={this}")).await;
        programs += 1;
        orders += sum.orders;
        violating += u32::from(sum.violations > 0);
    }
    println!(
        "{programs} programs ({violating} go wrong in some order), {orders} orders, 0 differences, {:.1} s; {too_many} \
         more were too large",
        began.elapsed().as_secs_f64()
    );
    assert!(programs > 0);
}

/// Regression: server states were remembered without keys that had expired by then, so that the key was missing at the
/// end of every order, also of orders that end early because the waiting client is dead.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_keys_at_another_time_are_another_state() {
    let case = Case {
        programs: vec![vec![wait(), made("s1", "INCR n")], vec![made("s1", "PEXPIRE k 1000")]],
        never: vec![Never::Left { key: "n", more: 500 }],
        setup: vec![vec!["SET", "k", "1"]],
        moves: 3,
        may: vec![May::Crash],
        most: 1,
        ..Case::default()
    };
    compare_one(&case).await;
}

/// Regression: a key that ends in this very millisecond was treated as expired, since the server's milliseconds are not
/// the clock's.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_lives_in_its_last_millisecond() {
    let case = Case {
        programs: vec![vec![made("s0", "SET n 1 PX 1000"), made("s1", "SET k 1")], vec![wait()]],
        never: vec![Never::Left { key: "n", more: 500 }],
        setup: vec![vec!["SET", "q", "2", "PX", "2000"]],
        moves: 8,
        most: 1,
        slow: 2,
        ..Case::default()
    };
    compare_one(&case).await;
}

/// Regression: a key that had just expired was restored without an expiry, together with one in its last millisecond:
/// the latter is restored a millisecond earlier, when the first still existed.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_has_ended_is_not_put_back_beside_one_in_its_last_millisecond() {
    let case = Case {
        programs: vec![
            vec![wait(), made("s1", "SET n 1 PX 1000"), made("s2", "EXISTS q")],
            vec![made("s0", "INCR k"), made("s1", "INCR k")],
        ],
        never: vec![Never::Answered { client: 0, label: "s2".to_owned(), is: 1 }],
        setup: vec![vec!["SET", "q", "2", "PX", "2000"]],
        moves: 8,
        most: 1,
        slow: 2,
        ..Case::default()
    };
    let sum = compare_one(&case).await;
    assert!(sum.violations > 0 && sum.violations < sum.orders);
}
