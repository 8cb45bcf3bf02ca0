//! The README and the other pages: their lists match the program, and their links, commands and lessons work.

pub(crate) mod grammar;
mod output;

use clap::ValueEnum as _;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use clap::{CommandFactory as _, Parser as _};
use lockstep::{
    cli::{self, Cli},
    config,
    export::Format,
    lesson::expr::split_words,
    text::Lang,
    ui::{theme::ThemeName, words},
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A page by its path in the repository.
pub(crate) fn page(path: &str) -> String {
    read(&root().join(path))
}

/// All files of a folder and its subfolders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Every page: those at the top and those in `docs`.
fn pages() -> Vec<PathBuf> {
    let top = ["README.md", "README.zh.md", "ARCHITECTURE.md"].map(|name| root().join(name));
    top.into_iter().chain(files(&root().join("docs"))).collect()
}

/// The lines of a page outside code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    text.lines().filter(move |line| {
        let fence = line.starts_with("```");
        code ^= fence;
        !code && !fence
    })
}

/// The code blocks in a language.
pub(crate) fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let blocks = text.split(&fence).skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap_or_default().to_owned()).collect()
}

/// The text under a heading, up to the next heading of its rank or higher.
fn section<'t>(text: &'t str, heading: &str) -> &'t str {
    let rank = heading.chars().take_while(|c| *c == '#').count();
    let start =
        text.find(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("there is no heading `{heading}`"));
    let body = &text[start + heading.len() + 2..];
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        let own = line.chars().take_while(|c| *c == '#').count();
        if (1..=rank).contains(&own) && line[own..].starts_with(' ') {
            break;
        }
        at += line.len();
    }
    &body[..at]
}

/// The rows of all tables whose first column has this head, split into cells.
fn rows(text: &str, head: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    // Whether the open table is the wanted one; `None` outside tables.
    let mut table = None;
    for line in prose(text) {
        if !line.starts_with('|') {
            table = None;
            continue;
        }
        let cells = line.replace(r"\|", "\u{1}");
        let cells: Vec<String> = cells.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect();
        match table {
            None => table = Some(cells[1] == head),
            Some(true) => rows.push(cells[1..cells.len() - 1].to_vec()),
            Some(false) => {}
        }
    }
    // The line of dashes below the head.
    rows.retain(|row| !row[0].starts_with("---"));
    assert!(!rows.is_empty(), "there is no table `{head}`");
    rows
}

/// The words in backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The first word of everything in backticks in the first column.
fn names(text: &str, head: &str) -> BTreeSet<String> {
    let rows = rows(text, head);
    let words = rows.iter().flat_map(|row| quoted(&row[0]));
    let first = |word: &str| word.split([':', '(', ' ', '=']).next().unwrap_or_default().to_owned();
    words.map(first).collect()
}

/// A heading as links name it.
fn slug(heading: &str) -> String {
    let kept = heading
        .trim()
        .to_lowercase()
        .replace(|c: char| !(c.is_alphanumeric() || matches!(c, ' ' | '-' | '_')), "");
    kept.replace(' ', "-")
}

#[test]
fn links_lead_somewhere() {
    let (mut links, mut pictures) = (0, 0);
    for path in pages() {
        let text = read(&path);
        let targets = prose(&text).flat_map(|line| line.split("](").skip(1));
        for target in targets.filter_map(|rest| rest.split(')').next()) {
            if target.starts_with("https://") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = match file {
                "" => path.clone(),
                file => path.parent().expect("a folder").join(file),
            };
            assert!(file.exists(), "{}: {target}", path.display());
            links += 1;
            pictures += usize::from(file.extension().is_some_and(|ending| ending == "svg"));
            if !anchor.is_empty() {
                let there = read(&file);
                let mut headings = prose(&there).filter(|line| line.starts_with('#'));
                let found = headings.any(|line| slug(line.trim_start_matches('#')) == anchor);
                assert!(found, "{}: {target}", path.display());
            }
        }
    }
    assert!(links > 50 && pictures > 2, "{links} links, {pictures} pictures");
}

