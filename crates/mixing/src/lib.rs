//! Rooms whose rows are mixed, and the interface of the engines that mix them.
//!
//! A **room** ([`room`]) is kept by a few servers and goes on in **epochs**. In each epoch every
//! participant hands in one **row** of fixed width ([`row`]) as a **submission** ([`submission`]),
//! by what the servers gave it in sealed **envelopes** ([`envelope`]); an **engine** mixes the rows
//! among the servers so that nobody learns who wrote which. What rows mean is the job's: words on a
//! board, or messages between two people.
//!
//! Rooms and rows know no protocol: how rows are masked, sealed and mixed is the engine's
//! ([`engine::Engine`] on a server, [`engine::ClientEngine`] for a participant). The engines there
//! are ([`engines`]): [`ruffle`] and [`clarion`].

pub mod clarion;
pub mod engine;
pub mod engines;
pub mod envelope;
#[cfg(feature = "server")]
mod journal;
pub mod link;
pub mod room;
pub mod row;
pub mod ruffle;
pub mod submission;

pub use engine::{Batch, ClientEngine, Engine, EpochContext};
#[cfg(feature = "server")]
pub use journal::Marks;
pub use room::{EngineKind, EpochId, Mode, RoomDescriptor, RoomId, Servers};
pub use row::{Content, RowFormat};
