//! User programs as clients: each of their requests is a move, their waits pass with the lesson, and faults affect them
//! as any client. The programs here are shell scripts, so that nothing has to be installed for them.

use lockstep::{
    lesson::Speaks,
    log::{Belief, Choice, EventKind, Fault, LinkId, Observed, Reply, outlook::Blocked},
    recording::{self, AttachedPrograms},
    run::{attach, race::Outcome, session},
    text::Text,
};

use crate::{
    free_support::{Free, breaches, cause, crash, options, pass},
    place::{Answer, Place},
};

/// A request and its reply in a script. Replies of one line are enough.
const ASK: &str = r#"
exec 3<>"/dev/tcp/$REDIS_HOST/$REDIS_PORT"
ask() { printf '%s\r\n' "$*" >&3; IFS= read -r reply <&3; reply=${reply%$'\r'}; }
"#;

/// Takes a lock for 3 s, works for 4 s, and deletes the lock without checking the owner.
const WORKER: &str = r#"
ask PING
while ask SET lock "$LOCKSTEP_CLIENT" NX PX 3000; [ "$reply" != +OK ]; do
    echo WAITS lock
    sleep 1
done
echo HOLDS lock
sleep 4
ask DEL lock
echo DROPS lock
echo deleted "$reply"
"#;

fn script(text: &str) -> Vec<String> {
    ["bash", "-c", &format!("{ASK}{text}")].map(str::to_owned).to_vec()
}

/// Attached programs with a lock for one holder.
fn of(programs: &[Vec<String>], lock: Option<&str>, server: Speaks) -> AttachedPrograms {
    AttachedPrograms {
        server,
        servers: 1,
        lock: lock.map(str::to_owned),
        holders: 1,
        passes: Vec::new(),
        commands: programs.to_vec(),
    }
}

async fn attached(scripts: &[&str]) -> Free {
    attached_to(1, scripts).await
}

async fn attached_to(servers: u8, scripts: &[&str]) -> Free {
    let programs: Vec<_> = scripts.iter().map(|text| script(text)).collect();
    let programs = AttachedPrograms { servers, ..of(&programs, Some("lock"), Speaks::Redis) };
    let scenario = attach::scenario(&programs).expect("a scenario");
    let mut free = Free::of(session::open(scenario, options(), 1));
    free.tell(session::SessionCommand::LeaveStory);
    free.outlook().await;
    free
}

#[tokio::test]
async fn a_belief_counts_however_much_a_program_prints() {
    let script = r#"
ask INCR n
seq 200
echo HOLDS lock
echo WAITS other
ask INCR n
echo "12:00:00 INFO DROPS lock"
echo "HOLDS lock token=1"
echo "nobody HOLDS the lock"
"#;
    let mut free = attached(&[script]).await;
    free.moves([0]).await;
    assert_eq!(believes(&free, 0), Some(Belief::Holding));
    assert_eq!(free.world().actors[0].beliefs.get("other"), Some(&Belief::Waiting));
    assert_eq!(said(&free).last().map(String::as_str), Some("(150 more lines)"));
    free.moves([0]).await;
    assert_eq!(believes(&free, 0), None, "what a logger puts before it is no matter");
    let said = said(&free);
    let hints = said.iter().filter(|line| line.contains("that is no belief"));
    assert_eq!(hints.count(), 1, "it is said once: {said:?}");
    let chinese = free.log.events().iter().filter_map(|event| match &event.kind {
        EventKind::Said { zh: Some(zh), .. } => Some(zh.as_str()),
        _ => None,
    });
    let hint = chinese.filter(|line| line.contains("`HOLDS 锁名`"));
    assert_eq!(hint.count(), 1, "and in Chinese, too");
}

