//! By dalek.

use ed25519_dalek::Signer as _;
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroizing;

/// A key that signs; wiped when dropped.
pub struct Signer(ed25519_dalek::SigningKey);

impl Signer {
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(seed))
    }

    pub fn public(&self) -> [u8; 32] {
        self.0.verifying_key().to_bytes()
    }

    pub fn sign(&self, message: &[u8; 32]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

/// Whether the signature is valid, by the strict rules: no point of small order, no second form of
/// anything.
pub fn verifies(key: &[u8; 32], message: &[u8; 32], signature: &[u8; 64]) -> bool {
    let signature = ed25519_dalek::Signature::from_bytes(signature);
    ed25519_dalek::VerifyingKey::from_bytes(key)
        .is_ok_and(|key| key.verify_strict(message, &signature).is_ok())
}

/// The secret half of an exchange; wiped when dropped.
pub struct Exchange(StaticSecret);

impl Exchange {
    pub fn new(secret: &[u8; 32]) -> Self {
        Self(StaticSecret::from(*secret))
    }

    pub fn public(&self) -> [u8; 32] {
        PublicKey::from(&self.0).to_bytes()
    }

    /// What the two halves have in common: zeros, if the other half is of small order.
    pub fn with(&self, public: &[u8; 32]) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.0.diffie_hellman(&PublicKey::from(*public)).to_bytes())
    }
}
