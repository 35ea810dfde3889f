//! One server's dealing: commitments, a proof that it knows its secret, sealed shares.

use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::{IsIdentity, VartimeMultiscalarMul};
use ostrakon_crypto::{Digest, Secret, Transcript, VerifyingKey};
use ostrakon_party::{ByParty, PartyId, Trust};
use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, Zeroizing};

use crate::coin::{point, wide};

/// What a dealing is bound to: the session, who takes part and how many may be corrupt, and the
/// attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    pub founding: Digest,
    pub attempt: u32,
}

impl Context {
    pub fn new(
        session: Digest,
        attempt: u32,
        trust: &Trust,
        identities: &ByParty<VerifyingKey>,
    ) -> Self {
        let mut transcript = Transcript::new("ostrakon/v1/agreement/dkg founding");
        transcript.field(&session.0).number(trust.parties() as u64);
        transcript.number(trust.believed() as u64);
        for (_, key) in identities.iter() {
            transcript.field(&key.0);
        }
        Self { founding: transcript.finish(), attempt }
    }

    pub fn transcript(&self, context: &'static str) -> Transcript {
        let mut transcript = Transcript::new(context);
        transcript.field(&self.founding.0).number(u64::from(self.attempt));
        transcript
    }
}

/// A polynomial of degree t. Wiped when dropped.
pub(super) struct Polynomial(Vec<Scalar>);

impl Drop for Polynomial {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

pub(super) fn random_scalar(rng: &mut impl CryptoRng) -> Scalar {
    let mut bytes = Zeroizing::new([0; 64]);
    rng.fill_bytes(&mut *bytes);
    Scalar::from_bytes_mod_order_wide(&bytes)
}

pub(super) fn decode(bytes: &[u8; 32]) -> Option<RistrettoPoint> {
    CompressedRistretto(*bytes).decompress().filter(|point| !point.is_identity())
}

impl Polynomial {
    pub fn random(coefficients: usize, rng: &mut impl CryptoRng) -> Self {
        Self((0..coefficients).map(|_| random_scalar(rng)).collect())
    }

    pub fn share(&self, party: PartyId) -> Scalar {
        let at = point(party);
        self.0.iter().rev().fold(Scalar::ZERO, |value, coefficient| value * at + coefficient)
    }

    pub fn commitments(&self) -> Vec<[u8; 32]> {
        self.0.iter().map(|c| RistrettoPoint::mul_base(c).compress().0).collect()
    }

    pub fn prove(&self, of: PartyId, context: &Context, rng: &mut impl CryptoRng) -> Possession {
        let mut nonce = random_scalar(rng);
        let public = RistrettoPoint::mul_base(&self.0[0]);
        let commitment = RistrettoPoint::mul_base(&nonce);
        let challenge = possession_challenge(of, context, &public, &commitment);
        let response = nonce - challenge * self.0[0];
        nonce.zeroize();
        Possession { challenge: challenge.to_bytes(), response: response.to_bytes() }
    }
}

/// A proof that a dealer knows the secret that it shares: without it the last one to open could
/// choose the sum, or cancel another's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Possession {
    challenge: [u8; 32],
    response: [u8; 32],
}

fn possession_challenge(
    of: PartyId,
    context: &Context,
    public: &RistrettoPoint,
    commitment: &RistrettoPoint,
) -> Scalar {
    let mut transcript = context.transcript("ostrakon/v1/agreement/dealing possession");
    transcript.number(u64::from(of.0)).field(&public.compress().0).field(&commitment.compress().0);
    let bytes = wide(&transcript, "ostrakon/v1/agreement/dealing possession challenge");
    Scalar::from_bytes_mod_order_wide(&bytes)
}

impl Possession {
    fn verifies(&self, of: PartyId, context: &Context, public: &RistrettoPoint) -> bool {
        let scalar = |bytes| Option::<Scalar>::from(Scalar::from_canonical_bytes(bytes));
        let (Some(e), Some(s)) = (scalar(self.challenge), scalar(self.response)) else {
            return false;
        };
        let commitment = RistrettoPoint::vartime_double_scalar_mul_basepoint(&e, public, &s);
        possession_challenge(of, context, public, &commitment) == e
    }
}

