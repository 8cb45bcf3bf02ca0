//! Fields of hashes and stream messages that claims read and no command writes.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{
        error::{ALIKE, Mistake, Path, did_you_mean, nearest, suggestion},
        expr::Template,
        has_word, lua,
    },
    PlannedVerb, Scenario, types,
};
use crate::{
    log::{Product, stands_for},
    text::both,
};

/// Commands that write one field, and commands that write fields and values in turn.
const ONE: &str = "HSETNX HINCRBY HINCRBYFLOAT";
const PAIRS: &str = "HSET HMSET XADD";
/// Commands that read fields.
const READ: &str = "HGET HEXISTS HSTRLEN HMGET";
/// The similarity above which a field is taken for another, although somebody writes it.
const VERY_ALIKE: f64 = 0.9;
/// Commands that may write any field.
const ANYTHING: &str = "EVAL EVALSHA FCALL RESTORE COPY RENAME RENAMENX HSETEX";

/// Checks that some command writes each field that an expression reads.
pub(crate) fn check(scenario: &Scenario, source: &str, at: &Path) -> Result<(), Mistake> {
    let mut asked = asked(source).peekable();
    if asked.peek().is_none() || scenario.loaded.lesson.kata.is_some() {
        return Ok(());
    }
    let Some(written) = written(scenario) else { return Ok(()) };
    asked.try_for_each(|field| check_one(&written, field, at))
}

/// Checks that commands write the fields that the programs read, in some variant.
pub(crate) fn check_read(scenarios: &[Scenario]) -> Result<(), Mistake> {
    let has_more = |scenario: &Scenario| scenario.is_open();
    let fields = scenarios.iter().map(written).collect::<Option<Vec<_>>>();
    let Some(fields) = fields.filter(|_| !scenarios.iter().any(has_more)) else { return Ok(()) };
    let fields: BTreeSet<String> = fields.into_iter().flatten().collect();
    for (verb, path) in scenarios.iter().flat_map(types::sent) {
        let (PlannedVerb::Redis(words), Some(path)) = (verb, path) else { continue };
        let [command, _, asked @ ..] = words.as_slice() else { continue };
        if has_word(READ, &command.pattern().to_ascii_uppercase()) {
            let mut asked = asked.iter().filter(|field| field.is_literal()).map(Template::pattern);
            asked.try_for_each(|field| check_one(&fields, &field, &path.key("redis")))?;
        }
    }
    Ok(())
}

/// Reports a field that a program writes and that stands nowhere else in the lesson, if its name is similar to that of
/// another field of the same hash, which does.
pub(crate) fn check_written(scenarios: &[Scenario]) -> Result<(), Mistake> {
    let Some(text) = scenarios.first().map(|scenario| scenario.loaded.source.text()) else { return Ok(()) };
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let named = |field: &str| text.split(|c: char| !is_part(c)).filter(|word| *word == field).count();
    let has_more = |scenario: &Scenario| scenario.actors.iter().any(|plan| plan.program.outside);
    let mut written: BTreeMap<String, BTreeMap<String, Option<&Path>>> = BTreeMap::new();
    for (verb, path) in scenarios.iter().filter(|scenario| !has_more(scenario)).flat_map(types::sent) {
        let PlannedVerb::Redis(words) = verb else { continue };
        let words: Vec<String> = words.iter().map(Template::pattern).collect();
        let [command, key, rest @ ..] = &words[..] else { continue };
        let command = command.to_ascii_uppercase();
        let every = if has_word(ONE, &command) { rest.len().max(1) } else { 2 };
        if has_word(ONE, &command) || has_word("HSET HMSET", &command) {
            let fields = written.entry(key.clone()).or_default();
            fields.extend(rest.iter().step_by(every).map(|field| (field.clone(), path)));
        }
    }
    check_keys(scenarios, &named)?;
    let bare = |field: &str| field.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    for fields in written.values() {
        for (field, path) in fields.iter().filter(|(field, _)| named(field) == 1) {
            let others = fields.keys().map(String::as_str);
            let others = others.filter(|other| bare(other) != bare(field) && named(other) > 1);
            if let (Some(path), Some(near)) = (path, nearest(field, others, VERY_ALIKE)) {
                let message = both!(
                    "nothing else in this lesson names the field `{field}`: nobody reads it",
                    "字段 `{field}` 在本课里再没出现过：没有谁会读它"
                );
                return Err(Mistake::new(&path.key("redis"), message).help(did_you_mean(near)));
            }
        }
    }
    Ok(())
}

