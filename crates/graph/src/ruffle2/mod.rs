//! Ruffle-2: secret permutations that are used again and again, inverted and composed, on tables
//! that stay shared (`docs/spec/ruffle2.md`).
//!
//! * **Parties, adversary**: those of [`ostrakon_replicated`]: P0, P1, P2, one of them malicious.
//! * **Guarantee**: correctness or abort, and privacy either way. Not fairness, not blame of a
//!   single server once data are in.
//!
//! The order of the modules is the protocol's: [`preparation`] before any input, [`opening`] of
//! differences once the structure is public, [`shuffle`] on data, [`product`] and its verification.

#[cfg(feature = "server")]
pub mod coin;
pub mod factors;
#[cfg(feature = "server")]
pub mod fault;
#[cfg(feature = "server")]
pub mod journal;
#[cfg(feature = "server")]
pub mod opening;
#[cfg(feature = "server")]
pub mod preparation;
#[cfg(feature = "server")]
pub mod product;
#[cfg(feature = "server")]
pub mod resharing;
#[cfg(feature = "server")]
pub mod run;
pub mod seeds;
#[cfg(feature = "server")]
pub mod sharing;
#[cfg(feature = "server")]
pub mod shuffle;
pub mod steps;
pub mod uses;
#[cfg(feature = "server")]
pub mod verify;
