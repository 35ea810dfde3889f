//! AES-128 in counter mode as a seekable pseudo-random generator.

#[cfg(target_arch = "x86_64")]
mod aesni;
mod short;
#[cfg(target_arch = "x86_64")]
mod vaes;
#[cfg(target_arch = "x86_64")]
pub(crate) mod vaes256;
#[cfg(target_arch = "x86_64")]
mod vaes_short;

use aes::Aes128;
use aes::cipher::{InnerIvInit, KeyInit, StreamCipher, StreamCipherCoreWrapper, StreamCipherSeek};
use ctr::{CtrCore, flavors};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::threads::for_each_chunk;

pub use short::{short_prg, short_prg_rows};

/// Bytes per task.
const CHUNK: usize = 1 << 18;
/// Bytes that are copied and then XORed while they are in the first-level cache.
const TILE: usize = 1 << 13;
const BLOCK: usize = 16;

/// The stream AES-128-CTR (NIST SP 800-38A, 128-bit big-endian counter) under a 32-byte key: its
/// first half is the AES key, its second half the initial counter block. Any AES-CTR implementation
/// reproduces it.
///
/// The byte at position `p` is a fixed function of the key and `p`, so parts of the stream may be
/// produced in any order and on any thread. The stream is indistinguishable from random up to the
/// birthday bound of 128-bit blocks: the advantage after 2^36 bytes (64 GiB) under one key is below
/// 2^-64.
///
/// The round keys are wiped on drop. There is deliberately neither `Clone` nor `Debug`.
pub struct Prg {
    cipher: Aes128,
    #[cfg(target_arch = "x86_64")]
    wide: Option<Wide>,
    counter: u128,
}

/// A key schedule for the widest registers that the processor has.
#[cfg(target_arch = "x86_64")]
enum Wide {
    Four(vaes::WideKey),
    Two(vaes256::PairKey),
}

#[cfg(target_arch = "x86_64")]
impl Wide {
    fn new(key: &[u8; BLOCK]) -> Option<Wide> {
        let four = vaes::WideKey::new(key).map(Wide::Four);
        four.or_else(|| vaes256::PairKey::new(key).map(Wide::Two))
    }

    /// As `WideKey::apply`.
    fn apply(&self, counter: u128, skip: usize, dst: &mut [u8], what: Use) -> bool {
        match self {
            Wide::Four(key) => key.apply(counter, skip, dst, what),
            Wide::Two(key) => key.apply(counter, skip, dst, what),
        }
    }
}

/// What becomes of the stream's bytes.
#[derive(Clone, Copy)]
enum Use {
    Write,
    Xor,
}

impl Prg {
    /// Expands the key schedule.
    pub fn new(key: &[u8; 32]) -> Prg {
        let ([aes_key, counter], _) = key.as_chunks::<BLOCK>() else {
            unreachable!("32 bytes are two blocks")
        };
        Prg {
            cipher: Aes128::new(aes_key.into()),
            #[cfg(target_arch = "x86_64")]
            wide: Wide::new(aes_key),
            counter: u128::from_be_bytes(*counter),
        }
    }

    /// Writes the stream from its beginning.
    pub fn fill(&self, dst: &mut [u8]) {
        self.fill_at(0, dst);
    }

    /// Writes the stream's bytes `byte_offset..byte_offset + dst.len()`; large buffers are split
    /// over threads.
    ///
    /// # Panics
    /// If the end lies beyond position 2^64.
    pub fn fill_at(&self, byte_offset: u64, dst: &mut [u8]) {
        self.split(byte_offset, dst, Use::Write);
    }

    /// XORs the stream's bytes `byte_offset..byte_offset + dst.len()` into `dst`, without a second
    /// buffer.
    ///
    /// # Panics
    /// If the end lies beyond position 2^64.
    pub fn xor_at(&self, byte_offset: u64, dst: &mut [u8]) {
        self.split(byte_offset, dst, Use::Xor);
    }

    /// Writes `src` XORed with the stream from `byte_offset` on into `dst`, in one pass over
    /// memory.
    ///
    /// # Panics
    /// If the lengths differ, or the end lies beyond position 2^64.
    pub fn xor_from(&self, byte_offset: u64, src: &[u8], dst: &mut [u8]) {
        assert_eq!(src.len(), dst.len(), "source and destination have one length");
        assert!(
            byte_offset.checked_add(dst.len() as u64).is_some(),
            "the stream ends at position 2^64"
        );
        for_each_chunk(dst, CHUNK, |i, chunk| {
            for (t, (dst, src)) in
                chunk.chunks_mut(TILE).zip(src[i * CHUNK..].chunks(TILE)).enumerate()
            {
                dst.copy_from_slice(&src[..dst.len()]);
                self.apply(byte_offset + (i * CHUNK + t * TILE) as u64, dst, Use::Xor);
            }
        });
    }

    /// [`Prg::fill_at`] on the calling thread, for pieces whose end the caller has checked.
    pub(crate) fn fill_serial(&self, byte_offset: u64, dst: &mut [u8]) {
        self.apply(byte_offset, dst, Use::Write);
    }

    fn split(&self, byte_offset: u64, dst: &mut [u8], what: Use) {
        assert!(
            byte_offset.checked_add(dst.len() as u64).is_some(),
            "the stream ends at position 2^64"
        );
        for_each_chunk(dst, CHUNK, |i, chunk| {
            self.apply(byte_offset + (i * CHUNK) as u64, chunk, what)
        });
    }