/// Sends a request to three servers at once, each over a connection of its own, and waits for two replies.
const QUORUM: &str = r#"
url() { url=${1#redis://}; url=${url%/0}; }
IFS=, read -ra urls <<<"$REDIS_URLS"
url "${urls[0]}"; exec 4<>"/dev/tcp/${url%:*}/${url#*:}"
url "${urls[1]}"; exec 5<>"/dev/tcp/${url%:*}/${url#*:}"
exec 6<>"/dev/tcp/$REDIS_HOST_3/$REDIS_PORT_3"
for to in 6 5 4; do printf 'SET lock %s NX\r\n' "$LOCKSTEP_CLIENT" >&$to; done
IFS= read -r one <&4; IFS= read -r two <&6
echo HOLDS lock
sleep 2
printf 'DEL lock\r\n' >&4; IFS= read -r one <&4
echo DROPS lock
"#;

#[tokio::test]
async fn a_program_has_several_servers_and_what_one_of_them_keeps_from_it_stops_no_other() {
    let mut free = attached_to(3, &[QUORUM]).await;
    let next = |free: &Free| free.outlook.actors[0].next.as_ref().map(|next| next.server.clone());
    assert_eq!(next(&free).as_deref(), Some("redis1"), "however they were sent, they come by their servers");
    free.moves([0]).await;
    assert_eq!(next(&free).as_deref(), Some("redis2"));
    free.all([cause(Fault::FreezeServer { server: "redis2".into() })]).await;
    free.moves([0]).await;
    assert_eq!((free.wire(0), next(&free).as_deref()), ("SET lock A NX", Some("redis3")));
    assert_eq!(free.replies().len(), 1, "the second server is frozen");
    free.moves([0]).await;
    assert_eq!(believes(&free, 0), Some(Belief::Holding), "two are a majority");
    assert_eq!(free.world().actors[0].in_flight.len(), 1);
    free.all([Choice::Timer]).await;
    assert_eq!(free.wire(0), "DEL lock");
    free.moves([0]).await;
    assert_eq!((believes(&free, 0), free.outlook.actors[0].blocked), (None, Some(Blocked::Finished)));
    let lost = free.replies().iter().filter(|reply| matches!(reply, Reply::Lost(_))).count();
    assert_eq!((free.replies().len(), lost), (4, 1), "it has ended without waiting for that reply");
}

#[tokio::test]
async fn a_run_with_several_servers_is_kept_with_their_number() {
    let programs = AttachedPrograms { servers: 3, ..of(&[script(QUORUM)], None, Speaks::Redis) };
    let scenario = attach::scenario(&programs).expect("a scenario");
    let mut free = Free::of(session::open(scenario.clone(), options(), 1));
    free.tell(session::SessionCommand::LeaveStory);
    free.outlook().await;
    free.moves([0, 0, 0]).await;
    let place = Place::new();
    recording::write(&place.path().join("kept.jsonl.gz"), &scenario, &free.log).expect("it is written");
    let value = place.run(&["eval", "kept.jsonl.gz", "value('lock', 'redis3')"]);
    assert_eq!(value.out.lines().next(), Some("'A'"), "{}", value.err);
    let exported = place.run(&["export", "kept.jsonl.gz", "--output", "kept.svg"]);
    assert_eq!(exported.code, Some(0), "{}", exported.err);
    place.assert_nothing_left();
}

#[tokio::test]
async fn whoever_uses_another_database_is_told_once_that_it_is_not_shown() {
    let mut free = attached(&["ask SELECT 0; ask SELECT 1; ask SELECT 2; ask SET lock A; sleep 1"]).await;
    assert_eq!(free.wire(0), "SET lock A", "selecting passes by itself");
    let told = said(&free);
    assert!(told.len() == 1 && told[0].contains("uses database 1"), "{told:?}");
    free.moves([0]).await;
    assert_eq!(free.replies(), [Reply::Value("OK".into())]);
}

#[tokio::test]
async fn what_the_user_lets_pass_is_no_move() {
    let text = script("ask PING; ask GET other; ask SET lock A; sleep 1");
    let programs =
        AttachedPrograms { passes: vec!["GET".to_owned()], ..of(&[text], Some("lock"), Speaks::Redis) };
    let scenario = attach::scenario(&programs).expect("a scenario");
    let mut free = Free::of(session::open(scenario, options(), 1));
    free.tell(session::SessionCommand::LeaveStory);
    free.outlook().await;
    assert_eq!(free.wire(0), "SET lock A");
    let place = Place::new();
    let unknown = place.run(&["attach", "redis", "--passes", "GET,HGETAL", "--", "sleep", "1"]);
    assert_eq!(unknown.code, Some(2), "{}", unknown.err);
    assert!(unknown.err.contains("did you mean `HGETALL`"), "{}", unknown.err);
    place.assert_nothing_left();
}

#[tokio::test]
async fn an_error_to_a_request_that_passes_by_itself_is_told_once() {
    let free =
        attached(&["ask AUTH me secret; ask AUTH me secret; ask CLIENT NONSENSE; ask SET lock A; sleep 1"])
            .await;
    assert_eq!(free.wire(0), "SET lock A");
    let told = said(&free);
    assert!(
        told.len() == 1 && told[0].contains("redis refused this program's AUTH: (WRONGPASS)"),
        "{told:?}"
    );
    assert!(!told[0].contains("secret"), "{told:?}");
}

#[tokio::test]
async fn who_has_never_connected_is_known() {
    let elsewhere = ["bash", "-c", "sleep 5; echo slept"].map(str::to_owned).to_vec();
    let programs = of(&[elsewhere, script(WORKER)], Some("lock"), Speaks::Redis);
    let scenario = attach::scenario(&programs).expect("a scenario");
    let mut free = Free::of(session::open(scenario, options(), 1));
    free.tell(session::SessionCommand::LeaveStory);
    free.outlook().await;
    let alone: Vec<bool> = free.outlook.actors.iter().map(|actor| actor.unconnected).collect();
    assert_eq!(alone, [true, false]);
    assert!(matches!(free.outlook.actors[0].blocked, Some(Blocked::Waits { .. })));
}

#[tokio::test]
async fn the_end_of_a_command_that_blocks_in_its_server_is_told_from_a_timer_of_the_program() {
    let mut free = attached(&["ask BLPOP q 3; echo got; sleep 5; ask PING"]).await;
    free.moves([0]).await;
    let timer = free.outlook.timer.expect("the server ends it");
    assert!(timer.in_server, "{timer:?}");
    free.all([Choice::Timer]).await;
    assert_eq!(said(&free), ["got"]);
    assert!(!free.outlook.timer.expect("it sleeps").in_server);
}

/// As libev does (gevent's loop): it polls until the clock is past the end of a timer of 0 s.
#[tokio::test]
async fn a_loop_that_polls_until_the_clock_moves_comes_to_rest_though_time_stands() {
    let polls = "import os, select, time
files = os.pipe()
epoll, polled = select.epoll(), select.poll()
waits = {
    'select': lambda: select.select(files[:1], [], [], 0),
    'poll': lambda: polled.poll(0),
    'epoll': lambda: epoll.poll(0),
}
epoll.register(files[0])
polled.register(files[0], select.POLLIN)
for name, wait in waits.items():
    end = time.monotonic()
    while time.monotonic() <= end:
        wait()
    print(name, flush=True)
end = time.monotonic()
assert time.monotonic() == end, 'time stands for whoever only looks'
time.sleep(5)
";
    let program = ["python3", "-S", "-c", polls].map(str::to_owned).to_vec();
    let scenario = attach::scenario(&of(&[program], Some("lock"), Speaks::Redis)).expect("a scenario");
    let mut free = Free::of(session::open(scenario, options(), 1));
    free.tell(session::SessionCommand::LeaveStory);
    free.outlook().await;
    assert_eq!(said(&free), ["select", "poll", "epoll"]);
    let Some(Blocked::Waits { until }) = free.outlook.actors[0].blocked else {
        panic!("{:?}", free.outlook.actors[0])
    };
    assert_eq!(until.as_millis() / 1000, 5, "the polls have moved the clock by less than a millisecond");
}

#[tokio::test]
async fn with_a_name_nothing_is_said_of_any_other_lock() {
    let script = "ask GET other\necho HOLDS other\nask GET lock\necho HOLDS lock\nsleep 9\n";
    let mut free = attached(&[script, script]).await;
    free.moves([0, 1]).await;
    assert_eq!((breaches(&free.log).len(), free.world().holding.worst()), (0, None));
    free.moves([0, 1]).await;
    assert_eq!(breaches(&free.log).len(), 1);
    assert_eq!(free.world().holding.worst().map(|excess| excess.holders), Some(2));
}

#[test]
fn who_is_alone_is_not_challenged_to_break_a_lock() {
    for (clients, lock, is_challenged) in
        [(1, None, false), (1, Some("lock"), false), (2, None, true), (2, Some("lock"), true)]
    {
        let programs = vec![vec!["true".to_owned()]; clients];
        let scenario = attach::scenario(&of(&programs, lock, Speaks::Redis)).expect("a scenario");
        assert_eq!(!scenario.invariants[0].goal.en.is_empty(), is_challenged, "{clients} {lock:?}");
    }
}

#[tokio::test]
async fn of_many_beliefs_each_counts_and_of_too_many_that_is_said() {
    let script = r"
ask INCR n
seq 60
for n in $(seq 120); do echo HOLDS lock$n; done
for n in $(seq 120); do echo DROPS lock$n; done
ask INCR n
seq 60
for n in $(seq 900); do echo HOLDS many$n; done
ask INCR n
";
    let mut free = attached(&[script]).await;
    free.moves([0]).await;
    let told = |free: &Free, name: &str| {
        let of =
            |kind: &EventKind| matches!(kind, EventKind::Believes { lock, .. } if lock.starts_with(name));
        free.log.events().iter().filter(|event| of(&event.kind)).count()
    };
    // Between the two beliefs another program may have come to hold the lock.
    assert_eq!(told(&free, "lock"), 240);
    assert!(!said(&free).iter().any(|line| line.contains("Lockstep")), "{:?}", said(&free));
    free.moves([0]).await;
    assert_eq!(told(&free, "many"), 700);
    let said = said(&free);
    assert!(said.iter().any(|line| line.contains("400 lines about locks were too many")), "{said:?}");
    assert!(said.iter().any(|line| line.contains("200 lines about still more locks")), "{said:?}");
}

#[tokio::test]
async fn who_has_ended_holds_nothing_whatever_it_said() {
    let ends = "ask SET lock A\necho HOLDS lock\nsleep 1\n";
    let takes = "ask GET lock\necho HOLDS lock\nsleep 9\n";
    let mut free = attached(&[ends, takes]).await;
    free.moves([0]).await;
    assert_eq!(believes(&free, 0), Some(Belief::Holding));
    free.choose(pass(1_000)).await;
    assert_eq!(free.outlook.actors[0].blocked, Some(Blocked::Finished));
    assert_eq!(believes(&free, 0), None);
    free.moves([1]).await;
    assert_eq!((believes(&free, 1), breaches(&free.log)), (Some(Belief::Holding), vec![]));
}

#[tokio::test]
async fn a_key_whose_name_is_no_text_is_looked_at_like_any_other() {
    let script = r"
printf '*3\r\n$3\r\nSET\r\n$6\r\n\xac\xedlock\r\n$1\r\n1\r\n' >&3
IFS= read -r reply <&3
ask GET other
";
    let mut free = attached(&[script]).await;
    free.moves([0, 0]).await;
    let world = free.world();
    let Some(Observed::Redis(seen)) = &world.servers[0].observed else { panic!("it was looked at") };
    assert_eq!(seen.keys.keys().collect::<Vec<_>>(), [r"\xac\xedlock"]);
}

#[tokio::test]
async fn without_a_name_every_lock_that_was_held_is_told_by_its_own() {
    let own = WORKER.replace("lock", "orders");
    let scenario = attach::scenario(&of(&[script(&own)], None, Speaks::Redis)).expect("a scenario");
    let mut free = Free::of(session::open(scenario.clone(), options(), 1));
    free.tell(session::SessionCommand::LeaveStory);
    free.outlook().await;
    assert_eq!(Outcome::of(&scenario, &free.log).to_string(), "… never held, 1 unfinished");
    free.moves([0]).await;
    assert_eq!(Outcome::of(&scenario, &free.log).to_string(), "orders held, 1 unfinished");
}

/// A request and its reply in a script that speaks ZooKeeper's protocol, in hexadecimal.
const ZOOKEEPER_ASK: &str = r#"
exec 3<>"/dev/tcp/${ZOOKEEPER%:*}/${ZOOKEEPER#*:}"
send() { printf "$(sed 's/../\\x&/g' <<<"$1")" >&3; }
receive() { head -c $(head -c 4 <&3 | od -An -tu4 --endian=big) <&3 >/dev/null; }
zeros() { printf '0%.0s' $(seq $1); }
# Protocol 0, nothing seen, 6 s, no session, an empty password.
connect() { send "0000002c00000000$(zeros 16)00001770$(zeros 16)00000010$(zeros 32)"; receive; }
"#;

async fn attached_to_zookeeper(script: &str) -> Free {
    let text = ["bash", "-c", &format!("{ZOOKEEPER_ASK}{script}")].map(str::to_owned).to_vec();
    let scenario = attach::scenario(&of(&[text], Some("lock"), Speaks::Zookeeper)).expect("a scenario");
    let mut free = Free::of(session::open(scenario, options(), 1));
    free.tell(session::SessionCommand::LeaveStory);
    free.outlook().await;
    free
}

#[tokio::test]
async fn requests_of_zookeepers_protocol_are_moves_too() {
    // An ephemeral, sequential node `/a` with the data `me`, open to the world; then an `exists` with a watch; then the
    // end.
    let acl = "000000010000001f00000005776f726c6400000006616e796f6e65";
    let create = format!("send 000000330000000100000001000000022f61000000026d65{acl}00000003; receive");
    let exists = "send 0000000f0000000200000003000000022f6101; receive";
    let ping = "send 00000008fffffffe0000000b; receive";
    let close = "send 0000000800000003fffffff5; receive";
    let script = format!("connect; {ping}\n{create}\n{exists}\n{close}\necho over");
    let mut free = attached_to_zookeeper(&script).await;
    assert_eq!(free.wire(0), "create -e -s /a me", "connecting and the ping have passed by themselves");
    let sessions = free.log.events().iter().filter(|event| matches!(event.kind, EventKind::Session { .. }));
    assert_eq!(sessions.count(), 1);
    free.moves([0]).await;
    assert_eq!(free.replies(), [Reply::Value("/a0000000000".into())]);
    assert_eq!(free.wire(0), "exists -w /a");
    free.moves([0]).await;
    assert_eq!(
        free.replies()[1],
        Reply::Value(serde_json::Value::Null),
        "there is no node of that very name"
    );
    assert_eq!(free.wire(0), "close");
    free.moves([0]).await;
    assert_eq!(said(&free), ["over"]);
}

#[tokio::test]
async fn a_ping_is_answered_while_a_request_waits_for_its_turn() {
    // An `exists`, and a ping after it; whose reply comes first is told by its number.
    let number =
        "head -c 4 <&3 >/dev/null; head -c 4 <&3 | od -An -td4 --endian=big; head -c 12 <&3 >/dev/null";
    let script = format!(
        "connect; send 0000000f0000000200000003000000022f6100; send 00000008fffffffe0000000b\n{number}\n{number}\nsleep 1000"
    );
    let mut free = attached_to_zookeeper(&script).await;
    assert_eq!(free.wire(0), "exists /a");
    free.moves([0]).await;
    let said: Vec<_> = said(&free).iter().map(|line| line.trim().to_owned()).collect();
    assert_eq!(said.first().map(String::as_str), Some("-2"), "the reply to the ping came first: {said:?}");
    assert_eq!(
        free.replies(),
        [Reply::Value(serde_json::Value::Null)],
        "and the request still has its reply"
    );
}

#[tokio::test]
async fn what_is_no_request_of_zookeepers_protocol_closes_its_connection() {
    for (sent, why) in
        [("ruok", "no request of ZooKeeper's protocol"), (r"\x16\x03\x01\x02", "it speaks TLS")]
    {
        let free = attached_to_zookeeper(&format!("printf '{sent}' >&3; head -c 1 <&3; echo closed")).await;
        let said = said(&free);
        assert!(said.iter().any(|line| line.contains(why)), "{why}: {said:?}");
        assert!(said.iter().any(|line| line == "closed"), "{said:?}");
    }
}

fn believes(free: &Free, actor: usize) -> Option<Belief> {
    free.world().actors[actor].beliefs.get("lock").copied()
}

fn said(free: &Free) -> Vec<String> {
    let said = free.log.events().iter().filter_map(|event| match &event.kind {
        EventKind::Said { text, .. } => Some(text.clone()),
        _ => None,
    });
    said.collect()
}

#[tokio::test]
async fn each_request_of_a_program_is_a_move_and_its_sleeps_pass_with_the_lesson() {
    let mut free = attached(&[WORKER]).await;
    assert_eq!(free.wire(0), "SET lock A NX PX 3000", "the PING has passed by itself");
    assert_eq!(believes(&free, 0), None);
    free.moves([0]).await;
    assert_eq!(free.replies(), [Reply::Value("OK".into())]);
    assert_eq!(believes(&free, 0), Some(Belief::Holding), "it is known when the move is over");
    let began = free.world().now;
    let timer = free.outlook.timer.expect("it sleeps");
    assert_eq!(timer.at.since(began).as_millis().div_ceil(100), 40, "for 4 s of the lesson: {timer:?}");
    assert!(matches!(free.outlook.actors[0].blocked, Some(Blocked::Waits { .. })));
    free.all([pass(1_000)]).await;
    assert_eq!(free.outlook.timer.map(|timer| timer.at), Some(timer.at), "3 s are left");
    free.all([Choice::Timer]).await;
    assert_eq!(free.wire(0), "DEL lock");
    free.moves([0]).await;
    assert_eq!(free.replies().last(), Some(&Reply::Value(0.into())), "its lease was over");
    assert_eq!(believes(&free, 0), None, "it has dropped it");
    assert_eq!(said(&free), ["deleted :0"]);
    assert_eq!(free.outlook.actors[0].blocked, Some(Blocked::Finished));
}

#[tokio::test]
async fn two_programs_hold_a_lock_whose_lease_is_over() {
    let mut free = attached(&[WORKER, WORKER]).await;
    free.moves([0, 1]).await;
    assert_eq!(free.replies(), [Reply::Value("OK".into()), Reply::Value(serde_json::Value::Null)]);
    assert_eq!(believes(&free, 1), Some(Belief::Waiting));
    free.all([pass(3_000)]).await;
    free.moves([1]).await;
    assert_eq!([0, 1].map(|actor| believes(&free, actor)), [Some(Belief::Holding); 2]);
    assert_eq!(breaches(&free.log).len(), 1, "and that is told");
}

/// The number of breaches when three programs only print that they hold a lock: how, and which.
async fn holders(says: [&str; 3], holders: usize) -> usize {
    let commands: Vec<_> = says.iter().map(|says| script(&format!("echo {says} book; sleep 1"))).collect();
    let programs = AttachedPrograms {
        server: Speaks::Redis,
        servers: 1,
        lock: None,
        holders,
        passes: Vec::new(),
        commands,
    };
    let mut free = Free::of(session::open(attach::scenario(&programs).expect("a scenario"), options(), 1));
    free.tell(session::SessionCommand::LeaveStory);
    free.outlook().await;
    free.all([pass(100)]).await;
    breaches(&free.log).len()
}

#[tokio::test]
async fn readers_share_a_lock_and_a_semaphore_has_so_many_holders() {
    assert_eq!(holders(["SHARES", "SHARES", "SHARES"], 1).await, 0);
    assert_eq!(holders(["SHARES", "SHARES", "HOLDS"], 1).await, 1);
    assert_eq!(holders(["HOLDS", "HOLDS", "DROPS"], 2).await, 0);
    assert_eq!(holders(["HOLDS", "HOLDS", "HOLDS"], 2).await, 1);
}

#[tokio::test]
async fn what_a_program_prints_behind_a_reply_that_another_brought_about_comes_after_it() {
    let waits = r"
        printf 'BLPOP list 0
' >&3
        for _ in 1 2 3 4 5; do IFS= read -r reply <&3; done
        echo HOLDS lock
        ask GET lock";
    let mut free = attached(&[waits, "echo HOLDS lock; ask RPUSH list it; echo DROPS lock"]).await;
    free.moves([0, 1]).await;
    let told = free.log.events().iter().filter_map(|event| match &event.kind {
        EventKind::Replied { actor, .. } => Some((actor.0, "replied")),
        EventKind::Believes { actor, .. } => Some((actor.0, "believes")),
        _ => None,
    });
    let behind = [(1, "believes"), (1, "replied"), (1, "believes"), (0, "replied"), (0, "believes")];
    assert_eq!(told.collect::<Vec<_>>(), behind);
    assert_eq!(breaches(&free.log), []);
    assert_eq!(free.wire(0), "GET lock");
}

#[tokio::test]
async fn a_frozen_program_does_nothing_and_goes_on_where_it_stood() {
    let mut free = attached(&[WORKER, WORKER]).await;
    free.moves([0]).await;
    free.all([cause(Fault::Freeze { client: "A".into() }), pass(5_000)]).await;
    assert_eq!(free.outlook.actors[0].blocked, Some(Blocked::Frozen));
    free.moves([1]).await;
    free.all([cause(Fault::Thaw { client: "A".into() })]).await;
    assert_eq!(free.wire(0), "DEL lock", "its sleep was over before it ran again");
    free.moves([0]).await;
    assert_eq!(free.replies().last(), Some(&Reply::Value(1.into())), "it deletes the lock of B");
    free.all([crash("B")]).await;
    assert_eq!(free.outlook.actors[1].blocked, Some(Blocked::Dead));
}

#[tokio::test]
async fn a_lost_reply_is_lost_to_the_program() {
    let mut free = attached(&["ask SET lock A NX\necho got \"$reply\"\nexit 1"]).await;
    let link = || LinkId::new("A", "redis");
    free.all([cause(Fault::Hold { link: link(), way: lockstep::log::Direction::Replies })]).await;
    free.moves([0]).await;
    assert_eq!(free.outlook.actors[0].blocked, Some(Blocked::Unanswered));
    free.all([cause(Fault::Drop { link: link() })]).await;
    assert!(matches!(free.replies()[..], [Reply::Lost(_)]), "{:?}", free.replies());
    assert_eq!(said(&free)[0], "got", "its connection is closed");
    assert_eq!(free.outlook.actors[0].blocked, Some(Blocked::Dead), "and it gives up");
}

#[tokio::test]
async fn a_transaction_is_its_commands_in_their_order() {
    let pipeline = r"printf 'MULTI\r\nSET n 1\r\nINCR n\r\nEXEC\r\n' >&3; sleep 1";
    let mut free = attached(&[pipeline]).await;
    let mut wires = Vec::new();
    for _ in 0..4 {
        wires.push(free.wire(0).to_owned());
        free.moves([0]).await;
    }
    assert_eq!(wires, ["MULTI", "SET n 1", "INCR n", "EXEC"]);
    let expected = ["OK".into(), "QUEUED".into(), "QUEUED".into(), serde_json::json!(["OK", 2])];
    assert_eq!(free.replies(), expected.map(Reply::Value));
}

#[tokio::test]
async fn what_is_no_request_closes_its_connection_and_hurts_nobody_else() {
    let tls = r"printf '\026\003\001\002' >&3; IFS= read -r reply <&3; echo got ${reply%% *}";
    let garbage = r"printf '\001\002\n' >&3; read -r reply <&3";
    let silent = r"printf 'CLIENT REPLY OFF\r\n' >&3; read -r reply <&3";
    let huge = r"printf '*2\r\n$3\r\nGET\r\n$104857600\r\nxx' >&3; read -r reply <&3";
    let pauses = r"printf 'CLIENT PAUSE 5000\r\n' >&3; read -r reply <&3";
    let listens = r"printf 'CONFIG SET hz 20 port 7777\r\n' >&3; read -r reply <&3";
    let mut free = attached(&[tls, garbage, huge, silent, pauses, listens, WORKER]).await;
    let said = said(&free);
    for why in [
        "it speaks TLS",
        "no request of Redis' protocol",
        "more than 1 MiB",
        "CLIENT REPLY",
        "CLIENT PAUSE … WRITE",
        "CONFIG SET port",
    ] {
        assert_eq!(said.iter().filter(|line| line.contains(why)).count(), 1, "{why}: {said:?}");
    }
    assert!(said.iter().any(|line| line == "got -ERR"), "the program is told, too: {said:?}");
    assert_eq!(free.outlook.actors[..6].iter().filter(|actor| actor.blocked.is_none()).count(), 0);
    free.moves([6]).await;
    assert_eq!(free.replies(), [Reply::Value("OK".into())]);
}

#[tokio::test]
async fn what_acts_on_the_connections_of_others_is_a_move() {
    let script = r"
ask CLIENT SETNAME me
ask CLIENT MAINT_NOTIFICATIONS ON
ask CLIENT PAUSE 5000 WRITE
ask CLIENT UNPAUSE
ask CLIENT KILL TYPE pubsub
ask SET lock me
";
    let mut free = attached(&[script]).await;
    let mut wires = Vec::new();
    for _ in 0..4 {
        wires.push(free.wire(0).to_owned());
        free.moves([0]).await;
    }
    assert_eq!(
        wires,
        ["CLIENT PAUSE 5000 WRITE", "CLIENT UNPAUSE", "CLIENT KILL TYPE pubsub", "SET lock me"]
    );
    assert_eq!(free.replies().last(), Some(&Reply::Value("OK".into())));
}

#[tokio::test]
async fn a_script_that_the_server_does_not_know_yet_is_one_move() {
    let hash = "e".repeat(40);
    let knows = format!("ask EVALSHA {hash} 0; ask EVAL 'return(7)' 0; echo got $reply");
    let gives_up = format!("ask EVALSHA {hash} 0; echo got $reply; sleep 1");
    let mut free = attached(&[&knows, &gives_up]).await;
    assert_eq!(free.wire(0), "EVAL eeeeeeee… 0");
    free.moves([0]).await;
    assert_eq!(free.replies(), [Reply::Value(7.into())]);
    assert_eq!(said(&free), ["got :7"]);
    free.moves([1]).await;
    assert!(matches!(&free.replies()[1], Reply::Error { code, .. } if code == "NOSCRIPT"));
}

#[tokio::test]
async fn a_program_that_never_reads_keeps_only_itself_waiting() {
    let never_reads = r"printf 'SETRANGE big 9999999 x\r\n%s' \
        $'GET big\r\nGET big\r\nGET big\r\nGET big\r\n' >&3; sleep 1000";
    let mut free = attached(&[never_reads, WORKER]).await;
    for _ in 0..5 {
        if free.outlook.actors[0].blocked.is_none() {
            free.moves([0]).await;
        }
    }
    assert_eq!(
        free.outlook.actors[0].blocked,
        Some(Blocked::Unanswered),
        "nobody makes room for its replies"
    );
    free.moves([1]).await;
    assert_eq!(free.replies().last(), Some(&Reply::Value("OK".into())));
}

#[tokio::test]
async fn a_program_that_never_rests_is_not_waited_for_for_ever() {
    let mut free = attached(&["while :; do echo again; done", WORKER]).await;
    assert_eq!(free.outlook.actors[0].blocked, Some(Blocked::Computes));
    let told = said(&free).into_iter().filter(|line| line == "again").count();
    assert!(told <= 50, "what it prints is told up to a bound: {told}");
    free.moves([1]).await;
    assert_eq!(free.replies(), [Reply::Value("OK".into())]);
}

#[tokio::test]
async fn half_a_request_is_no_move_and_waits() {
    let mut free = attached(&[r"printf 'GET lo' >&3; sleep 1; printf 'ck\r\n' >&3; read -r reply <&3"]).await;
    assert!(matches!(free.outlook.actors[0].blocked, Some(Blocked::Waits { .. })));
    free.all([Choice::Timer]).await;
    assert_eq!(free.wire(0), "GET lock");
}

#[tokio::test]
async fn a_program_that_cannot_be_started_or_ends_badly_says_why() {
    let programs = [vec!["/nowhere/at/all".to_owned()], script("echo alas >&2; exit 3")];
    let scenario = attach::scenario(&of(&programs, Some("lock"), Speaks::Redis)).expect("a scenario");
    let mut free = Free::of(session::open(scenario, options(), 1));
    free.tell(session::SessionCommand::LeaveStory);
    free.outlook().await;
    let whys: Vec<Text> = free
        .log
        .events()
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::GaveUp { why, .. } => Some(why.clone()),
            _ => None,
        })
        .collect();
    assert!(whys.iter().any(|why| why.en.contains("/nowhere/at/all")), "{whys:?}");
    let alas = Text::new("alas (exit code 3)".to_owned(), "alas（退出码 3）".to_owned());
    assert!(whys.contains(&alas), "{whys:?}");
}

