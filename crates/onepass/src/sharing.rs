//! Verifiable sharing of one-time keys to helpers (K3): Feldman's scheme.

use zeroize::Zeroizing;

use crate::fault::{DecodeError, SessionError};
use crate::group::Group;
use crate::params::{ELEMENT_BYTES, MAX_HELPERS};

/// How many helpers there are, and how many of them can remove a layer together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Helpers {
    threshold: usize,
    count: usize,
}

impl Helpers {
    /// Nobody holds shares: everybody must come.
    #[must_use]
    pub fn none() -> Self {
        Self { threshold: 1, count: 0 }
    }

    /// `count` helpers of whom `threshold` are needed; fewer learn nothing.
    ///
    /// # Errors
    /// If the threshold is zero or above the number, or there are too many.
    pub fn new(threshold: usize, count: usize) -> Result<Self, SessionError> {
        if threshold == 0 || threshold > count || count > MAX_HELPERS {
            return Err(SessionError::Threshold { threshold, count });
        }
        Ok(Self { threshold, count })
    }

    /// The number t of helpers who can remove a layer together; 1 if there are no helpers.
    #[must_use]
    pub fn threshold(&self) -> usize {
        self.threshold
    }

    /// The number m of helpers.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }
}

/// The point at which a helper's share stands; 0 is the key itself.
pub(crate) fn point<G: Group>(helper: usize) -> G::Scalar {
    G::scalar(helper as u128 + 1)
}

/// The Lagrange coefficients at 0 for distinct helpers, in their order.
pub(crate) fn lagrange<G: Group>(helpers: &[usize]) -> Vec<G::Scalar> {
    let coefficient = |&own: &usize| {
        helpers.iter().filter(|&&other| other != own).fold(G::scalar(1), |product, &other| {
            let (own, other) = (point::<G>(own), point::<G>(other));
            product * other * G::invert(&(other - own))
        })
    };
    helpers.iter().map(coefficient).collect()
}

/// Commitments to the polynomial by which a key is shared, one element for each coefficient. The
/// first one is the public key. Without helpers there is only this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareCommitments<G: Group> {
    coefficients: Vec<G::Element>,
}

/// The public side of a layer's one-time key.
pub type LayerKey<G> = ShareCommitments<G>;

impl<G: Group> ShareCommitments<G> {
    /// At least one element, none of them the identity.
    pub(crate) fn new(coefficients: Vec<G::Element>) -> Self {
        Self { coefficients }
    }

    /// h: the public one-time key.
    #[must_use]
    pub fn public_key(&self) -> G::Element {
        self.coefficients[0]
    }

    /// The threshold for which the key is shared.
    #[must_use]
    pub fn threshold(&self) -> usize {
        self.coefficients.len()
    }

    pub(crate) fn coefficients(&self) -> &[G::Element] {
        &self.coefficients
    }

    /// The commitment to the share of a helper: f(k+1)·G.
    #[must_use]
    pub fn share_commitment(&self, helper: usize) -> G::Element {
        let at = point::<G>(helper);
        let mut powers = vec![G::scalar(1)];
        for place in 1..self.coefficients.len() {
            powers.push(powers[place - 1] * at);
        }
        G::vartime_multiscalar_mul(&powers, &self.coefficients)
    }

    /// K3: whether the share is the one that the commitments promise the helper.
    #[must_use]
    pub fn verify_share(&self, helper: usize, share: &KeyShare<G>) -> bool {
        G::mul_base(&share.0) == self.share_commitment(helper)
    }

    /// The elements, 32 bytes for each.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.coefficients.iter().flat_map(G::encode).collect()
    }

    /// Reads [`ShareCommitments::to_bytes`] for a session's helpers.
    ///
    /// # Errors
    /// If the length is not 32 bytes for each coefficient, an encoding is not canonical, or an
    /// element is the identity.
    pub fn from_bytes(bytes: &[u8], helpers: Helpers) -> Result<Self, DecodeError> {
        let expected = ELEMENT_BYTES * helpers.threshold;
        if bytes.len() != expected {
            return Err(DecodeError::Length { expected, found: bytes.len() });
        }
        let read = |chunk: &[u8; ELEMENT_BYTES]| {
            let element = G::decode(chunk).ok_or(DecodeError::Point)?;
            if element == G::identity() { Err(DecodeError::Identity) } else { Ok(element) }
        };
        let chunks = bytes.as_chunks::<ELEMENT_BYTES>().0;
        Ok(Self { coefficients: chunks.iter().map(read).collect::<Result<_, _>>()? })
    }
}

/// A helper's share of somebody's one-time key. Secret: it goes to that helper only, encrypted by
/// the caller.
pub struct KeyShare<G: Group>(G::Scalar);

impl<G: Group> KeyShare<G> {
    pub(crate) fn new(value: G::Scalar) -> Self {
        Self(value)
    }

    pub(crate) fn value(&self) -> &G::Scalar {
        &self.0
    }

    /// The 32 bytes of the scalar.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(G::encode_scalar(&self.0))
    }

    /// Reads [`KeyShare::to_bytes`].
    ///
    /// # Errors
    /// If the length or the encoding is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let length = DecodeError::Length { expected: ELEMENT_BYTES, found: bytes.len() };
        let bytes = bytes.try_into().map_err(|_| length)?;
        Ok(Self(G::decode_scalar(bytes).ok_or(DecodeError::Scalar)?))
    }
}

impl<G: Group> Drop for KeyShare<G> {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.0);
    }
}