#[test]
fn the_front_page_is_short_and_leads_to_every_page() {
    let readme = page("README.md");
    let lines = readme.lines().count();
    assert!((200..=240).contains(&lines), "{lines} lines");
    for path in files(&root().join("docs")) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(readme.contains(&format!("](docs/{name})")), "{name}");
    }
}

#[test]
fn commands_can_be_typed_as_they_stand_there() {
    let mut commands = 0;
    for path in pages() {
        let text = read(&path);
        for block in blocks(&text, "sh") {
            for line in block.lines().filter(|line| line.starts_with("lockstep")) {
                let command = line.split(" #").next().unwrap_or_default();
                let command = command.split(" > ").next().unwrap_or_default();
                let words = split_words(command).unwrap_or_else(|error| panic!("{line}: {}", error.en));
                if let Err(error) = Cli::try_parse_from(words) {
                    panic!("{}: {line}\n{error}", path.display());
                }
                commands += 1;
            }
        }
    }
    assert!(commands > 40, "{commands} commands");
}

#[test]
fn the_page_of_the_command_line_has_every_command_and_option() {
    let text = page("docs/command-line.md");
    let cli = Cli::command();
    let commands: BTreeSet<&str> = cli.get_subcommands().map(clap::Command::get_name).collect();
    let told = prose(&text).filter_map(|line| line.strip_prefix("## "));
    let told: BTreeSet<&str> = told.filter(|heading| !heading.contains(' ')).collect();
    assert_eq!(told, commands);

    options(section(&text, "## Options for every command"), "option", &cli);
    for command in cli.get_subcommands() {
        let section = section(&text, &format!("## {}", command.get_name()));
        if command.get_arguments().count() > 0 {
            options(section, "argument", command);
        } else {
            assert!(!section.contains("| argument |"), "{}", command.get_name());
        }
    }
}

/// Compares a table of arguments with those of a command.
fn options(section: &str, head: &str, command: &clap::Command) {
    let told: Vec<(String, String)> = rows(section, head)
        .into_iter()
        .map(|row| {
            let first = |word: &str| word.split(' ').next().unwrap_or_default().to_owned();
            let names: Vec<String> = quoted(&row[0]).map(first).collect();
            (names.join(" "), row.join(" "))
        })
        .collect();
    let mut known = BTreeSet::new();
    for argument in command.get_arguments() {
        let long = argument.get_long().map(|long| format!("--{long}"));
        let short = argument.get_short().map(|short| format!("-{short}"));
        let name = match (short, long) {
            (Some(short), Some(long)) => format!("{short} {long}"),
            (None, Some(long)) => long,
            _ => match argument.get_value_names() {
                Some([name]) => name.to_string(),
                _ => argument.get_id().as_str().to_uppercase(),
            },
        };
        let row = told.iter().find(|(told, _)| *told == name);
        let (_, row) = row.unwrap_or_else(|| panic!("{}: `{name}` is not told", command.get_name()));
        let takes_value = argument.get_action().takes_values();
        for value in argument.get_possible_values().iter().filter(|_| takes_value) {
            let value = value.get_name();
            assert!(quoted(row).any(|word| word == value), "{name}: `{value}` is not told");
        }
        known.insert(name);
    }
    let told: BTreeSet<String> = told.into_iter().map(|(name, _)| name).collect();
    assert_eq!(told, known, "{}", command.get_name());
}

#[test]
fn exit_codes_are_those_of_the_program() {
    let text = page("docs/command-line.md");
    let codes = [cli::OK, cli::NOT_SHOWN, cli::USAGE, cli::SERVER, cli::INTERRUPTED];
    // 141 is a shell's code for SIGPIPE.
    let codes: BTreeSet<String> = codes.into_iter().chain([141]).map(|code| code.to_string()).collect();
    assert_eq!(names(section(&text, "## Exit codes"), "code"), codes);
}

