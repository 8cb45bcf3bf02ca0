//! Every question of the articles' interviewers has a card, in the lesson that shows its answer.

use lockstep::lesson::Library;

/// The question, the articles that have it, and the card: its lesson, and words of its question.
const QUESTIONS: &[(&str, &str, &str, &str)] = &[
    // Basics.
    ("Redis is single-threaded, why lock", "S1 S4", "oversell", "single-threaded"),
    ("synchronized on several instances", "S1 S4", "oversell", "several instances"),
    ("overselling, and what -7 means", "S1", "oversell", "-7"),
    ("what a distributed lock must do", "S3 S4", "oversell", "must a distributed lock do"),
    // One Redis.
    ("SETNX and EXPIRE", "S3 S4", "setnx-without-expire", "SETNX and then EXPIRE"),
    ("one command that locks", "S3 S4", "setnx-without-expire", "locks atomically"),
    ("NX, XX, EX and PX", "S3 S4", "setnx-without-expire", "NX, XX, EX and PX"),
    ("MULTI and EXEC", "S4", "setnx-without-expire", "MULTI"),
    ("releasing: why a script", "S3 S4", "unlock-someone-elses-lock", "Lua script"),
    ("releasing: the owner's value", "S3", "unlock-someone-elses-lock", "owner"),
    ("renewal", "S3 S4", "watchdog", "longer than the lock's TTL"),
    ("the watchdog", "S4", "watchdog", "watchdog work"),
    ("the four key points", "S3", "watchdog", "key points"),
    ("the lock command timed out", "S3", "lost-reply", "timed out"),
    ("reentrancy, every way", "S0 S4", "reentrancy", "Which ways"),
    ("reentrancy in Redis", "S4", "reentrancy", "make a Redis lock reentrant"),
    ("segments of a hot lock", "S4", "segmented-lock", "hot item"),
    ("a lock and correct data", "S3 S4", "fencing-token", "keep data right"),
    // Redisson.
    ("waiting without spinning", "S4", "wait-without-spinning", "without spinning"),
    ("Redisson's hash", "S4", "redisson-lock", "reentrant"),
    ("fair lock", "S4", "fair-lock", "fair lock in Redisson"),
    ("a dead client in the fair queue", "S4", "fair-lock", "queue dies"),
    ("multi lock", "S4", "multi-lock", "MultiLock"),
    ("read-write lock", "S4", "read-write-lock", "promise"),
    ("semaphore", "S4", "semaphore", "semaphore and a lock"),
    ("permits that expire", "S4", "permit-expirable-semaphore", "id buy"),
    ("countdown latch", "S4", "countdown-latch", "CountDownLatch"),
    ("spinning", "S4", "spin-lock", "spin"),
    // Several Redis servers.
    ("Sentinel loses the lock", "S3 S4", "failover", "replicas and Sentinel"),
    ("single, Sentinel, Cluster: which is safe", "S3", "failover", "Single server, Sentinel, Cluster"),
    ("Cluster", "S3", "cluster-is-not-safer", "lock safer"),
    ("Redlock", "S4", "redlock", "Explain Redlock"),
    ("Redlock: use it?", "S3 S4", "redlock", "Would you use"),
    ("Redlock's lease and timeout", "S4", "redlock", "timeout for each node"),
    // ZooKeeper.
    ("node types", "S0 S1 S4", "znode-types", "kinds of znodes"),
    ("the command line's stat", "S4", "znode-types", "stat"),
    ("why sequential", "S0 S1 S2", "zk-herd", "sequential"),
    ("why ephemeral", "S0 S1 S2 S4", "zk-persistent-deadlock", "ephemeral"),
    ("persistent deadlock", "S0 S1 S2", "zk-persistent-deadlock", "persistent znode"),
    ("herd effect", "S0 S1 S2 S4", "zk-herd", "herd effect"),
    ("watching the predecessor", "S0 S1 S2", "zk-notified-is-not-granted", "only the predecessor"),
    ("what a watch promises", "S1 S2", "zk-notified-is-not-granted", "watch give"),
    ("the holder dies", "S1", "zk-herd", "killed"),
    ("the holder is cut off", "S1 S2", "zk-session-expiry", "loses its connection"),
    ("held twice", "S0 S1", "zk-session-expiry", "same ZooKeeper lock"),
    ("a leader dies", "S0 S1 S4", "zk-leader-failover", "leader"),
    ("how a write goes", "S1 S4", "zk-leader-failover", "write go"),
    ("an odd number of servers", "S1", "zk-leader-failover", "odd number"),
    ("what ZooKeeper is for, and its drawbacks", "S0 S1 S2 S4", "which-lock", "ZooKeeper used for"),
    // Curator.
    ("Curator's mutex", "S0", "curator-mutex", "InterProcessMutex"),
    ("Curator's semaphore mutex", "S0", "curator-semaphore-mutex", "InterProcessSemaphoreMutex"),
    ("Curator's read-write lock", "S0", "curator-read-write", "read-write lock"),
    ("Curator's multi lock", "S0", "curator-multi-lock", "InterProcessMultiLock"),
    // Databases.
    ("pessimistic", "S4", "db-pessimistic", "pessimistic lock work"),
    ("row or table", "S4", "db-pessimistic", "row or the table"),
    ("optimistic", "S4", "db-optimistic", "optimistic lock"),
    ("ABA", "S4", "db-aba", "ABA problem"),
    // Choosing.
    ("Redis or ZooKeeper", "S0 S1 S2 S4", "which-lock", "Redis or ZooKeeper"),
];

#[test]
fn every_question_of_the_articles_has_a_card() {
    let library = Library::carried();
    let mut missing = Vec::new();
    for (asked, articles, lesson, words) in QUESTIONS {
        let cards = library.find(lesson).map(|loaded| loaded.lesson.interview.as_slice()).unwrap_or_default();
        let is_it = |text: &str| text.to_lowercase().contains(&words.to_lowercase());
        let names_all =
            |from: &[String]| articles.split(' ').all(|article| from.iter().any(|it| it == article));
        if !cards.iter().any(|card| is_it(&card.q.en) && names_all(&card.from)) {
            missing.push(format!("{asked} ({articles}): a card of `{lesson}` with \"{words}\""));
        }
    }
    assert!(missing.is_empty(), "no card for:\n{}", missing.join("\n"));
    // Every article has questions here.
    for article in ["S0", "S1", "S2", "S3", "S4"] {
        assert!(QUESTIONS.iter().any(|(_, articles, ..)| articles.contains(article)), "{article}");
    }
}
