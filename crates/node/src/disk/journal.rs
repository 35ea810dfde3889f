//! The engine's journal, on the store.

use ostrakon_mixing::EpochId;
use ostrakon_mixing::engine::Journal;

use crate::disk::Disk;

/// Marks in the database, of an epoch that is being computed. To be used on the engine's threads:
/// it blocks until the mark is on disk.
pub(crate) struct StoreJournal {
    pub disk: Disk,
    pub epoch: EpochId,
}

impl Journal for StoreJournal {
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        self.disk.record_blocking(&self.epoch, name, value).map_err(|error| error.to_string())
    }

    fn standing(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        self.disk.standing_blocking(&self.epoch, name).map_err(|error| error.to_string())
    }

    fn record_spent(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        self.disk.record_spent_blocking(name, value).map_err(|error| error.to_string())
    }
}
