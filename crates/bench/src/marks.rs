//! Marks of a benchmark.

use std::collections::BTreeMap;
use std::sync::Mutex;

use ostrakon_replicated::epoch::Marks;

/// Marks in memory: what is measured is the engine, not a disk.
#[derive(Default)]
pub(crate) struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);

impl Memory {
    /// See [`Marks::record`].
    pub fn keep(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        let mut marks = self.0.lock().map_err(|_| "a mark could not be written")?;
        Ok(marks.entry(name.to_owned()).or_insert_with(|| value.to_vec()).clone())
    }
}

impl Marks for Memory {
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        self.keep(name, value)
    }

    fn record_spent(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        self.keep(name, value)
    }
}
