//! Showing the pads of sealed slots to the third server, and the masks to a trusted one, in a form
//! that proves itself.
//!
//! The message has 32 bytes for every slot of the table: for a shown slot the two halves that its
//! leaf is made of, for any other slot the leaf. The receiver computes the root from it. One true
//! member of the pair is therefore enough, and a false one has signed its own conviction.

use ostrakon_crypto::{Digest, merkle};
use ostrakon_kernels::{Prg, short_prg_rows, wipe, zeroed_table};

use crate::batch::leaves::{ENTRY, Run, TASK};
use crate::batch::seeds::{PairSeed, Purpose};
use crate::messages::{BatchSpec, Shape};
use crate::pair::Pair;
use crate::params::SLOT_SEED;
use crate::slots::{self, SlotsContext};

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
    body.par_chunks_mut(TASK * ENTRY).enumerate().for_each(|(task, bytes)| {
        let first = task * TASK;
        prg.fill_at((first * ENTRY) as u64, bytes);
        let run = Run::new(&context, first as u32, bytes.as_chunks_mut().0);
        let is_absent = |slot: u32| !is_shown[slot as usize];
        match show {
            Show::Pads => run.hash_masks(|_| true),
            Show::Masks => run.hash_masks(is_absent),
        }
        run.hash_leaves(is_absent);
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
    let context = SlotsContext::new(session, spec.number, pair);
    let is_shown = flags(spec.shape.rows, shown);
    let (entries, _) = body.as_chunks::<ENTRY>();
    let write = |first: usize, leaves: &mut [Digest]| {
        let mut entries = entries[first..first + leaves.len()].to_vec();
        let run = Run::new(&context, first as u32, &mut entries);
        let is_shown = |slot: u32| is_shown[slot as usize];
        if show == Show::Masks {
            run.hash_masks(is_shown);
        }
        run.hash_leaves(is_shown);
        leaves.iter_mut().zip(entries).for_each(|(leaf, entry)| *leaf = Digest(entry));
    };
    merkle::root_of(spec.shape.rows as usize, write)
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

/// What takes the pads off sealed rows.
pub struct Unpadding<'a> {
    /// The streams of the own pairs' slots.
    pub own: [Prg; 2],
    /// The verified message about the slots of the third pair.
    pub received: &'a [u8],
}

impl Unpadding<'_> {
    /// A table of the masked rows of sealed slots without their pads; `masked` has the row of the
    /// slot at a place of `sealed`, which ascends. Rows of other slots are zero.
    pub fn table<'r>(
        &self,
        shape: Shape,
        sealed: &[u32],
        masked: impl Fn(usize) -> &'r [u8] + Sync,
    ) -> Vec<u8> {
        use rayon::prelude::*;
        let width = shape.width as usize;
        let mut table = zeroed_table(shape.bytes());
        table.par_chunks_mut(TASK * width).enumerate().for_each(|(task, rows)| {
            let first = (task * TASK) as u32;
            let last = first + (rows.len() / width) as u32;
            let until = |slot: u32| sealed.partition_point(|sealed| *sealed < slot);
            let mut places = until(first)..until(last);
            let mut seeds = Seeds::new();
            for neighbours in sealed[places.clone()].chunk_by(|a, b| a + 1 == *b) {
                let at = (neighbours[0] - first) as usize * width;
                let rows = &mut rows[at..at + neighbours.len() * width];
                for (row, place) in rows.chunks_exact_mut(width).zip(&mut places) {
                    row.copy_from_slice(masked(place));
                }
                self.unpad(neighbours[0] as usize, width, rows, &mut seeds);
            }
        });
        table
    }

    /// Takes the pads off the rows of neighbouring slots from `first` on.
    fn unpad(&self, first: usize, width: usize, rows: &mut [u8], seeds: &mut Seeds) {
        let bytes = rows.len() / width * ENTRY;
        let Seeds { entries, pads } = seeds;
        for prg in &self.own {
            prg.fill_at((first * ENTRY) as u64, &mut entries[..bytes]);
            short_prg_rows(pads_in(&entries[..bytes], pads), width, rows, true);
        }
        let received = &self.received[first * ENTRY..][..bytes];
        short_prg_rows(pads_in(received, pads), width, rows, true);
    }
}

/// Room for the seeds of as many slots as are worked on at a time, wiped when dropped.
struct Seeds {
    entries: Vec<u8>,
    pads: Vec<u8>,
}

