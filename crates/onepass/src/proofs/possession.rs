//! Proofs of possession of one-time keys (K2), against keys that are made out of other people's.

use ostrakon_crypto::{Digest, Transcript};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::fault::DecodeError;
use crate::group::Group;
use crate::hashing;
use crate::key::OneTimeKey;
use crate::params::SIGMA_BYTES;
use crate::sharing::LayerKey;

/// A Schnorr proof that its maker knows the secret key, for one context: the caller's digest of who
/// the owner is and of what the key is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ProofOfPossession<G: Group> {
    challenge: G::Scalar,
    response: G::Scalar,
}

fn challenge<G: Group>(key: &LayerKey<G>, context: &Digest, commitment: &G::Element) -> G::Scalar {
    let mut transcript = Transcript::new("ostrakon/v1/onepass/possession");
    transcript.field(&context.0);
    hashing::elements::<G>(&mut transcript, key.coefficients());
    hashing::elements::<G>(&mut transcript, [commitment]);
    hashing::scalar::<G>("ostrakon/v1/onepass/possession challenge", &transcript.finish(), 0)
}

impl<G: Group> OneTimeKey<G> {
    /// K2: proves that the key's owner knows it.
    pub fn prove_possession(
        &self,
        context: &Digest,
        rng: &mut impl CryptoRng,
    ) -> ProofOfPossession<G> {
        let nonce = Zeroizing::new(G::random_scalar(rng));
        let challenge = challenge(&self.layer_key(), context, &G::mul_base(&nonce));
        ProofOfPossession { challenge, response: *nonce + challenge * *self.secret() }
    }
}

impl<G: Group> ProofOfPossession<G> {
    /// Whether the proof holds for this key with these commitments in this context.
    #[must_use]
    pub fn verify(&self, key: &LayerKey<G>, context: &Digest) -> bool {
        let elements = [G::generator(), key.public_key()];
        let commitment = G::vartime_multiscalar_mul(&[self.response, -self.challenge], &elements);
        challenge(key, context, &commitment) == self.challenge
    }

    /// e ‖ z.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; SIGMA_BYTES] {
        sigma_bytes::<G>(&self.challenge, &self.response)
    }

    /// Reads [`ProofOfPossession::to_bytes`].
    ///
    /// # Errors
    /// If the length or an encoding is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (challenge, response) = read_sigma::<G>(bytes)?;
        Ok(Self { challenge, response })
    }
}

/// A challenge and a response, one after the other.
pub(crate) fn sigma_bytes<G: Group>(
    challenge: &G::Scalar,
    response: &G::Scalar,
) -> [u8; SIGMA_BYTES] {
    let mut bytes = [0; SIGMA_BYTES];
    bytes[..32].copy_from_slice(&G::encode_scalar(challenge));
    bytes[32..].copy_from_slice(&G::encode_scalar(response));
    bytes
}

/// Reads [`sigma_bytes`].
pub(crate) fn read_sigma<G: Group>(bytes: &[u8]) -> Result<(G::Scalar, G::Scalar), DecodeError> {
    let ([challenge, response], []) = bytes.as_chunks::<32>() else {
        return Err(DecodeError::Length { expected: SIGMA_BYTES, found: bytes.len() });
    };
    let read = |bytes| G::decode_scalar(bytes).ok_or(DecodeError::Scalar);
    Ok((read(challenge)?, read(response)?))
}
