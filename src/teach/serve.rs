//! Accepts connections, and limits how long one may keep resources busy.

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

/// The timeout for a request's head; it also ends idle connections.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// The maximum time that sent data may remain unread.
const READ_WITHIN: Duration = Duration::from_secs(30);
/// The maximum size of a head, in bytes.
const HEAD: usize = 8 << 10;
/// The size of the send buffer for a client that does not read, in bytes.
const UNREAD: usize = 64 << 10;

/// Serves the class until the screen is gone.
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
            // Out of open files: wait until other connections are closed.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        if class.people().addresses.enter(peer.ip()) {
            let requests = Mutex::new(Bucket::new(REQUESTS));
            let connection = Connection { class: Arc::clone(class), ip: peer.ip(), requests };
            // A panic ends only this connection.
            tokio::spawn(talk(stream, Arc::new(connection)));
        }
    }
}

async fn talk(stream: TcpStream, connection: Arc<Connection>) {
    // Options that the system does not support are skipped.
    let _ = stream.set_nodelay(true);
    let _ = sockopt::set_socket_send_buffer_size(&stream, UNREAD);
    // Ends connections of clients that vanished or never read.
    #[cfg(target_os = "linux")]
    let _ =
        sockopt::set_tcp_user_timeout(&stream, u32::try_from(READ_WITHIN.as_millis()).unwrap_or(u32::MAX));
    let service = service_fn(move |request| {
        let connection = Arc::clone(&connection);
        async move { Ok::<_, Infallible>(answer::answer(&connection, request).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_buf_size(HEAD);
    // Errors are ignored: the phone is gone, or sent no valid request.
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}
