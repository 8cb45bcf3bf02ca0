//! What a program prints: its lines, its beliefs, and how much of them is reported.

use std::{io, os::fd::OwnedFd, sync::Arc};

use indexmap::IndexMap;
use rustix::io::ioctl_fionread;
use tokio::{net::unix::pipe, sync::mpsc};

use crate::{
    client::protocol::Response,
    log::{ActorId, Belief},
    text::{Text, Words},
};

/// The capacity of a pipe, in bytes.
const PIPE: usize = 64 << 10;
/// The longest line of a program's output, in bytes; the rest of a longer one is left out.
pub(super) const LONGEST_LINE: usize = 1 << 10;
/// The most lines that are reported from one rest to the next; beyond that, beliefs are reported and other
/// lines counted.
const MOST_LINES: usize = 50;
/// The most beliefs that are reported beyond those lines; beyond that, the newest about each lock.
const MOST_BELIEFS: usize = 500;
/// The most locks whose beliefs are reported beyond that.
const MOST_LOCKS: usize = 200;

const NEARLY_A_BELIEF: Words = Words::new(
    "Lockstep: that is no belief. A line of one ends with `HOLDS name`, `SHARES name`, `WAITS name` or `DROPS name`.",
    "Lockstep：这一行没有算作声明。声明要写在行尾：`HOLDS 锁名`、`SHARES 锁名`、`WAITS 锁名` 或 `DROPS 锁名`。",
);
const MORE_BELIEFS: Words = Words::new(
    "Lockstep: {} lines about locks were too many at once; of these the newest about each lock counts.",
    "Lockstep：一次说到锁的行太多，后面的 {} 行里，每把锁只算最新的一行。",
);
const MORE_LOCKS: Words = Words::new(
    "Lockstep: {} lines about still more locks were left out: what it believes of those is not known.",
    "Lockstep：还有 {} 行说到更多的锁，被略去了：这些锁它持有与否无从得知。",
);
const MORE_LINES: Words = Words::new("({} more lines)", "（还有 {} 行）");

/// A program's standard output. Remarks of Lockstep's own count among its lines.
pub(super) struct Output {
    actor: ActorId,
    responses: mpsc::UnboundedSender<Response>,
    pipe: Arc<pipe::Receiver>,
    /// The incomplete line that the program is printing.
    line: Vec<u8>,
    /// The number of lines since the last rest, reported or not.
    lines: usize,
    /// The beliefs beyond the lines that are reported.
    beliefs: MoreBeliefs,
    /// Whether the program was given the hint on how a belief is printed.
    is_hinted: bool,
    /// Whether the program may still print something.
    is_open: bool,
}

/// The beliefs that a program has printed since the last rest beyond the lines that are reported.
#[derive(Default)]
struct MoreBeliefs {
    /// The number of beliefs that were reported.
    reported: usize,
    /// The number of lines that came after those.
    more: usize,
    /// The last of these lines about each lock.
    newest: IndexMap<String, String>,
    /// The number of these lines that were about still other locks.
    left_out: usize,
}

impl MoreBeliefs {
    /// Returns the line if it is to be reported at once, or `None` if it is kept or left out.
    fn add(&mut self, lock: &str, line: String) -> Option<String> {
        if self.reported < MOST_BELIEFS {
            self.reported += 1;
            return Some(line);
        }
        self.more += 1;
        // The lock moves to the place of its newest line.
        self.newest.shift_remove(lock);
        if self.newest.len() < MOST_LOCKS {
            self.newest.insert(lock.to_owned(), line);
        } else {
            self.left_out += 1;
        }
        None
    }
}

impl Output {
    pub(super) fn new(
        actor: ActorId,
        output: OwnedFd,
        responses: mpsc::UnboundedSender<Response>,
    ) -> io::Result<Self> {
        Ok(Self {
            actor,
            responses,
            pipe: Arc::new(pipe::Receiver::from_owned_fd(output)?),
            line: Vec::new(),
            lines: 0,
            beliefs: MoreBeliefs::default(),
            is_hinted: false,
            is_open: true,
        })
    }

