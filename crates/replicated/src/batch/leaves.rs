//! Hashes and leaves of many slots at a time: the same as one by one ([`crate::slots`]).

use std::cell::Cell;

use ostrakon_crypto::{Digest, many};
use ostrakon_kernels::Prg;

use crate::params::SLOT_SEED;
use crate::slots::{Hashed, NAME, SlotsContext, block};

/// Bytes that there are of a slot, in two halves: its mask seed and its pad seed, or the hash of
/// the mask seed and the pad seed, or its leaf.
pub const ENTRY: usize = 2 * SLOT_SEED;

/// Slots that a thread works on at a time.
pub const TASK: usize = 1 << 10;

/// Consecutive slots of a pair.
pub struct Run<'a> {
    context: &'a SlotsContext,
    first: u32,
    entries: &'a [Cell<[u8; ENTRY]>],
}

impl<'a> Run<'a> {
    /// From slot `first` on.
    pub fn new(context: &'a SlotsContext, first: u32, entries: &'a mut [[u8; ENTRY]]) -> Self {
        Self { context, first, entries: Cell::from_mut(entries).as_slice_of_cells() }
    }

    /// Puts the hash of its mask seed in the place of that, in the entries of these slots.
    pub fn hash_masks(&self, of: impl Fn(u32) -> bool) {
        self.hash(Hashed::Mask, of, |entry, hash| {
            let mut hashed = entry.get();
            hashed[..SLOT_SEED].copy_from_slice(&hash[..SLOT_SEED]);
            entry.set(hashed);
        });
    }

    /// Puts the leaf in the place of what it is made of, in the entries of these slots.
    pub fn hash_leaves(&self, of: impl Fn(u32) -> bool) {
        self.hash(Hashed::Leaf, of, |entry, hash| entry.set(*hash));
    }

    fn hash(
        &self,
        what: Hashed,
        of: impl Fn(u32) -> bool,
        put: impl Fn(&Cell<[u8; ENTRY]>, &[u8; 32]),
    ) {
        let of = &of;
        let chosen = || (self.first..).zip(self.entries).filter(move |(slot, _)| of(*slot));
        let blocks = chosen().map(|(slot, entry)| {
            (self.context.key(), block(slot, what, &entry.get()[..what.bytes()]))
        });
        let mut results = chosen();
        many::keyed_blocks(NAME + what.bytes(), blocks, |_, hash| {
            let (_, entry) = results.next().expect("there are as many as were hashed");
            put(entry, hash);
        });
    }
}

/// Writes the leaves of the slots from `first` on, whose seeds are in the pair's stream `prg`.
pub fn write(context: &SlotsContext, prg: &Prg, first: u32, leaves: &mut [Digest]) {
    let mut entries = vec![[0; ENTRY]; leaves.len()];
    prg.fill_at(u64::from(first) * ENTRY as u64, entries.as_flattened_mut());
    let run = Run::new(context, first, &mut entries);
    run.hash_masks(|_| true);
    run.hash_leaves(|_| true);
    leaves.iter_mut().zip(entries).for_each(|(leaf, entry)| *leaf = Digest(entry));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::Pair;
    use crate::slots::SlotSeeds;

    #[test]
    fn leaves_are_those_of_single_slots() {
        let context = SlotsContext::new(&Digest([1; 32]), 2, Pair::P02);
        let prg = Prg::new(&[3; 32]);
        let mut leaves = vec![Digest([0; 32]); 29];
        write(&context, &prg, 70, &mut leaves);
        for (slot, leaf) in (70..).zip(leaves) {
            assert_eq!(leaf, SlotSeeds::derive(&prg, slot).leaf(&context, slot), "slot {slot}");
        }
    }

    #[test]
    fn only_chosen_entries_are_hashed() {
        let context = SlotsContext::new(&Digest([1; 32]), 2, Pair::P01);
        let entry = |slot: u32| -> [u8; ENTRY] { std::array::from_fn(|at| slot as u8 + at as u8) };
        let mut entries: Vec<_> = (5..50).map(entry).collect();
        let chosen = |slot: u32| slot % 3 != 1;
        Run::new(&context, 5, &mut entries).hash_masks(chosen);
        for (slot, hashed) in (5..).zip(entries) {
            let [mask, pad] = [0, SLOT_SEED].map(|at| entry(slot)[at..][..SLOT_SEED].to_vec());
            let (mask, pad) = (mask.try_into().unwrap(), pad.try_into().unwrap());
            let digest = SlotSeeds { mask, pad }.mask_digest(&context, slot).0;
            let first = if chosen(slot) { digest } else { mask };
            assert_eq!(hashed, [first, pad].concat()[..], "slot {slot}");
        }
    }
}