/// What programs have written to standard error, as recorded.
fn errors(free: &Free) -> Vec<String> {
    let errors = free.log.events().iter().filter_map(|event| match &event.kind {
        EventKind::Said { text, stderr: true, .. } => Some(text.clone()),
        _ => None,
    });
    errors.collect()
}

#[tokio::test]
async fn what_a_program_writes_to_standard_error_is_told_in_each_move() {
    let script = r#"
echo starting >&2
ask INCR n
echo "HOLDS lock" >&2
printf 'half a line' >&2
ask INCR n
printf ', and its end\n\n' >&2
seq 1 300 >&2
ask INCR n
printf 'Traceback\n  File "worker"\nKeyError' >&2
exit 1
"#;
    let mut free = attached(&[script]).await;
    assert_eq!(errors(&free), ["starting"]);
    free.moves([0]).await;
    assert_eq!(errors(&free)[1..], ["HOLDS lock"], "half a line is none yet");
    assert_eq!(believes(&free, 0), None, "beliefs are printed to standard output");
    free.moves([0]).await;
    let last: Vec<String> = (281..=300).map(|n| n.to_string()).collect();
    assert_eq!(errors(&free)[2..], last, "the last lines count");
    assert!(said(&free).iter().any(|line| line.contains("these are the last lines")), "and that is said");
    free.moves([0]).await;
    assert_eq!(errors(&free)[22..], ["Traceback", "  File \"worker\"", "KeyError"]);
}

