//! `fork`, so that no child outlives its server: Redis saves in a forked child, which would go on writing after SIGKILL
//! of Lockstep.

use crate::{libc::*, moment::Page};
use core::ffi::{c_int, c_ulong};

const PR_SET_PDEATHSIG: c_int = 1;
const SIGKILL: c_ulong = 9;

/// Asks the kernel to kill the child when the thread that forked it ends. Redis forks in its main thread, which ends
/// with the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fork() -> c_int {
    let Some(fork) = FORK.get() else { return missing() };
    // SAFETY: `fork` takes no arguments; the caller is responsible for what it does in the child.
    let (parent, child) = unsafe { (getpid(), fork()) };
    if child == 0 && Page::get().is_some() {
        // SAFETY: these calls take numbers only, and may be made in a child of a process with several threads.
        unsafe {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if getppid() != parent {
                _exit(1);
            }
        }
    }
    child
}
