//! Batches of preprocessed material, as the servers agree on them.

use ostrakon_broadcast::engine::Shape;

use super::World;
use crate::config::SERVERS;

/// Every server's bit.
pub(super) const ALL: u8 = (1 << SERVERS) - 1;

/// What this server has of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Nothing yet, or nothing any more.
    Nothing,
    /// Its file.
    File,
}

/// A batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchInfo {
    /// The shape of its tables.
    pub shape: Shape,
    /// The number of the scheduler's announcement that planned it.
    pub planned: u64,
    /// Bit j: server j announced that it holds it.
    pub ready: u8,
    /// The number of the announcement by which each of these first did.
    pub said: [u64; SERVERS],
    /// Bit j: server j announced that it does not and never will.
    pub dropped: u8,
    /// Whether a server that holds it has said so again: it has started again since, and its messages are gone that others may
    /// still need to prepare it.
    pub interrupted: bool,
    /// Whether an epoch was opened with it.
    pub used: bool,
    /// What this server has of it.
    pub held: Held,
}

impl BatchInfo {
    /// A batch that the scheduler has just planned, by this announcement.
    pub fn planned(shape: Shape, planned: u64) -> Self {
        let (ready, dropped, said) = Default::default();
        Self { shape, planned, ready, said, dropped, interrupted: false, used: false, held: Held::Nothing }
    }

    /// Whether it is, or will be, of use to an epoch to come.
    pub fn is_supply(&self) -> bool {
        !self.used && self.dropped == 0
    }

    /// Whether an epoch can be opened with it.
    pub fn is_usable(&self) -> bool {
        self.is_supply() && self.ready == ALL
    }

    /// Whether a server that knows so many announcements of each knows that all servers hold it.
    pub(super) fn is_ready_by(&self, after: &[u64; SERVERS]) -> bool {
        self.ready == ALL && self.said.iter().zip(after).all(|(said, known)| said < known)
    }
}

impl World {
    /// The number of the next batch.
    pub fn next_batch(&self) -> u64 {
        self.batches.last_key_value().map_or(self.first_batch, |(number, _)| number + 1)
    }
}
