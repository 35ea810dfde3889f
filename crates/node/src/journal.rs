//! The engine's journal, on the store.

use ostrakon_broadcast::engine::Journal;
use ostrakon_store::Store;
use tokio::runtime::Handle;

/// Marks in the database. To be used on the engine's threads: it blocks until the mark is on disk.
pub(crate) struct StoreJournal {
    store: Store,
    runtime: Handle,
}

impl StoreJournal {
    /// Inside the runtime that the store was opened in.
    pub fn new(store: Store) -> Self {
        Self { store, runtime: Handle::current() }
    }
}

impl Journal for StoreJournal {
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        self.runtime.block_on(self.store.record(name, value)).map_err(|error| error.to_string())
    }
}
