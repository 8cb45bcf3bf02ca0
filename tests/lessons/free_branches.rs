//! A run that begins like another: its actions are repeated on a fresh lab, and their results are compared.

use lockstep::{
    lesson::Scenario,
    log::{Choice, Direction, Event, EventKind, Fault, HistoryEntry, LinkId, Log, Reply, outlook::Blocked},
    run::session::{self, SessionCommand, Update},
    text::Text,
    verdict::compare::Difference,
};
use proptest::{prelude::*, sample::Index};

use crate::{
    free_support::{Free, STOCK, cause, crash, moves, options, pass},
    scenarios::carried,
    texts::planned,
};

/// The seed of every run here.
const SEED: u64 = 7;

/// The result of repeating a run.
type Branched = (Option<Box<Difference>>, Option<Text>);

/// A run that begins like another, with the result of the repetition.
async fn branch(scenario: &Scenario, past: Log) -> (Free, Branched) {
    let mut free = Free::of(session::branch(scenario.clone(), options(), SEED, past));
    let branched = loop {
        if let Update::Branched { difference, refused } = free.next().await {
            break (difference, refused);
        }
    };
    free.outlook().await;
    (free, branched)
}

/// A run after the story's first steps.
async fn after_steps(scenario: &Scenario, steps: usize) -> Free {
    let mut free = Free::of(session::open(scenario.clone(), options(), SEED));
    for _ in 0..steps {
        free.tell(SessionCommand::Step);
        while !matches!(free.next().await, Update::Stepped { .. }) {}
    }
    free
}

fn history(log: &Log) -> Vec<HistoryEntry> {
    log.history(log.len())
}

/// Repeats a whole run and asserts that its results and the outlook are the same.
async fn repeated(scenario: &Scenario, first: &Free) -> Free {
    let (second, branched) = branch(scenario, first.log.clone()).await;
    assert_eq!(branched, (None, None), "{:?}", history(&first.log));
    assert_eq!(history(&second.log), history(&first.log));
    let blocked = |free: &Free| -> Vec<String> {
        let actors = free.outlook.actors.iter();
        let told = |blocked: Option<Blocked>| match blocked {
            // The exact end of a wait differs by microseconds.
            Some(Blocked::Waits { .. }) => "waits".to_owned(),
            other => format!("{other:?}"),
        };
        actors.map(|prospect| told(prospect.blocked)).collect()
    };
    assert_eq!(blocked(&second), blocked(first));
    assert_eq!(second.outlook.faults, first.outlook.faults);
    second
}

fn hold(link: &str, way: Direction) -> Choice {
    let link = link.parse().expect("a link");
    cause(Fault::Hold { link, way })
}

fn freeze(client: &str) -> Choice {
    let client = client.to_owned();
    cause(Fault::Freeze { client })
}

#[tokio::test]
async fn crashes_frozen_processes_held_links_and_time_are_had_again() {
    let planned = planned(STOCK, "unguarded");
    let mut first = after_steps(&planned, 1).await;
    first
        .all([
            moves(0),
            hold("B->redis", Direction::Replies),
            moves(1),
            pass(2_500),
            freeze("A"),
            pass(100),
            crash("A"),
        ])
        .await;
    assert_eq!(first.outlook.actors[1].blocked, Some(Blocked::Unanswered));
    let mut second = repeated(&planned, &first).await;
    // What was in flight when the branch was made arrives in it.
    let link = LinkId::new("B", "redis");
    second.all([cause(Fault::Release { link }), moves(1)]).await;
    assert_eq!(second.world().counters["sold"], 1);
    assert_eq!(second.replies().last(), Some(&Reply::Value(0.into())));
}

/// Requests that a released link passes on are answered before the next choice, although their client is frozen.
#[tokio::test]
async fn a_reply_to_a_frozen_client_passes_before_its_link_is_held_again() {
    let planned = carried("unlock-someone-elses-lock", "get-compare-del");
    let link = || LinkId::new("B", "redis");
    for _ in 0..5 {
        let mut first = after_steps(&planned, 0).await;
        first.tell(SessionCommand::LeaveStory);
        first.outlook().await;
        first
            .all([
                cause(Fault::Delay { link: link(), way: Direction::Both, by_ms: 2_000 }),
                moves(1),
                freeze("B"),
                cause(Fault::Release { link: link() }),
                hold("B->redis", Direction::Both),
                cause(Fault::Thaw { client: "B".to_owned() }),
            ])
            .await;
        assert_eq!(first.replies(), [Reply::Value("OK".into())]);
    }
}

