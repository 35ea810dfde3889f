//! The job *anonymous broadcast*: rooms, rows, boards, and the interface of the engines that mix.
//!
//! A **room** collects messages in **epochs**. In each epoch every participant hands in one row of
//! fixed width, a message or a cover; an **engine** mixes the rows among the servers so that nobody
//! learns who wrote which; the readable rows are published on the room's **board**, which is
//! hash-chained and signed by the servers.
//!
//! Rooms, rows and boards know no protocol: how rows are masked, sealed and mixed is the engine's
//! ([`engine::Engine`] on a server, [`engine::ClientEngine`] for a participant). The engines there
//! are: [`ruffle`] and [`clarion`].

pub mod board;
pub mod clarion;
pub mod client;
pub mod engine;
pub mod engines;
pub mod envelope;
pub mod hosting;
#[cfg(feature = "server")]
mod journal;
pub mod outbox;
pub mod room;
pub mod row;
pub mod ruffle;
pub mod submission;

pub use board::{Archive, Entry, SignedEntry};
pub use engine::{Batch, ClientEngine, Engine, EpochContext};
pub use room::{EngineKind, EpochId, Mode, RoomDescriptor, RoomId, Servers};
pub use row::{Content, RowFormat};
