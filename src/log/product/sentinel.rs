//! What Redis Sentinels publish: which servers they miss, whether they agree, for whom they vote, which server the
//! elected Sentinel makes the master.

use serde::{Deserialize, Serialize};

/// One message, named as Sentinel names it ("High availability with Redis Sentinel", Pub/Sub messages).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "notice")]
pub enum SentinelNotice {
    /// The server does not answer this Sentinel. That is one Sentinel's opinion, and nothing follows from it alone.
    #[serde(rename = "+sdown")]
    Misses { server: String },
    #[serde(rename = "-sdown")]
    Hears { server: String },
    /// `votes` Sentinels miss the master, and `quorum` are required.
    #[serde(rename = "+odown")]
    Agrees { server: String, votes: u32, quorum: u32 },
    /// It voted for the Sentinel that is to carry out the failover. It has one vote per epoch.
    #[serde(rename = "+vote-for-leader")]
    Votes { leader: String, epoch: u64 },
    /// It was elected, and carries out the failover.
    #[serde(rename = "+elected-leader")]
    Elected,
    /// The failover was aborted; `why` is Sentinel's word for the reason.
    #[serde(rename = "-failover-abort")]
    Aborts { why: String },
    #[serde(rename = "+selected-slave")]
    Selects { server: String },
    /// The replica that it ordered to become a master reports that it is one.
    #[serde(rename = "+promoted-slave")]
    Promotes { server: String },
    /// From now on it names this server to clients that ask for the master.
    #[serde(rename = "+switch-master")]
    Switches { server: String },
    /// It ordered the server to follow the new master.
    #[serde(rename = "+slave-reconf-sent")]
    Reconfigures { server: String },
    /// The old master, or another server that believes to be one, is ordered to become a replica.
    #[serde(rename = "+convert-to-slave")]
    Demotes { server: String },
}

/// The prefix of the channels that say why a failover was aborted.
const ABORT: &str = "-failover-abort-";

impl SentinelNotice {
    /// Parses a message by its channel. `name` maps a port to a server's name. Returns `None` for messages that are not
    /// listed here.
    pub(crate) fn read(channel: &str, message: &str, name: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let words: Vec<&str> = message.split(' ').collect();
        let word = |at: usize| words.get(at).copied();
        // "slave 127.0.0.1:6380 127.0.0.1 6380 @ …": its kind, its name, its host, its port.
        let server = || name(word(3)?);
        Some(match channel {
            "+sdown" => Self::Misses { server: server()? },
            "-sdown" => Self::Hears { server: server()? },
            "+odown" => {
                let (votes, quorum) = words.last()?.split_once('/')?;
                Self::Agrees { server: server()?, votes: votes.parse().ok()?, quorum: quorum.parse().ok()? }
            }
            "+vote-for-leader" => Self::Votes { leader: name(word(0)?)?, epoch: word(1)?.parse().ok()? },
            "+elected-leader" => Self::Elected,
            "+selected-slave" => Self::Selects { server: server()? },
            "+promoted-slave" => Self::Promotes { server: server()? },
            "+slave-reconf-sent" => Self::Reconfigures { server: server()? },
            "+convert-to-slave" => Self::Demotes { server: server()? },
            // "GROUP 127.0.0.1 6379 127.0.0.1 6380": the old address and the new one.
            "+switch-master" => Self::Switches { server: name(word(4)?)? },
            other => Self::Aborts { why: other.strip_prefix(ABORT)?.to_owned() },
        })
    }

    /// Whether two Sentinels publish the same fact with these messages.
    pub fn is_same_fact(&self, other: &Self) -> bool {
        match (self, other) {
            // The number of votes depends on which Sentinel was asked first.
            (Self::Agrees { server, .. }, Self::Agrees { server: same, .. }) => server == same,
            _ => self == other,
        }
    }

    /// Whether it is a decision about a server, not an opinion, a vote or an order.
    pub fn decides(&self) -> bool {
        matches!(self, Self::Agrees { .. } | Self::Selects { .. })
    }

