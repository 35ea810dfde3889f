//! Agreement without a clock: servers of which less than a third may be corrupt put what they say
//! into one common order.
//!
//! **Parties.** n servers with pinned identity keys; t of them may be corrupt, n ≥ 3t + 1 (t may be
//! chosen smaller than the most that n bears).
//!
//! **Adversary.** It corrupts t servers beforehand, sees and delays every message as it likes, and
//! restarts honest servers from their disks at any time. Of the network it is assumed only that
//! what is said again and again between two honest servers arrives at last.
//!
//! **Guarantee.** *Safety*: honest servers commit the same blocks in the same order; of two of them
//! one has committed a beginning of the other's. It rests on signatures, and on one key of the coin
//! that all have; neither on the coin's secrecy nor on time. *Liveness*: while at most t servers
//! are corrupt, dead or without their data, every record that an honest server proposes is ordered
//! with probability 1, unless its server is kept too far behind, or its votes are delayed for
//! longer each time; the coin, hidden until the votes on a leader are fixed, makes it fast on
//! average.
//!
//! **Absent.** No change of the set of servers. No transport of the application's own state or of
//! bulk data: a checkpoint carries a digest, a record may. No network, clock or disk: the state
//! machine says what to send, what must be durable first, and takes ticks from outside. A server
//! whose part of the coin's key is lost keeps its vote, but its coin shares are gone for good.
//!
//! Steps are those of `docs/spec/ledger.md`. The order is drawn by the commit rule of *Narwhal and
//! Tusk* (Danezis, Kokoris-Kogias, Sonnino, Spiegelman; EuroSys 2022); it serves where
//! *HoneyBadgerMPC and AsynchroMix* (CCS 2019) runs broadcasts, binary agreements and common
//! subsets.

pub mod block;
pub mod coin;
pub mod dag;
pub mod dkg;
pub mod fault;
pub mod keys;
pub mod params;

pub use dag::{Event, Ledger, Output, Step, message};
pub use fault::Fault;
pub use keys::{Keys, ServerKeys};
pub use params::Params;
