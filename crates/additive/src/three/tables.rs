//! The tables of the mix, as each server makes its own (Definition IV.1 and Protocol IV.2;
//! `docs/spec/clarion.md`, E6 to E8). A message is a table, then its column, then
//! a salt, which grows from a key that the third server lacks: the third server is shown the
//! message's digest, and could otherwise test guesses of the permutation and of rows with it.

use std::sync::OnceLock;

use ostrakon_crypto::{VerifyingKey, many};
use ostrakon_kernels::{gather, gather_xor_prg, short_prg_rows, xor_into, zeroed_table};
use ostrakon_threeparty::pair::Pair;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::columns::{self, BLOCK};
use super::keys::{EpochKeys, Purpose};
use super::registration::Held;
use super::{K12, K13, K23};
use crate::client::PadContext;
use crate::params::{PAD_SEED, SALT, WORD};

/// Seeds of pads that a thread makes one after another.
const TASK: usize = 1 << 10;

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
            let of_rows = |(seeds, owners): (&mut [u8], &[Owner<'_>])| {
                let (seeds, _) = seeds.as_chunks_mut::<PAD_SEED>();
                let hashed = owners.iter().map(|owner| {
                    owner.held.seed(pair).pad_of(&self.context, owner.slot, &owner.key)
                });
                many::keyed_blocks(hashed, |row, pad| seeds[row].copy_from_slice(&pad[..PAD_SEED]));
            };
            let tasks = seeds.par_chunks_mut(TASK * PAD_SEED).zip(self.owners.par_chunks(TASK));
            tasks.for_each(of_rows);
            seeds
        })
    }

    /// The seeds of a pair's pads, permuted as rows are.
    fn permuted(&self, pair: Pair, index: &[u32]) -> Zeroizing<Vec<u8>> {
        let mut permuted = Zeroizing::new(vec![0; self.owners.len() * PAD_SEED]);
        gather(&mut permuted, self.seeds(pair), PAD_SEED, index);
        permuted
    }

    /// ⟨c, T⟩ of the table of the pads of a pair.
    pub fn compressed(&self, pair: Pair, c: &[u64]) -> Vec<u64> {
        let seeds = self.seeds(pair);
        columns::compress_blocks(c, self.owners.len(), |first, block| {
            pad(seeds, first, c.len() * WORD, block, false);
        })
    }

    /// ⟨c, T⟩ of the table of these rows under the pads of a pair.
    pub fn compressed_over(&self, rows: &[&[u8]], pair: Pair, c: &[u64]) -> Vec<u64> {
        let (seeds, width) = (self.seeds(pair), c.len() * WORD);
        columns::compress_blocks(c, rows.len(), |first, block| {
            for (to, row) in block.chunks_exact_mut(width).zip(&rows[first..]) {
                to.copy_from_slice(row);
            }
            pad(seeds, first, width, block, true);
        })
    }
}

/// Makes a block of some rows that of their pads, the first row having this number, or adds them.
fn pad(seeds: &[u8], first: usize, width: usize, block: &mut [u8], add: bool) {
    let seeds = &seeds[first * PAD_SEED..][..block.len() / width * PAD_SEED];
    short_prg_rows(seeds, width, block, add);
}

impl Mixing {
    /// Nothing is made yet.
    pub fn new(rows: usize, width: usize, keys: EpochKeys) -> Self {
        Self { rows, width, keys, permutations: Default::default() }
    }

    /// Bytes of a table.
    pub fn bytes(&self) -> usize {
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
        let mask = self.keys.prg(mask);
        let mut message = zeroed_table(self.message());
        self.write(&mut message, column, salt, |rows| {
            gather_xor_prg(rows, table, self.width, pi, &mask, 0);
        });
        message
    }

    /// Writes a message, of which `fill` writes the table.
    fn write(
        &self,
        message: &mut [u8],
        column: &[u64],
        salt: Purpose,
        fill: impl FnOnce(&mut [u8]),
    ) {
        let (rows, rest) = message.split_at_mut(self.bytes());
        let (words, end) = rest.split_at_mut(self.rows * WORD);
        fill(rows);
        columns::write_to(words, column);
        end.copy_from_slice(self.keys.seed(salt).expose());
    }

    /// P3: Δ = π2(π1(a) + a′) + b, Δ^q = π2(π1(q″) + g″) + b^q, and π1(a) + a′, which P3 opens
    /// with.
    pub fn delta(&self) -> (Vec<u8>, Vec<u8>) {
        let (pi1, pi2) = (self.permutation(Purpose::Pi1), self.permutation(Purpose::Pi2));
        // a lies where Δ will: memory that was not touched before costs as much as a gather.
        let mut message = zeroed_table(self.message());
        let a = &mut message[..self.bytes()];
        self.keys.prg(Purpose::A).fill(a);
        let mut inner = zeroed_table(self.bytes());
        let a_prime = self.keys.prg(Purpose::APrime);
        gather_xor_prg(&mut inner, a, self.width, pi1, &a_prime, 0);
        let column = columns::add(
            columns::permute(pi1, &self.own(Purpose::QSecond)),
            &self.own(Purpose::GSecond),
        );
        let column = columns::add(columns::permute(pi2, &column), &self.own(Purpose::BColumn));
        let b = self.keys.prg(Purpose::B);
        self.write(&mut message, &column, Purpose::SaltDelta, |rows| {
            gather_xor_prg(rows, &inner, self.width, pi2, &b, 0);
        });
        (message, inner)
    }

    /// P2: z2 = π12(s23) + a, z2^q = π12(q) + g. Rows of pads are made where they go to.
    pub fn z2(&self, pads: &Pads<'_>) -> Vec<u8> {
        let pi12 = self.permutation(Purpose::Pi12);
        let column =
            columns::add(columns::permute(pi12, &self.own(Purpose::Q)), &self.own(Purpose::G));
        let (a, s23) = (self.keys.prg(Purpose::A), pads.permuted(K23, pi12));
        let mut message = zeroed_table(self.message());
        self.write(&mut message, &column, Purpose::SaltZ2, |rows| {
            self.by_blocks(rows, |first, block| {
                a.fill_at((first * self.width) as u64, block);
                pad(&s23, first, self.width, block, true);
            });
        });
        message
    }

    /// P1: π12(β + s13), of the rows of C.
    pub fn padless(&self, padded: &[&[u8]], pads: &Pads<'_>) -> Vec<u8> {
        let pi12 = self.permutation(Purpose::Pi12);
        let seeds = [K12, K13].map(|pair| pads.permuted(pair, pi12));
        let mut table = zeroed_table(self.bytes());
        self.by_blocks(&mut table, |first, block| {
            for (row, from) in block.chunks_exact_mut(self.width).zip(&pi12[first..]) {
                row.copy_from_slice(padded[*from as usize]);
            }
            seeds.iter().for_each(|seeds| pad(seeds, first, self.width, block, true));
        });
        table
    }

    /// Calls `fill` with each block of a table's rows and the number of its first row.
    fn by_blocks(&self, table: &mut [u8], fill: impl Fn(usize, &mut [u8]) + Sync) {
        let blocks = table.par_chunks_mut(BLOCK * self.width).enumerate();
        blocks.for_each(|(block, rows)| fill(block * BLOCK, rows));
    }

    /// P1: y = π12(β + s13) + z2, where `padless` is π12(β + s13).
    pub fn y(&self, mut padless: Vec<u8>, z2: &[u8]) -> Vec<u8> {
        xor_into(&mut padless, self.table(z2));
        padless
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
