//! One server of AsynchroMix as a process: its journal, its links, its clock.
//!
//! The state machine is [`ostrakon_asynchromix::Server`]; this crate carries out its effects. What
//! it writes is appended to one file and flushed before anything that depends on it is sent.
//! Messages may be lost (a link that breaks, a peer that does not read): everything that matters is
//! asked for again by the state machine, so nothing is queued for a peer that is not there.

pub mod demo;
pub mod devices;
mod journal;
mod links;
pub mod process;
mod runner;
pub mod site;
mod visits;

pub use devices::Devices;
pub use journal::Journal;
pub use links::{Incoming, Links, Peers};
pub use runner::{Config, Report, Runner, TICK};
pub use visits::{Health, Stands, Turned, Visits};
