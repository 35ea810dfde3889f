//! What must be durable, as keys and values.

use std::collections::BTreeMap;

use ostrakon_party::PartyId;
use serde::{Deserialize, Serialize};

use crate::params::Round;

/// Under what a value is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Key {
    /// That this server was there when the ledger was founded: an empty disk is a lost one.
    Founded,
    /// That this server's data are known to be lost, and the nonce under which it asks.
    Lost,
    /// This server's own incarnation.
    Incarnation,
    /// The newest checkpoint that a quorum signed.
    Checkpoint,
    /// A record that the application wants in.
    Record(u64),
    /// A block: made, voted for or certified.
    Block(Round, PartyId),
    /// The digest of the block that this server voted for.
    Voted(Round, PartyId),
    /// A certificate.
    Certificate(Round, PartyId),
}

impl Key {
    /// The round that a key of the graph belongs to.
    pub fn round(self) -> Option<Round> {
        match self {
            Key::Block(round, _) | Key::Voted(round, _) | Key::Certificate(round, _) => Some(round),
            _ => None,
        }
    }
}

/// A change to what is durable. A step's writes are made durable, in their order, before any of
/// its sends leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Sets a value.
    Put(Key, Vec<u8>),
    /// Forgets a value.
    Delete(Key),
    /// Forgets blocks, votes and certificates of this round and below.
    DropThrough(Round),
}

/// What is durable, in memory: what a store has to keep, and what a ledger is restored from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk(pub BTreeMap<Key, Vec<u8>>);

impl Disk {
    /// Carries out one change.
    pub fn apply(&mut self, write: Write) {
        match write {
            Write::Put(key, value) => {
                self.0.insert(key, value);
            }
            Write::Delete(key) => {
                self.0.remove(&key);
            }
            Write::DropThrough(floor) => {
                self.0.retain(|key, _| key.round().is_none_or(|round| round > floor));
            }
        }
    }
}
