//! What is computed, of whom, and when it closes (C2).

use std::collections::BTreeSet;
use std::fmt;

use ostrakon_crypto::{Digest, Signature, SigningKey, Transcript, VerifyingKey};
use ostrakon_party::wire;
use serde::{Deserialize, Serialize};

use crate::{TITLE_BYTES, is_label};

/// Most contributors that a draft can name.
pub const CONTRIBUTORS: usize = 10_000;
/// Longest parameters of a job.
pub const PARAMETER_BYTES: usize = 64 << 10;
/// Longest name of a job.
const JOB_BYTES: usize = 20;

/// A computation's name: its draft's digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ComputationId(pub Digest);

impl fmt::Debug for ComputationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Who may hand in an input, one each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contributors {
    /// Whoever makes a key. What is counted are keys, not people.
    Anyone,
    /// The owners of these keys, in ascending order.
    Keys(Vec<VerifyingKey>),
    /// Nobody: it is computed on what was sealed in this computation, whose creator has asked this,
    /// too (C14).
    Earlier(ComputationId),
}

/// What is asked of a committee. It never changes; its digest names the computation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// The committee's digest.
    pub committee: Digest,
    /// The job: `stats`, `graph`.
    pub job: String,
    /// The job's parameters, as the job writes them.
    pub parameters: Parameters,
    /// For people: one line.
    pub title: String,
    /// With fewer inputs nothing is computed; at least 1.
    pub minimum: u32,
    /// Who may contribute.
    pub contributors: Contributors,
    /// Seconds since 1970 after which each member closes by its own clock; none if only the
    /// creator's order closes.
    pub closes: Option<u64>,
    /// Who signs the draft, the order to close and a cancellation.
    pub creator: VerifyingKey,
    /// Makes two drafts of the same words two computations.
    pub nonce: [u8; 16],
}

/// A job's parameters; base64url where people may read them.
#[derive(Clone, PartialEq, Eq)]
pub struct Parameters(pub Vec<u8>);

impl fmt::Debug for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Serialize for Parameters {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&data_encoding::BASE64URL_NOPAD.encode(&self.0))
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Parameters {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return Vec::deserialize(deserializer).map(Self);
        }
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        let bytes = data_encoding::BASE64URL_NOPAD.decode(text.as_bytes());
        bytes.map(Self).map_err(serde::de::Error::custom)
    }
}

/// Why a draft is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDraft {
    /// The title.
    #[error("the title must be one line of 1 to {TITLE_BYTES} bytes")]
    Title,
    /// The job's name.
    #[error("the job has no proper name")]
    Job,
    /// The parameters.
    #[error("the parameters have more than {PARAMETER_BYTES} bytes")]
    Parameters,
    /// The minimum.
    #[error("the minimum must be 1 or more, and at most the number of contributors")]
    Minimum,
    /// The list of contributors.
    #[error("contributors must be 1 to {CONTRIBUTORS} different keys in ascending order")]
    Contributors,
    /// Another committee.
    #[error("the draft is for another committee")]
    Committee,
    /// The signature.
    #[error("the draft was changed after its creator signed it")]
    Signature,
}

impl Draft {
    /// Names the computation.
    pub fn id(&self) -> ComputationId {
        let mut transcript = Transcript::new("ostrakon/v1/committee/draft");
        transcript.field(&wire::encode(self));
        ComputationId(transcript.finish())
    }

    /// Whether the draft keeps its limits; the job judges the parameters.
    ///
    /// # Errors
    /// [`BadDraft`].
    pub fn validate(&self) -> Result<(), BadDraft> {
        if !is_label(&self.title, TITLE_BYTES) {
            return Err(BadDraft::Title);
        }
        let letters = self.job.bytes().all(|b| b.is_ascii_lowercase());
        if !(1..=JOB_BYTES).contains(&self.job.len()) || !letters {
            return Err(BadDraft::Job);
        }
        if self.parameters.0.len() > PARAMETER_BYTES {
            return Err(BadDraft::Parameters);
        }
        if let Contributors::Keys(keys) = &self.contributors {
            let ascend = keys.windows(2).all(|pair| pair[0] < pair[1]);
            if !ascend || !(1..=CONTRIBUTORS).contains(&keys.len()) {
                return Err(BadDraft::Contributors);
            }
            if self.minimum as usize > keys.len() {
                return Err(BadDraft::Minimum);
            }
        }
        if self.minimum == 0 { Err(BadDraft::Minimum) } else { Ok(()) }
    }

    /// Whether the owner of this key may hand in an input.
    #[must_use]
    pub fn admits(&self, contributor: &VerifyingKey) -> bool {
        match &self.contributors {
            Contributors::Anyone => true,
            Contributors::Keys(keys) => keys.binary_search(contributor).is_ok(),
            Contributors::Earlier(_) => false,
        }
    }

    /// The computation whose sealed inputs are used again, if it is an earlier one's.
    pub fn earlier(&self) -> Option<&ComputationId> {
        match &self.contributors {
            Contributors::Earlier(earlier) => Some(earlier),
            Contributors::Anyone | Contributors::Keys(_) => None,
        }
    }

    /// Signs it with the creator's key.
    pub fn sign(self, creator: &SigningKey) -> SignedDraft {
        let signature = creator.sign(&self.id().0);
        SignedDraft { draft: self, signature }
    }
}

/// A draft with its creator's signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedDraft {
    /// The draft.
    pub draft: Draft,
    /// The creator's signature on its digest.
    pub signature: Signature,
}

