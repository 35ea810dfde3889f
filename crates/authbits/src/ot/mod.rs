//! Correlated oblivious transfer: for a party's chosen bits x and another party's Δ, the one gets M
//! and the other K with M = K ⊕ x·Δ.
//!
//! SoftSpoken (Roy, *SoftSpokenOT*, CRYPTO 2022) with k = 4: steps 1 to 6 of `docs/spec/stormy.md`.
//! The rest of the crate uses three things of it: `Setup::new`, `Lot::new` and `extend`; another
//! protocol can take its place behind them.

pub mod base;
pub(crate) mod extension;
pub(crate) mod trees;

use ostrakon_kernels::{transpose64, wipe, zeroed_table};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::abort::Abort;
use crate::bits::{Bits, mask, words_of};
use crate::run::Run;

/// Bits of the MAC key: the first of Δ_i.
pub const MAC_BITS: usize = 64;
/// Bits of the hash key: the rest of Δ_i.
pub const HASH_BITS: usize = 128;
/// Bits of Δ_i.
pub const KEY_BITS: usize = MAC_BITS + HASH_BITS;
/// Levels of a tree: bits of Δ_i that it is for.
pub const LEVELS: usize = 4;
/// Leaves of a tree.
pub const LEAVES: usize = 1 << LEVELS;
/// Trees of a pair of parties.
pub const TREES: usize = KEY_BITS / LEVELS;
/// Independent hashes in the check of a lot, each with an error of 2^-64.
pub const HASHES: usize = 2;

/// How many trees a lot uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// All: bits whose correlation is hashed later.
    Wide,
    /// Those of the MAC key, which come first.
    Narrow,
}

impl Width {
    /// The number of trees.
    pub const fn trees(self) -> usize {
        match self {
            Width::Wide => TREES,
            Width::Narrow => MAC_BITS / LEVELS,
        }
    }
}

/// Δ_i: two keys that have nothing to do with each other. A MAC check that fails gives the MAC key
/// away, and the strings that the hash key hides have been sent by then (spec, 7.4).
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Delta {
    /// The own part of the MAC key.
    pub mac: u64,
    /// What the leaky triples' hashes depend on. It is in no MAC.
    pub hash: u128,
}

impl Delta {
    /// Bit `k` of the MAC key and the hash key together.
    pub fn bit(&self, k: usize) -> u8 {
        let bit = match k.checked_sub(MAC_BITS) {
            None => u128::from(self.mac >> k),
            Some(k) => self.hash >> k,
        };
        (bit & 1) as u8
    }

    /// The bits that a tree is for.
    pub(crate) fn nibble(&self, tree: usize) -> usize {
        (0..LEVELS).map(|level| usize::from(self.bit(LEVELS * tree + level)) << level).sum()
    }
}

/// A party's trees with all peers, and how far their streams are used.
pub(crate) struct Setup {
    delta: Delta,
    pairs: Vec<Option<trees::PairTrees>>,
    position: u64,
    masked: u64,
}

impl Setup {
    /// Steps 1 and 2; step 1 is left out where its keys are given.
    ///
    /// # Errors
    /// [`Abort::Malformed`], [`Abort::Trees`].
    pub(crate) async fn new(run: &mut Run, keys: Option<base::BaseKeys>) -> Result<Self, Abort> {
        let delta = match &keys {
            Some(keys) => keys.delta.clone(),
            None => base::draw_delta(run),
        };
        let deltas = vec![delta; run.parties()];
        Self::with_deltas(run, keys, &deltas).await
    }

    /// The same with one Δ for each peer, which for honest parties are the same.
    pub(crate) async fn with_deltas(
        run: &mut Run,
        keys: Option<base::BaseKeys>,
        deltas: &[Delta],
    ) -> Result<Self, Abort> {
        let keys = match keys {
            Some(keys) => keys,
            None => base::transfer(run, deltas).await?,
        };
        let pairs = trees::plant(run, &keys, deltas).await?;
        Ok(Self { delta: keys.delta.clone(), pairs, position: 0, masked: 0 })
    }

    pub(crate) fn delta(&self) -> &Delta {
        &self.delta
    }

