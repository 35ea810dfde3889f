//! The path for processors with AVX-512 and VPCLMULQDQ: eight words per load, four products per
//! instruction.

use std::arch::x86_64::*;

use super::{AHEAD, Share, WORD};
use crate::memory::prefetch_line;

/// Words per register.
const LANES: usize = 8;

pub(super) fn available() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("vpclmulqdq")
}

#[target_feature(enable = "avx512f,vpclmulqdq")]
pub(super) fn weighted_columns(share: &Share, sums: &mut [u128]) {
    let width = sums.len();
    for (group, sums) in sums.chunks_mut(LANES).enumerate() {
        column_group(share, width, group * LANES, sums);
    }
}

/// The columns from `first` of rows of `width` words, one to eight of them.
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn column_group(share: &Share, width: usize, first: usize, sums: &mut [u128]) {
    let mask = 0xff >> (LANES - sums.len());
    let (mut even, mut odd) = (_mm512_setzero_si512(), _mm512_setzero_si512());
    let rows = share.rows_a.chunks_exact(width).zip(share.rows_b.chunks_exact(width));
    for ((row_a, row_b), (&x_a, &x_b)) in rows.zip(share.x_a.iter().zip(share.x_b)) {
        let (a, b) = (load(mask, &row_a[first..]), load(mask, &row_b[first..]));
        prefetch_line(row_a.as_ptr().wrapping_add(first + AHEAD).cast());
        prefetch_line(row_b.as_ptr().wrapping_add(first + AHEAD).cast());
        let for_a = _mm512_set1_epi64((x_a ^ x_b).cast_signed());
        let for_b = _mm512_set1_epi64(x_a.cast_signed());
        even = xor3(
            even,
            _mm512_clmulepi64_epi128::<0x00>(a, for_a),
            _mm512_clmulepi64_epi128::<0x00>(b, for_b),
        );
        odd = xor3(
            odd,
            _mm512_clmulepi64_epi128::<0x11>(a, for_a),
            _mm512_clmulepi64_epi128::<0x11>(b, for_b),
        );
    }
    let (even, odd) = (to_u128s(even), to_u128s(odd));
    for (k, sum) in sums.iter_mut().enumerate() {
        *sum = if k % 2 == 0 { even[k / 2] } else { odd[k / 2] };
    }
}

/// The words that `mask` names, and zeros.
#[inline]
#[target_feature(enable = "avx512f")]
fn load(mask: __mmask8, words: &[[u8; WORD]]) -> __m512i {
    assert!(words.len() >= (u8::BITS - mask.leading_zeros()) as usize);
    // SAFETY: the slice has all words that the mask names, which is all that is read, and the load
    // needs no alignment.
    unsafe { _mm512_maskz_loadu_epi64(mask, words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0x96>(a, b, c)
}

#[target_feature(enable = "avx512f")]
fn to_u128s(x: __m512i) -> [u128; LANES / 2] {
    let mut bytes = [0; size_of::<__m512i>()];
    // SAFETY: the array has 64 bytes, and the store needs no alignment.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), x) };
    let (sums, _) = bytes.as_chunks();
    [0, 1, 2, 3].map(|i| u128::from_le_bytes(sums[i]))
}
