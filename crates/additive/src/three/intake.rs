//! Whether a server takes a submission in (`docs/spec/clarion.md`, C3).

use ostrakon_crypto::{Digest, Signature, VerifyingKey};
use ostrakon_party::PartyId;
use ostrakon_threeparty::seal::Sealable;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Error as _, Serialize, Serializer};

use super::messages::EpochSpec;
use super::registration::Registry;
use crate::client::{Submission, Submitted};

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
    let listed = Submission::listed(&spec.signed(), slot, owner, &submission.content());
    owner.verifies(&listed, &submission.signature)
}

/// A submission of somebody who has registered before, as it was handed in, byte for byte.
#[derive(Clone)]
pub struct TakenIn(Vec<u8>);

impl TakenIn {
    fn submitted(&self) -> Submitted<'_> {
        Submitted::of(&self.0).expect("it was made of a whole one")
    }

    /// The content of its owner's registration.
    pub fn registration(&self) -> Digest {
        self.submitted().registration()
    }

    /// The padded row.
    pub fn padded(&self) -> &[u8] {
        self.submitted().padded()
    }
}

impl From<Submission> for TakenIn {
    fn from(submission: Submission) -> Self {
        Self(submission.to_bytes())
    }
}

impl Serialize for TakenIn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let submission = Submission::from_bytes(&self.0);
        submission.ok_or_else(|| S::Error::custom("no submission"))?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TakenIn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Submission::deserialize(deserializer).map(Self::from)
    }
}

impl Sealable for TakenIn {
    fn content(&self) -> Digest {
        Submission::content_of(self.padded(), &self.registration())
    }

    fn signature(&self) -> Signature {
        self.submitted().signature()
    }

    fn listed(context: &Digest, slot: u32, owner: &VerifyingKey, content: &Digest) -> Digest {
        Submission::listed(context, slot, owner, content)
    }

    fn is_wide(&self, width: usize) -> bool {
        self.padded().len() == width
    }

    /// Servers take submissions in by their MACs: that two list it is enough.
    fn is_acceptable(&self, _: &VerifyingKey, _: &Digest) -> bool {
        true
    }
}
