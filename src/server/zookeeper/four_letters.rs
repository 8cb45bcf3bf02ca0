//! ZooKeeper's four-letter commands and parsers for their answers. They are the server's own view of sessions,
//! ephemeral nodes and watches.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::log::Role;

/// Sends one command over a connection of its own; the server answers and closes. The caller sets the timeout.
pub(crate) async fn ask(server: SocketAddr, command: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(server).await?;
    stream.write_all(command.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Parses `wchp`: each watched path, and the sessions that watch it, sorted. Paths that do not exist are listed, too.
pub(crate) fn read_wchp(answer: &str) -> BTreeMap<String, Vec<i64>> {
    let mut watched = BTreeMap::new();
    for (path, sessions) in blocks(answer, |line| line.starts_with('/').then(|| line.to_owned())) {
        let mut sessions: Vec<_> = sessions.into_iter().filter_map(read_session).collect();
        sessions.sort_unstable();
        watched.insert(path, sessions);
    }
    watched
}

/// Parses the second half of `dump`: each ephemeral node and the session that owns it.
pub(crate) fn read_dump(answer: &str) -> BTreeMap<String, i64> {
    let mut owners = BTreeMap::new();
    for (session, paths) in blocks(answer, read_session) {
        owners.extend(
            paths.into_iter().filter(|path| path.starts_with('/')).map(|path| (path.to_owned(), session)),
        );
    }
    owners
}

/// Parses one metric of `mntr`: `zk_packets_sent<tab>1234`. Fractions are cut off.
pub(crate) fn read_mntr(answer: &str, name: &str) -> Option<i64> {
    let (_, value) = answer.lines().filter_map(|line| line.split_once('\t')).find(|(key, _)| *key == name)?;
    let value = value.trim();
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    if fraction.bytes().all(|digit| digit.is_ascii_digit()) { whole.parse().ok() } else { None }
}

/// Parses the role and the last transaction of an ensemble member from `srvr`. `None` while it serves no client.
pub(crate) fn read_srvr(answer: &str) -> Option<(Role, i64)> {
    let field = |name: &str| answer.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let role = match field("Mode:")? {
        "leader" => Role::Leader,
        "follower" => Role::Follower,
        _ => return None,
    };
    Some((role, read_session(field("Zxid:")?)?))
}

/// Parses `cons`: the connected sessions, sorted. The connection that asks has no session.
pub(crate) fn read_cons(answer: &str) -> Vec<i64> {
    let id = |line: &str| read_session(line.split_once("sid=")?.1.split([',', ')']).next()?);
    let mut sessions: Vec<_> = answer.lines().filter_map(id).filter(|session| *session != 0).collect();
    sessions.sort_unstable();
    sessions
}

/// Headings with the indented lines under them. An unindented line that is no heading ends a block.
fn blocks<T>(answer: &str, heading: impl Fn(&str) -> Option<T>) -> Vec<(T, Vec<&str>)> {
    let mut blocks: Vec<(T, Vec<&str>)> = Vec::new();
    let mut inside = false;
    for line in answer.lines() {
        // A path may contain anything but a newline, so only the indentation tells headings from items.
        match (line.strip_prefix('\t'), heading(line)) {
            (Some(item), _) => {
                if let (true, Some((_, items))) = (inside, blocks.last_mut()) {
                    items.push(item);
                }
            }
            (None, Some(head)) => {
                blocks.push((head, Vec::new()));
                inside = true;
            }
            (None, None) => inside = false,
        }
    }
    blocks
}

/// Parses a session as the server writes it: `0x10000dfb1230000`, possibly with a colon. Its highest bit may be set,
/// which makes it a negative number in ZooKeeper's own `long`.
fn read_session(text: &str) -> Option<i64> {
    let digits = text.trim().trim_end_matches(':').strip_prefix("0x")?;
    u64::from_str_radix(digits, 16).ok().map(u64::cast_signed)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn wchp_lists_watchers_by_path() {
        let answer =
            "/L/w-0000000001\n\t0x10000dfb1230002\n\t0x10000dfb1230001\n/absent\n\t0xf000000000000001\n\n";
        let watched = read_wchp(answer);
        assert_eq!(watched["/L/w-0000000001"], [0x0100_00df_b123_0001, 0x0100_00df_b123_0002]);
        assert_eq!(watched["/absent"], [0xf000_0000_0000_0001_u64.cast_signed()]);
        assert!(read_wchp("\n").is_empty());
    }

    #[test]
    fn dump_lists_ephemerals_by_session() {
        let answer = "SessionTracker dump:\nSession Sets (2)/(1):\n0 expire at Thu Jan 01 01:00:00 UTC 1970:\n\
                      1 expire at Thu Jan 01 01:00:01 UTC 1970:\n\t0x10000dfb1230000\n\
                      ephemeral nodes dump:\nSessions with Ephemerals (1):\n0x10000dfb1230000:\n\t/L/a\n\t/L/b c\n\
                      Connections dump:\nConnections Sets (2)/(1):\n0 expire at Thu Jan 01 01:00:00 UTC 1970:\n\
                      \tip: /127.0.0.1:4711 sessionId: 0x10000dfb1230000\n";
        let owners = read_dump(answer);
        assert_eq!(owners.len(), 2, "{owners:?}");
        assert_eq!(owners["/L/b c"], 0x0100_00df_b123_0000);
    }

    #[test]
    fn a_member_tells_its_role_its_transaction_and_who_is_connected() {
        let answer = "Zookeeper version: 3.8.0\nReceived: 9\nOutstanding: 0\nZxid: 0x100000003\nMode: follower\nNode count: 5\n";
        assert_eq!(read_srvr(answer), Some((Role::Follower, 0x1_0000_0003)));
        assert_eq!(read_srvr("This ZooKeeper instance is not currently serving requests\n"), None);
        let cons = " /127.0.0.1:4711[1](queued=0,recved=3,sent=3,sid=0x300000abc0001,lop=PING,est=17,to=10000)\n \
                    /127.0.0.1:4712[0](queued=0,recved=1,sent=0)\n";
        assert_eq!(read_cons(cons), [0x3_0000_0abc_0001]);
    }

    #[test]
    fn a_counter_is_found_by_its_whole_name() {
        let answer = "zk_version\t3.8.0-5a0, built on x\nzk_packets_sent\t43\nzk_avg_latency\t0.5\n";
        assert_eq!(read_mntr(answer, "zk_packets_sent"), Some(43));
        assert_eq!(read_mntr(answer, "zk_avg_latency"), Some(0));
        assert_eq!(read_mntr(answer, "zk_packets"), None);
        assert_eq!(read_mntr(answer, "zk_version"), None);
    }

    proptest! {
        #[test]
        fn any_answer_can_be_read(answer in "(\\PC|[\\n\\t/:])*") {
            read_wchp(&answer);
            read_dump(&answer);
            read_mntr(&answer, "zk_packets_sent");
        }

        #[test]
        fn what_wchp_lists_is_read(watched in proptest::collection::btree_map("/[a-z /]{0,9}", proptest::collection::btree_set(any::<i64>(), 1..5), 0..5)) {
            let mut answer = String::new();
            for (path, sessions) in &watched {
                answer.push_str(path);
                answer.push('\n');
                for session in sessions {
                    writeln!(answer, "\t0x{session:x}").unwrap();
                }
            }
            let expected: BTreeMap<_, Vec<_>> =
                watched.into_iter().map(|(path, sessions)| (path, sessions.into_iter().collect())).collect();
            prop_assert_eq!(read_wchp(&answer), expected);
        }
    }
}
