//! Columns of words, and tables compressed into them.

use ostrakon_crypto::{Digest, Secret};
use ostrakon_kernels::{Prg, linear_rows, zeroed_table};
use rayon::prelude::*;

use super::keys::{EpochKeys, Purpose};
use crate::params::WORD;

/// Rows that are expanded at a time: what does not fit the caches is not worth keeping.
pub const BLOCK: usize = 1 << 11;

/// Little-endian words of a column's bytes, of which there is a whole number.
pub fn read(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks::<WORD>();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// The bytes of columns, one after another.
pub fn write(columns: &[&[u64]]) -> Vec<u8> {
    let mut bytes = zeroed_table(columns.iter().map(|column| column.len() * WORD).sum());
    let mut rest = &mut bytes[..];
    for column in columns {
        let (own, after) = rest.split_at_mut(column.len() * WORD);
        write_to(own, column);
        rest = after;
    }
    bytes
}

/// Writes a column to bytes of its length.
pub fn write_to(bytes: &mut [u8], column: &[u64]) {
    assert_eq!(bytes.len(), column.len() * WORD, "as many bytes as the column's words have");
    let (words, _) = bytes.as_chunks_mut::<WORD>();
    words.iter_mut().zip(column).for_each(|(to, word)| *to = word.to_le_bytes());
}

/// A column of a pair.
pub fn of(keys: &EpochKeys, purpose: Purpose, rows: usize) -> Vec<u64> {
    let mut bytes = zeroed_table(rows * WORD);
    keys.prg(purpose).fill(&mut bytes);
    read(&bytes)
}

/// Adds a column.
pub fn add(mut to: Vec<u64>, column: &[u64]) -> Vec<u64> {
    assert_eq!(to.len(), column.len(), "columns of one epoch have one length");
    to.iter_mut().zip(column).for_each(|(to, word)| *to ^= word);
    to
}

/// Word i becomes word `index[i]`.
pub fn permute(index: &[u32], column: &[u64]) -> Vec<u64> {
    index.iter().map(|from| column[*from as usize]).collect()
}

/// The inverse of [`permute`]: word `index[i]` is word i.
pub fn unpermute(index: &[u32], column: &[u64]) -> Vec<u64> {
    let mut words = vec![0; column.len()];
    index.iter().zip(column).for_each(|(to, word)| words[*to as usize] = *word);
    words
}

/// ⟨c, T⟩ for a table.
pub fn compress(c: &[u64], table: &[u8]) -> Vec<u64> {
    let width = c.len() * WORD;
    let mut words = vec![0; table.len() / width];
    linear_rows(c, table, width, &mut words);
    words
}

/// ⟨c, T⟩ for a table that is a stream.
pub fn compress_stream(c: &[u64], stream: &Prg, rows: usize) -> Vec<u64> {
    let width = c.len() * WORD;
    compress_blocks(c, rows, |first, block| stream.fill_at((first * width) as u64, block))
}

/// ⟨c, T⟩ for a table of which `fill` makes the rows from the one named on. The table is never in
/// memory as a whole.
pub fn compress_blocks(c: &[u64], rows: usize, fill: impl Fn(usize, &mut [u8]) + Sync) -> Vec<u64> {
    let width = c.len() * WORD;
    let mut words = vec![0; rows];
    let room = || zeroed_table(BLOCK.min(rows) * width);
    words.par_chunks_mut(BLOCK).enumerate().for_each_init(room, |block, (i, words)| {
        let block = &mut block[..words.len() * width];
        fill(i * BLOCK, block);
        linear_rows(c, block, width, words);
    });
    words
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
            assert_eq!(compress(&c, &table), compress_stream(&c, &prg, rows));
        }
    }

    #[test]
    fn columns_read_back() {
        let (a, b) = ([1, u64::MAX], [3, 4]);
        assert_eq!(read(&write(&[&a, &b])), [1, u64::MAX, 3, 4]);
        assert_eq!(add(permute(&[1, 0], &a), &b), [u64::MAX ^ 3, 1 ^ 4]);
        let index = [2, 0, 1];
        assert_eq!(unpermute(&index, &permute(&index, &[7, 8, 9])), [7, 8, 9]);
    }
}
