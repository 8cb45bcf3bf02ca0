//! How much memory a search takes.

use std::time::{Duration, Instant};

use crate::lab::own_memory;

/// Measures how much memory a search takes: the growth of this process's memory, or the size of the data that
/// is known to be kept if that is more or the system does not report the former.
pub(crate) struct Memory {
    /// The most bytes that the search may take.
    most: usize,
    before: Option<u64>,
    /// When memory was measured last, and how much it had grown.
    looked: Instant,
    grown: usize,
}

impl Memory {
    /// The growth of any process, for code that it has not run before and what its allocator keeps in
    /// reserve.
    const SLACK: usize = 32 << 20;
    const LOOK_EVERY: Duration = Duration::from_millis(20);

    pub(crate) fn new(most: usize) -> Self {
        Self { most, before: own_memory(), looked: Instant::now(), grown: 0 }
    }

    fn look(&mut self) {
        self.looked = Instant::now();
        let grown = own_memory().zip(self.before).map(|(now, before)| now.saturating_sub(before));
        self.grown = usize::try_from(grown.unwrap_or(0)).unwrap_or(usize::MAX);
    }

    /// The bytes that the search takes, if `kept` bytes are known to be kept and counting will take
    /// `counting` bytes.
    pub(crate) fn taken(&mut self, kept: usize, counting: usize) -> usize {
        self.look();
        self.grown.saturating_sub(Self::SLACK).max(kept) + counting
    }

    pub(crate) fn is_full(&mut self, kept: usize, counting: usize) -> bool {
        self.looked.elapsed() > Self::LOOK_EVERY && self.taken(kept, counting) > self.most
    }
}

#[cfg(test)]
mod tests {
    use super::Memory;

    #[test]
    fn resident_memory_counts_even_if_not_known_to_be_kept() {
        const HELD: usize = 3 * Memory::SLACK;
        let mut memory = Memory::new(usize::MAX);
        // Elsewhere than on Linux, only the data that is known to be kept counts.
        if memory.before.is_none() {
            return;
        }
        assert_eq!(memory.taken(1, 2), 3);
        let held = std::hint::black_box(vec![1_u8; HELD]);
        assert!(memory.taken(1, 2) > HELD / 2, "{}", memory.taken(1, 2));
        drop(held);
    }
}
