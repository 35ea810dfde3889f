//! Correlated oblivious transfer: for a party's chosen bits x and another party's Δ, the one gets M
//! and the other K with M = K ⊕ x·Δ.
//!
//! SoftSpoken (Roy, *SoftSpokenOT*, CRYPTO 2022) with k = 4: steps 1 to 6 of `docs/spec/stormy.md`.
//! The rest of the crate uses three things of it: [`Setup::new`], [`Setup::lot`] and
//! [`extension::extend`]; another protocol can take its place behind them.

pub mod base;
pub(crate) mod extension;
pub(crate) mod trees;

use ostrakon_kernels::transpose64;

use crate::abort::Abort;
use crate::bits::{Bits, mask};
use crate::run::Run;

/// Bits of Δ_i.
pub const KEY_BITS: usize = 128;
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
    /// Those of the MAC key.
    Narrow,
}

impl Width {
    /// The number of trees.
    pub const fn trees(self) -> usize {
        match self {
            Width::Wide => TREES,
            Width::Narrow => TREES / 2,
        }
    }
}

/// A party's trees with all peers, and how far their streams are used.
pub(crate) struct Setup {
    delta: zeroize::Zeroizing<u128>,
    pairs: Vec<trees::PairTrees>,
    position: u64,
}

impl Setup {
    /// Steps 1 and 2; step 1 is left out where its keys are given.
    ///
    /// # Errors
    /// [`Abort::Malformed`], [`Abort::Trees`].
    pub(crate) async fn new(run: &mut Run, keys: Option<base::BaseKeys>) -> Result<Self, Abort> {
        let delta = keys.as_ref().map_or_else(|| base::draw_delta(run), |keys| keys.delta);
        let deltas = zeroize::Zeroizing::new(vec![delta; run.parties()]);
        Self::with_deltas(run, keys, &deltas).await
    }

    /// The same with one Δ for each peer, which for honest parties are the same.
    pub(crate) async fn with_deltas(
        run: &mut Run,
        keys: Option<base::BaseKeys>,
        deltas: &[u128],
    ) -> Result<Self, Abort> {
        let keys = match keys {
            Some(keys) => keys,
            None => base::transfer(run, deltas).await?,
        };
        let pairs = trees::plant(run, &keys, deltas).await?;
        Ok(Self { delta: keys.delta.into(), pairs, position: 0 })
    }

    pub(crate) fn delta(&self) -> u128 {
        *self.delta
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

/// Correlations of one lot, column by column; each column is [`words_of_lot`] little-endian words,
/// four columns for each tree.
pub(crate) struct Columns {
    pub(crate) words: usize,
    /// M, by peer, for the own bits.
    pub(crate) owned: Vec<Vec<u8>>,
    /// K, by peer, for the peer's bits.
    pub(crate) held: Vec<Vec<u8>>,
}

impl Columns {
    /// 64 rows of 64 columns from `first` on, for word `word`.
    pub(crate) fn block(&self, columns: &[u8], first: usize, word: usize) -> [u64; 64] {
        let mut block = [0; 64];
        for (i, row) in block.iter_mut().enumerate() {
            let at = 8 * ((first + i) * self.words + word);
            *row = u64::from_le_bytes(columns[at..at + 8].try_into().expect("eight bytes"));
        }
        transpose64(&mut block);
        block
    }

    /// 64 rows of 128 bits.
    pub(crate) fn wide_block(&self, columns: &[u8], word: usize) -> [u128; 64] {
        let (low, high) = (self.block(columns, 0, word), self.block(columns, 64, word));
        std::array::from_fn(|i| u128::from(high[i]) << 64 | u128::from(low[i]))
    }

    /// Step 6: the own shares of the MACs under the key whose own part is `delta` and whose columns
    /// begin at `first`.
    pub(crate) fn macs(&self, bits: &Bits, delta: u64, first: usize) -> Vec<u64> {
        let mut sum = vec![0; 8 * 64 * self.words];
        for columns in self.owned.iter().chain(&self.held).filter(|columns| !columns.is_empty()) {
            let part = &columns[8 * first * self.words..][..sum.len()];
            ostrakon_kernels::xor_into(&mut sum, part);
        }
        let mut macs = Vec::with_capacity(64 * bits.words().len());
        for (word, own) in bits.words().iter().enumerate() {
            let block = self.block(&sum, 0, word);
            macs.extend(block.iter().enumerate().map(|(i, row)| row ^ (mask(own >> i) & delta)));
        }
        macs.truncate(bits.len());
        macs
    }
}
