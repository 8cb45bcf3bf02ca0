//! Lessons that start programs of their own: what a user allows when they allow one. It must not know where that is kept.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path as FilePath, PathBuf},
};

use sha2::{Digest, Sha256};

use super::{
    Loaded,
    error::{ALIKE, Mistake, Path, did_you_mean, nearest},
    library::carried_file,
};
use crate::text::both;

impl Loaded {
    /// The directory of its file.
    pub fn directory(&self) -> PathBuf {
        let parent = FilePath::new(&self.source.file).parent();
        parent.filter(|parent| *parent != FilePath::new("")).unwrap_or(FilePath::new(".")).to_owned()
    }

    /// The commands that its clients are, those of all variants.
    pub fn commands(&self) -> Vec<&[String]> {
        let own = self.lesson.variants.values().filter_map(|variant| variant.clients.as_ref());
        let clients = std::iter::once(&self.lesson.clients).chain(own).flat_map(|clients| clients.values());
        let mut commands: Vec<&[String]> = Vec::new();
        for client in clients.filter(|client| !client.exec.is_empty()) {
            if !commands.contains(&client.exec.as_slice()) {
                commands.push(&client.exec);
            }
        }
        commands
    }

    /// The files beside it that those commands name.
    pub fn files_of_commands(&self) -> Vec<PathBuf> {
        let directory = self.directory();
        let mut files: Vec<PathBuf> =
            self.words().map(|word| directory.join(word)).filter(|path| path.is_file()).collect();
        files.sort();
        files.dedup();
        files
    }

    /// Whether the scripts that its clients are stand beside it.
    pub(crate) fn check_programs(&self) -> Result<(), Mistake> {
        if self.carried || !FilePath::new(&self.source.file).is_file() {
            return Ok(());
        }
        let root = Path::root();
        let own = self.lesson.variants.iter().filter_map(|(name, variant)| {
            Some((variant.clients.as_ref()?, root.key("variants").key(name).key("clients")))
        });
        let directory = self.directory();
        for (clients, path) in std::iter::once((&self.lesson.clients, root.key("clients"))).chain(own) {
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
                    did_you_mean,
                );
                return Err(Mistake::new(&path.key(name).key("exec").index(n), message).help(help));
            }
        }
        Ok(())
    }

    fn words(&self) -> impl Iterator<Item = &String> {
        self.commands().into_iter().flatten()
    }

    /// What those files contain, in the order in which its commands name them. What cannot be read is told when it is started.
    pub(super) fn programs(&self) -> Vec<Vec<u8>> {
        if self.carried {
            return self.words().filter_map(|word| carried_file(word)).map(<[u8]>::to_vec).collect();
        }
        let directory = self.directory();
        let files = self.words().map(|word| directory.join(word)).filter(|path| path.is_file());
        files.map(|file| fs::read(file).unwrap_or_default()).collect()
    }

    /// A digest (SHA-256) of the lesson and of the files that its commands name. Whoever allows a lesson allows this.
    pub fn digest(&self) -> io::Result<String> {
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        add(self.source.text().as_bytes());
        for file in self.files_of_commands() {
            add(file.as_os_str().as_encoded_bytes());
            add(&fs::read(&file)?);
        }
        Ok(hash.finalize().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }))
    }
}