impl Seeds {
    fn new() -> Self {
        Self { entries: vec![0; TASK * ENTRY], pads: vec![0; TASK * SLOT_SEED] }
    }
}

impl Drop for Seeds {
    fn drop(&mut self) {
        wipe(&mut self.entries);
        wipe(&mut self.pads);
    }
}

/// The pad seeds of slots of which these are the entries, in that room.
fn pads_in<'p>(entries: &[u8], room: &'p mut [u8]) -> &'p [u8] {
    let (entries, _) = entries.as_chunks::<ENTRY>();
    let pads = &mut room[..entries.len() * SLOT_SEED];
    for (pad, entry) in pads.chunks_exact_mut(SLOT_SEED).zip(entries) {
        pad.copy_from_slice(&entry[SLOT_SEED..]);
    }
    pads
}

/// The pads of a pair that the caller is in.
pub fn own_pads(seed: &PairSeed) -> Prg {
    slots::slots_prg(&seed.purpose(Purpose::Inputs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::statements::slots_root;
    use crate::messages::Inputs;
    use crate::slots::SlotSeeds;

    const SESSION: Digest = Digest([1; 32]);
    const PAIR: Pair = Pair::P02;

    fn spec(rows: usize) -> BatchSpec {
        let shape = Shape { rows: rows as u32, width: 24 };
        BatchSpec { number: 3, shape, inputs: Inputs::Slots }
    }

    /// Some with neighbours, some without, over more slots than are worked on at a time.
    fn some(rows: usize) -> Vec<u32> {
        (0..rows as u32).filter(|slot| slot % 7 != 2 && slot % 100 < 90).collect()
    }

    #[test]
    fn what_is_shown_is_of_each_slot_and_opens_the_root() {
        let seed = PairSeed::opened([5; 32]);
        for (show, rows) in [Show::Pads, Show::Masks].into_iter().zip([3, 2 * TASK + 77]) {
            let (spec, shown) = (spec(rows), some(rows));
            let body = encode(show, &spec, &SESSION, PAIR, &seed, &shown);
            let context = SlotsContext::new(&SESSION, spec.number, PAIR);
            for (slot, entry) in (0..).zip(body.as_chunks::<ENTRY>().0) {
                let seeds = SlotSeeds::derive(&own_pads(&seed), slot);
                let first = match show {
                    Show::Pads => seeds.mask_digest(&context, slot).0,
                    Show::Masks => seeds.mask,
                };
                let expected = match shown.binary_search(&slot) {
                    Ok(_) => [first, seeds.pad].concat(),
                    Err(_) => seeds.leaf(&context, slot).0.to_vec(),
                };
                assert_eq!(entry[..], expected, "slot {slot}");
            }
            let stated = slots_root(&spec, &SESSION, PAIR, &seed);
            let opens = |body: &[u8]| verify(show, &spec, &SESSION, PAIR, &stated, &shown, body);
            assert!(opens(&body));
            for at in [0, 2 * ENTRY + 31, body.len() - 20] {
                let mut changed = body.clone();
                changed[at] ^= 1;
                assert!(!opens(&changed), "byte {at}");
            }
        }
    }

    #[test]
    fn pads_are_taken_off_sealed_rows_and_all_others_are_zero() {
        let rows = 2 * TASK + 77;
        let (shape, sealed) = (spec(rows).shape, some(rows));
        let width = shape.width as usize;
        let seeds = [6, 7, 8].map(|byte| PairSeed::opened([byte; 32]));
        let masked: Vec<Vec<u8>> = sealed.iter().map(|slot| vec![*slot as u8; width]).collect();
        let (third, spec) = (&seeds[2], spec(rows));
        let received = encode(Show::Pads, &spec, &SESSION, PAIR, third, &sealed);
        let own = [0, 1].map(|pair: usize| own_pads(&seeds[pair]));
        let table = Unpadding { own, received: &received }.table(shape, &sealed, |at| &masked[at]);
        for (slot, row) in (0..).zip(table.chunks_exact(width)) {
            let mut expected = vec![0; width];
            if let Ok(at) = sealed.binary_search(&slot) {
                expected.copy_from_slice(&masked[at]);
                for pair in &seeds {
                    SlotSeeds::derive(&own_pads(pair), slot).xor_pad(&mut expected);
                }
            }
            assert_eq!(row, expected, "slot {slot}");
        }
        assert_eq!(table.len(), rows * width);
    }
}
