//! One Redis server on a Unix socket in the workspace, with a configuration file of its own.

use std::net::SocketAddr;
use std::path::Path;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::log::Product;
use crate::process::error::LabError;
use crate::server::boot::{Boot, Endpoint, Launch, Server, ready};
use crate::server::redis::access::users;
use crate::server::redis::observe::{InTopology, RedisObserver};
use crate::server::redis::persistence::persistence;
use crate::server::redis::programs::SERVER;

/// A path between the quotes of a configuration file.
fn quoted(path: &Path) -> String {
    path.display().to_string().replace('\\', "\\\\").replace('"', "\\\"")
}

/// The configuration file of a server, which only its owner may read: it contains a secret.
fn configuration(
    boot: &Boot<'_>,
    socket: &Path,
    data: &Path,
    port: Option<SocketAddr>,
    extra: &str,
) -> String {
    // An empty log file name means standard output, which is the lab's log and also has the messages from before
    // logging starts.
    format!(
        "bind 127.0.0.1\nport {}\nunixsocket \"{}\"\nunixsocketperm 700\ndir \"{}\"\n\
         save \"\"\n{}notify-keyspace-events \"\"\ndaemonize no\nlogfile \"\"\n{}{extra}",
        port.map_or(0, |address| address.port()),
        quoted(socket),
        quoted(data),
        persistence(boot.settings),
        users(boot.secret),
    )
}

/// Starts a server with a directory and a configuration file of its own, so that data written there (`CONFIG REWRITE`,
/// an append-only file) survives a restart.
pub(crate) async fn start(
    boot: &Boot<'_>,
    name: &str,
    port: Option<SocketAddr>,
    extra: &str,
    asked: Option<InTopology>,
) -> Result<Server, LabError> {
    let socket = boot.workspace.join(&format!("{name}.sock"));
    let data = boot.workspace.make_dir(&format!("{name}-data"))?;
    let config = configuration(boot, &socket, &data, port, extra);
    let config = boot.workspace.write(&format!("{name}.conf"), &config)?;
    let arguments = vec![config.into()];
    let observer = RedisObserver::new(&socket, boot.secret.password(), asked);
    let program = (SERVER.find)(boot.search)?;
    let started = boot.start(name, &program, &arguments)?;
    let process = &started.0;
    ready(process, || async {
        let pong = ping(&socket, boot.secret.password()).await;
        pong.ok().filter(|pong| *pong).map(|_| ())
    })
    .await?;
    let version = ready(process, || async { observer.info("redis_version").await.ok()? }).await?;
    SERVER.require_version(&program, &version)?;
    let product = Product::Redis.traits().name;
    let server = Server::new(boot, product, version, Endpoint::Unix(socket), started, Box::new(observer));
    Ok(server.restartable(Launch { program, arguments }))
}

/// Whether the server answers PONG. While it is not ready it answers LOADING and other errors.
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
