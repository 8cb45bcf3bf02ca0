//! Versions of programs: parsed from what the programs print, and compared.

use std::fmt;

use serde::Serialize;

/// A version of up to three numbers. A suffix (`-SNAPSHOT`, `+6-Debian`) is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    major: u32,
    minor: u32,
    patch: u32,
}

impl Version {
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }

    /// Parses a version at the start of a text: `7.0.15`, `3.8.0-5a02a05e`, `21`. In Java's old numbering
    /// `1.8.0_292` means 8.
    pub fn read(text: &str) -> Option<Self> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let mut numbers = text[..end].split('.').map_while(|number| number.parse::<u32>().ok());
        let mut next = || numbers.next();
        let (major, minor, patch) = (next()?, next().unwrap_or(0), next().unwrap_or(0));
        Some(if major == 1 && minor >= 5 {
            Self::new(minor, patch, 0)
        } else {
            Self::new(major, minor, patch)
        })
    }

    pub fn major_and_minor(self) -> (u32, u32) {
        (self.major, self.minor)
    }

    /// Parses the version that follows a marker: `v=` in `redis-server --version`, `"` in `java -version`.
    pub fn read_after(text: &str, marker: &str) -> Option<Self> {
        Self::read(text.split_once(marker)?.1)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl Serialize for Version {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn versions_as_the_programs_print_them() {
        let redis = "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=dbb98f3e";
        assert_eq!(Version::read_after(redis, "v="), Some(Version::new(7, 0, 15)));
        let java = "openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime Environment";
        assert_eq!(Version::read_after(java, "\""), Some(Version::new(17, 0, 15)));
        assert_eq!(Version::read_after("java version \"1.8.0_292\"", "\""), Some(Version::new(8, 0, 0)));
        assert_eq!(Version::read("21"), Some(Version::new(21, 0, 0)));
        assert_eq!(
            Version::read("3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f"),
            Some(Version::new(3, 8, 0))
        );
        assert_eq!(Version::read("zookeeper"), None);
        assert!(Version::new(6, 2, 14) < Version::new(7, 0, 0));
    }

    proptest! {
        #[test]
        fn reading_what_was_shown_gives_it_back(major in 2u32..99, minor in 0u32..99, patch in 0u32..99) {
            let version = Version::new(major, minor, patch);
            prop_assert_eq!(Version::read(&version.to_string()), Some(version));
        }

        #[test]
        fn any_text_can_be_read(text in "\\PC*") {
            let _ = Version::read(&text);
        }
    }
}
