//! What the commands of a lesson can reach: only the keys on the servers of its own lab.

use std::{
    fmt::Write as _,
    io::{Read, Write},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    time::Duration,
};

use lockstep::{
    lab::{Endpoint, Lab, LabOptions, LinkAddress},
    lesson::{LabKind, library},
};
use redis::{
    Client, Connection, ConnectionAddr, ConnectionLike, IntoConnectionInfo, RedisConnectionInfo, Value,
};

use crate::{
    place::{LOCKSTEP, Place},
    texts::HEAD,
};

/// Longer than anything here takes, so that a failure does not become a hang.
const SOON: Duration = Duration::from_mins(1);

/// A lesson whose `SETUP`, `OPERATION` and `MORE` are replaced by tests.
const LESSON: &str = "lab: redis
params: { command: GET, parameter: hz }
setup:
  - redis: SETUP
clients:
  A: { runs: worker }
programs:
  worker:
    - OPERATION
variants:
  only:
    title: { en: Only, zh: 唯一 }
    expect: shown
    lesson: { en: Tried, zh: 试 }
    claims:
      - that: value('k')|int == 1
story:
  - finish: A
MORE
";

fn lesson(setup: &str, operation: &str, more: &str) -> String {
    [HEAD, LESSON].concat().replace("SETUP", setup).replace("OPERATION", operation).replace("MORE", more)
}

fn command(command: &str) -> String {
    lesson("SET k 1", &format!("ask: {{ redis: '{command}' }}"), "")
}

/// The line of a text, from 1.
fn line_of(text: &str, needle: &str) -> usize {
    let at = text.find(needle).expect("it is there");
    text[..at].matches('\n').count() + 1
}

/// Commands that reach beyond the lab's keys, and a part of the reason for their refusal.
const HOSTILE: &[(&str, &str)] = &[
    ("CONFIG SET bind 0.0.0.0", "`bind`"),
    ("CONFIG SET port 6399", "`port`"),
    ("CONFIG SET protected-mode no", "`protected-mode`"),
    ("config set maxmemory 0 unixsocket /tmp/s", "`unixsocket`"),
    ("CONFIG SET dir /", "`dir`"),
    ("CONFIG SET save 1", "`save`"),
    ("CONFIG SET requirepass x", "`requirepass`"),
    ("CONFIG SET ${client} 1", "known only when"),
    ("CONFIG REWRITE", "CONFIG REWRITE"),
    ("MIGRATE 127.0.0.1 6379 k 0 100 COPY REPLACE", "outside the lab"),
    ("REPLICAOF 127.0.0.1 6379", "joins servers"),
    ("SLAVEOF 127.0.0.1 6379", "joins servers"),
    ("FAILOVER", "joins servers"),
    ("PSYNC ? -1", "joins servers"),
    ("CLUSTER MEET 127.0.0.1 6379", "joins servers"),
    ("bgsave", "starts a process"),
    ("BGREWRITEAOF", "starts a process"),
    ("SCRIPT DEBUG YES", "starts a process"),
    ("MODULE LOAD /tmp/m.so", "the server itself"),
    ("DEBUG SLEEP 1", "the server itself"),
    ("SHUTDOWN NOSAVE", "starts and ends"),
    ("ACL SETUSER default on", "who the client is"),
    ("AUTH lockstep x", "who the client is"),
    ("HELLO 3 AUTH lockstep x", "who the client is"),
    ("HELLO 3 SETNAME SETNAME AUTH lockstep x", "who the client is"),
    ("RESET", "who the client is"),
    ("MONITOR", "MONITOR"),
    ("CLIENT REPLY OFF", "no move would be"),
    ("${token} k", "known only when"),
    ("${command[0:0]}BGSAVE", "starts a process"),
    ("NEWCOMMAND k", "unknown Redis command"),
];

