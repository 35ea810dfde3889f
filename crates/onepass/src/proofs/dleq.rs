//! Batched proofs that logarithms are equal, in the form of RFC 9497, section 2.2 (F4).
//!
//! The core does not hash: what is hashed is an [`Oracle`]'s. So the same code that proves partial
//! decryptions here is checked with the RFC's hashing against the RFC's vectors.

use crate::fault::DecodeError;
use crate::group::Group;
use crate::params::SIGMA_BYTES;
use crate::proofs::possession::{read_sigma, sigma_bytes};

/// The claim that one secret x is the logarithm of `public` to `base` and of each pair's second
/// element to its first.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a, G: Group> {
    /// A.
    pub base: G::Element,
    /// B = xA.
    pub public: G::Element,
    /// (C_i, D_i) with D_i = x·C_i.
    pub pairs: &'a [(G::Element, G::Element)],
}

/// The hashing of a proof. Everything that the claim speaks of must be hashed.
pub trait Oracle<G: Group> {
    /// One weight for each pair, from the whole claim.
    fn weights(&self, claim: &Claim<'_, G>) -> Vec<G::Scalar>;
    /// The challenge, from the claim, M, Z, t_2 and t_3.
    fn challenge(&self, claim: &Claim<'_, G>, composites: [&G::Element; 4]) -> G::Scalar;
}

/// A proof: challenge e and response s = k − e·x.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DleqProof<G: Group> {
    challenge: G::Scalar,
    response: G::Scalar,
}

/// The weighted sums of the first and second elements.
fn composites<G: Group>(claim: &Claim<'_, G>, oracle: &impl Oracle<G>) -> (G::Element, G::Element) {
    let weights = oracle.weights(claim);
    let (c, d): (Vec<_>, Vec<_>) = claim.pairs.iter().copied().unzip();
    (G::vartime_multiscalar_mul(&weights, &c), G::vartime_multiscalar_mul(&weights, &d))
}

impl<G: Group> DleqProof<G> {
    /// Proves the claim with its secret x. `nonce` must be uniform and never used again.
    pub fn prove(
        claim: &Claim<'_, G>,
        secret: &G::Scalar,
        oracle: &impl Oracle<G>,
        nonce: &G::Scalar,
    ) -> Self {
        let (m, z) = composites(claim, oracle);
        let t2 = G::multiscalar_mul(&[*nonce], &[claim.base]);
        let t3 = G::multiscalar_mul(&[*nonce], &[m]);
        let challenge = oracle.challenge(claim, [&m, &z, &t2, &t3]);
        Self { challenge, response: *nonce - challenge * *secret }
    }

    /// Whether the proof holds for the claim.
    #[must_use]
    pub fn verify(&self, claim: &Claim<'_, G>, oracle: &impl Oracle<G>) -> bool {
        let (m, z) = composites(claim, oracle);
        let scalars = [self.response, self.challenge];
        let t2 = G::vartime_multiscalar_mul(&scalars, &[claim.base, claim.public]);
        let t3 = G::vartime_multiscalar_mul(&scalars, &[m, z]);
        oracle.challenge(claim, [&m, &z, &t2, &t3]) == self.challenge
    }

    /// e ‖ s.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; SIGMA_BYTES] {
        sigma_bytes::<G>(&self.challenge, &self.response)
    }

    /// Reads [`DleqProof::to_bytes`].
    ///
    /// # Errors
    /// If the length or an encoding is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (challenge, response) = read_sigma::<G>(bytes)?;
        Ok(Self { challenge, response })
    }
}
