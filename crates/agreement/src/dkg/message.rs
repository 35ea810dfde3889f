//! What servers say while they make a key.

use ostrakon_crypto::{Digest, Signature, SigningKey, VerifyingKey};
use ostrakon_party::{PartyId, wire};
use serde::{Deserialize, Serialize};

use super::dealing::{Context, Dealing, SealedShare};

/// Bytes of a message at most.
pub const MAX_DKG_MESSAGE: usize = 96 << 10;

/// A server's dealing, opened, with a sealed share for everybody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// What was committed to.
    pub dealing: Dealing,
    /// A share for each server, by number.
    pub shares: Vec<SealedShare>,
    /// Under what they are sealed: the digests of all servers' commitments, with their signatures,
    /// by number. Without them a receiver could commit to two keys, have its share sealed under one
    /// and complain with the other.
    pub commits: Vec<Word>,
}

/// A receiver's word that a dealer sealed it a share that does not fit. It gives away the exchange
/// key that the receiver made for this attempt, so that everybody can look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Complaint {
    /// Whose dealing.
    pub dealer: PartyId,
    /// The opening complained of: a dealer that sent others a better one said two things.
    pub opening: Word,
    /// The receiver's exchange key.
    pub key: [u8; 32],
}

/// All servers' signatures on the transcript, by number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done(pub Vec<Signature>);

/// A message by its digest, with its author's signature.
pub type Word = (Digest, Signature);

/// What one server heard of another: its two messages.
pub(super) type Heard = [Word; 2];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Body {
    /// The exchange key's public half, and the digest of the dealing.
    Commit([u8; 32], Digest),
    Open(Opening),
    /// The signature on the transcript, and what it consists of.
    Agree(Signature, Vec<Heard>),
    Complain(Complaint),
    Done(Done),
}

impl Body {
    pub fn kind(&self) -> u64 {
        match self {
            Body::Commit(..) => 1,
            Body::Open(_) => 2,
            Body::Agree(..) => 3,
            Body::Complain(_) => 4,
            Body::Done(_) => 5,
        }
    }

    pub fn digest(&self) -> Digest {
        ostrakon_crypto::hash::digest("ostrakon/v1/agreement/dkg body", &wire::encode(self))
    }
}

/// A signed message of one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DkgMessage {
    pub(super) attempt: u32,
    pub(super) body: Body,
    pub(super) signature: Signature,
}

/// What is signed of a message of `kind`.
pub(super) fn statement(context: &Context, from: PartyId, kind: u64, body: &Digest) -> Digest {
    let mut transcript = context.transcript("ostrakon/v1/agreement/dkg message");
    transcript.number(u64::from(from.0)).number(kind).field(&body.0);
    transcript.finish()
}

impl DkgMessage {
    pub(super) fn sign(body: Body, context: &Context, from: PartyId, signing: &SigningKey) -> Self {
        let statement = statement(context, from, body.kind(), &body.digest());
        Self { attempt: context.attempt, signature: signing.sign(&statement), body }
    }

    pub(super) fn verifies(&self, context: &Context, from: PartyId, key: &VerifyingKey) -> bool {
        let statement = statement(context, from, self.body.kind(), &self.body.digest());
        self.attempt == context.attempt && key.verifies(&statement, &self.signature)
    }

    /// Reads a message; nothing of it has been checked.
    ///
    /// # Errors
    /// [`wire::Malformed`] for anything too long or not canonical.
    pub fn decode(bytes: &[u8]) -> Result<Self, wire::Malformed> {
        if bytes.len() > MAX_DKG_MESSAGE {
            return Err(wire::Malformed);
        }
        wire::decode(bytes)
    }

    /// The attempt that the message belongs to: whoever runs several passes it to the right one.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }
}