#[test]
fn commands_that_reach_beyond_the_keys_are_refused_where_they_stand() {
    let place = Place::new();
    for (hostile, why) in HOSTILE {
        let mut texts = vec![
            command(hostile),
            lesson("SET k 1", &format!("if: true\n      then:\n        - ask: {{ redis: '{hostile}' }}"), ""),
            lesson(
                "SET k 1",
                &format!(
                    "begin: {{ redis: MULTI }}\n    - ask: {{ redis: '{hostile}' }}\n    - end: {{ redis: EXEC }}"
                ),
                "",
            ),
        ];
        if !hostile.contains("${token}") && !hostile.contains("${client}") {
            texts.push(lesson(hostile, "ask: { redis: GET k }", ""));
        }
        for text in texts {
            place.write("stranger.yaml", &text);
            let line = line_of(&text, hostile);
            // Every way to open a lesson plans it in one place: the quickest is tested for each command, every one for
            // one command.
            let answer = place.run(&["check", "stranger.yaml"]);
            assert_eq!(answer.code, Some(2), "{hostile}\n{}{}", answer.out, answer.err);
            let said = format!("{}{}", answer.out, answer.err);
            assert!(said.contains(&format!("stranger.yaml:{line}:")), "{line}: {said}");
            assert!(said.contains(why), "{why}: {said}");
        }
        let answer = place.run(&["run", "stranger.yaml"]);
        assert_eq!(answer.code, Some(2), "{hostile}\n{}", answer.err);
        assert!(answer.err.contains("stranger.yaml:") && answer.err.contains(why), "{}", answer.err);
    }
    place.assert_nothing_left();
}

#[test]
fn every_way_to_a_lab_refuses_them() {
    let place = Place::new();
    place.write("stranger.yaml", command("BGSAVE"));
    for way in ["check", "run", "play", "race", "explore", "export", "compare"] {
        let answer = place.run(&[way, "stranger.yaml"]);
        assert_eq!(answer.code, Some(2), "{way}: {}{}", answer.out, answer.err);
        let said = format!("{}{}", answer.out, answer.err);
        assert!(said.contains("stranger.yaml:") && said.contains("`BGSAVE`"), "{way}: {said}");
    }
    place.assert_nothing_left();
}

