//! Shuffle-Pair (Ruffle appendix B, Fig. 9; Laur, Willemson and Zhang): one pair permutes a shared table.
//!
//! With pair {i, j} and third party k: member m ∈ {i, j} sends the other one `ρ_m = π_ij([T]_mk) ⊕ [T']_mk`, where the fresh
//! share [T']_mk is derived by m and k; then `[T']_ij = π_ij([T]_ij) ⊕ ρ_i ⊕ ρ_j`. The weights move with their rows.

use std::sync::Arc;

use ostrakon_kernels::{gather, gather_xor_prg, xor_into};

use crate::messages::{BatchSpec, STAGES};
use crate::pair::Pair;
use crate::params::WEIGHT_BYTES;
use crate::seeds::{BatchSeeds, Purpose};
use crate::shares::{self, Derived, Share, Shares, Stored};

/// The fresh share that a stage gives to a pair with the third party in it: rows and weights are one stream, rows first.
pub struct Fresh {
    rows: Arc<ostrakon_kernels::Prg>,
    weights: Arc<ostrakon_kernels::Prg>,
}

impl Fresh {
    /// Of a pair in a stage.
    pub fn new(seeds: &BatchSeeds, pair: Pair, stage: usize) -> Self {
        let seed = seeds.of(pair).purpose(Purpose::Reshare(stage));
        let stream = |name: &[u8]| {
            Arc::new(ostrakon_kernels::Prg::new(seed.derive("ostrakon/v1/ruffle/fresh share", &[name]).expose()))
        };
        Self { rows: stream(b"rows"), weights: stream(b"weights") }
    }

    fn share(self) -> Share {
        Share::Derived(Arc::new(Derived { rows: vec![self.rows], slots: None, weights: self.weights }))
    }
}

/// Member `member`'s message ρ of a stage: the permuted, masked rows, then the weights.
pub fn message(
    spec: &BatchSpec,
    seeds: &BatchSeeds,
    stage: usize,
    index: &[u32],
    member: u8,
    table: &Shares,
) -> Vec<u8> {
    let shape = spec.shape;
    let with_third = Pair::of(member, STAGES[stage].outsider());
    let source = shares::of(table, with_third).materialise(shape);
    let fresh = Fresh::new(seeds, with_third, stage);
    let mut body = vec![0; shape.bytes() + shape.rows as usize * WEIGHT_BYTES];
    let (rows, weights) = body.split_at_mut(shape.bytes());
    gather_xor_prg(rows, &source.rows, shape.width as usize, index, &fresh.rows, 0);
    gather_xor_prg(weights, &source.weights, WEIGHT_BYTES, index, &fresh.weights, 0);
    body
}

/// The permuting pair's new share, from its old one and both messages.
pub fn combine(spec: &BatchSpec, stage: usize, index: &[u32], table: &Shares, messages: [&[u8]; 2]) -> Stored {
    let shape = spec.shape;
    let mut rows = vec![0; shape.bytes()];
    let mut weights = vec![0; shape.rows as usize * WEIGHT_BYTES];
    {
        let source = shares::of(table, STAGES[stage]).materialise(shape);
        gather(&mut rows, &source.rows, shape.width as usize, index);
        gather(&mut weights, &source.weights, WEIGHT_BYTES, index);
    }
    for message in messages {
        let (message_rows, message_weights) = message.split_at(shape.bytes());
        xor_into(&mut rows, message_rows);
        xor_into(&mut weights, message_weights);
    }
    Stored { rows, weights }
}

/// The table after a stage, as far as the caller's seeds go: derived shares for the pairs with the third party, and `combined` for
/// the permuting pair.
pub fn output(seeds: &BatchSeeds, stage: usize, combined: Option<Stored>) -> Shares {
    let mut shares = [None, None, None];
    for pair in Pair::ALL {
        shares[pair.index()] = if pair == STAGES[stage] {
            // A party outside the pair has nothing to store here.
            None
        } else {
            seeds.get(pair).map(|_| Fresh::new(seeds, pair, stage).share())
        };
    }
    if let Some(stored) = combined {
        shares[STAGES[stage].index()] = Some(Share::Stored(Arc::new(stored)));
    }
    shares
}
