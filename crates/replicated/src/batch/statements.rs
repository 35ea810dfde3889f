//! What is stated and opened of a batch, and how it is read.

use ostrakon_crypto::{Digest, merkle};
use ostrakon_field::Gf64;

use crate::batch::leaves::{self, TASK};
use crate::batch::seeds::{PairSeed, Purpose};
use crate::coin::{self, seed_digest};
use crate::messages::{BatchSpec, Inputs, PairStatement};
use crate::pair::Pair;
use crate::slots::{self, SlotsContext};

/// What both members of a pair state about its seeds.
pub fn pair_statement(
    spec: &BatchSpec,
    session: &Digest,
    pair: Pair,
    seed: &PairSeed,
) -> PairStatement {
    let of = |purpose| seed_digest(seed.purpose(purpose).expose());
    PairStatement {
        batch: seed_digest(seed.expose()),
        permutation: of(Purpose::Permutation),
        mask: of(Purpose::Mask),
        last: of(Purpose::Reshare(2)),
        slots: match spec.inputs {
            Inputs::Stream => Digest([0; 32]),
            Inputs::Slots => slots_root(spec, session, pair, seed),
        },
    }
}

/// The root over the leaves of a pair's slots.
pub fn slots_root(spec: &BatchSpec, session: &Digest, pair: Pair, seed: &PairSeed) -> Digest {
    merkle::root_of(spec.shape.rows as usize, leaves_of(spec, session, pair, seed))
}

/// The leaves of a pair's slots, in order.
pub fn slot_leaves(spec: &BatchSpec, session: &Digest, pair: Pair, seed: &PairSeed) -> Vec<Digest> {
    use rayon::prelude::*;
    let write = leaves_of(spec, session, pair, seed);
    let mut leaves = vec![Digest([0; 32]); spec.shape.rows as usize];
    let tasks = leaves.par_chunks_mut(TASK).enumerate();
    tasks.for_each(|(task, leaves)| write(task * TASK, leaves));
    leaves
}

/// Writes the leaves of a pair's slots from a given one on.
fn leaves_of(
    spec: &BatchSpec,
    session: &Digest,
    pair: Pair,
    seed: &PairSeed,
) -> impl Fn(usize, &mut [Digest]) + Sync {
    let context = SlotsContext::new(session, spec.number, pair);
    let prg = slots::slots_prg(&seed.purpose(Purpose::Inputs));
    move |first, leaves| leaves::write(&context, &prg, first as u32, leaves)
}

/// What a member's statement says about a pair.
pub fn stated(body: &[u8], member: u8, pair: Pair) -> PairStatement {
    PairStatement::decode(body)[usize::from(Pair::of_party(member)[1] == pair)]
}

/// A party's opened local sum of a stage.
pub fn sum_of(opening: &[u8], stage: usize) -> Gf64 {
    let words = &coin::value_of(opening)[32..];
    Gf64::from_le_bytes(words[8 * stage..8 * stage + 8].try_into().expect("three words"))
}

/// The coin with which a party says that it computed its local sums. It binds the sums to the coin
/// before a third person, to whom a cheater could show another coin.
pub fn coin_of(opening: &[u8]) -> Digest {
    Digest(coin::value_of(opening)[..32].try_into().expect("a coin, then three words"))
}
