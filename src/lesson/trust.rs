//! Lessons that start programs of their own: what a user allows when they allow one. It must not know where that is kept.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path as FilePath, PathBuf},
};

use sha2::{Digest, Sha256};

use super::{Loaded, library::carried_file};

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
