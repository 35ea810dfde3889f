//! Batches in use: those of the epochs that collect, one per open room at most.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, RwLock};

use ostrakon_mixing::Batch;

/// A batch that participants are served from until the epoch's computation takes it away.
pub(crate) type LoadedBatch = Arc<RwLock<Option<Box<dyn Batch>>>>;

/// Batches in memory, by number.
#[derive(Default)]
pub(crate) struct LoadedBatches(Mutex<HashMap<u64, LoadedBatch>>);

impl LoadedBatches {
    pub fn put(&self, number: u64, batch: Box<dyn Batch>) {
        let loaded = Arc::new(RwLock::new(Some(batch)));
        self.0.lock().expect("no panic while held").insert(number, loaded);
    }

    pub fn get(&self, number: u64) -> Option<LoadedBatch> {
        self.0.lock().expect("no panic while held").get(&number).cloned()
    }

    /// Lets go of a batch; those who are just using it finish first.
    pub fn remove(&self, number: u64) -> Option<LoadedBatch> {
        self.0.lock().expect("no panic while held").remove(&number)
    }

    /// Takes the batch away. Waits for those who are just using it, so call it where blocking is
    /// allowed.
    pub fn take(&self, number: u64) -> Option<Box<dyn Batch>> {
        let loaded = self.remove(number)?;
        // A poisoned lock means that the engine panicked on a submission; the batch itself is only
        // read there.
        loaded.write().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    }
}
