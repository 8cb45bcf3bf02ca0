//! Who has locked which file of a lab, from `/proc/locks`: locks of `flock(2)` belong to no server.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use crate::log::{
    Observed, ServerInfo, ServerState,
    product::files::{FILES, LockedFile, LockedFiles},
};

/// The directory of the files that a lab's clients lock, and the clients.
#[derive(Debug)]
pub(crate) struct FileLocks {
    pub dir: PathBuf,
    /// The ids of the clients' processes: `/proc/locks` has the locks of all processes.
    pub clients: Vec<i64>,
}

impl FileLocks {
    /// The entry for the log's list of servers.
    pub fn info(&self) -> ServerInfo {
        let version = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        ServerInfo {
            name: FILES.to_owned(),
            product: "flock(2), Linux".to_owned(),
            version: version.split(['-', '\n']).next().unwrap_or_default().to_owned(),
            address: self.dir.display().to_string(),
            password: None,
        }
    }

    pub fn observe(&self) -> io::Result<ServerState> {
        Ok(ServerState { server: FILES.to_owned(), observed: Observed::Files(self.look()?) })
    }

    /// The processes that wait for a file.
    pub fn waiting(&self) -> io::Result<Vec<i64>> {
        Ok(self.look()?.files.into_values().flat_map(|file| file.waiting).collect())
    }

    fn look(&self) -> io::Result<LockedFiles> {
        let mut inodes = BTreeMap::new();
        collect(&self.dir, "", &mut inodes)?;
        Ok(read(&fs::read_to_string("/proc/locks")?, &inodes, &self.clients))
    }
}

/// The files of a directory and its subdirectories, by inode.
fn collect(dir: &Path, prefix: &str, inodes: &mut BTreeMap<u64, String>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            collect(&entry.path(), &format!("{path}/"), inodes)?;
        } else {
            inodes.insert(metadata.ino(), path);
        }
    }
    Ok(())
}

/// Parses `1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF`, and `1: -> FLOCK …` for a waiting process. The device is
/// ignored: on overlay file systems and Btrfs it differs from the one in a file's metadata.
fn read(locks: &str, inodes: &BTreeMap<u64, String>, clients: &[i64]) -> LockedFiles {
    let mut files: BTreeMap<String, LockedFile> =
        inodes.values().map(|path| (path.clone(), LockedFile::default())).collect();
    for line in locks.lines() {
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        let (waits, words) = match words.split_first() {
            Some((&"->", rest)) => (true, rest),
            _ => (false, &words[..]),
        };
        let ["FLOCK", _, _, process, file, ..] = words else { continue };
        let inode = file.rsplit(':').next().and_then(|inode| inode.parse().ok());
        let file = inode.and_then(|inode: u64| files.get_mut(inodes.get(&inode)?));
        let process = process.parse().ok().filter(|process| clients.contains(process));
        if let (Some(file), Some(process)) = (file, process) {
            if waits {
                file.waiting.push(process);
            } else {
                file.holder = Some(process);
            }
        }
    }
    LockedFiles { files }
}

#[cfg(test)]
mod tests {
    use super::read;

    const LOCKS: &str = "\
1: POSIX  ADVISORY  WRITE 12 fe:00:7 0 EOF
2: FLOCK  ADVISORY  WRITE 12 fe:00:7 0 EOF
2: -> FLOCK  ADVISORY  WRITE 13 fe:00:7 0 EOF
2: -> FLOCK  ADVISORY  WRITE 99 fe:00:7 0 EOF
3: FLOCK  ADVISORY  WRITE 12 fe:00:70 0 EOF
";

    #[test]
    fn holders_and_waiters_among_the_clients_are_read() {
        let inodes = [(7, "m1/a".to_owned()), (8, "m2/a".to_owned())];
        let seen = read(LOCKS, &inodes.into(), &[12, 13]).files;
        assert_eq!((seen["m1/a"].holder, &seen["m1/a"].waiting[..]), (Some(12), &[13][..]));
        assert_eq!(seen["m2/a"], super::LockedFile::default());
        assert_eq!(seen.len(), 2);
    }
}
