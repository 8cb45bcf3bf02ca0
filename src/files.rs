//! The user's files: read only if they are regular files of a sensible length, and written completely or not
//! at all.
//!
//! **Architecture Invariant:** nothing here ever waits for another process (as reading from a FIFO does), and
//! nothing but a regular file is ever replaced.

use std::{
    fmt,
    fs::{self, File, OpenOptions, Permissions},
    io::{self, BufWriter, Read as _, Write as _},
    os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use rustix::{fs::OFlags, process::umask};
use tempfile::NamedTempFile;

/// What a path is if it is no regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Directory,
    Fifo,
    Socket,
    /// A device, such as `/dev/zero`.
    Device,
}

impl Kind {
    /// The kind of a file, or `None` if it is a regular file.
    fn of(facts: &fs::Metadata) -> Option<Self> {
        let kind = facts.file_type();
        if kind.is_file() {
            None
        } else if kind.is_dir() {
            Some(Self::Directory)
        } else if kind.is_fifo() {
            Some(Self::Fifo)
        } else if kind.is_socket() {
            Some(Self::Socket)
        } else {
            Some(Self::Device)
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Directory => "a directory",
            Self::Fifo => "a named pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
        })
    }
}

pub fn open(path: &Path) -> io::Result<File> {
    regular(&fs::metadata(path)?)?;
    // The file may have been replaced between the check and the opening.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    regular(&file.metadata()?)?;
    Ok(file)
}

fn regular(facts: &fs::Metadata) -> io::Result<()> {
    match Kind::of(facts) {
        None => Ok(()),
        Some(kind) => {
            let why = format!("it is {kind}, not a regular file");
            Err(io::Error::new(io::ErrorKind::InvalidInput, why))
        }
    }
}

/// Reads a regular file of at most `most` bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= most) {
        return Ok(bytes);
    }
    let why = format!("it has more than {most} bytes");
    Err(io::Error::new(io::ErrorKind::FileTooLarge, why))
}

/// Reads a regular file of UTF-8, of at most `most` bytes.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    String::from_utf8(read(path, most)?).map_err(invalid)
}

