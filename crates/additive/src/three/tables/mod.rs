//! The tables of the mix, as each server makes its own (Definition IV.1 and Protocol IV.2;
//! `docs/spec/clarion.md`, E6 to E8). A message is a table, then its column, then
//! a salt, which grows from a key that the third server lacks: the third server is shown the
//! message's digest, and could otherwise test guesses of the permutation and of rows with it.

pub mod columns;

use std::sync::OnceLock;

use ostrakon_crypto::{Secret, VerifyingKey, many};
use ostrakon_kernels::{gather, gather_xor_prg, short_prg_rows, wipe, xor_into, zeroed_table};
use ostrakon_threeparty::pair::Pair;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::keys::EpochKeys;
use super::purposes::Purpose;
use super::{K12, K13, K23, P3};
use crate::client::PadContext;
use crate::params::{PAD_SEED, SALT, WORD};
use columns::BLOCK;

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

/// A sealed row.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    /// Its slot.
    pub slot: u32,
    /// The slot's owner.
    pub owner: &'a VerifyingKey,
    /// The owner's seeds of the own pairs.
    pub seeds: [&'a Secret; 2],
    /// The row under its pads, that of C.
    pub padded: &'a [u8],
}

/// Seeds of pads, one after another; wiped when they are dropped.
struct PadSeeds(Vec<u8>);

impl PadSeeds {
    fn zeros(rows: usize) -> Self {
        Self(zeroed_table(rows * PAD_SEED))
    }
}