    /// Sentinel's name for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Misses { .. } => "+sdown",
            Self::Hears { .. } => "-sdown",
            Self::Agrees { .. } => "+odown",
            Self::Votes { .. } => "+vote-for-leader",
            Self::Elected => "+elected-leader",
            Self::Aborts { .. } => "-failover-abort",
            Self::Selects { .. } => "+selected-slave",
            Self::Promotes { .. } => "+promoted-slave",
            Self::Switches { .. } => "+switch-master",
            Self::Reconfigures { .. } => "+slave-reconf-sent",
            Self::Demotes { .. } => "+convert-to-slave",
        }
    }

    /// The server that it is about; `None` if it is about Sentinels.
    pub fn server(&self) -> Option<&str> {
        match self {
            Self::Misses { server }
            | Self::Hears { server }
            | Self::Agrees { server, .. }
            | Self::Selects { server }
            | Self::Promotes { server }
            | Self::Switches { server }
            | Self::Reconfigures { server }
            | Self::Demotes { server } => Some(server),
            Self::Votes { .. } | Self::Elected | Self::Aborts { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_sentinel_sends_them() {
        let name = |port: &str| match port {
            "6379" => Some("node1".to_owned()),
            "6380" => Some("node2".to_owned()),
            id if id.ends_with("26379") => Some("sentinel1".to_owned()),
            _ => None,
        };
        let read = |channel: &str, message: &str| SentinelNotice::read(channel, message, name);
        let (node1, node2) = ("node1".to_owned(), "node2".to_owned());
        let missed = SentinelNotice::Misses { server: node1.clone() };
        assert_eq!(read("+sdown", "master mymaster 127.0.0.1 6379"), Some(missed));
        let agreed = SentinelNotice::Agrees { server: node1, votes: 3, quorum: 2 };
        assert_eq!(read("+odown", "master mymaster 127.0.0.1 6379 #quorum 3/2"), Some(agreed));
        let vote = SentinelNotice::Votes { leader: "sentinel1".to_owned(), epoch: 4 };
        let id = format!("{:0>40}", 26379);
        assert_eq!(read("+vote-for-leader", &format!("{id} 4")), Some(vote));
        let replica = "slave 127.0.0.1:6380 127.0.0.1 6380 @ mymaster 127.0.0.1 6379";
        assert_eq!(read("+selected-slave", replica), Some(SentinelNotice::Selects { server: node2.clone() }));
        let switched = "mymaster 127.0.0.1 6379 127.0.0.1 6380";
        assert_eq!(read("+switch-master", switched), Some(SentinelNotice::Switches { server: node2 }));
        let aborted = SentinelNotice::Aborts { why: "not-elected".to_owned() };
        assert_eq!(read("-failover-abort-not-elected", "master mymaster 127.0.0.1 6379"), Some(aborted));
        // Neither a message that is not needed, nor an unknown server, nor a truncated message.
        assert_eq!(read("+failover-end", "master mymaster 127.0.0.1 6379"), None);
        assert_eq!(read("+sdown", "master mymaster 127.0.0.1 7000"), None);
        assert_eq!(read("+odown", "master mymaster"), None);
    }

    #[test]
    fn a_notice_is_written_under_the_name_that_sentinel_gives_it() {
        let server = || "node1".to_owned();
        let all = [
            SentinelNotice::Misses { server: server() },
            SentinelNotice::Hears { server: server() },
            SentinelNotice::Agrees { server: server(), votes: 2, quorum: 2 },
            SentinelNotice::Votes { leader: "sentinel1".into(), epoch: 1 },
            SentinelNotice::Elected,
            SentinelNotice::Aborts { why: "not-elected".into() },
            SentinelNotice::Selects { server: server() },
            SentinelNotice::Promotes { server: server() },
            SentinelNotice::Switches { server: server() },
            SentinelNotice::Reconfigures { server: server() },
            SentinelNotice::Demotes { server: server() },
        ];
        for notice in all {
            let written = serde_json::to_value(&notice).unwrap();
            assert_eq!(written["notice"], notice.word());
            assert_eq!(serde_json::from_value::<SentinelNotice>(written).unwrap(), notice);
        }
    }
}