impl SignedDraft {
    /// Whether the committee `committee` may be asked this.
    ///
    /// # Errors
    /// [`BadDraft`].
    pub fn verify(&self, committee: &Digest) -> Result<(), BadDraft> {
        if self.draft.committee != *committee {
            return Err(BadDraft::Committee);
        }
        self.draft.validate()?;
        let verifies = self.draft.creator.verifies(&self.draft.id().0, &self.signature);
        if verifies { Ok(()) } else { Err(BadDraft::Signature) }
    }
}

/// The creator's word that nothing more is waited for (C5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// What is closed.
    pub computation: ComputationId,
    /// The creator's signature.
    pub signature: Signature,
}

/// The creator's word that nothing is to come out (C13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancellation {
    /// What is cancelled.
    pub computation: ComputationId,
    /// The creator's signature.
    pub signature: Signature,
}

/// What a creator signs on a computation; the context says to which effect.
fn word(context: &'static str, computation: &ComputationId) -> Digest {
    let mut transcript = Transcript::new(context);
    transcript.field(&computation.0.0);
    transcript.finish()
}

impl Order {
    const CONTEXT: &str = "ostrakon/v1/committee/close";

    /// The creator's order.
    pub fn sign(computation: ComputationId, creator: &SigningKey) -> Self {
        Self { computation, signature: creator.sign(&word(Self::CONTEXT, &computation)) }
    }

    /// Whether it closes the computation of this draft.
    #[must_use]
    pub fn verifies(&self, draft: &Draft) -> bool {
        self.computation == draft.id()
            && draft.creator.verifies(&word(Self::CONTEXT, &self.computation), &self.signature)
    }
}

impl Cancellation {
    const CONTEXT: &str = "ostrakon/v1/committee/cancel";

    /// The creator's cancellation.
    pub fn sign(computation: ComputationId, creator: &SigningKey) -> Self {
        Self { computation, signature: creator.sign(&word(Self::CONTEXT, &computation)) }
    }

    /// Whether it cancels the computation of this draft.
    #[must_use]
    pub fn verifies(&self, draft: &Draft) -> bool {
        self.computation == draft.id()
            && draft.creator.verifies(&word(Self::CONTEXT, &self.computation), &self.signature)
    }
}

/// Keys in the order that a draft needs, each once.
impl FromIterator<VerifyingKey> for Contributors {
    fn from_iter<I: IntoIterator<Item = VerifyingKey>>(keys: I) -> Self {
        Self::Keys(keys.into_iter().collect::<BTreeSet<_>>().into_iter().collect())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::committee::tests::{committee, key};

    pub(crate) fn draft() -> Draft {
        Draft {
            committee: committee(3).digest(),
            job: "stats".into(),
            parameters: Parameters(vec![1, 2]),
            title: "What do you earn?".into(),
            minimum: 2,
            contributors: (1..6).map(|seed| key(seed).verifying_key()).collect(),
            closes: None,
            creator: key(50).verifying_key(),
            nonce: [3; 16],
        }
    }

    #[test]
    fn drafts_outside_the_limits_are_refused_with_the_reason() {
        let committee = committee(3).digest();
        let of = |change: &dyn Fn(&mut Draft)| {
            let mut draft = draft();
            change(&mut draft);
            draft.sign(&key(50)).verify(&committee)
        };
        assert_eq!(of(&|_| ()), Ok(()));
        assert_eq!(of(&|d| d.title = "two\nlines".into()), Err(BadDraft::Title));
        assert_eq!(of(&|d| d.title = " ".into()), Err(BadDraft::Title));
        assert_eq!(of(&|d| d.job = "../stats".into()), Err(BadDraft::Job));
        assert_eq!(of(&|d| d.minimum = 0), Err(BadDraft::Minimum));
        assert_eq!(of(&|d| d.minimum = 6), Err(BadDraft::Minimum));
        let long = Parameters(vec![0; PARAMETER_BYTES + 1]);
        assert_eq!(of(&|d| d.parameters = long.clone()), Err(BadDraft::Parameters));
        let twice = Contributors::Keys(vec![key(1).verifying_key(); 2]);
        assert_eq!(of(&|d| d.contributors = twice.clone()), Err(BadDraft::Contributors));
        assert_eq!(of(&|d| d.committee = Digest([9; 32])), Err(BadDraft::Committee));
        let mut signed = draft().sign(&key(50));
        signed.draft.minimum = 1;
        assert_eq!(signed.verify(&committee), Err(BadDraft::Signature));
        assert_eq!(draft().sign(&key(51)).verify(&committee), Err(BadDraft::Signature));
    }

    #[test]
    fn only_the_creator_closes_or_cancels_and_only_this() {
        let draft = draft();
        assert!(Order::sign(draft.id(), &key(50)).verifies(&draft));
        assert!(!Order::sign(draft.id(), &key(1)).verifies(&draft));
        let other = Draft { nonce: [4; 16], ..draft.clone() };
        assert!(!Order::sign(other.id(), &key(50)).verifies(&draft));
        assert!(Cancellation::sign(draft.id(), &key(50)).verifies(&draft));
        assert!(!Cancellation::sign(draft.id(), &key(1)).verifies(&draft));
        assert!(!Cancellation::sign(other.id(), &key(50)).verifies(&draft));
        // Attack: a member that was told to close says that it was told to cancel, or the reverse.
        let Order { computation, signature } = Order::sign(draft.id(), &key(50));
        assert!(!Cancellation { computation, signature }.verifies(&draft));
        let Cancellation { signature, .. } = Cancellation::sign(draft.id(), &key(50));
        assert!(!Order { computation, signature }.verifies(&draft));
    }
}
