//! Reads commands from text. Logs have them as data since format 2; only recordings of format 1, and tests, have text.

use super::{Command, ZkCall};

/// What a command's text was sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Redis,
    Zookeeper,
    /// Mutexes of the client's process.
    Local,
}

impl Command {
    /// What its text, as `Display` writes it, stands for.
    pub fn from_text(text: &str, dialect: Dialect) -> Self {
        let words = words(text);
        let parsed = match dialect {
            Dialect::Redis => script(&words),
            Dialect::Zookeeper => call(&words).map(Self::Zookeeper),
            Dialect::Local => local(text),
        };
        parsed.unwrap_or(Self::Redis(words))
    }
}

fn local(text: &str) -> Option<Command> {
    let (verb, name) = text.split_once(' ')?;
    matches!(verb, "lock" | "unlock").then(|| Command::Local { lock: verb == "lock", name: name.to_owned() })
}

/// `EVAL NAME COUNT KEY… ARG…`. A script's text is no name.
fn script(words: &[String]) -> Option<Command> {
    let [verb, name, count, rest @ ..] = words else {
        return None;
    };
    let is_name = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    let (keys, args) = rest.split_at_checked(count.parse().ok()?)?;
    (verb == "EVAL" && is_name).then(|| Command::Script {
        name: name.clone(),
        keys: keys.to_vec(),
        args: args.to_vec(),
    })
}

fn call(words: &[String]) -> Option<ZkCall> {
    let (name, rest) = words.split_first()?;
    let flags = rest.iter().take_while(|word| matches!(word.as_str(), "-e" | "-s" | "-w")).count();
    let (flags, operands) = rest.split_at(flags);
    let flag = |name: &str| flags.iter().any(|flag| flag == name);
    let path = operands.first()?.clone();
    let data = || operands.get(1).cloned().unwrap_or_default();
    let watch = flag("-w");
    Some(match name.as_str() {
        "create" => ZkCall::Create { ephemeral: flag("-e"), sequential: flag("-s"), path, data: data() },
        "delete" => ZkCall::Delete { path },
        "exists" => ZkCall::Exists { watch, path },
        "get" => ZkCall::Get { watch, path },
        "ls" => ZkCall::Ls { watch, path },
        "set" => ZkCall::Set {
            path,
            data: data(),
            version: operands.get(2).and_then(|version| version.parse().ok()),
        },
        _ => return None,
    })
}

fn words(text: &str) -> Vec<String> {
    let (mut words, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let quoted = rest.strip_prefix('"').and_then(unquote);
        let (word, after) = quoted.unwrap_or_else(|| {
            let (word, after) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
            (word.to_owned(), after)
        });
        words.push(word);
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
    words
}

/// A word up to its closing quote, and what comes behind it.
fn unquote(quoted: &str) -> Option<(String, &str)> {
    let (mut word, mut chars) = (String::new(), quoted.chars());
    loop {
        word.push(match chars.next()? {
            '"' => return Some((word, chars.as_str())),
            '\\' => match chars.next()? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                '0' => '\0',
                'u' => {
                    let (code, rest) = chars.as_str().strip_prefix('{')?.split_once('}')?;
                    chars = rest.chars();
                    char::from_u32(u32::from_str_radix(code, 16).ok()?)?
                }
                escaped => escaped,
            },
            plain => plain,
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Command, Dialect, ZkCall};

    fn any_command() -> impl Strategy<Value = (Command, Dialect)> {
        let word = || prop_oneof!["[a-zA-Z0-9:_/-]{1,8}", any::<String>()];
        let words = || prop::collection::vec(word(), 0..4);
        let (path, flag) = ("/[a-z0-9/-]{0,8}", any::<bool>());
        let redis = (prop_oneof!["[A-Z]{1,5}", any::<String>()], words())
            .prop_filter("a script's text", |(name, _)| name != "EVAL");
        let call = prop_oneof![
            (flag, flag, path, word()).prop_map(|(ephemeral, sequential, path, data)| ZkCall::Create {
                ephemeral,
                sequential,
                path,
                data
            }),
            path.prop_map(|path| ZkCall::Delete { path }),
            (flag, path).prop_map(|(watch, path)| ZkCall::Exists { watch, path }),
            (flag, path).prop_map(|(watch, path)| ZkCall::Get { watch, path }),
            (flag, path).prop_map(|(watch, path)| ZkCall::Ls { watch, path }),
            (path, word(), any::<Option<i32>>()).prop_map(|(path, data, version)| ZkCall::Set {
                path,
                data,
                version
            }),
        ];
        prop_oneof![
            redis.prop_map(|(name, rest)| { (Command::Redis([vec![name], rest].concat()), Dialect::Redis) }),
            ("[a-z_]{1,8}", words(), words())
                .prop_map(|(name, keys, args)| (Command::Script { name, keys, args }, Dialect::Redis)),
            call.prop_map(|call| (Command::Zookeeper(call), Dialect::Zookeeper)),
            (flag, "[a-z]{1,5}").prop_map(|(lock, name)| (Command::Local { lock, name }, Dialect::Local)),
        ]
    }

    proptest! {
        #[test]
        fn a_commands_text_stands_for_it((command, dialect) in any_command()) {
            prop_assert_eq!(Command::from_text(&command.to_string(), dialect), command);
        }

        #[test]
        fn any_text_is_read(text in any::<String>()) {
            for dialect in [Dialect::Redis, Dialect::Zookeeper, Dialect::Local] {
                let _ = Command::from_text(&text, dialect).to_string();
            }
        }
    }

    #[test]
    fn a_scripts_own_text_is_no_name() {
        let words = ["EVAL", "return 1", "0"].map(str::to_owned).to_vec();
        let command = Command::Redis(words);
        assert_eq!(command.to_string(), "EVAL \"return 1\" 0");
        assert_eq!(Command::from_text(&command.to_string(), Dialect::Redis), command);
    }
}
