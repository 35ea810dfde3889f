//! The proof that the reporter knows the logarithms of all its ephemeral points, to the generator
//! and to a point of the label alike, bound to everything else in the report (after Shoup and
//! Gennaro, *Securing threshold cryptosystems against chosen ciphertext attack*, 2002: TDH2).

use curve25519_dalek::ristretto::RistrettoPoint;
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::VartimeMultiscalarMul;
use ostrakon_crypto::{Digest, Secret, Transcript, VerifyingKey};
use zeroize::Zeroizing;

use super::Field;
use super::shares::Label;
use crate::group;

/// One ephemeral of each field.
pub(crate) struct Ephemerals {
    parts: Vec<Ephemeral>,
}

/// r, R = rG and R̄ = r·Ḡ of one field.
pub(crate) struct Ephemeral {
    pub(crate) field: Field,
    pub(crate) label: Label,
    pub(crate) secret: Zeroizing<Scalar>,
    pub(crate) point: RistrettoPoint,
    twin: RistrettoPoint,
}

/// A challenge, and one response for each field.
pub(crate) struct Proof {
    challenge: Scalar,
    responses: Vec<Scalar>,
}

/// The challenge: of the statement, which contains R and R̄, and of the commitments.
fn challenge(statement: &Digest, commitments: &[RistrettoPoint]) -> Scalar {
    let mut transcript = Transcript::new("ostrakon/v1/stats/proof of a report");
    transcript.field(&statement.0).number(commitments.len() as u64);
    commitments.iter().for_each(|point| {
        transcript.field(point.compress().as_bytes());
    });
    group::scalar(&transcript.finish())
}

impl Ephemerals {
    pub(crate) fn draw(
        scope: &Digest,
        reporter: &VerifyingKey,
        fields: &[Field],
        randomness: &Secret,
    ) -> Self {
        let part = |field: &Field| {
            let label = Label::new(scope, reporter, *field);
            let context = "ostrakon/v1/stats/ephemeral scalar";
            let secret = group::secret_scalar(randomness, context, &[&[*field as u8]]);
            let (point, twin) = (RistrettoPoint::mul_base(&secret), secret * label.generator());
            Ephemeral { field: *field, label, secret: Zeroizing::new(secret), point, twin }
        };
        Self { parts: fields.iter().map(part).collect() }
    }

    pub(crate) fn parts(&self) -> &[Ephemeral] {
        &self.parts
    }

    /// R and R̄ of each field.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let both = |part: &Ephemeral| [part.point.compress().0, part.twin.compress().0];
        self.parts.iter().flat_map(both).flatten().collect()
    }

    pub(crate) fn prove(&self, statement: &Digest, randomness: &Secret) -> Proof {
        let nonce = |part: &Ephemeral| {
            let context = "ostrakon/v1/stats/nonce of a report";
            group::secret_scalar(randomness, context, &[&statement.0, &[part.field as u8]])
        };
        let nonces = Zeroizing::new(self.parts.iter().map(nonce).collect::<Vec<Scalar>>());
        let both = |(nonce, part): (&Scalar, &Ephemeral)| {
            [RistrettoPoint::mul_base(nonce), nonce * part.label.generator()]
        };
        let commitments: Vec<_> = nonces.iter().zip(&self.parts).flat_map(both).collect();
        let challenge = challenge(statement, &commitments);
        let response = |(nonce, part): (&Scalar, &Ephemeral)| nonce + challenge * *part.secret;
        Proof { challenge, responses: nonces.iter().zip(&self.parts).map(response).collect() }
    }
}

impl Proof {
    /// Bytes of a proof for so many fields.
    pub(crate) fn bytes(fields: usize) -> usize {
        32 * (1 + fields)
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let scalars = std::iter::once(&self.challenge).chain(&self.responses);
        scalars.flat_map(|scalar| scalar.to_bytes()).collect()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let scalars: Option<Vec<_>> = bytes.chunks_exact(32).map(group::decode_scalar).collect();
        let mut scalars = scalars?.into_iter();
        Some(Self { challenge: scalars.next()?, responses: scalars.collect() })
    }

    /// Whether it holds for these pairs R, R̄ under these labels.
    pub(crate) fn holds(
        &self,
        statement: &Digest,
        labels: impl Iterator<Item = Label>,
        pairs: &[RistrettoPoint],
    ) -> bool {
        let minus = -self.challenge;
        let mut commitments = Vec::with_capacity(pairs.len());
        for ((label, pair), response) in labels.zip(pairs.chunks_exact(2)).zip(&self.responses) {
            commitments.push(RistrettoPoint::vartime_double_scalar_mul_basepoint(
                &minus, &pair[0], response,
            ));
            commitments.push(RistrettoPoint::vartime_multiscalar_mul(
                [response, &minus],
                [&label.generator(), &pair[1]],
            ));
        }
        commitments.len() == pairs.len() && challenge(statement, &commitments) == self.challenge
    }
}
