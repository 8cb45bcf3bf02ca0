//! How real servers and clients behave on the lesson clock. Each test starts its own processes, in a directory of its
//! own, and ends them. Tests sleep in real time only where its passing is what is tested.

#![allow(clippy::print_stderr, reason = "what a child tells the test")]

use lockstep::clock::{LessonClock, Rate, Slot};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
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
        let clock = LessonClock::with_library_in(dir.path(), dir.path()).expect("a controlled clock");
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

    /// The fields of `/proc/PID/stat` from the state on.
    fn stat(&self) -> Vec<String> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).expect("a living process");
        // The name, in brackets, may contain anything.
        let fields = stat.rsplit(')').next().expect("a name");
        fields.split_whitespace().map(ToOwned::to_owned).collect()
    }

    /// Processor time used so far, in ticks of 10 ms.
    fn ticks(&self) -> u64 {
        let fields = self.stat();
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

/// Polls until there is an answer, and quotes the log if there is none.
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
    // Redis reports whole milliseconds.
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
    // And not only on request: Redis' own timer notices the jump, and expires a key that no client touches.
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
    assert!(took > Duration::from_millis(250) && took < Duration::from_secs(10), "{took:?}");
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
        // `ruok` answers before the server accepts sessions.
        until("ZooKeeper", &log, || server.word("srvr")?.contains("Mode:").then_some(()));
        server
    }

    fn connect(&self) -> Option<TcpStream> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).ok()?;
        // A server that is still starting may accept and never answer.
        stream.set_read_timeout(Some(Duration::from_millis(500))).ok()?;
        Some(stream)
    }

    /// Sends one of its four-letter words and returns the answer.
    fn word(&self, word: &str) -> Option<String> {
        let mut stream = self.connect()?;
        stream.write_all(word.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    /// Opens a session whose client then stays silent: only the server's clock can end it.
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
    assert!(start.elapsed() < Duration::from_secs(4), "{:?} after the jump", start.elapsed());
}

// ---------------------------------------------------------------------------------------------------------
// Clients: this binary, run again, and a program that waits as programs in other languages do
// ---------------------------------------------------------------------------------------------------------

const CLIENT: &str = "LOCKSTEP_TEST_CLIENT";

/// The name of a way to wait, and the function.
type Wait = (&'static str, fn(Duration));

/// Waits in every way that Rust programs can, for `span` each.
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

/// Keeps a session alive only by the client's pings.
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

/// Not a test but the program of the clients below; as a test it does nothing.
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
    wait_in_every_way(Duration::from_secs(10));
}

/// This binary as a client of a server, or as one that only waits.
fn rust_client(server: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("this binary"));
    command.args(["--exact", "clock::client", "--nocapture"]).env(CLIENT, server);
    command
}

/// Builds the program `waits`, with the C compiler that also links Rust programs.
fn waits(lab: &Lab) -> PathBuf {
    let (source, program) = (lab.dir.path().join("waits.c"), lab.dir.path().join("waits"));
    fs::write(&source, include_str!("waits.c")).expect("a source file");
    let mut cc = Command::new("cc");
    cc.arg("-pthread").arg(&source).arg("-o").arg(&program);
    assert!(cc.status().expect("a C compiler").success(), "{cc:?}");
    program
}

/// Starts a client; its output arrives through the channel.
fn start_client(lab: &Lab, slot: Option<&Slot>, command: &mut Command) -> (Process, mpsc::Receiver<String>) {
    let mut child = command
        .envs(lab.clock.env(slot))
        .stdin(Stdio::piped())
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
    let mut command = rust_client(&format!("127.0.0.1:{}", server.port));
    let (_client, lines) = start_client(&lab, None, &mut command);
    let session = lines.recv_timeout(Duration::from_secs(30)).expect("a session");
    // Its session of 4 s needs a ping every 0.6 s of lesson time, which is every 60 ms now.
    lab.run_at(10.0);
    thread::sleep(Duration::from_millis(1_500));
    lab.run_at(1.0);
    assert!(server.has(&session), "15 s of lesson time passed without a ping");
    let said: Vec<_> = lines.try_iter().collect();
    assert!(said.is_empty(), "{said:?}");
}

#[test]
fn a_client_waits_in_lesson_time() {
    let expected = ["condvar", "park", "sleep", "tokio"];
    waits_in_lesson_time(&Lab::new(), &mut rust_client(""), &expected);
}

#[test]
fn other_programs_wait_in_lesson_time() {
    let lab = Lab::new();
    let mut command = Command::new(waits(&lab));
    command.args(["20", "1", "10"]);
    let mut expected: Vec<_> = WAITS.iter().map(|(name, ..)| *name).chain(UNINTERRUPTED).collect();
    expected.sort_unstable();
    waits_in_lesson_time(&lab, &mut command, &expected);
}

