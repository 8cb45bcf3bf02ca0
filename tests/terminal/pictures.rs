//! The pictures in the repository are those that the program draws now.

use std::{collections::BTreeMap, path::Path, process::Command};

use crate::place::{LOCKSTEP, Place};

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let read = |entry: std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, std::fs::read(entry.path()).expect("a picture"))
    };
    let mut files: BTreeMap<String, Vec<u8>> = entries.filter_map(Result::ok).map(read).collect();
    // Free play has no carried recording: tests/screens/free_picture.rs draws and compares it.
    files.remove("free-play.svg");
    files
}

#[test]
fn the_pictures_are_those_of_this_program() {
    let place = Place::new();
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let script = Command::new(assets.join("pictures.sh"))
        .arg(place.path().join("pictures"))
        .env("LOCKSTEP", LOCKSTEP)
        // Independent of the developer's terminal and settings.
        .env("NO_COLOR", "1")
        .env("TERM", "dumb")
        .env("LC_ALL", "C")
        .env_remove("LOCKSTEP_LESSONS")
        .output()
        .expect("the script runs");
    assert!(script.status.success(), "{}", String::from_utf8_lossy(&script.stderr));
    let (kept, made) = (files(&assets.join("pictures")), files(&place.path().join("pictures")));
    let names = |pictures: &BTreeMap<String, Vec<u8>>| pictures.keys().cloned().collect::<Vec<_>>();
    let remedy = "look whether they are meant to change, then make them anew: `rm -r assets/pictures; assets/pictures.sh`";
    assert_eq!(names(&kept), names(&made), "{remedy}");
    let other: Vec<_> =
        made.iter().filter(|(name, bytes)| kept[*name] != **bytes).map(|(name, _)| name).collect();
    assert!(other.is_empty(), "{other:?} are drawn otherwise now; {remedy}");
}

#[test]
fn every_picture_of_the_readme_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).expect("the README");
    let named: Vec<&str> = readme
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|path| path.starts_with("assets/pictures/"))
        .collect();
    assert!(!named.is_empty(), "the README shows pictures");
    for path in named {
        assert!(root.join(path).exists(), "{path}");
    }
}
