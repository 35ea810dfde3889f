//! What a message carries, with its digest.

use bytes::Bytes;
use ostrakon_crypto::Digest;

use crate::Header;

/// A message body and its digest ([`Header::digest_of`]). Large tables are sent to one party and
/// stated to another: with the digest beside them they are hashed once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    bytes: Bytes,
    digest: Digest,
}

impl Body {
    /// Hashes the bytes.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let digest = Header::digest_of(&bytes);
        Self { bytes, digest }
    }

    /// Bytes whose digest is known already. With a wrong digest nobody would accept the message.
    pub fn known(bytes: Bytes, digest: Digest) -> Self {
        Self { bytes, digest }
    }

    /// The bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Their digest.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Gives up the digest.
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::new(bytes)
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(bytes)
    }
}
