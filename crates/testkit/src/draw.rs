//! Choices that a seed decides.

use ostrakon_crypto::Secret;
use ostrakon_crypto::hash::digest;

/// Every choice of a run, from its seed: SplitMix64 (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Draw(pub u64);

impl Draw {
    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0. It is uniform but for `n` parts in 2^64.
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        let n = u64::try_from(n).expect("a usize has at most 64 bits");
        usize::try_from(self.bits() % n).expect("it is below a usize")
    }

    /// True once in `n` times; never if `n` is 0.
    pub fn once_in(&mut self, n: usize) -> bool {
        n > 0 && self.below(n) == 0
    }

    /// 32 bytes for a test.
    pub fn bytes(&mut self) -> [u8; 32] {
        digest("ostrakon/v1/testkit/draw", &self.bits().to_le_bytes()).0
    }

    /// A secret for a test.
    pub fn secret(&mut self) -> Secret {
        Secret::new(self.bytes())
    }
}
