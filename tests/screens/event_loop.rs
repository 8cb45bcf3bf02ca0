//! The real event loop on a screen in memory: keys go in, and every picture that it draws can be awaited.

use std::{cell::RefCell, io, rc::Rc};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use futures::Stream;
use ratatui::{
    backend::{Backend, ClearType, TestBackend, WindowSize},
    buffer::Cell,
    layout::{Position, Size},
};
use tokio::sync::{mpsc, watch};

use crate::stand::rows;

/// A screen that signals every complete picture.
pub struct Watched {
    inner: Rc<RefCell<TestBackend>>,
    drawn: watch::Sender<usize>,
}

/// The test's view of the screen.
pub struct Eyes {
    inner: Rc<RefCell<TestBackend>>,
    drawn: watch::Receiver<usize>,
}

pub fn screen(width: u16, height: u16) -> (Watched, Eyes) {
    let inner = Rc::new(RefCell::new(TestBackend::new(width, height)));
    let (sender, receiver) = watch::channel(0);
    let watched = Watched { inner: Rc::clone(&inner), drawn: sender };
    (watched, Eyes { inner, drawn: receiver })
}

impl Eyes {
    /// Waits for a picture that contains these words.
    pub async fn see(&mut self, words: &str) {
        let looked = async {
            while !self.shows(words) {
                self.drawn.changed().await.expect("the loop has ended");
            }
        };
        let patience = std::time::Duration::from_secs(20);
        let seen = tokio::time::timeout(patience, looked).await;
        assert!(seen.is_ok(), "never saw {words:?}; the screen shows\n{}", self.rows().join("\n"));
    }

    pub fn shows(&self, words: &str) -> bool {
        self.rows().iter().any(|row| row.contains(words))
    }

    pub fn rows(&self) -> Vec<String> {
        rows(self.inner.borrow().buffer())
    }

    /// The number of pictures drawn.
    pub fn pictures(&self) -> usize {
        *self.drawn.borrow()
    }
}

impl Backend for Watched {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let Ok(()) = self.inner.borrow_mut().draw(content);
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, _position: P) -> io::Result<()> {
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        let Ok(()) = self.inner.borrow_mut().clear();
        Ok(())
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        let Ok(()) = self.inner.borrow_mut().clear_region(region);
        Ok(())
    }

    fn size(&self) -> io::Result<Size> {
        let Ok(size) = self.inner.borrow().size();
        Ok(size)
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        let Ok(size) = self.inner.borrow_mut().window_size();
        Ok(size)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.drawn.send_modify(|drawn| *drawn += 1);
        Ok(())
    }
}

/// A test's key presses, as the stream that the loop reads.
pub fn keyboard() -> (Keyboard, impl Stream<Item = io::Result<Event>> + Unpin) {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let stream = futures::stream::poll_fn(move |context| receiver.poll_recv(context));
    (Keyboard(sender), stream)
}

pub struct Keyboard(mpsc::UnboundedSender<io::Result<Event>>);

impl Keyboard {
    pub fn key(&self, code: KeyCode) {
        let event = Event::Key(KeyEvent::new(code, KeyModifiers::NONE));
        self.0.send(Ok(event)).expect("the loop has ended");
    }

    pub fn press(&self, keys: &str) {
        for key in keys.chars() {
            self.key(KeyCode::Char(key));
        }
    }
}