impl Drop for PadSeeds {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

/// The sealed rows with their pads: all that is left of what was handed in, whose memory serves the
/// tables then. Memory that was not touched before costs more than what is done in it.
pub struct Pads {
    own: [Pair; 2],
    /// The seeds of the own pairs' pads.
    seeds: [PadSeeds; 2],
    /// C; not at P3, which does without.
    padded: Vec<u8>,
    rows: usize,
}

impl Pads {
    /// Of so many rows, each as `row` has it.
    pub fn new<'a>(
        party: u8,
        context: &PadContext,
        (rows, width): (usize, usize),
        row: impl Fn(usize) -> Row<'a> + Sync,
    ) -> Self {
        let mut seeds = [(); 2].map(|()| PadSeeds::zeros(rows));
        let [one, other] = seeds.each_mut().map(|seeds| seeds.0.par_chunks_mut(TASK * PAD_SEED));
        one.zip(other).enumerate().for_each(|(task, (one, other))| {
            let mut pads = [one, other].map(|seeds| seeds.as_chunks_mut::<PAD_SEED>().0);
            let first = task * TASK;
            // Of each row both at once: it is fetched once.
            let hashed = (first..first + pads[0].len()).flat_map(|number| {
                let row = row(number);
                let about = context.of(row.slot, row.owner);
                row.seeds.map(|seed| (seed.expose(), about))
            });
            many::keyed_blocks(many::BLOCK, hashed, |at, pad| {
                pads[at % 2][at / 2].copy_from_slice(&pad[..PAD_SEED]);
            });
        });
        let mut padded = zeroed_table(if party == P3 { 0 } else { rows * width });
        let copy = |(task, block): (usize, &mut [u8])| {
            for (number, to) in (task * TASK..).zip(block.chunks_exact_mut(width)) {
                to.copy_from_slice(row(number).padded);
            }
        };
        padded.par_chunks_mut(TASK * width).enumerate().for_each(copy);
        Self { own: Pair::of_party(party), seeds, padded, rows }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Of one of the own pairs.
    fn seeds(&self, pair: Pair) -> &[u8] {
        debug_assert!(self.own.contains(&pair));
        &self.seeds[usize::from(self.own[1] == pair)].0
    }

    /// The seeds of a pair's pads, permuted as rows are.
    fn permuted(&self, pair: Pair, index: &[u32]) -> PadSeeds {
        let mut permuted = PadSeeds::zeros(self.rows);
        gather(&mut permuted.0, self.seeds(pair), PAD_SEED, index);
        permuted
    }

    /// ⟨c, T⟩ of the table of the pads of a pair.
    pub fn compressed(&self, pair: Pair, c: &[u64]) -> Vec<u8> {
        let seeds = self.seeds(pair);
        columns::compress_blocks(c, self.rows, |first, block| {
            pad(seeds, first, c.len() * WORD, block, false);
        })
    }

    /// ⟨c, T⟩ of C under the pads of a pair.
    pub fn compressed_over(&self, pair: Pair, c: &[u64]) -> Vec<u8> {
        let (seeds, width) = (self.seeds(pair), c.len() * WORD);
        columns::compress_blocks(c, self.rows, |first, block| {
            block.copy_from_slice(&self.padded[first * width..][..block.len()]);
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
    pub fn column<'m>(&self, message: &'m [u8]) -> &'m [u8] {
        &message[self.bytes()..self.message() - SALT]
    }

    /// A pair's permutation of the rows.
    pub fn permutation(&self, purpose: Purpose) -> &[u32] {
        let of_pair = [Purpose::Pi12, Purpose::Pi1, Purpose::Pi2].contains(&purpose);
        assert!(of_pair, "a pair has one permutation");
        let made = &self.permutations[purpose.pair().index()];
        made.get_or_init(|| Zeroizing::new(self.keys.permutation(purpose, self.rows)))
    }

    /// A column of an own pair.
    pub fn own(&self, purpose: Purpose) -> Vec<u8> {
        columns::of(&self.keys.prg(purpose), self.rows)
    }

    /// A column permuted, and one of a pair added.
    pub fn permuted(&self, pi: &[u32], column: &[u8], mask: Purpose) -> Vec<u8> {
        columns::permute_masked(pi, column, &self.keys.prg(mask))
    }

    /// A message of `π(table) + mask` with `column` and a salt.
    fn masked(
        &self,
        table: &[u8],
        pi: &[u32],
        [mask, salt]: [Purpose; 2],
        column: &[u8],
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
        column: &[u8],
        salt: Purpose,
        fill: impl FnOnce(&mut [u8]),
    ) {
        let (rows, rest) = message.split_at_mut(self.bytes());
        let (words, end) = rest.split_at_mut(self.rows * WORD);
        fill(rows);
        words.copy_from_slice(column);
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
        let column = self.permuted(pi1, &self.own(Purpose::QSecond), Purpose::GSecond);
        let column = self.permuted(pi2, &column, Purpose::BColumn);
        let b = self.keys.prg(Purpose::B);
        self.write(&mut message, &column, Purpose::SaltDelta, |rows| {
            gather_xor_prg(rows, &inner, self.width, pi2, &b, 0);
        });
        (message, inner)
    }

    /// P2: z2 = π12(s23) + a, z2^q = π12(q) + g. Rows of pads are made where they go to.
    pub fn z2(&self, pads: &Pads) -> Vec<u8> {
        let pi12 = self.permutation(Purpose::Pi12);
        let column = self.permuted(pi12, &self.own(Purpose::Q), Purpose::G);
        let (a, s23) = (self.keys.prg(Purpose::A), pads.permuted(K23, pi12));
        let mut message = zeroed_table(self.message());
        self.write(&mut message, &column, Purpose::SaltZ2, |rows| {
            self.by_blocks(rows, |first, block| {
                a.fill_at((first * self.width) as u64, block);
                pad(&s23.0, first, self.width, block, true);
            });
        });
        message
    }

    /// P1: π12(β + s13), of C, which P1 needs for nothing else.
    pub fn padless(&self, pads: &mut Pads) -> Vec<u8> {
        let mut table = std::mem::take(&mut pads.padded);
        let seeds = [K12, K13].map(|pair| pads.seeds(pair));
        self.by_blocks(&mut table, |first, block| {
            seeds.iter().for_each(|seeds| pad(seeds, first, self.width, block, true));
        });
        let mut permuted = zeroed_table(self.bytes());
        gather(&mut permuted, &table, self.width, self.permutation(Purpose::Pi12));
        permuted
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
        let column = self.permuted(pi1, &self.inner_z1(), Purpose::GPrime);
        self.masked(y, pi1, [Purpose::APrime, Purpose::SaltZ1], &column)
    }

    /// P1: π12(q′) + h.
    pub fn inner_z1(&self) -> Vec<u8> {
        let pi12 = self.permutation(Purpose::Pi12);
        self.permuted(pi12, &self.own(Purpose::QPrime), Purpose::H)
    }

    /// P2: S = π2(z1) + Δ + d, S^q = π2(w) + v.
    pub fn s(&self, z1: &[u8], delta: &[u8]) -> Vec<u8> {
        let pi2 = self.permutation(Purpose::Pi2);
        let column = self.permuted(pi2, &self.own(Purpose::W), Purpose::V);
        let hidden = [Purpose::D, Purpose::SaltS];
        let mut message = self.masked(self.table(z1), pi2, hidden, &column);
        xor_into(&mut message[..self.bytes()], self.table(delta));
        message
    }
}
