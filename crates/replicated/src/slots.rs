//! Per-slot masks: what a participant downloads for a slot does not grow with the row's width.
//!
//! Per slot and pair there are two 16-byte seeds. The **mask seed** expands into the pair's share
//! of α; it is given to the slot's owner and to nobody else. The **pad seed** expands into the
//! pair's share of a pad γ, which is given to the owner, and to the third server too once the
//! slot's submission has been sealed, never otherwise. The owner submits `m ⊕ α ⊕ γ`: whatever
//! reaches a server too late is still under γ, although the absent slot's α comes out of the mix as
//! noise (`docs/spec/ruffle.md`, "Late submissions").
//!
//! A pair commits to its slots by the root of a Merkle tree over `leaf = H(slot, H(mask seed), pad
//! seed)`. The inner hash lets the pair show pads with the leaves they belong to and no mask.

use ostrakon_crypto::hash::digest;
#[cfg(feature = "server")]
use ostrakon_crypto::many;
use ostrakon_crypto::many::BLOCK;
use ostrakon_crypto::{Digest, Secret, merkle};
use ostrakon_kernels::{Prg, short_prg};
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::pair::Pair;
use crate::params::SLOT_SEED;

/// What names one pair's slots of one batch: the key of their leaf hashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotsContext([u8; 32]);

impl SlotsContext {
    /// Of the slots of `pair` in batch `number` of a session.
    pub fn new(session: &Digest, number: u64, pair: Pair) -> Self {
        let mut transcript = ostrakon_crypto::Transcript::new("ostrakon/v1/ruffle/slot leaf");
        transcript.field(&session.0).number(number).number(pair.index() as u64);
        Self(transcript.finish().0)
    }

    /// The key.
    #[cfg(feature = "server")]
    pub(crate) fn key(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The seeds of one slot for one pair.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct SlotSeeds {
    /// Expands into the pair's share of the slot's α.
    pub mask: [u8; SLOT_SEED],
    /// Expands into the pair's share of the slot's γ.
    pub pad: [u8; SLOT_SEED],
}

/// The hash of a mask seed, which stands for it in a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaskDigest(pub [u8; SLOT_SEED]);

impl SlotSeeds {
    /// The seeds of slot `slot`, from the pair's seed of all its slots: 32 bytes of its stream.
    pub fn derive(prg: &Prg, slot: u32) -> Self {
        let mut bytes = [0; 2 * SLOT_SEED];
        prg.fill_at(u64::from(slot) * bytes.len() as u64, &mut bytes);
        let seeds = Self {
            mask: bytes[..SLOT_SEED].try_into().expect("half"),
            pad: bytes[SLOT_SEED..].try_into().expect("half"),
        };
        bytes.zeroize();
        seeds
    }

    /// XORs the pair's share of α into `row`.
    pub fn xor_mask(&self, row: &mut [u8]) {
        xor_expanded(&self.mask, row);
    }

    /// XORs the pair's share of γ into `row`.
    pub fn xor_pad(&self, row: &mut [u8]) {
        xor_expanded(&self.pad, row);
    }

    /// The hash of the mask seed.
    pub fn mask_digest(&self, context: &SlotsContext, slot: u32) -> MaskDigest {
        MaskDigest(
            keyed(context, slot, Hashed::Mask, &self.mask).0[..SLOT_SEED].try_into().expect("half"),
        )
    }

    /// The slot's leaf.
    pub fn leaf(&self, context: &SlotsContext, slot: u32) -> Digest {
        leaf(context, slot, &self.mask_digest(context, slot), &self.pad)
    }
}

fn xor_expanded(seed: &[u8; SLOT_SEED], row: &mut [u8]) {
    let mut stream = vec![0; row.len()];
    short_prg(seed, &mut stream);
    ostrakon_kernels::xor_into(row, &stream);
    stream.zeroize();
}

/// What is hashed of a slot: of its mask seed, or of what its leaf is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hashed {
    Mask = 1,
    Leaf = 2,
}

impl Hashed {
    /// Bytes of the slot.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Mask => SLOT_SEED,
            Self::Leaf => 2 * SLOT_SEED,
        }
    }
}

/// Bytes that are hashed before those of the slot: what they are, and which slot.
pub(crate) const NAME: usize = 1 + 4;

