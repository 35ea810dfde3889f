//! The members' keys (`docs/spec/statistics.md`, section 3).

use curve25519_dalek::ristretto::RistrettoPoint;
use curve25519_dalek::scalar::Scalar;
use ostrakon_crypto::{Digest, Secret, Signature, SigningKey, Transcript, VerifyingKey};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::group;

/// How many members a committee has.
pub const MEMBERS: std::ops::RangeInclusive<usize> = 2..=ostrakon_authbits::params::MAX_PARTIES;

/// A member's secret scalar, with which it opens its parts of reports. Wiped when dropped.
///
/// Whoever has all members' opens all reports that were made for them: it is erased with the
/// committee.
pub struct ExchangeKey {
    secret: Zeroizing<Scalar>,
    public: RistrettoPoint,
}

impl ExchangeKey {
    /// The key of a seed, which must come from a cryptographic generator and serve nothing else.
    pub fn from_seed(seed: &Secret) -> Self {
        let secret = group::secret_scalar(seed, "ostrakon/v1/stats/exchange key", &[]);
        Self { public: RistrettoPoint::mul_base(&secret), secret: Zeroizing::new(secret) }
    }

    pub(crate) fn secret(&self) -> &Scalar {
        &self.secret
    }

    pub(crate) fn public(&self) -> &RistrettoPoint {
        &self.public
    }

    /// Whether this is the key of a member.
    pub fn owns(&self, member: &Member) -> bool {
        self.public.compress().0 == member.point
    }

    /// What others are told: the point, a proof that its logarithm is known to the owner of the
    /// signing key, and that owner's signature on both.
    pub fn member(&self, signing: &SigningKey) -> Member {
        let key = signing.verifying_key();
        let point = self.public.compress().to_bytes();
        let secret = Secret::new(self.secret.to_bytes());
        // The nonce belongs to this statement: made again, the proof is the same.
        let context = "ostrakon/v1/stats/nonce of a possession";
        let nonce = Zeroizing::new(group::secret_scalar(&secret, context, &[&key.0, &point]));
        let commitment = RistrettoPoint::mul_base(&nonce);
        let challenge = possession_challenge(&key, &point, &commitment);
        let response = *nonce + challenge * *self.secret;
        let mut possession = [0; 64];
        possession[..32].copy_from_slice(challenge.as_bytes());
        possession[32..].copy_from_slice(response.as_bytes());
        let endorsement = signing.sign(&endorsed(&key, &point, &possession));
        Member { key, point, possession, endorsement }
    }
}

fn possession_challenge(
    key: &VerifyingKey,
    point: &[u8; 32],
    commitment: &RistrettoPoint,
) -> Scalar {
    let mut transcript = Transcript::new("ostrakon/v1/stats/possession of an exchange key");
    transcript.field(&key.0).field(point).field(commitment.compress().as_bytes());
    group::scalar(&transcript.finish())
}

fn endorsed(key: &VerifyingKey, point: &[u8; 32], possession: &[u8; 64]) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/stats/endorsement of an exchange key");
    transcript.field(&key.0).field(point).field(possession);
    transcript.finish()
}

/// A member of a committee, as it states itself. [`Committee::new`] checks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Member {
    /// Its identity key, which signs.
    pub key: VerifyingKey,
    /// Its point, for which reports are made.
    pub point: [u8; 32],
    /// The proof that the point's logarithm is known: challenge, response.
    pub possession: [u8; 64],
    /// The identity key's signature on the point.
    pub endorsement: Signature,
}

impl Member {
    /// Bytes of an encoded member.
    pub const BYTES: usize = 192;

    /// Key, point, proof, signature.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..32].copy_from_slice(&self.key.0);
        bytes[32..64].copy_from_slice(&self.point);
        bytes[64..128].copy_from_slice(&self.possession);
        bytes[128..].copy_from_slice(&self.endorsement.0);
        bytes
    }

    /// Reads [`Member::to_bytes`]; `None` for another length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != Self::BYTES {
            return None;
        }
        let key = VerifyingKey(bytes[..32].try_into().ok()?);
        let point = bytes[32..64].try_into().ok()?;
        let possession = bytes[64..128].try_into().ok()?;
        let endorsement = Signature(bytes[128..].try_into().ok()?);
        Some(Self { key, point, possession, endorsement })
    }

    /// The point, if the proof and the signature hold.
    fn checked(&self) -> Option<RistrettoPoint> {
        let point = group::decode(&self.point)?;
        let challenge = group::decode_scalar(&self.possession[..32])?;
        let response = group::decode_scalar(&self.possession[32..])?;
        let commitment =
            RistrettoPoint::vartime_double_scalar_mul_basepoint(&-challenge, &point, &response);
        let proven = possession_challenge(&self.key, &self.point, &commitment) == challenge;
        let statement = endorsed(&self.key, &self.point, &self.possession);
        (proven && self.key.verifies(&statement, &self.endorsement)).then_some(point)
    }
}

// One form in every document: the bytes in hexadecimal.
impl From<Member> for String {
    fn from(member: Member) -> String {
        data_encoding::HEXLOWER.encode(&member.to_bytes())
    }
}

impl TryFrom<String> for Member {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let bytes = data_encoding::HEXLOWER.decode(text.as_bytes());
        let member = bytes.ok().and_then(|bytes| Self::from_bytes(&bytes));
        member.ok_or("a member is written as 384 hexadecimal digits in lower case")
    }
}

/// Why members are no committee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCommittee {
    /// Too few or too many.
    #[error("a committee has {} to {} members", MEMBERS.start(), MEMBERS.end())]
    Size,
    /// Two members have one key or one point.
    #[error("member {0} has a key that another one has: each server is a member once")]
    Twice(usize),
    /// A proof or a signature does not hold.
    #[error("member {0} has not proven that it owns its keys: ask that server for its entry again")]
    Unproven(usize),
}

/// The members, each of which has proven its keys, in order.
#[derive(Clone, Debug)]
pub struct Committee {
    members: Vec<Member>,
    points: Vec<RistrettoPoint>,
    digest: Digest,
}

impl Committee {
    /// Checks the members.
    ///
    /// # Errors
    /// [`BadCommittee`].
    pub fn new(members: Vec<Member>) -> Result<Self, BadCommittee> {
        if !MEMBERS.contains(&members.len()) {
            return Err(BadCommittee::Size);
        }
        let mut points = Vec::with_capacity(members.len());
        for (i, member) in members.iter().enumerate() {
            let is_same = |other: &Member| other.key == member.key || other.point == member.point;
            if members[..i].iter().any(is_same) {
                return Err(BadCommittee::Twice(i));
            }
            points.push(member.checked().ok_or(BadCommittee::Unproven(i))?);
        }
        let mut transcript = Transcript::new("ostrakon/v1/stats/exchange keys");
        members.iter().for_each(|member| {
            transcript.field(&member.key.0).field(&member.point);
        });
        Ok(Self { digest: transcript.finish(), members, points })
    }

    /// The members.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// How many they are.
    #[expect(clippy::len_without_is_empty, reason = "no committee is empty")]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Names the committee: its members' keys and points, in order.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    pub(crate) fn points(&self) -> &[RistrettoPoint] {
        &self.points
    }
}