    pub(super) fn pipe(&self) -> Arc<pipe::Receiver> {
        Arc::clone(&self.pipe)
    }

    /// Whether the program has printed what was not read yet.
    pub(super) fn unread(&self) -> bool {
        self.is_open && ioctl_fionread(&*self.pipe).is_ok_and(|bytes| bytes > 0)
    }

    /// Whether it is read as it arrives. That of a program that prints without end is read only when the
    /// program is examined.
    pub(super) fn is_read(&self) -> bool {
        self.is_open && self.lines <= MOST_LINES
    }

    /// Reads what the program has printed, at most as much as a pipe holds, so that other work has its turn.
    pub(super) fn read(&mut self) {
        self.read_with(pipe::Receiver::try_read);
    }

    /// The same for a program that has ended: its last output is there, whether or not the runtime has been
    /// notified of it. A last line may be incomplete.
    pub(super) fn read_last(&mut self) {
        self.read_with(|output, piece| Ok(rustix::io::read(output, piece)?));
        if !self.line.is_empty() {
            self.end_line();
        }
    }

    fn read_with(&mut self, read: impl Fn(&pipe::Receiver, &mut [u8]) -> io::Result<usize>) {
        let mut piece = [0; 4096];
        for _ in 0..=PIPE / piece.len() {
            match read(&self.pipe, &mut piece) {
                Ok(0) => return self.is_open = false,
                Ok(length) => {
                    for byte in &piece[..length] {
                        if *byte == b'\n' {
                            self.end_line();
                        } else if self.line.len() < LONGEST_LINE {
                            self.line.push(*byte);
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => return self.is_open = false,
            }
        }
    }

    fn end_line(&mut self) {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).trim_end().to_owned();
        match Belief::printed(&line) {
            Some((_, lock)) if self.lines >= MOST_LINES => {
                if let Some(line) = self.beliefs.add(lock, line.clone()) {
                    self.report_line(line);
                }
            }
            belief => {
                let hint = belief.is_none() && !self.is_hinted && is_nearly_a_belief(&line);
                if self.has_room() {
                    self.report_line(line);
                }
                if hint {
                    self.is_hinted = true;
                    self.remark(NEARLY_A_BELIEF.text(&[]));
                }
            }
        }
    }

    /// Reports what exceeded the limits since the last rest.
    pub(super) fn report_excess(&mut self) {
        let MoreBeliefs { more, newest, left_out, .. } = std::mem::take(&mut self.beliefs);
        for line in newest.into_values() {
            self.report_line(line);
        }
        for (words, lines) in [(MORE_BELIEFS, more), (MORE_LOCKS, left_out)] {
            if lines > 0 {
                self.report_remark(words.text(&[&lines.to_string()]));
            }
        }
        if self.lines > MOST_LINES {
            self.report_remark(MORE_LINES.text(&[&(self.lines - MOST_LINES).to_string()]));
        }
        self.lines = 0;
    }

    /// Counts a line of a kind that a program can cause any number of times. Returns whether it is reported.
    fn has_room(&mut self) -> bool {
        self.lines += 1;
        self.lines <= MOST_LINES
    }

    /// Reports a remark of a kind that a program can cause any number of times.
    pub(super) fn remark(&mut self, remark: Text) {
        if self.has_room() {
            self.report_remark(remark);
        }
    }

    fn report_line(&self, line: String) {
        self.report(Response::Said { actor: self.actor, line, stderr: false });
    }

    pub(super) fn report_remark(&self, remark: Text) {
        self.report(Response::Remarked { actor: self.actor, remark });
    }

    fn report(&self, response: Response) {
        let _ = self.responses.send(response);
    }
}

/// Whether a line contains a keyword of beliefs.
fn is_nearly_a_belief(line: &str) -> bool {
    line.split(|c: char| !c.is_ascii_alphabetic())
        .any(|word| matches!(word, "HOLDS" | "SHARES" | "WAITS" | "DROPS"))
}
