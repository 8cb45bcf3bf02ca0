//! What exploring every order of a variant's moves must find, as its author wrote it, and which faults orders may
//! contain. Grammar only.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    duration::check_unit,
    error::{ALIKE, marked, nearest},
    parse_signed_millis,
};
use crate::text::both;

/// What exploring every order of moves must find. `lockstep run` checks it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Explore {
    /// Whether some order must break an invariant, none may, or some order must never end.
    pub expect: ExploreExpect,
    /// The number of moves after which an order is cut, 1 to 250. Default: 24; an order that is cut at the default does
    /// not prove that nothing breaks.
    #[serde(default)]
    pub moves: Option<usize>,
    /// The faults that orders may contain, at any point: `crash`, `freeze`, `lost-reply`, or of one client only
    /// `freeze:A`; `cut`, a link that is cut, or only `cut:A->redis3`; `restart`, a server that is killed and started
    /// again, or only `restart:redis3`; `skew:redis3=30s`, a server whose clock is set ahead, or `skew:A=30s`, a client.
    #[serde(default)]
    pub faults: Vec<MayFail>,
    /// Faults that this variant does not withstand: with each of them alone, some order breaks an invariant.
    #[serde(default)]
    pub broken_by: Vec<MayFail>,
    /// The largest number of faults in an order, 1 to 4. Default: 1.
    #[serde(default)]
    pub most_faults: Option<usize>,
    /// How many times in an order time may pass although an actor could move, up to 4. Default: 0.
    #[serde(default)]
    pub slow: Option<usize>,
    /// `all`: in every order each actor must reach the end of its program, except for actors that crash.
    #[serde(default)]
    pub ends: Option<Ends>,
}

/// Which actors must reach the end of their programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ends {
    /// All actors, except for those that crash.
    All,
}

impl Explore {
    /// The largest number of actors that may not reach the end of their programs in an order.
    pub fn may_not_end(&self) -> usize {
        match self.ends {
            None => usize::MAX,
            Some(Ends::All) if self.faults.iter().any(|fault| fault.how == Failing::Crash) => {
                self.most_faults.unwrap_or(1)
            }
            Some(Ends::All) => 0,
        }
    }
}

/// What the exploration must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExploreExpect {
    /// No order breaks an invariant.
    None,
    /// Some order breaks an invariant.
    Violated,
    /// Some order never ends, for any of the reasons below.
    Stuck,
    /// In some order somebody waits for what nobody will bring about.
    Deadlock,
    /// In some order time passes, and everything comes to be as it was.
    Livelock,
    /// In some order somebody waits for a notification that will not come.
    LostWakeup,
}

impl ExploreExpect {
    /// The word in lessons.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Violated => "violated",
            Self::Stuck => "stuck",
            Self::Deadlock => "deadlock",
            Self::Livelock => "livelock",
            Self::LostWakeup => "lost-wakeup",
        }
    }

    /// Whether it is about invariants, rather than about orders that never end.
    pub fn is_about_invariants(self) -> bool {
        matches!(self, Self::None | Self::Violated)
    }
}

/// The default number of moves after which an order is cut: enough for two clients that retry while they wait for a
/// lock of a few seconds.
pub const MOVES: usize = 24;
/// The largest number of moves of an order.
pub const MOST_MOVES: usize = 250;

/// The limit for the faults in an order, and for how often time passes early: more would be too many combinations.
pub const MOST_FAULTS: usize = 4;

/// A fault that an order may contain.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub struct MayFail {
    pub how: Failing,
    /// The client that it hits; any client if `None`.
    pub client: Option<String>,
    /// The server that it hits, or whose link it hits; any server if `None`.
    pub server: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failing {
    Crash,
    /// The client is stopped, and continues later.
    Freeze,
    /// The server carries out a request, and the client does not get the reply.
    LostReply,
    /// The link between a client and a server carries nothing for a while.
    Cut,
    /// A server is killed and started again.
    Restart,
    /// The clock of a server or a client is set ahead by this many milliseconds.
    Skew(i64),
}

impl Failing {
    /// The fault on any client, server or link.
    pub fn anywhere(self) -> MayFail {
        MayFail { how: self, client: None, server: None }
    }
}

impl MayFail {
    /// The fault in a lesson with these clients: `skew:A=30s` is written like `skew:redis=30s`, and hits a client.
    pub(crate) fn among<'c>(&self, mut clients: impl Iterator<Item = &'c str>) -> Self {
        let Self { how, client, server } = self.clone();
        match (how, server) {
            (Failing::Skew(_), Some(name)) if clients.any(|known| known == name) => {
                Self { how, client: Some(name), server: None }
            }
            (_, server) => Self { how, client, server },
        }
    }
}