#[tokio::test]
async fn standard_error_without_an_end_or_without_lines_is_bounded() {
    let script = r"
head -c 10000000 /dev/zero | tr '\0' x >&2
printf '\n\033[2J\xff\n' >&2
ask INCR n
head -c 5000000 /dev/zero | tr '\0' y >&2
exit 1
";
    let mut free = attached(&[script]).await;
    free.moves([0]).await;
    let errors = errors(&free);
    assert_eq!(errors.len(), 3, "{}", errors.len());
    assert!(errors.iter().all(|line| line.len() <= 1024), "{:?}", errors.iter().map(String::len));
    assert_eq!(errors[1], "\u{1b}[2J\u{fffd}", "what shows it makes it harmless");
}

#[tokio::test]
async fn a_kept_run_is_shown_and_exported_without_its_programs() {
    let programs = [script(WORKER), script(WORKER)];
    let scenario = attach::scenario(&of(&programs, None, Speaks::Redis)).expect("a scenario");
    let mut free = Free::of(session::open(scenario.clone(), options(), 1));
    free.tell(session::SessionCommand::LeaveStory);
    free.outlook().await;
    free.moves([0, 1]).await;
    free.all([pass(3_000)]).await;
    free.moves([1]).await;
    let place = Place::new();
    let file = place.path().join("kept.jsonl.gz");
    recording::write(&file, &scenario, &free.log).expect("it is written");
    let document = place.run(&["export", "kept.jsonl.gz", "--format", "json"]);
    assert_eq!(document.code, Some(0), "{}", document.err);
    let document: serde_json::Value = serde_json::from_str(&document.out).expect("JSON");
    assert_eq!(document["verdict"], serde_json::Value::Null, "nothing was promised");
    let events = document["events"].as_array().expect("events");
    let breached = events.iter().filter(|event| event["event"] == "breached");
    assert_eq!(breached.count(), 1);
    for name in ["kept.svg", "kept.html", "kept.mmd", "kept.cast"] {
        let exported = place.run(&["export", "kept.jsonl.gz", "--output", name]);
        assert_eq!(exported.code, Some(0), "{name}: {}", exported.err);
    }
    let value = place.run(&["eval", "kept.jsonl.gz", "value('lock')"]);
    assert_eq!(value.out.lines().next(), Some("'B'"), "{}", value.err);
    let beside = place.run(&["compare", "kept.jsonl.gz", "kept.jsonl.gz"]);
    assert!(beside.err.contains("shows it alone"), "{}", beside.err);
    place.assert_nothing_left();
}

