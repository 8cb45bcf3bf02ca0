//! The pages of a class and their server: it shows what the screen publishes, counts votes, and passes on the teacher's
//! remote control. It must not know the screen, nor how lessons are run. Nothing here waits for a client: the server
//! has a thread and a runtime of its own, and a slow reader misses intermediate states.
//!
//! Everybody in the room's network can reach the server, so the cost of a request is bounded, and a phone can only send
//! one of the offered choices.

pub(crate) mod address;
pub(crate) mod answer;
pub(crate) mod ballot;
pub(crate) mod class;
pub(crate) mod limits;
pub(crate) mod pages;
pub(crate) mod secret;
pub(crate) mod serve;
pub(crate) mod state;

use std::{
    fmt, io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    thread::{self, JoinHandle},
};

use tokio::{runtime, sync::oneshot};

use crate::{
    export::Look,
    text::{Text, both},
    ui::state::classroom::protocol::{self, Classroom, Joining, THREAD},
};
use class::Class;

/// The maximum number of connections waiting to be accepted: a whole class opens the page at the same moment.
const BACKLOG: i32 = 1024;

/// The server of a class. Dropping it ends the server with all its connections.
#[derive(Debug)]
pub struct TeachHandle {
    /// The teacher's own page. Everybody who has this address controls the lesson.
    pub teacher_url: String,
    /// The page for a second projector.
    pub stage_url: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for TeachHandle {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic of the server has already been reported by the closing of the screen's channels.
            let _ = thread.join();
        }
    }
}

/// Why a class cannot be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeachError(Text);

impl TeachError {
    pub fn text(&self) -> &Text {
        &self.0
    }

    fn new(bind: SocketAddr, error: &io::Error) -> Self {
        let given = Text::from(bind.to_string());
        Self(match error.kind() {
            io::ErrorKind::AddrInUse => both!(
                "cannot serve a class at {given}: another program uses this port; choose another one, or port 0 for any that is free",
                "无法在 {given} 提供课堂页面：端口已被其他程序占用；请换一个端口，或用端口 0 自动选择空闲端口",
                given
            ),
            io::ErrorKind::AddrNotAvailable => both!(
                "cannot serve a class at {given}: this machine has no such address; use one of its own, or 0.0.0.0 for all of them",
                "无法在 {given} 提供课堂页面：本机没有这个地址；请使用本机的地址，或用 0.0.0.0 表示本机的所有地址",
                given
            ),
            io::ErrorKind::PermissionDenied => both!(
                "cannot serve a class at {given}: this port is not allowed for you; choose one from 1024 to 65535",
                "无法在 {given} 提供课堂页面：没有使用该端口的权限；请选择 1024 到 65535 之间的端口",
                given
            ),
            _ => {
                let why = Text::from(error.to_string());
                both!(
                    "cannot serve a class at {given}: {why}",
                    "无法在 {given} 提供课堂页面：{why}",
                    given,
                    why
                )
            }
        })
    }
}

impl fmt::Display for TeachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.en)
    }
}

impl std::error::Error for TeachError {}

/// Starts serving a class at an address. `look` is how the stage shows the run, and the
/// language in which it and the teacher's page begin.
pub fn start(bind: SocketAddr, look: Look) -> Result<(Classroom, TeachHandle), TeachError> {
    begin(bind, look).map_err(|error| TeachError::new(bind, &error))
}

fn begin(bind: SocketAddr, look: Look) -> io::Result<(Classroom, TeachHandle)> {
    let listener = TcpListener::bind(bind)?;
    rustix::net::listen(&listener, BACKLOG)?;
    listener.set_nonblocking(true)?;
    let address = address::reached_at(listener.local_addr()?);
    let (code, secret) = (secret::code()?, secret::secret()?);
    let base = format!("http://{address}");
    let joining =
        Joining { url: format!("{base}/{code}"), code, loopback: address.ip().to_canonical().is_loopback() };
    let (teacher_url, stage_url) = (format!("{base}/teacher/{secret}"), format!("{base}/stage"));
    let (classroom, ends) = protocol::open(joining.clone());
    let class = Arc::new(Class::new(joining, secret, ends, look));
    let (stop, stopped) = oneshot::channel::<()>();
    let serve = move || {
        // One thread only, because the screen and the servers of the lesson need the other processors.
        let mut runtime = runtime::Builder::new_current_thread();
        let runtime = runtime.enable_io().enable_time().max_blocking_threads(1).thread_name(THREAD).build();
        // If there is no runtime, the channels close and the screen reports it as when the server dies.
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            tokio::select! {
                // Never sent: the receiver resolves when the sender is dropped.
                _ = stopped => {}
                _ = serve::serve(listener, class) => {}
            }
        });
        // Does not wait for a picture of the stage in progress, which is no longer needed.
        runtime.shutdown_background();
    };
    let thread = thread::Builder::new().name(THREAD.to_owned()).spawn(serve)?;
    Ok((classroom, TeachHandle { teacher_url, stage_url, stop: Some(stop), thread: Some(thread) }))
}
