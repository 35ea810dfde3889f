//! Steps 3 to 5: extension and its consistency check.

use ostrakon_kernels::{LeafSums, linear_rows, wipe, xor_into, zeroed_table};
use ostrakon_party::PartyId;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use super::trees::Leaves;
use super::{Block, Columns, HASHES, LEVELS, Setup, words_of_lot};
use crate::abort::Abort;
use crate::bits::{Bits, bytes_of, mask, words_of};
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

/// Step 3 at the owner: the corrections.
fn correct(lot: &Lot, peer: usize, corrections: &mut [u8]) {
    let length = lot.choices.len();
    let mut sums = LeafSums::default();
    let mut columns = Zeroizing::new([0; LEVELS * LeafSums::TILE]);
    let trees = lot.pairs(peer).zip(corrections.chunks_exact_mut(length));
    for ((owned, _, _, position), correction) in trees {
        for (n, part) in correction.chunks_mut(LeafSums::TILE).enumerate() {
            let (at, unused) = ((n * LeafSums::TILE) as u64, &mut columns[..LEVELS * part.len()]);
            sums.add_up(&owned.0, position + at, part, unused);
        }
        xor_into(correction, &lot.choices);
    }
}

/// Hashes of columns, one after the other.
type Hashes = Vec<[u64; HASHES]>;

/// Makes the columns with one peer, the same part of each at a time, which stays in the cache until
/// all is done with it that is to be done: columns as long as the lot would have to come from
/// memory again each time, and fill it.
struct Weaver<'a> {
    lots: &'a [Lot<'a>],
    chi: &'a [[Vec<u64>; HASHES]],
    sums: LeafSums,
    total: Vec<u8>,
    part: Vec<u8>,
}

impl Drop for Weaver<'_> {
    fn drop(&mut self) {
        wipe(&mut self.total);
        wipe(&mut self.part);
    }
}

impl<'a> Weaver<'a> {
    fn new(lots: &'a [Lot<'a>], chi: &'a [[Vec<u64>; HASHES]]) -> Self {
        let trees = lots.iter().map(Lot::trees).max().unwrap_or(0);
        let total = vec![0; LeafSums::TILE];
        let part = vec![0; LEVELS * trees * LeafSums::TILE];
        Self { lots, chi, sums: LeafSums::default(), total, part }
    }

    /// Step 3, the columns of one lot with one peer: v at the owner, w at the holder, who is given
    /// what the owner has corrected. Hands them over part by part, and hashes them for step 5.
    fn weave(
        &mut self,
        (lot, peer): (usize, usize),
        corrections: Option<&[u8]>,
        take: &mut impl FnMut(&Block<'_>),
    ) -> Hashes {
        let (lots, chi) = (self.lots, self.chi);
        let (of_lot, chi) = (&lots[lot], &chi[lot]);
        let length = of_lot.choices.len();
        let mut hashes = vec![[0; HASHES]; LEVELS * of_lot.trees()];
        let mut hashed = vec![0; hashes.len()];
        for at in (0..length).step_by(LeafSums::TILE) {
            let width = LeafSums::TILE.min(length - at);
            let part = &mut self.part[..LEVELS * of_lot.trees() * width];
            let trees = of_lot.pairs(peer).zip(part.chunks_exact_mut(LEVELS * width));
            for (tree, ((owned, held, nibble, position), out)) in trees.enumerate() {
                let leaves = if corrections.is_some() { held } else { owned };
                let total = &mut self.total[..width];
                self.sums.add_up(&leaves.0, position + at as u64, total, out);
                if let Some(corrections) = corrections {
                    adjust(out, &corrections[tree * length + at..][..width], nibble);
                }
            }
            for (hash, chi) in chi.iter().enumerate() {
                linear_rows(&chi[at / 8..][..width / 8], part, width, &mut hashed);
                hashes.iter_mut().zip(&hashed).for_each(|(sum, part)| sum[hash] ^= part);
            }
            let (held, first, words) = (corrections.is_some(), at / 8, width / 8);
            take(&Block { lot, peer, held, first, words, columns: part });
        }
        hashes
    }
}

