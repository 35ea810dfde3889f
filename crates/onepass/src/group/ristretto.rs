//! ristretto255 (RFC 9496), by curve25519-dalek.

use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::{Identity, MultiscalarMul, VartimeMultiscalarMul};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::group::Group;

/// The group that sessions use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ristretto;

impl Group for Ristretto {
    type Element = RistrettoPoint;
    type Scalar = Scalar;

    fn generator() -> RistrettoPoint {
        curve25519_dalek::constants::RISTRETTO_BASEPOINT_POINT
    }

    fn identity() -> RistrettoPoint {
        RistrettoPoint::identity()
    }

    fn scalar(value: u128) -> Scalar {
        Scalar::from(value)
    }

    fn random_scalar(rng: &mut impl CryptoRng) -> Scalar {
        let mut bytes = Zeroizing::new([0; 64]);
        rng.fill_bytes(&mut *bytes);
        Scalar::from_bytes_mod_order_wide(&bytes)
    }

    fn scalar_from_uniform(bytes: &[u8; 64]) -> Scalar {
        Scalar::from_bytes_mod_order_wide(bytes)
    }

    fn element_from_uniform(bytes: &[u8; 64]) -> RistrettoPoint {
        RistrettoPoint::from_uniform_bytes(bytes)
    }

    fn invert(scalar: &Scalar) -> Scalar {
        scalar.invert()
    }

    fn mul_base(scalar: &Scalar) -> RistrettoPoint {
        RistrettoPoint::mul_base(scalar)
    }

    fn multiscalar_mul(scalars: &[Scalar], elements: &[RistrettoPoint]) -> RistrettoPoint {
        RistrettoPoint::multiscalar_mul(scalars, elements)
    }

    fn vartime_multiscalar_mul(scalars: &[Scalar], elements: &[RistrettoPoint]) -> RistrettoPoint {
        RistrettoPoint::vartime_multiscalar_mul(scalars, elements)
    }

    fn encode(element: &RistrettoPoint) -> [u8; 32] {
        element.compress().to_bytes()
    }

    fn decode(bytes: &[u8; 32]) -> Option<RistrettoPoint> {
        CompressedRistretto(*bytes).decompress()
    }

    fn encode_scalar(scalar: &Scalar) -> [u8; 32] {
        scalar.to_bytes()
    }

    fn decode_scalar(bytes: &[u8; 32]) -> Option<Scalar> {
        Scalar::from_canonical_bytes(*bytes).into()
    }
}