/// The same for a key of Redis or etcd: one that a program writes and that stands nowhere else in the lesson.
fn check_keys(scenarios: &[Scenario], named: &impl Fn(&str) -> usize) -> Result<(), Mistake> {
    /// Commands that write a key, those of one type of key together.
    const WRITERS: [&str; 6] =
        ["SET SETNX INCR DECR INCRBY DECRBY", "HSET HINCRBY", "RPUSH LPUSH", "SADD", "ZADD", "XADD"];
    // Of each key the place where it is written, and by commands of which type.
    let mut keys: BTreeMap<String, Option<Path>> = BTreeMap::new();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for (verb, path) in scenarios.iter().flat_map(types::sent) {
        let (key, field) = match verb {
            PlannedVerb::Redis(words) if words.len() > 1 => (words[1].pattern(), "redis"),
            PlannedVerb::Call(call) if call.product() == Product::Etcd && call.name() == "put" => {
                let Some(key) = call.operands("KEY").next() else { continue };
                (key.pattern(), "etcd")
            }
            PlannedVerb::Call(call) => {
                let named = ["KEY", "OTHER"].into_iter().flat_map(|kind| call.operands(kind));
                keys.extend(named.map(|key| (key.pattern(), None)));
                continue;
            }
            PlannedVerb::Script { keys: of, .. } => {
                keys.extend(of.iter().map(|key| (key.pattern(), None)));
                continue;
            }
            _ => continue,
        };
        let writes = match verb {
            PlannedVerb::Redis(words) => {
                let name = words[0].pattern().to_ascii_uppercase();
                let kind = WRITERS.iter().position(|writers| has_word(writers, &name));
                kinds.extend(kind.map(|kind| (key.clone(), kind)));
                kind.is_some()
            }
            _ => true,
        };
        let path = path.filter(|_| writes).map(|path| path.key(field));
        keys.entry(key).or_insert(path);
    }
    let is_plain = |key: &str| key.chars().all(|c| c.is_alphanumeric() || c == '_');
    let stem = |key: &str| key.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    for (key, path) in keys.iter().filter(|(key, _)| is_plain(key) && named(key) == 1) {
        let others = keys.keys().map(String::as_str);
        let others = others.filter(|other| is_plain(other) && stem(other) != stem(key) && named(other) > 1);
        // A list is not meant where there is a number.
        let of_one_type =
            |other: &&str| kinds.get(key).zip(kinds.get(*other)).is_none_or(|(one, other)| one == other);
        if let (Some(path), Some(near)) = (path, nearest(key, others.filter(of_one_type), VERY_ALIKE)) {
            let message = both!(
                "nothing else in this lesson names the key `{key}`: nobody reads it",
                "键 `{key}` 在本课里再没出现过：没有谁会读它"
            );
            return Err(Mistake::new(path, message).help(did_you_mean(near)));
        }
    }
    Ok(())
}

fn check_one(written: &BTreeSet<String>, field: &str, at: &Path) -> Result<(), Mistake> {
    // If no field is written, the key itself is wrong, which another check reports.
    if written.is_empty() || written.iter().any(|known| stands_for(known, field)) {
        return Ok(());
    }
    let message = both!("no command ever writes the field `{field}`", "没有任何命令写过字段 `{field}`");
    let known = written.iter().map(String::as_str);
    let help = suggestion(nearest(field, known.clone(), ALIKE), || {
        let known = known.take(8).collect::<Vec<_>>().join(", ");
        both!("fields that are written: {known}", "写过的字段有：{known}")
    });
    Err(Mistake::new(at, message).help(help))
}

/// The fields that an expression reads: `value('shop').hash.stock`, `value('jobs').stream[0][1].n`.
fn asked(source: &str) -> impl Iterator<Item = &str> {
    let of_hash = source.split(").hash.").skip(1);
    let of_stream = source.split(").stream[").skip(1).filter_map(|rest| {
        let (index, rest) = rest.split_once("][1].")?;
        index.bytes().all(|byte| byte.is_ascii_digit()).then_some(rest)
    });
    let name = |rest: &'_ str| rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
    let quoted = ["['", "[\""].into_iter().flat_map(|quote| {
        let asked = source.split(").hash").skip(1).filter_map(move |rest| rest.strip_prefix(quote));
        asked.filter_map(move |rest| Some(rest.split_once(&quote[1..])?.0))
    });
    let named = of_hash.chain(of_stream).map(move |rest| &rest[..name(rest)]);
    named.chain(quoted).filter(|field| !field.is_empty())
}

