//! An engine's marks in the journal of a server.

use std::sync::Arc;

use crate::engine::Journal;

/// The journal as engines for three servers see it.
pub struct Marks(pub Arc<dyn Journal>);

impl ostrakon_threeparty::Marks for Marks {
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        self.0.record(name, value)
    }

    fn standing(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        self.0.standing(name)
    }

    fn record_spent(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        self.0.record_spent(name, value)
    }
}
