//! Digests as people give them.

use ostrakon_crypto::Digest;

/// Reads a digest.
///
/// # Errors
/// If it is none.
pub fn digest(text: &str) -> Result<Digest, String> {
    Digest::from_hex(text).ok_or_else(|| "a digest has 64 lower-case hexadecimal digits".to_owned())
}
