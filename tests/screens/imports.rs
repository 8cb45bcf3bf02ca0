//! Imports between the folders of `src` go one way: from the command line down to the clock.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Every folder, from the bottom up, and what it may import: only folders above it in this table.
const FOLDERS: &[(&str, &str)] = &[
    ("clock", ""),
    ("exact_sleep", ""),
    ("files", ""),
    ("parallel", ""),
    ("printable", ""),
    ("random", ""),
    ("signals", ""),
    ("text", ""),
    ("log", "clock text"),
    ("lesson", "files log parallel text"),
    ("world", "clock lesson log text"),
    ("verdict", "clock lesson log text world"),
    ("process", "clock text"),
    ("server", "clock files lesson log process text"),
    ("client", "clock exact_sleep log process server text"),
    ("lab", "clock lesson log process server text"),
    ("bench", "exact_sleep lab lesson log server text"),
    ("recording", "clock files lesson log printable verdict"),
    ("program", "client clock lesson log text"),
    ("run/session", "client clock lab lesson log printable program random text verdict"),
    ("run/race", "clock lab lesson log program run/session text world"),
    ("run/explore", "client clock lab lesson log program random run/race run/session text verdict world"),
    ("run", "bench lab lesson log recording run/explore run/race run/session text verdict"),
    ("ui/theme", "clock log printable text"),
    ("ui/keys", "text ui/theme"),
    ("ui/words", "bench lesson log run/race text ui/keys ui/theme verdict"),
    ("ui/chart", "clock log ui/theme ui/words verdict world"),
    ("ui/flight", "clock log world"),
    (
        "ui/state",
        "bench clock files lesson log random run run/explore run/race run/session text ui/chart ui/flight \
         ui/keys verdict world",
    ),
    (
        "ui/view",
        "clock lesson log printable run/explore run/race text ui/chart ui/flight ui/keys ui/state \
         ui/theme ui/words verdict world",
    ),
    (
        "ui/app",
        "bench lesson log run run/race run/session signals text ui/chart ui/keys ui/state \
         ui/theme ui/view ui/words world",
    ),
    (
        "export",
        "clock lesson log printable text ui/chart ui/flight ui/keys ui/state ui/theme ui/view ui/words \
         verdict world",
    ),
    ("teach", "clock export log printable text ui/state ui/theme"),
    ("config", "files lesson text ui/keys ui/state ui/theme ui/words"),
    (
        "cli",
        "bench config export files lab lesson log parallel printable recording run run/explore run/race \
         run/session signals teach text ui/app ui/state ui/theme ui/view ui/words verdict",
    ),
];

/// The folders whose subfolders are checked one by one.
const SPLIT: [&str; 2] = ["run", "ui"];

