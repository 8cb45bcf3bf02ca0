//! The lesson clock inside a server or client process: preloaded before libc, it answers "what time is it?" and "wake
//! me at that time" in lesson time. It only reads the page and does not know why lesson time stops or jumps. It changes
//! two more things about the process: its forked children end with it, and servers do not wait for the disk. Threads of
//! programs that users bring sleep while lesson time stands still, and Lockstep wakes them with SIGURG: the library
//! handles that signal unless the program does.
//!
//! # How it works
//! With `LD_PRELOAD`, the dynamic linker finds the functions listed below before libc's of the same names. Each reads
//! the page named by `LESSON_CLOCK` (see `page.rs`), which Lockstep rewrites when the lesson is paused, sped up
//! or moved on. Without that variable, or if the page cannot be mapped, every call goes to libc unchanged.
//!
//! Two kinds of functions must be answered, or a process sees two times at once:
//! - those that **read** a clock;
//! - those that **wait** for a time. The kernel waits in real time, so a wait is cut into naps, and after each nap the
//!   page is read again. That is how a wait notices that the lesson was paused, resumed or jumped.
//!
//! CPU-time clocks are left alone, since they measure work.
//!
//! # Why these functions
//! | file | function | who needs it |
//! |---|---|---|
//! | `reading.rs` | `clock_gettime`, `gettimeofday`, `time`, `timespec_get` | everyone |
//! | `conditions.rs` | `pthread_cond_timedwait` | OpenJDK: every park, sleep and timed wait |
//! | `conditions.rs` | `pthread_cond_clockwait` | C++ programs: what `std::condition_variable` calls today; MariaDB's thread pool |
//! | `conditions.rs`, `locking.rs` | `cnd_timedwait`, and all that wait for a lock or a thread | programs that users bring |
//! | `queues.rs` | `sigtimedwait`, `semtimedop`, `mq_timedreceive` and others | programs that users bring |
//! | `files.rs` | `epoll_wait`, `epoll_pwait`, `epoll_pwait2`, `poll` | event loops: redis-server, JVM selectors and sockets, tokio |
//! | `files.rs` | `select`, `pselect`, `ppoll` | CPython: its selectors, before 3.11 also `time.sleep` |
//! | `files.rs` | `timerfd_settime` | async-io, below zookeeper-client |
//! | `semaphores.rs` | `sem_timedwait`, `sem_clockwait` | CPython: each timed wait of a thread; OpenJDK |
//! | `sleeping.rs` | `clock_nanosleep`, `nanosleep`, `sleep`, `thrd_sleep`, `usleep` | `DEBUG SLEEP`, `std::thread::sleep` |
//! | `sleeping.rs` | `syscall` | Rust's `std`: `park_timeout` and `wait_timeout` are futex calls with a deadline, those of the crate `parking_lot` with a length |
//! | `forking.rs` | `fork` | redis-server, which saves in a forked child |
//! | `syncing.rs` | `fsync` | redis-server and the JVM: a voter stores its vote on disk before it answers |
//! | `syncing.rs` | `fdatasync` | redis-server: what a loss of power would leave of its append-only file |
//! | `status.rs` | none of its own | programs that users bring: it publishes what each of their threads waits for, and handles the signal that wakes them |
//! | `vdso.rs` | the vDSO's `clock_gettime` | Go: etcd, and programs that users bring. It waits by system calls, and reads the clock after each |
//! | none | `setitimer`, `alarm`, `timer_settime` | redis-server's watchdog (off), OpenJDK's profiler (CPU time) |
//!
//! The functions of the last row are left alone. A timer sends its signal at a moment that the kernel must know
//! beforehand, in real time. To follow pauses and jumps the timer would have to expire early and be set again, and an
//! early signal interrupts other system calls with `EINTR` and runs a handler that need not read the clock.
//!
//! No deadline may reach the kernel in lesson time: with lesson time ahead of real time the kernel would wait far too
//! long, and with lesson time behind it the kernel would not wait at all and the caller would spin.
//!
//! No `std` here: the library is loaded into processes that Lockstep did not write, so it allocates nothing, starts
//! nothing and takes no lock.
#![no_std]

mod conditions;
mod files;
mod forking;
#[cfg(target_arch = "x86_64")]
mod go_note;
mod libc;
mod locking;
mod moment;
mod naps;
mod page;
mod queues;
mod reading;
mod semaphores;
mod sleeping;
mod status;
mod syncing;
mod vdso;

/// Nothing here can panic, but Rust requires a handler. (A cdylib built with `panic=abort` has no other.)
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
