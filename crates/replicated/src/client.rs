//! What a participant computes (Ruffle §5.1.2): checks the masks that the servers gave, masks a
//! row, signs it.
//!
//! Every mask comes from two servers, at most one of which lies. The participant takes, for each
//! pair, the Merkle root that at least two servers state, and seeds that open it.

use std::fmt;

use ostrakon_crypto::{Digest, Signature, SigningKey, VerifyingKey};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::pair::Pair;
use crate::slots::{self, Issue, SlotSeeds, SlotsContext};

/// A masked row and then its owner's signature, byte for byte as they are handed in: servers have
/// as many of them as there are participants, and look at them where they lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission<B = Vec<u8>>(B);

/// Bytes that a submission has beyond the masked row: those of the signature.
pub const SUBMISSION_OVERHEAD: usize = 64;

impl Submission {
    /// Of a masked row and a signature on its [`slots::submission_digest`].
    pub fn new(masked: &[u8], signature: &Signature) -> Self {
        Self([masked, &signature.0].concat())
    }
}

impl<B: AsRef<[u8]>> Submission<B> {
    /// Bytes that were handed in; `None` if they are too few for a signature.
    pub fn of(bytes: B) -> Option<Self> {
        (bytes.as_ref().len() >= SUBMISSION_OVERHEAD).then_some(Self(bytes))
    }

    fn parts(&self) -> (&[u8], &[u8; SUBMISSION_OVERHEAD]) {
        self.0.as_ref().split_last_chunk().expect("the length was checked")
    }

    /// `m ⊕ α ⊕ γ`, as wide as the table.
    pub fn masked(&self) -> &[u8] {
        self.parts().0
    }

    /// The owner's signature on [`slots::submission_digest`].
    pub fn signature(&self) -> Signature {
        Signature(*self.parts().1)
    }

    /// What is handed in.
    pub fn into_bytes(self) -> B {
        self.0
    }
}

// As bytes, which are not taken one by one.
impl Serialize for Submission {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Submission {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Reading)
    }
}

struct Reading;

impl Visitor<'_> for Reading {
    type Value = Submission;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a masked row and a signature")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Submission, E> {
        Submission::of(bytes.to_vec()).ok_or_else(|| E::invalid_length(bytes.len(), &self))
    }
}

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
    Submission::new(&masked, &key.sign(&digest))
}

/// Whether a submission is its slot owner's.
#[must_use]
pub fn verify_submission<B: AsRef<[u8]>>(
    context: &Digest,
    slot: u32,
    owner: &VerifyingKey,
    submission: &Submission<B>,
) -> bool {
    let digest = slots::submission_digest(context, slot, &owner.0, submission.masked());
    owner.verifies(&digest, &submission.signature())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submission_is_its_row_and_then_the_signature() {
        let bytes: Vec<u8> = (0..24 + SUBMISSION_OVERHEAD as u8).collect();
        let submission = Submission::of(&bytes[..]).unwrap();
        assert_eq!(submission.masked(), &bytes[..24]);
        assert_eq!(submission.signature().0, bytes[24..]);
        let made = Submission::new(submission.masked(), &submission.signature());
        assert_eq!(made.into_bytes(), bytes);
        assert!(Submission::of(&bytes[..SUBMISSION_OVERHEAD]).is_some());
        assert!(Submission::of(&bytes[..SUBMISSION_OVERHEAD - 1]).is_none());
    }

    #[cfg(feature = "server")]
    #[test]
    fn what_servers_give_each_other_has_a_signature() {
        use ostrakon_party::wire;
        let given = Submission::new(&[1; 24], &Signature([2; 64]));
        let bytes = wire::encode(&given);
        assert_eq!(bytes.len(), 1 + 24 + 64, "a length and the bytes");
        assert_eq!(wire::decode(&bytes), Ok(given));
        let short = wire::encode(&vec![1u8; SUBMISSION_OVERHEAD - 1]);
        assert_eq!(wire::decode::<Submission>(&short), Err(wire::Malformed));
    }
}