#[test]
fn a_recording_of_too_many_programs_is_damaged() {
    let place = Place::new();
    for commands in [vec![], vec![["true"]; 17], vec![["true"]; 5_000]] {
        let attached = serde_json::json!({ "server": "redis", "lock": null, "commands": commands });
        let header = serde_json::json!({
            "lockstep_recording": 2, "lesson": "attach", "variant": "free", "program": "0.1.0", "attached": attached,
        });
        // A recording is recognized by the first key of its header.
        let header = header.to_string().replace("\"lockstep_recording\":2,", "");
        let header = header.replacen('{', "{\"lockstep_recording\":2,", 1);
        place.write("many.jsonl", format!("{header}\n{{\"end\":0}}\n"));
        let refused = place.run(&["export", "many.jsonl"]);
        assert_eq!(refused.code, Some(2), "{}", refused.out);
        assert!(refused.err.contains("1 to 16 can be"), "{}", refused.err);
    }
}

#[test]
fn a_program_is_looked_for_where_a_shell_would_look() {
    let place = Place::new();
    place.write("worker.sh", "#!/bin/sh\n");
    let started = |program: &str, path: &str| {
        let output = place.command(&["attach", "redis", "--", program]).env("PATH", path).output();
        Answer::of(&output.expect("it starts"))
    };
    // The script is not executable, and programs for administrators are not on a normal path.
    for program in ["no-such-program", "./worker.sh", "ldconfig"] {
        let refused = started(program, "/usr/bin:/bin");
        assert_eq!(refused.code, Some(2), "{}", refused.out);
        assert!(refused.err.contains("there is no such program"), "{program}: {}", refused.err);
    }
    let found = started("ldconfig", "/usr/bin:/bin:/usr/sbin:/sbin");
    assert!(found.err.contains("needs a terminal"), "it is found then: {}", found.err);
}