#[tokio::test]
async fn a_server_that_was_killed_is_dead_again_and_its_keys_are_gone() {
    let server = || "redis".to_owned();
    let planned = planned(STOCK, "unguarded");
    let mut first = after_steps(&planned, 2).await;
    first.all([cause(Fault::KillServer { server: server() }), moves(1)]).await;
    let mut second = repeated(&planned, &first).await;
    let restart = Fault::RestartServer { server: server() };
    assert!(second.outlook.faults.contains(&restart));
    second.all([cause(restart), moves(0)]).await;
}

/// Five masters, one of which the story kills.
const MASTERS: &str = r"
format: 1
id: five
track: redis
title: { en: Five, zh: 五台 }
summary: { en: Five., zh: 五台。 }
intro: { en: Five., zh: 五台。 }
minutes: 1
lab: masters
clients:
  A: { runs: writer }
programs:
  writer:
    - one: { redis: SET k 1, on: redis1 }
    - two: { redis: SET k 1, on: redis2 }
variants:
  killed:
    title: { en: Killed, zh: 杀掉 }
    expect: shown
    lesson: { en: No., zh: 不。 }
    story:
      - move: A.one
      - kill: redis1
      - move: A.two
    claims: [ that: A.two == 'OK' ]
";

#[tokio::test]
async fn a_story_that_killed_a_server_is_told_again_up_to_where_it_was_left() {
    let planned = planned(MASTERS, "killed");
    let mut first = after_steps(&planned, 2).await;
    first.moves([0]).await;
    assert_eq!(history(&first.log), [HistoryEntry::Line, HistoryEntry::Line, HistoryEntry::Choice(moves(0))]);
    let second = repeated(&planned, &first).await;
    assert_eq!(second.replies(), [Reply::Value("OK".into()), Reply::Value("OK".into())]);
    let server = "redis1".to_owned();
    assert!(second.outlook.faults.contains(&Fault::RestartServer { server }));
}

#[tokio::test]
async fn sessions_watches_and_notifications_are_had_again() {
    let planned = carried("zk-herd", "predecessor");
    let mut first = after_steps(&planned, 0).await;
    first.tell(SessionCommand::LeaveStory);
    first.outlook().await;
    // A has the lock, B waits for it; A's process dies, and its session ends once the server notices.
    for actor in [0, 1] {
        while first.outlook.actors[actor].blocked.is_none() && !first.wire(actor).starts_with("delete") {
            first.moves([u32::try_from(actor).expect("few")]).await;
        }
    }
    first.moves([0]).await;
    let second = repeated(&planned, &first).await;
    let notified = |log: &Log| {
        let events = log.events().iter();
        events.filter(|event| matches!(event.kind, EventKind::Notified { .. })).count()
    };
    assert_eq!(notified(&second.log), notified(&first.log));
    assert!(notified(&second.log) > 0, "B hears of it");
}

#[tokio::test]
async fn a_branch_does_the_same_again_and_then_something_else() {
    let planned = planned(STOCK, "unguarded");
    let mut first = Free::of(session::open(planned.clone(), options(), 7));
    for _ in 0..2 {
        first.tell(SessionCommand::Step);
        while !matches!(first.next().await, Update::Stepped { .. }) {}
    }
    first.moves([1]).await;
    let here = first.log.len();
    first.moves([0, 1]).await;
    assert_eq!(first.world().counters["sold"], 2);
    let past = prefix(&first.log, here);
    let mut second = Free::of(session::branch(planned, options(), 7, past));
    let branched = loop {
        if let Update::Branched { difference, refused } = second.next().await {
            break (difference, refused);
        }
    };
    assert_eq!(branched, (None, None), "two stories and a move, as before");
    second.outlook().await;
    assert_eq!((second.wire(0), second.wire(1)), ("DECR stock", "DECR stock"));
    assert_eq!(second.log.history(second.log.len()), first.log.history(here));
    second.all([crash("A")]).await;
    second.moves([1]).await;
    assert_eq!(second.world().counters["sold"], 1, "another end");
}

