//! Servers, a folder for each product: how they are found, started on the lesson clock, and looked into. It must not know
//! lessons' programs.
//!
//! A product offers what this file asks of it, and an [`Observer`](observe::Observer) with each server that it starts.

pub(crate) mod boot;
pub(crate) mod link;
pub(crate) mod observe;
pub(crate) mod redis;
pub(crate) mod secret;
pub(crate) mod zookeeper;

use crate::lesson::LabKind;
use crate::log::Product;
use crate::process::LabError;
use crate::process::programs::Search;
use boot::{Boot, Started};
pub(crate) use redis::programs::{REDIS_SENTINEL, REDIS_SERVER};
pub(crate) use zookeeper::programs::{JAVA, ZOOKEEPER_JARS};

/// Starts the servers of a lab and comes back when they answer.
pub(crate) async fn start(boot: &Boot<'_>, lab: LabKind) -> Result<Started, LabError> {
    match lab.product() {
        Product::Redis => redis::start(boot, lab.topology()).await,
        Product::Zookeeper => zookeeper::start(boot).await,
    }
}

impl Search {
    /// Whether everything that this kind of lab is made of is there. What is there may still be too old, which a
    /// lab that starts says by itself: asking each program for its version takes longer than a first picture may.
    pub fn serves(&self, lab: LabKind) -> bool {
        match lab.product() {
            Product::Redis => {
                self.redis_server().is_ok() && (!lab.has_sentinels() || self.redis_sentinel().is_ok())
            }
            Product::Zookeeper => self.java().is_ok() && self.zookeeper().is_ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use std::fs;
    use std::path::Path;

    use super::*;

    fn touch(file: &Path, mode: u32) {
        fs::write(file, "").unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_first_executable_on_the_path_wins() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        touch(&first.path().join("redis-server"), 0o644);
        touch(&second.path().join("redis-server"), 0o755);
        let search = Search::new(vec![first.path().into(), second.path().into()], |_| None);
        assert_eq!(search.redis_server().unwrap(), second.path().join("redis-server"));
        let message = search.redis_sentinel().unwrap_err().to_string();
        assert!(message.contains("doctor --install") && message.contains(REDIS_SENTINEL), "{message}");
    }

    #[test]
    fn a_lab_is_served_where_all_its_programs_are() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = |name: &str| [JAVA, ZOOKEEPER_JARS].contains(&name).then(|| "/nonexistent".into());
        let search = Search::new(vec![dir.path().into()], elsewhere);
        let served = || LabKind::ALL.map(|lab| search.serves(lab));
        assert_eq!(served(), [false; 4]);
        touch(&dir.path().join("redis-server"), 0o755);
        assert_eq!(served(), [true, true, false, false]);
        touch(&dir.path().join("redis-sentinel"), 0o755);
        assert_eq!(served(), [true, true, true, false]);
    }

    #[test]
    fn a_wrong_override_is_not_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        touch(&dir.path().join("redis-server"), 0o755);
        let wrong = |name: &str| (name == REDIS_SERVER).then(|| "/nonexistent".into());
        assert!(Search::new(vec![dir.path().into()], wrong).redis_server().is_err());
    }
}
