//! The same work on many items, on all processors.

use std::{
    num::NonZero,
    panic,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// Applies `work` to each item, and returns the results in the order of the items. If no thread can be
/// started, the calling thread does everything.
pub fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(n) else { break done };
            done.push((n, work(item)));
        }
    };
    let others = thread::available_parallelism().map_or(1, NonZero::get).min(items.len()).saturating_sub(1);
    let mut done = thread::scope(|scope| {
        let start = |_| thread::Builder::new().spawn_scoped(scope, worker).ok();
        let others: Vec<_> = (0..others).map_while(start).collect();
        let mut done = worker();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked)));
        }
        done
    });
    done.sort_unstable_by_key(|(n, _)| *n);
    done.into_iter().map(|(_, made)| made).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_worked_on_once_and_in_its_place() {
        let items: Vec<usize> = (0..1000).collect();
        let calls = AtomicUsize::new(0);
        let made = map(&items, |n| {
            calls.fetch_add(1, Ordering::Relaxed);
            n * 2
        });
        assert!(made.iter().zip(&items).all(|(made, n)| *made == n * 2));
        assert_eq!((made.len(), calls.into_inner()), (1000, 1000));
        assert!(map(&[], |(): &()| ()).is_empty());
    }
}
