//! Additive sharing among three servers, one of them malicious: Clarion's shuffle.
//!
//! Eskandarian and Boneh: *Clarion: Anonymous Communication from Multiparty Shuffling Protocols*,
//! NDSS 2022: Definition IV.1 and Protocol IV.2, with replicated inputs and checks of our own. The
//! paper's theorem does not cover this; `docs/spec/clarion.md` has the steps, the argument and
//! every difference.
//!
//! * **Parties**: P1, P2, P3 with pairwise channels and identity keys ([`ostrakon_party`]);
//!   participants talk to all three.
//! * **Adversary**: one server, malicious, with any number of participants and control of the order
//!   of messages.
//! * **Guarantee**: the output is a uniformly random permutation of the sealed rows, unknown to any
//!   server, or the servers stop, agreed, with nothing revealed. No material is prepared by
//!   messages, and participants download nothing.
//! * **Assumptions**: AES-128 and BLAKE3 as PRF and random oracle, Ed25519, X25519.
//! * **Absent**: output against a server that stops; two corrupt servers, also of more than three
//!   (the paper's section V); unopened tables.
//!
//! A participant's side is [`client`] (no networking; builds for WebAssembly); [`three`] needs the
//! feature `server`.

pub mod client;
pub mod params;
#[cfg(feature = "server")]
pub mod three;
