//! Anonymous broadcast whose output is guaranteed, without a clock: one server's life, from the
//! founding to the board, as state machines over the ledger (`agreement`) and the mix (`robust`).
//!
//! * **Parties**: n servers with pinned identity keys, t of them corrupt, n ≥ 3t + 1; participants,
//!   any number of them corrupt, who talk to all servers.
//! * **Adversary**: it corrupts t servers beforehand, sees, delays and loses messages as it likes,
//!   and stops and restarts honest servers from their disks at any time.
//! * **Guarantee**: an epoch that is sealed with the minimum of rows ends with one entry of the
//!   board, which holds the message of every sealed row once, in an order that is uniformly random
//!   to any t servers; a row that is shown to be in is sealed. While as many as t servers are
//!   corrupt or dead, every epoch that is sealed comes to an end. New epochs need stock, whose
//!   preparation needs all 3t + 1 members of one set.
//! * **Assumptions**: those of `agreement` and `robust`; links that are secret and authentic, and
//!   deliver what is said again and again.
//! * **Absent**: a change of the servers; presence, members, archives and erasure, which the rooms
//!   of the other engines have; the clock, disk and network, which the driver has.
//!
//! Everything is events in, effects out; the effects' writes are made durable before their sends
//! leave. Steps V are those of `docs/spec/asynchromix.md`, section 17.

pub mod board;
mod delivery;
pub mod description;
pub mod disk;
pub mod evidence;
pub mod founding;
pub mod message;
pub mod participant;
pub mod room;
pub mod row;
pub mod server;
pub mod service;
pub mod state;
pub mod visit;
pub mod visitor;
pub mod word;

pub use description::{Card, Description};
pub use disk::{Disk, Key, Write};
pub use founding::Founder;
pub use participant::Participant;
pub use room::{Room, Shape, Unfit};
pub use server::Server;
pub use service::{Effects, Event, Service, Told};
pub use visitor::Visitor;
