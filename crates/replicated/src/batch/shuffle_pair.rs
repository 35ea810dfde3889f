//! Shuffle-Pair (Ruffle appendix B, Fig. 9; Laur, Willemson and Zhang): one pair permutes a shared
//! table.
//!
//! With pair {i, j} and third party k: member m ∈ {i, j} sends the other one `ρ_m = π_ij([T]_mk) ⊕
//! [T']_mk`, where the fresh share `[T']_mk` is derived by m and k; then `[T']_ij = π_ij([T]_ij) ⊕
//! ρ_i ⊕ ρ_j`. The weights move with their rows.
//!
//! A message ends with a salt that the pair alone can compute. Messages are countersigned before
//! all three parties, so k sees their digests, and k knows everything in ρ_m but π_ij: without the
//! salt it could try permutations until the digest is right.

use std::sync::Arc;

use ostrakon_kernels::{gather, gather_xor_prg, zeroed_table};

use crate::batch::seeds::{BatchSeeds, Purpose};
use crate::batch::shares::{self, Derived, Share, Shares, Stored};
use crate::messages::{BatchSpec, STAGES};
use crate::pair::Pair;
use crate::params::{SALT, WEIGHT_BYTES};

/// The fresh share that a stage gives to a pair with the third party in it: rows and weights are
/// one stream, rows first.
pub struct Fresh {
    rows: Arc<ostrakon_kernels::Prg>,
    weights: Arc<ostrakon_kernels::Prg>,
}

impl Fresh {
    /// Of a pair in a stage.
    pub fn new(seeds: &BatchSeeds, pair: Pair, stage: usize) -> Self {
        let seed = seeds.of(pair).purpose(Purpose::Reshare(stage));
        let stream = |name: &[u8]| {
            Arc::new(ostrakon_kernels::Prg::new(
                seed.derive("ostrakon/v1/ruffle/fresh share", &[name]).expose(),
            ))
        };
        Self { rows: stream(b"rows"), weights: stream(b"weights") }
    }

    fn share(self) -> Share {
        Share::Derived(Arc::new(Derived {
            rows: vec![self.rows],
            slots: None,
            weights: self.weights,
        }))
    }
}

/// One stage as its permuting pair computes it.
pub struct Permuting<'a> {
    /// The batch.
    pub spec: &'a BatchSpec,
    /// Seeds of the pairs whose shares are used.
    pub seeds: &'a BatchSeeds,
    /// 0, 1 or 2.
    pub stage: usize,
    /// The pair's permutation.
    pub index: &'a [u32],
    /// The table before.
    pub table: &'a Shares,
}

impl Permuting<'_> {
    /// Member `member`'s message ρ: the permuted, masked rows, then the weights, then the salt.
    /// `scratch` is overwritten.
    pub fn message(&self, member: u8, scratch: &mut Stored) -> Vec<u8> {
        let mut body = self.masked(member, scratch);
        let salt = Purpose::Salt { stage: self.stage, sender: member };
        let salt = self.seeds.of(STAGES[self.stage]).purpose(salt);
        let at = body.len() - SALT;
        body[at..].copy_from_slice(salt.expose());
        body
    }

    /// The message with room for its salt: what the third party, too, computes from the
    /// permutation.
    fn masked(&self, member: u8, scratch: &mut Stored) -> Vec<u8> {
        let shape = self.spec.shape;
        let with_third = Pair::of(member, STAGES[self.stage].outsider());
        let source = shares::of(self.table, with_third).materialise(shape, scratch);
        let fresh = Fresh::new(self.seeds, with_third, self.stage);
        let weights = shape.rows as usize * WEIGHT_BYTES;
        let mut body = zeroed_table(shape.bytes() + weights + SALT);
        let (rows, rest) = body.split_at_mut(shape.bytes());
        let weights = &mut rest[..weights];
        gather_xor_prg(rows, source.rows(), shape.width as usize, self.index, &fresh.rows, 0);
        gather_xor_prg(weights, source.weights(), WEIGHT_BYTES, self.index, &fresh.weights, 0);
        body
    }

    /// The permuted old share of the pair, into `permuted`: with both messages added it is the new
    /// one. `scratch` is overwritten.
    pub fn permute(&self, scratch: &mut Stored, permuted: &mut Stored) {
        let shape = self.spec.shape;
        let source = shares::of(self.table, STAGES[self.stage]).materialise(shape, scratch);
        permuted.make_room(shape);
        let (rows, weights) = permuted.parts_mut();
        gather(rows, source.rows(), shape.width as usize, self.index);
        gather(weights, source.weights(), WEIGHT_BYTES, self.index);
    }
}

/// The table after a stage, as far as the caller's seeds go: derived shares for the pairs with the
/// third party, and `combined` for the permuting pair.
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

#[cfg(test)]
mod tests;
