//! Files that clients lock with `flock(2)`. These locks are held by the kernel of the machine that has the files, not
//! by a server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::text::{Text, both};

/// Stands for the kernel where other operations name a server.
pub const FILES: &str = "files";

/// What a client asks of the kernel, by the options of `flock(1)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flock {
    /// Waits until no other process has locked the file.
    Lock,
    /// `-n`: fails if another process has locked it.
    Try,
    /// `-u`
    Unlock,
}

impl Flock {
    /// The option before the path, with a trailing space.
    pub const fn option(self) -> &'static str {
        match self {
            Self::Lock => "",
            Self::Try => "-n ",
            Self::Unlock => "-u ",
        }
    }
}

/// The longest name of a file or a machine, in bytes.
const LONGEST: usize = 32;

/// **Architecture Invariant:** a lesson names only files of its lab's directory: a plain name, or one in the directory
/// of a machine.
pub(crate) fn check(path: &str) -> Result<(), Text> {
    let is_plain = |name: &str| {
        name.len() <= LONGEST
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    if path.split('/').count() <= 2 && path.split('/').all(is_plain) {
        return Ok(());
    }
    Err(both!(
        "`{path}` names no file of the lab: write `FILE` or `MACHINE/FILE`, each at most {LONGEST} letters, digits, `.`, \
         `_` and `-`, with a letter or digit first",
        "`{path}` 不是 lab 里的文件：请写 `文件` 或 `机器/文件`，每段最多 {LONGEST} 个字母、数字、`.`、`_`、`-`，以字母或数字开头"
    ))
}

/// The files that a process has locked or opened to lock, by path.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LockedFiles {
    pub files: BTreeMap<String, LockedFile>,
}

/// The process that has locked a file and those that wait for it, by process id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedFile {
    pub holder: Option<i64>,
    pub waiting: Vec<i64>,
}

impl LockedFiles {
    pub(super) fn owned(&self) -> BTreeMap<String, i64> {
        self.files.iter().filter_map(|(path, file)| Some((path.clone(), file.holder?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn only_files_of_the_lab_can_be_named() {
        for path in ["stock.lock", "m1/stock.lock", "A/1"] {
            assert!(check(path).is_ok(), "{path}");
        }
        let long = "x".repeat(33);
        for path in [
            "",
            "/etc/passwd",
            "../secret",
            "m1/../../x",
            "m1//x",
            "a/b/c",
            ".pids",
            "m1/",
            "a b",
            "-n",
            &long,
        ] {
            assert!(check(path).is_err(), "{path}");
        }
    }
}
