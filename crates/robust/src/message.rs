//! Signed messages (spec 3).

use std::sync::Arc;

use ostrakon_crypto::hash::digest;
use ostrakon_crypto::{Digest, Signature, SigningKey, Transcript, VerifyingKey};
use ostrakon_field::Fp;
use ostrakon_party::PartyId;

use crate::committee::Committee;
use crate::phase::Phase;

pub use crate::phase::Part;

/// Bytes of a message before its body.
pub const HEADER: usize = 3 + 2 + 64;
/// Bytes of an element.
pub const ELEMENT: usize = 8;

/// A phase and a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId {
    /// The number of the phase.
    pub phase: u16,
    /// The part.
    pub part: Part,
}

impl StepId {
    pub(crate) fn read(bytes: [u8; 3]) -> Option<StepId> {
        let part = match bytes[2] {
            0 => Part::Deal,
            1 => Part::Check,
            2 => Part::Acknowledge,
            3 => Part::Encode,
            4 => Part::Tell,
            _ => return None,
        };
        Some(StepId { phase: u16::from_le_bytes([bytes[0], bytes[1]]), part })
    }

    pub(crate) fn write(self) -> [u8; 3] {
        let [low, high] = self.phase.to_le_bytes();
        [low, high, self.part as u8]
    }
}

/// A message with its sender's signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// Its step.
    pub step: StepId,
    /// The sender.
    pub from: PartyId,
    /// The receiver.
    pub to: PartyId,
    /// The elements, eight bytes each.
    pub body: Vec<u8>,
    /// The sender's signature, over all of it and the run.
    pub signature: Signature,
}

/// A message without its body: what is shown of it where its digest decides. It has its author's
/// signature as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The message's step.
    pub step: StepId,
    /// The sender.
    pub from: PartyId,
    /// The receiver.
    pub to: PartyId,
    /// The body's digest.
    pub body: Digest,
    /// The sender's signature, over all of it and the run.
    pub signature: Signature,
}

impl Header {
    /// Bytes of a header.
    pub const BYTES: usize = 3 + 2 + 32 + 64;

    /// The header's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let ends = [self.from.0, self.to.0];
        [&self.step.write()[..], &ends, &self.body.0, &self.signature.0].concat()
    }

    /// Reads a header; `None` if there is no such step.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Header::BYTES]) -> Option<Header> {
        let (head, signature) = bytes.split_last_chunk::<64>()?;
        let (head, body) = head.split_last_chunk::<32>()?;
        let [a, b, c, from, to] = *head.as_array()?;
        Some(Header {
            step: StepId::read([a, b, c])?,
            from: PartyId(from),
            to: PartyId(to),
            body: Digest(*body),
            signature: Signature(*signature),
        })
    }
}

impl Signed {
    /// The message without its body.
    #[must_use]
    pub fn header(&self) -> Header {
        let Signed { step, from, to, signature, .. } = *self;
        Header { step, from, to, body: digest("ostrakon/v1/robust/body", &self.body), signature }
    }

    /// The bytes that are sent.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + self.body.len());
        bytes.extend(self.step.write());
        bytes.extend([self.from.0, self.to.0]);
        bytes.extend(self.signature.0);
        bytes.extend(&self.body);
        bytes
    }

    /// Reads a message; `None` if there is no header.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Signed> {
        let (header, body) = bytes.split_first_chunk::<HEADER>()?;
        let [a, b, c, from, to, signature @ ..] = *header;
        Some(Signed {
            step: StepId::read([a, b, c])?,
            from: PartyId(from),
            to: PartyId(to),
            body: body.to_vec(),
            signature: Signature(signature),
        })
    }

    /// Whether the body is exactly `expected` elements, each below p.
    #[must_use]
    pub fn has_elements(&self, expected: usize) -> bool {
        are_elements(&self.body, expected)
    }

    /// The elements; `None` unless there are exactly `expected` of them, each below p.
    #[must_use]
    pub fn elements(&self, expected: usize) -> Option<Vec<Fp>> {
        elements(&self.body, expected)
    }
}

/// Reads exactly `expected` elements, each in its one encoding.
#[must_use]
pub fn elements(bytes: &[u8], expected: usize) -> Option<Vec<Fp>> {
    let element = |word: &[u8; ELEMENT]| Fp::new(u64::from_le_bytes(*word));
    are_elements(bytes, expected).then(|| bytes.as_chunks().0.iter().map(element).collect())
}

/// Whether bytes are exactly `expected` elements, each in its one encoding.
fn are_elements(bytes: &[u8], expected: usize) -> bool {
    let (words, rest) = bytes.as_chunks::<ELEMENT>();
    let fit = words.len() == expected && rest.is_empty();
    fit && words.iter().all(|word| Fp::from_le_bytes(*word).is_ok())
}

/// Writes elements.
#[must_use]
pub fn bytes_of(elements: &[Fp]) -> Vec<u8> {
    let mut bytes = vec![0; ELEMENT * elements.len()];
    for (word, element) in bytes.as_chunks_mut().0.iter_mut().zip(elements) {
        *word = element.to_le_bytes();
    }
    bytes
}

/// Everything public about a run: what its messages are signed under, and who may send what.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Names the run: session, purpose, and what it is bound to.
    pub name: Digest,
    /// The servers.
    pub committee: Arc<Committee>,
    /// Their identity keys, by position.
    pub keys: Vec<VerifyingKey>,
    /// The phases, in order.
    pub phases: Vec<Phase>,
}

impl Instance {
    fn statement(&self, header: &Header) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/robust/message");
        transcript.field(&self.name.0).field(&header.step.write());
        transcript.field(&[header.from.0, header.to.0]).field(&header.body.0);
        transcript.finish()
    }

    /// Signs a message.
    #[must_use]
    pub fn sign(
        &self,
        key: &SigningKey,
        step: StepId,
        [from, to]: [PartyId; 2],
        body: Vec<u8>,
    ) -> Signed {
        let mut message = Signed { step, from, to, body, signature: Signature([0; 64]) };
        message.signature = key.sign(&self.statement(&message.header()));
        message
    }

    /// Whether a message is of this run, from a member to a member, and truly the sender's.
    #[must_use]
    pub fn vouches(&self, message: &Header) -> bool {
        let Some(position) = self.committee.position(message.from) else {
            return false;
        };
        self.committee.position(message.to).is_some()
            && self.keys[position].verifies(&self.statement(message), &message.signature)
    }

    /// How many elements a message of a step has from one position to another; `None` if an honest
    /// member sends none there.
    #[must_use]
    pub fn expected(&self, step: StepId, from: usize, to: usize) -> Option<usize> {
        self.phases.get(usize::from(step.phase))?.expected(&self.committee, step.part, from, to)
    }

    /// An upper bound on the bytes of any message of this run, for whoever reads it from a socket.
    #[must_use]
    pub fn longest(&self) -> usize {
        let elements = self.phases.iter().map(|phase| phase.longest(&self.committee)).max();
        HEADER + ELEMENT * elements.unwrap_or(0)
    }
}