#[tokio::test]
async fn a_branch_that_comes_out_differently_says_where() {
    let planned = planned(STOCK, "unguarded");
    let mut first = Free::begin(planned.clone()).await;
    first.moves([0, 0, 1]).await;
    // As if the other run had read another stock.
    let mut past = Log::new();
    past.extend(first.log.events().iter().cloned().map(|mut event| {
        if let EventKind::Replied { reply, .. } = &mut event.kind
            && **reply == Reply::Value("0".into())
        {
            *reply = Reply::Value("5".into()).into();
        }
        event
    }));
    let mut second = Free::of(session::branch(planned.clone(), options(), 1, past));
    let difference = loop {
        if let Update::Branched { difference, refused } = second.next().await {
            assert_eq!(refused, None);
            break difference.expect("it differs");
        }
    };
    let [Some(before), Some(now)] = &difference.moves else { panic!("{difference:?}") };
    assert_eq!((before.who.as_str(), before.label.as_str()), ("B", "check"));
    assert_eq!(
        (before.reply.as_deref(), now.reply.as_deref()),
        (Some(&Reply::Value("5".into())), Some(&Reply::Value("0".into())))
    );
    // An action that cannot be repeated is reported, and the ones after it are not done.
    let mut past = prefix(&first.log, first.log.len());
    for choice in [moves(0), moves(1)] {
        let at = past.time_at(past.len());
        past.append(Event { at, kind: EventKind::Chose(choice) });
    }
    let mut third = Free::of(session::branch(planned, options(), 1, past));
    let refused = loop {
        if let Update::Branched { refused, .. } = third.next().await {
            break refused.expect("A is done");
        }
    };
    assert_eq!(refused.en, "A cannot move: its program is over.");
    third.outlook().await;
}

/// The first events of a log.
fn prefix(log: &Log, position: usize) -> Log {
    let mut past = Log::new();
    past.extend(log.events()[..position].iter().cloned());
    past
}

/// Makes one of the available choices; `pick` selects it.
async fn choose_any(free: &mut Free, pick: Index) {
    let able = free.outlook.able().map(|actor| Choice::Move { actor });
    // Most play consists of moves and passing time.
    let mut choices: Vec<Choice> = able.flat_map(|choice| [choice.clone(), choice]).collect();
    if free.outlook.timer.is_some() {
        choices.extend([Choice::Timer, Choice::Timer]);
    }
    choices.extend([pass(100), pass(3_000)]);
    // Without faults of servers, which have tests of their own: on a held link it is up to the kernel whether the news
    // of a dead or frozen server arrives before the next choice. A branch reports such a difference.
    let faults = free
        .outlook
        .faults
        .iter()
        .filter(|fault| !matches!(fault, Fault::FreezeServer { .. } | Fault::KillServer { .. }));
    choices.extend(faults.cloned().map(cause));
    let choice = pick.get(&choices).clone();
    // Every offered choice is accepted.
    free.all([choice]).await;
}

proptest! {
    // Every case starts two labs.
    #![proptest_config(ProptestConfig { max_shrink_iters: 20, ..ProptestConfig::with_cases(12) })]
    #[test]
    fn whatever_was_played_is_had_again(
        leased in any::<bool>(),
        story in 0..3_usize,
        picks in proptest::collection::vec(any::<Index>(), 1..25),
    ) {
        let planned = if leased {
            carried("unlock-someone-elses-lock", "get-compare-del")
        } else {
            planned(STOCK, "unguarded")
        };
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let mut first = after_steps(&planned, story).await;
            first.tell(SessionCommand::LeaveStory);
            first.outlook().await;
            for pick in picks {
                choose_any(&mut first, pick).await;
            }
            repeated(&planned, &first).await;
        });
    }
}