#[test]
fn settings_are_those_of_the_configuration_file() {
    let text = page("docs/configuration.md");
    let printed = config::file("here");
    let (settings, _) = printed.split_once("\n[keys]").expect("keys");
    let settings = settings.lines().filter_map(|line| line.strip_prefix('#')?.split_once(" = "));
    let settings: BTreeSet<String> =
        settings.filter(|(name, _)| !name.contains(' ')).map(|(name, _)| name.to_owned()).collect();
    let section = section(&text, "## Settings");
    assert_eq!(names(section, "setting"), settings);
    for theme in ThemeName::ALL {
        assert!(section.contains(&format!("`\"{}\"`", theme.name())), "{}", theme.name());
    }
    let example = blocks(&text, "toml").concat();
    let config = config::Config::parse("docs/configuration.md", &example);
    assert_eq!(config.mistakes, vec![]);
}

#[test]
fn environment_variables_are_those_that_are_read() {
    let pages = [
        ("docs/configuration.md", "## Environment variables", "variable"),
        ("docs/development.md", "## Environment variables of tests", "variable"),
        ("docs/hardening.md", "# The hardening tests", "environment variable"),
    ];
    let page = |path: &str| format!("\n{}", page(path));
    let told: BTreeSet<String> = pages
        .into_iter()
        .flat_map(|(path, heading, head)| names(section(&page(path), heading), head))
        .collect();
    let folders = ["src", "tests", "assets", "preload"].map(|folder| root().join(folder));
    let sources = folders.iter().flat_map(|folder| files(folder));
    let is_code = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "rs" || ending == "sh");
    let code: Vec<String> = sources.filter(is_code).map(|path| read(&path)).collect();

    for name in &told {
        assert!(code.iter().any(|text| text.contains(name)), "{name} is not read");
    }
    for text in &code {
        for (at, _) in text.match_indices("LOCKSTEP_") {
            let is_name = |c: char| c.is_ascii_uppercase() || c == '_';
            let name: String = text[at..].chars().take_while(|c| is_name(*c)).collect();
            // A test gives this one to a process of its own.
            let known = name == "LOCKSTEP_" || name == "LOCKSTEP_TEST_CLIENT" || told.contains(&name);
            assert!(known, "{name} is not told");
        }
    }
}

#[test]
fn signs_and_words_are_those_of_the_screen() {
    let text = page("docs/screen.md");
    for (glyphs, _) in words::LEGEND_ROWS {
        for glyph in glyphs.chars().filter(|glyph| !matches!(glyph, ' ' | '…')) {
            assert!(text.contains(glyph), "{glyph}");
        }
    }
    for word in [words::STORY, words::LANES, words::SERVERS, words::WIRE] {
        assert!(text.contains(&format!("| {} |", word.get(Lang::En))), "{}", word.get(Lang::En));
    }
    for word in [words::CONTROLLED, words::WALL, words::RECORDED] {
        assert!(text.contains(&format!("| `{}` |", word.get(Lang::En))), "{}", word.get(Lang::En));
    }
}

#[test]
fn formats_are_known_by_the_file_names_that_are_told() {
    let text = page("docs/exports.md");
    for row in rows(&text, "format") {
        let format = row[0].trim_matches('`');
        for ending in quoted(&row[1]) {
            let known = Format::of_file(&format!("picture{ending}"));
            assert_eq!(known, Some(Format::from_str(format, false).expect(format)), "{ending}");
        }
    }
}

#[test]
fn every_module_of_the_hardening_tests_is_told() {
    let text = page("docs/hardening.md");
    let has_tests = |path: &PathBuf| read(path).contains("test]\n");
    let folder = root().join("tests/hardening");
    let paths = files(&folder).into_iter().filter(has_tests);
    let modules: BTreeSet<String> = paths
        .map(|path| {
            let inside = path.strip_prefix(&folder).expect("inside").to_string_lossy().into_owned();
            inside.split(['/', '.']).next().unwrap_or_default().to_owned()
        })
        .collect();
    assert_eq!(names(&text, "module"), modules);
}