    /// The own part of `len` fresh masks, of which the sum over all parties is zero. Parties call
    /// it alike.
    pub(crate) fn cancelling(&mut self, len: usize) -> Bits {
        let bytes = 8 * len.div_ceil(64);
        let mut masks = Bits::zeros(len);
        for pair in self.pairs.iter().flatten() {
            let mut mask = vec![0; bytes];
            pair.common.fill_at(self.masked, &mut mask);
            masks.xor(&Bits::from_words(words_of(&mask), len));
        }
        self.masked += bytes as u64;
        masks
    }

    /// Takes the streams' next `words` words out of use and says where they begin.
    pub(crate) fn reserve(&mut self, words: usize) -> u64 {
        let start = self.position;
        self.position += 8 * words as u64;
        start
    }
}

/// Words of a lot's column: its bits, and the masks of the check.
pub(crate) const fn words_of_lot(bits: usize) -> usize {
    bits.div_ceil(64) + HASHES
}

/// Correlations of one lot, where they are kept, column by column; each column is [`words_of_lot`]
/// little-endian words, four columns for each tree. Wiped when dropped.
pub(crate) struct Columns {
    pub(crate) words: usize,
    /// M, by peer, for the own bits.
    pub(crate) owned: Vec<Vec<u8>>,
    /// K, by peer, for the peer's bits.
    pub(crate) held: Vec<Vec<u8>>,
}

impl Drop for Columns {
    fn drop(&mut self) {
        self.owned.iter_mut().chain(&mut self.held).for_each(|columns| wipe(columns));
    }
}

/// 64 rows of 64 columns from `first` on, each of so many words, for word `word`.
fn rows(columns: &[u8], words: usize, first: usize, word: usize) -> [u64; 64] {
    let mut rows = [0; 64];
    for (i, row) in rows.iter_mut().enumerate() {
        let at = 8 * ((first + i) * words + word);
        *row = u64::from_le_bytes(columns[at..at + 8].try_into().expect("eight bytes"));
    }
    transpose64(&mut rows);
    rows
}

/// A part of the columns with one peer, and what of them it is. It has not been checked yet.
pub(crate) struct Block<'a> {
    /// Whose columns they are of the lots that are extended together.
    pub(crate) lot: usize,
    pub(crate) peer: usize,
    /// Whether it is K, for the peer's bits, and not M, for the own.
    pub(crate) held: bool,
    /// Which of each column's words is the first here.
    pub(crate) first: usize,
    /// How many words of each column are here.
    pub(crate) words: usize,
    /// These words, column by column.
    pub(crate) columns: &'a [u8],
}

impl Block<'_> {
    /// 64 rows of the columns of the hash key, and of no column of the MAC key.
    pub(crate) fn hash_rows(&self, word: usize) -> [u128; 64] {
        let of = |first| rows(self.columns, self.words, first, word);
        let (low, high) = (of(MAC_BITS), of(MAC_BITS + 64));
        std::array::from_fn(|i| u128::from(high[i]) << 64 | u128::from(low[i]))
    }
}

/// The sum of columns of the MAC key over all peers. Wiped when dropped.
pub(crate) struct MacSums {
    words: usize,
    sum: Vec<u8>,
}

impl Drop for MacSums {
    fn drop(&mut self) {
        wipe(&mut self.sum);
    }
}

impl MacSums {
    /// For columns of so many words.
    pub(crate) fn new(words: usize) -> Self {
        Self { words, sum: zeroed_table(8 * MAC_BITS * words) }
    }

    /// Adds a part of somebody's columns, of which the first are those of the key.
    pub(crate) fn add(&mut self, block: &Block<'_>) {
        let (length, at) = (8 * block.words, 8 * block.first);
        let parts = block.columns.chunks_exact(length);
        for (sum, part) in self.sum.chunks_exact_mut(8 * self.words).zip(parts) {
            ostrakon_kernels::xor_into(&mut sum[at..at + length], part);
        }
    }

    /// Step 6: the own shares of the MACs under the key whose own part is `delta`.
    pub(crate) fn macs(&self, bits: &Bits, delta: u64) -> Vec<u64> {
        let mut macs = Vec::with_capacity(64 * bits.words().len());
        for (word, own) in bits.words().iter().enumerate() {
            let rows = rows(&self.sum, self.words, 0, word);
            macs.extend(rows.iter().enumerate().map(|(i, row)| row ^ (mask(own >> i) & delta)));
        }
        macs.truncate(bits.len());
        macs
    }
}

