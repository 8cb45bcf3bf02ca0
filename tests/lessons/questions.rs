//! Every question of the articles' interviewers has a card, in the lesson that shows its answer.

use lockstep::lesson::{Card, Library};

/// The question, the articles that have it, and the card: its lesson, and words of its question or follow-up.
const QUESTIONS: &[(&str, &str, &str, &str)] = &[
    // Basics.
    ("Redis is single-threaded, why lock", "S1 S4", "oversell", "single-threaded"),
    ("synchronized on several instances", "S1 S4", "oversell", "several instances"),
    ("overselling, and what -7 means", "S1", "oversell", "-7"),
    ("what a distributed lock must do", "S3 S4", "oversell", "must a distributed lock do"),
    ("a file lock, and several machines", "S4", "file-lock", "shared directory"),
    ("is a lock needed to sell stock", "S4", "oversell", "to sell stock"),
    // One Redis.
    ("SETNX and EXPIRE", "S3 S4", "setnx-without-expire", "SETNX and then EXPIRE"),
    ("one command that locks", "S3 S4", "setnx-without-expire", "locks atomically"),
    ("how long the lease should be", "S3 S4", "setnx-without-expire", "should the TTL be"),
    ("NX, XX, EX and PX", "S3 S4", "setnx-without-expire", "NX, XX, EX and PX"),
    ("MULTI and EXEC", "S4", "setnx-without-expire", "MULTI"),
    ("SETNX and EXPIRE in a script", "S4", "setnx-without-expire", "in a Lua script"),
    ("releasing: why a script", "S3 S4", "unlock-someone-elses-lock", "Lua script"),
    ("releasing: the owner's value", "S3", "unlock-someone-elses-lock", "as its owner"),
    ("releasing: no script with renewal?", "S3", "unlock-someone-elses-lock", "So no script"),
    ("renewal", "S3 S4", "watchdog", "longer than the lock's TTL"),
    ("the watchdog", "S4", "watchdog", "watchdog work"),
    ("alive and renewing, and the lock is lost", "S4", "watchdog", "Can it lose the lock"),
    ("a renewal written by hand", "S3", "watchdog", "wrong with this watchdog"),
    ("the four key points", "S3", "watchdog", "key points"),
    ("the lock command timed out", "S3", "lost-reply", "timed out"),
    ("a single server restarts", "S3", "restart-without-persistence", "only Redis restarts"),
    ("reentrancy, every way", "S0 S4", "reentrancy", "Which ways"),
    ("reentrancy in Redis", "S4", "reentrancy", "make a Redis lock reentrant"),
    ("the script with all in KEYS", "S4", "reentrancy", "all three in KEYS"),
    ("segments of a hot lock", "S4", "segmented-lock", "limits your throughput"),
    ("a lock and correct data", "S3 S4", "fencing-token", "keep data right"),
    // Redisson.
    ("waiting without spinning", "S4", "wait-without-spinning", "without spinning"),
    ("Redisson's hash", "S4", "redisson-lock", "reentrant"),
    ("lock() and unlock() in code", "S4", "redisson-lock", "stand in the code"),
    ("who is told when a holder crashes", "S4", "wait-without-spinning", "Who tells those who wait"),
    ("fair lock", "S4", "fair-lock", "fair lock in Redisson"),
    ("a dead client in the fair queue", "S4", "fair-lock", "queue dies"),
    ("the price of fairness", "S4", "fair-lock", "fairness cost"),
    ("multi lock", "S4", "multi-lock", "What is Redisson's MultiLock"),
    ("multi lock or Redlock", "S4", "multi-lock", "MultiLock or RedLock"),
    ("read-write lock", "S4", "read-write-lock", "promise"),
    ("a reader that wants to write", "S4", "read-write-lock", "upgraded"),
    ("getLock or getReadWriteLock", "S4", "read-write-lock", "getReadWriteLock"),
    ("semaphore", "S4", "semaphore", "semaphore and a lock"),
    ("a semaphore that nobody has set", "S4", "semaphore", "wait for ever"),
    ("permits that expire", "S4", "permit-expirable-semaphore", "id buy"),
    ("countdown latch", "S4", "countdown-latch", "What is a CountDownLatch"),
    ("spinning", "S4", "spin-lock", "force clients to spin"),
    // Several Redis servers.
    ("Sentinel loses the lock", "S3 S4", "failover", "replicas and Sentinel"),
    ("single, Sentinel, Cluster: which is safe", "S3", "failover", "Single server, Sentinel, Cluster"),
    ("split brain", "S3", "failover", "split brain"),
    ("WAIT", "S3 S4", "failover-mitigations", "WAIT make"),
    ("Cluster", "S3", "cluster-is-not-safer", "lock safer"),
    ("Redlock", "S4", "redlock", "Explain Redlock"),
    ("Redlock: use it?", "S3 S4", "redlock", "Would you use"),
    ("Redlock's lease and timeout", "S4", "redlock", "timeout for each node"),
    ("Redlock on a Cluster or on Sentinel", "S4", "redlock", "one Redis Cluster"),
    ("Redisson's RedLock", "S4", "redlock", "RedissonRedLock"),
    ("Redlock: a node restarts", "S4", "redlock-restarted-node", "one node restarts"),
    ("Redlock: a clock jumps", "S4", "redlock-clock-jump", "clock jump break"),
    ("Redlock: a pause", "S3 S4", "redlock-late-validity", "paused"),
    // ZooKeeper.
    ("node types", "S0 S1 S4", "znode-types", "kinds of znodes"),
    ("the command line's stat", "S4", "znode-types", "znode's stat"),
    ("who holds an ephemeral lock", "S4", "znode-types", "proves who holds"),
    ("where the numbers come from", "S2 S4", "znode-types", "number of a sequential znode"),
    ("why sequential", "S0 S1 S2", "zk-herd", "sequential"),
    ("why ephemeral", "S0 S1 S2 S4", "zk-persistent-deadlock", "ephemeral"),
    ("persistent deadlock", "S0 S1 S2", "zk-persistent-deadlock", "persistent znode"),
    ("TTL or session", "S1 S4", "zk-persistent-deadlock", "ZooKeeper a session"),
    ("herd effect", "S0 S1 S2 S4", "zk-herd", "herd effect"),
    ("finding the predecessor", "S0 S2", "zk-herd", "find your predecessor"),
    ("the predecessor is gone", "S0 S2", "zk-herd", "predecessor's node was deleted"),
    ("watching the predecessor", "S0 S1 S2", "zk-notified-is-not-granted", "only the predecessor"),
    ("what a watch promises", "S1 S2", "zk-notified-is-not-granted", "watch give"),
    ("the holder dies", "S1", "zk-herd", "killed"),
    ("the holder is cut off", "S1 S2", "zk-session-expiry", "loses its connection"),
    ("held twice", "S0 S1", "zk-session-expiry", "same ZooKeeper lock"),
    ("a create without an answer", "S0", "zk-lost-create-reply", "ConnectionLoss"),
    ("withProtection", "S0", "zk-lost-create-reply", "withProtection"),
    ("a leader dies", "S0 S1 S4", "zk-leader-failover", "leader"),
    ("a majority of the servers is gone", "S0", "zk-leader-failover", "majority"),
    ("SUSPENDED and LOST", "S0", "zk-leader-failover", "SUSPENDED"),
    ("how a write goes", "S1 S4", "zk-leader-failover", "write go"),
    ("an odd number of servers", "S1", "zk-leader-failover", "odd number"),
    ("what ZooKeeper is for, and its drawbacks", "S0 S1 S2 S4", "which-lock", "ZooKeeper used for"),
    // Curator.
    ("Curator's mutex", "S0", "curator-mutex", "InterProcessMutex reentrant"),
    ("does Curator know that the lock is lost", "S0", "curator-mutex", "isAcquiredInThisProcess"),
    ("Curator's semaphore mutex", "S0", "curator-semaphore-mutex", "InterProcessMutex or its"),
    ("Curator's read-write lock", "S0", "curator-read-write", "read-write lock work"),
    ("Curator's multi lock", "S0", "curator-multi-lock", "InterProcessMultiLock do"),
    // Databases.
    ("pessimistic", "S4", "db-pessimistic", "pessimistic lock work"),
    ("row or table", "S4", "db-pessimistic", "row or the table"),
    ("the holder of a row dies", "S4", "db-pessimistic", "row lock in MySQL"),
    ("deadlock in a database", "S4", "db-deadlock", "What is a deadlock"),
    ("optimistic", "S4", "db-optimistic", "What is an optimistic lock"),
    ("version = version", "S4", "db-optimistic", "version = version"),
    ("ABA", "S4", "db-aba", "ABA problem"),
    ("a version and ABA", "S4", "db-aba", "version column have"),
    // Choosing.
    ("a lock in etcd", "S4", "etcd-lease", "lock in etcd"),
    ("Redis or ZooKeeper", "S0 S1 S2 S4", "which-lock", "Redis or ZooKeeper"),
    ("efficiency or correctness", "S0 S3 S4", "which-lock", "Efficiency or correctness"),
    ("no lock at all", "S4", "which-lock", "no lock the answer"),
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
        // Words that fit several cards would hide that the one with the answer is gone.
        let follows = |card: &Card| card.follow_up.as_ref().is_some_and(|next| is_it(&next.q.en));
        let fitting: Vec<_> = cards.iter().filter(|card| is_it(&card.q.en) || follows(card)).collect();
        if !matches!(fitting.as_slice(), [card] if names_all(&card.from)) {
            missing.push(format!("{asked} ({articles}): the one card of `{lesson}` with \"{words}\""));
        }
    }
    assert!(missing.is_empty(), "no card for:\n{}", missing.join("\n"));
    // Every article has questions here.
    for article in ["S0", "S1", "S2", "S3", "S4"] {
        assert!(QUESTIONS.iter().any(|(_, articles, ..)| articles.contains(article)), "{article}");
    }
}