/// The fields that commands write; `None` if one is known only at run time.
fn written(scenario: &Scenario) -> Option<BTreeSet<String>> {
    let mut fields = BTreeSet::new();
    for line in &scenario.setup {
        add(&line.verb, &Template::pattern, &mut fields)?;
    }
    for plan in &scenario.actors {
        for (operation, frames) in plan.program.operations_in_frames() {
            add(&operation.verb, &|word| plan.filled_in(word, &frames), &mut fields)?;
        }
    }
    Some(fields)
}

/// Adds the fields that a command writes; `None` if one is known only at run time.
fn add(
    verb: &PlannedVerb,
    filled: &dyn Fn(&Template) -> String,
    fields: &mut BTreeSet<String>,
) -> Option<()> {
    match verb {
        PlannedVerb::Redis(words) => {
            let words: Vec<Option<String>> = words.iter().map(|word| Some(filled(word))).collect();
            of_words(&words, fields)?;
        }
        PlannedVerb::Script { source, args, .. } => {
            for call in lua::read(source).ok()?.calls {
                let writes = call.words.first()?.as_ref().is_none_or(|name| {
                    let name = name.to_ascii_uppercase();
                    has_word(ONE, &name) || has_word(PAIRS, &name) || has_word(ANYTHING, &name)
                });
                if writes && call.is_open {
                    return None;
                }
                let passed = |argument: Option<(String, usize)>| {
                    let (before, n) = argument?;
                    Some(before + &filled(args.get(n - 1)?))
                };
                let words = call.words.into_iter().zip(call.arguments);
                let words: Vec<_> = words.map(|(word, argument)| word.or_else(|| passed(argument))).collect();
                of_words(&words, fields)?;
            }
        }
        PlannedVerb::Given(_) => return None,
        _ => {}
    }
    Some(())
}

fn of_words(words: &[Option<String>], fields: &mut BTreeSet<String>) -> Option<()> {
    let name = words.first()?.as_ref()?.to_ascii_uppercase();
    if has_word(ANYTHING, &name) {
        return None;
    }
    if has_word(ONE, &name) {
        fields.insert(words.get(2)?.clone()?);
    } else if has_word(PAIRS, &name) {
        // The fields follow a key, options and an id.
        let first = if name == "XADD" { 3 } else { 2 };
        for at in (first..words.len()).filter(|at| (words.len() - at).is_multiple_of(2)) {
            fields.insert(words[at].clone()?);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::{asked, of_words};

    #[test]
    fn fields_stand_before_their_values() {
        for (command, wanted) in [
            ("HSET shop stock 5 sold 0", vec!["sold", "stock"]),
            ("HINCRBY shop sold 1", vec!["sold"]),
            ("XADD jobs * n 1", vec!["n"]),
            ("XADD jobs MAXLEN ~ 100 * n 1 by A", vec!["by", "n"]),
            ("GET shop", vec![]),
        ] {
            let words: Vec<Option<String>> = command.split(' ').map(|word| Some(word.to_owned())).collect();
            let mut fields = std::collections::BTreeSet::new();
            of_words(&words, &mut fields).expect("they are known");
            for field in wanted {
                assert!(fields.contains(field), "{command}: {fields:?}");
            }
        }
    }

    #[test]
    fn fields_are_found_where_claims_ask_for_them() {
        let found = |source| asked(source).collect::<Vec<_>>();
        assert_eq!(found("value('shop').hash.stock|int == 5"), ["stock"]);
        assert_eq!(found("value('jobs').stream[0][1].n == '1'"), ["n"]);
        assert_eq!(found("value('lock').hash['A:1'] == '1' and value('x').hash[\"b\"] == '2'"), ["A:1", "b"]);
        assert!(found("value('jobs').stream|length == 2 and value('x').list[0] == 'a'").is_empty());
    }
}
