//! Replicated secret sharing among three servers, one of them malicious: the Ruffle engine.
//!
//! Shriram A, Koti, Kukkala, Patra, Gopal, Sangal: *Ruffle: Rapid 3-party shuffle protocols*,
//! PoPETs 2023(3).
//!
//! * **Parties**: P0, P1, P2 with pairwise channels and identity keys ([`ostrakon_party`]);
//!   participants talk to all three.
//! * **Adversary**: one server, malicious, with any number of participants and control of the order
//!   of messages.
//! * **Guarantee**: the output is a uniformly random permutation of the accepted rows, unknown to
//!   any server. *Fair* (default): either all honest servers get the output, or none does and
//!   nothing is revealed. *Robust* (explicit choice): after a proven fault an honest server
//!   finishes alone and learns who wrote what. Silence stops the epoch in either mode and convicts
//!   nobody.
//! * **Assumptions**: AES-128 and BLAKE3 as PRF and random oracle, Ed25519, X25519 (with the
//!   post-quantum TLS channel beside it).
//! * **Absent**: two corrupt servers; guaranteed output against a server that stays silent;
//!   Ruffle-2 (composed shuffles).
//!
//! The protocol with its numbered steps and the argument for every difference from the paper:
//! `docs/spec/ruffle.md`. A participant's side is [`client`] (no networking; builds for
//! WebAssembly); everything else needs the feature `server`.

pub mod client;
pub mod params;
pub mod slots;

#[cfg(feature = "server")]
mod accusation;
#[cfg(feature = "server")]
mod batch;
#[cfg(feature = "server")]
pub mod cost;
#[cfg(feature = "server")]
pub mod messages;
#[cfg(feature = "server")]
mod online;
#[cfg(feature = "server")]
mod preparation;
#[cfg(feature = "server")]
mod run;

#[cfg(feature = "server")]
pub use accusation::fault;
#[cfg(feature = "server")]
pub use batch::seeds;
#[cfg(feature = "server")]
pub use online::{epoch, seal};
pub use ostrakon_threeparty::pair;
#[cfg(feature = "server")]
pub use preparation::stock::Stock;
#[cfg(feature = "server")]
pub use preparation::{preprocessing, setup};

#[cfg(feature = "server")]
use ostrakon_threeparty::{coin, commitment};
