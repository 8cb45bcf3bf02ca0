//! The machine's limits for this user: raised where possible, and named when something fails because of them.

use std::{error::Error, fs, io, sync::mpsc, thread};

use rustix::{
    io::Errno,
    process::{Resource, Rlimit, getrlimit, setrlimit},
};

use crate::{
    process::error::LabError,
    text::{Text, both},
};

/// A limit that is too low.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceLimit {
    /// Open files of a process: `ulimit -n`.
    OpenFiles,
    /// Processes and threads of a user: `ulimit -u`.
    Processes,
    /// Memory of a process: `ulimit -v`.
    Memory,
}

impl ResourceLimit {
    /// The shell's flag for the limit, and the value that the shell shows.
    fn flag_and_value(self) -> (&'static str, String) {
        let (flag, resource, unit) = match self {
            Self::OpenFiles => ("ulimit -n", Resource::Nofile, 1),
            Self::Processes => ("ulimit -u", Resource::Nproc, 1),
            Self::Memory => ("ulimit -v", Resource::As, 1024),
        };
        let limit = getrlimit(resource).current;
        (flag, limit.map_or_else(|| "unlimited".to_owned(), |limit| (limit / unit).to_string()))
    }

    /// The limit and what to do about it.
    pub fn text(self) -> Text {
        let (flag, value) = self.flag_and_value();
        match self {
            Self::OpenFiles => both!(
                "too few files may be open at once: `{flag}` says {value}. Start Lockstep after `ulimit -n 1024`",
                "打开的文件数上限太低：`{flag}` 是 {value}。请运行 `ulimit -n 1024` 后再启动"
            ),
            Self::Processes => both!(
                "no more processes and threads may be started: `{flag}` says {value}, and a container may have a limit of \
                 its own. Raise it, or end other programs",
                "进程和线程数到了上限：`{flag}` 是 {value}（容器也可能另有限制）。请调高它，或结束别的程序"
            ),
            Self::Memory => both!(
                "no more memory may be taken: `{flag}` says {value} KiB. Start Lockstep after `ulimit -v unlimited`",
                "内存到了上限：`{flag}` 是 {value} KiB。请运行 `ulimit -v unlimited` 后再启动"
            ),
        }
    }
}

/// The files that the smallest lab needs open: pipes, sockets, logs, and the 32 that Redis reserves.
const FEWEST_FILES: u64 = 64;

/// The threads that a small lab needs at once: those of the runtime, one for each process, and one that
/// starts processes.
const THREADS: usize = 12;

/// The memory that a lab needs in addition to its first threads, in MiB. The standard library aborts if a
/// thread that has begun gets none.
const FEWEST_MIB: u64 = 192;

/// The address space that a thread needs: its stack of 2 MiB, and what the C library takes in addition.
const THREAD_BYTES: u64 = 8 << 20;

/// Returns an error with the limit that caused it, if there is one.
pub(crate) fn named(error: LabError) -> LabError {
    match behind(&error) {
        Some(limit) => LabError::Limit { what: error.text(), limit },
        None => error,
    }
}

fn behind(error: &LabError) -> Option<ResourceLimit> {
    if let LabError::Boot { log, .. } | LabError::Silent { log, .. } = error {
        return in_words(log);
    }
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(limit) = error.downcast_ref::<io::Error>().and_then(of_io) {
            return Some(limit);
        }
        cause = error.source();
    }
    None
}

fn of_io(error: &io::Error) -> Option<ResourceLimit> {
    match Errno::from_io_error(error)? {
        Errno::MFILE | Errno::NFILE => Some(ResourceLimit::OpenFiles),
        // The C library returns the same error if there is no memory for the stack of a thread.
        Errno::AGAIN if memory_left().is_some_and(|left| left < THREAD_BYTES) => Some(ResourceLimit::Memory),
        Errno::AGAIN => Some(ResourceLimit::Processes),
        Errno::NOMEM => Some(ResourceLimit::Memory),
        _ => None,
    }
}

