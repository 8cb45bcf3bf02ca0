//! What real servers and clients make of the lesson clock. Each test starts its own processes, in a directory of
//! its own, and ends them. Real time is slept through only where its passing is what is tested.

#![allow(clippy::print_stderr, reason = "what a child tells the test")]

use lockstep::clock::{LessonClock, Rate, Slot};
use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::unix::fs::FileExt,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Condvar, Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

// ---------------------------------------------------------------------------------------------------------
// Processes
// ---------------------------------------------------------------------------------------------------------

/// A directory with a clock in it.
struct Lab {
    clock: LessonClock,
    dir: TempDir,
}

impl Lab {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let clock = LessonClock::controlled(dir.path()).expect("a controlled clock");
        Self { clock, dir }
    }

    fn pause(&self) {
        self.clock.set_rate(Rate::PAUSED).expect("a pause");
    }

    fn run_at(&self, factor: f64) {
        self.clock.set_rate(Rate::from_factor(factor).expect("a rate")).expect("a change of rate");
    }

    fn jump(&self, seconds: u64) {
        self.clock.jump(Duration::from_secs(seconds)).expect("a jump");
    }
}

/// A process that does not outlive its test.
struct Process(Child);

impl Process {
    fn start(command: &mut Command, lab: &Lab, slot: Option<&Slot>, log: &Path) -> Self {
        let log = fs::File::create(log).expect("a log file");
        let child = command
            .envs(lab.clock.env(slot))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("the log file"))
            .stderr(log)
            .spawn()
            .unwrap_or_else(|e| panic!("{} did not start: {e}", command.get_program().display()));
        Self(child)
    }

    /// Processor time used so far, in ticks of 10 ms.
    fn ticks(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).expect("a living process");
        // The name, in brackets, may contain anything.
        let fields: Vec<_> = stat.rsplit(')').next().expect("a name").split_whitespace().collect();
        fields[11].parse::<u64>().expect("utime") + fields[12].parse::<u64>().expect("stime")
    }

    fn ticks_during(&self, span: Duration) -> u64 {
        let before = self.ticks();
        thread::sleep(span);
        self.ticks() - before
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks until there is an answer, and quotes the log if there is none.
fn until<T>(what: &str, log: &Path, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "{what}: not within 30 s. Its log:\n{}",
            fs::read_to_string(log).unwrap_or_default()
        );
        thread::sleep(Duration::from_millis(2));
    }
}

// ---------------------------------------------------------------------------------------------------------
// Redis
// ---------------------------------------------------------------------------------------------------------

struct Redis {
    process: Process,
    connection: redis::Connection,
}

impl Redis {
    fn start(lab: &Lab, name: &str, slot: Option<&Slot>) -> Self {
        let socket = lab.dir.path().join(format!("{name}.sock"));
        let log = lab.dir.path().join(format!("{name}.log"));
        let mut command = Command::new("redis-server");
        command.args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"]).arg(&socket);
        command.arg("--dir").arg(lab.dir.path());
        let process = Process::start(&mut command, lab, slot, &log);
        let client = redis::Client::open(format!("unix://{}", socket.display())).expect("an address");
        let connection = until("redis-server", &log, || {
            let mut connection = client.get_connection().ok()?;
            redis::cmd("PING").query::<String>(&mut connection).ok().map(|_| connection)
        });
        Self { process, connection }
    }

    fn ask<T: redis::FromRedisValue>(&mut self, command: &str) -> T {
        let mut words = command.split(' ');
        let mut request = redis::cmd(words.next().expect("a command"));
        words.for_each(|word| {
            request.arg(word);
        });
        request.query(&mut self.connection).unwrap_or_else(|e| panic!("{command}: {e}"))
    }
}

#[test]
fn redis_stands_still_while_the_lesson_is_paused() {
    let lab = Lab::new();
    let mut redis = Redis::start(&lab, "redis", None);
    redis.ask::<()>("SET lock A PX 1000");
    lab.pause();
    let before: i64 = redis.ask("PTTL lock");
    let ticks = redis.process.ticks_during(Duration::from_millis(1_500));
    assert_eq!(redis.ask::<i64>("PTTL lock"), before, "longer than its TTL, but no time has passed");
    assert!(ticks <= 2, "{ticks} ticks of processor time in a pause");

    let deadline = lab.clock.from_unix_millis(redis.ask("PEXPIRETIME lock"), None);
    let left = deadline.since(lab.clock.now());
    // Redis tells whole milliseconds.
    assert!(
        left.abs_diff(Duration::from_millis(before.unsigned_abs())) <= Duration::from_millis(2),
        "{left:?}"
    );

    lab.run_at(1.0);
    until("the lock's end", lab.dir.path(), || {
        redis.ask::<Option<String>>("GET lock").is_none().then_some(())
    });
}

