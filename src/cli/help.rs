//! `--help` in Chinese. clap prints the doc comments of the arguments, which are English; `assets/help.zh.yaml` has the
//! Chinese texts by the names of commands and arguments. Arguments are still read by the English command.

use std::{collections::BTreeMap, ffi::OsString};

use clap::{Arg, Command, CommandFactory as _, builder::PossibleValuesParser};
use serde::Deserialize;

use super::Cli;
use crate::ui::theme::text;

/// The width of help, as in English.
const COLUMNS: u16 = 100;
/// The columns before the help of an argument.
const INDENT: usize = 10;

const TEMPLATE: &str = "{about-with-newline}\n用法：{usage}\n\n{all-args}{after-help}";

/// What clap itself writes.
const FIXED: [(&str, &str); 4] = [
    ("[default: ", "[默认："),
    ("[env: ", "[环境变量："),
    ("[possible values: ", "[可选值："),
    ("Possible values:", "可选值："),
];

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct HelpTexts {
    about: String,
    arguments: BTreeMap<String, String>,
    /// What the values of its arguments mean.
    values: BTreeMap<String, String>,
    commands: BTreeMap<String, HelpTexts>,
    after: Option<String>,
}

impl HelpTexts {
    fn carried() -> Self {
        serde_yaml::from_str(include_str!("../../assets/help.zh.yaml")).expect("a test reads it")
    }
}

/// The help that the arguments ask for; `None` if they ask for none.
pub(super) fn in_chinese(arguments: impl IntoIterator<Item = OsString>) -> Option<String> {
    let mut command = Cli::command();
    command.build();
    let columns = crossterm::terminal::size().map_or(COLUMNS, |(columns, _)| columns.min(COLUMNS));
    let columns = usize::from(columns).saturating_sub(INDENT).max(1);
    let texts = HelpTexts::carried();
    let help =
        translated(command, &texts, &texts.arguments, columns).try_get_matches_from(arguments).err()?;
    let printed = help.render().to_string();
    Some(FIXED.iter().fold(printed, |printed, (english, chinese)| printed.replace(english, chinese)))
}

/// The command with the texts in place of its own. `shared` are those of the arguments that every command takes.
fn translated(
    command: Command,
    texts: &HelpTexts,
    shared: &BTreeMap<String, String>,
    columns: usize,
) -> Command {
    let command = command
        .about(texts.about.clone())
        .help_template(TEMPLATE)
        .subcommand_help_heading("命令")
        .mut_args(|argument| translated_argument(argument, texts, shared, columns))
        .mut_subcommands(|inner| match (inner.get_name(), texts.commands.get(inner.get_name())) {
            (_, Some(texts)) => translated(inner, texts, shared, columns),
            ("help", None) => inner.about("显示总的帮助，或某个命令的帮助"),
            (_, None) => inner,
        });
    match &texts.after {
        Some(after) => command.after_help(after.clone()),
        None => command,
    }
}

fn translated_argument(
    argument: Arg,
    texts: &HelpTexts,
    shared: &BTreeMap<String, String>,
    columns: usize,
) -> Arg {
    let name = argument.get_id().as_str();
    let help = match name {
        "help" => "显示帮助",
        "version" => "显示版本",
        _ => texts.arguments.get(name).or_else(|| shared.get(name)).map_or("", String::as_str),
    };
    // clap breaks lines at spaces only.
    let help = text::wrap(help, columns).join("\n");
    let heading = match (argument.is_positional(), argument.is_global_set()) {
        (true, _) => "参数",
        (false, true) => "所有命令通用的选项",
        (false, false) => "选项",
    };
    let values = argument.get_possible_values();
    let explained = values.iter().any(|value| value.get_help().is_some());
    let argument = argument.help(help.clone()).long_help(help).help_heading(heading).next_line_help(true);
    if !explained {
        return argument;
    }
    argument.value_parser(PossibleValuesParser::new(values.iter().map(|value| {
        let meaning = match value.get_name() {
            "en" => Some("English"),
            "zh" => Some("简体中文"),
            name => texts.values.get(name).map(String::as_str),
        };
        value.clone().help(meaning.unwrap_or_default().to_owned())
    })))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn names(texts: &BTreeMap<String, impl Sized>) -> BTreeSet<&str> {
        texts.keys().map(String::as_str).collect()
    }

    /// Compares the texts with the command, as it is before clap adds what it shares and what it prints itself.
    fn compare(command: &Command, texts: &HelpTexts) {
        let arguments = command.get_arguments().map(|argument| argument.get_id().as_str());
        assert_eq!(arguments.collect::<BTreeSet<_>>(), names(&texts.arguments), "of {}", command.get_name());
        let explained = command.get_arguments().filter(|argument| argument.get_id() != "lang");
        let explained =
            explained.flat_map(Arg::get_possible_values).filter(|value| value.get_help().is_some());
        let values: BTreeSet<String> = explained.map(|value| value.get_name().to_owned()).collect();
        assert_eq!(values, texts.values.keys().cloned().collect(), "values of {}", command.get_name());
        assert_eq!(command.get_after_help().is_some(), texts.after.is_some(), "of {}", command.get_name());
        assert!(!texts.about.is_empty(), "of {}", command.get_name());
        let commands = command.get_subcommands().map(Command::get_name);
        assert_eq!(commands.collect::<BTreeSet<_>>(), names(&texts.commands), "of {}", command.get_name());
        for inner in command.get_subcommands() {
            compare(inner, &texts.commands[inner.get_name()]);
        }
    }

    #[test]
    fn every_command_and_argument_has_its_text_in_chinese() {
        compare(&Cli::command(), &HelpTexts::carried());
    }

    #[test]
    fn help_is_asked_for_in_every_way_and_says_all_in_chinese() {
        let help = |arguments: &str| {
            in_chinese(std::iter::once("lockstep").chain(arguments.split(' ')).map(OsString::from))
        };
        for arguments in ["--help", "-h", "help"] {
            let help = help(arguments).expect("help");
            assert!(help.contains("用法：lockstep [OPTIONS] [COMMAND]"), "{help}");
            assert!(help.contains("  run          不开界面，直接运行课程并检查断言"), "{help}");
        }
        for arguments in
            ["export --help", "help export", "kata hint --help", "doctor -h", "bench-locks --help"]
        {
            let help = help(arguments).expect("help");
            let english = ["Options:", "Arguments:", "Possible", "possible", "default:", "env:", "Print "];
            assert!(english.iter().all(|word| !help.contains(word)), "{help}");
            assert!(help.lines().all(|line| text::width(line) <= usize::from(COLUMNS)), "{help}");
        }
        assert_eq!(help("list"), None);
    }
}
