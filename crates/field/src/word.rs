//! Fields whose elements are one word each, and tables of them as bytes.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

use ostrakon_kernels::{Prg, linear_rows, replicated_rows, xor_into};

use zeroize::Zeroize;

use crate::{Fp61, Gf64, P61};

/// Bytes of an element on the wire and in a table: a little-endian word.
pub const ELEMENT_BYTES: usize = 8;

/// A field whose elements are written as one little-endian word each.
///
/// The functions on byte strings work on tables: elements one after the other. Lengths are the
/// caller's to get right.
pub trait WordField:
    Copy
    + Default
    + Eq
    + Send
    + Sync
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + SubAssign
    + Neg<Output = Self>
    + Mul<Output = Self>
    + Sum
    + Zeroize
    + 'static
{
    /// The neutral element of addition.
    const ZERO: Self;
    /// The neutral element of multiplication.
    const ONE: Self;

    /// The element that a word stands for; `None` for a word that is not canonical.
    fn from_word(word: u64) -> Option<Self>;

    /// The word that stands for it.
    fn to_word(self) -> u64;

    /// The multiplicative inverse, or `None` for zero.
    fn inverse(self) -> Option<Self>;

    /// The uniform element that a uniform word stands for; `None`, rarely, for a word that stands
    /// for none.
    fn from_uniform(word: u64) -> Option<Self>;

    /// Different elements for different numbers below 2^61 − 1; 0 and 1 are the neutral elements.
    fn nth(n: u64) -> Self {
        Self::from_word(n).expect("numbers below 2^61 - 1 are canonical in every field here")
    }

    /// Writes the elements `first..` of a stream. Uniform if the stream is: a word that stands for
    /// no element is replaced by one from a place that is used for nothing else.
    ///
    /// # Panics
    /// If the table has 2^45 elements or more.
    fn expand(prg: &Prg, first: u64, out: &mut [u8]) {
        let place = first * ELEMENT_BYTES as u64;
        prg.fill_at(place, out);
        for (i, bytes) in out.as_chunks_mut::<ELEMENT_BYTES>().0.iter_mut().enumerate() {
            let at = place + (i * ELEMENT_BYTES) as u64;
            let mut attempt: u64 = 0;
            let element = loop {
                if let Some(element) = Self::from_uniform(u64::from_le_bytes(*bytes)) {
                    break element;
                }
                attempt += 1;
                prg.fill_at(at + (attempt << 48), bytes);
            };
            *bytes = element.to_word().to_le_bytes();
        }
    }

    /// Adds a stream's elements, from its beginning, to a table.
    fn add_stream(dst: &mut [u8], prg: &Prg) {
        with_stream::<Self>(dst, prg, Self::add_into);
    }

    /// Subtracts a stream's elements, from its beginning, from a table.
    fn sub_stream(dst: &mut [u8], prg: &Prg) {
        with_stream::<Self>(dst, prg, Self::sub_into);
    }

    /// Adds a table to a table.
    fn add_into(dst: &mut [u8], src: &[u8]) {
        combine(dst, src, |a: Self, b| a + b);
    }

    /// Subtracts a table from a table.
    fn sub_into(dst: &mut [u8], src: &[u8]) {
        combine(dst, src, |a: Self, b| a - b);
    }

    /// Whether every word of a table stands for an element.
    #[must_use]
    fn are_canonical(table: &[u8]) -> bool {
        words(table).all(|word| Self::from_word(word).is_some())
    }

    /// A server's term of a replicated inner product Σ_i x_i·⟨c, row_i⟩, where it holds the
    /// components `x_a`, `x_b` of x and `rows_a`, `rows_b` of the table: Σ_i x_a\[i\]·⟨c, a_i +
    /// b_i⟩ + x_b\[i\]·⟨c, a_i⟩. Rows have one element for each of `c`.
    fn replicated_rows(c: &[Self], x_a: &[u64], x_b: &[u64], rows_a: &[u8], rows_b: &[u8]) -> Self {
        let width = c.len() * ELEMENT_BYTES;
        let dot =
            |row: &[u8]| -> Self { c.iter().zip(elements::<Self>(row)).map(|(c, v)| *c * v).sum() };
        let rows = rows_a.chunks_exact(width).zip(rows_b.chunks_exact(width));
        let weights = x_a.iter().zip(x_b);
        weights
            .zip(rows)
            .map(|((x_a, x_b), (a, b))| {
                let (a, b) = (dot(a), dot(b));
                let (x_a, x_b): (Self, Self) = (element(*x_a), element(*x_b));
                x_a * (a + b) + x_b * a
            })
            .sum()
    }

    /// ⟨c, row⟩ of each row of a table, whose rows have one element for each of `c`.
    fn linear_rows(c: &[Self], rows: &[u8]) -> Vec<Self> {
        let dot =
            |row: &[u8]| -> Self { c.iter().zip(elements::<Self>(row)).map(|(c, v)| *c * v).sum() };
        rows.chunks_exact(c.len() * ELEMENT_BYTES).map(dot).collect()
    }
}

