//! `fork`, so that no child outlives its server: Redis saves in the background in a fork, which would go on writing
//! after SIGKILL of Lockstep. It must not know what the child does.

use crate::{libc::*, moment::Page};
use core::ffi::{c_int, c_ulong};

const PR_SET_PDEATHSIG: c_int = 1;
const SIGKILL: c_ulong = 9;

/// The child is killed when the thread that forked it ends. Redis forks in its first thread, which ends with the
/// process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fork() -> c_int {
    let Some(fork) = FORK.get() else { return missing() };
    // SAFETY: no arguments; what the caller does in the child is its own business.
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
