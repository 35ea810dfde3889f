//! GF(2^64) in bulk: polynomials over GF(2) modulo x^64 + x^4 + x^3 + x + 1.
//!
//! An element is a `u64`: bit `i` is the coefficient of x^i; in bytes it is little-endian. Sums of
//! products are kept as 128-bit polynomials and reduced once. Every path takes time independent of
//! the values.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::threads::map_ranges;

/// Bytes of a table per task.
const CHUNK: usize = 1 << 18;
const WORD: usize = 8;
/// How many words ahead rows are fetched: the processor's own guesses come too late for two tables
/// at once.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 256;

/// The product of two polynomials of degree below 64, not reduced.
pub fn clmul_wide(a: u64, b: u64) -> u128 {
    #[cfg(target_arch = "x86_64")]
    if x86::available() {
        // SAFETY: the processor has the instructions.
        return unsafe { x86::clmul_wide(a, b) };
    }
    portable::clmul_wide(a, b)
}

/// The remainder modulo x^64 + x^4 + x^3 + x + 1.
pub fn reduce(product: u128) -> u64 {
    // x^64 = x^4 + x^3 + x + 1; the four bits that this pushes beyond x^63 are folded once more.
    let (high, low) = ((product >> 64) as u64, product as u64);
    let spill = (high >> 63) ^ (high >> 61) ^ (high >> 60);
    let fold = |h: u64| h ^ (h << 1) ^ (h << 3) ^ (h << 4);
    low ^ fold(high) ^ fold(spill)
}

/// The product in GF(2^64).
pub fn clmul_mul(a: u64, b: u64) -> u64 {
    reduce(clmul_wide(a, b))
}

/// Σ a_i·b_i in GF(2^64).
///
/// # Panics
/// If the lengths differ.
pub fn inner_product(a: &[u64], b: &[u64]) -> u64 {
    assert_eq!(a.len(), b.len(), "inner_product needs vectors of equal length");
    let sums = map_ranges(a.len(), CHUNK / WORD, |range| {
        let (a, b) = (&a[range.clone()], &b[range]);
        #[cfg(target_arch = "x86_64")]
        if x86::available() {
            // SAFETY: the processor has the instructions.
            return unsafe { x86::inner_product(a, b) };
        }
        portable::inner_product(a, b)
    });
    reduce(sums.into_iter().fold(0, |sum, part| sum ^ part))
}

/// `out[i] = Σ_k c[k]·word_k(row_i)`, where `table` has one row of `width` bytes, read as
/// little-endian words, per entry of `out`.
///
/// # Panics
/// If `width` is not eight times the length of `c`, or the table's length is not `width·out.len()`.
pub fn linear_rows(c: &[u64], table: &[u8], width: usize, out: &mut [u64]) {
    assert_words(c, width);
    assert_eq!(table.len(), width * out.len(), "one row of {width} bytes per result");
    if width == 0 {
        return out.fill(0);
    }
    let chunk_rows = CHUNK.div_ceil(width);
    crate::threads::for_each_chunk(out, chunk_rows, |i, out| {
        let start = i * chunk_rows * width;
        let (table, _) = table[start..start + out.len() * width].as_chunks::<WORD>();
        #[cfg(target_arch = "x86_64")]
        if x86::available() {
            // SAFETY: the processor has the instructions.
            return unsafe { x86::linear_rows(c, table, out) };
        }
        portable::linear_rows(c, table, out);
    });
}

/// One server's local term of the replicated-sharing inner product Σ_i x_i·⟨c, row_i⟩, where it
/// holds the components `x_a`, `x_b` of x and `rows_a`, `rows_b` of the table: Σ_i x_a\[i\]·(⟨c,
/// a_i⟩ + ⟨c, b_i⟩) + x_b\[i\]·⟨c, a_i⟩.
///
/// `rows_a` and `rows_b` have one row of `width` bytes, read as little-endian words, per entry of
/// `x_a` and of `x_b`.
///
/// # Panics
/// If the lengths do not fit together.
pub fn replicated_rows(
    c: &[u64],
    width: usize,
    x_a: &[u64],
    x_b: &[u64],
    rows_a: &[u8],
    rows_b: &[u8],
) -> u64 {
    assert_words(c, width);
    assert_eq!(x_a.len(), x_b.len(), "one weight per row in both shares");
    assert_eq!(rows_a.len(), width * x_a.len(), "one row of {width} bytes per weight");
    assert_eq!(rows_a.len(), rows_b.len(), "both shares have the same rows");
    if rows_a.is_empty() {
        return 0;
    }
    // Column by column: Σ_k c_k · Σ_i ((x_a + x_b)·a_ik + x_a·b_ik) needs two products per word,
    // and one reduction per column and task instead of two per row.
    let columns = map_ranges(x_a.len(), CHUNK.div_ceil(width), |range| {
        let bytes = range.start * width..range.end * width;
        let (rows_a, _) = rows_a[bytes.clone()].as_chunks::<WORD>();
        let (rows_b, _) = rows_b[bytes].as_chunks::<WORD>();
        let share = Share { x_a: &x_a[range.clone()], x_b: &x_b[range], rows_a, rows_b };
        let mut sums = vec![0u128; c.len()];
        weighted_columns(&share, &mut sums);
        sums.into_iter().zip(c).fold(0, |sum, (column, &c)| sum ^ clmul_wide(reduce(column), c))
    });
    reduce(columns.into_iter().fold(0, |sum, part| sum ^ part))
}

/// What one server holds of some rows; the words of all rows in one slice each.
struct Share<'a> {
    x_a: &'a [u64],
    x_b: &'a [u64],
    rows_a: &'a [[u8; WORD]],
    rows_b: &'a [[u8; WORD]],
}

/// `sums[k] = Σ_i (x_a + x_b)_i·a_ik + x_a_i·b_ik`, unreduced.
fn weighted_columns(share: &Share, sums: &mut [u128]) {
    #[cfg(target_arch = "x86_64")]
    {
        if avx512::available() {
            // SAFETY: the processor has the instructions.
            return unsafe { avx512::weighted_columns(share, sums) };
        }
        if x86::available() {
            // SAFETY: the processor has the instructions.
            return unsafe { x86::weighted_columns(share, sums) };
        }
    }
    portable::weighted_columns(share, sums);
}

fn assert_words(c: &[u64], width: usize) {
    assert_eq!(width, WORD * c.len(), "one coefficient per eight bytes of a row");
}

#[cfg(test)]
mod tests;
