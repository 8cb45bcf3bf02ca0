//! Commands as text. Logs have them as data since format 2; only recordings of format 1, and tests, have the text
//! alone.

use std::fmt::{self, Write as _};

use super::{Command, Product};

impl Command {
    /// Parses the text of a server's command, as `Display` writes it.
    pub fn from_text(text: &str, product: Product) -> Self {
        let words = words(text);
        let parsed = match product {
            Product::Redis => script(&words),
            _ => call(&words, product),
        };
        parsed.unwrap_or(Self::Redis(words))
    }

    /// Parses `lock NAME` and `unlock NAME`.
    pub fn local_from_text(text: &str) -> Self {
        let (verb, name) = text.split_once(' ').unwrap_or((text, ""));
        Self::Local { lock: verb == "lock", name: name.to_owned() }
    }
}

/// Parses `EVAL NAME COUNT KEY… ARG…`. The source of a script is no name.
fn script(words: &[String]) -> Option<Command> {
    let [verb, name, count, rest @ ..] = words else { return None };
    let is_name = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    let (keys, args) = rest.split_at_checked(count.parse().ok()?)?;
    (verb == "EVAL" && is_name).then(|| Command::Script {
        name: name.clone(),
        keys: keys.to_vec(),
        args: args.to_vec(),
    })
}

fn call(words: &[String], product: Product) -> Option<Command> {
    let (name, rest) = words.split_first()?;
    let flags = rest.iter().take_while(|word| word.len() == 2 && word.starts_with('-')).count();
    let (flags, operands) = rest.split_at(flags);
    operands.first()?;
    (product.traits().command)(name, flags, operands.to_vec()).ok()
}

/// A word, quoted where it would otherwise be read as several words or none.
pub(super) struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.is_empty() && !self.0.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"') {
            return f.write_str(self.0);
        }
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' | '\n' | '\r' | '\t' => write!(f, "{}", c.escape_default())?,
                // As `redis-cli` shows them.
                '\0'..='\u{9f}' if c.is_control() => write!(f, "\\x{:02x}", u32::from(c))?,
                _ => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
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

/// Splits a text at its closing quote: the unescaped word, and the rest.
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
                'x' => {
                    let (code, rest) = chars.as_str().split_at_checked(2)?;
                    chars = rest.chars();
                    u8::from_str_radix(code, 16).ok()?.into()
                }
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

    use super::{Command, Product};
    use crate::log::product::zookeeper::Call;

    fn any_command() -> impl Strategy<Value = (Command, Product)> {
        let word = || prop_oneof!["[a-zA-Z0-9:_/-]{1,8}", any::<String>()];
        let words = || prop::collection::vec(word(), 0..4);
        let (path, flag) = ("/[a-z0-9/-]{0,8}", any::<bool>());
        let redis = (prop_oneof!["[A-Z]{1,5}", any::<String>()], words())
            .prop_filter("a script's text", |(name, _)| name != "EVAL");
        let call = prop_oneof![
            (flag, flag, flag, path, word()).prop_map(|(ephemeral, sequential, container, path, data)| {
                Call::Create { ephemeral, sequential, container, ttl: None, path, data }
            }),
            (path, any::<Option<i32>>()).prop_map(|(path, version)| Call::Delete { path, version }),
            path.prop_map(|path| Call::Sync { path }),
            (flag, path).prop_map(|(watch, path)| Call::Exists { watch, path }),
            (flag, path).prop_map(|(watch, path)| Call::Get { watch, path }),
            (flag, path).prop_map(|(watch, path)| Call::Ls { watch, path }),
            (path, word(), any::<Option<i32>>()).prop_map(|(path, data, version)| Call::Set {
                path,
                data,
                version
            }),
        ];
        prop_oneof![
            redis.prop_map(|(name, rest)| { (Command::Redis([vec![name], rest].concat()), Product::Redis) }),
            ("[a-z_]{1,8}", words(), words())
                .prop_map(|(name, keys, args)| (Command::Script { name, keys, args }, Product::Redis)),
            call.prop_map(|call| (Command::Zookeeper(call), Product::Zookeeper)),
        ]
    }

    proptest! {
        #[test]
        fn a_commands_text_stands_for_it((command, product) in any_command()) {
            prop_assert_eq!(Command::from_text(&command.to_string(), product), command);
        }

        #[test]
        fn a_mutexs_text_stands_for_it(lock: bool, name in "[a-z]{1,5}") {
            let command = Command::Local { lock, name };
            prop_assert_eq!(Command::local_from_text(&command.to_string()), command);
        }

        #[test]
        fn any_text_is_read(text in any::<String>()) {
            for product in [Product::Redis, Product::Zookeeper] {
                let _ = Command::from_text(&text, product).to_string();
            }
        }
    }

    #[test]
    fn a_scripts_own_text_is_no_name() {
        let words = ["EVAL", "return 1", "0"].map(str::to_owned).to_vec();
        let command = Command::Redis(words);
        assert_eq!(command.to_string(), "EVAL \"return 1\" 0");
        assert_eq!(Command::from_text(&command.to_string(), Product::Redis), command);
    }
}
