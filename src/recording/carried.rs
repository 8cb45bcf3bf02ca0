//! The recordings that the binary carries, one per variant of its lessons, so that their stories play where no server
//! is.

use std::{
    io::BufRead,
    path::{Path, PathBuf},
};

use include_dir::{Dir, include_dir};

use super::{Header, Recording, RecordingError, header, parse, plain};
use crate::lesson::Scenario;

static CARRIED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/assets/recordings");

/// Why there is no carried recording of a scenario.
#[derive(Debug, thiserror::Error)]
pub enum NotCarried {
    #[error(
        "Lockstep carries no recording of `{lesson}`, variant `{variant}`. Play it live, or record it where its \
         servers are: `lockstep run {lesson} --variant {variant} --record FILE`, then `lockstep play FILE`"
    )]
    Missing { lesson: String, variant: String },
    /// There is one, of something else.
    #[error(
        "the recording of `{lesson}`, variant `{variant}`, that Lockstep carries was made with another text or \
         other figures. Play the lesson live, or leave `--set` and `--lessons` away"
    )]
    OfAnother { lesson: String, variant: String },
    /// There is one, and it cannot be read. A test rules that out.
    #[error(transparent)]
    Broken(#[from] RecordingError),
}

/// The name of the file of a variant's recording, in a directory of recordings.
pub fn file_name(scenario: &Scenario) -> String {
    name_of(&scenario.loaded.lesson.id, &scenario.variant)
}

fn name_of(lesson: &str, variant: &str) -> String {
    format!("{lesson}.{variant}.jsonl.gz")
}

/// Whether a recording of this very scenario is carried. Reads its first line only.
pub fn check(scenario: &Scenario) -> Result<(), NotCarried> {
    find(scenario).map(drop)
}

pub fn open(scenario: &Scenario) -> Result<Recording, NotCarried> {
    let (path, bytes) = find(scenario)?;
    let mut recording = parse(text(bytes, &path)?, &path)?;
    recording.fit(scenario)?;
    Ok(recording)
}

/// The names of all files that are carried.
pub fn files() -> impl Iterator<Item = String> {
    CARRIED.files().map(|file| file.path().display().to_string())
}

/// The file of this very scenario's recording, its first line checked.
fn find(scenario: &Scenario) -> Result<(PathBuf, &'static [u8]), NotCarried> {
    let (lesson, variant) = (scenario.loaded.lesson.id.clone(), scenario.variant.clone());
    let name = file_name(scenario);
    let Some(file) = CARRIED.get_file(&name) else {
        return Err(NotCarried::Missing { lesson, variant });
    };
    let path = Path::new("assets/recordings").join(name);
    if !first(file.contents(), &path)?.belongs_to(scenario) {
        return Err(NotCarried::OfAnother { lesson, variant });
    }
    Ok((path, file.contents()))
}

fn text<'a>(bytes: &'a [u8], path: &Path) -> Result<Box<dyn BufRead + 'a>, RecordingError> {
    plain(bytes).map_err(|source| RecordingError::File { path: path.to_owned(), source })
}

fn first(bytes: &[u8], path: &Path) -> Result<Header, RecordingError> {
    let mut line = String::new();
    let read = text(bytes, path)?.read_line(&mut line);
    read.map_err(|source| RecordingError::File { path: path.to_owned(), source })?;
    header(&line, path)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{CARRIED, first, parse, text};

    #[test]
    fn a_damaged_one_is_an_error_wherever_it_is_damaged() {
        let path = Path::new("carried.jsonl.gz");
        let read = |bytes: &[u8]| {
            first(bytes, path)?;
            parse(text(bytes, path)?, path)
        };
        let smallest = CARRIED.files().map(include_dir::File::contents).min_by_key(|bytes| bytes.len());
        let whole = smallest.expect("there are some");
        assert!(read(whole).is_ok());
        for end in [0, 1, 9, 10, 30, whole.len() / 2] {
            let error = read(&whole[..end]).expect_err("cut off").to_string();
            assert!(error.starts_with("carried.jsonl.gz"), "{end}: {error}");
        }
        for at in (10..whole.len() - 8).step_by(97) {
            let mut bytes = whole.to_vec();
            bytes[at] ^= 0xff;
            // Whatever it then says, it says something: there is a checksum over all of it.
            assert!(read(&bytes).is_err(), "at {at}");
        }
    }
}
