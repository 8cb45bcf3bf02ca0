//! `fdatasync`, so that it is known what of a Redis server's append-only file is on the disk: a machine that loses its
//! power loses the rest. It must not know who asks.

use crate::{libc::*, moment::Page};
use core::ffi::{c_char, c_int, c_void};

const SEEK_CUR: c_int = 1;
const O_WRONLY_CREAT_TRUNC_CLOEXEC: c_int = 0o2_001_101;

/// What the names of files end with that are looked after, and what the name of the note beside such a file has in addition.
const WATCHED: &[u8] = b".aof";
const NOTE: &[u8] = b".synced\0";

/// Room for the path of a file in a lab's directory.
const PATH: usize = 512;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdatasync(fd: c_int) -> c_int {
    let Some(fdatasync) = FDATASYNC.get() else { return missing() };
    // Where the next byte goes: what was written before is on the disk when the call returns.
    // SAFETY: numbers only.
    let length = unsafe { lseek(fd, 0, SEEK_CUR) };
    // SAFETY: the caller's argument, passed on.
    let done = unsafe { fdatasync(fd) };
    if done == 0 && length >= 0 && Page::get().is_some() {
        let errno = errno();
        note(fd, length);
        set_errno(errno);
    }
    done
}

/// Writes beside a file how much of it is on the disk. What cannot be noted counts as lost. Nothing here can panic: there
/// is nobody to unwind.
fn note(fd: c_int, length: i64) {
    let mut link = *b"/proc/self/fd/\0\0\0\0\0\0\0\0\0\0\0";
    let mut rest = fd.unsigned_abs();
    let digits = rest.checked_ilog10().map_or(1, |log| log as usize + 1);
    for digit in link.iter_mut().skip("/proc/self/fd/".len()).take(digits).rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let mut path = [0_u8; PATH];
    let room = PATH - NOTE.len();
    // SAFETY: both arrays are ours, and the first ends with a zero.
    let read = unsafe { readlink(link.as_ptr().cast::<c_char>(), path.as_mut_ptr().cast::<c_char>(), room) };
    let Some(end) = usize::try_from(read).ok().filter(|end| *end < room) else { return };
    if !path.get(..end).is_some_and(|path| path.ends_with(WATCHED)) {
        return;
    }
    for (to, byte) in path.iter_mut().skip(end).zip(NOTE) {
        *to = *byte;
    }
    // SAFETY: a path that ends with a zero, and eight bytes of ours.
    unsafe {
        let note = open(path.as_ptr().cast::<c_char>(), O_WRONLY_CREAT_TRUNC_CLOEXEC, 0o600 as c_int);
        if note >= 0 {
            let bytes = length.to_le_bytes();
            write(note, bytes.as_ptr().cast::<c_void>(), bytes.len());
            close(note);
        }
    }
}
