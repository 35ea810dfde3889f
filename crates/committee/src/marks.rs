//! A computation's journal: what must not be done twice, whatever happens to the process.

use std::time::Duration;

use ostrakon_computation::ComputationId;
use tokio::runtime::Handle;

use crate::store::Store;

/// How often a mark is tried to be written, and the pause between.
const ATTEMPTS: u32 = 60;
const PAUSE: Duration = Duration::from_secs(1);

/// Write-once marks on disk. For threads that may block: not for tasks of the runtime.
#[derive(Clone)]
pub struct Marks {
    pub(crate) computation: ComputationId,
    pub(crate) store: Store,
    pub(crate) runtime: Handle,
}

impl Marks {
    /// The journal of another computation.
    pub(crate) fn of(&self, computation: &ComputationId) -> Self {
        Self { computation: *computation, ..self.clone() }
    }

    /// Writes each name with its value unless something stands there already, all or none, and
    /// returns for each what stood there before.
    ///
    /// # Errors
    /// Why nothing was written.
    pub fn keep(&self, entries: &[(Vec<u8>, Vec<u8>)]) -> Result<Vec<Option<Vec<u8>>>, String> {
        // Whoever computes waits meanwhile, and what was handed in may be lost if this fails.
        let mut attempt = 1;
        loop {
            let marking = self.store.mark(&self.computation, entries);
            match self.runtime.block_on(marking) {
                Ok(before) => return Ok(before),
                Err(error) if attempt == ATTEMPTS => return Err(error.to_string()),
                Err(error) => tracing::error!(%error, "a mark cannot be written; trying again"),
            }
            attempt += 1;
            std::thread::sleep(PAUSE);
        }
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