#[test]
fn redis_follows_a_jump() {
    let lab = Lab::new();
    let mut redis = Redis::start(&lab, "redis", None);
    lab.pause();
    redis.ask::<()>("SET lock A EX 30");
    redis.ask::<()>("SET long A EX 60");
    lab.jump(29);
    assert_eq!(redis.ask::<i64>("PTTL lock"), 1_000);
    lab.jump(2);
    assert_eq!(redis.ask::<Option<String>>("GET lock"), None);
    assert_eq!(redis.ask::<i64>("PTTL long"), 29_000);
    // And not only when asked: Redis' own timer sees it, and expires a key that nobody touches.
    lab.jump(30);
    until("active expiry", &lab.dir.path().join("redis.log"), || {
        redis.ask::<String>("INFO stats").contains("expired_keys:2").then_some(())
    });
}

#[test]
fn redis_lives_thirty_seconds_in_a_third_of_one() {
    let lab = Lab::new();
    let mut redis = Redis::start(&lab, "redis", None);
    redis.ask::<()>("SET lock A EX 30");
    let start = Instant::now();
    lab.run_at(100.0);
    until("the lock's end", lab.dir.path(), || {
        redis.ask::<Option<String>>("GET lock").is_none().then_some(())
    });
    let took = start.elapsed();
    assert!(took > Duration::from_millis(250) && took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn one_redis_can_have_a_wrong_clock() {
    let lab = Lab::new();
    let slots = [(); 2].map(|()| lab.clock.allocate_slot().expect("a slot"));
    let mut wrong = Redis::start(&lab, "wrong", Some(&slots[0]));
    let mut right = Redis::start(&lab, "right", Some(&slots[1]));
    lab.pause();
    for redis in [&mut wrong, &mut right] {
        redis.ask::<()>("SET lock A EX 30");
    }
    let hour = 3_600_000_000_000;
    lab.clock.skew(&slots[0], hour).expect("a skew");
    assert_eq!(wrong.ask::<Option<String>>("GET lock"), None);
    assert_eq!(right.ask::<i64>("PTTL lock"), 30_000);
    let seconds = |redis: &mut Redis| redis.ask::<Vec<i64>>("TIME")[0];
    assert_eq!(seconds(&mut wrong) - seconds(&mut right), 3_600);
    lab.clock.skew(&slots[0], 0).expect("a skew");
    assert_eq!(seconds(&mut wrong), seconds(&mut right));
}

#[test]
fn a_process_without_a_usable_page_is_on_the_real_clock() {
    let lab = Lab::new();
    lab.jump(1_000_000);
    let date = |page: &str| {
        let mut command = Command::new("date");
        command.arg("+%s").envs(lab.clock.env(None)).env("LESSON_CLOCK", page);
        let output = command.output().expect("date").stdout;
        String::from_utf8_lossy(&output).trim().parse::<i64>().expect("a number")
    };
    let real = date("/nonexistent");
    let lesson = date(lab.dir.path().join("lesson_clock.page").to_str().expect("a plain name"));
    assert!((1_000_000..1_000_060).contains(&(lesson - real)), "{real} and {lesson}");
}

#[test]
fn a_change_that_is_never_finished_makes_nobody_spin() {
    let lab = Lab::new();
    let mut redis = Redis::start(&lab, "redis", None);
    let page = lab.clock.page().expect("a page");
    let page = fs::OpenOptions::new().write(true).open(page).expect("the page");
    // The page begins with its sequence counter, which is odd during a change.
    page.write_all_at(&1_i64.to_ne_bytes(), 0).expect("a change begins");
    let ticks = redis.process.ticks_during(Duration::from_secs(1));
    page.write_all_at(&0_i64.to_ne_bytes(), 0).expect("it ends");
    assert!(ticks < 10, "{ticks} ticks of processor time in 1 s");
    assert_eq!(redis.ask::<String>("PING"), "PONG");
}

// ---------------------------------------------------------------------------------------------------------
// ZooKeeper
// ---------------------------------------------------------------------------------------------------------

struct ZooKeeper {
    process: Process,
    port: u16,
}

const JARS: [&str; 14] = [
    "zookeeper",
    "zookeeper-jute",
    "slf4j-api",
    "slf4j-simple",
    "netty-buffer",
    "netty-codec",
    "netty-common",
    "netty-handler",
    "netty-resolver",
    "netty-transport",
    "netty-transport-native-epoll",
    "snappy-java",
    "metrics-core",
    "commons-cli",
];

impl ZooKeeper {
    fn start(lab: &Lab) -> Self {
        let dir = lab.dir.path();
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = free.local_addr().expect("its address").port();
        drop(free);
        let config = dir.join("zoo.cfg");
        let settings = format!(
            "dataDir={}\nclientPort={port}\nclientPortAddress=127.0.0.1\ntickTime=500\nadmin.enableServer=false\n\
             4lw.commands.whitelist=srvr,ruok,dump\n",
            dir.join("data").display()
        );
        fs::write(&config, settings).expect("a configuration");
        let jars = JARS.map(|jar| format!("/usr/share/java/{jar}.jar")).join(":");
        let log = dir.join("zookeeper.log");
        let mut command = Command::new("java");
        command
            .args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-cp", &jars])
            .arg("org.apache.zookeeper.server.ZooKeeperServerMain")
            .arg(&config);
        let process = Process::start(&mut command, lab, None, &log);
        let server = Self { process, port };
        // `ruok` answers before the server takes sessions.
        until("ZooKeeper", &log, || server.word("srvr")?.contains("Mode:").then_some(()));
        server
    }

    fn connect(&self) -> Option<TcpStream> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).ok()?;
        // A server that is still booting may accept and never answer.
        stream.set_read_timeout(Some(Duration::from_millis(500))).ok()?;
        Some(stream)
    }

    /// Asks with one of its four-letter words.
    fn word(&self, word: &str) -> Option<String> {
        let mut stream = self.connect()?;
        stream.write_all(word.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    /// Opens a session whose client then never says another word: only the server's clock can end it.
    fn silent_session(&self, timeout: Duration) -> (TcpStream, String) {
        let mut stream = self.connect().expect("a connection");
        let millis = i32::try_from(timeout.as_millis()).expect("a short time");
        let mut request = Vec::new();
        request.extend(44_i32.to_be_bytes());
        request.extend(0_i32.to_be_bytes()); // protocol
        request.extend(0_i64.to_be_bytes()); // last transaction seen
        request.extend(millis.to_be_bytes());
        request.extend(0_i64.to_be_bytes()); // a new session
        request.extend(16_i32.to_be_bytes());
        request.extend([0; 16]); // without a password
        stream.write_all(&request).expect("a request");
        let mut reply = [0; 20];
        stream.read_exact(&mut reply).expect("a session");
        assert_eq!(reply[8..12], millis.to_be_bytes(), "the server granted another timeout");
        let session = i64::from_be_bytes(reply[12..20].try_into().expect("eight bytes"));
        (stream, format!("{session:#x}"))
    }

    fn has(&self, session: &str) -> bool {
        self.word("dump").expect("an answer").contains(session)
    }
}

#[test]
fn zookeeper_stands_still_while_the_lesson_is_paused() {
    let lab = Lab::new();
    let server = ZooKeeper::start(&lab);
    let log = lab.dir.path().join("zookeeper.log");
    let (_stream, session) = server.silent_session(Duration::from_secs(2));
    until("the session", &log, || server.has(&session).then_some(()));
    lab.pause();
    let ticks = server.process.ticks_during(Duration::from_secs(3));
    assert!(ticks < 10, "{ticks} ticks of processor time in a pause");
    assert!(server.has(&session), "it expired in a pause");
    assert_eq!(server.word("ruok").as_deref(), Some("imok"), "paused, but not dead");
    lab.jump(5);
    let start = Instant::now();
    until("the session's end", &log, || (!server.has(&session)).then_some(()));
    assert!(start.elapsed() < Duration::from_secs(2), "{:?} after the jump", start.elapsed());
}

// ---------------------------------------------------------------------------------------------------------
// A client: this binary, run again
// ---------------------------------------------------------------------------------------------------------

const CLIENT: &str = "LOCKSTEP_TEST_CLIENT";

/// A name, and how to wait.
type Wait = (&'static str, fn(Duration));

/// Waits in every way that a Rust program has, for `span` each.
fn wait_in_every_way(span: Duration) {
    let waits: [Wait; 4] = [
        ("sleep", thread::sleep),
        ("park", |span| {
            let start = Instant::now();
            while let Some(left) = span.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) {
                thread::park_timeout(left);
            }
        }),
        ("condvar", |span| {
            let never = Mutex::new(());
            let guard = never.lock().expect("nobody else has it");
            drop(Condvar::new().wait_timeout_while(guard, span, |()| true));
        }),
        ("tokio", |span| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("tokio");
            runtime.block_on(async { tokio::time::sleep(span).await });
        }),
    ];
    thread::scope(|scope| {
        for (name, wait) in waits {
            scope.spawn(move || {
                let start = Instant::now();
                wait(span);
                assert!(start.elapsed() >= span, "{name} woke after {:?} of {span:?}", start.elapsed());
                eprintln!("{name}");
            });
        }
    });
}

/// Keeps a session alive by nothing but the client's own pings.
fn hold_a_session(server: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("tokio");
    runtime.block_on(async {
        let client = zookeeper_client::Client::connector()
            .with_session_timeout(Duration::from_secs(4))
            .connect(server)
            .await
            .expect("a session");
        eprintln!("{:#x}", client.session_id().0);
        let state = client.state_watcher().changed().await;
        eprintln!("{state:?}");
    });
}

/// Not a test, but the program of the clients below; as a test it does nothing.
#[test]
fn client() {
    match env::var(CLIENT) {
        Err(_) => return,
        Ok(server) if !server.is_empty() => return hold_a_session(&server),
        Ok(_) => eprintln!("ready"),
    }
    wait_in_every_way(Duration::from_secs(20));
    // Now lesson time is far ahead of the kernel's.
    wait_in_every_way(Duration::from_millis(200));
}

/// Starts a client; what it says comes through the channel.
fn start_client(lab: &Lab, server: &str) -> (Process, mpsc::Receiver<String>) {
    let mut child = Command::new(env::current_exe().expect("this binary"))
        .args(["--exact", "clock::client", "--nocapture"])
        .env(CLIENT, server)
        .envs(lab.clock.env(None))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a client");
    let stderr = child.stderr.take().expect("a pipe");
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        BufReader::new(stderr).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    (Process(child), lines)
}

#[test]
fn a_zookeeper_client_pings_in_lesson_time() {
    let lab = Lab::new();
    let server = ZooKeeper::start(&lab);
    let (_client, lines) = start_client(&lab, &format!("127.0.0.1:{}", server.port));
    let session = lines.recv_timeout(Duration::from_secs(30)).expect("a session");
    // Its session of 4 s wants a ping every 0.6 s of lesson time, which is every 60 ms now.
    lab.run_at(10.0);
    thread::sleep(Duration::from_millis(1_500));
    lab.run_at(1.0);
    assert!(server.has(&session), "15 s of lesson time passed without a ping");
    let said: Vec<_> = lines.try_iter().collect();
    assert!(said.is_empty(), "{said:?}");
}

#[test]
fn a_client_waits_in_lesson_time() {
    let lab = Lab::new();
    let (mut client, lines) = start_client(&lab, "");
    let line = |span| lines.recv_timeout(span).ok();
    let four = |what: &str| {
        let mut names: Vec<_> =
            (0..4).map(|_| line(Duration::from_secs(5)).unwrap_or_else(|| panic!("{what}"))).collect();
        names.sort();
        assert_eq!(names, ["condvar", "park", "sleep", "tokio"], "{what}");
    };

    assert_eq!(line(Duration::from_secs(30)).as_deref(), Some("ready"));
    lab.pause();
    // Behind the kernel's time by now, a deadline of lesson time would long have passed.
    let ticks = client.ticks_during(Duration::from_secs(2));
    assert!(ticks <= 3, "{ticks} ticks of processor time in a pause");
    let ended: Vec<_> = lines.try_iter().collect();
    assert!(ended.is_empty(), "nothing may end in a pause: {ended:#?}");
    let start = Instant::now();
    lab.jump(30);
    lab.run_at(1.0);
    four("a wait did not notice the jump");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    four("a wait begun after the jump did not end");
    assert!(client.0.wait().expect("its end").success());
}
