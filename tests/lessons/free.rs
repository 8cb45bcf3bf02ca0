//! Free play as the screen drives it: the learner chooses which client moves, when time passes and which faults are
//! injected, on real servers.

use std::time::Duration;

use lockstep::{
    lesson::LabKind,
    log::{ActorId, Belief, Choice, Direction, Event, EventKind, Fault, LinkId, Reply, outlook::Blocked},
    run::session::{self, SessionCommand, Update},
    world::World,
};

use crate::{
    free_support::{Free, STOCK, breaches, cause, crash, moves, options, pass},
    scenarios::carried,
    texts::planned,
};

fn is(event: &Event, choice: &Choice) -> bool {
    matches!(&event.kind, EventKind::Chose(chosen) if chosen == choice)
}

#[tokio::test]
async fn the_learner_breaks_the_sale_by_hand_and_every_choice_is_written_down() {
    let mut free = Free::begin(planned(STOCK, "unguarded")).await;
    assert_eq!(free.outlook.able().collect::<Vec<_>>(), [ActorId(0), ActorId(1)]);
    assert_eq!(free.wire(0), "GET stock");
    free.moves([0]).await;
    assert_eq!(free.wire(0), "DECR stock", "what comes next follows from the reply");
    free.moves([1, 0, 1]).await;
    assert_eq!(free.world().counters["sold"], 2, "one item was sold twice");
    assert_eq!(free.outlook.able().count(), 0);
    assert_eq!(free.outlook.actors[0].blocked, Some(Blocked::Finished));
    let why = free.refused(moves(0)).await;
    assert_eq!(why, "A cannot move: its program is over.");
    for choice in [moves(0), moves(1)] {
        assert_eq!(free.log.events().iter().filter(|event| is(event, &choice)).count(), 2);
    }
}

#[tokio::test]
async fn who_cannot_move_says_why() {
    let mut free = Free::begin(carried("setnx-without-expire", "set-nx-px")).await;
    let why = free.refused(Choice::Timer).await;
    assert!(why.starts_with("Nobody waits"), "{why}");
    free.moves([0]).await;
    let waits = free.refused(moves(0)).await;
    assert!(waits.starts_with("A cannot move: it waits until "), "{waits}");
    free.all([Choice::Inject(Fault::Freeze { client: "A".into() })]).await;
    assert_eq!(free.refused(moves(0)).await, "A cannot move: its process is frozen. Thaw it first.");
    free.all([crash("A")]).await;
    assert!(free.refused(moves(0)).await.starts_with("A cannot move: it is dead."));
    let why = free.refused(crash("A")).await;
    assert_eq!(why, "the client `A` is dead already");
    assert_eq!(free.refused(moves(99)).await, "There is no such client.");
}

#[tokio::test]
async fn time_passes_only_when_told() {
    let mut free = Free::begin(carried("setnx-without-expire", "set-nx-px")).await;
    let begun = free.world().now;
    free.moves([0, 1]).await;
    assert_eq!(free.world().now, begun, "a move takes no time");
    // B was refused and retries after a while.
    let timer = free.outlook.timer.expect("somebody waits");
    free.all([Choice::Timer]).await;
    assert!(free.world().now > timer.at && free.world().now.since(timer.at) < Duration::from_millis(3));
    free.all([Choice::Pass { millis: 60_000 }]).await;
    assert!(free.world().now.since(begun) >= Duration::from_mins(1));
    // The lease is over, and the client that waited is ready.
    free.moves([1]).await;
    assert_eq!(free.replies().last(), Some(&Reply::Value("OK".into())));
}

