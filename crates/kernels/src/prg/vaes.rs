//! The counter mode for processors with AVX-512 and VAES, four blocks per instruction.

use std::arch::x86_64::*;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::aesni::{self, ROUNDS};
use super::{BLOCK, Use};

/// Bytes per register.
const WIDE: usize = 64;
/// Registers that are encrypted together, so that one's latency hides behind the others' work.
const LANES: usize = 8;

pub(super) fn available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("vaes")
}

/// A key schedule. It exists only where [`WideKey::new`] has found the instructions.
pub(super) struct WideKey {
    round_keys: [[__m128i; 1]; ROUNDS + 1],
}

impl WideKey {
    /// The key schedule, or `None` if the processor lacks the instructions.
    pub(super) fn new(key: &[u8; BLOCK]) -> Option<WideKey> {
        if !(available() && aesni::available()) {
            return None;
        }
        // SAFETY: an all-zero register is a value.
        let mut wide_key = WideKey { round_keys: unsafe { std::mem::zeroed() } };
        // SAFETY: the processor has the instructions.
        unsafe { aesni::expand(&[*key], &mut wide_key.round_keys) };
        Some(wide_key)
    }

    /// Writes (or XORs) the stream from the block with the value `counter` on, starting `skip` < 16
    /// bytes into it.
    ///
    /// Returns `false`, having done nothing, if the low half of the counter would overflow on the
    /// way.
    pub(super) fn apply(&self, counter: u128, skip: usize, dst: &mut [u8], what: Use) -> bool {
        let blocks = (dst.len() / BLOCK + 8) as u64;
        if (counter as u64).checked_add(blocks).is_none() {
            return false;
        }
        // SAFETY: a `WideKey` exists only if the processor has the instructions.
        unsafe {
            match what {
                Use::Write => self.run::<false>(counter, skip, dst),
                Use::Xor => self.run::<true>(counter, skip, dst),
            }
        }
        true
    }

    #[target_feature(enable = "avx512f,avx512bw,vaes")]
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
            // A closure would be compiled by itself, for the registers that every processor has.
            let mut states = [_mm512_setzero_si512(); LANES];
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
    #[target_feature(enable = "avx512f")]
    fn broadcast(&self) -> [__m512i; ROUNDS + 1] {
        let mut keys = [_mm512_setzero_si512(); ROUNDS + 1];
        for (wide, [key]) in keys.iter_mut().zip(self.round_keys) {
            *wide = _mm512_broadcast_i32x4(key);
        }
        keys
    }
}

impl Drop for WideKey {
    fn drop(&mut self) {
        self.round_keys.zeroize();
    }
}

impl ZeroizeOnDrop for WideKey {}

/// Four counters side by side, little-endian in each lane; only their low halves move.
struct Counters {
    lanes: __m512i,
}

impl Counters {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(counter: u128) -> Counters {
        let (high, low) = (((counter >> 64) as u64).cast_signed(), (counter as u64).cast_signed());
        let first = _mm512_set_epi64(high, low, high, low, high, low, high, low);
        Counters { lanes: _mm512_add_epi64(first, _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0)) }
    }

    /// The next four counter blocks, big-endian.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn next(&mut self) -> __m512i {
        let reverse = _mm512_broadcast_i32x4(_mm_set_epi8(
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
        ));
        let blocks = _mm512_shuffle_epi8(self.lanes, reverse);
        self.lanes = _mm512_add_epi64(self.lanes, _mm512_set_epi64(0, 4, 0, 4, 0, 4, 0, 4));
        blocks
    }
}

#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn encrypt<const N: usize>(keys: &[__m512i; ROUNDS + 1], mut states: [__m512i; N]) -> [__m512i; N] {
    for state in &mut states {
        *state = _mm512_xor_si512(*state, keys[0]);
    }
    for key in &keys[1..ROUNDS] {
        for state in &mut states {
            *state = _mm512_aesenc_epi128(*state, *key);
        }
    }
    for state in &mut states {
        *state = _mm512_aesenclast_epi128(*state, keys[ROUNDS]);
    }
    states
}

#[inline]
#[target_feature(enable = "avx512f")]
fn put<const XOR: bool>(stream: __m512i, place: &mut [u8; WIDE]) {
    let place: *mut __m512i = place.as_mut_ptr().cast();
    // SAFETY: the place has 64 bytes, and neither load nor store needs alignment.
    unsafe {
        let stream = if XOR { _mm512_xor_si512(stream, _mm512_loadu_si512(place)) } else { stream };
        _mm512_storeu_si512(place, stream);
    }
}

/// Uses the bytes of `stream` from `skip` on, as many as `place` has.
#[target_feature(enable = "avx512f")]
fn put_part<const XOR: bool>(stream: __m512i, skip: usize, place: &mut [u8]) {
    let mut bytes = [0; WIDE];
    put::<false>(stream, &mut bytes);
    for (byte, stream) in place.iter_mut().zip(&bytes[skip..]) {
        *byte = if XOR { *byte ^ stream } else { *stream };
    }
}
