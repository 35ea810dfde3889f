//! The path for processors without carry-less multiplication. Constant time wherever integer
//! multiplication is.

use super::{Share, WORD, reduce};

/// The low 64 bits of the product. Each operand is cut into four with three zero bits after every
/// bit, so that the carries of integer multiplication fall into the gaps: at most 16 terms meet in
/// one place, and 16 only at the top, where the carry leaves the word.
fn clmul_low(a: u64, b: u64) -> u64 {
    const EVERY_FOURTH: u64 = 0x1111_1111_1111_1111;
    let part = |x: u64, i: u32| x & (EVERY_FOURTH << i);
    let mut product = 0;
    for i in 0..4 {
        let mut sum = 0;
        for j in 0..4 {
            sum ^= part(a, j).wrapping_mul(part(b, (i + 4 - j) % 4));
        }
        product |= part(sum, i);
    }
    product
}

pub(super) fn clmul_wide(a: u64, b: u64) -> u128 {
    // Reversing both operands reverses the 127-bit product, which brings its high half into reach.
    let high = clmul_low(a.reverse_bits(), b.reverse_bits()).reverse_bits() >> 1;
    u128::from(high) << 64 | u128::from(clmul_low(a, b))
}

pub(super) fn inner_product(a: &[u64], b: &[u64]) -> u128 {
    a.iter().zip(b).fold(0, |sum, (&a, &b)| sum ^ clmul_wide(a, b))
}

pub(super) fn linear_rows(c: &[u64], table: &[[u8; WORD]], out: &mut [u64]) {
    for (row, out) in table.chunks_exact(c.len()).zip(out) {
        let sum = row
            .iter()
            .zip(c)
            .fold(0, |sum, (word, &c)| sum ^ clmul_wide(u64::from_le_bytes(*word), c));
        *out = reduce(sum);
    }
}

pub(super) fn weighted_columns(share: &Share, sums: &mut [u128]) {
    let rows = share.rows_a.chunks_exact(sums.len()).zip(share.rows_b.chunks_exact(sums.len()));
    for ((row_a, row_b), (&x_a, &x_b)) in rows.zip(share.x_a.iter().zip(share.x_b)) {
        for ((sum, a), b) in sums.iter_mut().zip(row_a).zip(row_b) {
            *sum ^= clmul_wide(x_a ^ x_b, u64::from_le_bytes(*a))
                ^ clmul_wide(x_a, u64::from_le_bytes(*b));
        }
    }
}
