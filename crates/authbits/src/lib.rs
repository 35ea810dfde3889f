//! Authenticated bits among c servers of which c − 1 may be malicious: the Stormy engine.
//!
//! Wails, Johnson, Starin, Yerukhimovich, Gordon: *Stormy: Statistics in Tor by Measuring
//! Securely*, CCS 2019.
//!
//! * **Parties**: P_0 … P_(c−1), c ≥ 2, with pairwise channels and identity keys
//!   ([`ostrakon_party`]).
//! * **Adversary**: any c − 1 of them, malicious, chosen beforehand, with control of the order of
//!   messages.
//! * **Guarantee**: a circuit's outputs are right or there are none (abort), and nothing but them
//!   is learnt. One corrupt party can stop every run, also after it has seen the outputs.
//! * **Assumptions**: gap-DH on ristretto255, BLAKE3 as random oracle, AES-128 as PRF and, under a
//!   public key, as ideal permutation.
//! * **Absent**: evidence against cheaters that a third person can check; hand-over of triples
//!   between committees; guaranteed output.
//!
//! The protocol with its numbered steps, and the argument for what differs from published ones:
//! `docs/spec/stormy.md`. [`prepare`] makes a [`Segment`] (steps 1 to 10)
//! for a [`Ticket`], whose number is written down as used; its methods compute
//! (steps 11 to 20); [`circuit`] and [`programs`] say what.

mod abort;
mod adjust;
mod bits;
pub mod circuit;
pub mod cost;
mod journal;
mod mac;
mod online;
pub mod ot;
pub mod params;
pub mod programs;
mod run;
mod segment;
mod shares;
mod spec;
#[cfg(test)]
mod tests;
mod triples;

pub use abort::{Abort, Refused};
pub use adjust::{Adjusted, Elements, Masks, OpenedElements, Settled};
pub use bits::Bits;
pub use journal::{Journal, NoTicket, Ticket};
pub use ot::base::BaseKeys;
pub use run::Kind;
pub use segment::{Segment, Unprepared, prepare, prepare_with};
pub use shares::{KeyId, MacKey, Shares};
pub use spec::SegmentSpec;
pub use triples::bound;
