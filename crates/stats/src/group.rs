//! Arithmetic on ristretto255, and what is hashed into it.

use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::Identity;
use ostrakon_crypto::{Digest, Secret};
use zeroize::Zeroizing;

/// A point's one encoding.
pub(crate) type Encoded = [u8; 32];

/// The scalar that a digest determines.
pub(crate) fn scalar(digest: &Digest) -> Scalar {
    secret_scalar(&Secret::new(digest.0), "ostrakon/v1/stats/scalar of a digest", &[])
}

/// A scalar drawn from a secret, for one purpose.
pub(crate) fn secret_scalar(secret: &Secret, context: &'static str, fields: &[&[u8]]) -> Scalar {
    let mut wide = Zeroizing::new([0; 64]);
    secret.fill(context, fields, &mut *wide);
    Scalar::from_bytes_mod_order_wide(&wide)
}

/// The point that a digest determines. Nobody knows its logarithm.
pub(crate) fn point(digest: &Digest) -> RistrettoPoint {
    let mut wide = [0; 64];
    Secret::new(digest.0).fill("ostrakon/v1/stats/point of a digest", &[], &mut wide);
    RistrettoPoint::from_uniform_bytes(&wide)
}

/// A point from its one encoding; not the neutral one.
pub(crate) fn decode(bytes: &[u8]) -> Option<RistrettoPoint> {
    let point = CompressedRistretto::from_slice(bytes).ok()?.decompress()?;
    (point != RistrettoPoint::identity()).then_some(point)
}

/// A scalar from its one encoding.
pub(crate) fn decode_scalar(bytes: &[u8]) -> Option<Scalar> {
    Scalar::from_canonical_bytes(bytes.try_into().ok()?).into()
}