impl Columns {
    /// Room for columns of so many words under so many trees with all peers of a run.
    pub(crate) fn empty(run: &Run, trees: usize, words: usize) -> Self {
        let length = 8 * LEVELS * trees * words;
        let of_all = || {
            let room = |peer| if peer == run.me() { Vec::new() } else { zeroed_table(length) };
            (0..run.parties()).map(room).collect()
        };
        Self { words, owned: of_all(), held: of_all() }
    }

    /// Puts a part in its place.
    pub(crate) fn put(&mut self, block: &Block<'_>) {
        let side = if block.held { &mut self.held } else { &mut self.owned };
        let (length, at) = (8 * block.words, 8 * block.first);
        let parts = block.columns.chunks_exact(length);
        for (column, part) in side[block.peer].chunks_exact_mut(8 * self.words).zip(parts) {
            column[at..at + length].copy_from_slice(part);
        }
    }

    /// Σ coefficient·row over the first 64 columns with one peer, one coefficient for each bit of
    /// the lot; zero for nobody's columns.
    pub(crate) fn row_sum(&self, columns: &[u8], coefficients: &[u64]) -> u64 {
        if columns.is_empty() {
            return 0;
        }
        coefficients.chunks(64).enumerate().fold(0, |sum, (word, coefficients)| {
            let block = Zeroizing::new(rows(columns, self.words, 0, word));
            sum ^ ostrakon_kernels::inner_product(coefficients, &block[..coefficients.len()])
        })
    }

    /// Step 6: the own shares of the MACs under the key whose own part is `delta` and whose columns
    /// begin at `first`.
    pub(crate) fn macs(&self, bits: &Bits, delta: u64, first: usize) -> Vec<u64> {
        let mut sums = MacSums::new(self.words);
        for columns in self.owned.iter().chain(&self.held).filter(|columns| !columns.is_empty()) {
            let part = &columns[8 * first * self.words..][..sums.sum.len()];
            ostrakon_kernels::xor_into(&mut sums.sum, part);
        }
        sums.macs(bits, delta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever lengths lots have, no two of them read the same bytes of the streams.
    #[test]
    fn lots_take_places_of_their_own() {
        let delta = Delta { mac: 0, hash: 0 };
        let mut setup = Setup { delta, pairs: Vec::new(), position: 0, masked: 0 };
        let mut end = 0;
        for bits in [1, 64, 65, 4001, 64] {
            let words = words_of_lot(bits);
            let start = setup.reserve(words);
            assert!(start >= end, "a lot of {bits} bits begins at {start}, before {end}");
            end = start + 8 * words as u64;
        }
    }

    /// What is hashed for the strings of step 7 is the hash key's columns, all of them and no
    /// column of the MAC key: a failed check gives that key away, and strings have been sent.
    #[test]
    fn rows_that_are_hashed_hold_nothing_of_the_mac_key() {
        let words = 3;
        let rows_of = |columns: &[u8], word| {
            let (lot, peer, held, first) = (0, 1, false, 0);
            Block { lot, peer, held, first, words, columns }.hash_rows(word)
        };
        let (mac, hash) = (8 * words * MAC_BITS, 8 * words * HASH_BITS);
        for word in 0..words {
            let of_mac = [vec![0xff; mac], vec![0; hash]].concat();
            assert_eq!(rows_of(&of_mac, word), [0; 64]);
            let of_hash = [vec![0; mac], vec![0xff; hash]].concat();
            assert_eq!(rows_of(&of_hash, word), [u128::MAX; 64]);
        }
        let delta = Delta { mac: 0x8765_4321_0fed_cba9, hash: 0x1234 << 100 | 5 };
        let bits = |range: std::ops::Range<usize>| -> u128 {
            range.rev().fold(0, |bits, k| bits << 1 | u128::from(delta.bit(k)))
        };
        assert_eq!(bits(0..MAC_BITS), u128::from(delta.mac));
        assert_eq!(bits(MAC_BITS..KEY_BITS), delta.hash);
        let nibbles = |trees: std::ops::Range<usize>| -> u128 {
            trees.rev().fold(0, |bits, tree| bits << LEVELS | delta.nibble(tree) as u128)
        };
        assert_eq!(nibbles(0..Width::Narrow.trees()), u128::from(delta.mac));
        assert_eq!(nibbles(Width::Narrow.trees()..TREES), delta.hash);
    }
}
