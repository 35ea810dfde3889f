//! Signed messages (spec 3).

use std::sync::Arc;

use ostrakon_crypto::{Digest, Signature, SigningKey, Transcript, VerifyingKey};
use ostrakon_field::Fp;
use ostrakon_party::PartyId;

use crate::committee::Committee;
use crate::phase::Phase;

/// Bytes of a message before its body.
pub const HEADER: usize = 3 + 2 + 64;
/// Bytes of an element.
pub const ELEMENT: usize = 8;

/// What a message is for, within its phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Part {
    /// Shares that the sender deals to the receiver.
    Deal = 0,
    /// Shares of sharings that the receiver checks.
    Check = 1,
    /// That all dealings of the phase have come.
    Acknowledge = 2,
    /// Shares of what the receiver is to open: the first hop of an opening.
    Encode = 3,
    /// What the sender has opened: the second hop.
    Tell = 4,
}

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

impl Signed {
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

    /// The elements; `None` unless there are exactly `expected` of them, each below p.
    #[must_use]
    pub fn elements(&self, expected: usize) -> Option<Vec<Fp>> {
        elements(&self.body, expected)
    }
}

/// Reads exactly `expected` elements, each in its one encoding.
#[must_use]
pub fn elements(bytes: &[u8], expected: usize) -> Option<Vec<Fp>> {
    let (words, rest) = bytes.as_chunks::<ELEMENT>();
    if words.len() != expected || !rest.is_empty() {
        return None;
    }
    words.iter().map(|word| Fp::from_le_bytes(*word).ok()).collect()
}

/// Writes elements.
#[must_use]
pub fn bytes_of(elements: &[Fp]) -> Vec<u8> {
    elements.iter().flat_map(|element| element.to_le_bytes()).collect()
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
    fn digest(&self, step: StepId, from: PartyId, to: PartyId, body: &[u8]) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/robust/message");
        transcript.field(&self.name.0).field(&step.write()).field(&[from.0, to.0]);
        transcript.bulk_field(body);
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
        let signature = key.sign(&self.digest(step, from, to, &body));
        Signed { step, from, to, body, signature }
    }

    /// Whether a message is of this run, from a member to a member, and truly the sender's.
    #[must_use]
    pub fn vouches(&self, message: &Signed) -> bool {
        let Signed { step, from, to, body, signature } = message;
        let Some(position) = self.committee.position(*from) else {
            return false;
        };
        self.committee.position(*to).is_some()
            && self.keys[position].verifies(&self.digest(*step, *from, *to, body), signature)
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
