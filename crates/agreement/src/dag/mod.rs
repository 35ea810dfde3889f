//! The ledger: a graph of certified blocks in rounds, and the common order drawn from it.

mod agreed;
mod author;
mod checkpoint;
mod coins;
mod disk;
mod graph;
mod ledger;
mod order;
mod readmission;
mod sync;
mod voter;

pub use agreed::{Agreed, Commit, Incarnation};
pub use checkpoint::SignedCheckpoint;
pub use disk::{Disk, Key, Write};
pub use ledger::{Event, Ledger, Output, Phase, Refused, Send, Step};
