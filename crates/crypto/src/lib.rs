//!
//! Everything here is a thin, typed layer over BLAKE3, Ed25519, and X25519 with ChaCha20-Poly1305.
//! The one rule that the layer adds: no value is hashed without a context that says which protocol
//! and which purpose it belongs to ([`hash::Transcript`]), so that a digest made for one purpose
//! never means anything for another.

mod backend;
pub mod generator;
pub mod hash;
pub mod locked;
pub mod many;
pub mod merkle;
#[cfg(feature = "own-signatures")]
pub mod own;
pub mod sealed;
pub mod signature;

pub use generator::{Entropy, Generator, Stream};
pub use hash::{Digest, Secret, Transcript};
pub use signature::{Signature, SigningKey, VerifyingKey};
