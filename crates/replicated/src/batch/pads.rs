//! Showing the pads of sealed slots to the third server, and the masks to a trusted one, in a form
//! that proves itself.
//!
//! The message has 32 bytes for every slot of the table: for a shown slot the two halves that its
//! leaf is made of, for any other slot the leaf. The receiver computes the root from it. One true
//! member of the pair is therefore enough, and a false one has signed its own conviction.

use ostrakon_crypto::{Digest, merkle};
use ostrakon_kernels::{Prg, short_prg_rows, zeroed_table};
use zeroize::Zeroize;

use crate::batch::seeds::{PairSeed, Purpose};
use crate::messages::BatchSpec;
use crate::pair::Pair;
use crate::params::SLOT_SEED;
use crate::slots::{self, MaskDigest, SlotSeeds, SlotsContext};

/// Bytes of a slot in a message.
const ENTRY: usize = 2 * SLOT_SEED;

/// What is shown of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// The hash of the mask seed, and the pad seed.
    Pads,
    /// The mask seed and the pad seed: to a trusted server only.
    Masks,
}

/// Writes the message for a pair's slots. `shown` is in ascending order.
pub fn encode(
    show: Show,
    spec: &BatchSpec,
    session: &Digest,
    pair: Pair,
    seed: &PairSeed,
    shown: &[u32],
) -> Vec<u8> {
    use rayon::prelude::*;
    let context = SlotsContext::new(session, spec.number, pair);
    let prg = slots::slots_prg(&seed.purpose(Purpose::Inputs));
    let is_shown = flags(spec.shape.rows, shown);
    let mut body = zeroed_table(spec.shape.rows as usize * ENTRY);
    body.par_chunks_exact_mut(ENTRY).enumerate().with_min_len(1024).for_each(|(slot, entry)| {
        let slot = slot as u32;
        let seeds = SlotSeeds::derive(&prg, slot);
        let (first, second) = entry.split_at_mut(SLOT_SEED);
        match (is_shown[slot as usize], show) {
            (false, _) => return entry.copy_from_slice(&seeds.leaf(&context, slot).0),
            (true, Show::Pads) => first.copy_from_slice(&seeds.mask_digest(&context, slot).0),
            (true, Show::Masks) => first.copy_from_slice(&seeds.mask),
        }
        second.copy_from_slice(&seeds.pad);
    });
    body
}

/// Which slots are shown. Slots outside the table, which evidence may name, are none.
fn flags(rows: u32, shown: &[u32]) -> Vec<bool> {
    let mut flags = vec![false; rows as usize];
    for slot in shown {
        if let Some(flag) = flags.get_mut(*slot as usize) {
            *flag = true;
        }
    }
    flags
}

/// The root that a message amounts to.
fn root(
    show: Show,
    spec: &BatchSpec,
    session: &Digest,
    pair: Pair,
    shown: &[u32],
    body: &[u8],
) -> Digest {
    use rayon::prelude::*;
    let context = SlotsContext::new(session, spec.number, pair);
    let is_shown = flags(spec.shape.rows, shown);
    let leaf = |(slot, entry): (usize, &[u8])| {
        if !is_shown[slot] {
            return Digest(entry.try_into().expect("32 bytes"));
        }
        let slot = slot as u32;
        let (first, pad) = entry.split_at(SLOT_SEED);
        let (first, pad) = (first.try_into().expect("half"), pad.try_into().expect("half"));
        match show {
            Show::Pads => slots::leaf(&context, slot, &MaskDigest(first), &pad),
            Show::Masks => SlotSeeds { mask: first, pad }.leaf(&context, slot),
        }
    };
    merkle::root(body.par_chunks_exact(ENTRY).enumerate().with_min_len(1024).map(leaf).collect())
}

/// Whether a message opens the pair's root. Its length must have been checked.
#[must_use]
pub fn verify(
    show: Show,
    spec: &BatchSpec,
    session: &Digest,
    pair: Pair,
    stated_root: &Digest,
    shown: &[u32],
    body: &[u8],
) -> bool {
    root(show, spec, session, pair, shown, body) == *stated_root
}

/// XORs a pair's pads of the shown slots into the rows of a table.
pub fn xor_pads(
    table: &mut [u8],
    width: usize,
    shown: &[u32],
    pad_of: impl Fn(u32) -> [u8; SLOT_SEED] + Sync,
) {
    use rayon::prelude::*;
    // Slots ascend, so every piece of the table is a piece of the list.
    let rows_per_piece = (1 << 18) / width.max(1) + 1;
    table.par_chunks_mut(rows_per_piece * width).enumerate().for_each(|(piece, rows)| {
        let first = (piece * rows_per_piece) as u32;
        let last = first + (rows.len() / width) as u32;
        let from = shown.partition_point(|slot| *slot < first);
        let to = shown.partition_point(|slot| *slot < last);
        let mut pads = Vec::with_capacity((to - from) * SLOT_SEED);
        for neighbours in shown[from..to].chunk_by(|a, b| a + 1 == *b) {
            pads.clear();
            neighbours.iter().for_each(|slot| pads.extend_from_slice(&pad_of(*slot)));
            let at = (neighbours[0] - first) as usize * width;
            short_prg_rows(&pads, width, &mut rows[at..at + neighbours.len() * width], true);
        }
        pads.zeroize();
    });
}

/// The pad of a slot from a message that has been verified.
pub fn pad_in(body: &[u8], slot: u32) -> [u8; SLOT_SEED] {
    let at = slot as usize * ENTRY + SLOT_SEED;
    body[at..at + SLOT_SEED].try_into().expect("half")
}

/// The pads of a pair that the caller is in.
pub fn own_pads(seed: &PairSeed) -> Prg {
    slots::slots_prg(&seed.purpose(Purpose::Inputs))
}
