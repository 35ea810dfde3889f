//! How actions and polls name a message.

use serde::{Deserialize, Serialize};

/// A message on the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MessageId {
    /// The epoch that published it.
    pub epoch: u64,
    /// Its place among the epoch's messages, from 0.
    pub index: u32,
}
