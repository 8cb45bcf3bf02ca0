//! `fsync` and `fdatasync` that do not wait for the disk: on a fast lesson clock a disk that is busy for half a second
//! makes a Sentinel or a leader silent for some seconds, and nothing of a lab has to survive the machine. How much of a
//! Redis server's append-only file would be on the disk is recorded beside the file instead: a simulated loss of power
//! discards the rest.
//!
//! Programs that users bring do wait for the disk: their files are their own.

use crate::{libc::*, status::is_server};
use core::ffi::{c_char, c_int, c_void};

const SEEK_CUR: c_int = 1;
const O_WRONLY_CREAT_TRUNC_CLOEXEC: c_int = 0o2_001_101;

/// The suffix of the files whose synced length is recorded, and the suffix that is added for the note beside such a
/// file.
const WATCHED: &[u8] = b".aof";
const NOTE: &[u8] = b".synced\0";

/// Room for the path of a file in a lab's directory.
const PATH: usize = 512;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsync(fd: c_int) -> c_int {
    if is_server() {
        return 0;
    }
    // SAFETY: the caller's argument, passed on.
    FSYNC.get().map_or_else(missing, |fsync| unsafe { fsync(fd) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdatasync(fd: c_int) -> c_int {
    if !is_server() {
        // SAFETY: the caller's argument, passed on.
        return FDATASYNC.get().map_or_else(missing, |fdatasync| unsafe { fdatasync(fd) });
    }
    let errno = errno();
    // The file's offset: everything written before it counts as being on the disk.
    // SAFETY: numbers only.
    let length = unsafe { lseek(fd, 0, SEEK_CUR) };
    if length >= 0 {
        note(fd, length);
    }
    set_errno(errno);
    0
}

/// Writes beside a file how much of it would be on the disk. Without a note the file counts as lost. Nothing here can
/// panic: nothing could unwind.
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
    // SAFETY: the path ends with a zero, and the eight bytes are ours.
    unsafe {
        let note = open(path.as_ptr().cast::<c_char>(), O_WRONLY_CREAT_TRUNC_CLOEXEC, 0o600 as c_int);
        if note >= 0 {
            let bytes = length.to_le_bytes();
            write(note, bytes.as_ptr().cast::<c_void>(), bytes.len());
            close(note);
        }
    }
}
