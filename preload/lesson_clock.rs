//! The lesson clock inside a server or client process: preloaded before libc, it answers "what time is it?" and
//! "wake me at that time" in lesson time. It must not know why lesson time stops or jumps, it only reads the
//! page, and it changes nothing else about the process, but for two things: its forks end with it, and servers do not wait
//! for the disk.
//!
//! # How it works
//! With `LD_PRELOAD`, the dynamic linker finds the functions listed below before libc's of the same names. Each reads
//! the page named by `LESSON_CLOCK` (see `page.rs`), which Lockstep rewrites when the lesson is paused, sped up
//! or moved on. Without that variable, or if the page cannot be mapped, every call goes to libc unchanged.
//!
//! Two kinds of functions must be answered, or a process sees two times at once:
//! - those that **read** a clock;
//! - those that **wait** for a time. The kernel waits in real time, so a wait is cut into naps, and after each
//!   the page is read again. That is how a wait notices that the lesson was paused, went on or jumped.
//!
//! CPU-time clocks are left alone, for they measure work, not time.
//!
//! # Why these functions
//! | file | function | who needs it |
//! |---|---|---|
//! | `reading.rs` | `clock_gettime`, `gettimeofday`, `time` | everyone |
//! | `conditions.rs` | `pthread_cond_timedwait` | OpenJDK: every park, sleep and timed wait |
//! | `conditions.rs` | `pthread_cond_clockwait` | C++ programs: what `std::condition_variable` has become |
//! | `files.rs` | `epoll_wait`, `epoll_pwait`, `poll` | event loops: redis-server, the JVM's selectors and sockets, tokio |
//! | `files.rs` | `select`, `pselect`, `ppoll` | CPython: its selectors, before 3.11 also `time.sleep` |
//! | `files.rs` | `timerfd_settime` | async-io, below zookeeper-client |
//! | `semaphores.rs` | `sem_timedwait`, `sem_clockwait` | CPython: each timed wait of a thread; OpenJDK |
//! | `sleeping.rs` | `clock_nanosleep`, `nanosleep`, `sleep`, `usleep` | `DEBUG SLEEP`, `std::thread::sleep` |
//! | `sleeping.rs` | `syscall` | Rust's `std`: `park_timeout` and `wait_timeout` are futex calls with a deadline |
//! | `forking.rs` | `fork` | redis-server, which saves in a fork |
//! | `syncing.rs` | `fsync` | redis-server and the JVM: who votes notes it on the disk before it answers |
//! | `syncing.rs` | `fdatasync` | redis-server: what a loss of power would leave of its append-only file |
//! | `status.rs` | none of its own | programs that users bring: it is told what each of their threads waits for |
//! | `vdso.rs` | the vDSO's `clock_gettime` | Go: etcd. Its waits are the kernel's, and it looks at the clock after each |
//! | none | `setitimer`, `alarm`, `timer_settime` | redis-server's watchdog (off), OpenJDK's profiler (processor time) |
//!
//! The last ones are left alone. A timer sends its signal at a moment that the kernel must be told beforehand, in
//! real time. To follow pauses and jumps it would have to go off early, and be set again: an early signal ends other
//! system calls with `EINTR` and runs a handler that need not look at the clock.
//!
//! No deadline may reach the kernel in lesson time: with the lesson ahead of the world it would wait far too
//! long, behind it would not wait at all, and its caller would spin.
//!
//! No `std` here: the library is loaded into processes that are none of ours, so it allocates nothing, starts
//! nothing and takes no lock.
#![no_std]

mod conditions;
mod files;
mod forking;
mod libc;
mod moment;
mod naps;
mod page;
mod reading;
mod semaphores;
mod sleeping;
mod status;
mod syncing;
mod vdso;

/// Nothing here can panic, but the language wants an answer. (A cdylib built with `panic=abort` has no other.)
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
