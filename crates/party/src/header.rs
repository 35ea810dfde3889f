//! What identifies a message, and what its sender signs.

use ostrakon_crypto::{Digest, Signature, SigningKey, Transcript, VerifyingKey};
use serde::{Deserialize, Serialize};

use crate::PartyId;

/// One deployment of a fixed set of parties, from set-up on: the digest of their keys and their
/// joint coin. Messages of another session are never accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionId(pub Digest);

/// What kind of computation an [`Instance`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum InstanceKind {
    /// Shared-key set-up.
    Setup = 1,
    /// The agreement on what the servers do: rooms, rosters, who computes what and when.
    Control = 2,
    /// The preprocessing of one batch.
    Batch = 3,
    /// The giving out of one epoch's slots.
    Issue = 4,
    /// One epoch from its sealing to its publication.
    Epoch = 5,
    /// A computation on a graph.
    Graph = 9,
}

/// One run of one protocol. Kind, scope and number together never repeat within a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Instance {
    /// Which protocol.
    pub kind: InstanceKind,
    /// Which room, or which stock; zero where there is but one.
    pub scope: [u8; 16],
    /// Which run, counted from 0.
    pub number: u64,
}

/// A step of a protocol. Every protocol has an `enum` of its steps and converts it into this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Step(pub u16);

/// The address of a message within a session: used once per sender and recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tag {
    /// Which run of which protocol.
    pub instance: Instance,
    /// Which step of it.
    pub step: Step,
    /// Which message of that step, where it has several.
    pub sequence: u32,
}

/// To whom a message is addressed.
///
/// A message to all parties is one statement: two different ones under one tag contradict each
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Recipient {
    /// One party.
    One(PartyId),
    /// Every other party, in the same words.
    All,
}

/// What a message says of itself; what its sender signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Header {
    /// The session it belongs to.
    pub session: SessionId,
    /// Its address.
    pub tag: Tag,
    /// Who sends it.
    pub from: PartyId,
    /// Who is to receive it.
    pub to: Recipient,
    /// The body's length in bytes.
    pub length: u64,
    /// The body's digest ([`Header::digest_of`]).
    pub digest: Digest,
}

impl Header {
    /// The digest of a message body. Long bodies are hashed on all cores.
    pub fn digest_of(body: &[u8]) -> Digest {
        ostrakon_crypto::hash::digest("ostrakon/v1/party/message body", body)
    }

    /// What is signed.
    fn statement(&self) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/party/message header");
        let instance = &self.tag.instance;
        transcript
            .field(&self.session.0.0)
            .number(instance.kind as u64)
            .field(&instance.scope)
            .number(instance.number)
            .number(u64::from(self.tag.step.0))
            .number(u64::from(self.tag.sequence))
            .number(u64::from(self.from.0))
            .number(match self.to {
                Recipient::One(id) => u64::from(id.0),
                Recipient::All => u64::MAX,
            })
            .number(self.length)
            .field(&self.digest.0);
        transcript.finish()
    }

    /// Signs this header.
    pub fn sign(self, key: &SigningKey) -> SignedHeader {
        SignedHeader { header: self, signature: key.sign(&self.statement()) }
    }
}

/// A header with its sender's signature: evidence, for anybody, of what the sender said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SignedHeader {
    /// The header.
    pub header: Header,
    /// The sender's signature on it.
    pub signature: Signature,
}

impl SignedHeader {
    /// Whether `key` (which must be that of `header.from`) signed this header.
    #[must_use]
    pub fn verifies(&self, key: &VerifyingKey) -> bool {
        key.verifies(&self.header.statement(), &self.signature)
    }

    /// Whether the two are one sender's contradictory statements: the same address, different
    /// contents. Both signatures must have been verified.
    #[must_use]
    pub fn contradicts(&self, other: &SignedHeader) -> bool {
        let (a, b) = (&self.header, &other.header);
        let same_address =
            a.session == b.session && a.tag == b.tag && a.from == b.from && a.to == b.to;
        same_address && (a.length != b.length || a.digest != b.digest)
    }
}
