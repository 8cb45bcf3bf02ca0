//! Connections: who is let in, and how long somebody may keep others waiting.

use std::{
    convert::Infallible,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt;
use tokio::{
    net::{TcpListener, TcpStream},
    time::sleep,
};

use super::{
    answer,
    class::{Class, Connection},
    limits::{Bucket, REQUESTS},
    state,
};

/// Until a request's head is there; a connection without a request ends after it, too.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// The longest that what was sent may stay unread.
const READ_WITHIN: Duration = Duration::from_secs(30);
/// The longest head.
const HEAD: usize = 8 << 10;
/// What the system keeps for somebody who does not read.
const UNREAD: usize = 64 << 10;

/// Serves the class until there is no screen any more.
pub(crate) async fn serve(listener: std::net::TcpListener, class: Arc<Class>) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    tokio::select! {
        () = state::follow(&class) => {}
        () = state::follow_run(&class) => {}
        () = accept(&listener, &class) => {}
    }
    Ok(())
}

async fn accept(listener: &TcpListener, class: &Arc<Class>) {
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // Out of open files: others close theirs.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        if class.people().addresses.enter(peer.ip()) {
            let requests = Mutex::new(Bucket::new(REQUESTS));
            let connection = Connection { class: Arc::clone(class), ip: peer.ip(), requests };
            // A panic ends this connection and nothing else.
            tokio::spawn(talk(stream, Arc::new(connection)));
        }
    }
}

async fn talk(stream: TcpStream, connection: Arc<Connection>) {
    // What the system does not know stays as it is.
    let _ = stream.set_nodelay(true);
    let _ = sockopt::set_socket_send_buffer_size(&stream, UNREAD);
    // Who is gone without a word, and who does not read at all.
    #[cfg(target_os = "linux")]
    let _ =
        sockopt::set_tcp_user_timeout(&stream, u32::try_from(READ_WITHIN.as_millis()).unwrap_or(u32::MAX));
    let service = service_fn(move |request| {
        let connection = Arc::clone(&connection);
        async move { Ok::<_, Infallible>(answer::answer(&connection, request).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_buf_size(HEAD);
    // A phone that is gone, or what was no request: nobody needs to know.
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}
