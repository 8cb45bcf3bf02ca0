//! The real program in a pseudo-terminal: keys go in, a screen comes out. It must not know what is tested.

use std::{
    fmt::Debug,
    io::{Read, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

use crate::place::{LOCKSTEP, Place};

/// A condition that does not hold by then is taken never to hold.
const DEADLINE: Duration = Duration::from_mins(1);
/// The interval of polling where nothing signals a change.
const LOOK: Duration = Duration::from_millis(5);

pub const ENTER: &str = "\r";
pub const RIGHT: &str = "\x1b[C";
pub const LEFT: &str = "\x1b[D";
pub const DOWN: &str = "\x1b[B";
pub const HOME: &str = "\x1b[H";
pub const END: &str = "\x1b[F";
pub const CTRL_C: &str = "\x03";

/// Everything that the program has written so far.
struct Output {
    parser: vt100::Parser,
    raw: Vec<u8>,
    /// The newest completely drawn picture.
    picture: Screen,
    /// The program's side of the terminal is closed, or the reader has ended.
    over: bool,
    /// The reader must release its end of the terminal.
    leave: bool,
}

/// The prefix of the marks around each picture of the program, a synchronized update: `h` begins it, `l` ends it.
const UPDATE: &[u8] = b"\x1b[?2026";

impl Output {
    fn new(cols: u16, rows: u16) -> Self {
        // Limits the size to what a terminal can really show, whatever size it reports.
        let parser = vt100::Parser::new(rows.clamp(1, 500), cols.clamp(1, 1000), 0);
        Self { picture: Screen::of(parser.screen()), parser, raw: Vec::new(), over: false, leave: false }
    }

    /// Whether a picture has begun and not ended. Output after a picture, such as the cursor's position, is not part of
    /// it.
    fn is_in_picture(&self) -> bool {
        let mark = self.raw.windows(UPDATE.len()).rposition(|bytes| bytes == UPDATE);
        mark.is_some_and(|at| self.raw.get(at + UPDATE.len()) != Some(&b'l'))
    }

    fn take(&mut self, bytes: &[u8]) {
        self.raw.extend_from_slice(bytes);
        self.parser.process(bytes);
        // A half-drawn picture is not shown.
        if !self.parser.screen().alternate_screen() || !self.is_in_picture() {
            self.picture = Screen::of(self.parser.screen());
        }
    }
}

struct Shared {
    output: Mutex<Output>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Output> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lockstep in a terminal. Dropping it kills and reaps the program.
pub struct Terminal {
    shared: Arc<Shared>,
    /// `None` once the terminal is closed.
    master: Option<Box<dyn MasterPty + Send>>,
    writer: Option<Box<dyn Write + Send>>,
    reader: Option<JoinHandle<()>>,
    child: Box<dyn Child + Send + Sync>,
    fresh: String,
}

impl Terminal {
    /// `lockstep ARGS` in a terminal of 120 columns and 40 rows.
    pub fn start(place: &Place, args: &[&str]) -> Self {
        Self::start_with(place, args, (120, 40), &[])
    }

    /// `lockstep ARGS` in a terminal of a size, with these variables besides the usual ones.
    pub fn start_with(
        place: &Place,
        args: &[&str],
        (cols, rows): (u16, u16),
        variables: &[(&str, &str)],
    ) -> Self {
        let pair = native_pty_system().openpty(size(cols, rows)).expect("a pty");
        let fresh = settings(&*pair.master);
        let child = pair.slave.spawn_command(command(place, args, variables));
        let child = child.expect("lockstep starts");
        // Only the program keeps its side of the terminal open, so that its end is noticed.
        drop(pair.slave);
        let shared =
            Arc::new(Shared { output: Mutex::new(Output::new(cols, rows)), changed: Condvar::new() });
        let from = pair.master.try_clone_reader().expect("a reader");
        let reader = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || read(from, &shared)
        });
        Self {
            shared,
            writer: Some(pair.master.take_writer().expect("a writer")),
            master: Some(pair.master),
            reader: Some(reader),
            child,
            fresh,
        }
    }

    /// The screen as it is now.
    pub fn screen(&self) -> Screen {
        self.shared.lock().picture.clone()
    }

    /// All bytes that the program has written.
    pub fn raw(&self) -> Vec<u8> {
        self.shared.lock().raw.clone()
    }

    /// The number of bytes that the program has written.
    pub fn written(&self) -> usize {
        self.shared.lock().raw.len()
    }

    /// Waits until the screen shows a text, and returns that screen.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> Screen {
        self.wait_until(&format!("{text:?} on the screen"), |screen| screen.has(text))
    }

    /// Waits until the screen meets a condition, and returns it. `what` describes the condition.
    #[track_caller]
    pub fn wait_until(&self, what: &str, condition: impl Fn(&Screen) -> bool) -> Screen {
        let deadline = Instant::now() + DEADLINE;
        let mut output = self.shared.lock();
        loop {
            if condition(&output.picture) {
                return output.picture.clone();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || output.over {
                let why = if output.over { "the program has ended" } else { "in a minute" };
                let picture = output.picture.clone();
                drop(output);
                panic!("never: {what}; {why}\n{picture}");
            }
            let waited = self.shared.changed.wait_timeout(output, left);
            output = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        let writer = self.writer.as_mut().expect("the terminal is open");
        writer.write_all(keys.as_bytes()).expect("keys are pressed");
        writer.flush().expect("keys are pressed");
    }

    /// Gives the terminal another size.
    pub fn resize(&mut self, cols: u16, rows: u16) {
        let mut output = self.shared.lock();
        output.parser.screen_mut().set_size(rows, cols);
        output.picture = Screen::of(output.parser.screen());
        let master = self.master.as_ref().expect("the terminal is open");
        master.resize(size(cols, rows)).expect("another size");
    }

    /// Clears the screen, so that only what the program draws from now on is seen.
    pub fn wipe(&self) {
        let mut output = self.shared.lock();
        output.parser.process(b"\x1b[m\x1b[2J");
        output.picture = Screen::of(output.parser.screen());
    }

    /// Closes the terminal, as when its window is closed.
    pub fn close(&mut self) {
        self.shared.lock().leave = true;
        // The reader holds the terminal open while it waits for output; a new size makes the program draw.
        let master = self.master.take().expect("the terminal is open");
        master.resize(size(97, 31)).expect("another size");
        let reader = self.reader.take().expect("somebody reads");
        reader.join().expect("the reader ends");
        self.writer = None;
        drop(master);
    }

    /// Sends a signal to the program.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("the signal is sent");
    }

    fn pid(&self) -> Pid {
        let pid = self.child.process_id().and_then(|pid| i32::try_from(pid).ok());
        pid.and_then(Pid::from_raw).expect("a pid")
    }

    /// Waits until the program ends by itself, and returns its exit code.
    #[track_caller]
    pub fn ended(&mut self) -> u32 {
        let status = self.end();
        assert_eq!(status.signal(), None, "it ends by itself\n{}", self.screen());
        status.exit_code()
    }

    /// Waits for the end of the program.
    #[track_caller]
    pub fn end(&mut self) -> ExitStatus {
        let what = "lockstep ends";
        let mut status = None;
        let child = &mut self.child;
        let shared = &self.shared;
        eventually(
            what,
            || {
                status = child.try_wait().expect("its end can be asked for");
                status.is_some()
            },
            || shared.lock().picture.clone(),
        );
        // Its last output is read, too.
        if self.master.is_some() {
            let over = |output: &mut Output| !output.over;
            let output = self.shared.changed.wait_timeout_while(self.shared.lock(), DEADLINE, over);
            let (output, _) = output.unwrap_or_else(PoisonError::into_inner);
            assert!(output.over, "something still holds the terminal open");
        }
        status.expect("an exit status")
    }

    /// Whether the terminal's settings are those from before the program started.
    pub fn is_cooked(&self) -> bool {
        settings(self.master.as_deref().expect("the terminal is open")) == self.fresh
    }

    /// Asserts that the terminal was restored: main screen, visible cursor, canonical mode.
    #[track_caller]
    pub fn assert_restored(&self) {
        let output = self.shared.lock();
        let screen = output.parser.screen();
        assert!(!screen.alternate_screen(), "the alternate screen is left");
        assert!(!screen.hide_cursor(), "the cursor is shown");
        drop(output);
        let raw = String::from_utf8_lossy(&self.raw()).into_owned();
        assert!(raw.contains("\x1b[?1049l"), "the alternate screen is left");
        let now = settings(self.master.as_deref().expect("the terminal is open"));
        assert_eq!(now, self.fresh, "raw mode is off");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A picture of the screen.
#[derive(Clone, PartialEq, Eq)]
pub struct Screen {
    rows: Vec<String>,
    /// The cells that are the second half of a wide character, as columns of each row.
    halves: Vec<Vec<u16>>,
}

impl Screen {
    fn of(screen: &vt100::Screen) -> Self {
        let (rows, cols) = screen.size();
        let half = |row, col| screen.cell(row, col).is_some_and(vt100::Cell::is_wide_continuation);
        Self {
            rows: screen.rows(0, cols).map(|row| row.trim_end().to_owned()).collect(),
            halves: (0..rows).map(|row| (0..cols).filter(|col| half(row, *col)).collect()).collect(),
        }
    }

    /// Whether one of the rows contains a text.
    pub fn has(&self, text: &str) -> bool {
        self.rows.iter().any(|row| row.contains(text))
    }

    /// Whether the screen contains a text, ignoring line breaks and frames from wrapping.
    pub fn says(&self, text: &str) -> bool {
        let bare =
            |text: &str| -> String { text.chars().filter(|c| !c.is_whitespace() && *c != '│').collect() };
        bare(&self.rows.concat()).contains(&bare(text))
    }

    /// The text, row by row.
    pub fn rows(&self) -> &[String] {
        &self.rows
    }

    /// Whether there is a wide character.
    pub fn has_wide(&self) -> bool {
        self.halves.iter().any(|row| !row.is_empty())
    }
}

impl std::fmt::Display for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.rows.iter().try_for_each(|row| writeln!(f, "|{row}"))
    }
}

impl Debug for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\n{self}")
    }
}