/// Starts a program that waits in all of these ways for 20 s, again for at most 1 s, and again for 10 s. Its calendar
/// is an hour ahead.
fn waits_in_lesson_time(lab: &Lab, command: &mut Command, expected: &[&str]) {
    let slot = lab.clock.allocate_slot().expect("a slot");
    lab.clock.skew(&slot, 3_600_000_000_000).expect("a skew");
    let (mut client, lines) = start_client(lab, Some(&slot), command);
    let line = |span| lines.recv_timeout(span).ok();
    let all = |what: &str| {
        let mut names: Vec<_> = expected.iter().map_while(|_| line(Duration::from_secs(5))).collect();
        names.sort();
        assert_eq!(names, expected, "{what}");
    };

    assert_eq!(line(Duration::from_secs(30)).as_deref(), Some("ready"));
    lab.pause();
    // Lesson time is behind the kernel's by now, so a deadline of lesson time would have passed long ago for the
    // kernel.
    let ticks = client.ticks_during(Duration::from_secs(2));
    assert!(ticks <= 3, "{ticks} ticks of processor time in a pause");
    let ended: Vec<_> = lines.try_iter().collect();
    assert!(ended.is_empty(), "nothing may end in a pause: {ended:#?}");
    let start = Instant::now();
    lab.jump(30);
    lab.run_at(1.0);
    all("a wait did not notice the jump");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    all("a wait begun after the jump did not end");
    let start = Instant::now();
    lab.run_at(10.0);
    all("a wait at tenfold speed did not end");
    let took = start.elapsed();
    assert!(
        took > Duration::from_millis(900) && took < Duration::from_secs(8),
        "{took:?} for 10 s at tenfold speed"
    );
    assert!(client.0.wait().expect("its end").success());
}

/// The ways in which `waits` waits, with its output when a signal interrupts its 20 s after 5 s, and when the awaited
/// event comes then: the result, milliseconds left and files ready (-1: not reported).
const WAITS: [(&str, &str, Option<&str>); 13] = [
    ("epoll_pwait2", "-1, interrupted, left -1, ready 0", Some("1, left -1, ready 1")),
    ("nanosleep", "-1, interrupted, left 15000, ready -1", None),
    ("poll", "-1, interrupted, left -1, ready 0", Some("1, left -1, ready 1")),
    ("ppoll", "-1, interrupted, left 20000, ready 0", Some("1, left 20000, ready 1")),
    ("pselect", "-1, interrupted, left 20000, ready 3", Some("1, left 20000, ready 1")),
    ("select", "-1, interrupted, left 15000, ready 3", Some("1, left 15000, ready 1")),
    ("sem_clockwait", "-1, interrupted, left -1, ready -1", Some("0, left -1, ready -1")),
    ("sem_timedwait", "-1, interrupted, left -1, ready -1", Some("0, left -1, ready -1")),
    ("semtimedop", "-1, interrupted, left -1, ready -1", None),
    ("sigtimedwait", "-1, interrupted, left -1, ready -1", None),
    ("sleep", "15, left -1, ready -1", None),
    ("thrd_sleep", "-1, interrupted, left 15000, ready -1", None),
    ("usleep", "-1, interrupted, left -1, ready -1", None),
];

/// The other ways in which `waits` waits: a signal does not end most of them.
const UNINTERRUPTED: [&str; 14] = [
    "aio_suspend",
    "cnd_timedwait",
    "futex",
    "mq_timedreceive",
    "mq_timedsend",
    "mtx_timedlock",
    "pthread_clockjoin_np",
    "pthread_mutex_clocklock",
    "pthread_mutex_timedlock",
    "pthread_rwlock_clockrdlock",
    "pthread_rwlock_clockwrlock",
    "pthread_rwlock_timedrdlock",
    "pthread_rwlock_timedwrlock",
    "pthread_timedjoin_np",
];

/// A MariaDB whose idle workers have ended needs a timer to start new ones, which does not fire while time stands still.
#[test]
fn an_idle_worker_of_a_servers_pool_stays_until_it_is_signalled() {
    let lab = Lab::new();
    let program = waits(&lab);
    lab.pause();
    let (mut process, lines) = start_client(&lab, None, Command::new(&program).arg("pthread_cond_clockwait"));
    let line = |span| lines.recv_timeout(span).ok();
    assert_eq!(line(Duration::from_secs(10)).as_deref(), Some("waiting"));
    assert_eq!(line(Duration::from_millis(300)), None, "it stays while time stands still");
    lab.jump(3_600);
    assert_eq!(line(Duration::from_millis(300)), None, "it stays after a jump");
    process.0.stdin.take().expect("a pipe").write_all(b"!").expect("a reader");
    assert_eq!(line(Duration::from_secs(10)).as_deref(), Some("0, left -1, ready -1"));
}

