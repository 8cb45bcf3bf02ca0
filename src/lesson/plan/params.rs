//! The values of a variant's parameters.

use super::{names, program::BUILTINS};
use crate::{
    lesson::{
        Lesson, Param, Params, Variant,
        duration::{parse_millis, parse_signed_millis},
        error::{Mistake, Path, finding},
    },
    text::both,
};

/// The lesson's parameters, overridden by the variant's, then by the user's.
pub(super) fn params(
    lesson: &Lesson,
    variant: &Variant,
    overrides: &Params,
    at: &Path,
) -> Result<Params, Mistake> {
    let mut params = lesson.params.clone();
    for (name, value) in &params {
        check_value(value, &Path::root().key("params").key(name))?;
    }
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if let Some(name) = params.keys().find(|name| !is_name(name)) {
        let path = Path::root().key("params").key(name);
        return Err(Mistake::new(
            &path,
            both!("`{name}` cannot name a parameter", "`{name}` 不能用作参数名"),
        )
        .help(both!("a letter, then letters, digits and `_`", "以字母开头，后面是字母、数字和 `_`")));
    }
    if let Some(reserved) = params.keys().find(|name| BUILTINS.contains(&name.as_str())) {
        let path = Path::root().key("params").key(reserved);
        return Err(path.mistake(finding!(
            "`{reserved}` is a name that every program has already",
            "`{reserved}` 是每个程序都已有的名字",
            "give the parameter another name",
            "请给参数换个名字"
        )));
    }
    for name in params.keys() {
        names::check(name, names::Named::Value, &Path::root().key("params").key(name))?;
    }
    let own = variant.params.iter().map(|param| (param, at.key("params").key(param.0)));
    let given = overrides.iter().map(|param| (param, Path::root().key("params")));
    for ((name, value), path) in own.chain(given) {
        check_value(value, &path)?;
        stays_duration(lesson.params.get(name), value, &path)?;
        if params.insert(name.clone(), value.clone()).is_none() {
            return Err(Mistake::unknown(
                &path,
                both!("parameter", "参数"),
                name,
                lesson.params.keys().map(String::as_str),
            ));
        }
    }
    Ok(params)
}

/// Checks that a parameter that is a duration in the lesson is one in its variants, too.
pub(super) fn stays_duration(own: Option<&Param>, value: &Param, path: &Path) -> Result<(), Mistake> {
    match (own, value) {
        (Some(Param::Word(own)), Param::Word(word))
            if parse_millis(own).is_ok() && parse_signed_millis(word).is_err() =>
        {
            Err(path.mistake(finding!(
                "`{word}` is no duration, and the parameter is one: `{own}`",
                "这个参数是时长（`{own}`），而 `{word}` 不是时长",
                "write it like 3s or 200ms",
                "请写成 3s 或 200ms 这样"
            )))
        }
        _ => Ok(()),
    }
}

/// Checks the value of a parameter. Parameters are known before anything runs, so they cannot contain expressions.
pub(super) fn check_value(value: &Param, path: &Path) -> Result<(), Mistake> {
    match value {
        Param::Word(word) if word.contains("${") => Err(path.mistake(finding!(
            "`{word}` is an expression, and a parameter is a value",
            "`{word}` 是表达式，而参数必须是具体的值",
            "write the value itself, such as 30s, and compute where the parameter is used",
            "请直接写值，例如 30s；要计算，在用到参数的地方写表达式"
        ))),
        // Digits and a unit that exceed a year.
        Param::Word(word)
            if ["ms", "s", "m", "h"].iter().any(|unit| {
                word.strip_suffix(unit).is_some_and(|digits| {
                    digits.len() > 9 && digits.bytes().all(|byte| byte.is_ascii_digit())
                })
            }) && parse_millis(word).is_err() =>
        {
            Err(Mistake::new(path, both!("`{word}` is too long: at most a year", "`{word}` 太长：最多一年"))
                .help(both!("such as 30s", "例如 30s")))
        }
        _ => Ok(()),
    }
}

/// Parses the value of a `--set name=value` in the way a lesson's file is parsed.
pub fn param_from_word(word: &str) -> Param {
    match (word.parse::<i64>(), word.parse::<bool>()) {
        (Ok(number), _) => Param::Number(number),
        (_, Ok(flag)) => Param::Flag(flag),
        _ => Param::Word(word.to_owned()),
    }
}
