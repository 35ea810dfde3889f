//! Benchmarks of whole protocols: three processes on this machine, connected by TLS as in
//! production; and of a device's visit to a decision.
//!
//! Each phase is reported with the time that its unavoidable work takes on the same machine
//! ([`limit`]), so that figures of different machines can be compared.

pub mod asynchromix;
pub mod broadcast;
pub mod control;
pub mod decide;
pub mod epoch;
pub mod graph;
pub mod intake;
pub mod limit;
mod marks;
pub mod measurement;
mod memory;
pub mod party;
mod phase;
mod processor;
mod random;
mod room;
pub mod shuffle;
pub mod stats;
