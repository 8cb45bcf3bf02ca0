//! Redis servers on a Unix socket in the workspace, one or several, each with a configuration file of its own.

use std::collections::HashMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::error::LabError;
use super::observe_redis::RedisObserver;
use super::programs::REDIS_SERVER;
use super::server::{Boot, Endpoint, Launch, Server, ready};
use super::version::Version;
use crate::log::ServerInfo;

/// Its name in the lab.
const NAME: &str = "redis";

/// Starts the lab's only server.
pub(crate) async fn start(boot: &Boot<'_>) -> Result<Vec<Server>, LabError> {
    let socket = boot.workspace.join(&format!("{NAME}.sock"));
    let config = configuration(boot, &socket, boot.workspace.path(), None, "");
    let config = boot.workspace.write(&format!("{NAME}.conf"), &config)?;
    let observer = RedisObserver::new(&socket, boot.access.password());
    Ok(vec![launch(boot, NAME, &socket, vec![config.into()], observer).await?])
}

/// The configuration file of a server, which nobody but its owner may read: it has a secret in it.
fn configuration(
    boot: &Boot<'_>,
    socket: &Path,
    data: &Path,
    port: Option<SocketAddr>,
    extra: &str,
) -> String {
    // An empty log file name means standard output, which is the lab's log and also gets what is said before logging.
    format!(
        "bind 127.0.0.1\nport {}\nunixsocket \"{}\"\nunixsocketperm 700\ndir \"{}\"\n\
         save \"\"\nappendonly no\nnotify-keyspace-events \"\"\ndaemonize no\nlogfile \"\"\n{}{extra}",
        port.map_or(0, |address| address.port()),
        socket.display(),
        data.display(),
        boot.access.users(),
    )
}

/// Ports that servers are known by to each other, and the servers' names.
pub(crate) type Known = Arc<HashMap<u16, String>>;

/// Starts a server of several: with a directory and a configuration file of its own, so that what is written
/// into them (`CONFIG REWRITE`, an append-only file) outlives a restart.
pub(crate) async fn start_member(
    boot: &Boot<'_>,
    name: &str,
    port: Option<SocketAddr>,
    extra: &str,
    known: &Known,
) -> Result<Server, LabError> {
    let socket = boot.workspace.join(&format!("{name}.sock"));
    let data = boot.workspace.make_dir(&format!("{name}-data"))?;
    let config = configuration(boot, &socket, &data, port, extra);
    let config = boot.workspace.write(&format!("{name}.conf"), &config)?;
    let observer = RedisObserver::new(&socket, boot.access.password()).with_role(Arc::clone(known));
    launch(boot, name, &socket, vec![config.into()], observer).await
}

async fn launch(
    boot: &Boot<'_>,
    name: &str,
    socket: &Path,
    arguments: Vec<OsString>,
    observer: RedisObserver,
) -> Result<Server, LabError> {
    let program = boot.search.redis_server()?;
    let started = boot.start(name, &program, |command| {
        command.args(&arguments);
    })?;
    let process = &started.0;
    ready(process, || async {
        let pong = ping(socket, boot.access.password()).await;
        pong.ok().filter(|pong| *pong).map(|_| ())
    })
    .await?;
    let version = ready(process, || async { observer.info("redis_version").await.ok()? }).await?;
    match Version::read(&version) {
        Some(found) if found < Version::REDIS => {
            return Err(LabError::TooOld {
                program: "redis-server",
                path: program.clone(),
                found: version,
                needed: Version::REDIS.to_string(),
                variable: REDIS_SERVER,
            });
        }
        _ => {}
    }
    let endpoint = Endpoint::Unix(socket.to_path_buf());
    let info = ServerInfo {
        name: name.to_owned(),
        product: "Redis".to_owned(),
        version,
        address: endpoint.to_string(),
        password: boot.access.password().map(str::to_owned),
    };
    let server = Server::new(info, endpoint, started, Box::new(observer));
    Ok(server.restartable(Launch { program, arguments }))
}

/// Whether the server says PONG. It says LOADING and other things while it is not ready.
async fn ping(socket: &Path, password: Option<&str>) -> std::io::Result<bool> {
    let (question, pong) = match password {
        Some(password) => (format!("AUTH {password}\r\nPING\r\n"), "+OK\r\n+PONG\r\n"),
        None => ("PING\r\n".to_owned(), "+PONG\r\n"),
    };
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(question.as_bytes()).await?;
    let mut answer = vec![0; pong.len()];
    stream.read_exact(&mut answer).await?;
    Ok(answer == pong.as_bytes())
}
