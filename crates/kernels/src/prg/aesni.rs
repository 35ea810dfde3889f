//! AES-NI for eight short streams at a time, whose key schedules would leave the unit idle one by
//! one.

use std::arch::x86_64::*;

use zeroize::Zeroize;

use super::BLOCK;

/// Seeds that are expanded together.
const LANES: usize = 8;
pub(super) const ROUNDS: usize = 10;

pub(super) const ROUND_CONSTANTS: [i32; ROUNDS] =
    [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36];
/// The places of the bytes of the last word, rotated by a byte.
pub(super) const LAST_WORD: i32 = 0x0c0f_0e0d;

/// Round keys by round, then by seed.
pub(super) type RoundKeys<const N: usize> = [[__m128i; N]; ROUNDS + 1];

pub(super) fn available() -> bool {
    is_x86_feature_detected!("aes") && is_x86_feature_detected!("ssse3")
}

/// Writes (or XORs) the short streams of the first `n` seeds, where `n`, the result, is the largest
/// multiple of eight.
#[target_feature(enable = "aes,ssse3")]
pub(super) fn short_rows(seeds: &[[u8; BLOCK]], width: usize, rows: &mut [u8], xor: bool) -> usize {
    let (groups, _) = seeds.as_chunks::<LANES>();
    let mut keys = [[_mm_setzero_si128(); LANES]; ROUNDS + 1];
    for (group, rows) in groups.iter().zip(rows.chunks_exact_mut(LANES * width)) {
        expand(group, &mut keys);
        for first in (0..width).step_by(BLOCK) {
            let blocks = encrypt_counter(&keys, (first / BLOCK) as u64);
            for (row, block) in rows.chunks_exact_mut(width).zip(blocks) {
                put(block, &mut row[first..width.min(first + BLOCK)], xor);
            }
        }
    }
    keys.zeroize();
    groups.len() * LANES
}

/// The key schedules of `N` seeds, interleaved.
#[target_feature(enable = "aes,ssse3")]
pub(super) fn expand<const N: usize>(seeds: &[[u8; BLOCK]; N], keys: &mut RoundKeys<N>) {
    for (key, seed) in keys[0].iter_mut().zip(seeds) {
        // SAFETY: the seed has 16 bytes, and the load needs no alignment.
        *key = unsafe { _mm_loadu_si128(seed.as_ptr().cast()) };
    }
    // The last word, rotated by a byte, in all four columns: ShiftRows leaves such a block as it
    // is, so AESENCLAST yields SubWord of it, with the round constant as its key. It is faster than
    // AESKEYGENASSIST.
    let last_word = _mm_set1_epi32(LAST_WORD);
    for (round, constant) in ROUND_CONSTANTS.into_iter().enumerate() {
        let constant = _mm_set1_epi32(constant);
        let (done, next) = keys.split_at_mut(round + 1);
        for (&key, next) in done[round].iter().zip(&mut next[0]) {
            let mixed = _mm_aesenclast_si128(_mm_shuffle_epi8(key, last_word), constant);
            let key = _mm_xor_si128(key, _mm_slli_si128::<4>(key));
            let key = _mm_xor_si128(key, _mm_slli_si128::<8>(key));
            *next = _mm_xor_si128(key, mixed);
        }
    }
}

/// The block with this number of each of the eight streams.
#[target_feature(enable = "aes,ssse3")]
fn encrypt_counter(keys: &RoundKeys<LANES>, block: u64) -> [__m128i; LANES] {
    let counter = _mm_set_epi64x(block.swap_bytes().cast_signed(), 0);
    let mut states = keys[0];
    for state in &mut states {
        *state = _mm_xor_si128(*state, counter);
    }
    for round in &keys[1..ROUNDS] {
        for (state, key) in states.iter_mut().zip(round) {
            *state = _mm_aesenc_si128(*state, *key);
        }
    }
    for (state, key) in states.iter_mut().zip(&keys[ROUNDS]) {
        *state = _mm_aesenclast_si128(*state, *key);
    }
    states
}

/// Writes (or XORs) as much of a block as `place`, at most 16 bytes, has room for.
#[inline]
pub(super) fn put(block: __m128i, place: &mut [u8], xor: bool) {
    let mut bytes = [0; BLOCK];
    // SAFETY: the array has 16 bytes, and the store needs no alignment.
    unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), block) };
    if let Ok(place) = <&mut [u8; BLOCK]>::try_from(&mut *place) {
        *place = if xor {
            (u128::from_ne_bytes(*place) ^ u128::from_ne_bytes(bytes)).to_ne_bytes()
        } else {
            bytes
        };
        return;
    }
    for (byte, stream) in place.iter_mut().zip(bytes) {
        *byte = if xor { *byte ^ stream } else { stream };
    }
}
