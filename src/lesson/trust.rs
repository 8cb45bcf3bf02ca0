//! Lessons that start programs of their own: what exactly a user allows. This module must not know where that is
//! stored.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path as FilePath, PathBuf},
};

use sha2::{Digest, Sha256};

use super::{
    Loaded,
    error::{ALIKE, Mistake, did_you_mean, nearest},
    library::carried_file,
};
use crate::{
    files,
    text::{Text, both},
};

/// The largest number of files and directories that may be beside a lesson with programs.
const MOST_ENTRIES: usize = 4096;
/// The largest total size of these files in bytes. They are read before each run.
const MOST_BYTES: u64 = 32 << 20;
/// Tags for the kind of the next entry in a digest. No name of a file beside a lesson begins with a slash.
const FILE: &[u8] = b"/file";
const LINK: &[u8] = b"/link";
/// A directory that is skipped: its content changes with each commit, and no program loads from it by itself.
const HISTORY: &str = ".git";

/// What a user allows when they allow a lesson to start programs: its directory, and everything its programs consist
/// of.
#[derive(Debug, Clone)]
pub struct Covered {
    /// The canonical path of the lesson's file: without links, without `..`.
    pub file: String,
    /// The lesson's directory, with everything in it.
    pub directory: PathBuf,
    /// The files in the directory, by their relative paths.
    pub files: Vec<PathBuf>,
    /// The files that the lesson's commands name and that are outside of the directory.
    pub elsewhere: Vec<PathBuf>,
    /// A digest (SHA-256) of all these files, and of the lesson as it was read.
    pub digest: String,
}

impl Loaded {
    /// The directory of the lesson's file.
    pub fn directory(&self) -> PathBuf {
        directory_of(FilePath::new(&self.source.file))
    }

    /// The working directory of the lesson's programs: the directory of the file itself if its path is a symbolic link.
    pub(super) fn home(&self) -> PathBuf {
        let file = fs::canonicalize(&self.source.file);
        file.map_or_else(|_| self.directory(), |file| directory_of(&file))
    }

    /// The commands of the lesson's clients, in all variants.
    pub fn commands(&self) -> Vec<&[String]> {
        let clients = self.lesson.all_clients().flat_map(|(clients, _)| clients.values());
        let mut commands: Vec<&[String]> = Vec::new();
        for client in clients.filter(|client| !client.exec.is_empty()) {
            if !commands.contains(&client.exec.as_slice()) {
                commands.push(&client.exec);
            }
        }
        commands
    }

    /// Checks that the scripts that clients run exist beside the lesson.
    pub(crate) fn check_programs(&self) -> Result<(), Mistake> {
        if self.carried || !FilePath::new(&self.source.file).is_file() {
            return Ok(());
        }
        let directory = self.directory();
        for (clients, path) in self.lesson.all_clients() {
            for (name, client) in clients {
                let is_script = |word: &str| {
                    let extension = FilePath::new(word).extension().and_then(|extension| extension.to_str());
                    let known = ["py", "js", "mjs", "cjs", "rb", "sh", "java"];
                    extension.is_some_and(|extension| known.contains(&extension))
                        && !word.contains("${")
                        && !word.contains(char::is_whitespace)
                };
                let missing = |word: &String| is_script(word) && !directory.join(word).exists();
                let Some(n) = client.exec.iter().position(missing) else { continue };
                let word = &client.exec[n];
                let message = both!("there is no file `{word}`", "没有文件 `{word}`");
                let files = directory.join(FilePath::new(word).parent().unwrap_or(FilePath::new("")));
                let names: Vec<String> = fs::read_dir(files)
                    .into_iter()
                    .flatten()
                    .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                    .collect();
                let own = FilePath::new(word).file_name().and_then(|name| name.to_str()).unwrap_or_default();
                let help = nearest(own, names.iter().map(String::as_str), ALIKE).map_or_else(
                    || {
                        both!(
                            "it is looked for in the lesson's directory: `exec: [python3, worker.py]`",
                            "它在课程所在的目录里查找：`exec: [python3, worker.py]`"
                        )
                    },
                    |near| did_you_mean(&FilePath::new(word).with_file_name(near).to_string_lossy()),
                );
                return Err(Mistake::new(&path.key(name).key("exec").index(n), message).help(help));
            }
        }
        Ok(())
    }

    fn words(&self) -> impl Iterator<Item = &String> {
        self.commands().into_iter().flatten()
    }

    /// The contents of the files that the lesson's commands name, in the same order. An unreadable file counts as empty
    /// here; the error is reported when the program starts.
    pub(super) fn programs(&self) -> Vec<Vec<u8>> {
        if self.carried {
            return self.words().filter_map(|word| carried_file(word)).map(<[u8]>::to_vec).collect();
        }
        let directory = self.home();
        let files = self.words().map(|word| directory.join(word)).filter(|path| path.is_file());
        files.map(|file| fs::read(file).unwrap_or_default()).collect()
    }

    /// Everything that a user allows with this lesson. `Err` says why it cannot be allowed.
    pub fn covered(&self) -> Result<Covered, Text> {
        let named = FilePath::new(&self.source.file);
        let file = fs::canonicalize(named).map_err(|error| unreadable(named, &error))?;
        let directory = directory_of(&file);
        let Some(file) = file.to_str().map(str::to_owned) else {
            return Err(both!("its path is no UTF-8", "它的路径不是 UTF-8"));
        };
        let mut tree = Tree::of(&directory)?;
        tree.hash.add(self.source.text().as_bytes());
        let mut elsewhere = self.files_elsewhere(&directory, &tree.files);
        elsewhere.sort();
        elsewhere.dedup();
        for path in &elsewhere {
            tree.add(path, path)?;
        }
        Ok(Covered { file, directory, files: tree.files, elsewhere, digest: tree.hash.text() })
    }

