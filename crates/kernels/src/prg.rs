//! AES-128 in counter mode as a seekable pseudo-random generator.

use aes::Aes128;
use aes::cipher::{InnerIvInit, KeyInit, StreamCipher, StreamCipherCoreWrapper, StreamCipherSeek};
use ctr::{CtrCore, flavors};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::threads::for_each_chunk;

/// Bytes per task.
const CHUNK: usize = 1 << 18;
const BLOCK: usize = 16;

/// The stream AES-128-CTR (NIST SP 800-38A, 128-bit big-endian counter) under a 32-byte key: its first half is the AES
/// key, its second half the initial counter block. Any AES-CTR implementation reproduces it.
///
/// The byte at position `p` is a fixed function of the key and `p`, so parts of the stream may be produced in any order
/// and on any thread. The stream is indistinguishable from random up to the birthday bound of 128-bit blocks: the
/// advantage after 2^36 bytes (64 GiB) under one key is below 2^-64.
///
/// The round keys are wiped on drop. There is deliberately neither `Clone` nor `Debug`.
pub struct Prg {
    cipher: Aes128,
    counter: [u8; BLOCK],
}

impl Prg {
    /// Expands the key schedule.
    pub fn new(key: &[u8; 32]) -> Prg {
        let (aes_key, counter) = key.split_at(BLOCK);
        let mut prg = Prg { cipher: Aes128::new(aes_key.try_into().expect("16 bytes")), counter: [0; BLOCK] };
        prg.counter.copy_from_slice(counter);
        prg
    }

    /// Writes the stream from its beginning.
    pub fn fill(&self, dst: &mut [u8]) {
        self.fill_at(0, dst);
    }

    /// Writes the stream's bytes `byte_offset..byte_offset + dst.len()`; large buffers are split over threads.
    ///
    /// # Panics
    /// If the end lies beyond position 2^64.
    pub fn fill_at(&self, byte_offset: u64, dst: &mut [u8]) {
        for_each_chunk(dst, CHUNK, |i, chunk| self.fill_serial(byte_offset + (i * CHUNK) as u64, chunk));
    }

    /// XORs the stream's bytes `byte_offset..byte_offset + dst.len()` into `dst`, without a second buffer.
    ///
    /// # Panics
    /// If the end lies beyond position 2^64.
    pub fn xor_at(&self, byte_offset: u64, dst: &mut [u8]) {
        for_each_chunk(dst, CHUNK, |i, chunk| {
            self.stream_at(byte_offset + (i * CHUNK) as u64).apply_keystream(chunk);
        });
    }

    /// [`Prg::fill_at`] on the calling thread.
    pub(crate) fn fill_serial(&self, byte_offset: u64, dst: &mut [u8]) {
        self.stream_at(byte_offset).write_keystream(dst);
    }

    fn stream_at(&self, byte_offset: u64) -> StreamCipherCoreWrapper<CtrCore<&Aes128, flavors::Ctr128BE>> {
        let core = CtrCore::inner_iv_init(&self.cipher, &self.counter.into());
        let mut stream = StreamCipherCoreWrapper::from_core(core);
        stream.seek(byte_offset);
        stream
    }
}

impl Drop for Prg {
    fn drop(&mut self) {
        self.counter.zeroize();
    }
}

// The cipher wipes its own round keys.
impl ZeroizeOnDrop for Prg {}

/// Writes AES-128-CTR under `seed` from counter 0: for outputs so short that the key schedule counts.
pub fn short_prg(seed: &[u8; 16], dst: &mut [u8]) {
    short_stream(seed).write_keystream(dst);
}

/// Row `i` of `dst` becomes (or, with `xor`, is XORed with) [`short_prg`] of seed `i`.
///
/// `seeds` holds `n` seeds of 16 bytes, `dst` `n` rows of `width` bytes.
///
/// # Panics
/// If the lengths do not fit together.
pub fn short_prg_rows(seeds: &[u8], width: usize, dst: &mut [u8], xor: bool) {
    let (seeds, rest) = seeds.as_chunks::<BLOCK>();
    assert!(rest.is_empty(), "seeds are 16 bytes each");
    assert_eq!(seeds.len() * width, dst.len(), "one row of {width} bytes per seed");
    if width == 0 {
        return;
    }
    let rows_per_chunk = CHUNK.div_ceil(width * 8);
    for_each_chunk(dst, rows_per_chunk * width, |i, chunk| {
        for (row, seed) in chunk.chunks_exact_mut(width).zip(&seeds[i * rows_per_chunk..]) {
            let mut stream = short_stream(seed);
            if xor {
                stream.apply_keystream(row);
            } else {
                stream.write_keystream(row);
            }
        }
    });
}

fn short_stream(seed: &[u8; BLOCK]) -> StreamCipherCoreWrapper<CtrCore<Aes128, flavors::Ctr128BE>> {
    let core = CtrCore::inner_iv_init(Aes128::new(seed.into()), &[0; BLOCK].into());
    StreamCipherCoreWrapper::from_core(core)
}

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
    /// FIPS 197, C.1 is AES-128 of one block; the key stream of a zero counter is AES of zero: the first block of
    /// the GCM specification's test case 1.
    const ZERO_BLOCK: u128 = 0x66e94bd4ef8a2c3b884cfa59ca342b2e;

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
        let mut short = [1; 16];
        short_prg(&[0; 16], &mut short);
        assert_eq!(short, ZERO_BLOCK.to_be_bytes());
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
        fn any_piece_is_part_of_the_whole(start in 0usize..600, len in 0usize..600) {
            let mut whole = vec![0; 1200];
            nist().fill(&mut whole);
            let mut piece = vec![1; len];
            nist().fill_at(start as u64, &mut piece);
            prop_assert_eq!(&piece[..], &whole[start..start + len]);
            nist().xor_at(start as u64, &mut piece);
            prop_assert!(piece.iter().all(|&byte| byte == 0));
        }

        #[test]
        fn rows_are_short_streams(n in 0usize..70, width in 0usize..70, xor: bool) {
            let mut seeds = vec![0; n * 16];
            nist().fill(&mut seeds);
            let mut rows = vec![0x55; n * width];
            short_prg_rows(&seeds, width, &mut rows, xor);
            for i in 0..n {
                let mut expected = vec![0; width];
                short_prg(seeds[i * 16..][..16].try_into().unwrap(), &mut expected);
                if xor {
                    expected.iter_mut().for_each(|byte| *byte ^= 0x55);
                }
                prop_assert_eq!(&rows[i * width..][..width], &expected[..]);
            }
        }
    }
}