#[tokio::test]
async fn only_faults_that_can_be_caused_are_at_hand_and_each_works() {
    let mut free = Free::begin(planned(STOCK, "unguarded")).await;
    let has = |free: &Free, wanted: &Fault| free.outlook.faults.contains(wanted);
    let link = || LinkId::new("A", "redis");
    let (freeze, thaw) = (Fault::Freeze { client: "A".into() }, Fault::Thaw { client: "A".into() });
    assert!(has(&free, &freeze) && !has(&free, &thaw));
    free.all([Choice::Inject(freeze.clone())]).await;
    assert!(!has(&free, &freeze) && has(&free, &thaw));
    free.all([Choice::Inject(thaw)]).await;
    // A held reply: the server has done what was asked, and no client knows it.
    let hold = Fault::Hold { link: link(), way: Direction::Replies };
    assert!(has(&free, &hold) && !has(&free, &Fault::Release { link: link() }));
    free.all([Choice::Inject(hold)]).await;
    free.moves([0]).await;
    assert_eq!(free.outlook.actors[0].blocked, Some(Blocked::Unanswered));
    assert_eq!(free.refused(moves(0)).await, "A cannot move: `GET stock` has not been answered yet.");
    free.all([Choice::Inject(Fault::Release { link: link() })]).await;
    assert_eq!(free.replies(), [Reply::Value("1".into())], "it comes as soon as it may");
    // A cut link loses the reply, and this program does not handle that.
    free.all([Choice::Inject(Fault::Cut { link: link() })]).await;
    free.moves([0]).await;
    assert_eq!(free.outlook.actors[0].blocked, Some(Blocked::Dead));
    let gave_up = free.log.events().iter().any(|event| matches!(&event.kind, EventKind::GaveUp { why, .. } if why.en.contains("lost") && !why.en.contains("allow")));
    assert!(gave_up);
    // The other client continues, also with a restarted server.
    let server = || "redis".to_owned();
    let kill = Fault::KillServer { server: server() };
    let restart = Fault::RestartServer { server: server() };
    assert!(has(&free, &kill) && !has(&free, &restart));
    free.all([Choice::Inject(kill.clone())]).await;
    assert!(!has(&free, &kill) && has(&free, &restart));
    free.all([Choice::Inject(restart)]).await;
    let skew = Fault::Skew { server: server(), ahead_ms: 30_000 };
    assert!(has(&free, &skew));
    free.all([Choice::Inject(skew.clone())]).await;
    assert!(!has(&free, &skew) && has(&free, &Fault::Skew { server: server(), ahead_ms: 0 }));
}

#[tokio::test]
async fn a_cut_link_tells_of_the_loss_even_where_the_server_is_frozen() {
    let mut free = Free::begin(planned(STOCK, "unguarded")).await;
    let (server, link) = ("redis".to_owned(), LinkId::new("A", "redis"));
    free.all([cause(Fault::FreezeServer { server }), cause(Fault::Cut { link })]).await;
    free.moves([0]).await;
    // The loss belongs to this move, and not to the next choice.
    assert!(matches!(free.replies()[..], [Reply::Lost(_)]), "{:?}", free.replies());
    assert_eq!(free.outlook.actors[0].blocked, Some(Blocked::Dead));
}

#[tokio::test]
async fn free_play_begins_in_the_middle_of_a_story() {
    let mut free = Free::of(session::open(planned(STOCK, "unguarded"), options(), 1));
    for _ in 0..2 {
        free.tell(SessionCommand::Step);
        while !matches!(free.next().await, Update::Stepped { .. }) {}
    }
    free.moves([1, 1]).await;
    assert_eq!(free.wire(0), "DECR stock", "the story moved A.check");
    free.moves([0]).await;
    assert_eq!(free.world().counters["sold"], 2);
    // The story is not resumed.
    free.tell(SessionCommand::Step);
    let before = free.log.len();
    while !matches!(free.next().await, Update::Stepped { ended: false }) {}
    assert_eq!(free.log.len(), before);
}

