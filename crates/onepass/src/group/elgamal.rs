//! El Gamal encryption under the sum of several keys, and tables of ciphertexts (paper, section
//! 2.1).

use crate::fault::StepFault;
use crate::group::Group;
use crate::params::{CIPHERTEXT_BYTES, ELEMENT_BYTES};

/// (u, v) = (rG, rH + X): an encryption of X under the sum H of the keys of all layers that are
/// still on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ciphertext<G: Group> {
    /// rG; never the identity where it was decoded.
    pub u: G::Element,
    /// rH + X.
    pub v: G::Element,
}

impl<G: Group> Ciphertext<G> {
    /// Encrypts with the given randomness.
    pub(crate) fn encrypt(x: &G::Element, key: &G::Element, r: &G::Scalar) -> Self {
        Self { u: G::mul_base(r), v: G::multiscalar_mul(&[*r], &[*key]) + *x }
    }

    /// V2: removes the layer of key `alpha` and rerandomises with `s` under the remaining key.
    pub(crate) fn hand_on(&self, alpha: &G::Scalar, s: &G::Scalar, remaining: &G::Element) -> Self {
        Self {
            u: self.u + G::mul_base(s),
            v: self.v + G::multiscalar_mul(&[-*alpha, *s], &[self.u, *remaining]),
        }
    }

    /// u ‖ v.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; CIPHERTEXT_BYTES] {
        let mut bytes = [0; CIPHERTEXT_BYTES];
        bytes[..ELEMENT_BYTES].copy_from_slice(&G::encode(&self.u));
        bytes[ELEMENT_BYTES..].copy_from_slice(&G::encode(&self.v));
        bytes
    }

    fn from_bytes(bytes: &[u8; CIPHERTEXT_BYTES]) -> Result<Self, StepFault> {
        let [u, v] = bytes.as_chunks::<ELEMENT_BYTES>().0 else { unreachable!("two elements") };
        let u = G::decode(u).ok_or(StepFault::Point)?;
        if u == G::identity() {
            return Err(StepFault::Identity);
        }
        Ok(Self { u, v: G::decode(v).ok_or(StepFault::Point)? })
    }
}

/// The encrypted outputs of one ballot for the visitors that are still to come, one for each
/// composition of their number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table<G: Group> {
    /// In the order of [`crate::composition::all`].
    pub entries: Vec<Ciphertext<G>>,
}

impl<G: Group> Table<G> {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.entries.iter().flat_map(Ciphertext::to_bytes));
    }

    /// Reads exactly the entries that `bytes` holds; the caller has compared the length with what
    /// it must be.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, StepFault> {
        let chunks = bytes.as_chunks().0;
        Ok(Self { entries: chunks.iter().map(Ciphertext::from_bytes).collect::<Result<_, _>>()? })
    }
}
