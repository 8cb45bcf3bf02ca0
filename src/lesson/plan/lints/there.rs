//! Keys that a server never has, or that never expire.

use super::{
    super::{PlannedVerb, Scenario, types::resolve_key},
    comparison::{Literal, literal},
};
use crate::{
    lesson::{
        error::{Finding, finding},
        expr::{
            Mentions, Template,
            mentions::{comparisons, joined, split_comparison},
        },
        has_word,
    },
    log::{ANY, Product, product::redis::slot, stands_for},
};

/// The finding about a key on a node of a cluster whose shard never has the key's slot.
pub(super) fn of_shard(source: &str, scenario: &Scenario) -> Option<Finding> {
    let cluster = scenario.lab().cluster()?;
    joined(source).into_iter().find_map(|part| {
        let asked = match split_comparison(part) {
            Some((left, "==" | ">" | ">=", right)) => literal(right).map(|_| left)?,
            Some(_) => return None,
            None => part.strip_suffix(" is not none").unwrap_or(part),
        };
        let function = ["value", "exists", "pttl"].into_iter().find(|function| {
            asked.strip_prefix(function).is_some_and(|rest| rest.starts_with('(') && asked.ends_with(')'))
        })?;
        let (key, server) = Mentions::of(asked).keys_of(function).into_iter().next()?;
        let server = server?;
        let place = cluster.servers.iter().position(|known| *known == server)?;
        let master =
            cluster.master_of(place).map_or(cluster.servers[place], |master| cluster.servers[master]);
        let owner = cluster.owner(slot(&key));
        (owner != master).then(|| {
            finding!(
                "`{key}` is never on `{server}`: its slot belongs to `{owner}` and its replica",
                "`{key}` 不会在 `{server}` 上：它的槽属于 `{owner}` 和它的从节点",
                "ask `{owner}`, or leave the server out",
                "请问 `{owner}`，或者不写服务器"
            )
        })
    })
}

/// Words of commands that set an expiry, or after which it is not known.
const EXPIRES: &str = "
    EX PX EXAT PXAT EXPIRE PEXPIRE EXPIREAT PEXPIREAT SETEX PSETEX GETEX RESTORE COPY RENAME RENAMENX EVAL EVALSHA FCALL
";

/// The finding about the time that a key has left to live, if no command gives it an expiry.
pub(super) fn of_expiry(source: &str, scenario: &Scenario) -> Option<Finding> {
    let is_redis = scenario.lab().has(Product::Redis);
    let (left, key) = comparisons(source).find_map(|(left, operator, right)| {
        let Literal::Number(number) = literal(right)? else { return None };
        let is_left = matches!(operator, ">" | ">=" | "==") && number >= 0;
        let asks = left.starts_with("pttl(") && left.ends_with(')') && left.matches('(').count() == 1;
        let (key, _) = Mentions::of(left).keys_of("pttl").into_iter().next()?;
        (is_left && asks && is_redis).then_some((left, key))
    })?;
    if scenario.is_open() {
        return None;
    }
    let setup = scenario.setup.iter().map(|line| (&line.verb, Vec::new()));
    let operations = scenario.actors.iter().flat_map(|plan| plan.program.operations_in_frames());
    let mut all = setup.chain(operations.map(|(operation, frames)| (&operation.verb, frames)));
    let may_expire = all.any(|(verb, frames)| {
        let is_key = |word: &Template| stands_for(&resolve_key(word, &frames).0, &key);
        match verb {
            PlannedVerb::Redis(words) => {
                let named = words[1..].iter().any(is_key);
                named
                    && words.iter().enumerate().any(|(n, word)| {
                        let word = word.pattern().to_ascii_uppercase();
                        // The second word is a key, and the third a value.
                        has_word(EXPIRES, &word) || n > 2 && word == ANY.to_string()
                    })
            }
            PlannedVerb::Script { source, keys, .. } => {
                let source = source.to_ascii_uppercase();
                let words = source.split(|c: char| !c.is_ascii_alphanumeric());
                keys.iter().any(is_key) && words.into_iter().any(|word| has_word(EXPIRES, word))
            }
            PlannedVerb::Given(_) => true,
            _ => false,
        }
    });
    (!may_expire).then(|| {
        finding!("`{key}` never expires, because no command gives it an expiry: `{left}` is -1, or -2 without the key", "`{key}` 永不过期，没有命令给它设置过期时间：`{left}` 是 -1，键不存在时是 -2", "write `SET {key} … PX 3000`, or `{left} == -1`", "请写 `SET {key} … PX 3000`，或者 `{left} == -1`")
    })
}
