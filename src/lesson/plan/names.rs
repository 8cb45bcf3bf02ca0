//! Checks names that expressions can use: of operations, counters, parameters and clients.

use super::{
    super::error::{Mistake, MistakeSpan, Path},
    BUILTINS, FUNCTIONS,
};
use crate::text::{Text, both};

/// The keywords of expressions.
pub(crate) const WORDS: [&str; 13] =
    ["and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "True", "False", "None"];

/// What a name is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    Operation,
    Counter,
    Client,
    /// A value that a `let`, an `as` or a `with` sets.
    Value,
}

/// Checks that expressions can use a name, and that it has no other meaning there.
pub(crate) fn check(name: &str, named: Named, path: &Path) -> Result<(), Mistake> {
    let (what, such) = match named {
        Named::Operation => (both!("an operation", "操作"), "acquire"),
        Named::Counter => (both!("a counter", "计数器"), "sold"),
        Named::Client => (both!("a client", "客户端"), "A"),
        Named::Value => (both!("a value", "值"), "began"),
    };
    let wrong = |message: Text, help: Text| {
        let mistake = Mistake { span: MistakeSpan::Key, ..Mistake::new(path, message) };
        Err(mistake.help(help))
    };
    let begins_well = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    // A `-` is allowed in names that claims can quote: `moves('A.try-lock')`.
    let may_be_joined = matches!(named, Named::Operation | Named::Client);
    let part = |c: char| c.is_alphanumeric() || c == '_' || may_be_joined && c == '-';
    if let (Named::Value, Some((set, _))) = (named, name.split_once('=')) {
        let set = set.trim();
        return wrong(
            both!("`{name}` cannot be the name of {what}", "`{name}` 不能用作{what}的名字", what),
            both!("a colon comes before the value: `{{ {set}: … }}`", "值的前面是冒号：`{{ {set}: … }}`"),
        );
    }
    if !begins_well || !name.chars().all(part) {
        return wrong(
            both!("`{name}` cannot be the name of {what}", "`{name}` 不能用作{what}的名字", what),
            both!(
                "a letter, then letters, digits and `_`, so that expressions can ask for it: `{such}`",
                "以字母开头，后面是字母、数字和 `_`，这样表达式才能引用它，例如 `{such}`"
            ),
        );
    }
    let meaning = match name {
        // An operation is also named after its client, `A.none`, where keywords are allowed.
        _ if WORDS.contains(&name) && named != Named::Operation => {
            both!("a word of expressions", "表达式的关键字")
        }
        _ if BUILTINS.contains(&name) => {
            both!("a name that every program has already", "每个程序都已有的名字")
        }
        _ if FUNCTIONS.contains(&name) && matches!(named, Named::Counter | Named::Client) => {
            both!("a function of claims", "断言里的函数")
        }
        "notified" | "finished" | "crashed" if named == Named::Operation => {
            both!("what claims ask of every client", "断言可以向每个客户端查询的属性")
        }
        _ => return Ok(()),
    };
    wrong(
        both!(
            "`{name}` is {meaning} and cannot be the name of {what}",
            "`{name}` 是{meaning}，不能用作{what}的名字",
            meaning,
            what
        ),
        both!("give it another name, such as `{such}`", "请换个名字，例如 `{such}`"),
    )
}
