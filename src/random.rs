//! Pseudorandom numbers from a seed, so that whatever they decide can be repeated.

/// A pseudorandom generator: `SplitMix64` (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
#[derive(Debug, Clone)]
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number from 0 to just below `bound`. The bias of the remainder is negligible here.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.draw() % (bound.max(1) as u64)).unwrap_or(0)
    }

    /// The Fisher–Yates shuffle.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for n in (1..items.len()).rev() {
            items.swap(n, self.below(n + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    #[test]
    fn the_numbers_are_those_of_the_reference_implementation() {
        let mut random = SplitMix64::new(1_234_567);
        let drawn = [random.draw(), random.draw(), random.draw()];
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }
}
