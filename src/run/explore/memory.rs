//! How much memory a search takes.

use std::time::{Duration, Instant};

use crate::lab::own_memory;

/// How much memory a search takes: what this process has in memory more than at first, or what is known to be kept where that is
/// more, or the system does not tell.
pub(crate) struct Memory {
    before: Option<u64>,
    /// When it was looked at last, and how much more it was.
    looked: Instant,
    grown: usize,
}

impl Memory {
    /// The most that a search may take.
    pub(crate) const MOST: usize = 1 << 30;
    /// What a process takes more in any case, for code that it has not run before and what its allocator keeps at hand.
    const SLACK: usize = 32 << 20;
    const LOOK_EVERY: Duration = Duration::from_millis(20);

    pub(crate) fn new() -> Self {
        Self { before: own_memory(), looked: Instant::now(), grown: 0 }
    }

    fn look(&mut self) {
        self.looked = Instant::now();
        let grown = own_memory().zip(self.before).map(|(now, before)| now.saturating_sub(before));
        self.grown = usize::try_from(grown.unwrap_or(0)).unwrap_or(usize::MAX);
    }

    /// In bytes, where so much is known to be kept, and counting will take so much.
    pub(crate) fn taken(&mut self, kept: usize, counting: usize) -> usize {
        self.look();
        self.grown.saturating_sub(Self::SLACK).max(kept) + counting
    }

    pub(crate) fn is_full(&mut self, kept: usize, counting: usize) -> bool {
        self.looked.elapsed() > Self::LOOK_EVERY && self.taken(kept, counting) > Self::MOST
    }
}

#[cfg(test)]
mod tests {
    use super::Memory;

    #[test]
    fn what_is_in_memory_counts_although_nobody_knows_that_it_is_kept() {
        const HELD: usize = 3 * Memory::SLACK;
        let mut memory = Memory::new();
        // Elsewhere than on Linux it is what is known to be kept.
        if memory.before.is_none() {
            return;
        }
        assert_eq!(memory.taken(1, 2), 3);
        let held = std::hint::black_box(vec![1_u8; HELD]);
        assert!(memory.taken(1, 2) > HELD / 2, "{}", memory.taken(1, 2));
        drop(held);
    }
}