/// Adds the corrections to the columns of a tree for which the bit of Δ is one, without a branch.
fn adjust(columns: &mut [u8], corrections: &[u8], nibble: usize) {
    for (level, column) in columns.chunks_exact_mut(corrections.len()).enumerate() {
        let bit = mask((nibble >> level) as u64);
        let (words, _) = column.as_chunks_mut::<8>();
        for (word, correction) in words.iter_mut().zip(corrections.as_chunks::<8>().0) {
            let corrected = u64::from_le_bytes(*word) ^ (u64::from_le_bytes(*correction) & bit);
            *word = corrected.to_le_bytes();
        }
    }
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

/// h of the own bits, which end in the masks.
fn hash(coefficients: &[Vec<u64>; HASHES], column: &[u8]) -> [u8; HASH] {
    let hashes = coefficients.each_ref().map(|c| {
        let mut sum = [0];
        linear_rows(c, column, column.len(), &mut sum);
        sum[0]
    });
    bytes_of_hash(&hashes)
}

fn bytes_of_hash(hashes: &[u64; HASHES]) -> [u8; HASH] {
    let mut out = [0; HASH];
    out.as_chunks_mut::<8>().0.iter_mut().zip(hashes).for_each(|(out, hash)| {
        *out = hash.to_le_bytes();
    });
    out
}

/// Steps 3 to 5 for several lots under one coin. Columns are handed over part by part before they
/// are checked: nothing that depends on them may be sent before this has returned.
///
/// # Errors
/// [`Abort::Correlation`] names an owner whose columns do not fit its bits.
pub(crate) async fn extend_into(
    run: &mut Run,
    lots: &[Lot<'_>],
    mut take: impl FnMut(&Block<'_>),
) -> Result<(), Abort> {
    let length = lots.iter().map(Lot::corrections).sum();
    let mut bodies = vec![Vec::new(); run.parties()];
    for peer in run.party.peers().map(PartyId::index) {
        bodies[peer] = zeroed_table(length);
        let mut rest = &mut bodies[peer][..];
        for lot in lots {
            let (part, after) = rest.split_at_mut(lot.corrections());
            correct(lot, peer, part);
            rest = after;
        }
    }
    let received = run.exchange(Kind::Corrections, bodies, length).await?;
    // Step 4. The own part of the coin is opened only here, after all corrections.
    let coin = run.toss().await?;
    let chi: Vec<_> =
        lots.iter().enumerate().map(|(i, lot)| coefficients(&coin, i, lot.words())).collect();
    let mut weaver = Weaver::new(lots, &chi);
    let (mut owned, mut held) = (vec![Vec::new(); run.parties()], vec![Vec::new(); run.parties()]);
    for peer in run.party.peers().map(PartyId::index) {
        let mut rest = &received[peer][..];
        for (i, lot) in lots.iter().enumerate() {
            let (part, after) = rest.split_at(lot.corrections());
            owned[peer].push(weaver.weave((i, peer), None, &mut take));
            held[peer].push(weaver.weave((i, peer), Some(part), &mut take));
            rest = after;
        }
    }
    drop((weaver, received));
    check(run, lots, &chi, (&owned, &held)).await
}

/// The same, in which the columns are kept.
///
/// # Errors
/// As [`extend_into`].
pub(crate) async fn extend(run: &mut Run, lots: Vec<Lot<'_>>) -> Result<Vec<Columns>, Abort> {
    let mut all: Vec<Columns> =
        lots.iter().map(|lot| Columns::empty(run, lot.trees(), lot.words())).collect();
    extend_into(run, &lots, |block| all[block.lot].put(block)).await?;
    Ok(all)
}

/// Step 5, of what the columns hash to, by peer and lot.
async fn check(
    run: &mut Run,
    lots: &[Lot<'_>],
    chi: &[[Vec<u64>; HASHES]],
    (owned, held): (&[Vec<Hashes>], &[Vec<Hashes>]),
) -> Result<(), Abort> {
    let own: Vec<u8> =
        lots.iter().zip(chi).flat_map(|(lot, chi)| hash(chi, &lot.choices)).collect();
    let choice_hashes = run.broadcast(Kind::ChoiceHash, own).await?;
    run.note(Kind::ChoiceHash, &choice_hashes.concat());
    let of_peer =
        |hashes: &Vec<Hashes>| hashes.iter().flatten().flat_map(bytes_of_hash).collect::<Vec<u8>>();
    let bodies: Vec<Vec<u8>> = owned.iter().map(of_peer).collect();
    let length = lots.iter().map(|lot| LEVELS * lot.trees() * HASH).sum();
    let received = run.exchange(Kind::ColumnHashes, bodies, length).await?;
    for peer in run.party.peers() {
        let mut stated = received[peer.index()].chunks_exact(HASH);
        let mut wrong = subtle::Choice::from(0);
        for ((lot, held), x) in
            lots.iter().zip(&held[peer.index()]).zip(choice_hashes[peer.index()].chunks_exact(HASH))
        {
            let nibbles = lot.pairs(peer.index()).map(|(_, _, nibble, _)| nibble);
            for (nibble, of_tree) in nibbles.zip(held.chunks_exact(LEVELS)) {
                for (level, hashed) in of_tree.iter().enumerate() {
                    let bit = mask((nibble >> level) as u64) as u8;
                    let mut expected: [u8; HASH] =
                        stated.next().expect("one per column").try_into().expect("whole hashes");
                    expected.iter_mut().zip(x).for_each(|(e, x)| *e ^= x & bit);
                    wrong |= !expected.ct_eq(&bytes_of_hash(hashed));
                }
            }
        }
        if wrong.into() {
            return Err(Abort::Correlation(peer));
        }
    }
    Ok(())
}
