//! A hop's public linear maps: from a vector of the vertices into a list's rows, through its
//! orders, and back (`docs/spec/graph.md`, section 6).
//!
//! All of them are applied alike to what the servers know and to shares of what they do not know.

use ostrakon_field::{ELEMENT_BYTES, WordField, element};
use ostrakon_kernels::{Prg, permutation, zeroed_table};

use crate::owner::Maps;
use crate::ruffle2::uses::permuted;

/// What every row of a list multiplies what passes it by.
pub enum Coefficients<F> {
    /// By an element of its own: those of a stream, in the order in which rows stand when they are
    /// multiplied.
    Each(Box<Prg>),
    /// All by the same.
    Same(F),
}

/// A list's maps, ready for hops in one direction.
pub struct Route {
    vertices: usize,
    backward: bool,
    maps: [Vec<u32>; 3],
}

fn words_mut(table: &mut [u8]) -> &mut [[u8; ELEMENT_BYTES]] {
    table.as_chunks_mut().0
}

fn get<F: WordField>(word: &[u8; ELEMENT_BYTES]) -> F {
    element(u64::from_le_bytes(*word))
}

/// Replaces each row's element in a column by the sum of it and of those before it.
pub fn prefix_sums<F: WordField>(table: &mut [u8], words: usize, column: usize) {
    let mut sum = F::ZERO;
    for row in words_mut(table).chunks_exact_mut(words) {
        sum += get(&row[column]);
        row[column] = sum.to_word().to_le_bytes();
    }
}

fn suffix_sums<F: WordField>(table: &mut [u8]) {
    let mut sum = F::ZERO;
    for word in words_mut(table).iter_mut().rev() {
        sum += get(word);
        *word = sum.to_word().to_le_bytes();
    }
}

/// Differences of neighbours: x_v − x_{v−1}, or x_v − x_{v+1} backward; then zeros, up to so many
/// rows.
fn differences<F: WordField>(values: &[u8], backward: bool, rows: usize) -> Vec<u8> {
    let mut table = zeroed_table(rows * ELEMENT_BYTES);
    let values = values.as_chunks::<ELEMENT_BYTES>().0;
    let neighbour = |v: usize| match backward {
        false => v.checked_sub(1).map(|v| &values[v]),
        true => values.get(v + 1),
    };
    for (v, word) in words_mut(&mut table)[..values.len()].iter_mut().enumerate() {
        let difference = get::<F>(&values[v]) - neighbour(v).map_or(F::ZERO, get);
        *word = difference.to_word().to_le_bytes();
    }
    table
}

/// Multiplies each row by an element of a stream.
fn multiply<F: WordField>(table: &mut [u8], stream: &Prg) {
    use rayon::prelude::*;
    const BLOCK: usize = 4096;
    let blocks = table.par_chunks_mut(BLOCK).enumerate().with_min_len(16);
    blocks.for_each(|(block, rows)| {
        let mut factors = [0; BLOCK];
        let factors = &mut factors[..rows.len()];
        F::expand(stream, (block * BLOCK / ELEMENT_BYTES) as u64, factors);
        for (word, factor) in words_mut(rows).iter_mut().zip(words_mut(factors)) {
            *word = (get::<F>(word) * get(factor)).to_word().to_le_bytes();
        }
    });
}

impl Route {
    /// Of a list's maps, for hops from edges' sources to their targets or back.
    pub fn new(maps: &Maps, vertices: usize, backward: bool) -> Self {
        let maps = match backward {
            false => maps.0.clone(),
            true => [2, 1, 0].map(|k: usize| permutation::invert(&maps.0[k])),
        };
        Self { vertices, backward, maps }
    }

    /// Rows of the list.
    pub fn rows(&self) -> usize {
        self.maps[0].len()
    }

    /// From what a shuffle made, forward, to the order that its map leads to.
    pub fn sort(&self, table: &[u8], k: usize) -> Vec<u8> {
        permuted(table, ELEMENT_BYTES, &self.maps[k])
    }

    /// From the vertices' values to the table that is shuffled first.
    pub fn enter<F: WordField>(&self, values: &[u8]) -> Vec<u8> {
        let table = differences::<F>(values, self.backward, self.rows());
        if self.backward { permuted(&table, ELEMENT_BYTES, &self.maps[0]) } else { table }
    }

    /// From what the first shuffle made to what the second one is applied to, with the rows'
    /// coefficients.
    pub fn turn<F: WordField>(&self, table: &[u8], coefficients: &Coefficients<F>) -> Vec<u8> {
        let mut table = self.through::<F>(table, 0);
        match coefficients {
            Coefficients::Same(one) if *one == F::ONE => {}
            Coefficients::Same(c) => words_mut(&mut table).iter_mut().for_each(|word| {
                *word = (get::<F>(word) * *c).to_word().to_le_bytes();
            }),
            Coefficients::Each(stream) => multiply::<F>(&mut table, stream),
        }
        if self.backward { permuted(&table, ELEMENT_BYTES, &self.maps[1]) } else { table }
    }

    /// From what the second shuffle made to what the third one is applied to.
    pub fn gather<F: WordField>(&self, table: &[u8]) -> Vec<u8> {
        let table = self.through::<F>(table, 1);
        if self.backward { permuted(&table, ELEMENT_BYTES, &self.maps[2]) } else { table }
    }

    /// From what the third shuffle made to sums at the vertices.
    pub fn leave<F: WordField>(&self, table: &[u8]) -> Vec<u8> {
        let vertices = self.vertices * ELEMENT_BYTES;
        if self.backward {
            return differences::<F>(&table[..vertices], true, self.vertices);
        }
        let base = permuted(table, ELEMENT_BYTES, &self.maps[2][..self.vertices]);
        differences::<F>(&base, false, self.vertices)
    }

    /// Sorted (forward), and summed up.
    fn through<F: WordField>(&self, table: &[u8], k: usize) -> Vec<u8> {
        if self.backward {
            let mut sums = zeroed_table(table.len());
            sums.copy_from_slice(table);
            suffix_sums::<F>(&mut sums);
            return sums;
        }
        let mut table = permuted(table, ELEMENT_BYTES, &self.maps[k]);
        prefix_sums::<F>(&mut table, 1, 0);
        table
    }
}