#[test]
fn imports_go_one_way() {
    let mut used: BTreeMap<String, BTreeMap<String, PathBuf>> = BTreeMap::new();
    for (file, module) in modules() {
        let Some(from) = folder_of(&module) else { continue };
        let text = fs::read_to_string(&file).expect("it can be read");
        for path in imports(&tokens(&text), &module) {
            if let Some(to) = folder_of(&path).filter(|to| *to != from) {
                used.entry(from.clone()).or_default().entry(to).or_insert_with(|| file.clone());
            }
        }
    }
    let mut wrong = Vec::new();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for (folder, allowed) in FOLDERS {
        let used = used.remove(*folder).unwrap_or_default();
        let allowed: Vec<&str> = allowed.split_whitespace().collect();
        for to in &allowed {
            if !known.contains(to) {
                wrong.push(format!("the table lets {folder} import {to}, which stands below it"));
            }
            if !used.contains_key(*to) {
                wrong.push(format!("the table lets {folder} import {to}, which it does not"));
            }
        }
        for (to, file) in used.iter().filter(|(to, _)| !allowed.contains(&to.as_str())) {
            wrong.push(format!("{folder} imports {to}: {}", file.display()));
        }
        known.insert(folder);
    }
    wrong.extend(used.keys().map(|folder| format!("{folder} is not in the table")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Crates that only one part of the program may use: the rest must go through that part.
const CRATES: &[(&str, &str)] = &[
    ("clap", "cli export text"),
    ("crossterm", "cli export ui"),
    ("hyper", "teach"),
    ("minijinja", "lesson program run verdict"),
    ("mysql_async", "bench server"),
    ("nucleo_matcher", "ui"),
    ("qrcode", "teach ui"),
    ("ratatui", "export ui"),
    ("rs_fsrs", "ui"),
    ("serde_yaml", "lesson"),
    ("sqlparser", "lesson"),
    ("zookeeper_client", "bench server"),
];

#[test]
fn crates_stay_where_they_belong() {
    let mut wrong = Vec::new();
    for (file, module) in modules() {
        let tokens = tokens(&fs::read_to_string(&file).expect("it can be read"));
        let named = |name: &str| {
            tokens.windows(2).enumerate().any(|(at, pair)| {
                pair == [name, "::"] && (at == 0 || !["::", "{", ","].contains(&tokens[at - 1].as_str()))
            })
        };
        for (name, folders) in CRATES {
            let folder = module.first().map_or("", String::as_str);
            if named(name) && !folders.split(' ').any(|known| known == folder) {
                wrong.push(format!("{} names {name}, which is for {folders}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn products_of_servers_do_not_know_each_other() {
    const PRODUCTS: [&str; 4] = ["etcd", "mariadb", "redis", "zookeeper"];
    let mut wrong = Vec::new();
    for (file, module) in modules() {
        let [first, of, ..] = &module[..] else { continue };
        if first != "server" {
            continue;
        }
        let text = fs::read_to_string(&file).expect("it can be read");
        for path in imports(&tokens(&text), &module) {
            if let [first, other, ..] = &path[..]
                && first == "server"
                && other != of
                && PRODUCTS.contains(&other.as_str())
            {
                wrong.push(format!("{} imports server/{other}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn imports_are_read_as_the_compiler_reads_them() {
    let module: Vec<String> = ["ui", "view", "lesson"].map(str::to_owned).into();
    let text = "// use crate::lab;\nuse crate::{log::{Event, self as events}, run::race::Race};\n\
                fn f() { let c = '\"'; super::super::state::go(\"crate::cli\"); crate::clock::now() }\n\
                #[cfg(test)]\nmod tests { use crate::cli; }";
    let mut found: Vec<String> =
        imports(&tokens(text), &module).iter().filter_map(|path| folder_of(path)).collect();
    found.dedup();
    assert_eq!(found, ["log", "run/race", "ui/state", "clock"]);
}

/// The files of `src` with their modules.
fn modules() -> Vec<(PathBuf, Vec<String>)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&source, &mut files);
    let module = |file: &PathBuf| module_of(file.strip_prefix(&source).expect("it lies in src"));
    files.into_iter().map(|file| (file.clone(), module(&file))).collect()
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("it can be listed") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|kind| kind == "rs") && !path.ends_with("tests.rs") {
            files.push(path);
        }
    }
}

/// The module of a file of `src`: empty for `lib.rs` and `main.rs`.
fn module_of(file: &Path) -> Vec<String> {
    let path = file.with_extension("");
    let mut module: Vec<String> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    module.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
    module
}

fn folder_of(module: &[String]) -> Option<String> {
    let first = module.first()?;
    let folder = match module.get(1) {
        Some(second) if SPLIT.contains(&first.as_str()) => format!("{first}/{second}"),
        _ => first.clone(),
    };
    // A file beside the subfolders of a folder, or named in it, belongs to the folder.
    let is_known = FOLDERS.iter().any(|(known, _)| *known == folder);
    Some(if is_known { folder } else { first.clone() })
}

/// Words and signs of a file, without comments, string literals and its tests.
fn tokens(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut tokens: Vec<String> = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '/' if rest.peek() == Some(&'/') => while rest.next().is_some_and(|c| c != '\n') {},
            '"' => {
                while let Some(c) = rest.next().filter(|c| *c != '"') {
                    if c == '\\' {
                        rest.next();
                    }
                }
            }
            // A character literal, not a lifetime: `'"'` would otherwise begin a string.
            '\'' if rest.peek() == Some(&'"') => {
                rest.next();
            }
            ':' if rest.peek() == Some(&':') => {
                rest.next();
                tokens.push("::".to_owned());
            }
            _ if c.is_alphanumeric() || c == '_' => {
                let mut word = String::from(c);
                while let Some(c) = rest.next_if(|c| c.is_alphanumeric() || *c == '_') {
                    word.push(c);
                }
                tokens.push(word);
            }
            _ if !c.is_whitespace() => tokens.push(c.into()),
            _ => {}
        }
    }
    tokens
}

/// The modules of the crate that are named, with full paths.
fn imports(tokens: &[String], module: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let begins = at == 0 || tokens[at - 1] != "::";
        let base = match tokens[at].as_str() {
            "crate" if begins => Some(Vec::new()),
            "super" if begins => Some(module[..module.len().saturating_sub(1)].to_vec()),
            _ => None,
        };
        at += 1;
        if let (Some(base), Some("::")) = (base, tokens.get(at).map(String::as_str)) {
            tree(tokens, &mut at, &base, &mut found);
        }
    }
    found
}

/// Parses `::a::{b, c::d}` after a path.
fn tree(tokens: &[String], at: &mut usize, base: &[String], found: &mut Vec<Vec<String>>) {
    let mut path = base.to_vec();
    let is = |at: usize, sign: &str| tokens.get(at).is_some_and(|token| token == sign);
    while is(*at, "::") {
        *at += 1;
        match tokens.get(*at).map(String::as_str) {
            Some("{") => {
                while !is(*at, "}") && *at < tokens.len() {
                    // The brace or comma before a name is skipped as if it were its `::`.
                    let mut inner = vec!["::".to_owned()];
                    *at += 1;
                    let from = *at;
                    let mut depth = 0;
                    while *at < tokens.len() && (depth > 0 || !(is(*at, ",") || is(*at, "}"))) {
                        depth += i32::from(is(*at, "{")) - i32::from(is(*at, "}"));
                        *at += 1;
                    }
                    if from < *at {
                        inner.extend_from_slice(&tokens[from..*at]);
                        tree(&inner, &mut 0, &path, found);
                    }
                }
                *at += 1;
                return;
            }
            Some("super") => {
                path.pop();
                *at += 1;
            }
            Some(name) => {
                path.push(name.to_owned());
                *at += 1;
            }
            None => break,
        }
    }
    found.push(path);
}
