//! The counter mode for processors with AVX2 and VAES but without AVX-512, two blocks per
//! instruction.

use std::arch::x86_64::*;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::aesni::{self, ROUNDS};
use super::{BLOCK, Use};

/// Bytes per register.
const WIDE: usize = 32;
/// Registers that are encrypted together, so that one's latency hides behind the others' work.
const LANES: usize = 8;

pub(crate) fn available() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("vaes")
}

/// A key schedule. It exists only where [`PairKey::new`] has found the instructions.
pub(crate) struct PairKey {
    round_keys: [[__m128i; 1]; ROUNDS + 1],
}

impl PairKey {
    /// The key schedule, or `None` if the processor lacks the instructions.
    pub(crate) fn new(key: &[u8; BLOCK]) -> Option<PairKey> {
        if !(available() && aesni::available()) {
            return None;
        }
        // SAFETY: an all-zero register is a value.
        let mut pair_key = PairKey { round_keys: unsafe { std::mem::zeroed() } };
        // SAFETY: the processor has the instructions.
        unsafe { aesni::expand(&[*key], &mut pair_key.round_keys) };
        Some(pair_key)
    }

    /// Writes (or XORs) the stream from the block with the value `counter` on, starting `skip` < 16
    /// bytes into it.
    ///
    /// Returns `false`, having done nothing, if the low half of the counter would overflow on the
    /// way.
    pub(super) fn apply(&self, counter: u128, skip: usize, dst: &mut [u8], what: Use) -> bool {
        let blocks = (dst.len() / BLOCK + 4) as u64;
        if (counter as u64).checked_add(blocks).is_none() {
            return false;
        }
        // SAFETY: a `PairKey` exists only if the processor has the instructions.
        unsafe {
            match what {
                Use::Write => self.run::<false>(counter, skip, dst),
                Use::Xor => self.run::<true>(counter, skip, dst),
            }
        }
        true
    }

    #[target_feature(enable = "avx2,vaes")]
    fn run<const XOR: bool>(&self, counter: u128, skip: usize, dst: &mut [u8]) {
        let keys = self.broadcast();
        let mut counters = Counters::new(counter);
        // Bytes before the first full register: a part of it if the position is not that of a
        // block.
        let (head, dst) = dst.split_at_mut(if skip == 0 { 0 } else { dst.len().min(WIDE - skip) });
        if !head.is_empty() {
            put_part::<XOR>(encrypt(&keys, [counters.next()])[0], skip, head);
        }
        let (groups, dst) = dst.as_chunks_mut::<{ WIDE * LANES }>();
        for group in groups {
            let mut states = [_mm256_setzero_si256(); LANES];
            for state in &mut states {
                *state = counters.next();
            }
            for (place, state) in group.as_chunks_mut().0.iter_mut().zip(encrypt(&keys, states)) {
                put::<XOR>(state, place);
            }
        }
        let (places, tail) = dst.as_chunks_mut();
        for place in places {
            put::<XOR>(encrypt(&keys, [counters.next()])[0], place);
        }
        if !tail.is_empty() {
            put_part::<XOR>(encrypt(&keys, [counters.next()])[0], 0, tail);
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn broadcast(&self) -> [__m256i; ROUNDS + 1] {
        let mut keys = [_mm256_setzero_si256(); ROUNDS + 1];
        for (wide, [key]) in keys.iter_mut().zip(self.round_keys) {
            *wide = _mm256_broadcastsi128_si256(key);
        }
        keys
    }

    /// Replaces sixteen blocks, two to a register, by TMMO of each with the tweak in its place.
    #[target_feature(enable = "avx2,vaes")]
    pub(crate) fn hash(&self, blocks: &mut [u128; 2 * LANES], tweaks: &[u128; 2 * LANES]) {
        let keys = self.broadcast();
        let halves = |blocks: &[u128; 2 * LANES]| -> [__m256i; LANES] {
            // SAFETY: sixteen blocks are eight registers of plain bits.
            unsafe { std::mem::transmute(*blocks) }
        };
        let tweaks = halves(tweaks);
        let once = encrypt(&keys, halves(blocks));
        let mut twice = once;
        for (state, tweak) in twice.iter_mut().zip(tweaks) {
            *state = _mm256_xor_si256(*state, tweak);
        }
        let mut twice = encrypt(&keys, twice);
        for (state, once) in twice.iter_mut().zip(once) {
            *state = _mm256_xor_si256(*state, once);
        }
        // SAFETY: eight registers of plain bits are sixteen blocks.
        *blocks = unsafe { std::mem::transmute::<[__m256i; LANES], [u128; 2 * LANES]>(twice) };
    }
}

impl Drop for PairKey {
    fn drop(&mut self) {
        self.round_keys.zeroize();
    }
}

impl ZeroizeOnDrop for PairKey {}

/// Two counters side by side, little-endian in each lane; only their low halves move.
struct Counters {
    lanes: __m256i,
}

impl Counters {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(counter: u128) -> Counters {
        let (high, low) = (((counter >> 64) as u64).cast_signed(), (counter as u64).cast_signed());
        let first = _mm256_set_epi64x(high, low, high, low);
        Counters { lanes: _mm256_add_epi64(first, _mm256_set_epi64x(0, 1, 0, 0)) }
    }

    /// The next two counter blocks, big-endian.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn next(&mut self) -> __m256i {
        let reverse = _mm256_broadcastsi128_si256(_mm_set_epi8(
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
        ));
        let blocks = _mm256_shuffle_epi8(self.lanes, reverse);
        self.lanes = _mm256_add_epi64(self.lanes, _mm256_set_epi64x(0, 2, 0, 2));
        blocks
    }
}

#[inline]
#[target_feature(enable = "avx2,vaes")]
fn encrypt<const N: usize>(keys: &[__m256i; ROUNDS + 1], mut states: [__m256i; N]) -> [__m256i; N] {
    for state in &mut states {
        *state = _mm256_xor_si256(*state, keys[0]);
    }
    for key in &keys[1..ROUNDS] {
        for state in &mut states {
            *state = _mm256_aesenc_epi128(*state, *key);
        }
    }
    for state in &mut states {
        *state = _mm256_aesenclast_epi128(*state, keys[ROUNDS]);
    }
    states
}

#[inline]
#[target_feature(enable = "avx2")]
fn put<const XOR: bool>(stream: __m256i, place: &mut [u8; WIDE]) {
    let place: *mut __m256i = place.as_mut_ptr().cast();
    // SAFETY: the place has 32 bytes, and neither load nor store needs alignment.
    unsafe {
        let stream = if XOR { _mm256_xor_si256(stream, _mm256_loadu_si256(place)) } else { stream };
        _mm256_storeu_si256(place, stream);
    }
}

/// Uses the bytes of `stream` from `skip` on, as many as `place` has.
#[target_feature(enable = "avx2")]
fn put_part<const XOR: bool>(stream: __m256i, skip: usize, place: &mut [u8]) {
    let mut bytes = [0; WIDE];
    put::<false>(stream, &mut bytes);
    for (byte, stream) in place.iter_mut().zip(&bytes[skip..]) {
        *byte = if XOR { *byte ^ stream } else { *stream };
    }
}