#[test]
fn a_wait_that_ends_early_answers_as_libc_does() {
    answers_as_libc_does(&Lab::new(), &[]);
}

#[test]
fn a_wait_of_a_users_program_that_ends_early_answers_as_libc_does() {
    let lab = Lab::new();
    let status = status(&lab);
    answers_as_libc_does(&lab, &[("LESSON_CLOCK_STATUS", &status), ("LESSON_CLOCK_SLEEPS", Path::new("1"))]);
}

/// A file in which the threads of a user's program publish what they wait for.
fn status(lab: &Lab) -> PathBuf {
    let status = lab.dir.path().join("status");
    fs::write(&status, vec![0; 64 << 10]).expect("a file");
    status
}

/// A pause costs a user's program nothing: its threads sleep until Lockstep wakes them.
#[test]
fn a_thread_of_a_users_program_sleeps_through_a_pause_and_is_woken() {
    let lab = Lab::new();
    let (program, status) = (waits(&lab), status(&lab));
    lab.pause();
    let asleep = WAITS.iter().map(|(name, ..)| *name).chain(["cnd_timedwait", "futex"]);
    let asleep = asleep.filter(|name| !["semtimedop", "sigtimedwait"].contains(name));
    let started: Vec<_> = asleep
        .map(|name| {
            let mut command = Command::new(&program);
            command.arg(name).env("LESSON_CLOCK_STATUS", &status).env("LESSON_CLOCK_SLEEPS", "1");
            let (process, lines) = start_client(&lab, None, &mut command);
            assert_eq!(lines.recv_timeout(Duration::from_secs(10)).as_deref(), Ok("waiting"), "{name}");
            until(name, lab.dir.path(), || (process.stat()[0] == "S").then_some(()));
            (name, process, lines)
        })
        .collect();
    let runs = |process: &Process| {
        let status = fs::read_to_string(format!("/proc/{}/status", process.0.id())).expect("it lives");
        let field = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        field.and_then(|count| count.trim().parse::<u64>().ok()).expect("a number")
    };
    let before: Vec<_> = started.iter().map(|(_, process, _)| runs(process)).collect();
    thread::sleep(Duration::from_secs(2));
    for ((name, process, lines), before) in started.iter().zip(before) {
        let runs = runs(process) - before;
        assert!(runs <= 5, "{name} ran {runs} times");
        kill_process(Pid::from_child(&process.0), Signal::URG).expect("a living process");
        let answer = lines.recv_timeout(Duration::from_millis(50));
        assert!(answer.is_err(), "{name} was woken before its time: {answer:?}");
    }
    lab.jump(30);
    for (name, process, lines) in started {
        let pid = Pid::from_child(&process.0);
        until(name, lab.dir.path(), || {
            // It may have been about to sleep.
            kill_process(pid, Signal::URG).expect("a living process");
            lines.recv_timeout(Duration::from_millis(20)).ok()
        });
    }
}

fn answers_as_libc_does(lab: &Lab, env: &[(&str, &Path)]) {
    let program = waits(lab);
    lab.pause();
    let start = |name| {
        let mut command = Command::new(&program);
        command.arg(name).envs(env.iter().copied());
        let (process, lines) = start_client(lab, None, &mut command);
        let line = lines.recv_timeout(Duration::from_secs(10));
        assert_eq!(line.as_deref(), Ok("waiting"), "{name}");
        until(name, lab.dir.path(), || (process.stat()[0] == "S").then_some(()));
        (process, lines)
    };
    let interrupted = WAITS.map(|(name, answer, _)| (name, answer, start(name)));
    let served: Vec<_> =
        WAITS.into_iter().filter_map(|(name, _, answer)| Some((name, answer?, start(name)))).collect();
    // So that no wait is in its first nap any more.
    thread::sleep(Duration::from_millis(150));
    lab.jump(5);
    for (name, expected, (process, lines)) in interrupted {
        let pid = Pid::from_child(&process.0);
        let answer = until(name, lab.dir.path(), || {
            // A signal between two naps interrupts nothing.
            kill_process(pid, Signal::USR1).expect("a living process");
            lines.recv_timeout(Duration::from_millis(20)).ok()
        });
        assert_eq!(answer, expected, "{name}, interrupted");
    }
    for (name, expected, (mut process, lines)) in served {
        let mut input = process.0.stdin.take().expect("a pipe");
        input.write_all(b"!").expect("a reader");
        let answer = lines.recv_timeout(Duration::from_secs(10));
        assert_eq!(answer.as_deref(), Ok(expected), "{name}");
    }
}
