//! One server of a deployment: rooms, epochs, stock, the clock and the disk.
//!
//! [`Service`] is its public interface; the HTTP layer is a thin cover over it. Inside:
//!
//! * `rooms`, `scheduling`, `epochs`, `presence` are pure: what the state is, what an announcement
//!   does to it, when to do what, how verdicts are counted. They know no disk, no network and no
//!   clock.
//! * `agree` makes the servers' announcements agree; `recovery` rebuilds everything after a
//!   restart.
//! * `trusts` says how many servers must say a thing, and how many are waited for.
//! * `freshness` keeps a server silent whose data are older than what it has said.
//! * `stock` prepares batches, `material` serves participants from them, `runner` computes sealed
//!   epochs.
//! * `hosting` takes what hosts do, `erasure` erases what they or the clock ask for, `creation`
//!   says who may create rooms.
//! * `conductor` is the beat; `intake` writes what participants hand in; `requests` answers them.
//! * `server` and `setup` start it all, on a [`platform`]: the clock, the threads, the links.
//!
//! What the engine does is its own: see [`EngineProvider`].

mod agree;
pub mod announcement;
pub mod archive;
pub mod audit;
mod conductor;
pub mod config;
mod core;
pub mod creation;
mod deciding;
mod decision_course;
mod decisions;
mod disk;
mod engines;
mod epochs;
mod erasure;
pub mod evidence;
mod freshness;
mod front;
pub mod history;
mod hosting;
mod intake;
pub mod interface;
mod journal;
mod limits;
pub mod mail;
mod material;
mod metrics;
pub mod operator;
pub mod platform;
mod presence;
mod process;
mod provider;
mod recovery;
pub mod renewal;
mod requests;
mod rooms;
mod runner;
mod scheduling;
mod server;
mod service;
mod setup;
mod sharing;
mod stock;
mod storage;
mod watchers;

pub use config::Config;
pub use engines::ThreeServers;
pub use interface::ServiceError;
pub use platform::Platform;
pub use provider::{EngineProvider, Engines, SetUp};
pub use server::StartError;
pub use service::{LONGEST_WAIT, Service};
pub use trusts::Trusts;

use provider::trusts;
