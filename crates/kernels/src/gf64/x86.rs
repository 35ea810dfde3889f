//! The path for x86-64 with PCLMULQDQ.

use std::arch::x86_64::*;

use super::{AHEAD, Share, WORD, reduce};
use crate::memory::prefetch_line;

/// Columns whose sums are kept in registers together: 64 bytes of a row.
const GROUP: usize = 8;

pub(super) fn available() -> bool {
    is_x86_feature_detected!("pclmulqdq")
}

#[inline]
#[target_feature(enable = "pclmulqdq")]
fn product(a: u64, b: u64) -> __m128i {
    _mm_clmulepi64_si128::<0x00>(
        _mm_cvtsi64_si128(a.cast_signed()),
        _mm_cvtsi64_si128(b.cast_signed()),
    )
}

#[inline]
#[target_feature(enable = "pclmulqdq")]
fn to_u128(x: __m128i) -> u128 {
    let low = _mm_cvtsi128_si64(x).cast_unsigned();
    let high = _mm_cvtsi128_si64(_mm_unpackhi_epi64(x, x)).cast_unsigned();
    u128::from(high) << 64 | u128::from(low)
}

#[target_feature(enable = "pclmulqdq")]
pub(super) fn clmul_wide(a: u64, b: u64) -> u128 {
    to_u128(product(a, b))
}

#[target_feature(enable = "pclmulqdq")]
pub(super) fn inner_product(a: &[u64], b: &[u64]) -> u128 {
    let mut sum = _mm_setzero_si128();
    for (&a, &b) in a.iter().zip(b) {
        sum = _mm_xor_si128(sum, product(a, b));
    }
    to_u128(sum)
}

#[target_feature(enable = "pclmulqdq")]
pub(super) fn linear_rows(c: &[u64], table: &[[u8; WORD]], out: &mut [u64]) {
    for (row, out) in table.chunks_exact(c.len()).zip(out) {
        let mut sum = _mm_setzero_si128();
        for (word, &c) in row.iter().zip(c) {
            sum = _mm_xor_si128(sum, product(u64::from_le_bytes(*word), c));
        }
        *out = reduce(to_u128(sum));
    }
}

#[target_feature(enable = "pclmulqdq")]
pub(super) fn weighted_columns(share: &Share, sums: &mut [u128]) {
    let width = sums.len();
    for first in (0..width).step_by(GROUP) {
        let group = &mut sums[first..width.min(first + GROUP)];
        match group.len() {
            1 => column_group::<1>(share, width, first, group),
            2 => column_group::<2>(share, width, first, group),
            3 => column_group::<3>(share, width, first, group),
            4 => column_group::<4>(share, width, first, group),
            5 => column_group::<5>(share, width, first, group),
            6 => column_group::<6>(share, width, first, group),
            7 => column_group::<7>(share, width, first, group),
            _ => column_group::<GROUP>(share, width, first, group),
        }
    }
}

/// The `K` columns from `first` of rows of `width` words.
#[target_feature(enable = "pclmulqdq")]
fn column_group<const K: usize>(share: &Share, width: usize, first: usize, sums: &mut [u128]) {
    let mut registers = [_mm_setzero_si128(); K];
    let rows = share.rows_a.chunks_exact(width).zip(share.rows_b.chunks_exact(width));
    for ((row_a, row_b), (&x_a, &x_b)) in rows.zip(share.x_a.iter().zip(share.x_b)) {
        prefetch_line(row_a.as_ptr().wrapping_add(first + AHEAD).cast());
        prefetch_line(row_b.as_ptr().wrapping_add(first + AHEAD).cast());
        let (a, _) = row_a[first..].as_chunks::<K>();
        let (b, _) = row_b[first..].as_chunks::<K>();
        for k in 0..K {
            let from_a = product(x_a ^ x_b, u64::from_le_bytes(a[0][k]));
            let from_b = product(x_a, u64::from_le_bytes(b[0][k]));
            registers[k] = _mm_xor_si128(registers[k], _mm_xor_si128(from_a, from_b));
        }
    }
    for (sum, register) in sums.iter_mut().zip(registers) {
        *sum = to_u128(register);
    }
}
