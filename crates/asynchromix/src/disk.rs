//! What must be durable, as keys and values, besides what the ledger keeps.

use std::collections::BTreeMap;

use ostrakon_agreement::dag;
use ostrakon_crypto::Digest;
use ostrakon_party::PartyId;
use serde::{Deserialize, Serialize};

/// Under what a value is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Key {
    /// What was heard in an attempt at the coin's key, by number.
    Attempt(u32),
    /// The nonce of this disk.
    Nonce,
    /// The nonce, with its signature, that another server had when the ledger was founded.
    Heard(PartyId),
    /// The ledger's.
    Ledger(dag::Key),
    /// The agreed state after a number of commits.
    State(u64),
    /// That this server has begun a batch.
    Begun(u64),
    /// Own shares of a batch.
    Stock(u64),
    /// What this server shows of a burnt batch, until that is ordered.
    Shown(u64),
    /// On what a batch is spent.
    Spent(Digest),
    /// A participant's masked row.
    Row(u64, u32),
    /// A board's entry.
    Entry(u64),
    /// An entry that this server has signed, until it is on the board.
    Draft(u64),
}

/// A change to what is durable. The writes of a step are made durable, in their order, before any
/// of its sends leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Write {
    /// Sets a value.
    Put(Key, #[serde(with = "value")] Vec<u8>),
    /// Forgets a value.
    Delete(Key),
    /// Forgets the ledger's blocks, votes and certificates of this round and below.
    DropThrough(u64),
}

/// Values as strings of bytes, not as lists of numbers: the same encoding, in one piece.
mod value {
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(value)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        Bytes::deserialize(deserializer).map(Vec::from)
    }
}

impl From<dag::Write> for Write {
    fn from(write: dag::Write) -> Self {
        match write {
            dag::Write::Put(key, value) => Write::Put(Key::Ledger(key), value),
            dag::Write::Delete(key) => Write::Delete(Key::Ledger(key)),
            dag::Write::DropThrough(round) => Write::DropThrough(round),
        }
    }
}

/// What is durable, in memory: what a journal has to keep, and what a server is restored from.
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
            Write::DropThrough(floor) => self.0.retain(|key, _| match key {
                Key::Ledger(key) => key.round().is_none_or(|round| round > floor),
                _ => true,
            }),
        }
    }

    /// What the ledger wrote.
    #[must_use]
    pub fn ledger(&self) -> dag::Disk {
        let of_ledger = |(key, value): (&Key, &Vec<u8>)| match key {
            Key::Ledger(key) => Some((*key, value.clone())),
            _ => None,
        };
        dag::Disk(self.0.iter().filter_map(of_ledger).collect())
    }

    /// Bytes of keys and values, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.values().map(|value| value.len() + 32).sum()
    }
}
