//! Everything random in a batch, derived one-way from one seed per pair.

use ostrakon_crypto::{Digest, Secret};
use ostrakon_kernels::{Prg, permutation};
use ostrakon_threeparty::setup::SharedKeys;

use crate::messages::BatchSpec;
use crate::pair::Pair;

/// What a pair's derived seed is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The permutation π_ij.
    Permutation,
    /// The mask R_ij.
    Mask,
    /// The share `[α]_ij` of the input masks, or the slots that it is made of.
    Inputs,
    /// The share `[r]_ij` of the check weights.
    Weights,
    /// The fresh share `[T']_ij` that stage 0, 1 or 2 gives the pair.
    Reshare(usize),
    /// The salt of a member's message of a stage.
    Salt {
        /// 0, 1 or 2.
        stage: usize,
        /// The member that sends the message.
        sender: u8,
    },
    /// Zero-shares that mask local sums.
    Zero,
}

/// A pair's seed of one batch. Not `Clone`: a batch is used once.
pub struct PairSeed(Secret);

impl PairSeed {
    /// Derives the seed of a batch from the pair's key. One-way: opening it tells nothing of the
    /// key.
    pub fn derive(key: &Secret, session: &Digest, pair: Pair, spec: &BatchSpec) -> Self {
        let scope = spec.instance().scope;
        let fields: [&[u8]; 4] =
            [&session.0, &[pair.index() as u8], &scope, &spec.number.to_le_bytes()];
        Self(key.derive("ostrakon/v1/ruffle/batch seed", &fields))
    }

    /// A seed that was opened for blame.
    pub fn opened(bytes: [u8; 32]) -> Self {
        Self(Secret::new(bytes))
    }

    /// The seed itself, for opening a failed batch.
    pub fn expose(&self) -> &[u8; 32] {
        self.0.expose()
    }

    /// The seed for one purpose. One-way: opening it tells nothing of the others.
    pub fn purpose(&self, purpose: Purpose) -> Secret {
        let name: &[u8] = match purpose {
            Purpose::Permutation => b"permutation",
            Purpose::Mask => b"mask",
            Purpose::Inputs => b"inputs",
            Purpose::Weights => b"weights",
            Purpose::Reshare(0) => b"reshare 0",
            Purpose::Reshare(1) => b"reshare 1",
            Purpose::Reshare(_) => b"reshare 2",
            Purpose::Salt { stage, sender } => {
                let of = [stage as u8, sender];
                return self.0.derive("ostrakon/v1/ruffle/message salt", &[&of]);
            }
            Purpose::Zero => b"zero",
        };
        self.0.derive("ostrakon/v1/ruffle/purpose", &[name])
    }

    /// The stream for one purpose.
    pub fn prg(&self, purpose: Purpose) -> Prg {
        Prg::new(self.purpose(purpose).expose())
    }

    /// The pair's permutation: output row i is input row `index[i]`.
    pub fn permutation(&self, rows: u32) -> Vec<u32> {
        permutation::sample(&self.prg(Purpose::Permutation), rows as usize)
    }
}

/// The seeds of a batch that somebody knows: a party two, a blamer all three. By [`Pair::index`].
pub struct BatchSeeds(pub [Option<PairSeed>; 3]);

impl BatchSeeds {
    /// A party's.
    pub fn of_party(keys: &SharedKeys, spec: &BatchSpec) -> Self {
        let mut seeds = [None, None, None];
        for (pair, key) in keys.pairs() {
            seeds[pair.index()] = Some(PairSeed::derive(key, &keys.session().0, pair, spec));
        }
        Self(seeds)
    }

    /// The seed of a pair, if known.
    pub fn get(&self, pair: Pair) -> Option<&PairSeed> {
        self.0[pair.index()].as_ref()
    }

    /// The seed of a pair that the caller is in.
    pub fn of(&self, pair: Pair) -> &PairSeed {
        self.get(pair).expect("a party asks for the seeds of its own pairs only")
    }
}
