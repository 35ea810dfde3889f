//! Does a stage's output hold the rows of its input, permuted? The lifted check of
//! `docs/spec/ruffle.md`, 10.3, over either field.

use ostrakon_crypto::Digest;
use ostrakon_field::{ELEMENT_BYTES, WordField};
use ostrakon_replicated::pair::Pair;

use super::columns::{self, Shares};
use crate::ruffle2::coin;
use crate::ruffle2::uses::Bundle;

/// A stage's table before and after.
pub struct Stage {
    /// Input of the Shuffle-Pair, less R.
    pub before: Shares,
    /// Its output.
    pub after: Shares,
}

/// A server's terms of V for one stage of a bundle, not masked.
pub fn local_terms<F: WordField>(
    party: u8,
    coin: &Digest,
    place: (usize, usize),
    bundle: &Bundle,
    stage: &Stage,
) -> F {
    let numbers = [place.0 as u64, place.1 as u64];
    let mut c: Vec<F> =
        coin::elements(coin, b"set-equality vector", &numbers, bundle.columns() - 1);
    // The weight is not in its own row.
    c.push(F::ZERO);
    weighted(party, &c, bundle, &stage.after) - weighted(party, &c, bundle, &stage.before)
}

/// The pair whose squares a server computes, then its other pair. Over the three servers every
/// product of two shares is computed exactly once.
pub fn assignment(party: u8) -> [Pair; 2] {
    match party {
        0 => [Pair::P01, Pair::P02],
        1 => [Pair::P12, Pair::P01],
        _ => [Pair::P02, Pair::P12],
    }
}

/// A server's terms of `Σ_i r_i·⟨c, row_i⟩`.
fn weighted<F: WordField>(party: u8, c: &[F], bundle: &Bundle, table: &Shares) -> F {
    use rayon::prelude::*;
    const PIECE_BYTES: usize = 1 << 17;
    let [a, b] = assignment(party).map(|pair| columns::of(table, pair));
    let (rows, width) = (bundle.first().rows(), bundle.width());
    let piece_rows = PIECE_BYTES.div_ceil(width);
    let weights = |rows: &[u8]| -> Vec<u64> {
        let word = |row: &[u8]| row[width - ELEMENT_BYTES..].try_into().expect("one word");
        rows.chunks_exact(width).map(|row| u64::from_le_bytes(word(row))).collect()
    };
    let terms = |[in_a, in_b]: &mut [Vec<u8>; 2], piece: usize| {
        let first = piece * piece_rows;
        let bytes = piece_rows.min(rows - first) * width;
        in_a.resize(bytes, 0);
        in_b.resize(bytes, 0);
        a.read::<F>(bundle, first, in_a);
        b.read::<F>(bundle, first, in_b);
        F::replicated_rows(c, &weights(in_a), &weights(in_b), in_a, in_b)
    };
    let pieces = rows.div_ceil(piece_rows);
    let sums: Vec<F> = (0..pieces).into_par_iter().map_init(Default::default, terms).collect();
    sums.into_iter().sum()
}
