//! Ed25519 signatures (RFC 8032) with strict verification.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Serialize};

use crate::backend::{Signer, verifies};
use crate::hash::{Digest, Secret};

/// A secret Ed25519 key; wiped when dropped, never printed.
pub struct SigningKey {
    seed: Secret,
    signer: Signer,
}

impl SigningKey {
    /// The key whose RFC 8032 seed is `seed`.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self { seed: Secret::new(*seed), signer: Signer::from_seed(seed) }
    }

    /// The public half.
    pub fn verifying_key(&self) -> VerifyingKey {
        VerifyingKey(self.signer.public())
    }

    /// Derives an independent secret from the seed, for another purpose than signing. One-way.
    pub fn derive(&self, context: &'static str, fields: &[&[u8]]) -> Secret {
        self.seed.derive(context, fields)
    }

    /// Signs a digest. Only digests are signed, and every digest carries its purpose
    /// ([`crate::Transcript`]), so a signature made for one purpose is void for another.
    pub fn sign(&self, digest: &Digest) -> Signature {
        let signature = Signature(self.signer.sign(&digest.0));
        #[cfg(feature = "own-signatures")]
        crate::own::note((self.verifying_key().0, digest.0, signature.0));
        signature
    }
}

/// A public Ed25519 key as its 32-byte encoding. It need not be a valid point; an invalid one
/// verifies nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VerifyingKey(pub [u8; 32]);

impl VerifyingKey {
    /// Whether `signature` is this key's on `digest`. Strict: small-order keys and non-canonical
    /// encodings are refused, so a signature means one signer and one message.
    #[must_use]
    pub fn verifies(&self, digest: &Digest, signature: &Signature) -> bool {
        #[cfg(feature = "own-signatures")]
        if crate::own::is_known(&(self.0, digest.0, signature.0)) {
            return true;
        }
        verifies(&self.0, &digest.0, &signature.0)
    }

    /// Lower-case hexadecimal, 64 characters.
    pub fn to_hex(&self) -> String {
        Digest(self.0).to_hex()
    }

    /// Reads what [`VerifyingKey::to_hex`] writes; `None` for anything else.
    pub fn from_hex(text: &str) -> Option<Self> {
        Digest::from_hex(text).map(|d| Self(d.0))
    }
}

// Hexadecimal where people may read it: a key has one form in every document.
impl Serialize for VerifyingKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Digest(self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for VerifyingKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Digest::deserialize(deserializer).map(|digest| Self(digest.0))
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex()[..16])
    }
}

/// An Ed25519 signature.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signature(pub [u8; 64]);

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&data_encoding::HEXLOWER.encode(&self.0[..8]))
    }
}

// serde has no implementation for arrays of 64; a tuple of 64 bytes is what it would be.
impl Serialize for Signature {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.serialize_str(&data_encoding::HEXLOWER.encode(&self.0));
        }
        let mut tuple = serializer.serialize_tuple(64)?;
        for byte in &self.0 {
            tuple.serialize_element(byte)?;
        }
        tuple.end()
    }
}

impl<'de> Deserialize<'de> for Signature {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
            let bytes =
                data_encoding::HEXLOWER.decode(text.as_bytes()).map_err(D::Error::custom)?;
            let bytes =
                bytes.try_into().map_err(|_| D::Error::custom("a signature has 64 bytes"))?;
            return Ok(Self(bytes));
        }
        struct Bytes64;
        impl<'de> Visitor<'de> for Bytes64 {
            type Value = Signature;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("64 bytes")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Signature, A::Error> {
                let mut bytes = [0; 64];
                for (i, byte) in bytes.iter_mut().enumerate() {
                    *byte =
                        seq.next_element()?.ok_or_else(|| A::Error::invalid_length(i, &self))?;
                }
                Ok(Signature(bytes))
            }
        }
        deserializer.deserialize_tuple(64, Bytes64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::digest;

    #[test]
    fn a_signature_binds_key_and_digest() {
        binds();
    }

    #[cfg(feature = "own-signatures")]
    #[test]
    fn a_signature_that_was_made_here_binds_key_and_digest() {
        crate::own::remember();
        binds();
    }

    fn binds() {
        let alice = SigningKey::from_seed(&[1; 32]);
        let bob = SigningKey::from_seed(&[2; 32]);
        let d = digest("t", b"message");
        let s = alice.sign(&d);
        assert!(alice.verifying_key().verifies(&d, &s));
        assert!(!bob.verifying_key().verifies(&d, &s));
        assert!(!alice.verifying_key().verifies(&digest("t", b"other"), &s));
        let mut flipped = s;
        flipped.0[3] ^= 1;
        assert!(!alice.verifying_key().verifies(&d, &flipped));
        assert!(!VerifyingKey([0xff; 32]).verifies(&d, &s));
    }

    #[test]
    fn small_order_key_verifies_nothing() {
        // The identity point as key, with R = identity and s = 0, satisfies the cofactored equation
        // for every message.
        let mut identity = [0u8; 32];
        identity[0] = 1;
        let mut s = [0u8; 64];
        s[0] = 1;
        assert!(!VerifyingKey(identity).verifies(&digest("t", b"any"), &Signature(s)));
    }
}
