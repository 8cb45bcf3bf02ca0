//! What a Redis server writes to files, and how much of that survives a loss of power.

use std::{fs, io, path::Path};

use crate::lesson::{Appendonly, Settings};

/// The lines of a server's configuration. Rewrites of the append-only file are off: the server would fork a process for
/// them.
pub(crate) fn persistence(settings: &Settings) -> &'static str {
    match settings.appendonly.unwrap_or(Appendonly::No) {
        Appendonly::Always => "appendonly yes\nappendfsync always\nauto-aof-rewrite-percentage 0\n",
        Appendonly::Everysec => "appendonly yes\nappendfsync everysec\nauto-aof-rewrite-percentage 0\n",
        Appendonly::No => "appendonly no\n",
    }
}

/// Truncates the append-only files in a server's directory to their synced length, which the preloaded library has
/// recorded beside each of them (`preload/syncing.rs`).
pub(crate) fn lose_unsynced(data: &Path) -> io::Result<()> {
    let files = match fs::read_dir(data.join("appendonlydir")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        files => files?,
    };
    for file in files {
        let path = file?.path();
        if !path.to_string_lossy().ends_with(".incr.aof") {
            continue;
        }
        let mut note = path.clone().into_os_string();
        note.push(".synced");
        let synced = fs::read(note).ok().and_then(|bytes| Some(u64::from_le_bytes(bytes.try_into().ok()?)));
        let file = fs::File::options().write(true).open(&path)?;
        file.set_len(file.metadata()?.len().min(synced.unwrap_or(0)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_on_the_disk_is_lost() {
        let data = tempfile::tempdir().expect("a directory");
        lose_unsynced(data.path()).expect("it is cut");
        let dir = data.path().join("appendonlydir");
        fs::create_dir(&dir).expect("made");
        for name in ["a.1.incr.aof", "b.1.incr.aof", "a.1.base.rdb"] {
            fs::write(dir.join(name), "twelve bytes").expect("written");
        }
        fs::write(dir.join("a.1.incr.aof.synced"), 6_u64.to_le_bytes()).expect("written");
        lose_unsynced(data.path()).expect("it is cut");
        let read = |name: &str| fs::read_to_string(dir.join(name)).expect("there");
        assert_eq!(read("a.1.incr.aof"), "twelve");
        assert_eq!(read("b.1.incr.aof"), "", "never synced");
        assert_eq!(read("a.1.base.rdb"), "twelve bytes", "synced before it had this name");
    }
}