#[tokio::test]
async fn a_lease_that_ends_in_free_play_lets_another_in() {
    let mut free = Free::begin(carried("unlock-someone-elses-lock", "owner-check")).await;
    free.moves([0]).await;
    free.all([Choice::Inject(Fault::Freeze { client: "A".into() }), Choice::Pass { millis: 3_000 }]).await;
    free.moves([1]).await;
    let holding = |world: &World, n: usize| {
        let belief = world.actors[n].beliefs.get("lock").copied();
        belief == Some(Belief::Holding)
    };
    let world = free.world();
    assert!(holding(&world, 0) && holding(&world, 1), "no script cures a frozen holder");
    assert_eq!(world.holding.overlaps().len(), 1);
}

#[tokio::test]
async fn zookeeper_and_sentinel_are_played_too() {
    let mut free = Free::begin(carried("zk-herd", "predecessor")).await;
    let able = free.outlook.able().count();
    assert!(able > 1, "{able}");
    free.moves([0, 1, 0, 1]).await;
    let mut free = Free::begin(carried("failover", "replication-lag")).await;
    assert!(
        free.outlook
            .faults
            .iter()
            .any(|fault| matches!(fault, Fault::KillServer { server } if server == "node1"))
    );
    assert!(
        free.outlook
            .faults
            .iter()
            .any(|fault| matches!(fault, Fault::Cut { link } if *link == LinkId::new("node1", "node2"))),
        "{:?}",
        free.outlook.faults
    );
    free.moves([0]).await;
    assert_eq!(LabKind::Sentinel.servers()[0], "node1");
}

/// Plays a variant freely and returns its breaches.
async fn played(
    lesson: &str,
    variant: &str,
    choices: impl IntoIterator<Item = Choice>,
) -> Vec<(usize, String)> {
    let mut free = Free::begin(carried(lesson, variant)).await;
    free.all(choices).await;
    breaches(&free.log)
}

/// Writes the file that the picture of free play is drawn from: the events, one per line, and the outlook on the last
/// line.
fn record_for_the_picture(free: &Free) {
    let mut text = String::new();
    for event in free.log.events() {
        text += &(serde_json::to_string(event).expect("JSON") + "\n");
    }
    text += &(serde_json::to_string(&free.outlook).expect("JSON") + "\n");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/screens/free-play.jsonl");
    std::fs::write(file, text).expect("written");
}

#[tokio::test]
async fn a_client_that_finds_no_master_ends_and_the_play_goes_on() {
    let mut free = Free::begin(carried("failover", "replication-lag")).await;
    let cut = |sentinel: &str| cause(Fault::Cut { link: LinkId::new("A", sentinel) });
    free.all(["sentinel1", "sentinel2", "sentinel3"].map(cut)).await;
    free.moves([0, 1]).await;
    assert_eq!(free.outlook.actors[0].blocked, Some(Blocked::Dead));
    assert_eq!(free.replies().last(), Some(&Reply::Value("OK".into())), "B's");
}

// **Each of the core six can be broken by hand.** All choices are available to a learner on the screen.

#[tokio::test]
async fn by_hand_more_is_sold_than_there_is() {
    let broken = played("oversell", "check-then-decrement", [0, 1, 0, 1].map(moves)).await;
    assert_eq!(
        broken,
        [(
            0,
            "A's DECR stock came between B's GET stock and B's DECR stock: B acted on a stale value."
                .to_owned()
        )]
    );
    // The fixed variant sells once, whichever client is first.
    let kept = played("oversell", "atomic-script", [0, 1].map(moves)).await;
    assert_eq!(kept, []);
}

#[tokio::test]
async fn by_hand_a_lock_is_left_that_nobody_can_take() {
    let broken = played("setnx-without-expire", "two-commands", [moves(0), crash("A")]).await;
    assert!(
        broken[0].0 == 0 && broken[0].1.contains("A was killed between its SETNX lock and the PEXPIRE"),
        "{broken:?}"
    );
    let kept = played("setnx-without-expire", "set-nx-px", [moves(0), crash("A"), pass(60_000)]).await;
    assert_eq!(kept, []);
}

