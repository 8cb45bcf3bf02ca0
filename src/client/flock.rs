//! Files that a client locks with `flock(2)`, in the lab's directory for them.

use std::{
    collections::{HashMap, hash_map::Entry},
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::PathBuf,
    sync::Arc,
    thread,
};

use super::local::ok;
use crate::log::{Flock, Reply};

#[derive(Debug)]
pub(crate) struct Files {
    dir: PathBuf,
    /// Files stay open, as in a program that opens its lock file once.
    open: HashMap<String, Arc<File>>,
}

impl Files {
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self { dir, open: HashMap::new() }
    }

    /// Carries out a call and reports its result. A call that blocks reports when the kernel grants the lock.
    pub(crate) fn carry_out(&mut self, call: Flock, path: &str, done: impl FnOnce(Reply) + Send + 'static) {
        let file = match self.file(path) {
            Ok(file) => file,
            Err(error) => return done(failed(&error)),
        };
        match call {
            Flock::Unlock => done(reply(file.unlock())),
            Flock::Try => done(match file.try_lock() {
                Err(TryLockError::WouldBlock) => {
                    let text = "somebody else has locked the file".to_owned();
                    Reply::Error { code: "EWOULDBLOCK".to_owned(), text }
                }
                Err(TryLockError::Error(error)) => failed(&error),
                Ok(()) => ok(),
            }),
            // A thread of its own, which ends with the process: at its end the runtime would wait for a
            // thread of its own pool.
            Flock::Lock => {
                thread::spawn(move || done(reply(file.lock())));
            }
        }
    }

    fn file(&mut self, path: &str) -> io::Result<Arc<File>> {
        match self.open.entry(path.to_owned()) {
            Entry::Occupied(known) => Ok(Arc::clone(known.get())),
            Entry::Vacant(new) => {
                let place = self.dir.join(path);
                place.parent().map_or(Ok(()), fs::create_dir_all)?;
                let file = OpenOptions::new().create(true).append(true).open(place)?;
                Ok(Arc::clone(new.insert(Arc::new(file))))
            }
        }
    }
}

fn reply(outcome: io::Result<()>) -> Reply {
    outcome.map_or_else(|error| failed(&error), |()| ok())
}

fn failed(error: &io::Error) -> Reply {
    Reply::Error { code: "EIO".to_owned(), text: error.to_string() }
}
