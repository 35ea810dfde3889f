//! Symmetric functions of many people's answers, each of whom comes once: the one-pass protocol.
//!
//! Halevi, Lindell, Pinkas: *Secure Computation on the Web: Computing without Simultaneous
//! Interaction*, CRYPTO 2011, in the form of Jarrous, Pinkas: *Canon-MPC*, WPEC 2013.
//!
//! * **Parties**: visitors, who come once each in any order; a server, which only keeps the steps;
//!   operators, each with a layer over the result; helpers, who stand in for those who do not come.
//! * **Adversary**: malicious; any visitors, the server, all operators but one, t−1 of m helpers.
//! * **Guarantee**: only the output is learned; if all operators are corrupt, also the function of
//!   the values that come after the last honest visitor (no protocol of one pass can hide it). A
//!   result is right or there is an error that names who deviated. Availability is not promised.
//! * **Assumptions**: decisional Diffie–Hellman in ristretto255, BLAKE3 as random oracle.
//! * **Absent**: functions that are not symmetric, guaranteed output, hiding who came and when.
//!
//! The numbered steps (K, I, V, H, F), the wire forms and the argument for every difference from
//! the papers: `docs/spec/onepass.md`. Everything here is computation: who asks what and who may
//! answer, signatures, the chain of steps and the transport belong to the caller. It builds for
//! WebAssembly.

pub mod ballot;
pub mod closing;
pub mod composition;
pub mod fault;
mod group;
mod hashing;
pub mod history;
pub mod key;
pub mod layer;
pub mod params;
mod proofs;
pub mod session;
pub mod sharing;
mod statement;
pub mod step;
pub mod visitor;

#[cfg(test)]
mod tests;

pub use ballot::Ballot;
pub use closing::{Absence, Closing, PartialDecryption, Removed};
pub use fault::{
    CloseError, DecodeError, HistoryError, OpenError, PartialError, SessionError, StepFault,
    VisitError,
};
pub use group::ristretto::Ristretto;
pub use group::{Group, elgamal};
pub use history::{History, HistoryVerifier, verify_history};
pub use key::OneTimeKey;
pub use layer::Layer;
pub use proofs::possession::ProofOfPossession;
pub use proofs::{dleq, possession};
pub use session::{Session, SessionId};
pub use sharing::{Helpers, KeyShare, LayerKey, ShareCommitments};
pub use step::Step;
pub use visitor::Visitor;
