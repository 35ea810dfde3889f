//! The engine's journal, on the store.

use ostrakon_broadcast::engine::Journal;

use crate::disk::Disk;

/// Marks in the database. To be used on the engine's threads: it blocks until the mark is on disk.
pub(crate) struct StoreJournal(pub Disk);

impl Journal for StoreJournal {
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        self.0.record_blocking(name, value).map_err(|error| error.to_string())
    }
}
