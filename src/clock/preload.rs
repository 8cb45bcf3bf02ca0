//! The preloaded library that this binary carries, and the environment that makes a process use it.

use super::page::{PAGE_VARIABLE, SLOT_VARIABLE};
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::Path,
};

/// The library; empty on platforms without one. Made by `build.rs` from `preload/lesson_clock.rs`.
pub(crate) static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lesson_clock.so"));

pub(crate) const PRELOAD_VARIABLE: &str = "LD_PRELOAD";

/// Whether the dynamic linker accepts this path: it splits its list at colons and white space, knows no quoting, and
/// expands words that begin with a dollar sign.
pub(crate) fn can_be_preloaded(library: &Path) -> bool {
    let path = library.as_os_str().as_bytes();
    library.is_absolute() && !path.iter().any(|byte| byte.is_ascii_whitespace() || b":$".contains(byte))
}

/// The variables for a process. Libraries that are preloaded already stay, and stay first.
pub(crate) fn variables(
    library: &Path,
    page: &Path,
    slot: Option<usize>,
    preloaded: Option<&OsStr>,
) -> Vec<(OsString, OsString)> {
    let mut list = OsString::new();
    if let Some(preloaded) = preloaded.filter(|list| !list.is_empty()) {
        list.push(preloaded);
        list.push(":");
    }
    list.push(library);
    let mut variables = vec![(PRELOAD_VARIABLE.into(), list), (PAGE_VARIABLE.into(), page.into())];
    if let Some(slot) = slot {
        variables.push((SLOT_VARIABLE.into(), slot.to_string().into()));
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_is_preloaded_anyway() {
        let get = |preloaded: Option<&str>, slot| {
            variables(Path::new("/t/clock.so"), Path::new("/t/page"), slot, preloaded.map(OsStr::new))
        };
        let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        assert_eq!(
            get(Some("libfirst.so libsecond.so"), Some(3)),
            [
                pair("LD_PRELOAD", "libfirst.so libsecond.so:/t/clock.so"),
                pair("LESSON_CLOCK", "/t/page"),
                pair("LESSON_CLOCK_SLOT", "3"),
            ]
        );
        for nothing in [None, Some("")] {
            assert_eq!(
                get(nothing, None),
                [pair("LD_PRELOAD", "/t/clock.so"), pair("LESSON_CLOCK", "/t/page")]
            );
        }
    }

    #[test]
    fn knows_which_paths_the_linker_cannot_take() {
        assert!(can_be_preloaded(Path::new("/tmp/锁/clock.so")));
        for bad in ["clock.so", "/tmp/my files/clock.so", "/tmp/a:b/clock.so", "/tmp/$LIB/clock.so"] {
            assert!(!can_be_preloaded(Path::new(bad)), "{bad}");
        }
    }

    #[test]
    fn is_carried_on_linux() {
        let expected = cfg!(all(
            target_os = "linux",
            target_env = "gnu",
            any(target_arch = "x86_64", target_arch = "aarch64")
        ));
        assert_eq!(LIBRARY.starts_with(b"\x7fELF"), expected);
        assert_eq!(LIBRARY.is_empty(), !expected);
    }
}
