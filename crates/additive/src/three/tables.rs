//! The tables of the mix, as each server makes its own (Definition IV.1 and Protocol IV.2;
//! `docs/spec/clarion.md`, E6 to E8). A message is a table, then its column, then
//! a salt, which grows from a key that the third server lacks: the third server is shown the
//! message's digest, and could otherwise test guesses of the permutation and of rows with it.

use std::sync::OnceLock;

use ostrakon_crypto::VerifyingKey;
use ostrakon_kernels::{gather, gather_xor_prg, short_prg_rows, xor_into, zeroed_table};
use ostrakon_threeparty::pair::Pair;
use rayon::prelude::*;
use zeroize::{Zeroize, Zeroizing};

use super::columns;
use super::keys::{EpochKeys, Purpose};
use super::registration::Held;
use crate::client::PadContext;
use crate::params::{PAD_SEED, SALT, WORD};

/// Rows and width of an epoch's tables, with the keys.
pub struct Mixing {
    /// Sealed rows.
    pub rows: usize,
    /// Bytes of a row.
    pub width: usize,
    /// The own pairs' keys.
    pub keys: EpochKeys,
    /// The pairs' permutations, made when they are needed first.
    permutations: [OnceLock<Zeroizing<Vec<u32>>>; 3],
}

/// Whose a sealed row is.
pub struct Owner<'a> {
    /// Its slot.
    pub slot: u32,
    /// The slot's owner.
    pub key: VerifyingKey,
    /// What is held of the owner.
    pub held: &'a Held,
}

/// The participants' pads of the sealed rows.
pub struct Pads<'a> {
    /// What the pads are bound to.
    pub context: PadContext,
    /// Whose the rows are, in order.
    pub owners: &'a [Owner<'a>],
    /// The seeds of the pads of a pair, made when they are needed first.
    seeds: [OnceLock<Zeroizing<Vec<u8>>>; 3],
}

impl<'a> Pads<'a> {
    /// The pads of these rows.
    pub fn new(context: PadContext, owners: &'a [Owner<'a>]) -> Self {
        Self { context, owners, seeds: Default::default() }
    }

    fn seeds(&self, pair: Pair) -> &[u8] {
        self.seeds[pair.index()].get_or_init(|| {
            let mut seeds = Zeroizing::new(vec![0; self.owners.len() * PAD_SEED]);
            let of_row = |(seed, owner): (&mut [u8], &Owner<'_>)| {
                let of_pair = owner.held.seed(pair);
                let mut pad = of_pair.pad_of(&self.context, owner.slot, &owner.key);
                seed.copy_from_slice(&pad);
                pad.zeroize();
            };
            seeds.par_chunks_mut(PAD_SEED).zip(self.owners).with_min_len(1024).for_each(of_row);
            seeds
        })
    }

    /// Adds the pads of a pair to a table.
    pub fn xor(&self, pair: Pair, table: &mut [u8]) {
        let Some(rows) = table.len().checked_div(self.owners.len()) else { return };
        short_prg_rows(self.seeds(pair), rows, table, true);
    }

    /// The table of the pads of a pair.
    pub fn table(&self, pair: Pair, width: usize) -> Vec<u8> {
        let mut table = zeroed_table(self.owners.len() * width);
        self.xor(pair, &mut table);
        table
    }

    /// ⟨c, T⟩ of that table.
    pub fn compressed(&self, pair: Pair, c: &[u64]) -> Vec<u64> {
        let (seeds, width) = (self.seeds(pair), c.len() * WORD);
        columns::compress_blocks(c, self.owners.len(), |first, block| {
            let rows = first..first + block.len() / width;
            let seeds = &seeds[rows.start * PAD_SEED..rows.end * PAD_SEED];
            short_prg_rows(seeds, width, block, false);
        })
    }
}

impl Mixing {
    /// Nothing is made yet.
    pub fn new(rows: usize, width: usize, keys: EpochKeys) -> Self {
        Self { rows, width, keys, permutations: Default::default() }
    }

    fn bytes(&self) -> usize {
        self.rows * self.width
    }

    /// Bytes of a message.
    pub fn message(&self) -> usize {
        self.rows * (self.width + WORD) + SALT
    }

