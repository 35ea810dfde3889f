use std::convert::Infallible;

use ostrakon_crypto::Secret;
use ostrakon_kernels::Prg;
use rand_core::{TryCryptoRng, TryRng};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Bytes that are generated at a time.
const BLOCK: usize = 1 << 12;

/// The randomness that a server deals from, a function of a seed: who is shown the seed can
/// recompute whatever was dealt.
pub struct Tape {
    prg: Prg,
    position: u64,
    block: [u8; BLOCK],
    used: usize,
}

impl Tape {
    /// The tape of a seed. One-way: what is drawn tells nothing of the seed.
    pub fn new(seed: &Secret) -> Tape {
        let key = seed.derive("ostrakon/v1/robust/tape", &[]);
        Tape { prg: Prg::new(key.expose()), position: 0, block: [0; BLOCK], used: BLOCK }
    }
}

impl TryRng for Tape {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.try_next_u64()? as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        if self.used == BLOCK {
            self.prg.fill_at(self.position, &mut self.block);
            self.position += BLOCK as u64;
            self.used = 0;
        }
        let (words, _) = self.block[self.used..].as_chunks::<8>();
        self.used += 8;
        Ok(u64::from_le_bytes(words[0]))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        for chunk in out.chunks_mut(8) {
            chunk.copy_from_slice(&self.try_next_u64()?.to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

impl TryCryptoRng for Tape {}

impl Drop for Tape {
    fn drop(&mut self) {
        self.block.zeroize();
    }
}

impl ZeroizeOnDrop for Tape {}
