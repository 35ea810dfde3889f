//! What a participant computes (Ruffle §5.1.2): checks the masks that the servers gave, masks a
//! row, signs it.
//!
//! Every mask comes from two servers, at most one of which lies. The participant takes, for each
//! pair, the Merkle root that at least two servers state, and seeds that open it.

use ostrakon_crypto::{Digest, Signature, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};

use crate::pair::Pair;
use crate::slots::{self, Issue, SlotSeeds, SlotsContext};

/// A masked row with its owner's signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// `m ⊕ α ⊕ γ`, as wide as the table.
    pub masked: Vec<u8>,
    /// The owner's signature on [`slots::submission_digest`].
    pub signature: Signature,
}

/// Bytes that a submission has beyond the masked row, at most.
pub const SUBMISSION_OVERHEAD: usize = 64 + 3;

/// Why no submission can be made; nothing secret has been used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MaskError {
    /// No root is stated by two servers for this pair, or nobody has opened it yet.
    #[error("the masks of servers {0:?} are not yet known from two sides")]
    Incomplete(Pair),
    /// Two servers' statements about this pair contradict each other, and no third one decides.
    #[error("the servers contradict each other about the masks of servers {0:?}")]
    Contradiction(Pair),
}

/// A slot of an epoch, as its owner and the servers name it.
#[derive(Clone, Copy, Debug)]
pub struct SlotName<'a> {
    /// The servers' session.
    pub session: &'a Digest,
    /// The batch of preprocessed material.
    pub batch: u64,
    /// The digest of everything the servers agreed on about the epoch.
    pub context: &'a Digest,
    /// Rows of the table.
    pub rows: u32,
    /// The slot.
    pub slot: u32,
}

/// Finds the true seeds of every pair among the servers' issues (by party number).
///
/// # Errors
/// [`MaskError`] names the pair whose seeds cannot be told yet or at all.
pub fn combine(
    name: SlotName<'_>,
    issues: [Option<&Issue>; 3],
) -> Result<[SlotSeeds; 3], MaskError> {
    let [a, b, c] = Pair::ALL.map(|pair| seeds_of(name, issues, pair));
    Ok([a?, b?, c?])
}

fn seeds_of(
    name: SlotName<'_>,
    issues: [Option<&Issue>; 3],
    pair: Pair,
) -> Result<SlotSeeds, MaskError> {
    let stated: Vec<Digest> =
        issues.iter().flatten().map(|issue| issue.roots[pair.index()]).collect();
    let agreed =
        stated.iter().find(|root| stated.iter().filter(|other| other == root).count() >= 2);
    let Some(root) = agreed else {
        let contradiction = stated.len() == 3;
        return Err(if contradiction {
            MaskError::Contradiction(pair)
        } else {
            MaskError::Incomplete(pair)
        });
    };
    let context = SlotsContext::new(name.session, name.batch, pair);
    for member in pair.members() {
        let Some(issue) = issues[usize::from(member)] else { continue };
        let place = usize::from(Pair::of_party(member)[1] == pair);
        let (seeds, path) = &issue.seeds[place];
        if slots::verify_seeds(&context, root, name.rows, name.slot, seeds, path) {
            return Ok(seeds.clone());
        }
    }
    Err(MaskError::Incomplete(pair))
}

/// Masks a row and signs it.
pub fn submit(
    name: SlotName<'_>,
    seeds: &[SlotSeeds; 3],
    row: &[u8],
    key: &SigningKey,
) -> Submission {
    let mut masked = row.to_vec();
    for pair in seeds {
        pair.xor_mask(&mut masked);
        pair.xor_pad(&mut masked);
    }
    let digest = slots::submission_digest(name.context, name.slot, &key.verifying_key().0, &masked);
    Submission { masked, signature: key.sign(&digest) }
}

/// Whether a submission is its slot owner's.
#[must_use]
pub fn verify_submission(
    context: &Digest,
    slot: u32,
    owner: &VerifyingKey,
    submission: &Submission,
) -> bool {
    let digest = slots::submission_digest(context, slot, &owner.0, &submission.masked);
    owner.verifies(&digest, &submission.signature)
}