/// Waits for a condition that nothing signals, by polling.
#[track_caller]
pub fn eventually<S: std::fmt::Display>(
    what: &str,
    mut condition: impl FnMut() -> bool,
    state: impl Fn() -> S,
) {
    let deadline = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < deadline, "never: {what}\n{}", state());
        std::thread::sleep(LOOK);
    }
}

fn read(mut from: Box<dyn Read + Send>, shared: &Shared) {
    let mut buffer = [0; 16 * 1024];
    loop {
        let read = from.read(&mut buffer);
        let mut output = shared.lock();
        match read {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Ok(1..) if output.leave => output.over = true,
            Ok(count @ 1..) => {
                output.take(&buffer[..count]);
            }
            Ok(0) | Err(_) => output.over = true,
        }
        shared.changed.notify_all();
        if output.over {
            return;
        }
    }
}

fn command(place: &Place, args: &[&str], variables: &[(&str, &str)]) -> CommandBuilder {
    let mut command = CommandBuilder::new(LOCKSTEP);
    command.args(args);
    command.cwd(place.path());
    for (name, value) in place.command(&[]).get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        }
    }
    for name in ["NO_COLOR", "LC_CTYPE", "LC_MESSAGES", "LANG"] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm-256color");
    for (name, value) in variables {
        command.env(name, value);
    }
    command
}

fn size(cols: u16, rows: u16) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

/// The terminal's settings: whether it echoes, collects lines, turns keys into signals. Without its baud rates, which
/// the C library fills in.
fn settings(master: &dyn MasterPty) -> String {
    let settings = master.get_termios().expect("the terminal's settings");
    format!("{:?} {:?} {:?}", settings.input_flags, settings.output_flags, settings.local_flags)
}