/// Why a file cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum Unwritable {
    #[error("it is {0}, and only a regular file is replaced")]
    Irregular(Kind),
    #[error("it is a link to {}, which does not exist", .0.display())]
    Dangling(PathBuf),
    #[error("there is no directory {}", .0.display())]
    NoDirectory(PathBuf),
    /// The user could not read what would be written.
    #[error("{0}")]
    Umask(#[from] Umask),
    #[error("{0}")]
    System(#[from] io::Error),
}

/// The user's umask takes from the user the access to new files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the umask {0:03o} keeps you from what you write yourself; set another first: `umask 022`")]
pub struct Umask(pub u32);

/// Checks that the umask leaves the user access to what the user writes.
pub fn check_umask() -> Result<(), Umask> {
    // The umask cannot be read without setting it; what is created meanwhile is accessible to the user alone.
    let mask = umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    umask(mask);
    if mask.intersects(rustix::fs::Mode::RWXU) {
        return Err(Umask(mask.bits()));
    }
    Ok(())
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The real path: a symbolic link is written through, and stays a link.
    path: PathBuf,
}

impl Output {
    pub fn new(path: &Path) -> Result<Self, Unwritable> {
        // A path that cannot be examined, and a dangling link, are reported by `check`.
        let path = match fs::canonicalize(path) {
            Ok(real) if path.is_symlink() => real,
            Err(error) if path.is_symlink() && error.kind() != io::ErrorKind::NotFound => {
                return Err(error.into());
            }
            _ => path.to_owned(),
        };
        let output = Self { path };
        output.check()?;
        Ok(output)
    }

    fn check(&self) -> Result<(), Unwritable> {
        match fs::symlink_metadata(&self.path) {
            Ok(facts) if facts.file_type().is_symlink() => {
                Err(Unwritable::Dangling(fs::read_link(&self.path)?))
            }
            Ok(facts) => Kind::of(&facts).map_or(Ok(()), |kind| Err(Unwritable::Irregular(kind))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = self.folder();
                if folder.is_dir() {
                    return Ok(());
                }
                Err(Unwritable::NoDirectory(folder.to_owned()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The existing file whose contents would be lost, or `None` if there is none or it is empty.
    pub fn replaces(&self) -> Option<&Path> {
        let facts = fs::symlink_metadata(&self.path).ok()?;
        (facts.len() > 0).then_some(self.path.as_path())
    }

    fn folder(&self) -> &Path {
        let parent = self.path.parent();
        parent.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// A file in the same directory, with the permissions of the user's own new files: the umask restricts
    /// them.
    fn temporary(&self) -> io::Result<NamedTempFile> {
        tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(self.folder())
            .map_err(unnamed)
    }

    /// Checks whether the file can be written, without writing it.
    pub fn check_writable(&self) -> Result<(), Unwritable> {
        check_umask()?;
        self.temporary()?.close()?;
        Ok(())
    }

    /// Writes the file atomically: readers see what was there before, or all of the new contents.
    ///
    /// # Errors
    /// If the file cannot be written. What was there before is still there.
    pub fn write(
        &self,
        contents: impl FnOnce(&mut BufWriter<&mut File>) -> io::Result<()>,
    ) -> Result<(), Unwritable> {
        self.check()?;
        let mut file = self.temporary()?;
        let mut out = BufWriter::new(file.as_file_mut());
        contents(&mut out)?;
        out.flush()?;
        drop(out);
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

/// An error without the name of a temporary file, which means nothing to the user: callers name the file that was to be
/// written.
fn unnamed(error: io::Error) -> io::Error {
    match error.to_string().rsplit_once(" at path ") {
        Some((why, _)) => io::Error::new(error.kind(), why.to_owned()),
        None => error,
    }
}

/// Writes a file that only the user may read, atomically: readers see what was there before, or all of the
/// new contents.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // A device or a pipe would be replaced by a file.
    if fs::metadata(path).is_ok_and(|known| !known.is_file()) {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it is not a regular file"));
    }
    // Temporary files are accessible to the user alone, and stay so.
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{io::Write as _, os::unix::fs::symlink, path::Path};

    use super::{Kind, Output, Unwritable, open, read};

    fn written(path: &Path, text: &str) -> Result<(), Unwritable> {
        Output::new(path)?.write(|out| out.write_all(text.as_bytes()))
    }

    #[test]
    fn only_regular_files_of_a_sensible_length_are_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file");
        std::fs::write(&file, "12345").expect("written");
        assert_eq!(read(&file, 5).expect("read"), b"12345");
        assert!(read(&file, 4).is_err());
        for path in [dir.path(), Path::new("/dev/zero")] {
            assert!(open(path).is_err(), "{}", path.display());
        }
    }

    #[test]
    fn a_link_is_written_through_and_nothing_but_a_file_is_replaced() {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |name: &str| dir.path().join(name);
        written(&at("file"), "old").expect("written");
        symlink("file", at("link")).expect("linked");
        written(&at("link"), "new").expect("written");
        assert!(at("link").is_symlink());
        assert_eq!(std::fs::read_to_string(at("file")).expect("there"), "new");
        symlink("nowhere", at("dangling")).expect("linked");
        assert!(matches!(written(&at("dangling"), ""), Err(Unwritable::Dangling(_))));
        symlink("/dev/null", at("device")).expect("linked");
        for (name, kind) in [("device", Kind::Device), (".", Kind::Directory)] {
            let refused = written(&at(name), "");
            assert!(matches!(refused, Err(Unwritable::Irregular(found)) if found == kind), "{name}");
        }
        let refused = written(&at("none/file"), "");
        assert!(matches!(refused, Err(Unwritable::NoDirectory(_))));
        assert_eq!(Output::new(&at("new")).expect("good").replaces(), None);
        assert!(Output::new(&at("link")).expect("good").replaces().is_some());
        let left = std::fs::read_dir(dir.path()).expect("readable").count();
        assert_eq!(left, 4, "no temporary file is left");
    }
}
