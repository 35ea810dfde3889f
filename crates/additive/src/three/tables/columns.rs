//! Columns of words, and tables compressed into them. A column is a table of one word a row, as
//! bytes: what permutes and masks tables does so with columns, on pages as large.

use ostrakon_crypto::{Digest, Secret};
use ostrakon_kernels::{Prg, gather, gather_xor_prg, linear_rows, xor_into, zeroed_table};
use rayon::prelude::*;

use crate::params::WORD;

/// Rows that are expanded at a time: what does not fit the caches is not worth keeping.
pub const BLOCK: usize = 1 << 11;

/// Little-endian words of bytes, of which there is a whole number.
pub fn read(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks::<WORD>();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// Columns one after another.
pub fn joined(columns: &[&[u8]]) -> Vec<u8> {
    let mut bytes = zeroed_table(columns.iter().map(|column| column.len()).sum());
    let mut rest = &mut bytes[..];
    for column in columns {
        let (own, after) = rest.split_at_mut(column.len());
        own.copy_from_slice(column);
        rest = after;
    }
    bytes
}

/// A column that is a stream.
pub fn of(stream: &Prg, rows: usize) -> Vec<u8> {
    let mut column = zeroed_table(rows * WORD);
    stream.fill(&mut column);
    column
}

/// Adds a column.
pub fn add(mut to: Vec<u8>, column: &[u8]) -> Vec<u8> {
    xor_into(&mut to, column);
    to
}

/// Adds a stream.
pub fn mask(mut column: Vec<u8>, stream: &Prg) -> Vec<u8> {
    stream.xor_at(0, &mut column);
    column
}

/// The sum of two columns.
pub fn sum(one: &[u8], other: &[u8]) -> Vec<u8> {
    add(joined(&[one]), other)
}

/// Word i becomes word `index[i]`.
pub fn permute(index: &[u32], column: &[u8]) -> Vec<u8> {
    let mut permuted = zeroed_table(column.len());
    gather(&mut permuted, column, WORD, index);
    permuted
}

/// The same, and a stream is added.
pub fn permute_masked(index: &[u32], column: &[u8], stream: &Prg) -> Vec<u8> {
    let mut permuted = zeroed_table(column.len());
    gather_xor_prg(&mut permuted, column, WORD, index, stream, 0);
    permuted
}

/// The inverse of [`permute`]: word `index[i]` is word i.
pub fn unpermute(index: &[u32], column: &[u8]) -> Vec<u8> {
    let mut bytes = zeroed_table(column.len());
    let ((to, _), (from, _)) = (bytes.as_chunks_mut::<WORD>(), column.as_chunks::<WORD>());
    index.iter().zip(from).for_each(|(place, word)| to[*place as usize] = *word);
    bytes
}

/// ⟨c, T⟩ for a table.
pub fn compress(c: &[u64], table: &[u8]) -> Vec<u8> {
    let width = c.len() * WORD;
    let mut column = zeroed_table(table.len() / width * WORD);
    let blocks = column.par_chunks_mut(BLOCK * WORD).zip(table.par_chunks(BLOCK * width));
    blocks.for_each(|(words, rows)| compress_block(c, rows, words));
    column
}

/// ⟨c, T⟩ for at most [`BLOCK`] rows.
fn compress_block(c: &[u64], rows: &[u8], words: &mut [u8]) {
    let mut sums = [0; BLOCK];
    let sums = &mut sums[..words.len() / WORD];
    linear_rows(c, rows, c.len() * WORD, sums);
    let (words, _) = words.as_chunks_mut::<WORD>();
    words.iter_mut().zip(sums).for_each(|(to, sum)| *to = sum.to_le_bytes());
}

/// ⟨c, T⟩ for a table that is a stream.
pub fn compress_stream(c: &[u64], stream: &Prg, rows: usize) -> Vec<u8> {
    let width = c.len() * WORD;
    compress_blocks(c, rows, |first, block| stream.fill_at((first * width) as u64, block))
}

/// ⟨c, T⟩ for a table of which `fill` makes the rows from the one named on. The table is never in
/// memory as a whole.
pub fn compress_blocks(c: &[u64], rows: usize, fill: impl Fn(usize, &mut [u8]) + Sync) -> Vec<u8> {
    let width = c.len() * WORD;
    let mut column = zeroed_table(rows * WORD);
    let room = || zeroed_table(BLOCK.min(rows) * width);
    column.par_chunks_mut(BLOCK * WORD).enumerate().for_each_init(room, |block, (i, words)| {
        let block = &mut block[..words.len() / WORD * width];
        fill(i * BLOCK, block);
        compress_block(c, block, words);
    });
    column
}

/// The vector of the checks.
pub fn vector(coin: &Digest, width: usize) -> Vec<u64> {
    let seed = Secret::new(coin.0).derive("ostrakon/v1/clarion/check vector", &[]);
    let mut bytes = vec![0; width];
    Prg::new(seed.expose()).fill(&mut bytes);
    read(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_compresses_as_its_table() {
        let c: Vec<u64> = (1..4).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let prg = Prg::new(&[5; 32]);
        for rows in [1, BLOCK, 2 * BLOCK + 7] {
            let mut table = vec![0; rows * 24];
            prg.fill(&mut table);
            let mut words = vec![0; rows];
            linear_rows(&c, &table, 24, &mut words);
            assert_eq!(read(&compress(&c, &table)), words);
            assert_eq!(read(&compress_stream(&c, &prg, rows)), words);
        }
    }

    #[test]
    fn columns_add_up_and_go_back_to_their_places() {
        let column = |words: &[u64]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_le_bytes()).collect()
        };
        let (a, b) = (column(&[1, u64::MAX]), column(&[3, 4]));
        assert_eq!(read(&joined(&[&a, &b])), [1, u64::MAX, 3, 4]);
        assert_eq!(read(&sum(&permute(&[1, 0], &a), &b)), [u64::MAX ^ 3, 1 ^ 4]);
        let (index, prg) = ([2, 0, 1], Prg::new(&[5; 32]));
        let words = column(&[7, 8, 9]);
        assert_eq!(unpermute(&index, &permute(&index, &words)), words);
        let masked = permute_masked(&index, &words, &prg);
        assert_eq!(mask(masked, &prg), permute(&index, &words));
    }
}
