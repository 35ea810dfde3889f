//! The Clarion engine (crate `ostrakon-additive`) behind the interface of [`crate::engine`].
//!
//! Participants register with every epoch anew (`docs/spec/clarion.md`, section 4): what a server
//! gives for a slot is its public registration key of the batch, a submission is a registration
//! with a padded row, and the keys of the batch and of its boxes are erased with it. So there is no
//! state between epochs that a participant or a server could lose.

pub mod client;
#[cfg(feature = "server")]
pub mod server;

/// Bytes of an issue: a public registration key.
const ISSUE: usize = 32;
