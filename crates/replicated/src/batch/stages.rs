//! The tables before, between and after the three Shuffle-Pairs of a batch (Ruffle Fig. 3).

use std::sync::Arc;

use ostrakon_kernels::{gather, xor_into, zeroed_table};

use crate::batch::seeds::{BatchSeeds, Purpose};
use crate::batch::shares::{Derived, Share, Shares, Stored};
use crate::messages::{BatchSpec, Inputs};
use crate::pair::Pair;

/// The input of the first stage: shares of `ρ_1 = α ⊕ R_02` with weights.
pub fn input(spec: &BatchSpec, seeds: &BatchSeeds) -> Shares {
    Pair::ALL.map(|pair| {
        let seed = seeds.get(pair)?;
        let stream = Arc::new(seed.prg(Purpose::Inputs));
        let (rows, slots) = match spec.inputs {
            Inputs::Stream => (vec![stream], None),
            Inputs::Slots => (Vec::new(), Some(stream)),
        };
        let share = Share::Derived(Arc::new(Derived {
            rows,
            slots,
            weights: Arc::new(seed.prg(Purpose::Weights)),
        }));
        if pair == Pair::P02 {
            share.with_mask(Arc::new(seed.prg(Purpose::Mask)))
        } else {
            Some(share)
        }
    })
}

/// The input of the next stage from the output of the one before: the second stage adds R_01 (Fig.
/// 3, step 2).
pub fn next_input(seeds: &BatchSeeds, stage: usize, output: &Shares) -> Shares {
    let mut input = output.clone();
    if stage == 1
        && let (Some(share), Some(seed)) = (&output[Pair::P01.index()], seeds.get(Pair::P01))
    {
        input[Pair::P01.index()] = share.with_mask(Arc::new(seed.prg(Purpose::Mask)));
    }
    input
}

/// The rows of `[α_out]_12 = [ρ_5]_12 ⊕ π_12(R_12)` (Fig. 3, step 4). `scratch` is overwritten.
pub fn last_table(
    spec: &BatchSpec,
    seeds: &BatchSeeds,
    index: &[u32],
    rho5: &Stored,
    scratch: &mut Stored,
) -> Vec<u8> {
    scratch.make_room(spec.shape);
    let (mask, _) = scratch.parts_mut();
    seeds.of(Pair::P12).prg(Purpose::Mask).fill(mask);
    let mut rows = zeroed_table(spec.shape.bytes());
    gather(&mut rows, mask, spec.shape.width as usize, index);
    xor_into(&mut rows, rho5.rows());
    rows
}