    /// The files that the lesson's commands name and that are not among `files`, also inside a word, as in `sh -c "python3
    /// ../worker.py"`. A program of the machine in first position, such as `/usr/bin/python3`, is skipped.
    fn files_elsewhere(&self, directory: &FilePath, files: &[PathBuf]) -> Vec<PathBuf> {
        let named = self.commands().into_iter().flat_map(|words| words.iter().enumerate());
        named
            .filter(|(n, word)| *n > 0 || !is_of_machine(word))
            .flat_map(|(_, word)| std::iter::once(word.as_str()).chain(words_of_script(word)))
            .map(|word| directory.join(word))
            .filter(|path| path.is_file())
            .filter(|path| {
                !path.strip_prefix(directory).is_ok_and(|path| files.iter().any(|file| file == path))
            })
            .collect()
    }
}

/// What a shell would take for words if this were a script, more or less: it is enough that paths are among them. Not
/// those of the machine's own programs and devices.
fn words_of_script(word: &str) -> impl Iterator<Item = &str> {
    let parts = word.split(|c: char| c.is_whitespace() || "'\"`;|&<>()=$".contains(c));
    parts.filter(move |part| *part != word && !is_of_machine(part))
}

/// Whether a path belongs to the machine's own programs and devices.
fn is_of_machine(path: &str) -> bool {
    ["/bin", "/dev", "/proc", "/sbin", "/usr"].iter().any(|own| FilePath::new(path).starts_with(own))
}

fn directory_of(file: &FilePath) -> PathBuf {
    let parent = file.parent().filter(|parent| *parent != FilePath::new(""));
    parent.unwrap_or(FilePath::new(".")).to_owned()
}

fn unreadable(path: &FilePath, error: &io::Error) -> Text {
    let path = path.display();
    both!("{path} cannot be read: {error}", "{path} 无法读取：{error}")
}

/// The digest of a list of byte strings, each with its length, so that different lists have different inputs.
#[derive(Default)]
struct Hash(Sha256);

impl Hash {
    fn add(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn text(self) -> String {
        self.0.finalize().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

/// Files that are added to a digest, with their names and contents.
#[derive(Default)]
struct Tree {
    hash: Hash,
    files: Vec<PathBuf>,
    bytes: u64,
}

impl Tree {
    /// All files in a directory and below it.
    fn of(directory: &FilePath) -> Result<Self, Text> {
        let mut tree = Self::default();
        for path in entries(directory)? {
            let name = path.strip_prefix(directory).unwrap_or(&path).to_owned();
            tree.hash.add(name.as_os_str().as_encoded_bytes());
            let kind = fs::symlink_metadata(&path).map_err(|error| unreadable(&path, &error))?.file_type();
            if kind.is_symlink() {
                tree.follow(&path, directory)?;
            }
            // A pipe or a socket has no fixed content, so only its name counts.
            if path.is_file() {
                tree.add(&path, &name)?;
                tree.files.push(name);
            }
        }
        Ok(tree)
    }

    /// Adds the target of a symbolic link. Refuses a link to a directory elsewhere, whose content would not be covered.
    fn follow(&mut self, link: &FilePath, directory: &FilePath) -> Result<(), Text> {
        let target = fs::read_link(link).map_err(|error| unreadable(link, &error))?;
        self.hash.add(LINK);
        self.hash.add(target.as_os_str().as_encoded_bytes());
        if link.is_dir() && !link.canonicalize().is_ok_and(|target| target.starts_with(directory)) {
            let (link, target) = (link.display(), target.display());
            return Err(both!(
                "{link} is a link to the directory {target}: put that beside the lesson itself",
                "{link} 是指向目录 {target} 的链接：请把这个目录本身放到课程旁边"
            ));
        }
        Ok(())
    }

    fn add(&mut self, path: &FilePath, name: &FilePath) -> Result<(), Text> {
        let content = files::read(path, MOST_BYTES - self.bytes).map_err(|error| {
            if error.kind() == io::ErrorKind::FileTooLarge { too_much() } else { unreadable(path, &error) }
        })?;
        self.bytes += content.len() as u64;
        self.hash.add(FILE);
        self.hash.add(name.as_os_str().as_encoded_bytes());
        self.hash.add(&content);
        Ok(())
    }
}

/// The paths in a directory and below it, without directories, sorted.
fn entries(directory: &FilePath) -> Result<Vec<PathBuf>, Text> {
    let (mut found, mut seen, mut open) = (Vec::new(), 0, vec![directory.to_owned()]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).map_err(|error| unreadable(&directory, &error))? {
            let entry = entry.map_err(|error| unreadable(&directory, &error))?;
            if entry.file_name() == HISTORY {
                continue;
            }
            seen += 1;
            if seen > MOST_ENTRIES {
                return Err(too_much());
            }
            let kind = entry.file_type().map_err(|error| unreadable(&entry.path(), &error))?;
            if kind.is_dir() { &mut open } else { &mut found }.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

fn too_much() -> Text {
    let mebibytes = MOST_BYTES >> 20;
    both!(
        "beside it are more than {MOST_ENTRIES} files or {mebibytes} MiB, and all of them would be covered: put the lesson and its \
         programs into a directory of their own",
        "它旁边的文件超过 {MOST_ENTRIES} 个或 {mebibytes} MiB，而这些文件全都要纳入校验：请把课程和它的程序单独放进一个目录"
    )
}
