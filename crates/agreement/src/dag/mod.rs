//! The ledger: a graph of certified blocks in rounds, and the common order drawn from it.

mod agreed;
mod checkpoint;
mod coins;
mod disk;
mod graph;
mod ledger;
pub mod message;
mod order;
mod step;

pub use agreed::{Agreed, Commit, Incarnation};
pub use checkpoint::SignedCheckpoint;
pub use disk::{Disk, Key, Write};
pub use ledger::Ledger;
pub use step::{Event, Output, Phase, Refused, Send, Step};
