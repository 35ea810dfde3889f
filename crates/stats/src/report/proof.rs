//! The proof that the reporter knows the logarithms of all its ephemeral points, to the generator
//! and to a point of the reporter's own alike, bound to everything else in the report (after Shoup
//! and Gennaro, *Securing threshold cryptosystems against chosen ciphertext attack*, 2002: TDH2).

use curve25519_dalek::constants::RISTRETTO_BASEPOINT_POINT;
use curve25519_dalek::ristretto::RistrettoPoint;
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::VartimeMultiscalarMul;
use ostrakon_crypto::{Digest, Secret, Transcript, VerifyingKey};
use zeroize::Zeroizing;

use super::Field;
use super::label::Label;
use crate::group;

/// One ephemeral of each field, and Ḡ.
pub(crate) struct Ephemerals {
    parts: Vec<Ephemeral>,
    base: RistrettoPoint,
}

/// r, R = rG and R̄ = rḠ of one field.
pub(crate) struct Ephemeral {
    pub(crate) field: Field,
    pub(crate) label: Label,
    pub(crate) secret: Zeroizing<Scalar>,
    pub(crate) point: RistrettoPoint,
    twin: RistrettoPoint,
}

/// A challenge, and one response for all fields together.
pub(crate) struct Proof {
    challenge: Scalar,
    response: Scalar,
}

/// Ḡ: a generator of this reporter's own under this scope, to which nobody knows G's logarithm.
pub(crate) fn base_of(scope: &Digest, reporter: &VerifyingKey) -> RistrettoPoint {
    let mut transcript = Transcript::new("ostrakon/v1/stats/base of a reporter");
    group::point(&transcript.field(&scope.0).field(&reporter.0).finish())
}

/// The weight of each field's pair in the one equation that is proved: the statement contains all
/// pairs, so that no pair is chosen after its weight.
fn weights(statement: &Digest, fields: usize) -> impl Iterator<Item = Scalar> {
    let weight = |field: usize| {
        let mut transcript = Transcript::new("ostrakon/v1/stats/weight of a field");
        group::scalar(&transcript.field(&statement.0).number(field as u64).finish())
    };
    (0..fields).map(move |field| if field == 0 { Scalar::ONE } else { weight(field) })
}

/// The challenge: of the statement, which contains R and R̄, and of the commitments.
fn challenge(statement: &Digest, commitments: &[RistrettoPoint; 2]) -> Scalar {
    let mut transcript = Transcript::new("ostrakon/v1/stats/proof of a report");
    transcript.field(&statement.0);
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
        let base = base_of(scope, reporter);
        let part = |field: &Field| {
            let label = Label::new(scope, reporter, *field);
            let context = "ostrakon/v1/stats/ephemeral scalar";
            let secret = group::secret_scalar(randomness, context, &[&[*field as u8]]);
            let (point, twin) = (RistrettoPoint::mul_base(&secret), secret * base);
            Ephemeral { field: *field, label, secret: Zeroizing::new(secret), point, twin }
        };
        Self { parts: fields.iter().map(part).collect(), base }
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
        let context = "ostrakon/v1/stats/nonce of a report";
        let nonce = Zeroizing::new(group::secret_scalar(randomness, context, &[&statement.0]));
        let challenge =
            challenge(statement, &[RistrettoPoint::mul_base(&nonce), *nonce * self.base]);
        let weighed = weights(statement, self.parts.len()).zip(&self.parts);
        let sum = weighed.map(|(weight, part)| weight * *part.secret).sum::<Scalar>();
        let sum = Zeroizing::new(sum);
        Proof { challenge, response: *nonce + challenge * *sum }
    }
}

impl Proof {
    /// Bytes of a proof, of any number of fields.
    pub(crate) const BYTES: usize = 64;

    pub(crate) fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..32].copy_from_slice(self.challenge.as_bytes());
        bytes[32..].copy_from_slice(self.response.as_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (challenge, response) = bytes.split_at_checked(32)?;
        let [challenge, response] = [challenge, response].map(group::decode_scalar);
        Some(Self { challenge: challenge?, response: response? })
    }

    /// Whether it holds for these pairs R, R̄ = rG, rḠ.
    pub(crate) fn holds(
        &self,
        statement: &Digest,
        base: RistrettoPoint,
        pairs: &[[RistrettoPoint; 2]],
    ) -> bool {
        let factors = weights(statement, pairs.len()).map(|weight| -self.challenge * weight);
        let scalars: Vec<Scalar> = std::iter::once(self.response).chain(factors).collect();
        let commitment = |of: usize, base: RistrettoPoint| {
            let points = std::iter::once(base).chain(pairs.iter().map(|pair| pair[of]));
            RistrettoPoint::vartime_multiscalar_mul(&scalars, points)
        };
        let commitments = [commitment(0, RISTRETTO_BASEPOINT_POINT), commitment(1, base)];
        challenge(statement, &commitments) == self.challenge
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No point of one reporter's is worth anything under another's name, or in another question.
    #[test]
    fn twins_are_of_one_reporter_under_one_scope() {
        let of = |scope: u8, reporter: u8| {
            let fields = [Field::Chi, Field::E, Field::S];
            let (scope, reporter) = (Digest([scope; 32]), VerifyingKey([reporter; 32]));
            let drawn = Ephemerals::draw(&scope, &reporter, &fields, &Secret::new([7; 32]));
            drawn.parts.into_iter().map(|part| (part.point, part.twin)).collect::<Vec<_>>()
        };
        for (own, others) in [(of(1, 1), of(1, 2)), (of(1, 1), of(2, 1))] {
            for (own, others) in own.into_iter().zip(others) {
                assert_eq!(own.0, others.0, "the same scalar");
                assert_ne!(own.1, others.1);
            }
        }
    }
}
