//! A computation's journal: what must not be done twice, whatever happens to the process.

use ostrakon_computation::ComputationId;
use tokio::runtime::Handle;

use crate::store::Store;

/// Write-once marks on disk. For threads that may block: not for tasks of the runtime.
#[derive(Clone)]
pub struct Marks {
    pub(crate) computation: ComputationId,
    pub(crate) store: Store,
    pub(crate) runtime: Handle,
}

impl Marks {
    /// Writes each name with its value unless something stands there already, all or none, and
    /// returns for each what stood there before.
    ///
    /// # Errors
    /// Why nothing was written.
    pub fn keep(&self, entries: &[(Vec<u8>, Vec<u8>)]) -> Result<Vec<Option<Vec<u8>>>, String> {
        let marking = self.store.mark(&self.computation, entries);
        self.runtime.block_on(marking).map_err(|error| error.to_string())
    }

    /// What stands under a name.
    ///
    /// # Errors
    /// Why nothing can be read.
    pub fn read(&self, name: &[u8]) -> Result<Option<Vec<u8>>, String> {
        let reading = self.store.marked(&self.computation, name);
        self.runtime.block_on(reading).map_err(|error| error.to_string())
    }
}
