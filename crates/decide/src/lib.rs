//! The job *private decisions*: a group decides, everybody answers in one visit, and nobody learns
//! who answered what.
//!
//! * **Parties**: the creator; people with a device each; three servers, each of them an operator
//!   (it holds a layer over the result) and a helper (it holds shares of people's one-time keys).
//!   P0 puts what happens into one order.
//! * **Adversary**: any people and any servers together.
//! * **Guarantee**: as long as one server is honest, the result of one closing is learned and
//!   nothing else. A result is right or there is none, and whoever broke the rules is named by a
//!   signature.
//!
//! The steps, the forms on the wire and what all three servers together could learn:
//! `docs/spec/decide.md`. The mathematics is `ostrakon_onepass`. Everything here is computation: no
//! clock, no sockets, no disk; randomness is passed in. It builds for WebAssembly.

pub mod chain;
pub mod device;
pub mod draft;
mod hex;
pub mod keys;
pub mod opening;
pub mod operators;
pub mod params;
pub mod record;
pub mod refused;

pub use chain::residual::{Residual, residual};
pub use chain::vouch::{self, Date, Held, Unvouched, Vouching};
pub use chain::{Chain, Ended, Stage, Standing};
pub use device::link::{JoinLink, Link};
pub use device::memory::Memory;
pub use device::receipt::{Acknowledgement, Receipt};
pub use device::visit::Visit;
pub use draft::flaw::{Flaw, InvalidDraft};
pub use draft::function::{Function, Meaning, Tie};
pub use draft::gathering::{self, Gathering, GatheringId};
pub use draft::warning::{Warning, warnings};
pub use draft::{Ballot, DecisionId, Draft, Person, Seat};
pub use keys::layers::Layer;
pub use keys::shares::{Deposit, HeldShare, HelperKey, NewKey};
pub use keys::{CertifiedKey, InvalidKey, KeyName, KeyStatement, Serial};
pub use opening::archive::{Archive, Report};
pub use opening::{Examined, NotYet, Opening, Outcome, StandIn, examine, shortage};
pub use operators::Operators;
pub use record::{Content, Creation, Record, SignedRecord};
pub use refused::Refused;

pub use ostrakon_party::Invitation;
