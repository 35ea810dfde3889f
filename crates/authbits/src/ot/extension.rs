//! Steps 3 to 5: extension and its consistency check.

use ostrakon_kernels::{leaf_sums, linear_rows, xor_into, zeroed_table};
use ostrakon_party::PartyId;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use super::trees::Leaves;
use super::{Columns, HASHES, LEVELS, Setup, words_of_lot};
use crate::abort::Abort;
use crate::bits::{Bits, bytes_of, words_of};
use crate::run::{Coin, Kind, Run};

const HASH: usize = 8 * HASHES;

/// Trees of one set-up that a lot uses: the first `trees`, from `position` of their streams on.
pub(crate) struct Lane<'a> {
    pub(crate) setup: &'a Setup,
    pub(crate) trees: usize,
    pub(crate) position: u64,
}

/// Bits to be correlated under the trees of all lanes.
pub(crate) struct Lot<'a> {
    /// The own bits, and the masks of the check: bytes of [`words_of_lot`] words.
    choices: Vec<u8>,
    lanes: Vec<Lane<'a>>,
}

impl<'a> Lot<'a> {
    /// The lot of `bits`.
    pub(crate) fn new(run: &mut Run, bits: &Bits, lanes: Vec<Lane<'a>>) -> Self {
        let mut choices = bytes_of(bits.words());
        let mut masks = [0; HASH];
        run.draw(&mut masks);
        choices.extend_from_slice(&masks);
        debug_assert_eq!(choices.len(), 8 * words_of_lot(bits.len()));
        Self { choices, lanes }
    }

    fn trees(&self) -> usize {
        self.lanes.iter().map(|lane| lane.trees).sum()
    }

    fn words(&self) -> usize {
        self.choices.len() / 8
    }

    /// Bytes of the corrections for a peer.
    fn corrections(&self) -> usize {
        self.trees() * self.choices.len()
    }

    /// Every tree with a peer: its leaves at the owner, at the holder, Δ's nibble, the position.
    fn pairs(&self, peer: usize) -> impl Iterator<Item = (&'a Leaves, &'a Leaves, usize, u64)> {
        self.lanes.iter().flat_map(move |lane| {
            let pair = lane.setup.pairs[peer].as_ref().expect("a peer has trees");
            (0..lane.trees).map(move |tree| {
                let nibble = pair.delta.nibble(tree);
                (&pair.owned[tree], &pair.held[tree], nibble, lane.position)
            })
        })
    }
}

impl Drop for Lot<'_> {
    fn drop(&mut self) {
        self.choices.zeroize();
    }
}

/// Step 3 at the owner: columns v, and the corrections.
fn own(lot: &Lot, peer: usize, corrections: &mut [u8]) -> Vec<u8> {
    let length = lot.choices.len();
    let mut columns = zeroed_table(LEVELS * lot.trees() * length);
    let trees = lot.pairs(peer).zip(columns.chunks_exact_mut(LEVELS * length));
    for (((owned, _, _, position), out), correction) in
        trees.zip(corrections.chunks_exact_mut(length))
    {
        leaf_sums(&owned.0, position, correction, out);
        xor_into(correction, &lot.choices);
    }
    columns
}

/// Step 3 at the holder: columns w.
fn hold(lot: &Lot, peer: usize, corrections: &[u8]) -> Vec<u8> {
    let length = lot.choices.len();
    let mut columns = zeroed_table(LEVELS * lot.trees() * length);
    let mut total = Zeroizing::new(vec![0; length]);
    let trees = lot.pairs(peer).zip(columns.chunks_exact_mut(LEVELS * length));
    for (((_, held, nibble, position), out), correction) in
        trees.zip(corrections.chunks_exact(length))
    {
        leaf_sums(&held.0, position, &mut total, out);
        for (level, column) in out.chunks_exact_mut(length).enumerate() {
            let bit = ((nibble >> level & 1) as u8).wrapping_neg();
            column.iter_mut().zip(correction).for_each(|(w, c)| *w ^= c & bit);
        }
    }
    columns
}

/// The check's coefficients for one lot: for each of the [`HASHES`] a word for each word of a
/// column, of which the last ones are the masks: each hash has its own.
fn coefficients(coin: &Coin, number: usize, words: usize) -> [Vec<u64>; HASHES] {
    let stream = coin.stream(number as u64);
    let drawn = words - HASHES;
    std::array::from_fn(|hash| {
        let mut bytes = vec![0; 8 * drawn];
        stream.fill_at((hash * 8 * drawn) as u64, &mut bytes);
        let mut coefficients = words_of(&bytes);
        coefficients.extend((0..HASHES).map(|mask| u64::from(mask == hash)));
        coefficients
    })
}

