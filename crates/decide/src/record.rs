//! The records of a decision: what was done, by whom, in which place.

use ostrakon_crypto::{Digest, Signature, SigningKey, VerifyingKey};
use ostrakon_party::wire;
use serde::{Deserialize, Serialize};

use crate::draft::{DecisionId, Draft};
use crate::keys::layers::Layer;
use crate::keys::{CertifiedKey, KeyName};
use crate::operators::{Operators, SERVERS};
use crate::refused::Refused;

pub use crate::params::{MOST_RECORDS, RECORD_BYTES};

/// How a decision begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Creation {
    /// What is decided.
    pub draft: Draft,
    /// The operators' layers, by party.
    pub layers: [Layer; SERVERS],
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::large_enum_variant,
    reason = "records are read one at a time and not kept in memory"
)]
pub enum Content {
    /// The decision begins. By the creator; the first record and no other.
    Create(Box<Creation>),
    /// A person takes part with this key. By the key's owner, or by P0 from the stock of an account
    /// that the draft names.
    Accept {
        /// The person's place in the draft.
        person: u16,
        /// The person's one-time key.
        key: CertifiedKey,
        /// By the invitation's key on [`claim_digest`], if the draft has an invitation for the
        /// person.
        claim: Option<Signature>,
    },
    /// A person who has not accepted is not asked any more. By the creator.
    Remove {
        /// The person's place in the draft.
        person: u16,
    },
    /// The time to accept is over, and it goes on without who has not. By P0.
    Begin {
        /// Who has not accepted, ascending.
        without: Vec<u16>,
    },
    /// The decision is called off. By the creator.
    Cancel,
    /// A person's answers to all ballots. By the person.
    Step {
        /// The person's place in the draft.
        person: u16,
        /// The step, as the engine encodes it.
        step: Vec<u8>,
    },
    /// No more answers are taken. By P0.
    Close {
        /// Who has not answered, ascending.
        absent: Vec<u16>,
    },
    /// It ends without a result. By P0.
    Lapse,
    /// The author has checked everything after the close. By a person.
    Verified,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The decision.
    pub decision: DecisionId,
    /// Its place in the chain, from 0.
    pub number: u32,
    /// The digest of the record before; zeros in the first.
    pub previous: Digest,
    /// The author's clock, in seconds since 1970. Shown; and what comes only after a date
    /// must not say that it comes earlier.
    pub time: u64,
    /// Who signs it.
    pub author: VerifyingKey,
    /// What it says.
    pub content: Content,
}

/// A record with its author's signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedRecord {
    /// The record.
    pub record: Record,
    /// By the author, on [`Record::digest`].
    pub signature: Signature,
}

impl Record {
    /// The record's digest, which its author signs and the next record names.
    pub fn digest(&self, operators: &Operators) -> Digest {
        let mut transcript = operators.transcript("ostrakon/v1/decide/record");
        transcript.field(&wire::encode(self)).finish()
    }

    /// Signs it.
    pub fn sign(self, operators: &Operators, key: &SigningKey) -> SignedRecord {
        let signature = key.sign(&self.digest(operators));
        SignedRecord { record: self, signature }
    }

    /// The people whom the record leaves out: who is said to be absent, or not to have accepted.
    pub fn leaves_out(&self) -> &[u16] {
        match &self.content {
            Content::Begin { without } => without,
            Content::Close { absent } => absent,
            _ => &[],
        }
    }

    /// The person for whom the record speaks: of an *accept* or a *step*.
    pub fn speaks_for(&self) -> Option<u16> {
        match &self.content {
            Content::Accept { person, .. } | Content::Step { person, .. } => Some(*person),
            _ => None,
        }
    }

    /// The one-time key that the record spends on this decision: of an *accept*. A server takes it
    /// for one decision only.
    pub fn spends(&self) -> Option<KeyName> {
        match &self.content {
            Content::Accept { key, .. } => Some(key.statement.name()),
            _ => None,
        }
    }
}

impl SignedRecord {
    /// Reads a record; nothing in it is verified by that.
    ///
    /// # Errors
    /// [`Refused::Form`] if it is longer than [`RECORD_BYTES`] or not the canonical encoding of a
    /// record.
    pub fn decode(bytes: &[u8]) -> Result<Self, Refused> {
        if bytes.len() > RECORD_BYTES {
            return Err(Refused::Form);
        }
        wire::decode(bytes).map_err(|_| Refused::Form)
    }

    /// The bytes that travel and are kept.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// [`Record::digest`].
    pub fn digest(&self, operators: &Operators) -> Digest {
        self.record.digest(operators)
    }
}

/// The record that begins a decision.
pub fn create(
    draft: Draft,
    layers: [Layer; SERVERS],
    operators: &Operators,
    creator: &SigningKey,
    time: u64,
) -> SignedRecord {
    let (decision, author) = (draft.id(), creator.verifying_key());
    let content = Content::Create(Box::new(Creation { draft, layers }));
    Record { decision, number: 0, previous: Digest([0; 32]), time, author, content }
        .sign(operators, creator)
}

/// What the key of an invitation signs for whoever takes the person's place.
pub fn claim_digest(
    operators: &Operators,
    decision: &DecisionId,
    person: u16,
    owner: &VerifyingKey,
) -> Digest {
    let mut transcript = operators.transcript("ostrakon/v1/decide/claim");
    transcript.field(&decision.0).number(u64::from(person)).field(&owner.0).finish()
}

/// What the creator signs to have an invitation sent to an address.
pub fn mail_digest(
    operators: &Operators,
    decision: &DecisionId,
    person: u16,
    address: &str,
    link: &str,
    locale: &str,
) -> Digest {
    let mut transcript = operators.transcript("ostrakon/v1/decide/mail");
    transcript
        .field(&decision.0)
        .number(u64::from(person))
        .field(address.as_bytes())
        .field(link.as_bytes())
        .field(locale.as_bytes())
        .finish()
}
