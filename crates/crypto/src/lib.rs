//!
//! Everything here is a thin, typed layer over BLAKE3 and Ed25519. The one rule that the layer adds:
//! no value is hashed without a context that says which protocol and which purpose it belongs to
//! ([`hash::Transcript`]), so that a digest made for one purpose never means anything for another.

pub mod hash;
pub mod merkle;
pub mod signature;

pub use hash::{Digest, Secret, Transcript};
pub use signature::{Signature, SigningKey, VerifyingKey};
