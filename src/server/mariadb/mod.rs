//! One MariaDB server on a Unix socket in the workspace, small and quick to start.

pub(crate) mod connection;
pub(crate) mod locks;
pub(crate) mod observe;
pub(crate) mod programs;

use std::{ffi::OsString, path::Path};

use crate::{
    lesson::{Isolation, Settings},
    log::Product,
    process::LabError,
    server::{
        boot::{Boot, Endpoint, Launch, Server, Started, ready},
        mariadb::{observe::MariadbObserver, programs::SERVER},
    },
};

/// Its name in the lab.
const NAME: &str = "mariadb";

/// The database of lessons' tables.
const DATABASE: &str = "lesson";

/// Starts the lab's only server.
///
/// An empty data directory is enough: without the tables of accounts (`--skip-grant-tables`) nothing has to be
/// installed into it, and a subdirectory is a database. No other user can reach the socket.
pub(crate) async fn start(boot: &Boot<'_>) -> Result<Started, LabError> {
    let program = (SERVER.find)(boot.search)?;
    let data = boot.workspace.make_dir(&format!("{NAME}-data"))?;
    for database in ["mysql", DATABASE] {
        boot.workspace.make_dir(&format!("{NAME}-data/{database}"))?;
    }
    // The only directory in which statements could read or write files, or load code from.
    let nothing = boot.workspace.make_dir(&format!("{NAME}-files"))?;
    let socket = boot.workspace.join(&format!("{NAME}.sock"));
    let mut arguments = arguments(&program, &data, &nothing, &socket);
    let Settings { isolation, lock_wait_timeout, .. } = boot.settings;
    let level = isolation.map(|isolation| match isolation {
        Isolation::ReadUncommitted => "READ-UNCOMMITTED",
        Isolation::ReadCommitted => "READ-COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE-READ",
        Isolation::Serializable => "SERIALIZABLE",
    });
    arguments.extend(level.map(|level| format!("--transaction-isolation={level}").into()));
    let limit = lock_wait_timeout.map(|limit| format!("--innodb-lock-wait-timeout={}", limit.count()).into());
    arguments.extend(limit);
    let started = boot.start(NAME, &program, &arguments)?;
    let observer = MariadbObserver::new(&socket);
    let version = ready(&started.0, || async { observer.version().await.ok() }).await?;
    SERVER.require_version(&program, &version)?;
    let product = Product::Mariadb.traits().name;
    let server = Server::new(boot, product, version, Endpoint::Unix(socket), started, Box::new(observer));
    Ok(vec![server.restartable(Launch { program, arguments })].into())
}

/// Small, and without what only matters to a server that must survive a power cut: committed data survives the end of
/// the process.
fn arguments(program: &Path, data: &Path, files: &Path, socket: &Path) -> Vec<OsString> {
    let path = |option: &str, path: &Path| {
        let mut argument = OsString::from(format!("--{option}="));
        argument.push(path);
        argument
    };
    // This option must come first.
    let mut arguments = vec![OsString::from("--no-defaults")];
    // The server refuses to run as root unless told to.
    if rustix::process::geteuid().is_root() {
        arguments.push("--user=root".into());
    }
    // A server outside the directory that it was built for has its messages next to it.
    let home = program.parent().and_then(Path::parent).filter(|home| home.join("share/mysql").is_dir());
    arguments.extend(home.map(|home| path("basedir", home)));
    arguments.extend([
        path("datadir", data),
        path("socket", socket),
        path("secure-file-priv", files),
        path("plugin-dir", files),
        path("tmpdir", files),
    ]);
    arguments.extend(OPTIONS.map(OsString::from));
    arguments
}

const OPTIONS: [&str; 22] = [
    "--skip-networking",
    "--skip-grant-tables",
    "--skip-log-bin",
    "--skip-name-resolve",
    "--skip-symbolic-links",
    "--local-infile=0",
    "--performance-schema=0",
    "--innodb-buffer-pool-size=8M",
    "--innodb-log-file-size=4M",
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-flush-method=nosync",
    "--innodb-doublewrite=0",
    "--innodb-use-native-aio=0",
    "--innodb-temp-data-file-path=ibtmp1:4M:autoextend",
    "--innodb-buffer-pool-dump-at-shutdown=0",
    "--innodb-fast-shutdown=2",
    "--innodb-status-output-locks=1",
    "--innodb-log-buffer-size=2M",
    "--aria-log-file-size=8M",
    // Caches for tables other than InnoDB's, 128 MB each by default: half of the server's memory.
    "--aria-pagecache-buffer-size=1M",
    "--key-buffer-size=1M",
    "--max-connections=5100",
];
