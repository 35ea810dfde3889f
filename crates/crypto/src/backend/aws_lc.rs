//! By AWS-LC, which wipes what it frees.

use aws_lc_rs::agreement::{self, PrivateKey, X25519};
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use zeroize::Zeroizing;

/// A key that signs; wiped when dropped.
pub struct Signer(Ed25519KeyPair);

impl Signer {
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(Ed25519KeyPair::from_seed_unchecked(seed).expect("any 32 bytes are a seed"))
    }

    pub fn public(&self) -> [u8; 32] {
        self.0.public_key().as_ref().try_into().expect("a public key has 32 bytes")
    }

    pub fn sign(&self, message: &[u8; 32]) -> [u8; 64] {
        self.0.sign(message).as_ref().try_into().expect("a signature has 64 bytes")
    }
}

const fn encoding(first: u8, between: u8, last: u8) -> [u8; 32] {
    let mut bytes = [between; 32];
    bytes[0] = first;
    bytes[31] = last;
    bytes
}

/// The y coordinates of the points of small order, in every form below 2^255, little-endian. Both
/// signs of x are such points.
pub const SMALL_ORDER: [[u8; 32]; 7] = [
    encoding(0, 0, 0),
    encoding(1, 0, 0),
    [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98,
        0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53,
        0xfc, 0x05,
    ],
    [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67,
        0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac,
        0x03, 0x7a,
    ],
    // p − 1, p and p + 1 for p = 2^255 − 19.
    encoding(0xec, 0xff, 0x7f),
    encoding(0xed, 0xff, 0x7f),
    encoding(0xee, 0xff, 0x7f),
];

fn is_of_small_order(point: &[u8; 32]) -> bool {
    let mut y = *point;
    y[31] &= 0x7f;
    SMALL_ORDER.contains(&y)
}

/// Whether the signature is valid, by the strict rules: no point of small order, no second form of
/// anything. AWS-LC has the second of them by itself: it compares the bytes of R, and refuses s
/// that is not below the order.
pub fn verifies(key: &[u8; 32], message: &[u8; 32], signature: &[u8; 64]) -> bool {
    let r = signature.first_chunk().expect("R is the first half");
    !is_of_small_order(key)
        && !is_of_small_order(r)
        && UnparsedPublicKey::new(&ED25519, key).verify(message, signature).is_ok()
}

/// The secret half of an exchange; wiped when dropped.
pub struct Exchange(PrivateKey);

impl Exchange {
    pub fn new(secret: &[u8; 32]) -> Self {
        Self(PrivateKey::from_private_key(&X25519, secret).expect("any 32 bytes are a secret"))
    }

    pub fn public(&self) -> [u8; 32] {
        let public = self.0.compute_public_key().expect("every secret has a public half");
        public.as_ref().try_into().expect("a public half has 32 bytes")
    }

    /// What the two halves have in common: zeros, if the other half is of small order.
    pub fn with(&self, public: &[u8; 32]) -> Zeroizing<[u8; 32]> {
        let mut shared = Zeroizing::new([0; 32]);
        let keep = |bytes: &[u8]| {
            shared.copy_from_slice(bytes);
            Ok(())
        };
        // It refuses a half of small order, with which the secret half has no part in the result.
        // Who sends one gives away only what it is sent, or what it sends itself; so nothing hangs
        // on that, and results are the same everywhere.
        let _small_order =
            agreement::agree(&self.0, agreement::UnparsedPublicKey::new(&X25519, public), (), keep);
        shared
    }
}
