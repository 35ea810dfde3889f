//! Set-Equality over GF(2^64): does a stage's output hold the rows of its input, permuted?
//!
//! Ruffle's check (appendix B, Eq. 3), one bit at a time, lets an error pass with probability 2^-20
//! at its κ = 48. Here every row carries one secret random word r_i that is permuted with it. After
//! all messages are fixed, a joint coin gives a vector c, one word for each word of a row, and the
//! parties open
//!
//! `V = Σ_i r'_i·⟨c, row'_i⟩ − Σ_i r_i·⟨c, row_i⟩`
//!
//! as a replicated inner product: each party computes its local terms and the sum of the three is
//! V. The argument is in `docs/spec/ruffle.md`; it needs the rows to be pseudorandom, so it is used
//! in preprocessing and never on data.

use ostrakon_crypto::{Digest, Secret};
use ostrakon_field::Gf64;
use ostrakon_kernels::{Prg, replicated_rows};

use crate::batch::seeds::{BatchSeeds, Purpose};
use crate::batch::shares::{self, Share, Shares};
use crate::messages::{BatchSpec, Shape};
use crate::pair::Pair;
use crate::params::WEIGHT_BYTES;

/// A stage's table before and after.
pub struct Stage {
    /// Input of the Shuffle-Pair.
    pub before: Shares,
    /// Its output.
    pub after: Shares,
}

/// The public vectors of the three stages, `width / 8` words each.
pub fn vectors(coin: &Digest, shape: Shape) -> [Vec<u64>; 3] {
    let words = shape.width as usize / 8;
    let prg = Prg::new(
        Secret::new(coin.0).derive("ostrakon/v1/ruffle/set-equality vector", &[]).expose(),
    );
    let mut bytes = vec![0; 3 * words * 8];
    prg.fill(&mut bytes);
    let word = |i: usize| u64::from_le_bytes(bytes[8 * i..8 * i + 8].try_into().expect("8 bytes"));
    [0, 1, 2].map(|stage| (0..words).map(|k| word(stage * words + k)).collect())
}

/// A party's masked local terms of V, one for each stage.
pub fn local_sums(
    party: u8,
    spec: &BatchSpec,
    seeds: &BatchSeeds,
    coin: &Digest,
    stages: &[Stage; 3],
) -> [Gf64; 3] {
    let vectors = vectors(coin, spec.shape);
    let zero = zero_shares(party, seeds);
    [0, 1, 2].map(|i| {
        let (stage, c) = (&stages[i], &vectors[i]);
        local_terms(party, spec.shape, c, &stage.after)
            - local_terms(party, spec.shape, c, &stage.before)
            + zero[i]
    })
}

/// Three words that, over the three parties, sum to zero: they hide everything about local sums but
/// their sum.
fn zero_shares(party: u8, seeds: &BatchSeeds) -> [Gf64; 3] {
    let mut masks = [Gf64::ZERO; 3];
    for pair in Pair::of_party(party) {
        let mut bytes = [0; 24];
        seeds.of(pair).prg(Purpose::Zero).fill(&mut bytes);
        for (mask, word) in masks.iter_mut().zip(bytes.chunks_exact(8)) {
            *mask += Gf64::from_le_bytes(word.try_into().expect("8 bytes"));
        }
    }
    masks
}

/// The pair whose squares a party computes, then its other pair. Over the three parties every
/// product of two shares is computed exactly once.
fn assignment(party: u8) -> [Pair; 2] {
    match party {
        0 => [Pair::P01, Pair::P02],
        1 => [Pair::P12, Pair::P01],
        _ => [Pair::P02, Pair::P12],
    }
}

/// Some rows of a share with their weights.
#[derive(Default)]
struct Piece {
    rows: Vec<u8>,
    bytes: Vec<u8>,
    weights: Vec<u64>,
}

impl Piece {
    fn read(&mut self, share: &Share, shape: Shape, first: usize, count: usize) {
        self.rows.resize(count * shape.width as usize, 0);
        self.bytes.resize(count * WEIGHT_BYTES, 0);
        share.read_rows(shape, first, &mut self.rows);
        share.read_weights(first, &mut self.bytes);
        let (words, _) = self.bytes.as_chunks::<WEIGHT_BYTES>();
        self.weights.clear();
        self.weights.extend(words.iter().map(|word| u64::from_le_bytes(*word)));
    }
}

/// A party's terms of `Σ_i r_i·⟨c, row_i⟩`.
fn local_terms(party: u8, shape: Shape, c: &[u64], table: &Shares) -> Gf64 {
    use rayon::prelude::*;
    // Two pieces of a table stay in the second-level cache.
    const PIECE_BYTES: usize = 1 << 17;
    let [a, b] = assignment(party).map(|pair| shares::of(table, pair));
    let width = shape.width as usize;
    let rows = shape.rows as usize;
    let piece_rows = PIECE_BYTES.div_ceil(width);
    let terms = |[in_a, in_b]: &mut [Piece; 2], piece: usize| {
        let first = piece * piece_rows;
        let count = piece_rows.min(rows - first);
        in_a.read(a, shape, first, count);
        in_b.read(b, shape, first, count);
        Gf64(replicated_rows(c, width, &in_a.weights, &in_b.weights, &in_a.rows, &in_b.rows))
    };
    (0..rows.div_ceil(piece_rows)).into_par_iter().map_init(Default::default, terms).sum()
}

#[cfg(test)]
pub mod tests;
