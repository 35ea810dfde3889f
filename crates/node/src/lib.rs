//! One server of a deployment: rooms, epochs, stock, the clock and the disk.
//!
//! [`Service`] is its public interface; the HTTP layer is a thin cover over it. Inside, from the
//! bottom up; a module uses those above it in this list only, and `cargo xtask layers` checks it:
//!
//! * `config`, `provider`, `answers`: settings, engines and what they bear ([`EngineProvider`]).
//!   Requests and answers are those of [`ostrakon_protocol`].
//! * `jobs` is what is agreed on besides rooms ([`ostrakon_job`]), whatever it is.
//! * [`platform`] is the clock, the threads and the links; `disk` the store by way of it; `setup`
//!   makes the servers' session at the first start.
//! * `state` is what the servers agree on, and pure: what it is, what an announcement does to it,
//!   when to do what, how verdicts are counted. It knows no disk, no network and no clock.
//! * `memory` is what a server keeps in memory beside it; `intake` writes what participants hand
//!   in; `core` is what all parts below share.
//! * `ledger` makes the servers' announcements agree, and keeps a server silent whose data are
//!   older than what it has said.
//! * `ports` is this server as the drivers of its jobs see it.
//! * `boards` reads, mends and erases what is published; `rooms` answers hosts and participants;
//!   `mixing` prepares batches and computes epochs.
//! * `renewal` begins a new generation, `recovery` rebuilds everything after a restart.
//! * `operator` is what operators see; `intakes` is a process that only serves participants.
//! * `service` starts it all, and does what follows from changes of the state.

mod answers;
mod boards;
pub mod config;
mod core;
mod disk;
mod intake;
mod intakes;
mod jobs;
mod ledger;
mod memory;
mod mixing;
pub mod operator;
pub mod platform;
mod ports;
mod provider;
mod recovery;
pub mod renewal;
mod rooms;
mod service;
mod setup;
mod state;

pub use boards::archive;
pub use config::Config;
pub use disk::audit;
pub use ledger::evidence;
pub use memory::history;
pub use ostrakon_job::Creator;
pub use platform::{Platform, StartError};
pub use provider::trusts::Trusts;
pub use provider::{EngineProvider, Engines, SetUp, ThreeServers};
pub use service::{LONGEST_WAIT, Service};
pub use state::announcement;