    /// The table in a message.
    pub fn table<'m>(&self, message: &'m [u8]) -> &'m [u8] {
        &message[..self.bytes()]
    }

    /// The column in a message.
    pub fn column(&self, message: &[u8]) -> Vec<u64> {
        columns::read(&message[self.bytes()..self.message() - SALT])
    }

    /// A pair's permutation of the rows.
    pub fn permutation(&self, purpose: Purpose) -> &[u32] {
        let of_pair = [Purpose::Pi12, Purpose::Pi1, Purpose::Pi2].contains(&purpose);
        assert!(of_pair, "a pair has one permutation");
        let made = &self.permutations[purpose.pair().index()];
        made.get_or_init(|| Zeroizing::new(self.keys.permutation(purpose, self.rows)))
    }

    /// A column of an own pair.
    pub fn own(&self, purpose: Purpose) -> Vec<u64> {
        columns::of(&self.keys, purpose, self.rows)
    }

    /// A message of `π(table) + mask` with `column` and a salt.
    fn masked(
        &self,
        table: &[u8],
        pi: &[u32],
        [mask, salt]: [Purpose; 2],
        column: &[u64],
    ) -> Vec<u8> {
        let mut message = zeroed_table(self.message());
        let (rows, rest) = message.split_at_mut(self.bytes());
        let (words, end) = rest.split_at_mut(self.rows * WORD);
        gather_xor_prg(rows, table, self.width, pi, &self.keys.prg(mask), 0);
        columns::write_to(words, column);
        end.copy_from_slice(self.keys.seed(salt).expose());
        message
    }

    /// P3: Δ = π2(π1(a) + a′) + b, Δ^q = π2(π1(q″) + g″) + b^q.
    pub fn delta(&self) -> Vec<u8> {
        let (pi1, pi2) = (self.permutation(Purpose::Pi1), self.permutation(Purpose::Pi2));
        let mut a = zeroed_table(self.bytes());
        self.keys.prg(Purpose::A).fill(&mut a);
        let mut inner = zeroed_table(self.bytes());
        let a_prime = self.keys.prg(Purpose::APrime);
        gather_xor_prg(&mut inner, &a, self.width, pi1, &a_prime, 0);
        let column = columns::add(
            columns::permute(pi1, &self.own(Purpose::QSecond)),
            &self.own(Purpose::GSecond),
        );
        let column = columns::add(columns::permute(pi2, &column), &self.own(Purpose::BColumn));
        self.masked(&inner, pi2, [Purpose::B, Purpose::SaltDelta], &column)
    }

    /// P2: z2 = π12(s23) + a, z2^q = π12(q) + g.
    pub fn z2(&self, s23: &[u8]) -> Vec<u8> {
        let pi12 = self.permutation(Purpose::Pi12);
        let column =
            columns::add(columns::permute(pi12, &self.own(Purpose::Q)), &self.own(Purpose::G));
        self.masked(s23, pi12, [Purpose::A, Purpose::SaltZ2], &column)
    }

    /// P1: y = π12(β + s13) + z2, where `x` is β + s13.
    pub fn y(&self, x: &[u8], z2: &[u8]) -> Vec<u8> {
        let mut y = zeroed_table(self.bytes());
        gather(&mut y, x, self.width, self.permutation(Purpose::Pi12));
        xor_into(&mut y, self.table(z2));
        y
    }

    /// P1: z1 = π1(y) + a′, z1^q = π1(π12(q′) + h) + g′.
    pub fn z1(&self, y: &[u8]) -> Vec<u8> {
        let pi1 = self.permutation(Purpose::Pi1);
        let column =
            columns::add(columns::permute(pi1, &self.inner_z1()), &self.own(Purpose::GPrime));
        self.masked(y, pi1, [Purpose::APrime, Purpose::SaltZ1], &column)
    }

    /// P1: π12(q′) + h.
    pub fn inner_z1(&self) -> Vec<u64> {
        let pi12 = self.permutation(Purpose::Pi12);
        columns::add(columns::permute(pi12, &self.own(Purpose::QPrime)), &self.own(Purpose::H))
    }

    /// P2: S = π2(z1) + Δ + d, S^q = π2(w) + v.
    pub fn s(&self, z1: &[u8], delta: &[u8]) -> Vec<u8> {
        let pi2 = self.permutation(Purpose::Pi2);
        let column =
            columns::add(columns::permute(pi2, &self.own(Purpose::W)), &self.own(Purpose::V));
        let hidden = [Purpose::D, Purpose::SaltS];
        let mut message = self.masked(self.table(z1), pi2, hidden, &column);
        xor_into(&mut message[..self.bytes()], self.table(delta));
        message
    }
}