/// h of a column, which ends in the masks.
fn hash(coefficients: &[Vec<u64>; HASHES], column: &[u8]) -> [u8; HASH] {
    let mut out = [0; HASH];
    for (out, c) in out.chunks_exact_mut(8).zip(coefficients) {
        let mut sum = [0];
        linear_rows(c, column, column.len(), &mut sum);
        out.copy_from_slice(&sum[0].to_le_bytes());
    }
    out
}

/// Steps 3 to 5 for several lots under one coin.
///
/// # Errors
/// [`Abort::Correlation`] names an owner whose columns do not fit its bits.
pub(crate) async fn extend(run: &mut Run, lots: Vec<Lot<'_>>) -> Result<Vec<Columns>, Abort> {
    let parties = run.parties();
    let length = lots.iter().map(Lot::corrections).sum();
    let mut bodies = vec![Vec::new(); parties];
    let mut all: Vec<Columns> = lots
        .iter()
        .map(|lot| Columns {
            words: lot.words(),
            owned: vec![Vec::new(); parties],
            held: vec![Vec::new(); parties],
        })
        .collect();
    for peer in run.party.peers().map(PartyId::index) {
        bodies[peer] = zeroed_table(length);
        let mut rest = &mut bodies[peer][..];
        for (lot, columns) in lots.iter().zip(&mut all) {
            let (part, after) = rest.split_at_mut(lot.corrections());
            columns.owned[peer] = own(lot, peer, part);
            rest = after;
        }
    }
    let received = run.exchange(Kind::Corrections, bodies, length).await?;
    for peer in run.party.peers().map(PartyId::index) {
        let mut rest = &received[peer][..];
        for (lot, columns) in lots.iter().zip(&mut all) {
            let (part, after) = rest.split_at(lot.corrections());
            columns.held[peer] = hold(lot, peer, part);
            rest = after;
        }
    }
    // Step 4. The own part of the coin is opened only here, after all corrections.
    let coin = run.toss().await?;
    check(run, &coin, &lots, &all).await?;
    Ok(all)
}

/// Step 5.
async fn check(run: &mut Run, coin: &Coin, lots: &[Lot<'_>], all: &[Columns]) -> Result<(), Abort> {
    let chi: Vec<_> =
        lots.iter().enumerate().map(|(i, lot)| coefficients(coin, i, lot.words())).collect();
    let hash_columns = |select: &dyn Fn(&Columns) -> &[u8]| -> Vec<Vec<[u8; HASH]>> {
        let of_lot = |(columns, chi): (&Columns, &[Vec<u64>; HASHES])| {
            select(columns)
                .chunks_exact(8 * columns.words)
                .map(|column| hash(chi, column))
                .collect()
        };
        all.iter().zip(&chi).map(of_lot).collect()
    };
    let own: Vec<u8> =
        lots.iter().zip(&chi).flat_map(|(lot, chi)| hash(chi, &lot.choices)).collect();
    let choice_hashes = run.broadcast(Kind::ChoiceHash, own).await?;
    run.note(Kind::ChoiceHash, &choice_hashes.concat());
    let owned = |peer: usize| hash_columns(&|columns| &columns.owned[peer]).concat().concat();
    let bodies: Vec<Vec<u8>> = (0..run.parties()).map(owned).collect();
    let length = lots.iter().map(|lot| LEVELS * lot.trees() * HASH).sum();
    let received = run.exchange(Kind::ColumnHashes, bodies, length).await?;
    for peer in run.party.peers() {
        let held = hash_columns(&|columns| &columns.held[peer.index()]);
        let mut stated = received[peer.index()].chunks_exact(HASH);
        let mut wrong = subtle::Choice::from(0);
        for ((lot, held), x) in
            lots.iter().zip(held).zip(choice_hashes[peer.index()].chunks_exact(HASH))
        {
            let nibbles = lot.pairs(peer.index()).map(|(_, _, nibble, _)| nibble);
            for (nibble, of_tree) in nibbles.zip(held.chunks_exact(LEVELS)) {
                for (level, hashed) in of_tree.iter().enumerate() {
                    let bit = ((nibble >> level & 1) as u8).wrapping_neg();
                    let mut expected: [u8; HASH] =
                        stated.next().expect("one per column").try_into().expect("whole hashes");
                    expected.iter_mut().zip(x).for_each(|(e, x)| *e ^= x & bit);
                    wrong |= !expected.ct_eq(hashed);
                }
            }
        }
        if wrong.into() {
            return Err(Abort::Correlation(peer));
        }
    }
    Ok(())
}
