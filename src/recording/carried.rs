//! The recordings embedded in the binary, one per variant of its lessons, so that their stories can be played without
//! servers.

use std::{
    io::BufRead,
    path::{Path, PathBuf},
};

use include_dir::{Dir, include_dir};

use super::{Header, Recording, RecordingError, header, parse, plain};
use crate::lesson::Scenario;

static CARRIED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/assets/recordings");

/// Why there is no embedded recording of a scenario.
#[derive(Debug, thiserror::Error)]
pub enum NotCarried {
    #[error(
        "Lockstep carries no recording of `{lesson}`, variant `{variant}`. Play it live, or record it where its \
         servers are: `lockstep run {lesson} --variant {variant} --record FILE`, then `lockstep play FILE`"
    )]
    Missing { lesson: String, variant: String },
    /// There is a recording, of a different version.
    #[error(
        "the recording of `{lesson}`, variant `{variant}`, that Lockstep carries was made with another text or \
         other figures. Play the lesson live, or leave `--set` and `--lessons` away"
    )]
    Different { lesson: String, variant: String },
    /// There is a recording that cannot be read; a test rules this out.
    #[error(transparent)]
    Broken(#[from] RecordingError),
}

/// The file name of a variant's recording in a directory of recordings.
pub fn file_name(scenario: &Scenario) -> String {
    format!("{}.{}.jsonl.gz", scenario.loaded.lesson.id, scenario.variant)
}

/// Checks that a recording of exactly this scenario is embedded. Reads only its first line.
pub fn check(scenario: &Scenario) -> Result<(), NotCarried> {
    find(scenario).map(drop)
}

pub fn open(scenario: &Scenario) -> Result<Recording, NotCarried> {
    let (path, bytes) = find(scenario)?;
    let mut recording = parse(text(bytes, &path)?, &path)?;
    recording.fit(scenario)?;
    Ok(recording)
}

/// Finds the recording of exactly this scenario and checks its first line.
fn find(scenario: &Scenario) -> Result<(PathBuf, &'static [u8]), NotCarried> {
    let (lesson, variant) = (scenario.loaded.lesson.id.clone(), scenario.variant.clone());
    let name = file_name(scenario);
    let Some(file) = CARRIED.get_file(&name) else {
        return Err(NotCarried::Missing { lesson, variant });
    };
    let path = Path::new("assets/recordings").join(name);
    if !first(file.contents(), &path)?.belongs_to(scenario) {
        return Err(NotCarried::Different { lesson, variant });
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
    fn damage_anywhere_is_an_error() {
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
            // Any change must be detected, because the file has a checksum.
            assert!(read(&bytes).is_err(), "at {at}");
        }
    }
}