/// A lesson whose clients run a script beside it.
const LESSON: &str = r"
format: 1
id: my-program
track: redis
title: { en: A program, zh: 一个程序 }
summary: { en: A program., zh: 一个程序。 }
intro: { en: A program., zh: 一个程序。 }
minutes: 1
lab: redis
params: { lease: 3s }
clients:
  A: { exec: [bash, worker.sh, '${lease}'], speaks: redis, moves: [SET, DEL], locks: [lock] }
  B: { exec: [bash, worker.sh, '${lease}'], speaks: redis, moves: [SET, DEL], locks: [lock] }
variants:
  blind:
    title: { en: Blind, zh: 盲删 }
    expect: shown
    lesson: { en: No., zh: 不。 }
    story:
      - move: A.SET
      - freeze: A
      - pass: 5s
      - move: B.SET
      - thaw: A
      - move: A.DEL
      - finish: B
    claims: [ overlap: lock, that: A.DEL == 1, that: B.DEL == 0 ]
";

#[test]
fn a_lesson_starts_programs_only_as_the_user_has_allowed_it() {
    let place = Place::new();
    place.write("mine/lesson.yaml", LESSON);
    let worker = format!("{ASK}{}", WORKER.replace("3000", "$1"));
    place.write("mine/worker.sh", &worker);
    assert_eq!(place.run(&["check", "mine/lesson.yaml"]).code, Some(0), "nothing is started");
    let refused = place.run(&["run", "mine/lesson.yaml"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    for part in ["bash worker.sh ${lease}", "lockstep trust mine/lesson.yaml"] {
        assert!(refused.err.contains(part), "{}", refused.err);
    }

    let allowed = place.run(&["trust", "mine/lesson.yaml"]);
    assert_eq!(allowed.code, Some(0), "{}", allowed.err);
    assert!(
        allowed.out.contains("bash worker.sh ${lease}") && allowed.out.contains("worker.sh"),
        "{}",
        allowed.out
    );
    let shown = place.run(&["run", "mine/lesson.yaml"]);
    assert_eq!(shown.code, Some(0), "{}{}", shown.out, shown.err);
    place.write("mine/worker.sh", worker + "echo changed");
    let changed = place.run(&["run", "mine/lesson.yaml"]);
    assert_eq!(changed.code, Some(2), "its program is another one now: {}", changed.out);
    assert_eq!(place.run(&["trust", "mine/lesson.yaml"]).code, Some(0));
    assert_eq!(place.run(&["trust", "--revoke", "mine/lesson.yaml"]).code, Some(0));
    assert_eq!(place.run(&["run", "mine/lesson.yaml"]).code, Some(2));
    place.assert_nothing_left();
}

#[test]
fn a_lesson_says_which_commands_of_a_program_pass_by_themselves() {
    let place = Place::new();
    let lesson = LESSON
        .replace("moves: [SET, DEL]", "passes: [del], moves: [PING, SET]")
        .replace("      - move: A.DEL\n", "")
        .replace("- move: A.SET", "- move: A.PING\n      - move: A.SET")
        .replace("- move: B.SET", "- move: B.PING\n      - move: B.SET")
        .replace("that: A.DEL == 1, that: B.DEL == 0", "that: A.PING == 'PONG', that: not exists('lock')");
    place.write("mine/lesson.yaml", &lesson);
    place.write("mine/worker.sh", format!("{ASK}{}", WORKER.replace("3000", "$1")));
    assert_eq!(place.run(&["trust", "mine/lesson.yaml"]).code, Some(0));
    let shown = place.run(&["run", "mine/lesson.yaml"]);
    assert_eq!(shown.code, Some(0), "{}{}", shown.out, shown.err);
    for (passes, help) in [("[DELL]", "did you mean `DEL`"), ("[SCRIPT LOADS]", "did you mean `SCRIPT LOAD`")]
    {
        place.write("mine/lesson.yaml", lesson.replacen("[del]", passes, 1));
        let refused = place.run(&["check", "mine/lesson.yaml"]);
        assert_eq!(refused.code, Some(2), "{}", refused.out);
        assert!(refused.err.contains(help), "{}", refused.err);
    }
    place.assert_nothing_left();
}

/// Builds a program, with the C compiler that also links Rust programs.
#[cfg(target_arch = "x86_64")]
fn polls(place: &Place) -> String {
    let (source, program) = (place.path().join("polls.c"), place.path().join("polls"));
    std::fs::write(&source, include_str!("polls.c")).expect("a source file");
    let mut cc = std::process::Command::new("cc");
    cc.arg(&source).arg("-o").arg(&program);
    assert!(cc.status().expect("a C compiler").success(), "{cc:?}");
    program.to_str().expect("a plain name").to_owned()
}

/// Only there the vDSO is changed.
#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn programs_of_go_wait_in_lesson_time() {
    let place = Place::new();
    let program = polls(&place);
    let waiting = |millis: &str| vec![program.clone(), millis.to_owned()];
    let programs = of(&[waiting("700"), waiting("300")], Some("lock"), Speaks::Redis);
    let mut free = Free::begin(attach::scenario(&programs).expect("a scenario")).await;
    let waits = |free: &Free| {
        let actors = free.outlook.actors.iter();
        actors.map(|actor| matches!(actor.blocked, Some(Blocked::Waits { .. }))).collect::<Vec<_>>()
    };
    free.moves([0, 1]).await;
    assert_eq!(waits(&free), [true, true], "{:?}", said(&free));
    // A's poll lasts on while B's timer expires twice.
    for _ in 0..2 {
        free.all([Choice::Timer]).await;
        assert_eq!(waits(&free), [true, false]);
        free.moves([1]).await;
    }
    free.all([Choice::Timer]).await;
    assert_eq!(waits(&free), [false, true]);
    let passed = free.log.events().last().expect("events").at.as_millis();
    assert!((700..710).contains(&passed), "each wait ends at most two milliseconds late: {passed}");
    // Much time at once: the polls of an hour ago are no longer waited for.
    free.all([pass(3_600_000)]).await;
    assert_eq!(waits(&free), [false, false]);
    free.moves([0, 1]).await;
    assert_eq!(waits(&free), [true, true]);
    assert!(said(&free).is_empty(), "nothing is said of a clock that they do not take: {:?}", said(&free));
}
