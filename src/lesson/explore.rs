//! What trying every order of a variant's moves must find, as its author wrote it, and which faults orders may have.
//! Grammar only.

use schemars::JsonSchema;
use serde::Deserialize;

use super::error::marked;
use crate::text::both;

/// What trying every order of the moves must find. `lockstep run` proves it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Explore {
    /// Whether any order may break an invariant.
    pub expect: ExploreExpect,
    /// Cuts an order after so many moves, 1 to 100. Where it is left out, after 24, and then an order that is cut is no
    /// proof that nothing breaks.
    #[serde(default)]
    pub moves: Option<usize>,
    /// At most one of these in each order, at any point: `crash`, `freeze`, or of one client only, `freeze:A`.
    #[serde(default)]
    pub faults: Vec<MayFail>,
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
pub const MOST_MOVES: usize = 100;

/// A fault that an order may have, once.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub struct MayFail {
    pub how: Failing,
    /// To whom; to any client where nobody is named.
    pub client: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failing {
    Crash,
    /// It is stopped, and runs again later.
    Freeze,
}

impl TryFrom<String> for MayFail {
    type Error = String;

    /// Reads `crash`, `freeze` or `freeze:CLIENT`.
    fn try_from(word: String) -> Result<Self, String> {
        let (how, client) = match word.split_once(':') {
            Some((how, client)) => (how, Some(client.to_owned())),
            None => (word.as_str(), None),
        };
        let how = match how {
            "crash" => Failing::Crash,
            "freeze" => Failing::Freeze,
            other => {
                return Err(marked(&both!(
                    "`{other}` cannot be explored: `crash`, `freeze` or `freeze:CLIENT`",
                    "`{other}` 不能放进顺序探索：可以写 `crash`、`freeze` 或 `freeze:客户端`"
                )));
            }
        };
        Ok(Self { how, client })
    }
}
