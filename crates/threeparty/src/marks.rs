//! Durable marks.

use ostrakon_crypto::Digest;
use ostrakon_party::Instance;

/// Durable marks: each is written before the message that follows from it is sent.
pub trait Marks: Send + Sync {
    /// Records, durably, that `name` has this value, unless it has one already. Returns the value
    /// on record. It stands at least until every server has settled the epoch; if it does not stand
    /// any more, this fails.
    ///
    /// # Errors
    /// Why the record could not be written or read.
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String>;

    /// The value on record, if there is one. A store that cannot look without recording says
    /// `None`; then a server that comes back says nothing of an epoch's end before it has repeated
    /// what led to it, for which it needs all its peers.
    ///
    /// # Errors
    /// Why the record could not be read.
    fn standing(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        let _ = name;
        Ok(None)
    }

    /// Records what a batch is spent on: like [`Marks::record`], and stands for ever.
    ///
    /// # Errors
    /// Why the record could not be written or read.
    fn record_spent(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String>;
}

/// The name of an epoch's mark.
pub fn epoch_mark(instance: &Instance, what: &str) -> String {
    let mut padded = [0; 32];
    padded[..16].copy_from_slice(&instance.scope);
    format!("epoch {} {} {what}", Digest(padded).to_hex().split_at(32).0, instance.number)
}
