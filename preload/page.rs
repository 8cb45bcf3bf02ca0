//! The page through which Lockstep publishes the lesson time to its processes: the offset of each number, and the
//! arithmetic that makes a time of them. Compiled twice, into the program (which writes) and into the preloaded library
//! (which reads), so it must use neither files nor `std` nor anything of either side.
//!
//! **Architecture Invariant:** the layout and the arithmetic exist once, here. Both sides would otherwise
//! drift apart silently, since nothing checks a page's type at run time.
//!
//! Every field is one 64-bit number in native byte order (both sides are always on the same machine), and
//! every time is in nanoseconds.

/// Size of the page's file, in bytes.
pub const PAGE_BYTES: usize = 4096;
/// Sequence counter: odd while the writer is changing the page, and different after every change.
pub const SEQUENCE: usize = 0;
/// [`Line::anchor`].
pub const ANCHOR: usize = 8;
/// [`Line::offset`].
pub const OFFSET: usize = 16;
/// [`Line::rate`].
pub const RATE: usize = 24;
/// Lesson-calendar time (nanoseconds since 1970) minus lesson-monotonic time. Fixed when the page is made, so that a
/// step of the host's own calendar clock cannot disturb a lesson.
pub const EPOCH: usize = 32;
/// The number of servers that can have a skew of their own.
pub const SLOTS: usize = 64;
/// [`Line::longest`].
pub const LONGEST: usize = 40;
/// The offset of the skews: [`SLOTS`] numbers, each added to one server's calendar clock.
const SKEWS: usize = 64;

/// The environment variable that names the page's file to a process.
pub const PAGE_VARIABLE: &str = "LESSON_CLOCK";
/// The environment variable that gives a process its slot; without it the process has no skew.
pub const SLOT_VARIABLE: &str = "LESSON_CLOCK_SLOT";
/// The environment variable that makes a process's vDSO read the page, too: for programs that bypass libc to read the
/// clock.
pub const VDSO_VARIABLE: &str = "LESSON_CLOCK_VDSO";

/// The environment variable that names the file in which a program's threads publish what they wait for.
pub const STATUS_VARIABLE: &str = "LESSON_CLOCK_STATUS";
/// The environment variable that lets a program's threads sleep while lesson time stands still. Only where lesson time
/// passes in jumps, after each of which Lockstep examines the program: where it runs, they must notice by themselves.
pub const SLEEPS_VARIABLE: &str = "LESSON_CLOCK_SLEEPS";
/// The number of entries in that file. In the first entry the first number counts the waits that found no free entry.
pub const STATUS_ENTRIES: usize = 1024;
/// The numbers of an entry: the thread's id (0: free), the lesson-monotonic time until which it waits, how many waits have
/// ended in this entry (while that is the same, so is the wait), and whether the thread sleeps until it is woken: [`AWAKE`],
/// [`ASLEEP`] or [`WOKEN`].
pub const STATUS_NUMBERS: usize = 4;
/// Size of that file, in bytes.
pub const STATUS_BYTES: usize = STATUS_ENTRIES * STATUS_NUMBERS * size_of::<i64>();
/// The thread looks at the clock by itself.
pub const AWAKE: i64 = 0;
/// The thread sleeps while lesson time stands still: whoever moves lesson time beyond its deadline wakes it with SIGURG.
pub const ASLEEP: i64 = 1;
/// It has received that signal.
pub const WOKEN: i64 = 2;
/// Stands for a deadline: the thread waits in real time.
pub const REAL: i64 = -1;

/// One thousandth of real speed, the unit of [`Line::rate`].
pub const PER_MILLE: i64 = 1000;

const _: () = assert!(skew_at(SLOTS) <= PAGE_BYTES, "the slots must fit into the page");

/// The offset of the skew of `slot`.
#[must_use]
pub const fn skew_at(slot: usize) -> usize {
    SKEWS + slot * size_of::<i64>()
}

/// Lesson time as a linear function of real time, since the last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Real monotonic time of the last change.
    pub anchor: i64,
    /// Lesson-monotonic time minus real monotonic time at the anchor.
    pub offset: i64,
    /// Lesson time that passes in 1000 units of real time; 0 stands still; never negative.
    pub rate: i64,
    /// For how much real time after the anchor lesson time passes; then it stands still until the next change. Without
    /// this limit lesson time on a fast clock would run away whenever the machine itself stalled.
    pub longest: i64,
}

impl Line {
    /// The lesson-monotonic time when the real monotonic clock shows `real`.
    ///
    /// Before the anchor it is the anchor's time: a thread may be delayed between reading the clock and reading the
    /// page, and running the *new* rate backwards from the anchor could then show a time before one already seen.
    #[must_use]
    pub const fn at(self, real: i64) -> i64 {
        let passed = real.saturating_sub(self.anchor);
        let passed = if passed > self.longest { self.longest } else { passed };
        let passed = if passed < 0 { 0 } else { passed };
        // Whole thousands and the remainder are scaled separately, since otherwise 25 hours at 100x would overflow.
        let scaled = (passed / PER_MILLE)
            .saturating_mul(self.rate)
            .saturating_add(passed % PER_MILLE * self.rate / PER_MILLE);
        self.anchor.saturating_add(self.offset).saturating_add(scaled)
    }

    /// Whether lesson time stands still when the real monotonic clock shows `real`.
    #[must_use]
    pub const fn stands_still(self, real: i64) -> bool {
        self.rate <= 0 || real.saturating_sub(self.anchor) >= self.longest
    }

    /// The line that continues this one from `real` without a step, at another rate and without a limit.
    #[must_use]
    pub const fn turned(self, real: i64, rate: i64) -> Self {
        Self { anchor: real, offset: self.at(real).saturating_sub(real), rate, longest: i64::MAX }
    }

    /// How much real time passes until `left` of lesson time has passed, rounded up so that a waiter does not wake too
    /// early and spin. `None` while lesson time stands still.
    #[must_use]
    pub const fn real_for(self, left: i64) -> Option<i64> {
        if left <= 0 {
            return Some(0);
        }
        if self.rate <= 0 {
            return None;
        }
        let whole = (left / self.rate).saturating_mul(PER_MILLE);
        Some(whole.saturating_add((left % self.rate * PER_MILLE + self.rate - 1) / self.rate))
    }
}
