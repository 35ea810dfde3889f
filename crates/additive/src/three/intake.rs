//! Whether a server takes a submission in (`docs/spec/clarion.md`, C3).

use ostrakon_crypto::VerifyingKey;
use ostrakon_party::PartyId;

use super::messages::EpochSpec;
use super::registration::Registry;
use crate::client::Submission;

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
