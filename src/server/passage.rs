//! A client's connection over a link from inside this process. It has no socket, and can report whether data is in
//! flight.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};

/// The capacity of each direction, in bytes.
const ROOM: usize = 64 << 10;

/// One end of a passage. What is written at one end can be read at the other.
#[derive(Debug)]
pub(crate) struct Passage {
    stream: DuplexStream,
    /// The number of bytes written here and not yet read at the other end, and the same for the other direction.
    sent: Arc<AtomicUsize>,
    coming: Arc<AtomicUsize>,
}

impl Passage {
    pub(crate) fn ends() -> (Self, Self) {
        let (stream, other) = duplex(ROOM);
        let (sent, coming) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let far = Self { stream: other, sent: Arc::clone(&coming), coming: Arc::clone(&sent) };
        (Self { stream, sent, coming }, far)
    }

    /// Whether there is something to read.
    pub(crate) fn unread(&self) -> bool {
        self.coming.load(Ordering::SeqCst) > 0
    }

    /// Whether there is room to write.
    pub(crate) fn takes(&self) -> bool {
        self.sent.load(Ordering::SeqCst) < ROOM
    }
}

impl AsyncRead for Passage {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, into))?;
        self.coming.fetch_sub(into.filled().len() - before, Ordering::SeqCst);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Passage {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        // Counted before the other end can read it.
        self.sent.fetch_add(bytes.len(), Ordering::SeqCst);
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        let taken = if let Poll::Ready(Ok(taken)) = &written { *taken } else { 0 };
        self.sent.fetch_sub(bytes.len() - taken, Ordering::SeqCst);
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn what_is_on_its_way_is_seen_until_it_is_read() {
        let (mut near, mut far) = Passage::ends();
        assert!(!near.unread() && !far.unread() && near.takes());
        near.write_all(b"hello").await.expect("there is room");
        assert!(far.unread() && !near.unread());
        let mut read = [0; 5];
        far.read_exact(&mut read).await.expect("it is there");
        assert_eq!((&read, far.unread()), (b"hello", false));
        near.write_all(&vec![0; ROOM]).await.expect("there is room");
        assert!(!near.takes());
        drop(near);
        let mut rest = Vec::new();
        far.read_to_end(&mut rest).await.expect("then it ends");
        assert_eq!((rest.len(), far.unread()), (ROOM, false));
    }
}