/// The public part of a dealing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dealing {
    /// Commitments to the coefficients, the secret's first: t + 1 of them.
    pub commitments: Vec<[u8; 32]>,
    /// That the dealer knows its secret.
    pub possession: Possession,
}

impl Dealing {
    pub(super) fn digest(&self, of: PartyId, context: &Context) -> Digest {
        let mut transcript = context.transcript("ostrakon/v1/agreement/dealing");
        transcript.number(u64::from(of.0));
        for commitment in &self.commitments {
            transcript.field(commitment);
        }
        transcript.field(&self.possession.challenge).field(&self.possession.response);
        transcript.finish()
    }

    /// The committed points, if there are `needed` of them and the proof holds.
    pub(super) fn check(
        &self,
        of: PartyId,
        context: &Context,
        needed: usize,
    ) -> Option<Vec<RistrettoPoint>> {
        if self.commitments.len() != needed {
            return None;
        }
        let points: Vec<_> = self.commitments.iter().map(decode).collect::<Option<_>>()?;
        self.possession.verifies(of, context, &points[0]).then_some(points)
    }
}

/// The committed share of a party: f(j + 1)·G.
pub(super) fn committed_share(points: &[RistrettoPoint], party: PartyId) -> RistrettoPoint {
    let at = point(party);
    let powers = std::iter::successors(Some(Scalar::ONE), |power| Some(power * at));
    let powers: Vec<_> = powers.take(points.len()).collect();
    RistrettoPoint::vartime_multiscalar_mul(powers, points)
}

/// A share for one receiver: a fresh half of an exchange, and the share under the exchange's pad.
/// It needs no authentication: a share that does not fit the commitments is the dealer's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedShare {
    exchange: [u8; 32],
    closed: [u8; 32],
}

fn pad(
    from: PartyId,
    to: PartyId,
    context: &Context,
    exchange: &[u8; 32],
    shared: &RistrettoPoint,
) -> Zeroizing<[u8; 32]> {
    let mut transcript = context.transcript("ostrakon/v1/agreement/sealed share");
    transcript.number(u64::from(from.0)).number(u64::from(to.0)).field(exchange);
    let secret = Secret::new(shared.compress().0);
    let pad = secret.derive("ostrakon/v1/agreement/sealed share pad", &[&transcript.finish().0]);
    Zeroizing::new(*pad.expose())
}

fn xor(a: &[u8; 32], b: &[u8; 32]) -> [u8; 32] {
    std::array::from_fn(|i| a[i] ^ b[i])
}

impl SealedShare {
    pub(super) fn seal(
        share: &Scalar,
        from: PartyId,
        to: (PartyId, &RistrettoPoint),
        context: &Context,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let mut own = random_scalar(rng);
        let exchange = RistrettoPoint::mul_base(&own).compress().0;
        let pad = pad(from, to.0, context, &exchange, &(to.1 * own));
        own.zeroize();
        Self { exchange, closed: xor(&Zeroizing::new(share.to_bytes()), &pad) }
    }

    /// The share, if it is the one that the dealer committed to.
    pub(super) fn open(
        &self,
        from: PartyId,
        to: (PartyId, &Scalar),
        context: &Context,
        points: &[RistrettoPoint],
    ) -> Option<Zeroizing<Scalar>> {
        let shared = decode(&self.exchange)? * to.1;
        let pad = pad(from, to.0, context, &self.exchange, &shared);
        let bytes = xor(&self.closed, &pad);
        let share = Zeroizing::new(Option::<Scalar>::from(Scalar::from_canonical_bytes(bytes))?);
        (RistrettoPoint::mul_base(&share) == committed_share(points, to.0)).then_some(share)
    }

    /// Spoils the share: what a dishonest dealer would send.
    #[cfg(test)]
    pub(super) fn spoil(&mut self) {
        self.closed[0] ^= 1;
    }
}
