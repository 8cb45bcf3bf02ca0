//! What trying every order of a variant's moves must find, as its author wrote it, and which faults orders may have.
//! Grammar only.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{error::marked, parse_signed_millis};
use crate::text::both;

/// What trying every order of the moves must find. `lockstep run` proves it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Explore {
    /// Whether any order may break an invariant.
    pub expect: ExploreExpect,
    /// Cuts an order after so many moves, 1 to 250. Where it is left out, after 24, and then an order that is cut is no
    /// proof that nothing breaks.
    #[serde(default)]
    pub moves: Option<usize>,
    /// The faults that orders may have, at any point: `crash`, `freeze`, `lost-reply`, of one client only `freeze:A`; `cut`,
    /// a link that is cut, `cut:A->redis3` only this one; `restart`, a server that is killed and started again, or only
    /// `restart:redis3`; `skew:redis3=30s`, a server whose clock is set ahead.
    #[serde(default)]
    pub faults: Vec<MayFail>,
    /// Faults that are too much for what this variant shows: with each of them alone, some order breaks an invariant.
    #[serde(default)]
    pub broken_by: Vec<MayFail>,
    /// How many faults an order has at most, 1 to 4; 1 where it is left out.
    #[serde(default)]
    pub most_faults: Option<usize>,
    /// How often in an order time may pass although somebody could move, up to 4 times; never where it is left out.
    #[serde(default)]
    pub slow: Option<usize>,
    /// `all`: in every order everybody must come to the end of their program, but for whoever crashes.
    #[serde(default)]
    pub ends: Option<Ends>,
}

/// Who must come to the end of their program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ends {
    /// Everybody, but for whoever crashes.
    All,
}

impl Explore {
    /// How many may be left who do not come to the end of their program, in any order.
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

/// What must be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExploreExpect {
    /// No order breaks an invariant.
    None,
    /// Some order breaks one.
    Violated,
}

/// An order is cut after so many moves where nobody says otherwise: enough for two clients that wait for a lock of a few
/// seconds and ask for it again and again.
pub const MOVES: usize = 24;
/// No order is longer.
pub const MOST_MOVES: usize = 250;

/// No order has more faults, nor is anybody slow more often: there would be too many.
pub const MOST_FAULTS: usize = 4;

/// A fault that an order may have.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub struct MayFail {
    pub how: Failing,
    /// To whom; to any client where nobody is named.
    pub client: Option<String>,
    /// To which server, or to a link to which; any, where none is named.
    pub server: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failing {
    Crash,
    /// It is stopped, and runs again later.
    Freeze,
    /// The server does what a client asks, and the client does not hear of it.
    LostReply,
    /// The link between a client and a server carries nothing for a while.
    Cut,
    /// A server is killed and started again.
    Restart,
    /// A server's clock is set ahead by so many milliseconds.
    Skew(i64),
}

impl Failing {
    /// To any client, any server or any link.
    pub fn anywhere(self) -> MayFail {
        MayFail { how: self, client: None, server: None }
    }
}

impl fmt::Display for MayFail {
    /// As an author writes it.
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

    /// Reads `crash`, `freeze:CLIENT`, `cut:CLIENT->SERVER`, `skew:SERVER=DURATION` and the like.
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
            ("skew", Some(clock)) => clock.split_once('=').and_then(|(server, ahead)| {
                Some(of_server(Failing::Skew(parse_signed_millis(ahead).ok()?), server))
            }),
            _ => None,
        };
        read.ok_or_else(|| {
            marked(&both!(
                "`{word}` cannot be explored: `crash`, `freeze`, `lost-reply`, of one client `freeze:A`, `cut` or \
                 `cut:A->redis`, `restart` or `restart:redis`, `skew:redis=30s`",
                "`{word}` 不能放进顺序探索：可以写 `crash`、`freeze`、`lost-reply`，只针对一个客户端就写 `freeze:A`；还可以写 \
                 `cut` 或 `cut:A->redis`、`restart` 或 `restart:redis`、`skew:redis=30s`"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Failing, MayFail};

    #[test]
    fn faults_are_read_with_what_they_befall() {
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
        for wrong in ["freez", "skew", "skew:redis3", "skew:redis3=soon"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
