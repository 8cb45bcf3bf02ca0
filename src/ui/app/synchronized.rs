//! A backend that marks the beginning and the end of each picture, so that the terminal never shows half of one, and
//! that limits the size a terminal may report. Terminals without synchronized output (DEC private mode 2026) ignore the
//! marks.

use std::io::{self, Write};

use crossterm::{
    queue,
    terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate},
};
use ratatui::{
    backend::{Backend, ClearType, WindowSize},
    buffer::Cell,
    layout::{Position, Size},
};

use super::cell_output::write_cells;

/// The maximum size of a screen. A terminal that reports a false size could otherwise exhaust memory: ratatui keeps two
/// buffers, of up to 65535 by 65535 cells.
const LARGEST: Size = Size { width: 1000, height: 500 };

/// A backend that encloses every picture in two marks, and sends nothing for one that changes nothing.
#[derive(Debug)]
pub struct Synchronized<B: Backend + Write> {
    inner: B,
    /// Whether the begin mark was sent and the end mark was not.
    open: bool,
    /// Whether the cursor was hidden and not shown since: ratatui hides it with every picture.
    is_cursor_hidden: bool,
}

impl<B: Backend<Error = io::Error> + Write> Synchronized<B> {
    pub const fn new(inner: B) -> Self {
        Self { inner, open: false, is_cursor_hidden: false }
    }

    /// Sends the end mark if a picture was begun, so that the terminal shows later output.
    pub fn end(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.open) {
            queue!(self.inner, EndSynchronizedUpdate)?;
        }
        Ok(())
    }
}

impl<B: Backend<Error = io::Error> + Write> Backend for Synchronized<B> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut content = content.peekable();
        if content.peek().is_none() {
            return Ok(());
        }
        if !self.open {
            queue!(self.inner, BeginSynchronizedUpdate)?;
            self.open = true;
        }
        write_cells(&mut self.inner, content)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.is_cursor_hidden, true) {
            self.inner.hide_cursor()?;
        }
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.is_cursor_hidden = false;
        self.inner.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        self.inner.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.inner.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.inner.clear()
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        self.inner.clear_region(region)
    }

    fn size(&self) -> io::Result<Size> {
        let said = self.inner.size()?;
        Ok(Size { width: said.width.min(LARGEST.width), height: said.height.min(LARGEST.height) })
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.inner.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end()?;
        Backend::flush(&mut self.inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};

    use ratatui::{
        Terminal, TerminalOptions, Viewport,
        backend::{Backend as _, CrosstermBackend},
        layout::Rect,
    };

    use super::Synchronized;

    #[derive(Default, Clone)]
    struct Sent(std::rc::Rc<std::cell::RefCell<Vec<u8>>>);

    impl Write for Sent {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_picture_is_enclosed_in_marks_and_an_unchanged_one_is_not_sent() {
        let sent = Sent::default();
        let backend = Synchronized::new(CrosstermBackend::new(sent.clone()));
        let viewport = Viewport::Fixed(Rect::new(0, 0, 10, 2));
        let mut terminal = Terminal::with_options(backend, TerminalOptions { viewport }).expect("a terminal");
        let mut picture = |words: &str| {
            terminal
                .draw(|frame| {
                    frame.buffer_mut().set_string(0, 0, words, ratatui::style::Style::new());
                })
                .expect("drawn");
            let bytes = std::mem::take(&mut *sent.0.borrow_mut());
            String::from_utf8(bytes).expect("text")
        };
        let first = picture("locks");
        assert!(first.contains("\u{1b}[?2026h") && first.contains("locks"), "{first:?}");
        assert!(first.ends_with("\u{1b}[?2026l"), "{first:?}");
        let same = picture("locks");
        assert!(!same.contains("2026"), "{same:?}");
    }

    #[test]
    fn an_interrupted_picture_can_be_ended() {
        let sent = Sent::default();
        let mut backend = Synchronized::new(CrosstermBackend::new(sent.clone()));
        let cell = ratatui::buffer::Cell::new("x");
        backend.draw([(0, 0, &cell)].into_iter()).expect("drawn");
        backend.end().expect("ended");
        let ends = |sent: &Sent| String::from_utf8_lossy(&sent.0.borrow()).matches("2026l").count();
        assert_eq!(ends(&sent), 1);
        backend.end().expect("ended");
        assert_eq!(ends(&sent), 1, "only once");
    }
}