/// What is hashed, filled up with zeros to a block.
pub(crate) fn block(slot: u32, what: Hashed, body: &[u8]) -> [u8; BLOCK] {
    debug_assert_eq!(body.len(), what.bytes(), "all that is hashed of a slot");
    let mut block = [0; BLOCK];
    block[0] = what as u8;
    block[1..NAME].copy_from_slice(&slot.to_le_bytes());
    block[NAME..NAME + body.len()].copy_from_slice(body);
    block
}

/// One compression: the input fits a block, the context is the key.
fn keyed(context: &SlotsContext, slot: u32, what: Hashed, body: &[u8]) -> Digest {
    let block = block(slot, what, body);
    Digest(*ostrakon_crypto::hash::keyed(&context.0, &block[..NAME + body.len()]).expose())
}

/// The leaf of a slot from the hash of its mask seed and its pad seed.
pub fn leaf(context: &SlotsContext, slot: u32, mask: &MaskDigest, pad: &[u8; SLOT_SEED]) -> Digest {
    let mut body = [0; 2 * SLOT_SEED];
    body[..SLOT_SEED].copy_from_slice(&mask.0);
    body[SLOT_SEED..].copy_from_slice(pad);
    keyed(context, slot, Hashed::Leaf, &body)
}

/// The pair's seed of all its slots, as a stream.
pub fn slots_prg(seed: &Secret) -> Prg {
    Prg::new(seed.expose())
}

/// What one server gives to the owner of a slot: the seeds of its two pairs with their paths, and
/// the roots of all three pairs, which the owner compares with what the other servers say.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// Roots of the three pairs, by [`Pair::index`].
    pub roots: [Digest; 3],
    /// For each pair that the server is in, in order: the slot's seeds and the leaf's Merkle path.
    pub seeds: [(SlotSeeds, Vec<Digest>); 2],
}

/// Whether the seeds are those that the root commits to.
#[must_use]
pub fn verify_seeds(
    context: &SlotsContext,
    root: &Digest,
    rows: u32,
    slot: u32,
    seeds: &SlotSeeds,
    path: &[Digest],
) -> bool {
    merkle::verify(root, rows as usize, slot as usize, &seeds.leaf(context, slot), path)
}

const MASKED_ROW: &str = "ostrakon/v1/ruffle/masked row";
const SUBMISSION: &str = "ostrakon/v1/ruffle/submission";

/// The digest of a masked row.
pub fn masked_digest(masked: &[u8]) -> Digest {
    digest(MASKED_ROW, masked)
}

/// What a participant signs: the digest of its masked row, for one slot of one epoch.
pub fn submission_digest(context: &Digest, slot: u32, owner: &[u8; 32], masked: &[u8]) -> Digest {
    submission_digest_of(context, slot, owner, &masked_digest(masked))
}

/// [`submission_digest`] from the digest of the masked row.
pub fn submission_digest_of(
    context: &Digest,
    slot: u32,
    owner: &[u8; 32],
    masked: &Digest,
) -> Digest {
    let mut transcript = ostrakon_crypto::Transcript::new(SUBMISSION);
    transcript.field(&context.0).number(u64::from(slot)).field(owner).field(&masked.0);
    transcript.finish()
}

/// [`submission_digest`] of many: of each number the slot, its owner and the masked row.
#[cfg(feature = "server")]
pub(crate) fn submission_digests<'a>(
    context: &Digest,
    count: usize,
    of: impl Fn(usize) -> (u32, &'a [u8; 32], &'a [u8]) + Sync,
) -> Vec<Digest> {
    let masked = many::digests(MASKED_ROW, count, |number, fields| {
        fields.field(of(number).2);
    });
    many::digests(SUBMISSION, count, |number, fields| {
        let (slot, owner, _) = of(number);
        fields.field(&context.0).number(u64::from(slot)).field(owner).field(&masked[number].0);
    })
}

#[cfg(all(test, feature = "server"))]
mod tests {
    use super::*;

    #[test]
    fn many_submissions_have_the_digests_of_each() {
        let context = Digest([1; 32]);
        let rows: Vec<Vec<u8>> = (0..21).map(|byte| vec![byte; 48]).collect();
        let owners: Vec<[u8; 32]> = (0..21).map(|byte| [byte ^ 3; 32]).collect();
        let slot = |place: usize| place as u32 * 5;
        let of = |place: usize| (slot(place), &owners[place], &rows[place][..]);
        for (place, digest) in submission_digests(&context, 21, of).into_iter().enumerate() {
            let one = submission_digest(&context, slot(place), &owners[place], &rows[place]);
            assert_eq!(digest, one, "place {place}");
        }
    }
}
