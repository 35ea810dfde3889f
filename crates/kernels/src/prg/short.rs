//! Many streams of a few blocks each, where the key schedule is most of the work.

use aes::Aes128Enc;
use aes::cipher::{InnerIvInit, KeyInit, StreamCipher, StreamCipherCoreWrapper};
use ctr::{CtrCore, flavors};

use super::BLOCK;
#[cfg(target_arch = "x86_64")]
use super::{aesni, vaes, vaes_short};
use crate::threads::for_each_chunk;

/// Rows per task.
const CHUNK_ROWS: usize = 1 << 12;

/// Writes AES-128-CTR under `seed` from counter 0: for outputs so short that the key schedule
/// counts.
///
/// A seed must serve one purpose only; it has no room for a domain.
pub fn short_prg(seed: &[u8; 16], dst: &mut [u8]) {
    stream(seed).write_keystream(dst);
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
    for_each_chunk(dst, CHUNK_ROWS * width, |i, rows| {
        let first = i * CHUNK_ROWS;
        let seeds = &seeds[first..first + rows.len() / width];
        let done = many_at_a_time(seeds, width, rows, xor);
        one_by_one(&seeds[done..], width, &mut rows[done * width..], xor);
    });
}

/// Does as many rows as the processor's instructions take together, and says how many.
fn many_at_a_time(seeds: &[[u8; BLOCK]], width: usize, rows: &mut [u8], xor: bool) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        if vaes::available() {
            // SAFETY: the processor has the instructions.
            return unsafe { vaes_short::short_rows(seeds, width, rows, xor) };
        }
        if aesni::available() {
            // SAFETY: the processor has the instructions.
            return unsafe { aesni::short_rows(seeds, width, rows, xor) };
        }
    }
    let _ = (seeds, width, rows, xor);
    0
}

fn one_by_one(seeds: &[[u8; BLOCK]], width: usize, rows: &mut [u8], xor: bool) {
    for (row, seed) in rows.chunks_exact_mut(width).zip(seeds) {
        if xor {
            stream(seed).apply_keystream(row);
        } else {
            stream(seed).write_keystream(row);
        }
    }
}

fn stream(seed: &[u8; BLOCK]) -> StreamCipherCoreWrapper<CtrCore<Aes128Enc, flavors::Ctr128BE>> {
    let core = CtrCore::inner_iv_init(Aes128Enc::new(seed.into()), &[0; BLOCK].into());
    StreamCipherCoreWrapper::from_core(core)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;
    use proptest::prelude::*;

    #[test]
    fn agrees_with_a_published_block() {
        // AES-128 of zero under the key zero: the hash key of test case 1 in the GCM specification.
        let block = 0x66e94bd4ef8a2c3b884cfa59ca342b2e_u128.to_be_bytes();
        let mut short = [1; 16];
        short_prg(&[0; 16], &mut short);
        assert_eq!(short, block);
        let mut rows = [1; 19 * 16];
        short_prg_rows(&[0; 19 * 16], 16, &mut rows, false);
        assert_eq!(rows.as_chunks().0, [block; 19]);
    }

    fn check(n: usize, width: usize, xor: bool) {
        let mut seeds = vec![0; n * BLOCK];
        Prg::new(&[1; 32]).fill(&mut seeds);
        let mut rows = vec![0x55; n * width];
        let mut expected = rows.clone();
        short_prg_rows(&seeds, width, &mut rows, xor);
        one_by_one(seeds.as_chunks().0, width, &mut expected, xor);
        assert!(rows == expected, "{n} rows of {width} bytes, xor: {xor}");
        #[cfg(target_arch = "x86_64")]
        if aesni::available() {
            let mut rows = vec![0x55; n * width];
            // SAFETY: the processor has the instructions.
            let done = unsafe { aesni::short_rows(seeds.as_chunks().0, width, &mut rows, xor) };
            assert_eq!(done, n / 8 * 8);
            assert!(
                rows[..done * width] == expected[..done * width],
                "by eight: {n} rows of {width} bytes, xor: {xor}"
            );
        }
    }

    proptest! {
        #[test]
        fn rows_are_short_streams(n in 0usize..40, width in 1usize..70, xor: bool) {
            check(n, width, xor);
        }
    }

    #[test]
    fn rows_are_split_without_loss() {
        check(2 * CHUNK_ROWS + 11, 24, true);
        check(2 * CHUNK_ROWS + 11, 32, false);
        // More than 256 blocks: the counter has a second byte.
        check(17, 5000, false);
        short_prg_rows(&[0; 32], 0, &mut [], false);
    }
}