impl fmt::Display for MayFail {
    /// Writes the fault as an author writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.how {
            Failing::Crash => "crash",
            Failing::Freeze => "freeze",
            Failing::LostReply => "lost-reply",
            Failing::Cut => "cut",
            Failing::Restart => "restart",
            Failing::Skew(_) => "skew",
        };
        f.write_str(how)?;
        match (&self.client, &self.server) {
            (Some(client), Some(server)) => write!(f, ":{client}->{server}")?,
            (Some(name), None) | (None, Some(name)) => write!(f, ":{name}")?,
            (None, None) => {}
        }
        if let Failing::Skew(ahead) = self.how { write!(f, "={ahead}ms") } else { Ok(()) }
    }
}

impl TryFrom<String> for MayFail {
    type Error = String;

    /// Parses `crash`, `freeze:CLIENT`, `cut:CLIENT->SERVER`, `skew:SERVER=DURATION` and the like.
    fn try_from(word: String) -> Result<Self, String> {
        let (how, whom) = match word.split_once(':') {
            Some((how, whom)) => (how, Some(whom.to_owned())),
            None => (word.as_str(), None),
        };
        let of_client = |how: Failing| Self { client: whom.clone(), ..how.anywhere() };
        let of_server =
            |how: Failing, server: &str| Self { server: Some(server.to_owned()), ..how.anywhere() };
        let read = match (how, whom.as_deref()) {
            ("crash", _) => Some(of_client(Failing::Crash)),
            ("freeze", _) => Some(of_client(Failing::Freeze)),
            ("lost-reply", _) => Some(of_client(Failing::LostReply)),
            ("cut", Some(link)) => Some(match link.split_once("->") {
                Some((client, server)) => {
                    Self { client: Some(client.to_owned()), ..of_server(Failing::Cut, server) }
                }
                None => of_client(Failing::Cut),
            }),
            ("cut", None) => Some(Failing::Cut.anywhere()),
            ("restart", None) => Some(Failing::Restart.anywhere()),
            ("restart", Some(server)) => Some(of_server(Failing::Restart, server)),
            ("skew", Some(clock)) => match clock.split_once('=') {
                Some((server, ahead)) => {
                    check_unit(ahead).map_err(|why| marked(&why))?;
                    parse_signed_millis(ahead).ok().map(|ahead| of_server(Failing::Skew(ahead), server))
                }
                None => None,
            },
            _ => None,
        };
        read.ok_or_else(|| {
            let meant = match how {
                "pause" | "suspend" | "stop" | "stall" | "gc" => Some("freeze"),
                "kill" | "die" | "exit" => Some("crash"),
                "partition" | "disconnect" | "isolate" => Some("cut"),
                "reboot" => Some("restart"),
                "jump" | "drift" | "clock" => Some("skew:redis=30s"),
                _ => nearest(how, ["crash", "freeze", "lost-reply", "cut", "restart"], ALIKE),
            };
            if let Some(meant) = meant.filter(|meant| *meant != how) {
                return marked(&both!(
                    "`{word}` cannot be explored; did you mean `{meant}`?",
                    "`{word}` 不能放进顺序探索；是不是 `{meant}`？"
                ));
            }
            marked(&both!(
                "`{word}` cannot be explored: `crash`, `freeze`, `lost-reply`, of one client `freeze:A`, `cut` or \
                 `cut:A->redis`, `restart` or `restart:redis`, `skew:redis=30s` or `skew:A=30s`",
                "`{word}` 不能放进顺序探索：可以写 `crash`、`freeze`、`lost-reply`，只针对一个客户端就写 `freeze:A`；还可以写 \
                 `cut` 或 `cut:A->redis`、`restart` 或 `restart:redis`、`skew:redis=30s` 或 `skew:A=30s`"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Failing, MayFail};

    #[test]
    fn faults_are_parsed_with_their_targets() {
        let read = |word: &str| MayFail::try_from(word.to_owned());
        let own = |how: Failing, client: Option<&str>, server: Option<&str>| MayFail {
            how,
            client: client.map(str::to_owned),
            server: server.map(str::to_owned),
        };
        for (word, meant) in [
            ("crash", own(Failing::Crash, None, None)),
            ("lost-reply:A", own(Failing::LostReply, Some("A"), None)),
            ("cut:A", own(Failing::Cut, Some("A"), None)),
            ("cut:A->redis3", own(Failing::Cut, Some("A"), Some("redis3"))),
            ("restart:redis2", own(Failing::Restart, None, Some("redis2"))),
            ("skew:redis3=-30s", own(Failing::Skew(-30_000), None, Some("redis3"))),
        ] {
            assert_eq!(read(word), Ok(meant.clone()), "{word}");
            assert_eq!(read(&meant.to_string()), Ok(meant), "{word}");
        }
        for (wrong, meant) in [("pause", "freeze"), ("kill:A", "crash"), ("freez", "freeze")] {
            let why = read(wrong).expect_err(wrong);
            assert!(why.contains(&format!("did you mean `{meant}`?")), "{why}");
        }
        for wrong in ["freez", "skew", "skew:redis3", "skew:redis3=soon"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let skewed = own(Failing::Skew(-30_000), Some("A"), None);
        assert_eq!(read("skew:A=-30s").map(|fault| fault.among(["A"].into_iter())), Ok(skewed));
    }
}
