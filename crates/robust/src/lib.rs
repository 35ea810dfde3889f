//! Shamir sharing among n ≥ 3t + 1 servers, t of them malicious, no timing assumption, output
//! guaranteed: the computing part of HoneyBadgerMPC and AsynchroMix.
//!
//! Lu, Yurek, Kulshreshtha, Govind, Mahadev, Kate, Miller: *HoneyBadgerMPC and AsynchroMix:
//! Practical Asynchronous MPC and its Application to Anonymous Communication*, CCS 2019.
//!
//! * **Parties**: n servers with identity keys and private authentic channels between each two;
//!   a *committee* of 3t + 1 of them prepares material together and spends it together.
//! * **Adversary**: at most t servers, malicious, with any number of participants and control of
//!   the order and time of delivery.
//! * **Guarantee**: online, every run comes to an end at every honest member with the right output,
//!   whatever t members do. Preparation needs all members of a committee; what fails is opened and
//!   recomputed before anything depends on it. Wrong messages are data (`faults`), and stop
//!   nothing.
//! * **Assumptions**: AES-128 in counter mode as PRG, BLAKE3 as random oracle, Ed25519; the secrecy
//!   of the channels; a ledger that gives all members the same records in the same order, which is
//!   not part of this crate.
//! * **Absent**: the ledger; robust preparation with n = 3t + 1 and a silent server; stock on disk;
//!   transforms instead of matrices for very many servers.
//!
//! Everything is a pure state machine: messages in; messages, outputs and faults out. The protocol
//! with its numbered steps and the argument for every difference from the paper:
//! `docs/spec/asynchromix.md`.

mod algebra;
pub mod client;
mod collector;
mod committee;
pub mod cost;
pub mod fault;
pub mod machine;
pub mod message;
pub mod offline;
pub mod online;
pub mod opening;
pub mod phase;
pub mod program;
pub mod rotation;
mod tape;

pub use algebra::{interpolation, vectors};
pub use collector::who_agrees;
pub use committee::Committee;
pub use tape::Tape;
