//! Mutexes inside one client process: locks that other processes cannot see. They are handed over strictly in
//! the order of requests, so that a run can be repeated.

use std::collections::{HashMap, VecDeque};

use crate::log::{ActorId, OpId, Reply};

#[derive(Debug, Default)]
pub(crate) struct LocalLocks(HashMap<String, LocalLock>);

#[derive(Debug, Default)]
struct LocalLock {
    holder: Option<ActorId>,
    queue: VecDeque<(ActorId, OpId)>,
}

impl LocalLocks {
    /// Requests a mutex. Returns whether it is granted at once; if not, the operation waits for the holder.
    pub(crate) fn lock(&mut self, name: &str, actor: ActorId, op: OpId) -> bool {
        let lock = self.0.entry(name.to_owned()).or_default();
        let free = lock.holder.is_none();
        if free {
            lock.holder = Some(actor);
        } else {
            lock.queue.push_back((actor, op));
        }
        free
    }

    /// Releases a mutex. Also returns the operation that waited longest for it and now holds it.
    pub(crate) fn unlock(&mut self, name: &str, actor: ActorId) -> (Reply, Option<OpId>) {
        let lock = self.0.entry(name.to_owned()).or_default();
        if lock.holder != Some(actor) {
            let text = format!("this thread does not hold the local lock `{name}`");
            return (Reply::Error { code: "NotHeld".to_owned(), text }, None);
        }
        let next = lock.queue.pop_front();
        lock.holder = next.map(|(actor, _)| actor);
        (ok(), next.map(|(_, op)| op))
    }
}

pub(crate) fn ok() -> Reply {
    Reply::Value("OK".into())
}

#[cfg(test)]
mod tests {
    use super::{LocalLocks, ok};
    use crate::log::{ActorId, OpId};

    #[test]
    fn a_mutex_goes_to_the_first_in_line() {
        let mut locks = LocalLocks::default();
        assert!(locks.lock("m", ActorId(0), OpId(1)));
        assert!(!locks.lock("m", ActorId(1), OpId(2)));
        assert!(!locks.lock("m", ActorId(2), OpId(3)));
        assert_eq!(locks.unlock("m", ActorId(0)), (ok(), Some(OpId(2))));
        assert!(!locks.unlock("m", ActorId(2)).0.is_value(), "it does not hold it yet");
        assert_eq!(locks.unlock("m", ActorId(1)), (ok(), Some(OpId(3))));
        assert_eq!(locks.unlock("m", ActorId(2)), (ok(), None));
        assert!(locks.lock("m", ActorId(0), OpId(4)));
    }
}
