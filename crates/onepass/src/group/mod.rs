//! What the protocol needs of a group of prime order.

pub mod elgamal;
pub mod ristretto;
#[cfg(test)]
pub mod toy;

use std::fmt;
use std::ops::{Add, Mul, Neg, Sub};

use rand_core::CryptoRng;
use subtle::ConditionallySelectable;
use zeroize::Zeroize;

/// A group of prime order in which decisional Diffie–Hellman is hard, written additively.
///
/// Everything takes time independent of its arguments' values, unless its name says `vartime`.
pub trait Group: Copy + Eq + fmt::Debug + Send + Sync + 'static {
    /// An element.
    type Element: Copy
        + Eq
        + fmt::Debug
        + Send
        + Sync
        + ConditionallySelectable
        + Add<Output = Self::Element>
        + Sub<Output = Self::Element>
        + Neg<Output = Self::Element>;
    /// An integer modulo the order.
    type Scalar: Copy
        + Eq
        + Send
        + Sync
        + ConditionallySelectable
        + Zeroize
        + Add<Output = Self::Scalar>
        + Sub<Output = Self::Scalar>
        + Mul<Output = Self::Scalar>
        + Neg<Output = Self::Scalar>;

    /// The generator G.
    fn generator() -> Self::Element;
    /// The neutral element.
    fn identity() -> Self::Element;
    /// An integer as a scalar.
    fn scalar(value: u128) -> Self::Scalar;
    /// A uniform scalar.
    fn random_scalar(rng: &mut impl CryptoRng) -> Self::Scalar;
    /// The scalar that 64 uniform bytes stand for, uniform up to a negligible bias.
    fn scalar_from_uniform(bytes: &[u8; 64]) -> Self::Scalar;
    /// The element that 64 uniform bytes stand for. Nobody knows its logarithm if the bytes are a
    /// hash.
    fn element_from_uniform(bytes: &[u8; 64]) -> Self::Element;
    /// The multiplicative inverse; zero for zero.
    fn invert(scalar: &Self::Scalar) -> Self::Scalar;
    /// `scalar`·G.
    fn mul_base(scalar: &Self::Scalar) -> Self::Element;
    /// The sum of products; both slices have the same length.
    fn multiscalar_mul(scalars: &[Self::Scalar], elements: &[Self::Element]) -> Self::Element;
    /// The same in time that depends on the values: for public ones only.
    fn vartime_multiscalar_mul(
        scalars: &[Self::Scalar],
        elements: &[Self::Element],
    ) -> Self::Element;
    /// The one encoding of an element.
    fn encode(element: &Self::Element) -> [u8; 32];
    /// Reads [`Group::encode`]; `None` for anything else.
    fn decode(bytes: &[u8; 32]) -> Option<Self::Element>;
    /// The one encoding of a scalar.
    fn encode_scalar(scalar: &Self::Scalar) -> [u8; 32];
    /// Reads [`Group::encode_scalar`]; `None` for anything else.
    fn decode_scalar(bytes: &[u8; 32]) -> Option<Self::Scalar>;

    /// Reads an element that must not be the identity.
    fn decode_nonidentity(bytes: &[u8; 32]) -> Option<Self::Element> {
        Self::decode(bytes).filter(|element| *element != Self::identity())
    }

    /// A uniform integer of [`crate::params::WEIGHT_BITS`] bits as a scalar.
    fn random_weight(rng: &mut impl CryptoRng) -> Self::Scalar {
        let mut bytes = [0; crate::params::WEIGHT_BITS / 8];
        rng.fill_bytes(&mut bytes);
        Self::scalar(u128::from_le_bytes(bytes))
    }
}

/// The sum of elements.
pub(crate) fn sum<G: Group>(elements: impl IntoIterator<Item = G::Element>) -> G::Element {
    elements.into_iter().fold(G::identity(), |sum, element| sum + element)
}
