//! Whether a server takes a submission in (`docs/spec/clarion.md`, C3).

use std::borrow::Cow;

use ostrakon_crypto::{Digest, Signature, VerifyingKey};
use ostrakon_party::PartyId;
use ostrakon_threeparty::seal::Sealable;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Error as _, Serialize, Serializer};

use super::messages::EpochSpec;
use super::prints::Prints;
use super::registration::Registry;
use crate::client::{SUBMISSION_OVERHEAD, Submission};

/// Why a submission is not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Its row has another width.
    #[error("the row is not as wide as the table")]
    Width,
    /// Its owner is not registered, or otherwise.
    #[error("the owner is not registered, or with another registration")]
    Registration,
    /// The seeds are at another round.
    #[error("the epoch is of another round")]
    Round,
    /// Neither MAC nor signature is right.
    #[error("the submission is not its owner's")]
    Owner,
}

/// Whether a server may take in a submission by its MAC (C3).
///
/// # Errors
/// [`Refused`].
pub fn check(
    party: PartyId,
    spec: &EpochSpec,
    slot: u32,
    owner: &VerifyingKey,
    submission: &Submission,
    registry: &Registry,
) -> Result<(), Refused> {
    if submission.padded.len() != spec.width as usize {
        return Err(Refused::Width);
    }
    let held = registry.get(owner).filter(|held| *held.registration() == submission.registration);
    let held = held.ok_or(Refused::Registration)?;
    if held.seeds().iter().any(|seed| seed.round() != spec.round) {
        return Err(Refused::Round);
    }
    let listed = Submission::listed(&spec.signed(), slot, owner, &submission.content());
    if submission.has_mac(party.0, held.seeds(), &listed) { Ok(()) } else { Err(Refused::Owner) }
}

/// Whether a submission's signature is its owner's: what the owner's home, and every server in a
/// dispute, looks at.
#[must_use]
pub fn verify_signature(
    spec: &EpochSpec,
    slot: u32,
    owner: &VerifyingKey,
    submission: &Submission,
) -> bool {
    signed(spec, slot, owner, submission).is_some()
}

/// What lists hold of a submission, if its signature is its owner's.
#[must_use]
pub fn signed(
    spec: &EpochSpec,
    slot: u32,
    owner: &VerifyingKey,
    submission: &Submission,
) -> Option<Digest> {
    let listed = Submission::listed(&spec.signed(), slot, owner, &submission.content());
    owner.verifies(&listed, &submission.signature).then_some(listed)
}

/// A submission as it was handed in, byte for byte, with what lists hold of it, where that was made
/// as it came in.
#[derive(Clone)]
pub struct TakenIn<'a> {
    bytes: Cow<'a, [u8]>,
    listed: Option<Digest>,
}

impl<'a> TakenIn<'a> {
    /// The submission with these bytes ([`Submission::to_bytes`]); `None` if they are too few for
    /// one. `listed` is what [`signed`] found of it for the same epoch, slot and owner.
    pub fn of(bytes: &'a [u8], listed: Option<Digest>) -> Option<Self> {
        let whole = bytes.len() >= SUBMISSION_OVERHEAD;
        whole.then_some(Self { bytes: Cow::Borrowed(bytes), listed })
    }

    /// The same, with what was found `before`, print and entry of lists, if it is of these bytes.
    pub fn again(before: Option<(u64, Digest)>, bytes: &'a [u8], prints: &Prints) -> Option<Self> {
        let same = before.filter(|(print, _)| prints.of(bytes) == Some(*print));
        Self::of(bytes, same.map(|(_, listed)| listed))
    }

    /// The content of its owner's registration.
    pub fn registration(&self) -> Digest {
        Digest(*self.bytes.first_chunk().expect("the length was checked"))
    }

    /// The padded row.
    pub fn padded(&self) -> &[u8] {
        &self.bytes[SUBMISSION_OVERHEAD..]
    }
}

impl From<Submission> for TakenIn<'_> {
    fn from(submission: Submission) -> Self {
        Self { bytes: Cow::Owned(submission.to_bytes()), listed: None }
    }
}

impl Serialize for TakenIn<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let submission = Submission::from_bytes(&self.bytes);
        submission.ok_or_else(|| S::Error::custom("no submission"))?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TakenIn<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Submission::deserialize(deserializer).map(Self::from)
    }
}

impl Sealable for TakenIn<'_> {
    fn content(&self) -> Digest {
        Submission::content_of(self.padded(), &self.registration())
    }

    fn signature(&self) -> Signature {
        let signature = self.bytes[..SUBMISSION_OVERHEAD].last_chunk();
        Signature(*signature.expect("the length was checked"))
    }

    fn listed(context: &Digest, slot: u32, owner: &VerifyingKey, content: &Digest) -> Digest {
        Submission::listed(context, slot, owner, content)
    }

    fn as_listed(&self, context: &Digest, slot: u32, owner: &VerifyingKey) -> Digest {
        self.listed.unwrap_or_else(|| Self::listed(context, slot, owner, &self.content()))
    }

    fn is_wide(&self, width: usize) -> bool {
        self.padded().len() == width
    }

    /// Servers take submissions in by their MACs: that two list it is enough.
    fn is_acceptable(&self, _: &VerifyingKey, _: &Digest) -> bool {
        true
    }
}
