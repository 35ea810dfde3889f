//! The pairs' factors of permutations, expanded from seeds.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_kernels::permutation;
use ostrakon_replicated::pair::Pair;

use super::seeds::{JobSeeds, Purpose, pair_permutation};
use super::uses::Use;

/// The factors of permutations, in both directions, as far as somebody's seeds go.
#[derive(Default)]
pub struct Factors(BTreeMap<(u32, Pair, bool), Arc<Vec<u32>>>);

impl Factors {
    /// Expands the factors that the uses need.
    pub fn expand<'a>(seeds: &JobSeeds, uses: impl Iterator<Item = &'a Use>) -> Self {
        let mut factors = Self::default();
        for u in uses {
            for pair in Pair::ALL {
                let Some(seed) = seeds.get(pair) else { continue };
                let place = (u.id.permutation, pair, u.id.inverse);
                if factors.0.contains_key(&place) {
                    continue;
                }
                let purpose = Purpose::Permutation(u.id.permutation);
                let forward = pair_permutation(&seed.purpose(purpose), &u.permutation);
                let index = if u.id.inverse { permutation::invert(&forward) } else { forward };
                factors.0.insert(place, Arc::new(index));
            }
        }
        factors
    }

    /// The factor that a pair applies in a use.
    pub fn of(&self, u: &Use, pair: Pair) -> &[u32] {
        &self.0[&(u.id.permutation, pair, u.id.inverse)]
    }
}
