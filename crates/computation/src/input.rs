//! What a contributor hands in: the same bytes to every member (C4).

use ostrakon_crypto::{Digest, Signature, SigningKey, Transcript, VerifyingKey};
use serde::{Deserialize, Serialize};

use crate::draft::{ComputationId, Draft};

/// The digest of an input's body, about which everything else speaks.
pub fn body_digest(body: &[u8]) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/committee/body");
    transcript.bulk_field(body);
    transcript.finish()
}

/// That a key has signed a body: what members list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Entry {
    /// Whose input.
    pub contributor: VerifyingKey,
    /// The digest of its body.
    pub body: Digest,
    /// The contributor's signature on computation and digest.
    pub signature: EntrySignature,
}

/// A signature that can be sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntrySignature(pub Signature);

impl PartialOrd for EntrySignature {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for EntrySignature {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.0.cmp(&other.0.0)
    }
}

impl Entry {
    fn digest(computation: &ComputationId, body: &Digest) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/committee/input");
        transcript.field(&computation.0.0).field(&body.0);
        transcript.finish()
    }

    /// What it is of, whatever the signature's bytes: contributor and body.
    pub fn input(&self) -> (VerifyingKey, Digest) {
        (self.contributor, self.body)
    }

    /// Whether its contributor has signed it, and is one of this draft; or has signed it for the
    /// earlier computation whose inputs this draft uses.
    #[must_use]
    pub fn verifies(&self, computation: &ComputationId, draft: &Draft) -> bool {
        let signed = |computation| {
            let digest = Self::digest(computation, &self.body);
            self.contributor.verifies(&digest, &self.signature.0)
        };
        match draft.earlier() {
            Some(earlier) => signed(earlier),
            None => draft.admits(&self.contributor) && signed(computation),
        }
    }
}

/// An input with its contributor's signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Key, digest, signature.
    pub entry: Entry,
    /// What the job reads.
    pub body: Vec<u8>,
}

impl Input {
    /// Bytes of an input before its body: key and signature.
    pub const HEAD: usize = 32 + 64;

    /// Signs a body for a computation.
    pub fn sign(computation: &ComputationId, body: Vec<u8>, contributor: &SigningKey) -> Self {
        let digest = body_digest(&body);
        let signature = contributor.sign(&Entry::digest(computation, &digest));
        let signature = EntrySignature(signature);
        let contributor = contributor.verifying_key();
        Self { entry: Entry { contributor, body: digest, signature }, body }
    }

    /// What goes to the members: key, signature, body.
    pub fn encode(&self) -> Vec<u8> {
        let Entry { contributor, signature, .. } = &self.entry;
        [&contributor.0[..], &signature.0.0, &self.body].concat()
    }

    /// Reads what [`Input::encode`] wrote; `None` if it is too short. It is not checked yet.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (head, body) = bytes.split_at_checked(Self::HEAD)?;
        let contributor = VerifyingKey(head[..32].try_into().ok()?);
        let signature = EntrySignature(Signature(head[32..].try_into().ok()?));
        let entry = Entry { contributor, body: body_digest(body), signature };
        Some(Self { entry, body: body.to_vec() })
    }
}

/// What a contributor tells one member before it hands a long input in piece by piece (C4). Nobody
/// else can make one of it for another member, whatever it was told itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announced {
    /// Whose and what it is, signed.
    pub entry: Entry,
    /// Bytes of the body.
    pub bytes: u64,
    /// The contributor's signature on all of it, and on whom it is told.
    pub signature: Signature,
}

impl Announced {
    fn digest(computation: &ComputationId, body: &Digest, bytes: u64, to: &VerifyingKey) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/committee/upload");
        transcript.field(&computation.0.0).field(&body.0).number(bytes).field(&to.0);
        transcript.finish()
    }

    /// Announces an input to the member with this key.
    pub fn sign(
        computation: &ComputationId,
        input: &Input,
        to: &VerifyingKey,
        contributor: &SigningKey,
    ) -> Self {
        let (entry, bytes) = (input.entry, input.body.len() as u64);
        let digest = Self::digest(computation, &entry.body, bytes, to);
        Self { entry, bytes, signature: contributor.sign(&digest) }
    }

    /// Whether its contributor has told it to the member with this key.
    #[must_use]
    pub fn verifies(&self, computation: &ComputationId, to: &VerifyingKey) -> bool {
        let digest = Self::digest(computation, &self.entry.body, self.bytes, to);
        self.entry.contributor.verifies(&digest, &self.signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::committee::tests::key;
    use crate::draft::tests::draft;

    #[test]
    fn an_input_is_of_one_key_for_one_computation() {
        let (draft, body) = (draft(), b"a report".to_vec());
        let id = draft.id();
        let input = Input::sign(&id, body.clone(), &key(1));
        assert!(input.entry.verifies(&id, &draft));
        assert_eq!(Input::decode(&input.encode()), Some(input.clone()));
        assert!(!Input::sign(&id, body, &key(77)).entry.verifies(&id, &draft), "not admitted");
        let bytes = input.encode();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let changed = Input::decode(&changed).unwrap();
            assert!(!changed.entry.verifies(&id, &draft), "byte {at}");
        }
        let other = Draft { nonce: [9; 16], ..draft.clone() };
        assert!(!input.entry.verifies(&other.id(), &other), "replayed elsewhere");
        assert_eq!(Input::decode(&bytes[..Input::HEAD - 1]), None);
    }

    /// Attack: a member shows another one what a contributor has announced to it.
    #[test]
    fn what_is_announced_to_one_member_is_announced_to_no_other() {
        let (id, [to, other]) = (draft().id(), [200, 201].map(|seed| key(seed).verifying_key()));
        let announced = Announced::sign(&id, &Input::sign(&id, vec![7; 9], &key(1)), &to, &key(1));
        assert!(announced.verifies(&id, &to));
        assert!(!announced.verifies(&id, &other));
        assert!(!Announced { bytes: 10, ..announced }.verifies(&id, &to));
        let another = Input::sign(&id, vec![8; 9], &key(1)).entry;
        assert!(!Announced { entry: another, ..announced }.verifies(&id, &to));
        let elsewhere = Draft { nonce: [9; 16], ..draft() }.id();
        assert!(!announced.verifies(&elsewhere, &to));
    }
}
