//! A connection to a Redis server that limits the length of replies: a reply is read into memory as a whole, and a
//! lesson can request any.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use redis::ConnectionAddr;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, UnixStream},
};

use crate::server::connection::TOO_LONG;

/// Connects to the path of a Unix socket, or to a host and port. The stream breaks when more than `most` bytes come back
/// for what was sent.
pub(crate) async fn open(address: &ConnectionAddr, most: usize) -> io::Result<Bounded> {
    let inner: Box<dyn Stream> = match address {
        ConnectionAddr::Unix(path) => Box::new(UnixStream::connect(path).await?),
        ConnectionAddr::Tcp(host, port) => {
            let stream = TcpStream::connect((host.as_str(), *port)).await?;
            stream.set_nodelay(true)?;
            Box::new(stream)
        }
        _ => return Err(io::Error::from(io::ErrorKind::Unsupported)),
    };
    Ok(Bounded { inner, most, read: 0 })
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A stream that breaks when too much comes back for what was sent.
pub(crate) struct Bounded {
    inner: Box<dyn Stream>,
    most: usize,
    /// The number of bytes received since the last write.
    read: usize,
}

impl AsyncRead for Bounded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let polled = Pin::new(&mut *self.inner).poll_read(context, into);
        self.read += into.filled().len() - before;
        if self.read > self.most {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, TOO_LONG)));
        }
        polled
    }
}

impl AsyncWrite for Bounded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.read = 0;
        Pin::new(&mut *self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.inner).poll_shutdown(context)
    }
}