#[tokio::test]
async fn by_hand_somebody_elses_lock_is_deleted() {
    let mut free = Free::begin(carried("unlock-someone-elses-lock", "blind-del")).await;
    free.all([moves(0), pass(3_000), moves(1), Choice::Timer, moves(0)]).await;
    if std::env::var_os("LOCKSTEP_RECORD").is_some() {
        record_for_the_picture(&free);
    }
    let broken = breaches(&free.log);
    let invariants: Vec<usize> = broken.iter().map(|(n, _)| *n).collect();
    assert_eq!(invariants, [0, 1], "{broken:?}");
    let freeze = |client: &str| cause(Fault::Freeze { client: client.into() });
    let thaw = |client: &str| cause(Fault::Thaw { client: client.into() });
    // The check is right, but the lease ends before the operation that relies on it.
    let between =
        [moves(0), Choice::Timer, moves(0), freeze("A"), pass(3_000), moves(1), thaw("A"), moves(0)];
    let broken = played("unlock-someone-elses-lock", "get-compare-del", between.clone()).await;
    assert!(broken.iter().any(|(n, _)| *n == 1), "{broken:?}");
    // One script leaves no room in between.
    let paused = [moves(0), Choice::Timer, freeze("A"), pass(3_000), moves(1), thaw("A"), moves(0)];
    let kept = played("unlock-someone-elses-lock", "owner-check", paused).await;
    assert!(kept.iter().all(|(n, _)| *n != 1), "{kept:?}");
}

#[tokio::test]
async fn by_hand_a_lease_ends_before_the_work() {
    let broken = played("watchdog", "no-renewal", [moves(0), pass(30_000), moves(1)]).await;
    assert!(broken[0].0 == 0 && broken[0].1.contains("A's lease ended"), "{broken:?}");
}

#[tokio::test]
async fn by_hand_a_failover_loses_a_lock() {
    let mut free = Free::begin(carried("failover", "replication-lag")).await;
    let hold = |replica: &str| {
        let link = LinkId::new(replica, "node1");
        cause(Fault::Hold { link, way: Direction::Both })
    };
    let kill = cause(Fault::KillServer { server: "node1".into() });
    free.all([hold("node2"), hold("node3"), moves(0), kill]).await;
    // The client finds the new master once there is one.
    free.all([moves(1)]).await;
    let broken = breaches(&free.log);
    assert!(broken[0].0 == 0 && broken[0].1.contains("node1 was killed"), "{broken:?}");
}

#[tokio::test]
async fn by_hand_a_release_wakes_a_herd() {
    for (variant, herd) in [("herd", true), ("predecessor", false)] {
        let mut free = Free::begin(carried("zk-herd", variant)).await;
        // A gets the lock; B and the first of the crowd wait for it.
        for actor in [0, 1, 2] {
            while free.outlook.actors[actor].blocked.is_none()
                && free.wire(actor).split(' ').next() != Some("delete")
            {
                free.moves([u32::try_from(actor).expect("few")]).await;
            }
        }
        assert!(free.wire(0).starts_with("delete "), "{}", free.wire(0));
        free.moves([0]).await;
        let broken = breaches(&free.log);
        assert_eq!(broken.iter().any(|(n, _)| *n == 0), herd, "{variant}: {broken:?}");
    }
}

#[tokio::test]
async fn a_loss_of_power_takes_what_was_written_within_the_second() {
    let text = STOCK
        .replace("lab: redis\n", "lab: redis\nsettings: { appendonly: everysec }\n")
        .replace("GET stock", "INCR stock");
    let mut free = Free::begin(planned(&text, "unguarded")).await;
    let power = Fault::LosePower { server: "redis".to_owned() };
    assert!(free.outlook.faults.contains(&power));
    // Time stands still between the choices: what A wrote before the pass is on the disk, and what B wrote after it is
    // not.
    free.all([moves(0), pass(3_000), moves(1), cause(power)]).await;
    free.all([cause(Fault::RestartServer { server: "redis".to_owned() }), moves(0)]).await;
    let replies: Vec<Reply> = [2, 3, 1].map(|number| Reply::Value(number.into())).into();
    assert_eq!(free.replies(), replies);
}