/// Combines a table with a stream, piece by piece: the stream is not as long as the table.
fn with_stream<F: WordField>(dst: &mut [u8], prg: &Prg, combine: impl Fn(&mut [u8], &[u8])) {
    const BLOCK: usize = 4096;
    let mut scratch = [0; BLOCK];
    for (i, block) in dst.chunks_mut(BLOCK).enumerate() {
        let scratch = &mut scratch[..block.len()];
        F::expand(prg, (i * BLOCK / ELEMENT_BYTES) as u64, scratch);
        combine(block, scratch);
    }
}

/// The words of a table.
pub fn words(table: &[u8]) -> impl Iterator<Item = u64> {
    table.as_chunks::<ELEMENT_BYTES>().0.iter().map(|word| u64::from_le_bytes(*word))
}

/// The elements of a table whose words have been checked.
pub fn elements<F: WordField>(table: &[u8]) -> impl Iterator<Item = F> {
    words(table).map(element)
}

/// The element of a word that has been checked.
///
/// # Panics
/// If the word is not canonical.
pub fn element<F: WordField>(word: u64) -> F {
    F::from_word(word).expect("words are checked when they come in")
}

/// The table of some elements.
pub fn to_table<F: WordField>(elements: impl IntoIterator<Item = F>) -> Vec<u8> {
    let elements = elements.into_iter();
    let mut table = Vec::with_capacity(elements.size_hint().0 * ELEMENT_BYTES);
    elements.for_each(|element| table.extend_from_slice(&element.to_word().to_le_bytes()));
    table
}

fn combine<F: WordField>(dst: &mut [u8], src: &[u8], sum: impl Fn(F, F) -> F) {
    assert_eq!(dst.len(), src.len(), "two tables of one length");
    let (dst, src) = (dst.as_chunks_mut().0, src.as_chunks().0);
    for (a, b) in dst.iter_mut().zip(src) {
        let (x, y) = (element(u64::from_le_bytes(*a)), element(u64::from_le_bytes(*b)));
        *a = sum(x, y).to_word().to_le_bytes();
    }
}

impl WordField for Gf64 {
    const ZERO: Self = Gf64::ZERO;
    const ONE: Self = Gf64::ONE;

    fn from_word(word: u64) -> Option<Self> {
        Some(Gf64(word))
    }

    fn to_word(self) -> u64 {
        self.0
    }

    fn inverse(self) -> Option<Self> {
        Gf64::inverse(self)
    }

    fn from_uniform(word: u64) -> Option<Self> {
        Some(Gf64(word))
    }

    // Words and elements are the same here: bulk kernels do without the words' meaning.

    fn expand(prg: &Prg, first: u64, out: &mut [u8]) {
        prg.fill_at(first * ELEMENT_BYTES as u64, out);
    }

    fn add_stream(dst: &mut [u8], prg: &Prg) {
        prg.xor_at(0, dst);
    }

    fn sub_stream(dst: &mut [u8], prg: &Prg) {
        prg.xor_at(0, dst);
    }

    fn add_into(dst: &mut [u8], src: &[u8]) {
        xor_into(dst, src);
    }

    fn sub_into(dst: &mut [u8], src: &[u8]) {
        xor_into(dst, src);
    }

    fn are_canonical(_table: &[u8]) -> bool {
        true
    }

    fn replicated_rows(c: &[Self], x_a: &[u64], x_b: &[u64], rows_a: &[u8], rows_b: &[u8]) -> Self {
        let c: Vec<u64> = c.iter().map(|c| c.0).collect();
        Gf64(replicated_rows(&c, c.len() * ELEMENT_BYTES, x_a, x_b, rows_a, rows_b))
    }

    fn linear_rows(c: &[Self], rows: &[u8]) -> Vec<Self> {
        let c: Vec<u64> = c.iter().map(|c| c.0).collect();
        let width = c.len() * ELEMENT_BYTES;
        let mut sums = vec![0; rows.len() / width];
        linear_rows(&c, rows, width, &mut sums);
        sums.into_iter().map(Gf64).collect()
    }
}