    fn apply(&self, byte_offset: u64, dst: &mut [u8], what: Use) {
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = &self.wide {
            let counter = self.counter.wrapping_add(u128::from(byte_offset / BLOCK as u64));
            if wide.apply(counter, (byte_offset % BLOCK as u64) as usize, dst, what) {
                return;
            }
        }
        self.apply_portable(byte_offset, dst, what);
    }

    fn apply_portable(&self, byte_offset: u64, dst: &mut [u8], what: Use) {
        let core: CtrCore<_, flavors::Ctr128BE> =
            CtrCore::inner_iv_init(&self.cipher, &self.counter.to_be_bytes().into());
        let mut stream = StreamCipherCoreWrapper::from_core(core);
        stream.seek(byte_offset);
        match what {
            Use::Write => stream.write_keystream(dst),
            Use::Xor => stream.apply_keystream(dst),
        }
    }
}

impl Drop for Prg {
    fn drop(&mut self) {
        self.counter.zeroize();
    }
}

// The ciphers wipe their own round keys.
impl ZeroizeOnDrop for Prg {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// NIST SP 800-38A, F.5.1: the four key-stream blocks of CTR-AES128.
    const NIST_KEY: u128 = 0x2b7e151628aed2a6abf7158809cf4f3c;
    const NIST_COUNTER: u128 = 0xf0f1f2f3f4f5f6f7f8f9fafbfcfdfeff;
    const NIST_BLOCKS: [u128; 4] = [
        0xec8cdf7398607cb0f2d21675ea9ea1e4,
        0x362b7c3c6773516318a077d7fc5073ae,
        0x6a2cc3787889374fbeb4c81b17ba6c44,
        0xe89c399ff0f198c6d40a31db156cabfe,
    ];

    fn nist() -> Prg {
        let mut key = [0; 32];
        key[..16].copy_from_slice(&NIST_KEY.to_be_bytes());
        key[16..].copy_from_slice(&NIST_COUNTER.to_be_bytes());
        Prg::new(&key)
    }

    #[test]
    fn agrees_with_nist() {
        let mut stream = [0xff; 64];
        nist().fill(&mut stream);
        assert_eq!(stream.to_vec(), NIST_BLOCKS.map(u128::to_be_bytes).concat());
    }

    #[test]
    fn large_buffers_are_split_without_loss() {
        let mut whole = vec![0; 3 * CHUNK + 5];
        nist().fill_at(3, &mut whole);
        for (i, piece) in whole.chunks(1000).enumerate() {
            let mut again = piece.to_vec();
            nist().xor_at(3 + 1000 * i as u64, &mut again);
            assert!(again.iter().all(|&byte| byte == 0), "piece {i}");
        }
    }

    #[test]
    fn masking_a_copy_agrees_with_masking_in_place() {
        for len in [0, 7, TILE + 1, 2 * CHUNK + TILE + 5] {
            let mut src = vec![0; len];
            Prg::new(&[8; 32]).fill(&mut src);
            let mut copied = vec![1; len];
            nist().xor_from(9, &src, &mut copied);
            nist().xor_at(9, &mut src);
            assert!(copied == src, "length {len}");
        }
    }

    #[test]
    fn far_positions_carry_into_the_high_counter() {
        // Position 2^40·16 has block counter 2^40; the same block under a counter moved by hand.
        let mut key = [7; 32];
        key[16..].copy_from_slice(&(u128::MAX - 5).to_be_bytes());
        let mut far = [0; 48];
        Prg::new(&key).fill_at(1 << 44, &mut far);
        key[16..].copy_from_slice(&(u128::MAX - 5).wrapping_add(1 << 40).to_be_bytes());
        let mut near = [0; 48];
        Prg::new(&key).fill(&mut near);
        assert_eq!(far, near);
    }

    proptest! {
        #[test]
        fn paths_agree(
            key: [u8; 32],
            offset: u64,
            len in 0usize..1500,
            near_overflow: bool,
            xor: bool,
        ) {
            let mut prg = Prg::new(&key);
            if near_overflow {
                // The low half of the counter overflows somewhere around this position.
                let before = u128::from(offset / 16 + offset % 97);
                prg.counter = (prg.counter | u128::from(u64::MAX)).wrapping_sub(before);
            }
            let offset = offset.min(u64::MAX - 1500);
            let what = if xor { Use::Xor } else { Use::Write };
            let (mut chosen, mut portable) = (vec![0x55; len], vec![0x55; len]);
            prg.apply(offset, &mut chosen, what);
            prg.apply_portable(offset, &mut portable, what);
            prop_assert_eq!(&chosen, &portable);
            #[cfg(target_arch = "x86_64")]
            {
                // Where there is AVX-512 it has been chosen; narrower registers agree, too.
                let narrower = vaes256::PairKey::new(key.first_chunk().unwrap());
                if let Some(narrower) = narrower {
                    prg.wide = Some(Wide::Two(narrower));
                    chosen.fill(0x55);
                    prg.apply(offset, &mut chosen, what);
                    prop_assert_eq!(chosen, portable);
                }
            }
        }

        #[test]
        fn any_piece_is_part_of_the_whole(start in 0usize..600, len in 0usize..600) {
            let mut whole = vec![0; 1200];
            nist().fill(&mut whole);
            let mut piece = vec![1; len];
            nist().fill_at(start as u64, &mut piece);
            prop_assert_eq!(&piece[..], &whole[start..start + len]);
            nist().xor_at(start as u64, &mut piece);
            prop_assert!(piece.iter().all(|&byte| byte == 0));
        }
    }
}
