//! Short streams for processors with AVX-512 and VAES: as `aesni`, with four seeds in each
//! register.

use std::arch::x86_64::*;

use zeroize::Zeroize;

use super::BLOCK;
use super::aesni::{LAST_WORD, ROUND_CONSTANTS, ROUNDS, put};

/// Registers that are expanded together.
const LANES: usize = 4;
/// Seeds per register.
const SEEDS: usize = 4;

/// Round keys by round, then by register.
type RoundKeys = [[__m512i; LANES]; ROUNDS + 1];

/// Writes (or XORs) the short streams of the first `n` seeds, where `n`, the result, is the largest
/// multiple of 16.
#[target_feature(enable = "avx512f,avx512bw,vaes")]
pub(super) fn short_rows(seeds: &[[u8; BLOCK]], width: usize, rows: &mut [u8], xor: bool) -> usize {
    let (groups, _) = seeds.as_chunks::<{ LANES * SEEDS }>();
    let mut keys = [[_mm512_setzero_si512(); LANES]; ROUNDS + 1];
    for (group, rows) in groups.iter().zip(rows.chunks_exact_mut(LANES * SEEDS * width)) {
        expand(group, &mut keys);
        for first in (0..width).step_by(BLOCK) {
            let states = encrypt_counter(&keys, (first / BLOCK) as u64);
            for (rows, state) in rows.chunks_exact_mut(SEEDS * width).zip(states) {
                let blocks = [
                    _mm512_extracti32x4_epi32::<0>(state),
                    _mm512_extracti32x4_epi32::<1>(state),
                    _mm512_extracti32x4_epi32::<2>(state),
                    _mm512_extracti32x4_epi32::<3>(state),
                ];
                for (row, block) in rows.chunks_exact_mut(width).zip(blocks) {
                    put(block, &mut row[first..width.min(first + BLOCK)], xor);
                }
            }
        }
    }
    keys.zeroize();
    groups.len() * LANES * SEEDS
}

#[target_feature(enable = "avx512f,avx512bw,vaes")]
fn expand(seeds: &[[u8; BLOCK]; LANES * SEEDS], keys: &mut RoundKeys) {
    for (key, seeds) in keys[0].iter_mut().zip(seeds.as_chunks::<SEEDS>().0) {
        // SAFETY: four seeds have 64 bytes, and the load needs no alignment.
        *key = unsafe { _mm512_loadu_si512(seeds.as_ptr().cast()) };
    }
    let last_word = _mm512_set1_epi32(LAST_WORD);
    for (round, constant) in ROUND_CONSTANTS.into_iter().enumerate() {
        let constant = _mm512_set1_epi32(constant);
        let (done, next) = keys.split_at_mut(round + 1);
        for (&key, next) in done[round].iter().zip(&mut next[0]) {
            let mixed = _mm512_aesenclast_epi128(_mm512_shuffle_epi8(key, last_word), constant);
            let key = _mm512_xor_si512(key, _mm512_bslli_epi128::<4>(key));
            let key = _mm512_xor_si512(key, _mm512_bslli_epi128::<8>(key));
            *next = _mm512_xor_si512(key, mixed);
        }
    }
}

/// The block with this number of each of the sixteen streams.
#[target_feature(enable = "avx512f,avx512bw,vaes")]
fn encrypt_counter(keys: &RoundKeys, block: u64) -> [__m512i; LANES] {
    let counter = _mm512_broadcast_i32x4(_mm_set_epi64x(block.swap_bytes().cast_signed(), 0));
    let mut states = keys[0];
    for state in &mut states {
        *state = _mm512_xor_si512(*state, counter);
    }
    for round in &keys[1..ROUNDS] {
        for (state, key) in states.iter_mut().zip(round) {
            *state = _mm512_aesenc_epi128(*state, *key);
        }
    }
    for (state, key) in states.iter_mut().zip(&keys[ROUNDS]) {
        *state = _mm512_aesenclast_epi128(*state, *key);
    }
    states
}
