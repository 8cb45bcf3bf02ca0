//! Errors of command-line arguments, in Chinese; clap has them in English only.

use std::{error::Error as _, ffi::OsString};

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::text::Lang;

/// The language of the arguments, or else of the environment: errors are reported before the configuration is read.
pub(crate) fn lang(arguments: impl IntoIterator<Item = OsString>) -> Lang {
    let words: Vec<String> = arguments.into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let joined = words.iter().find_map(|word| word.strip_prefix("--lang="));
    let apart = words.iter().position(|word| word == "--lang").and_then(|at| words.get(at + 1));
    match joined.or(apart.map(String::as_str)) {
        Some("zh") => Lang::Zh,
        Some("en") => Lang::En,
        _ => Lang::from_env(),
    }
}

/// The Chinese text of an error; `None` for help and version, and for errors that clap explains better.
pub(crate) fn in_chinese(said: &clap::Error) -> Option<String> {
    let part = |kind: ContextKind| match said.get(kind)? {
        ContextValue::Strings(words) => Some(words.join("、")),
        ContextValue::StyledStrs(words) => {
            Some(words.iter().map(ToString::to_string).collect::<Vec<_>>().join("；"))
        }
        other => Some(other.to_string()),
    };
    let named = |kind| part(kind).unwrap_or_default();
    let mut help = None;
    let what = match said.kind() {
        ErrorKind::UnknownArgument => {
            help = part(ContextKind::SuggestedArg).map(|near| format!("是不是想写 {near}？"));
            format!("没有 {} 这个参数", named(ContextKind::InvalidArg))
        }
        ErrorKind::InvalidSubcommand => {
            help = part(ContextKind::SuggestedSubcommand).map(|near| format!("是不是想写 {near}？"));
            format!("没有 {} 这个命令", named(ContextKind::InvalidSubcommand))
        }
        ErrorKind::InvalidValue => {
            help = part(ContextKind::ValidValue).map(|known| format!("可以写：{known}"));
            match named(ContextKind::InvalidValue) {
                none if none.is_empty() => format!("{} 后面缺少值", named(ContextKind::InvalidArg)),
                value => format!("{} 不能是 {value}", named(ContextKind::InvalidArg)),
            }
        }
        ErrorKind::ValueValidation => {
            help = said.source().map(|why| reason(&why.to_string()));
            format!("{} 不能是 {}", named(ContextKind::InvalidArg), named(ContextKind::InvalidValue))
        }
        ErrorKind::MissingRequiredArgument => format!("缺少参数：{}", named(ContextKind::InvalidArg)),
        ErrorKind::MissingSubcommand => "缺少命令".to_owned(),
        ErrorKind::ArgumentConflict => match named(ContextKind::PriorArg) {
            prior if prior == named(ContextKind::InvalidArg) => format!("{prior} 只能写一次"),
            prior => format!("{} 不能和 {prior} 一起用", named(ContextKind::InvalidArg)),
        },
        _ => return None,
    };
    let usage = part(ContextKind::Usage).map(|usage| usage.trim().replacen("Usage: ", "用法：", 1));
    let lines = [Some(format!("错误：{what}")), help.map(|help| format!("  {help}")), usage];
    let mut lines: Vec<String> = lines.into_iter().flatten().collect();
    lines.push("更多说明见 --help。".to_owned());
    Some(lines.join("\n"))
}

/// Why a value is invalid. clap reports the bounds of numbers, and the option's own parser the rest.
fn reason(why: &str) -> String {
    if let Some((_, range)) = why.split_once(" is not in ") {
        return match range.split_once("..=") {
            Some((least, "")) => format!("最小是 {least}"),
            Some((least, most)) => format!("允许从 {least} 到 {most}"),
            None => format!("允许的范围：{range}"),
        };
    }
    if why.starts_with("invalid digit") || why.starts_with("cannot parse integer") {
        return "这里要写一个整数".to_owned();
    }
    if why.starts_with("number too ") {
        return "这个数超出了范围".to_owned();
    }
    let said = OWN.iter().find(|(english, _)| why.contains(english));
    said.map_or(why, |(_, chinese)| chinese).to_owned()
}

/// The messages of the options' own parsers.
const OWN: [(&str, &str); 5] = [
    ("invalid socket address", "请写成 地址:端口，例如 0.0.0.0:5625"),
    ("is no moment", "请写步数（如 7）、课程时间（如 3.2s、420ms、1m05s）或 end"),
    ("write NAME=VALUE", "请写成 NAME=VALUE，例如 buyers=20"),
    ("a number from 0.1 to 100", "请写 0.1 到 100 之间的数"),
    ("write columns and rows", "请写成 列数x行数，例如 120x40"),
];

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::{in_chinese, lang};
    use crate::{cli::Cli, text::Lang};

    fn said(arguments: &str) -> String {
        let words = std::iter::once("lockstep").chain(arguments.split(' '));
        in_chinese(&Cli::try_parse_from(words).expect_err("a mistake")).expect("in Chinese")
    }

    #[test]
    fn mistakes_in_arguments_are_reported_in_chinese() {
        assert!(said("run --prot 7").starts_with("错误：没有 --prot 这个参数"));
        assert!(said("plai").contains("是不是想写 play"));
        assert!(said("--lang fr").contains("可以写：en、zh"));
        assert!(said("play").contains("缺少参数：<LESSON>"));
        assert!(said("interview --exam x").contains("这里要写一个整数"));
        assert!(said("attach redis --servers 12").contains("允许从 1 到 9"));
        assert!(said("export oversell --at soon").contains("请写步数"));
        assert!(said("run --prot 7").contains("用法：") && !said("run --prot 7").contains("Usage"));
    }

    #[test]
    fn the_arguments_say_the_language_of_their_own_mistakes() {
        let words = |text: &str| text.split(' ').map(Into::into).collect::<Vec<_>>();
        assert_eq!(lang(words("lockstep --lang zh plai")), Lang::Zh);
        assert_eq!(lang(words("lockstep plai --lang=en")), Lang::En);
    }
}
