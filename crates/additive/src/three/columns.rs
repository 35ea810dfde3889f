//! Columns of words, and tables compressed into them.

use ostrakon_crypto::{Digest, Secret};
use ostrakon_kernels::{Prg, linear_rows, zeroed_table};

use super::keys::{EpochKeys, Purpose};
use crate::params::WORD;

/// Rows that are expanded at a time: what does not fit the caches is not worth keeping.
const BLOCK: usize = 1 << 12;

/// Little-endian words of a column's bytes, of which there is a whole number.
pub fn read(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks::<WORD>();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// The bytes of columns, one after another.
pub fn write(columns: &[&[u64]]) -> Vec<u8> {
    columns.iter().flat_map(|column| column.iter()).flat_map(|word| word.to_le_bytes()).collect()
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
    let mut words = vec![0; rows];
    let mut block = zeroed_table(BLOCK.min(rows) * width);
    for (i, words) in words.chunks_mut(BLOCK).enumerate() {
        let block = &mut block[..words.len() * width];
        stream.fill_at((i * BLOCK * width) as u64, block);
        linear_rows(c, block, width, words);
    }
    words
}

/// The four vectors of the checks, by the tables z2, z1, Δ, S.
pub fn vectors(coin: &Digest, width: usize) -> [Vec<u64>; 4] {
    [1u8, 2, 3, 4].map(|check| {
        let seed = Secret::new(coin.0).derive("ostrakon/v1/clarion/check vector", &[&[check]]);
        let mut bytes = vec![0; width];
        Prg::new(seed.expose()).fill(&mut bytes);
        read(&bytes)
    })
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
    }
}
