//! How keys and bytes are written in configurations, requests and answers: modules for
//! `#[serde(with = …)]`.

use data_encoding::BASE64URL_NOPAD;
use ostrakon_crypto::VerifyingKey;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

/// Keys, as 64 lower-case hexadecimal digits.
pub mod hex_key {
    use super::*;

    /// Writes it, for serde.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(key: &VerifyingKey, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&key.to_hex())
    }

    /// Reads it, for serde.
    ///
    /// # Errors
    /// If the text is not written so.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<VerifyingKey, D::Error> {
        let text = String::deserialize(deserializer)?;
        VerifyingKey::from_hex(&text)
            .ok_or_else(|| D::Error::custom("a key has 64 lower-case hexadecimal digits"))
    }
}

/// Digests and the like, as 64 lower-case hexadecimal digits.
pub mod hex_32 {
    use super::*;
    use ostrakon_crypto::Digest;

    /// Writes it, for serde.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(bytes: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&Digest(*bytes).to_hex())
    }

    /// Reads it, for serde.
    ///
    /// # Errors
    /// If the text is not written so.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 32], D::Error> {
        let text = String::deserialize(deserializer)?;
        let read = Digest::from_hex(&text)
            .ok_or_else(|| D::Error::custom("not 64 lower-case hexadecimal digits"))?;
        Ok(read.0)
    }
}

/// Bytes, as base64url without padding.
pub mod base64 {
    use super::*;

    /// Writes it, for serde.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64URL_NOPAD.encode(bytes))
    }

    /// Reads it, for serde.
    ///
    /// # Errors
    /// If the text is not written so.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        BASE64URL_NOPAD
            .decode(text.as_bytes())
            .map_err(|_| D::Error::custom("not base64url without padding"))
    }
}