impl WordField for Fp61 {
    const ZERO: Self = Fp61::ZERO;
    const ONE: Self = Fp61::ONE;

    fn from_word(word: u64) -> Option<Self> {
        Fp61::canonical(word)
    }

    fn to_word(self) -> u64 {
        self.value()
    }

    fn inverse(self) -> Option<Self> {
        Fp61::inverse(self)
    }

    fn from_uniform(word: u64) -> Option<Self> {
        Fp61::canonical(word & P61)
    }

    fn replicated_rows(c: &[Self], x_a: &[u64], x_b: &[u64], rows_a: &[u8], rows_b: &[u8]) -> Self {
        // Products are below 2^122, so that up to seven are added before the sum is reduced.
        const TOGETHER: usize = 7;
        let product = |a: Self, b: Self| u128::from(a.value()) * u128::from(b.value());
        let reduced = |sum: u128| Self::new(sum as u64 & P61) + Self::new((sum >> 61) as u64);
        let width = c.len() * ELEMENT_BYTES;
        let dot = |row: &[u8]| -> Self {
            let parts = c.chunks(TOGETHER).zip(row.chunks(TOGETHER * ELEMENT_BYTES));
            let part = |(c, row): (&[Self], &[u8])| {
                let products = c.iter().zip(elements(row)).map(|(c, v)| product(*c, v));
                reduced(products.sum())
            };
            parts.map(part).sum()
        };
        let rows = rows_a.chunks_exact(width).zip(rows_b.chunks_exact(width));
        let weights = x_a.iter().zip(x_b).map(|(x_a, x_b)| (element(*x_a), element(*x_b)));
        let terms = weights.zip(rows).map(|((x_a, x_b), (a, b)): ((Self, Self), _)| {
            let (a, b) = (dot(a), dot(b));
            reduced(product(x_a, a + b) + product(x_b, a))
        });
        terms.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table<F: WordField>(seed: u8, elements: usize) -> Vec<u8> {
        let mut table = vec![0; elements * ELEMENT_BYTES];
        F::expand(&Prg::new(&[seed; 32]), 0, &mut table);
        table
    }

    fn tables_are_vectors<F: WordField>() {
        let (a, b) = (table::<F>(1, 40), table::<F>(2, 40));
        assert!(F::are_canonical(&a) && a != b);
        let mut part = vec![0; 8 * 10];
        F::expand(&Prg::new(&[1; 32]), 7, &mut part);
        assert_eq!(part, a[8 * 7..8 * 17], "a stream may be read in any order");
        let mut sum = a.clone();
        F::add_into(&mut sum, &b);
        let by_elements = elements::<F>(&a).zip(elements(&b)).map(|(a, b): (F, F)| a + b);
        assert_eq!(sum, to_table(by_elements));
        F::sub_into(&mut sum, &b);
        assert_eq!(sum, a);
        F::add_stream(&mut sum, &Prg::new(&[2; 32]));
        F::sub_into(&mut sum, &a);
        assert_eq!(sum, b);
        F::sub_stream(&mut sum, &Prg::new(&[2; 32]));
        assert!(sum.iter().all(|byte| *byte == 0));
        let c = [F::nth(3), F::nth(5)];
        let (x_a, x_b): (Vec<u64>, Vec<u64>) =
            (words(&table::<F>(3, 20)).collect(), words(&table::<F>(4, 20)).collect());
        let slow: F = (0..20)
            .map(|i| {
                let row = |t: &[u8]| -> F {
                    let row: Vec<F> = elements(&t[16 * i..16 * i + 16]).collect();
                    c[0] * row[0] + c[1] * row[1]
                };
                let (x_a, x_b): (F, F) = (element(x_a[i]), element(x_b[i]));
                x_a * row(&a) + x_a * row(&b) + x_b * row(&a)
            })
            .sum();
        assert!(F::replicated_rows(&c, &x_a, &x_b, &a, &b) == slow);
    }

    #[test]
    fn tables_are_vectors_over_both_fields() {
        tables_are_vectors::<Gf64>();
        tables_are_vectors::<Fp61>();
    }

    #[test]
    fn words_of_no_element_are_seen() {
        let mut table = table::<Fp61>(5, 3);
        table[8..16].copy_from_slice(&P61.to_le_bytes());
        assert!(!Fp61::are_canonical(&table) && Gf64::are_canonical(&table));
        assert!(Fp61::from_uniform(P61).is_none() && Fp61::from_uniform(u64::MAX).is_none());
        assert!(Fp61::from_uniform(5 | 7 << 61) == Some(Fp61::new(5)));
    }
}