#[test]
fn a_recipe_beside_the_lesson_is_looked_at_too() {
    let place = Place::new();
    let recipe = |command: &str| {
        format!(
            "format: 1\nprograms:\n  odd:\n    about: {{ en: Odd, zh: 怪 }}\n    params: [what]\n    steps:\n      - do: \
             {{ redis: '{command}' }}\n"
        )
    };
    place.write("stranger.yaml", lesson("SET k 1", "use: odd\n      with: { what: SHUTDOWN }", ""));
    for (command, why) in [("MIGRATE ${what} 1 k 0 1", "outside the lab"), ("${what}", "`SHUTDOWN`")] {
        place.write("recipes.yaml", recipe(command));
        let answer = place.run(&["run", "stranger.yaml"]);
        assert_eq!(answer.code, Some(2), "{}", answer.err);
        assert!(answer.err.contains("recipes.yaml:7:"), "{}", answer.err);
        assert!(answer.err.contains(why), "{}", answer.err);
    }
    place.write("recipes.yaml", recipe("ECHO ${what}"));
    let answer = place.run(&["run", "stranger.yaml"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
}

#[test]
fn a_parameter_may_be_a_command_as_long_as_it_is_a_harmless_one() {
    let place = Place::new();
    place.write("stranger.yaml", command("${command} k"));
    assert_eq!(place.run(&["run", "stranger.yaml"]).code, Some(0));
    let answer = place.run(&["run", "stranger.yaml", "--set", "command=DEBUG"]);
    assert_eq!(answer.code, Some(2), "{}", answer.err);
    assert!(answer.err.contains("stranger.yaml:") && answer.err.contains("`DEBUG`"), "{}", answer.err);
    place.write("stranger.yaml", command("CONFIG SET ${parameter} 20"));
    assert_eq!(place.run(&["run", "stranger.yaml"]).code, Some(0));
    let answer = place.run(&["run", "stranger.yaml", "--set", "parameter=dir"]);
    assert_eq!(answer.code, Some(2), "{}", answer.err);
    // A value that the program assigns is no longer the parameter.
    let changed = "let: { command: \"'BGSAVE'\" }\n    - ask: { redis: '${command}' }";
    place.write("stranger.yaml", lesson("SET k 1", changed, ""));
    let answer = place.run(&["check", "stranger.yaml"]);
    assert_eq!(answer.code, Some(2), "{}", answer.out);
}

#[test]
fn what_a_lock_needs_goes_on_working() {
    let commands = [
        "HELLO 3 SETNAME a",
        "SAVE",
        "CONFIG SET min-replicas-to-write 0 min-replicas-max-lag 5",
        "CONFIG SET appendonly no maxmemory 50mb",
        "config get maxmemory",
        "CLIENT SETNAME me",
        "CLIENT LIST",
        "INFO replication",
        "TIME",
        "ROLE",
        "WAIT 0 0",
        "OBJECT ENCODING k",
        "MEMORY USAGE k",
        "MEMORY STATS",
        "SLOWLOG GET",
        "SCRIPT LOAD \"return 1\"",
        "EVAL \"return redis.call(''GET'', KEYS[1])\" 1 k",
        "FUNCTION FLUSH",
        "PUBLISH c m",
        "XADD s * a b",
        "GEOADD g 1 1 a",
        "PFADD h a",
        "SETBIT b 1 1",
        "COPY k l",
        "SWAPDB 0 1",
        "SWAPDB 0 1",
        "SELECT 0",
        "FLUSHALL",
        "SET k 1",
    ];
    let mut operations = String::new();
    for (n, command) in commands.iter().enumerate() {
        let dash = if n == 0 { "" } else { "    - " };
        // Writing to a string cannot fail.
        let _ = writeln!(operations, "{dash}m{n}: {{ redis: '{command}' }}");
    }
    let place = Place::new();
    place.write("stranger.yaml", lesson("CONFIG SET appendonly no", operations.trim_end(), ""));
    let answer = place.run(&["run", "stranger.yaml"]);
    assert_eq!(answer.code, Some(0), "{}\n{}", answer.out, answer.err);
}

/// A Redis on this machine that does not belong to Lockstep.
struct Other {
    child: Child,
    port: u16,
}

impl Other {
    fn start(place: &Place) -> Self {
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"])
            .arg(place.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server starts");
        let mut other = Self { child, port };
        let mut connection = other.connect();
        let done: String = redis::cmd("SET").arg(&["k", "mine"]).query(&mut connection).expect("it is set");
        assert_eq!(done, "OK");
        other
    }

    fn connect(&mut self) -> Connection {
        let deadline = std::time::Instant::now() + SOON;
        let client = Client::open(format!("redis://127.0.0.1:{}", self.port)).expect("an address");
        loop {
            if let Ok(connection) = client.get_connection() {
                return connection;
            }
            assert!(std::time::Instant::now() < deadline, "it never listened");
            assert!(self.child.try_wait().is_ok_and(|ended| ended.is_none()), "it ended");
            // The interval of polling for the connection.
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_script_cannot_do_what_a_command_may_not() {
    let place = Place::new();
    let mut other = Other::start(&place);
    let call =
        format!("\"return redis.call('MIGRATE', '127.0.0.1', {}, 'k', 0, 1000, 'REPLACE')\"", other.port);
    let ways = [
        lesson("SET k 1", &format!("ask:\n        redis: >-\n          EVAL {call} 0"), ""),
        lesson(
            "SET k 1",
            "ask: { script: odd }",
            &format!("scripts:\n  odd: |\n    {}\n", call.trim_matches('"')),
        ),
        lesson(&format!(">-\n      EVAL {call} 0"), "ask: { redis: GET k }", ""),
        lesson(
            "SET k 1",
            &format!(
                "load:\n        redis: >-\n          FUNCTION LOAD \"#!lua name=odd\n\n          \
                 redis.register_function('odd', function() {} end)\"\n    - ask: {{ redis: FCALL odd 0 }}",
                call.trim_matches('"')
            ),
            "",
        ),
    ];
    for text in ways {
        place.write("stranger.yaml", &text);
        let answer = place.run(&["run", "stranger.yaml"]);
        assert_eq!(answer.code, Some(2), "{text}\n{}", answer.err);
        assert!(answer.err.contains("stranger.yaml:"), "{}", answer.err);
        assert!(
            ["can't run this command", "no permissions", "a lesson may not send"]
                .iter()
                .any(|why| answer.err.contains(why)),
            "{text}\n{}",
            answer.err
        );
    }
    let mut connection = other.connect();
    let kept: String = redis::cmd("GET").arg("k").query(&mut connection).expect("a reply");
    assert_eq!(kept, "mine");
}

async fn lab(kind: LabKind) -> Lab {
    let options = LabOptions::with_binary(LOCKSTEP.into());
    Lab::start(kind, &options).await.expect("the lab starts")
}

/// A connection to a server's own socket, as another program or a client of a lesson would open it.
fn connect(lab: &Lab, server: &str, settings: RedisConnectionInfo) -> Connection {
    let Some(Endpoint::Unix(socket)) = lab.endpoint(server) else { panic!("Redis is on a Unix socket") };
    let place = ConnectionAddr::Unix(socket.clone())
        .into_connection_info()
        .expect("a place")
        .set_redis_settings(settings);
    let client = Client::open(place).expect("a client");
    client.get_connection().expect("a connection")
}

fn as_a_lesson(lab: &Lab, server: &str) -> Connection {
    let settings = match lab.password() {
        Some(password) => RedisConnectionInfo::default().set_password(password),
        None => RedisConnectionInfo::default(),
    };
    connect(lab, server, settings)
}

/// A connection of a user who has read the file with the run's secret.
fn as_keeper(lab: &Lab, server: &str) -> Connection {
    let secret = std::fs::read_to_string(lab.directory().join("secret")).expect("the secret");
    let settings = RedisConnectionInfo::default().set_username("lockstep").set_password(secret);
    connect(lab, server, settings)
}

fn ask(connection: &mut Connection, words: &[&str]) -> Result<Value, String> {
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]);
    let answer = connection.req_command(&command).and_then(Value::extract_error);
    answer.map_err(|error| error.to_string())
}

fn parts(value: Value) -> Vec<Value> {
    match value {
        Value::Array(parts) | Value::Set(parts) => parts,
        other => vec![other],
    }
}

/// The commands and subcommands, each with its minimum number of words.
fn commands(described: Vec<Value>, found: &mut Vec<(String, usize)>) {
    for command in described {
        let mut fields = parts(command);
        let text = |value: &Value| redis::from_redis_value_ref::<String>(value).expect("a name");
        let arity: i64 = redis::from_redis_value_ref(&fields[1]).expect("a number");
        let subs = parts(fields.pop().expect("sub-commands"));
        if subs.is_empty() {
            let words = usize::try_from(arity.abs()).expect("small");
            found.push((text(&fields[0]), words));
        }
        commands(subs, found);
    }
}

#[tokio::test]
async fn the_plan_and_the_servers_refuse_the_same_commands() {
    let lab = lab(LabKind::Redis).await;
    let mut keeper = as_keeper(&lab, "redis");
    let mut found = Vec::new();
    commands(parts(ask(&mut keeper, &["COMMAND"]).expect("a list")), &mut found);
    assert!(found.len() > 300, "{}", found.len());
    let mut differ = Vec::new();
    for (name, arity) in found {
        let mut words: Vec<&str> = name.split('|').collect();
        // Commands that run scripts and functions state the number of keys that follow: one.
        let runs_script = ["eval", "evalsha", "fcall"].iter().any(|script| name.starts_with(script));
        while words.len() < arity.max(if name == "config|set" || runs_script { 4 } else { 0 }) {
            words.push(match words.len() {
                1 if runs_script => "return",
                2 if name == "config|set" => "hz",
                _ => "1",
            });
        }
        let dry = [&["ACL", "DRYRUN", "default"], &words[..]].concat();
        let said = ask(&mut keeper, &dry).unwrap_or_else(|error| panic!("{name}: {error}"));
        let server = said == Value::Okay;
        let loaded = library::from_text("stranger.yaml", &command(&words.join(" "))).expect("a lesson");
        // Other errors, about words that the command does not know, do not count as a refusal.
        let plan = loaded.check().err().is_none_or(|error| !error.to_string().contains("may not send"));
        if plan != server {
            differ.push((name, plan, server));
        }
    }
    // No ACL can refuse the first two, but every client is `default` already. The clients of a cluster send the third
    // by themselves.
    differ.retain(|(name, plan, _)| *plan || !["auth", "reset", "asking"].contains(&name.as_str()));
    assert_eq!(differ, Vec::<(String, bool, bool)>::new(), "(command, plan, server)");
    lab.shutdown().await;
}

#[tokio::test]
async fn whoever_becomes_somebody_else_gains_nothing() {
    let lab = lab(LabKind::Redis).await;
    let mut stranger = as_a_lesson(&lab, "redis");
    ask(&mut stranger, &["RESET"]).expect("no ACL refuses RESET");
    ask(&mut stranger, &["AUTH", "default", "anything"]).expect("default has no password here");
    for words in [
        &["BGSAVE"][..],
        &["CONFIG", "REWRITE"],
        &["SHUTDOWN"],
        &["PFDEBUG", "GETREG", "k"],
        &["ACL", "LIST"],
        &["REPLICAOF", "127.0.0.1", "1"],
        &["EVAL", "return redis.call('MIGRATE','h',1,'k',0,1)", "0"],
        &["EVAL", "return redis.call('CONFIG','SET','bind','0.0.0.0')", "0"],
        &["EVAL", "return redis.call('ACL','WHOAMI')", "0"],
    ] {
        let error = ask(&mut stranger, words).expect_err("refused");
        let known = ["no permissions", "can't run this command", "not allowed from script"];
        assert!(known.iter().any(|known| error.contains(known)), "{words:?}: {error}");
    }
    let wrong = ask(&mut stranger, &["AUTH", "lockstep", "guess"]).expect_err("not the secret");
    assert!(wrong.contains("WRONGPASS") || wrong.contains("invalid"), "{wrong}");
    ask(&mut as_keeper(&lab, "redis"), &["ACL", "WHOAMI"]).expect("who knows the secret may do everything");
    lab.shutdown().await;
}

/// The TCP addresses that a process listens on.
fn listens_on(pid: u32) -> Vec<SocketAddr> {
    let sockets: Vec<String> = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .expect("a process of ours")
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .filter_map(|link| {
            let link = link.to_string_lossy().into_owned();
            Some(link.strip_prefix("socket:[")?.trim_end_matches(']').to_owned())
        })
        .collect();
    let mut found = Vec::new();
    for table in ["tcp", "tcp6"] {
        let text = std::fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            // 0A is LISTEN (`include/net/tcp_states.h`).
            if fields[3] == "0A" && sockets.iter().any(|socket| socket == fields[9]) {
                let (address, port) = fields[1].split_once(':').expect("ADDRESS:PORT");
                let port = u16::from_str_radix(port, 16).expect("a port");
                // Words of four bytes in native byte order.
                let bytes: Vec<u8> = (0..address.len() / 8)
                    .flat_map(|n| {
                        let word = u32::from_str_radix(&address[8 * n..8 * n + 8], 16);
                        word.expect("a word").to_ne_bytes()
                    })
                    .collect();
                let address: IpAddr = match <[u8; 4]>::try_from(bytes.as_slice()) {
                    Ok(four) => four.into(),
                    Err(_) => <[u8; 16]>::try_from(bytes.as_slice()).expect("IPv6").into(),
                };
                found.push(SocketAddr::new(address, port));
            }
        }
    }
    found
}

/// The answer of a port to a client without the secret.
fn asked(address: SocketAddr, question: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(SOON)).expect("a timeout");
    stream.write_all(question.as_bytes()).expect("it reads");
    let mut answer = [0; 512];
    let length = stream.read(&mut answer).expect("it answers");
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_listens_off_loopback_and_redis_ports_want_the_secret() {
    let lab = lab(LabKind::Sentinel).await;
    let secret = lab.password().expect("it has ports").to_owned();
    let names = LabKind::Sentinel.servers().iter().chain(LabKind::Sentinel.sentinels());
    for name in names {
        let pid = lab.process(name).expect("it runs").pid();
        let ports = listens_on(pid);
        assert_eq!(ports.len(), 1, "{name}: {ports:?}");
        for address in ports {
            assert!(address.ip().is_loopback(), "{name}: {address}");
            let known =
                if name.starts_with("sentinel") { "SENTINEL MASTERS\r\n" } else { "REPLICAOF NO ONE\r\n" };
            for question in ["PING\r\n", "INFO\r\n", known] {
                let answer = asked(address, question);
                assert!(answer.starts_with("-NOAUTH"), "{name}: {question}: {answer}");
            }
            let answer = asked(address, &format!("AUTH {secret}\r\n"));
            assert!(answer.starts_with("+OK"), "{name}: {answer}");
        }
        // All users can read command lines; environments can be read only by the same user, but do not need the secret
        // either.
        for file in ["cmdline", "environ"] {
            let text = std::fs::read(format!("/proc/{pid}/{file}")).expect("a process of ours");
            assert!(!String::from_utf8_lossy(&text).contains(&secret), "{name}: {file}");
        }
    }
    for info in lab.servers() {
        assert_eq!(info.password.as_deref(), Some(secret.as_str()), "the screen can show it");
        let written = serde_json::to_string(&info).expect("JSON");
        assert!(!written.contains(&secret), "it is never written down: {written}");
        // A witness with only what the screen shows.
        ask(&mut as_a_lesson(&lab, &info.name), &["PTTL", "lock"]).expect("an answer");
    }
    // Sentinels trust messages on this channel, and would follow them out of the lab.
    let mut stranger = as_a_lesson(&lab, "node1");
    for words in [
        &["PUBLISH", "__sentinel__:hello", "x"][..],
        &["EVAL", "return redis.call('PUBLISH', '__sentinel__:hello', 'x')", "0"],
        &["SUBSCRIBE", "__sentinel__:hello"],
    ] {
        let error = ask(&mut stranger, words).expect_err("refused");
        assert!(error.contains("permissions") || error.contains("channel"), "{words:?}: {error}");
    }
    ask(&mut stranger, &["PUBLISH", "news", "x"]).expect("other channels are free");
    lab.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn labs_without_ports_have_none_even_after_hostile_commands() {
    let mut lab = lab(LabKind::Masters).await;
    for name in LabKind::Masters.servers() {
        let mut stranger = as_a_lesson(&lab, name);
        // The server itself would accept the setting; for commands the plan refuses it, and for scripts the ACL does.
        ask(&mut stranger, &["EVAL", "return redis.pcall('CONFIG', 'SET', 'port', '1')", "0"])
            .expect_err("refused");
        let ports = listens_on(lab.process(name).expect("it runs").pid());
        assert_eq!(ports, Vec::new(), "{name}");
        let LinkAddress::Unix(link) = lab.link("A", name).await.expect("a link") else {
            panic!("links to sockets are sockets")
        };
        assert!(link.starts_with(lab.directory()), "{}", link.display());
    }
    lab.shutdown().await;
}
