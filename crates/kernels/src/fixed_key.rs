//! Hashing of 128-bit blocks with AES under one public key.

use aes::Aes128Enc;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};

#[cfg(target_arch = "x86_64")]
use crate::prg::vaes256::PairKey;

/// Blocks that are encrypted together, so that the AES unit is never idle.
const LANES: usize = 16;

/// TMMO(x, τ) = π(π(x) ⊕ τ) ⊕ π(x), where π is AES-128 under a public key: tweakable, circular
/// correlation-robust if π is an ideal permutation (Guo, Katz, Wang, Yu, *Efficient and secure
/// multiparty computation from fixed-key block ciphers*, S&P 2020, section 7.4).
pub struct FixedKeyHash {
    cipher: Aes128Enc,
    #[cfg(target_arch = "x86_64")]
    wide: Option<PairKey>,
}

impl FixedKeyHash {
    /// Expands the public key.
    pub fn new(key: &[u8; 16]) -> Self {
        Self {
            cipher: Aes128Enc::new(key.into()),
            #[cfg(target_arch = "x86_64")]
            wide: PairKey::new(key),
        }
    }

    /// Replaces every block (little-endian) by its hash; `tweak(i)` is that of block `i`, and must
    /// not be used for two blocks that an adversary relates, save those that the protocol's
    /// argument allows.
    pub fn hash(&self, blocks: &mut [u128], tweak: impl Fn(usize) -> u128) {
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = &self.wide {
            let (groups, rest) = blocks.as_chunks_mut::<LANES>();
            let whole = LANES * groups.len();
            for (group, blocks) in groups.iter_mut().enumerate() {
                let tweaks = std::array::from_fn(|i| tweak(group * LANES + i));
                // SAFETY: a `PairKey` exists only if the processor has the instructions.
                unsafe { wide.hash(blocks, &tweaks) };
            }
            return self.hash_portable(rest, |i| tweak(whole + i));
        }
        self.hash_portable(blocks, tweak);
    }

    fn hash_portable(&self, blocks: &mut [u128], tweak: impl Fn(usize) -> u128) {
        for (chunk, blocks) in blocks.chunks_mut(LANES).enumerate() {
            let mut lanes = [Array::from([0; 16]); LANES];
            let lanes = &mut lanes[..blocks.len()];
            for (lane, block) in lanes.iter_mut().zip(&*blocks) {
                *lane = block.to_le_bytes().into();
            }
            self.cipher.encrypt_blocks(lanes);
            for (i, (lane, block)) in lanes.iter_mut().zip(&mut *blocks).enumerate() {
                *block = u128::from_le_bytes((*lane).into());
                *lane = (*block ^ tweak(chunk * LANES + i)).to_le_bytes().into();
            }
            self.cipher.encrypt_blocks(lanes);
            for (lane, block) in lanes.iter().zip(blocks) {
                *block ^= u128::from_le_bytes((*lane).into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_hashed_one_by_one_with_their_tweaks() {
        let cipher = Aes128Enc::new(&[9; 16].into());
        let permute = |x: u128| {
            let mut block = Array::from(x.to_le_bytes());
            cipher.encrypt_block(&mut block);
            u128::from_le_bytes(block.into())
        };
        let tweak = |i: usize| (i as u128) << 100 | 3;
        for len in [0, 1, LANES, 3 * LANES + 5] {
            let inputs: Vec<u128> =
                (0..len as u128).map(|i| i.wrapping_mul(u128::MAX / 7)).collect();
            let mut hashed = inputs.clone();
            FixedKeyHash::new(&[9; 16]).hash(&mut hashed, tweak);
            let mut portable = inputs.clone();
            FixedKeyHash::new(&[9; 16]).hash_portable(&mut portable, tweak);
            assert_eq!(hashed, portable, "{len} blocks");
            for (i, (x, hashed)) in inputs.into_iter().zip(hashed).enumerate() {
                assert_eq!(
                    hashed,
                    permute(permute(x) ^ tweak(i)) ^ permute(x),
                    "block {i} of {len}"
                );
            }
        }
    }

    #[test]
    fn the_permutation_is_aes() {
        // FIPS 197, appendix B, with blocks read as little-endian numbers.
        let key = 0x2b7e151628aed2a6abf7158809cf4f3c_u128.to_be_bytes();
        let input = u128::from_le_bytes(0x3243f6a8885a308d313198a2e0370734_u128.to_be_bytes());
        let output = u128::from_le_bytes(0x3925841d02dc09fbdc118597196a0b32_u128.to_be_bytes());
        let cipher = FixedKeyHash::new(&key);
        // With the tweak π(x) ⊕ x the second permutation is of x again, and the sum vanishes.
        let mut block = [input];
        cipher.hash(&mut block, |_| output ^ input);
        assert_eq!(block, [0]);
    }
}
