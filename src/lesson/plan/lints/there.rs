//! Keys that a server never has, or that never expire, and beginnings of names that nothing has.

use super::{
    super::{PlannedVerb, Scenario, types::resolve_key},
    comparison::{Literal, literal},
};
use crate::{
    lesson::{
        error::{ALIKE, Finding, did_you_mean, finding, nearest},
        expr::{
            Mentions, Template,
            mentions::{comparisons, joined, split_comparison},
        },
        has_word,
    },
    log::{ANY, Product, product::redis::slot, stands_for},
    text::both,
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
                "请查 `{owner}`，或者不写服务器"
            )
        })
    })
}

/// The finding about the beginning of a name, such as a znode's, that is misspelt: nothing in the lesson has it, and it is
/// nearly how another name begins.
pub(super) fn of_beginning(source: &str, scenario: &Scenario) -> Option<Finding> {
    let asked = source.split("startingwith").skip(1).filter_map(|rest| {
        let text = rest.trim_start_matches(['\'', '"']).trim_start_matches(['(', ',', ' ']);
        let (text, rest) = text.strip_prefix('\'')?.split_once('\'')?;
        // An expression is known only at run time, and a short name is like many others.
        (rest.trim_start().starts_with(')') && text.len() > 3).then_some(text)
    });
    let mut asked = asked.peekable();
    if asked.peek().is_none() || scenario.is_open() {
        return None;
    }
    let setup = scenario.setup.iter().map(|line| (&line.verb, None));
    let operations = scenario.programmed().flat_map(|plan| {
        plan.program
            .operations_in_frames()
            .into_iter()
            .map(move |(one, frames)| (&one.verb, Some((plan, frames))))
    });
    let mut words: Vec<String> = scenario.actors.iter().map(|plan| plan.actor.name.clone()).collect();
    for (verb, place) in setup.chain(operations) {
        // What an external program or a script writes is not known.
        if matches!(verb, PlannedVerb::Given(_) | PlannedVerb::Script { .. }) {
            return None;
        }
        words.extend(verb.templates().into_iter().map(|word| match &place {
            Some((plan, frames)) => plan.filled_in(word, frames),
            None => word.pattern(),
        }));
    }
    let begins = |word: &str| {
        let name = word.rsplit('/').next().unwrap_or_default();
        let name = name.split(ANY).next().unwrap_or_default();
        Some(name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned()).filter(|name| !name.is_empty())
    };
    let known: Vec<String> = words.iter().filter_map(|word| begins(word)).collect();
    // The server and Lockstep append to names: digits, and what makes a token unique.
    let is_known = |text: &str| {
        words.iter().any(|word| word.contains(text))
            || known.iter().any(|name| text.starts_with(name.as_str()))
    };
    let text = asked.find(|text| !is_known(text))?;
    let near = nearest(text, known.iter().map(String::as_str), ALIKE)?;
    Some(Finding {
        message: both!(
            "no command names anything that begins with '{text}'",
            "没有任何命令里的名字以 '{text}' 开头"
        ),
        help: did_you_mean(near),
    })
}

/// The finding about the name of a number where a key belongs.
pub(super) fn of_figure(source: &str, scenario: &Scenario) -> Option<Finding> {
    ["value(", "exists(", "pttl("].into_iter().find_map(|function| {
        let name = source.split_once(function)?.1.split([')', ',']).next()?.trim();
        let number = scenario.scope.get(name).filter(|value| value.is_number())?;
        Some(finding!(
            "a key belongs here, and `{name}` is the number {number}",
            "这里要写键，而 `{name}` 是数字 {number}",
            "a key stands in quotes: `{function}'{name}')`",
            "键要写在引号里：`{function}'{name}')`"
        ))
    })
}

/// The finding about a key that holds tokens and is compared with the name of a client.
pub(super) fn of_token(source: &str, scenario: &Scenario) -> Option<Finding> {
    comparisons(source).find_map(|(left, _, right)| {
        let Literal::Text(name) = literal(right)? else { return None };
        let plan = scenario.actors.iter().find(|plan| plan.actor.name == name || plan.actor.client == name)?;
        let (key, _) = Mentions::of(left).keys_of("value").into_iter().next()?;
        let is_whole = left.starts_with("value(") && left.ends_with(')') && left.matches('(').count() == 1;
        let sets = |words: &Vec<Template>| {
            let name = words[0].pattern().to_ascii_uppercase();
            has_word("SET SETNX GETSET", &name) && words.len() > 2 && stands_for(&words[1].pattern(), &key)
        };
        let values: Vec<String> = scenario
            .operations()
            .filter_map(|operation| match &operation.verb {
                PlannedVerb::Redis(words) if sets(words) => Some(words[2].to_string()),
                _ => None,
            })
            .collect();
        let of_token = !values.is_empty() && values.iter().all(|value| value == "${token}");
        let client = &plan.actor.name;
        (of_token && is_whole && !scenario.sends(|name| name == "EVAL")).then(|| {
            finding!(
                "`{key}` holds a token, such as '{client}-eb24', never {right}",
                "`{key}` 里是 token，例如 '{client}-eb24'，不会是 {right}",
                "write `${{self}}` as its value in the command, or ask who was granted it: `{client}.acquire == 'OK'`",
                "请在命令里把值写成 `${{self}}`，或者问谁拿到了它：`{client}.acquire == 'OK'`"
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