/// The number of bytes that this process may still allocate, or `None` if there is no limit.
fn memory_left() -> Option<u64> {
    let limit = getrlimit(Resource::As).current?;
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let used = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?.trim().strip_suffix(" kB")?;
    Some(limit.saturating_sub(used.parse::<u64>().ok()? * 1024))
}

/// Finds a limit in the log of a server, in the words of Redis, the C library or the JVM.
fn in_words(log: &str) -> Option<ResourceLimit> {
    const WORDS: [(&str, ResourceLimit); 11] = [
        ("Too many open files", ResourceLimit::OpenFiles),
        ("open file limit", ResourceLimit::OpenFiles),
        ("Resource temporarily unavailable", ResourceLimit::Processes),
        ("unable to create native thread", ResourceLimit::Processes),
        ("pthread_create failed (EAGAIN)", ResourceLimit::Processes),
        ("Cannot allocate memory", ResourceLimit::Memory),
        ("Could not reserve enough space", ResourceLimit::Memory),
        ("Could not allocate", ResourceLimit::Memory),
        ("Failed to reserve", ResourceLimit::Memory),
        ("insufficient memory", ResourceLimit::Memory),
        ("Out Of Memory", ResourceLimit::Memory),
    ];
    let found = WORDS.iter().find(|(words, _)| log.contains(words));
    found.map(|(_, limit)| *limit)
}

/// Raises this process's limit of open files as far as possible: a crowd of 900 over a link takes 1,800, and
/// shells give 1,024. Children inherit the limit. Fails at once if it stays too low for any lab: a server
/// that cannot be connected to looks like one that does not answer.
pub(crate) fn allow_many_files() -> Result<(), LabError> {
    let limit = getrlimit(Resource::Nofile);
    // Some systems do not accept an unlimited number; nobody needs more than this.
    let wanted = limit.maximum.map_or(65_536, |maximum| maximum.min(65_536));
    if limit.current.is_some_and(|current| current < wanted) {
        // If this fails, small labs still work.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum });
    }
    match getrlimit(Resource::Nofile).current {
        Some(current) if current < FEWEST_FILES => Err(LabError::Limit {
            what: both!(
                "a lab needs {FEWEST_FILES} open files and more",
                "一个实验环境至少要打开 {FEWEST_FILES} 个文件"
            ),
            limit: ResourceLimit::OpenFiles,
        }),
        _ => Ok(()),
    }
}

/// Checks that the threads of a small lab can be started, by starting as many: some libraries panic if they
/// cannot be.
pub fn room_for_threads() -> Result<(), LabError> {
    let mut waiting = Vec::new();
    for _ in 0..THREADS {
        room_for_memory()?;
        let (sender, receiver) = mpsc::channel::<()>();
        // Each waits until its sender is dropped, so all of them exist at once.
        let started = thread::Builder::new().spawn(move || receiver.recv());
        let failed = |source| named(LabError::Spawn { program: "a thread".to_owned(), source });
        waiting.push((sender, started.map_err(failed)?));
    }
    room_for_memory()?;
    for (sender, thread) in waiting {
        drop(sender);
        let _ = thread.join();
    }
    Ok(())
}

fn room_for_memory() -> Result<(), LabError> {
    match memory_left() {
        Some(left) if left < FEWEST_MIB << 20 => Err(LabError::Limit {
            what: both!(
                "a lab needs {FEWEST_MIB} MiB of memory more",
                "一个实验环境至少还要 {FEWEST_MIB} MiB 内存"
            ),
            limit: ResourceLimit::Memory,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_found_behind_an_error_and_named() {
        for (errno, flag) in
            [(Errno::MFILE, "ulimit -n"), (Errno::AGAIN, "ulimit -u"), (Errno::NOMEM, "ulimit -v")]
        {
            let error = named(LabError::Link { link: "A->redis".to_owned(), source: errno.into() });
            assert!(matches!(error, LabError::Limit { .. }), "{error}");
            let Text { en, zh } = error.text();
            for text in [en, zh] {
                assert!(text.contains(flag) && text.contains("A->redis"), "{text}");
            }
        }
        let other = named(LabError::Link { link: "A->redis".to_owned(), source: Errno::ACCESS.into() });
        assert!(matches!(other, LabError::Link { .. }), "{other}");
    }
}
