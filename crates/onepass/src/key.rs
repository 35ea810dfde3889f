//! One-time keys of visitors and operators (K1).

use ostrakon_crypto::Secret;
use zeroize::Zeroizing;

use crate::group::Group;
use crate::sharing::{Helpers, KeyShare, LayerKey, point};

/// A secret key for one session, with the polynomial that shares it to the helpers. It is wiped
/// when dropped, has no `Debug` and is not `Clone`; what is kept is the seed.
pub struct OneTimeKey<G: Group> {
    /// The key first.
    coefficients: Zeroizing<Vec<G::Scalar>>,
}

impl<G: Group> OneTimeKey<G> {
    /// K1: the key that the seed determines. A seed must be uniform, and must serve one session
    /// only.
    #[must_use]
    pub fn from_seed(seed: &Secret, helpers: Helpers) -> Self {
        let mut coefficients = Zeroizing::new(Vec::with_capacity(helpers.threshold()));
        for place in 0..helpers.threshold() as u64 {
            let mut bytes = Zeroizing::new([0; 64]);
            seed.fill("ostrakon/v1/onepass/one-time key", &[&place.to_le_bytes()], &mut *bytes);
            coefficients.push(G::scalar_from_uniform(&bytes));
        }
        Self { coefficients }
    }

    /// A key with a polynomial that the test knows.
    #[cfg(test)]
    pub(crate) fn from_coefficients(coefficients: Vec<G::Scalar>) -> Self {
        Self { coefficients: Zeroizing::new(coefficients) }
    }

    /// α, the key itself.
    pub(crate) fn secret(&self) -> &G::Scalar {
        &self.coefficients[0]
    }

    /// The public key, with the commitments to the sharing.
    #[must_use]
    pub fn layer_key(&self) -> LayerKey<G> {
        LayerKey::new(self.coefficients.iter().map(G::mul_base).collect())
    }

    /// K3: the share of a helper.
    #[must_use]
    pub fn share(&self, helper: usize) -> KeyShare<G> {
        let at = point::<G>(helper);
        KeyShare::new(
            self.coefficients
                .iter()
                .rev()
                .fold(G::scalar(0), |value, coefficient| value * at + *coefficient),
        )
    }
}
