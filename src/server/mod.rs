//! Servers, a folder for each product: finding them, starting them on the lesson clock, and observing them. It must not
//! know lessons' programs.
//!
//! Every product is registered here: its programs, its start and its connections. Each server that it starts comes with
//! an [`Observer`](observe::Observer).

pub(crate) mod boot;
pub(crate) mod connection;
pub(crate) mod etcd;
pub(crate) mod flock;
pub(crate) mod link;
pub(crate) mod mariadb;
pub(crate) mod observe;
pub(crate) mod passage;
pub(crate) mod program;
pub(crate) mod redis;
pub(crate) mod secret;
pub(crate) mod zookeeper;

use std::time::Duration;

use futures::{FutureExt, future::try_join_all};

use crate::lesson::LabKind;
use crate::log::Product;
use crate::process::LabError;
use crate::process::programs::Search;
use boot::{Boot, Started};
use connection::{Connection, Notify, ServerAddress};
use program::Executable;

/// Every program that some lab needs.
pub(crate) const PROGRAMS: [(Product, &Executable); 6] = [
    (Product::Redis, &redis::programs::SERVER),
    (Product::Redis, &redis::programs::SENTINEL),
    (Product::Zookeeper, &zookeeper::programs::JAVA),
    (Product::Zookeeper, &zookeeper::programs::ZOOKEEPER),
    (Product::Mariadb, &mariadb::programs::SERVER),
    (Product::Etcd, &etcd::programs::SERVER),
];

/// Starts the servers of a lab and returns when they answer.
pub(crate) async fn start(boot: &Boot<'_>, lab: LabKind) -> Result<Started, LabError> {
    let mut all = Started::default();
    // Boxed: each future is large.
    let parts = lab.parts().iter().map(|part| start_part(boot, *part).boxed());
    for Started { servers, helpers, links, background } in try_join_all(parts).await? {
        all.servers.extend(servers);
        all.helpers.extend(helpers);
        all.links.extend(links);
        all.background = all.background.or(background);
    }
    Ok(all)
}

async fn start_part(boot: &Boot<'_>, lab: LabKind) -> Result<Started, LabError> {
    match lab.product() {
        Product::Redis => redis::start(boot, lab.topology()).await,
        Product::Zookeeper => zookeeper::start(boot, lab.topology()).await,
        Product::Mariadb => mariadb::start(boot).await,
        Product::Etcd => etcd::start(boot, lab.topology()).await,
    }
}

/// Creates a connection to a server, opened at once if `eager`, else on first use, if the product allows it. A session,
/// if the product has one, lives `timeout` after its last sign of life.
pub(crate) async fn connect(
    server: &ServerAddress,
    eager: bool,
    timeout: Duration,
    notify: Notify,
) -> Result<Box<dyn Connection>, String> {
    let connected = match server.product {
        Product::Redis => redis::client::connect(server, eager, notify).await,
        Product::Zookeeper => zookeeper::session::connect(server, timeout, notify).await,
        Product::Mariadb => mariadb::connection::connect(server).await,
        Product::Etcd => etcd::connection::connect(server, eager).await,
    };
    connected.map_err(|error| format!("cannot connect to {} at {}: {error}", server.name, server.address))
}

impl Search {
    /// Whether all programs for this kind of lab are installed. They may still be too old, which the start of a lab
    /// reports: asking each program for its version takes longer than the first picture may.
    pub fn serves(&self, lab: LabKind) -> bool {
        let serves = |part: &LabKind| {
            let of_part = |(product, program): &&(Product, &Executable)| {
                *product == part.product() && (program.in_lab)(*part)
            };
            PROGRAMS.iter().filter(of_part).all(|(_, program)| (program.find)(self).is_ok())
        };
        lab.parts().iter().all(serves)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use std::fs;
    use std::path::Path;

    use super::redis::programs::{SENTINEL, SERVER};
    use super::zookeeper::programs::{JAVA, ZOOKEEPER};
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
        assert_eq!((SERVER.find)(&search).unwrap(), second.path().join("redis-server"));
        let message = (SENTINEL.find)(&search).unwrap_err().to_string();
        assert!(message.contains("doctor --install") && message.contains(SENTINEL.variable), "{message}");
    }

    #[test]
    fn a_lab_is_served_where_all_its_programs_are() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = |name: &str| {
            [
                JAVA.variable,
                ZOOKEEPER.variable,
                mariadb::programs::SERVER.variable,
                etcd::programs::SERVER.variable,
            ]
            .contains(&name)
            .then(|| "/nonexistent".into())
        };
        let search = Search::new(vec![dir.path().into()], elsewhere);
        let served = || LabKind::ALL.map(|lab| search.serves(lab));
        assert_eq!(served(), [false; LabKind::ALL.len()]);
        touch(&dir.path().join("redis-server"), 0o755);
        assert_eq!(served(), [true, true, false, true, false, false, false, false, false]);
        touch(&dir.path().join("redis-sentinel"), 0o755);
        assert_eq!(served(), [true, true, true, true, false, false, false, false, false]);
    }

    #[test]
    fn a_wrong_override_is_not_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        touch(&dir.path().join("redis-server"), 0o755);
        let wrong = |name: &str| (name == SERVER.variable).then(|| "/nonexistent".into());
        assert!((SERVER.find)(&Search::new(vec![dir.path().into()], wrong)).is_err());
    }
}
